//! How many more tasks or trials would decide what is undecided (`STATISTICS.md`, 5.5).

use super::evidence::{Evidence, POWER};
use crate::stats::{TASKS_MARGIN, needed_tasks, needed_trials};

/// More than this is no advice.
const MOST: f64 = 1e6;

/// What would decide: more tasks, or more trials of each task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// More tasks, with as many trials; `None` where that is out of reach.
    pub tasks: Option<u64>,
    /// More trials of each task; `None` where more trials alone do not help.
    pub trials: Option<u64>,
    /// Whether the trials are needed on both sides, or of the candidate alone.
    pub both_sides: bool,
    /// What it would most likely show.
    pub shows: Shows,
}

/// What more runs would most likely show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// That it is not worse by the margin, if there is no difference.
    NotWorse,
    /// That it is worse, if the difference is what was seen.
    Worse,
}

impl Needed {
    /// From what was seen. `harm` is the difference towards worse, on the scale of the error; so
    /// is `margin`.
    #[must_use]
    pub fn of(evidence: &Evidence, harm: f64, margin: f64, alpha: f64) -> Option<Self> {
        let spread = evidence.spread?;
        // What was seen beyond the margin is more likely worse than not.
        let (effect, shows) =
            if harm > margin { (harm, Shows::Worse) } else { (margin, Shows::NotWorse) };
        // The reserve is one of variance.
        let effect = effect / TASKS_MARGIN.sqrt();
        #[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
        let m = evidence.tasks.0 as f64;
        let tasks = needed_tasks(spread.total.sqrt(), effect, alpha, POWER);
        let tasks = tasks.and_then(|needed| whole(needed - m));
        let (before, after) = spread.trials;
        let trials = |baseline: Option<f64>| {
            needed_trials(spread.split, m, baseline, effect, (alpha, POWER))
        };
        // Total more runs of a task, more runs of a side, and whether of both.
        let alone = trials(Some(before)).map(|k| (k - after, k - after, false));
        let both = trials(None)
            .map(|k| ((k - after).max(0.0) + (k - before).max(0.0), k - after.min(before), true));
        let cheaper = [alone, both].into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
        let (trials, both_sides) =
            cheaper.map_or((None, false), |(_, more, both)| (whole(more), both));
        (tasks.is_some() || trials.is_some()).then_some(Self { tasks, trials, both_sides, shows })
    }
}

/// A number of things to add: at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be between 1 and a million"
)]
fn whole(number: f64) -> Option<u64> {
    (number <= MOST).then(|| number.ceil().max(1.0) as u64)
}
