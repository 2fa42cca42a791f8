//! Files that lie beside traces and are none, and logs that need a field mapping.
//!
//! Owns their shapes, told by content like formats, and the sentence that says what such a file
//! is. Refuses to read them, and refuses to guess: a lone object of unknown keys is not called a log.

use super::{Probe, Unclaimed};
use crate::ingest::LeftOut;

/// Bytes of a record in which marks are sought.
const MARKED: usize = 64 << 10;

/// What a known file that is no trace is; `None` where its shape is not known.
pub(super) fn named(head: &[u8], probe: &Probe<'_>) -> Option<Unclaimed> {
    if let Some(reason) = no_trace(head, probe) {
        return Some(Unclaimed { what: LeftOut::NotATrace, reason: reason.to_owned() });
    }
    let reason = log(head, probe)?;
    Some(Unclaimed { what: LeftOut::NeedsMap, reason })
}

fn no_trace(head: &[u8], probe: &Probe<'_>) -> Option<&'static str> {
    let first = probe.records.first().map_or(&[][..], |r| r.get(..MARKED).unwrap_or(r));
    let has = |keys: &[&str]| probe.any_has(keys);
    let marked = |mark: &str| memchr::memmem::find(first, mark.as_bytes()).is_some();
    if has(&["instance_id", "model_patch"])
        || (marked("\"model_patch\"") && marked("\"instance_id\""))
    {
        return Some(
            "predictions (the patches that were handed in), not traces: give the trajectories and the report of the evaluation",
        );
    }
    if has(&["conversations", "trial_name"]) || has(&["conversations", "episode"]) {
        return Some(
            "conversations exported for training, not traces: the same runs as the trajectory files beside them",
        );
    }
    if has(&["direction", "message"])
        || (marked("\"direction\"") && marked("\"message\"") && has(&["messages"]))
    {
        return Some(
            "a recorded cassette of a program's messages, not a trace: its received messages, one a line, are a stream that can be read",
        );
    }
    if has(&["model_name", "submitting_organization"]) || has(&["submission_date", "results"]) {
        return Some(
            "a row of a leaderboard (rates by domain), not traces: give the runs behind it",
        );
    }
    if has(&["messages_display"]) {
        return Some("prompt text (examples shown to a model), not traces");
    }
    is_yaml(head).then_some("a configuration or other YAML, not traces")
}

/// Whether a text begins like YAML: a key alone on its line, or a key and a value, then more of the same.
fn is_yaml(head: &[u8]) -> bool {
    let start = head.get(..4096).unwrap_or(head);
    // A cut character at the end is no matter.
    let text = String::from_utf8_lossy(start);
    let mut keys = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(20) {
        let line = line.trim_end();
        if line.starts_with(['#', ' ', '-']) && keys > 0 || line.starts_with('#') || line == "---" {
            continue;
        }
        let Some((key, value)) = line.split_once(':') else { return false };
        let named = !key.is_empty()
            && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if !named || !(value.is_empty() || value.starts_with(' ')) {
            return false;
        }
        keys += 1;
    }
    // One line of `key: value` is what any text may be.
    keys > 1 || (keys == 1 && text.lines().count() > 1)
}

/// Structured logs for which a mapping ships: its name, and the keys that tell the log apart.
const READY: [(&str, &[&str]); 5] = [
    ("python-json-logger", &["levelname", "message"]),
    ("pino", &["level", "time", "pid", "hostname"]),
    ("rust-tracing", &["timestamp", "level", "fields", "target"]),
    ("rust-tracing", &["timestamp", "level", "target", "span"]),
    ("structlog", &["event", "level", "timestamp"]),
];

/// Keys of single documents that hold runs and that a mapping can reach into.
const DOCUMENTS: [&[&str]; 2] =
    [&["$schemaVersion", "context"], &["metadata", "tasks", "config", "next"]];

/// How a log can be read by a mapping; `None` where it does not look like one.
fn log(head: &[u8], probe: &Probe<'_>) -> Option<String> {
    if let Some((name, _)) = READY.iter().find(|(_, keys)| probe.any_has(keys)) {
        return Some(format!(
            "a log of {name}: read it with the ready mapping `--map {name}`, or write your own with `agenteval map suggest FILE`"
        ));
    }
    let objects = probe.keys().iter().filter(|keys| !keys.is_empty()).count();
    let lines = probe.records.len() > 1 && objects * 2 > probe.records.len();
    // Lists as lines, each a name and what belongs to it.
    let pairs = head.starts_with(b"[\"") && head.split(|b| *b == b'\n').take(3).all(is_pair);
    let document = DOCUMENTS.iter().any(|keys| probe.any_has(keys));
    (lines || pairs || document).then(|| {
        "JSON of no known format: tell its fields with `--map FILE`; `agenteval map suggest FILE` proposes such a mapping".to_owned()
    })
}

/// Whether a line is a list that begins with a name, or nothing.
fn is_pair(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || (line.starts_with(b"[\"") && line.contains(&b'{'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Probe, is_yaml, named};
    use crate::ingest::LeftOut;

    fn told(record: &str) -> Option<LeftOut> {
        let records = record.lines().map(str::as_bytes).collect();
        let probe = Probe::new(Path::new("x"), records, false);
        named(record.as_bytes(), &probe).map(|found| found.what)
    }

    #[test]
    fn what_is_no_trace_is_told_apart_from_logs() {
        let patch = r#"{"a__b-1": {"instance_id": "a__b-1", "model_patch": ""}}"#;
        assert_eq!(told(patch), Some(LeftOut::NotATrace));
        assert_eq!(told("{\"messages_display\": \"user: hi\"}"), Some(LeftOut::NotATrace));
        assert_eq!(told("{\"a\": 1}\n{\"a\": 2}"), Some(LeftOut::NeedsMap));
        assert_eq!(told("[\"name\", {\"a\": 1}]"), Some(LeftOut::NeedsMap));
        assert_eq!(told("{\"a\": 1}"), None, "a lone object may be anything");
        assert_eq!(told("a text: of words"), None);
    }

    #[test]
    fn yaml_is_keys_on_lines() {
        assert!(is_yaml(b"a:\n  b: 1\n"));
        assert!(is_yaml(b"a: 1\nb: 2\n"));
        assert!(!is_yaml(b"{\"a\": 1}\n{\"b\": 1}\n"));
        assert!(!is_yaml(b"Error: it failed\nand this is a sentence\n"));
        assert!(!is_yaml(b""));
    }
}
