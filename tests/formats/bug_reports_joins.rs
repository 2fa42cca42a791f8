//! Faults that users of other tools reported, where they concern coding agents' files.

use crate::cli::{Folder, fixture, json, report, run, warning};
use serde_json::Value;

fn text(path: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn total(report: &Value) -> (u64, u64) {
    let attempts = report["counts"]["attempts"].as_u64().unwrap();
    (report["runs"]["total"].as_u64().unwrap(), attempts)
}

/// Row 15: a conversation that was copied into another file was counted twice.
#[test]
fn the_same_conversation_in_two_files_is_counted_once() {
    let cases = [
        ("openhands/events.jsonl", "b.jsonl", 1),
        ("openhands/trajectory.json", "b.json", 1),
        ("openhands/output.jsonl", "b.jsonl", 3),
        ("atif/trajectory.summary.json", "b.json", 1),
        ("swe-agent/run/acme__calc-9/acme__calc-9.traj", "acme__calc-9.traj", 1),
        ("mini-swe-agent/v2/acme__calc-8.traj.json", "b.traj.json", 1),
    ];
    for (path, copy, runs) in cases {
        let folder = Folder::new();
        let content = text(&fixture(path));
        let name = path.rsplit('/').next().unwrap();
        folder.file(&format!("one/{name}"), &content);
        let once = total(&report(&[&folder.at("")]));
        folder.file(&format!("two/{copy}"), &content);
        let twice = total(&report(&[&folder.at("")]));
        assert_eq!(once.0, runs, "{path}");
        assert_eq!(once, twice, "{path}");
    }
}

/// Row 15: a forked log repeats the events of the first and goes on.
#[test]
fn a_forked_event_log_adds_only_what_is_new() {
    let folder = Folder::new();
    let lines = text(&fixture("openhands/events.jsonl"));
    folder.file("a.jsonl", &lines);
    let more = lines.lines().nth(2).unwrap().replace("000000000003", "000000000099");
    folder.file("b.jsonl", format!("{lines}{more}\n"));
    let inspected = json(&["inspect", &folder.at("")]);
    assert_eq!(inspected["inputs"][1]["merged"]["duplicate_event"], 16);
    assert_eq!(inspected["inputs"][1]["used"], 1);
}

/// Row 18: a proxy's 502 was scored as a failure of the agent.
#[test]
fn an_infrastructure_error_is_told_apart_from_a_failed_task() {
    let folder = Folder::new();
    let path = fixture("openhands/output.jsonl");
    let plain = report(&[&path]);
    assert_eq!(plain["distributions"]["error_type"]["RuntimeError"], 1);
    let config = folder.file(
        "c.json",
        r#"{"error_types": [{"match": "502 Bad Gateway", "type": "gateway", "blame": "infra"}],
            "infra_errors": "exclude"}"#,
    );
    let apart = report(&[&path, "-c", &config]);
    assert_eq!(apart["counts"]["infra_runs"], 1, "{:#}", apart["counts"]);
    assert_eq!(apart["counts"]["infra_attempts"], 1);
}

/// Row 28: a half-written trajectory was scored as a blank answer.
#[test]
fn a_trajectory_without_an_exit_status_is_unfinished_with_a_warning() {
    let path = fixture("swe-agent/run/acme__calc-9/acme__calc-9.traj");
    let found = report(&[&path]);
    assert_eq!(found["runs"]["unfinished"], 1);
    assert_eq!(warning(&found, "no_exit_status")["count"], 1);
    let folder = Folder::new();
    let whole = text(&fixture("mini-swe-agent/v1/acme__calc-7/acme__calc-7.traj.json"));
    let null = whole.replace("\"Submitted\"", "null");
    let found = report(&[&folder.file("acme__calc-7.traj.json", null)]);
    assert_eq!(found["runs"]["unfinished"], 1);
    assert_eq!(warning(&found, "no_exit_status")["count"], 1);
}

/// Row 28: the same where the file is cut off.
#[test]
fn a_half_written_trajectory_is_rejected_and_costs_no_other_file() {
    let folder = Folder::new();
    let whole = text(&fixture("swe-agent/run/acme__calc-7/acme__calc-7.traj"));
    folder.file("cut.traj", &whole[..whole.len() / 2]);
    folder.file("whole.traj", &whole);
    let found = report(&[&folder.at("")]);
    assert_eq!(found["runs"]["total"], 1);
    assert_eq!(warning(&found, "truncated_record")["count"], 1);
    assert_eq!(run(&["analyze", &folder.at(""), "--strict"]).code, 2);
}

