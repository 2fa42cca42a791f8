//! Differences between two arms, candidate minus baseline, with their error.
//!
//! Owns: paired and unpaired t, the adjusted paired t, the linearised difference of
//! two ratios, and the intervals that these and Newcombe's method give. Refuses:
//! deciding what is a harm (that is a sign the caller knows) and cutting a bound to
//! the range of the figure.

use super::distributions::{t_cdf, t_critical, t_quantile};
use super::exact::Tails;
use super::interval::{Cluster, NoInterval, check_level};
use super::proportion::wilson;
use super::ratio::{linearise, mean_and_error, sum_of_squares};

/// Contributions closer to each other than this share of the larger are equal.
const ROUNDING: f64 = 1e-12;

/// A difference, candidate minus baseline, in the unit of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The difference seen.
    pub estimate: f64,
    /// The middle of its intervals; other than the estimate where pseudo-tasks pull
    /// it towards 0.
    pub centre: f64,
    /// The standard error; 0 where the data show no spread, and then there is
    /// neither an interval nor a test.
    pub error: f64,
    /// Degrees of freedom of t; above 0, not always whole.
    pub df: f64,
}

impl Difference {
    /// The two-sided interval at `level`.
    ///
    /// # Errors
    /// [`NoInterval::NoSpread`] where the error is 0, [`NoInterval::BadSetting`] for
    /// a level outside 0 to 1.
    pub fn interval(&self, level: f64) -> Result<(f64, f64), NoInterval> {
        check_level(level)?;
        let reach = self.reach(t_critical(level, self.df))?;
        Ok((self.centre - reach, self.centre + reach))
    }

    /// The one-sided upper bound: the difference is below it with confidence `level`.
    ///
    /// # Errors
    /// As [`Difference::interval`].
    pub fn upper(&self, level: f64) -> Result<f64, NoInterval> {
        check_level(level)?;
        Ok(self.centre + self.reach(t_quantile(level, self.df))?)
    }

    /// The one-sided lower bound: the difference is above it with confidence `level`.
    ///
    /// # Errors
    /// As [`Difference::interval`].
    pub fn lower(&self, level: f64) -> Result<f64, NoInterval> {
        check_level(level)?;
        Ok(self.centre - self.reach(t_quantile(level, self.df))?)
    }

    /// The one-sided p-values of centre over error. `None` where the error is 0.
    pub fn tails(&self) -> Option<Tails> {
        if self.error == 0.0 {
            return None;
        }
        let t = self.centre / self.error;
        Some(Tails { less: t_cdf(t, self.df)?, greater: t_cdf(-t, self.df)? })
    }

    fn reach(&self, quantile: Option<f64>) -> Result<f64, NoInterval> {
        if self.error == 0.0 {
            return Err(NoInterval::NoSpread);
        }
        let reach = quantile.ok_or(NoInterval::BadSetting)? * self.error;
        if (self.centre.abs() + reach.abs()).is_finite() {
            Ok(reach)
        } else {
            Err(NoInterval::NotFinite)
        }
    }
}

/// The mean of task differences with its error, t with m - 1 degrees of freedom.
///
/// Assumes tasks independent of each other. Each difference is one task's, however
/// many runs it has.
///
/// # Errors
/// [`NoInterval::TooFewClusters`] for fewer than 2 tasks, [`NoInterval::NotFinite`].
pub fn paired_t(differences: &[f64]) -> Result<Difference, NoInterval> {
    let (mean, error) = mean_and_error(differences)?;
    Difference::checked(mean, mean, error, differences.len() as f64 - 1.0)
}

/// The paired t with two pseudo-tasks at plus and minus `pseudo` (STATISTICS.md,
/// section 5.2; Bonett and Price 2012 with t where each task has one run).
///
/// `pseudo` is what one run can move the difference of a task: 1 over the smaller
/// number of runs for a success rate. The error is never 0, and one task is enough.
///
/// # Errors
/// [`NoInterval::TooFewClusters`] without a task, [`NoInterval::BadSetting`] unless
/// `pseudo` is above 0, [`NoInterval::NotFinite`].
pub fn adjusted_paired_t(differences: &[f64], pseudo: f64) -> Result<Difference, NoInterval> {
    if !(pseudo > 0.0 && pseudo.is_finite()) {
        return Err(NoInterval::BadSetting);
    }
    if differences.is_empty() {
        return Err(NoInterval::TooFewClusters);
    }
    let estimate = differences.iter().sum::<f64>() / differences.len() as f64;
    let mut values = differences.to_vec();
    values.extend([pseudo, -pseudo]);
    let (centre, error) = mean_and_error(&values)?;
    Difference::checked(estimate, centre, error, values.len() as f64 - 1.0)
}

