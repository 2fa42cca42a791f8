//! Terminal-Bench: the published arithmetic, and every way in which a trial is stored twice.

use crate::cli::{Folder, figures_are, fixture, json, report, run, warning};
use serde_json::{Value, json as value};

const RUN: &str = "terminal-bench/run/results.json";

fn inspect(path: &str) -> Value {
    let inspected = json(&["inspect", path]);
    for file in inspected["inputs"].as_array().unwrap() {
        let sum = |key: &str| -> u64 {
            file[key].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
        };
        let count = |key: &str| file[key].as_u64().unwrap();
        let ends = count("used") + sum("merged") + sum("ignored") + count("rejected");
        assert_eq!(count("records"), ends, "{file:#}");
    }
    inspected
}

#[test]
fn accuracy_is_resolved_of_all_trials_and_null_outcomes_are_told_apart() {
    let path = fixture(RUN);
    let file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let report = report(&[&path]);
    figures_are(&report, &[("final_completion_rate", 0.333333, 2.0, 6.0)]);
    assert!((file["accuracy"].as_f64().unwrap() - 2.0 / 6.0).abs() < 1e-12);
    assert_eq!(warning(&report, "outcome_not_recorded")["count"], 2);
    let without = run(&[
        "analyze",
        &path,
        "--output",
        "json",
        "--where",
        "run.tags.outcome_recorded == 'yes'",
    ]);
    assert_eq!(without.code, 0, "{without:?}");
    figures_are(&without.json(), &[("final_completion_rate", 0.5, 2.0, 4.0)]);
}

#[test]
fn pass_at_k_is_the_published_one() {
    // Two of three tasks are resolved in one of two trials: pass@2 = 2/3, and no task in both.
    let report = report(&[&fixture(RUN)]);
    let two = |name: &str| report["metrics"][name]["by_k"]["2"]["value"].clone();
    assert_eq!(two("pass_at_k"), value!(0.666667));
    assert_eq!(two("pass_hat_k"), value!(0));
}

#[test]
fn agent_and_model_come_from_the_metadata_and_times_are_the_agents_own() {
    let folder = fixture("terminal-bench/run");
    let inspected = inspect(&folder);
    assert_eq!(inspected["runs"], 6, "the trial's own file is the same trial");
    let report = report(&[&folder, "--by", "model"]);
    assert_eq!(report["groups"][0]["by"], value!({"model": "heron-2"}));
    // 10:10 to 10:12, though the trial took 16 minutes.
    figures_are(&report, &[("duration_seconds", 120.0, 720.0, 6.0)]);
    figures_are(&report, &[("total_tokens", 1050.0, 1050.0, 1.0)]);
}

#[test]
fn a_run_that_is_stored_again_inside_another_counts_once() {
    let folder = Folder::new();
    let text = std::fs::read(fixture(RUN)).unwrap();
    folder.file("2026-02-03__10-00-00/results.json", &text);
    folder.file("2026-02-04__10-00-00/2026-02-03__10-00-00/results.json", &text);
    let inspected = inspect(folder.path().to_str().unwrap());
    assert_eq!(inspected["runs"], 6);
    assert_eq!(inspected["inputs"][1]["merged"], value!({"run_stored_twice": 1}));
}

#[test]
fn the_older_schema_and_flat_files_are_read_too() {
    let path = fixture("terminal-bench/2025-01-01__00-00-00_results.json");
    let report = report(&[&path]);
    figures_are(&report, &[("final_completion_rate", 0.5, 1.0, 2.0)]);
    assert_eq!(report["metrics"]["total_tokens"]["value"], Value::Null);
    assert_eq!(report["metrics"]["duration_seconds"]["value"], Value::Null);
    assert_eq!(inspect(&path)["inputs"][0]["format"], "terminal-bench");
}

#[test]
fn a_total_that_the_trials_do_not_give_is_told() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(fixture(RUN)).unwrap();
    let path = folder.file("results.json", text.replace("\"n_resolved\": 2", "\"n_resolved\": 3"));
    assert_eq!(warning(&report(&[&path]), "totals_differ")["count"], 1);
}

#[test]
fn an_entry_that_is_no_trial_is_refused_and_costs_no_other() {
    let folder = Folder::new();
    let path = folder.file(
        "results.json",
        r#"{"results": [{"x": 1}, 7, {"task_id": "a", "trial_name": "a.1-of-1", "is_resolved": true, "failure_mode": "unset"}], "n_resolved": 1, "accuracy": 1.0}"#,
    );
    let inspected = inspect(&path);
    assert_eq!(inspected["runs"], 1);
    let parts = inspected["inputs"][0]["rejected_parts"].as_object().unwrap();
    assert_eq!(parts.values().map(|n| n.as_u64().unwrap()).sum::<u64>(), 2);
}

#[test]
fn other_documents_with_results_are_left_alone() {
    let folder = Folder::new();
    for text in [r#"{"results": []}"#, r#"{"results": [{"success": true}], "stats": {}}"#] {
        let path = folder.file("x.json", text);
        let ran = run(&["inspect", &path, "--output", "json"]);
        assert!(!ran.out.contains("terminal-bench\""), "{text}: {ran:?}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_one_record_and_refused_with_its_reason() {
    let folder = Folder::new();
    let text = std::fs::read(fixture(RUN)).unwrap();
    let path = folder.file("cut.json", &text[..text.len() / 2]);
    run(&["analyze", &path]).refused(4, &["truncated_record", "cut.json@0"]);
}
