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

/// The trials of the candidate in each of `tasks` tasks that are needed to see
/// `effect`, given those of the baseline; or with `None` for the baseline, the
/// trials of both arms. Not rounded.
///
/// `None` where no number of trials is enough, because what they do not reduce is
/// too much already: then more tasks, or more trials of the baseline, are needed.
/// `None` also as for [`needed_tasks`].
pub fn needed_trials(
    variance: SplitVariance,
    tasks: f64,
    baseline_trials: Option<f64>,
    effect: f64,
    (alpha, power): (f64, f64),
) -> Option<f64> {
    let target = (effect / reach(alpha, power)?).powi(2) * tasks;
    let fixed = baseline_trials.map_or(0.0, |trials| variance.within / trials);
    let left = target - variance.between - fixed;
    let arms = if baseline_trials.is_some() { 1.0 } else { 2.0 };
    let needed = arms * variance.within / left;
    (left > 0.0 && needed.is_finite()).then_some(needed)
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
