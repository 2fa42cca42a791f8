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
    about: "An action fails, is not tried again, its tool is never called again in the run, and the next action is another tool that passes and is no reflection, plan, approval or hand-over, nor another way to the same end (a name that begins with the same two words), and the model said nothing in between; other turns of the model are passed over.",
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
    for (at, pair) in actions.windows(2).enumerate() {
        let [action, next] = *pair else { continue };
        if action.verdict != Verdict::Failed || next.verdict != Verdict::Passed {
            continue;
        }
        let again = last.get(action.label()).is_some_and(|last| *last > at);
        let answered = answers(next)
            || is_other_way(action.label(), next.label())
            || speaks_between(case, action, next);
        if !again && !answered && next.step != action.step {
            let kind = action.error_type.unwrap_or("an error");
            sink.at(
                action,
                format!("{kind}; the run went on with {} and never came back", next.label()),
            );
        }
    }
}

/// Whether an action is a turn of the model; a node of a name that asks a model is a step.
fn is_turn(action: &Action<'_>) -> bool {
    action.attempt.turn || (action.name.is_none() && is_model_turn(action.kind))
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
