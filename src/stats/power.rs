//! How many tasks or trials would decide a comparison, and what it could see.
//!
//! Owns: the normal formulas of size and power (Miller 2024; STATISTICS.md, section
//! 5.5), and the split of the spread of task differences into what more trials
//! reduce and what they do not. Refuses: promises; at the sizes given, power was
//! 72 to 81% instead of 80%, for which [`TASKS_MARGIN`] is the remedy.

use super::distributions::normal_quantile;
use super::ratio::sum_of_squares;

/// What a number of tasks from [`needed_tasks`] is multiplied by before it is shown
/// as "about so many" (STATISTICS.md, section 5.5, measured).
pub const TASKS_MARGIN: f64 = 1.1;

/// The correlation of runs within a task that is assumed where none can be told.
const ASSUMED_ICC: f64 = 0.5;

/// The tasks needed to see `effect` in a mean of task differences with standard
/// deviation `sd`: `(z of 1-alpha + z of power)^2 sd^2 / effect^2`, neither rounded
/// nor multiplied by [`TASKS_MARGIN`].
///
/// `alpha` is one-sided. `None` unless `alpha` and `power` are inside 0 to 1, their
/// quantiles add up to more than 0, and `sd` and `effect` are numbers above or, for
/// `sd`, at 0.
pub fn needed_tasks(sd: f64, effect: f64, alpha: f64, power: f64) -> Option<f64> {
    if !(sd >= 0.0 && effect.abs() > 0.0) {
        return None;
    }
    let needed = (reach(alpha, power)? * sd / effect).powi(2);
    needed.is_finite().then_some(needed)
}

/// The smallest difference that a comparison with standard error `error` sees with
/// probability `power`: `(z of 1-alpha + z of power) * error`.
///
/// `alpha` is one-sided. `None` as for [`needed_tasks`].
pub fn detectable(error: f64, alpha: f64, power: f64) -> Option<f64> {
    let detectable = reach(alpha, power)? * error;
    (error >= 0.0 && detectable.is_finite()).then_some(detectable)
}

/// The variance of one task's difference between two arms (Miller 2024): `between`
/// tasks, plus the variance of runs within a task over their number, for each arm.
///
/// Its square root is the `sd` of [`needed_tasks`].
pub fn miller_variance(between: f64, within: (f64, f64), trials: (f64, f64)) -> f64 {
    between + within.0 / trials.0 + within.1 / trials.1
}

/// The values of one task's runs in both arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arms<'a> {
    /// One value per run of the candidate.
    pub candidate: &'a [f64],
    /// One value per run of the baseline.
    pub baseline: &'a [f64],
}

/// The variance of task differences, split by what reduces it:
/// `between + within * (1/k_c + 1/k_b)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitVariance {
    /// Of the true differences between tasks; only more tasks help against it. 0 or
    /// more. A caller who speaks of this fixed suite alone sets it to 0.
    pub between: f64,
    /// Of the runs within a task, averaged over both arms; more trials help.
    pub within: f64,
    /// Whether no arm of any task had two runs, and half the variance of single runs
    /// over tasks was taken to be within (a correlation of .5).
    pub assumed: bool,
}

