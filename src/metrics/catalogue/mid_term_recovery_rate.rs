//! `mid_term_recovery_rate`: mid-run steps with a failed attempt of which a later attempt passed, over mid-run steps with a failed attempt.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "mid_term_recovery_rate",
    definition: "mid-run steps with a failed attempt of which a later attempt passed, over mid-run steps with a failed attempt",
    undefined: "no step in a mid-run has a failed attempt",
    needs_order: true,
    shape: Shape::Proportion(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    row.mid.map(|mid| (f64::from(mid.recovered_steps), f64::from(mid.failed_steps)))
}
