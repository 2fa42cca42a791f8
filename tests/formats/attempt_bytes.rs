//! Where readers say that an attempt stands: what is cut out of the file there is that attempt.
use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::{MAX_RECORD, Request, Visitor, find, read};
use agenteval::model::Trajectory;
use serde_json::Value;

/// Bytes and name of each attempt that is no model turn.
type Told = Vec<(Option<(u64, u64)>, String)>;

struct Tell;

impl Visitor for Tell {
    type Out = Told;
    type State = ();
    fn state(&self) {}
    fn visit(&self, (): &mut (), run: &Trajectory<'_>) -> Told {
        let calls = run.attempts.iter().filter(|attempt| !attempt.turn);
        calls.map(|call| (call.bytes, call.name.as_deref().unwrap_or("?").to_owned())).collect()
    }
    fn retire(&self, (): ()) {}
}

fn told_of(path: &Path, raw_attempts: bool) -> Told {
    let sources = find(&[path.to_owned()]).unwrap().sources;
    let request = Request {
        options: ReadOptions { raw_attempts, ..ReadOptions::default() },
        format: None,
        strict: false,
        threads: 2,
        progress: None,
        max_record: MAX_RECORD,
    };
    let mut told = Vec::new();
    read(&sources, &request, &Tell, &mut |run| told.extend(run)).unwrap();
    assert!(!told.is_empty());
    told
}

/// The JSON that stands at each attempt's bytes, with the attempt's name.
fn cut(text: &[u8], told: Told) -> Vec<(Value, String)> {
    let one = |(bytes, name): (Option<(u64, u64)>, String)| {
        let (from, to) = bytes.unwrap_or_else(|| panic!("no place of {name}"));
        let part = &text[usize::try_from(from).unwrap()..usize::try_from(to).unwrap()];
        let json = serde_json::from_slice(part)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(part)));
        (json, name)
    };
    told.into_iter().map(one).collect()
}

/// Reads a text as a file of this name, with and without texts of attempts.
fn places(name: &str, text: &[u8]) -> Told {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let none = told_of(&path, false);
    assert!(none.iter().all(|(bytes, _)| bytes.is_none()), "not asked for, not told");
    told_of(&path, true)
}

const STEPS: &str = r#""steps": [
  {"type": "tool", "name": "first", "n": 1},
    {"type": "tool", "name": "second",
     "attempts": [{"name": "second", "status": "error", "n": 2}, {"name": "second", "n": 3}]},
  {"type": "tool", "name": "third", "n": 4}]"#;

fn native_holds(name: &str, text: &str, runs: u64) {
    let cut = cut(text.as_bytes(), places(name, text.as_bytes()));
    let numbers: Vec<u64> = cut.iter().map(|(json, _)| json["n"].as_u64().unwrap()).collect();
    let wanted: Vec<u64> = (0..runs).flat_map(|_| 1..=4).collect();
    assert_eq!(numbers, wanted, "{name}");
    assert!(cut.iter().all(|(json, name)| json["name"] == name.as_str()));
}

#[test]
fn native_steps_stand_where_they_are_said_to_in_every_framing() {
    let run = format!("{{\"run_id\": \"ä\", {STEPS}}}");
    let line = run.replace('\n', " ");
    native_holds("lines.ndjson", &format!("{line}\n\n  {line}\n"), 2);
    native_holds("array.json", &format!("[\n{run},\n{run}\n]"), 2);
    native_holds("single.json", &run, 1);
    native_holds("wrapped.json", &format!("{{\"v\": 1, \"runs\": [{run}, {run}]}}"), 2);
    native_holds("marked.ndjson", &format!("\u{feff}{line}\n{line}\n"), 2);
}

#[test]
fn a_repaired_record_tells_no_place_and_its_neighbour_does() {
    let run = format!("{{{STEPS}}}").replace('\n', " ");
    let broken = run.replace("\"n\": 1", "\"n\": NaN");
    let text = format!("{broken}\n{run}\n");
    let told = places("lines.ndjson", text.as_bytes());
    assert_eq!(told.len(), 8);
    assert!(told[..4].iter().all(|(bytes, _)| bytes.is_none()), "{told:?}");
    assert_eq!(cut(text.as_bytes(), told[4..].to_vec()).len(), 4);
}

#[test]
fn an_attempt_of_a_step_log_stands_at_the_line_that_ends_it() {
    let lines = [
        r#"{"run_id":"r","event":"run_start"}"#,
        r#"{"run_id":"r","node_id":"a","event":"start"}"#,
        r#"{"run_id":"r","node_id":"b","event":"start"}"#,
        r#"{"run_id":"r","node_id":"a","event":"failed","error":{"type":"x"}}"#,
        r#"{"run_id":"r","node_id":"b","event":"completed"}"#,
        r#"{"run_id":"r","event":"run_end"}"#,
    ];
    let text = lines.join("\n");
    let cut = cut(text.as_bytes(), places("log.ndjson", text.as_bytes()));
    let told: Vec<(&str, &str)> = cut
        .iter()
        .map(|(json, _)| (json["node_id"].as_str().unwrap(), json["event"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("a", "failed"), ("b", "completed")]);
}

#[test]
fn a_checkpoint_stands_at_its_record_but_only_in_the_file_of_the_run() {
    let nodes = [
        r#"{"node_id": "a", "attempts": 0, "status": "completed", "created_at": "2026-01-01T00:00:00Z"}"#,
        r#"{"node_id": "b", "attempts": 1, "status": "failed", "created_at": "2026-01-01T00:00:01Z"}"#,
    ];
    let text = nodes.join("\n");
    let cut = cut(text.as_bytes(), places("nodes.ndjson", text.as_bytes()));
    assert!(cut.iter().all(|(json, name)| json["node_id"] == name.as_str()), "{cut:?}");

    let folder = tempfile::tempdir().unwrap();
    for (name, node) in ["a.json", "b.json"].into_iter().zip(nodes) {
        std::fs::write(folder.path().join(name), node).unwrap();
    }
    let told = told_of(folder.path(), true);
    assert_eq!(told[0].0, Some((0, nodes[0].len() as u64)));
    assert_eq!(told[1].0, None, "the run's file is that of its first node");
}

#[test]
fn a_row_of_a_table_is_no_json_and_tells_no_place() {
    let text = include_bytes!("../../fixtures/agent-task/rows.csv");
    let told = places("rows.csv", text);
    assert!(told.iter().all(|(bytes, _)| bytes.is_none()), "{told:?}");
}

#[test]
fn a_call_of_tau_bench_stands_inside_its_message() {
    let text = include_bytes!("../../fixtures/tau_bench/four_runs.json");
    let told = places("runs.json", text);
    // Results that answer no call have no call to stand at.
    let calls: Told = told.into_iter().filter(|(bytes, _)| bytes.is_some()).collect();
    let cut = cut(text, calls);
    assert!(cut.len() >= 4, "{cut:#?}");
    assert!(cut.iter().all(|(json, name)| json["function"]["name"] == name.as_str()), "{cut:#?}");
}
