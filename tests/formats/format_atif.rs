//! ATIF trajectories: chains, copies, subagents.

use crate::cli::{Folder, figure, figures_are, fixture, json, report};
use crate::support::shared;

#[test]
fn a_chain_with_its_subagents_is_one_run_and_copies_count_once() {
    let path = fixture("atif");
    let found = report(&[&path]);
    assert_eq!((&found["runs"]["total"], &found["counts"]["attempts"]), (&1.into(), &6.into()));
    figures_are(&found, &[("step_error_rate", 0.166667, 1.0, 6.0)]);
    // Six requests in three files and one embedded document; the sums at the ends are not added.
    assert_eq!(figure(&found, "total_tokens").1, Some(660.0));
    assert_eq!(found["distributions"]["error_type"]["exit_code"], 1);
    let inspected = json(&["inspect", &path]);
    assert_eq!(inspected["tokens"]["cache_read"], 120.0);
    let copied =
        inspected["issues"].as_array().unwrap().iter().find(|i| i["code"] == "copied_context");
    assert_eq!(copied.unwrap()["count"], 3);
}

#[test]
fn parts_alone_are_runs_by_themselves() {
    let part = report(&[&fixture("atif/trajectory.cont-1.json")]);
    assert_eq!((&part["runs"]["total"], &part["counts"]["attempts"]), (&1.into(), &1.into()));
}

#[test]
fn documents_that_continue_each_other_in_a_circle_end() {
    let folder = Folder::new();
    let document = |next: &str| {
        format!(
            "{{\"schema_version\":\"ATIF-v1.5\",\"session_id\":\"s\",\"agent\":{{\"name\":\"{next}\"}},\
             \"steps\":[],\"continued_trajectory_ref\":\"{next}\"}}"
        )
    };
    folder.file("a.json", document("b.json"));
    folder.file("b.json", document("a.json"));
    folder.file("c.json", document("c.json"));
    let found = report(&[&folder.at("")]);
    assert_eq!(found["runs"]["total"], 2);
}

#[test]
fn real_chains_add_up_to_what_their_last_file_says() {
    let Some(path) = shared("data/harbor_atif/golden") else { return };
    let at = |name: &str| path.join(name).to_str().unwrap().to_owned();
    let stem = "terminus_2_hello-world-context-summarization";
    let names = [
        "trajectory.json",
        "trajectory.summarization-1-answers.json",
        "trajectory.summarization-1-questions.json",
        "trajectory.summarization-1-summary.json",
    ];
    let files: Vec<String> = names.iter().map(|name| at(&format!("{stem}.{name}"))).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let found = report(&files);
    assert_eq!(found["runs"]["total"], 1);
    assert_eq!(figure(&found, "total_tokens").1, Some(7802.0 + 1030.0));
    let chain = [
        at(&format!("{stem}-linear-history.trajectory.json")),
        at(&format!("{stem}-linear-history.trajectory.cont-1.json")),
    ];
    let found = report(&[&chain[0], &chain[1]]);
    assert_eq!((&found["runs"]["total"], &found["counts"]["attempts"]), (&1.into(), &7.into()));
    assert_eq!(figure(&found, "total_tokens").1, Some(2252.0 + 160.0 + 4250.0 + 530.0));
    let back = report(&[&chain[1], &chain[0]]);
    assert_eq!(back["metrics"], found["metrics"]);
}

#[test]
fn an_answer_that_could_not_be_parsed_is_a_failed_step() {
    let name = "data/harbor_atif/golden/terminus_2_hello-world-invalid-json.trajectory.json";
    let Some(path) = shared(name) else { return };
    let found = report(&[path.to_str().unwrap()]);
    assert_eq!(found["distributions"]["error_type"]["invalid_response"], 1);
    assert_eq!(figure(&found, "step_error_rate").1, Some(1.0));
}

#[test]
fn counts_that_are_withheld_are_not_zero() {
    let Some(path) = shared("data/harbor_atif/openagents_login_trace.json") else { return };
    let found = report(&[path.to_str().unwrap()]);
    assert_eq!(found["counts"]["attempts"], 6);
    assert_eq!(figure(&found, "total_tokens").0, None);
}