/// The difference of two means that share no task, each value being one task's
/// (Welch 1947, with the degrees of freedom of Satterthwaite).
///
/// # Errors
/// [`NoInterval::TooFewClusters`] for fewer than 2 values in an arm,
/// [`NoInterval::NotFinite`].
pub fn welch(candidate: &[f64], baseline: &[f64]) -> Result<Difference, NoInterval> {
    let (candidate_mean, candidate_error) = mean_and_error(candidate)?;
    let (baseline_mean, baseline_error) = mean_and_error(baseline)?;
    unpaired(
        (candidate_mean, candidate_error, candidate.len()),
        (baseline_mean, baseline_error, baseline.len()),
    )
}

/// The difference of two ratios of sums over the same tasks, which stand at the
/// same place in both lists: linearised (STATISTICS.md, section 5.2), t with m - 1
/// degrees of freedom, where m counts the tasks that say something in either arm.
///
/// A list that ends early goes on with tasks of nothing. Assumes tasks independent.
///
/// # Errors
/// [`NoInterval::ZeroDenominator`] if an arm has nothing to divide by,
/// [`NoInterval::TooFewClusters`] for fewer than 2 tasks, and those of unusable
/// values. An error of 0 is no reason here; it is kept in the result.
pub fn ratio_difference(
    candidate: &[Cluster],
    baseline: &[Cluster],
) -> Result<Difference, NoInterval> {
    let (arm_c, arm_b) = (linearise(candidate)?, linearise(baseline)?);
    let longer = candidate.len().max(baseline.len());
    let mut tasks = 0.0_f64;
    let mut contributions = Vec::with_capacity(longer);
    for index in 0..longer {
        let speaks = |arm: &[Cluster]| arm.get(index).is_some_and(Cluster::counts);
        if !(speaks(candidate) || speaks(baseline)) {
            continue;
        }
        tasks += 1.0;
        let c = arm_c.contributions.get(index).copied().unwrap_or(0.0);
        let b = arm_b.contributions.get(index).copied().unwrap_or(0.0);
        let rounding = ROUNDING * c.abs().max(b.abs());
        contributions.push(if (c - b).abs() <= rounding { 0.0 } else { c - b });
    }
    if tasks < 2.0 {
        return Err(NoInterval::TooFewClusters);
    }
    let error = (tasks / (tasks - 1.0)).sqrt() * sum_of_squares(&contributions);
    let estimate = arm_c.ratio - arm_b.ratio;
    Difference::checked(estimate, estimate, error, tasks - 1.0)
}

/// The difference of two ratios of sums that share no task: the clustered errors of
/// both arms, and the degrees of freedom of Satterthwaite.
///
/// # Errors
/// As [`ratio_difference`], with 2 tasks needed in each arm.
pub fn ratio_difference_unpaired(
    candidate: &[Cluster],
    baseline: &[Cluster],
) -> Result<Difference, NoInterval> {
    let (arm_c, arm_b) = (linearise(candidate)?, linearise(baseline)?);
    unpaired(
        (arm_c.ratio, arm_c.standard_error()?, arm_c.clusters),
        (arm_b.ratio, arm_b.standard_error()?, arm_b.clusters),
    )
}

/// Newcombe's interval of a difference of two independent proportions (1998, his
/// method 10): Wilson's intervals of both, joined by [`mover`].
///
/// Assumes independent observations. For runs of tasks give an effective number of
/// them ([`effective_n`]) as `n`, and that times the rate as `x`.
///
/// # Errors
/// Those of [`wilson`].
pub fn newcombe(
    (x_c, n_c): (f64, f64),
    (x_b, n_b): (f64, f64),
    level: f64,
) -> Result<(f64, f64), NoInterval> {
    let candidate = wilson(x_c, n_c, level)?;
    let baseline = wilson(x_b, n_b, level)?;
    Ok(mover(
        (x_c / n_c, (candidate.low, candidate.high)),
        (x_b / n_b, (baseline.low, baseline.high)),
    ))
}

/// The interval of a difference from the estimates and intervals of two independent
/// arms ("method of variance estimates recovery", Zou and Donner 2008).
pub fn mover(
    (p_c, (low_c, high_c)): (f64, (f64, f64)),
    (p_b, (low_b, high_b)): (f64, (f64, f64)),
) -> (f64, f64) {
    let estimate = p_c - p_b;
    (estimate - (p_c - low_c).hypot(high_b - p_b), estimate + (high_c - p_c).hypot(p_b - low_b))
}

