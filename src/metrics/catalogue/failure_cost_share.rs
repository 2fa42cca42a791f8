//! `failure_cost_share`: cost (else tokens, else duration) of ended runs that were not completed, over that of all ended runs.

use super::{Metric, Shape};

pub(super) const METRIC: Metric = Metric {
    name: "failure_cost_share",
    definition: "cost (else tokens, else duration) of ended runs that were not completed, over that of all ended runs",
    undefined: "no ended run records cost, tokens or duration",
    needs_order: false,
    shape: Shape::FailureCostShare,
};
