//! How far apart two sets of category counts are.
//!
//! Owns: the G statistic, total variation, the Jensen-Shannon distance, and a
//! bootstrap of total variation over tasks. Refuses: p-values; errors of one run
//! come together, so G is tested by relabelling whole runs, not by chi-squared.
//!
//! Counts of categories stand at the same place in both lists; a list that ends
//! early goes on with zeros. Total variation and Jensen-Shannon are biased upwards
//! by sampling: without any change, ten errors an arm give a mean total variation
//! of .36 (STATISTICS.md, section 5.2).

use super::interval::{Interval, NoInterval, check_level};
use super::quantile::quantile_type7;
use super::random::SplitMix64;

/// The G statistic of the 2 by K table: `2 * sum of O ln(O / E)`, with E from the
/// sums of rows and columns. 0 or more; 0 where an arm is empty, which says nothing.
pub fn g_statistic(candidate: &[f64], baseline: &[f64]) -> f64 {
    let (sum_c, sum_b) = (candidate.iter().sum::<f64>(), baseline.iter().sum::<f64>());
    let all = sum_c + sum_b;
    if !(sum_c > 0.0 && sum_b > 0.0) {
        return 0.0;
    }
    let term = |observed: f64, expected: f64| {
        if observed > 0.0 { observed * (observed / expected).ln() } else { 0.0 }
    };
    let g: f64 = pairs(candidate, baseline)
        .map(|(c, b)| term(c, (c + b) * sum_c / all) + term(b, (c + b) * sum_b / all))
        .sum();
    (2.0 * g).max(0.0)
}

/// Total variation between two sets of counts or shares: half the sum of the
/// differences between the shares, from 0 (alike) to 1 (nothing in common).
///
/// `None` unless both have a sum above 0 and no count below 0.
pub fn total_variation(candidate: &[f64], baseline: &[f64]) -> Option<f64> {
    let gaps: f64 = shares(candidate, baseline)?.map(|(p, q)| (p - q).abs()).sum();
    Some((gaps / 2.0).min(1.0))
}

/// The Jensen-Shannon distance: the square root of the divergence in bits, from 0
/// (alike) to 1 (nothing in common).
///
/// `None` as for [`total_variation`].
pub fn jensen_shannon_distance(candidate: &[f64], baseline: &[f64]) -> Option<f64> {
    // Against the middle of both, (p + q) / 2.
    let part = |p: f64, both: f64| if p > 0.0 { p * (2.0 * p / both).log2() } else { 0.0 };
    let divergence: f64 =
        shares(candidate, baseline)?.map(|(p, q)| part(p, p + q) + part(q, p + q)).sum();
    Some((divergence / 2.0).clamp(0.0, 1.0).sqrt())
}

/// The percentile interval of total variation, by drawing tasks with replacement:
/// each drawn task brings its counts of both arms, which stand at the same place.
///
/// A drawn set in which an arm has no counts has no distance; it is taken as 0 for
/// the lower bound and as 1 for the upper. Being biased like the distance itself,
/// the interval is no test: it does not reach 0 without a change.
///
/// # Errors
/// [`NoInterval::ZeroDenominator`] if an arm has no counts, and
/// [`NoInterval::TooFewClusters`] for fewer than 2 tasks with counts,
/// [`NoInterval::NoSpread`], [`NoInterval::OutOfRange`] and
/// [`NoInterval::NotFinite`] for counts below 0 or not finite, and
/// [`NoInterval::BadSetting`] without draws.
pub fn bootstrap_tv<C: AsRef<[f64]>>(
    candidate: &[C],
    baseline: &[C],
    draws: u32,
    seed: u64,
    level: f64,
) -> Result<Interval, NoInterval> {
    check_level(level)?;
    if draws == 0 {
        return Err(NoInterval::BadSetting);
    }
    let all = || candidate.iter().chain(baseline).flat_map(|counts| counts.as_ref());
    if all().any(|count| !count.is_finite()) {
        return Err(NoInterval::NotFinite);
    }
    if all().any(|&count| count < 0.0) {
        return Err(NoInterval::OutOfRange);
    }
    let tasks = tasks_with_counts(candidate, baseline);
    let whole = Sum::of(&tasks, 0..tasks.len());
    let estimate =
        total_variation(&whole.candidate, &whole.baseline).ok_or(NoInterval::ZeroDenominator)?;
    if tasks.len() < 2 {
        return Err(NoInterval::TooFewClusters);
    }
    let bound = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
    let (mut lowest, mut highest): (Vec<f64>, Vec<f64>) = (0..draws)
        .map(|draw| {
            let mut random = SplitMix64::stream(seed, u64::from(draw));
            let sum = Sum::of(&tasks, random.indices(tasks.len(), bound));
            total_variation(&sum.candidate, &sum.baseline).map_or((0.0, 1.0), |tv| (tv, tv))
        })
        .unzip();
    lowest.sort_unstable_by(f64::total_cmp);
    highest.sort_unstable_by(f64::total_cmp);
    let low = quantile_type7(&lowest, 0.5 - level / 2.0).ok_or(NoInterval::NotFinite)?;
    let high = quantile_type7(&highest, 0.5 + level / 2.0).ok_or(NoInterval::NotFinite)?;
    Interval::around(estimate, (low, high), (0.0, 1.0), "percentile bootstrap")
}

/// A task's counts in both arms.
type Pair<'a> = (&'a [f64], &'a [f64]);