/// How alike values of one group are, as a share of their variance: the one-way
/// intraclass correlation `(MSB - MSW) / (MSB + (k0 - 1) MSW)`, where k0 is the size
/// of the groups, or if they differ `(N - sum of n^2 / N) / (groups - 1)`.
///
/// At most 1; below 0 where groups differ less than chance would have it. Empty
/// groups count for nothing. `None` for fewer than 2 groups, groups of one value
/// only, no spread at all, or values that are not finite.
pub fn icc_oneway<G: AsRef<[f64]>>(groups: &[G]) -> Option<f64> {
    let groups: Vec<&[f64]> =
        groups.iter().map(AsRef::as_ref).filter(|group| !group.is_empty()).collect();
    let values: usize = groups.iter().map(|group| group.len()).sum();
    if groups.len() < 2 || values == groups.len() {
        return None;
    }
    let (n, g) = (values as f64, groups.len() as f64);
    let grand = groups.iter().flat_map(|group| group.iter()).sum::<f64>() / n;
    let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
    for group in &groups {
        let size = group.len() as f64;
        let mean = group.iter().sum::<f64>() / size;
        between += size * (mean - grand).powi(2);
        within += group.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        squares += size * size;
    }
    let (between, within) = (between / (g - 1.0), within / (n - g));
    let size = (n - squares / n) / (g - 1.0);
    let icc = (between - within) / (between + (size - 1.0) * within);
    icc.is_finite().then_some(icc)
}

/// How many independent observations `n` are worth that come `k` to a group with an
/// intraclass correlation of `icc`: `n / (1 + (k - 1) icc)`, a correlation below 0
/// being taken as 0 and a `k` below 1 as 1.
pub fn effective_n(n: f64, k: f64, icc: f64) -> f64 {
    n / (1.0 + (k - 1.0).max(0.0) * icc.max(0.0))
}

/// The difference of two independent figures, each with its error and clusters.
fn unpaired(
    (figure_c, error_c, clusters_c): (f64, f64, usize),
    (figure_b, error_b, clusters_b): (f64, f64, usize),
) -> Result<Difference, NoInterval> {
    let (free_c, free_b) = (clusters_c as f64 - 1.0, clusters_b as f64 - 1.0);
    let error = error_c.hypot(error_b);
    let df = if error == 0.0 {
        free_c + free_b
    } else {
        // Shares of the variance, so that squares of it cannot overflow.
        let (share_c, share_b) = ((error_c / error).powi(2), (error_b / error).powi(2));
        1.0 / (share_c * share_c / free_c + share_b * share_b / free_b)
    };
    let estimate = figure_c - figure_b;
    Difference::checked(estimate, estimate, error, df)
}

