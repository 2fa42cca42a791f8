//! Several files that go to their places together.
//!
//! Owns that all of them get there or none. Each file is moved at once, so none is ever seen half
//! written; the set of them is not moved at once: who looks in between sees some of them.

use std::io;
use std::path::{Path, PathBuf};

use super::super::Failure;
use crate::drafts;

/// A file that was moved to its place, and the copy of what stood there.
struct Moved {
    place: PathBuf,
    before: Option<PathBuf>,
    device: bool,
}

/// Moves each draft to its place. What stands there is kept until all are moved, so that a failure
/// takes back what was moved already.
pub(super) fn move_all(all: &[(PathBuf, PathBuf)], drafts: &Path) -> Result<(), Failure> {
    let _together = drafts::together();
    let mut moved = Vec::with_capacity(all.len());
    for (nth, (draft, place)) in all.iter().enumerate() {
        let kept = drafts.join(format!("kept-{nth}"));
        match put(draft, place, kept) {
            Ok(done) => moved.push(done),
            Err(error) => {
                take_back(moved);
                return Err(Failure::usage(format!("cannot write {}: {error}", place.display())));
            }
        }
    }
    Ok(())
}

fn put(draft: &Path, place: &Path, kept: PathBuf) -> io::Result<Moved> {
    // A link stays one: what it points to is written.
    let place = if place.is_symlink() { place.canonicalize()? } else { place.to_owned() };
    let before = match std::fs::metadata(&place) {
        Ok(found) if found.is_dir() => return Err(io::Error::other("a folder stands there")),
        // A device or pipe is written to as it is; what went there cannot be taken back.
        Ok(found) if !found.is_file() => {
            let mut to = std::fs::OpenOptions::new().write(true).open(&place)?;
            io::copy(&mut std::fs::File::open(draft)?, &mut to)?;
            return Ok(Moved { place, before: None, device: true });
        }
        Ok(found) => {
            // A file that is there keeps its rights.
            std::fs::set_permissions(draft, found.permissions())?;
            std::fs::hard_link(&place, &kept)
                .or_else(|_| std::fs::copy(&place, &kept).map(drop))
                .map(|()| Some(kept))?
        }
        Err(_) => None,
    };
    shift(draft, &place)?;
    Ok(Moved { place, before, device: false })
}

/// Undoes what was moved; what cannot be undone is left, since the failure is told anyhow.
fn take_back(moved: Vec<Moved>) {
    for Moved { place, before, device } in moved {
        drop(match before {
            Some(before) => shift(&before, &place),
            None if device => Ok(()),
            None => std::fs::remove_file(&place),
        });
    }
}

/// Moves a file, to another file system too, where a link may lead.
fn shift(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to).or_else(|_| std::fs::copy(from, to).map(drop))
}

#[cfg(test)]
mod tests {
    use super::move_all;

    #[test]
    fn a_failed_move_takes_back_what_was_moved() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for (name, text) in [("d1", "new"), ("d2", "new"), ("d3", "new"), ("old", "old")] {
            std::fs::write(at(name), text)?;
        }
        std::fs::create_dir(at("blocked"))?;
        let all = [(at("d1"), at("old")), (at("d2"), at("fresh")), (at("d3"), at("blocked"))];
        assert!(move_all(&all, folder.path()).is_err());
        assert_eq!(std::fs::read_to_string(at("old"))?, "old");
        assert!(!at("fresh").exists());
        assert!(move_all(&[(at("d3"), at("old"))], folder.path()).is_ok());
        assert_eq!(std::fs::read_to_string(at("old"))?, "new");
        Ok(())
    }
}
