//! The statistics of the gate that are tested by label permutation.
//!
//! Owns: sums, means over tasks, ratios of sums, the squared drop in success rates,
//! and G of category counts. Refuses: the choice between the tails; whether more is
//! worse is the caller's to know.
//!
//! All take one value per run, in the order of the [`Design`], and give `None` if
//! their number is another or one of them is unusable.

use super::categories::g_statistic;
use super::interval::{Cluster, check};
use super::permutation::{Draws, Permuted, permute};
use super::relabel::Design;

/// Tests the sum of `values` over the candidate's runs.
///
/// Every statistic that is a weighted sum over the candidate's runs, or the
/// difference of such sums of both arms, is this one with its weights in the values:
/// what does not change with the labels does not change the p-values.
///
/// `None` unless each run has a finite value.
pub fn permute_sum(design: &Design, values: &[f64], draws: Draws) -> Option<Permuted> {
    let scale: f64 = values.iter().map(|value| value.abs()).sum();
    (values.len() == design.runs() && scale.is_finite())
        .then(|| permute(design, draws, scale, |chosen| sum_of(values, chosen)))
}

/// Tests the mean over tasks of the difference between the arms' means in the task
/// (retries, logarithms of durations). A task without runs in an arm says nothing.
///
/// `None` as for [`permute_sum`].
pub fn permute_mean_difference(design: &Design, values: &[f64], draws: Draws) -> Option<Permuted> {
    if values.len() != design.runs() {
        return None;
    }
    let weights = design.tasks().iter().flat_map(|task| {
        let (baseline, candidate) = (f64::from(task.baseline), f64::from(task.candidate));
        let both = task.baseline > 0 && task.candidate > 0;
        // The mean of the candidate minus that of the rest is v (1/n_c + 1/n_b) summed
        // over the candidate's runs, less what all runs have in common.
        let weight = if both { 1.0 / candidate + 1.0 / baseline } else { 0.0 };
        std::iter::repeat_n(weight, task.baseline as usize + task.candidate as usize)
    });
    let weighted: Vec<f64> = values.iter().zip(weights).map(|(v, weight)| v * weight).collect();
    permute_sum(design, &weighted, draws)
}

/// Tests the difference of ratios of sums, candidate minus baseline (errors per
/// step, cost per completion), from the sums of each run.
///
/// A relabeling in which an arm has a denominator of 0 has no such difference; it
/// counts in both tails. Where that is so for the labels seen, the p-values are 1.
///
/// `None` unless each run has sums that are finite and 0 or more.
pub fn permute_ratio(design: &Design, runs: &[Cluster], draws: Draws) -> Option<Permuted> {
    if runs.len() != design.runs() || check(runs).is_err() {
        return None;
    }
    let all = add(runs.iter());
    if !(all.numerator.is_finite() && all.denominator.is_finite()) {
        return None;
    }
    // Less is what rounding leaves of nothing.
    let least = 1e-12 * all.denominator;
    let ratio = |sum: Cluster| {
        if sum.denominator > least { sum.numerator / sum.denominator } else { f64::NAN }
    };
    let ratios = |chosen: &[u32]| {
        let candidate = add(chosen.iter().filter_map(|&run| runs.get(run as usize)));
        let baseline = Cluster::new(
            (all.numerator - candidate.numerator).max(0.0),
            all.denominator - candidate.denominator,
        );
        (ratio(candidate), ratio(baseline))
    };
    let (candidate, baseline) = ratios(&design.candidate());
    Some(permute(design, draws, candidate + baseline, |chosen| {
        let (candidate, baseline) = ratios(chosen);
        candidate - baseline
    }))
}

/// Which drops in the success rate of a task count in [`squared_drop`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// All, a rise against the drops.
    Signed,
    /// Drops alone; a rise counts as none.
    Positive,
}

