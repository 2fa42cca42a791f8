//! Tokens of one span, from attributes that count them one by one or from one object.
//!
//! Refuses to add up: which spans' usage counts is decided in `assemble::spans`.

use serde_json::value::RawValue;

use super::super::raw::{number, raw_fields, read};
use super::attributes::{Facts, Slot};
use crate::ingest::quick;
use crate::model::Tokens;

/// Tokens where the input includes what a cache gave or took, so that both are taken off it. A part
/// that is larger than the whole stands beside it, as some exporters write for some providers.
pub(in crate::ingest::formats) fn split(
    input: Option<f64>,
    cache_read: f64,
    cache_write: f64,
    output: Option<f64>,
) -> Tokens {
    let input = input.unwrap_or(0.0);
    let cached = cache_read + cache_write;
    Tokens {
        input: if cached > input { input } else { input - cached },
        cache_read,
        cache_write,
        output: output.unwrap_or(0.0),
        unsplit: 0.0,
    }
}

/// Input counts here include what a cache gave or took, so both are taken off it.
pub(super) fn tokens(facts: &mut Facts<'_>) -> Option<Tokens> {
    if let Some(usage) = facts.text(Slot::Usage) {
        return counts(&usage);
    }
    let (input, output) = (facts.number(Slot::Input), facts.number(Slot::Output));
    if input.is_none() && output.is_none() {
        let unsplit = facts.number(Slot::Total)?;
        return Some(Tokens { unsplit, ..Tokens::default() });
    }
    let cache_read = facts.number(Slot::CacheRead).unwrap_or(0.0);
    let cache_write = facts.number(Slot::CacheWrite).unwrap_or(0.0);
    Some(split(input, cache_read, cache_write, output))
}

raw_fields! {
    /// Counts in one object, as MLflow and LangChain write them; caches are part of the input.
    Counts {
        input = "input_tokens", output = "output_tokens", total = "total_tokens",
        read = "cache_read_input_tokens", write = "cache_creation_input_tokens",
        details = "input_token_details",
    }
}

raw_fields! {
    /// LangChain's details of the input.
    Details { cache_read, cache_creation }
}

/// Tokens of such an object; `None` where it counts nothing.
pub(in crate::ingest::formats) fn counts(json: &str) -> Option<Tokens> {
    let counts: Counts<'_> = quick::from_str(json).ok()?;
    let details: Details<'_> = counts.details.and_then(read).unwrap_or_default();
    let amount = |raw: Option<&RawValue>| {
        raw.and_then(number).filter(|number| number.is_finite() && *number >= 0.0)
    };
    let (input, output) = (amount(counts.input), amount(counts.output));
    if input.is_none() && output.is_none() {
        let unsplit = amount(counts.total)?;
        return Some(Tokens { unsplit, ..Tokens::default() });
    }
    let cache_read = amount(details.cache_read).or(amount(counts.read)).unwrap_or(0.0);
    let cache_write = amount(details.cache_creation).or(amount(counts.write)).unwrap_or(0.0);
    Some(split(input, cache_read, cache_write, output))
}