/// Splits `total`, the variance of task differences (adjusted or not), by what the
/// runs of each task show (STATISTICS.md, section 5.5).
///
/// Tasks in which an arm has no run are passed over. `None` if nothing shows the
/// variance within: no arm with two runs, and fewer than two tasks; or for values
/// that are not finite.
pub fn split_variance(total: f64, tasks: &[Arms<'_>]) -> Option<SplitVariance> {
    let tasks: Vec<&Arms<'_>> = tasks
        .iter()
        .filter(|task| !(task.candidate.is_empty() || task.baseline.is_empty()))
        .collect();
    let within: Vec<f64> = tasks
        .iter()
        .flat_map(|task| [task.candidate, task.baseline])
        .filter_map(sample_variance)
        .collect();
    let assumed = within.is_empty();
    let within = if assumed {
        let singles = |arm: fn(&Arms<'_>) -> Option<f64>| -> Vec<f64> {
            tasks.iter().filter_map(|task| arm(task)).collect()
        };
        let candidate = sample_variance(&singles(|task| task.candidate.first().copied()))?;
        let baseline = sample_variance(&singles(|task| task.baseline.first().copied()))?;
        (1.0 - ASSUMED_ICC) * (candidate + baseline) / 2.0
    } else {
        within.iter().sum::<f64>() / within.len() as f64
    };
    let inverse: f64 = tasks
        .iter()
        .map(|task| 1.0 / task.candidate.len() as f64 + 1.0 / task.baseline.len() as f64)
        .sum();
    let between = (total - within * inverse / tasks.len() as f64).max(0.0);
    let split = SplitVariance { between, within, assumed };
    (within.is_finite() && total.is_finite()).then_some(split)
}

/// The quantiles of `1 - alpha` and `power` together; above 0.
fn reach(alpha: f64, power: f64) -> Option<f64> {
    // The quantile of alpha is mirrored: 1 - alpha would lose a small alpha's digits.
    let sum = normal_quantile(power)? - normal_quantile(alpha)?;
    (sum > 0.0).then_some(sum)
}

/// The variance of a sample of two values or more.
fn sample_variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    if !mean.is_finite() {
        return Some(f64::NAN);
    }
    let residuals: Vec<f64> = values.iter().map(|value| value - mean).collect();
    Some(sum_of_squares(&residuals).powi(2) / (values.len() as f64 - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles 1.644854 and .841621: their sum squared is 6.182557.
    #[test]
    fn sizes_by_hand() {
        let tasks = needed_tasks(0.5, 0.1, 0.05, 0.8).unwrap_or(f64::NAN);
        assert!((tasks - 154.563_93).abs() < 1e-3, "{tasks}");
        let seen = detectable(0.5 / tasks.sqrt(), 0.05, 0.8).unwrap_or(f64::NAN);
        assert!((seen - 0.1).abs() < 1e-12, "{seen}");
        assert_eq!(needed_tasks(0.5, -0.1, 0.05, 0.8), Some(tasks));
        assert_eq!(needed_tasks(0.0, 0.1, 0.05, 0.8), Some(0.0));
    }

    /// Tasks needed at 1, 3 and 5 trials, correlation .5, with the margin: the table of
    /// STATISTICS.md, section 5.5, at a rate of .5 (p from Beta(.5, .5)).
    #[test]
    fn planning_agrees_with_the_table() {
        // Variance of p .125, mean of p (1 - p) .125; under no change task differences
        // vary by runs alone.
        for (trials, effect, expected) in
            [(1.0, 0.05, 681.0), (3.0, 0.05, 227.0), (5.0, 0.05, 137.0), (1.0, 0.1, 171.0)]
        {
            let variance = miller_variance(0.0, (0.125, 0.125), (trials, trials));
            let tasks = needed_tasks(variance.sqrt(), effect, 0.05, 0.8).unwrap_or(f64::NAN);
            let shown = (TASKS_MARGIN * tasks).ceil();
            assert!((shown - expected).abs() <= 1.0, "{trials} {effect}: {shown}");
        }
    }

    #[test]
    fn the_spread_within_tasks_is_told_from_repeated_runs() {
        // Variances within: .5, 0 | 2 (a single run has none): mean 2.5 / 3.
        let tasks = [
            Arms { candidate: &[0.0, 1.0], baseline: &[1.0, 1.0] },
            Arms { candidate: &[1.0, 3.0], baseline: &[4.0] },
            Arms { candidate: &[], baseline: &[4.0, 9.0] },
        ];
        let got = split_variance(2.0, &tasks).unwrap_or_else(|| panic!("no split"));
        let within = 2.5 / 3.0;
        assert!(!got.assumed && (got.within - within).abs() < 1e-15, "{got:?}");
        assert!((got.between - (2.0 - within * 1.25)).abs() < 1e-15, "{got:?}");
        assert_eq!(split_variance(0.1, &tasks).map(|split| split.between), Some(0.0));
    }

    #[test]
    fn of_single_runs_half_the_spread_is_assumed_to_be_within() {
        let tasks = [
            Arms { candidate: &[0.0], baseline: &[1.0] },
            Arms { candidate: &[1.0], baseline: &[1.0] },
        ];
        // Variances over tasks .5 and 0, their mean halved.
        let got = split_variance(0.5, &tasks).unwrap_or_else(|| panic!("no split"));
        assert!(got.assumed && (got.within - 0.125).abs() < 1e-15, "{got:?}");
        assert!((got.between - 0.25).abs() < 1e-15, "{got:?}");
        assert_eq!(split_variance(0.5, &tasks[..1]), None);
    }

    #[test]
    fn nothing_is_promised_without_sense() {
        assert_eq!(needed_tasks(1.0, 0.0, 0.05, 0.8), None);
        assert_eq!(needed_tasks(f64::NAN, 0.1, 0.05, 0.8), None);
        assert_eq!(needed_tasks(1.0, 0.1, 0.0, 0.8), None);
        assert_eq!(needed_tasks(1.0, 0.1, 0.5, 0.5), None);
        assert_eq!(detectable(-1.0, 0.05, 0.8), None);
        assert_eq!(detectable(f64::INFINITY, 0.05, 0.8), None);
        let nan = [Arms { candidate: &[f64::NAN, 1.0], baseline: &[1.0, 2.0] }];
        assert_eq!(split_variance(1.0, &nan), None);
    }
}
