//! `agenteval convert` as people use it: forms, files, refusals.

use crate::cli;
use crate::support;
use std::path::Path;

use crate::cli::{Folder, fixture, run, run_with_input};
use serde_json::Value;

/// Keys that version 1.6 of ATIF knows, by what holds them; all others are forbidden.
const ROOT: [&str; 7] =
    ["schema_version", "session_id", "agent", "steps", "notes", "final_metrics", "extra"];
const STEP: [&str; 10] = [
    "step_id",
    "timestamp",
    "source",
    "model_name",
    "message",
    "reasoning_content",
    "tool_calls",
    "observation",
    "metrics",
    "extra",
];

fn only(value: &Value, keys: &[&str], what: &str) {
    for key in value.as_object().unwrap_or_else(|| panic!("{what}: no object: {value}")).keys() {
        assert!(keys.contains(&key.as_str()), "{what}: the key `{key}` is forbidden");
    }
}

/// Holds a trajectory to the rules of the RFC.
fn is_atif(trajectory: &Value, what: &str) {
    only(trajectory, &ROOT, what);
    assert_eq!(trajectory["schema_version"], "ATIF-v1.6", "{what}");
    assert!(trajectory["session_id"].is_string(), "{what}");
    only(&trajectory["agent"], &["name", "version", "model_name", "extra"], what);
    assert!(trajectory["agent"]["name"].is_string() && trajectory["agent"]["version"].is_string());
    let counts = ["prompt_tokens", "completion_tokens", "cached_tokens"];
    let steps = trajectory["steps"].as_array().unwrap();
    assert!(!steps.is_empty(), "{what}");
    for (step, id) in steps.iter().zip(1..) {
        only(step, &STEP, what);
        assert_eq!(step["step_id"], id, "{what}");
        assert!(step["message"].is_string(), "{what}");
        let agent = step["source"] == "agent";
        assert!(agent || step["source"] == "system", "{what}");
        assert!(agent || ["model_name", "tool_calls", "metrics"].iter().all(|k| step[k].is_null()));
        let mut ids = Vec::new();
        for call in step["tool_calls"].as_array().into_iter().flatten() {
            only(call, &["tool_call_id", "function_name", "arguments"], what);
            assert!(call["arguments"].is_object() && call["function_name"].is_string(), "{what}");
            assert!(!ids.contains(&&call["tool_call_id"]), "{what}: one id twice");
            ids.push(&call["tool_call_id"]);
        }
        if let Some(observation) = step.get("observation") {
            only(observation, &["results"], what);
            for result in observation["results"].as_array().unwrap() {
                only(result, &["source_call_id", "content"], what);
                assert!(ids.contains(&&result["source_call_id"]), "{what}");
                assert!(result["content"].is_string(), "{what}");
            }
        }
        if let Some(metrics) = step.get("metrics") {
            only(metrics, &[&counts[..], &["cost_usd", "extra"]].concat(), what);
            assert!(counts.iter().all(|key| metrics[key].is_null() || metrics[key].is_u64()));
        }
    }
    let totals = ["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens"];
    let known = [&totals[..], &["total_cost_usd", "total_steps", "extra"]].concat();
    only(&trajectory["final_metrics"], &known, what);
    assert_eq!(trajectory["final_metrics"]["total_steps"], steps.len(), "{what}");
}

#[test]
fn atif_of_every_format_keeps_the_rules_of_the_rfc() {
    let mut paths: Vec<String> = ["native/full.json", "native/support-flow.ndjson", "checkpoints"]
        .iter()
        .chain(&["tau_bench/four_runs.json", "otlp", "claude_code", "steplog/interleaved.ndjson"])
        .chain(&["inspect_ai/two_by_two.json", "runs-table/two_agents.csv"])
        .map(|rel| fixture(rel))
        .collect();
    for rel in ["data/tau_bench/gpt-4o-airline.json", "data/claude_code", "data/otlp"] {
        paths.extend(support::shared(rel).map(|path| path.to_str().unwrap().to_owned()));
    }
    for path in paths {
        let ran = run(&["convert", &path, "--to", "atif", "-q"]);
        assert_eq!(ran.code, 0, "{path}: {ran:?}");
        match ran.json() {
            Value::Array(all) => all.iter().for_each(|one| is_atif(one, &path)),
            one => is_atif(&one, &path),
        }
    }
}

