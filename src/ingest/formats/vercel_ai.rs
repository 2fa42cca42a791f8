//! Vercel AI SDK: the `steps` of a result, and lists of model or UI messages.
//!
//! Owns: the call and result parts of all three, in the spelling of SDK 4 (`args`, `result`) and of
//! later ones (`input`, `output`). A call that the SDK marks `invalid`, or of which a UI message has
//! the `rawInput` alone, is a step that failed as `invalid_tool_call`; `error: {}` is an error of
//! which nothing more is known. Refuses: the stream protocol.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::message_list::{
    Api, Conversation, Family, Said, Verdict, error_value, is_of, read_runs, tokens,
};
use super::raw::{is_true, label, raw_fields, read, text};
use super::{Format, Reader};
use crate::model::{ErrorInfo, ErrorOrigin, Severity};

/// The format of the Vercel AI SDK.
pub const VERCEL_AI: Format = Format {
    name: "vercel-ai",
    about: "Vercel AI SDK steps and messages",
    detect: |probe| is_of(probe, Family::Vercel),
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Whole(|record, options| read_runs(record, options, &Api { message, response })),
    archive: None,
    misspelt: None,
};

raw_fields! {
    /// A step, a model message or a UI message.
    Message { role, content, parts, usage, response, model, text, created = "createdAt",
        finish_reason = "finishReason", calls = "toolCalls", results = "toolResults",
        invocations = "toolInvocations" }
}
raw_fields! {
    /// What a step says of its response.
    Response { id, model = "modelId", timestamp }
}
raw_fields! {
    /// The model that a step names.
    Model { model = "modelId" }
}
raw_fields! {
    /// A part of a step or message.
    Part { r#type = "type", id = "toolCallId", name = "toolName", input, args, output, result, error, invalid,
        is_error = "isError", preliminary, state, error_text = "errorText", raw_input = "rawInput",
        invocation = "toolInvocation" }
}
raw_fields! {
    /// The output of a model message's result.
    Output { r#type = "type", value, reason }
}

fn message<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue) {
    let Some(message) = read::<Message<'a>>(raw) else {
        return talk.count(
            "unreadable_message",
            Severity::Rejected,
            "a message or step is no object",
        );
    };
    match message.role.and_then(text).as_deref() {
        None if message.finish_reason.is_some() || message.calls.is_some() => step(talk, &message),
        Some("assistant") => match message.parts {
            Some(parts) => shown(talk, &message, parts),
            None => {
                turn(talk, &message, message.content);
                parts(talk, message.content);
                invocations(talk, message.invocations);
            }
        },
        Some("tool") => parts(talk, message.content),
        Some("user" | "system" | "developer" | "data") => talk.heard(),
        _ => talk.count("messages_ignored", Severity::Warning, "a message has an unknown role"),
    }
}

fn turn<'a>(talk: &mut Conversation<'a>, message: &Message<'a>, content: Option<&'a RawValue>) {
    talk.turn(Said {
        content,
        tokens: message.usage.and_then(tokens),
        at: message.created,
        error: None,
    });
}

/// One step of a result: a request, its calls and their results.
fn step<'a>(talk: &mut Conversation<'a>, step: &Message<'a>) {
    let response: Response<'a> = step.response.and_then(read).unwrap_or_default();
    talk.turn(Said {
        content: step.content.or(step.text),
        tokens: step.usage.and_then(tokens),
        at: response.timestamp,
        error: None,
    });
    talk.take_model(
        response.model.or(step.model.and_then(read::<Model<'a>>).and_then(|model| model.model)),
    );
    talk.take_id(response.id);
    talk.take_end(step.finish_reason);
    match step.content {
        Some(_) => parts(talk, step.content),
        // SDK 4 has no content; the same calls and results stand in lists of their own.
        None => {
            parts(talk, step.calls);
            parts(talk, step.results);
        }
    }
}

/// The parts of a step or of a model message.
fn parts<'a>(talk: &mut Conversation<'a>, list: Option<&'a RawValue>) {
    let Some(list) = list.filter(|list| list.get().starts_with('[')) else { return };
    for raw in read::<Vec<&'a RawValue>>(list).unwrap_or_default() {
        let Some(part) = read::<Part<'a>>(raw) else {
            talk.count("unreadable_part", Severity::Rejected, "a part of a message is no object");
            continue;
        };
        let kind = part.r#type.and_then(text).unwrap_or_default();
        match kind.as_ref() {
            "tool-call" => call(talk, &part),
            "tool-error" => {
                talk.answer(part.id, part.name, part.error, Verdict::Failed(failure(part.error)))
            }
            "tool-output-denied" => {
                talk.answer(part.id, part.name, None, Verdict::Neither("denied"))
            }
            "tool-result" if is_true(part.preliminary) => {
                talk.count(
                    "messages_ignored",
                    Severity::Note,
                    "a preliminary result is followed by the final one",
                );
            }
            "tool-result" => result(talk, &part),
            // Without a type, as in the lists of SDK 4.
            "" if part.result.is_some() => result(talk, &part),
            "" if part.id.is_some() => call(talk, &part),
            _ => {}
        }
    }
}

fn call<'a>(talk: &mut Conversation<'a>, part: &Part<'a>) {
    let input = part.input.or(part.args);
    if !is_true(part.invalid) {
        return talk.call(part.id, part.name, input);
    }
    let why = part.error.map(error_value).unwrap_or_default();
    invalid(talk, part, input, why.message.or(why.kind));
}

