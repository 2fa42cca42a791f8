//! One OTLP span made into the span of `assemble::spans`.
//!
//! Owns which attribute becomes which field, and the evidence for an error: status, then
//! `error.type`, then a flag in the recorded result. Refuses the tree; see `assemble::spans`.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::evidence::flagged_error;
use super::super::raw::{as_json, object, quoted};
use super::attributes::{Facts, Slot};
use super::calls;
use super::usage::tokens;
use super::wire::{self, Attributes, Value};
use crate::ingest::assemble::spans::{Span, SpanClass, SpanStatus};
use crate::ingest::quick;
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
    let wire: WireSpan<'_> = quick::from_str(json)
        .map_err(|_| "malformed_span: attributes, events or status are not of OTLP's form")?;
    let trace = wire::id(wire.trace_id, 16).ok_or("span_without_trace_id")?;
    let mut facts = Facts::new();
    if let Some(attributes) = &wire.attributes {
        facts.take(attributes);
    }
    let mut scores = Vec::new();
    for event in wire.events.iter().flatten() {
        let Some(attributes) = &event.attributes else { continue };
        take_event(
            &wire::text(event.name).unwrap_or_default(),
            attributes,
            &mut facts,
            &mut scores,
        );
    }
    let base = Base {
        id: wire::id(wire.span_id, 8).unwrap_or_default(),
        parent: wire::id(wire.parent, 8),
        name: wire::text(wire.name).unwrap_or_default(),
        place,
        started_at: wire::nanos(wire.start).map(Stamp::Nanos),
        ended_at: wire::nanos(wire.end).map(Stamp::Nanos),
        status: status(wire.status.as_ref().and_then(|status| status.code)),
        message: wire.status.as_ref().and_then(|status| wire::text(status.message)),
        raw: raw.then_some(json),
        ..Base::default()
    };
    let span = build(base, &mut facts, scores);
    *undecodable += facts.undecodable;
    Ok((trace, span))
}

/// Takes what an event of a span says: an exception, an evaluation, or messages.
pub(in crate::ingest::formats) fn take_event<'a>(
    name: &str,
    attributes: &Attributes<'a>,
    facts: &mut Facts<'a>,
    scores: &mut Vec<Score<'static>>,
) {
    if name.starts_with("gen_ai.evaluation") {
        let mut evaluation = Facts::new();
        evaluation.take(attributes);
        scores.extend(score(&mut evaluation));
        facts.undecodable += evaluation.undecodable;
    } else if name == "exception" || name == "error" || name.starts_with("gen_ai.") {
        facts.take(attributes);
    } else if name.is_empty() {
        // Tempo leaves the name out where it is "exception"; nothing else is taken.
        let of_exception =
            attributes.0.iter().filter(|(key, _)| key.starts_with("exception.")).cloned();
        facts.take(&Attributes(of_exception.collect()));
    }
}

/// What span formats tell of a span beside its attributes.
#[derive(Default)]
pub(in crate::ingest::formats) struct Base<'a> {
    pub(in crate::ingest::formats) id: String,
    pub(in crate::ingest::formats) parent: Option<String>,
    pub(in crate::ingest::formats) name: String,
    pub(in crate::ingest::formats) place: Place,
    pub(in crate::ingest::formats) started_at: Option<Stamp<'static>>,
    pub(in crate::ingest::formats) ended_at: Option<Stamp<'static>>,
    pub(in crate::ingest::formats) status: SpanStatus,
    /// The message of the status.
    pub(in crate::ingest::formats) message: Option<String>,
    /// What the span stands for, where a field of the format says it.
    pub(in crate::ingest::formats) class: Option<SpanClass>,
    /// The agent's name, where no attribute gives it.
    pub(in crate::ingest::formats) agent: Option<String>,
    /// Usage and cost, where fields of the format give them.
    pub(in crate::ingest::formats) tokens: Option<Tokens>,
    pub(in crate::ingest::formats) cost_usd: Option<f64>,
    /// The span's JSON text, if it is to be kept.
    pub(in crate::ingest::formats) raw: Option<&'a str>,
}

