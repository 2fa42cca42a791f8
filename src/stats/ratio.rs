//! The error of a ratio of sums, told from its clusters, and t intervals.
//!
//! Owns: the linearised standard error (the one behind every proportion and mean
//! count of METRICS.md) and t intervals cut to the range of their figure.
//! Refuses: differences between two sets of runs; those start from the
//! contributions that [`linearise`] gives.

use super::distributions::t_critical;
use super::interval::{Cluster, Interval, NoInterval, check, check_level};

/// Residuals below this share of what they are the difference of are rounding,
/// not spread: without it, 1/3 of 3 clusters would get an interval of width 1e-17.
const ROUNDING: f64 = 1e-12;

/// A ratio of sums with what each cluster contributes to its error.
#[derive(Debug, Clone, PartialEq)]
pub struct Linearisation {
    /// Sum of the numerators over sum of the denominators.
    pub ratio: f64,
    /// Sum of the denominators; above 0.
    pub denominator: f64,
    /// `(numerator - ratio * denominator) / sum of denominators` of each cluster,
    /// in the order given; they sum to 0.
    pub contributions: Vec<f64>,
    /// Clusters that count, G: those that are not 0 over 0.
    pub clusters: usize,
}

impl Linearisation {
    /// The standard error of the ratio, `sqrt(G/(G-1) * sum of squares)`; 0 where
    /// every cluster has the same ratio.
    ///
    /// # Errors
    /// [`NoInterval::TooFewClusters`] for fewer than 2.
    pub fn standard_error(&self) -> Result<f64, NoInterval> {
        if self.clusters < 2 {
            return Err(NoInterval::TooFewClusters);
        }
        let count = self.clusters as f64;
        let squares = sum_of_squares(&self.contributions);
        Ok((count / (count - 1.0)).sqrt() * squares)
    }
}

/// The ratio of sums of `clusters`, linearised (Taylor series, as in Cochran 1977,
/// chapter 6; for 0/1 values the clustered error of Miller 2024 times G/(G-1)).
///
/// Assumes clusters are independent of each other; runs inside one need not be.
///
/// # Errors
/// [`NoInterval::ZeroDenominator`] if there is nothing to divide by, else
/// [`NoInterval::NotFinite`] or [`NoInterval::OutOfRange`] for unusable values.
pub fn linearise(clusters: &[Cluster]) -> Result<Linearisation, NoInterval> {
    check(clusters)?;
    let numerator: f64 = clusters.iter().map(|cluster| cluster.numerator).sum();
    let denominator: f64 = clusters.iter().map(|cluster| cluster.denominator).sum();
    if denominator == 0.0 {
        return Err(NoInterval::ZeroDenominator);
    }
    let ratio = numerator / denominator;
    if !(ratio.is_finite() && denominator.is_finite()) {
        return Err(NoInterval::NotFinite);
    }
    let contributions = clusters
        .iter()
        .map(|cluster| {
            let expected = ratio * cluster.denominator;
            let residual = cluster.numerator - expected;
            let rounding = ROUNDING * cluster.numerator.max(expected);
            if residual.abs() <= rounding { 0.0 } else { residual / denominator }
        })
        .collect();
    let count = clusters.iter().filter(|cluster| cluster.counts()).count();
    Ok(Linearisation { ratio, denominator, contributions, clusters: count })
}

/// The interval of a mean count (retries per run): the ratio plus and minus the
/// t quantile with G - 1 degrees of freedom times its linearised error, cut at 0.
///
/// Assumes independent clusters and enough of them for t; it is too narrow for
/// few clusters with a long tail, which is why cost and time use the bootstrap.
///
/// # Errors
/// Undefined for fewer than 2 clusters, no spread between them, a denominator of
/// 0, and values that are negative or not finite.
pub fn ratio_mean_interval(clusters: &[Cluster], level: f64) -> Result<Interval, NoInterval> {
    check_level(level)?;
    let linear = linearise(clusters)?;
    let error = linear.standard_error()?;
    let range = (0.0, f64::INFINITY);
    t_interval((linear.ratio, error), linear.clusters, level, range, "ratio-linearised t")
}