/// Tests the sum over tasks of the squared drop of the success rate from baseline to
/// candidate; a regression is in the tail `greater`. It sees a few tasks that broke
/// hard better than the sum of successes does (STATISTICS.md, section 5.2).
///
/// Tasks whose runs all ended alike, or that have runs in one arm alone, are left
/// out: no relabeling changes them.
///
/// `None` unless each run is told to have succeeded or not.
pub fn squared_drop(
    design: &Design,
    successes: &[bool],
    drop: Drop,
    draws: Draws,
) -> Option<Permuted> {
    if successes.len() != design.runs() {
        return None;
    }
    let (mut sizes, mut values) = (Vec::new(), Vec::new());
    // One row per task that speaks: what each number of successes of the candidate
    // among its runs adds to the statistic.
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut rest = successes;
    for task in design.tasks() {
        let (runs, others) =
            rest.split_at((task.baseline as usize).saturating_add(task.candidate as usize));
        rest = others;
        let all = runs.iter().filter(|&&success| success).count();
        if task.baseline == 0 || task.candidate == 0 || all == 0 || all == runs.len() {
            continue;
        }
        sizes.push((task.baseline, task.candidate));
        values.extend(runs.iter().map(|&success| usize::from(success)));
        let (baseline, candidate) = (f64::from(task.baseline), f64::from(task.candidate));
        let added = |succeeded: u32| {
            let candidate_rate = f64::from(succeeded) / candidate;
            let fall = (all as f64 - f64::from(succeeded)) / baseline - candidate_rate;
            match drop {
                Drop::Signed => fall * fall.abs(),
                Drop::Positive => fall.max(0.0).powi(2),
            }
        };
        rows.push((0..=task.candidate).map(added).collect());
    }
    let speaking = Design::new(sizes)?;
    // No task adds more than 1.
    let scale = rows.len() as f64;
    Some(permute(&speaking, draws, scale, |chosen| {
        let mut rest = chosen;
        let mut sum = 0.0;
        for row in &rows {
            let (runs, others) = rest.split_at(row.len().saturating_sub(1).min(rest.len()));
            rest = others;
            let succeeded: usize = runs.iter().filter_map(|&run| values.get(run as usize)).sum();
            sum += row.get(succeeded).copied().unwrap_or(0.0);
        }
        sum
    }))
}

/// Tests [`g_statistic`] of the counts of categories summed over each arm's runs; a
/// change of the mix is in the tail `greater`. Whole runs are relabelled, so errors
/// of one run may depend on each other.
///
/// Relabelings in which an arm has no counts have a G of 0.
///
/// `None` unless each run has counts, of any number of categories.
pub fn permute_g<C: AsRef<[u32]>>(design: &Design, counts: &[C], draws: Draws) -> Option<Permuted> {
    if counts.len() != design.runs() {
        return None;
    }
    // Most runs have few errors: only the counts above 0 of each are kept, one after
    // the other, with the place where each run's end.
    let mut kept: Vec<(usize, f64)> = Vec::new();
    let mut spans = Vec::with_capacity(counts.len());
    let mut all: Vec<f64> = Vec::new();
    for run in counts {
        let start = kept.len();
        for (category, &count) in run.as_ref().iter().enumerate() {
            if count > 0 {
                kept.push((category, f64::from(count)));
            }
        }
        spans.push(start..kept.len());
    }
    for &(category, count) in &kept {
        if all.len() <= category {
            all.resize(category + 1, 0.0);
        }
        if let Some(sum) = all.get_mut(category) {
            *sum += count;
        }
    }
    let mut candidate = vec![0.0; all.len()];
    let mut baseline = all.clone();
    let scale: f64 = all.iter().sum();
    Some(permute(design, draws, scale, |chosen| {
        candidate.fill(0.0);
        for &run in chosen {
            let span = spans.get(run as usize).cloned().unwrap_or_default();
            for &(category, count) in kept.get(span).unwrap_or_default() {
                if let Some(sum) = candidate.get_mut(category) {
                    *sum += count;
                }
            }
        }
        for ((rest, all), candidate) in baseline.iter_mut().zip(&all).zip(&candidate) {
            *rest = all - candidate;
        }
        g_statistic(&candidate, &baseline)
    }))
}

