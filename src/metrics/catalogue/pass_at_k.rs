//! `pass_at_k`: chance that at least one of k trials of a task completes: the mean over tasks of 1 - C(n-c,k)/C(n,k), with c completed of n ended trials.

use super::{Metric, Shape};

pub(super) const METRIC: Metric = Metric {
    name: "pass_at_k",
    definition: "chance that at least one of k trials of a task completes: the mean over tasks of 1 - C(n-c,k)/C(n,k), with c completed of n ended trials",
    undefined: "no run with a task id has ended",
    needs_order: false,
    shape: Shape::PassK(crate::stats::pass_at_k_by_task),
};