/// Makes a span of what its format and its attributes tell.
pub(in crate::ingest::formats) fn build(
    base: Base<'_>,
    facts: &mut Facts<'_>,
    mut scores: Vec<Score<'static>>,
) -> Span {
    scores.extend(score(facts));
    let class = base.class.unwrap_or_else(|| facts.class(&base.name));
    let mut span = Span::new(base.id, base.place, class);
    span.parent = base.parent;
    span.started_at = base.started_at;
    span.ended_at = base.ended_at;
    span.status = base.status;
    let message = base.message.filter(|message| !message.is_empty());
    span.error_message =
        (span.status == SpanStatus::Error).then(|| error_message(message.clone(), facts)).flatten();
    span.model = facts.text(Slot::Model).map(|model| unquoted(&model));
    span.agent = agent(class, &base.name, facts);
    if class == SpanClass::Agent {
        span.agent = span.agent.or(base.agent);
    }
    span.task = owned(facts, Slot::Task);
    span.scores = scores;
    if let Some(session) = owned(facts, Slot::Session) {
        span.labels.push(("session", session));
    }
    if matches!(class, SpanClass::Llm | SpanClass::Agent) {
        span.calls = calls::asked(facts);
    }
    if span.parent.is_none() || matches!(class, SpanClass::Agent | SpanClass::Chain) {
        span.output = output(facts);
    }
    let tokens = base.tokens.or_else(|| tokens(facts));
    let cost_usd = base.cost_usd.or_else(|| facts.number(Slot::Cost));
    let counts = matches!(class, SpanClass::Tool | SpanClass::Retrieval | SpanClass::Llm)
        || tokens.is_some()
        || cost_usd.is_some();
    if counts {
        let mut attempt = attempt(&span, &base.name, message, facts);
        attempt.tokens = tokens;
        attempt.cost_usd = cost_usd;
        attempt.raw = base.raw.map(|json| Cow::Owned(kept(json, &attempt, class, facts)));
        span.attempt = Some(Box::new(attempt));
    }
    span
}

/// What is kept of a call: `id`, `name`, `input` and `result`, as of calls in every format, and
/// the whole span beside them. Of any other span it is the span alone.
fn kept(json: &str, attempt: &Attempt<'_>, class: SpanClass, facts: &mut Facts<'_>) -> String {
    if !matches!(class, SpanClass::Tool | SpanClass::Retrieval) {
        return json.to_owned();
    }
    let id = attempt.request_id.as_deref().map(quoted);
    let name = attempt.name.as_deref().map(quoted);
    let mut value = |slot| facts.text(slot).map(|text| as_json(&text).into_owned());
    let (input, result) = (value(Slot::Arguments), value(Slot::Result));
    object(&[
        ("id", id.as_deref()),
        ("name", name.as_deref()),
        ("input", input.as_deref()),
        ("result", result.as_deref()),
        ("span", Some(json)),
    ])
}

