//! Exact tests of success counts, stratified by task.
//!
//! Owns: the law of the candidate's successes when every task keeps its sum of
//! successes and of runs (a convolution of hypergeometric laws), its tails, and
//! the smallest p that a design can reach. Refuses: values that are not counts,
//! which are tested by label permutation, and any choice between the two tails.
//!
//! With one run in each arm of every task this is McNemar's exact test, with one
//! task it is Fisher's.

use std::collections::BTreeMap;

use statrs::function::factorial::ln_binomial;

use super::distributions::normal_cdf;

/// Masses below this are dropped from a law.
const NEGLIGIBLE: f64 = 1e-300;

/// No p-value is given as smaller: dropped masses may add up to that much.
const SMALLEST: f64 = 1e-280;

/// Laws of a larger variance are taken as normal. It is that of 40,000 pairs of
/// runs that differ; the exact law is then some 7,400 masses wide.
const LARGEST_VARIANCE: f64 = 1e4;

/// The two one-sided p-values of a statistic of the candidate: how probable one as
/// small as seen, and one as large, is without a difference. From 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// The p-value of "as small as this".
    pub less: f64,
    /// The p-value of "as large as this".
    pub greater: f64,
}

/// The successes of both arms in one task. More successes than runs count as
/// all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Stratum {
    /// Successes of the candidate.
    pub candidate_successes: u32,
    /// Runs of the candidate.
    pub candidate_runs: u32,
    /// Successes of the baseline.
    pub baseline_successes: u32,
    /// Runs of the baseline.
    pub baseline_runs: u32,
}

/// What the stratified exact test says of the candidate's number of successes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exact {
    /// P-values that count the outcome seen in full: never liberal.
    pub strict: Tails,
    /// P-values that count half of it: less strict than that by its half; `less`
    /// and `greater` sum to 1.
    pub mid: Tails,
    /// Whether the law was too wide to be computed, and taken as normal.
    pub approximate: bool,
}

/// The exact conditional test of equal success rates within every task (the exact
/// form of Cochran, Mantel and Haenszel; STATISTICS.md, section 5.2).
///
/// `less` is the p-value of "the candidate succeeds less often". A task in which an
/// arm has no runs, or in which all runs ended alike, says nothing. Without any
/// that speaks, strict p-values are 1 and mid ones .5.
///
/// Assumes runs of one task exchangeable between the arms if there is no
/// difference; tasks may differ in any way. Good to some 1e-10 of each p-value
/// down to 1e-280, below which none is given. If the law has a variance above
/// 10,000 (40,000 tasks of one run an arm that ended differently) the normal law
/// stands in for it, with a continuity correction in the strict p-values.
pub fn stratified_exact(strata: &[Stratum]) -> Exact {
    let mut groups: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
    let (mut seen, mut mean, mut variance) = (0_u64, 0.0, 0.0);
    for stratum in strata {
        let candidate = u64::from(stratum.candidate_runs);
        let baseline = u64::from(stratum.baseline_runs);
        let successes = u64::from(stratum.candidate_successes).min(candidate);
        let all = successes + u64::from(stratum.baseline_successes).min(baseline);
        let runs = candidate + baseline;
        if candidate == 0 || baseline == 0 || all == 0 || all == runs {
            continue;
        }
        seen = seen.saturating_add(successes);
        let share = candidate as f64 / runs as f64;
        let (all_f, runs_f) = (all as f64, runs as f64);
        mean += share * all_f;
        variance += share * (1.0 - share) * all_f * (runs_f - all_f) / (runs_f - 1.0);
        *groups.entry((candidate, baseline, all)).or_default() += 1;
    }
    if variance > LARGEST_VARIANCE {
        return normal(seen as f64 - mean, variance.sqrt());
    }
    let mut laws: Vec<Law> = groups
        .into_iter()
        .map(|((candidate, baseline, all), times)| {
            Law::hypergeometric(candidate, baseline, all).power(times)
        })
        .collect();
    laws.sort_by_key(|law| law.masses.len());
    // Neighbours of like width are joined in rounds, so that wide laws are few.
    while laws.len() > 1 {
        laws = laws
            .chunks(2)
            .map(|pair| match pair {
                [one, other] => one.plus(other),
                rest => rest.iter().fold(Law::zero(), |sum, law| sum.plus(law)),
            })
            .collect();
    }
    laws.pop().unwrap_or_else(Law::zero).test(seen)
}

