//! Events of a sample: tool events are steps, model events are turns, approvals are steps too.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::sample::{Attachments, Seen, error, usage};
use super::wire::{Event, Output};
use crate::config::ReadOptions;
use crate::ingest::formats::Refusal;
use crate::ingest::formats::raw::{is_true, label, number, read, stamp, text};
use crate::ingest::quick;
use crate::model::{Attempt, ErrorInfo, ErrorOrigin, input_hash};

/// Levels of events inside events that are read; agents within agents stay far below it, and
/// each level scans its text once more.
const MAX_DEPTH: usize = 24;

/// An event with its own text, where that is kept.
type Read<'a> = (Event<'a>, Option<&'a RawValue>);

/// A tool event that was already taken.
struct Taken<'a> {
    attempt: usize,
    uuid: Option<&'a str>,
    timestamp: Option<&'a str>,
    pending: bool,
}

/// The attempts of a run, in order, those of events inside events after the event that holds them.
///
/// # Errors
/// Where a list is no list of objects.
pub(super) fn attempts<'a>(
    lists: &[&'a RawValue],
    attachments: &Attachments<'a>,
    options: &ReadOptions,
    seen: &mut Seen,
) -> Result<Vec<Attempt<'a>>, Refusal> {
    let mut attempts = Vec::new();
    let mut taken: HashMap<Cow<'a, str>, Taken<'a>> = HashMap::new();
    for list in lists {
        let mut levels = vec![read_list(list, options)?.into_iter()];
        while let Some(level) = levels.last_mut() {
            let Some((event, raw)) = level.next() else {
                levels.pop();
                continue;
            };
            let raw = raw.map(RawValue::get);
            match event.event.and_then(text).as_deref() {
                Some("tool") => {
                    let attempt = tool(&event, raw, attachments);
                    add_tool(attempt, &event, &mut attempts, &mut taken, seen);
                }
                Some("model") => attempts.push(model(&event, raw, attachments)),
                Some("approval") => attempts.push(approval(&event, raw)),
                _ => {}
            }
            if let Some(inner) = event.events {
                if levels.len() < MAX_DEPTH {
                    levels.push(read_list(inner, options)?.into_iter());
                } else if inner.get() != "[]" {
                    seen.too_deep += 1;
                }
            }
        }
    }
    Ok(attempts)
}

fn read_list<'a>(list: &'a RawValue, options: &ReadOptions) -> Result<Vec<Read<'a>>, Refusal> {
    let unreadable = |error| Refusal::of("unreadable_step", format!("events: {error}"));
    if !options.raw_attempts {
        let events: Vec<Event<'a>> = quick::from_str(list.get()).map_err(unreadable)?;
        return Ok(events.into_iter().map(|event| (event, None)).collect());
    }
    let raws: Vec<&'a RawValue> = quick::from_str(list.get()).map_err(unreadable)?;
    raws.into_iter()
        .map(|raw| Ok((quick::from_str(raw.get()).map_err(unreadable)?, Some(raw))))
        .collect()
}

/// Adds a tool event, or merges it with an earlier record of the same event.
///
/// A log may hold an event as it stood when the call began and again as it ended. The call id
/// alone does not tell, because some models give out one id for several calls.
fn add_tool<'a>(
    attempt: Attempt<'a>,
    event: &Event<'a>,
    attempts: &mut Vec<Attempt<'a>>,
    taken: &mut HashMap<Cow<'a, str>, Taken<'a>>,
    seen: &mut Seen,
) {
    let Some(id) = attempt.request_id.clone() else {
        attempts.push(attempt);
        return;
    };
    let this = Taken {
        attempt: attempts.len(),
        uuid: event.uuid.map(RawValue::get),
        timestamp: event.timestamp.map(RawValue::get),
        pending: is_true(event.pending),
    };
    if let Some(earlier) = taken.get_mut(&id) {
        let same_event = match (earlier.uuid, this.uuid) {
            (Some(one), Some(other)) => one == other,
            _ => earlier.timestamp.is_some() && earlier.timestamp == this.timestamp,
        };
        let target = attempts.get_mut(earlier.attempt);
        if let Some(target) = target.filter(|target| {
            same_event
                || (earlier.pending && target.name == attempt.name && target.input == attempt.input)
        }) {
            seen.repeated_events += 1;
            if !this.pending {
                *target = attempt;
                earlier.pending = false;
            }
            return;
        }
    }
    taken.insert(id, this);
    attempts.push(attempt);
}

/// What all kinds of events have.
fn base<'a>(event: &Event<'a>, kind: &'static str, raw: Option<&'a str>) -> Attempt<'a> {
    let ended_at = event.completed.and_then(stamp);
    let working = event.working_time.and_then(number).map(|seconds| seconds * 1000.0);
    Attempt {
        kind: Cow::Borrowed(kind),
        status: is_true(event.pending).then_some(Cow::Borrowed("pending")),
        started_at: event.timestamp.and_then(stamp),
        duration_ms: if ended_at.is_some() { None } else { working },
        ended_at,
        raw: raw.map(Cow::Borrowed),
        ..Attempt::default()
    }
}

fn tool<'a>(event: &Event<'a>, raw: Option<&'a str>, attachments: &Attachments<'a>) -> Attempt<'a> {
    let mut attempt = base(event, "tool", raw);
    attempt.name = event.function.and_then(label);
    attempt.request_id = event.id.and_then(label);
    attempt.input = event.arguments.and_then(|arguments| input_hash(arguments.get()));
    attempt.error = event.error.map(|raw| error(raw, attachments));
    match attempt.error.as_ref().and_then(|error| error.kind.as_deref()) {
        // Stopped from outside, or never let through: the call itself neither passed nor failed.
        Some("cancelled") => attempt.status = Some(Cow::Borrowed("cancelled")),
        Some("approval") => attempt.status = Some(Cow::Borrowed("rejected")),
        _ => {}
    }
    if attempt.error.is_none() && is_true(event.failed) {
        attempt.error = Some(ErrorInfo { origin: ErrorOrigin::Flag, ..ErrorInfo::default() });
    }
    attempt
}

fn model<'a>(
    event: &Event<'a>,
    raw: Option<&'a str>,
    attachments: &Attachments<'a>,
) -> Attempt<'a> {
    let mut attempt = base(event, "llm", raw);
    attempt.turn = true;
    attempt.name = event.model.and_then(label);
    attempt.error = event.error.map(|raw| error(raw, attachments));
    let output: Output<'a> = event.output.and_then(read).unwrap_or_default();
    if let Some((tokens, cost)) = output.usage.and_then(usage) {
        attempt.tokens = Some(tokens);
        attempt.cost_usd = cost;
    }
    attempt
}

fn approval<'a>(event: &Event<'a>, raw: Option<&'a str>) -> Attempt<'a> {
    let mut attempt = base(event, "approval", raw);
    attempt.name = event.approver.and_then(label);
    attempt.status = event.decision.and_then(label).map(|decision| match decision.as_ref() {
        "approve" | "modify" => Cow::Borrowed("completed"),
        "reject" | "terminate" => Cow::Borrowed("rejected"),
        // The question went on to the next approver, whose answer is an event of its own.
        "escalate" => Cow::Borrowed("pending"),
        _ => decision,
    });
    attempt
}
