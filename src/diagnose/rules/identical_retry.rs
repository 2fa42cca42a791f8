//! A failed action tried again with nothing changed.

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "identical_retry",
    title: "a failed action is tried again unchanged",
    about: "A retry has the input of the failed attempt before it and fails again, and the error is none that waiting mends (timeouts, rate limits and unreachable services are left out); needs recorded inputs.",
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
            let transient = first.error_type.is_some_and(is_transient)
                || first.message().is_some_and(is_transient);
            if second.same_as(first) && second.verdict == Verdict::Failed && !transient {
                let kind = first.error_type.unwrap_or("an error");
                sink.at(second, format!("the same input again after {kind}, and it failed again"));
            }
        }
    }
    if examined {
        sink.examined(1);
    }
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
