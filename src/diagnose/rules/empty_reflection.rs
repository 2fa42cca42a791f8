//! A reflection after which the agent does what had just failed.

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "empty_reflection",
    title: "a reflection changes nothing",
    about: "An action fails, steps of the type or name reflection, reflect, critique, think or replan follow, and then the same action with the same input comes again; needs recorded inputs.",
    remedy: "Give the reflection the error and the input that failed, and require an answer that names what is to change.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

/// Whether a step thinks about what was done.
pub(in crate::diagnose) fn reflects(kind: &str, name: Option<&str>) -> bool {
    const WORDS: [&str; 5] = ["reflect", "critique", "think", "replan", "self_review"];
    let is = |text: &str| {
        let text = text.to_ascii_lowercase();
        WORDS.iter().any(|word| text.contains(word))
    };
    is(kind) || name.is_some_and(is)
}

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    // What comes after what is not known there.
    if case.run.order_unknown {
        return;
    }
    if case.actions.iter().any(|action| reflects(action.kind, action.name)) {
        sink.examined(1);
    }
    for (at, action) in case.actions.iter().enumerate() {
        if action.verdict != Verdict::Failed || reflects(action.kind, action.name) {
            continue;
        }
        let rest = case.actions.get(at + 1..).unwrap_or_default();
        let thought = rest.iter().take_while(|later| reflects(later.kind, later.name)).count();
        let Some(next) = rest.get(thought).filter(|next| thought > 0 && next.same_as(action))
        else {
            continue;
        };
        sink.at(
            next,
            format!("the same call as step {} that failed, after a reflection", action.step),
        );
    }
}
