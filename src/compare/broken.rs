//! Tasks that worked and do not any more.
//!
//! Owns the list of broken tasks, and the guard for a few tasks that broke hard while the mean
//! hardly moved (`STATISTICS.md`, 5.2).
//!
//! The guard sums the squares of the drops of all tasks, with those of rises against them. Drops
//! alone would alarm where tasks merely got better and worse in equal parts: in up to a fifth of
//! all comparisons whose mean is the same. It asks for nothing else, above all not for a bound of
//! harm above the margin: in a large suite, tasks that broke for good may be less than the margin.
//! `docs/gate-calibration.md` has the forms that were weighed.

use super::evidence::{TestOptions, small};
use super::pairing::Pairing;
use super::sample::Sample;
use crate::evaluate::RunRow;
use crate::stats::{Design, Draws, Drop, Stop, squared_drop};

/// The guard's level as a share of alpha, beside the tests of figures, which have all of it.
pub const GUARD_SHARE: f64 = 0.1;

/// A task whose baseline trials were all completed, and of whose candidate trials none was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenTask {
    /// Its id.
    pub task_id: String,
    /// Trials of the baseline, all completed.
    pub baseline: u64,
    /// Trials of the candidate, lost ones among them, none completed.
    pub candidate: u64,
}

/// What the guard for broken tasks says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guard {
    /// How probable such drops are where nothing changed; above the level only about so.
    pub p: f64,
    /// The level that p must not be above.
    pub level: f64,
    /// Whether it is.
    pub fired: bool,
}

/// The broken tasks, sorted by id.
#[must_use]
pub fn broken_tasks(pairing: &Pairing<'_>) -> Vec<BrokenTask> {
    let counts = |rows: &[&RunRow]| {
        let ended = rows.iter().filter(|row| row.counts_as_ended());
        let completed = ended.clone().filter(|row| row.completed()).count() as u64;
        (completed, ended.count() as u64)
    };
    pairing
        .tasks
        .iter()
        .filter_map(|task| {
            let (passed, of) = counts(&task.baseline);
            let (still, now) = counts(&task.candidate);
            let now = now + u64::from(task.lost);
            (of > 0 && passed == of && now > 0 && still == 0).then(|| BrokenTask {
                task_id: task.id.to_owned(),
                baseline: of,
                candidate: now,
            })
        })
        .collect()
}

impl Guard {
    /// Tests the drops of single tasks. `completion` holds what the runs of each task add to the
    /// completion rate, paired by task. `None` for more runs than can be numbered.
    #[must_use]
    pub fn of(completion: &Sample, options: &TestOptions) -> Option<Self> {
        let (before, after) = completion.runs();
        let options = &options.bounded(before + after);
        let level = options.alpha * GUARD_SHARE;
        // Whether p is at most the level is all that is asked.
        let draws = Draws { stop: Stop::Above(level), ..options.draws };
        let tasks = &completion.tasks;
        let design = Design::new(
            tasks.iter().map(|task| (small(task.baseline.len()), small(task.candidate.len()))),
        )?;
        let runs = tasks.iter().flat_map(|task| task.baseline.iter().chain(&task.candidate));
        let successes: Vec<bool> = runs.map(|(success, _)| *success > 0.0).collect();
        let p = squared_drop(&design, &successes, Drop::Signed, draws)?.p.greater;
        Some(Self { p, level, fired: p <= level })
    }
}
