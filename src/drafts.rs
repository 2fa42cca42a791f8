//! Files and folders that are there for a while only: drafts beside the places that they go to.
//!
//! Owns that none of them stays: dropped, they are removed, and an interrupt (`SIGINT`, `SIGTERM`,
//! `SIGHUP`) removes them before it ends the program as it would have without. Nothing is caught
//! before the first draft is there. Refuses to know what is written.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempDir, TempPath};

/// The drafts that are there, and whether interrupts are looked out for.
static THERE: Mutex<There> = Mutex::new(There { paths: BTreeSet::new(), watched: false });

/// Held while drafts go to their places together.
static MOVING: Mutex<()> = Mutex::new(());

struct There {
    paths: BTreeSet<PathBuf>,
    watched: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a path among those that an interrupt removes.
#[derive(Debug)]
struct Held(PathBuf);

impl Drop for Held {
    fn drop(&mut self) {
        locked(&THERE).paths.remove(&self.0);
    }
}

/// Makes a draft and keeps its path, without a moment between in which an interrupt could miss it.
fn keep<T>(make: impl FnOnce() -> io::Result<T>, path: fn(&T) -> &Path) -> io::Result<(T, Held)> {
    let mut there = locked(&THERE);
    if !there.watched {
        there.watched = true;
        watch();
    }
    let made = make().map_err(plain)?;
    // A change of the current folder must not lead elsewhere.
    let path = std::path::absolute(path(&made))?;
    there.paths.insert(path.clone());
    Ok((made, Held(path)))
}

/// The error without the name of the draft, which is another each time.
fn plain(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what.to_owned()),
        None => error,
    }
}

/// A file that is a draft. Dropped, it is removed.
#[derive(Debug)]
pub struct DraftFile {
    file: NamedTempFile,
    held: Held,
}

/// A [`DraftFile`] that is written and closed.
#[derive(Debug)]
pub struct ClosedDraft {
    path: TempPath,
    held: Held,
}

/// A folder of drafts. Dropped, it is removed with all that is in it.
#[derive(Debug)]
pub struct DraftFolder {
    folder: TempDir,
    _held: Held,
}

/// A new draft in a folder, with the rights that files usually have.
///
/// # Errors
/// Those of making the file.
pub fn file(folder: &Path) -> io::Result<DraftFile> {
    let (file, held) = keep(|| new_file(folder), NamedTempFile::path)?;
    Ok(DraftFile { file, held })
}

/// A new folder of drafts in a folder, for this user alone.
///
/// # Errors
/// Those of making the folder.
pub fn folder(parent: &Path) -> io::Result<DraftFolder> {
    let (folder, held) = keep(|| tempfile::tempdir_in(parent), TempDir::path)?;
    Ok(DraftFolder { folder, _held: held })
}

/// Temporary files would be private.
#[cfg(unix)]
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}

#[cfg(not(unix))]
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(folder)
}

impl DraftFile {
    /// Gives the draft these rights.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_permissions(&self, rights: Permissions) -> io::Result<()> {
        self.as_file().set_permissions(rights)
    }

    /// The file itself.
    #[must_use]
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Closes the file; many of them may wait for their places.
    #[must_use]
    pub fn close(self) -> ClosedDraft {
        ClosedDraft { path: self.file.into_temp_path(), held: self.held }
    }

    /// Moves the draft to its place, over what stands there.
    ///
    /// # Errors
    /// Those of moving; the draft is removed then.
    pub fn put(self, place: &Path) -> io::Result<()> {
        self.close().put(place)
    }
}

impl Write for DraftFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The handle of the temporary file would name the draft in its errors.
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

impl ClosedDraft {
    /// Moves the draft to its place, over what stands there.
    ///
    /// # Errors
    /// Those of moving; the draft is removed then.
    pub fn put(self, place: &Path) -> io::Result<()> {
        let Self { path, held } = self;
        let moved = path.persist(place).map_err(|error| error.error);
        drop(held);
        moved
    }
}

