//! The folder of a library: which files are in it, and that a change of it is whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::failure::KnownFailure;
use super::gather::Gathered;
use super::{LibraryError, MOST_SIGNATURES};
use crate::drafts;
use crate::model::nearest;

/// The library of a project, from the folder that has `.agenteval`.
pub const FOLDER: &str = ".agenteval/failures";

/// Bytes that a file of a library may have.
pub const MAX_FILE: u64 = 8 << 20;

/// Ids that a message lists.
const MAX_LISTED: usize = 10;

/// A library of failures: a folder with a file each. It need not exist yet.
#[derive(Debug, Clone)]
pub struct Library {
    folder: PathBuf,
    /// By id: the file, its bytes, and what is in it.
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    file: PathBuf,
    /// As read; empty for one that is not written yet.
    bytes: Vec<u8>,
    failure: KnownFailure,
}

impl Entry {
    /// Refuses a file that is not as it was read.
    fn unchanged(&self) -> Result<(), LibraryError> {
        inside(&self.file, self.bytes.is_empty())?;
        if self.bytes.is_empty() || read(&self.file).is_ok_and(|bytes| bytes == self.bytes) {
            return Ok(());
        }
        Err(unusable(&self.file, "somebody changed it in the meantime; run the command again"))
    }
}

/// What a change of a library would write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Ids of failures that were not there.
    pub new: Vec<String>,
    /// Ids of failures that were there, with a file that is no longer the same.
    pub changed: Vec<String>,
}

impl Library {
    /// The folder that holds for a folder: [`FOLDER`] in it or in the nearest folder above that has
    /// `.agenteval`, else in it.
    #[must_use]
    pub fn find(start: &Path) -> PathBuf {
        let home = start.ancestors().find(|folder| folder.join(".agenteval").is_dir());
        home.unwrap_or(start).join(FOLDER)
    }

    /// Reads all files `*.json` of a folder; one that does not exist is an empty library.
    ///
    /// # Errors
    ///
    /// The first file in order that is no sound failure, two files of one failure, and a folder or
    /// file that cannot be read.
    pub fn load(folder: impl Into<PathBuf>) -> Result<Self, LibraryError> {
        let mut library = Self { folder: folder.into(), entries: BTreeMap::new() };
        for file in library.files()? {
            let bytes = read(&file)?;
            let shown = file.display().to_string();
            let failure = KnownFailure::from_bytes(&bytes, &shown)?;
            let id = failure.signature.id();
            if let Some(other) = library.entries.get(&id) {
                return Err(LibraryError::Form {
                    path: shown,
                    line: 1,
                    reason: format!(
                        "this is the failure {id}, which {} is too; remove one of both",
                        other.file.display()
                    ),
                });
            }
            library.entries.insert(id, Entry { file, bytes, failure });
        }
        Ok(library)
    }

