//! What holds of every interval, whatever the clusters.

use agenteval::stats::{
    Cluster, Interval, NoInterval, bca_ratio, clustered_wilson, mean_interval, pass_at_k,
    pass_hat_k, ratio_mean_interval, t_critical, t_quantile, wilson,
};
use proptest::prelude::*;

/// Sums of counts: each cluster's numerator at most its denominator.
fn shares() -> impl Strategy<Value = Vec<Cluster>> {
    let cluster = (0_u32..40, 0_u32..40)
        .prop_map(|(a, b)| Cluster::new(f64::from(a.min(b)), f64::from(a.max(b))));
    prop_oneof![
        prop::collection::vec(cluster, 0..40),
        // Suites of single runs, nearly all of which pass: the edge where others fail.
        prop::collection::vec(prop::bool::weighted(0.95), 0..40).prop_map(|passes| {
            passes.into_iter().map(|pass| Cluster::new(f64::from(u8::from(pass)), 1.0)).collect()
        }),
    ]
}

/// Sums of any size, sometimes absurd.
fn sums() -> impl Strategy<Value = Vec<Cluster>> {
    let value = prop_oneof![
        4 => (0_u32..50).prop_map(f64::from),
        4 => 0.0..1e6,
        1 => Just(0.0),
        1 => 1e-300..1e300,
    ];
    prop::collection::vec((value, 0_u32..9), 0..30)
        .prop_map(|list| list.into_iter().map(|(a, b)| Cluster::new(a, f64::from(b))).collect())
}

fn ratio(clusters: &[Cluster]) -> f64 {
    let numerator: f64 = clusters.iter().map(|c| c.numerator).sum();
    numerator / clusters.iter().map(|c| c.denominator).sum::<f64>()
}

fn sound(interval: Interval, estimate: f64, range: (f64, f64)) -> Result<(), TestCaseError> {
    let Interval { low, high, .. } = interval;
    prop_assert!(low.is_finite() && high.is_finite(), "{interval:?}");
    prop_assert!(low < high, "{interval:?}");
    prop_assert!(range.0 <= low && high <= range.1, "{interval:?}");
    prop_assert!(low <= estimate && estimate <= high, "{estimate} not in {interval:?}");
    Ok(())
}

proptest! {
    #[test]
    fn a_share_of_two_tasks_or_more_always_has_a_sound_interval(clusters in shares()) {
        let counted = clusters.iter().filter(|c| c.denominator > 0.0).count();
        match clustered_wilson(&clusters, 0.95) {
            Ok(interval) => {
                prop_assert!(counted >= 2);
                sound(interval, ratio(&clusters), (0.0, 1.0))?;
            }
            Err(reason) => prop_assert!(counted < 2, "{reason} for {counted} clusters"),
        }
    }

    #[test]
    fn clustering_never_narrows_the_interval(clusters in shares()) {
        let (numerator, denominator) = clusters
            .iter()
            .fold((0.0, 0.0), |sum, c| (sum.0 + c.numerator, sum.1 + c.denominator));
        if let Ok(clustered) = clustered_wilson(&clusters, 0.95) {
            let plain = wilson(numerator, denominator, 0.95);
            let plain = plain.map_err(|reason| TestCaseError::fail(reason.to_string()))?;
            prop_assert!(clustered.high - clustered.low >= (plain.high - plain.low) - 1e-12);
        }
    }

    #[test]
    fn means_of_counts_stay_at_or_above_zero(clusters in sums()) {
        if let Ok(interval) = ratio_mean_interval(&clusters, 0.95) {
            sound(interval, ratio(&clusters), (0.0, f64::INFINITY))?;
        }
    }

    #[test]
    fn bootstrap_bounds_are_sound_and_repeat(clusters in sums(), seed: u64) {
        let first = bca_ratio(&clusters, 200, seed, 0.95);
        prop_assert_eq!(first, bca_ratio(&clusters, 200, seed, 0.95));
        if let Ok(interval) = first {
            sound(interval, ratio(&clusters), (0.0, f64::INFINITY))?;
        }
    }

    #[test]
    fn a_share_of_cost_never_passes_one(list in prop::collection::vec((0.0..1e3, 0.0..1.0), 2..20)) {
        let clusters: Vec<Cluster> =
            list.into_iter().map(|(all, share)| Cluster::new(all * share, all)).collect();
        if let Ok(interval) = bca_ratio(&clusters, 200, 1, 0.95) {
            sound(interval, ratio(&clusters), (0.0, 1.0))?;
        }
    }

    #[test]
    fn means_over_tasks_stay_in_their_range(values in prop::collection::vec(0.0..=1.0, 0..30)) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        match mean_interval(&values, 0.95, (0.0, 1.0)) {
            Ok(interval) => sound(interval, mean, (0.0, 1.0))?,
            Err(NoInterval::TooFewClusters) => prop_assert!(values.len() < 2),
            Err(reason) => prop_assert_eq!(reason, NoInterval::NoSpread),
        }
    }

    #[test]
    fn any_numbers_at_all_never_panic_or_give_nan(
        list in prop::collection::vec((any::<f64>(), any::<f64>()), 0..8),
        level: f64,
    ) {
        let clusters: Vec<Cluster> = list.iter().map(|&(a, b)| Cluster::new(a, b)).collect();
        let values: Vec<f64> = list.iter().map(|pair| pair.0).collect();
        for level in [level, 0.95, 1.0 - 1e-12] {
            for interval in [
                clustered_wilson(&clusters, level),
                ratio_mean_interval(&clusters, level),
                bca_ratio(&clusters, 20, 1, level),
                mean_interval(&values, level, (f64::MIN, f64::MAX)),
            ].into_iter().flatten() {
                prop_assert!(interval.low < interval.high, "{interval:?}");
                prop_assert!(interval.low.is_finite() && interval.high.is_finite());
            }
        }
    }

    #[test]
    fn t_grows_with_the_level_and_shrinks_with_the_degrees(p in 0.5001..0.99999, df in 0.6..5e4) {
        let here = t_quantile(p, df).unwrap_or(f64::NAN);
        let further = t_quantile(p + 5e-6, df).unwrap_or(f64::NAN);
        let more = t_quantile(p, df * 1.5).unwrap_or(f64::NAN);
        prop_assert!(0.0 < here && here < further, "{here} {further}");
        prop_assert!(more < here * (1.0 + 1e-8), "{more} {here}");
        let both = t_critical(2.0 * p - 1.0, df).unwrap_or(f64::NAN);
        prop_assert!((both / here - 1.0).abs() < 1e-9, "{both} {here}");
    }

    #[test]
    fn pass_k_is_a_chance_and_orders_by_k(n in 1_u64..3_000, share in 0.0..=1.0, k in 1_u64..200) {
        let c = (n as f64 * share) as u64;
        let (hat, at) = (pass_hat_k(n, c, k), pass_at_k(n, c, k));
        prop_assert_eq!(hat.is_some(), k <= n);
        prop_assert_eq!(at.is_some(), k <= n);
        if let (Some(hat), Some(at)) = (hat, at) {
            let rate = c as f64 / n as f64;
            prop_assert!((0.0..=1.0).contains(&hat) && (0.0..=1.0).contains(&at));
            prop_assert!(hat <= rate + 1e-12 && rate <= at + 1e-12, "{hat} {rate} {at}");
            // At least one of k fails unless all succeed.
            let none = pass_at_k(n, n - c, k).unwrap_or(f64::NAN);
            prop_assert!((hat + none - 1.0).abs() < 1e-9, "{hat} {none}");
        }
    }
}
