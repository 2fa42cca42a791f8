//! `agenteval plan`: how many tasks and trials it takes to see an effect.

use super::args::{Global, Output, Plan as Args};
use super::output::{self, Forms, More};
use super::runs::Loaded;
use super::{Failure, Outcome, against, baseline, explain};
use crate::compare::{Expected, Plan, PlanQuestion, Sureness};
use crate::exit::Status;
use crate::metrics::Metric;
use crate::render::{plan_doc, plan_wire, pretty_json};

/// Gathers what is known, plans and writes.
pub(super) fn run(args: &Args, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let metric = explain::find(&args.metric)?;
    let loaded = Loaded::config(&args.reading, global)?;
    output::guard(&output, loaded.path.as_deref().into_iter())?;
    let expected = expected(args, global, &loaded, &output, metric)?;
    let sureness =
        Sureness { alpha: args.alpha.unwrap_or(loaded.config.gate.alpha), power: args.power };
    for (flag, share) in [("--alpha", sureness.alpha), ("--power", sureness.power)] {
        if !(share > 0.0 && share < 1.0) {
            return Err(Failure::usage(format!("{flag} {share}: give a number between 0 and 1")));
        }
    }
    if let Some(effect) = args.effect.iter().find(|effect| !(effect.is_finite() && **effect > 0.0))
    {
        return Err(Failure::usage(format!("--effect {effect}: give a number above 0")));
    }
    let room = expected.room().unwrap_or(f64::INFINITY);
    if let Some(effect) = args.effect.iter().find(|effect| **effect > room) {
        return Err(Failure::usage(format!(
            "--effect {effect}: this rate cannot get worse by more than {room:.3}; 10 points are 0.1"
        )));
    }
    let question = PlanQuestion {
        metric,
        expected,
        sureness,
        effects: args.effect.clone(),
        trials: args.trials.iter().map(|k| (args.baseline_trials.unwrap_or(*k), *k)).collect(),
        tasks: args.tasks.or_else(|| expected.seen.map(|(tasks, _)| tasks as u64)),
    };
    let plan = Plan::of(question);
    output::emit(
        &Forms::page(&|| plan_doc(&plan), &|| pretty_json(&plan_wire(&plan))),
        &output,
        global,
    )?;
    Ok(Status::Done)
}

/// From a baseline, from traces, or from assumptions.
fn expected(
    args: &Args,
    global: &Global,
    loaded: &Loaded,
    output: &Output,
    metric: &'static Metric,
) -> Result<Expected, Failure> {
    let cannot =
        |why: String| Failure::usage(format!("{} cannot be planned for: {why}", metric.name));
    if let Some(name) = &args.baseline {
        let baseline = baseline::store(&args.store)?.load(name)?;
        return Expected::of(&baseline.rows, metric).map_err(cannot);
    }
    if !args.paths.is_empty() {
        let (side, _) = against::read(&args.paths, &args.reading, global, loaded, output)?;
        return Expected::of(&side.rows, metric).map_err(cannot);
    }
    if metric.info().unit != crate::model::Unit::Ratio {
        return Err(Failure::usage(format!(
            "{} needs runs to plan from: give --baseline NAME or paths",
            metric.name
        )));
    }
    for (flag, share) in [("--rate", args.rate), ("--icc", args.icc)] {
        let inside =
            share > 0.0 && share < 1.0 || (flag == "--icc" && (share == 0.0 || share == 1.0));
        if !inside {
            return Err(Failure::usage(format!("{flag} {share}: give a number between 0 and 1")));
        }
    }
    Ok(Expected::rate(args.rate, args.icc))
}