#[test]
fn atif_has_the_calls_results_tokens_and_the_rest_as_extra() {
    let ran = run(&["convert", &fixture("tau_bench/four_runs.json"), "--to", "atif", "-q"]);
    let runs = ran.json();
    let step = &runs[0]["steps"][0];
    assert_eq!(step["tool_calls"][0]["function_name"], "move_trip");
    assert_eq!(step["tool_calls"][0]["arguments"]["day"], "Fri");
    assert_eq!(step["observation"]["results"][0]["content"], "Error: the day must be a date");
    assert_eq!(step["extra"]["agenteval"]["calls"][0]["error_origin"], "text");
    assert_eq!(runs[0]["extra"]["agenteval"]["score"], 1);
    assert_eq!(runs[1]["steps"][0]["source"], "system", "a run without steps has one");
    let full = run(&["convert", &fixture("native/full.json"), "--to", "atif", "-q"]).json();
    // Cache is part of the prompt: 900 + 10 read + 5 written.
    assert_eq!(full[0]["steps"][0]["metrics"]["prompt_tokens"], 915);
    assert_eq!(full[0]["steps"][0]["metrics"]["cached_tokens"], 10);
    assert_eq!(full[0]["final_metrics"]["extra"]["total_tokens"], 980);
    assert_eq!(full[0]["session_id"], "r-1");
}

#[test]
fn a_run_that_goes_through_atif_keeps_its_outcome_and_retries() {
    let folder = Folder::new();
    let odd = folder.file(
        "odd.json",
        r#"[{"run_id":"a","task_id":"t","scores":[{"name":"s","value":1},{"name":"s","value":0}],"end_rule":"unfinished",
            "steps":[{"type":"llm","model_turn":true,"tokens":{"prompt":9,"completion":1.5},"content":"hm"},
            {"type":"tool","name":"f","input":"q","step_id":"1","error":"x","status":"failed","status_decides":true},
            {"type":"tool","name":"f","input":"q","step_id":"1","request_id":"r","attempts_total":3},
            {"type":"tool","name":"g","request_id":"r","tokens":5,"node_id":"n","index":7}]},
            {"task_id":"t","format_outcome":false,"order_unknown":true,"never_reached":["b"],"retry_source":"recorded",
            "cost_usd":2,"duration_ms":5,"steps":[{"type":"","started_at":"2026-01-01 00:00:00"}]},
            {"task_id":"u","steps_unknown":true,"success":true,"steps":[]}]"#,
    );
    let config = folder.file("all.config", r#"{"task_name":"t","steps":"all"}"#);
    let mut paths = vec![odd];
    for rel in ["native/full.json", "native/support-flow.ndjson", "checkpoints", "otlp"] {
        paths.push(fixture(rel));
    }
    for rel in ["tau_bench/four_runs.json", "claude_code", "inspect_ai/two_by_two.json", "atif"] {
        paths.push(fixture(rel));
    }
    paths.push(fixture("runs-table/two_agents.csv"));
    let to = folder.at("through.atif.ndjson");
    let back = folder.at("back.ndjson");
    for path in paths {
        assert_eq!(run(&["convert", &path, "-q", "-o", &to]).code, 0, "{path}");
        for more in [&["-q"][..], &["-q", "-c", &config]] {
            let analyze = |path: &str| cli::report(&[&[path], more].concat());
            let (source, through) = (analyze(&path), analyze(&to));
            assert_eq!(through["inputs"][0]["format"], "atif", "{path}");
            for part in ["runs", "tasks", "retries", "metrics", "distributions", "groups"] {
                assert_eq!(source[part], through[part], "{path}: {part}");
            }
        }
        // A second time changes nothing.
        let first = std::fs::read(&to).unwrap();
        assert_eq!(run(&["convert", &to, "-q", "-o", &back]).code, 0, "{path}");
        let again = run(&["convert", &back, "--to", "native", "-q"]).json();
        let direct = run(&["convert", &to, "--to", "native", "-q"]).json();
        assert_eq!(again, direct, "{path}");
        assert!(!first.is_empty());
    }
}

