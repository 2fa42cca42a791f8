//! A call with effects outside the run that may have been done, and is made again: the mail sent twice.

use std::collections::HashMap;

use crate::diagnose::names::begins_with;
use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;
use crate::model::is_intervention;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "unsafe_retry",
    title: "a call with side effects is made again though it may have been done",
    about: "A tool with side effects (`side_effects` of the config, else names that begin with send, charge, refund, pay, book, purchase, publish or delete) is called again with the same input, in the same step or later, after an attempt that passed, has no result, or ended in an error that says nothing of whether it was done (a timeout, a lost connection, no type); a call that was refused, skipped, waits for an approval or was turned away by a rate limit was not done, a pending or running one that is the record right before is the same call, and one before a passed call that cancels, undoes, reverts, voids or revokes may be done anew.",
    remedy: "Give each request an id of its own that a retry keeps, let the tool drop repeated ids, and ask what became of the first request before it is made again.",
    grade: Grade::Error,
    limit: None,
    check: Check::Run(check),
};

fn check(case: &Case<'_>, settings: &Settings, sink: &mut Sink<'_>) {
    let has_effect = |action: &Action<'_>| settings.has_side_effect(action.label());
    if !case.actions.iter().any(has_effect) {
        return;
    }
    sink.examined(1);
    // Of a longer row each call is held against the one before it.
    let mut last: HashMap<(&str, u64), (usize, &Action<'_>)> = HashMap::new();
    let mut last_of_step: HashMap<(&str, u32), (usize, &Action<'_>)> = HashMap::new();
    // Records so far, but for approvals and people, who come between the records of one call.
    let mut at = 0;
    for call in &case.actions {
        at += usize::from(!is_intervention(call.kind));
        if call.verdict == Verdict::Passed && undoes(call.label()) {
            // What was done before may be what was undone, and is then rightly done anew.
            last.clear();
            last_of_step.clear();
        }
        if !has_effect(call) {
            continue;
        }
        let label = call.label();
        let earlier = match call.attempt.input {
            Some(input) => last.insert((label, input), (at, call)),
            None => last_of_step.get(&(label, call.step)).copied(),
        };
        last_of_step.insert((label, call.step), (at, call));
        let done = |(before, earlier): &(usize, &Action<'_>)| {
            may_be_done(earlier) && !(before + 1 == at && goes_on(earlier, call))
        };
        let Some((_, earlier)) = earlier.filter(done) else { continue };
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

/// Whether a tool takes something back, by the word that its name begins with.
fn undoes(tool: &str) -> bool {
    const WORDS: [&str; 7] = ["cancel", "undo", "revert", "rollback", "reverse", "void", "revoke"];
    begins_with(tool, &WORDS)
}

/// Whether an attempt may have had its effect.
fn may_be_done(action: &Action<'_>) -> bool {
    match action.verdict {
        Verdict::Passed => true,
        Verdict::Neither => !was_held_back(action.attempt.status.as_deref().unwrap_or_default()),
        Verdict::Failed => {
            let kind = action.error_type.unwrap_or_default();
            let silent = ["", "unspecified", "unknown_retry_error"].contains(&kind);
            let status = action.attempt.status.as_deref().unwrap_or_default();
            (silent && action.message().is_none())
                || [kind, action.message().unwrap_or_default(), status].into_iter().any(is_lost)
        }
    }
}

/// A status in lower case, its words joined by `_`.
fn plain(status: &str) -> String {
    status.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

/// Whether a status says that the call was never made, or waits for somebody.
fn was_held_back(status: &str) -> bool {
    const WORDS: [&str; 5] = ["denied", "rejected", "declined", "skipped", "requires_action"];
    let status = plain(status);
    let waits = ["waiting", "awaiting", "pending", "requires", "needs"]
        .iter()
        .any(|word| status.starts_with(word));
    let for_somebody = ["approval", "confirmation", "human", "review", "user", "input"]
        .iter()
        .any(|word| status.contains(word));
    WORDS.contains(&status.as_str()) || (waits && for_somebody)
}

/// Whether a record only tells that the call is under way, and the next one what became of it.
fn goes_on(earlier: &Action<'_>, call: &Action<'_>) -> bool {
    const WORDS: [&str; 11] = [
        "waiting",
        "awaiting",
        "pending",
        "queued",
        "scheduled",
        "created",
        "started",
        "running",
        "in_progress",
        "processing",
        "unfinished",
    ];
    let status = plain(earlier.attempt.status.as_deref().unwrap_or_default());
    let ids = (earlier.attempt.request_id.as_deref(), call.attempt.request_id.as_deref());
    let another = matches!(ids, (Some(first), Some(second)) if first != second);
    earlier.verdict == Verdict::Neither && WORDS.contains(&status.as_str()) && !another
}

/// Whether an error leaves open what the other side did: no answer came, or none that tells.
fn is_lost(text: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "timeout",
        "timed out",
        "timed_out",
        "time out",
        "gateway",
        "connection",
        "disconnect",
        "broken pipe",
    ];
    let text = text.to_ascii_lowercase();
    // A connection that was refused carried nothing.
    SIGNS.iter().any(|sign| text.contains(sign)) && !text.contains("refused")
}
