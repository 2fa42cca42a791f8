//! The bias-corrected and accelerated (BCa) bootstrap of a ratio of sums.
//!
//! Owns: drawing clusters with replacement, the jackknife, and the BCa bounds.
//! Refuses: resampling runs inside a cluster, and statistics that are not a sum
//! over a sum (a plain mean has denominators of 1).

use super::distributions::{normal_cdf, normal_quantile};
use super::interval::{Cluster, Interval, NoInterval, check_level};
use super::quantile::quantile_type7;
use super::random::SplitMix64;
use super::ratio::linearise;

/// Replicates this close to the estimate, as a share of it, are ties: the same
/// clusters summed in another order.
const TIE: f64 = 1e-12;

/// The parts of a BCa interval (Efron 1987; Efron and Tibshirani 1993, chapter 14).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bca {
    /// Bias correction: the normal quantile of the share of replicates below the estimate.
    pub bias: f64,
    /// Acceleration: how fast the error grows with the figure, from the jackknife.
    pub acceleration: f64,
    /// The two shares at which the replicates are read.
    pub shares: (f64, f64),
    /// The type 7 quantiles there; infinite if that many replicates are.
    pub bounds: (f64, f64),
}

/// BCa bounds from replicates in ascending order, the estimate, and the values
/// with one cluster left out each.
///
/// Ties with the estimate count half. A share of 0 or 1 below it, which has no
/// quantile, is taken as half a replicate. No acceleration can be told from
/// jackknife values that are all the same, and 0 is used.
///
/// # Errors
/// [`NoInterval::BadSetting`] for a level outside 0 to 1 or no replicates, and
/// [`NoInterval::NotFinite`] if the estimate or a jackknife value is not finite.
pub fn bca(
    sorted: &[f64],
    estimate: f64,
    jackknife: &[f64],
    level: f64,
) -> Result<Bca, NoInterval> {
    check_level(level)?;
    if sorted.is_empty() {
        return Err(NoInterval::BadSetting);
    }
    let tie = TIE * estimate.abs();
    let below = sorted.partition_point(|&value| value < estimate - tie);
    let not_above = sorted.partition_point(|&value| value <= estimate + tie);
    let count = sorted.len() as f64;
    let share = (below + not_above) as f64 / 2.0 / count;
    let share = share.clamp(0.5 / count, 1.0 - 0.5 / count);
    let bias = normal_quantile(share).ok_or(NoInterval::NotFinite)?;
    let acceleration = acceleration(jackknife);
    if !(estimate.is_finite() && acceleration.is_finite()) {
        return Err(NoInterval::NotFinite);
    }
    let z = normal_quantile(0.5 + level / 2.0).ok_or(NoInterval::BadSetting)?;
    let at = |z: f64| {
        let shifted = bias + z;
        let shrink = 1.0 - acceleration * shifted;
        // The map has a pole there, beyond which its sign would turn; reached only
        // at levels far above 95%.
        if shrink > 0.0 { normal_cdf(bias + shifted / shrink) } else { f64::from(shifted > 0.0) }
    };
    let shares = (at(-z), at(z));
    let low = quantile_type7(sorted, shares.0).ok_or(NoInterval::NotFinite)?;
    let high = quantile_type7(sorted, shares.1).ok_or(NoInterval::NotFinite)?;
    Ok(Bca { bias, acceleration, shares, bounds: (low, high) })
}

