//! What holds of every comparison of two arms, and the same p-values computed in a
//! second way.

use agenteval::stats::{
    Cluster, Design, Draws, Drop, Exact, Stop, Stratum, Tails, adjusted_paired_t, bootstrap_tv,
    fisher_two_sided, g_statistic, holm, jensen_shannon_distance, newcombe, paired_t, permute_g,
    permute_mean_difference, permute_ratio, permute_sum, ratio_difference,
    ratio_difference_unpaired, smallest_p, squared_drop, stratified_exact, total_variation, welch,
};
use proptest::prelude::*;

/// One task: whether each run of the baseline, and of the candidate, succeeded.
type Task = (Vec<bool>, Vec<bool>);

fn tasks(runs: usize, tasks: usize) -> impl Strategy<Value = Vec<Task>> {
    let arm = || prop::collection::vec(any::<bool>(), 0..=runs);
    prop::collection::vec((arm(), arm()), 0..=tasks)
}

fn successes(runs: &[bool]) -> u32 {
    runs.iter().map(|&success| u32::from(success)).sum()
}

fn stratum((baseline, candidate): &Task) -> Stratum {
    Stratum {
        candidate_successes: successes(candidate),
        candidate_runs: candidate.len() as u32,
        baseline_successes: successes(baseline),
        baseline_runs: baseline.len() as u32,
    }
}

fn strata(tasks: &[Task]) -> Vec<Stratum> {
    tasks.iter().map(stratum).collect()
}

fn design(tasks: &[Task]) -> Design {
    Design::new(tasks.iter().map(|(b, c)| (b.len() as u32, c.len() as u32)))
        .unwrap_or_else(|| panic!("too many runs"))
}

fn runs(tasks: &[Task]) -> Vec<bool> {
    tasks.iter().flat_map(|(b, c)| b.iter().chain(c).copied()).collect()
}

/// The law of the candidate's successes by listing all ways to label the runs of
/// each task, as subsets written in bits.
fn listed(tasks: &[Task]) -> Tails {
    let mut law = vec![1.0];
    let mut seen = 0;
    for (baseline, candidate) in tasks {
        let all = [&baseline[..], candidate].concat();
        let mut ways = vec![0.0; candidate.len() + 1];
        for subset in 0_u32..1 << all.len() {
            if subset.count_ones() as usize == candidate.len() {
                let labelled = (0..all.len()).filter(|&run| subset >> run & 1 == 1 && all[run]);
                ways[labelled.count()] += 1.0;
            }
        }
        let total: f64 = ways.iter().sum();
        let mut sum = vec![0.0; law.len() + ways.len() - 1];
        for (i, p) in law.iter().enumerate() {
            for (j, q) in ways.iter().enumerate() {
                sum[i + j] += p * q / total;
            }
        }
        law = sum;
        seen += successes(candidate) as usize;
    }
    Tails { less: law[..=seen].iter().sum(), greater: law[seen..].iter().sum() }
}

fn near(one: Tails, other: Tails) -> Result<(), TestCaseError> {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12;
    prop_assert!(
        close(one.less, other.less) && close(one.greater, other.greater),
        "{one:?} {other:?}"
    );
    Ok(())
}

