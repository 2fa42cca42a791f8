//! `mid_term_error_rate`: failed attempts in the mid-run, over attempts in the mid-run that passed or failed (the mid-run is every step after the first and before the last; the last one too where the run did not reach its end).

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "mid_term_error_rate",
    definition: "failed attempts in the mid-run, over attempts in the mid-run that passed or failed (the mid-run is every step after the first and before the last; the last one too where the run did not reach its end)",
    undefined: "no attempt in a mid-run passed or failed",
    needs_order: true,
    shape: Shape::Proportion(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    row.mid.map(|mid| (f64::from(mid.failed), f64::from(mid.judged)))
}
