//! tau2-bench: the file, the folder, and what is not the agent's in them.

use crate::cli::{Folder, figures_are, fixture, json, report, run, warning};
use crate::support;
use serde_json::{Value, json as value};

fn inspect(path: &str) -> Value {
    json(&["inspect", path])
}

/// Fails unless every record of every file ended in one place.
#[track_caller]
fn adds_up(inspected: &Value) {
    for file in inspected["inputs"].as_array().unwrap() {
        let sum = |key: &str| -> u64 {
            file[key].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
        };
        let count = |key: &str| file[key].as_u64().unwrap();
        let ends = count("used") + sum("merged") + sum("ignored") + count("rejected");
        assert_eq!(count("records"), ends, "{file:#}");
    }
}

#[track_caller]
fn issue<'i>(inspected: &'i Value, code: &str) -> &'i Value {
    let all = inspected["issues"].as_array().unwrap();
    all.iter().find(|issue| issue["code"] == code).unwrap_or_else(|| panic!("{code} in {all:#?}"))
}

#[test]
fn a_file_gives_its_runs_with_agent_model_and_domain_from_its_head() {
    let path = fixture("tau2/three_runs.json");
    let inspected = inspect(&path);
    adds_up(&inspected);
    assert_eq!(inspected["inputs"][0]["format"], "tau2");
    assert_eq!((&inspected["runs"], &inspected["attempts"]), (&value!(3), &value!(5)));
    let report = report(&[&path, "--by", "agent"]);
    assert_eq!(report["groups"][0]["by"]["agent"], "llm_agent");
    assert_eq!((&report["runs"]["completed"], &report["runs"]["failed"]), (&value!(1), &value!(1)));
    assert_eq!(report["runs"]["unknown"], 1, "without a reward the outcome is unknown");
    // 100+10+120+10+140+20+160+15 of the first run, 110 of the second, none of the third.
    figures_are(&report, &[("total_tokens", 342.5, 685.0, 2.0)]);
}

#[test]
fn an_error_flag_fails_a_call_and_the_same_tool_again_is_a_retry() {
    let report = report(&[&fixture("tau2/three_runs.json")]);
    // get_line failed and passed; enable_roaming and send_note passed; the last call is open.
    figures_are(&report, &[("step_error_rate", 0.25, 1.0, 4.0)]);
    assert_eq!(report["metrics"]["avg_retry_count"]["numerator"], 1.0);
}

#[test]
fn a_head_without_simulations_names_agent_and_model_of_the_runs_beside_it() {
    let folder = fixture("tau2/folder");
    let inspected = inspect(&folder);
    adds_up(&inspected);
    assert_eq!(inspected["inputs"][0]["merged"], value!({"folder_head": 1}));
    assert_eq!(inspected["runs"], 2);
    let grouped = report(&[&folder, "--by", "model"]);
    assert_eq!(grouped["groups"].as_array().map(Vec::len), Some(1));
    assert_eq!(grouped["groups"][0]["by"]["model"], "heron-live");
    // The runs alone say neither, which is told.
    let alone = inspect(&format!("{folder}/simulations"));
    assert_eq!(issue(&alone, "folder_head_missing")["count"], 2);
}

#[test]
fn the_same_folder_is_read_in_any_order_with_the_same_figures() {
    let at = |name: &str| fixture(&format!("tau2/folder/{name}"));
    let (head, d, e) =
        (at("results.json"), at("simulations/run-d.json"), at("simulations/run-e.json"));
    let one = report(&[&head, &d, &e, "--by", "model"]);
    let other = report(&[&e, &d, &head, "--by", "model"]);
    assert_eq!(one["metrics"], other["metrics"]);
    assert_eq!(one["groups"], other["groups"]);
}

#[test]
fn voice_runs_with_ticks_alone_have_no_known_steps_which_is_not_zero() {
    let path = fixture("tau2/folder/simulations/run-d.json");
    let report = report(&[&path]);
    warning(&report, "steps_not_recorded");
    warning(&report, "outcome_not_recorded");
    assert_eq!(report["metrics"]["avg_steps"]["value"], Value::Null);
    assert_eq!(report["metrics"]["duration_seconds"]["value"], 10.0);
}

