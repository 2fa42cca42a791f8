//! A line of a session file, and what it says that any figure reads.
//!
//! Owns the wire structs. Every field is read leniently: one of an odd type is as good as
//! absent, and costs the line nothing else.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::{Tokens, input_hash};

type Raw<'a> = Option<&'a RawValue>;

/// One line.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) subtype: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) uuid: Raw<'a>,
    #[serde(borrow, default, rename = "parentUuid")]
    pub(super) parent: Raw<'a>,
    #[serde(borrow, default, rename = "sessionId")]
    pub(super) session: Raw<'a>,
    #[serde(borrow, default, rename = "isSidechain")]
    pub(super) sidechain: Raw<'a>,
    #[serde(borrow, default, rename = "agentId")]
    pub(super) agent: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) timestamp: Raw<'a>,
    #[serde(borrow, default, rename = "isMeta")]
    pub(super) meta: Raw<'a>,
    #[serde(borrow, default, rename = "isApiErrorMessage")]
    pub(super) api_error: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) message: Raw<'a>,
    #[serde(borrow, default, rename = "toolUseResult")]
    pub(super) result: Raw<'a>,
    #[serde(borrow, default, rename = "costUSD")]
    pub(super) cost: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) version: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) cwd: Raw<'a>,
    #[serde(borrow, default, rename = "gitBranch")]
    pub(super) branch: Raw<'a>,
}

/// The message of a line.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) id: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) model: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) content: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) usage: Raw<'a>,
}

/// One block of a message's content.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) id: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) name: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) input: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) text: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) tool_use_id: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) content: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) is_error: Raw<'a>,
}

#[derive(Deserialize)]
struct Usage<'a> {
    #[serde(borrow, default)]
    input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    cache_creation_input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    cache_read_input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    output_tokens: Raw<'a>,
}

/// A field as text; `None` if it is absent, empty or no text.
pub(super) fn text(raw: Raw<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let raw = raw?.get();
    let text: Text<'_> = raw.starts_with('"').then(|| serde_json::from_str(raw).ok()).flatten()?;
    (!text.0.is_empty()).then(|| text.0.into_owned())
}

/// Whether a flag is set.
pub(super) fn is_true(raw: Raw<'_>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// A count or an amount that is not below 0, also where it is written as text.
pub(super) fn number(raw: Raw<'_>) -> Option<f64> {
    let number: f64 = raw?.get().trim_matches('"').parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// An object as this struct; `None` where the value is no object or does not fit.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    let raw = raw?.get();
    raw.starts_with('{').then(|| serde_json::from_str(raw).ok()).flatten()
}

/// The hash of a call's input.
pub(super) fn input(raw: Raw<'_>) -> Option<u64> {
    input_hash(raw?.get())
}

/// Tokens of one message; input counts here leave the cache out. `None` without any count.
pub(super) fn tokens(raw: Raw<'_>) -> Option<Tokens> {
    let usage: Usage<'_> = object(raw)?;
    let counts = [
        number(usage.input_tokens),
        number(usage.cache_read_input_tokens),
        number(usage.cache_creation_input_tokens),
        number(usage.output_tokens),
    ];
    if counts.iter().all(Option::is_none) {
        return None;
    }
    let [input, cache_read, cache_write, output] = counts.map(|count| count.unwrap_or(0.0));
    Some(Tokens { input, cache_read, cache_write, output, unsplit: 0.0 })
}

/// The blocks of a content: those of a list, or one text block. Elements that are no blocks
/// are counted in the second value.
pub(super) fn blocks(content: Raw<'_>) -> (Vec<Block<'_>>, u64) {
    let Some(content) = content else { return (Vec::new(), 0) };
    if !content.get().starts_with('[') {
        let text = Block {
            kind: None,
            id: None,
            name: None,
            input: None,
            text: Some(content),
            tool_use_id: None,
            content: None,
            is_error: None,
        };
        return (vec![text], 0);
    }
    let elements: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let total = elements.len() as u64;
    let blocks: Vec<_> =
        elements.into_iter().filter_map(|element| object::<Block<'_>>(Some(element))).collect();
    let bad = total - blocks.len() as u64;
    (blocks, bad)
}

/// The text of a tool result: its own, or its text blocks' one after the other.
pub(super) fn result_text(content: Raw<'_>) -> Option<String> {
    let (blocks, _) = blocks(content);
    let texts: Vec<String> = blocks.into_iter().filter_map(|block| text(block.text)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
