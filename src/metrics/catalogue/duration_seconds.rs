//! `duration_seconds`: mean seconds per run, over runs that record their duration.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "duration_seconds",
    definition: "mean seconds per run, over runs that record their duration",
    undefined: "no run records its duration",
    needs_order: false,
    shape: Shape::Amount(amount),
};

/// The run's own amount; `None` where it records none.
fn amount(row: &RunRow) -> Option<f64> {
    row.duration_seconds
}
