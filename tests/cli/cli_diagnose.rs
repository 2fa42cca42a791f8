//! Where `diagnose` says that completed and failed runs of the same tasks part.

use crate::cli::{Folder, run};
use serde_json::{Value, json};

/// Runs of one task each: whether it was completed, and its steps in order.
fn parts(runs: &[(bool, &[&str])]) -> Value {
    let folder = Folder::new();
    let mut text = String::new();
    for (at, (completed, steps)) in runs.iter().enumerate() {
        let steps: Vec<Value> =
            steps.iter().map(|name| json!({"type": "tool", "name": name})).collect();
        let status = if *completed { "completed" } else { "failed" };
        let run = json!({"run_id": format!("r{at}"), "task_id": format!("t{}", at % 6), "status": status, "steps": steps});
        text.push_str(&format!("{run}\n"));
    }
    let path = folder.file("runs.ndjson", text);
    run(&["diagnose", &path, "--output", "json"]).json()["attribution"].clone()
}

#[test]
fn what_failed_runs_were_too_short_to_do_is_no_parting() {
    // Failed runs stop after the second step, so that none of them writes.
    let good: (bool, &[&str]) = (true, &["plan", "search", "read", "write"]);
    let bad: (bool, &[&str]) = (false, &["plan", "search"]);
    let runs: Vec<_> = (0..36).map(|at| if at % 12 < 6 { good } else { bad }).collect();
    let found = parts(&runs);
    assert_eq!((&found["tasks"], &found["runs"]), (&json!(6), &json!(36)), "{found:#}");
    assert_eq!(found["partings"], json!([]), "{found:#}");
}

#[test]
fn what_failed_runs_did_instead_is_a_parting_and_told_once() {
    let good: (bool, &[&str]) = (true, &["plan", "search", "write"]);
    let bad: (bool, &[&str]) = (false, &["plan", "guess", "write"]);
    let runs: Vec<_> = (0..36).map(|at| if at % 12 < 6 { good } else { bad }).collect();
    let found = parts(&runs);
    let actions = found["partings"].as_array().unwrap();
    let told: Vec<(&Value, &Value)> =
        actions.iter().map(|one| (&one["step"], &one["action"])).collect();
    assert_eq!(
        told,
        [(&json!(2), &json!("guess")), (&json!(2), &json!("search"))],
        "each of them at its step alone: {found:#}"
    );
    assert!(actions.iter().all(|one| one["p_adjusted"].as_f64().unwrap() < 0.001), "{found:#}");
}
