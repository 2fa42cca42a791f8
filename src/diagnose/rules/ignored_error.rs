//! A failure after which the run goes on as if nothing had happened.

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;
use crate::model::is_intervention;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "ignored_error",
    title: "a failure is passed over",
    about: "An action fails, is not tried again, its tool is never called again in the run, and the next action is another tool that passes and is no reflection, plan, approval or hand-over.",
    remedy: "Make the error visible to the agent (many frameworks hand it on as ordinary text), and let the loop stop or decide where a step has failed.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    let failed = case.actions.iter().any(|action| action.verdict == Verdict::Failed);
    if failed {
        sink.examined(1);
    }
    for (at, action) in case.actions.iter().enumerate() {
        let rest = case.actions.get(at + 1..).unwrap_or_default();
        let Some(next) = rest.first() else { continue };
        let again = rest.iter().any(|later| later.label() == action.label());
        let goes_on = next.verdict == Verdict::Passed && next.step != action.step;
        if action.verdict == Verdict::Failed
            && !again
            && goes_on
            && !answers(next.label(), next.kind)
        {
            let kind = action.error_type.unwrap_or("an error");
            sink.at(
                action,
                format!("{kind}; the run went on with {} and never came back", next.label()),
            );
        }
    }
}

/// Whether an action answers a failure: it thinks, asks or hands over.
fn answers(label: &str, kind: &str) -> bool {
    const WORDS: [&str; 10] = [
        "think", "reflect", "plan", "human", "escalat", "handoff", "hand_off", "transfer",
        "ticket", "ask",
    ];
    let label = label.to_ascii_lowercase();
    is_intervention(kind) || WORDS.iter().any(|word| label.contains(word) || kind.contains(word))
}
