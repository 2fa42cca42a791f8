//! MLflow's traces as `Trace.to_json` writes them, of schema 3 and of the older one.
//!
//! Owns the trace's own record (state, assessments, metadata) and the two forms of spans. The
//! values of attributes are JSON in texts; what they mean is read where OTLP's attributes are.
//! The token total of the metadata is a sum over the spans, so that it counts only where no span
//! counts any.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::otlp::attributes::Facts;
use super::otlp::mapping::{self, Base};
use super::otlp::usage::counts;
use super::otlp::wire::{self, Attributes};
use super::raw::{Entries, is_true, label, number, raw_fields, read};
use super::span_record::{Found, Zone, assembler, instant, unwrapped};
use super::{Format, Probe, Reader, Refusal};
use crate::ingest::assemble::spans::{Head, SpanClass};
use crate::ingest::quick;
use crate::model::{Score, ScoreValue, Stamp};

/// Traces of MLflow.
pub const MLFLOW: Format = Format {
    name: "mlflow",
    about: "MLflow traces",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| assembler(options, read_record)),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    let (whole, answer) = (probe.any_has(&["info", "data"]), probe.any_has(&["traces"]));
    if !whole && !answer {
        return false;
    }
    let holds = |part: &[u8]| {
        probe.records.iter().any(|record| memchr::memmem::find(record, part).is_some())
    };
    (holds(b"\"trace_id\"") || holds(b"\"request_id\""))
        && (holds(b"\"mlflow.") || holds(b"\"trace_location\"") || holds(b"\"tr-"))
        && (whole || holds(b"\"info\""))
}

raw_fields! {
    /// A trace, or an answer with several.
    Wire { info, data, traces }
}

raw_fields! {
    /// The trace's own record; `request_id` and what follows are of the older schema.
    Info {
        trace_id, request_time, duration = "execution_duration_ms", state, trace_metadata, tags,
        assessments, request_id, timestamp = "timestamp_ms", old_duration = "execution_time_ms",
        status, request_metadata,
    }
}

raw_fields! {
    /// What a trace holds.
    Data { spans }
}

raw_fields! {
    /// A span of either schema.
    WireSpan {
        span_id, parent_span_id, name, start = "start_time_unix_nano", end = "end_time_unix_nano",
        status, events, attributes, context, parent_id, start_time, end_time, status_code,
        status_message,
    }
}

raw_fields! {
    /// The ids of a span of the older schema.
    Context { span_id }
}

raw_fields! {
    /// The status of a span.
    Status { code, message }
}

raw_fields! {
    /// An event of a span.
    Event { name, attributes }
}

raw_fields! {
    /// A judgement of a trace, or of one of its spans.
    Assessment { id = "assessment_id", name = "assessment_name", feedback, span_id, valid }
}

raw_fields! {
    /// What was judged.
    Feedback { value }
}

raw_fields! {
    /// Cost in US dollars.
    Cost { total = "total_cost" }
}

fn read_record(text: &str, found: &mut Found) -> Result<(), Refusal> {
    let wire: Wire<'_> = quick::from_str(text)?;
    match wire.traces.and_then(read::<Vec<&RawValue>>) {
        Some(traces) => {
            for inner in traces {
                match read::<Wire<'_>>(inner) {
                    Some(wire) => trace(&wire, found)?,
                    None => found.refuse("malformed_trace: it is not an object"),
                }
            }
            Ok(())
        }
        None => trace(&wire, found),
    }
}

fn word(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(label).map(Cow::into_owned).filter(|word| !word.is_empty())
}

fn trace(wire: &Wire<'_>, found: &mut Found) -> Result<(), Refusal> {
    let Some(info) = wire.info.and_then(read::<Info<'_>>) else {
        return Err(Refusal::of("trace_without_info", "an MLflow trace needs an object `info`"));
    };
    let Some(run) = word(info.trace_id.or(info.request_id)) else {
        return Err(Refusal::of(
            "trace_without_id",
            "`info` has neither `trace_id` nor `request_id`",
        ));
    };
    let data = wire.data.map(unwrapped);
    let data: Data<'_> =
        data.as_deref().and_then(|data| quick::from_str(data).ok()).unwrap_or_default();
    for inner in data.spans.and_then(read::<Vec<&RawValue>>).unwrap_or_default() {
        match read::<WireSpan<'_>>(inner) {
            Some(wire) => span(&run, inner.get(), &wire, found),
            None => found.refuse("malformed_span: it is not an object"),
        }
    }
    let head = head(&info, found);
    found.head(run, head);
    Ok(())
}

