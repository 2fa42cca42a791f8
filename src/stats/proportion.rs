//! Intervals of proportions.
//!
//! Owns: Wilson's interval, and its clustered form with an effective number of
//! observations. Refuses: the normal (Wald) interval, which has zero width at 0
//! and 1 and fails below a few hundred observations.

use super::distributions::{normal_quantile, t_critical};
use super::interval::{Cluster, Interval, NoInterval, check_level};
use super::ratio::linearise;

/// Wilson's score interval of `successes` out of `n` (Wilson 1927).
///
/// Assumes independent observations: use [`clustered_wilson`] for runs of tasks.
///
/// # Errors
/// Undefined for `n = 0`, more successes than `n`, and values that are negative
/// or not finite.
pub fn wilson(successes: f64, n: f64, level: f64) -> Result<Interval, NoInterval> {
    check_level(level)?;
    if !(successes.is_finite() && n.is_finite()) {
        return Err(NoInterval::NotFinite);
    }
    if n == 0.0 {
        return Err(NoInterval::ZeroDenominator);
    }
    if !(0.0 <= successes && successes <= n) {
        return Err(NoInterval::OutOfRange);
    }
    let z = normal_quantile(0.5 + level / 2.0).ok_or(NoInterval::BadSetting)?;
    score_interval(successes / n, n, z, "Wilson")
}

/// Wilson's interval of a proportion whose observations come in clusters (Korn and
/// Graubard 1998; the form of inspect_ai's `ci_wilson` and METRICS.md).
///
/// The rate is the sum of numerators over the sum of denominators; it fits a share
/// of runs as well as one of attempts or steps. Its clustered error gives an
/// effective number of observations `r(1-r)/SE^2`, at most the sum of
/// denominators, and t with G - 1 degrees of freedom stands for the normal. Where
/// the rate is 0 or 1 the error says nothing, and the number of clusters is the
/// effective number; where it is 0 in between, the sum of denominators is.
///
/// Assumes independent clusters, and nothing about the runs inside one.
///
/// # Errors
/// Undefined for fewer than 2 clusters with a denominator (the caller may regroup
/// by run), a numerator above its denominator, and values that are negative or not
/// finite.
pub fn clustered_wilson(clusters: &[Cluster], level: f64) -> Result<Interval, NoInterval> {
    let seen = Effective::of(clusters)?;
    seen.interval(1.0, level)
}

/// How much clusters tell of a share, in independent observations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effective {
    /// The share.
    pub rate: f64,
    /// Independent observations that would tell as much.
    pub number: f64,
    /// Clusters that count.
    pub clusters: f64,
}

impl Effective {
    /// The interval of [`clustered_wilson`] if there were `times` as many clusters with the same share.
    ///
    /// # Errors
    /// A level outside 0 to 1, or fewer than 2 clusters.
    pub fn interval(&self, times: f64, level: f64) -> Result<Interval, NoInterval> {
        check_level(level)?;
        let t = t_critical(level, self.clusters * times - 1.0).ok_or(NoInterval::BadSetting)?;
        score_interval(self.rate, self.number * times, t, "Wilson, clustered")
    }

    /// What these clusters tell.
    ///
    /// # Errors
    /// Those of [`clustered_wilson`].
    pub fn of(clusters: &[Cluster]) -> Result<Self, NoInterval> {
        effective(clusters)
    }
}

fn effective(clusters: &[Cluster]) -> Result<Effective, NoInterval> {
    if clusters.iter().any(|cluster| cluster.numerator > cluster.denominator) {
        return Err(NoInterval::OutOfRange);
    }
    let linear = linearise(clusters)?;
    let error = linear.standard_error()?;
    let rate = linear.ratio;
    let count = linear.clusters as f64;
    let effective = if rate == 0.0 || rate == 1.0 {
        count
    } else if error == 0.0 {
        linear.denominator
    } else {
        (rate * (1.0 - rate) / error / error).min(linear.denominator)
    };
    Ok(Effective { rate, number: effective, clusters: count })
}

