//! Fields without which a failure cannot be traced.

use crate::diagnose::{Check, Facts, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "missing_fields",
    title: "a field is missing that failures are traced by",
    about: "More than the limit's share of runs lacks a run id or task id, of attempts an input or times, or of failed attempts both a type and a message of the error.",
    remedy: "Log the field: without it failures cannot be grouped, found again, or compared with a baseline.",
    grade: Grade::Note,
    limit: Some((0.5, "share that may be without")),
    check: Check::Set(check),
};

#[expect(clippy::cast_precision_loss, reason = "numbers of runs and attempts")]
fn check(facts: &Facts<'_>, _: &Settings, sink: &mut Sink<'_>) {
    let rows = facts.rows;
    sink.examined(rows.len() as u64);
    let calls = || facts.runs.iter().flat_map(|run| &run.calls);
    let failed = || calls().filter(|call| call.passed == Some(false));
    let runs = rows.len();
    let (attempts, failures) = (calls().count(), failed().count());
    let fields = [
        (
            "run_id",
            rows.iter().filter(|row| row.run_id.is_none()).count(),
            runs,
            "runs",
            "runs cannot be named",
        ),
        (
            "task_id",
            rows.iter().filter(|row| row.task_id.is_none()).count(),
            runs,
            "runs",
            "runs cannot be paired with a baseline",
        ),
        (
            "input",
            calls().filter(|call| call.input.is_none()).count(),
            attempts,
            "attempts",
            "repeats and unchanged retries cannot be told",
        ),
        (
            "duration",
            calls().filter(|call| call.seconds.is_none()).count(),
            attempts,
            "attempts",
            "timeouts cannot be checked",
        ),
        (
            "error",
            failed().filter(|call| !call.explained).count(),
            failures,
            "failed attempts",
            "failures cannot be grouped",
        ),
    ];
    let limit = sink.limit();
    for (field, without, of, noun, harm) in fields {
        if of > 0 && without as f64 / of as f64 > limit {
            sink.about(Some(field), format!("{without} of {of} {noun} have none: {harm}"));
        }
    }
}
