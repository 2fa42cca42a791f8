//! A line of a session file, and what it says that any figure reads.
//!
//! Owns the wire structs. Every field is read leniently: one of an odd type is as good as
//! absent, and costs the line nothing else.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ingest::quick;
use crate::model::{Tokens, input_hash};

type Raw<'a> = Option<&'a RawValue>;

/// One line.
#[derive(Deserialize)]
pub(in crate::ingest::formats) struct Line<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(in crate::ingest::formats) kind: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) subtype: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) uuid: Raw<'a>,
    #[serde(borrow, default, rename = "parentUuid")]
    pub(in crate::ingest::formats) parent: Raw<'a>,
    #[serde(borrow, default, rename = "logicalParentUuid")]
    pub(in crate::ingest::formats) logical_parent: Raw<'a>,
    #[serde(borrow, default, rename = "sessionId")]
    pub(in crate::ingest::formats) session: Raw<'a>,
    #[serde(borrow, default, rename = "isSidechain")]
    pub(in crate::ingest::formats) sidechain: Raw<'a>,
    #[serde(borrow, default, rename = "agentId")]
    pub(in crate::ingest::formats) agent: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) timestamp: Raw<'a>,
    #[serde(borrow, default, rename = "isMeta")]
    pub(in crate::ingest::formats) meta: Raw<'a>,
    #[serde(borrow, default, rename = "isApiErrorMessage")]
    pub(in crate::ingest::formats) api_error: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) message: Raw<'a>,
    #[serde(borrow, default, rename = "toolUseResult")]
    pub(in crate::ingest::formats) result: Raw<'a>,
    #[serde(borrow, default, rename = "costUSD")]
    pub(in crate::ingest::formats) cost: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) version: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) cwd: Raw<'a>,
    #[serde(borrow, default, rename = "gitBranch")]
    pub(in crate::ingest::formats) branch: Raw<'a>,
}

/// The message of a line.
#[derive(Deserialize)]
pub(in crate::ingest::formats) struct Message<'a> {
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) id: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) model: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) content: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) usage: Raw<'a>,
}

/// One block of a message's content.
#[derive(Deserialize)]
pub(in crate::ingest::formats) struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(in crate::ingest::formats) kind: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) id: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) name: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) input: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) text: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) tool_use_id: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) content: Raw<'a>,
    #[serde(borrow, default)]
    pub(in crate::ingest::formats) is_error: Raw<'a>,
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
pub(in crate::ingest::formats) fn text(raw: Raw<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let raw = raw?.get();
    let text: Text<'_> = raw.starts_with('"').then(|| quick::from_str(raw).ok()).flatten()?;
    (!text.0.is_empty()).then(|| text.0.into_owned())
}

/// Whether a flag is set.
pub(in crate::ingest::formats) fn is_true(raw: Raw<'_>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// A count or an amount that is not below 0, also where it is written as text.
pub(in crate::ingest::formats) fn number(raw: Raw<'_>) -> Option<f64> {
    let number: f64 = raw?.get().trim_matches('"').parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// An object as this struct; `None` where the value is no object or does not fit.
pub(in crate::ingest::formats) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    let raw = raw?.get();
    raw.starts_with('{').then(|| quick::from_str(raw).ok()).flatten()
}

/// The hash of a call's input.
pub(in crate::ingest::formats) fn input(raw: Raw<'_>) -> Option<u64> {
    input_hash(raw?.get())
}

/// Tokens of one message; input counts here leave the cache out. `None` without any count.
pub(in crate::ingest::formats) fn tokens(raw: Raw<'_>) -> Option<Tokens> {
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
pub(in crate::ingest::formats) fn blocks(content: Raw<'_>) -> (Vec<Block<'_>>, u64) {
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
    let elements: Vec<&RawValue> = quick::from_str(content.get()).unwrap_or_default();
    let total = elements.len() as u64;
    let blocks: Vec<_> =
        elements.into_iter().filter_map(|element| object::<Block<'_>>(Some(element))).collect();
    let bad = total - blocks.len() as u64;
    (blocks, bad)
}

/// The text of a tool result: its own, or its text blocks' one after the other.
pub(in crate::ingest::formats) fn result_text(content: Raw<'_>) -> Option<String> {
    let (blocks, _) = blocks(content);
    let texts: Vec<String> = blocks.into_iter().filter_map(|block| text(block.text)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
