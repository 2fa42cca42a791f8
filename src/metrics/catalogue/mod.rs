//! Every figure: one file and one entry each.
//!
//! Owns what a figure is (its definition in words, which runs are in it, what makes it undefined)
//! and its shape, which decides how it is computed and which interval it has. A new metric is one
//! file here, one line in [`CATALOGUE`] and one in `model/names.rs`.

mod avg_retry_count;
mod avg_steps;
mod avg_steps_completed;
mod cost_per_completion;
mod cost_usd;
mod duration_seconds;
mod error_type_distribution;
mod failure_cost_share;
mod failure_recovery_rate;
mod final_completion_rate;
mod first_failure_position;
mod first_step_accuracy;
mod intervention_rate;
mod mid_term_error_rate;
mod mid_term_recovery_rate;
mod pass_at_k;
mod pass_hat_k;
mod repeated_action_rate;
mod retry_success_rate;
mod step_error_rate;
mod step_type_distribution;
mod total_tokens;

use crate::evaluate::RunRow;
use crate::model::{MetricName, resolve_metric};
use crate::stats::{TaskValues, Trials};

/// All figures, in the order of reports.
pub static CATALOGUE: [Metric; 22] = [
    first_step_accuracy::METRIC,
    mid_term_error_rate::METRIC,
    mid_term_recovery_rate::METRIC,
    final_completion_rate::METRIC,
    failure_recovery_rate::METRIC,
    avg_retry_count::METRIC,
    retry_success_rate::METRIC,
    avg_steps::METRIC,
    avg_steps_completed::METRIC,
    step_error_rate::METRIC,
    error_type_distribution::METRIC,
    step_type_distribution::METRIC,
    first_failure_position::METRIC,
    repeated_action_rate::METRIC,
    intervention_rate::METRIC,
    duration_seconds::METRIC,
    total_tokens::METRIC,
    cost_usd::METRIC,
    cost_per_completion::METRIC,
    failure_cost_share::METRIC,
    pass_hat_k::METRIC,
    pass_at_k::METRIC,
];

/// One figure.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it is, as one phrase: numerator, over denominator.
    pub definition: &'static str,
    /// Why it may have no value.
    pub undefined: &'static str,
    /// Whether it has no value where the order of steps is unknown.
    pub needs_order: bool,
    /// How it is computed.
    pub shape: Shape,
}

/// How a figure is computed from rows.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A share of runs: each run in it adds 0 or 1 to the numerator and 1 to the denominator.
    RunShare(fn(&RunRow) -> Option<(f64, f64)>),
    /// A share of attempts, steps or retries: a sum over a sum, within 0 and 1.
    Proportion(fn(&RunRow) -> Option<(f64, f64)>),
    /// A sum of counts over a number of runs.
    CountMean(fn(&RunRow) -> Option<(f64, f64)>),
    /// The mean of an amount that runs may or may not record.
    Amount(fn(&RunRow) -> Option<f64>),
    /// Equal actions over attempts, where inputs are recorded at all.
    RepeatedActions,
    /// Cost of all runs over completed runs.
    CostPerCompletion,
    /// Cost, tokens or duration lost in runs that were not completed.
    FailureCostShare,
    /// The median step of the first failure.
    FirstFailure,
    /// A mean over tasks of a value that their trials have at k.
    PassK(fn(&[Trials], u64) -> TaskValues),
    /// Counts by name.
    Distribution(Distribution),
}

/// Which counts a distribution holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Failed attempts by error type.
    ErrorType,
    /// Attempts by step type.
    StepType,
}

impl Metric {
    /// Name, unit and direction.
    #[must_use]
    pub fn info(&self) -> &'static MetricName {
        // The catalogue and the names are held equal by a test.
        resolve_metric(self.name).unwrap_or(&crate::model::METRIC_NAMES[0])
    }
}

/// The figure of this name.
#[must_use]
pub fn metric(name: &str) -> Option<&'static Metric> {
    CATALOGUE.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use super::CATALOGUE;
    use crate::model::METRIC_NAMES;

    #[test]
    fn catalogue_and_names_list_the_same_figures_in_the_same_order() {
        let catalogue: Vec<_> = CATALOGUE.iter().map(|metric| metric.name).collect();
        let names: Vec<_> = METRIC_NAMES.iter().map(|metric| metric.name).collect();
        assert_eq!(catalogue, names);
    }
}
