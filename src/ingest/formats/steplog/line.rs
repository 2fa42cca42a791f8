//! One line of a step log, as typed.
//!
//! Owns: the words of `event`, and one borrowed parse that takes a field from the line itself,
//! else from `extra`. Refuses: to look deeper than `extra`, and to keep any text that no figure
//! reads.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::ingest::quick;

use super::super::native::fields::{AnyTokens, ErrorField, Scalar, ScoreMap, TagMap};

/// The text of a line, kept with the attempt that it tells of.
#[derive(Clone, Copy)]
pub(super) struct Written<'r> {
    pub(super) text: &'r [u8],
    /// First byte and the byte after the last one, where they are those of the run's file.
    pub(super) bytes: Option<(u64, u64)>,
}

/// What a line says happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    RunStart,
    RunEnd,
    /// A whole attempt on one line.
    Step,
    Start,
    Passed,
    /// An end that says nothing of success by itself.
    End,
    Failed,
    Timeout,
    Retry,
    Skipped,
    Waiting,
    Cancelled,
}

impl Event {
    /// Reads the word, in any case.
    fn read(word: &str) -> Option<Self> {
        const EVENTS: [(&str, Event); 21] = [
            ("step", Event::Step),
            ("run_start", Event::RunStart),
            ("run_end", Event::RunEnd),
            ("start", Event::Start),
            ("started", Event::Start),
            ("complete", Event::Passed),
            ("completed", Event::Passed),
            ("success", Event::Passed),
            ("succeeded", Event::Passed),
            ("end", Event::End),
            ("fail", Event::Failed),
            ("failed", Event::Failed),
            ("error", Event::Failed),
            ("timeout", Event::Timeout),
            ("retry", Event::Retry),
            ("skip", Event::Skipped),
            ("skipped", Event::Skipped),
            ("waiting", Event::Waiting),
            ("cancelled", Event::Cancelled),
            ("canceled", Event::Cancelled),
            ("cancel", Event::Cancelled),
        ];
        let word = word.trim();
        EVENTS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)).map(|(_, event)| *event)
    }

    /// Whether the event is about a node that other lines are about too.
    pub(super) fn needs_node(self) -> bool {
        !matches!(self, Self::RunStart | Self::RunEnd | Self::Step)
    }
}

/// The fields that a line and its `extra` may have together.
#[derive(Default)]
pub(super) struct Fields<'a> {
    pub(super) run_id: Scalar<'a>,
    pub(super) workflow_id: Scalar<'a>,
    pub(super) task_id: Scalar<'a>,
    pub(super) trial: Scalar<'a>,
    pub(super) agent: Scalar<'a>,
    pub(super) model: Scalar<'a>,
    pub(super) node_id: Scalar<'a>,
    pub(super) step_id: Scalar<'a>,
    pub(super) kind: Scalar<'a>,
    pub(super) node_type: Scalar<'a>,
    pub(super) name: Scalar<'a>,
    pub(super) status: Scalar<'a>,
    pub(super) end_reason: Scalar<'a>,
    pub(super) request_id: Scalar<'a>,
    pub(super) index: Scalar<'a>,
    pub(super) attempt: Scalar<'a>,
    pub(super) started_at: Scalar<'a>,
    pub(super) ended_at: Scalar<'a>,
    pub(super) logged_at: Scalar<'a>,
    pub(super) duration_ms: Scalar<'a>,
    pub(super) cost_usd: Scalar<'a>,
    pub(super) score: Scalar<'a>,
    pub(super) success: Scalar<'a>,
    pub(super) error: ErrorField<'a>,
    pub(super) tokens: AnyTokens,
    pub(super) tags: TagMap<'a>,
    pub(super) scores: ScoreMap<'a>,
    pub(super) input: Option<&'a RawValue>,
    pub(super) final_output: Option<Option<&'a RawValue>>,
}

impl<'a> Fields<'a> {
    /// The id of the line's run, where it names one.
    pub(super) fn run_key(&self) -> Option<Cow<'a, str>> {
        self.run_id.text().or_else(|| self.workflow_id.text())
    }

    /// What the lines of one node share: `node_id`, else `step_id`, else the name.
    pub(super) fn node_key(&self) -> Option<Cow<'a, str>> {
        [&self.node_id, &self.step_id, &self.name].into_iter().find_map(Scalar::text)
    }

    /// Whether there is a `node_id` proper: many logs have a `name`.
    pub(super) fn has_node(&self) -> bool {
        self.node_id.text().is_some()
    }

    pub(super) fn has_type(&self) -> bool {
        matches!(self.kind, Scalar::Text(_))
    }

    pub(super) fn has_status(&self) -> bool {
        !self.status.is_absent()
    }
}

/// One line.
#[derive(Default)]
pub(super) struct Line<'a> {
    event: Scalar<'a>,
    metric: Scalar<'a>,
    /// The value of a metric; `None` for `null`.
    pub(super) value: Option<&'a RawValue>,
    /// Whether `extra` is an object.
    pub(super) has_extra: bool,
    pub(super) fields: Fields<'a>,
}

