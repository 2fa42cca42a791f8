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
use super::super::begun::{Begun, framing_of};
use super::super::feed::Feed;
use super::super::formats::sidecars::{SIDECAR_LIMIT, Sidecar, joins, task_named, task_said};
use super::super::formats::{Format, Parsed, Reader, harbor};
use super::super::read::{BLOCK, Session, Visitor};
use super::super::source::{self, Stream};
use super::super::split::{Framing, Span, Splitter};
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
            _ if source::is_input(path) => Self::Never,
            Ok(found) if found.is_file() => Self::Path,
            _ => Self::Never,
        }
    }
}

/// What copies of a file are known by.
struct Content {
    hash: u64,
    /// The task that the file's name says.
    task: Option<String>,
    /// Whether the file itself says its task; looked for only where the hash was seen before.
    says_task: bool,
}

/// What an agent prints while it works, and the session that it keeps of the same.
const PRINTED: [(&str, &str); 2] = [("claude-stream", "claude-code"), ("codex-exec", "codex")];

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
    /// What copies of a file that was read whole are known by.
    content: Option<Content>,
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
        // What it says is for files that come after it.
        self.flush()?;
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
        } else if joins(format.name) {
            self.joins.trajectory(path);
        }
        // Formats of whole records have no ids by which copies of a file would be known. Runs without
        // a step are alike without being copies.
        let whole = feed.ended() && joins(format.name) && matches!(format.reader, Reader::Whole(_));
        let content = (whole && has_turns(feed.bytes())).then(|| {
            let mut hasher = DefaultHasher::new();
            feed.bytes().hash(&mut hasher);
            let hash = hasher.finish();
            let again = !self.joins.contents.insert(hash);
            let says_task = again && task_said(format.name, feed.bytes()).is_some();
            Content { hash, task: task_named(path), says_task }
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
    /// themselves are given back, because only the end tells whether they have a trajectory; and so
    /// are the runs that had to be made to be counted.
    pub(in super::super) fn second_pass(
        &mut self,
    ) -> Result<(Vec<Deferred<'s>>, Finished), ReadError> {
        let (runs, files): (Vec<_>, Vec<_>) = std::mem::take(&mut self.deferred)
            .into_iter()
            .partition(|file| file.format.name == harbor::HARBOR.name);
        let trials: Vec<Option<PathBuf>> =
            files.iter().map(|file| self.joins.trial_of(&file.path)).collect();
        let mut records: HashMap<&Path, HashSet<&str>> = HashMap::new();
        for (file, trial) in files.iter().zip(&trials) {
            if let Some(trial) = trial {
                records.entry(trial).or_default().insert(file.format.name);
            }
        }
        let mut kept = Vec::new();
        let mut read: HashMap<u64, Vec<(Option<String>, PathBuf)>> = HashMap::new();
        for (file, trial) in files.into_iter().zip(&trials) {
            let records = trial.as_deref().and_then(|trial| records.get(trial));
            if let Some(reason) = records.and_then(|have| told_twice(file.format.name, have)) {
                self.give_up(file.file, reason.to_owned(), LeftOut::Repeated);
                continue;
            }
            if let Some(Content { hash, task, says_task }) = &file.content {
                let known = read.entry(*hash).or_default();
                let first = known.iter().find(|(first, _)| *says_task || first == task);
                if let Some((_, first)) = first {
                    let reason = format!("the same content as {}", first.display());
                    self.give_up(file.file, reason, LeftOut::Repeated);
                    continue;
                }
                known.push((task.clone(), file.path.clone()));
            }
            kept.push(file);
        }
        // What is made of parts gives its runs only once all are read, and is counted with the rest.
        let (whole, parts): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|file| matches!(file.format.reader, Reader::Whole(_)));
        let mut archive = None;
        for file in parts {
            self.resume(file, &mut archive)?;
        }
        let finished = self.count_runs(&whole, &mut archive);
        for file in whole {
            self.resume(file, &mut archive)?;
        }
        Ok((runs, finished))
    }

    /// Counts the runs of each task that files speak of; gives what assemblers made.
    fn count_runs(&mut self, whole: &[Deferred<'s>], archive: &mut Opened) -> Finished {
        if !self.joins.asks_for_tasks() {
            return Vec::new();
        }
        let (joining, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.assemblers).into_iter().partition(|(name, _)| joins(name));
        self.assemblers = others;
        let finished: Finished =
            joining.into_iter().map(|(name, assembler)| (name, assembler.finish())).collect();
        for run in finished.iter().flat_map(|(_, parsed)| &parsed.runs) {
            if let (Some(task), Some(file)) =
                (&run.task_id, self.tally.files.get(run.place.file as usize))
            {
                self.joins.count_run(task, run.place.file, &file.path);
            }
        }
        for file in whole.iter().filter(|file| joins(file.format.name)) {
            let said = match &file.feed {
                Some(feed) => tasks_of(file.format, feed),
                // What is not held is opened once more.
                None => match reopen(&file.again, &file.path, archive) {
                    Ok(stream) => {
                        let mut feed = self.feed(stream);
                        fill(&mut feed);
                        tasks_of(file.format, &feed)
                    }
                    Err(_) => Vec::new(),
                },
            };
            for task in said {
                if let Some(task) = task.or_else(|| task_named(&file.path)) {
                    self.joins.count_run(&task, file.file, &file.path);
                }
            }
        }
        self.joins.settle();
        finished
    }

    /// Reads results that are runs by themselves where no trajectory of theirs was met.
    pub(in super::super) fn results(&mut self, runs: Vec<Deferred<'s>>) -> Result<(), ReadError> {
        let mut archive = None;
        for run in runs {
            if run.head.is_some_and(|head| self.joins.is_joined(head)) {
                let reason = "the result of a trial, joined to its trajectory".to_owned();
                self.give_up(run.file, reason, LeftOut::Sidecar);
                continue;
            }
            self.resume(run, &mut archive)?;
        }
        Ok(())
    }

    fn resume(&mut self, file: Deferred<'s>, archive: &mut Opened) -> Result<(), ReadError> {
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
        let begun = Begun { file: file.file, ..Begun::default() };
        self.records(feed, framing, file.format, &file.path, begun)
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

/// The archive that was opened last.
type Opened = Option<(PathBuf, zip::ZipArchive<std::fs::File>)>;

/// What assemblers made, by format.
pub(in super::super) type Finished = Vec<(&'static str, Parsed<'static>)>;

/// Whether a file may be the agent's own record of a trial: it lies in a folder `agent`, and its
/// format is one of runs or of their parts.
pub(in super::super) fn may_be_of_trial(path: &Path, format: &Format) -> bool {
    let inside = path.parent().is_some_and(|folder| folder.iter().any(|name| name == "agent"));
    inside && matches!(format.reader, Reader::Whole(_) | Reader::Parts(_))
}

/// Why a file of a trial says nothing new, given the formats of all its records.
fn told_twice(format: &str, have: &HashSet<&str>) -> Option<&'static str> {
    if format != "atif" && have.contains("atif") {
        return Some("the agent's own record of a trial whose ATIF trajectory is read");
    }
    PRINTED
        .iter()
        .any(|(printed, session)| format == *printed && have.contains(session))
        .then_some("what the agent of a trial printed, whose session is read")
}

/// Whether a file has a turn or a step of an agent: what quotes one has its quotes escaped.
fn has_turns(bytes: &[u8]) -> bool {
    const WORDS: [&[u8]; 3] = [b"\"assistant\"", b"\"action\"", b"\"function_call\""];
    WORDS.iter().any(|word| memchr::memmem::find(bytes, word).is_some())
}

/// For each record of a file, the task that it says itself.
fn tasks_of(format: &Format, feed: &Feed<'_>) -> Vec<Option<String>> {
    let framing = framing_of(format, Framing::of(feed.bytes()));
    let mut spans = Vec::new();
    Splitter::on_line(framing, 1).split(feed.bytes(), true, &mut spans);
    let record = |span: &Span| feed.bytes().get(span.start..span.end).unwrap_or_default();
    spans.iter().map(|span| task_said(format.name, record(span))).collect()
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
    archive: &mut Opened,
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
