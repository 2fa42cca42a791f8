//! `repeated_action_rate`: attempts equal to an earlier, passed attempt of the same run in type, name and input, over attempts.

use super::{Metric, Shape};

pub(super) const METRIC: Metric = Metric {
    name: "repeated_action_rate",
    definition: "attempts equal to an earlier, passed attempt of the same run in type, name and input, over attempts",
    undefined: "no attempt records its input",
    needs_order: false,
    shape: Shape::RepeatedActions,
};
