//! `step_type_distribution`: attempts by step type, as recorded.

use super::{Distribution, Metric, Shape};

pub(super) const METRIC: Metric = Metric {
    name: "step_type_distribution",
    definition: "attempts by step type, as recorded",
    undefined: "a distribution has no single value",
    needs_order: false,
    shape: Shape::Distribution(Distribution::StepType),
};
