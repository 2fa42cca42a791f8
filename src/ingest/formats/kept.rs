//! What assemblers keep of a record once its bytes are gone.
//!
//! Owns: the owned and small forms of a record's values. Refuses: to read JSON, which the field
//! types of the native form do.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::native::fields::Scalar;
use crate::model::{Attempt, ErrorInfo, Final, Score, ScoreValue, Stamp, Trajectory};

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

/// A run without a borrow, for formats that must see all files before they give one.
pub(super) fn run(run: Trajectory<'_>) -> Trajectory<'static> {
    let list = |texts: Vec<Cow<'_, str>>| texts.into_iter().map(owned).collect();
    let value = |value| match value {
        ScoreValue::Number(number) => ScoreValue::Number(number),
        ScoreValue::Unreadable(text) => ScoreValue::Unreadable(owned(text)),
    };
    Trajectory {
        place: run.place,
        run_id: run.run_id.map(owned),
        task_id: run.task_id.map(owned),
        trial: run.trial.map(owned),
        agent: run.agent.map(owned),
        model: run.model.map(owned),
        tags: run.tags.into_iter().map(|(key, value)| (owned(key), owned(value))).collect(),
        status: run.status.map(owned),
        end_reason: run.end_reason.map(owned),
        end_rule: run.end_rule,
        format_outcome: run.format_outcome,
        scores: run
            .scores
            .into_iter()
            .map(|score| Score { name: owned(score.name), value: value(score.value) })
            .collect(),
        success: run.success,
        started_at: run.started_at.map(Stamp::into_owned),
        ended_at: run.ended_at.map(Stamp::into_owned),
        duration_ms: run.duration_ms,
        tokens: run.tokens,
        cost_usd: run.cost_usd,
        final_output: match run.final_output {
            Final::Missing => Final::Missing,
            Final::Json(json) => Final::Json(owned(json)),
        },
        retry_source: run.retry_source,
        order_unknown: run.order_unknown,
        steps_unknown: run.steps_unknown,
        attempts: run.attempts.into_iter().map(attempt).collect(),
        never_reached: list(run.never_reached),
    }
}

/// An attempt without a borrow.
pub(super) fn attempt(attempt: Attempt<'_>) -> Attempt<'static> {
    Attempt {
        step_id: attempt.step_id.map(owned),
        node_id: attempt.node_id.map(owned),
        index: attempt.index,
        attempt: attempt.attempt,
        attempts_total: attempt.attempts_total,
        nested_in: attempt.nested_in,
        kind: owned(attempt.kind),
        name: attempt.name.map(owned),
        status: attempt.status.map(owned),
        request_id: attempt.request_id.map(owned),
        input: attempt.input,
        error: attempt.error.map(error),
        status_decides: attempt.status_decides,
        started_at: attempt.started_at.map(Stamp::into_owned),
        ended_at: attempt.ended_at.map(Stamp::into_owned),
        duration_ms: attempt.duration_ms,
        tokens: attempt.tokens,
        cost_usd: attempt.cost_usd,
        turn: attempt.turn,
        raw: attempt.raw.map(owned),
        bytes: attempt.bytes,
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
