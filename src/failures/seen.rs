//! What was seen of one failure: when, in which runs and tasks, and one of them as an example.

use super::excerpt::Excerpt;
use super::sample::{Sample, key};
use super::signature::label;
use crate::model::Time;

/// A run that has a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRun {
    /// Its id, else its task and trial; masked.
    pub label: String,
    /// Failed attempts of this failure in it.
    pub attempts: u64,
}

/// What was seen of one failure, over all that was collected.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// The earliest time of a run that has it, as recorded.
    pub first: Option<Time>,
    /// The latest one.
    pub last: Option<Time>,
    /// The runs, by key.
    pub runs: Sample<SeenRun>,
    /// Their tasks, masked.
    pub tasks: Sample<String>,
    /// The steps around it in one of the runs.
    pub excerpt: Option<Excerpt>,
}

impl Seen {
    /// Adds a run.
    pub(super) fn run(&mut self, key: &str, run: SeenRun, time: Option<Time>, task: Option<&str>) {
        self.time(time);
        self.runs.add(key.into(), run, join_run);
        if let Some(task) = task.map(label).filter(|task| !task.is_empty()) {
            self.task(task);
        }
    }

    pub(super) fn task(&mut self, task: String) {
        self.tasks.add(key(&task), task, |_, _| {});
    }

    pub(super) fn time(&mut self, time: Option<Time>) {
        let Some(time) = time else { return };
        if self.first.is_none_or(|first| time < first) {
            self.first = Some(time);
        }
        if self.last.is_none_or(|last| time > last) {
            self.last = Some(time);
        }
    }

    /// Adds an excerpt, of which one is kept.
    pub(super) fn excerpt(&mut self, excerpt: Excerpt) {
        if self.excerpt.as_ref().is_none_or(|known| excerpt.goes_before(known)) {
            self.excerpt = Some(excerpt);
        }
    }

    /// Adds what was seen elsewhere; neither order nor repetition matters.
    pub fn join(&mut self, other: Self) {
        self.time(other.first);
        self.time(other.last);
        self.runs.join(other.runs, join_run);
        self.tasks.join(other.tasks, |_, _| {});
        if let Some(excerpt) = other.excerpt {
            self.excerpt(excerpt);
        }
    }

    /// Failed attempts in all runs: exact where the number of runs is, else as many in each of
    /// those that are not kept as in the others.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        let kept = self.runs.kept().fold(0_u64, |sum, (_, run)| sum.saturating_add(run.attempts));
        let (runs, beyond) = (u128::from(self.runs.len().max(1)), u128::from(self.runs.beyond()));
        let more = (u128::from(kept) * beyond + runs / 2) / runs;
        kept.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
    }

    /// The earliest time as text, with `Z` only where the source names a zone.
    #[must_use]
    pub fn first_seen(&self) -> Option<String> {
        self.first.and_then(iso)
    }

    /// The latest time as text, with `Z` only where the source names a zone.
    #[must_use]
    pub fn last_seen(&self) -> Option<String> {
        self.last.and_then(iso)
    }

    /// The tasks that are kept, in order.
    #[must_use]
    pub fn task_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.tasks.kept().map(|(_, task)| task.as_str()).collect();
        names.sort_unstable();
        names
    }
}

/// A time in ISO 8601.
fn iso(time: Time) -> Option<String> {
    let stamp = jiff::Timestamp::from_microsecond(time.micros).ok()?.to_string();
    Some(if time.zoned { stamp } else { stamp.trim_end_matches('Z').to_owned() })
}

/// Of two views of one run the one with more: it may have been collected before it ended.
fn join_run(known: &mut SeenRun, new: SeenRun) {
    known.attempts = known.attempts.max(new.attempts);
    if new.label < known.label {
        known.label = new.label;
    }
}
