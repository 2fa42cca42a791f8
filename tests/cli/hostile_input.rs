//! What other readers stop at, drop or read wrongly without a word: sound runs and one odd or damaged
//! one, as lines and as an array. Either the figures are those that a person would count, or the
//! record is named with file, line, byte and reason, counted, and `--strict` stops there.
//!
//! The person who counts is [`counted`], which knows nothing of the program.

use std::collections::BTreeMap;

use crate::cli;
use crate::cli::{Folder, run};
use serde_json::{Map, Value, json};

/// What counts as completed in all of these.
const CONFIG: &str =
    r#"{"evaluation":{"final_passed":"final.report != null && final.accuracy >= 0.9"}}"#;

fn step(index: usize, error: Option<&str>) -> Value {
    json!({
        "index": index, "type": if index % 2 == 1 { "tool_call" } else { "plan" }, "name": "bash",
        "status": if error.is_some() { "error" } else { "ok" }, "attempt": 1,
        "input": {"cmd": "ls"}, "output": "ok", "reasoning": null,
        "error": error.map(|kind| json!({"type": kind, "message": "m"})),
        "tokens": {"prompt": 3, "completion": 4},
    })
}

/// A step with another value in one field.
fn with(mut step: Value, field: &str, value: Value) -> Value {
    step[field] = value;
    step
}

/// A run of three steps, of which the second failed, with more steps before the last.
fn of_steps(id: usize, more: Vec<Value>) -> Value {
    let mut steps = vec![step(0, None), step(1, Some("ToolTimeout"))];
    steps.extend(more);
    steps.push(step(9, None));
    json!({"run_id": format!("r{id}"), "status": "completed",
        "final": {"report": "r", "accuracy": 0.95}, "steps": steps})
}

fn sound() -> Vec<Value> {
    (0..4).map(|id| of_steps(id, Vec::new())).collect()
}

fn odd(more: Vec<Value>) -> Value {
    of_steps(9, more)
}

/// What a person counts in these runs.
fn counted(runs: &[Value]) -> Value {
    let mut kinds = BTreeMap::<String, u64>::new();
    let mut errors = BTreeMap::<String, u64>::new();
    let (mut completed, mut attempts, mut first, mut mid) = (0, 0, [0, 0], [0, 0]);
    for run in runs {
        let last = run["final"]["accuracy"].as_f64();
        let passed = !run["final"]["report"].is_null() && last.is_some_and(|share| share >= 0.9);
        completed += u64::from(passed);
        let steps = run["steps"].as_array().unwrap();
        for (nth, step) in steps.iter().enumerate() {
            let error = step.get("error").filter(|error| !error.is_null());
            attempts += 1;
            *kinds.entry(step["type"].as_str().unwrap().to_owned()).or_default() += 1;
            if let Some(error) = error {
                let kind = error["type"].as_str().unwrap_or("unspecified");
                *errors.entry(kind.to_owned()).or_default() += 1;
            }
            let place = if nth == 0 { Some(&mut first) } else { None };
            // The last step of a run that was not completed is in its middle too.
            let between = nth > 0 && (nth + 1 < steps.len() || !passed);
            for [of, all] in place.into_iter().chain(between.then_some(&mut mid)) {
                // A share of passes at the start, and of failures in the middle.
                *of += u64::from(error.is_some() == between);
                *all += 1;
            }
        }
    }
    json!({"runs": runs.len(), "completed": completed, "attempts": attempts, "step_type": kinds,
        "error_type": errors, "first": first, "mid": mid})
}

/// The same from a report.
fn told(report: &Value) -> Value {
    let share = |name: &str| {
        let figure = &report["metrics"][name];
        json!([
            figure["numerator"].as_f64().unwrap() as u64,
            figure["denominator"].as_f64().unwrap() as u64
        ])
    };
    json!({"runs": report["runs"]["total"], "completed": report["runs"]["completed"],
        "attempts": report["inputs"][0]["attempts"],
        "step_type": report["distributions"]["step_type"],
        "error_type": report["distributions"]["error_type"],
        "first": share("first_step_accuracy"), "mid": share("mid_term_error_rate")})
}

/// Fails unless the text gives what a person counts in `wanted`, and nothing is rejected: then
/// `--strict` goes on too.
#[track_caller]
fn reads(name: &str, text: &[u8], wanted: &[Value]) -> Value {
    let folder = Folder::new();
    let (path, config) = (folder.file(name, text), folder.file("c.json", CONFIG));
    let report = cli::report(&[&path, "-c", &config]);
    assert_eq!(told(&report), counted(wanted), "{name}");
    assert_eq!(report["inputs"][0]["rejected"], 0, "{name}");
    let strict = run(&["analyze", &path, "-c", &config, "--strict", "-q"]);
    assert_eq!(strict.code, 0, "{strict:?}");
    report
}

