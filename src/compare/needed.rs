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
        let wanted = needed_tasks(1.0, effect, alpha, POWER).map(|per_variance| m / per_variance);
        let (trials, both_sides) = wanted
            .and_then(|wanted| more_trials(&spread, wanted))
            .map_or((None, false), |(n, both)| (Some(n), both));
        (tasks.is_some() || trials.is_some()).then_some(Self { tasks, trials, both_sides, shows })
    }
}

/// More trials of each task until the variance of task differences is `wanted`, and whether they are
/// needed on both sides; whichever takes fewer runs. `None` where no number of trials does.
fn more_trials(spread: &Spread, wanted: f64) -> Option<(u64, bool)> {
    let (before, after) = spread.trials;
    let alone = fewest(|n| spread.with_trials((before, after + n)) <= wanted);
    let both = fewest(|n| spread.with_trials((before + n, after + n)) <= wanted);
    match (alone, both) {
        (Some(alone), Some(both)) if alone <= 2 * both => Some((alone, false)),
        (Some(alone), None) => Some((alone, false)),
        (_, Some(both)) => Some((both, true)),
        (None, None) => None,
    }
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
    use super::{Needed, Shows};
    use crate::compare::{Evidence, Spread};
    use crate::stats::SplitVariance;

    fn evidence(between: f64, within: f64, pseudo: f64, m: usize, k: f64) -> Evidence {
        let split = SplitVariance { between, within, assumed: false };
        let mut spread = Spread { total: 0.0, split, pseudo, trials: (k, k) };
        spread.total = spread.with_trials((k, k));
        Evidence { spread: Some(spread), tasks: (m, m), ..Evidence::default() }
    }

    /// (1.645 + .842)^2 * 1.1 * .16 / .05^2 = 435.3 tasks (`STATISTICS.md`, 5.5: 436), 336 more than 100.
    /// With 100 tasks, .08 * 2/k must be at most 100 * .05^2 / 6.1826 / 1.1 = .03676: k = 4.35, 4 more.
    #[test]
    fn more_tasks_or_trials_are_those_of_the_formula() {
        let needed = Needed::of(&evidence(0.0, 0.08, 0.0, 100, 1.0), 0.0, 0.05, 0.05);
        let wanted =
            Needed { tasks: Some(336), trials: Some(4), both_sides: true, shows: Shows::NotWorse };
        assert_eq!(needed, Some(wanted));
    }

    #[test]
    fn trials_do_not_help_where_tasks_differ_too_much() {
        let needed = Needed::of(&evidence(0.2, 0.01, 0.0, 20, 2.0), 0.0, 0.05, 0.05);
        assert_eq!(
            needed.map(|needed| (needed.tasks.is_some(), needed.trials)),
            Some((true, None))
        );
    }

    /// All runs pass: what is left is the interval's own doubt, which falls with the square of k.
    #[test]
    fn trials_help_where_every_run_passed() {
        let needed = Needed::of(&evidence(0.0, 0.0, 0.095, 20, 1.0), 0.0, 0.05, 0.05);
        assert_eq!(needed.and_then(|needed| needed.trials), Some(3));
    }

    #[test]
    fn a_harm_beyond_the_margin_is_planned_to_be_shown() {
        let needed = Needed::of(&evidence(0.0, 0.08, 0.0, 100, 1.0), 0.1, 0.05, 0.05);
        assert_eq!(
            needed.map(|needed| (needed.tasks, needed.shows)),
            Some((Some(9), Shows::Worse))
        );
    }
}