/// Row 30: a rule that reads a missing field said false.
#[test]
fn an_output_without_a_history_is_unknown_and_not_failed() {
    let folder = Folder::new();
    let line =
        r#"{"instance_id":"a","test_result":{"git_patch":""},"metadata":{"agent_class":"A"}}"#;
    let found = report(&[&folder.file("output.jsonl", line)]);
    assert_eq!(found["runs"]["unknown"], 1);
    assert!(found["metrics"]["avg_steps"]["value"].is_null(), "steps are not known to be none");
}

/// A prompt opens several conversations: a copy of an earlier one was looked for among the last alone.
#[test]
fn a_copy_of_an_earlier_branch_of_a_conversation_is_counted_once() {
    let list = |answers: &[&str]| {
        let mut all = r#"{"type":"human","content":"x","id":"h1"}"#.to_owned();
        for id in answers {
            all.push_str(&format!(r#",{{"type":"ai","content":"y","id":"{id}","tool_calls":[],"response_metadata":{{}}}}"#));
        }
        format!("[{all}]")
    };
    let folder = Folder::new();
    folder.file("a.json", list(&["a1", "a2"]));
    folder.file("b.json", list(&["b1"]));
    folder.file("c.json", list(&["a1", "a2"]));
    folder.file("d.json", list(&["a1", "a2", "a3"]));
    let inspected = json(&["inspect", &folder.at(""), "--format", "langchain"]);
    assert_eq!(inspected["runs"], 2, "{inspected:#}");
    assert_eq!(inspected["inputs"][2]["merged"]["copy_of_list"], 1);
    assert_eq!(inspected["inputs"][3]["merged"]["copy_of_list"], 1);
}

/// A log of requests, each with all messages before it: the calls of the first count in each run.
#[test]
fn a_log_of_growing_requests_is_told_and_not_counted_in_silence() {
    let call = |id: u32| {
        format!(
            r#"{{"role":"assistant","tool_calls":[{{"id":"c{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"c{id}","content":"ok"}}"#
        )
    };
    let user = r#"{"role":"user","content":"x"}"#;
    let first = format!("{user},{}", call(1));
    let second = format!("{first},{}", call(2));
    let third = format!("{second},{}", call(3));
    let other = format!("{user},{}", call(9));
    let all = [&first, &second, &third, &other];
    let requests: Vec<String> =
        all.map(|list| format!(r#"{{"model":"m","messages":[{list}]}}"#)).into();
    let folder = Folder::new();
    for (name, text) in
        [("log.jsonl", requests.join("\n")), ("list.json", format!("[{}]", requests.join(",")))]
    {
        let path = folder.file(name, text);
        let report = report(&[&path]);
        assert_eq!(report["runs"]["total"], 4, "{name}");
        assert_eq!(warning(&report, "history_repeated")["count"], 2, "{name}");
    }
}

/// The harness writes a run twice: in the file of its task, and in a folder of its own.
#[test]
fn a_run_in_its_task_s_file_and_in_its_own_counts_once() {
    let folder = Folder::new();
    let recorded = |seconds: u32, success: bool| {
        format!(
            r#"{{"success":{success},"error_message":null,"execution_time":{seconds}.0,"token_usage":{{"input_tokens":10,"output_tokens":5,"total_tokens":15}},"turn_count":3}}"#
        )
    };
    folder.file(
        "task.json",
        format!(
            r#"{{"model":"m","service":"s","task":"t","runs":{{"run-1":{},"run-2":{}}}}}"#,
            recorded(90, true),
            recorded(80, false)
        ),
    );
    let meta = |seconds: u32, success: bool| {
        format!(
            r#"{{"task_name":"t","model_name":"m","mcp":"s","agent_execution_time":{seconds}.0,"execution_result":{{"success":{success},"error_message":null}},"token_usage":{{"input_tokens":10,"output_tokens":5,"total_tokens":15}},"turn_count":3}}"#
        )
    };
    folder.file("raw/run-1/s__t/meta.json", meta(90, true));
    folder.file("raw/run-2/s__t/meta.json", meta(80, false));
    let third = folder.file("raw/run-3/s__t/meta.json", meta(80, false));
    let inspected = json(&["inspect", &folder.at("")]);
    assert_eq!(inspected["runs"], 3, "{inspected:#}");
    let native = folder.at("native.jsonl");
    let ran = run(&["convert", &third, "-q", "-o", &native]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let converted: Value = serde_json::from_str(text(&native).lines().next().unwrap()).unwrap();
    assert_eq!(converted["trial"], "3", "the number of the folder is the trial");
}
