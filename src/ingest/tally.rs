//! What became of every record: each ends in exactly one place.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::model::{Issue, Place};

/// How many rejected records of a file are kept with their place and reason; all are counted.
pub const KEPT_REJECTIONS: usize = 100;

/// What a file is that gave no runs and is none of the formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// Something else than a trace: predictions, a configuration, a link, a report.
    NotATrace,
    /// JSON of no known form, which may be a trace all the same.
    Unrecognised,
    /// It was read before, or says again what another input says.
    Repeated,
    /// Something beside traces that says more of them, such as outcomes.
    Sidecar,
    /// A log of agents that a field mapping can read.
    NeedsMap,
    /// It may be a trace, and cannot be read.
    Unreadable,
}

impl LeftOut {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotATrace | Self::Unrecognised => "not_a_trace",
            Self::Repeated => "repeated",
            Self::Sidecar => "sidecar",
            Self::NeedsMap => "needs_map",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The account of one input file.
#[derive(Debug, Clone, Default)]
pub struct FileTally {
    /// The file as shown to people.
    pub path: PathBuf,
    /// Its format; `None` where it was left out.
    pub format: Option<&'static str>,
    /// Why it was left out.
    pub left_out: Option<String>,
    /// What it is, where it was left out.
    pub left_out_as: Option<LeftOut>,
    /// Records met.
    pub records: u64,
    /// Records that became runs, or parts of runs.
    pub used: u64,
    /// Records that say the same as another, by rule.
    pub merged: BTreeMap<&'static str, u64>,
    /// Records that no figure reads, by rule.
    pub ignored: BTreeMap<&'static str, u64>,
    /// Records that could not be read.
    pub rejected: u64,
    /// The same by code.
    pub rejected_by: BTreeMap<&'static str, u64>,
    /// Parts of records (samples, spans) that could not be read though their record could, by code.
    pub rejected_parts: BTreeMap<&'static str, u64>,
    /// The first [`KEPT_REJECTIONS`] of both.
    pub rejections: Vec<Issue>,
    /// Records read only after repair (duplicate keys, NaN, bad UTF-8, ...).
    pub repaired: u64,
    /// Runs that the file gave.
    pub runs: u64,
}

impl FileTally {
    /// A file that was left out.
    pub(super) fn left_out(path: PathBuf, what: LeftOut, reason: String) -> Self {
        Self { path, left_out: Some(reason), left_out_as: Some(what), ..Self::default() }
    }

    /// Whether it may be a trace and could not be read.
    #[must_use]
    pub fn unreadable(&self) -> bool {
        self.left_out_as == Some(LeftOut::Unreadable)
    }

    /// Whether it may hold runs that no reader took: a log that wants a mapping, or unknown JSON.
    #[must_use]
    pub fn unmapped(&self) -> bool {
        matches!(self.left_out_as, Some(LeftOut::NeedsMap | LeftOut::Unrecognised))
    }

    /// Whether every record is accounted for.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let merged: u64 = self.merged.values().sum();
        let ignored: u64 = self.ignored.values().sum();
        self.records == self.used + merged + ignored + self.rejected
    }

    /// What could not be read: records, and parts of records that could.
    #[must_use]
    pub fn all_rejected(&self) -> u64 {
        self.rejected + self.rejected_parts.values().sum::<u64>()
    }

    /// Counts one rejected record.
    pub(super) fn reject(&mut self, issue: Issue) {
        self.rejected += 1;
        *self.rejected_by.entry(issue.code).or_default() += 1;
        self.keep(issue);
    }

    /// Counts rejected parts of records, as many as the issue says.
    pub(super) fn reject_parts(&mut self, issue: Issue) {
        *self.rejected_parts.entry(issue.code).or_default() += issue.count;
        self.keep(issue);
    }

    fn keep(&mut self, issue: Issue) {
        if self.rejections.len() < KEPT_REJECTIONS {
            self.rejections.push(issue);
        }
    }
}

/// The account of all inputs.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// One entry per file, in reading order; `Place::file` counts into it.
    pub files: Vec<FileTally>,
    /// Everything that readers noticed and that is no rejection.
    pub issues: Vec<Issue>,
}

impl Tally {
    /// Records and parts of records that could not be read, over all files.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.files.iter().map(FileTally::all_rejected).sum()
    }

    /// Files that gave records of a known form.
    #[must_use]
    pub fn recognised(&self) -> usize {
        self.files.iter().filter(|file| file.format.is_some()).count()
    }

    /// `FILE:LINE` or `FILE@BYTE`.
    #[must_use]
    pub fn locate(&self, place: Place) -> String {
        let path = self.files.get(place.file as usize).map(|file| file.path.display().to_string());
        let path = path.unwrap_or_default();
        if place.line > 0 {
            format!("{path}:{}", place.line)
        } else {
            format!("{path}@{}", place.byte)
        }
    }
}
