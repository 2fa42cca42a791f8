//! Steps from the messages of a sample whose log keeps no events.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::sample::{Attachments, Seen, error};
use super::wire::{Call, Message};
use crate::config::ReadOptions;
use crate::ingest::formats::Refusal;
use crate::ingest::formats::calls::{OpenCalls, model_turn};
use crate::ingest::formats::raw::{label, object, text};
use crate::ingest::quick;
use crate::model::{Attempt, ErrorInfo, input_hash};

/// Model turns and tool calls; a tool message without a call (a trimmed log) is a step as well.
///
/// # Errors
/// Where the messages or the calls of one cannot be read.
pub(super) fn attempts<'a>(
    list: &'a RawValue,
    attachments: &Attachments<'a>,
    options: &ReadOptions,
    seen: &mut Seen,
) -> Result<Vec<Attempt<'a>>, Refusal> {
    let unreadable = |error| Refusal::of("unreadable_step", format!("messages: {error}"));
    let messages: Vec<Message<'a>> = quick::from_str(list.get()).map_err(unreadable)?;
    let mut attempts = Vec::new();
    let mut open = OpenCalls::default();
    for message in &messages {
        match message.role.and_then(text).as_deref() {
            Some("assistant") => {
                attempts.push(model_turn(message.content, options));
                let calls: Vec<Call<'a>> = match message.tool_calls {
                    None => Vec::new(),
                    Some(calls) => quick::from_str(calls.get()).map_err(unreadable)?,
                };
                if !calls.is_empty() {
                    open.start_message();
                }
                for call in &calls {
                    let attempt = tool_call(call, options);
                    open.add(attempts.len(), attempt.request_id.clone());
                    attempts.push(attempt);
                }
            }
            Some("tool") => {
                let id = message.tool_call_id.and_then(label);
                match open.answer(id.as_deref()).and_then(|at| attempts.get_mut(at)) {
                    Some(attempt) => take_result(attempt, message, attachments, options),
                    None => {
                        seen.results_without_call += 1;
                        let mut attempt = Attempt {
                            kind: Cow::Borrowed("tool"),
                            name: message.function.and_then(label),
                            request_id: id,
                            raw: options.raw_attempts.then_some(Cow::Borrowed("{}")),
                            ..Attempt::default()
                        };
                        take_result(&mut attempt, message, attachments, options);
                        attempts.push(attempt);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(attempts)
}

/// A call that waits for its result; one whose arguments could not be parsed has failed already.
fn tool_call<'a>(call: &Call<'a>, options: &ReadOptions) -> Attempt<'a> {
    let fault = call.parse_error.and_then(text);
    Attempt {
        kind: Cow::Borrowed("tool"),
        name: call.function.and_then(label),
        status: fault.is_none().then_some(Cow::Borrowed("pending")),
        request_id: call.id.and_then(label),
        input: call.arguments.and_then(|arguments| input_hash(arguments.get())),
        error: fault.map(|message| ErrorInfo {
            kind: Some(Cow::Borrowed("parsing")),
            message: Some(message),
            ..ErrorInfo::default()
        }),
        raw: options.raw_attempts.then(|| {
            Cow::Owned(object(&[
                ("id", call.id.map(RawValue::get)),
                ("function", call.function.map(RawValue::get)),
                ("arguments", call.arguments.map(RawValue::get)),
            ]))
        }),
        ..Attempt::default()
    }
}

fn take_result<'a>(
    attempt: &mut Attempt<'a>,
    result: &Message<'a>,
    attachments: &Attachments<'a>,
    options: &ReadOptions,
) {
    attempt.status = None;
    if let Some(raw) = result.error.or(result.tool_error) {
        attempt.error = Some(error(raw, attachments));
    }
    if let (true, Some(raw)) = (options.raw_attempts, attempt.raw.as_mut()) {
        let raw = raw.to_mut();
        for (key, value) in [("result", result.content), ("error", result.error)] {
            let Some(value) = value else { continue };
            raw.pop();
            let comma = if raw.len() > 1 { "," } else { "" };
            raw.push_str(&format!("{comma}\"{key}\":{}}}", value.get()));
        }
    }
}
