//! Two sets side by side, without a verdict.

use super::broken::{BrokenTask, broken_tasks};
use super::errors::ErrorChanges;
use super::evidence::{Evidence, Kind};
use super::gate::GateOptions;
use super::pairing::{Pairing, PairingOptions};
use super::sample::{Sample, counted};
use super::summary::PairingSummary;
use crate::config::EvalConfig;
use crate::evaluate::RunRow;
use crate::metrics::{CATALOGUE, Distribution, Metric, Set, Shape, metric};
use crate::stats::holm;

/// One figure of both sets.
#[derive(Debug, Clone)]
pub struct ComparedMetric {
    /// The figure.
    pub metric: &'static Metric,
    /// What is known of its difference.
    pub evidence: Evidence,
    /// Two-sided p; `None` where the figure is only shown.
    pub p: Option<f64>,
    /// The same after Holm's correction over all figures.
    pub p_adjusted: Option<f64>,
    /// Whether that is at most alpha.
    pub distinguishable: bool,
}

/// Two sets side by side.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Who is compared with whom.
    pub pairing: PairingSummary,
    /// The figures, in order.
    pub metrics: Vec<ComparedMetric>,
    /// The level of the tests.
    pub alpha: f64,
    /// Tasks that all completed in the first set, and none in the second.
    pub broken: Vec<BrokenTask>,
    /// How errors differ.
    pub errors: ErrorChanges,
}

impl Comparison {
    /// Compares the second set with the first. Tasks that are on one side alone are left out.
    #[must_use]
    pub fn of(
        first: &[RunRow],
        second: &[RunRow],
        config: &EvalConfig,
        options: &GateOptions,
    ) -> Self {
        let (first, second) =
            (counted(first, config.unfinished), counted(second, config.unfinished));
        let pairing_options = PairingOptions {
            expected_trials: config.expected_trials,
            allow_unmatched: true,
            pooled: options.pooled,
        };
        let pairing = Pairing::of(&first, &second, pairing_options);
        let all = Set::new(first.iter().chain(second.iter()).collect());
        let sides = [Set::new(first.iter().collect()), Set::new(second.iter().collect())];
        let chosen: Vec<&'static Metric> = match &config.metrics {
            Some(names) => names.iter().filter_map(|name| metric(name.name)).collect(),
            None => CATALOGUE.iter().collect(),
        };
        let shown = chosen.into_iter().filter(|metric| {
            !matches!(
                metric.shape,
                Shape::Distribution(Distribution::StepType | Distribution::ErrorType)
            )
        });
        let mut metrics: Vec<ComparedMetric> = shown
            .map(|metric| {
                let evidence = one(metric, &sides, &pairing, &all, options);
                let p = evidence.p.map(|p| (2.0 * p.less.min(p.greater)).min(1.0));
                ComparedMetric { metric, evidence, p, p_adjusted: None, distinguishable: false }
            })
            .collect();
        let tested: Vec<f64> = metrics.iter().filter_map(|metric| metric.p).collect();
        let mut adjusted = holm(&tested).into_iter();
        for metric in metrics.iter_mut().filter(|metric| metric.p.is_some()) {
            metric.p_adjusted = adjusted.next();
            metric.distinguishable = metric.p_adjusted.is_some_and(|p| p <= options.tests.alpha);
        }
        Self {
            metrics,
            alpha: options.tests.alpha,
            broken: broken_tasks(&pairing),
            errors: ErrorChanges::of(&pairing, &options.tests),
            pairing: PairingSummary::of(&pairing, Vec::new()),
        }
    }
}

fn one(
    metric: &'static Metric,
    sides: &[Set<'_>; 2],
    pairing: &Pairing<'_>,
    all: &Set<'_>,
    options: &GateOptions,
) -> Evidence {
    let missing = || sides.iter().find_map(|side| side.missing(metric));
    match (missing(), Kind::of(metric)) {
        (None, Some(kind)) => Evidence::of(&Sample::of(pairing, metric, all), kind, &options.tests),
        (why, kind) => {
            // Shown as each side has it.
            let [baseline, candidate] = sides.each_ref().map(|side| side.figure(metric).value);
            let reason = why.or_else(|| kind.is_none().then(|| "shown, not tested".to_owned()));
            Evidence { baseline, candidate, reason, ..Evidence::default() }
        }
    }
}
