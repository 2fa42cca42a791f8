//! Tool calls that a model's output messages ask for, in the shapes of all dialects.
//!
//! Owns the wire structs of messages. Refuses to match calls with spans; the span tree does.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::attributes::{Facts, Slot};
use super::wire;
use crate::ingest::assemble::spans::AskedCall;
use crate::ingest::quick;

/// A message (GenAI conventions, OpenAI), or a call by itself (Vercel's `ai.*`).
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Part<'a>>>,
    /// Anthropic's blocks, or Google's parts one level deeper.
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    /// The items of OpenAI's Responses API.
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "toolCallId")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "toolName")]
    name: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    /// OpenAI's name and arguments, beside the id.
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
    /// Google's whole call.
    #[serde(borrow, default)]
    function_call: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
}

/// The calls asked for by one span; messages that are not of a known shape ask for none.
pub(super) fn asked(facts: &mut Facts<'_>) -> Vec<AskedCall> {
    let mut calls: Vec<AskedCall> = facts.take_indexed_calls().collect();
    let Some(json) = facts.text(Slot::Messages) else { return calls };
    let messages: Vec<Message<'_>> = if json.trim_start().starts_with('{') {
        quick::from_str(&json).map(|message| vec![message]).unwrap_or_default()
    } else {
        quick::from_str(&json).unwrap_or_default()
    };
    for message in messages {
        if message.id.is_some() || message.name.is_some() {
            calls.push(call(message.id, message.name));
        }
        of_parts(message.parts, &mut calls);
        for part in message.tool_calls.into_iter().flatten() {
            let name = part.function.and_then(|function| function.name).or(part.name);
            calls.push(call(part.id, name));
        }
        for json in [message.content, message.output].into_iter().flatten().map(RawValue::get) {
            if json.starts_with('{') {
                let inner = quick::from_str::<Message<'_>>(json).ok();
                of_parts(inner.and_then(|inner| inner.parts), &mut calls);
            } else if json.starts_with('[') {
                of_parts(quick::from_str(json).ok(), &mut calls);
            }
        }
    }
    calls
}

fn of_parts(parts: Option<Vec<Part<'_>>>, calls: &mut Vec<AskedCall>) {
    for part in parts.into_iter().flatten() {
        if let Some(function) = part.function_call {
            calls.push(call(function.id, function.name));
            continue;
        }
        match wire::text(part.kind).as_deref() {
            Some("tool_call" | "tool_use") => calls.push(call(part.id, part.name)),
            Some("function_call") => calls.push(call(part.call_id.or(part.id), part.name)),
            _ => {}
        }
    }
}

fn call(id: Option<&RawValue>, name: Option<&RawValue>) -> AskedCall {
    let list = |id: &RawValue| wire::list_of_texts(id.get());
    let id = match wire::text(id) {
        Some(text) => Some(wire::list_of_texts(&text).unwrap_or(text)),
        None => id.and_then(list),
    };
    AskedCall { id, name: wire::text(name) }
}
