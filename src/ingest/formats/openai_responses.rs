//! OpenAI responses: lists of items (as the Agents SDK's `to_input_list` gives them) and responses.
//!
//! Owns: function and custom calls, which are joined with their outputs by `call_id` (an item's own
//! `id` is another), and the tools that the API runs by itself, whose item tells how they went.
//! Items of the model in a row are one answer. A response that failed is a failed run; one that is
//! incomplete is unfinished; one that is completed says nothing of the task. Refuses: stream events.

use serde_json::value::RawValue;

use super::message_list::{
    Api, Conversation, Family, Said, Verdict, error_value, is_of, read_runs, tokens,
};
use super::raw::{label, raw_fields, read, text};
use super::{Format, Reader};
use crate::model::{EndRule, ErrorInfo, ErrorOrigin, Severity};

/// The format of OpenAI responses.
pub const OPENAI_RESPONSES: Format = Format {
    name: "openai-responses",
    about: "OpenAI responses (a list of items, or a response with its output)",
    detect: |probe| is_of(probe, Family::Responses),
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Whole(|record, options| read_runs(record, options, &Api { message, response })),
    archive: None,
    misspelt: None,
};

raw_fields! {
    /// An item.
    Item { r#type = "type", role, id, call_id, name, arguments, input, action, operation, query, queries, code,
        content, output, results, status, error }
}
raw_fields! {
    /// A response.
    Response { id, object, output, status, error, incomplete_details, model, usage, created_at, completed_at,
        call_id, r#type = "type" }
}
raw_fields! {
    /// Why a response is incomplete.
    Incomplete { reason }
}

fn message<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue) {
    item(talk, raw, false);
}

/// Adds an item of a list, or of the output of a response, which holds no response itself.
fn item<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue, of_response: bool) {
    let Some(item) = read::<Item<'a>>(raw) else {
        return talk.count("unreadable_message", Severity::Rejected, "an item is no object");
    };
    let kind = item.r#type.and_then(text).unwrap_or_default();
    match kind.as_ref() {
        "" | "message" => match item.role.and_then(text).as_deref() {
            Some("assistant") => talk.same_turn(item.content),
            Some("user" | "system" | "developer") => talk.heard(),
            _ => talk.count("messages_ignored", Severity::Warning, "a message has an unknown role"),
        },
        "reasoning" => talk.same_turn(None),
        "function_call" => {
            talk.same_turn(None);
            talk.call(item.call_id.or(item.id), item.name, item.arguments);
        }
        "response" if !of_response => {
            response(talk, raw, false);
        }
        "response" => talk.count(
            "messages_ignored",
            Severity::Warning,
            "a response stands in the output of another",
        ),
        "mcp_list_tools" | "item_reference" | "compaction" => {
            talk.count(
                "messages_ignored",
                Severity::Note,
                "an item is neither a message nor a call",
            );
        }
        kind if kind.ends_with("_output") => {
            talk.heard();
            talk.answer(item.call_id, item.name, item.output, verdict(&item));
        }
        kind if kind.ends_with("_call") => {
            talk.same_turn(None);
            hosted(talk, &item, kind);
        }
        kind if kind.starts_with("mcp_approval") => {
            talk.count(
                "messages_ignored",
                Severity::Note,
                "an item is neither a message nor a call",
            );
        }
        _ => talk.count("messages_ignored", Severity::Warning, "an item has an unknown type"),
    }
}

/// What the status of an output says.
fn verdict<'a>(item: &Item<'a>) -> Verdict<'a> {
    match item.status.and_then(text).as_deref() {
        Some(word @ ("incomplete" | "failed")) => Verdict::Failed(ErrorInfo {
            kind: Some(format!("{word}_output").into()),
            message: None,
            origin: ErrorOrigin::Recorded,
        }),
        _ => Verdict::Unsaid,
    }
}

/// A call of another tool than a function. If the API ran it, its item is its result too.
fn hosted<'a>(talk: &mut Conversation<'a>, item: &Item<'a>, kind: &str) {
    let name = item
        .name
        .and_then(label)
        .unwrap_or_else(|| kind.strip_suffix("_call").unwrap_or(kind).to_owned().into());
    let said = [item.input, item.action, item.operation, item.query, item.queries, item.code];
    let id = item.call_id.or(item.id);
    if item.arguments.is_some() {
        talk.call(id, item.name, item.arguments);
    } else {
        let input = said.into_iter().flatten().next().map(|input| input.get().into());
        talk.made(id, Some(name), input, None);
    }
    // What the caller runs has an output of its own, by its call_id.
    if id.is_none() || item.call_id.is_some() {
        return;
    }
    let content = item.output.or(item.results);
    match (item.error, item.status.and_then(text).as_deref()) {
        (Some(error), _) => talk.answer(id, None, content, Verdict::Failed(error_value(error))),
        (None, Some("failed" | "incomplete")) => {
            let error = ErrorInfo { kind: None, message: None, origin: ErrorOrigin::Recorded };
            talk.answer(id, None, content, Verdict::Failed(error));
        }
        (None, Some("completed")) => talk.answer(id, None, content, Verdict::Passed),
        (None, None) if content.is_some() => talk.answer(id, None, content, Verdict::Unsaid),
        _ => {}
    }
}

fn response<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue, logged: bool) -> bool {
    let found: Response<'a> = read(raw).unwrap_or_default();
    let is = |field: Option<&RawValue>, word: &str| {
        field.and_then(text).is_some_and(|text| text == word)
    };
    let output = found.output.and_then(read::<Vec<&'a RawValue>>);
    let items = output.as_ref().is_some_and(|items| {
        let first = items.first().and_then(|item| read::<Item<'_>>(item));
        first.is_some_and(|item| item.r#type.is_some())
    });
    let known = is(found.object, "response")
        || items
        || (output.is_some() && (logged || found.status.is_some()));
    // An item that has an output is none.
    let is_item =
        found.call_id.is_some() || found.r#type.is_some_and(|kind| kind.get() != "\"response\"");
    if !known || is_item {
        return false;
    }
    talk.take_id(found.id);
    talk.take_model(found.model);
    talk.heard();
    let error = found.error.map(error_value);
    let status = found.status.and_then(label);
    talk.take_end(found.status);
    match status.as_deref() {
        // An error stands only beside a status of failed; some writers leave the status out.
        Some("failed") | None if status.is_some() || error.is_some() => {
            let why = error
                .as_ref()
                .and_then(|error| error.message.clone().or_else(|| error.kind.clone()));
            talk.failed(why);
        }
        Some("incomplete") => {
            talk.left_open(EndRule::Unfinished);
            talk.take_end(
                found
                    .incomplete_details
                    .and_then(read::<Incomplete<'a>>)
                    .and_then(|why| why.reason),
            );
        }
        Some("in_progress" | "queued") => talk.left_open(EndRule::Unfinished),
        Some("cancelled" | "canceled") => talk.left_open(EndRule::Cancelled),
        _ => {}
    }
    talk.turn(Said {
        content: None,
        tokens: found.usage.and_then(tokens),
        at: found.created_at,
        error,
    });
    talk.ended_at(found.completed_at);
    for raw in output.unwrap_or_default() {
        item(talk, raw, true);
    }
    true
}
