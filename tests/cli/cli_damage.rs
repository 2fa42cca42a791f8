//! Damaged input through the program: sound runs are counted right, the rest is named and counted.

use crate::cli;
use crate::cli::{Folder, Ran, figures_are, fixture, report, run, run_with_input, warning};
use serde_json::{Value, json};

/// A sound run of one line: completed, one step, one attempt that passed.
fn sound(id: &str) -> String {
    format!(r#"{{"run_id":"{id}","status":"completed","steps":[{{"type":"tool","name":"a"}}]}}"#)
}

/// What `analyze` and `inspect` say of a text.
struct Told {
    report: Value,
    inspect: Value,
}

/// Reads `content` as a file called `name`.
#[track_caller]
fn told(name: &str, content: impl AsRef<[u8]>) -> Told {
    let folder = Folder::new();
    let path = folder.file(name, content);
    let report = report(&[&path]);
    let inspect = cli::json(&["inspect", &path]);
    Told { report, inspect }
}

impl Told {
    /// Runs, and rejected records.
    #[track_caller]
    fn counts(&self, runs: u64, rejected: u64) -> &Self {
        let input = &self.report["inputs"][0];
        assert_eq!(
            (&self.report["runs"]["total"], &input["runs"], &input["rejected"]),
            (&json!(runs), &json!(runs), &json!(rejected)),
            "runs and rejected, {:#}",
            self.inspect["issues"]
        );
        let file = &self.inspect["inputs"][0];
        assert_eq!(file["rejected"], rejected);
        assert_eq!(file["records"], runs + rejected, "every record ends in one place");
        self
    }

    /// Each rejected record as `place code`, the folder's name left out; a place is LINE or BYTE with its mark.
    fn rejected(&self) -> Vec<String> {
        let issues = self.inspect["issues"].as_array().unwrap().iter();
        issues
            .filter(|issue| issue["severity"] == "rejected")
            .map(|issue| {
                assert!(!issue["message"].as_str().unwrap().is_empty(), "a reason: {issue}");
                let place = issue["where"].as_str().unwrap();
                let file = place.rfind('/').map_or(0, |at| at + 1);
                format!("{} {}", &place[file..], issue["code"].as_str().unwrap())
            })
            .collect()
    }

    #[track_caller]
    fn rejected_at(&self, places: &[&str]) -> &Self {
        assert_eq!(self.rejected(), places);
        self
    }
}

/// Fails unless `--strict` ends with exit 2 and names the place.
#[track_caller]
fn strict_stops_at(name: &str, content: impl AsRef<[u8]>, place: &str) {
    let folder = Folder::new();
    let path = folder.file(name, content);
    run(&["analyze", &path, "--strict"]).refused(2, &[&format!("{path}{place}"), "--strict"]);
}

#[test]
fn a_truncated_last_line_is_named_and_the_rest_counts() {
    let text =
        format!("{}\n{}\n{{\"run_id\":\"c\",\"steps\":[{{\"type\":\"to", sound("a"), sound("b"));
    told("runs.ndjson", &text).counts(2, 1).rejected_at(&["runs.ndjson:3 truncated_record"]);
    strict_stops_at("runs.ndjson", &text, ":3");
}

#[test]
fn a_broken_middle_line_is_named_and_the_rest_counts() {
    let text = format!("{}\n{{\"run_id\":\"b\",\"steps\":[}}\n{}\n", sound("a"), sound("c"));
    let told = told("runs.ndjson", &text);
    told.counts(2, 1).rejected_at(&["runs.ndjson:2 invalid_json"]);
    figures_are(&told.report, &[("final_completion_rate", 1.0, 2.0, 2.0)]);
    strict_stops_at("runs.ndjson", &text, ":2");
}

#[test]
fn a_broken_first_line_is_named_and_the_rest_counts() {
    let text = format!("{{\"run_id\":\"a\",\"steps\":[{{\"ty\n{}\n{}\n", sound("b"), sound("c"));
    told("runs.ndjson", &text).counts(2, 1).rejected_at(&["runs.ndjson:1 truncated_record"]);
}

#[test]
fn a_rejected_record_is_told_on_standard_error_with_its_place() {
    let folder = Folder::new();
    let path = folder.file("runs.ndjson", format!("{}\n{{\"steps\":[\n", sound("a")));
    let ran = run(&["analyze", &path]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains(&format!("{path}:2")), "{}", ran.err);
    assert!(ran.out.contains("1 record rejected"), "{}", ran.out);
}

#[test]
fn a_byte_order_mark_crlf_and_blank_lines_are_no_damage() {
    let text = format!("\u{FEFF}\r\n{}\r\n\r\n   \r\n{}\r\n\n", sound("a"), sound("b"));
    told("runs.ndjson", &text).counts(2, 0);
    let array = format!("\u{FEFF} [{},\r\n{}]\r\n", sound("a"), sound("b"));
    told("runs.json", &array).counts(2, 0);
    let broken = format!("\u{FEFF}{}\r\n\r\n{{\"steps\":[\r\n{}\r\n", sound("a"), sound("b"));
    told("runs.ndjson", &broken).counts(2, 1).rejected_at(&["runs.ndjson:3 truncated_record"]);
}

#[test]
fn pretty_printed_objects_in_a_row_are_runs() {
    let pretty = |id: &str| {
        let run: Value = serde_json::from_str(&sound(id)).unwrap();
        serde_json::to_string_pretty(&run).unwrap()
    };
    let text = format!("{}\n{}\n\n{}\n", pretty("a"), pretty("b"), pretty("c"));
    told("runs.json", &text).counts(3, 0);
    // The second one lacks a comma.
    let broken = pretty("b").replacen(",\n", "\n", 1);
    let text = format!("{}\n{broken}\n{}\n", pretty("a"), pretty("c"));
    let byte = pretty("a").len() + 1;
    let told = told("runs.json", &text);
    told.counts(2, 1).rejected_at(&[&format!("runs.json@{byte} invalid_json")]);
}

#[test]
fn the_last_of_duplicate_keys_counts() {
    let text = r#"{"run_id":"a","status":"failed","steps":[{"type":"x","error":"e","error":null}],"status":"completed"}"#;
    let told = told("runs.ndjson", text);
    told.counts(1, 0);
    figures_are(
        &told.report,
        &[("final_completion_rate", 1.0, 1.0, 1.0), ("step_error_rate", 0.0, 0.0, 1.0)],
    );
    assert_eq!(told.inspect["inputs"][0]["repaired"], 1);
}

#[test]
fn an_error_counts_in_every_spelling_and_only_where_there_is_one() {
    for (error, failed, kind) in [
        (r#","error":"connection lost""#, true, "unspecified"),
        (r#","error":"ValueError: bad row""#, true, "ValueError"),
        (r#","error":{}"#, true, "unspecified"),
        (r#","error":{"message":"HTTP 429 slow down"}"#, true, "HTTP 429"),
        (r#","error":{"type":"schema"}"#, true, "schema"),
        (r#","error":null"#, false, ""),
        ("", false, ""),
    ] {
        let told = told("r.ndjson", format!(r#"{{"steps":[{{"type":"t"{error}}}]}}"#));
        told.counts(1, 0);
        let n = f64::from(u8::from(failed));
        figures_are(&told.report, &[("step_error_rate", n, n, 1.0)]);
        let wanted = if failed { json!({ kind: 1 }) } else { json!({}) };
        assert_eq!(told.report["distributions"]["error_type"], wanted, "{error}");
    }
}

#[test]
fn attempt_numbers_in_every_spelling_make_the_same_retries() {
    for second in ["2", "2.0", "\"2\"", "2e0"] {
        let step = |attempt: &str, error: &str| {
            format!(r#"{{"step_id":"s","attempt":{attempt},"type":"t","error":{error}}}"#)
        };
        let run = format!(r#"{{"steps":[{},{}]}}"#, step("1", "\"e\""), step(second, "null"));
        let told = told("r.ndjson", &run);
        told.counts(1, 0);
        figures_are(
            &told.report,
            &[("avg_retry_count", 1.0, 1.0, 1.0), ("avg_steps", 1.0, 1.0, 1.0)],
        );
    }
    let bad = format!("{}\n{}\n", sound("a"), r#"{"steps":[{"type":"t","attempt":1.5}]}"#);
    told("r.ndjson", &bad).counts(1, 1).rejected_at(&["r.ndjson:2 unreadable_number"]);
}

#[test]
fn lone_surrogates_do_not_lose_a_run() {
    let text = format!(
        "{}\n{}\n",
        r#"{"run_id":"\ud800x","steps":[{"type":"t\udc00","output":"\ud83d","input":{"q":"\ud83d"}}]}"#,
        sound("b")
    );
    let told = told("r.ndjson", &text);
    told.counts(2, 0);
    assert_eq!(told.report["distributions"]["step_type"]["t\u{FFFD}"], 1);
}

#[test]
fn a_field_twenty_thousand_deep_neither_crashes_nor_loses_the_run() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    for field in ["output", "input", "reasoning", "error"] {
        for value in [&deep, &objects] {
            let run = format!(r#"{{"steps":[{{"type":"t","{field}":{value}}}]}}"#);
            let told = told("r.ndjson", format!("{run}\n{}\n", sound("b")));
            told.counts(2, 0);
            let failed = f64::from(u8::from(field == "error"));
            figures_are(&told.report, &[("step_error_rate", failed / 2.0, failed, 2.0)]);
        }
    }
}

#[test]
fn a_final_twenty_thousand_deep_is_not_followed_by_an_expression() {
    let folder = Folder::new();
    let deep = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    let runs = format!(
        "{{\"final\":{{\"report\":{deep},\"accuracy\":1}},\"steps\":[]}}\n{}\n",
        r#"{"final":{"report":"x","accuracy":1},"steps":[]}"#
    );
    let path = folder.file("r.ndjson", runs);
    let config =
        r#"{"evaluation":{"final_passed":"final.report != null && final.accuracy >= 0.9"}}"#;
    let config = folder.file("config.json", config);
    let report = report(&[&path, "-c", &config]);
    assert_eq!(report["runs"]["total"], 2);
    assert_eq!(report["inputs"][0]["rejected"], 0);
}

#[test]
fn bytes_that_are_no_utf8_do_not_lose_a_run() {
    for (what, step) in [
        ("an unread text", &b"{\"type\":\"tool\",\"output\":\"caf\xE9\"}"[..]),
        ("an input", b"{\"type\":\"tool\",\"input\":{\"q\":\"caf\xE9\"}}"),
        ("a type", b"{\"type\":\"tool\xFF\"}"),
        ("a name", b"{\"type\":\"tool\",\"name\":\"\xC3\x28\"}"),
        ("a message", b"{\"type\":\"tool\",\"error\":{\"message\":\"\xE9chec\"}}"),
    ] {
        let run = [b"{\"steps\":[", step, b"]}\n", sound("b").as_bytes(), b"\n"].concat();
        let told = told("r.ndjson", run);
        let types = told.report["distributions"]["step_type"].as_object().unwrap();
        let wanted = if what == "a type" { "tool\u{FFFD}" } else { "tool" };
        assert!(types.contains_key(wanted), "{what}: {types:?}");
        told.counts(2, 0);
    }
}

#[test]
fn raw_control_characters_in_a_text_do_not_lose_a_run() {
    // In an array, because a raw line break ends a line.
    let text =
        format!("[{{\"run_id\":\"a\tb\nc\",\"steps\":[{{\"type\":\"t\"}}]}},\n{}]", sound("b"));
    let told = told("r.json", &text);
    told.counts(2, 0);
    let table = {
        let folder = Folder::new();
        run(&["show", "a\tb\nc", &folder.file("r.json", &text)])
    };
    assert_eq!(table.code, 0, "{table:?}");
    assert!(table.out.contains("run a\\tb\\nc"), "{}", table.out);
}

#[test]
fn numbers_beyond_every_range_do_not_lose_a_run() {
    for number in ["9223372036854775808", "18446744073709551616", "-9223372036854775809", "1e30"] {
        let run = format!(
            r#"{{"run_id":{number},"steps":[{{"type":"t","index":{number},"tokens":{{"prompt":{number}}},"duration_ms":{number},"cost_usd":{number}}}]}}"#
        );
        let told = told("r.ndjson", format!("{run}\n{}\n", sound("b")));
        told.counts(2, 0);
    }
    let run = r#"{"steps":[{"type":"t","tokens":{"prompt":1e30}}]}"#;
    let told = told("r.ndjson", run);
    let text = cli::run_with_input(&["analyze", "-", "--output", "json"], run.as_bytes()).out;
    assert_eq!(told.report["metrics"]["total_tokens"]["value"].as_f64(), Some(1e30));
    let value = text.lines().find(|line| line.contains("1000000000000000")).expect("in digits");
    assert!(!value.contains("e30") && !value.contains("e+30"), "never with an exponent: {value}");
}

#[test]
fn a_broken_element_of_an_array_of_lines_is_named_by_its_byte() {
    let head = format!("[{},\n", sound("a"));
    let text =
        format!("{head}{{\"run_id\":\"b\",\"steps\":[{{\"type\" \"t\"}}]}},\n{}]\n", sound("c"));
    let place = format!("r.json@{} invalid_json", head.len());
    told("r.json", &text).counts(2, 1).rejected_at(&[&place]);
    strict_stops_at("r.json", &text, &format!("@{}", head.len()));
}

#[test]
fn an_element_whose_bracket_is_missing_does_not_take_the_next_ones_with_it() {
    let head = format!("[\n{},\n", sound("a"));
    let text = format!(
        "{head}{{\"run_id\":\"b\",\"steps\":[{{\"type\":\"t\"}},\n{},\n{}\n]\n",
        sound("c"),
        sound("d")
    );
    let told = told("r.json", &text);
    told.counts(3, 1);
    assert!(
        told.rejected()[0].starts_with(&format!("r.json@{} ", head.len())),
        "{:?}",
        told.rejected()
    );
}

#[test]
fn a_truncated_array_gives_the_runs_before_the_cut() {
    let head = format!("[{},\n{},\n", sound("a"), sound("b"));
    let text = format!("{head}{{\"run_id\":\"c\",\"steps\":[{{\"ty");
    let place = format!("r.json@{} truncated_record", head.len());
    told("r.json", &text).counts(2, 1).rejected_at(&[&place]);
    strict_stops_at("r.json", &text, &format!("@{}", head.len()));
}

#[test]
fn an_array_cut_between_two_runs_is_told() {
    let runs = format!("{},\n{},\n", sound("a"), sound("b"));
    for text in [format!("[{runs}"), format!("{{\"traces\":[{runs}")] {
        let told = told("r.json", &text);
        told.counts(2, 0);
        let warned = warning(&told.report, "truncated_array");
        assert!(warned["where"].as_str().unwrap().contains("r.json@"), "{warned}");
        let whole = format!("{}]", text.trim_end().trim_end_matches(','));
        let whole = if whole.starts_with('{') { whole + "}" } else { whole };
        let report = self::told("r.json", &whole).report;
        assert_eq!(report["warnings"], json!([]), "nothing is missing in {whole}");
    }
}

#[test]
fn a_truncated_pretty_printed_array_gives_the_runs_before_the_cut() {
    let path = fixture("damaged/pretty-array-cut.json");
    let text = std::fs::read(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let told = told("cut.json", text);
    told.counts(2, 1);
    figures_are(
        &told.report,
        &[("final_completion_rate", 0.5, 1.0, 2.0), ("step_error_rate", 0.5, 1.0, 2.0)],
    );
    told.rejected_at(&["cut.json@289 truncated_record"]);
}

#[test]
fn a_pretty_printed_array_with_a_broken_element_keeps_the_others() {
    let path = fixture("damaged/pretty-array-broken-middle.json");
    let text = std::fs::read(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let told = told("broken.json", text);
    told.counts(2, 1);
    figures_are(&told.report, &[("final_completion_rate", 0.5, 1.0, 2.0)]);
    told.rejected_at(&["broken.json@119 invalid_json"]);
}

#[test]
fn a_truncated_wrapped_object_gives_the_runs_before_the_cut() {
    let head = format!("{{\"note\":\"export\",\"traces\":[{},\n{},\n", sound("a"), sound("b"));
    let text = format!("{head}{{\"run_id\":\"c\",\"steps\":[");
    let place = format!("r.json@{} truncated_record", head.len());
    told("r.json", &text).counts(2, 1).rejected_at(&[&place]);
    strict_stops_at("r.json", &text, &format!("@{}", head.len()));
    let path = fixture("damaged/wrapped-cut.json");
    let report = report(&[&path]);
    assert_eq!(report["runs"]["total"], 1);
    assert_eq!(report["inputs"][0]["rejected"], 1);
}

#[test]
fn a_missing_quote_in_a_wrapped_array_does_not_take_the_next_runs_with_it() {
    let runs: Vec<Value> =
        ["a", "b", "c"].iter().map(|id| serde_json::from_str(&sound(id)).unwrap()).collect();
    let by_lines =
        format!("{{\"traces\":[\n{},\n{},\n{}\n]}}\n", sound("a"), sound("b"), sound("c"));
    for text in [
        by_lines,
        serde_json::to_string_pretty(&json!({ "traces": runs })).unwrap(),
        serde_json::to_string_pretty(&runs).unwrap(),
    ] {
        let broken = text.replace("\"b\",", "\"b,");
        assert_ne!(broken, text);
        let told = told("r.json", &broken);
        told.counts(2, 1);
        figures_are(&told.report, &[("final_completion_rate", 1.0, 2.0, 2.0)]);
    }
}

#[test]
fn files_joined_by_hand_are_read_whole() {
    let lines = format!("\u{FEFF}{}\r\n\u{FEFF}{}\r\n", sound("a"), sound("b"));
    told("r.ndjson", &lines).counts(2, 0);
    let arrays = format!("[{}]\n[{},{}]\n", sound("a"), sound("b"), sound("c"));
    told("r.json", &arrays).counts(3, 0);
}

#[test]
fn runs_under_both_wrapping_keys_all_count() {
    let both =
        format!(r#"{{"traces":[{}],"n":1,"runs":[{},{}]}}"#, sound("a"), sound("b"), sound("c"));
    told("r.json", &both).counts(3, 0);
    told("r.json", format!(r#"{{"traces":[],"runs":[{}]}}"#, sound("a"))).counts(1, 0);
}

#[test]
fn a_run_whose_step_cannot_be_read_is_rejected_whole() {
    for (run, code) in [
        (r#"{"steps":[{"type":"t"},{"name":"no type"}]}"#, "step_without_type"),
        (r#"{"steps":[{"type":"t"},7]}"#, "unreadable_step"),
        (r#"{"steps":[{"type":"t","attempt":"second"}]}"#, "unreadable_number"),
        (r#"{"run_id":"no steps"}"#, "run_without_steps"),
        (r#"{"steps":null}"#, "run_without_steps"),
        ("7", "not_a_run"),
        ("\"a text\"", "not_a_run"),
    ] {
        let told = told("r.ndjson", format!("{}\n{run}\n{}\n", sound("a"), sound("c")));
        told.counts(2, 1).rejected_at(&[&format!("r.ndjson:2 {code}")]);
        figures_are(&told.report, &[("avg_steps", 1.0, 2.0, 2.0)]);
    }
}

#[test]
fn many_rejected_records_are_all_counted() {
    let mut text = sound("a") + "\n";
    text.push_str(&"{\"steps\":[\n".repeat(1_000));
    let told = told("r.ndjson", &text);
    told.counts(1, 1_000);
    let warned = warning(&told.report, "truncated_record");
    assert_eq!(warned["count"], 1_000);
}

#[test]
fn many_rejected_records_on_one_line_take_no_time_that_grows_with_their_place() {
    let elements = "{\"steps\":7},".repeat(300_000);
    for text in
        [format!("[{elements}{}]", sound("a")), format!("{{\"runs\":[{elements}{}]}}", sound("a"))]
    {
        let folder = Folder::new();
        let path = folder.file("r.json", text);
        let began = std::time::Instant::now();
        let report = report(&[&path]);
        // Unoptimised, both take about a second; quadratic, they take an hour.
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
        assert_eq!(report["inputs"][0]["rejected"], 300_000);
        assert_eq!(report["runs"]["total"], 1);
    }
}

#[test]
fn damage_gives_the_same_answer_from_standard_input() {
    let text = format!("{}\n{{\"steps\":[}}\n{}\n", sound("a"), sound("c"));
    let ran: Ran = run_with_input(&["analyze", "-", "--output", "json"], text.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    assert_eq!(
        (&report["runs"]["total"], &report["inputs"][0]["rejected"]),
        (&json!(2), &json!(1))
    );
    assert!(ran.err.contains("-:2"), "{}", ran.err);
}

#[test]
fn damage_around_a_wrapped_array_is_told_and_costs_no_sound_run() {
    let (a, b, c, d) = (sound("a"), sound("b"), sound("c"), sound("d"));
    for (text, runs, rejected, damage) in [
        (format!(r#"{{"traces":[{a}]]]] oops"#), 1, 1, "]]] oops"),
        (format!(r#"{{"traces":[{a}]}} oops"#), 1, 1, "oops"),
        (format!(r#"{{"traces":[{a}], oops {b}, {c} }}"#), 1, 1, "oops"),
        (format!(r#"{{"traces":[{a}], "x": oops, "runs":[{b}]"#), 2, 1, "oops"),
        (format!(r#"{{"traces":[{a},{b}}},{c},{d}]}}"#), 4, 1, "},{\"run_id\":\"c\""),
        (format!("{{\n\"traces\":[\n{a}\n],\n oops\n{b},\n{c}\n}}\n"), 1, 1, "oops"),
        (format!("{{\n\"traces\":[\n{a}\n],\n\"x\": oops,\n\"runs\":[\n{b}\n]\n"), 2, 1, "oops"),
        // Here the brackets of the whole file do not match, so each stray one is a record of its own.
        (format!("{{\n\"traces\":[\n{a}\n]]]]\n oops\n"), 1, 3, "]]]\n"),
        (
            format!("{{\n\"traces\":[\n{a},\n{b}}},\n{c},\n{d}\n]}}\n"),
            4,
            2,
            "},\n{\"run_id\":\"c\"",
        ),
    ] {
        let told = told("r.json", &text);
        told.counts(runs, rejected);
        let byte = text.find(damage).unwrap();
        assert!(
            told.rejected()[0].starts_with(&format!("r.json@{byte} ")),
            "{byte}: {:?}",
            told.rejected()
        );
        strict_stops_at("r.json", &text, &format!("@{byte}"));
    }
}

#[test]
fn a_wrapping_object_that_can_be_repaired_is_no_damage() {
    let text = format!(r#"{{"loss":NaN,"traces":[{}],"loss":1}}"#, sound("a"));
    told("r.json", text).counts(1, 0);
}

#[test]
fn strict_stops_where_an_array_has_no_end() {
    let runs = format!("{},\n{},\n", sound("a"), sound("b"));
    for text in
        [format!("[{runs}"), format!("{{\"traces\":[{runs}"), format!("{{\"traces\":[{runs}]")]
    {
        strict_stops_at("r.json", &text, "@");
    }
}

#[test]
fn a_rejected_part_of_a_record_is_counted_and_located() {
    let log = json!({"version": 2, "status": "success", "eval": {"task": "t"},
        "samples": [{"id": 1, "epoch": 1}, {"epoch": 1}, {"epoch": 2}]});
    let span = |trace: &str, id: &str| {
        json!({"traceId": trace, "spanId": id, "name": "execute_tool x",
            "startTimeUnixNano": "1", "endTimeUnixNano": "2",
            "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}]})
    };
    let trace = "b".repeat(32);
    let spans =
        [span(&trace, &"a".repeat(16)), span("", &"c".repeat(16)), span("", &"d".repeat(16))];
    let otlp = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
    for (name, content, code) in
        [("log.json", log, "sample_without_id"), ("spans.json", otlp, "spans_rejected")]
    {
        let text = content.to_string();
        let told = told(name, &text);
        assert_eq!(told.report["runs"]["total"], 1);
        assert_eq!(told.report["inputs"][0]["rejected"], 2, "{name}");
        assert_eq!(warning(&told.report, code)["count"], 2);
        let file = &told.inspect["inputs"][0];
        assert_eq!(
            (&file["records"], &file["used"], &file["rejected"]),
            (&json!(1), &json!(1), &json!(0))
        );
        assert_eq!(file["rejected_parts"], json!({ code: 2 }));
        assert!(told.rejected()[0].ends_with(code), "{:?}", told.rejected());
        strict_stops_at(name, &text, "");
    }
}

#[test]
fn a_number_of_attempts_that_is_no_number_rejects_its_record() {
    let node = r#"{"node_id":"n","status":"completed","attempts":"three"}"#;
    let other = r#"{"node_id":"m","status":"completed","attempts":"2"}"#;
    told("n.ndjson", format!("{other}\n{node}\n")).rejected_at(&["n.ndjson:2 unreadable_number"]);
    let line = |event: &str, attempt: &str| {
        format!(r#"{{"run_id":"r","node_id":"n","event":"{event}","attempt":{attempt}}}"#)
    };
    let log = format!("{}\n{}\n", line("start", "1"), line("completed", "\"three\""));
    told("s.ndjson", log).rejected_at(&["s.ndjson:2 unreadable_number"]);
}

#[test]
fn a_checkpoint_may_have_both_names_of_its_end() {
    let node = r#"{"node_id":"n","status":"completed","attempts":0,"started_at":"2026-01-01T00:00:00Z","completed_at":"2026-01-01T00:00:09Z","ended_at":"2026-01-01T00:00:05Z"}"#;
    for (node, seconds) in [(node.to_owned(), 5.0), (node.replace("ended_at", "note"), 9.0)] {
        let report = told("n.json", node).report;
        figures_are(&report, &[("duration_seconds", seconds, seconds, 1.0)]);
        assert_eq!(report["inputs"][0]["rejected"], 0);
    }
}

#[test]
fn a_format_that_shows_late_in_a_file_is_found() {
    let long = "x".repeat(300_000);
    let run = sound("a").replacen('{', &format!("{{\"note\":\"{long}\","), 1);
    told("r.json", &run).counts(1, 0);
    told("r.json", format!("{}{}", " \n".repeat(200_000), sound("a"))).counts(1, 0);
}

#[test]
fn what_stands_in_a_damaged_element_does_not_come_back_as_a_run() {
    // The element in the middle lost its first bracket, so the object in it stands free.
    let damaged = format!(r#""run_id":"m","steps":[],"final":{{"runs":[{}]}}}}"#, sound("fake"));
    let told = told("r.json", format!("[{},\n{damaged},\n{}]", sound("a"), sound("c")));
    assert_eq!(told.report["runs"]["total"], 2, "{}", told.report);
    assert!(!told.rejected().is_empty());
}

#[test]
fn a_misspelt_field_is_told_because_it_makes_figures_falsely_good() {
    let told =
        told("r.ndjson", "{\"steps\":[{\"type\":\"tool\",\"err\":\"boom\"}]}\n".repeat(3).as_str());
    let warned = warning(&told.report, "misspelt_key");
    assert!(warned["message"].as_str().unwrap().contains("did you mean `error`?"), "{warned}");
}
