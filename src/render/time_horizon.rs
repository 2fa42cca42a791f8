//! Time horizons, and a success of each step that was typed in, as documents and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::horizon::{ends, steps};
use super::json::rounded;
use super::number::{count, percent, plain};
use crate::horizon::AgentHorizon;

/// Time horizons, for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval time horizons")]
pub struct TimeHorizonsWire {
    /// Always `agenteval.time-horizons/1`.
    schema: &'static str,
    /// Draws of the bootstrap.
    draws: u32,
    /// Its seed.
    seed: u64,
    /// One entry per agent.
    agents: Vec<AgentWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct AgentWire {
    agent: String,
    runs: u64,
    tasks: u64,
    families: u64,
    /// Weighted share of success.
    mean: Option<f64>,
    /// Intercept of the logistic curve over log2 of minutes.
    intercept: Option<f64>,
    /// Its slope: below 0 where success falls with length.
    slope: Option<f64>,
    /// The penalty of the slope that was used.
    ridge: Option<f64>,
    horizons: Vec<AtWire>,
    /// Draws without a curve: all or none of their runs passed.
    draws_without_curve: u32,
    /// Draws whose success rises with length.
    draws_rising: u32,
    runs_without_length: u64,
    runs_without_task: u64,
    runs_without_outcome: u64,
    tasks_with_contradicting_lengths: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct AtWire {
    /// The share of success.
    share: f64,
    /// Minutes; null where success does not fall with length.
    minutes: Option<f64>,
    low: Option<f64>,
    /// Null where it is infinite.
    high: Option<f64>,
    /// Outside of the lengths that were seen.
    extrapolated: bool,
}

/// Digits that minutes keep: as many as the fit is exact to.
const DIGITS: usize = 9;

/// The answer for JSON.
#[must_use]
pub fn time_horizons_wire(agents: &[AgentHorizon], draws: u32, seed: u64) -> TimeHorizonsWire {
    let finite = |n: f64| rounded(Some(n).filter(|n| n.is_finite()), DIGITS);
    let agent = |agent: &AgentHorizon| {
        let horizon = agent.horizon.as_ref();
        let fit = horizon.and_then(|horizon| horizon.fit);
        AgentWire {
            agent: crate::model::mask(&agent.agent),
            runs: horizon.map_or(0, |h| h.runs),
            tasks: horizon.map_or(0, |h| h.tasks),
            families: horizon.map_or(0, |h| h.families),
            mean: horizon.and_then(|h| finite(h.mean)),
            intercept: fit.and_then(|fit| finite(fit.intercept)),
            slope: fit.and_then(|fit| finite(fit.slope)),
            ridge: horizon.map(|h| h.ridge),
            horizons: horizon.map_or_else(Vec::new, |horizon| {
                let at = horizon.at.iter().map(|at| AtWire {
                    share: at.share,
                    minutes: at.minutes.and_then(finite),
                    low: at.interval.and_then(|(low, _)| finite(low)),
                    high: at.interval.and_then(|(_, high)| finite(high)),
                    extrapolated: at.extrapolated,
                });
                at.collect()
            }),
            draws_without_curve: horizon.map_or(0, |h| h.without_curve),
            draws_rising: horizon.map_or(0, |h| h.rising),
            runs_without_length: agent.without_length,
            runs_without_task: agent.without_task,
            runs_without_outcome: agent.without_outcome,
            tasks_with_contradicting_lengths: agent.contradicting,
        }
    };
    TimeHorizonsWire {
        schema: "agenteval.time-horizons/1",
        draws,
        seed,
        agents: agents.iter().map(agent).collect(),
    }
}

/// The answer for people.
#[must_use]
pub fn time_horizons_doc(agents: &[AgentHorizon], draws: u32, seed: u64) -> Doc {
    let mut doc = Doc::default();
    doc.title(
        "time horizons: minutes that people need for tasks that the agent completes so often",
    );
    let columns = vec![
        Column::elastic("agent"),
        Column::right("runs"),
        Column::right("tasks"),
        Column::right("mean"),
        Column::right("success"),
        Column::right("minutes"),
        Column::left("95% CI"),
        Column::note("note"),
    ];
    let mut rows = Vec::new();
    for agent in agents {
        let name = if agent.agent.is_empty() { "(no agent recorded)" } else { &agent.agent };
        let Some(horizon) = &agent.horizon else {
            let why = format!(
                "{} runs without a length of their task, {} without an outcome",
                count(agent.without_length),
                count(agent.without_outcome)
            );
            let mut row = vec![name.to_owned()];
            row.extend(["0", "0", "n/a", "-", "n/a", "-"].map(str::to_owned));
            row.push(why);
            rows.push(row);
            continue;
        };
        for (at, place) in horizon.at.iter().zip(0..) {
            let first = |text: String| if place == 0 { text } else { String::new() };
            rows.push(vec![
                first(name.to_owned()),
                first(count(horizon.runs)),
                first(count(horizon.tasks)),
                first(percent(horizon.mean)),
                percent(at.share),
                at.minutes.map_or_else(|| "n/a".to_owned(), minutes),
                ends(at.interval, minutes),
                notes(agent, at, draws, place == 0),
            ]);
        }
    }
    doc.table(Table { columns, rows });
    doc.line(format!(
        "intervals: {} draws of families, tasks and runs, seed {seed}; their ends move by 3 to 15% from seed to seed at 1,000 draws, and more where the curve is flat",
        count(u64::from(draws))
    ));
    doc
}

/// What is to be known of one horizon, and with the first of an agent of its runs.
fn notes(agent: &AgentHorizon, at: &crate::horizon::HorizonAt, draws: u32, first: bool) -> String {
    let mut notes = Vec::new();
    if let Some(horizon) = agent.horizon.as_ref().filter(|_| first) {
        let mut tell = |number: u64, what: &str| {
            if number > 0 {
                notes.push(format!("{} {what}", count(number)));
            }
        };
        tell(agent.without_length, "runs without a length");
        tell(agent.without_task, "runs without a task id");
        tell(agent.without_outcome, "runs without an outcome");
        tell(agent.contradicting, "tasks with two lengths");
        let share = |n: u32| percent(f64::from(n) / f64::from(draws.max(1)));
        if horizon.without_curve > 0 {
            notes.push(format!("{} of draws without a curve", share(horizon.without_curve)));
        }
        if horizon.rising > 0 {
            notes.push(format!("{} of draws rise", share(horizon.rising)));
        }
    }
    if let Some(horizon) = agent.horizon.as_ref().filter(|horizon| first && horizon.stood_in) {
        notes.push(format!("success separates by length: ridge {}", horizon.ridge));
    }
    match (at.minutes, at.extrapolated) {
        (None, _) => {
            let horizon = agent.horizon.as_ref().filter(|horizon| horizon.fit.is_none());
            notes.push(match horizon {
                Some(horizon) if horizon.mean >= 1.0 => "no horizon: every run passed".to_owned(),
                Some(_) => "no horizon: all tasks have one length".to_owned(),
                None => "no horizon: success does not fall with length".to_owned(),
            });
        }
        (Some(0.0), _) => notes.push("no run passed".to_owned()),
        (Some(_), true) => notes.push("outside of the lengths seen".to_owned()),
        (Some(_), false) => {}
    }
    notes.join("; ")
}

fn minutes(minutes: f64) -> String {
    match minutes {
        m if !m.is_finite() => "no end".to_owned(),
        0.0 => "0".to_owned(),
        m if m < 0.01 => "<0.01".to_owned(),
        m if m < 10.0 => plain(m, 2),
        m if m < 100.0 => plain(m, 1),
        m => plain(m, 0),
    }
}

/// `(1 - risk)^steps` for a risk that was typed in, for people.
#[must_use]
pub fn per_step_doc(per_step: f64, lines: &[(u32, f64)], half_life: f64) -> Doc {
    let mut doc = Doc::default();
    doc.title(format!(
        "{} of steps succeed, each alike: half of the runs fail a step within {} steps",
        percent(per_step),
        steps(half_life)
    ));
    let columns = vec![Column::right("steps"), Column::right("without a failed step")];
    let row = |(steps, share): &(u32, f64)| {
        vec![count(u64::from(*steps)), format!("{:.2}%", share * 100.0)]
    };
    doc.table(Table { columns, rows: lines.iter().map(row).collect() });
    doc
}

/// The same for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval per-step projection")]
pub struct PerStepWire {
    /// Always `agenteval.per-step/1`.
    schema: &'static str,
    /// Success of each step.
    per_step: f64,
    /// Steps after which half of the runs have failed one; null without a risk.
    half_life: Option<f64>,
    /// Share of runs without a failed step, by steps.
    projections: std::collections::BTreeMap<u32, Option<f64>>,
}

/// The same for JSON.
#[must_use]
pub fn per_step_wire(per_step: f64, lines: &[(u32, f64)], half_life: f64) -> PerStepWire {
    PerStepWire {
        schema: "agenteval.per-step/1",
        per_step,
        half_life: rounded(Some(half_life).filter(|at| at.is_finite()), 6),
        projections: lines.iter().map(|(at, share)| (*at, rounded(Some(*share), 9))).collect(),
    }
}