#[test]
fn what_others_left_under_our_key_is_no_record_of_a_run() {
    let folder = Folder::new();
    let atif = |own: &str| {
        format!(
            r#"{{"schema_version":"ATIF-v1.6","session_id":"s","agent":{{"name":"a","version":"1"}},"steps":[
            {{"step_id":1,"source":"agent","message":"","tool_calls":[{{"tool_call_id":"c","function_name":"f","arguments":{{}}}}],
            "extra":{{"agenteval":{{"calls":[{{"type":"tool","error":"x"}},{{"type":"tool"}}]}}}}}}],"extra":{{"agenteval":{own}}}}}"#
        )
    };
    for own in [r#"{"success":true}"#, "7", r#"{"complete":"yes"}"#] {
        let path = folder.file("x.atif.json", atif(own));
        let runs = run(&["convert", &path, "--to", "native", "-q"]).json();
        assert!(runs[0]["success"].is_null() && runs[0]["steps"][1]["error"].is_null(), "{runs}");
    }
    // A step whose parts were taken out by another tool is read as it stands.
    let path = folder.file("x.atif.json", atif(r#"{"complete":true,"success":true}"#));
    let runs = run(&["convert", &path, "--to", "native", "-q"]).json();
    assert_eq!((&runs[0]["success"], &runs[0]["steps"][0]["name"]), (&true.into(), &"f".into()));
}

#[test]
fn ten_thousand_tags_and_scores_take_no_minutes() {
    let folder = Folder::new();
    let members = |value: &str| {
        let all: Vec<String> = (0..10_000).map(|n| format!("\"k{n}\":{value}")).collect();
        all.join(",")
    };
    let run_of = format!(
        r#"{{"run_id":"a","tags":{{{}}},"scores":{{{}}},"steps":[]}}"#,
        members("\"v\""),
        members("1")
    );
    let path = folder.file("many.ndjson", run_of);
    let start = std::time::Instant::now();
    for form in ["native", "atif"] {
        assert_eq!(run(&["convert", &path, "--to", form, "-q"]).code, 0);
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn ids_of_runs_that_are_no_names_of_files_stay_in_the_folder() {
    let folder = Folder::new();
    let long = "数".repeat(100);
    let ids = ["x-3", "x", "x", "a/b\n../c", "..", "", &long, &format!("{long}!"), "a\u{0}b"];
    let lines = ids.map(|id| serde_json::json!({"run_id": id, "steps": []}).to_string() + "\n");
    let source = folder.file("in.ndjson", lines.concat());
    let to = folder.at("out/");
    let ran = run(&["convert", &source, "--to", "atif", "-o", &to]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let all: Vec<_> = std::fs::read_dir(&to).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(all.len(), ids.len(), "{all:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_folder_that_cannot_be_filled_keeps_what_it_had() {
    let folder = Folder::new();
    let source = folder.file(
        "in.ndjson",
        "{\"run_id\":\"a\",\"steps\":[]}\n{\"run_id\":\"b\",\"steps\":[]}\n{\"run_id\":\"c\",\"steps\":[]}\n",
    );
    let old = folder.file("out/a.atif.json", "old");
    std::fs::create_dir(folder.at("out/c.atif.json")).unwrap();
    run(&["convert", &source, "--to", "atif", "-o", &folder.at("out/")])
        .refused(2, &["c.atif.json", "folder"]);
    assert_eq!(std::fs::read_to_string(old).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.at("out")).unwrap().count(), 2);
    // A file where the folder should be.
    let file = folder.file("plain", "text");
    let ran = run(&["convert", &source, "--to", "atif", "-o", &format!("{file}/")]);
    ran.refused(2, &["cannot write"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "text");
}

#[cfg(feature = "tables")]
#[test]
fn both_tables_are_written_or_none() {
    let folder = Folder::new();
    let runs = folder.file("t.parquet", "old");
    std::fs::create_dir(folder.at("t.steps.parquet")).unwrap();
    run(&["convert", &fixture("native/full.json"), "-o", &runs]).refused(2, &["t.steps.parquet"]);
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_an_error() {
    for form in ["native", "ndjson", "atif"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_agenteval"));
        command.args(["convert", &fixture("native/support-flow.ndjson"), "--to", form, "-q"]);
        let output = command.stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{form}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"), "{output:?}");
    }
}

#[test]
fn the_ending_picks_the_form_and_a_folder_takes_a_file_a_run() {
    let folder = Folder::new();
    let from = fixture("native/full.json");
    let write = |name: &str, more: &[&str]| {
        let to = folder.at(name);
        let ran = run(&[&["convert", &from, "-o", &to], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
        assert!(ran.err.contains(&to), "{ran:?}");
        std::fs::read_to_string(to).unwrap_or_default()
    };
    assert_eq!(write("a.ndjson", &[]).lines().count(), 2);
    assert!(write("a.json", &[]).starts_with("[\n{"));
    assert!(write("a.atif.json", &[]).starts_with("[\n{\"schema_version\""));
    assert_eq!(write("a.atif.jsonl", &[]).lines().count(), 2);
    assert_eq!(write("b.txt", &["--to", "ndjson"]).lines().count(), 2);
    let kept = write("one.atif.json", &["--where", "run.task_id == 'invoice-08'"]);
    is_atif(&serde_json::from_str(&kept).unwrap(), "one run is one object");
    write("out/", &["--to", "atif"]);
    let mut names: Vec<_> = std::fs::read_dir(folder.path().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["r-1.atif.json", "r-2.atif.json"], "and no draft is left");
}

#[test]
fn bytes_are_the_same_on_any_number_of_threads_and_from_a_pipe() {
    let path = fixture("native/support-flow.ndjson");
    let one = run(&["convert", &path, "--to", "ndjson", "--threads", "1", "-q"]);
    let many = run(&["convert", &path, "--to", "ndjson", "--threads", "8", "-q"]);
    assert_eq!(one.out, many.out);
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).unwrap();
    let piped = run_with_input(&["convert", "-", "--to", "ndjson", "-q"], &bytes);
    assert_eq!(one.out, piped.out);
    let twice = run(&["convert", &path, &fixture("native/full.json"), "--to", "ndjson", "-q"]);
    assert_eq!(twice.out.lines().count(), one.out.lines().count() + 2);
    assert!(twice.out.starts_with(&one.out));
}

#[test]
fn nothing_is_left_of_a_conversion_that_fails_and_no_input_is_written_over() {
    let folder = Folder::new();
    let source = folder.file("in.ndjson", "{\"run_id\":\"in\",\"steps\":[]}\n");
    run(&["convert", &source, "-o", &source]).refused(2, &["read by the same command"]);
    assert_eq!(std::fs::read_to_string(&source).unwrap(), "{\"run_id\":\"in\",\"steps\":[]}\n");
    let broken = folder.file("broken.ndjson", "{\"steps\":[{\"name\":1}]}\n");
    let to = folder.at("out.json");
    run(&["convert", &broken, "-o", &to]).refused(4, &["no run was evaluated", "type"]);
    let strict = folder.file("strict.ndjson", "{\"steps\":[]}\n{\"steps\":[{}]}\n");
    run(&["convert", &strict, "-o", &to, "--strict"]).refused(2, &["strict.ndjson:2"]);
    assert!(!Path::new(&to).exists());
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 3, "only the inputs are there");
    // A file of the folder may be an input.
    let own = folder.file("out/in.atif.json", "{\"run_id\":\"in\",\"steps\":[]}");
    run(&["convert", &own, "-o", &folder.at("out/"), "--to", "atif"])
        .refused(2, &["read by the same command"]);
    assert_eq!(std::fs::read_to_string(own).unwrap(), "{\"run_id\":\"in\",\"steps\":[]}");
    let baseline = fixture("baselines/main.json");
    run(&["convert", &source, "-o", &baseline]).refused(2, &["stored baseline"]);
}

#[test]
fn where_to_is_asked_in_one_line() {
    let from = fixture("native/full.json");
    run(&["convert", &from]).refused(2, &["-o FILE", "--to native|ndjson|atif"]);
    run(&["convert", &from, "-o", "x.yaml"]).refused(2, &["x.yaml", ".ndjson", "--to"]);
    run(&["convert", &from, "-o", "fixtures"]).refused(2, &["folder", "--to atif"]);
    run(&["convert", &from, "--to", "parquet"]).refused(2, &["-o"]);
}

#[test]
fn contents_stay_as_they_are_unless_they_are_to_be_masked() {
    let folder = Folder::new();
    let secret = format!("sk-{}", "Ab1".repeat(14));
    let source = folder.file(
        "in.json",
        format!(
            r#"{{"steps":[{{"type":"tool","name":"login","input":{{"api_key":"{}","text":"{secret}"}},"error":"denied for {secret}"}}]}}"#,
            "Zz9".repeat(6)
        ),
    );
    let plain = run(&["convert", &source, "--to", "native", "-q"]);
    assert!(plain.out.contains(&secret));
    for form in ["native", "atif"] {
        let masked = run(&["convert", &source, "--to", form, "--mask", "-q"]);
        assert!(!masked.out.contains(&secret) && !masked.out.contains("Zz9"), "{masked:?}");
        assert!(masked.out.contains("[masked]") && masked.json().is_object() == (form == "atif"));
    }
    assert!(run(&["convert", "--help"]).out.contains("keys and tokens"));
}

#[cfg(not(feature = "tables"))]
#[test]
fn without_tables_it_says_so() {
    let from = fixture("native/full.json");
    run(&["convert", &from, "-o", "x.parquet"]).refused(2, &["without tables"]);
    run(&["query", "SELECT 1", &from]).refused(2, &["without tables", "`tables`"]);
}

#[test]
fn a_name_that_says_another_form_than_the_flag_is_refused() {
    let folder = Folder::new();
    let from = fixture("native/plain.json");
    for (name, to, ending) in [
        ("x.atif.json", "ndjson", ".ndjson"),
        ("x.ATIF.jsonl", "native", ".json"),
        ("x.parquet", "atif", ".atif.json"),
        ("x.json", "parquet", ".parquet"),
    ] {
        let to_file = folder.at(name);
        run(&["convert", &from, "-o", &to_file, "--to", to])
            .refused(2, &[name, &format!("--to {to}"), &format!("ends in {ending}")]);
        assert!(!std::path::Path::new(&to_file).exists());
    }
    for (name, to) in [("x.json", "ndjson"), ("x.json", "atif"), ("x.log", "native")] {
        let ran = run(&["convert", &from, "-o", &folder.at(name), "--to", to]);
        assert_eq!(ran.code, 0, "{name} {to}: {ran:?}");
    }
}
