//! Which format a file is of, told by its contents; its name is never proof.

use std::path::Path;

use super::{FORMATS, Format, Parsed, Probe, Reader, others};
use crate::ingest::scan::{FirstObject, first_object};
use crate::ingest::split::{Framing, Splitter, wrapped_elements};
use crate::ingest::{LeftOut, ReadError, rows};
use crate::model::nearest;

/// Records that detection looks at.
const PROBED: usize = 50;

/// Bytes of records that detection looks at, beside the first record.
const PROBED_BYTES: usize = 1 << 20;

/// Bytes of a file that detection looks at first; at all it was given only if no format claims these.
const FIRST_LOOK: usize = 256 << 10;

/// A file without a record: nothing is wrong with it, and nothing is in it.
static EMPTY: Format = Format {
    name: "empty",
    about: "a file without a record",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};

/// The format with this name.
///
/// # Errors
/// Names the nearest one, or all.
pub fn by_name(name: &str) -> Result<&'static Format, ReadError> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known: {}", names.join(", ")),
        };
        ReadError::UnknownFormat { given: name.to_owned(), hint }
    })
}

/// A file that no format claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unclaimed {
    /// What it is instead.
    pub what: LeftOut,
    /// What it looks like and what could be done, as a lowercase fragment.
    pub reason: String,
}

/// Tells the format of a file from its first block.
///
/// # Errors
/// Says what the file looks like where no format claims it.
pub fn detect(path: &Path, head: &[u8], framing: Framing) -> Result<&'static Format, Unclaimed> {
    detect_knowing(path, head, framing, first_object(head).as_ref())
}

/// The same where the object that the file begins with was passed over before.
///
/// # Errors
/// As [`detect`].
pub fn detect_knowing(
    path: &Path,
    head: &[u8],
    framing: Framing,
    object: Option<&FirstObject>,
) -> Result<&'static Format, Unclaimed> {
    if let Some(table) = FORMATS.iter().find(|format| rows::claims(format, path, head)) {
        return Ok(table);
    }
    if let Some(first) = head.get(..FIRST_LOOK)
        && let Ok(format) = claim(path, first, framing, object)
        && format.name != EMPTY.name
    {
        return Ok(format);
    }
    claim(path, head, framing, object)
}

/// The format that claims these bytes.
fn claim(
    path: &Path,
    head: &[u8],
    framing: Framing,
    object: Option<&FirstObject>,
) -> Result<&'static Format, Unclaimed> {
    if let Some(ours) = own(head) {
        return Err(Unclaimed { what: LeftOut::NotATrace, reason: ours.to_owned() });
    }
    let mut spans = Vec::new();
    Splitter::new(framing).split(head, true, &mut spans);
    spans.truncate(PROBED);
    if spans.is_empty() {
        return Ok(&EMPTY);
    }
    let mut records: Vec<&[u8]> = spans.iter().map(|span| &head[span.start..span.end]).collect();
    let mut bytes = 0;
    let enough = records.iter().position(|record| {
        bytes += record.len();
        bytes > PROBED_BYTES
    });
    records.truncate(enough.unwrap_or(records.len()).max(1));
    let (start, end) = (spans[0].start, Some(spans[0].end));
    let known = object.filter(|object| object.start == start && object.end == end);
    let known = known.map(|object| object.keys.clone());
    let probe = Probe::knowing(path, records, framing == Framing::Elements, known);
    if let Some(format) = claimed(&probe) {
        return Ok(format);
    }
    for format in FORMATS.iter().filter(|format| !format.wrappers.is_empty()) {
        let Some(elements) = wrapped_elements(probe.records[0], format.wrappers) else { continue };
        let inner: Vec<&[u8]> = elements
            .iter()
            .take(PROBED)
            .map(|span| &probe.records[0][span.start..span.end])
            .collect();
        let inner = Probe::new(path, inner, true);
        if inner.records.is_empty()
            || claimed(&inner).is_some_and(|found| found.name == format.name)
        {
            return Ok(format);
        }
    }
    Err(others::named(head, &probe).unwrap_or_else(|| {
        let json = matches!(probe.records[0].first(), Some(b'{' | b'['));
        let what = if json { LeftOut::Unrecognised } else { LeftOut::NotATrace };
        Unclaimed { what, reason: describe(head, &probe) }
    }))
}

