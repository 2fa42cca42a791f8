//! A finished step done again: the agent does not know what it has done ("amnesia").

use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "repeated_step",
    title: "a finished step is done again",
    about: "An action that passed is there again with the same input, and its output, where recorded, is the same; needs recorded inputs.",
    remedy: "Keep what was done and found in the agent's context or state, and let it look there before it acts.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

fn check(case: &Case<'_>, settings: &Settings, sink: &mut Sink<'_>) {
    let mut passed: std::collections::HashMap<u64, Vec<&Action<'_>>> = Default::default();
    if case.actions.iter().any(|action| action.attempt.input.is_some()) {
        sink.examined(1);
    }
    for action in &case.actions {
        let Some(input) = action.attempt.input else { continue };
        let before = passed.entry(input).or_default();
        if let Some(first) =
            before.iter().find(|first| first.same_as(action) && first.step != action.step)
        {
            let same_output =
                first.output.is_none() || action.output.is_none() || first.output == action.output;
            // What reads a state that changes may well be asked again: its answer is another one.
            if action.verdict == Verdict::Passed
                && (same_output || settings.has_side_effect(action.label()))
            {
                let which = first.step;
                sink.at(
                    action,
                    format!("step {which} did the same with the same input and passed"),
                );
            }
        }
        if action.verdict == Verdict::Passed {
            let before = passed.entry(input).or_default();
            if before.len() < 8 {
                before.push(action);
            }
        }
    }
}