impl<'a> Line<'a> {
    /// Reads a line; `None` where it is sound JSON but no object.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Option<Self>, serde_json::Error> {
        quick::from_slice(bytes).map(|Read(line)| line)
    }

    /// The event; `Err` with a word that is in no list; `None` where there is none.
    pub(super) fn event(&self) -> Option<Result<Event, &str>> {
        let Scalar::Text(word) = &self.event else { return None };
        Some(Event::read(word).ok_or(word))
    }

    /// The name of the metric that the line sets.
    pub(super) fn metric(&self) -> Option<&str> {
        let Scalar::Text(name) = &self.metric else { return None };
        Some(name)
    }
}

/// A line, if it is an object.
struct Read<'a>(Option<Line<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Read<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut line = Line::default();
        let is_object = Level { line: &mut line, inside: false }.deserialize(deserializer)?;
        Ok(Self(is_object.then_some(line)))
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Event,
    Metric,
    Value,
    Extra,
    RunId,
    WorkflowId,
    TaskId,
    Trial,
    Agent,
    Model,
    NodeId,
    StepId,
    Type,
    NodeType,
    Name,
    Status,
    EndReason,
    RequestId,
    Index,
    Attempt,
    StartedAt,
    EndedAt,
    #[serde(alias = "time", alias = "ts")]
    Timestamp,
    DurationMs,
    CostUsd,
    Score,
    Success,
    Error,
    Tokens,
    Tags,
    Scores,
    Input,
    Final,
    #[serde(other)]
    Other,
}

/// Reads the members of the line, or of its `extra`, into one set of fields.
struct Level<'l, 'a> {
    line: &'l mut Line<'a>,
    /// True in `extra`, whose members only fill what the line does not give.
    inside: bool,
}

impl<'a> DeserializeSeed<'a> for Level<'_, 'a> {
    /// Whether the value is an object.
    type Value = bool;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Level<'_, 'a> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step event")
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
    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }
    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<bool, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<bool, A::Error> {
        let Self { line, inside } = self;
        while let Some(key) = map.next_key::<Key>()? {
            let fields = &mut line.fields;
            let slot = match key {
                Key::RunId => &mut fields.run_id,
                Key::WorkflowId => &mut fields.workflow_id,
                Key::TaskId => &mut fields.task_id,
                Key::Trial => &mut fields.trial,
                Key::Agent => &mut fields.agent,
                Key::Model => &mut fields.model,
                Key::NodeId => &mut fields.node_id,
                Key::StepId => &mut fields.step_id,
                Key::Type => &mut fields.kind,
                Key::NodeType => &mut fields.node_type,
                Key::Name => &mut fields.name,
                Key::Status => &mut fields.status,
                Key::EndReason => &mut fields.end_reason,
                Key::RequestId => &mut fields.request_id,
                Key::Index => &mut fields.index,
                Key::Attempt => &mut fields.attempt,
                Key::StartedAt => &mut fields.started_at,
                Key::EndedAt => &mut fields.ended_at,
                Key::Timestamp => &mut fields.logged_at,
                Key::DurationMs => &mut fields.duration_ms,
                Key::CostUsd => &mut fields.cost_usd,
                Key::Score => &mut fields.score,
                Key::Success => &mut fields.success,
                _ => {
                    match key {
                        Key::Error => {
                            let value: ErrorField<'a> = map.next_value()?;
                            if value.0.is_some() && (!inside || fields.error.0.is_none()) {
                                fields.error = value;
                            }
                        }
                        Key::Tokens => {
                            let value: AnyTokens = map.next_value()?;
                            if value.0.is_some() && (!inside || fields.tokens.0.is_none()) {
                                fields.tokens = value;
                            }
                        }
                        Key::Tags => {
                            let value: TagMap<'a> = map.next_value()?;
                            if !value.0.is_empty() && (!inside || fields.tags.0.is_empty()) {
                                fields.tags = value;
                            }
                        }
                        Key::Scores => {
                            let value: ScoreMap<'a> = map.next_value()?;
                            if !value.0.is_empty() && (!inside || fields.scores.0.is_empty()) {
                                fields.scores = value;
                            }
                        }
                        Key::Input => {
                            let value: Option<&'a RawValue> = map.next_value()?;
                            if value.is_some() && (!inside || fields.input.is_none()) {
                                fields.input = value;
                            }
                        }
                        Key::Final => {
                            let value: Option<&'a RawValue> = map.next_value()?;
                            if !inside || fields.final_output.is_none() {
                                fields.final_output = Some(value);
                            }
                        }
                        Key::Event if !inside => line.event = map.next_value()?,
                        Key::Metric if !inside => line.metric = map.next_value()?,
                        Key::Value if !inside => line.value = map.next_value()?,
                        Key::Extra if !inside => {
                            line.has_extra =
                                map.next_value_seed(Level { line: &mut *line, inside: true })?;
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                    continue;
                }
            };
            let value: Scalar<'a> = map.next_value()?;
            if !value.is_absent() && (!inside || slot.is_absent()) {
                *slot = value;
            }
        }
        Ok(true)
    }
}