fn a_chance(tails: Tails) -> Result<(), TestCaseError> {
    for p in [tails.less, tails.greater] {
        prop_assert!(0.0 < p && p <= 1.0, "{tails:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_exact_test_is_the_count_of_all_labelings(tasks in tasks(4, 5)) {
        near(stratified_exact(&strata(&tasks)).strict, listed(&tasks))?;
    }

    #[test]
    fn permutation_of_successes_is_the_exact_test(tasks in tasks(3, 4)) {
        let values: Vec<f64> = runs(&tasks).into_iter().map(|s| f64::from(u8::from(s))).collect();
        let permuted = permute_sum(&design(&tasks), &values, Draws::seeded(1));
        let permuted = permuted.ok_or_else(|| TestCaseError::fail("no test"))?;
        if permuted.exhaustive {
            let exact = stratified_exact(&strata(&tasks));
            near(permuted.p, exact.strict)?;
            near(permuted.mid, exact.mid)?;
        }
    }

    #[test]
    fn tails_are_chances_that_mirror_when_the_arms_change_places(tasks in tasks(9, 30)) {
        let exact = stratified_exact(&strata(&tasks));
        let swapped: Vec<Task> = tasks.iter().map(|(b, c)| (c.clone(), b.clone())).collect();
        let mirrored = stratified_exact(&strata(&swapped));
        near(exact.strict, Tails { less: mirrored.strict.greater, greater: mirrored.strict.less })?;
        a_chance(exact.strict)?;
        a_chance(exact.mid)?;
        prop_assert!((exact.mid.less + exact.mid.greater - 1.0).abs() < 1e-12, "{exact:?}");
        prop_assert!(exact.strict.less + exact.strict.greater >= 1.0 - 1e-12, "{exact:?}");
        prop_assert!(exact.strict.less >= exact.mid.less);
        let sizes = || tasks.iter().map(|(b, c)| (c.len() as u32, b.len() as u32));
        let least = smallest_p(sizes());
        prop_assert!(exact.strict.less.min(exact.strict.greater) >= least * (1.0 - 1e-9));
        // The outcome that reaches it.
        let broken = sizes().map(|(candidate_runs, baseline_runs)| Stratum {
            candidate_successes: 0,
            candidate_runs,
            baseline_successes: baseline_runs,
            baseline_runs,
        });
        let reached = stratified_exact(&broken.collect::<Vec<_>>()).strict.less;
        prop_assert!((reached / least - 1.0).abs() < 1e-9, "{reached} {least}");
    }

    #[test]
    fn any_counts_at_all_give_chances(
        list in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()), 0..5),
        shift in 0_u32..32,
    ) {
        let strata: Vec<Stratum> = list.iter().map(|&(a, b, c, d)| Stratum {
            candidate_successes: a >> shift,
            candidate_runs: b >> shift,
            baseline_successes: c,
            baseline_runs: d,
        }).collect();
        let Exact { strict, mid, .. } = stratified_exact(&strata);
        a_chance(strict)?;
        a_chance(mid)?;
        if let Some(first) = strata.first() {
            let p = fisher_two_sided(*first);
            prop_assert!(0.0 < p && p <= 1.0);
        }
    }

    #[test]
    fn pseudo_tasks_always_leave_an_error_and_pull_towards_no_difference(
        differences in prop::collection::vec(-1.0..=1.0, 1..40),
        trials in 1_u32..9,
    ) {
        let got = adjusted_paired_t(&differences, 1.0 / f64::from(trials));
        let got = got.map_err(|reason| TestCaseError::fail(reason.to_string()))?;
        prop_assert!(got.error > 0.0 && got.centre.abs() <= got.estimate.abs() + 1e-15, "{got:?}");
        let (low, high) = got.interval(0.9).map_err(|reason| TestCaseError::fail(reason.to_string()))?;
        prop_assert!(low < got.centre && got.centre < high);
        // The one-sided test and the one-sided bound agree.
        let tails = got.tails().ok_or_else(|| TestCaseError::fail("no test"))?;
        prop_assert_eq!(tails.less < 0.05, high < 0.0);
        prop_assert_eq!(tails.greater < 0.05, low > 0.0);
    }

    #[test]
    fn any_numbers_at_all_never_panic_or_give_nan(
        list in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>(), any::<f64>()), 0..8),
        level: f64,
        pseudo: f64,
    ) {
        let one: Vec<f64> = list.iter().map(|row| row.0).collect();
        let other: Vec<f64> = list.iter().map(|row| row.1).collect();
        let candidate: Vec<Cluster> = list.iter().map(|row| Cluster::new(row.0.abs(), row.1.abs())).collect();
        let baseline: Vec<Cluster> = list.iter().map(|row| Cluster::new(row.2.abs(), row.3.abs())).collect();
        for difference in [
            paired_t(&one),
            adjusted_paired_t(&one, pseudo),
            adjusted_paired_t(&one, 0.5),
            welch(&one, &other),
            ratio_difference(&candidate, &baseline),
            ratio_difference_unpaired(&candidate, &baseline),
        ].into_iter().flatten() {
            prop_assert!(difference.error >= 0.0 && difference.df > 0.0, "{difference:?}");
            if let Some(tails) = difference.tails() {
                prop_assert!((tails.less + tails.greater - 1.0).abs() < 1e-9, "{difference:?}");
            }
            for level in [level, 0.95] {
                if let Ok((low, high)) = difference.interval(level) {
                    prop_assert!(low <= high && low.is_finite() && high.is_finite(), "{difference:?}");
                }
            }
        }
        for distance in [total_variation(&one, &other), jensen_shannon_distance(&one, &other)] {
            prop_assert!(!distance.is_some_and(f64::is_nan));
        }
        if let Ok(interval) = bootstrap_tv(&[&one[..]; 2], &[&other[..]; 2], 20, 1, 0.95) {
            prop_assert!(interval.low < interval.high);
        }
        prop_assert!(holm(&one).iter().all(|p| (0.0..=1.0).contains(p)));
    }

    #[test]
    fn newcombes_interval_holds_the_difference(
        (n_c, x_c) in (1_u32..60).prop_flat_map(|n| (Just(n), 0..=n)),
        (n_b, x_b) in (1_u32..60).prop_flat_map(|n| (Just(n), 0..=n)),
    ) {
        let arm = |x, n| (f64::from(x), f64::from(n));
        let got = newcombe(arm(x_c, n_c), arm(x_b, n_b), 0.95);
        let (low, high) = got.map_err(|reason| TestCaseError::fail(reason.to_string()))?;
        let estimate = f64::from(x_c) / f64::from(n_c) - f64::from(x_b) / f64::from(n_b);
        prop_assert!(-1.0 <= low && low < high && high <= 1.0, "{low} {high}");
        prop_assert!(low <= estimate && estimate <= high, "{low} {estimate} {high}");
    }

    #[test]
    fn distances_are_symmetric_and_within_their_range(
        (one, other) in (1_usize..7).prop_flat_map(|k| {
            let counts = || prop::collection::vec((0_u32..50).prop_map(f64::from), k);
            (counts(), counts())
        }),
    ) {
        let g = g_statistic(&one, &other);
        prop_assert!(g >= 0.0 && (g - g_statistic(&other, &one)).abs() < 1e-9);
        if let Some(tv) = total_variation(&one, &other) {
            let js = jensen_shannon_distance(&one, &other).unwrap_or(f64::NAN);
            prop_assert!((0.0..=1.0).contains(&tv) && (0.0..=1.0).contains(&js), "{tv} {js}");
            // Lin (1991): the divergence is at most the total variation.
            prop_assert!(js * js <= tv + 1e-12, "{js} {tv}");
            let back = total_variation(&other, &one).unwrap_or(f64::NAN);
            prop_assert!((tv - back).abs() < 1e-12);
        }
    }

    #[test]
    fn holm_keeps_the_order_and_lies_between_one_test_and_bonferroni(
        p_values in prop::collection::vec(0.0..=1.0, 0..12),
    ) {
        let adjusted = holm(&p_values);
        let count = p_values.len() as f64;
        for (i, (&p, &a)) in p_values.iter().zip(&adjusted).enumerate() {
            prop_assert!(p <= a && a <= (count * p).min(1.0), "{p} {a}");
            for (&q, &b) in p_values.iter().zip(&adjusted).skip(i) {
                prop_assert!(p == q || (p < q) == (a < b) || a == b);
            }
        }
    }
}

