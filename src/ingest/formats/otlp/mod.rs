//! OTLP traces in JSON: every envelope, every attribute dialect, one run per trace.
//!
//! Owns the envelope and the walk over it. Values and ids are read in `wire`, the names that
//! dialects give to one thing stand in `attributes`, and `mapping` makes a span of them; what
//! spans become together is decided in `assemble::spans`. Refuses protobuf, and logs and
//! metrics, which hold no span.

mod attributes;
mod calls;
mod mapping;
mod wire;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::ingest::assemble::spans::{Span, Spans};
use crate::model::Severity;

/// OTLP traces, as written by collectors, SDKs and Tempo.
pub const OTLP: Format = Format {
    name: "otlp",
    about: "OpenTelemetry traces (OTLP JSON)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| {
        Box::new(Otlp { spans: Spans::default(), raw: options.raw_attempts })
    }),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    // A wrapper's key alone could be anyone's, so one of these must stand below it.
    const INNER: [&str; 5] = [
        "\"resourceSpans\"",
        "\"resource_spans\"",
        "\"scopeSpans\"",
        "\"scope_spans\"",
        "\"instrumentationLibrarySpans\"",
    ];
    probe.records.iter().zip(probe.keys()).any(|(record, keys)| {
        keys.iter().any(|key| match key.as_str() {
            "resourceSpans" | "resource_spans" => true,
            "trace" | "batches" => {
                INNER.iter().any(|key| memchr::memmem::find(record, key.as_bytes()).is_some())
            }
            _ => false,
        })
    })
}

/// One envelope. Only lists of lists are read here; each span is read by itself, so that a
/// broken one costs no other.
#[derive(Deserialize, Default)]
struct Envelope<'a> {
    #[serde(
        borrow,
        default,
        alias = "resource_spans",
        alias = "batches",
        rename = "resourceSpans"
    )]
    resources: Option<Vec<ResourceSpans<'a>>>,
    #[serde(borrow, default)]
    trace: Option<Box<Envelope<'a>>>,
}

#[derive(Deserialize)]
struct ResourceSpans<'a> {
    #[serde(borrow, default)]
    resource: Option<Resource<'a>>,
    #[serde(
        borrow,
        default,
        alias = "scope_spans",
        alias = "instrumentationLibrarySpans",
        alias = "instrumentation_library_spans",
        rename = "scopeSpans"
    )]
    scopes: Option<Vec<ScopeSpans<'a>>>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default)]
    attributes: Option<wire::Attributes<'a>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow, default)]
    spans: Option<Vec<&'a RawValue>>,
}

struct Otlp {
    spans: Spans,
    raw: bool,
}

impl Assembler for Otlp {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        let mut read = Read::default();
        if let Err(refusal) = read.record(record, self.raw) {
            return Fate::Refused(refusal);
        }
        let (mut new, total) = (false, read.spans.len());
        for (trace, span) in read.spans {
            new |= self.spans.push(&trace, span);
        }
        let tally = &mut self.spans.tally;
        let undecodable = "values of attributes that a figure reads and that are of no known type";
        tally.add(
            "undecodable_attributes",
            Severity::Warning,
            record.place,
            undecodable,
            read.undecodable,
        );
        for (rule, count) in read.refused {
            tally.add("spans_rejected", Severity::Rejected, record.place, rule, count);
        }
        match (read.seen, total) {
            (0, _) => Fate::Ignored("no_spans"),
            (_, 0) => Fate::Refused(Refusal::of(
                "no_readable_span",
                format!("none of its {} spans can be read", read.seen),
            )),
            _ if new => Fate::Used,
            _ => Fate::Merged("duplicate_span"),
        }
    }

    fn finish(self: Box<Self>) -> Parsed<'static> {
        self.spans.finish()
    }
}

/// What one record holds; kept apart until the whole record is read.
#[derive(Default)]
struct Read {
    spans: Vec<(String, Span)>,
    seen: u64,
    refused: Vec<(&'static str, u64)>,
    undecodable: u64,
}

impl Read {
    fn record(&mut self, record: &Record<'_>, raw: bool) -> Result<(), Refusal> {
        let text = std::str::from_utf8(record.bytes).map_err(|error| Refusal {
            code: "invalid_utf8",
            message: error.to_string(),
            repairable: true,
        })?;
        if text.trim_start().starts_with('[') {
            let envelopes: Vec<Envelope<'_>> = serde_json::from_str(text)?;
            for envelope in envelopes {
                self.envelope(envelope, record, raw);
            }
        } else {
            self.envelope(serde_json::from_str(text)?, record, raw);
        }
        Ok(())
    }

    fn envelope(&mut self, envelope: Envelope<'_>, record: &Record<'_>, raw: bool) {
        let mut next = Some(envelope);
        while let Some(envelope) = next {
            for resource in envelope.resources.into_iter().flatten() {
                self.resource(resource, record, raw);
            }
            next = envelope.trace.map(|inner| *inner);
        }
    }

    fn resource(&mut self, resource: ResourceSpans<'_>, record: &Record<'_>, raw: bool) {
        let attributes = resource.resource.and_then(|resource| resource.attributes);
        let labels = attributes.map(|attributes| mapping::labels(&attributes)).unwrap_or_default();
        let task = mapping::task_of_resource(&labels);
        let labels: Arc<[(String, String)]> = mapping::shown(labels).into();
        for scope in resource.scopes.into_iter().flatten() {
            for span in scope.spans.into_iter().flatten() {
                self.seen += 1;
                match mapping::span(span.get(), record.place, raw, &mut self.undecodable) {
                    Ok((trace, mut span)) => {
                        span.resource = Some(Arc::clone(&labels));
                        span.task = span.task.or_else(|| task.clone());
                        self.spans.push((trace, span));
                    }
                    Err(rule) => match self.refused.iter_mut().find(|(have, _)| *have == rule) {
                        Some((_, count)) => *count += 1,
                        None => self.refused.push((rule, 1)),
                    },
                }
            }
        }
    }
}
