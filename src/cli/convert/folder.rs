//! A folder that takes a file a run.
//!
//! All files are written beside their places first, and moved there when the last run is written. A
//! conversion that fails leaves none: what was moved by then is taken back, and what stood there
//! before stands there again.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::super::Failure;
use super::super::runs::Set;
use super::moving::move_all;
use crate::drafts::{self, DraftFolder};

/// Bytes of an id that a file's name keeps: with its ending and a number it stays below the 255 that
/// file systems take.
const LONGEST: usize = 180;

pub(super) struct Folder {
    path: PathBuf,
    /// The folder of drafts, inside of the folder itself.
    drafts: Option<DraftFolder>,
    names: Vec<String>,
    taken: HashSet<String>,
    /// The next number of names that were wanted twice.
    numbers: HashMap<String, usize>,
}

impl Folder {
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            drafts: None,
            names: Vec::new(),
            taken: HashSet::new(),
            numbers: HashMap::new(),
        }
    }

    /// Writes the next run.
    pub(super) fn put(&mut self, run_id: Option<&str>, line: &str) -> io::Result<()> {
        if self.drafts.is_none() {
            std::fs::create_dir_all(&self.path)?;
            self.drafts = Some(drafts::folder(&self.path)?);
        }
        let number = self.names.len() + 1;
        let stem = run_id.map(plain).filter(|name| !name.is_empty());
        let stem = stem.unwrap_or_else(|| format!("run-{number}"));
        let name = self.free(&stem, number);
        let Some(drafts) = &self.drafts else { return Ok(()) };
        let mut file = std::fs::File::create(drafts.path().join(&name))?;
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")?;
        self.names.push(name);
        Ok(())
    }

    /// A name that no run has yet. Some file systems take names that differ in case alone for one.
    fn free(&mut self, stem: &str, number: usize) -> String {
        let name = format!("{stem}.atif.json");
        if self.taken.insert(name.to_lowercase()) {
            return name;
        }
        // Ids that look like a name with a number are in the way; no number is tried twice.
        let next = self.numbers.entry(stem.to_lowercase()).or_default();
        *next = number.max(*next);
        loop {
            let name = format!("{stem}-{next}.atif.json");
            *next += 1;
            if self.taken.insert(name.to_lowercase()) {
                return name;
            }
        }
    }

    /// Puts all files in their places, or none. Refuses to write over what was read.
    pub(super) fn finish(self, set: &Set) -> Result<(), Failure> {
        let Some(drafts) = self.drafts else { return Ok(()) };
        let read: HashSet<PathBuf> =
            set.tally.files.iter().filter_map(|file| file.path.canonicalize().ok()).collect();
        for name in &self.names {
            let place = self.path.join(name);
            if place.canonicalize().is_ok_and(|place| read.contains(&place)) {
                return Err(Failure::usage(format!(
                    "-o {}: this file is read by the same command; name another folder",
                    place.display()
                )));
            }
        }
        let places = self.names.iter();
        let all: Vec<(PathBuf, PathBuf)> =
            places.map(|name| (drafts.path().join(name), self.path.join(name))).collect();
        move_all(&all, drafts.path())
    }
}

/// The id as a file's name: letters, digits, `.`, `_` and `-`, never only dots. Ids that are too long
/// are cut, and told apart by a hash of the whole.
fn plain(id: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = id.chars().map(kept).collect();
    let name = name.trim_start_matches('.');
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let end = name.floor_char_boundary(LONGEST);
    let hash = xxhash_rust::xxh3::xxh3_64(id.as_bytes());
    format!("{}-{hash:016x}", name.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Folder, plain};

    #[test]
    fn no_id_leaves_the_folder() {
        assert_eq!(plain("../../etc/passwd"), "_.._etc_passwd");
        assert_eq!(plain("..."), "");
        assert_eq!(plain("a b/数据:1"), "a_b_数据_1");
    }

    #[test]
    fn a_chinese_id_of_a_hundred_characters_is_no_name_too_long() {
        let (one, other) = (plain(&"数".repeat(100)), plain(&"数".repeat(101)));
        assert!(one.len() < 200 && one.starts_with("数"), "{one}");
        assert_ne!(one, other);
        assert_eq!(plain(&"a".repeat(180)).len(), 180);
    }

    #[test]
    fn no_run_is_written_over_another_whose_id_ends_in_a_number() {
        let mut folder = Folder::at(std::path::Path::new("nowhere"));
        let names = ["x-3", "x", "x", "X", "x-4", "x"].iter().zip(1..);
        let names: Vec<String> = names.map(|(stem, number)| folder.free(stem, number)).collect();
        let mut unique: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len(), "{names:?}");
        assert_eq!(names.get(2).map(String::as_str), Some("x-4.atif.json"));
    }
}
