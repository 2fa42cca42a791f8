//! `avg_steps_completed`: steps of completed runs, over completed runs.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "avg_steps_completed",
    definition: "steps of completed runs, over completed runs",
    undefined: "no run that records its steps was completed",
    needs_order: false,
    shape: Shape::CountMean(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    (row.completed() && !row.steps_unknown).then(|| (f64::from(row.steps), 1.0))
}
