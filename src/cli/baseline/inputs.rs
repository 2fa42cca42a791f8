//! What a baseline was read from: one entry a path that was given, with a digest of its content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::Failure;
use super::super::runs::Set;
use crate::baseline::Input;
use crate::render::mask;

/// What was read below one given path.
#[derive(Default)]
struct Below {
    formats: BTreeSet<&'static str>,
    files: u64,
    runs: u64,
    rejected: u64,
    /// Files on disk; members of an archive are in its file.
    on_disk: BTreeSet<PathBuf>,
}

/// The inputs of a set; files that were left out are in none.
pub(super) fn inputs(set: &Set, given: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut all: BTreeMap<&Path, Below> = BTreeMap::new();
    for file in &set.tally.files {
        let Some(format) = file.format else { continue };
        // What a glob found stands under its own path.
        let path = given
            .iter()
            .map(PathBuf::as_path)
            .filter(|path| file.path.starts_with(path))
            .max_by_key(|path| path.as_os_str().len())
            .unwrap_or(&file.path);
        let below = all.entry(path).or_default();
        below.formats.insert(format);
        below.files += 1;
        below.runs += file.runs;
        below.rejected += file.all_rejected();
        below.on_disk.extend(on_disk(&file.path).map(Path::to_owned));
    }
    let input = |(path, below): (&Path, Below)| {
        Ok(Input {
            save: 1,
            path: shown(path),
            sha256: digest(path, &below.on_disk)?,
            formats: below.formats.into_iter().map(str::to_owned).collect(),
            files: below.files,
            runs: below.runs,
            rejected: below.rejected,
        })
    };
    all.into_iter().map(input).collect()
}

/// The file that holds what was read: itself, or the archive that it is a member of.
fn on_disk(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| path.is_file())
}

/// A path that is the same on every machine: as given where it is relative, else its last name.
fn shown(path: &Path) -> String {
    let last = || path.file_name().map(|name| name.to_string_lossy().into_owned());
    if path.is_absolute() || path.has_root() {
        return mask(&last().unwrap_or_default());
    }
    mask(&slashes(path))
}

fn slashes(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The digest of a file, or of the list of a folder's files; none for what cannot be read again.
fn digest(path: &Path, on_disk: &BTreeSet<PathBuf>) -> Result<Option<String>, Failure> {
    if on_disk.is_empty() {
        return Ok(None);
    }
    if path.is_file() || !path.is_dir() {
        return on_disk.first().map(|file| of_file(file)).transpose();
    }
    let mut list = String::new();
    for file in on_disk {
        let name = slashes(file.strip_prefix(path).unwrap_or(file));
        list.push_str(&format!("{}  {name}\n", of_file(file)?));
    }
    Ok(Some(hex(&Sha256::digest(list.as_bytes()))))
}

fn of_file(path: &Path) -> Result<String, Failure> {
    let fail = |error: std::io::Error| {
        Failure::usage(format!("cannot read {} again for its digest: {error}", path.display()))
    };
    let mut file = File::open(path).map_err(fail)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let length = file.read(&mut block).map_err(fail)?;
        if length == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(block.get(..length).unwrap_or_default());
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::shown;
    use std::path::Path;

    #[test]
    fn no_path_of_one_machine_is_kept() {
        assert_eq!(shown(Path::new("runs/new.ndjson")), "runs/new.ndjson");
        assert_eq!(shown(Path::new("../runs")), "../runs");
        assert_eq!(shown(Path::new("/home/me/runs")), "runs");
        assert_eq!(shown(Path::new("-")), "-");
    }
}