/// Four sound runs and this record, as lines and as an array.
#[track_caller]
fn beside(record: &[u8], wanted: Value) -> Value {
    let (lines, array) = forms(record);
    let wanted: Vec<Value> = sound().into_iter().chain([wanted]).collect();
    reads("runs.json", &array, &wanted);
    reads("runs.ndjson", &lines, &wanted)
}

fn forms(record: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut all: Vec<Vec<u8>> = sound().iter().map(|run| run.to_string().into_bytes()).collect();
    all.push(record.to_vec());
    let lines = all.iter().flat_map(|run| [run, &b"\n"[..]].concat()).collect();
    (lines, [b"[", &all.join(&b",\n"[..])[..], b"]\n"].concat())
}

/// One text put in the place of another.
#[track_caller]
fn swapped(run: &Value, old: &[u8], new: &[u8]) -> Vec<u8> {
    let text = run.to_string().into_bytes();
    let at = memchr::memmem::find(&text, old).unwrap_or_else(|| panic!("nothing to replace"));
    [&text[..at], new, &text[at + old.len()..]].concat()
}

fn warned(report: &Value, code: &str) -> bool {
    report["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == code)
}

/// Fails unless the file gives the sound runs, and its last record is rejected by this code with file,
/// place, byte and reason on standard error; and unless `--strict` stops there.
#[track_caller]
fn rejects(name: &str, text: &[u8], place: &str, code: &str, reason: &str) {
    let folder = Folder::new();
    let (path, config) = (folder.file(name, text), folder.file("c.json", CONFIG));
    let ran = run(&["analyze", &path, "-c", &config, "--output", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    assert_eq!(told(&report), counted(&sound()), "{name}");
    assert_eq!(report["inputs"][0]["rejected"], 1, "{name}");
    let line = format!("warning: {path}{place}: {code}: {reason}");
    assert!(ran.err.lines().any(|have| have.starts_with(&line)), "no {line:?} in {}", ran.err);
    let strict = run(&["analyze", &path, "-c", &config, "--strict"]);
    strict.refused(2, &[&format!("{path}{place}"), reason, "--strict"]);
}

#[test]
fn sound_runs() {
    beside(odd(Vec::new()).to_string().as_bytes(), odd(Vec::new()));
}

#[test]
fn error_is_a_string() {
    let mut run = odd(Vec::new());
    run["steps"][1]["error"] = json!("boom");
    beside(run.to_string().as_bytes(), run);
}

#[test]
fn error_key_absent_on_success() {
    let mut run = odd(Vec::new());
    for step in run["steps"].as_array_mut().unwrap() {
        let step: &mut Map<String, Value> = step.as_object_mut().unwrap();
        step.retain(|key, value| key != "error" || !value.is_null());
    }
    beside(run.to_string().as_bytes(), run);
}

#[test]
fn no_error_at_all_in_the_file() {
    let mut runs = sound();
    for run in &mut runs {
        run["steps"][1] = step(1, None);
    }
    let lines: String = runs.iter().map(|run| format!("{run}\n")).collect();
    reads("runs.ndjson", lines.as_bytes(), &runs);
}

#[test]
fn final_absent_or_null() {
    let mut run = odd(Vec::new());
    run["final"] = Value::Null;
    beside(run.to_string().as_bytes(), run.clone());
    run.as_object_mut().unwrap().remove("final");
    beside(run.to_string().as_bytes(), run);
}

#[test]
fn input_of_mixed_shape() {
    let inputs =
        [json!("x"), json!([1, "a"]), Value::Null, json!({"cmd": ["ls"]}), json!(7), json!(true)];
    let more = inputs.into_iter().zip(2..).map(|(input, at)| with(step(at, None), "input", input));
    let run = odd(more.collect());
    beside(run.to_string().as_bytes(), run);
}

/// Enough sound runs that what follows lies beyond the first block of the file.
fn long(filling: &str) -> Vec<Value> {
    let filled = |id| with(step(id, None), "output", json!(filling));
    (0..1_000).map(|id| of_steps(10_000 + id, vec![filled(2)])).collect()
}

#[test]
fn late_type_change() {
    let mut runs = long(&"text ".repeat(1_000));
    let late = with(step(2, None), "note", json!({"a": 1}));
    let later = with(step(3, Some("Late")), "note", json!("s"));
    runs.push(odd(vec![late, later]));
    let lines: String = runs.iter().map(|run| format!("{run}\n")).collect();
    assert!(lines.len() > 5 << 20, "beyond the first block");
    reads("runs.ndjson", lines.as_bytes(), &runs);
}

#[test]
fn first_error_late_in_the_file() {
    let mut runs = long(&"text ".repeat(1_000));
    for run in &mut runs {
        run["steps"][1] = step(1, None);
    }
    runs.push(odd(Vec::new()));
    let lines: String = runs.iter().map(|run| format!("{run}\n")).collect();
    let report = reads("runs.ndjson", lines.as_bytes(), &runs);
    assert_eq!(report["distributions"]["error_type"], json!({"ToolTimeout": 1}));
}

#[test]
fn whole_number_beyond_64_bits() {
    let run = odd(Vec::new());
    beside(&swapped(&run, b"\"prompt\":3", b"\"prompt\":18446744073709551617"), run);
}

#[test]
fn attempt_as_a_float_or_a_string() {
    for (number, spelled) in [(2, "2.0"), (2, "\"2\""), (2, "2e0")] {
        let run = odd(vec![
            with(with(step(2, Some("Busy")), "step_id", json!("s")), "attempt", json!(1)),
            with(with(step(3, None), "step_id", json!("s")), "attempt", json!(number)),
        ]);
        let text = swapped(&run, b"\"attempt\":2", format!("\"attempt\":{spelled}").as_bytes());
        let report = beside(&text, run);
        assert_eq!(report["metrics"]["avg_retry_count"]["numerator"], 1.0, "{spelled}");
    }
}

#[test]
fn attempt_that_is_no_number() {
    let run = odd(vec![with(step(2, None), "attempt", json!("second"))]);
    let (lines, array) = forms(run.to_string().as_bytes());
    rejects("runs.ndjson", &lines, ":5", "unreadable_number", "");
    let byte = array.len() - 2 - run.to_string().len();
    rejects("runs.json", &array, &format!("@{byte}"), "unreadable_number", "");
}

#[test]
fn tokens_of_1e30() {
    let run = odd(Vec::new());
    let report = beside(&swapped(&run, b"\"prompt\":3", b"\"prompt\":1e30"), run);
    let tokens = report["metrics"]["total_tokens"]["numerator"].as_f64().unwrap();
    assert!((tokens / 1e30 - 1.0).abs() < 1e-9, "{tokens}");
}

#[test]
fn accuracy_nan_or_infinite_below_zero_never_passes() {
    for (number, told) in [("NaN", true), ("-Infinity", true), ("-1e999", false)] {
        let mut run = odd(Vec::new());
        run["final"]["accuracy"] = json!(0.0);
        let text = swapped(&run, b"\"accuracy\":0.0", format!("\"accuracy\":{number}").as_bytes());
        let report = beside(&text, run);
        let repaired = warned(&report, "repaired_records");
        assert_eq!(repaired, told, "{number}: {}", report["warnings"]);
    }
}

#[test]
fn accuracy_a_word_never_passes() {
    let mut run = odd(Vec::new());
    run["final"]["accuracy"] = json!("n/a");
    let report = beside(run.to_string().as_bytes(), run);
    assert!(warned(&report, "expression_unevaluable"), "{}", report["warnings"]);
}

#[test]
fn invalid_utf8_in_a_text_that_no_figure_reads() {
    let run = odd(Vec::new());
    beside(&swapped(&run, b"\"output\":\"ok\"", b"\"output\":\"a\xFF\xFEb\""), run);
}

#[test]
fn invalid_utf8_in_a_type() {
    let run = odd(vec![with(step(2, None), "type", json!("t\u{FFFD}"))]);
    let report = beside(&swapped(&run, b"t\xEF\xBF\xBD", b"t\xFF"), run);
    assert!(warned(&report, "repaired_records"), "{}", report["warnings"]);
}

#[test]
fn lone_surrogate_escape() {
    let run = odd(Vec::new());
    beside(&swapped(&run, b"\"output\":\"ok\"", b"\"output\":\"a\\ud800b\""), run.clone());
    let named = with(step(2, None), "type", json!("t\u{FFFD}"));
    let run = odd(vec![named]);
    beside(&swapped(&run, b"t\xEF\xBF\xBD", b"t\\udfff"), run);
}

#[test]
fn null_character_in_a_text() {
    let run = odd(vec![with(step(2, None), "type", json!("t\u{0}"))]);
    beside(&swapped(&run, b"\"output\":\"ok\"", b"\"output\":\"a\\u0000b\""), run);
}

#[test]
fn raw_tab_in_a_text() {
    let run = odd(Vec::new());
    beside(&swapped(&run, b"\"output\":\"ok\"", b"\"output\":\"a\tb\""), run);
}

#[test]
fn raw_line_break_in_a_text() {
    // In lines it ends the record; the two halves are named.
    let text = swapped(&odd(Vec::new()), b"\"output\":\"ok\"", b"\"output\":\"a\nb\"");
    let (lines, array) = forms(&text);
    let wanted: Vec<Value> = sound().into_iter().chain([odd(Vec::new())]).collect();
    reads("runs.json", &array, &wanted);
    let folder = Folder::new();
    let report = cli::report(&[&folder.file("runs.ndjson", lines)]);
    assert_eq!(
        (&report["runs"]["total"], &report["inputs"][0]["rejected"]),
        (&json!(4), &json!(2))
    );
}

#[test]
fn truncated_last_line() {
    let (lines, _) = forms(odd(Vec::new()).to_string().as_bytes());
    let cut = &lines[..lines.len() - 41];
    let length = odd(Vec::new()).to_string().len() - 40;
    let reason = format!("the record ends too early at byte {length} of the record");
    rejects("runs.ndjson", cut, ":5", "truncated_record", &reason);
}

#[test]
fn truncated_array_keeps_the_whole_elements() {
    let (_, array) = forms(odd(Vec::new()).to_string().as_bytes());
    let byte = array.len() - 2 - odd(Vec::new()).to_string().len();
    let reason = "the record ends too early at byte";
    let place = format!("@{byte}");
    rejects("runs.json", &array[..array.len() - 42], &place, "truncated_record", reason);
    let wrapped = [&b"{\"runs\":"[..], &array[..array.len() - 42]].concat();
    rejects("runs.json", &wrapped, &format!("@{}", byte + 8), "truncated_record", reason);
}

#[test]
fn byte_order_mark_at_the_start() {
    let (lines, array) = forms(odd(Vec::new()).to_string().as_bytes());
    let wanted: Vec<Value> = sound().into_iter().chain([odd(Vec::new())]).collect();
    for text in [lines, array] {
        reads("runs.json", &[&b"\xEF\xBB\xBF"[..], &text].concat(), &wanted);
    }
}

#[test]
fn crlf_and_blank_lines() {
    let lines: String = sound().iter().map(|run| format!("{run}\r\n\r\n")).collect();
    reads("runs.ndjson", lines.as_bytes(), &sound());
}

#[test]
fn pretty_printed_documents_in_a_row() {
    let pretty = |run: &Value| serde_json::to_string_pretty(run).unwrap() + "\n";
    let text: String = sound().iter().map(pretty).collect();
    reads("runs.json", text.as_bytes(), &sound());
    let pretty = serde_json::to_string_pretty(&sound()).unwrap();
    reads("runs.json", pretty.as_bytes(), &sound());
}

#[test]
fn of_duplicate_keys_the_last_counts() {
    let run = odd(Vec::new());
    let text = run.to_string();
    let twice = format!("{{\"final\":null,\"status\":\"failed\",\"steps\":[],{}", &text[1..]);
    let report = beside(twice.as_bytes(), run);
    assert!(warned(&report, "repaired_records"), "{}", report["warnings"]);
}

#[test]
fn input_nested_100_to_20000_deep() {
    let run = odd(Vec::new());
    for depth in [100, 400, 20_000] {
        let list = format!("\"input\":{}{}", "[".repeat(depth), "]".repeat(depth));
        let object = format!("\"input\":{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        for deep in [list, object] {
            beside(&swapped(&run, b"\"input\":{\"cmd\":\"ls\"}", deep.as_bytes()), run.clone());
        }
    }
}

#[test]
fn nothing_but_open_brackets() {
    for open in ["[", "{\"a\":"] {
        let record = format!("{{\"steps\":[{{\"output\":{}", open.repeat(100_000));
        let (lines, _) = forms(record.as_bytes());
        let reason = "the record ends too early at byte";
        rejects("runs.ndjson", &lines, ":5", "truncated_record", reason);
    }
}

#[test]
fn empty_file() {
    let folder = Folder::new();
    for text in ["", "\n", "\u{FEFF}", " \r\n\t", "[]", "[ ]\n"] {
        let path = folder.file("empty.json", text);
        run(&["analyze", &path]).refused(4, &["no run was evaluated"]);
        run(&["analyze", &path, "--strict"]).refused(4, &["no run was evaluated"]);
    }
}
