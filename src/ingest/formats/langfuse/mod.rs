//! Langfuse's traces: what the UI and the API give (`{"trace", "observations"}`, a trace with its
//! observations), observations or scores alone, and rows of the blob export.
//!
//! Owns the shapes of records and the trace's own record. An observation is read in
//! `observation`, its usage in `usage`; how observations become a run is decided in
//! `assemble::spans`. The copy of the observations inside `trace` has no contents and counts once.

mod observation;
mod usage;

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;

use super::raw::{Entries, label, number, read};
use super::span_record::{Found, Zone, assembler, instant, unwrapped};
use super::{Format, Probe, Reader, Refusal};
use crate::ingest::assemble::spans::Head;
use crate::ingest::quick;
use crate::model::{Score, ScoreValue, Stamp};

/// Traces of Langfuse.
pub const LANGFUSE: Format = Format {
    name: "langfuse",
    about: "Langfuse traces or observations",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| assembler(options, read_record)),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    let holds = |part: &[u8]| {
        probe.records.iter().any(|record| memchr::memmem::find(record, part).is_some())
    };
    let is_list = || probe.any_has(&["data"]) && holds(b"\"traceId\"");
    probe.any_has(&["trace", "observations"])
        || probe.any_has(&["observations", "scores", "timestamp"])
        || probe.any_has(&["traceId", "type", "startTime", "level"])
        || probe.any_has(&["trace_id", "type", "start_time", "level"])
        || probe.any_has(&["traceId", "dataType", "source", "name"])
        || probe.any_has(&["trace_id", "data_type", "source", "name"])
        || probe.any_has(&["timestamp", "userId", "sessionId", "bookmarked"])
        || probe.any_has(&["timestamp", "user_id", "session_id", "bookmarked"])
        || (is_list() && (holds(b"\"parentObservationId\"") || holds(b"\"dataType\"")))
}

/// The members of an object under the names of the API and of the blob export.
struct Fields<'a>(Entries<'a>);

impl<'a> Fields<'a> {
    fn of(raw: &'a RawValue) -> Option<Self> {
        read(raw).map(Self)
    }

    /// The last value under one of these names that is not null.
    fn get(&self, names: &[&str]) -> Option<&'a RawValue> {
        let named = |(key, value): &&(Cow<'_, str>, &RawValue)| {
            names.contains(&key.as_ref()) && value.get() != "null"
        };
        self.0.0.iter().rev().find(named).map(|(_, value)| *value)
    }

    fn word(&self, names: &[&str]) -> Option<String> {
        self.get(names).and_then(label).map(Cow::into_owned).filter(|word| !word.is_empty())
    }

    fn amount(&self, names: &[&str]) -> Option<f64> {
        let number = self.get(names).and_then(number);
        number.filter(|number| number.is_finite() && *number >= 0.0)
    }

    fn list(&self, names: &[&str]) -> Option<Vec<&'a RawValue>> {
        self.get(names).and_then(read)
    }
}

const TRACE_ID: &[&str] = &["traceId", "trace_id"];

fn read_record(text: &str, found: &mut Found) -> Result<(), Refusal> {
    let raw: &RawValue = quick::from_str(text)?;
    let whole: Vec<&RawValue> = match read(raw) {
        Some(list) => list,
        None => vec![raw],
    };
    for raw in whole {
        let fields: Entries<'_> = quick::from_str(raw.get())?;
        let fields = Fields(fields);
        match fields.list(&["data"]).filter(|_| fields.get(&["id"]).is_none()) {
            Some(list) => {
                for inner in list {
                    match Fields::of(inner) {
                        Some(fields) => any(inner, &fields, found),
                        None => found.refuse("malformed_observation: it is not an object"),
                    }
                }
            }
            None => any(raw, &fields, found),
        }
    }
    Ok(())
}

/// A download, a trace, an observation or a score, told by its keys.
fn any(raw: &RawValue, fields: &Fields<'_>, found: &mut Found) {
    let inner = fields.get(&["trace"]).filter(|trace| trace.get().starts_with('{'));
    if let Some(trace) = inner.and_then(Fields::of) {
        return download(&trace, fields, found);
    }
    let of_trace = fields.get(TRACE_ID).is_some();
    if of_trace && fields.get(&["startTime", "start_time"]).is_some() {
        observation::take(raw, fields, found);
    } else if of_trace && fields.get(&["dataType", "data_type"]).is_some() {
        score_row(fields, found);
    } else if fields.get(&["timestamp", "observations"]).is_some() {
        download(fields, fields, found);
    } else {
        found.refuse("unknown_record: neither trace nor observation nor score");
    }
}