/// Mean and standard error `sd / sqrt(n)` of values that are one per cluster; the
/// error is 0 where all are the same, also if only up to rounding.
///
/// # Errors
/// [`NoInterval::TooFewClusters`] for fewer than 2 values, [`NoInterval::NotFinite`].
pub fn mean_and_error(values: &[f64]) -> Result<(f64, f64), NoInterval> {
    if values.len() < 2 {
        return Err(NoInterval::TooFewClusters);
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if !mean.is_finite() {
        return Err(NoInterval::NotFinite);
    }
    let residuals: Vec<f64> = values
        .iter()
        .map(|value| {
            let residual = value - mean;
            if residual.abs() <= ROUNDING * value.abs().max(mean.abs()) { 0.0 } else { residual }
        })
        .collect();
    Ok((mean, sum_of_squares(&residuals) / (count * (count - 1.0)).sqrt()))
}

/// The interval of a mean over tasks (pass^k, pass@k): t with n - 1 degrees of
/// freedom on the task values, cut to `range`.
///
/// Assumes the tasks are a sample of those the figure speaks for.
///
/// # Errors
/// Undefined for fewer than 2 values, no spread between them, a mean outside
/// `range`, and values that are not finite.
pub fn mean_interval(
    values: &[f64],
    level: f64,
    range: (f64, f64),
) -> Result<Interval, NoInterval> {
    check_level(level)?;
    let mean_and_error = mean_and_error(values)?;
    t_interval(mean_and_error, values.len(), level, range, "t over tasks")
}

fn t_interval(
    (estimate, error): (f64, f64),
    clusters: usize,
    level: f64,
    range: (f64, f64),
    method: &'static str,
) -> Result<Interval, NoInterval> {
    if error == 0.0 {
        return Err(NoInterval::NoSpread);
    }
    let df = clusters.saturating_sub(1) as f64;
    let reach = t_critical(level, df).ok_or(NoInterval::BadSetting)? * error;
    Interval::around(estimate, (estimate - reach, estimate + reach), range, method)
}

/// The square root of the sum of squares, scaled so that squares of very large or
/// very small values neither overflow nor vanish.
pub(super) fn sum_of_squares(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * values.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(pairs: &[(f64, f64)]) -> Vec<Cluster> {
        pairs.iter().map(|&(numerator, denominator)| Cluster::new(numerator, denominator)).collect()
    }

    /// x = 1,0 | 1,1 | 0,1 | 1,1 | 0,0: mean .6, residual sums -.2, .8, -.2, .8, -1.2,
    /// whose squares sum to 2.8; 2.8/100 * 5/4 = .035.
    #[test]
    fn five_clusters_of_two_by_hand() {
        let pairs = clusters(&[(1.0, 2.0), (2.0, 2.0), (1.0, 2.0), (2.0, 2.0), (0.0, 2.0)]);
        let error = linearise(&pairs).and_then(|linear| linear.standard_error());
        assert!((error.unwrap_or(f64::NAN) - 0.035_f64.sqrt()).abs() < 1e-15);
        let interval = ratio_mean_interval(&pairs, 0.95).map(|i| (i.low, i.high));
        let (low, high) = interval.unwrap_or((f64::NAN, f64::NAN));
        assert!((low - 0.080575).abs() < 1e-6 && (high - 1.119425).abs() < 1e-6, "{low} {high}");
    }

    #[test]
    fn a_cluster_of_nothing_changes_nothing() {
        let mut pairs = clusters(&[(1.0, 2.0), (2.0, 2.0), (3.0, 1.0)]);
        let without = ratio_mean_interval(&pairs, 0.95);
        pairs.push(Cluster::default());
        assert_eq!(ratio_mean_interval(&pairs, 0.95), without);
        assert!(without.is_ok());
    }

    #[test]
    fn equal_clusters_have_no_spread_even_where_a_third_is_rounded() {
        let thirds = clusters(&[(1.0, 3.0), (2.0, 6.0), (0.1, 0.3), (7.0, 21.0)]);
        assert_eq!(ratio_mean_interval(&thirds, 0.95), Err(NoInterval::NoSpread));
        let sixths = [1.0 / 6.0; 7];
        assert_eq!(mean_interval(&sixths, 0.95, (0.0, 1.0)), Err(NoInterval::NoSpread));
    }

    #[test]
    fn unusable_input_has_its_reason() {
        let cases: [(&[(f64, f64)], NoInterval); 6] = [
            (&[], NoInterval::ZeroDenominator),
            (&[(1.0, 1.0)], NoInterval::TooFewClusters),
            (&[(1.0, 1.0), (0.0, 0.0)], NoInterval::TooFewClusters),
            (&[(1.0, 0.0), (2.0, 0.0)], NoInterval::ZeroDenominator),
            (&[(-1.0, 1.0), (2.0, 1.0)], NoInterval::OutOfRange),
            (&[(f64::MAX, 1.0), (f64::MAX, 1.0)], NoInterval::NotFinite),
        ];
        for (pairs, reason) in cases {
            assert_eq!(ratio_mean_interval(&clusters(pairs), 0.95), Err(reason), "{pairs:?}");
        }
        let fine = clusters(&[(1.0, 1.0), (2.0, 1.0)]);
        assert_eq!(ratio_mean_interval(&fine, 1.0), Err(NoInterval::BadSetting));
    }

    #[test]
    fn means_over_tasks_are_cut_to_their_range() {
        // Mean .5, error .5, t with 1 degree of freedom 12.7: far outside on both sides.
        let interval = mean_interval(&[0.0, 1.0], 0.95, (0.0, 1.0));
        assert_eq!(interval, Ok(Interval { low: 0.0, high: 1.0, method: "t over tasks" }));
        let far = mean_interval(&[3.0, 2.0], 0.95, (0.0, 1.0));
        assert_eq!(far, Err(NoInterval::OutOfRange));
    }
}