proptest! {
    // Thousands of relabelings a case.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_permutation_test_gives_chances_and_stops_without_changing_a_decision(
        tasks in tasks(4, 8),
        seed: u64,
        odd in 1_u32..1000,
    ) {
        let design = design(&tasks);
        let successes = runs(&tasks);
        let values: Vec<f64> =
            (0..).zip(&successes).map(|(i, &s)| f64::from(i * odd % 17) + 9.0 * f64::from(u8::from(s))).collect();
        let sums: Vec<Cluster> = values.iter().map(|&v| Cluster::new(v, (v % 4.0).floor())).collect();
        let counts: Vec<[u32; 3]> = values.iter().map(|&v| [v as u32 % 2, v as u32 % 3, 1]).collect();
        let all = |stop| {
            let draws = Draws { count: 1_199, seed, stop };
            [
                permute_sum(&design, &values, draws),
                permute_mean_difference(&design, &values, draws),
                permute_ratio(&design, &sums, draws),
                squared_drop(&design, &successes, Drop::Signed, draws),
                squared_drop(&design, &successes, Drop::Positive, draws),
                permute_g(&design, &counts, draws),
            ]
        };
        for (whole, early) in all(Stop::Never).into_iter().zip(all(Stop::Above(0.05))) {
            let (Some(whole), Some(early)) = (whole, early) else {
                return Err(TestCaseError::fail("no test"));
            };
            a_chance(whole.p)?;
            a_chance(whole.mid)?;
            prop_assert!(whole.p.less + whole.p.greater >= 1.0);
            prop_assert!((whole.mid.less + whole.mid.greater - 1.0).abs() < 1e-9);
            prop_assert!(early.stopped || early == whole);
            for (early, whole) in [(early.p, whole.p), (early.mid, whole.mid)] {
                prop_assert_eq!(early.less <= 0.05, whole.less <= 0.05);
                prop_assert_eq!(early.greater <= 0.05, whole.greater <= 0.05);
            }
        }
    }
}
