//! Pydantic-AI's messages as written.
//!
//! Owns: keys, part kinds and the tokens of a response. Refuses to decide what a part means.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::ingest::formats::message_dumps::words;
use crate::ingest::formats::raw::{amount, label, raw_fields, read, text};
use crate::model::Tokens;

/// Keys of objects under which histories are stored.
pub(super) const LISTS: [&str; 4] = ["messages", "all_messages", "message_history", "new_messages"];

raw_fields! {
    /// A request or a response.
    Message {
        kind, parts, usage, model_name, timestamp, run_id, conversation_id, finish_reason,
        failed_attempts, state,
    }
}
raw_fields! {
    /// A part of one.
    Part { part_kind, content, tool_name, args, tool_call_id, outcome, retry, timestamp }
}
raw_fields! {
    /// How a call is to be made again.
    Retry { cause, attempt }
}
raw_fields! {
    /// One fault that a validation found.
    Fault { loc, msg }
}
raw_fields! {
    /// What holds a history.
    Holder { messages, all_messages, message_history, new_messages }
}
raw_fields! {
    Counts {
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, request_tokens,
        response_tokens, total_tokens, cost,
    }
}

impl Message<'_> {
    pub(super) fn is_response(&self) -> bool {
        self.kind.and_then(text).is_some_and(|kind| kind == "response")
    }
}

impl<'r> Part<'r> {
    /// The kind, such as `tool-call`; empty where it has none.
    pub(super) fn kind(&self) -> Cow<'r, str> {
        self.part_kind.and_then(text).unwrap_or_default()
    }
}

/// The message, if it is one.
pub(super) fn message(raw: &RawValue) -> Option<Message<'_>> {
    raw.get().starts_with('{').then_some(())?;
    let message: Message<'_> = read(raw)?;
    let kind = message.kind.and_then(text)?;
    let has_parts = message.parts.is_some_and(|parts| parts.get().starts_with('['));
    (has_parts && (kind == "request" || kind == "response")).then_some(message)
}

/// The parts that are objects.
pub(super) fn parts<'r>(message: &Message<'r>) -> Vec<Part<'r>> {
    let parts: Vec<&'r RawValue> = message.parts.and_then(read).unwrap_or_default();
    parts.into_iter().filter(|part| part.get().starts_with('{')).filter_map(read).collect()
}

/// What a part says: of a list of faults each with its place, else its words.
pub(super) fn said(content: &RawValue) -> Cow<'_, str> {
    let faults: Option<Vec<&RawValue>> =
        content.get().starts_with('[').then(|| read(content)).flatten();
    let told: Option<Vec<String>> = faults.iter().flatten().map(|fault| told(fault)).collect();
    match told {
        Some(told) if !told.is_empty() => Cow::Owned(told.join("; ")),
        _ => words(content),
    }
}

fn told(fault: &RawValue) -> Option<String> {
    let fault: Fault<'_> = fault.get().starts_with('{').then(|| read(fault)).flatten()?;
    let why = fault.msg.and_then(text)?;
    let place: Vec<&RawValue> = fault.loc.and_then(read).unwrap_or_default();
    let place: Vec<Cow<'_, str>> = place.into_iter().filter_map(label).collect();
    Some(if place.is_empty() { why.into_owned() } else { format!("{}: {why}", place.join(".")) })
}

/// The history that an object holds.
pub(super) fn list_in(object: &RawValue) -> Option<Vec<&RawValue>> {
    object.get().starts_with('{').then_some(())?;
    let holder: Holder<'_> = read(object)?;
    let list = holder.messages.or(holder.all_messages);
    read(list.or(holder.message_history).or(holder.new_messages)?)
}

/// Tokens and cost of one response.
#[derive(Default)]
pub(super) struct Spent {
    pub(super) tokens: Option<Tokens>,
    pub(super) cost: Option<f64>,
}

/// Reads a usage; its `input_tokens` hold what a cache served or took.
pub(super) fn usage(usage: &RawValue) -> Spent {
    let Some(counts) = read::<Counts<'_>>(usage) else { return Spent::default() };
    let input = amount(counts.input_tokens.or(counts.request_tokens));
    let output = amount(counts.output_tokens.or(counts.response_tokens));
    let cost = amount(counts.cost);
    if input.is_none() && output.is_none() {
        let tokens = amount(counts.total_tokens);
        let tokens = tokens.map(|unsplit| Tokens { unsplit, ..Tokens::default() });
        return Spent { tokens, cost };
    }
    let cache_read = amount(counts.cache_read_tokens).unwrap_or_default();
    let cache_write = amount(counts.cache_write_tokens).unwrap_or_default();
    let tokens = Tokens {
        input: (input.unwrap_or_default() - cache_read - cache_write).max(0.0),
        cache_read,
        cache_write,
        output: output.unwrap_or_default(),
        unsplit: 0.0,
    };
    Spent { tokens: Some(tokens), cost }
}