fn head(info: &Info<'_>, found: &mut Found) -> Head {
    let mut head = Head::default();
    match word(info.state.or(info.status)).unwrap_or_default().to_ascii_uppercase().as_str() {
        "ERROR" => head.failed = true,
        "IN_PROGRESS" => head.unfinished = true,
        _ => {}
    }
    head.started_at = instant(info.request_time.or(info.timestamp), Zone::Utc);
    let duration = info.duration.or(info.old_duration).and_then(number);
    head.ended_at = head.started_at.as_ref().and_then(|start| end(start, duration?));
    let metadata = [info.trace_metadata, info.request_metadata, info.tags];
    for (key, value) in metadata
        .into_iter()
        .flatten()
        .flat_map(|map| read::<Entries<'_>>(map).unwrap_or_default().0)
    {
        let Some(text) = word(Some(value)) else { continue };
        match key.as_ref() {
            "mlflow.trace.tokenUsage" => head.tokens = counts(&text),
            "mlflow.trace.cost" => head.cost_usd = cost(&text),
            "mlflow.traceName" => head.agent = Some(text),
            "mlflow.trace.session" => {
                head.labels.insert("session".to_owned(), text);
            }
            "mlflow.trace.user" => {
                head.labels.insert("user".to_owned(), text);
            }
            "task_id" | "task.id" => head.task = Some(text),
            own if own.starts_with("mlflow.") => {}
            other => {
                head.labels.insert(other.to_owned(), text);
            }
        }
    }
    for assessment in info.assessments.and_then(read::<Vec<&RawValue>>).unwrap_or_default() {
        let Some(assessment) = read::<Assessment<'_>>(assessment) else { continue };
        let Some(feedback) = assessment.feedback.and_then(read::<Feedback<'_>>) else {
            continue; // an expectation is what should be, not how it was
        };
        let Some(value) = feedback.value.and_then(label) else { continue };
        let replaced = assessment.valid.is_some() && !is_true(assessment.valid);
        if replaced || assessment.span_id.is_some() {
            let rule = "assessments of single spans, or replaced by later ones; none is the run's";
            found.note("assessments_ignored", rule, 1);
            continue;
        }
        let name = word(assessment.name).unwrap_or_default();
        let id = word(assessment.id).unwrap_or_else(|| format!("{name} {value}"));
        head.scores.insert(id, Score { name: Cow::Owned(name), value: score(&value) });
    }
    head
}

/// Judges of MLflow answer yes or no.
fn score(value: &str) -> ScoreValue<'static> {
    match value.trim() {
        yes if yes.eq_ignore_ascii_case("yes") => ScoreValue::Number(1.0),
        no if no.eq_ignore_ascii_case("no") => ScoreValue::Number(0.0),
        other => ScoreValue::from_text(Cow::Owned(other.to_owned())),
    }
}

fn cost(json: &str) -> Option<f64> {
    let cost: Cost<'_> = quick::from_str(json).ok()?;
    cost.total.and_then(number).filter(|cost| cost.is_finite() && *cost >= 0.0)
}

/// The end of a trace that took so many milliseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn end(start: &Stamp<'static>, millis: f64) -> Option<Stamp<'static>> {
    let Stamp::Nanos(start) = start else { return None };
    (0.0..1e12)
        .contains(&millis)
        .then(|| start.checked_add((millis * 1e6).round() as u64))?
        .map(Stamp::Nanos)
}

fn span(run: &str, json: &str, wire: &WireSpan<'_>, found: &mut Found) {
    let context: Context<'_> = wire.context.and_then(read).unwrap_or_default();
    let status: Status<'_> = wire.status.and_then(read).unwrap_or_default();
    // Each value is JSON in a text; what is read of them is unpacked, and nothing else.
    let entries = wire.attributes.and_then(read::<Entries<'_>>).unwrap_or_default();
    let mut facts = Facts::new();
    facts.take_in_texts(&entries);
    let mut scores = Vec::new();
    for event in wire.events.and_then(read::<Vec<Event<'_>>>).unwrap_or_default() {
        let Some(attributes) = event.attributes.and_then(read::<Attributes<'_>>) else { continue };
        let name = word(event.name).unwrap_or_default();
        mapping::take_event(&name, &attributes, &mut facts, &mut scores);
    }
    let name = word(wire.name).unwrap_or_default();
    let class = match facts.class(&name) {
        SpanClass::Other("other_span") => SpanClass::Chain,
        known => known,
    };
    let named = |key: &str| entries.0.iter().find(|(have, _)| *have == key);
    let base = Base {
        id: wire::id(wire.span_id.or(context.span_id), 8).unwrap_or_default(),
        parent: wire::id(wire.parent_span_id.or(wire.parent_id), 8),
        agent: Some(name.clone()).filter(|name| !name.is_empty()),
        name,
        place: found.place,
        started_at: instant(wire.start.or(wire.start_time), Zone::Utc),
        ended_at: instant(wire.end.or(wire.end_time), Zone::Utc),
        status: mapping::status(status.code.or(wire.status_code)),
        message: word(status.message.or(wire.status_message)),
        class: Some(class),
        cost_usd: named("mlflow.llm.cost").and_then(|(_, json)| cost(&unpacked(json))),
        raw: found.raw.then_some(json),
        ..Base::default()
    };
    let span = mapping::build(base, &mut facts, scores);
    found.undecodable += facts.undecodable;
    found.span(run.to_owned(), span);
}

/// The JSON in a text; a text that holds none is itself.
fn unpacked(raw: &RawValue) -> Cow<'_, str> {
    let json = raw.get();
    if json.starts_with('"')
        && let Ok(inner) = serde_json::from_str::<String>(json)
        && quick::from_str::<serde::de::IgnoredAny>(&inner).is_ok()
    {
        return Cow::Owned(inner);
    }
    Cow::Borrowed(json)
}
