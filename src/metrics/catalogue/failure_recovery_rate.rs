//! `failure_recovery_rate`: completed runs with at least one failed attempt, over ended runs with at least one failed attempt.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "failure_recovery_rate",
    definition: "completed runs with at least one failed attempt, over ended runs with at least one failed attempt",
    undefined: "no ended run has a failed attempt",
    needs_order: false,
    shape: Shape::RunShare(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    (row.outcome.ended() && row.failed_all > 0).then(|| (f64::from(u8::from(row.completed())), 1.0))
}
