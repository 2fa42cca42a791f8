//! Every case of the checked vectors whose kind `stats` computes, at the tolerance
//! the case states: `|got - expected| <= rel_tol * |expected|`, or 1e-12 absolute.

use std::collections::BTreeMap;

use crate::vectors::{Case, every, numbers};
use agenteval::stats::{
    Cluster, Interval, NoInterval, Trials, bca, clustered_wilson, leave_one_out, linearise,
    mean_and_error, mean_interval, median, normal_cdf, normal_quantile, pass_at_k, pass_hat_k,
    pass_hat_k_by_task, quantile_type7, ratio_mean_interval, ratio_of_drawn, t_critical,
    t_quantile, wilson,
};

/// `values` grouped by the cluster number at the same place in `clusters`.
fn clusters(case: &Case) -> Vec<Cluster> {
    let mut by_id: BTreeMap<u64, Cluster> = BTreeMap::new();
    let ids = numbers(&case.input["clusters"]);
    for (value, id) in numbers(&case.input["values"]).into_iter().zip(ids) {
        let cluster = by_id.entry(id as u64).or_default();
        cluster.numerator += value;
        cluster.denominator += 1.0;
    }
    by_id.into_values().collect()
}

fn found(case: &Case, interval: Result<Interval, NoInterval>) -> Interval {
    interval.unwrap_or_else(|reason| panic!("{}: {reason}", case.id))
}

#[test]
fn wilson_matches_statsmodels() {
    every("wilson", 60, |case| {
        let level = 1.0 - case.number("alpha");
        let interval = found(case, wilson(case.number("x"), case.number("n"), level));
        case.expects("lo", interval.low);
        case.expects("hi", interval.high);
    });
}

#[test]
fn clustered_wilson_matches_inspect_except_where_every_run_passed() {
    every("wilson_korn_graubard", 5, |case| {
        let interval = found(case, clustered_wilson(&clusters(case), case.number("level")));
        case.expects("hi", interval.high);
        if case.id == "wilson_korn_graubard-004" {
            // inspect_ai falls back to the number of runs; METRICS.md to that of tasks.
            assert!((interval.low - 0.139452).abs() < 5e-7, "{interval:?}");
        } else {
            case.expects("lo", interval.low);
        }
    });
}

#[test]
fn clustered_error_matches_inspect_and_miller() {
    every("clustered_se", 6, |case| {
        let tasks = clusters(case);
        let linear = linearise(&tasks).expect("a ratio");
        let error = linear.standard_error().expect("an error");
        let count = linear.clusters as f64;
        case.expects("mean", linear.ratio);
        case.expects("df", count - 1.0);
        case.expects("se_inspect", error);
        case.expects("se_ols_corr", error);
        case.expects("se_miller", error * ((count - 1.0) / count).sqrt());
        let (_, unclustered) = mean_and_error(&numbers(&case.input["values"])).expect("an error");
        case.expects("se_clt", unclustered);
        match ratio_mean_interval(&tasks, 0.95) {
            Ok(interval) => {
                let low = case.expected["ci95_t_lo"].as_f64().expect("a bound");
                case.near("ci95_t_lo, cut at 0", interval.low, low.max(0.0));
                case.expects("ci95_t_hi", interval.high);
            }
            Err(reason) => {
                assert_eq!(reason, NoInterval::NoSpread, "{}", case.id);
                case.expects("se_inspect", 0.0);
            }
        }
    });
}

#[test]
fn pass_k_of_one_task() {
    every("pass_k_single", 9, |case| {
        let (n, c) = (case.whole("n"), case.whole("c"));
        let hat = numbers(&case.expected["pass_hat_k"]);
        let at = numbers(&case.expected["pass_at_k"]);
        let ks = numbers(&case.input["k"]);
        assert!(!ks.is_empty() && ks.len() == hat.len() && ks.len() == at.len());
        for ((k, hat), at) in ks.into_iter().zip(hat).zip(at) {
            let k = k as u64;
            case.near(&format!("pass^{k}"), pass_hat_k(n, c, k).expect("n >= k"), hat);
            case.near(&format!("pass@{k}"), pass_at_k(n, c, k).expect("n >= k"), at);
        }
    });
}

