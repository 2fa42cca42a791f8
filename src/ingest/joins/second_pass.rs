//! The second pass: trajectories that wait until all files beside them are known.
//!
//! Owns what is kept of a file that is put off: small ones and pipes as far as they were read, all
//! others only by their path, members of archives by their number. Each keeps its place among the
//! inputs. What is a run by itself unless its trajectory is found comes last of all.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use super::super::archive::member;
use super::super::feed::Feed;
use super::super::formats::sidecars::{SIDECAR_LIMIT, Sidecar};
use super::super::formats::{Format, Reader, harbor};
use super::super::read::{BLOCK, Session, Visitor};
use super::super::source::{self, Stream};
use super::super::split::Framing;
use super::super::{FileTally, LeftOut, ReadError};
use crate::model::{Issue, Place, Severity};

/// Bytes of small files that are held together, so that they need not be read twice.
const HELD: usize = 64 << 20;

/// How a stream can be had again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Again {
    /// It cannot: it comes through a pipe.
    Never,
    /// By the path of its file.
    Path,
    /// As a member of an archive, by its number.
    Member(PathBuf, usize),
}

impl Again {
    /// How the file at this path can be had again.
    pub(in super::super) fn of(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(found) if found.is_file() => Self::Path,
            _ => Self::Never,
        }
    }
}

/// A file that waits for the second pass.
pub(in super::super) struct Deferred<'p> {
    path: PathBuf,
    file: u32,
    format: &'static Format,
    /// What was read of it, where that is kept.
    feed: Option<Feed<'p>>,
    again: Again,
    /// For a result that is a run by itself: its number among what is said.
    head: Option<usize>,
    /// Hash of a file that was read whole.
    content: Option<u64>,
}

impl<'s, V: Visitor> Session<'s, V> {
    /// Reads a file that says something of runs, and tells of it at the end.
    pub(in super::super) fn sidecar(
        &mut self,
        mut feed: Feed<'s>,
        path: &Path,
        named: bool,
        kind: &'static Sidecar,
    ) -> Result<(), ReadError> {
        fill(&mut feed);
        if let Some(damage) = feed.damage() {
            return self.cannot_read(path, damage.to_owned());
        }
        if !feed.ended() {
            return self.cannot_read(path, format!("{} of more than 256 MiB", kind.about));
        }
        let said = (kind.read)(feed.bytes(), path);
        let reason = kind.about.to_owned();
        self.tally.files.push(FileTally::left_out(path.to_owned(), LeftOut::Sidecar, reason));
        #[expect(clippy::cast_possible_truncation, reason = "no one names four billion files")]
        let file = (self.tally.files.len() - 1) as u32;
        if let Some(first) = said.broken.first() {
            let place = Place { file, ..Place::default() };
            let message = format!("{}: {first}", kind.about);
            let issue = Issue {
                severity: Severity::Rejected,
                ..Issue::warning("unreadable_outcome", place, message)
            };
            self.issue(issue.times(said.broken.len() as u64))?;
        }
        self.joins.add(path, file, named, kind, said);
        Ok(())
    }

    /// Puts off a trajectory until all files beside it are known.
    pub(in super::super) fn put_off(
        &mut self,
        mut feed: Feed<'s>,
        path: &Path,
        format: &'static Format,
        again: Again,
    ) {
        let file = self.begin(path, format);
        let mut head = None;
        if format.name == harbor::HARBOR.name {
            fill(&mut feed);
            head = harbor::head(feed.bytes())
                .map(|head| self.joins.add_run(path, file, harbor::HARBOR.about, head));
        } else {
            self.joins.trajectory(path);
        }
        // Formats of whole records have no ids by which copies of a file would be known.
        let whole = feed.ended() && matches!(format.reader, Reader::Whole(_));
        let content = whole.then(|| {
            let mut hasher = DefaultHasher::new();
            feed.bytes().hash(&mut hasher);
            hasher.finish()
        });
        let size = feed.bytes().len();
        let small = feed.ended() && self.held + size <= HELD;
        let feed = (small || again == Again::Never).then(|| {
            self.held += size;
            feed
        });
        let path = path.to_owned();
        self.deferred.push(Deferred { path, file, format, feed, again, head, content });
    }