impl Difference {
    fn checked(estimate: f64, centre: f64, error: f64, df: f64) -> Result<Self, NoInterval> {
        if estimate.is_finite() && centre.is_finite() && error.is_finite() && df.is_finite() {
            Ok(Self { estimate, centre, error, df })
        } else {
            Err(NoInterval::NotFinite)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(pairs: &[(f64, f64)]) -> Vec<Cluster> {
        pairs.iter().map(|&(numerator, denominator)| Cluster::new(numerator, denominator)).collect()
    }

    /// The bounds of STATISTICS.md, section 5.2, for suites that passed throughout.
    #[test]
    fn all_passed_on_both_sides_still_has_a_bound() {
        for (tasks, trials, expected) in [(20, 1.0, 0.113), (50, 1.0, 0.046), (20, 3.0, 0.038)] {
            let adjusted = adjusted_paired_t(&vec![0.0; tasks], 1.0 / trials);
            let upper = adjusted.and_then(|adjusted| adjusted.upper(0.95)).unwrap_or(f64::NAN);
            assert!((upper - expected).abs() < 6e-4, "{tasks} x {trials}: {upper}");
        }
    }

    /// One difference of 1 with pseudo-tasks at 1 and -1: mean 1/3, variance
    /// (3 - 1/3) / 2 = 4/3, error 2/3.
    #[test]
    fn one_task_is_enough_with_pseudo_tasks() {
        let got = adjusted_paired_t(&[1.0], 1.0).unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!((got.estimate, got.df), (1.0, 2.0));
        assert!((got.centre - 1.0 / 3.0).abs() < 1e-15 && (got.error - 2.0 / 3.0).abs() < 1e-15);
        let (low, high) = got.interval(0.9).unwrap_or((f64::NAN, f64::NAN));
        assert_eq!((Ok(low), Ok(high)), (got.lower(0.95), got.upper(0.95)));
    }

    #[test]
    fn no_spread_is_kept_visible_and_gives_no_bound() {
        let paired = paired_t(&[0.25; 4]).unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!((paired.estimate, paired.error, paired.tails()), (0.25, 0.0, None));
        assert_eq!(paired.upper(0.95), Err(NoInterval::NoSpread));
        // Twice the runs with the same rates: rounding must not pass for spread.
        let thirds = clusters(&[(1.0, 3.0), (2.0, 7.0), (5.0, 6.0)]);
        let doubled = clusters(&[(2.0, 6.0), (4.0, 14.0), (10.0, 12.0)]);
        let ratio = ratio_difference(&thirds, &doubled).unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!((ratio.estimate, ratio.error), (0.0, 0.0));
        let same = welch(&[1.0, 1.0], &[3.0, 3.0, 3.0]).map(|w| (w.estimate, w.error, w.df));
        assert_eq!(same, Ok((-2.0, 0.0, 3.0)));
    }

    /// Means 2 and 4, variances of the means 1/2 / 2 and 2 / 2.
    #[test]
    fn unpaired_ratios_are_welch_where_every_task_has_one_run() {
        let (c, b) = ([1.5, 2.5], [3.0, 5.0]);
        let ones =
            |values: &[f64]| values.iter().map(|&v| Cluster::new(v, 1.0)).collect::<Vec<_>>();
        let ratio = ratio_difference_unpaired(&ones(&c), &ones(&b));
        let means = welch(&c, &b);
        let (Ok(ratio), Ok(means)) = (ratio, means) else { panic!("{ratio:?} {means:?}") };
        assert_eq!(ratio.estimate, -2.0);
        assert!((ratio.error - 1.25_f64.sqrt()).abs() < 1e-15, "{ratio:?}");
        assert!((ratio.error - means.error).abs() < 1e-15 && (ratio.df - means.df).abs() < 1e-12);
    }

    #[test]
    fn a_task_that_one_arm_lacks_counts_in_the_other() {
        let whole = clusters(&[(1.0, 4.0), (3.0, 5.0), (0.0, 2.0)]);
        let short = clusters(&[(1.0, 4.0), (2.0, 5.0)]);
        let padded = clusters(&[(1.0, 4.0), (2.0, 5.0), (0.0, 0.0)]);
        let got = ratio_difference(&whole, &short);
        assert_eq!(got, ratio_difference(&whole, &padded));
        assert_eq!(got.map(|d| d.df), Ok(2.0));
    }

    #[test]
    fn unusable_input_has_its_reason() {
        assert_eq!(paired_t(&[1.0]), Err(NoInterval::TooFewClusters));
        assert_eq!(paired_t(&[1.0, f64::NAN]), Err(NoInterval::NotFinite));
        assert_eq!(adjusted_paired_t(&[], 1.0), Err(NoInterval::TooFewClusters));
        assert_eq!(adjusted_paired_t(&[1.0], 0.0), Err(NoInterval::BadSetting));
        assert_eq!(welch(&[1.0, 2.0], &[1.0]), Err(NoInterval::TooFewClusters));
        let (some, none) = (clusters(&[(1.0, 2.0), (1.0, 3.0)]), clusters(&[(1.0, 0.0)]));
        assert_eq!(ratio_difference(&some, &none), Err(NoInterval::ZeroDenominator));
        assert_eq!(ratio_difference(&some[..1], &some[..1]), Err(NoInterval::TooFewClusters));
        let paired = paired_t(&[1.0, 2.0]).and_then(|paired| paired.upper(1.0));
        assert_eq!(paired, Err(NoInterval::BadSetting));
        assert_eq!(newcombe((1.0, 0.0), (1.0, 2.0), 0.95), Err(NoInterval::ZeroDenominator));
    }

    /// Groups 1,3 and 5,7,9: grand mean 5, MSB 2*9 + 3*4 = 30, MSW (2 + 8) / 3,
    /// k0 = 5 - 13/5 = 2.4.
    #[test]
    fn correlation_of_groups_of_unlike_size() {
        let within = 10.0 / 3.0;
        let expected = (30.0 - within) / (30.0 + 1.4 * within);
        let got = icc_oneway(&[vec![1.0, 3.0], vec![5.0, 7.0, 9.0], vec![]]);
        assert!((got.unwrap_or(f64::NAN) - expected).abs() < 1e-12, "{got:?}");
        assert_eq!(icc_oneway(&[[1.0, 1.0], [1.0, 1.0]]), None);
        assert_eq!(icc_oneway(&[[1.0], [2.0]]), None);
        assert_eq!(icc_oneway(&[[1.0, 2.0]]), None);
        assert_eq!(effective_n(12.0, 3.0, 0.5), 6.0);
        assert_eq!(effective_n(12.0, 3.0, -0.4), 12.0);
    }
}