    fn files(&self) -> Result<Vec<PathBuf>, LibraryError> {
        let fail = |error: std::io::Error| unusable(&self.folder, &error.to_string());
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fail(error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(fail)?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                files.push(path);
            }
            if files.len() > MOST_SIGNATURES * 2 {
                return Err(unusable(&self.folder, "there are too many files in it"));
            }
        }
        files.sort();
        Ok(files)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The failures by id.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &KnownFailure)> {
        self.entries.iter().map(|(id, entry)| (id.as_str(), &entry.failure))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One by its whole id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&KnownFailure> {
        self.entries.get(id).map(|entry| &entry.failure)
    }

    /// One to be changed, by its whole id.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut KnownFailure> {
        self.entries.get_mut(id).map(|entry| &mut entry.failure)
    }

    /// The file of one.
    #[must_use]
    pub fn file(&self, id: &str) -> Option<&Path> {
        self.entries.get(id).map(|entry| entry.file.as_path())
    }

    /// The whole id that begins with `prefix`, which may be the name of its file too.
    ///
    /// # Errors
    ///
    /// [`LibraryError::Id`] where none or several do, with those that are near.
    pub fn resolve(&self, prefix: &str) -> Result<String, LibraryError> {
        let refuse = |message: String| Err(LibraryError::Id { message });
        let given = prefix.trim().to_ascii_lowercase();
        // The name of a file ends in the id.
        let given = given.strip_suffix(".json").unwrap_or(&given);
        let given = given.rsplit('-').next().unwrap_or_default();
        let shown: String = prefix.chars().take(40).collect();
        let ids: Vec<&str> = self.entries.keys().map(String::as_str).collect();
        if ids.is_empty() {
            return refuse(format!(
                "there is no failure in {}; collect some with `agenteval failures collect PATH...`",
                self.folder.display()
            ));
        }
        let found: Vec<&str> = match given.is_empty() {
            true => Vec::new(),
            false => ids.iter().copied().filter(|id| id.starts_with(given)).collect(),
        };
        match found.as_slice() {
            [one] => Ok((*one).to_owned()),
            [] => {
                let hint = match nearest(given, ids.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`agenteval failures list` shows all".to_owned(),
                };
                refuse(format!("no failure has an id that begins with `{shown}`; {hint}"))
            }
            several => {
                let listed: Vec<&str> = several.iter().copied().take(MAX_LISTED).collect();
                refuse(format!(
                    "{} failures have an id that begins with `{shown}`: {}; write more of it",
                    several.len(),
                    listed.join(", ")
                ))
            }
        }
    }

    /// Takes in what was gathered. What people wrote stays as it is.
    ///
    /// # Errors
    ///
    /// [`LibraryError::TooMany`] where the library would have more than [`MOST_SIGNATURES`].
    pub fn take(&mut self, found: BTreeMap<String, Gathered>) -> Result<(), LibraryError> {
        for (id, gathered) in found {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.failure.seen.join(gathered.seen);
                continue;
            }
            let failure = KnownFailure::new(gathered.signature, gathered.seen);
            let file = self.folder.join(failure.signature.file_name());
            self.entries.insert(id, Entry { file, bytes: Vec::new(), failure });
        }
        if self.entries.len() > MOST_SIGNATURES {
            return Err(LibraryError::TooMany { most: MOST_SIGNATURES });
        }
        Ok(())
    }

    /// Writes every file that is not the same any more: each whole beside its place first, and then
    /// all moved there. Files whose line ends alone differ stay.
    ///
    /// # Errors
    ///
    /// A folder or file that cannot be written, a file that leads out of the library, and one that
    /// somebody else changed since it was read: nothing is written then. Where moving a file fails,
    /// what was moved before stays; each file is whole.
    pub fn save(&mut self) -> Result<Changes, LibraryError> {
        let mut changes = Changes::default();
        let mut ready = Vec::new();
        for (id, entry) in &self.entries {
            let bytes = entry.failure.to_bytes();
            if same(&bytes, &entry.bytes) {
                continue;
            }
            if ready.is_empty() {
                let fail = |error: std::io::Error| unusable(&self.folder, &error.to_string());
                fs::create_dir_all(&self.folder).map_err(fail)?;
            }
            inside(&entry.file, entry.bytes.is_empty())?;
            let fail = |error: std::io::Error| unusable(&entry.file, &error.to_string());
            let mut file = drafts::file(&self.folder).map_err(fail)?;
            file.write_all(&bytes).map_err(fail)?;
            if let Ok(data) = entry.file.metadata() {
                file.set_permissions(data.permissions()).map_err(fail)?;
            }
            let new = entry.bytes.is_empty();
            if new { &mut changes.new } else { &mut changes.changed }.push(id.clone());
            ready.push((id.clone(), file.close(), bytes));
        }
        let _together = drafts::together();
        // An editor or git knows nothing of a lock.
        for (id, ..) in &ready {
            self.entries.get(id).map_or(Ok(()), Entry::unchanged)?;
        }
        for (id, file, bytes) in ready {
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            entry.unchanged()?;
            file.put(&entry.file).map_err(|error| unusable(&entry.file, &error.to_string()))?;
            entry.bytes = bytes;
        }
        Ok(changes)
    }
}

fn unusable(path: &Path, reason: &str) -> LibraryError {
    LibraryError::Unusable { path: path.display().to_string(), reason: reason.to_lowercase() }
}

/// Whether two files are the same but for what git does to line ends.
fn same(new: &[u8], old: &[u8]) -> bool {
    new == old
        || (old.contains(&b'\r')
            && new.iter().eq(old
                .iter()
                .zip(old.iter().skip(1).map(Some).chain([None]))
                .filter_map(|(byte, next)| {
                    (!(*byte == b'\r' && next == Some(&b'\n'))).then_some(byte)
                })))
}

/// Refuses a place that is taken by something else than this library's file.
fn inside(file: &Path, new: bool) -> Result<(), LibraryError> {
    match file.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) if new => {
            Err(unusable(file, "something else has the name of this file; take it away"))
        }
        Ok(data) if !data.is_file() => {
            Err(unusable(file, "it is no plain file; put the file itself there"))
        }
        Ok(_) => Ok(()),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, LibraryError> {
    let fail = |error: std::io::Error| unusable(file, &error.to_string());
    // A link could lead anywhere, and a pipe has no end.
    if !file.symlink_metadata().map_err(fail)?.is_file() {
        return Err(unusable(file, "it is no plain file; put the file itself there"));
    }
    let mut bytes = Vec::new();
    fs::File::open(file)
        .and_then(|opened| opened.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(fail)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(unusable(file, "it is larger than any file of a library; restore it"));
    }
    Ok(bytes)
}
