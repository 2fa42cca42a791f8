//! What the runs of both sides say about one figure: one entry a task, one pair of numbers a run.
//!
//! Owns which runs are in a comparison, and how unfinished and lost runs count. Refuses to test.

use std::borrow::Cow;

use super::pairing::{Mode, PairedTask, Pairing};
use crate::config::Unfinished;
use crate::evaluate::{Outcome, RunRow};
use crate::metrics::{Metric, Set, Shape};

/// What one run adds to a figure: numerator and denominator.
pub type Part = (f64, f64);

/// The runs of one task that are in a figure, sorted by their numbers: the order of files must
/// not matter to random relabelling.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskSample {
    /// Of the baseline.
    pub baseline: Vec<Part>,
    /// Of the candidate.
    pub candidate: Vec<Part>,
}

/// Both sides of one figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Whether entries have runs on both sides.
    pub mode: Mode,
    /// The tasks that say something; unpaired, those of the baseline and those of the candidate.
    pub tasks: Vec<TaskSample>,
}

/// Rows of one side under the policy for unfinished runs.
#[must_use]
pub fn counted(rows: &[RunRow], unfinished: Unfinished) -> Cow<'_, [RunRow]> {
    let cut = |row: &RunRow| row.outcome == Outcome::Unfinished;
    if unfinished == Unfinished::Exclude || !rows.iter().any(cut) {
        return Cow::Borrowed(rows);
    }
    let mut rows = rows.to_vec();
    rows.iter_mut().filter(|row| cut(row)).for_each(|row| row.outcome = Outcome::Failed);
    Cow::Owned(rows)
}

impl Sample {
    /// Takes what every run adds to a figure. `all` holds the runs of both sides.
    #[must_use]
    pub fn of(pairing: &Pairing<'_>, metric: &Metric, all: &Set<'_>) -> Self {
        let tasks = pairing.tasks.iter().map(|task| TaskSample::of(task, metric, all));
        let says = |task: &TaskSample| match pairing.mode {
            Mode::Paired => !task.baseline.is_empty() && !task.candidate.is_empty(),
            Mode::Unpaired => !task.baseline.is_empty() || !task.candidate.is_empty(),
        };
        Self { mode: pairing.mode, tasks: tasks.filter(says).collect() }
    }

    /// Runs of the baseline and of the candidate.
    #[must_use]
    pub fn runs(&self) -> (usize, usize) {
        self.tasks.iter().fold((0, 0), |(baseline, candidate), task| {
            (baseline + task.baseline.len(), candidate + task.candidate.len())
        })
    }
}

impl TaskSample {
    fn of(task: &PairedTask<'_>, metric: &Metric, all: &Set<'_>) -> Self {
        let parts = |rows: &[&RunRow]| {
            let mut parts: Vec<Part> =
                rows.iter().filter_map(|row| all.part(metric, row)).collect();
            parts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            parts
        };
        let baseline = parts(&task.baseline);
        let mut candidate = parts(&task.candidate);
        if counts_lost(metric) {
            // They sort first: nothing is below 0. A task that lost all of its runs is in pass^k at
            // any k that the baseline allows.
            let whole = matches!(metric.shape, Shape::PassK(_)) && task.candidate.is_empty();
            let least = if whole && task.lost > 0 { baseline.len() } else { 0 };
            let lost = usize::try_from(task.lost).unwrap_or(usize::MAX).min(MOST_LOST).max(least);
            candidate.splice(0..0, std::iter::repeat_n((0.0, 1.0), lost));
        }
        Self { baseline, candidate }
    }
}

/// Lost runs of one task that are counted one by one; a config may ask for any number of trials.
pub(super) const MOST_LOST: usize = 10_000;

/// Whether a lost run counts in a figure: in those that say how many runs were completed.
pub(super) fn counts_lost(metric: &Metric) -> bool {
    metric.name == "final_completion_rate" || matches!(metric.shape, Shape::PassK(_))
}
