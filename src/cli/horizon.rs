//! `agenteval horizon`: how errors add up along runs, and time horizons.

use super::args::{Global, HorizonArgs, Output, Preset, Weights};
use super::output::{self, Forms, More};
use super::runs::{self, Loaded};
use super::{Failure, Outcome};
use crate::evaluate::RunRow;
use crate::exit::Status;
use crate::horizon::{Accumulation, time_horizons};
use crate::render::{
    horizon_doc, horizon_wire, per_step_doc, per_step_wire, pretty_json, time_horizons_doc,
    time_horizons_wire,
};
use crate::stats::{HorizonSettings, RunWeights, horizon_at, survival_to};

/// Steps that are projected to where none are asked for.
const STEPS: [u32; 5] = [5, 10, 20, 30, 50];

/// METR's ridge on the slope.
const METR_RIDGE: f64 = 0.1;

/// Reads, judges, computes and writes.
pub(super) fn run(args: &HorizonArgs, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let steps = if args.steps.is_empty() { STEPS.to_vec() } else { args.steps.clone() };
    if let Some(per_step) = args.per_step {
        return typed(per_step, &steps, &output, global);
    }
    if args.paths.is_empty() {
        return Err(Failure::usage(
            "give the runs as PATH, or the success of one step as --per-step 0.95",
        ));
    }
    if let Some(share) = args.at.iter().find(|share| !(**share > 0.0 && **share < 1.0)) {
        return Err(Failure::usage(format!("--at {share}: give a share between 0 and 1")));
    }
    let settings = settings(args)?;
    let loaded = Loaded::config(&args.reading, global)?;
    let (set, _) =
        runs::read(&args.paths, &args.reading, global, &loaded, &output, &|judge, state, run| {
            (judge.row(state, run), ())
        })?;
    let empty = set.require_runs();
    set.warn(global);
    empty?;
    let rows: Vec<&RunRow> = set.rows.iter().collect();
    if args.time() {
        let agents = time_horizons(&rows, &args.at, settings);
        if agents.iter().all(|agent| agent.horizon.is_none()) {
            return Err(Failure::nothing(format!(
                "no run has a task of known length and an outcome: give `{}` (minutes) as a column or tag of the run",
                crate::horizon::MINUTES
            )));
        }
        output::emit(
            &Forms::page(&|| time_horizons_doc(&agents, settings.draws, settings.seed), &|| {
                pretty_json(&time_horizons_wire(&agents, settings.draws, settings.seed))
            }),
            &output,
            global,
        )?;
        return Ok(Status::Done);
    }
    if rows.iter().all(|row| row.mid.is_none() || row.steps == 0) {
        return Err(Failure::nothing(
            "no run has steps in a known order, so nothing can be followed step by step; of run tables with task lengths `--preset metr` gives time horizons",
        ));
    }
    let found = Accumulation::of(&rows, &steps);
    output::emit(
        &Forms::page(&|| horizon_doc(&found), &|| pretty_json(&horizon_wire(&found))),
        &output,
        global,
    )?;
    Ok(Status::Done)
}

/// What the flags of time horizons ask for; the preset sets what is not given.
fn settings(args: &HorizonArgs) -> Result<HorizonSettings, Failure> {
    let metr = args.preset == Some(Preset::Metr);
    let ridge = args.ridge.unwrap_or(if metr { METR_RIDGE } else { 0.0 });
    if !(ridge.is_finite() && ridge >= 0.0) {
        return Err(Failure::usage(format!("--ridge {ridge}: give a number of 0 or more")));
    }
    let weights = match args.weights {
        Some(Weights::Runs) => RunWeights::Runs,
        Some(Weights::Tasks) => RunWeights::Tasks,
        None if !metr => RunWeights::Tasks,
        None | Some(Weights::Invsqrt) => RunWeights::InverseRoot,
    };
    Ok(HorizonSettings { ridge, weights, draws: args.draws, seed: args.seed, level: 0.95 })
}

/// Projects a success of each step that was typed in.
fn typed(per_step: f64, steps: &[u32], output: &Output, global: &Global) -> Outcome {
    if !(per_step > 0.0 && per_step <= 1.0) {
        return Err(Failure::usage(format!(
            "--per-step {per_step}: give the success of one step, above 0 and up to 1"
        )));
    }
    let risk = 1.0 - per_step;
    let lines: Vec<(u32, f64)> =
        steps.iter().map(|&at| (at, survival_to(risk, f64::from(at)))).collect();
    let half = horizon_at(risk, 0.5);
    output::emit(
        &Forms::page(&|| per_step_doc(per_step, &lines, half), &|| {
            pretty_json(&per_step_wire(per_step, &lines, half))
        }),
        output,
        global,
    )?;
    Ok(Status::Done)
}
