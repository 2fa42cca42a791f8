//! `retry_success_rate`: retries that passed, over retries that are there, as records or by a recorded count.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "retry_success_rate",
    definition: "retries that passed, over retries that are there, as records or by a recorded count",
    undefined: "there is no recorded retry",
    needs_order: false,
    shape: Shape::Proportion(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    Some((f64::from(row.retries_passed), f64::from(row.retries_present)))
}
