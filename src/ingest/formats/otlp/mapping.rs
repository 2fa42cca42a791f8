//! One OTLP span made into the span of `assemble::spans`.
//!
//! Owns which attribute becomes which field, and the evidence for an error: status, then
//! `error.type`, then a flag in the recorded result. Refuses the tree; see `assemble::spans`.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::super::evidence::flagged_error;
use super::attributes::{Facts, Slot};
use super::calls;
use super::wire::{self, Attributes, Value};
use crate::ingest::assemble::spans::{Span, SpanClass, SpanStatus};
use crate::model::{
    Attempt, ErrorInfo, ErrorOrigin, Place, Score, ScoreValue, Stamp, Tokens, input_hash,
};

#[derive(Deserialize)]
struct WireSpan<'a> {
    #[serde(borrow, default, alias = "trace_id", rename = "traceId")]
    trace_id: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "span_id", rename = "spanId")]
    span_id: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "parent_span_id", rename = "parentSpanId")]
    parent: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "start_time_unix_nano", rename = "startTimeUnixNano")]
    start: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "end_time_unix_nano", rename = "endTimeUnixNano")]
    end: Option<&'a RawValue>,
    #[serde(borrow, default)]
    attributes: Option<Attributes<'a>>,
    #[serde(borrow, default)]
    events: Option<Vec<Event<'a>>>,
    #[serde(borrow, default)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    attributes: Option<Attributes<'a>>,
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// Reads one span: its trace id and the span. `Err` names the rule by which it is refused.
pub(super) fn span(
    json: &str,
    place: Place,
    raw: bool,
    undecodable: &mut u64,
) -> Result<(String, Span), &'static str> {
    if !json.starts_with('{') {
        return Err("malformed_span: it is not an object");
    }
    let wire: WireSpan<'_> = serde_json::from_str(json)
        .map_err(|_| "malformed_span: attributes, events or status are not of OTLP's form")?;
    let trace = wire::id(wire.trace_id, 16).ok_or("span_without_trace_id")?;
    let id = wire::id(wire.span_id, 8).unwrap_or_default();
    let name = wire::text(wire.name).unwrap_or_default();

    let mut facts = Facts::new();
    if let Some(attributes) = &wire.attributes {
        facts.take(attributes);
    }
    let mut scores = Vec::new();
    for event in wire.events.iter().flatten() {
        let Some(attributes) = &event.attributes else { continue };
        let event_name = wire::text(event.name).unwrap_or_default();
        if event_name.starts_with("gen_ai.evaluation") {
            let mut evaluation = Facts::new();
            evaluation.take(attributes);
            scores.extend(score(&mut evaluation));
        } else if event_name == "exception" || event_name.starts_with("gen_ai.") {
            facts.take(attributes);
        } else if event_name.is_empty() {
            // Tempo leaves the name out where it is "exception"; nothing else is taken.
            let of_exception: Vec<_> = attributes
                .0
                .iter()
                .filter(|(key, _)| key.starts_with("exception."))
                .cloned()
                .collect();
            facts.take(&Attributes(of_exception));
        }
    }
    scores.extend(score(&mut facts));

    let class = facts.class(&name);
    let mut span = Span::new(id, place, class);
    span.parent = wire::id(wire.parent, 8);
    span.started_at = wire::nanos(wire.start).map(Stamp::Nanos);
    span.ended_at = wire::nanos(wire.end).map(Stamp::Nanos);
    span.status = status(wire.status.as_ref());
    span.error_message = (span.status == SpanStatus::Error)
        .then(|| message(wire.status.as_ref(), &mut facts))
        .flatten();
    span.model = facts.text(Slot::Model);
    span.agent = agent(class, &mut facts);
    span.task = facts.text(Slot::Task);
    span.scores = scores;
    if let Some(session) = facts.text(Slot::Session) {
        span.labels.push(("session", session));
    }
    if matches!(class, SpanClass::Llm | SpanClass::Agent) {
        span.calls = calls::asked(&mut facts);
    }
    if span.parent.is_none() || matches!(class, SpanClass::Agent | SpanClass::Chain) {
        span.output = output(&mut facts);
    }
    let (tokens, cost_usd) = (tokens(&mut facts), facts.number(Slot::Cost));
    let counts = matches!(class, SpanClass::Tool | SpanClass::Retrieval | SpanClass::Llm)
        || tokens.is_some()
        || cost_usd.is_some();
    if counts {
        let mut attempt = attempt(&span, &name, wire.status.as_ref(), &mut facts);
        attempt.tokens = tokens;
        attempt.cost_usd = cost_usd;
        attempt.raw = raw.then(|| Cow::Owned(json.to_owned()));
        span.attempt = Some(Box::new(attempt));
    }
    *undecodable += facts.undecodable;
    Ok((trace, span))
}

