//! Where passing and failing runs of one task part, and the step at which each failed run turned.
//!
//! Owns: the exact test, within tasks, of each action at each step and anywhere in the run, among the
//! runs that got that far, corrected over all that are tested; and the turning point of a run, by what is recorded first and by
//! comparison with completed runs of its task second. Refuses to call a part a cause: it is where to
//! look first.

use std::collections::{BTreeMap, BTreeSet};

use super::RunFacts;
use crate::evaluate::RunRow;
use crate::stats::{Stratum, holm, smallest_p, stratified_exact};

/// Steps from the start that are compared.
const MOST_STEPS: usize = 50;

/// Actions that are tested at most, the most common first.
const MOST_TESTS: usize = 500;

/// The level at which an action is told from chance.
const LEVEL: f64 = 0.05;

/// Runs that must have an action, and must not have it, for it to be tested.
const LEAST: u64 = 3;

/// An action that is more common in runs of one outcome than in those of the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Parting {
    /// The step, from 1; `None` for anywhere in the run.
    pub step: Option<u32>,
    /// Tool or node, with ` failed` where the step failed in the end.
    pub action: String,
    /// Runs that were not completed and got as far: those with it, and all, of tasks in which it is
    /// there.
    pub failed: (u64, u64),
    /// Completed runs: the same.
    pub completed: (u64, u64),
    /// Two-sided mid-p of the exact test within tasks.
    pub p: f64,
    /// The same, corrected over all actions that were tested (Holm).
    pub p_adjusted: f64,
}

/// How a turning point is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnSign {
    /// A step failed and was not recovered.
    FailedStep,
    /// The output of a step tells of a failure in words.
    FailureInText,
    /// From this step on no completed run of the task did the same.
    PartsFromCompleted,
    /// There is no sign: the first action of the run.
    FirstAction,
}

impl TurnSign {
    /// Its word in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FailedStep => "failed_step",
            Self::FailureInText => "failure_in_text",
            Self::PartsFromCompleted => "parts_from_completed",
            Self::FirstAction => "first_action",
        }
    }

    /// The same in words.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::FailedStep => "it failed and was not recovered",
            Self::FailureInText => "its output tells of a failure",
            Self::PartsFromCompleted => "no completed run of the task went on like this",
            Self::FirstAction => "there is no sign: the first action",
        }
    }
}

/// The step at which a failed run most likely turned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The run, as its place among the rows.
    pub run: u32,
    /// The step, from 1.
    pub step: u32,
    /// Which record of the run it is, from 0.
    pub record: u32,
    /// Tool, node or agent.
    pub action: String,
    /// How it is known.
    pub sign: TurnSign,
}

/// What comparing runs of the same tasks tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attribution {
    /// Tasks with a completed run and one that was not.
    pub tasks: u64,
    /// Their runs.
    pub runs: u64,
    /// Actions that were tested.
    pub tested: u64,
    /// Whether any of them could have been told from chance, however the runs had ended: else there
    /// are too few runs, and a large p-value says nothing.
    pub could_tell: bool,
    /// The actions, the smallest p-value first.
    pub partings: Vec<Parting>,
    /// The turning points of runs that ended without being completed.
    pub turns: Vec<Turn>,
}

/// Actions of a run as they are compared.
fn actions(facts: &RunFacts) -> Vec<String> {
    let steps = facts.steps.iter().take(MOST_STEPS);
    steps
        .map(|step| match step.last {
            Some(false) => format!("{} failed", step.label),
            _ => step.label.to_string(),
        })
        .collect()
}

