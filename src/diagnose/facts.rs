//! What rules over all runs need of each, kept small: a row a run, an entry a step or call.

use super::{Action, Case};
use crate::evaluate::{RunRow, Timeline, TimelineStep, Verdict};

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFact {
    /// Its position, from 1.
    pub position: u32,
    /// Tool or node, else the type.
    pub label: Box<str>,
    /// Whether its first attempt passed; `None` where it neither passed nor failed.
    pub first: Option<bool>,
    /// Whether its last judged attempt passed.
    pub last: Option<bool>,
    /// Its attempts.
    pub attempts: u32,
    /// Which record of the run its first attempt is, from 0.
    pub record: u32,
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFact {
    /// The position of its step, from 1.
    pub step: u32,
    /// Its number, from 1.
    pub number: u32,
    /// Tool or node, else the type.
    pub label: Box<str>,
    /// Whether it passed.
    pub passed: Option<bool>,
    /// Hash of tool and input; `None` where no input is recorded.
    pub input: Option<u64>,
    /// The shape of what it gave: keys and types of JSON, or `text`; `None` where it is not recorded.
    pub shape: Option<Box<str>>,
    /// Seconds that it took.
    pub seconds: Option<f64>,
    /// Whether a type or message tells why it failed.
    pub explained: bool,
    /// First byte and the byte after the last one of its record, where known.
    pub bytes: Option<(u64, u64)>,
}

/// What is kept of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    /// Its steps.
    pub steps: Vec<StepFact>,
    /// Its recorded attempts.
    pub calls: Vec<CallFact>,
    /// The first step whose output tells of a failure in words, or that caused such an output.
    pub tells_failure: Option<u32>,
    /// The first step that is the agent's: not the statement of the task.
    pub first_action: Option<u32>,
}

/// All runs.
pub struct Facts<'f> {
    /// Their rows.
    pub rows: &'f [RunRow],
    /// Their facts, one for each row.
    pub runs: &'f [RunFacts],
}

/// Keys of a shape that are kept; an object with more is as good as free text.
const MOST_KEYS: usize = 40;

impl RunFacts {
    /// What is kept of a run.
    #[must_use]
    pub fn of(case: &Case<'_>) -> Self {
        let calls = case.actions.iter().map(|action| CallFact {
            step: action.step,
            number: action.number,
            label: action.label().into(),
            passed: passed(action.verdict),
            input: action.attempt.input,
            shape: action.output.map(|text| shape(text).into()),
            seconds: action.seconds(),
            explained: action.attempt.error.as_ref().is_some_and(|error| {
                error.kind.is_some()
                    || error.message.as_deref().is_some_and(|text| !text.is_empty())
            }),
            bytes: action.attempt.bytes,
        });
        Self {
            steps: steps(case.timeline),
            calls: calls.collect(),
            tells_failure: tells_failure(case),
            first_action: case.actions.iter().find(|action| !states_task(action)).map(|a| a.step),
        }
    }
}

/// Whether an action is what a person said.
fn states_task(action: &Action<'_>) -> bool {
    let is = |text: &str| ["human", "user", "system"].iter().any(|w| text.eq_ignore_ascii_case(w));
    is(action.kind) || action.name.is_some_and(is)
}

/// What texts say of a failure, in lower case.
const FAILURES: [&str; 7] = [
    "traceback (most recent call last)",
    "execution failed",
    "exitcode: 1",
    "exit code: 1",
    "error:",
    "exception:",
    "is not defined",
];

/// Bytes of an output that are looked through.
const LOOKED_AT: usize = 20_000;

/// The step before the first output that tells of a failure: what was done there went wrong. The
/// statement of the task is passed over.
fn tells_failure(case: &Case<'_>) -> Option<u32> {
    let tells = |action: &Action<'_>| {
        // A failure that is recorded as one is judged by whether it was recovered.
        let Some(output) = action.output.filter(|_| action.verdict != Verdict::Failed) else {
            return false;
        };
        let end = output.floor_char_boundary(LOOKED_AT);
        let text = output[..end].to_ascii_lowercase();
        FAILURES.iter().any(|sign| text.contains(sign))
    };
    let actions: Vec<&Action<'_>> =
        case.actions.iter().filter(|action| !states_task(action)).collect();
    let at = actions.iter().position(|action| tells(action))?;
    // An executor only repeats what the action before it caused.
    let caused = at.checked_sub(1).and_then(|before| actions.get(before));
    let executes = actions.get(at)?.label().to_ascii_lowercase();
    let executes = ["terminal", "executor", "computer"].iter().any(|word| executes.contains(word));
    caused.filter(|_| executes).or(actions.get(at)).map(|action| action.step)
}

fn passed(verdict: Verdict) -> Option<bool> {
    match verdict {
        Verdict::Passed => Some(true),
        Verdict::Failed => Some(false),
        Verdict::Neither => None,
    }
}

/// The steps of a judged run.
#[must_use]
pub fn steps(timeline: &Timeline) -> Vec<StepFact> {
    let step = |step: &TimelineStep| StepFact {
        position: step.position,
        label: step.name.as_deref().unwrap_or(&step.kind).into(),
        first: step.attempts.first().and_then(|attempt| passed(attempt.verdict)),
        last: step.attempts.iter().rev().find_map(|attempt| passed(attempt.verdict)),
        record: step.attempts.first().map_or(0, |attempt| attempt.record),
        attempts: step.attempts.iter().map(|attempt| attempt.times).fold(0, u32::saturating_add),
    };
    timeline.steps.iter().map(step).collect()
}

/// The shape of a JSON value, at one level: its type, and for an object its keys with their types, sorted.
/// JSON inside a string is looked into.
pub(super) fn shape(text: &str) -> String {
    let text = text.trim();
    if text.starts_with('"') {
        let Ok(inner) = serde_json::from_str::<String>(text) else { return "text".to_owned() };
        let inner = inner.trim();
        let json = inner.starts_with(['{', '['])
            && serde_json::from_str::<serde::de::IgnoredAny>(inner).is_ok();
        return if json { shape_of(inner) } else { "text".to_owned() };
    }
    shape_of(text)
}

fn shape_of(text: &str) -> String {
    use serde_json::value::RawValue;
    use std::collections::BTreeMap;
    match text.as_bytes().first() {
        Some(b'{') => match serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
            Ok(fields) if fields.len() <= MOST_KEYS => {
                let parts: Vec<String> = fields
                    .iter()
                    .map(|(key, value)| format!("{key}:{}", kind(value.get())))
                    .collect();
                format!("{{{}}}", parts.join(","))
            }
            _ => "object".to_owned(),
        },
        Some(first) => kind_of(*first).to_owned(),
        None => "text".to_owned(),
    }
}

fn kind(text: &str) -> &'static str {
    text.trim().as_bytes().first().map_or("text", |first| kind_of(*first))
}

fn kind_of(first: u8) -> &'static str {
    match first {
        b'{' => "object",
        b'[' => "list",
        b'"' => "text",
        b't' | b'f' => "flag",
        b'n' => "null",
        _ => "number",
    }
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn the_shape_is_keys_and_types_and_no_values() {
        assert_eq!(shape(r#"{"b": 1, "a": "x", "c": null}"#), "{a:text,b:number,c:null}");
        assert_eq!(shape(r#""{\"ok\": true}""#), "{ok:flag}");
        assert_eq!(shape("\"plain words\""), "text");
        assert_eq!(shape("[1]"), "list");
        assert_eq!(shape(""), "text");
    }
}
