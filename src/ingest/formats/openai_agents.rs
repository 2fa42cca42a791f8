//! The trace export of the OpenAI Agents SDK: `trace` and `trace.span` records, children first.
//!
//! Owns the span data of the SDK. A function, a handoff is a step; a generation, a response or a
//! loop turn with usage is a model turn; the sum that the `task` span carries counts no second
//! time. Refuses `RunState` snapshots and input lists, which are no traces.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::evidence::exception_class;
use super::otlp::attributes::{Facts, Slot};
use super::otlp::mapping::{self, Base};
use super::otlp::usage::split;
use super::raw::{Entries, label, number, quoted, raw_fields, read, text};
use super::span_record::{Found, Zone, assembler, instant};
use super::{Format, Probe, Reader, Refusal};
use crate::ingest::assemble::spans::{Head, SpanClass, SpanStatus};
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin, Tokens};

/// Traces as the OpenAI Agents SDK exports them.
pub const OPENAI_AGENTS: Format = Format {
    name: "openai-agents",
    about: "trace exports of the OpenAI Agents SDK",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| assembler(options, read_record)),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    let is_trace = |record: &&[u8]| memchr::memmem::find(record, b"\"trace.span\"").is_some();
    probe.any_has(&["object", "trace_id", "span_data"])
        || probe.any_has(&["object", "id", "workflow_name"])
        || (probe.any_has(&["data"])
            && probe.records.iter().any(|record| {
                is_trace(record) && memchr::memmem::find(record, b"\"span_data\"").is_some()
            }))
}

raw_fields! {
    /// A trace or one of its spans; or a batch of them.
    Wire {
        object, data, id, trace_id, parent_id, started_at, ended_at, span_data, error,
        workflow_name, group_id, metadata,
    }
}

raw_fields! {
    /// What a span is of.
    SpanData {
        kind = "type", name, input, output, model, usage, data, to_agent,
    }
}

raw_fields! {
    /// The data of a custom span of the SDK itself.
    Custom { usage }
}

raw_fields! {
    /// Usage in the words of both APIs; cached tokens are part of the input.
    Usage {
        input = "input_tokens", output = "output_tokens", prompt = "prompt_tokens",
        completion = "completion_tokens", cached = "cached_input_tokens",
        written = "cache_write_input_tokens", details = "input_tokens_details",
    }
}

raw_fields! {
    /// Details of the input.
    InputDetails { cached_tokens }
}

raw_fields! {
    /// An error of a span.
    Failure { message, data }
}

raw_fields! {
    /// What the SDK tells of an error beside its message.
    FailureData { error }
}

fn read_record(json: &str, found: &mut Found) -> Result<(), Refusal> {
    let wire: Wire<'_> = quick::from_str(json)?;
    if wire.object.is_none()
        && let Some(batch) = wire.data.and_then(read::<Vec<&RawValue>>)
    {
        for inner in batch {
            match read::<Wire<'_>>(inner) {
                Some(wire) => trace_or_span(inner.get(), &wire, found),
                None => found.refuse("malformed_span: it is not an object"),
            }
        }
        return Ok(());
    }
    trace_or_span(json, &wire, found);
    Ok(())
}

fn trace_or_span(json: &str, wire: &Wire<'_>, found: &mut Found) {
    match word(wire.object).as_deref() {
        Some("trace") => trace(wire, found),
        Some("trace.span") => span(json, wire, found),
        _ => found.refuse("unknown_object: neither a trace nor a span"),
    }
}

fn word(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(label).map(Cow::into_owned).filter(|word| !word.is_empty())
}

fn trace(wire: &Wire<'_>, found: &mut Found) {
    let Some(id) = word(wire.id) else { return found.refuse("trace_without_id") };
    let group = word(wire.group_id);
    let mut head = Head { agent: word(wire.workflow_name), ..Head::default() };
    for (key, value) in wire.metadata.and_then(read::<Entries<'_>>).unwrap_or_default().0 {
        let Some(value) = label(value) else { continue };
        if key == "task_id" {
            head.task = Some(value.into_owned());
        } else {
            head.labels.insert(key.into_owned(), value.into_owned());
        }
    }
    if let Some(group) = group {
        head.task = head.task.or_else(|| Some(group.clone()));
        head.labels.insert("group".to_owned(), group);
    }
    found.head(id, head);
}

/// What a type of span stands for, and the kind of its step.
fn class(kind: &str) -> (SpanClass, Option<&'static str>) {
    match kind {
        "agent" => (SpanClass::Agent, None),
        "function" => (SpanClass::Tool, None),
        "handoff" => (SpanClass::Tool, Some("handoff")),
        "generation" | "response" => (SpanClass::Llm, None),
        "guardrail" => (SpanClass::Other("guardrail_span"), None),
        "mcp_tools" => (SpanClass::Other("mcp_list_span"), None),
        "speech" | "speech_group" | "transcription" => (SpanClass::Other("speech_span"), None),
        _ => (SpanClass::Chain, None),
    }
}