impl DraftFolder {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Keeps interrupts waiting until it is dropped, so that drafts that belong together all go to their
/// places. A second interrupt does not wait.
#[derive(Debug)]
#[must_use]
pub struct Together {
    _moving: MutexGuard<'static, ()>,
}

/// Begins to move drafts that belong together.
pub fn together() -> Together {
    Together { _moving: locked(&MOVING) }
}

/// Waits where an interrupt is about to end the program, so that nothing is said of what it broke.
pub fn settle() {
    drop((locked(&MOVING), locked(&THERE)));
}

#[cfg(not(unix))]
fn watch() {}

/// Looks out for interrupts. Where that cannot be, they end the program as they are used to.
#[cfg(unix)]
fn watch() {
    use signal_hook::iterator::Signals;

    let (tell, ready) = std::sync::mpsc::channel();
    let waiting = move || {
        let signals = Signals::new(interrupts());
        let _ = tell.send(());
        let Ok(mut signals) = signals else { return };
        if let Some(signal) = signals.forever().next() {
            end(signal, &mut signals);
        }
    };
    if std::thread::Builder::new().name("interrupts".to_owned()).spawn(waiting).is_ok() {
        // An error says that the thread is gone, and with it the handlers.
        let _ = ready.recv();
    }
}

/// The signals that end this program, but for those that whoever started it told it to ignore: shells
/// do so for `SIGINT` of jobs behind a script, `nohup` for `SIGHUP`.
#[cfg(unix)]
fn interrupts() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let status = std::fs::read_to_string("/proc/self/status").ok();
    let ignored = status.as_deref().and_then(|text| {
        let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    match ignored {
        Some(mask) => {
            let heard = |signal: &i32| mask >> (signal - 1) & 1 == 0;
            [SIGINT, SIGTERM, SIGHUP].into_iter().filter(heard).collect()
        }
        // Where it cannot be told what is ignored, `nohup` is to keep its word.
        None => vec![SIGINT, SIGTERM],
    }
}

/// Removes all drafts and ends the program as the signal does.
#[cfg(unix)]
fn end(signal: i32, signals: &mut signal_hook::iterator::Signals) -> ! {
    let held = loop {
        if let (Ok(moving), Ok(there)) = (MOVING.try_lock(), THERE.try_lock()) {
            break Some((moving, there));
        }
        // Whoever asks twice does not want to wait for a slow disk.
        if signals.pending().next().is_some() {
            break None;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    for path in held.iter().flat_map(|(_, there)| &there.paths) {
        remove(path);
    }
    // The first process of a container is deaf to signals without a handler.
    if std::process::id() != 1 {
        drop(signal_hook::low_level::emulate_default_handler(signal));
    }
    std::process::exit(128 + signal)
}

/// Removes a file or a folder; the program may still be writing into it.
#[cfg(unix)]
fn remove(path: &Path) {
    for _ in 0..100 {
        let gone = match path.symlink_metadata() {
            Ok(data) if data.is_dir() => std::fs::remove_dir_all(path),
            Ok(_) => std::fs::remove_file(path),
            Err(_) => return,
        };
        if gone.is_ok() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{THERE, file, folder, locked};
    use std::io::Write as _;

    #[test]
    fn drafts_are_kept_in_mind_until_they_are_put_or_dropped() -> std::io::Result<()> {
        let home = tempfile::tempdir()?;
        let known = || {
            let there = locked(&THERE);
            there.paths.iter().filter(|path| path.starts_with(home.path())).count()
        };
        let mut draft = file(home.path())?;
        let inner = folder(home.path())?;
        std::fs::write(inner.path().join("x"), "x")?;
        assert_eq!(known(), 2);
        draft.write_all(b"whole")?;
        draft.put(&home.path().join("place"))?;
        assert_eq!(known(), 1);
        drop(inner);
        drop(file(home.path())?.close());
        assert_eq!(known(), 0);
        assert_eq!(std::fs::read_to_string(home.path().join("place"))?, "whole");
        assert_eq!(std::fs::read_dir(home.path())?.count(), 1);
        Ok(())
    }
}
