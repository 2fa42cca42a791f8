//! Fields without which a failure cannot be traced.

use std::collections::BTreeSet;

use crate::diagnose::{CallFact, Check, Facts, Grade, Rule, RunFacts, Settings, Sink};
use crate::evaluate::RunRow;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "missing_fields",
    title: "a field is missing that failures are traced by",
    about: "More than the limit's share of runs lacks a run id (and is not told from the others by task and trial) or a task id, of attempts an input or times, or of failed attempts both a type and a message of the error.",
    remedy: "Log the field: without it failures cannot be grouped, found again, or compared with a baseline.",
    grade: Grade::Note,
    limit: Some((0.5, "share that may be without")),
    check: Check::Set(check),
};

/// Task and trial of a run.
type Name<'r> = (Option<&'r str>, Option<&'r str>);

fn name(row: &RunRow) -> Name<'_> {
    (row.task_id.as_deref(), row.trial.as_deref())
}

/// One field: whether a run, or each call that it concerns, lacks it, and what that harms.
struct Field {
    name: &'static str,
    noun: &'static str,
    harm: &'static str,
    /// Those that should have it, and those without; the names that more than one run has are given.
    of_run: fn(&RunRow, &RunFacts, &BTreeSet<Name<'_>>) -> (usize, usize),
}

/// Counts calls that should have a field, and those without.
fn calls(
    run: &RunFacts,
    asked: fn(&CallFact) -> bool,
    has: fn(&CallFact) -> bool,
) -> (usize, usize) {
    let asked = || run.calls.iter().filter(|call| asked(call));
    (asked().count(), asked().filter(|call| !has(call)).count())
}

const FIELDS: [Field; 5] = [
    Field {
        name: "run_id",
        noun: "runs",
        harm: "runs cannot be named",
        of_run: |row, _, shared| {
            // Task and trial are as good a name as an id, where no other run has them.
            let named = row.task_id.is_some() && !shared.contains(&name(row));
            (1, usize::from(row.run_id.is_none() && !named))
        },
    },
    Field {
        name: "task_id",
        noun: "runs",
        harm: "runs cannot be paired with a baseline",
        of_run: |row, _, _| (1, usize::from(row.task_id.is_none())),
    },
    Field {
        name: "input",
        noun: "attempts",
        harm: "repeats and unchanged retries cannot be told",
        of_run: |_, run, _| calls(run, |_| true, |call| call.input.is_some()),
    },
    Field {
        name: "duration",
        noun: "attempts",
        harm: "timeouts cannot be checked",
        of_run: |_, run, _| calls(run, |_| true, |call| call.seconds.is_some()),
    },
    Field {
        name: "error",
        noun: "failed attempts",
        harm: "failures cannot be grouped",
        of_run: |_, run, _| calls(run, |call| call.passed == Some(false), |call| call.explained),
    },
];

#[expect(clippy::cast_precision_loss, reason = "numbers of runs and attempts")]
fn check(facts: &Facts<'_>, _: &Settings, sink: &mut Sink<'_>) {
    sink.examined(facts.rows.len() as u64);
    let limit = sink.limit();
    let (mut names, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for row in facts.rows.iter().filter(|row| row.run_id.is_none()) {
        if !names.insert(name(row)) {
            shared.insert(name(row));
        }
    }
    let mut affected = vec![false; facts.rows.len()];
    for field in &FIELDS {
        let runs: Vec<(usize, usize)> = facts
            .rows
            .iter()
            .zip(facts.runs)
            .map(|(row, run)| (field.of_run)(row, run, &shared))
            .collect();
        let of: usize = runs.iter().map(|(of, _)| of).sum();
        let without: usize = runs.iter().map(|(_, without)| without).sum();
        if of == 0 || without as f64 / of as f64 <= limit {
            continue;
        }
        for (affected, (_, without)) in affected.iter_mut().zip(&runs) {
            *affected |= *without > 0;
        }
        let Field { name, noun, harm, .. } = field;
        sink.about(Some(name), format!("{without} of {of} {noun} have none: {harm}"));
    }
    sink.affected(affected.iter().filter(|affected| **affected).count() as u64);
}