    /// Reads what was put off, now that all files beside it are known. Results that are runs by
    /// themselves are given back, because only the end tells whether they have a trajectory.
    pub(in super::super) fn second_pass(&mut self) -> Result<Vec<Deferred<'s>>, ReadError> {
        let (runs, files): (Vec<_>, Vec<_>) = std::mem::take(&mut self.deferred)
            .into_iter()
            .partition(|file| file.format.name == harbor::HARBOR.name);
        let trials: Vec<Option<PathBuf>> =
            files.iter().map(|file| self.joins.trial_of(&file.path)).collect();
        let told: HashSet<&Path> = files
            .iter()
            .zip(&trials)
            .filter(|(file, _)| file.format.name == "atif")
            .filter_map(|(_, trial)| trial.as_deref())
            .collect();
        let twice: Vec<bool> = files
            .iter()
            .zip(&trials)
            .map(|(file, trial)| {
                file.format.name != "atif" && trial.as_deref().is_some_and(|t| told.contains(t))
            })
            .collect();
        let mut archive = None;
        let mut read: HashMap<u64, PathBuf> = HashMap::new();
        for (file, twice) in files.into_iter().zip(twice) {
            if let Some(content) = file.content {
                if let Some(first) = read.get(&content) {
                    let reason = format!("the same content as {}", first.display());
                    self.give_up(file.file, reason, LeftOut::Repeated);
                    continue;
                }
                read.insert(content, file.path.clone());
            }
            if twice {
                let reason = "the agent's own record of a trial whose ATIF trajectory is read";
                self.give_up(file.file, reason.to_owned(), LeftOut::Repeated);
                continue;
            }
            self.resume(file, &mut archive)?;
        }
        Ok(runs)
    }

    /// Reads results that are runs by themselves where no trajectory of theirs was met.
    pub(in super::super) fn results(&mut self, runs: Vec<Deferred<'s>>) -> Result<(), ReadError> {
        let mut archive = None;
        for run in runs {
            if run.head.is_some_and(|head| self.joins.has_met(head)) {
                let reason = "the result of a trial, joined to its trajectory".to_owned();
                self.give_up(run.file, reason, LeftOut::Sidecar);
                continue;
            }
            self.resume(run, &mut archive)?;
        }
        Ok(())
    }

    fn resume(
        &mut self,
        file: Deferred<'s>,
        archive: &mut Option<(PathBuf, zip::ZipArchive<std::fs::File>)>,
    ) -> Result<(), ReadError> {
        let feed = match file.feed {
            Some(feed) => feed,
            None => {
                let feed = reopen(&file.again, &file.path, archive).map(|stream| self.feed(stream));
                match feed {
                    Ok(feed) => feed,
                    Err(reason) => {
                        if self.request.strict {
                            return Err(ReadError::unreadable_input(&file.path, &reason));
                        }
                        self.give_up(file.file, reason, LeftOut::Unreadable);
                        return Ok(());
                    }
                }
            }
        };
        let framing = Framing::of(feed.bytes());
        self.records(feed, framing, file.format, &file.path, (file.file, None, None))
    }

    /// Takes back the account of a file that gives no runs after all.
    fn give_up(&mut self, file: u32, reason: String, what: LeftOut) {
        if let Some(tally) = self.tally.files.get_mut(file as usize) {
            *tally = FileTally::left_out(std::mem::take(&mut tally.path), what, reason);
        }
    }

    /// Tells what was joined and what was not.
    ///
    /// # Errors
    /// Files beside trajectories were named, and no trajectory is there.
    pub(in super::super) fn tell_joins(&mut self) -> Result<(), ReadError> {
        let any_runs = self.tally.recognised() > 0;
        if !any_runs && let Some((path, reason)) = self.joins.named_alone() {
            return Err(ReadError::Unrecognised { path: path.to_owned(), reason });
        }
        for (file, reason) in self.joins.left_out() {
            if let Some(tally) = self.tally.files.get_mut(file as usize) {
                tally.left_out = Some(reason);
            }
        }
        for issue in self.joins.issues(any_runs) {
            self.issue(issue)?;
        }
        Ok(())
    }
}

/// Reads on to the end, within the bound of a file beside trajectories.
fn fill(feed: &mut Feed<'_>) {
    let mut size = feed.bytes().len();
    while !feed.ended() && size <= SIDECAR_LIMIT {
        feed.fill(size + BLOCK);
        size = feed.bytes().len();
    }
}

/// Opens a file once more.
fn reopen(
    again: &Again,
    path: &Path,
    archive: &mut Option<(PathBuf, zip::ZipArchive<std::fs::File>)>,
) -> Result<Box<dyn Read + Send>, String> {
    let changed = || "the file is not what it was when it was first read".to_owned();
    let of = |error: ReadError| match error {
        ReadError::Unreadable { reason, .. } => reason,
        other => other.to_string(),
    };
    match again {
        Again::Never => Err(changed()),
        Again::Path => match source::open(path).map_err(of)? {
            Stream::Bytes(stream) => Ok(stream),
            Stream::Zip(_) => Err(changed()),
        },
        Again::Member(of_path, index) => {
            if archive.as_ref().is_none_or(|(open, _)| open != of_path) {
                match source::open(of_path).map_err(of)? {
                    Stream::Zip(opened) => *archive = Some((of_path.clone(), opened)),
                    Stream::Bytes(_) => return Err(changed()),
                }
            }
            let (_, opened) = archive.as_mut().ok_or_else(changed)?;
            let bytes = member(opened, *index)?;
            source::decompress(Box::new(Cursor::new(bytes)), path).map_err(of)
        }
    }
}
