//! A call with effects outside the run that may have been done, and is made again: the mail sent twice.

use super::identical_retry::is_transient;
use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "unsafe_retry",
    title: "a call with side effects is made again though it may have been done",
    about: "A tool with side effects (`side_effects` of the config, else names that begin with send, charge, refund, pay, book, purchase, publish or delete) is called again with the same input, in the same step or later, after an attempt that passed, has no result, or ended in an error that says nothing of whether it was done (a timeout, a lost connection, no type).",
    remedy: "Give each request an id of its own that a retry keeps, let the tool drop repeated ids, and ask what became of the first request before it is made again.",
    grade: Grade::Error,
    limit: None,
    check: Check::Run(check),
};

fn check(case: &Case<'_>, settings: &Settings, sink: &mut Sink<'_>) {
    let calls: Vec<&Action<'_>> =
        case.actions.iter().filter(|action| settings.has_side_effect(action.label())).collect();
    if calls.is_empty() {
        return;
    }
    sink.examined(1);
    for (at, call) in calls.iter().enumerate() {
        // Of a longer row each call is held against the one before it.
        let earlier = calls[..at].iter().rev().find(|earlier| {
            let one_step = call.step == earlier.step && call.attempt.input.is_none();
            call.same_as(earlier) || (one_step && call.label() == earlier.label())
        });
        let Some(earlier) = earlier.filter(|earlier| may_be_done(earlier)) else { continue };
        let outcome = match earlier.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "may have been done",
            Verdict::Neither => "has no result",
        };
        let ids = (earlier.attempt.request_id.as_deref(), call.attempt.request_id.as_deref());
        let told = match ids {
            (Some(first), Some(second)) if first == second => {
                "it reuses the request id, which is safe only where the tool drops repeated ids"
            }
            (Some(_), Some(_)) => {
                "it has a request id of its own, so the tool takes it for another request"
            }
            _ => "there is no request id that the tool could know it by",
        };
        let place = format!("step {} attempt {}", earlier.step, earlier.number);
        sink.at(call, format!("the same call at {place} {outcome}; {told}"));
    }
}

/// Whether an attempt may have had its effect.
fn may_be_done(action: &Action<'_>) -> bool {
    if action.verdict != Verdict::Failed {
        return true;
    }
    let kind = action.error_type.unwrap_or_default();
    let silent = kind.is_empty() || kind == "unspecified" || kind == "unknown_retry_error";
    silent && action.message().is_none()
        || is_transient(kind)
        || action.message().is_some_and(is_transient)
}
