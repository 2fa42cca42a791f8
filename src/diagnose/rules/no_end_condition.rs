//! A run that only its limit ended, while it repeated itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::{Limit, Verdict};
use crate::model::Final;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "no_end_condition",
    title: "only the limit ended the run, while it repeated itself",
    about: "A run ends at a limit of steps, turns, tokens or time, as recorded or by the config, and at least half of its last actions (as many as the limit of this rule) have been there before with the same input, and ended as they did then (a call that failed and passes now is a step forward, and another output is news); needs recorded inputs.",
    remedy: "Say in the task when it is done, check after each step whether it is, and stop when nothing new is done.",
    grade: Grade::Warning,
    limit: Some((6.0, "last actions that are looked at")),
    check: Check::Run(check),
};

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    // What comes after what is not known there.
    if case.run.order_unknown {
        return;
    }
    if !ended_at_a_limit(case) {
        return;
    }
    // One tool many times with inputs that nobody knows may be work.
    if !case.actions.iter().any(|action| action.attempt.input.is_some()) {
        return;
    }
    sink.examined(1);
    let last = sink.limit().max(2.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    let last = (last as usize).min(case.actions.len());
    let from = case.actions.len() - last;
    let mut seen: BTreeSet<Seen<'_>> = BTreeSet::new();
    let mut repeated = 0;
    let mut most: BTreeMap<&str, u32> = BTreeMap::new();
    for (at, action) in case.actions.iter().enumerate() {
        let Some(input) = action.attempt.input else { continue };
        // The words of an error often hold a time or an id.
        let output = action.output.filter(|_| action.verdict != Verdict::Failed);
        let new = seen.insert((action.label(), input, action.verdict == Verdict::Failed, output));
        if at >= from && !new {
            repeated += 1;
            *most.entry(action.label()).or_default() += 1;
        }
    }
    let Some(end) = case.actions.last().filter(|_| last >= 2 && repeated * 2 >= last) else {
        return;
    };
    let label = most.iter().max_by_key(|(_, times)| **times).map_or("", |(label, _)| label);
    sink.at(
        end,
        format!("{repeated} of the last {last} actions had been there before, mostly {label}"),
    );
}

/// What an action did, whether it failed, and what it gave.
type Seen<'c> = (&'c str, u64, bool, Option<&'c str>);

/// Whether a limit ended the run, by the config or by its own word.
fn ended_at_a_limit(case: &Case<'_>) -> bool {
    if matches!(
        case.row().limit,
        Some(Limit::MaxSteps | Limit::TimeoutSeconds | Limit::MaxTotalTokens)
    ) {
        return true;
    }
    let words = [case.run.end_reason.as_deref(), case.run.status.as_deref()];
    words.into_iter().flatten().any(says_limit) || error_of(case).is_some_and(|e| names_turns(&e))
}

/// The error that ended a run whose format has no field for it but in the result.
fn error_of(case: &Case<'_>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Ended<'e> {
        #[serde(borrow, default)]
        error: Option<&'e RawValue>,
    }
    let Final::Json(text) = &case.run.final_output else { return None };
    let ended: Ended<'_> = serde_json::from_str(text).ok()?;
    serde_json::from_str(ended.error?.get()).ok()
}

/// Whether the text of an error tells of a limit of turns. A timeout in it may be one of a tool.
fn names_turns(error: &str) -> bool {
    let error = error.to_ascii_lowercase();
    let of = |words: &[&str]| words.iter().any(|part| error.contains(part));
    of(&["max turns", "max_turns", "maxturns", "max steps", "max_steps", "maxsteps"])
        || (of(&["maximum number of", "max iterations", "limit of", "too many"])
            && of(&["turn", "step", "iteration"]))
        || (of(&["recursion limit"]) && of(&["reached", "exceeded"]))
}

/// Whether a word tells of a limit of the run. A rate limit is one of a service, and a limit of what
/// fits a context or one answer ends no circle.
fn says_limit(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let of = |words: &[&str]| words.iter().any(|part| word.contains(part));
    if of(&["rate", "context", "max_tokens", "length"]) {
        return false;
    }
    let bound = of(&["max", "limit", "exceed", "too many", "too_many", "out of", "budget"]);
    let of_what = of(&["step", "turn", "iteration", "message", "time", "token", "limit", "round"]);
    (bound && of_what) || of(&["timeout", "timed out", "timed_out"])
}

#[cfg(test)]
mod tests {
    use super::{names_turns, says_limit};

    #[test]
    fn limits_of_the_run_are_told_from_those_of_a_service() {
        for word in
            ["max_steps", "MaxTurnsExceeded", "time limit", "timed_out", "too many messages"]
        {
            assert!(says_limit(word), "{word}");
        }
        for word in ["rate limit exceeded", "context_length_exceeded", "max_tokens", "completed"] {
            assert!(!says_limit(word), "{word}");
        }
    }

    #[test]
    fn an_error_names_a_limit_of_turns_and_no_timeout_of_a_tool() {
        for error in ["Max turns exceeded: {'max_turns': 2}", "Recursion limit of 25 reached"] {
            assert!(names_turns(error), "{error}");
        }
        for error in ["TimeoutError('upstream timed out after 5s')", "too many requests"] {
            assert!(!names_turns(error), "{error}");
        }
    }
}