#[inline]
fn sum_of(values: &[f64], chosen: &[u32]) -> f64 {
    chosen.iter().filter_map(|&run| values.get(run as usize)).sum()
}

#[inline]
fn add<'a>(runs: impl Iterator<Item = &'a Cluster>) -> Cluster {
    runs.fold(Cluster::default(), |sum, run| {
        Cluster::new(sum.numerator + run.numerator, sum.denominator + run.denominator)
    })
}

#[cfg(test)]
mod tests {
    use super::super::exact::{Stratum, Tails, stratified_exact};
    use super::*;

    fn design(sizes: &[(u32, u32)]) -> Design {
        Design::new(sizes.iter().copied()).unwrap_or_else(|| panic!("too many runs"))
    }

    fn tested(permuted: Option<Permuted>) -> Permuted {
        permuted.unwrap_or_else(|| panic!("not tested"))
    }

    /// Baseline 1, 2 and candidate 4 | baseline 5 and candidate 3: differences 2.5 and
    /// -2. The 3 choices of the first task give 2.5, -.5 and -2, those of the second
    /// -2 and 2; their sums are 4.5, 1.5, .5 (as seen), 0, -2.5 and -4.
    #[test]
    fn mean_differences_by_hand() {
        let got = permute_mean_difference(
            &design(&[(2, 1), (1, 1)]),
            &[1.0, 2.0, 4.0, 5.0, 3.0],
            Draws::seeded(1),
        );
        let p = tested(got).p;
        assert!((p.greater - 3.0 / 6.0).abs() < 1e-12, "{p:?}");
        assert!((p.less - 4.0 / 6.0).abs() < 1e-12, "{p:?}");
    }

    #[test]
    fn a_task_without_an_arm_says_nothing_about_means() {
        let with = permute_mean_difference(
            &design(&[(1, 1), (0, 2), (1, 1)]),
            &[1.0, 2.0, 1e6, -7.0, 4.0, 3.0],
            Draws::seeded(1),
        );
        let without = permute_mean_difference(
            &design(&[(1, 1), (1, 1)]),
            &[1.0, 2.0, 4.0, 3.0],
            Draws::seeded(1),
        );
        assert_eq!(tested(with), tested(without));
    }

    /// Sums 1/2, 1/2 against 3/2 in one task of 2 + 1: ratios .5 to 1.5 as seen, and
    /// as candidate either of the others 1 to .5, twice.
    #[test]
    fn ratios_by_hand() {
        let runs = [(1.0, 2.0), (1.0, 2.0), (3.0, 2.0)].map(|(e, s)| Cluster::new(e, s));
        let p = tested(permute_ratio(&design(&[(2, 1)]), &runs, Draws::seeded(1))).p;
        assert!((p.greater - 1.0 / 3.0).abs() < 1e-12 && p.less == 1.0, "{p:?}");
    }

    /// Only the candidate completed: no relabeling has completions in both arms.
    #[test]
    fn an_arm_without_a_denominator_is_no_evidence() {
        let runs = [(0.3, 0.0), (0.1, 0.2)].map(|(e, s)| Cluster::new(e, s));
        let p = tested(permute_ratio(&design(&[(1, 1)]), &runs, Draws::seeded(1))).p;
        assert_eq!(p, Tails { less: 1.0, greater: 1.0 });
        // Three completions in all, so that each arm of two runs has one at least: 14
        // for one against 2 for two is the largest difference of six.
        let runs =
            [(1.0, 1.0), (1.0, 1.0), (5.0, 0.0), (9.0, 1.0)].map(|(e, s)| Cluster::new(e, s));
        let p = tested(permute_ratio(&design(&[(2, 2)]), &runs, Draws::seeded(1))).p;
        assert_eq!(p, Tails { less: 1.0, greater: 1.0 / 6.0 });
    }