fn span(json: &str, wire: &Wire<'_>, found: &mut Found) {
    let Some(trace) = word(wire.trace_id) else { return found.refuse("span_without_trace_id") };
    let Some(data) = wire.span_data.and_then(read::<SpanData<'_>>) else {
        return found.refuse("malformed_span: it has no span_data");
    };
    let (class, step) = class(&word(data.kind).unwrap_or_default());
    let custom: Custom<'_> = data.data.and_then(read).unwrap_or_default();
    let tokens = data.usage.or(custom.usage).and_then(usage);
    let name = match (step, word(data.to_agent)) {
        (Some("handoff"), Some(to)) => Some(to),
        _ => word(data.name),
    };
    let mut facts = Facts::new();
    let name_json = name.as_deref().map(quoted);
    let to_agent = word(data.to_agent).map(|to| format!("{{\"to_agent\":{}}}", quoted(&to)));
    if class == SpanClass::Tool
        && let Some(name) = &name_json
    {
        facts.set(Slot::ToolName, name);
    }
    if let Some(input) = data.input {
        facts.set(Slot::Arguments, input.get());
    } else if let Some(to) = &to_agent {
        facts.set(Slot::Arguments, to);
    }
    if let Some(output) = data.output {
        facts
            .set(if class == SpanClass::Llm { Slot::Messages } else { Slot::Result }, output.get());
    }
    if let Some(model) = data.model {
        facts.set(Slot::Model, model.get());
    }
    let error = wire.error.map(failure);
    let base = Base {
        id: word(wire.id).unwrap_or_default(),
        parent: word(wire.parent_id),
        agent: if class == SpanClass::Agent { name.clone() } else { None },
        name: name.unwrap_or_default(),
        place: found.place,
        started_at: instant(wire.started_at, Zone::Utc),
        ended_at: instant(wire.ended_at, Zone::Utc),
        status: if error.is_some() { SpanStatus::Error } else { SpanStatus::Unset },
        message: error.as_ref().and_then(|error| Some(error.message.as_deref()?.to_owned())),
        class: Some(class),
        tokens,
        raw: found.raw.then_some(json),
        ..Base::default()
    };
    let mut span = mapping::build(base, &mut facts, Vec::new());
    if let Some(attempt) = &mut span.attempt {
        attempt.error = error.or(attempt.error.take());
        if let Some(step) = step {
            attempt.kind = step.into();
        }
    }
    found.undecodable += facts.undecodable;
    found.span(trace, span);
}

/// The error of a span: its type is the exception that the data names, else its message in one
/// word, for the SDK has a fixed set of messages.
fn failure(raw: &RawValue) -> ErrorInfo<'static> {
    let Some(failure) = read::<Failure<'_>>(raw) else {
        let message = label(raw).map(|text| Cow::Owned(text.into_owned()));
        return ErrorInfo { kind: None, message, origin: ErrorOrigin::Recorded };
    };
    let said = failure.message.and_then(text).unwrap_or_default();
    let detail = failure
        .data
        .and_then(read::<FailureData<'_>>)
        .and_then(|data| word(data.error))
        .unwrap_or_default();
    let kind = exception_class(&detail)
        .or_else(|| exception_class(&said))
        .map_or_else(|| slug(&said), |class| Some(class.to_owned()));
    let message = match (said.is_empty(), detail.is_empty()) {
        (true, true) => None,
        (false, true) => Some(said.into_owned()),
        (true, false) => Some(detail),
        (false, false) => Some(format!("{said}: {detail}")),
    };
    ErrorInfo {
        kind: kind.map(Cow::Owned),
        message: message.map(Cow::Owned),
        origin: ErrorOrigin::Recorded,
    }
}

/// A short message as one word: `Max turns exceeded` is `max_turns_exceeded`. Longer ones are no
/// names.
fn slug(message: &str) -> Option<String> {
    const LONGEST: usize = 60;
    if message.len() > LONGEST {
        return None;
    }
    let mut word = String::new();
    for part in message.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty())
    {
        if !word.is_empty() {
            word.push('_');
        }
        word.push_str(&part.to_ascii_lowercase());
    }
    (!word.is_empty()).then_some(word)
}

fn usage(raw: &RawValue) -> Option<Tokens> {
    let usage: Usage<'_> = read(raw)?;
    let amount = |raw: Option<&RawValue>| {
        raw.and_then(number).filter(|number| number.is_finite() && *number >= 0.0)
    };
    let input = amount(usage.input).or(amount(usage.prompt));
    let output = amount(usage.output).or(amount(usage.completion));
    if input.is_none() && output.is_none() {
        return None;
    }
    let details: InputDetails<'_> = usage.details.and_then(read).unwrap_or_default();
    let cache_read = amount(usage.cached).or(amount(details.cached_tokens)).unwrap_or(0.0);
    let cache_write = amount(usage.written).unwrap_or(0.0);
    Some(split(input, cache_read, cache_write, output))
}
