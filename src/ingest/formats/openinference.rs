//! Spans as Phoenix exports them, and as the console exporter of OpenTelemetry for Python prints
//! them: one object a span, attributes in a plain map.
//!
//! Owns the shape of the record. What attributes mean is read where OTLP's are, so that a run has
//! the same figures from either. Refuses OTLP's envelopes; see `otlp`.

use serde_json::value::RawValue;

use super::otlp::attributes::{Facts, of_openinference};
use super::otlp::mapping::{self, Base, Resource};
use super::otlp::wire::{self, Attributes};
use super::raw::{Entries, raw_fields, read};
use super::span_record::{Found, Zone, assembler, dotted, instant};
use super::{Format, Probe, Reader, Refusal};
use crate::ingest::assemble::spans::SpanClass;
use crate::ingest::quick;

/// Span lists of Phoenix and of OpenTelemetry's console exporter.
pub const OPENINFERENCE: Format = Format {
    name: "openinference",
    about: "span lists of Phoenix or of OpenTelemetry's console exporter",
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
    probe.any_has(&["context", "span_kind", "status_code"])
        || probe.any_has(&["context.trace_id", "context.span_id", "span_kind"])
        || (probe.any_has(&["context", "parent_id", "attributes"]) && holds("\"SpanKind."))
        || ((probe.any_has(&["data"]) || probe.any_has(&["spans"]))
            && holds("\"span_kind\"")
            && holds("\"trace_id\"")
            && holds("\"status_code\""))
}

fn read_record(text: &str, found: &mut Found) -> Result<(), Refusal> {
    let mut lists: Vec<&RawValue> = Vec::new();
    if text.trim_start().starts_with('[') {
        lists.push(quick::from_str(text)?);
    } else {
        let fields: Entries<'_> = quick::from_str(text)?;
        let is_span = fields.0.iter().any(|(key, _)| key.starts_with("context"));
        if is_span {
            span(text, &fields, found);
        } else {
            let list = |key: &str| matches!(key, "data" | "spans");
            lists.extend(fields.0.iter().filter(|(key, _)| list(key)).map(|(_, value)| *value));
        }
    }
    for list in lists {
        for inner in read::<Vec<&RawValue>>(list).unwrap_or_default() {
            match read::<Entries<'_>>(inner) {
                Some(fields) => span(inner.get(), &fields, found),
                None => found.refuse("malformed_span: it is not an object"),
            }
        }
    }
    Ok(())
}

raw_fields! {
    /// The ids of a span.
    Context { trace_id, span_id }
}

raw_fields! {
    /// The status as the console exporter prints it.
    Status { status_code, description }
}

raw_fields! {
    /// An event of a span.
    Event { name, attributes }
}

raw_fields! {
    /// What made the span.
    OfResource { attributes }
}

/// The fields of a span, whichever of the exporters wrote it.
#[derive(Default)]
struct Fields<'a> {
    context: Context<'a>,
    name: Option<&'a RawValue>,
    parent: Option<&'a RawValue>,
    span_kind: Option<&'a RawValue>,
    start: Option<&'a RawValue>,
    end: Option<&'a RawValue>,
    status: Status<'a>,
    attributes: Attributes<'a>,
    events: Vec<Event<'a>>,
    resource: OfResource<'a>,
}

impl<'a> Fields<'a> {
    fn of(entries: &Entries<'a>) -> Self {
        let mut fields = Self::default();
        for (key, value) in &entries.0 {
            let value = *value;
            match key.as_ref() {
                "context" => fields.context = read(value).unwrap_or_default(),
                "context.trace_id" => fields.context.trace_id = Some(value),
                "context.span_id" => fields.context.span_id = Some(value),
                "name" => fields.name = Some(value),
                "parent_id" => fields.parent = Some(value),
                "span_kind" => fields.span_kind = Some(value),
                "start_time" => fields.start = Some(value),
                "end_time" => fields.end = Some(value),
                "status" => fields.status = read(value).unwrap_or_default(),
                "status_code" => fields.status.status_code = Some(value),
                "status_message" => fields.status.description = Some(value),
                "attributes" => fields.attributes.0.extend(dotted(value).0),
                "events" => fields.events = read(value).unwrap_or_default(),
                "resource" => fields.resource = read(value).unwrap_or_default(),
                // A table of spans that was written row by row has a column an attribute.
                other => {
                    if let Some(name) = other.strip_prefix("attributes.") {
                        fields.attributes.0.push((name.to_owned().into(), value));
                    }
                }
            }
        }
        fields
    }
}

fn span(json: &str, entries: &Entries<'_>, found: &mut Found) {
    let fields = Fields::of(entries);
    let Some(trace) = wire::id(fields.context.trace_id, 16) else {
        return found.refuse("span_without_trace_id");
    };
    let mut facts = Facts::new();
    facts.take(&fields.attributes);
    let mut scores = Vec::new();
    for event in &fields.events {
        let Some(attributes) = event.attributes else { continue };
        let name = wire::text(event.name).unwrap_or_default();
        mapping::take_event(&name, &dotted(attributes), &mut facts, &mut scores);
    }
    let name = wire::text(fields.name).unwrap_or_default();
    let kind = wire::text(fields.span_kind).and_then(|kind| of_openinference(&kind));
    let class = match facts.class(&name) {
        unnamed @ SpanClass::Other(_) => kind.unwrap_or(unnamed),
        named => named,
    };
    let base = Base {
        id: wire::id(fields.context.span_id, 8).unwrap_or_default(),
        parent: wire::id(fields.parent, 8),
        agent: (kind == Some(SpanClass::Agent)).then(|| name.clone()),
        name,
        place: found.place,
        started_at: instant(fields.start, Zone::Unknown),
        ended_at: instant(fields.end, Zone::Unknown),
        status: mapping::status(fields.status.status_code),
        message: wire::text(fields.status.description),
        class: Some(class),
        raw: found.raw.then_some(json),
        ..Base::default()
    };
    let mut span = mapping::build(base, &mut facts, scores);
    found.undecodable += facts.undecodable;
    if let Some(attributes) = fields.resource.attributes.and_then(read::<Attributes<'_>>) {
        Resource::of(mapping::labels(&attributes)).label(&mut span);
    }
    found.span(trace, span);
}