#[test]
fn pass_k_of_the_tau_bench_suites() {
    every("pass_k_suite", 2, |case| {
        let ended = case.whole("n_trials");
        let histogram = numbers(&case.input["histogram_of_successes"]);
        let tasks: Vec<Trials> = (0_u64..)
            .zip(histogram)
            .flat_map(|(completed, tasks)| {
                std::iter::repeat_n(Trials { ended, completed }, tasks as usize)
            })
            .collect();
        for k in 1..=ended {
            let suite = pass_hat_k_by_task(&tasks, k);
            assert_eq!(suite.left_out, 0);
            case.expects(&format!("pass^{k}"), suite.mean().expect("tasks"));
            let (mean, error) = mean_and_error(&suite.values).expect("tasks");
            case.expects(&format!("se^{k}"), error);
            let interval = found(case, mean_interval(&suite.values, 0.95, (0.0, 1.0)));
            let reach = t_critical(0.95, tasks.len() as f64 - 1.0).expect("a quantile") * error;
            case.near("low", interval.low, mean - reach);
            case.near("high", interval.high, mean + reach);
        }
    });
}

#[test]
fn quantiles_are_numpys() {
    every("percentile_type7", 6, |case| {
        let mut sorted = numbers(&case.input["x"]);
        sorted.sort_by(f64::total_cmp);
        let shares = numbers(&case.input["q"]);
        for (share, expected) in shares.into_iter().zip(numbers(&case.expected["v"])) {
            let got = quantile_type7(&sorted, share).expect("a quantile");
            case.near(&format!("q {share}"), got, expected);
            if share == 0.5 {
                assert_eq!(median(&sorted), Some(got));
            }
        }
    });
}

#[test]
fn t_quantiles_hold_up_to_a_hundred_thousand_degrees_of_freedom() {
    every("t_ppf", 30, |case| {
        case.expects("x", t_quantile(case.number("p"), case.number("df")).expect("a quantile"));
    });
}

#[test]
fn normal_quantiles_and_distribution() {
    every("norm_ppf", 8, |case| {
        case.expects("x", normal_quantile(case.number("p")).expect("a quantile"));
    });
    every("norm", 7, |case| {
        case.expects("cdf", normal_cdf(case.number("x")));
        case.expects("sf", normal_cdf(-case.number("x")));
    });
}

#[test]
fn bca_matches_numpy_on_the_same_draws() {
    every("bootstrap_given_indices", 1, |case| {
        let x = numbers(&case.input["x"]);
        let clusters: Vec<Cluster> = x.iter().map(|&value| Cluster::new(value, 1.0)).collect();
        let draws = case.input["indices"].as_array().expect("draws");
        let mut replicates: Vec<f64> = draws
            .iter()
            .map(|draw| ratio_of_drawn(&clusters, numbers(draw).into_iter().map(|i| i as usize)))
            .collect();
        let expected = numbers(&case.expected["replicates_mean"]);
        assert_eq!(replicates.len(), expected.len());
        for (got, expected) in replicates.iter().zip(expected) {
            case.near("replicate", *got, expected);
        }
        replicates.sort_by(f64::total_cmp);
        let share = |p| quantile_type7(&replicates, p).expect("a quantile");
        case.expects("percentile_lo", share(0.025));
        case.expects("percentile_hi", share(0.975));
        let mean = linearise(&clusters).expect("a mean").ratio;
        let got = bca(&replicates, mean, &leave_one_out(&clusters), 0.95).expect("bounds");
        case.expects("z0", got.bias);
        case.expects("acceleration", got.acceleration);
        let shares = numbers(&case.expected["bca_alpha"]);
        case.near("low share", got.shares.0, shares[0]);
        case.near("high share", got.shares.1, shares[1]);
        case.expects("bca_lo", got.bounds.0);
        case.expects("bca_hi", got.bounds.1);
    });
}
