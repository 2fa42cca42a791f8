//! `final_completion_rate`: completed runs, over ended runs (completed, failed, over a limit, cancelled).

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "final_completion_rate",
    definition: "completed runs, over ended runs (completed, failed, over a limit, cancelled)",
    undefined: "no run has ended",
    needs_order: false,
    shape: Shape::RunShare(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    row.counts_as_ended().then(|| (f64::from(u8::from(row.completed())), 1.0))
}