fn attempt(
    span: &Span,
    name: &str,
    status: Option<&Status<'_>>,
    facts: &mut Facts<'_>,
) -> Attempt<'static> {
    let is_call = matches!(span.class, SpanClass::Tool | SpanClass::Retrieval);
    let own_name = match span.class {
        SpanClass::Tool => facts.text(Slot::ToolName).or_else(|| facts.text(Slot::Entity)),
        SpanClass::Llm => span.model.clone(),
        SpanClass::Agent => span.agent.clone(),
        _ => facts.text(Slot::Entity),
    };
    let name = own_name.unwrap_or_else(|| {
        name.strip_prefix("execute_tool ").unwrap_or(name).trim_end_matches(".tool").to_owned()
    });
    let mut attempt = Attempt {
        kind: if span.class == SpanClass::Retrieval { "retrieval" } else { "tool" }.into(),
        name: (!name.is_empty()).then_some(Cow::Owned(name)),
        error: error(span.status, status, facts),
        ..Attempt::default()
    };
    if is_call {
        attempt.request_id = facts.text(Slot::CallId).map(Cow::Owned);
        attempt.input = facts.value(Slot::Arguments).and_then(|value| hash(&value));
        if attempt.error.is_none() {
            attempt.error = facts.text(Slot::Result).and_then(|result| flagged_error(&result));
        }
    }
    // A span that was written before it ended is a call that still ran.
    if span.started_at.is_some() && span.ended_at.is_none() && attempt.error.is_none() {
        attempt.status = Some("running".into());
    }
    attempt
}

/// The hash of arguments, the same whether they were a map, JSON in a text, or a bare text.
fn hash(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::Json(json) => input_hash(json),
        Value::Text(text) if text.trim().is_empty() => None,
        Value::Text(text) => input_hash(&as_json(text)),
        Value::Number(number) => input_hash(&number.to_string()),
        Value::Bool(truth) => input_hash(&truth.to_string()),
    }
}

/// A text that is JSON as it is, any other as a JSON string.
fn as_json(text: &str) -> Cow<'_, str> {
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned()))
    }
}

fn status(status: Option<&Status<'_>>) -> SpanStatus {
    let word = status.and_then(|status| wire::enum_word(status.code, "status_code_"));
    match word.as_deref() {
        Some("1" | "ok") => SpanStatus::Ok,
        Some("2" | "error") => SpanStatus::Error,
        _ => SpanStatus::Unset,
    }
}

fn message(status: Option<&Status<'_>>, facts: &mut Facts<'_>) -> Option<String> {
    status
        .and_then(|status| wire::text(status.message))
        .filter(|message| !message.is_empty())
        .or_else(|| facts.text(Slot::ExceptionMessage))
        .or_else(|| facts.text(Slot::ErrorMessage))
}

