//! `intervention_rate`: runs with an approval or a human step, over all runs.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "intervention_rate",
    definition: "runs with an approval or a human step, over all runs",
    undefined: "no run records its steps",
    needs_order: false,
    shape: Shape::RunShare(part),
};

/// What one run adds to numerator and denominator; `None` where it is in neither.
fn part(row: &RunRow) -> Option<(f64, f64)> {
    (!row.steps_unknown).then(|| (f64::from(u8::from(row.intervention)), 1.0))
}
