//! `avg_retry_count`: retries (every attempt of a step after its first), over all runs.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "avg_retry_count",
    definition: "retries (every attempt of a step after its first), over all runs",
    undefined: "no run records its steps",
    needs_order: false,
    shape: Shape::CountMean(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    (!row.steps_unknown).then(|| (f64::from(row.retries), 1.0))
}