/// Compares the runs of each task, and names the turning points.
#[must_use]
pub fn attribute(rows: &[RunRow], facts: &[RunFacts]) -> Attribution {
    let mut tasks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some(task) = row.task_id.as_deref().filter(|_| row.counts_as_ended()) {
            tasks.entry(task).or_default().push(at);
        }
    }
    let mixed: Vec<&Vec<usize>> = tasks
        .values()
        .filter(|runs| {
            let completed = runs.iter().filter(|at| rows[**at].completed()).count();
            completed > 0 && completed < runs.len()
        })
        .collect();
    let mut found = Attribution {
        tasks: mixed.len() as u64,
        runs: mixed.iter().map(|runs| runs.len() as u64).sum(),
        ..Attribution::default()
    };
    // Names are made for runs alone that are compared with others.
    let compared: BTreeSet<usize> = mixed.iter().flat_map(|runs| runs.iter().copied()).collect();
    let names: Names = compared.into_iter().map(|at| (at, actions(&facts[at]))).collect();
    test(rows, &names, &mixed, &mut found);
    found.turns = turns(rows, facts, &names, &tasks);
    found
}

/// The actions of runs that are compared, by their place among the rows.
type Names = BTreeMap<usize, Vec<String>>;

/// The actions of a run that is compared; of others none.
fn of(names: &Names, at: usize) -> &[String] {
    names.get(&at).map_or(&[], Vec::as_slice)
}

/// An action and where it is looked for.
type Key<'k> = (Option<u32>, &'k str);

fn keys(names: &[String]) -> BTreeSet<Key<'_>> {
    let placed = (1..).zip(names).map(|(step, name)| (Some(step), name.as_str()));
    placed.chain(names.iter().map(|name| (None, name.as_str()))).collect()
}

/// The first step of each action in the runs of a task.
fn first_steps<'n>(names: &'n Names, runs: &[usize]) -> BTreeMap<&'n str, u32> {
    let mut first = BTreeMap::new();
    for at in runs {
        for (step, name) in (1..).zip(of(names, *at)) {
            let known = first.entry(name.as_str()).or_insert(step);
            *known = step.min(*known);
        }
    }
    first
}

/// Of the runs of each task that get as far as an action, those with it and those without. A run that
/// ended before says nothing of the action: failed runs are often short, and lack all that comes late.
fn strata<'n>(
    rows: &[RunRow],
    names: &'n Names,
    mixed: &[&Vec<usize>],
) -> BTreeMap<Key<'n>, Vec<Stratum>> {
    let mut all: BTreeMap<Key<'_>, Vec<Stratum>> = BTreeMap::new();
    for runs in mixed {
        // Runs of at least as many steps, by outcome, for every number of steps.
        let mut reach = vec![(0_u32, 0_u32); MOST_STEPS + 1];
        for at in runs.iter() {
            for (candidate, baseline) in reach.iter_mut().take(of(names, *at).len() + 1) {
                *(if rows[*at].completed() { baseline } else { candidate }) += 1;
            }
        }
        let first = first_steps(names, runs);
        let mut here: BTreeMap<Key<'_>, Stratum> = BTreeMap::new();
        for at in runs.iter() {
            for key in keys(of(names, *at)) {
                let from = key.0.or_else(|| first.get(key.1).copied()).unwrap_or(1);
                let (candidate_runs, baseline_runs) =
                    reach.get(from as usize).copied().unwrap_or_default();
                let stratum = here.entry(key).or_insert(Stratum {
                    candidate_runs,
                    baseline_runs,
                    ..Stratum::default()
                });
                if rows[*at].completed() {
                    stratum.baseline_successes += 1;
                } else {
                    stratum.candidate_successes += 1;
                }
            }
        }
        for (key, stratum) in here {
            all.entry(key).or_default().push(stratum);
        }
    }
    all
}

