//! `agenteval budgets` and `agenteval readiness`: limits that runs suggest, and which nodes can do without an approval.

use super::args::{BudgetsArgs, Global, Output, ReadinessArgs};
use super::output::{self, Forms, More};
use super::runs::{self, Loaded};
use super::{Failure, Outcome};
use crate::diagnose::{budgets, readiness, steps};
use crate::evaluate::RunRow;
use crate::exit::Status;
use crate::render::{budgets_doc, budgets_wire, pretty_json, readiness_doc, readiness_wire};

/// Reads runs and suggests limits.
pub(super) fn run(args: &BudgetsArgs, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let quantile = args.quantile;
    if !(quantile > 0.0 && quantile <= 1.0) {
        return Err(Failure::usage(format!(
            "--quantile {quantile}: give the share of completed runs that shall keep a limit, above 0 and up to 1"
        )));
    }
    let loaded = Loaded::config(&args.input.reading, global)?;
    let (set, _) = runs::read(
        &args.input.paths,
        &args.input.reading,
        global,
        &loaded,
        &output,
        &|judge, state, run| (judge.row(state, run), ()),
    )?;
    let empty = set.require_runs();
    set.warn(global);
    empty?;
    let rows: Vec<&RunRow> = set.rows.iter().collect();
    let found = budgets(&rows, quantile);
    if found.is_empty() {
        return Err(Failure::nothing(
            "no ended run records steps, retries, tokens, time or cost, so there is nothing to limit",
        ));
    }
    let doc = || budgets_doc(&found, quantile);
    let json = || pretty_json(&budgets_wire(&found, quantile));
    output::emit(&Forms::page(&doc, &json), &output, global)?;
    Ok(Status::Done)
}

/// Reads runs and tells which nodes are ready.
pub(super) fn ready(args: &ReadinessArgs, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let target = args.target;
    if !(target > 0.0 && target < 1.0) {
        return Err(Failure::usage(format!(
            "--target {target}: give a share between 0 and 1; no number of runs shows 1"
        )));
    }
    let loaded = Loaded::config(&args.input.reading, global)?;
    let (set, found) = runs::read(
        &args.input.paths,
        &args.input.reading,
        global,
        &loaded,
        &output,
        &|judge, state, run| {
            let timeline = judge.timeline(state, run);
            let found = steps(&timeline);
            (timeline.row, found)
        },
    )?;
    let empty = set.require_runs();
    set.warn(global);
    empty?;
    let nodes = readiness(&set.rows, &found, target, args.first_attempt);
    if nodes.is_empty() {
        return Err(Failure::nothing("no run has a step that passed or failed"));
    }
    let doc = || readiness_doc(&nodes, target, args.first_attempt);
    let json = || pretty_json(&readiness_wire(&nodes, target, args.first_attempt));
    output::emit(&Forms::page(&doc, &json), &output, global)?;
    Ok(Status::Done)
}