fn attempt(
    span: &Span,
    name: &str,
    message: Option<String>,
    facts: &mut Facts<'_>,
) -> Attempt<'static> {
    let is_call = matches!(span.class, SpanClass::Tool | SpanClass::Retrieval);
    let own_name = match span.class {
        SpanClass::Tool => owned(facts, Slot::ToolName).or_else(|| owned(facts, Slot::Entity)),
        SpanClass::Llm => span.model.clone(),
        SpanClass::Agent => span.agent.clone(),
        _ => owned(facts, Slot::Entity),
    };
    let name = own_name.unwrap_or_else(|| {
        let name = name.strip_prefix("execute_tool ").unwrap_or(name);
        let name = name.strip_prefix("running tool: ").unwrap_or(name);
        name.trim_end_matches(".tool").to_owned()
    });
    let mut attempt = Attempt {
        kind: if span.class == SpanClass::Retrieval { "retrieval" } else { "tool" }.into(),
        name: (!name.is_empty()).then_some(Cow::Owned(name)),
        error: error(span.status, message, facts),
        ..Attempt::default()
    };
    if is_call {
        let id = owned(facts, Slot::CallId);
        attempt.request_id = id.map(|id| Cow::Owned(wire::list_of_texts(&id).unwrap_or(id)));
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

/// A status by its code: a number, a full or a short name, in any case.
pub(in crate::ingest::formats) fn status(code: Option<&RawValue>) -> SpanStatus {
    match wire::enum_word(code, "status_code_").as_deref() {
        Some("1" | "ok") => SpanStatus::Ok,
        Some("2" | "error") => SpanStatus::Error,
        _ => SpanStatus::Unset,
    }
}

fn error_message(of_status: Option<String>, facts: &mut Facts<'_>) -> Option<String> {
    of_status
        .or_else(|| owned(facts, Slot::ExceptionMessage))
        .or_else(|| owned(facts, Slot::ErrorMessage))
}

/// The recorded error. Its type is `error.type`, else that of the exception event; the head of
/// the message is read where all formats' messages are.
fn error(
    of_span: SpanStatus,
    message: Option<String>,
    facts: &mut Facts<'_>,
) -> Option<ErrorInfo<'static>> {
    let recorded = owned(facts, Slot::ErrorType);
    if of_span != SpanStatus::Error && recorded.is_none() {
        return None;
    }
    let specific = |kind: &String| !matches!(kind.as_str(), "_OTHER" | "unknown");
    let kind = recorded
        .filter(specific)
        .or_else(|| owned(facts, Slot::ExceptionType).filter(specific))
        .map(Cow::Owned);
    let message = error_message(message, facts).map(Cow::Owned);
    Some(ErrorInfo { kind, message, origin: ErrorOrigin::Recorded })
}

/// OpenInference, unlike the GenAI conventions, has no attribute for an agent's name: it is the
/// span's.
fn agent(class: SpanClass, name: &str, facts: &mut Facts<'_>) -> Option<String> {
    let named = owned(facts, Slot::Agent);
    if class != SpanClass::Agent {
        return named;
    }
    let of_span = facts.has(Slot::OpenInference) && !name.is_empty();
    named.or_else(|| owned(facts, Slot::Entity)).or_else(|| of_span.then(|| name.to_owned()))
}

/// What an attribute says, kept.
fn owned(facts: &mut Facts<'_>, slot: Slot) -> Option<String> {
    facts.text(slot).map(Cow::into_owned)
}

/// A text that was JSON in a text without its quotes.
fn unquoted(text: &str) -> String {
    text.trim_matches('"').to_owned()
}

fn score(facts: &mut Facts<'_>) -> Option<Score<'static>> {
    let value = match facts.value(Slot::ScoreValue) {
        Some(Value::Number(number)) => ScoreValue::Number(number),
        Some(other) => ScoreValue::from_text(Cow::Owned(other.into_text().into_owned())),
        None => ScoreValue::from_text(Cow::Owned(owned(facts, Slot::ScoreLabel)?)),
    };
    let name = owned(facts, Slot::ScoreName).unwrap_or_default();
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
pub(in crate::ingest::formats) fn labels(attributes: &Attributes<'_>) -> Vec<(String, String)> {
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
            labels.push((key.clone().into_owned(), value.into_text().into_owned()));
        }
    }
    labels
}

fn is_task(key: &str) -> bool {
    matches!(key, "gen_ai.task.id" | "task.id" | "task_id")
}

/// What the spans of one resource share.
pub(in crate::ingest::formats) struct Resource {
    labels: Arc<[(String, String)]>,
    /// The task that the resource names, for harnesses that start one process per task.
    task: Option<String>,
}

impl Resource {
    /// Labels that become fields of the run are taken out.
    pub(in crate::ingest::formats) fn of(labels: Vec<(String, String)>) -> Self {
        let task = labels.iter().find(|(key, _)| is_task(key)).map(|(_, value)| value.clone());
        let labels = labels.into_iter().filter(|(key, _)| !is_task(key)).collect();
        Self { labels, task }
    }

    /// Gives a span what its resource says.
    pub(in crate::ingest::formats) fn label(&self, span: &mut Span) {
        span.resource = Some(Arc::clone(&self.labels));
        if span.task.is_none() {
            span.task.clone_from(&self.task);
        }
    }
}