/// The score interval of `rate` seen `n` times, `reach` standard errors wide.
fn score_interval(
    rate: f64,
    n: f64,
    reach: f64,
    method: &'static str,
) -> Result<Interval, NoInterval> {
    let squared = reach * reach;
    let scale = 1.0 + squared / n;
    let centre = rate + squared / (2.0 * n);
    let half = reach * (rate * (1.0 - rate) / n + squared / (4.0 * n * n)).sqrt();
    // At the edges the bound is the edge itself, which the subtraction may miss by
    // a rounding error; the other bound is safe.
    let low = if rate == 0.0 { 0.0 } else { (centre - half) / scale };
    let high = if rate == 1.0 { 1.0 } else { (centre + half) / scale };
    Interval::around(rate, (low, high), (0.0, 1.0), method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(interval: Result<Interval, NoInterval>) -> (f64, f64) {
        interval.map_or((f64::NAN, f64::NAN), |interval| (interval.low, interval.high))
    }

    fn close(got: (f64, f64), expected: (f64, f64), tolerance: f64) {
        let near = (got.0 - expected.0).abs() < tolerance && (got.1 - expected.1).abs() < tolerance;
        assert!(near, "{got:?} is not {expected:?}");
    }

    /// At 0 of n the bound is z^2/(n + z^2): 3.841459/13.841459.
    #[test]
    fn wilson_at_the_edges_by_hand() {
        close(bounds(wilson(0.0, 10.0, 0.95)), (0.0, 0.277_532_8), 1e-7);
        close(bounds(wilson(10.0, 10.0, 0.95)), (0.722_467_2, 1.0), 1e-7);
        close(bounds(wilson(84.0, 200.0, 0.95)), (0.353_736, 0.489_279), 1e-6);
    }

    /// tau-bench airline, gpt-4o: 50 tasks of 4 trials, 84 completed.
    #[test]
    fn trials_of_one_task_are_not_independent() {
        let mut clusters = Vec::new();
        for (completed, tasks) in [14, 12, 10, 4, 10].into_iter().enumerate() {
            clusters.extend(std::iter::repeat_n(Cluster::new(completed as f64, 4.0), tasks));
        }
        close(bounds(clustered_wilson(&clusters, 0.95)), (0.3208, 0.5262), 5e-5);
    }

    /// Three tasks of two passed runs count as three: 1/(1 + t^2/3), t = 4.302653.
    #[test]
    fn all_passed_counts_tasks_not_runs() {
        let all = [Cluster::new(2.0, 2.0); 3];
        close(bounds(clustered_wilson(&all, 0.95)), (0.139_452, 1.0), 5e-7);
        let none = [Cluster::new(0.0, 2.0); 3];
        close(bounds(clustered_wilson(&none, 0.95)), (0.0, 1.0 - 0.139_452), 5e-7);
    }

    /// Each task passes one run of two: no error between tasks, n = 6, t with 2.
    #[test]
    fn no_spread_inside_still_has_width() {
        let half = [Cluster::new(1.0, 2.0); 3];
        let t: f64 = 4.302_652_73;
        let reach = t * (0.25 / 6.0 + t * t / 144.0).sqrt() / (1.0 + t * t / 6.0);
        close(bounds(clustered_wilson(&half, 0.95)), (0.5 - reach, 0.5 + reach), 1e-8);
    }

    #[test]
    fn unusable_input_has_its_reason() {
        let one = [Cluster::new(1.0, 2.0), Cluster::default()];
        assert_eq!(clustered_wilson(&one, 0.95), Err(NoInterval::TooFewClusters));
        assert_eq!(clustered_wilson(&[], 0.95), Err(NoInterval::ZeroDenominator));
        let above = [Cluster::new(3.0, 2.0), Cluster::new(1.0, 2.0)];
        assert_eq!(clustered_wilson(&above, 0.95), Err(NoInterval::OutOfRange));
        assert_eq!(wilson(1.0, 0.0, 0.95), Err(NoInterval::ZeroDenominator));
        assert_eq!(wilson(1.0, 2.0, f64::NAN), Err(NoInterval::BadSetting));
    }
}
