//! How many more tasks or trials would decide what is undecided (`STATISTICS.md`, 5.5).

use super::evidence::{Evidence, POWER, Spread};
use crate::stats::{TASKS_MARGIN, needed_tasks};

/// More tasks than this are no advice.
const MOST: f64 = 1e6;

/// More trials of a task than this are none either.
const MOST_TRIALS: u64 = 1_000;

/// What would decide: more tasks, or more trials of each task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// More tasks, with as many trials; `None` where that is out of reach.
    pub tasks: Option<u64>,
    /// More trials of each task.
    pub trials: MoreTrials,
    /// What it would most likely show.
    pub shows: Shows,
}

/// Whether more trials of each task would decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoreTrials {
    /// So many would.
    Enough {
        /// More trials of each task.
        more: u64,
        /// Whether on both sides, or of the candidate alone.
        both_sides: bool,
        /// Whether half of the spread is taken to lie between trials, because no task has two.
        assumed: bool,
    },
    /// Tasks differ too much: no number would.
    NoHelp,
    /// These runs do not tell.
    Unknown,
}

/// What more runs would most likely show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// That it is not worse by the margin, if there is no difference.
    NotWorse,
    /// That it is worse, if the difference is what was seen.
    Worse,
}

/// Levels at which sizes are told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeLevels {
    /// Of the bound that shows a pass.
    pub bound: f64,
    /// Of the test that shows harm: that of the first step of Holm's correction.
    pub harm: f64,
}

impl Needed {
    /// From what was seen. `harm` is the difference towards worse, on the scale of the error; so
    /// is `margin`.
    #[must_use]
    pub fn of(evidence: &Evidence, harm: f64, margin: f64, levels: SizeLevels) -> Option<Self> {
        let spread = evidence.spread?;
        // What was seen beyond the margin is more likely worse than not.
        let (effect, shows, alpha) = if harm > margin {
            (harm, Shows::Worse, levels.harm)
        } else {
            (margin, Shows::NotWorse, levels.bound)
        };
        // The reserve is one of variance.
        let effect = effect / TASKS_MARGIN.sqrt();
        #[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
        let m = evidence.tasks.0.max(evidence.tasks.1) as f64;
        let tasks = needed_tasks(spread.total.sqrt(), effect, alpha, POWER);
        let tasks = tasks.and_then(|needed| whole(needed - m));
        let wanted = needed_tasks(1.0, effect, alpha, POWER).map(|per_variance| m / per_variance);
        let trials = wanted.map_or(MoreTrials::Unknown, |wanted| more_trials(&spread, wanted));
        let any = tasks.is_some() || matches!(trials, MoreTrials::Enough { .. });
        any.then_some(Self { tasks, trials, shows })
    }
}

/// More trials of each task until the variance of task differences is `wanted`: of the candidate alone
/// or on both sides, whichever takes fewer runs.
fn more_trials(spread: &Spread, wanted: f64) -> MoreTrials {
    let Some(split) = spread.split else { return MoreTrials::Unknown };
    let (before, after) = spread.trials;
    let enough = |trials| spread.with_trials(trials).is_some_and(|variance| variance <= wanted);
    let alone = fewest(|n| enough((before, after + n)));
    let both = fewest(|n| enough((before + n, after + n)));
    let (more, both_sides) = match (alone, both) {
        (Some(alone), Some(both)) if alone <= 2 * both => (alone, false),
        (Some(alone), None) => (alone, false),
        (_, Some(both)) => (both, true),
        (None, None) => return MoreTrials::NoHelp,
    };
    MoreTrials::Enough { more, both_sides, assumed: split.assumed }
}

/// The smallest number, from 1, that is enough; more never are less.
fn fewest(enough: impl Fn(f64) -> bool) -> Option<u64> {
    let at = |number: u64| enough(f64::from(u32::try_from(number).unwrap_or(u32::MAX)));
    if !at(MOST_TRIALS) {
        return None;
    }
    let (mut low, mut high) = (0, MOST_TRIALS);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if at(middle) { high = middle } else { low = middle }
    }
    Some(high)
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

#[cfg(test)]
mod tests {
    use super::{MoreTrials, Needed, Shows, SizeLevels};
    use crate::compare::{Evidence, Spread};
    use crate::stats::SplitVariance;

    const LEVELS: SizeLevels = SizeLevels { bound: 0.05, harm: 0.05 };

    fn evidence(between: f64, within: f64, pseudo: f64, m: usize, k: f64) -> Evidence {
        let split = Some(SplitVariance { between, within, assumed: false });
        let mut spread = Spread { total: 0.0, split, pseudo, trials: (k, k) };
        spread.total = spread.with_trials((k, k)).unwrap_or_default();
        Evidence { spread: Some(spread), tasks: (m, m), ..Evidence::default() }
    }

    /// (1.645 + .842)^2 * 1.1 * .16 / .05^2 = 435.3 tasks (`STATISTICS.md`, 5.5: 436), 336 more than 100.
    /// With 100 tasks, .08 * 2/k must be at most 100 * .05^2 / 6.1826 / 1.1 = .03676: k = 4.35, 4 more.
    #[test]
    fn more_tasks_or_trials_are_those_of_the_formula() {
        let needed = Needed::of(&evidence(0.0, 0.08, 0.0, 100, 1.0), 0.0, 0.05, LEVELS);
        let trials = MoreTrials::Enough { more: 4, both_sides: true, assumed: false };
        assert_eq!(needed, Some(Needed { tasks: Some(336), trials, shows: Shows::NotWorse }));
    }

    #[test]
    fn trials_do_not_help_where_tasks_differ_too_much() {
        let needed = Needed::of(&evidence(0.2, 0.01, 0.0, 20, 2.0), 0.0, 0.05, LEVELS);
        let needed = needed.map(|needed| (needed.tasks.is_some(), needed.trials));
        assert_eq!(needed, Some((true, MoreTrials::NoHelp)));
    }

    /// All runs pass: what is left is the interval's own doubt, which falls with the square of k.
    #[test]
    fn trials_help_where_every_run_passed() {
        let needed = Needed::of(&evidence(0.0, 0.0, 0.095, 20, 1.0), 0.0, 0.05, LEVELS);
        let trials = MoreTrials::Enough { more: 3, both_sides: true, assumed: false };
        assert_eq!(needed.map(|needed| needed.trials), Some(trials));
    }

    #[test]
    fn a_harm_beyond_the_margin_is_planned_to_be_shown() {
        let needed = Needed::of(&evidence(0.0, 0.08, 0.0, 100, 1.0), 0.1, 0.05, LEVELS);
        let needed = needed.map(|needed| (needed.tasks, needed.shows));
        assert_eq!(needed, Some((Some(9), Shows::Worse)));
    }

    #[test]
    fn where_trials_cannot_be_told_from_tasks_only_tasks_are_named() {
        let mut seen = evidence(0.0, 0.08, 0.0, 100, 1.0);
        seen.spread = Spread::of_error(Some(0.04), 100);
        let needed = Needed::of(&seen, 0.0, 0.05, LEVELS).map(|needed| needed.trials);
        assert_eq!(needed, Some(MoreTrials::Unknown));
    }
}
