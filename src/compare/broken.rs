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

/// A task that completed a smaller share of its trials than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallenTask {
    /// Its id.
    pub task_id: String,
    /// Completed trials of the baseline, and all.
    pub baseline: (u64, u64),
    /// Completed trials of the candidate, and all, lost ones among them.
    pub candidate: (u64, u64),
}

impl FallenTask {
    /// By how much the share of completed trials fell, as a fraction: floats would not tell that
    /// 3/3 to 2/3 and 2/3 to 1/3 are as far.
    fn drop(&self) -> (i128, i128) {
        let ((passed, of), (still, now)) = (self.baseline, self.candidate);
        let [passed, of, still, now] = [passed, of, still, now].map(i128::from);
        (passed * now - still * of, of * now)
    }
}

/// Completed trials, and all that ended.
fn counts(rows: &[&RunRow]) -> (u64, u64) {
    let ended = rows.iter().filter(|row| row.counts_as_ended());
    let completed = ended.clone().filter(|row| row.completed()).count() as u64;
    (completed, ended.count() as u64)
}

/// Tasks that fell without being broken: the hardest drops first, then by id.
#[must_use]
pub(super) fn fallen_tasks(pairing: &Pairing<'_>) -> Vec<FallenTask> {
    let mut fallen = Vec::new();
    for task in &pairing.tasks {
        let (before, (passed, of)) = (counts(&task.baseline), counts(&task.candidate));
        let after = (passed, of + u64::from(task.lost));
        let broken = before.0 == before.1 && after.0 == 0;
        let fallen_task =
            FallenTask { task_id: task.id.to_owned(), baseline: before, candidate: after };
        if before.1 > 0 && after.1 > 0 && fallen_task.drop().0 > 0 && !broken {
            fallen.push(fallen_task);
        }
    }
    fallen.sort_by(|a, b| {
        let ((drop, of), (other, other_of)) = (a.drop(), b.drop());
        (other * of).cmp(&(drop * other_of)).then_with(|| a.task_id.cmp(&b.task_id))
    });
    fallen
}

/// The broken tasks, sorted by id.
#[must_use]
pub fn broken_tasks(pairing: &Pairing<'_>) -> Vec<BrokenTask> {
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
