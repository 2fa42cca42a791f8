//! A finished step done again: the agent does not know what it has done ("amnesia").

use std::collections::HashMap;

use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;
use crate::model::is_intervention;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "repeated_step",
    title: "a finished step is done again",
    about: "An action that passed is there again with the same input, and its output, where recorded, is the same; approvals and human steps are left out, and tools with side effects, which `unsafe_retry` tells of; needs recorded inputs.",
    remedy: "Keep what was done and found in the agent's context or state, and let it look there before it acts.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

/// Passed calls of one tool with one input that later ones are held against.
const KEPT: usize = 8;

fn check(case: &Case<'_>, settings: &Settings, sink: &mut Sink<'_>) {
    let mut passed: HashMap<(&str, u64), Vec<&Action<'_>>> = HashMap::new();
    if case.actions.iter().any(|action| action.attempt.input.is_some()) {
        sink.examined(1);
    }
    for action in case.actions.iter().filter(|action| action.verdict == Verdict::Passed) {
        let Some(input) = action.attempt.input else { continue };
        // People may well be asked the same thing twice; `unsafe_retry` tells of effects that are.
        if is_intervention(action.kind) || settings.has_side_effect(action.label()) {
            continue;
        }
        // What reads a state that changes may well be asked again: its answer is another one.
        let before = passed.entry((action.label(), input)).or_default();
        let first = before.iter().find(|first| {
            let same =
                first.output.is_none() || action.output.is_none() || first.output == action.output;
            first.same_as(action) && first.step != action.step && same
        });
        if let Some(first) = first {
            let which = first.step;
            sink.at(action, format!("step {which} did the same with the same input and passed"));
        }
        if before.len() < KEPT {
            before.push(action);
        }
    }
}
