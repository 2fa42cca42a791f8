//! Jaeger's traces as its query service and its UI give them: `{"data": [{"spans": [...]}]}`, one
//! trace, or spans alone.
//!
//! Owns references, tags, logs and processes. What tags mean is read where OTLP's attributes are.
//! Refuses the forms in which Jaeger stores spans.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::otlp::attributes::Facts;
use super::otlp::mapping::{self, Base, Resource};
use super::otlp::wire::{self, Attributes};
use super::raw::{Entries, number, raw_fields, read};
use super::span_record::{Found, Zone, assembler, instant};
use super::{Format, Probe, Reader, Refusal};
use crate::ingest::assemble::spans::SpanStatus;
use crate::ingest::quick;
use crate::model::Stamp;

/// Traces as Jaeger's query service and UI give them.
pub const JAEGER: Format = Format {
    name: "jaeger",
    about: "Jaeger traces (query JSON)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| assembler(options, read_record)),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    let holds = |part: &str| {
        probe.records.iter().any(|record| memchr::memmem::find(record, part.as_bytes()).is_some())
    };
    probe.any_has(&["traceID", "spanID", "operationName"])
        || probe.any_has(&["traceID", "spans", "processes"])
        || (probe.any_has(&["data"]) && holds("\"traceID\"") && holds("\"operationName\""))
}

raw_fields! {
    /// An answer of the query service, a trace, or a span.
    Wire {
        data, spans, processes, process,
        trace_id = "traceID", span_id = "spanID", parent = "parentSpanID",
        name = "operationName", references, start = "startTime", duration, tags, logs,
        process_id = "processID",
    }
}

raw_fields! {
    /// A reference to another span.
    Reference { kind = "refType", trace_id = "traceID", span_id = "spanID" }
}

raw_fields! {
    /// Who made the spans that name it.
    Process { name = "serviceName", tags }
}

raw_fields! {
    /// A log of a span.
    Log { fields }
}

fn read_record(text: &str, found: &mut Found) -> Result<(), Refusal> {
    if text.trim_start().starts_with('[') {
        let traces: Vec<&RawValue> = quick::from_str(text)?;
        traces.into_iter().for_each(|inner| trace(inner, found));
        return Ok(());
    }
    let wire: Wire<'_> = quick::from_str(text)?;
    match wire.data.and_then(read::<Vec<&RawValue>>) {
        Some(traces) => traces.into_iter().for_each(|inner| trace(inner, found)),
        None => trace_or_span(text, &wire, found),
    }
    Ok(())
}

fn trace(json: &RawValue, found: &mut Found) {
    match read::<Wire<'_>>(json) {
        Some(wire) => trace_or_span(json.get(), &wire, found),
        None => found.refuse("malformed_trace: it is not an object"),
    }
}

fn trace_or_span(json: &str, wire: &Wire<'_>, found: &mut Found) {
    if wire.span_id.is_some() {
        let process = wire.process.and_then(read::<Process<'_>>).map(|process| resource(&process));
        return span(json, wire, process.as_ref(), found);
    }
    let processes: HashMap<String, Resource> = wire
        .processes
        .and_then(read::<Entries<'_>>)
        .unwrap_or_default()
        .0
        .into_iter()
        .filter_map(|(key, process)| Some((key.into_owned(), resource(&read(process)?))))
        .collect();
    for inner in wire.spans.and_then(read::<Vec<&RawValue>>).unwrap_or_default() {
        let Some(fields) = read::<Wire<'_>>(inner) else {
            found.refuse("malformed_span: it is not an object");
            continue;
        };
        let process = wire::text(fields.process_id).and_then(|id| processes.get(&id));
        span(inner.get(), &fields, process, found);
    }
}

fn resource(process: &Process<'_>) -> Resource {
    let tags = process.tags.and_then(read::<Attributes<'_>>).unwrap_or_default();
    let mut labels = mapping::labels(&tags);
    if let Some(name) = wire::text(process.name) {
        labels.insert(0, ("service.name".to_owned(), name));
    }
    Resource::of(labels)
}

/// The span that this one is a child of: references to other traces are links and say nothing.
fn parent(wire: &Wire<'_>, trace: &str) -> Option<String> {
    let references = wire.references.and_then(read::<Vec<Reference<'_>>>).unwrap_or_default();
    let in_trace = |reference: &&Reference<'_>| {
        wire::id(reference.trace_id, 16).is_none_or(|other| other == trace)
    };
    let of_kind = |wanted: &str| {
        let is = |reference: &&Reference<'_>| wire::text(reference.kind).as_deref() == Some(wanted);
        references.iter().filter(in_trace).find(is)
    };
    let reference = of_kind("CHILD_OF").or_else(|| of_kind("FOLLOWS_FROM"));
    wire::id(reference.and_then(|found| found.span_id).or(wire.parent), 8)
}

fn span(json: &str, wire: &Wire<'_>, process: Option<&Resource>, found: &mut Found) {
    let Some(trace) = wire::id(wire.trace_id, 16) else {
        return found.refuse("span_without_trace_id");
    };
    let tags = match wire.tags.map(read::<Attributes<'_>>) {
        Some(None) => return found.refuse("malformed_span: its tags are no list"),
        Some(Some(tags)) => tags,
        None => Attributes::default(),
    };
    let mut facts = Facts::new();
    facts.take(&tags);
    let logs: Vec<Attributes<'_>> = wire
        .logs
        .and_then(read::<Vec<Log<'_>>>)
        .unwrap_or_default()
        .iter()
        .filter_map(|log| read(log.fields?))
        .collect();
    let mut scores = Vec::new();
    for fields in &logs {
        let name = tag(fields, "event").unwrap_or_default();
        mapping::take_event(&name, fields, &mut facts, &mut scores);
    }
    let said = tag(&tags, "otel.status_code").map(|word| word.to_ascii_lowercase());
    let failed = tag(&tags, "error").is_some_and(|word| word.eq_ignore_ascii_case("true"));
    let status = match said.as_deref() {
        Some("error") => SpanStatus::Error,
        _ if failed => SpanStatus::Error,
        Some("ok") => SpanStatus::Ok,
        _ => SpanStatus::Unset,
    };
    let started_at = instant(wire.start, Zone::Utc);
    let base = Base {
        id: wire::id(wire.span_id, 8).unwrap_or_default(),
        parent: parent(wire, &trace),
        name: wire::text(wire.name).unwrap_or_default(),
        place: found.place,
        ended_at: started_at.as_ref().and_then(|start| end(start, wire.duration?)),
        started_at,
        status,
        message: tag(&tags, "otel.status_description").or_else(|| tag(&tags, "error.message")),
        raw: found.raw.then_some(json),
        ..Base::default()
    };
    let mut span = mapping::build(base, &mut facts, scores);
    found.undecodable += facts.undecodable;
    if let Some(process) = process {
        process.label(&mut span);
    }
    found.span(trace, span);
}

/// A tag's value as text.
fn tag(tags: &Attributes<'_>, name: &str) -> Option<String> {
    let (_, raw) = tags.0.iter().find(|(key, _)| key == name)?;
    let text = wire::value(raw.get())?.into_text();
    (!text.is_empty()).then(|| text.into_owned())
}

/// The end of a span that took so many microseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn end(start: &Stamp<'static>, duration: &RawValue) -> Option<Stamp<'static>> {
    let micros = number(duration).filter(|micros| (0.0..1e15).contains(micros))?;
    let Stamp::Nanos(start) = start else { return None };
    start.checked_add((micros * 1000.0).round() as u64).map(Stamp::Nanos)
}
