//! Plans whose rows come in one order, on any number of threads.
//!
//! SQL leaves the order of groups, joins, unions and equal sort keys open, and polars uses that.
//! Here every node that may keep the order of its input is told to.

use std::sync::Arc;

use polars::prelude::{DslPlan, MaintainOrderJoin};

/// The same plan, with all orders kept.
pub(super) fn kept(plan: &DslPlan) -> DslPlan {
    let deep = |input: &Arc<DslPlan>| Arc::new(kept(input));
    let mut plan = plan.clone();
    match &mut plan {
        // What was planned already for a look at its columns is planned anew.
        DslPlan::IR { dsl, .. } => return kept(dsl),
        DslPlan::Filter { input, .. }
        | DslPlan::Cache { input, .. }
        | DslPlan::Select { input, .. }
        | DslPlan::HStack { input, .. }
        | DslPlan::Slice { input, .. }
        | DslPlan::MatchToSchema { input, .. }
        | DslPlan::MapFunction { input, .. } => *input = deep(input),
        DslPlan::GroupBy { input, maintain_order, .. } => {
            *input = deep(input);
            *maintain_order = true;
        }
        DslPlan::Join { input_left, input_right, options, .. } => {
            *input_left = deep(input_left);
            *input_right = deep(input_right);
            Arc::make_mut(options).args.maintain_order = MaintainOrderJoin::LeftRight;
        }
        DslPlan::Gather { input, idxs, .. } => {
            *input = deep(input);
            *idxs = deep(idxs);
        }
        DslPlan::Distinct { input, options } => {
            *input = deep(input);
            options.maintain_order = true;
        }
        DslPlan::Sort { input, sort_options, .. } => {
            *input = deep(input);
            sort_options.maintain_order = true;
        }
        DslPlan::Union { inputs, args } => {
            *inputs = inputs.iter().map(kept).collect();
            args.maintain_order = true;
        }
        DslPlan::HConcat { inputs, .. } => *inputs = inputs.iter().map(kept).collect(),
        DslPlan::ExtContext { input, contexts } => {
            *input = deep(input);
            *contexts = contexts.iter().map(kept).collect();
        }
        DslPlan::PipeWithSchema { input, .. } => *input = input.iter().map(kept).collect(),
        _ => {}
    }
    plan
}