#[test]
fn a_run_that_is_stored_twice_counts_once() {
    let folder = Folder::new();
    let text = std::fs::read(fixture("tau2/three_runs.json")).unwrap();
    folder.file("a/results.json", &text);
    folder.file("b/copy.json", &text);
    let inspected = inspect(folder.path().to_str().unwrap());
    adds_up(&inspected);
    assert_eq!(inspected["runs"], 3);
    assert_eq!(inspected["inputs"][1]["merged"], value!({"run_stored_twice": 1}));
}

#[test]
fn a_simulation_that_cannot_be_read_is_told_and_costs_no_other() {
    let folder = Folder::new();
    let path = folder.file(
        "x.json",
        r#"{"info": {}, "tasks": [], "simulations": [{"id": "a", "task_id": "t", "termination_reason": "user_stop", "messages": 7}, {"id": "b", "task_id": "t", "termination_reason": "user_stop", "messages": [], "reward_info": {"reward": 1}}, {"x": 1}]}"#,
    );
    let inspected = inspect(&path);
    assert_eq!(inspected["runs"], 1);
    let parts = &inspected["inputs"][0]["rejected_parts"];
    assert_eq!(parts, &value!({"unreadable_messages": 1, "not_a_simulation": 1}));
}

#[test]
fn a_file_that_is_cut_off_gives_the_runs_before_the_cut() {
    let folder = Folder::new();
    let text = std::fs::read(fixture("tau2/three_runs.json")).unwrap();
    let at = text.windows(14).position(|part| part == b"\"id\": \"run-b\",").unwrap();
    let path = folder.file("cut.json", &text[..at + 200]);
    let ran = run(&["inspect", &path, "--output", "json"]);
    assert_eq!(ran.json()["runs"], 1, "{ran:?}");
    assert!(ran.json()["inputs"][0]["rejected"].as_u64() > Some(0), "{ran:?}");
}

#[test]
fn the_published_airline_runs_have_their_published_figures() {
    let Some(path) = support::shared("data/tau2_bench/gpt-4.1_airline_cut.json") else { return };
    let report = report(&[path.to_str().unwrap()]);
    assert_eq!((&report["runs"]["completed"], &report["runs"]["failed"]), (&value!(4), &value!(3)));
    figures_are(&report, &[("step_error_rate", 0.026316, 1.0, 38.0)]);
}

#[test]
fn published_files_are_told_by_content_and_a_leaderboard_row_is_none() {
    let Some(folder) = support::shared("data/tau2_bench") else { return };
    let folder = folder.to_str().unwrap();
    let inspected = inspect(folder);
    adds_up(&inspected);
    let formats: Vec<_> = inspected["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            let path = file["path"].as_str().unwrap();
            (
                path.strip_prefix(folder).unwrap().to_owned(),
                file["format"].clone(),
                file["runs"].clone(),
            )
        })
        .collect();
    let uuid = "49b22f0c-4a56-41c5-922f-bc2a56e53a23";
    let wanted = [
        ("/activegraph_20260531-042306-420109.results.json".to_owned(), value!("tau2"), value!(1)),
        ("/activegraph_20260531-191847-173904.results.json".to_owned(), value!("tau2"), value!(1)),
        ("/dir_layout_voice/results.json".to_owned(), value!("tau2"), value!(0)),
        (format!("/dir_layout_voice/simulations/{uuid}.json"), value!("tau2"), value!(1)),
        ("/gpt-4.1_airline_cut.json".to_owned(), value!("tau2"), value!(7)),
        ("/leaderboard_submission_gpt-5.json".to_owned(), Value::Null, value!(0)),
    ];
    assert_eq!(formats, wanted);
    let voice = report(&[&format!("{folder}/dir_layout_voice"), "--by", "model"]);
    assert_eq!(voice["groups"][0]["by"]["model"], "openai:gpt-realtime-2");
    assert_eq!(voice["runs"]["unknown"], 1);
}

#[test]
fn tools_that_the_simulated_user_calls_are_nobodys_steps() {
    let name = "data/tau2_bench/activegraph_20260531-191847-173904.results.json";
    let Some(path) = support::shared(name) else { return };
    let text = std::fs::read_to_string(&path).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let by = |side: &str| {
        let messages = file["simulations"][0]["messages"].as_array().unwrap();
        messages.iter().filter(|m| m["role"] == "tool" && m["requestor"] == side).count()
    };
    let inspected = inspect(path.to_str().unwrap());
    assert_eq!(inspected["attempts"], by("assistant"));
    assert_eq!(issue(&inspected, "calls_of_the_user")["count"], by("user"));
    assert!(by("user") > 0);
}
