//! A failure after which the run goes on as if nothing had happened.

use std::collections::HashMap;

use crate::diagnose::names::words;
use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;
use crate::model::{is_intervention, is_model_turn};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "ignored_error",
    title: "a failure is passed over",
    about: "An action fails, is not tried again, its tool is never called again in the run, and the next action is another tool that passes and is no reflection, plan, approval or hand-over, nor another way to the same end (a name that begins with the same two words), and the model said nothing in between. Other turns of the model are passed over, and calls that were made at the same time; calls of no known tool are left out, since nobody can come back to them.",
    remedy: "Make the error visible to the agent (many frameworks hand it on as ordinary text), and let the loop stop or decide where a step has failed.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    // What comes after what is not known there.
    if case.run.order_unknown {
        return;
    }
    // A turn of the model between two calls neither answers a failure nor goes on from it.
    let actions: Vec<&Action<'_>> = case.actions.iter().filter(|action| !is_turn(action)).collect();
    if actions.iter().any(|action| action.verdict == Verdict::Failed) {
        sink.examined(1);
    }
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, action) in actions.iter().enumerate() {
        last.insert(action.label(), at);
    }
    let with_turns = case.run.attempts.iter().any(|attempt| attempt.turn);
    for (at, action) in actions.iter().copied().enumerate() {
        if action.verdict != Verdict::Failed || reached_no_tool(action) {
            continue;
        }
        let rest = actions.get(at + 1..).unwrap_or_default();
        let mut after = rest.iter().take(MOST_PARALLEL).copied();
        let Some(next) = after.find(|next| !is_parallel(case, action, next, with_turns)) else {
            continue;
        };
        if next.verdict != Verdict::Passed {
            continue;
        }
        let again = last.get(action.label()).is_some_and(|last| *last > at);
        let answered = answers(next)
            || is_other_way(action.label(), next.label())
            || speaks_between(case, action, next);
        if !again && !answered && next.step != action.step {
            sink.at(
                action,
                format!(
                    "{}; the run went on with {} and never came back",
                    action.fault(),
                    next.label()
                ),
            );
        }
    }
}

/// Whether an action is a turn of the model; a node of a name that asks a model is a step.
fn is_turn(action: &Action<'_>) -> bool {
    action.attempt.turn || (action.name.is_none() && is_model_turn(action.kind))
}

/// Calls that are passed over as made at the same time as a failed one.
const MOST_PARALLEL: usize = 64;

/// Whether the second call was made before the failure of the first was known: it begins before the
/// first ends, or, without times, no turn of the model is between them where the run records turns.
fn is_parallel(case: &Case<'_>, failed: &Action<'_>, next: &Action<'_>, with_turns: bool) -> bool {
    if let Some(seconds) =
        failed.end.zip(next.start).and_then(|(end, start)| start.seconds_since(end))
    {
        return seconds < 0.0;
    }
    let between = (failed.record as usize).saturating_add(1)..next.record as usize;
    let records = case.run.attempts.get(between).unwrap_or_default();
    with_turns && failed.step != next.step && !records.iter().any(|record| record.turn)
}

/// Whether a call names no tool, or one of which the error says that it is not there: the type of a
/// step without a name is one, unless it says no more than that it is a call.
fn reached_no_tool(action: &Action<'_>) -> bool {
    const CALLS: [&str; 5] = ["tool", "action", "function", "tool_call", "step"];
    const SIGNS: [&str; 12] = [
        "no such tool",
        "nosuchtool",
        "unknown tool",
        "unavailable tool",
        "tool not found",
        "tool_not_found",
        "not a valid tool",
        "no tool named",
        "unknown function",
        "function not found",
        "not found in registry",
        "does not exist in the list of tools",
    ];
    if action.name.is_none() && CALLS.iter().any(|call| action.kind.eq_ignore_ascii_case(call)) {
        return true;
    }
    let texts = [action.error_type, action.message()];
    texts.into_iter().flatten().any(|text| {
        let text = text.get(..text.floor_char_boundary(400)).unwrap_or(text).to_ascii_lowercase();
        SIGNS.iter().any(|sign| text.contains(sign))
    })
}

/// Whether an action answers a failure: it thinks, asks or hands over.
fn answers(next: &Action<'_>) -> bool {
    // Whole words: `handle_order` is no hand-over, and `plane` no plan.
    const WORDS: [&str; 24] = [
        "think",
        "thinking",
        "thought",
        "reflect",
        "reflection",
        "reflexion",
        "critique",
        "plan",
        "planner",
        "planning",
        "replan",
        "replanning",
        "human",
        "escalate",
        "escalated",
        "escalation",
        "handoff",
        "handover",
        "hand",
        "transfer",
        "ticket",
        "tickets",
        "ask",
        "asks",
    ];
    let says = |text: &str| words(text).iter().any(|word| WORDS.contains(&word.as_str()));
    is_intervention(next.kind) || says(next.label()) || says(next.kind)
}

/// Whether the model says something between two actions: it tells of the failure, or asks what to do.
fn speaks_between(case: &Case<'_>, action: &Action<'_>, next: &Action<'_>) -> bool {
    let between = (action.record as usize).saturating_add(1)..next.record as usize;
    let records = case.run.attempts.get(between).unwrap_or_default();
    records.iter().filter(|record| record.turn).any(|turn| {
        let raw = turn.raw.as_deref().and_then(|raw| serde_json::from_str::<Said<'_>>(raw).ok());
        let said = raw.and_then(|said| said.content).map(|content| content.get().trim());
        said.is_some_and(|said| match said.as_bytes().first() {
            Some(b'"') => said.len() > 2,
            // Parts: those that call tools say nothing.
            Some(b'[') => said.contains("\"text\""),
            _ => false,
        })
    })
}

/// What a turn of the model says.
#[derive(serde::Deserialize)]
struct Said<'s> {
    #[serde(borrow, default)]
    content: Option<&'s serde_json::value::RawValue>,
}

/// Whether two tools are ways to one end: their names begin with the same two words, as
/// `find_user_by_email` and `find_user_by_name` do.
fn is_other_way(failed: &str, next: &str) -> bool {
    let (failed, next) = (words(failed), words(next));
    failed.iter().zip(&next).take(2).filter(|(a, b)| a == b).count() == 2
}
