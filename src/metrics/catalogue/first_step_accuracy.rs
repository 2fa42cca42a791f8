//! `first_step_accuracy`: runs whose first step's first attempt passed, over runs where that attempt passed or failed.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "first_step_accuracy",
    definition: "runs whose first step's first attempt passed, over runs where that attempt passed or failed",
    undefined: "no run has a first attempt that passed or failed",
    needs_order: true,
    shape: Shape::RunShare(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    row.first_step.map(|passed| (f64::from(u8::from(passed)), 1.0))
}
