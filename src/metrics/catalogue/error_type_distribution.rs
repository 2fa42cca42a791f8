//! `error_type_distribution`: failed attempts by error type, as mapped by the config; the share is of all failed attempts.

use super::{Distribution, Metric, Shape};

pub(super) const METRIC: Metric = Metric {
    name: "error_type_distribution",
    definition: "failed attempts by error type, as mapped by the config; the share is of all failed attempts",
    undefined: "a distribution has no single value",
    needs_order: false,
    shape: Shape::Distribution(Distribution::ErrorType),
};