/// A call that the SDK could not make: no such tool, or an input that it cannot read.
fn invalid<'a>(
    talk: &mut Conversation<'a>,
    part: &Part<'a>,
    input: Option<&'a RawValue>,
    message: Option<Cow<'a, str>>,
) {
    let error = ErrorInfo {
        kind: Some(Cow::Borrowed("invalid_tool_call")),
        message,
        origin: ErrorOrigin::Recorded,
    };
    let input = input.map(|input| text(input).unwrap_or(Cow::Borrowed(input.get())));
    talk.made(part.id, tool(part), input, Some(error));
}

/// The name of the tool: in a field, or behind `tool-` in the type of a UI part.
fn tool<'a>(part: &Part<'a>) -> Option<Cow<'a, str>> {
    part.name.and_then(label).or_else(|| match part.r#type.and_then(text)? {
        Cow::Borrowed(kind) => kind.strip_prefix("tool-").map(Cow::Borrowed),
        Cow::Owned(kind) => kind.strip_prefix("tool-").map(|name| Cow::Owned(name.to_owned())),
    })
}

/// An error that is there, however little it says.
fn failure(error: Option<&RawValue>) -> ErrorInfo<'_> {
    error.map(error_value).unwrap_or_default()
}

fn result<'a>(talk: &mut Conversation<'a>, part: &Part<'a>) {
    let Some(given) = part.output.or(part.result) else {
        return talk.answer(part.id, part.name, None, Verdict::Unsaid);
    };
    let shape = given
        .get()
        .starts_with('{')
        .then(|| read::<Output<'a>>(given))
        .flatten()
        .unwrap_or_default();
    let kind = shape.r#type.and_then(text);
    let (content, verdict) = match kind.as_deref() {
        Some("error-text" | "error-json") => (shape.value, Verdict::Failed(failure(shape.value))),
        Some("execution-denied") => (shape.reason, Verdict::Neither("denied")),
        Some("text" | "json" | "content") if shape.value.is_some() => {
            (shape.value, Verdict::Unsaid)
        }
        _ if is_true(part.is_error) => (Some(given), Verdict::Failed(failure(Some(given)))),
        _ => (Some(given), Verdict::Unsaid),
    };
    talk.answer(part.id, part.name, content, verdict);
}

/// A UI message: its parts are calls with how far they came; a `step-start` opens a new answer.
fn shown<'a>(talk: &mut Conversation<'a>, message: &Message<'a>, list: &'a RawValue) {
    turn(talk, message, message.parts);
    let mut begun = false;
    for raw in read::<Vec<&'a RawValue>>(list).unwrap_or_default() {
        let Some(mut part) = read::<Part<'a>>(raw) else {
            talk.count("unreadable_part", Severity::Rejected, "a part of a message is no object");
            continue;
        };
        let kind = part.r#type.and_then(text).unwrap_or_default();
        match kind.as_ref() {
            "step-start" if begun => talk.turn(Said::default()),
            // The first one opens the answer that is there already.
            "step-start" => begun = true,
            "tool-invocation" => {
                part = part.invocation.and_then(read).unwrap_or_default();
                progress(talk, &part);
            }
            kind if kind == "dynamic-tool" || kind.starts_with("tool-") => progress(talk, &part),
            _ => {}
        }
    }
}

/// The calls of SDK 4 messages without parts.
fn invocations<'a>(talk: &mut Conversation<'a>, list: Option<&'a RawValue>) {
    for raw in list.and_then(read::<Vec<&'a RawValue>>).unwrap_or_default() {
        match read::<Part<'a>>(raw) {
            Some(part) => progress(talk, &part),
            None => talk.count(
                "unreadable_part",
                Severity::Rejected,
                "a part of a message is no object",
            ),
        }
    }
}

/// A call by its state.
fn progress<'a>(talk: &mut Conversation<'a>, part: &Part<'a>) {
    let input = part.input.or(part.args);
    let state = part.state.and_then(text);
    let said = part.error_text.and_then(text);
    match state.as_deref() {
        Some("output-error") if input.is_none() && part.raw_input.is_some() => {
            invalid(talk, part, part.raw_input, said);
            talk.answer(part.id, None, part.error_text, Verdict::Passed);
            return;
        }
        _ => made(talk, part, input),
    }
    let output = part.output.or(part.result);
    match state.as_deref() {
        Some("output-available" | "result") if is_true(part.preliminary) => {}
        Some("output-available" | "result") => talk.answer(part.id, None, output, Verdict::Unsaid),
        Some("output-error") => {
            talk.answer(part.id, None, part.error_text, Verdict::Failed(failure(part.error_text)));
        }
        Some("output-denied") => talk.answer(part.id, None, None, Verdict::Neither("denied")),
        _ => {}
    }
}

fn made<'a>(talk: &mut Conversation<'a>, part: &Part<'a>, input: Option<&'a RawValue>) {
    let input = input.map(|input| Cow::Borrowed(input.get()));
    talk.made(part.id, tool(part), input, None);
}

/// A whole result, whose steps are its list, is read as what stands around it.
fn response(_: &mut Conversation<'_>, _: &RawValue, _: bool) -> bool {
    false
}
