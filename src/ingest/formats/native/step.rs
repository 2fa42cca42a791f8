//! A native step as written, filled in where it stands.
//!
//! Owns its fields and their keys. Refuses, as other records do, a key that is there twice.

use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::fields::{AnyTokens, ErrorField, NestedAttempts, Raw, Scalar, drain_seq};
use super::marks::{InputKey, OnlyTrue, Origin};

/// A native step as written. Structured log lines carry the same fields.
#[derive(Default)]
pub struct WireStep<'a> {
    pub(super) step_id: Scalar<'a>,
    pub(super) node_id: Scalar<'a>,
    pub(super) index: Scalar<'a>,
    pub(super) attempt: Scalar<'a>,
    pub(super) attempts: NestedAttempts<'a>,
    pub(super) retries: Scalar<'a>,
    pub(super) retry_count: Scalar<'a>,
    pub(super) attempts_total: Scalar<'a>,
    pub(super) nested_in: Scalar<'a>,
    pub(super) kind: Scalar<'a>,
    pub(super) name: Scalar<'a>,
    pub(super) status: Scalar<'a>,
    pub(super) request_id: Scalar<'a>,
    pub(super) tool_call_id: Scalar<'a>,
    pub(super) input: Raw<'a>,
    pub(super) input_hash: InputKey,
    pub(super) error: ErrorField<'a>,
    pub(super) error_origin: Origin,
    pub(super) status_decides: OnlyTrue,
    pub(super) model_turn: OnlyTrue,
    pub(super) started_at: Scalar<'a>,
    pub(super) ended_at: Scalar<'a>,
    pub(super) duration_ms: Scalar<'a>,
    pub(super) tokens: AnyTokens,
    pub(super) cost_usd: Scalar<'a>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    StepId,
    NodeId,
    Index,
    Attempt,
    Attempts,
    Retries,
    RetryCount,
    AttemptsTotal,
    NestedIn,
    Type,
    Name,
    Status,
    RequestId,
    ToolCallId,
    Input,
    InputHash,
    Error,
    ErrorOrigin,
    StatusDecides,
    ModelTurn,
    StartedAt,
    EndedAt,
    DurationMs,
    Tokens,
    CostUsd,
    #[serde(other)]
    Other,
}

/// The keys as written, in the order of [`Key`].
pub(super) const KEYS: [&str; 25] = [
    "step_id",
    "node_id",
    "index",
    "attempt",
    "attempts",
    "retries",
    "retry_count",
    "attempts_total",
    "nested_in",
    "type",
    "name",
    "status",
    "request_id",
    "tool_call_id",
    "input",
    "input_hash",
    "error",
    "error_origin",
    "status_decides",
    "model_turn",
    "started_at",
    "ended_at",
    "duration_ms",
    "tokens",
    "cost_usd",
];

/// Reads a step into its place: a step is a kilobyte, and moving it about takes as long as parsing its
/// fields. Tells whether the value is an object.
pub(super) struct Fill<'s, 'a>(pub(super) &'s mut WireStep<'a>);

impl<'de: 'a, 'a> DeserializeSeed<'de> for Fill<'_, 'a> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Fill<'_, 'a> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step")
    }
    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }
    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }
    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }
    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }
    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }
    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<bool, A::Error> {
        drain_seq(seq).map(|()| false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let step = self.0;
        let mut seen = 0_u32;
        while let Some(key) = map.next_key::<Key>()? {
            if let Some(name) = KEYS.get(key as usize) {
                let bit = 1 << key as u32;
                if seen & bit != 0 {
                    return Err(A::Error::duplicate_field(name));
                }
                seen |= bit;
            }
            let scalar = match key {
                Key::StepId => &mut step.step_id,
                Key::NodeId => &mut step.node_id,
                Key::Index => &mut step.index,
                Key::Attempt => &mut step.attempt,
                Key::Retries => &mut step.retries,
                Key::RetryCount => &mut step.retry_count,
                Key::AttemptsTotal => &mut step.attempts_total,
                Key::NestedIn => &mut step.nested_in,
                Key::Type => &mut step.kind,
                Key::Name => &mut step.name,
                Key::Status => &mut step.status,
                Key::RequestId => &mut step.request_id,
                Key::ToolCallId => &mut step.tool_call_id,
                Key::StartedAt => &mut step.started_at,
                Key::EndedAt => &mut step.ended_at,
                Key::DurationMs => &mut step.duration_ms,
                Key::CostUsd => &mut step.cost_usd,
                _ => {
                    match key {
                        Key::Attempts => step.attempts = map.next_value()?,
                        Key::Input => step.input = map.next_value()?,
                        Key::InputHash => step.input_hash = map.next_value()?,
                        Key::Error => step.error = map.next_value()?,
                        Key::ErrorOrigin => step.error_origin = map.next_value()?,
                        Key::StatusDecides => step.status_decides = map.next_value()?,
                        Key::ModelTurn => step.model_turn = map.next_value()?,
                        Key::Tokens => step.tokens = map.next_value()?,
                        _ => _ = map.next_value::<IgnoredAny>()?,
                    }
                    continue;
                }
            };
            *scalar = map.next_value()?;
        }
        Ok(true)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireStep<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut step = Self::default();
        match Fill(&mut step).deserialize(deserializer)? {
            true => Ok(step),
            false => Err(D::Error::custom("a step is an object")),
        }
    }
}