/// The BCa interval of sum of numerators over sum of denominators, by drawing
/// clusters with replacement (tokens, cost, duration, cost per completion).
///
/// The same clusters, seed and draws give the same bytes anywhere. Clusters that
/// are 0 over 0 are not drawn. A drawn set with a denominator of 0 has an infinite
/// ratio and is kept as that: dropping it would pull the upper bound in.
///
/// Assumes independent clusters that stand for those the figure speaks of. Few of
/// them cover less than `level`: in 2,000 simulated means of log-normal values with
/// sigma 1, an interval at 95% held the truth in 73, 83, 88, 90 and 93% of cases at
/// 5, 10, 20, 40 and 100 clusters; with sigma .5 in 82, 88, 91, 92 and 94%.
///
/// # Errors
/// Undefined for fewer than 2 clusters, no spread between them, so many sets
/// with a denominator of 0 that a bound is infinite, and values that are negative
/// or not finite.
pub fn bca_ratio(
    clusters: &[Cluster],
    draws: usize,
    seed: u64,
    level: f64,
) -> Result<Interval, NoInterval> {
    check_level(level)?;
    let linear = linearise(clusters)?;
    if linear.standard_error()? == 0.0 {
        return Err(NoInterval::NoSpread);
    }
    if draws == 0 {
        return Err(NoInterval::BadSetting);
    }
    let drawn: Vec<Cluster> = clusters.iter().copied().filter(Cluster::counts).collect();
    let jackknife = leave_one_out(&drawn);
    if jackknife.iter().any(|value| !value.is_finite()) {
        return Err(NoInterval::Unbounded);
    }
    let mut replicates = replicates(&drawn, draws, seed);
    replicates.sort_unstable_by(f64::total_cmp);
    if replicates.last().is_some_and(|last| last.is_nan()) {
        return Err(NoInterval::NotFinite);
    }
    let bca = bca(&replicates, linear.ratio, &jackknife, level)?;
    if bca.bounds.1.is_infinite() {
        return Err(NoInterval::Unbounded);
    }
    let range = (0.0, f64::INFINITY);
    Interval::around(linear.ratio, bca.bounds, range, "BCa bootstrap")
}

/// The ratio of sums over the clusters at `indices`, in that order: infinite or
/// NaN where the denominators sum to 0. Indices beyond the end are passed over.
#[inline]
pub fn ratio_of_drawn(clusters: &[Cluster], indices: impl Iterator<Item = usize>) -> f64 {
    let mut numerator = 0.0;
    let mut denominator = 0.0;
    for index in indices {
        if let Some(cluster) = clusters.get(index) {
            numerator += cluster.numerator;
            denominator += cluster.denominator;
        }
    }
    numerator / denominator
}

/// The ratio of sums without each cluster in turn (the jackknife).
///
/// Sums before and after the cluster are added, rather than its share taken off
/// the total, so that what is left is 0 exactly where nothing is left.
pub fn leave_one_out(clusters: &[Cluster]) -> Vec<f64> {
    let mut after = vec![Cluster::default(); clusters.len()];
    let mut sum = Cluster::default();
    for (slot, cluster) in after.iter_mut().zip(clusters).rev() {
        *slot = sum;
        sum.numerator += cluster.numerator;
        sum.denominator += cluster.denominator;
    }
    let mut before = Cluster::default();
    let without = after.iter().zip(clusters).map(|(after, cluster)| {
        let numerator = before.numerator + after.numerator;
        let denominator = before.denominator + after.denominator;
        before.numerator += cluster.numerator;
        before.denominator += cluster.denominator;
        numerator / denominator
    });
    without.collect()
}

/// One ratio per draw. Every draw has its own stream of random numbers.
fn replicates(clusters: &[Cluster], draws: usize, seed: u64) -> Vec<f64> {
    let count = clusters.len();
    let bound = u32::try_from(count).unwrap_or(u32::MAX);
    (0_u64..)
        .take(draws)
        .map(|draw| {
            let mut random = SplitMix64::stream(seed, draw);
            ratio_of_drawn(clusters, random.indices(count, bound))
        })
        .collect()
}

