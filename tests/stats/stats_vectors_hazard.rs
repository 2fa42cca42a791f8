//! The checked vectors of hazards, competing risks and horizons (STATISTICS.md, section 6).

use crate::vectors::{Case, every, numbers};
use agenteval::stats::{
    Ended, Followed, Geometric, Link, SharePoint, Weibull, aalen_johansen, chi_squared_tail,
    fit_share, hazard_trend, horizon_at, survival_to, thirds, wilson,
};

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and small")]
fn followed(case: &Case) -> Vec<Followed> {
    let (times, events) = (numbers(&case.input["time"]), numbers(&case.input["event"]));
    let clusters = case.input.get("cluster").map(numbers);
    (0..times.len())
        .map(|at| Followed {
            time: times[at] as u32,
            event: events[at] == 1.0,
            cluster: clusters.as_ref().map_or(at as u32, |clusters| clusters[at] as u32),
        })
        .collect()
}

#[test]
fn aalen_johansen_tells_failed_from_succeeded() {
    every("aalen_johansen", 2, |case| {
        let codes = numbers(&case.input["event"]);
        let ends: Vec<(u32, Ended)> = followed(case)
            .iter()
            .zip(codes)
            .map(|(one, code)| {
                let ended = match code {
                    1.0 => Ended::Failed,
                    2.0 => Ended::Succeeded,
                    _ => Ended::Censored,
                };
                (one.time, ended)
            })
            .collect();
        let table = aalen_johansen(&ends);
        let times = numbers(&case.expected["times"]);
        assert_eq!(table.len(), times.len(), "{}", case.id);
        for (at, line) in table.iter().enumerate() {
            case.near("times", f64::from(line.time), times[at]);
            case.near("cif_fail", line.failed, numbers(&case.expected["cif_fail"])[at]);
            case.near("cif_success", line.succeeded, numbers(&case.expected["cif_success"])[at]);
            case.near("surv", line.going, numbers(&case.expected["surv"])[at]);
        }
    });
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small numbers of steps")]
fn the_geometric_model_and_what_it_projects() {
    every("geometric_censored", 8, |case| {
        let fit = Geometric::of(&followed(case)).expect("steps were taken");
        case.expects("events", fit.events as f64);
        case.expects("exposure_steps", fit.exposure as f64);
        case.expects("hazard", fit.hazard);
        let ci = wilson(fit.events as f64, fit.exposure as f64, 0.95).expect("an interval");
        case.expects("wilson_lo", ci.low);
        case.expects("wilson_hi", ci.high);
        let expects = |name: &str, got: f64| match case.expected[name].as_str() {
            // At a risk of 0 or 1 the reference leaves out what has no finite value.
            None if case.expected[name].is_null() => {
                assert!(fit.events == 0 || fit.hazard == 1.0, "{} {name}", case.id);
            }
            Some("inf") => assert!(got == f64::INFINITY, "{} {name}: {got}", case.id),
            _ => case.expects(name, got),
        };
        expects("loglik", fit.loglik);
        expects("half_life_steps", horizon_at(fit.hazard, 0.5));
        expects("half_life_lo", horizon_at(ci.high, 0.5));
        expects("half_life_hi", horizon_at(ci.low, 0.5));
        expects("horizon80", horizon_at(fit.hazard, 0.8));
        expects("S20", survival_to(fit.hazard, 20.0));
        expects("S20_lo", survival_to(ci.high, 20.0));
        expects("S20_hi", survival_to(ci.low, 20.0));
        expects("S100", survival_to(fit.hazard, 100.0));
    });
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small numbers of steps")]
fn a_constant_hazard_is_tested_three_ways() {
    every("constant_hazard_test", 3, |case| {
        let runs = followed(case);
        for (link, name) in [(Link::Logit, "logit"), (Link::Cloglog, "cloglog")] {
            let trend = hazard_trend(&runs, link).expect("a fit");
            case.expects(&format!("{name}_intercept"), trend.fit.intercept);
            case.expects(&format!("{name}_slope"), trend.fit.slope);
            case.expects(&format!("{name}_se_slope"), trend.fit.slope_error);
            case.expects(&format!("{name}_lrt"), trend.lrt);
            case.expects(&format!("{name}_p"), trend.p);
        }
        let weibull = Weibull::of(&runs).expect("a fit");
        let geometric = Geometric::of(&runs).expect("a fit");
        case.expects("dweib_q", weibull.q);
        case.expects("dweib_beta", weibull.beta);
        case.expects("dweib_loglik", weibull.loglik);
        case.expects("geom_loglik", geometric.loglik);
        let lrt = 2.0 * (weibull.loglik - geometric.loglik);
        case.expects("dweib_lrt", lrt);
        case.expects("dweib_p", chi_squared_tail(lrt, 1.0).expect("finite"));
        let parts = thirds(&runs).expect("three parts");
        for (at, (from, to, events, exposure)) in parts.thirds.iter().enumerate() {
            assert_eq!(numbers(&case.expected["bins"][at]), [f64::from(*from), f64::from(*to)]);
            case.near("bin_events", *events as f64, numbers(&case.expected["bin_events"])[at]);
            let exposures = numbers(&case.expected["bin_exposure"]);
            case.near("bin_exposure", *exposure as f64, exposures[at]);
        }
        case.expects("bin_chi2", parts.chi_squared);
        case.expects("bin_p", parts.p);
    });
}

#[test]
fn logistic_horizons_with_and_without_a_ridge() {
    every("logistic_horizon", 3, |case| {
        let minutes = numbers(&case.input["minutes"]);
        let (n, s) = (numbers(&case.input["n"]), numbers(&case.input["s"]));
        let total: f64 = n.iter().sum();
        let points = |scale: f64| -> Vec<SharePoint> {
            (0..minutes.len())
                .map(|at| SharePoint {
                    x: minutes[at].log2(),
                    weight: n[at] / scale,
                    passed: s[at] / scale,
                })
                .collect()
        };
        let horizon =
            |fit: &agenteval::stats::ShareFit, q| fit.place_of(q).expect("a slope").exp2();
        let mle = fit_share(&points(1.0), Link::Logit, 0.0).expect("a fit");
        case.expects("mle_intercept", mle.intercept);
        case.expects("mle_slope", mle.slope);
        case.near("mle_se", mle.slope_error, numbers(&case.expected["mle_se"])[1]);
        case.expects("mle_p50", horizon(&mle, 0.5));
        case.expects("mle_p80", horizon(&mle, 0.8));
        // The reference adds the number of orders in which the runs of a length can pass.
        let orders: f64 = n.iter().zip(&s).map(|(n, s)| ln_choose(*n, *s)).sum();
        case.expects("mle_llf", mle.loglik + orders);
        let ridge = fit_share(
            &points(total),
            Link::Logit,
            case.expected["ridge_lambda"].as_f64().expect("a number"),
        );
        let ridge = ridge.expect("a fit");
        case.expects("ridge_intercept", ridge.intercept);
        case.expects("ridge_slope", ridge.slope);
        case.expects("ridge_p50", horizon(&ridge, 0.5));
        case.expects("ridge_p80", horizon(&ridge, 0.8));
    });
}

fn ln_choose(n: f64, k: f64) -> f64 {
    let mut sum = 0.0;
    let mut at = 1.0;
    while at <= k {
        sum += ((n - k + at) / at).ln();
        at += 1.0;
    }
    sum
}
