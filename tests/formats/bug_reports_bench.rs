//! Faults that users of other tools reported of benchmark results, each a test named by its symptom.

use crate::cli::{Folder, figures_are, fixture, report, run, warning};
use serde_json::{Value, json as value};

/// A tau2 run with one call of a tool, which fails with `error` where that is given.
fn simulation(id: &str, reward: f64, stop: &str, error: Option<&str>) -> Value {
    value!({
        "id": id, "task_id": id, "trial": 0, "termination_reason": stop,
        "reward_info": {"reward": reward},
        "messages": [
            {"role": "assistant", "tool_calls": [{"id": "c", "name": "look", "arguments": {}, "requestor": "assistant"}]},
            {"role": "tool", "id": "c", "requestor": "assistant", "error": error.is_some(), "content": error.unwrap_or("ok")},
        ],
    })
}

fn tau2(folder: &Folder, simulations: &[Value]) -> String {
    let file = value!({"info": {}, "tasks": [], "simulations": simulations});
    folder.file("results.json", serde_json::to_string(&file).unwrap())
}

/// A results file of Terminal-Bench.
fn trials(folder: &Folder, name: &str, trials: &[(&str, &str, Value, &str)]) -> String {
    let trial = |(id, task, resolved, mode): &(&str, &str, Value, &str)| value!({"id": id, "trial_name": format!("x{id}"), "task_id": task, "is_resolved": resolved, "failure_mode": mode});
    let all: Vec<Value> = trials.iter().map(trial).collect();
    let resolved = trials.iter().filter(|trial| trial.2 == true).count();
    let file = value!({"id": name, "results": all, "n_resolved": resolved});
    folder.file(&format!("{name}/results.json"), serde_json::to_string(&file).unwrap())
}

/// Row 18 of the list: 502s of a proxy were scored as failures of the agent.
#[test]
fn proxy_failures_are_told_from_failures_of_the_agent() {
    let folder = Folder::new();
    let path = tau2(
        &folder,
        &[
            simulation("a", 1.0, "user_stop", None),
            simulation("b", 0.0, "user_stop", None),
            simulation("c", 0.0, "infrastructure_error", Some("Error: HTTP 502 Bad Gateway")),
        ],
    );
    figures_are(&report(&[&path]), &[("final_completion_rate", 0.333333, 1.0, 3.0)]);
    let config = |infra: &str| {
        let rules = value!({
            "error_types": [{"match": "HTTP 5\\d\\d", "type": "proxy", "blame": "infra"}],
            "infra_errors": infra,
        });
        folder.file(&format!("{infra}.json"), rules.to_string())
    };
    let counted = report(&[&path, "-c", &config("count")]);
    figures_are(
        &counted,
        &[("final_completion_rate", 0.333333, 1.0, 3.0), ("step_error_rate", 0.333333, 1.0, 3.0)],
    );
    assert_eq!(counted["distributions"]["error_type"], value!({"proxy": 1}));
    let excluded = report(&[&path, "-c", &config("exclude")]);
    figures_are(
        &excluded,
        &[("final_completion_rate", 0.5, 1.0, 2.0), ("step_error_rate", 0.0, 0.0, 2.0)],
    );
    // Both are printed beside the rates.
    let table = run(&["analyze", &path, "-c", &folder.at("exclude.json")]).out;
    assert!(table.contains("1 left out as infra") && table.contains("1 infra left out"), "{table}");
    // How a run stopped is a label, so that they can be left out without a config as well.
    let filter = "run.tags.termination_reason != 'infrastructure_error'";
    figures_are(&report(&[&path, "--where", filter]), &[("final_completion_rate", 0.5, 1.0, 2.0)]);
}

/// Row 19: one pass and one error were 100 % on one page and 50 % on another.
#[test]
fn the_pass_rate_of_one_pass_and_one_error_is_the_same_in_every_form() {
    let folder = Folder::new();
    let one = [("1", "t", value!(true), "unset"), ("2", "u", Value::Null, "unknown_agent_error")];
    let path = trials(&folder, "r", &one);
    let read = report(&[&path]);
    figures_are(&read, &[("final_completion_rate", 0.5, 1.0, 2.0)]);
    let runs = &read["runs"];
    let number = |key: &str| runs[key].as_u64().unwrap();
    assert_eq!(
        number("completed") + number("failed") + number("unfinished") + number("unknown"),
        2
    );
    let table = run(&["analyze", &path]).out;
    assert!(table.contains("50.0%") && table.contains("1/2"), "{table}");
    let csv = run(&["analyze", &path, "--output", "csv"]).out;
    assert!(csv.lines().any(|line| line.contains("final_completion_rate,0.5,1,2")), "{csv}");
    let page = run(&["analyze", &path, "--output", "markdown"]).out;
    assert!(page.contains("50.0%"), "{page}");
}

/// Row 19: settings that change the denominator are stored, and sides that differ in them are not
/// compared without a word.
#[test]
fn sides_whose_errors_are_counted_differently_are_not_compared_as_if_they_were_alike() {
    let folder = Folder::new();
    let path = tau2(
        &folder,
        &[simulation("a", 1.0, "user_stop", None), simulation("b", 0.0, "user_stop", None)],
    );
    let rules = folder.file("c.json", value!({"infra_errors": "exclude"}).to_string());
    let store = folder.at("store");
    assert_eq!(run(&["baseline", "save", "main", &path, "--store", &store]).code, 0);
    let ran = run(&["gate", &path, "--baseline", "main", "--store", &store, "-c", &rules]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("infra_errors"), "{ran:?}");
}

