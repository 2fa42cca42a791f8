//! One observation made into a span.
//!
//! Owns what Langfuse itself says of it: type, level, input and output. What the tracing library
//! said survives in `metadata.attributes`, and is read where OTLP's attributes are.

use serde_json::value::RawValue;

use super::super::otlp::attributes::{Facts, Slot};
use super::super::otlp::mapping::{self, Base, Resource};
use super::super::otlp::wire::Attributes;
use super::super::raw::{label, quoted, raw_fields, read};
use super::super::span_record::{Found, Zone, dotted, instant, unwrapped};
use super::{Fields, TRACE_ID, usage};
use crate::ingest::assemble::spans::{AskedCall, SpanClass, SpanStatus};
use crate::ingest::quick;

raw_fields! {
    /// What OpenTelemetry's spans keep of themselves in Langfuse.
    Metadata { attributes, resource = "resourceAttributes" }
}

raw_fields! {
    /// A call that a generation asked for.
    Call { id, name }
}

/// Takes an observation that names its trace.
pub(super) fn take(raw: &RawValue, fields: &Fields<'_>, found: &mut Found) {
    match fields.word(TRACE_ID) {
        Some(trace) => take_of(&trace, raw, fields, found),
        None => found.refuse("observation_without_trace_id"),
    }
}

/// Takes an observation of this trace.
pub(super) fn take_of(trace: &str, raw: &RawValue, fields: &Fields<'_>, found: &mut Found) {
    let json_of = |names: &[&str]| fields.get(names).map(unwrapped);
    let metadata = json_of(&["metadata"]);
    let metadata: Metadata<'_> =
        metadata.as_deref().and_then(|json| quick::from_str(json).ok()).unwrap_or_default();
    let attributes = metadata.attributes.map(unwrapped);
    let attributes = attributes.as_deref().and_then(|json| quick::from_str(json).ok());
    let (input, output) = (json_of(&["input"]), json_of(&["output"]));
    let model = fields.word(&["model", "providedModelName", "provided_model_name"]);
    let model = model.as_deref().map(quoted);

    let mut facts = Facts::new();
    if let Some(attributes) = attributes {
        facts.take(&dotted(attributes));
    }
    let name = fields.word(&["name"]).unwrap_or_default();
    let class = class(&fields.word(&["type"]).unwrap_or_default(), &name, &mut facts);
    if let Some(input) = input.as_deref() {
        facts.set(Slot::Arguments, input);
    }
    if let Some(output) = output.as_deref() {
        facts.set(Slot::Result, output);
        if class == SpanClass::Llm {
            facts.set(Slot::Messages, output);
        }
    }
    if let Some(model) = model.as_deref() {
        facts.set(Slot::Model, model);
    }
    let level = fields.word(&["level"]).unwrap_or_default().to_ascii_uppercase();
    if level == "WARNING" {
        let rule = "observations of level WARNING, which is no error";
        found.note("warnings_not_counted", rule, 1);
    }
    let base = Base {
        id: fields.word(&["id"]).unwrap_or_default(),
        parent: fields.word(&["parentObservationId", "parent_observation_id"]),
        agent: Some(name.strip_prefix("invoke_agent ").unwrap_or(&name).to_owned()),
        name,
        place: found.place,
        started_at: instant(fields.get(&["startTime", "start_time"]), Zone::Utc),
        ended_at: instant(fields.get(&["endTime", "end_time"]), Zone::Utc),
        status: if level == "ERROR" { SpanStatus::Error } else { SpanStatus::Unset },
        message: fields.word(&["statusMessage", "status_message"]),
        class: Some(class),
        tokens: usage::tokens(fields),
        cost_usd: usage::cost(fields),
        raw: found.raw.then_some(raw.get()),
    };
    let mut span = mapping::build(base, &mut facts, Vec::new());
    let calls = asked(fields);
    if class == SpanClass::Llm && !calls.is_empty() {
        span.calls = calls;
    }
    if let Some(session) = fields.word(&["sessionId", "session_id"]) {
        span.labels.push(("session", session));
    }
    if let Some(attributes) = metadata.resource.and_then(read::<Attributes<'_>>) {
        Resource::of(mapping::labels(&attributes)).label(&mut span);
    }
    found.undecodable += facts.undecodable;
    found.span(trace.to_owned(), span);
}

/// What an observation stands for. A plain span is what its attributes say, else a chain.
fn class(kind: &str, name: &str, facts: &mut Facts<'_>) -> SpanClass {
    match kind.to_ascii_uppercase().as_str() {
        "TOOL" => SpanClass::Tool,
        "GENERATION" => SpanClass::Llm,
        "AGENT" => SpanClass::Agent,
        "RETRIEVER" => SpanClass::Retrieval,
        "CHAIN" => SpanClass::Chain,
        "EVENT" => SpanClass::Other("event"),
        "EVALUATOR" => SpanClass::Other("evaluation_span"),
        "EMBEDDING" => SpanClass::Other("embedding_span"),
        "GUARDRAIL" => SpanClass::Other("guardrail_span"),
        _ => match facts.class(name) {
            SpanClass::Other("other_span") => SpanClass::Chain,
            known => known,
        },
    }
}

/// The calls that Langfuse found in a generation's output: JSON in texts, their names beside them.
fn asked(fields: &Fields<'_>) -> Vec<AskedCall> {
    let names = fields.list(&["toolCallNames", "tool_call_names"]).unwrap_or_default();
    let calls = fields.list(&["toolCalls", "tool_calls"]).unwrap_or_default();
    let word = |raw: Option<&RawValue>| raw.and_then(label).map(std::borrow::Cow::into_owned);
    calls
        .into_iter()
        .enumerate()
        .map(|(at, raw)| {
            let json = unwrapped(raw);
            let call: Call<'_> = quick::from_str(&json).unwrap_or_default();
            let name = word(call.name).or_else(|| word(names.get(at).copied()));
            AskedCall { id: word(call.id), name }
        })
        .collect()
}
