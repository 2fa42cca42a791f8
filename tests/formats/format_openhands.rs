//! OpenHands: evaluation outputs, trajectories, resolver outputs and SDK events.

use crate::cli::{Folder, figure, figures_are, fixture, json, report};
use crate::support::shared;

fn text(path: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn exit_codes_texts_and_the_runs_own_error_are_failures_of_their_kind() {
    let found = report(&[&fixture("openhands/output.jsonl")]);
    assert_eq!(found["runs"]["total"], 3);
    assert_eq!(
        (&found["runs"]["completed"], &found["runs"]["failed"], &found["runs"]["unknown"]),
        (&1.into(), &1.into(), &1.into())
    );
    let types = &found["distributions"]["error_type"];
    assert_eq!((&types["exit_code"], &types["unspecified"]), (&1.into(), &1.into()), "{types:#}");
    // The fifth response led to no event, and is counted too.
    assert_eq!(figure(&found, "total_tokens").1, Some(550.0));
    let inspected = json(&["inspect", &fixture("openhands/output.jsonl")]);
    assert_eq!(inspected["tokens"]["cache_read"], 200.0);
}

#[test]
fn sdk_events_give_the_same_figures_in_any_order_and_as_a_folder_of_files() {
    let lines = text(&fixture("openhands/events.jsonl"));
    let folder = Folder::new();
    let plain = report(&[&folder.file("a/events.jsonl", &lines)]);
    assert_eq!(plain["counts"]["attempts"], 5);
    assert_eq!(plain["runs"]["unknown"], 1, "finished is not succeeded");
    figures_are(&plain, &[("step_error_rate", 0.5, 2.0, 4.0)]);
    assert_eq!(figure(&plain, "total_tokens").1, Some(960.0));
    let reversed: Vec<&str> = lines.lines().rev().collect();
    let mut shuffled: Vec<&str> = lines.lines().collect();
    shuffled.sort_by_key(|line| line.bytes().map(u64::from).sum::<u64>() % 7);
    for (nth, lines) in [reversed, shuffled].into_iter().enumerate() {
        let again = report(&[&folder.file(&format!("b{nth}/events.jsonl"), lines.join("\n"))]);
        assert_eq!(again["metrics"], plain["metrics"]);
        assert_eq!(again["distributions"], plain["distributions"]);
    }
    for (nth, line) in lines.lines().enumerate() {
        folder.file(&format!("c/events/event-{nth:05}-x.json"), line);
    }
    let files = report(&[&folder.at("c")]);
    assert_eq!(files["metrics"], plain["metrics"]);
}

#[test]
fn two_conversations_in_two_folders_are_two_runs() {
    let folder = Folder::new();
    let lines = text(&fixture("openhands/events.jsonl"));
    for (nth, line) in lines.lines().enumerate() {
        folder.file(&format!("x/events/event-{nth:05}.json"), line);
        let other = line.replace("4000-8000", "4000-9000");
        folder.file(&format!("y/events/event-{nth:05}.json"), other);
    }
    let found = report(&[&folder.at("")]);
    assert_eq!((&found["runs"]["total"], &found["counts"]["attempts"]), (&2.into(), &10.into()));
}

#[test]
fn a_resolvers_events_without_ids_are_paired_in_order() {
    let found = report(&[&fixture("openhands/resolver.jsonl")]);
    assert_eq!(found["runs"]["completed"], 1);
    figures_are(&found, &[("step_error_rate", 0.5, 1.0, 2.0)]);
    assert_eq!(found["counts"]["revised_retries"], 1);
}

#[test]
fn reversed_events_of_a_trajectory_give_the_same_figures() {
    let folder = Folder::new();
    let plain = report(&[&fixture("openhands/trajectory.json")]);
    figures_are(&plain, &[("step_error_rate", 0.666667, 2.0, 3.0)]);
    let mut events: Vec<serde_json::Value> =
        serde_json::from_str(&text(&fixture("openhands/trajectory.json"))).unwrap();
    events.reverse();
    let again = report(&[&folder.file("t.json", serde_json::to_string(&events).unwrap())]);
    assert_eq!(again["metrics"], plain["metrics"]);
}

#[test]
fn real_files_are_known_with_their_failures() {
    let wanted = [
        // Two exit codes, eleven refusals of the editor, and a call that could not be read.
        ("openhands/eval_output_multi_swe_1line.jsonl", 33, 14, Some(415_325.0), "unknown"),
        ("openhands/sdk_v1_events.jsonl", 3, 3, Some(108_805.0), "unfinished"),
        ("openhands/traj_basic.json", 1, 0, Some(9444.0), "unknown"),
        ("openhands/traj_basic_interactions.json", 0, 0, Some(2483.0), "unknown"),
        ("openhands/traj_wrong_initial_state.json", 3, 0, Some(15_186.0), "unknown"),
        ("harbor_atif/rfc_native_openhands_trajectory.json", 1, 0, Some(12_945.0), "unknown"),
    ];
    for (name, attempts, errors, tokens, outcome) in wanted {
        let Some(path) = shared(&format!("data/{name}")) else { return };
        let found = report(&[path.to_str().unwrap()]);
        assert_eq!(found["inputs"][0]["format"], "openhands", "{name}");
        assert_eq!(found["counts"]["attempts"], attempts, "{name}");
        let (_, failed, _) = figure(&found, "step_error_rate");
        assert_eq!(failed, Some(f64::from(errors)), "{name}");
        assert_eq!(figure(&found, "total_tokens").1, tokens, "{name}");
        assert_eq!(found["runs"][outcome], 1, "{name}");
    }
}

/// Two trials that broke before their first event were one run.
#[test]
fn two_crashed_trials_without_a_history_are_two_runs() {
    let folder = Folder::new();
    let line = |dir: &str| {
        format!(
            r#"{{"instance_id":"a","history":[],"error":"RuntimeError: no","metadata":{{"agent_class":"A","eval_output_dir":"{dir}"}},"test_result":{{}}}}"#
        )
    };
    folder.file("one/output.jsonl", line("out/run_1"));
    folder.file("two/output.jsonl", line("out/run_2"));
    assert_eq!(report(&[&folder.at("")])["runs"]["total"], 2);
}

#[test]
fn trials_with_the_same_history_are_told_apart_by_their_attempt() {
    let folder = Folder::new();
    let line = |attempt: u8| {
        format!(
            r#"{{"instance_id":"a","attempt":{attempt},"metadata":{{}},"test_result":{{}},"history":[{{"id":1,"source":"agent","action":"run","args":{{"command":"ls"}}}}]}}"#
        )
    };
    let path = folder.file("output.jsonl", [line(1), line(2), line(2)].join("\n"));
    assert_eq!(report(&[&path])["runs"]["total"], 2);
}

/// The output that was read first had no report, and the evaluated copy was dropped with it.
#[test]
fn of_two_copies_of_an_output_the_report_counts_in_any_order() {
    let line = |report: &str| {
        format!(
            r#"{{"instance_id":"a","metadata":{{}},"test_result":{{{report}}},"history":[{{"id":1,"source":"agent","action":"run","args":{{"command":"ls"}}}}]}}"#
        )
    };
    let (plain, evaluated) = (line(""), line(r#""report":{"resolved":true}"#));
    for lines in [[&plain, &evaluated], [&evaluated, &plain]] {
        let folder = Folder::new();
        folder.file("a.jsonl", lines[0]);
        folder.file("b.jsonl", lines[1]);
        let found = report(&[&folder.at("")]);
        assert_eq!((&found["runs"]["total"], &found["runs"]["completed"]), (&1.into(), &1.into()));
    }
}