/// Row 20: samples that ended in an error were left out, and accuracy rose from 0.5 to 1.
#[test]
fn errored_samples_stay_in_the_denominator() {
    let folder = Folder::new();
    let path = trials(
        &folder,
        "r",
        &[
            ("1", "t", value!(true), "unset"),
            ("2", "u", Value::Null, "agent_installation_failed"),
            ("3", "v", Value::Null, "test_timeout"),
            ("4", "w", value!(false), "unset"),
        ],
    );
    let read = report(&[&path]);
    figures_are(&read, &[("final_completion_rate", 0.25, 1.0, 4.0)]);
    assert_eq!(warning(&read, "outcome_not_recorded")["count"], 2);
    let runs = &read["runs"];
    assert_eq!(
        (&runs["completed"], &runs["failed"], &runs["unknown"]),
        (&value!(1), &value!(3), &value!(0))
    );
}

/// Row 21: every timeout had one name, whoever's it was.
#[test]
fn timeouts_of_the_agent_and_of_the_tests_are_kept_apart() {
    let folder = Folder::new();
    let path = trials(
        &folder,
        "r",
        &[
            ("1", "t", value!(true), "agent_timeout"),
            ("2", "t", value!(false), "agent_timeout"),
            ("3", "t", Value::Null, "test_timeout"),
            ("4", "t", value!(true), "unset"),
        ],
    );
    let read = report(&[&path, "--by", "tag:failure_mode"]);
    let groups = read["groups"].as_array().unwrap().iter();
    let by: Vec<_> = groups
        .map(|group| {
            let mode = group["by"]["tag:failure_mode"].as_str().unwrap();
            (
                mode,
                group["runs"]["completed"].as_u64().unwrap(),
                group["runs"]["failed"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(by, [("agent_timeout", 1, 1), ("test_timeout", 0, 1), ("unset", 1, 0)]);
}

/// Row 21: the message said 1800 s where it had been 180.
#[test]
fn a_timeout_that_contradicts_the_measured_duration_is_told() {
    let read = report(&[&fixture("mcpmark/heron-2/merge_rows.json")]);
    let told = warning(&read, "timeout_contradicts_duration");
    assert_eq!(told["count"], 1, "3600 s after 3600.5 s is no contradiction");
}

/// Row 29: trials that broke vanished from the totals.
#[test]
fn trials_that_are_missing_are_told_where_their_number_is_known() {
    let folder = Folder::new();
    let path = trials(
        &folder,
        "r",
        &[
            ("1", "t", value!(true), "unset"),
            ("2", "t", value!(true), "unset"),
            ("3", "u", value!(true), "unset"),
        ],
    );
    let config = folder.file("c.json", value!({"expected_trials": 2}).to_string());
    let read = report(&[&path, "-c", &config]);
    let lost = warning(&read, "lost_trials");
    assert_eq!(lost["count"], 1);
    assert!(lost["message"].as_str().unwrap().contains("`u` with 1"), "{lost}");
}

/// Row 29: attempts have random names and no number.
#[test]
fn trials_with_random_names_are_repeats_of_their_task() {
    let folder = Folder::new();
    let rows = [
        ("q7x", "t", value!(true), "unset"),
        ("a1b", "t", value!(false), "unset"),
        ("zz9", "u", value!(false), "unset"),
        ("k3d", "u", value!(false), "unset"),
    ];
    let read = report(&[&trials(&folder, "r", &rows)]);
    let at = |name: &str, k: &str| read["metrics"][name]["by_k"][k]["value"].clone();
    // Of two tasks one is resolved in one of two trials.
    assert_eq!((at("pass_at_k", "1"), at("pass_at_k", "2")), (value!(0.25), value!(0.5)));
    let mut reversed = rows;
    reversed.reverse();
    let other = report(&[&trials(&Folder::new(), "r", &reversed)]);
    assert_eq!(other["metrics"], read["metrics"]);
}

/// Row 30: the number of accepted instances fell between two reports, because the test of success
/// read a field that some records did not have.
#[test]
fn a_rule_that_reads_a_field_some_runs_lack_says_how_many_it_could_not_judge() {
    let folder = Folder::new();
    let path = folder.file(
        "runs.jsonl",
        "{\"task_id\": \"a\", \"score\": 1, \"turns\": 9}\n{\"task_id\": \"b\", \"score\": 1}\n{\"task_id\": \"c\", \"score\": 0, \"turns\": 9}\n",
    );
    let rules = value!({"evaluation": {"final_passed": "final.score >= 0.5 && final.turns > 3"}});
    let config = folder.file("c.json", rules.to_string());
    let read = report(&[&path, "-c", &config]);
    assert_eq!(read["runs"]["completed"], 1);
    let told = warning(&read, "expression_unevaluable");
    assert_eq!(told["count"], 1, "{told}");
    assert!(told["message"].as_str().unwrap().contains("turns"), "{told}");
}