/// The tasks that have a count above 0 in either arm.
fn tasks_with_counts<'a, C: AsRef<[f64]>>(candidate: &'a [C], baseline: &'a [C]) -> Vec<Pair<'a>> {
    let counts = |arm: &'a [C], index| arm.get(index).map_or(&[][..], AsRef::as_ref);
    (0..candidate.len().max(baseline.len()))
        .map(|index| (counts(candidate, index), counts(baseline, index)))
        .filter(|(c, b)| c.iter().chain(*b).any(|&count| count > 0.0))
        .collect()
}

/// The counts of both arms over several tasks.
#[derive(Default)]
struct Sum {
    candidate: Vec<f64>,
    baseline: Vec<f64>,
}

impl Sum {
    fn of(tasks: &[Pair<'_>], indices: impl Iterator<Item = usize>) -> Self {
        let mut sum = Self::default();
        for (candidate, baseline) in indices.filter_map(|index| tasks.get(index)) {
            add(&mut sum.candidate, candidate);
            add(&mut sum.baseline, baseline);
        }
        sum
    }
}

fn add(sums: &mut Vec<f64>, counts: &[f64]) {
    if sums.len() < counts.len() {
        sums.resize(counts.len(), 0.0);
    }
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// Both lists side by side, the shorter one continued with zeros.
fn pairs<'a>(one: &'a [f64], other: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    let at = |list: &[f64], index| list.get(index).copied().unwrap_or(0.0);
    (0..one.len().max(other.len())).map(move |index| (at(one, index), at(other, index)))
}

/// Both lists as shares of their sums.
fn shares<'a>(one: &'a [f64], other: &'a [f64]) -> Option<impl Iterator<Item = (f64, f64)> + 'a> {
    let (sum, other_sum) = (one.iter().sum::<f64>(), other.iter().sum::<f64>());
    let usable = |list: &[f64], sum: f64| {
        sum > 0.0 && sum.is_finite() && list.iter().all(|&count| count >= 0.0)
    };
    (usable(one, sum) && usable(other, other_sum))
        .then(|| pairs(one, other).map(move |(a, b)| (a / sum, b / other_sum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares .5, .5, 0 and .5, 0, .5: half of their gaps is .5; the middle is .5, .25,
    /// .25, and each arm's divergence from it is .5 bits.
    #[test]
    fn distances_by_hand() {
        let (one, other) = ([2.0, 2.0], [1.0, 0.0, 1.0]);
        assert_eq!(total_variation(&one, &other), Some(0.5));
        let distance = jensen_shannon_distance(&one, &other).unwrap_or(f64::NAN);
        assert!((distance - 0.5_f64.sqrt()).abs() < 1e-15, "{distance}");
        // 2 * (3 ln 2 twice): nothing in common, equal sums.
        let apart = g_statistic(&[3.0, 0.0], &[0.0, 3.0]);
        assert!((apart - 12.0 * 2.0_f64.ln()).abs() < 1e-12, "{apart}");
    }

    #[test]
    fn an_arm_without_errors_has_no_mix() {
        assert_eq!(total_variation(&[], &[1.0]), None);
        assert_eq!(jensen_shannon_distance(&[1.0], &[0.0]), None);
        assert_eq!(g_statistic(&[1.0, 2.0], &[]), 0.0);
        let got = bootstrap_tv(&[[0.0], [0.0]], &[[1.0], [2.0]], 100, 1, 0.95);
        assert_eq!(got, Err(NoInterval::ZeroDenominator));
    }

    #[test]
    fn the_bootstrap_draws_tasks_and_repeats() {
        let candidate: Vec<Vec<f64>> = (0..30).map(|i| vec![f64::from(i % 3), 2.0]).collect();
        let baseline: Vec<Vec<f64>> = (0..30).map(|i| vec![f64::from(i % 5), 1.0]).collect();
        let got = bootstrap_tv(&candidate, &baseline, 2_000, 1, 0.95);
        assert_eq!(got, bootstrap_tv(&candidate, &baseline, 2_000, 1, 0.95));
        // 30 and 60 against 60 and 30.
        let (low, high) = got.map_or((f64::NAN, f64::NAN), |i| (i.low, i.high));
        assert!(0.15 < low && low < 1.0 / 3.0 && 1.0 / 3.0 < high && high < 0.5, "{low} {high}");
    }

    #[test]
    fn drawn_sets_without_errors_widen_the_interval() {
        // One task of three has all errors of the candidate: 8 of 27 sets lack it.
        let candidate = [[5.0, 1.0], [0.0, 0.0], [0.0, 0.0]];
        let baseline = [[1.0, 1.0], [2.0, 3.0], [1.0, 4.0]];
        let got = bootstrap_tv(&candidate, &baseline, 500, 1, 0.95);
        assert_eq!(got.map(|i| (i.low, i.high)), Ok((0.0, 1.0)));
    }

    #[test]
    fn unusable_counts_have_their_reason() {
        let fine = [[1.0, 2.0], [2.0, 1.0]];
        let reason =
            |counts: [[f64; 2]; 2], draws| bootstrap_tv(&counts, &fine, draws, 1, 0.95).err();
        assert_eq!(reason([[f64::NAN, 1.0]; 2], 9), Some(NoInterval::NotFinite));
        assert_eq!(reason([[-1.0, 3.0]; 2], 9), Some(NoInterval::OutOfRange));
        assert_eq!(reason(fine, 0), Some(NoInterval::BadSetting));
        let one = bootstrap_tv(&fine[..1], &fine[..1], 9, 1, 0.95);
        assert_eq!(one, Err(NoInterval::TooFewClusters));
    }
}
