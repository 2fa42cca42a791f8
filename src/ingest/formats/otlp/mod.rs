//! OTLP traces in JSON: every envelope, every attribute dialect, one run per trace.
//!
//! Owns the envelope and the walk over it. Values and ids are read in `wire`, the names that
//! dialects give to one thing stand in `attributes`, and `mapping` makes a span of them; what
//! spans become together is decided in `assemble::spans`. The other span formats read the
//! attributes of their spans through these modules too, so that one dialect means one thing in
//! all of them. Refuses protobuf, and logs and metrics, which hold no span.

pub(in crate::ingest::formats) mod attributes;
mod calls;
pub(in crate::ingest::formats) mod mapping;
pub(in crate::ingest::formats) mod usage;
pub(in crate::ingest::formats) mod wire;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::span_record::{Found, assembler};
use super::{Format, Probe, Reader, Refusal};
use crate::ingest::quick;

/// OTLP traces, as written by collectors, SDKs and Tempo.
pub const OTLP: Format = Format {
    name: "otlp",
    about: "OpenTelemetry traces (OTLP JSON)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| assembler(options, read_record)),
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

fn read_record(text: &str, found: &mut Found) -> Result<(), Refusal> {
    if text.trim_start().starts_with('[') {
        let envelopes: Vec<Envelope<'_>> = quick::from_str(text)?;
        for inner in envelopes {
            envelope(inner, found);
        }
    } else {
        envelope(quick::from_str(text)?, found);
    }
    Ok(())
}

fn envelope(envelope: Envelope<'_>, found: &mut Found) {
    let mut next = Some(envelope);
    while let Some(envelope) = next {
        for resource in envelope.resources.into_iter().flatten() {
            of_resource(resource, found);
        }
        next = envelope.trace.map(|inner| *inner);
    }
}

fn of_resource(resource: ResourceSpans<'_>, found: &mut Found) {
    let attributes = resource.resource.and_then(|resource| resource.attributes);
    let labels = attributes.map(|attributes| mapping::labels(&attributes)).unwrap_or_default();
    let shared = mapping::Resource::of(labels);
    for scope in resource.scopes.into_iter().flatten() {
        for span in scope.spans.into_iter().flatten() {
            let (place, raw) = (found.place, found.raw);
            match mapping::span(span.get(), place, raw, &mut found.undecodable) {
                Ok((trace, mut span)) => {
                    shared.label(&mut span);
                    found.span(trace, span);
                }
                Err(rule) => found.refuse(rule),
            }
        }
    }
}
