//! Plans whose rows come in one order, on any number of threads.
//!
//! SQL leaves the order of groups, joins, unions and equal sort keys open, and polars uses that.
//! Here every node that may keep the order of its input is told to.

use std::sync::Arc;

use polars::prelude::{DslPlan, MaintainOrderJoin};

/// Tells a node to keep all orders.
pub(super) fn keep(plan: &mut DslPlan) {
    match plan {
        DslPlan::GroupBy { maintain_order, .. } => *maintain_order = true,
        DslPlan::Join { options, .. } => {
            Arc::make_mut(options).args.maintain_order = MaintainOrderJoin::LeftRight;
        }
        DslPlan::Distinct { options, .. } => options.maintain_order = true,
        DslPlan::Sort { sort_options, .. } => sort_options.maintain_order = true,
        DslPlan::Union { args, .. } => args.maintain_order = true,
        _ => {}
    }
}
