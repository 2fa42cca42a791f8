//! A folder that takes a file a run.
//!
//! All files are written beside their places first, and moved there when the last run is written: a
//! conversion that fails leaves none.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::super::Failure;
use super::super::output::Draft;
use super::super::runs::Set;

/// Characters of an id that a file's name keeps.
const LONGEST: usize = 100;

pub(super) struct Folder {
    path: PathBuf,
    /// The folder of drafts, inside of the folder itself.
    drafts: Option<tempfile::TempDir>,
    names: Vec<String>,
    taken: HashSet<String>,
}

impl Folder {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), drafts: None, names: Vec::new(), taken: HashSet::new() }
    }

    /// Writes the next run.
    pub(super) fn put(&mut self, run_id: Option<&str>, line: &str) -> io::Result<()> {
        if self.drafts.is_none() {
            std::fs::create_dir_all(&self.path)?;
            self.drafts = Some(tempfile::tempdir_in(&self.path)?);
        }
        let Some(drafts) = &self.drafts else { return Ok(()) };
        let number = self.names.len() + 1;
        let stem = run_id.map(plain).filter(|name| !name.is_empty());
        let stem = stem.unwrap_or_else(|| format!("run-{number}"));
        // Some file systems take names that differ in case alone for one.
        let mut name = format!("{stem}.atif.json");
        if !self.taken.insert(name.to_lowercase()) {
            name = format!("{stem}-{number}.atif.json");
            self.taken.insert(name.to_lowercase());
        }
        let mut file = std::fs::File::create(drafts.path().join(&name))?;
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")?;
        self.names.push(name);
        Ok(())
    }

    /// Puts all files in their places. Refuses to write over what was read.
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
        for name in &self.names {
            let place = self.path.join(name);
            let fail = |error: io::Error| {
                Failure::usage(format!("cannot write {}: {error}", place.display()))
            };
            let mut draft = Draft::begin(&place)?;
            let mut file = std::fs::File::open(drafts.path().join(name)).map_err(fail)?;
            io::copy(&mut file, &mut draft).map_err(fail)?;
            draft.finish()?;
        }
        Ok(())
    }
}

/// The id as a file's name: letters, digits, `.`, `_` and `-`, never only dots.
fn plain(id: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = id.chars().take(LONGEST).map(kept).collect();
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn no_id_leaves_the_folder() {
        assert_eq!(plain("../../etc/passwd"), "_.._etc_passwd");
        assert_eq!(plain("..."), "");
        assert_eq!(plain("a b/数据:1"), "a_b_数据_1");
    }
}
