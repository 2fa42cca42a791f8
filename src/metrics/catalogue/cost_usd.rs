//! `cost_usd`: mean cost per run in US dollars, over runs that record cost.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "cost_usd",
    definition: "mean cost per run in US dollars, over runs that record cost",
    undefined: "no run records cost",
    needs_order: false,
    shape: Shape::Amount(amount),
};

/// The run's own amount; `None` where it records none.
fn amount(row: &RunRow) -> Option<f64> {
    row.cost_usd
}
