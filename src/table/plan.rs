//! Plans of SQL, node by node.
//!
//! Owns the walk. Refuses to know what is changed, which `order.rs` and `whole.rs` say.

use std::sync::Arc;

use polars::prelude::{DslPlan, Expr};

/// The same plan with every node changed, those below it first.
pub(super) fn map(plan: &DslPlan, change: &dyn Fn(&mut DslPlan)) -> DslPlan {
    let deep = |input: &Arc<DslPlan>| Arc::new(map(input, change));
    let all = |inputs: &[DslPlan]| inputs.iter().map(|input| map(input, change)).collect();
    let mut plan = plan.clone();
    match &mut plan {
        // What was planned already for a look at its columns is planned anew.
        DslPlan::IR { dsl, .. } => return map(dsl, change),
        DslPlan::Filter { input, .. }
        | DslPlan::Cache { input, .. }
        | DslPlan::Select { input, .. }
        | DslPlan::HStack { input, .. }
        | DslPlan::Slice { input, .. }
        | DslPlan::MatchToSchema { input, .. }
        | DslPlan::MapFunction { input, .. }
        | DslPlan::GroupBy { input, .. }
        | DslPlan::Distinct { input, .. }
        | DslPlan::Sort { input, .. } => *input = deep(input),
        DslPlan::Join { input_left: one, input_right: other, .. }
        | DslPlan::Gather { input: one, idxs: other, .. } => {
            *one = deep(one);
            *other = deep(other);
        }
        DslPlan::Union { inputs, .. } | DslPlan::HConcat { inputs, .. } => *inputs = all(inputs),
        DslPlan::ExtContext { input, contexts } => {
            *input = deep(input);
            *contexts = all(contexts);
        }
        DslPlan::PipeWithSchema { input, .. } => {
            *input = input.iter().map(|input| map(input, change)).collect();
        }
        _ => {}
    }
    change(&mut plan);
    plan
}

/// Changes every expression of one node, and each of its parts before it.
pub(super) fn map_expressions(plan: &mut DslPlan, change: &dyn Fn(Expr) -> Expr) {
    let one = |expr: &mut Expr| *expr = expr.clone().map_expr(change);
    match plan {
        DslPlan::Filter { predicate, .. } => one(predicate),
        DslPlan::Select { expr: exprs, .. }
        | DslPlan::HStack { exprs, .. }
        | DslPlan::Sort { by_column: exprs, .. } => exprs.iter_mut().for_each(one),
        DslPlan::GroupBy { keys, predicates, aggs, .. } => {
            keys.iter_mut().chain(predicates).chain(aggs).for_each(one);
        }
        DslPlan::Join { left_on, right_on, predicates, .. } => {
            left_on.iter_mut().chain(right_on).chain(predicates).for_each(one);
        }
        _ => {}
    }
}