/// The recorded error. Its type is `error.type`, else that of the exception event; the head of
/// the message is read where all formats' messages are.
fn error(
    of_span: SpanStatus,
    status: Option<&Status<'_>>,
    facts: &mut Facts<'_>,
) -> Option<ErrorInfo<'static>> {
    let recorded = facts.text(Slot::ErrorType);
    if of_span != SpanStatus::Error && recorded.is_none() {
        return None;
    }
    let specific = |kind: &String| !matches!(kind.as_str(), "_OTHER" | "unknown");
    let kind = recorded
        .filter(specific)
        .or_else(|| facts.text(Slot::ExceptionType).filter(specific))
        .map(Cow::Owned);
    let message = message(status, facts).map(Cow::Owned);
    Some(ErrorInfo { kind, message, origin: ErrorOrigin::Recorded })
}

/// Input counts here include what a cache gave or took, so both are taken off it.
fn tokens(facts: &mut Facts<'_>) -> Option<Tokens> {
    let (input, output) = (facts.number(Slot::Input), facts.number(Slot::Output));
    if input.is_none() && output.is_none() {
        let unsplit = facts.number(Slot::Total)?;
        return Some(Tokens { unsplit, ..Tokens::default() });
    }
    let cache_read = facts.number(Slot::CacheRead).unwrap_or(0.0);
    let cache_write = facts.number(Slot::CacheWrite).unwrap_or(0.0);
    Some(Tokens {
        input: (input.unwrap_or(0.0) - cache_read - cache_write).max(0.0),
        cache_read,
        cache_write,
        output: output.unwrap_or(0.0),
        unsplit: 0.0,
    })
}

fn agent(class: SpanClass, facts: &mut Facts<'_>) -> Option<String> {
    let named = facts.text(Slot::Agent);
    match class {
        SpanClass::Agent => named.or_else(|| facts.text(Slot::Entity)),
        _ => named,
    }
}

fn score(facts: &mut Facts<'_>) -> Option<Score<'static>> {
    let value = match facts.value(Slot::ScoreValue) {
        Some(Value::Number(number)) => ScoreValue::Number(number),
        Some(other) => ScoreValue::from_text(Cow::Owned(other.into_text())),
        None => ScoreValue::from_text(Cow::Owned(facts.text(Slot::ScoreLabel)?)),
    };
    let name = facts.text(Slot::ScoreName).unwrap_or_default();
    Some(Score { name: Cow::Owned(name), value })
}

fn output(facts: &mut Facts<'_>) -> Option<String> {
    let output = facts
        .text(Slot::Result)
        .or_else(|| facts.text(Slot::Answer))
        .or_else(|| facts.text(Slot::Messages))?;
    Some(as_json(&output).into_owned())
}

/// Scalar labels of a resource that a run can be grouped by.
pub(super) fn labels(attributes: &Attributes<'_>) -> Vec<(String, String)> {
    const KEPT: [&str; 8] = [
        "service.name",
        "service.version",
        "service.namespace",
        "deployment.environment",
        "deployment.environment.name",
        "gen_ai.task.id",
        "task.id",
        "task_id",
    ];
    let mut labels = Vec::new();
    for (key, raw) in &attributes.0 {
        if KEPT.contains(&key.as_ref())
            && let Some(value) = wire::value(raw.get())
            && !matches!(value, Value::Json(_))
        {
            labels.push((key.clone().into_owned(), value.into_text()));
        }
    }
    labels
}

fn is_task(key: &str) -> bool {
    matches!(key, "gen_ai.task.id" | "task.id" | "task_id")
}

/// The task that the resource names, for harnesses that start one process per task.
pub(super) fn task_of_resource(labels: &[(String, String)]) -> Option<String> {
    labels.iter().find(|(key, _)| is_task(key)).map(|(_, value)| value.clone())
}

/// The labels without those that become fields of the run.
pub(super) fn shown(labels: Vec<(String, String)>) -> Vec<(String, String)> {
    labels.into_iter().filter(|(key, _)| !is_task(key)).collect()
}
