//! Tokens and cost of one observation, in the newer form and the two older ones.
//!
//! Owns the question whether details are part of the input and output or beside them: the total
//! tells, where there is one.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::raw::{Entries, label, number};
use super::super::span_record::unwrapped;
use super::Fields;
use crate::ingest::quick;
use crate::model::Tokens;

/// Tokens of an observation; the same usage may stand in all three forms, and is read once.
pub(super) fn tokens(fields: &Fields<'_>) -> Option<Tokens> {
    let map = |names: &[&str]| {
        let json = unwrapped(fields.get(names)?);
        let entries: Entries<'_> = quick::from_str(&json).ok()?;
        let other_unit = |(key, value): &(Cow<'_, str>, &RawValue)| {
            let unit = label(value).unwrap_or(Cow::Borrowed("TOKENS"));
            key == "unit" && !unit.eq_ignore_ascii_case("TOKENS")
        };
        if entries.0.iter().any(other_unit) {
            return None; // characters, images or seconds, which are no tokens
        }
        let counts: Vec<(String, f64)> = entries
            .0
            .iter()
            .filter_map(|(key, value)| Some((key.to_ascii_lowercase(), number(value)?)))
            .filter(|(_, count)| count.is_finite() && *count >= 0.0)
            .collect();
        (!counts.is_empty()).then_some(counts)
    };
    map(&["usageDetails", "usage_details"])
        .and_then(|counts| detailed(&counts))
        .or_else(|| map(&["usage"]).and_then(|counts| detailed(&counts)))
        .or_else(|| legacy(fields))
}

/// Sums of a map of counts, by what their names say.
fn detailed(counts: &[(String, f64)]) -> Option<Tokens> {
    let (mut input, mut output, mut total) = (None, None, None);
    let (mut read, mut write, mut more_input, mut more_output) = (0.0, 0.0, 0.0, 0.0);
    let mut parts = false;
    for (key, count) in counts {
        match key.as_str() {
            "input" | "input_tokens" | "prompt_tokens" | "prompttokens" => input = Some(*count),
            "output" | "output_tokens" | "completion_tokens" | "completiontokens" => {
                output = Some(*count);
            }
            "total" | "total_tokens" | "totaltokens" => total = Some(*count),
            other => {
                parts |= other.contains("details");
                let written = other.contains("creation") || other.contains("write");
                match other {
                    _ if other.contains("cost") => {}
                    _ if other.contains("cache") && written => write += count,
                    _ if other.contains("cache") => read += count,
                    _ if other.starts_with("input") || other.starts_with("prompt") => {
                        more_input += count;
                    }
                    _ if other.starts_with("output")
                        || other.starts_with("completion")
                        || other.contains("reasoning") =>
                    {
                        more_output += count;
                    }
                    _ => {}
                }
            }
        }
    }
    if input.is_none() && output.is_none() && read + write == 0.0 {
        return total.map(|unsplit| Tokens { unsplit, ..Tokens::default() });
    }
    let (input, output) = (input.unwrap_or(0.0), output.unwrap_or(0.0));
    let inside = total.map_or(parts, |total| (total - input - output).abs() < 0.5);
    Some(Tokens {
        input: if inside { (input - read - write).max(0.0) } else { input + more_input },
        cache_read: read,
        cache_write: write,
        output: if inside { output } else { output + more_output },
        unsplit: 0.0,
    })
}

/// Counts beside the observation's other fields; all zero where nothing was counted.
fn legacy(fields: &Fields<'_>) -> Option<Tokens> {
    let input = fields.amount(&["promptTokens", "inputUsage", "input_usage", "prompt_tokens"]);
    let output =
        fields.amount(&["completionTokens", "outputUsage", "output_usage", "completion_tokens"]);
    let total = fields.amount(&["totalTokens", "totalUsage", "total_usage", "total_tokens"]);
    let (input, output) = (input.unwrap_or(0.0), output.unwrap_or(0.0));
    if input + output > 0.0 {
        return Some(Tokens { input, output, ..Tokens::default() });
    }
    let unsplit = total.filter(|total| *total > 0.0)?;
    Some(Tokens { unsplit, ..Tokens::default() })
}

/// Cost in US dollars; a zero without details means that no price was known.
pub(super) fn cost(fields: &Fields<'_>) -> Option<f64> {
    let details = fields.get(&["costDetails", "cost_details"]).map(unwrapped);
    let details: Entries<'_> =
        details.as_deref().and_then(|json| quick::from_str(json).ok()).unwrap_or_default();
    let total = fields.amount(&["totalCost", "total_cost", "calculatedTotalCost"]);
    let total = total.or_else(|| {
        let (_, value) = details.0.iter().find(|(key, _)| key == "total")?;
        number(value).filter(|cost| cost.is_finite() && *cost >= 0.0)
    });
    total.filter(|total| *total > 0.0 || !details.0.is_empty())
}
