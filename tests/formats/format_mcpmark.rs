//! MCPMark: tasks with repeated runs, and the published arithmetic over them.

use crate::cli::{Folder, figures_are, fixture, json, report, warning};
use serde_json::Value;

#[test]
fn each_of_the_repeated_runs_of_a_task_is_a_trial() {
    let folder = fixture("mcpmark/heron-2");
    let inspected = json(&["inspect", &folder]);
    assert_eq!((inspected["runs"].as_u64(), inspected["tasks"].as_u64()), (Some(8), Some(2)));
    let formats: Vec<_> =
        inspected["inputs"].as_array().unwrap().iter().map(|f| f["format"].clone()).collect();
    assert_eq!(formats, ["mcpmark", "mcpmark"]);
    let report = report(&[&folder, "--by", "model"]);
    assert_eq!(report["groups"][0]["by"]["model"], "heron-2");
    // 3 of 4 and 1 of 4.
    figures_are(
        &report,
        &[
            ("final_completion_rate", 0.5, 4.0, 8.0),
            ("total_tokens", 1100.0, 8800.0, 8.0),
            ("duration_seconds", 547.5625, 4380.5, 8.0),
        ],
    );
    for name in ["avg_steps", "avg_retry_count", "step_error_rate"] {
        assert_eq!(report["metrics"][name]["value"], Value::Null, "{name}");
    }
    warning(&report, "runs_without_steps");
    assert_eq!(warning(&report, "outcome_not_recorded")["count"], 1);
    warning(&report, "timeout_contradicts_duration");
}

#[test]
fn the_harness_own_file_of_a_run_is_read_too() {
    let path = fixture("mcpmark/raw/meta.json");
    let report = report(&[&path, "--by", "model"]);
    assert_eq!(report["groups"][0]["by"]["model"], "heron-2");
    figures_are(
        &report,
        &[("final_completion_rate", 1.0, 1.0, 1.0), ("duration_seconds", 120.0, 120.0, 1.0)],
    );
}

#[test]
fn a_file_that_is_stored_twice_counts_once_and_what_is_no_run_is_told() {
    let folder = Folder::new();
    let text = std::fs::read(fixture("mcpmark/heron-2/merge_rows.json")).unwrap();
    folder.file("a/merge_rows.json", &text);
    folder.file("b/merge_rows.json", &text);
    folder.file("c.json", r#"{"model": "m", "service": "s", "task": "t", "runs": {"run-1": 7, "run-2": {"success": true}}}"#);
    let inspected = json(&["inspect", folder.path().to_str().unwrap()]);
    assert_eq!(inspected["runs"], 5);
    let files = &inspected["inputs"];
    assert_eq!(files[1]["merged"], serde_json::json!({"run_stored_twice": 1}));
    assert_eq!(files[2]["rejected_parts"], serde_json::json!({"unreadable_run": 1}));
}
