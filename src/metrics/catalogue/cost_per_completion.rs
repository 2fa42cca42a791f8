//! `cost_per_completion`: cost of all runs in US dollars, over completed runs.

use super::{Metric, Shape};

pub(super) const METRIC: Metric = Metric {
    name: "cost_per_completion",
    definition: "cost of all runs in US dollars, over completed runs",
    undefined: "no run records cost",
    needs_order: false,
    shape: Shape::CostPerCompletion,
};