    #[test]
    fn the_sum_of_successes_is_the_stratified_exact_test_also_by_drawing() {
        let sizes = [(5, 5), (3, 6), (6, 3), (1, 1), (4, 4), (2, 7)];
        let baseline = [4, 2, 6, 1, 3, 1];
        let candidate = [3, 3, 1, 0, 2, 4];
        let mut values = Vec::new();
        let mut strata = Vec::new();
        for ((&(n_b, n_c), b), c) in sizes.iter().zip(baseline).zip(candidate) {
            values.extend((0..n_b).map(|run| f64::from(u8::from(run < b))));
            values.extend((0..n_c).map(|run| f64::from(u8::from(run < c))));
            strata.push(Stratum {
                candidate_successes: c,
                candidate_runs: n_c,
                baseline_successes: b,
                baseline_runs: n_b,
            });
        }
        let exact = stratified_exact(&strata);
        let draws = Draws { count: 99_999, ..Draws::seeded(4) };
        let drawn = tested(permute_sum(&design(&sizes), &values, draws));
        assert!(!drawn.exhaustive);
        for (drawn, exact) in
            [(drawn.p.less, exact.strict.less), (drawn.mid.greater, exact.mid.greater)]
        {
            // Four standard errors.
            let wide = 4.0 * (exact * (1.0 - exact) / 1e5).sqrt();
            assert!((drawn - exact).abs() < wide, "{drawn} {exact}");
        }
    }

    /// Two tasks of 2 + 2, one of which broke (2 to 0) while the other gained one
    /// success (1 to 2). The first has drops 1, 0 and -1 in 1, 4 and 1 relabelings,
    /// the second with 3 successes -.5 and .5 in 3 each. Seen: 1 - .25 signed, 1 with
    /// drops alone.
    #[test]
    fn squared_drops_by_hand() {
        let design = design(&[(2, 2), (2, 2), (2, 2), (0, 3)]);
        let successes = [[true, true, false, false], [true, false, true, true], [true; 4]].concat();
        let successes = [successes, vec![true, false, false]].concat();
        let signed = tested(squared_drop(&design, &successes, Drop::Signed, Draws::seeded(1)));
        assert_eq!(signed.draws, 36);
        // 1.25 in 3 and .75 in 3 of 36.
        assert!((signed.p.greater - 6.0 / 36.0).abs() < 1e-12, "{signed:?}");
        let positive = tested(squared_drop(&design, &successes, Drop::Positive, Draws::seeded(1)));
        assert!((positive.p.greater - 6.0 / 36.0).abs() < 1e-12, "{positive:?}");
        // 1 ties with the 3 at 1, below the 3 at 1.25.
        assert!((positive.mid.greater - 4.5 / 36.0).abs() < 1e-12, "{positive:?}");
    }

    /// Two runs an arm in one task, with errors of one kind in the baseline and of
    /// another in the candidate: 2 of 6 relabelings keep them apart.
    #[test]
    fn a_changed_mix_of_categories_by_hand() {
        let counts = [vec![2, 0], vec![1], vec![0, 3], vec![0, 1]];
        let got = tested(permute_g(&design(&[(2, 2)]), &counts, Draws::seeded(1)));
        assert!((got.p.greater - 2.0 / 6.0).abs() < 1e-12, "{got:?}");
        let none = tested(permute_g(&design(&[(2, 2)]), &[[0; 3]; 4], Draws::seeded(1)));
        assert_eq!(none.p, Tails { less: 1.0, greater: 1.0 });
    }

    #[test]
    fn unusable_values_give_no_test() {
        let design = design(&[(1, 1)]);
        assert_eq!(permute_sum(&design, &[1.0], Draws::seeded(1)), None);
        assert_eq!(permute_sum(&design, &[1.0, f64::NAN], Draws::seeded(1)), None);
        assert_eq!(permute_mean_difference(&design, &[f64::MAX, f64::MAX], Draws::seeded(1)), None);
        let negative = [Cluster::new(-1.0, 1.0), Cluster::new(1.0, 1.0)];
        assert_eq!(permute_ratio(&design, &negative, Draws::seeded(1)), None);
        assert_eq!(squared_drop(&design, &[true; 3], Drop::Signed, Draws::seeded(1)), None);
        assert_eq!(permute_g(&design, &[[1]], Draws::seeded(1)), None);
    }
}
