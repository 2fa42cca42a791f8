//! Every case of the checked vectors that compares two arms, at the tolerance the
//! case states: tests, differences, distances, adjustments and sizes.

use crate::support;
use std::cell::Cell;

use crate::vectors::{Case, every, numbers};
use agenteval::stats::{
    Cluster, Design, Difference, Draws, Stratum, adjusted_paired_t, detectable, effective_n,
    fisher_two_sided, g_statistic, holm, icc_oneway, jensen_shannon_distance, linearise,
    miller_variance, needed_tasks, newcombe, normal_quantile, paired_t, permute_mean_difference,
    permute_sum, ratio_difference, stratified_exact, t_cdf, total_variation, welch,
};
use serde_json::Value;

fn lists(list: &Value) -> Vec<Vec<f64>> {
    list.as_array().expect("a list of lists").iter().map(numbers).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn counts(list: &Value) -> Vec<u32> {
    numbers(list).into_iter().map(|count| count as u32).collect()
}

fn draws() -> Draws {
    Draws::seeded(1)
}

/// Expects a t statistic and its two-sided p.
fn expects_t(case: &Case, difference: Difference, names: (&str, &str)) {
    case.expects(names.0, difference.centre / difference.error);
    let tails = difference.tails().expect("an error above 0");
    case.expects(names.1, 2.0 * tails.less.min(tails.greater));
}

#[test]
fn newcombes_interval_is_that_of_statsmodels() {
    every("two_prop_ci", 12, |case| {
        let arm = |x: &str, n: &str| (case.number(x), case.number(n));
        let (one, two) = (arm("x1", "n1"), arm("x2", "n2"));
        let at = |level| newcombe(one, two, level).expect("an interval");
        let (low, high) = at(1.0 - case.number("alpha"));
        case.expects("newcomb_lo", low);
        case.expects("newcomb_hi", high);
        let (low, high) = at(0.9);
        case.expects("newcomb90_lo", low);
        case.expects("newcomb90_hi", high);
    });
}

#[test]
fn one_task_gives_fishers_test() {
    every("fisher_exact", 12, |case| {
        let table: Vec<Vec<u32>> =
            case.input["table"].as_array().expect("rows").iter().map(counts).collect();
        let stratum = Stratum {
            candidate_successes: table[0][0],
            candidate_runs: table[0][0] + table[0][1],
            baseline_successes: table[1][0],
            baseline_runs: table[1][0] + table[1][1],
        };
        let exact = stratified_exact(&[stratum]);
        case.expects("less", exact.strict.less);
        case.expects("greater", exact.strict.greater);
        case.expects("midp_less", exact.mid.less);
        case.expects("midp_greater", exact.mid.greater);
        case.expects("two-sided", fisher_two_sided(stratum));
    });
}

/// An urn of successes and failures, of which the candidate's runs are drawn.
#[test]
fn one_task_gives_the_hypergeometric_law() {
    every("hypergeom", 4, |case| {
        let whole = |name| case.whole(name) as u32;
        let (population, successes) = (whole("population"), whole("successes"));
        let (drawn, found) = (whole("draws"), whole("k"));
        let exact = stratified_exact(&[Stratum {
            candidate_successes: found,
            candidate_runs: drawn,
            baseline_successes: successes - found,
            baseline_runs: population - drawn,
        }]);
        case.expects("cdf", exact.strict.less);
        case.expects("pmf", 2.0 * (exact.strict.less - exact.mid.less));
    });
}

#[test]
fn one_run_an_arm_gives_mcnemars_test() {
    every("mcnemar", 12, |case| {
        let (worse, better) =
            (case.whole("b_base_pass_cand_fail"), case.whole("c_base_fail_cand_pass"));
        let pairs = case.whole("n_pairs");
        let pair = |baseline, candidate| Stratum {
            candidate_successes: candidate,
            candidate_runs: 1,
            baseline_successes: baseline,
            baseline_runs: 1,
        };
        let strata: Vec<Stratum> = (0..pairs)
            .map(|i| {
                if i < worse {
                    pair(1, 0)
                } else if i < worse + better {
                    pair(0, 1)
                } else {
                    pair(1, 1)
                }
            })
            .collect();
        let exact = stratified_exact(&strata);
        case.expects("exact_one_sided_b_large", exact.strict.less);
        case.expects("midp_one_sided_b_large", exact.mid.less);
        let two_sided = |p: f64| (2.0 * p).min(1.0);
        case.expects("exact_two_sided", two_sided(exact.strict.less.min(exact.strict.greater)));
        case.expects("midp_two_sided", two_sided(exact.mid.less.min(exact.mid.greater)));

        // Bonett and Price divide by the number of pairs and take z; we take t.
        let differences: Vec<f64> = strata
            .iter()
            .map(|s| f64::from(s.baseline_successes) - f64::from(s.candidate_successes))
            .collect();
        let adjusted = adjusted_paired_t(&differences, 1.0).expect("a difference");
        assert_eq!(adjusted.df, pairs as f64 + 1.0, "{}", case.id);
        let error = adjusted.error * (adjusted.df / (adjusted.df + 1.0)).sqrt();
        let reach = normal_quantile(0.975).expect("a quantile") * error;
        case.expects("bonett_price_lo", adjusted.centre - reach);
        case.expects("bonett_price_hi", adjusted.centre + reach);
    });
}

#[test]
fn stratified_exact_is_the_convolution_and_its_own_permutation_test() {
    let listed = Cell::new(0);
    every("stratified_exact", 12, |case| {
        let list = |name: &str| counts(&case.input[name]);
        let (s_c, n_c, s_b, n_b) = (list("s_cand"), list("n_cand"), list("s_base"), list("n_base"));
        let strata: Vec<Stratum> = (0..s_c.len())
            .map(|i| Stratum {
                candidate_successes: s_c[i],
                candidate_runs: n_c[i],
                baseline_successes: s_b[i],
                baseline_runs: n_b[i],
            })
            .collect();
        let exact = stratified_exact(&strata);
        assert!(!exact.approximate);
        case.expects("p_less", exact.strict.less);
        case.expects("p_greater", exact.strict.greater);
        case.expects("midp_less", exact.mid.less);
        case.expects("midp_greater", exact.mid.greater);

        // The same law by listing every relabeling, where there are few.
        let design = Design::new(n_b.iter().copied().zip(n_c)).expect("a design");
        let successes: Vec<f64> = strata
            .iter()
            .flat_map(|s| {
                let runs = |runs, successes| {
                    (0..runs).map(move |run| f64::from(u8::from(run < successes)))
                };
                runs(s.baseline_runs, s.baseline_successes)
                    .chain(runs(s.candidate_runs, s.candidate_successes))
            })
            .collect();
        let permuted = permute_sum(&design, &successes, draws()).expect("a test");
        if permuted.exhaustive {
            listed.set(listed.get() + 1);
            case.expects("p_less", permuted.p.less);
            case.expects("p_greater", permuted.p.greater);
            case.expects("midp_less", permuted.mid.less);
            case.expects("midp_greater", permuted.mid.greater);
        } else {
            // Four standard errors of 9,999 draws, and the least p that they can give.
            let p = exact.strict.less;
            let wide = 4.0 * (p * (1.0 - p) / 9_999.0).sqrt() + 1e-4;
            assert!((permuted.p.less - p).abs() < wide, "{}: {permuted:?}", case.id);
        }
    });
    if support::shared("stats/vectors.json").is_some() {
        assert!(listed.get() >= 3, "{} cases were few enough to list", listed.get());
    }
}

#[test]
fn distances_between_category_counts() {
    every("chi2_rxc", 5, |case| {
        let table = lists(&case.input["table"]);
        assert_eq!(table.len(), 2);
        case.expects("g", g_statistic(&table[0], &table[1]));
        case.expects("tv", total_variation(&table[0], &table[1]).expect("counts"));
        let distance = jensen_shannon_distance(&table[0], &table[1]).expect("counts");
        case.expects("js_distance_base2", distance);
        case.expects("js_divergence_base2", distance * distance);
    });
    every("js_tv", 5, |case| {
        let (p, q) = (numbers(&case.input["p"]), numbers(&case.input["q"]));
        case.expects("tv", total_variation(&p, &q).expect("shares"));
        case.expects("js_distance_base2", jensen_shannon_distance(&p, &q).expect("shares"));
    });
}

#[test]
fn g_of_two_by_two_tables() {
    every("chi2_2x2", 10, |case| {
        let table = lists(&case.input["table"]);
        case.expects("g", g_statistic(&table[0], &table[1]));
    });
}

#[test]
fn welchs_test_is_scipys() {
    every("welch_t", 5, |case| {
        let (x, y) = (numbers(&case.input["x"]), numbers(&case.input["y"]));
        let difference = welch(&x, &y).expect("a difference");
        expects_t(case, difference, ("t", "p"));
        case.expects("df", difference.df);
        case.expects("p_greater", difference.tails().expect("an error").greater);
        let (low, high) = difference.interval(0.95).expect("an interval");
        case.expects("ci_lo", low);
        case.expects("ci_hi", high);
    });
}

#[test]
fn paired_differences_by_t_and_by_swapping_labels() {
    every("paired_t", 3, |case| {
        let (candidate, baseline) = (numbers(&case.input["cand"]), numbers(&case.input["base"]));
        let differences: Vec<f64> = candidate.iter().zip(&baseline).map(|(c, b)| c - b).collect();
        let difference = paired_t(&differences).expect("a difference");
        case.expects("mean_diff", difference.estimate);
        expects_t(case, difference, ("t", "p"));
        case.expects("df", difference.df);
        case.expects("p_less", difference.tails().expect("an error").less);
        let (low, high) = difference.interval(0.95).expect("an interval");
        case.expects("ci_lo", low);
        case.expects("ci_hi", high);

        let design = Design::new(differences.iter().map(|_| (1, 1))).expect("a design");
        let values: Vec<f64> =
            baseline.iter().zip(&candidate).flat_map(|(&b, &c)| [b, c]).collect();
        let permuted = permute_mean_difference(&design, &values, draws()).expect("a test");
        assert!(permuted.exhaustive);
        case.expects("signflip_p_less", permuted.p.less);
    });
    every("ttest_1samp", 2, |case| {
        let mu = case.number("mu");
        let differences: Vec<f64> = numbers(&case.input["x"]).into_iter().map(|x| x - mu).collect();
        expects_t(case, paired_t(&differences).expect("a difference"), ("t", "p"));
    });
}

#[test]
fn clustered_differences_with_pseudo_tasks_and_by_permutation() {
    every("paired_cluster_diff", 5, |case| {
        let (baseline, candidate) = (lists(&case.input["base"]), lists(&case.input["cand"]));
        let means = |arm: &[Vec<f64>]| arm.iter().map(|runs| mean(runs)).collect::<Vec<f64>>();
        let (means_b, means_c) = (means(&baseline), means(&candidate));
        let differences: Vec<f64> = means_c.iter().zip(&means_b).map(|(c, b)| c - b).collect();
        let paired = paired_t(&differences).expect("a difference");
        case.expects("mean_base", mean(&means_b));
        case.expects("mean_cand", mean(&means_c));
        case.expects("diff", paired.estimate);
        case.expects("se_paired", paired.error);
        case.expects("df", paired.df);
        case.expects("se_unpaired", welch(&means_c, &means_b).expect("a difference").error);
        if paired.error > 0.0 {
            expects_t(case, paired, ("t", "p_two"));
            let (low, high) = paired.interval(0.95).expect("an interval");
            case.expects("ci95_lo", low);
            case.expects("ci95_hi", high);
        } else {
            assert!(case.expected.get("t").is_none(), "{}", case.id);
            assert!(paired.interval(0.95).is_err() && paired.tails().is_none());
        }

        let pseudo = case.expected["adj_pseudo"].as_f64().expect("a pseudo difference");
        let adjusted = adjusted_paired_t(&differences, pseudo).expect("a difference");
        case.expects("adj_center", adjusted.centre);
        case.expects("adj_se", adjusted.error);
        case.expects("adj_df", adjusted.df);
        case.expects("adj_lo95_one_sided", adjusted.lower(0.95).expect("a bound"));
        case.expects("adj_hi95_one_sided", adjusted.upper(0.95).expect("a bound"));

        let sizes = baseline.iter().zip(&candidate).map(|(b, c)| (b.len() as u32, c.len() as u32));
        let design = Design::new(sizes).expect("a design");
        let values: Vec<f64> = baseline
            .iter()
            .zip(&candidate)
            .flat_map(|(b, c)| [b.clone(), c.clone()].concat())
            .collect();
        let permuted = permute_mean_difference(&design, &values, draws()).expect("a test");
        if case.expected.get("perm_n").is_some() {
            assert!(permuted.exhaustive, "{}", case.id);
            case.expects("perm_n", permuted.draws as f64);
            case.expects("perm_p_less", permuted.p.less);
            case.expects("perm_p_greater", permuted.p.greater);
        }
    });
}

#[test]
fn a_difference_of_ratios_is_linearised() {
    every("ratio_linearised", 2, |case| {
        let arm = |name: &str| -> Vec<Cluster> {
            let tasks = case.input[name].as_array().expect("tasks");
            let sums = tasks.iter().map(|runs| {
                lists(runs).iter().fold(Cluster::default(), |sum, run| {
                    Cluster::new(sum.numerator + run[0], sum.denominator + run[1])
                })
            });
            sums.collect()
        };
        let (candidate, baseline) = (arm("cand"), arm("base"));
        case.expects("rate_cand", linearise(&candidate).expect("a ratio").ratio);
        case.expects("rate_base", linearise(&baseline).expect("a ratio").ratio);
        let difference = ratio_difference(&candidate, &baseline).expect("a difference");
        case.expects("diff", difference.estimate);
        case.expects("se", difference.error);
        case.expects("df", difference.df);
        case.expects("t", difference.centre / difference.error);
        case.expects("p_greater", difference.tails().expect("an error").greater);
        let (low, high) = difference.interval(0.95).expect("an interval");
        case.expects("ci95_lo", low);
        case.expects("ci95_hi", high);
    });
}

#[test]
fn holms_adjustment_is_that_of_statsmodels() {
    every("multiplicity", 6, |case| {
        let adjusted = holm(&numbers(&case.input["p"]));
        let expected = numbers(&case.expected["holm"]);
        assert_eq!(adjusted.len(), expected.len());
        for (got, expected) in adjusted.into_iter().zip(expected) {
            case.near("holm", got, expected);
        }
    });
}

#[test]
fn correlation_within_tasks() {
    every("icc_oneway", 2, |case| {
        let groups = lists(&case.input["values"]);
        let icc = icc_oneway(&groups).expect("a correlation");
        case.expects("icc", icc);
        let k = groups[0].len() as f64;
        case.expects("deff", 1.0 / effective_n(1.0, k, icc));
    });
}

#[test]
fn sizes_and_detectable_differences_are_millers() {
    every("power_miller", 4, |case| {
        let number = |name| case.number(name);
        let (alpha, power, delta) = (number("alpha"), number("power"), number("delta"));
        let within = (number("sigma2_a"), number("sigma2_b"));
        let variance = miller_variance(number("omega2"), within, (number("k_a"), number("k_b")));
        let sd = variance.sqrt();
        case.expects("n", needed_tasks(sd, delta, alpha / 2.0, power).expect("a size"));
        case.expects("n_one_sided", needed_tasks(sd, delta, alpha, power).expect("a size"));
        let tasks = case.expected["n_for_mde"].as_f64().expect("a number of tasks");
        let error = sd / tasks.sqrt();
        case.expects("mde_at_n", detectable(error, alpha / 2.0, power).expect("a difference"));
    });
}

#[test]
fn both_tails_of_t() {
    every("t_cdf", 30, |case| {
        let (x, df) = (case.number("x"), case.number("df"));
        case.expects("cdf", t_cdf(x, df).expect("a probability"));
        case.expects("sf", t_cdf(-x, df).expect("a probability"));
    });
}
