//! `--map`, `map suggest`, `map list`, `map show` and `schema map`, as people use them.

use crate::cli;
use crate::support;
use std::path::Path;

use crate::cli::{Folder, Ran, agenteval, fixture, run, schema_faults};
use serde_json::{Value, json};

const EVENTS: &str = "fixtures/map/orders.ndjson";
const MAP: &str = "fixtures/map/orders.map.json";

/// Reads records by a mapping, both given as JSON; attempts as `show` tells them.
struct Read {
    folder: Folder,
}

impl Read {
    fn new(mapping: &Value, data: &str) -> Self {
        let folder = Folder::new();
        let mut whole = json!({"schema": "agenteval.map/1"});
        for (key, value) in mapping.as_object().unwrap() {
            whole[key] = value.clone();
        }
        std::fs::write(folder.path().join("map.json"), whole.to_string()).unwrap();
        std::fs::write(folder.path().join("data.txt"), data).unwrap();
        Self { folder }
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = agenteval();
        command.current_dir(self.folder.path());
        Ran::of(command.args(args).args(["data.txt", "--map", "map.json"]))
    }

    #[track_caller]
    fn inspect(&self) -> Value {
        let ran = self.run(&["inspect", "--output", "json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()
    }

    /// The report of `analyze`.
    #[track_caller]
    fn report(&self) -> Value {
        let ran = self.run(&["analyze", "--output", "json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()
    }

    /// Value of a figure.
    #[track_caller]
    fn figure(&self, name: &str) -> f64 {
        cli::figure(&self.report(), name).0.unwrap_or_else(|| panic!("no {name}"))
    }

    /// Counts of runs, steps and attempts.
    #[track_caller]
    fn counts(&self) -> [u64; 3] {
        let found = self.inspect();
        ["runs", "steps", "attempts"].map(|key| found[key].as_u64().unwrap())
    }
}

/// The refusal of a mapping.
#[track_caller]
fn refused(mapping: &str, parts: &[&str]) {
    let folder = Folder::new();
    std::fs::write(folder.path().join("map.json"), mapping).unwrap();
    std::fs::write(folder.path().join("data.txt"), "{}\n").unwrap();
    let mut command = agenteval();
    command.current_dir(folder.path());
    Ran::of(command.args(["inspect", "data.txt", "--map", "map.json"])).refused(2, parts);
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[test]
fn a_bad_mapping_is_told_with_place_and_remedy() {
    let of = |rest: &str| format!("{{\"schema\": \"agenteval.map/1\", {rest}}}");
    refused("{}", &["no mapping of the form agenteval.map/1", "begin it with"]);
    refused("[]", &["the mapping is a list, not an object"]);
    refused("{\"schema\": ", &["the mapping is no valid JSON"]);
    refused(
        &of("\"stepp\": {}"),
        &["unknown key `stepp`", "did you mean `step`?", "map.json:1", "/stepp"],
    );
    refused(
        &of("\"step\": {\"nmae\": \"a\"}"),
        &["unknown key `nmae` in step", "did you mean `name`?", "/step/nmae"],
    );
    refused(
        &of("\"step\": {\"task_id\": \"a\"}"),
        &["unknown key `task_id`", "it stands in `run`"],
    );
    refused(
        &of("\"step\": {\"name\": {\"pth\": \"a\"}}"),
        &["unknown key `pth` in a value", "did you mean `path`?"],
    );
    refused(
        &of("\"step\": {\"name\": \"a..b\"}"),
        &["`a..b` is no path", "/step/name", "list[].c"],
    );
    refused(&of("\"step\": {\"name\": 7}"), &["a path in quotes", "/step/name"]);
    refused(&of("\"step\": {\"name\": {}}"), &["nothing says where this value comes from"]);
    refused(
        &of("\"step\": {\"name\": {\"path\": \"a\", \"match\": \"(\"}}"),
        &["no regular expression", "/step/name/match"],
    );
    refused(
        &of("\"step\": {\"duration\": \"ms\"}"),
        &["in which unit this duration is", "duration_unit", "/step/duration"],
    );
    refused(
        &of("\"time\": {\"path\": \"t\", \"format\": \"unix\"}"),
        &["no format of times `unix`", "epoch_ms", "/time/format"],
    );
    refused(&of("\"time_zone\": \"Mars\""), &["`Mars` is no zone", "+02:00"]);
    refused(&of("\"events\": []"), &["the list of rules is empty"]);
    refused(
        &of("\"events\": [{\"when\": {\"a\": {\"mtch\": \"x\"}}, \"is\": \"step\"}]"),
        &["unknown key `mtch` in a test", "did you mean `match`?"],
    );
    refused(
        &of("\"events\": [{\"is\": \"step_begin\"}]"),
        &["`step_begin` is not a word that is known here", "step_start"],
    );
    refused(&of("\"steps\": \"a[]\""), &["for records that are whole runs", "\"record\": \"run\""]);
    refused(&of("\"records\": \"a[].b\""), &["does not name one list"]);
    refused(&of("\"schema\": \"x\""), &["stands here twice"]);
    // `serde` would take a list for an object, its elements in the order of the fields.
    refused(&of("\"group\": [\"a\", \"b\", \"c\"]"), &["found a list", "/group"]);
    refused(&of("\"events\": [[{}, \"step\"]]"), &["found a list", "/events/0"]);
    run(&["inspect", EVENTS, "--map", "pinno"]).refused(2, &["cannot be read", "pino", "suggest"]);
    run(&["inspect", EVENTS, "--map", "pino", "--format", "native"])
        .refused(2, &["--map", "--format"]);
}

#[test]
fn a_path_that_never_matched_is_named_with_the_nearest_that_there_is() {
    let data = lines(&[json!({"extra": {"tool_name": "a"}, "run": "r"})]);
    let read =
        Read::new(&json!({"run": {"run_id": "run"}, "step": {"name": "extra.toolName"}}), &data);
    let report = read.report();
    let warning = cli::warning(&report, "mapping_path_never_matched");
    let message = warning["message"].as_str().unwrap();
    assert!(message.contains("path `extra.toolName` never matched"), "{message}");
    assert!(message.contains("the records have `extra.tool_name`"), "{message}");
    // Where no run came out at all, it is the error.
    let none = Read::new(
        &json!({"events": [{"when": {"evnt": "step"}, "is": "step"}]}),
        "{\"event\":\"step\"}\n",
    );
    let ran = none.run(&["analyze"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("error: no run was evaluated: path `evnt` never matched"), "{ran:?}");
    assert!(ran.err.contains("the records have `event`"), "{ran:?}");
    // A ready mapping covers more than one file has: that is no warning.
    let step = json!({"name": ["x", "extra.tool_name"], "status": {"const": "completed"}});
    let quiet = Read::new(&json!({"step": step}), &data);
    assert_eq!(quiet.report()["warnings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn the_first_path_that_is_not_null_counts() {
    let data = lines(&[
        json!({"a": null, "b": "second", "c": "third"}),
        json!({"a": "", "b": "second"}),
        json!({"c": "third"}),
        json!({"list": [{"x": null}, {"x": "in a list"}]}),
        json!({"key.with.dots": "dotted"}),
    ]);
    let read = Read::new(
        &json!({"step": {"name": ["a", "b", "c", "list[].x", "\"key.with.dots\""]}}),
        &data,
    );
    let ran = read.run(&["show", "data.txt:1", "--output", "json"]);
    let text = ran.out;
    for (name, times) in [("second", 2), ("third", 1), ("in a list", 1), ("dotted", 1)] {
        let found = text.matches(&format!("\"name\": \"{name}\"")).count();
        assert_eq!(found, times, "{name} in {text}");
    }
}

/// Seconds that a run takes from a start to an end written so.
#[track_caller]
fn seconds(time: Value, start: Value, end: Value) -> f64 {
    let mut mapping = json!({
        "events": [
            {"when": {"e": "s"}, "is": "run_start"},
            {"when": {"e": "x"}, "is": "step"},
            {"when": {"e": "e"}, "is": "run_end"},
        ],
        "step": {"name": "e"},
    });
    for (key, value) in time.as_object().unwrap() {
        mapping[key] = value.clone();
    }
    let data = lines(&[
        json!({"e": "s", "t": start}),
        json!({"e": "x", "t": start}),
        json!({"e": "e", "t": end}),
    ]);
    Read::new(&mapping, &data).figure("duration_seconds")
}

#[test]
fn every_spelling_of_times_is_read() {
    let by = |format: &str| json!({"time": "t", "time_format": format});
    for (time, start, end) in [
        (by("iso"), json!("2026-01-01T00:00:00Z"), json!("2026-01-01T02:00:01.5+02:00")),
        (by("auto"), json!("2026-01-01 00:00:00,000"), json!("2026-01-01 00:00:01,500")),
        (by("auto"), json!(1_767_225_600), json!(1_767_225_601.5)),
        (by("auto"), json!("1767225600000"), json!(1_767_225_601_500_u64)),
        (by("epoch_s"), json!(1_767_225_600), json!("1767225601.5")),
        (by("epoch_ms"), json!(1_767_225_600_000_u64), json!(1_767_225_601_500_u64)),
        (by("epoch_us"), json!(1_767_225_600_000_000_u64), json!(1_767_225_601_500_000_u64)),
        (by("epoch_ns"), json!(1_767_225_600_000_000_000_u64), json!("1767225601500000000")),
        (
            by("%d/%b/%Y:%H:%M:%S%.f"),
            json!("01/Jan/2026:00:00:00.0"),
            json!("01/Jan/2026:00:00:01.5"),
        ),
        (
            json!({"time": {"path": "t", "format": "%Y%m%d %H%M%S%.f", "zone": "+02:00"}}),
            json!("20260101 020000"),
            json!("20260101 020001.5"),
        ),
    ] {
        let shown = format!("{time} {start}");
        assert!((seconds(time, start, end) - 1.5).abs() < 1e-9, "{shown}");
    }
    // An assumed zone puts times without one beside those with one.
    let zoned = json!({"time": "t", "time_zone": "+02:00"});
    let both = seconds(zoned, json!("2026-01-01 02:00:00"), json!("2026-01-01T00:00:01.5Z"));
    assert!((both - 1.5).abs() < 1e-9, "{both}");
}

#[test]
fn a_time_in_another_form_is_told() {
    let read = Read::new(
        &json!({"time": {"path": "t", "format": "epoch_ms"}, "step": {"name": "n"}}),
        &lines(&[json!({"n": "a", "t": "yesterday"})]),
    );
    let report = read.report();
    let message = &cli::warning(&report, "unreadable_time")["message"];
    assert!(message.as_str().unwrap().contains("`time` is no time"), "{message}");
}

#[test]
fn durations_have_units() {
    for (unit, value, seconds) in [
        ("s", json!(1.5), 1.5),
        ("ms", json!(1500), 1.5),
        ("us", json!("1500000"), 1.5),
        ("ns", json!(1_500_000_000), 1.5),
        ("text", json!("1.5s"), 1.5),
        ("text", json!("438000.5µs"), 0.438_001),
        ("text", json!("1m2.5s"), 62.5),
        ("text", json!("00:01:02.5"), 62.5),
    ] {
        let mapping = json!({
            "record": "run",
            "duration_unit": unit,
            "run": {"task_id": "t", "duration": "d"},
        });
        let read = Read::new(&mapping, &lines(&[json!({"t": "a", "d": value})]));
        let found = read.figure("duration_seconds");
        assert!((found - seconds).abs() < 1e-6, "{unit} {value}: {found}");
    }
}

#[test]
fn words_and_numbers_become_statuses() {
    let mapping = |step: Value| json!({"statuses": {"0": "completed", "KO": "failed", "7": "failed"}, "step": step});
    let data = lines(&[
        json!({"n": "a", "rc": 0, "level": 30}),
        json!({"n": "b", "rc": 7, "level": 50}),
        json!({"n": "c", "rc": "ko", "level": 20}),
        json!({"n": "d", "rc": "ok", "level": 60}),
    ]);
    let by_code = Read::new(&mapping(json!({"name": "n", "status": "rc"})), &data);
    assert_eq!(by_code.figure("step_error_rate"), 0.5);
    let pino = json!({"name": "n", "status": {"path": "level", "values": "pino_levels"}});
    assert_eq!(Read::new(&mapping(pino), &data).figure("step_error_rate"), 0.5);
    let syslog = json!({"name": "n", "status": {"path": "rc", "values": "syslog_levels"}});
    assert_eq!(Read::new(&mapping(syslog), &data).figure("step_error_rate"), 0.25);
    let table = json!({"name": "n", "status": {"path": "rc", "values": {"7": "failed"}}});
    assert_eq!(Read::new(&mapping(table), &data).figure("step_error_rate"), 0.25);
}

#[test]
fn calls_that_share_a_name_alone_end_in_the_order_in_which_they_began() {
    let mapping = json!({
        "duration_unit": "ms",
        "events": [
            {"when": {"e": "start"}, "is": "step_start"},
            {"when": {"e": "end"}, "is": "step_end"},
        ],
        "run": {"run_id": "r"},
        "step": {"name": "n", "success": "ok", "input": "in", "duration": "ms"},
    });
    let event = |r: &str, e: &str, n: &str| json!({"r": r, "e": e, "n": n, "ok": if e == "end" { json!(true) } else { json!(null) }});
    let data = lines(&[
        event("1", "start", "a"),
        event("2", "start", "a"),
        event("1", "start", "a"),
        event("1", "start", "b"),
        event("1", "end", "a"),
        event("1", "end", "b"),
        event("1", "end", "a"),
    ]);
    let read = Read::new(&mapping, &data);
    assert_eq!(read.counts(), [2, 4, 4]);
    let ran = read.run(&["analyze", "--output", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn calls_with_ids_are_joined_whatever_their_order() {
    let mapping = json!({
        "events": [
            {"when": {"e": "call"}, "is": "step_start"},
            {"when": {"e": "result"}, "is": "step_end"},
        ],
        "step": {"name": "n", "request_id": "id", "error": "err"},
    });
    let data = lines(&[
        json!({"e": "result", "id": "2", "err": "boom"}),
        json!({"e": "call", "id": "1", "n": "a"}),
        json!({"e": "call", "id": "2", "n": "b"}),
        json!({"e": "result", "id": "1"}),
        json!({"e": "result", "id": "1"}),
    ]);
    let read = Read::new(&mapping, &data);
    assert_eq!(read.counts(), [1, 2, 2]);
    assert_eq!(read.figure("step_error_rate"), 0.5);
    let notes = read.inspect()["issues"].to_string();
    assert!(notes.contains("events_merged"), "{notes}");
}

#[test]
fn a_count_of_attempts_is_of_tries_or_of_retries() {
    let data = lines(&[json!({"n": "a", "attempts": 3, "status": "ok"})]);
    let step = json!({"name": "n", "attempts": "attempts", "status": "status"});
    let tries = Read::new(&json!({"step": step}), &data);
    assert_eq!(tries.figure("avg_retry_count"), 2.0);
    let retries = Read::new(&json!({"attempts": "retries", "step": step}), &data);
    assert_eq!(retries.figure("avg_retry_count"), 3.0);
}

#[test]
fn a_retry_fails_the_attempt_that_is_open_and_begins_the_next() {
    let mapping = json!({
        "events": [
            {"when": {"e": "start"}, "is": "step_start"},
            {"when": {"e": "retry"}, "is": "retry"},
            {"when": {"e": "end"}, "is": "step_end"},
            {"when": {"e": "problem"}, "is": "error"},
        ],
        "step": {"step_id": "s", "name": "s", "status": "status", "error": "err"},
    });
    let data = lines(&[
        json!({"e": "start", "s": "a"}),
        json!({"e": "retry", "err": {"type": "Timeout"}}), // names no step: one is open
        json!({"e": "start", "s": "a"}),
        json!({"e": "end", "s": "a", "status": "ok"}),
        json!({"e": "start", "s": "b"}),
        json!({"e": "problem", "err": "broke"}),
        json!({"e": "end", "s": "b"}),
    ]);
    let read = Read::new(&mapping, &data);
    assert_eq!(read.counts(), [1, 2, 3]);
    assert_eq!(read.figure("avg_retry_count"), 1.0);
    let errors = read.report()["distributions"]["error_type"].to_string();
    assert!(errors.contains("Timeout"), "{errors}");
}

#[test]
fn records_that_are_the_same_are_one_and_the_last_value_counts() {
    let mapping = json!({
        "same": "id",
        "step": {"name": "n", "status": "status", "error": "err"},
    });
    let data = lines(&[
        json!({"id": 1, "n": "a", "status": "running"}),
        json!({"id": 2, "n": "b", "status": "failed"}),
        json!({"id": 1, "n": null, "status": "ok"}),
    ]);
    let read = Read::new(&mapping, &data);
    assert_eq!(read.counts(), [1, 2, 2]);
    assert_eq!(read.inspect()["inputs"][0]["merged"], json!({"same_record": 1}));
    assert_eq!(read.figure("step_error_rate"), 0.5);
}

#[test]
fn lines_of_containers_are_stripped_and_pieces_joined() {
    let read =
        cli::run(&["inspect", "fixtures/map/pods.log", "--map", "structlog", "--output", "json"]);
    assert_eq!(read.code, 0, "{read:?}");
    let found = read.json();
    assert_eq!((&found["runs"], &found["steps"]), (&json!(1), &json!(1)));
    let input = &found["inputs"][0];
    assert_eq!(input["records"], 8);
    assert_eq!(input["used"], 4);
    assert_eq!(input["merged"], json!({"piece_of_a_line": 3}));
    assert_eq!(input["ignored"], json!({"no_json_line": 1}));
    assert_eq!(input["rejected_parts"], json!({"truncated_record": 1}));
}

#[test]
fn other_prefixes_are_named_and_lines_that_are_no_json_are_counted() {
    let data = "[pod/a] {\"n\":\"a\"}\nplain words\n[pod/b] {\"n\":\"b\"}\n";
    let any = Read::new(&json!({"lines": {"prefix": "any"}, "step": {"name": "n"}}), data);
    assert_eq!(any.counts(), [1, 2, 2]);
    assert_eq!(any.inspect()["inputs"][0]["ignored"], json!({"no_json_line": 1}));
    let pattern =
        json!({"lines": {"prefix": "\\[pod/\\w+\\] ", "other": "refuse"}, "step": {"name": "n"}});
    let pattern = Read::new(&pattern, data);
    assert_eq!(pattern.counts(), [1, 2, 2]);
    assert_eq!(pattern.inspect()["inputs"][0]["rejected"], 1);
    let docker = lines(&[
        json!({"log": "{\"n\":\"a\"}\n", "stream": "stdout"}),
        json!({"log": "words\n", "stream": "stderr"}),
    ]);
    let docker = Read::new(&json!({"lines": {"unwrap": "log"}, "step": {"name": "n"}}), &docker);
    assert_eq!(docker.counts(), [1, 1, 1]);
}

#[test]
fn a_document_wraps_its_records_and_their_fields_stand_around_them() {
    let data = json!({
        "job": "r-1",
        "data": {"events": [{"n": "a"}, {"n": "b"}]},
    })
    .to_string();
    let mapping = json!({
        "records": "data.events[]",
        "run": {"run_id": "$.job"},
        "step": {"name": "n"},
    });
    let read = Read::new(&mapping, &data);
    assert_eq!(read.counts(), [1, 2, 2]);
    let ran = read.run(&["show", "r-1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_record_that_names_no_run_goes_where_it_can_only_belong() {
    let mapping = json!({"run": {"run_id": "r"}, "step": {"name": "n"}});
    let one = Read::new(&mapping, &lines(&[json!({"n": "a"}), json!({"r": "1", "n": "b"})]));
    assert_eq!(one.counts(), [1, 2, 2]);
    let several = lines(&[
        json!({"r": "1", "n": "a"}),
        json!({"n": "inside of the first"}),
        json!({"r": "1", "n": "b"}),
        json!({"r": "2", "n": "a"}),
        json!({"n": "nowhere"}),
    ]);
    let several = Read::new(&mapping, &several);
    assert_eq!(several.counts(), [2, 4, 4]);
    assert_eq!(several.inspect()["inputs"][0]["rejected_parts"], json!({"event_without_run": 1}));
}

#[test]
fn what_a_record_without_a_run_says_of_one_is_shared_out_or_told_as_lost() {
    let mapping = json!({
        "run": {"run_id": "r", "score": "score"},
        "events": [
            {"when": {"e": "begin"}, "is": "run_start"},
            {"when": {"e": "x"}, "is": "step"},
            {"when": {"e": "score"}, "is": "metric"},
            {"when": {"e": "end"}, "is": "run_end", "run": {"status": "how"}},
        ],
        "step": {"name": "n"},
    });
    let read = Read::new(
        &mapping,
        &lines(&[
            json!({"r": "1", "e": "begin"}),
            json!({"e": "score", "score": 0.5}),
            json!({"e": "end", "how": "failed"}),
            json!({"r": "1", "e": "x", "n": "a"}),
            json!({"r": "2", "e": "x", "n": "b"}),
            json!({"e": "score", "score": 1.0}),
        ]),
    );
    assert_eq!(read.counts(), [2, 2, 2]);
    assert_eq!(read.inspect()["inputs"][0]["rejected_parts"], json!({"event_without_run": 1}));
    let ran = read.run(&["convert", "-q", "-o", "native.jsonl"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let native = std::fs::read_to_string(read.folder.path().join("native.jsonl")).unwrap();
    let first: Value = serde_json::from_str(native.lines().next().unwrap()).unwrap();
    assert_eq!((&first["run_id"], &first["status"]), (&json!("1"), &json!("failed")));
    assert_eq!(first["score"], 0.5, "{first}");
}

#[test]
fn a_table_is_read_by_its_columns_and_a_mapping_in_yaml_is_the_same() {
    let data = fixture("map/calls.csv");
    let [by_json, by_yaml] = ["json", "yaml"].map(|ending| {
        let map = fixture(&format!("map/calls.map.{ending}"));
        let report = cli::report(&[&data, "--map", &map]);
        (
            cli::figure(&report, "step_error_rate"),
            cli::figure(&report, "avg_retry_count"),
            report["warnings"].clone(),
        )
    });
    assert_eq!(by_json, by_yaml);
    let found = cli::json(&["inspect", &data, "--map", &fixture("map/calls.map.json")]);
    assert_eq!(
        (&found["runs"], &found["steps"], &found["attempts"]),
        (&json!(2), &json!(3), &json!(4))
    );
    assert_eq!(found["inputs"][0]["records"], 4);
    assert_eq!(by_json.1.0, Some(0.5));
    assert_eq!(by_json.2, json!([]));
    let bad = fixture("map/calls.map.yaml");
    let text = std::fs::read_to_string(&bad).unwrap().replace("  name: tool", "  nam: tool");
    let folder = Folder::new();
    let path = folder.path().join("bad.yaml");
    std::fs::write(&path, text).unwrap();
    run(&["inspect", &data, "--map", path.to_str().unwrap()])
        .refused(2, &["unknown key `nam`", "did you mean `name`?", "/step/nam"]);
}

#[test]
fn expressions_see_the_fields_of_the_records() {
    let config = json!({"evaluation": {"subtask_passed": "subtask.rc == 0"}});
    let mapping = json!({"step": {"name": "n"}});
    let read =
        Read::new(&mapping, &lines(&[json!({"n": "a", "rc": 0}), json!({"n": "b", "rc": 1})]));
    std::fs::write(read.folder.path().join("agenteval.json"), config.to_string()).unwrap();
    assert_eq!(read.figure("step_error_rate"), 0.5);
}

#[test]
fn a_baseline_by_another_mapping_is_not_compared() {
    let folder = Folder::new();
    let copy = |name: &str, as_name: &str| {
        std::fs::copy(fixture(&format!("map/{name}")), folder.path().join(as_name)).unwrap();
    };
    copy("calls.csv", "calls.csv");
    copy("calls.map.json", "map.json");
    copy("calls.map.yaml", "same.yaml");
    let other = std::fs::read_to_string(fixture("map/calls.map.json")).unwrap();
    std::fs::write(folder.path().join("other.json"), other.replace("\"ko\"", "\"KO!\"")).unwrap();
    let run = |args: &[&str]| {
        let mut command = agenteval();
        Ran::of(command.current_dir(folder.path()).args(args))
    };
    let saved = run(&["baseline", "save", "main", "calls.csv", "--map", "map.json"]);
    assert_eq!(saved.code, 0, "{saved:?}");
    // The same mapping in another spelling is the same.
    let same = run(&["gate", "calls.csv", "--map", "same.yaml", "--baseline", "main"]);
    assert!(!same.err.contains("map:"), "{same:?}");
    let unlike = run(&["gate", "calls.csv", "--map", "other.json", "--baseline", "main"]);
    assert_eq!(unlike.code, 2, "{unlike:?}");
    assert!(unlike.err.contains("map"), "{unlike:?}");
}

#[test]
fn ready_mappings_are_listed_and_shown() {
    let list = run(&["map", "list"]);
    assert_eq!(list.code, 0, "{list:?}");
    for line in list.out.lines() {
        let name = line.split_whitespace().next().unwrap();
        let shown = run(&["map", "show", name]);
        assert_eq!(shown.code, 0, "{shown:?}");
        assert_eq!(shown.json()["schema"], "agenteval.map/1", "{name}");
        assert_eq!(schema_faults("map", &shown.json()), Vec::<String>::new(), "{name}");
    }
    assert!(list.out.lines().count() >= 10, "{}", list.out);
    run(&["map", "show", "pinno"]).refused(2, &["no mapping `pinno`", "did you mean `pino`?"]);
}

/// The draft for a file, which must be a mapping that reads it.
#[track_caller]
fn suggest(file: &str) -> (Value, Ran, Value) {
    let ran = run(&["map", "suggest", file]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let folder = Folder::new();
    let path = folder.path().join("draft.json");
    std::fs::write(&path, &ran.out).unwrap();
    let read = run(&["inspect", file, "--map", path.to_str().unwrap(), "--output", "json"]);
    assert_eq!(read.code, 0, "{read:?} by {}", ran.out);
    (ran.json(), ran, read.json())
}

#[test]
fn a_draft_reads_the_file_that_it_was_made_from() {
    let (draft, _, found) = suggest(EVENTS);
    assert_eq!(draft["run"]["run_id"], "job");
    assert_eq!(draft["run"]["task_id"], "case");
    assert_eq!(draft["step"]["name"], "extra.tool_name");
    assert_eq!(draft["first_attempt"], 0);
    assert!(draft["notes"].to_string().contains("heartbeat (1)"), "{draft:#}");
    assert_eq!(
        (&found["runs"], &found["steps"], &found["attempts"]),
        (&json!(2), &json!(2), &json!(3))
    );
    assert!(draft["notes"].as_array().is_some_and(|notes| !notes.is_empty()));
    assert!(found["runs"].as_u64().unwrap() > 0, "{draft:#}");
    let (draft, _, found) = suggest("fixtures/map/calls.csv");
    assert_eq!(draft["run"]["run_id"], "session");
    assert_eq!(draft["step"]["name"], "tool");
    assert_eq!(draft["step"]["attempt"], "attempt");
    assert_eq!((&found["runs"], &found["attempts"]), (&json!(2), &json!(4)));
    run(&["map", "suggest", "fixtures/map/none.json"]).refused(2, &["none.json"]);
    assert!(Path::new(MAP).exists());
}

#[test]
fn a_draft_names_the_ready_mapping_of_known_logs() {
    for (file, name) in [
        ("structured_logs/pino.jsonl", "pino"),
        ("structured_logs/structlog.jsonl", "structlog"),
        ("structured_logs/python_json_logger.jsonl", "python-json-logger"),
        ("structured_logs/rust_tracing_default.jsonl", "rust-tracing"),
        ("structured_logs/rust_tracing_flat.jsonl", "rust-tracing"),
        ("openclaw/sample-telemetry.jsonl", "openclaw"),
        ("anthropic_managed_agents/mcp_tools_reject.jsonl", "anthropic-managed"),
        ("event_log_misc/activegraph_runtime_events.jsonl", "activegraph"),
        ("langchain/langgraph_state_history_meta.json", "langgraph-history"),
        ("mint/gpt-4-0613_gsm8k_max5_first12.jsonl", "mint"),
        ("openai_agents/run_state_v1_13.json", "openai-run-state"),
    ] {
        let Some(path) = support::shared(&format!("data/{file}")) else { return };
        let ran = run(&["map", "suggest", path.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.contains(&format!("--map {name}")), "{file}: {ran:?}");
        assert!(ran.json()["notes"].to_string().contains(&format!("--map {name}")), "{file}");
        let folder = Folder::new();
        let draft = folder.path().join("draft.json");
        std::fs::write(&draft, &ran.out).unwrap();
        let read = run(&["inspect", path.to_str().unwrap(), "--map", draft.to_str().unwrap()]);
        assert!(matches!(read.code, 0 | 4), "{file}: {read:?} by {}", ran.out);
    }
}

/// Sessions of two calls each, told apart by a field of no known name, with the outcome and the
/// tokens on the records that end them.
fn sessions(name: &str) -> String {
    let mut text = String::new();
    for at in 0..6 {
        for line in [
            json!({"kind": "session.open", name: format!("job-{at}"), "scenario": "退款"}),
            json!({"kind": "tool.done", name: format!("job-{at}"), "tool": "search", "outcome": "OK", "try_no": 0}),
            json!({"kind": "tool.done", name: format!("job-{at}"), "tool": "read", "outcome": "ERR", "try_no": 0}),
            json!({"kind": "session.close", name: format!("job-{at}"), "verdict": "won", "tokens_in": 100 + at, "tokens_out": 7}),
        ] {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

#[test]
fn a_draft_finds_the_run_by_what_changes_at_each_start_and_gives_the_run_what_its_end_tells() {
    for name in ["sess", "wobble"] {
        let folder = Folder::new();
        let (draft, ran, found) = suggest(&folder.file("log.ndjson", sessions(name)));
        assert_eq!(draft["run"]["run_id"], name);
        assert_eq!(draft["run"]["status"], "verdict");
        assert_eq!(draft["run"]["tokens"]["input"], "tokens_in");
        assert_eq!(draft["step"]["tokens"], Value::Null);
        assert_eq!(draft["step"]["attempt"], "try_no");
        assert_eq!(found["runs"], 6);
        assert!(ran.err.contains("note: `verdict` has words whose meaning is not known (won)"));
    }
}

#[test]
fn a_draft_names_the_fields_that_it_does_not_read() {
    let folder = Folder::new();
    let text = sessions("sess").replace("\"tool\":", "\"weather\":\"fine\",\"tool\":");
    let (draft, ran, _) = suggest(&folder.file("log.ndjson", text));
    assert!(draft["notes"].as_array().unwrap().contains(&json!("not mapped: weather")));
    assert!(ran.err.contains("note: not mapped: weather"));
}

#[test]
fn a_document_with_steps_and_an_outcome_is_drafted_as_one_run() {
    let folder = Folder::new();
    let one = json!({"trajectory": [{"act": "ls", "obs": "ok"}, {"act": "cat", "obs": "no"}], "success": false, "instance": "t1"});
    let (draft, _, found) = suggest(&folder.file("one.json", one.to_string()));
    assert_eq!(draft["record"], "run");
    assert_eq!(draft["steps"], "trajectory[]");
    assert_eq!(
        (&draft["run"]["success"], &draft["run"]["task_id"]),
        (&json!("success"), &json!("instance"))
    );
    assert_eq!((&draft["step"]["name"], &draft["step"]["output"]), (&json!("act"), &json!("obs")));
    assert_eq!((&found["runs"], &found["steps"]), (&json!(1), &json!(2)));
}

#[test]
fn starts_of_many_runs_in_a_file_whose_records_name_none_are_told() {
    let mapping = json!({
        "events": [
            {"when": {"kind": "session.open"}, "is": "run_start"},
            {"when": {"kind": "tool.done"}, "is": "step_end"},
            {"when": {"kind": "session.close"}, "is": "run_end"},
        ],
        "run": {"task_id": "scenario", "status": "verdict"},
        "step": {"name": "tool", "status": "outcome"},
        "statuses": {"OK": "completed", "ERR": "failed", "won": "completed"},
    });
    let read = Read::new(&mapping, &sessions("sess"));
    let ran = read.run(&["analyze", "--output", "json"]);
    assert!(ran.err.contains("several_starts") && ran.err.contains("run.run_id"), "{}", ran.err);
    let mut named = mapping;
    named["run"]["run_id"] = json!("sess");
    let ran = Read::new(&named, &sessions("sess")).run(&["analyze", "--output", "json"]);
    assert!(!ran.err.contains("several_starts"), "{}", ran.err);
}

#[test]
fn files_that_may_hold_runs_and_gave_none_are_told_and_stop_a_strict_reading() {
    let folder = Folder::new();
    folder.file("a.ndjson", r#"{"run_id":"a","status":"completed","steps":[]}"#);
    folder.file("weird.jsonl", sessions("sess"));
    folder.file("one.json", r#"{"colour":"red","sizes":[1,2]}"#);
    folder.file("README.md", "# Notes\n");
    let path = folder.path().to_str().unwrap().to_owned();
    let ran = run(&["analyze", &path]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.err.matches("file_left_out").count(), 2, "{}", ran.err);
    assert!(ran.err.contains("weird.jsonl") && ran.err.contains("one.json"), "{}", ran.err);
    assert!(!ran.err.contains("README.md"), "{}", ran.err);
    run(&["analyze", &path, "--strict"]).refused(2, &["weird.jsonl", "map suggest"]);
}

#[test]
fn a_mapping_by_which_no_step_can_fail_is_told() {
    const CODE: &str = "mapping_tells_no_failure";
    let data = lines(&[
        json!({"r": "1", "tool": "a", "rc": "TIMEOUT", "ev": "call"}),
        json!({"r": "1", "tool": "b", "rc": "ok", "ev": "call"}),
    ]);
    let warns = |mapping: &Value| {
        let report = Read::new(mapping, &data).report();
        report["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == CODE)
    };
    let run = json!({"run_id": "r"});
    let silent = json!({"run": run, "step": {"name": "tool"}});
    let report = Read::new(&silent, &data).report();
    let message = cli::warning(&report, CODE)["message"].as_str().unwrap().to_owned();
    for part in ["every step that ended passed", "`step.status`", "`step.error`"] {
        assert!(message.contains(part), "{message}");
    }
    let ran = Read::new(&silent, &data).run(&["analyze"]);
    assert!(ran.code == 0 && ran.err.contains(CODE), "{ran:?}");
    // A constant of all records is no error; one of a rule is, and so is a rule for errors.
    let constant = json!({"const": "E"});
    assert!(warns(&json!({"run": run, "step": {"name": "tool", "error_type": constant}})));
    let rule = json!({"when": {"ev": "call"}, "is": "step", "step": {"error_type": constant}});
    assert!(!warns(&json!({"run": run, "step": {"name": "tool"}, "events": [rule]})));
    let rules =
        json!([{"when": {"rc": "ok"}, "is": "step"}, {"when": {"ev": "call"}, "is": "error"}]);
    assert!(!warns(&json!({"run": run, "step": {"name": "tool"}, "events": rules})));
    for field in ["status", "success", "error", "error_type", "error_message"] {
        assert!(!warns(&json!({"run": run, "step": {"name": "tool", field: "rc"}})), "{field}");
    }
    // Where the config says what passed, the mapping need not; and a conversion judges nothing.
    let read = Read::new(&silent, &data);
    let config = r#"{"evaluation": {"subtask_passed": "subtask.rc == 'ok'"}}"#;
    std::fs::write(read.folder.path().join("c.json"), config).unwrap();
    let judged = read.run(&["analyze", "-c", "c.json"]);
    assert!(judged.code == 0 && !judged.err.contains(CODE), "{judged:?}");
    let converted = read.run(&["convert", "--to", "ndjson"]);
    assert!(converted.code == 0 && !converted.err.contains(CODE), "{converted:?}");
}

#[test]
fn a_first_record_that_is_too_long_to_draft_from_is_told_as_such() {
    let folder = Folder::new();
    let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(9 << 20));
    run(&["map", "suggest", &folder.file("long.json", long)])
        .refused(2, &["long.json", "longer than the 8 MiB"]);
    run(&["map", "suggest", &folder.file("text.json", "no json")]).refused(2, &["neither JSON"]);
}