/// A trace whose observations stand beside it, in it, or both.
fn download(trace: &Fields<'_>, beside: &Fields<'_>, found: &mut Found) {
    let Some(id) = trace.word(&["id"]) else { return found.refuse("trace_without_id") };
    let mut seen: HashSet<String> = HashSet::new();
    let lists = [beside.list(&["observations"]), trace.list(&["observations"])];
    let same = std::ptr::eq(trace, beside);
    for list in lists.into_iter().take(if same { 1 } else { 2 }).flatten() {
        let mut ids = Vec::new();
        for raw in list {
            let Some(fields) = Fields::of(raw) else {
                // Lists of traces name their observations by id.
                if !raw.get().starts_with('"') {
                    found.refuse("malformed_observation: it is not an object");
                }
                continue;
            };
            let own = fields.word(&["id"]).unwrap_or_default();
            if seen.contains(&own) {
                let rule = "duplicate_observation: the copy inside `trace`";
                found.note("spans_merged", rule, 1);
                continue;
            }
            ids.push(own);
            observation::take_of(&id, raw, &fields, found);
        }
        seen.extend(ids);
    }
    let head = head(trace, beside, found);
    found.head(id, head);
}

fn head(trace: &Fields<'_>, beside: &Fields<'_>, found: &mut Found) -> Head {
    let started_at = instant(trace.get(&["timestamp"]), Zone::Utc);
    let latency = trace.amount(&["latency"]);
    let mut head = Head {
        agent: trace.word(&["name"]),
        output: trace.get(&["output"]).map(|output| unwrapped(output).into_owned()),
        ended_at: started_at.as_ref().and_then(|start| end(start, latency?)),
        started_at,
        ..Head::default()
    };
    let labels: [(&str, &[&str]); 5] = [
        ("session", &["sessionId", "session_id"]),
        ("user", &["userId", "user_id"]),
        ("environment", &["environment"]),
        ("release", &["release"]),
        ("version", &["version"]),
    ];
    for (key, names) in labels {
        if let Some(value) = trace.word(names) {
            head.labels.insert(key.to_owned(), value);
        }
    }
    let tags: Vec<String> = trace.get(&["tags"]).and_then(read).unwrap_or_default();
    if !tags.is_empty() {
        head.labels.insert("tags".to_owned(), tags.join(","));
    }
    let metadata = trace.get(&["metadata"]).map(unwrapped);
    let metadata: Entries<'_> =
        metadata.as_deref().and_then(|json| quick::from_str(json).ok()).unwrap_or_default();
    for (key, value) in metadata.0 {
        let Some(value) = label(value) else { continue };
        match key.as_ref() {
            "task_id" | "dataset_item_id" | "datasetItemId" => {
                head.task = Some(value.into_owned());
            }
            _ => {
                head.labels.entry(key.into_owned()).or_insert_with(|| value.into_owned());
            }
        }
    }
    let lists = [trace.list(&["scores"]), beside.list(&["scores"])];
    for raw in lists.into_iter().flatten().flatten() {
        if let Some(fields) = Fields::of(raw) {
            score(&fields, &mut head, found);
        }
    }
    head
}

/// A score that is a record of its own.
fn score_row(fields: &Fields<'_>, found: &mut Found) {
    let Some(run) = fields.word(TRACE_ID) else { return found.refuse("score_without_trace") };
    let mut head = Head::default();
    score(fields, &mut head, found);
    found.head(run, head);
}

/// A score of the trace; one of a single observation says nothing of the run.
fn score(fields: &Fields<'_>, head: &mut Head, found: &mut Found) {
    if fields.word(&["observationId", "observation_id"]).is_some() {
        let rule = "scores of single observations, which are none of the run";
        return found.note("scores_ignored", rule, 1);
    }
    let name = fields.word(&["name"]).unwrap_or_default();
    let categorical = fields
        .word(&["dataType", "data_type"])
        .is_some_and(|kind| kind.eq_ignore_ascii_case("CATEGORICAL"));
    let words = fields.word(&["stringValue", "string_value"]);
    let number = fields.get(&["value"]).and_then(number);
    let value = match (words, number) {
        (Some(words), _) if categorical => ScoreValue::from_text(Cow::Owned(words)),
        (_, Some(number)) => ScoreValue::Number(number),
        (Some(words), None) => ScoreValue::from_text(Cow::Owned(words)),
        (None, None) => return,
    };
    let id = fields.word(&["id"]).unwrap_or_else(|| format!("{name} {value:?}"));
    head.scores.insert(id, Score { name: Cow::Owned(name), value });
}

/// The end of a trace that took so many seconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn end(start: &Stamp<'static>, seconds: f64) -> Option<Stamp<'static>> {
    let Stamp::Nanos(start) = start else { return None };
    if !(0.0..1e9).contains(&seconds) {
        return None;
    }
    start.checked_add((seconds * 1e9).round() as u64).map(Stamp::Nanos)
}