/// The smallest strict one-sided p that any outcome of a design can reach: the
/// product over tasks of `1 / C(n_c + n_b, n_c)`, of the outcome in which every run
/// of one arm succeeds and none of the other. Below alpha the design can detect
/// something; half of it is the smallest mid p.
///
/// `sizes` are the runs of the two arms of each task. Not below 1e-280.
pub fn smallest_p(sizes: impl Iterator<Item = (u32, u32)>) -> f64 {
    let ln: f64 = sizes
        .map(|(candidate, baseline)| {
            ln_binomial(u64::from(candidate) + u64::from(baseline), u64::from(candidate))
        })
        .sum();
    (-ln).exp().clamp(SMALLEST, 1.0)
}

/// Fisher's two-sided p of one task: the probability of all outcomes that are at
/// most as probable as the one seen (probabilities equal to 1e-10 are equal).
///
/// 1 where the task says nothing. Only for tasks of up to a few million runs: it
/// costs time in proportion to the standard deviation of the law.
pub fn fisher_two_sided(stratum: Stratum) -> f64 {
    let candidate = u64::from(stratum.candidate_runs);
    let baseline = u64::from(stratum.baseline_runs);
    let successes = u64::from(stratum.candidate_successes).min(candidate);
    let all = successes + u64::from(stratum.baseline_successes).min(baseline);
    let law = Law::hypergeometric(candidate, baseline, all);
    let likely = law.at(successes) * (1.0 + 1e-10);
    let mut masses: Vec<f64> = law.masses.into_iter().filter(|&mass| mass <= likely).collect();
    masses.sort_by(f64::total_cmp);
    masses.iter().sum::<f64>().clamp(SMALLEST, 1.0)
}

/// The normal law with mean 0 and the given deviation, at `distance`.
fn normal(distance: f64, deviation: f64) -> Exact {
    let below = |x: f64| normal_cdf(x / deviation).clamp(SMALLEST, 1.0);
    Exact {
        strict: Tails { less: below(distance + 0.5), greater: below(0.5 - distance) },
        mid: Tails { less: below(distance), greater: below(-distance) },
        approximate: true,
    }
}

/// The law of a count: the mass of `first`, `first + 1` and so on. All other masses
/// are negligible.
struct Law {
    first: u64,
    masses: Vec<f64>,
}

impl Law {
    /// The law of a count that is always 0.
    fn zero() -> Self {
        Self { first: 0, masses: vec![1.0] }
    }

