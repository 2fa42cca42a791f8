//! What assemblers keep of a record once its bytes are gone.
//!
//! Owns: the owned and small forms of a record's values. Refuses: to read JSON, which the field
//! types of the native form do.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::native::fields::Scalar;
use crate::model::{ErrorInfo, Stamp};

/// The words that most records repeat: they cost no allocation.
const WORDS: [&str; 22] = [
    "node",
    "tool",
    "llm",
    "tool_call",
    "llm_call",
    "search",
    "plan",
    "completed",
    "failed",
    "ok",
    "error",
    "success",
    "succeeded",
    "running",
    "pending",
    "waiting",
    "skipped",
    "cancelled",
    "timeout",
    "code_exec",
    "file_edit",
    "reflection",
];

/// The text without a borrow, and without an allocation where it is a well-known word.
pub(super) fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    match WORDS.iter().find(|word| **word == text) {
        Some(word) => Cow::Borrowed(word),
        None => Cow::Owned(text.into_owned()),
    }
}

/// A simple value as a text without a borrow.
pub(super) fn text(scalar: &Scalar<'_>) -> Option<Cow<'static, str>> {
    scalar.text().map(owned)
}

/// A time without a borrow. A readable one with a zone is kept as a number, which is as exact as
/// [`crate::model::Time`] and holds no allocation.
pub(super) fn stamp(scalar: &Scalar<'_>) -> Option<Stamp<'static>> {
    let stamp = scalar.stamp()?;
    let packed = match &stamp {
        Stamp::Text(_) => stamp.time().filter(|time| time.zoned).and_then(|time| {
            u64::try_from(time.micros).ok()?.checked_mul(1000).filter(|nanos| *nanos > 0)
        }),
        Stamp::Number(_) | Stamp::Nanos(_) => None,
    };
    Some(packed.map_or_else(|| stamp.into_owned(), Stamp::Nanos))
}

/// An error without a borrow.
pub(super) fn error(error: ErrorInfo<'_>) -> ErrorInfo<'static> {
    ErrorInfo {
        kind: error.kind.map(owned),
        message: error.message.map(owned),
        origin: error.origin,
    }
}

/// Whether a status that is neither passed nor failed is also not open: cancelled or refused.
pub(super) fn is_refusal(status: &str) -> bool {
    ["cancelled", "canceled", "denied", "rejected", "declined"]
        .iter()
        .any(|word| status.trim().eq_ignore_ascii_case(word))
}

/// Writes an object whose values are JSON text already.
pub(super) fn object(members: &BTreeMap<String, String>) -> String {
    let mut json = String::from("{");
    for (key, value) in members {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&serde_json::Value::from(key.as_str()).to_string());
        json.push(':');
        json.push_str(value);
    }
    json.push('}');
    json
}
