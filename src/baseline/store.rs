//! The folder of baselines: which file a name means, what is there, and what is left alone.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{Baseline, BaselineError, check_name};
use crate::model::nearest;

/// The store of a project, from the folder that has `.agenteval`.
pub const FOLDER: &str = ".agenteval/baselines";

/// Bytes that a baseline may have: some five million runs.
pub const MAX_BASELINE: u64 = 2 << 30;

/// Names that a message lists.
const MAX_LISTED: usize = 20;

/// A folder of baselines, one `NAME.json` each. It need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in this folder.
    #[must_use]
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The store that holds for a folder: [`FOLDER`] in it or in the nearest folder above that has
    /// `.agenteval`, else in it.
    #[must_use]
    pub fn find(start: &Path) -> Self {
        let home = start.ancestors().find(|folder| folder.join(".agenteval").is_dir());
        Self::open(home.unwrap_or(start).join(FOLDER))
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a name, whether it is there or not.
    ///
    /// # Errors
    ///
    /// A name that none can have, and a file that leads out of the store or is none.
    pub fn file(&self, name: &str) -> Result<PathBuf, BaselineError> {
        check_name(name)?;
        let path = self.folder.join(format!("{name}.json"));
        let Ok(data) = path.symlink_metadata() else { return Ok(path) };
        let unusable = |reason: &str| {
            let path = path.display().to_string();
            Err(BaselineError::Unusable { path, reason: reason.to_owned() })
        };
        if data.is_symlink() {
            let target = path.canonicalize().ok();
            let home = self.folder.canonicalize().ok();
            if target.is_none() || target.as_deref().and_then(Path::parent) != home.as_deref() {
                return unusable(
                    "it is a link that leads out of the store; put the file itself there",
                );
            }
        }
        if !path.is_file() {
            return unusable("it is no file; name another, or take it away");
        }
        Ok(path)
    }

    /// Whether a baseline of this name is there, sound or not.
    ///
    /// # Errors
    ///
    /// As [`file`](Self::file).
    pub fn has(&self, name: &str) -> Result<bool, BaselineError> {
        Ok(self.file(name)?.exists())
    }

    /// Reads a baseline.
    ///
    /// # Errors
    ///
    /// All of [`BaselineError`] but `Pool`; [`BaselineError::Missing`] where none has the name.
    pub fn load(&self, name: &str) -> Result<Baseline, BaselineError> {
        let path = self.file(name)?;
        if !path.exists() {
            return Err(self.missing(name));
        }
        let shown = path.display().to_string();
        let fail = |reason: String| BaselineError::Unusable { path: shown.clone(), reason };
        let mut bytes = Vec::new();
        fs::File::open(&path)
            .and_then(|file| file.take(MAX_BASELINE + 1).read_to_end(&mut bytes))
            .map_err(|error| fail(error.to_string().to_lowercase()))?;
        if bytes.len() as u64 > MAX_BASELINE {
            return Err(fail(format!(
                "it is larger than the {MAX_BASELINE} bytes that a baseline may have"
            )));
        }
        Baseline::from_json(&bytes, name, &shown)
    }

    /// The names that are there, sorted. A store that does not exist has none.
    ///
    /// # Errors
    ///
    /// A folder that cannot be listed.
    pub fn list(&self) -> Result<Vec<String>, BaselineError> {
        let fail = |error: std::io::Error| BaselineError::Unusable {
            path: self.folder.display().to_string(),
            reason: error.to_string().to_lowercase(),
        };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fail(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry.map_err(fail)?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".json"));
            names.extend(name.filter(|name| check_name(name).is_ok()).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The baseline that was saved last by the times that were given; the only one where there is
    /// one. `None` without any, and where times do not decide.
    ///
    /// # Errors
    ///
    /// A baseline that cannot be read.
    pub fn latest(&self) -> Result<Option<Baseline>, BaselineError> {
        let mut best: Option<(Option<String>, Baseline)> = None;
        let mut tied = false;
        for name in self.list()? {
            let baseline = self.load(&name)?;
            // Times are kept in one zone and form, so that text sorts as time does.
            let time = baseline.saves.iter().filter_map(|save| save.time.clone()).max();
            match &best {
                Some((known, _)) if *known > time => {}
                Some((known, _)) if *known == time => tied = true,
                _ => {
                    tied = false;
                    best = Some((time, baseline));
                }
            }
        }
        Ok(best.filter(|_| !tied).map(|(_, baseline)| baseline))
    }

    /// Takes a baseline away, sound or not, and gives the file that it was.
    ///
    /// # Errors
    ///
    /// A name that is not there, and a file that cannot be removed.
    pub fn remove(&self, name: &str) -> Result<PathBuf, BaselineError> {
        let path = self.file(name)?;
        if !path.exists() {
            return Err(self.missing(name));
        }
        fs::remove_file(&path).map_err(|error| BaselineError::Unusable {
            path: path.display().to_string(),
            reason: error.to_string().to_lowercase(),
        })?;
        Ok(path)
    }

    /// The fault of a name that is not there, with the nearest and all that are.
    #[must_use]
    pub fn missing(&self, name: &str) -> BaselineError {
        let names = self.list().unwrap_or_default();
        let listed = || {
            let first: Vec<&str> = names.iter().take(MAX_LISTED).map(String::as_str).collect();
            let more = names.len().saturating_sub(MAX_LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", first.join(", "))
        };
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            _ if names.is_empty() => {
                let gone = if self.folder.exists() { "" } else { "there is no such folder; " };
                format!("{gone}save one with `agenteval baseline save {name} PATH...`")
            }
            Some(near) => format!("did you mean `{near}`? there are: {}", listed()),
            None => format!("there are: {}", listed()),
        };
        BaselineError::Missing {
            name: name.to_owned(),
            store: self.folder.display().to_string(),
            hint,
        }
    }
}
