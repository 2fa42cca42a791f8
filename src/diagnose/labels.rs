//! Turning points held against the steps that people have labelled (Who&When).
//!
//! Owns: which runs carry a label, and the shares of labels that are met, beside a guess that knows
//! nothing. Refuses to look at labels while turning points are named.

use super::{Attribution, RunFacts};
use crate::evaluate::RunRow;
use crate::stats::wilson;

/// The tag that holds the labelled step: a record of the run, from 0.
pub const STEP_LABEL: &str = "mistake_step";
/// The tag that holds the labelled agent.
pub const AGENT_LABEL: &str = "mistake_agent";

/// A share with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Runs that have it.
    pub met: u64,
    /// All runs with a label.
    pub of: u64,
    /// Wilson's interval.
    pub interval: Option<(f64, f64)>,
}

impl Share {
    #[expect(clippy::cast_precision_loss, reason = "numbers of runs")]
    fn new(met: usize, of: usize) -> Self {
        let interval = wilson(met as f64, of as f64, 0.95).ok().map(|ci| (ci.low, ci.high));
        Self { met: met as u64, of: of as u64, interval }
    }
}

/// One labelled run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// The run, as its place among the rows.
    pub run: u32,
    /// The labelled record, from 0, and agent.
    pub label: (u32, Option<String>),
    /// The named record, from 0, and agent; `None` where nothing was named.
    pub named: Option<(u32, String)>,
    /// The record and agent of the guess that knows nothing: the first action.
    pub naive: Option<(u32, String)>,
}

/// How well something names the labelled step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// The labelled step itself.
    pub exact: Share,
    /// It or one beside it.
    pub within_one: Share,
    /// The labelled agent.
    pub agent: Share,
}

/// Turning points against labels.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelScore {
    /// Every labelled run.
    pub runs: Vec<Labelled>,
    /// Of the turning points.
    pub named: Accuracy,
    /// Of the first action of each run.
    pub naive: Accuracy,
}

/// Holds the turning points against the labels that runs carry; `None` without any.
#[must_use]
pub fn score_labels(
    rows: &[RunRow],
    facts: &[RunFacts],
    attribution: &Attribution,
) -> Option<LabelScore> {
    let mut runs = Vec::new();
    for (at, (row, facts)) in (0..).zip(rows.iter().zip(facts)) {
        let step = row.tag(STEP_LABEL).and_then(|text| text.trim().parse().ok());
        let Some(step) = step else { continue };
        // Turns are in the order of the runs.
        let turn = attribution.turns.binary_search_by_key(&at, |turn| turn.run).ok();
        let turn = turn.and_then(|found| attribution.turns.get(found));
        let first =
            facts.first_action.and_then(|step| facts.steps.iter().find(|s| s.position == step));
        runs.push(Labelled {
            run: at,
            label: (step, row.tag(AGENT_LABEL).map(str::to_owned)),
            named: turn.map(|turn| (turn.record, turn.action.clone())),
            naive: first.map(|fact| (fact.record, fact.label.to_string())),
        });
    }
    if runs.is_empty() {
        return None;
    }
    let accuracy = |of: fn(&Labelled) -> &Option<(u32, String)>| {
        let met = |holds: &dyn Fn(&Labelled, &(u32, String)) -> bool, all: usize| {
            let count = runs.iter().filter(|run| of(run).as_ref().is_some_and(|at| holds(run, at)));
            Share::new(count.count(), all)
        };
        let agents = runs.iter().filter(|run| run.label.1.is_some()).count();
        Accuracy {
            exact: met(&|run, at| at.0 == run.label.0, runs.len()),
            within_one: met(&|run, at| at.0.abs_diff(run.label.0) <= 1, runs.len()),
            agent: met(
                &|run, at| run.label.1.as_deref().is_some_and(|agent| same_agent(agent, &at.1)),
                agents,
            ),
        }
    };
    let (named, naive) = (accuracy(|run| &run.named), accuracy(|run| &run.naive));
    Some(LabelScore { named, naive, runs })
}

/// Whether two names are of one agent: `Orchestrator (thought)` is the `Orchestrator`.
fn same_agent(a: &str, b: &str) -> bool {
    let bare = |name: &str| {
        name.split('(').next().unwrap_or(name).trim().to_ascii_lowercase().replace([' ', '_'], "")
    };
    bare(a) == bare(b)
}