fn test(rows: &[RunRow], names: &Names, mixed: &[&Vec<usize>], found: &mut Attribution) {
    let strata = strata(rows, names, mixed);
    let sum = |strata: &[Stratum], of: fn(&Stratum) -> u32| -> u64 {
        strata.iter().map(|stratum| u64::from(of(stratum))).sum()
    };
    let with = |strata: &[Stratum]| {
        sum(strata, |s| s.candidate_successes) + sum(strata, |s| s.baseline_successes)
    };
    let all =
        |strata: &[Stratum]| sum(strata, |s| s.candidate_runs) + sum(strata, |s| s.baseline_runs);
    // What always comes at one step is told of that step alone.
    let placed: BTreeSet<(&str, &[Stratum])> = strata
        .iter()
        .filter(|((step, _), _)| step.is_some())
        .map(|((_, action), strata)| (*action, strata.as_slice()))
        .collect();
    let mut tested: Vec<(Key<'_>, &[Stratum])> = strata
        .iter()
        .map(|(key, strata)| (*key, strata.as_slice()))
        .filter(|((step, action), strata)| step.is_some() || !placed.contains(&(*action, *strata)))
        .filter(|(_, strata)| with(strata) >= LEAST && all(strata) - with(strata) >= LEAST)
        .collect();
    tested.sort_by(|(a, x), (b, y)| with(y).cmp(&with(x)).then(a.cmp(b)));
    tested.truncate(MOST_TESTS);
    let p: Vec<f64> = tested
        .iter()
        .map(|(_, strata)| {
            let tails = stratified_exact(strata).mid;
            (2.0 * tails.less.min(tails.greater)).min(1.0)
        })
        .collect();
    let adjusted = holm(&p);
    // The smallest p-value that the numbers of runs allow, corrected as the first of all.
    let sizes = |strata: &[Stratum]| {
        smallest_p(strata.iter().map(|stratum| (stratum.candidate_runs, stratum.baseline_runs)))
    };
    found.could_tell =
        tested.iter().any(|(_, strata)| sizes(strata) * tested.len() as f64 <= LEVEL);
    found.tested = tested.len() as u64;
    found.partings = tested
        .iter()
        .zip(p.iter().zip(adjusted))
        .map(|(((step, action), strata), (p, p_adjusted))| Parting {
            step: *step,
            action: (*action).to_owned(),
            failed: (sum(strata, |s| s.candidate_successes), sum(strata, |s| s.candidate_runs)),
            completed: (sum(strata, |s| s.baseline_successes), sum(strata, |s| s.baseline_runs)),
            p: *p,
            p_adjusted,
        })
        .collect();
    found.partings.sort_by(|a, b| {
        a.p.total_cmp(&b.p).then_with(|| (a.step, &a.action).cmp(&(b.step, &b.action)))
    });
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn turns(
    rows: &[RunRow],
    facts: &[RunFacts],
    names: &Names,
    tasks: &BTreeMap<&str, Vec<usize>>,
) -> Vec<Turn> {
    // The starts of the completed runs of each task, to the longest that is compared.
    let mut starts: BTreeMap<&str, BTreeSet<&[String]>> = BTreeMap::new();
    for (task, runs) in tasks {
        for at in runs.iter().filter(|at| rows[**at].completed()) {
            let names = of(names, *at);
            let prefixes = (1..=names.len()).map(|length| &names[..length]);
            starts.entry(task).or_default().extend(prefixes);
        }
    }
    let mut found = Vec::new();
    for (at, (row, facts)) in rows.iter().zip(facts).enumerate() {
        if !row.outcome.ended() || row.completed() || row.mid.is_none() {
            continue;
        }
        let place = |step: u32, sign| {
            let fact = facts.steps.iter().find(|fact| fact.position == step)?;
            let run = u32::try_from(at).ok()?;
            Some(Turn { run, step, record: fact.record, action: fact.label.to_string(), sign })
        };
        let parted = || {
            let starts = starts.get(row.task_id.as_deref()?)?;
            let names = of(names, at);
            let step = (1..=names.len()).find(|length| !starts.contains(&names[..*length]))?;
            place(small(step), TurnSign::PartsFromCompleted)
        };
        let turn = row
            .turned_at
            .and_then(|step| place(step, TurnSign::FailedStep))
            .or_else(|| facts.tells_failure.and_then(|step| place(step, TurnSign::FailureInText)))
            .or_else(parted)
            .or_else(|| place(facts.first_action?, TurnSign::FirstAction));
        found.extend(turn);
    }
    found
}
