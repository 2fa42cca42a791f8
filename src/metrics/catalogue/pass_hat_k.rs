//! `pass_hat_k`: chance that k trials of a task all complete: the mean over tasks of C(c,k)/C(n,k), with c completed of n ended trials.

use super::{Metric, Shape};

pub(super) const METRIC: Metric = Metric {
    name: "pass_hat_k",
    definition: "chance that k trials of a task all complete: the mean over tasks of C(c,k)/C(n,k), with c completed of n ended trials",
    undefined: "no run with a task id has ended",
    needs_order: false,
    shape: Shape::PassK(crate::stats::pass_hat_k_by_task),
};
