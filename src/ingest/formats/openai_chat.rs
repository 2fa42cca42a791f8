//! OpenAI chat completions: lists of messages, and responses with `choices`.
//!
//! Owns: the messages with `tool_calls`, the older `function_call`, and the answers of role `tool`
//! and `function`. Results have no flag for errors: they are read as all lists of messages are
//! (`message_list/result.rs`). Refuses: chunks of a stream, and to count more than the first of several choices.

use serde_json::value::RawValue;

use super::message_list::{
    Api, Conversation, Family, Said, Verdict, error_value, is_of, read_runs, tokens,
};
use super::raw::{label, raw_fields, read, text};
use super::{Format, Reader};
use crate::model::Severity;

/// The format of OpenAI chat messages.
pub const OPENAI_CHAT: Format = Format {
    name: "openai-chat",
    about: "OpenAI chat messages (a list of messages with role and content, or a chat.completion)",
    detect: |probe| is_of(probe, Family::Chat),
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Whole(|record, options| read_runs(record, options, &Api { message, response })),
    archive: None,
    misspelt: None,
};

raw_fields! {
    /// A message.
    Message { role, content, tool_calls, function_call, tool_call_id, name, refusal, usage, created_at, timestamp, choices }
}
raw_fields! {
    /// A call.
    Call { id, function, custom }
}
raw_fields! {
    /// The called function; `arguments` is JSON in a string.
    Function { name, arguments, input }
}
raw_fields! {
    /// A response.
    Completion { id, choices, model, created, usage, error, messages }
}
raw_fields! {
    /// One answer of several.
    Choice { message, finish_reason }
}

fn message<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue) {
    let Some(found) = read::<Message<'a>>(raw) else {
        return talk.count("unreadable_message", Severity::Rejected, "a message is no object");
    };
    if found.choices.is_some() {
        response(talk, raw, false);
        return;
    }
    talk.written_at(found.created_at.or(found.timestamp));
    if found.content.is_some_and(of_anthropic) {
        let rule = "tool_use and tool_result blocks are Anthropic's: --format anthropic reads them";
        talk.count("calls_of_another_api", Severity::Warning, rule);
    }
    match found.role.and_then(text).as_deref() {
        Some("assistant") => answer(talk, &found, found.usage),
        Some("tool" | "function") => {
            talk.answer(found.tool_call_id, found.name, found.content, Verdict::Unsaid);
        }
        Some("user" | "system" | "developer") => talk.heard(),
        _ => talk.count("messages_ignored", Severity::Warning, "a message has an unknown role"),
    }
}

/// Whether the blocks of a content are calls or results of another API.
fn of_anthropic(content: &RawValue) -> bool {
    let bytes = content.get().as_bytes();
    let has = |word: &[u8]| memchr::memmem::find(bytes, word).is_some();
    bytes.starts_with(b"[")
        && (has(b"\"tool_use_id\"")
            || has(b"\"type\":\"tool_use\"")
            || has(b"\"type\": \"tool_use\""))
}

/// An answer of the model, with the tokens of its request.
fn answer<'a>(talk: &mut Conversation<'a>, message: &Message<'a>, usage: Option<&'a RawValue>) {
    talk.turn(Said {
        content: message.content.or(message.refusal),
        tokens: usage.and_then(tokens),
        at: message.created_at,
        error: None,
    });
    match message.tool_calls.map(read::<Vec<&'a RawValue>>) {
        Some(Some(calls)) => calls.into_iter().for_each(|raw| call(talk, raw)),
        Some(None) => {
            talk.count(
                "unreadable_call",
                Severity::Rejected,
                "the tool_calls of a message are no list",
            );
        }
        None => {}
    }
    if let Some(function) = message.function_call.and_then(read::<Function<'a>>) {
        talk.call(None, function.name, function.arguments);
    }
}

fn call<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue) {
    let Some(call) = read::<Call<'a>>(raw) else {
        return talk.count("unreadable_call", Severity::Rejected, "a call is no object");
    };
    let function = call.function.and_then(read::<Function<'a>>).unwrap_or_default();
    match call.custom.and_then(read::<Function<'a>>) {
        // A custom tool takes a text, which need not be JSON.
        Some(custom) => {
            let input = custom.input.map(|input| input.get().into());
            talk.made(call.id, custom.name.and_then(label), input, None);
        }
        None => talk.call(call.id, function.name, function.arguments),
    }
}

fn response<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue, logged: bool) -> bool {
    let found: Completion<'a> = read(raw).unwrap_or_default();
    let choices = found.choices.and_then(read::<Vec<Choice<'a>>>);
    let error =
        found.error.filter(|error| error.get().starts_with('{') && found.messages.is_none());
    if choices.is_none() && error.is_none() {
        // The response of a logged request may be the message alone.
        let alone = read::<Message<'a>>(raw).filter(|message| {
            logged && message.role.and_then(text).is_some_and(|role| role == "assistant")
        });
        return alone.is_some_and(|message| {
            answer(talk, &message, message.usage);
            true
        });
    }
    talk.take_id(found.id);
    talk.take_model(found.model);
    if let Some(error) = error {
        let error = error_value(error);
        talk.failed(error.message.clone().or_else(|| error.kind.clone()));
        talk.turn(Said { error: Some(error), ..Said::default() });
        return true;
    }
    let mut choices = choices.unwrap_or_default().into_iter();
    let Some(first) = choices.next() else {
        talk.count("no_choices", Severity::Warning, "a response has no choices");
        return true;
    };
    for _ in choices {
        let rule = "of several choices the first is the run; the others answer the same request";
        talk.count("choices_ignored", Severity::Note, rule);
    }
    let mut message: Message<'a> = first.message.and_then(read).unwrap_or_default();
    message.created_at = message.created_at.or(found.created);
    answer(talk, &message, found.usage);
    talk.take_end(first.finish_reason);
    true
}
