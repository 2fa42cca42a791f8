//! `step_error_rate`: failed attempts, over attempts that passed or failed.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "step_error_rate",
    definition: "failed attempts, over attempts that passed or failed",
    undefined: "no attempt passed or failed",
    needs_order: false,
    shape: Shape::Proportion(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    Some((f64::from(row.failed), f64::from(row.judged)))
}
