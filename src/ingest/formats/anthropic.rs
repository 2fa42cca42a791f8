//! Anthropic messages: lists whose contents are blocks, and responses of type `message`.
//!
//! Owns: `tool_use` blocks and their `tool_result`s, the tools that the API runs by itself, and
//! `is_error`. Its input tokens leave out what a cache took part in. Refuses: events of a stream
//! and of managed agents.

use serde_json::value::RawValue;

use super::message_list::{
    Api, Conversation, Family, Said, Verdict, error_value, is_of, read_runs, tokens,
};
use super::raw::{is_true, raw_fields, read, text};
use super::{Format, Reader};
use crate::model::{ErrorInfo, ErrorOrigin, Severity};

/// The format of Anthropic messages.
pub const ANTHROPIC: Format = Format {
    name: "anthropic",
    about: "Anthropic messages (a list of messages with content blocks, or a message response)",
    detect: |probe| is_of(probe, Family::Anthropic),
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Whole(|record, options| read_runs(record, options, &Api { message, response })),
    archive: None,
    misspelt: None,
};

raw_fields! {
    /// A message, or a response, which is a message with more.
    Message { role, content, id, r#type = "type", model, stop_reason, usage, error, created_at, timestamp,
        tool_calls }
}
raw_fields! {
    /// A block of content.
    Block { r#type = "type", id, name, input, tool_use_id, content, is_error }
}
raw_fields! {
    /// What a tool of the API gave: an error has a code.
    Given { r#type = "type", error_code }
}

fn message<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue) {
    let Some(message) = read::<Message<'a>>(raw) else {
        return talk.count("unreadable_message", Severity::Rejected, "a message is no object");
    };
    talk.written_at(message.created_at.or(message.timestamp));
    if message.tool_calls.is_some() {
        let rule = "tool_calls are OpenAI's: --format openai-chat reads them";
        talk.count("calls_of_another_api", Severity::Warning, rule);
    }
    match message.role.and_then(text).as_deref() {
        Some("assistant") => answer(talk, &message),
        Some("user") => {
            talk.heard();
            blocks(talk, message.content);
        }
        Some("system" | "developer") => talk.heard(),
        // Some proxies keep results as messages of their own.
        Some("tool") => blocks(talk, message.content),
        _ => talk.count("messages_ignored", Severity::Warning, "a message has an unknown role"),
    }
}

fn answer<'a>(talk: &mut Conversation<'a>, message: &Message<'a>) {
    talk.turn(Said {
        content: message.content,
        tokens: message.usage.and_then(tokens),
        at: None,
        error: None,
    });
    talk.take_model(message.model);
    talk.take_end(message.stop_reason);
    blocks(talk, message.content);
}

fn blocks<'a>(talk: &mut Conversation<'a>, content: Option<&'a RawValue>) {
    let Some(content) = content.filter(|content| content.get().starts_with('[')) else { return };
    for raw in read::<Vec<&'a RawValue>>(content).unwrap_or_default() {
        let Some(block) = read::<Block<'a>>(raw) else {
            talk.count("unreadable_block", Severity::Rejected, "a content block is no object");
            continue;
        };
        match block.r#type.and_then(text).unwrap_or_default().as_ref() {
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                talk.call(block.id, block.name, block.input);
            }
            "tool_result" | "mcp_tool_result" => {
                talk.answer(block.tool_use_id, None, block.content, verdict(&block));
            }
            kind if kind.ends_with("_tool_result") => {
                let verdict = given(block.content).map_or(Verdict::Unsaid, Verdict::Failed);
                talk.answer(block.tool_use_id, None, block.content, verdict);
            }
            _ => {}
        }
    }
}

/// What the flag of a result says; without the flag its text is looked at, as in all lists of messages.
fn verdict<'a>(block: &Block<'a>) -> Verdict<'a> {
    match block.is_error {
        None => Verdict::Unsaid,
        flag if is_true(flag) => Verdict::Flagged,
        _ => Verdict::Passed,
    }
}

/// The error of a tool that the API runs by itself.
fn given(content: Option<&RawValue>) -> Option<ErrorInfo<'_>> {
    let given =
        content.filter(|content| content.get().starts_with('{')).and_then(read::<Given<'_>>)?;
    let failed = given.r#type.and_then(text).is_some_and(|kind| kind.ends_with("_error"));
    failed.then(|| ErrorInfo {
        kind: given.error_code.and_then(text),
        message: None,
        origin: ErrorOrigin::Recorded,
    })
}

fn response<'a>(talk: &mut Conversation<'a>, raw: &'a RawValue, logged: bool) -> bool {
    let found: Message<'a> = read(raw).unwrap_or_default();
    let kind = found.r#type.and_then(text);
    if kind.as_deref() == Some("error") {
        let error = found.error.map(error_value).unwrap_or_default();
        talk.failed(error.message.clone().or_else(|| error.kind.clone()));
        talk.turn(Said { error: Some(error), ..Said::default() });
        return true;
    }
    let assistant = found.role.and_then(text).is_some_and(|role| role == "assistant");
    let marked = kind.as_deref() == Some("message") || found.stop_reason.is_some();
    if !assistant || found.content.is_none() || !(logged || marked) {
        return false;
    }
    talk.take_id(found.id);
    answer(talk, &found);
    true
}
