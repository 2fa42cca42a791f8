//! A failed action tried again with nothing changed.

use std::collections::HashMap;

use super::empty_reflection::reflects;
use crate::diagnose::commands::{Before, Manner, manner};
use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "identical_retry",
    title: "a failed action is tried again unchanged",
    about: "A retry has the input of the failed attempt before it and fails again, or a later call has the input of one that failed and fails with the same type and message, and the error is none that waiting mends (timeouts, rate limits and unreachable services are left out). Of later calls those are left out that follow a reflection alone, which `empty_reflection` tells of, those that a wait comes before, and commands and checks after something else that may have changed what they see; needs recorded inputs.",
    remedy: "Put the error into the agent's context and require a changed input, or stop after the first failure of this kind.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    let mut examined = false;
    for step in case.steps() {
        for pair in step.windows(2) {
            let [first, second] = pair else { continue };
            if first.verdict != Verdict::Failed || first.attempt.input.is_none() {
                continue;
            }
            examined = true;
            if second.same_as(first) && second.verdict == Verdict::Failed && !may_mend(first) {
                let kind = first.fault();
                sink.at(second, format!("the same input again after {kind}, and it failed again"));
            }
        }
    }
    // What comes after what is not known there.
    if !case.run.order_unknown {
        examined |= later(case, sink);
    }
    if examined {
        sink.examined(1);
    }
}

/// Calls that come again after others and fail as before; says whether there was one to come again.
fn later(case: &Case<'_>, sink: &mut Sink<'_>) -> bool {
    let mut failed: HashMap<(&str, u64), (usize, &Action<'_>)> = HashMap::new();
    let history = Before::default();
    let mut unlike_reflection = 0;
    let mut examined = false;
    for (at, action) in case.actions.iter().enumerate() {
        let key = action.attempt.input.map(|input| (action.label(), input));
        let before = key.and_then(|key| failed.get(&key).copied());
        // Attempts of one step that follow each other are held against each other already.
        let apart =
            |(place, first): &(usize, &Action<'_>)| first.step != action.step || place + 1 < at;
        if let Some((place, first)) = before.filter(apart) {
            examined = true;
            let again = action.verdict == Verdict::Failed
                && action.same_as(first)
                && fails_alike(first, action)
                && !may_mend(first);
            // Nothing but reflections in between: the rule of those tells.
            let reflected = place + 1 < at && unlike_reflection <= place;
            let may_differ = || {
                let last = history.of(at, &case.actions);
                let changed = last.change.is_some_and(|change| change > place);
                last.wait.is_some_and(|wait| wait > place)
                    || (changed && manner(action) == Some(Manner::Runs))
            };
            if again && !reflected && !may_differ() {
                let which = match (first.step == action.step, first.number) {
                    (true, number) => format!("attempt {number} of this step"),
                    (false, 1) => format!("step {}", first.step),
                    (false, number) => format!("step {} attempt {number}", first.step),
                };
                let evidence =
                    format!("the same input as {which}, and it failed again in the same way");
                sink.at(action, evidence);
            }
        }
        match (key, action.verdict) {
            (Some(key), Verdict::Failed) => _ = failed.insert(key, (at, action)),
            (Some(key), Verdict::Passed) => _ = failed.remove(&key),
            _ => {}
        }
        if !reflects(action.kind, action.name) {
            unlike_reflection = at;
        }
    }
    examined
}

/// Whether two calls failed with one type and one message; one of them must be recorded.
fn fails_alike(first: &Action<'_>, second: &Action<'_>) -> bool {
    let told = first.fault() != "an error" || first.message().is_some_and(|text| !text.is_empty());
    told && first.error_type == second.error_type && first.message() == second.message()
}

/// Whether waiting may mend the error of an action.
fn may_mend(action: &Action<'_>) -> bool {
    action.error_type.is_some_and(is_transient) || action.message().is_some_and(is_transient)
}

/// Whether waiting may mend an error of this type or message.
fn is_transient(text: &str) -> bool {
    const SIGNS: [&str; 11] = [
        "timeout",
        "timed out",
        "timed_out",
        "rate limit",
        "rate_limit",
        "ratelimit",
        "too many requests",
        "unavailable",
        "overloaded",
        "connection",
        "temporar",
    ];
    let text = text.to_ascii_lowercase();
    // Codes count as words alone: order 14290 is no rate limit.
    let code =
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| w == "429" || w == "503");
    SIGNS.iter().any(|sign| text.contains(sign)) || code()
}