/// Sum of cubes over 6 times the sum of squares to the power 3/2, of the distances
/// of the jackknife values below their mean; at most 1/6 in size.
fn acceleration(jackknife: &[f64]) -> f64 {
    let mean = jackknife.iter().sum::<f64>() / jackknife.len().max(1) as f64;
    let largest = jackknife.iter().fold(0.0_f64, |most, value| most.max((mean - value).abs()));
    if largest == 0.0 {
        return 0.0;
    }
    // Scaled by the largest, so that cubes neither overflow nor vanish.
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in jackknife {
        let distance = (mean - value) / largest;
        squares += distance * distance;
        cubes += distance * distance * distance;
    }
    cubes / (6.0 * squares.powf(1.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(values: &[f64]) -> Vec<Cluster> {
        values.iter().map(|&value| Cluster::new(value, 1.0)).collect()
    }

    #[test]
    fn without_skew_the_bounds_are_plain_percentiles() {
        let sorted: Vec<f64> = (0..=40).map(f64::from).collect();
        let got = bca(&sorted, 20.0, &[1.0, 2.0, 3.0], 0.95);
        let got = got.map(|b| (b.bias, b.acceleration, b.bounds));
        let (bias, acceleration, (low, high)) = got.unwrap_or((9.0, 9.0, (9.0, 9.0)));
        assert!(bias.abs() < 1e-12 && acceleration == 0.0);
        assert!((low - 1.0).abs() < 1e-9 && (high - 39.0).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn jackknife_and_acceleration_by_hand() {
        let without = leave_one_out(&means(&[1.0, 2.0, 6.0]));
        assert_eq!(without, [4.0, 3.5, 1.5]);
        // Mean 3, distances -1, -.5, 1.5: squares 3.5, cubes 2.25.
        let expected = 2.25 / (6.0 * 3.5_f64.powf(1.5));
        assert!((acceleration(&without) - expected).abs() < 1e-15);
        assert_eq!(acceleration(&[]), 0.0);
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
        let clusters = means(&[4.0, 2.0, 5.0, 6.0, 11.0, 2.5, 15.0, 5.5]);
        let first = bca_ratio(&clusters, 2_000, 7, 0.95);
        assert!(first.is_ok());
        assert_eq!(first, bca_ratio(&clusters, 2_000, 7, 0.95));
        assert_ne!(first, bca_ratio(&clusters, 2_000, 8, 0.95));
    }

    #[test]
    fn the_interval_is_near_the_t_interval_where_both_hold() {
        let values: Vec<f64> = (0..400).map(|i| f64::from(i * 37 % 101)).collect();
        let boot = bca_ratio(&means(&values), 8_000, 1, 0.95).map(|i| (i.low, i.high));
        let t = super::super::mean_interval(&values, 0.95, (0.0, 1e9)).map(|i| (i.low, i.high));
        let (Ok(boot), Ok(t)) = (boot, t) else { panic!("no interval: {boot:?} {t:?}") };
        // The error of the mean is 1.5; a bound from 8,000 draws moves by about .04.
        assert!((boot.0 - t.0).abs() < 0.2 && (boot.1 - t.1).abs() < 0.2, "{boot:?} {t:?}");
    }

    #[test]
    fn sets_without_a_completed_run_are_not_dropped_in_silence() {
        // One task of ten completed: a third of all drawn sets complete none.
        let mut clusters = vec![Cluster::new(2.0, 0.0); 9];
        clusters.push(Cluster::new(3.0, 1.0));
        assert_eq!(bca_ratio(&clusters, 2_000, 1, 0.95), Err(NoInterval::Unbounded));
        // Two of ten: one drawn set in nine completes none.
        clusters.drain(..1);
        clusters.push(Cluster::new(3.0, 1.0));
        assert_eq!(bca_ratio(&clusters, 2_000, 1, 0.95), Err(NoInterval::Unbounded));
        // Nine of ten: no drawn set completes none.
        let mostly: Vec<Cluster> =
            (0..10).map(|i| Cluster::new(f64::from(i + 1), f64::from(i.min(1)))).collect();
        assert!(bca_ratio(&mostly, 2_000, 1, 0.95).is_ok());
    }

    #[test]
    fn unusable_input_has_its_reason() {
        let reasons = [
            (means(&[3.0; 4]), NoInterval::NoSpread),
            (means(&[3.0]), NoInterval::TooFewClusters),
            (means(&[3.0, f64::NAN]), NoInterval::NotFinite),
            (means(&[3.0, -1.0]), NoInterval::OutOfRange),
            (means(&[]), NoInterval::ZeroDenominator),
        ];
        for (clusters, reason) in reasons {
            assert_eq!(bca_ratio(&clusters, 100, 1, 0.95), Err(reason));
        }
        assert_eq!(bca_ratio(&means(&[1.0, 2.0]), 0, 1, 0.95), Err(NoInterval::BadSetting));
    }
}
