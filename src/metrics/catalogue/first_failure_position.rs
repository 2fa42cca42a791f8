//! `first_failure_position`: step of the first failed attempt, over runs that have one; the value is the median.

use super::{Metric, Shape};

pub(super) const METRIC: Metric = Metric {
    name: "first_failure_position",
    definition: "step of the first failed attempt, over runs that have one; the value is the median",
    undefined: "no run has a failed attempt in a known order",
    needs_order: true,
    shape: Shape::FirstFailure,
};