    /// The candidate's successes among `all` in a task with so many runs an arm.
    ///
    /// Masses are walked from the mode outwards by the ratio of neighbours, until
    /// they are negligible: no factorial is formed, and no tail is a difference.
    fn hypergeometric(candidate: u64, baseline: u64, all: u64) -> Self {
        let least = all.saturating_sub(baseline);
        let most = all.min(candidate);
        let mode = (u128::from(all) + 1) * (u128::from(candidate) + 1)
            / (u128::from(candidate) + u128::from(baseline) + 2);
        let mode = u64::try_from(mode).unwrap_or(most).clamp(least, most);
        let mut masses = vec![1.0];
        let (mut at, mut mass) = (mode, 1.0);
        while at > least && mass >= NEGLIGIBLE {
            mass *= at as f64 * (baseline + at - all) as f64;
            mass /= (candidate - at + 1) as f64 * (all - at + 1) as f64;
            masses.push(mass);
            at -= 1;
        }
        masses.reverse();
        let first = at;
        (at, mass) = (mode, 1.0);
        while at < most && mass >= NEGLIGIBLE {
            mass *= (candidate - at) as f64 * (all - at) as f64;
            mass /= (at + 1) as f64 * (baseline + at + 1 - all) as f64;
            masses.push(mass);
            at += 1;
        }
        let total: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|mass| *mass /= total);
        Self { first, masses }.trimmed()
    }

    /// The law of the sum of two independent counts.
    fn plus(&self, other: &Self) -> Self {
        let (short, long) = if self.masses.len() < other.masses.len() {
            (&self.masses, &other.masses)
        } else {
            (&other.masses, &self.masses)
        };
        let mut masses = vec![0.0; short.len() + long.len() - 1];
        for (start, factor) in short.iter().enumerate() {
            for (sum, mass) in masses.iter_mut().skip(start).zip(long) {
                *sum += factor * mass;
            }
        }
        Self { first: self.first.saturating_add(other.first), masses }.trimmed()
    }

    /// The law of the sum of `times` independent counts of this law.
    fn power(self, mut times: u64) -> Self {
        let mut sum = Self::zero();
        let mut doubled = self;
        while times > 0 {
            if times & 1 == 1 {
                sum = sum.plus(&doubled);
            }
            times >>= 1;
            if times > 0 {
                doubled = doubled.plus(&doubled);
            }
        }
        sum
    }

    /// Without negligible masses at either end; one mass at least stays.
    fn trimmed(mut self) -> Self {
        let kept = |mass: &f64| *mass >= NEGLIGIBLE;
        let end = self.masses.iter().rposition(kept).map_or(1, |last| last + 1);
        self.masses.truncate(end);
        let start = self.masses.iter().position(kept).unwrap_or(0);
        self.masses.drain(..start);
        self.first = self.first.saturating_add(start as u64);
        self
    }

    /// The mass of a count.
    fn at(&self, count: u64) -> f64 {
        let index = count.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.masses.get(index)).copied().unwrap_or(0.0)
    }

    /// Both tails at `seen`, each summed from its far end.
    fn test(&self, seen: u64) -> Exact {
        let here = self.at(seen);
        let index = seen.saturating_sub(self.first);
        let index = usize::try_from(index).unwrap_or(usize::MAX).min(self.masses.len());
        let (before, from) = self.masses.split_at(index);
        let below: f64 = before.iter().sum();
        let above: f64 = from.iter().skip(usize::from(here > 0.0)).rev().sum();
        // Over the sum of all masses, so that the whole is 1 and not 1 less a rounding.
        let all = below + here + above;
        let p = |sum: f64| (sum / all).clamp(SMALLEST, 1.0);
        Exact {
            strict: Tails { less: p(below + here), greater: p(above + here) },
            mid: Tails { less: p(below + here / 2.0), greater: p(above + here / 2.0) },
            approximate: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stratum(candidate: (u32, u32), baseline: (u32, u32)) -> Stratum {
        Stratum {
            candidate_successes: candidate.0,
            candidate_runs: candidate.1,
            baseline_successes: baseline.0,
            baseline_runs: baseline.1,
        }
    }

    fn near(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 1e-12, "{got:e}, not {expected:e}");
    }

    /// Two successes among 2 + 2 runs: the candidate has 0, 1 or 2 with 1, 4 and 1
    /// sixths. A second task of 1 + 1 with one success: 0 or 1 with one half each.
    /// Their sum is 0 to 3 with 1, 5, 5 and 1 twelfths.
    #[test]
    fn two_tasks_by_hand() {
        let exact = stratified_exact(&[stratum((1, 2), (1, 2)), stratum((0, 1), (1, 1))]);
        near(exact.strict.less, 6.0 / 12.0);
        near(exact.strict.greater, 11.0 / 12.0);
        near(exact.mid.less, 3.5 / 12.0);
        near(exact.mid.greater, 8.5 / 12.0);
    }

    #[test]
    fn one_task_broken_outright_has_the_p_of_its_design() {
        let exact = stratified_exact(&[stratum((0, 3), (3, 3))]);
        near(exact.strict.less, 0.05);
        near(exact.mid.less, 0.025);
        near(smallest_p([(3, 3)].into_iter()), 0.05);
        near(smallest_p([(1, 1); 5].into_iter()), 1.0 / 32.0);
        near(smallest_p([(5, 5), (0, 9)].into_iter()), 1.0 / 252.0);
        assert_eq!(smallest_p(std::iter::empty()), 1.0);
    }

    #[test]
    fn tasks_that_say_nothing_change_nothing() {
        let silent = [
            stratum((3, 3), (5, 5)),
            stratum((0, 3), (0, 1)),
            stratum((0, 0), (2, 4)),
            stratum((1, 4), (0, 0)),
        ];
        let nothing = Exact {
            strict: Tails { less: 1.0, greater: 1.0 },
            mid: Tails { less: 0.5, greater: 0.5 },
            approximate: false,
        };
        assert_eq!(stratified_exact(&silent), nothing);
        assert_eq!(stratified_exact(&[]), nothing);
        let speaks = [stratum((1, 4), (3, 4))];
        assert_eq!(stratified_exact(&[&speaks[..], &silent].concat()), stratified_exact(&speaks));
    }

    /// 900 of 900 pairs flipped: 2^-900 is beyond the smallest p; 500 are not.
    #[test]
    fn tails_keep_their_digits_and_never_reach_0() {
        let flipped = |pairs| stratified_exact(&vec![stratum((0, 1), (1, 1)); pairs]).strict;
        assert!((flipped(500).less.log2() + 500.0).abs() < 1e-9);
        assert_eq!(flipped(500).greater, 1.0);
        assert_eq!(flipped(1_000).less, SMALLEST);
    }

    #[test]
    fn the_normal_law_meets_the_exact_one_where_it_takes_over() {
        let pairs = |count: usize, better: usize| -> Vec<Stratum> {
            (0..count)
                .map(|i| if i < better { stratum((1, 1), (0, 1)) } else { stratum((0, 1), (1, 1)) })
                .collect()
        };
        // Two standard deviations of 100 below the middle.
        let exact = stratified_exact(&pairs(40_000, 19_800));
        let taken = stratified_exact(&pairs(40_002, 19_801));
        assert!(!exact.approximate && taken.approximate);
        for (one, other) in [
            (exact.strict.less, taken.strict.less),
            (exact.strict.greater, taken.strict.greater),
            (exact.mid.less, taken.mid.less),
            (exact.mid.greater, taken.mid.greater),
        ] {
            assert!((one / other - 1.0).abs() < 2e-4, "{one} {other}");
        }
    }

    #[test]
    fn impossible_and_huge_counts_are_taken_in_stride() {
        let over = stratified_exact(&[stratum((9, 2), (1, 2))]);
        assert_eq!(over, stratified_exact(&[stratum((2, 2), (1, 2))]));
        let most = u32::MAX;
        let huge = stratified_exact(&[stratum((most / 2, most), (most / 2, most)); 9]);
        assert!(huge.approximate && huge.mid.less == 0.5);
        let rare = stratified_exact(&[stratum((0, most), (3, most))]);
        assert!((rare.strict.less - 0.125).abs() < 1e-8, "{rare:?}");
        assert_eq!(fisher_two_sided(stratum((most / 2, most), (most / 2, most))), 1.0);
    }

    /// 3 successes among 2 + 2 runs: the candidate has 1 or 2, each with one half.
    #[test]
    fn fishers_two_sided_p_counts_outcomes_as_probable_as_the_one_seen() {
        near(fisher_two_sided(stratum((1, 2), (2, 2))), 1.0);
        near(fisher_two_sided(stratum((0, 3), (3, 3))), 0.1);
        near(fisher_two_sided(stratum((0, 0), (0, 0))), 1.0);
    }
}
