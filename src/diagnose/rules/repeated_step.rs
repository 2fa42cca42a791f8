//! A finished step done again: the agent does not know what it has done ("amnesia").

use std::collections::HashMap;

use crate::diagnose::commands::{Before, Manner, manner};
use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;
use crate::model::is_intervention;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "repeated_step",
    title: "a finished step is done again",
    about: "An action that passed is there again with the same input, and its output, where recorded, is the same; approvals and human steps are left out, what only waits (sleep), commands and checks that run again after something else that may have changed what they see, and tools with side effects, which `unsafe_retry` tells of; needs recorded inputs.",
    remedy: "Keep what was done and found in the agent's context or state, and let it look there before it acts.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

/// Passed calls of one tool with one input that later ones are held against.
const KEPT: usize = 8;

fn check(case: &Case<'_>, settings: &Settings, sink: &mut Sink<'_>) {
    let mut passed: HashMap<(&str, u64), Vec<(usize, &Action<'_>)>> = HashMap::new();
    let history = Before::default();
    if case.actions.iter().any(|action| action.attempt.input.is_some()) {
        sink.examined(1);
    }
    for (at, action) in case.actions.iter().enumerate() {
        let Some(input) = action.attempt.input.filter(|_| action.verdict == Verdict::Passed) else {
            continue;
        };
        // People may well be asked the same thing twice; `unsafe_retry` tells of effects that are.
        if is_intervention(action.kind) || settings.has_side_effect(action.label()) {
            continue;
        }
        // What reads a state that changes may well be asked again: its answer is another one.
        let before = passed.entry((action.label(), input)).or_default();
        let alike = |first: &Action<'_>| {
            let same =
                first.output.is_none() || action.output.is_none() || first.output == action.output;
            first.same_as(action) && first.step != action.step && same
        };
        // A check is rightly run again after a change, though it gives the same.
        let stale = |place| history.of(at, &case.actions).change.is_some_and(|at| at > place);
        let mut firsts = before.iter().filter(|(_, first)| alike(first)).peekable();
        let manner = firsts.peek().and_then(|_| manner(action));
        let first = match manner {
            Some(Manner::Waits) => None,
            Some(Manner::Runs) => firsts.find(|(place, _)| !stale(*place)),
            Some(Manner::Looks) | None => firsts.next(),
        };
        if let Some((_, first)) = first {
            let which = first.step;
            sink.at(action, format!("step {which} did the same with the same input and passed"));
        }
        // The last one is always kept: a check is held against its last run.
        if before.len() == KEPT {
            before.pop();
        }
        before.push((at, action));
    }
}
