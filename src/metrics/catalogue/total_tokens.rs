//! `total_tokens`: mean tokens per run (uncached input, cache read, cache write and output), over runs that record tokens.

use super::{Metric, Shape};
use crate::evaluate::RunRow;

pub(super) const METRIC: Metric = Metric {
    name: "total_tokens",
    definition: "mean tokens per run (uncached input, cache read, cache write and output), over runs that record tokens",
    undefined: "no run records tokens",
    needs_order: false,
    shape: Shape::Amount(amount),
};

/// The run's own amount; `None` where it records none.
fn amount(row: &RunRow) -> Option<f64> {
    row.tokens.map(|tokens| tokens.total())
}