/// The format that claims the first record that any claims: one stray record further down must not
/// take over a file. Where no record tells by itself, all of them are shown together.
fn claimed(probe: &Probe<'_>) -> Option<&'static Format> {
    // What `convert` writes keeps the fields of other formats in its steps.
    let lists_steps = |record: &&[u8]| memchr::memmem::find(record, b"\"steps\":[").is_some();
    if probe.any_has(&["steps", "retry_source"]) && probe.records.iter().any(lists_steps) {
        return Some(&super::native::NATIVE);
    }
    (0..probe.records.len())
        .filter_map(|at| probe.alone(at))
        .find_map(|one| FORMATS.iter().find(|format| (format.detect)(&one)))
        .or_else(|| FORMATS.iter().find(|format| (format.detect)(probe)))
}

/// What a file that agenteval itself wrote is, told by the schema that it begins with.
fn own(head: &[u8]) -> Option<&'static str> {
    let start = head.get(..200).unwrap_or(head);
    let has = |schema: &str| memchr::memmem::find(start, schema.as_bytes()).is_some();
    if has("\"agenteval.baseline/") {
        Some(
            "a stored baseline, not traces: name it with --baseline or as a side of `agenteval compare`",
        )
    } else if has("\"agenteval.report/") || has("\"agenteval.gate/") || has("\"agenteval.compare/")
    {
        Some("a report of agenteval, not traces")
    } else {
        None
    }
}

/// What an unknown file looks like, and what could be done.
fn describe(head: &[u8], probe: &Probe<'_>) -> String {
    if head.starts_with(b"version https://git-lfs.github.com/spec") {
        return "a Git LFS pointer, not the data: fetch it with `git lfs pull`".to_owned();
    }
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return "UTF-16 text: convert it to UTF-8".to_owned();
    }
    let first = probe.records[0];
    if !matches!(first.first(), Some(b'{' | b'[')) {
        let what = if head.iter().take(4096).any(|b| *b == 0) { "binary data" } else { "not JSON" };
        let hint = match rows::has_header(head) {
            true => {
                "; a table of runs needs a header row with a column for the task, such as `task_id`, and one for the outcome, such as `success`; `agenteval map suggest FILE` drafts a mapping of other columns"
            }
            false => "",
        };
        return format!("no format recognised: {what}{hint}");
    }
    let mut keys = probe.keys().first().cloned().unwrap_or_default();
    let more = keys.len() > 8;
    keys.truncate(8);
    let keys: Vec<String> = keys
        .iter()
        .map(|key| {
            let short: String = key.chars().filter(|c| !c.is_control()).take(40).collect();
            format!("`{short}`")
        })
        .collect();
    let seen = if keys.is_empty() {
        "its first record has no keys".to_owned()
    } else {
        format!("its first record has {}{}", keys.join(", "), if more { ", ..." } else { "" })
    };
    let near: Vec<&str> = probe.keys().first().map_or_else(Vec::new, |keys| nearest_shapes(keys));
    let near = match near.as_slice() {
        [] => String::new(),
        names => format!("; nearest in shape: {}", names.join(", ")),
    };
    format!(
        "no format recognised: {seen}{near}; a native run needs `steps`; `agenteval map suggest FILE` drafts a field mapping, by which `--map` reads it"
    )
}

/// Formats that have one of these keys where most others have none.
fn nearest_shapes(keys: &[String]) -> Vec<&'static str> {
    const SHAPES: [(&str, &[&str]); 14] = [
        ("messages", &["openai-chat", "anthropic", "mini-swe-agent"]),
        ("choices", &["openai-chat"]),
        ("output", &["openai-responses"]),
        ("steps", &["native", "atif", "smolagents"]),
        ("trajectory", &["swe-agent"]),
        ("history", &["openhands", "who-and-when", "temporal"]),
        ("events", &["temporal", "openhands"]),
        ("simulations", &["tau2"]),
        ("reward", &["tau-bench", "runs-table"]),
        ("spans", &["otlp", "jaeger", "mlflow"]),
        ("trace_id", &["langfuse", "langsmith", "mlflow", "openinference"]),
        ("observations", &["langfuse"]),
        ("node_id", &["checkpoints", "steplog"]),
        ("event", &["steplog"]),
    ];
    let mut near = Vec::new();
    for (_, names) in SHAPES.iter().filter(|(key, _)| keys.iter().any(|have| have == key)) {
        near.extend(names.iter().filter(|name| !near.contains(*name)).copied().collect::<Vec<_>>());
    }
    near
}
