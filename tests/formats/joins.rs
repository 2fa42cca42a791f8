//! Outcomes that stand in files beside trajectories, joined through the program.

use crate::cli;
use crate::cli::{Folder, figures_are, json, report, run, run_with_input, warning};
use crate::support::shared;
use serde_json::{Value, json as value};

/// Issues of an inspection: code and how often.
fn issues(inspected: &Value) -> Vec<(String, u64)> {
    let all = inspected["issues"].as_array().unwrap();
    let of = |issue: &Value| {
        (issue["code"].as_str().unwrap().to_owned(), issue["count"].as_u64().unwrap())
    };
    all.iter().map(of).collect()
}

fn has_issue(inspected: &Value, code: &str, count: u64) -> bool {
    issues(inspected).contains(&(code.to_owned(), count))
}

/// A trajectory whose one command tells its agent apart.
fn trajectory(id: &str, command: &str) -> String {
    value!({
        "info": {"exit_status": "Submitted", "submission": "diff",
                 "model_stats": {"instance_cost": 0.1, "api_calls": 1}},
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": format!("```bash\n{command}\n```")},
            {"role": "user", "content": "<returncode>0</returncode>\n<output>\n</output>"},
        ],
        "trajectory_format": "mini-swe-agent-1",
        "instance_id": id,
    })
    .to_string()
}

fn outcome(resolved: bool) -> String {
    value!({"patch_exists": true, "patch_successfully_applied": true, "resolved": resolved})
        .to_string()
}

fn results(resolved: &[&str], unresolved: &[&str]) -> String {
    value!({"total_instances": 9, "resolved_ids": resolved, "unresolved_ids": unresolved})
        .to_string()
}

fn outcomes(report: &Value) -> [u64; 3] {
    ["completed", "failed", "unknown"].map(|outcome| report["runs"][outcome].as_u64().unwrap())
}

fn left_out<'v>(inspected: &'v Value, ending: &str) -> &'v Value {
    let files = inspected["inputs"].as_array().unwrap();
    let found = files.iter().find(|file| file["path"].as_str().unwrap().ends_with(ending));
    found.unwrap_or_else(|| panic!("no {ending} in {files:#?}"))
}

#[test]
fn the_report_beside_each_trajectory_says_whether_it_is_resolved() {
    let Some(path) = shared("data/mini_swe_agent/gemini3pro_run") else { return };
    let path = path.to_str().unwrap();
    let found = report(&[path]);
    assert_eq!(outcomes(&found), [2, 2, 0]);
    let inspected = json(&["inspect", path]);
    assert!(has_issue(&inspected, "outcomes_joined", 4), "{:?}", issues(&inspected));
    let file = left_out(&inspected, "django__django-11163/report.json");
    assert_eq!(file["left_out_as"], "sidecar");
    assert!(
        file["left_out"]
            .as_str()
            .unwrap()
            .contains("1 outcome, 1 of runs among the inputs, 1 joined")
    );
    assert_eq!(left_out(&inspected, "preds.json")["left_out_as"], "not_a_trace");
}

#[test]
fn a_table_of_outcomes_completes_runs_and_what_has_no_run_is_counted() {
    let Some(table) = shared("data/mini_swe_agent/gemini3pro_results_summary.csv") else { return };
    let Some(run) = shared("data/mini_swe_agent/gemini3pro_run") else { return };
    let folder = Folder::new();
    for id in ["django__django-10999", "django__django-11163"] {
        let text = std::fs::read(run.join(id).join(format!("{id}.traj.json"))).unwrap();
        folder.file(&format!("{id}.traj.json"), text);
    }
    folder.file("results_summary.csv", std::fs::read(table).unwrap());
    let path = folder.at("");
    let found = report(&[&path]);
    assert_eq!(outcomes(&found), [1, 1, 0]);
    assert_eq!(warning(&found, "outcomes_without_run")["count"], 498);
}

#[test]
fn restarts_of_a_batch_are_told_and_marked_on_their_runs() {
    let Some(folder) = shared("data/mini_swe_agent") else { return };
    let inspected = json(&["inspect", folder.to_str().unwrap()]);
    let told = |name: &str| left_out(&inspected, name)["left_out"].as_str().unwrap().to_owned();
    assert!(told("1763506501.7698028.yaml").ends_with("26 instances, 0 of them run again"));
    assert!(told("1763512725.4782486.yaml").ends_with("15 instances, 15 of them run again"));

    let folder = Folder::new();
    folder.file("trajs/x__y-1.traj.json", trajectory("x__y-1", "ls"));
    folder.file(
        "trajs/exit_statuses_1.yaml",
        "instances_by_exit_status:\n  RetryError:\n  - x__y-1\n",
    );
    folder.file(
        "trajs/exit_statuses_2.yaml",
        "instances_by_exit_status:\n  Submitted:\n  - x__y-1\n",
    );
    let found = report(&[&folder.at(""), "--by", "tag:earlier_exit_status"]);
    assert_eq!(
        found["groups"][0]["by"]["tag:earlier_exit_status"], "RetryError",
        "{:#}",
        found["groups"]
    );
}

#[test]
fn unmatched_on_both_sides_are_counted_and_not_joined() {
    let folder = Folder::new();
    folder.file("a.traj.json", trajectory("a", "ls"));
    folder.file("b.traj.json", trajectory("b", "pwd"));
    folder.file("results.json", results(&["a", "z"], &["y"]));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [1, 0, 1]);
    assert_eq!(warning(&found, "runs_without_outcome")["count"], 1);
    assert_eq!(warning(&found, "outcomes_without_run")["count"], 2);
}

#[test]
fn each_agents_folder_keeps_its_own_outcomes_of_the_same_instances() {
    let folder = Folder::new();
    for (agent, resolved) in [("one", true), ("two", false)] {
        folder.file(&format!("{agent}/trajs/a/a.traj.json"), trajectory("a", agent));
        // The harness writes its reports in a tree beside that of the trajectories.
        folder.file(&format!("{agent}/logs/a/report.json"), outcome(resolved));
        folder.file(&format!("{agent}/trajs/b/b.traj.json"), trajectory("b", agent));
    }
    // Only one of them was evaluated on b: the other must not take that outcome.
    folder.file("one/logs/b/report.json", outcome(true));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [2, 1, 1]);
    assert_eq!(warning(&found, "runs_without_outcome")["count"], 1);
    let alone = report(&[&folder.at("two")]);
    assert_eq!(outcomes(&alone), [0, 1, 1]);
}

#[test]
fn the_nearest_file_above_a_run_counts() {
    let folder = Folder::new();
    folder.file("one/a.traj.json", trajectory("a", "ls"));
    folder.file("one/results.json", results(&["a"], &[]));
    folder.file("results.json", results(&[], &["a"]));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [1, 0, 0]);
    assert_eq!(warning(&found, "conflicting_outcomes")["count"], 1);
}

#[test]
fn files_that_contradict_each_other_are_told_and_not_joined() {
    let folder = Folder::new();
    folder.file("a.traj.json", trajectory("a", "ls"));
    folder.file("results.json", results(&["a"], &[]));
    folder.file("table.csv", "instance_id,resolved\na,False\n");
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [0, 0, 1]);
    assert_eq!(warning(&found, "conflicting_outcomes")["count"], 1);
    // Agreement is none.
    folder.file("table.csv", "instance_id,resolved\na,True\n");
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [1, 0, 0]);
    assert_eq!(found["warnings"].as_array().unwrap().len(), 0, "{:#}", found["warnings"]);
}

#[test]
fn members_of_a_zip_are_joined_like_files_of_a_folder() {
    let folder = Folder::new();
    let path = folder.path().join("runs.zip");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    for (name, text) in [
        ("a/a.traj.json", trajectory("a", "ls")),
        ("a/report.json", outcome(true)),
        ("b/b.traj.json", trajectory("b", "pwd")),
        ("b/report.json", outcome(false)),
    ] {
        zip.start_file(name, options).unwrap();
        std::io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let found = report(&[path.to_str().unwrap()]);
    assert_eq!(outcomes(&found), [1, 1, 0]);
}

/// What is too large to be held is opened once more, also inside an archive.
#[test]
fn large_trajectories_are_read_again_when_all_outcomes_are_known() {
    let folder = Folder::new();
    let large = trajectory("a", &format!("echo {}", "x".repeat(5 << 20)));
    folder.file("plain/a.traj.json", &large);
    folder.file("plain/results.json", results(&["a"], &[]));
    assert_eq!(outcomes(&report(&[&folder.at("plain")])), [1, 0, 0]);
    let path = folder.path().join("runs.zip");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    for (name, text) in [("a.traj.json", &large), ("results.json", &results(&["a"], &[]))] {
        zip.start_file(name, options).unwrap();
        std::io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let inspected = json(&["inspect", path.to_str().unwrap()]);
    assert_eq!(inspected["runs"], 1);
    assert!(has_issue(&inspected, "outcomes_joined", 1), "{:?}", issues(&inspected));
    assert_eq!(outcomes(&report(&[path.to_str().unwrap()])), [1, 0, 0]);
}

#[test]
fn a_run_through_standard_input_is_joined_too() {
    let folder = Folder::new();
    let results = folder.file("results.json", results(&["a"], &[]));
    let args = ["analyze", "-", &results, "--output", "json"];
    let found = run_with_input(&args, trajectory("a", "ls").as_bytes()).json();
    assert_eq!(outcomes(&found), [1, 0, 0]);
}

#[test]
fn the_result_does_not_depend_on_threads_or_on_the_order_of_inputs() {
    let folder = Folder::new();
    for n in 0..40 {
        let id = format!("x-{n}");
        folder.file(&format!("{id}/{id}.traj.json"), trajectory(&id, &id));
        folder.file(&format!("{id}/report.json"), outcome(n % 3 == 0));
    }
    let path = folder.at("");
    let one = run(&["analyze", &path, "--threads", "1", "--output", "json"]);
    let four = run(&["analyze", &path, "--threads", "4", "--output", "json"]);
    assert_eq!(one.out, four.out);
    let (first, second) = (folder.at("x-0/report.json"), folder.at("x-0/x-0.traj.json"));
    let forth = report(&[&first, &second]);
    let back = report(&[&second, &first]);
    assert_eq!(outcomes(&forth), [1, 0, 0]);
    assert_eq!(forth["metrics"], back["metrics"]);
}

#[test]
fn files_of_outcomes_alone_are_an_error_that_says_what_is_missing() {
    let folder = Folder::new();
    let table =
        folder.file("t.csv", "instance_id,resolved,patch_applied\na,True,True\nb,False,True\n");
    let report_file = folder.file("report.json", outcome(true));
    run(&["inspect", &table]).refused(2, &["no trajectory", "--format runs-table"]);
    run(&["inspect", &report_file]).refused(2, &["no trajectory", "give the trajectories too"]);
    let found = report(&[&table, "--format", "runs-table"]);
    assert_eq!(outcomes(&found), [1, 1, 0]);
}

#[test]
fn a_broken_file_of_outcomes_is_told_and_stops_a_strict_run() {
    let folder = Folder::new();
    folder.file("a.traj.json", trajectory("a", "ls"));
    folder.file("table.csv", "instance_id,resolved\na,True\nb,perhaps\n");
    let path = folder.at("");
    let inspected = json(&["inspect", &path]);
    assert_eq!(left_out(&inspected, "table.csv")["rejected_parts"]["unreadable_outcome"], 1);
    assert_eq!(outcomes(&report(&[&path])), [1, 0, 0]);
    run(&["analyze", &path, "--strict"]).refused(2, &["unreadable_outcome", "row 3"]);
}

#[test]
fn what_a_file_adds_is_seen_by_expressions_and_as_a_tag() {
    let folder = Folder::new();
    folder.file("a.traj.json", trajectory("a", "ls"));
    folder.file("index.json", r#"{"a": {"cost": 7.5, "resolved": true}}"#);
    let config = folder
        .file("agenteval.json", r#"{"evaluation": {"final_passed": "final.resolved == true"}}"#);
    let found = report(&[&folder.at(""), "-c", &config, "--by", "tag:outcome_from"]);
    assert_eq!(outcomes(&found), [1, 0, 0]);
    assert_eq!(found["groups"][0]["by"]["tag:outcome_from"], "index.json", "{:#}", found["groups"]);
    // The run's own cost counts.
    figures_are(&found, &[("cost_usd", 0.1, 0.1, 1.0)]);
}

#[test]
fn outcomes_by_instance_and_evaluated_outputs_are_known() {
    let output = |id: &str| {
        value!({"instance_id": id, "history": [
            {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}},
            {"id": 2, "source": "agent", "cause": 1, "observation": "run", "content": id,
             "extras": {"metadata": {"exit_code": 0}}}], "metadata": {}, "test_result": {}})
        .to_string()
    };
    let folder = Folder::new();
    folder.file("output.jsonl", [output("a"), output("b"), output("c")].join("\n"));
    folder.file(
        "output.swebench_eval.jsonl",
        "{\"instance_id\":\"a\",\"test_result\":{\"report\":{\"resolved\":true}}}\n\
         {\"instance_id\":\"b\",\"test_result\":{\"report\":{\"resolved\":false}}}\n",
    );
    assert_eq!(outcomes(&report(&[&folder.at("")])), [1, 1, 1]);
}

#[test]
fn a_trial_and_its_trajectory_are_one_run_and_a_result_alone_is_one_too() {
    let path = cli::fixture("harbor/job");
    let found = report(&[&path]);
    assert_eq!(found["runs"]["total"], 3);
    assert_eq!(outcomes(&found), [1, 2, 0]);
    let inspected = json(&["inspect", &path]);
    let file = left_out(&inspected, "calc__aaaaaaa/result.json");
    assert_eq!(file["left_out_as"], "sidecar");
    let job = left_out(&inspected, "job/result.json");
    assert!(job["left_out"].as_str().unwrap().contains("3 trials, 1 errors, 1 retries"));
}

#[test]
fn an_agents_own_record_beside_its_atif_trajectory_is_not_a_second_run() {
    let folder = Folder::new();
    for name in ["result.json", "agent/trajectory.json"] {
        let text = std::fs::read(format!(
            "{}/fixtures/harbor/job/calc__aaaaaaa/{name}",
            env!("CARGO_MANIFEST_DIR")
        ));
        folder.file(&format!("calc__aaaaaaa/{name}"), text.unwrap());
    }
    folder.file("calc__aaaaaaa/agent/mini.trajectory.json", trajectory("calc", "ls"));
    let found = report(&[&folder.at("")]);
    assert_eq!(found["runs"]["total"], 1);
    assert_eq!(outcomes(&found), [1, 0, 0]);
}

/// Only one of two models was evaluated: the other's run of the same task took its outcome.
#[test]
fn an_outcome_of_one_model_is_not_given_to_the_run_of_another() {
    let folder = Folder::new();
    for model in ["modelX", "modelY"] {
        folder.file(&format!("trajs/{model}/a/a.traj.json"), trajectory("a", model));
    }
    folder.file("logs/modelX/a/report.json", outcome(true));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [1, 0, 1]);
    assert_eq!(warning(&found, "runs_without_outcome")["count"], 1);
    // The name of a file may say the model too.
    std::fs::remove_dir_all(folder.path().join("logs")).unwrap();
    folder.file("trajs/modelY.run-1.json", results(&[], &["a"]));
    assert_eq!(outcomes(&report(&[&folder.at("")])), [0, 1, 1]);
}

#[test]
fn an_outcome_beside_the_folders_of_several_runs_is_told_as_ambiguous() {
    let folder = Folder::new();
    for model in ["modelX", "modelY"] {
        folder.file(&format!("trajs/{model}/a/a.traj.json"), trajectory("a", model));
    }
    folder.file("logs/a/report.json", outcome(true));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [0, 0, 2]);
    assert_eq!(warning(&found, "ambiguous_outcomes")["count"], 2);
}

#[test]
fn one_outcome_above_several_trials_of_a_task_is_given_to_none() {
    let folder = Folder::new();
    folder.file("run1/a.traj.json", trajectory("a", "ls"));
    folder.file("run2/a.traj.json", trajectory("a", "pwd"));
    folder.file("run2/b.traj.json", trajectory("b", "pwd"));
    folder.file("results.json", results(&["a", "b"], &[]));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [1, 0, 2], "only b has one run");
    assert_eq!(warning(&found, "ambiguous_outcomes")["count"], 2);
    // A run in the file's own folder is nearer.
    folder.file("a.traj.json", trajectory("a", "date"));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [2, 0, 2]);
}

#[test]
fn one_outcome_of_a_task_that_two_formats_ran_is_given_to_none() {
    let folder = Folder::new();
    folder.file("mini/a.traj.json", trajectory("a", "ls"));
    folder.file(
        "hands/output.jsonl",
        r#"{"instance_id": "a", "metadata": {}, "test_result": {}, "history":
            [{"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}]}"#
            .replace('\n', " "),
    );
    folder.file("results.json", results(&["a"], &[]));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [0, 0, 2]);
    assert_eq!(warning(&found, "ambiguous_outcomes")["count"], 2);
}

fn trial(folder: &Folder, names: &[&str]) {
    for name in names {
        let from =
            format!("{}/fixtures/harbor/job/calc__aaaaaaa/{name}", env!("CARGO_MANIFEST_DIR"));
        folder.file(&format!("calc__aaaaaaa/{name}"), std::fs::read(from).unwrap());
    }
}

const SESSION: &str = concat!(
    r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","timestamp":"2026-03-01T09:00:00Z","#,
    r#""message":{"role":"user","content":"Fix it"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s1","timestamp":"2026-03-01T09:00:01Z","#,
    r#""requestId":"r1","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"text","text":"Done"}],"#,
    r#""usage":{"input_tokens":1,"output_tokens":1}}}"#,
    "\n"
);

#[test]
fn a_trial_with_an_atif_trajectory_and_a_session_is_counted_once() {
    let folder = Folder::new();
    trial(&folder, &["result.json", "agent/trajectory.json"]);
    folder.file("calc__aaaaaaa/agent/sessions/p/s1.jsonl", SESSION);
    let printed = std::fs::read(cli::fixture("claude-stream/harbour_lights.jsonl")).unwrap();
    folder.file("calc__aaaaaaa/agent/claude-code.txt", printed);
    let found = report(&[&folder.at("")]);
    assert_eq!(found["runs"]["total"], 1, "{:#}", found["inputs"]);
    let inspected = json(&["inspect", &folder.at("")]);
    for name in ["s1.jsonl", "claude-code.txt"] {
        assert_eq!(left_out(&inspected, name)["left_out_as"], "repeated", "{name}");
    }
}

#[test]
fn a_trial_with_a_session_alone_is_one_run_with_the_trials_reward() {
    let folder = Folder::new();
    trial(&folder, &["result.json"]);
    folder.file("calc__aaaaaaa/agent/sessions/p/s1.jsonl", SESSION);
    let printed = std::fs::read(cli::fixture("claude-stream/harbour_lights.jsonl")).unwrap();
    folder.file("calc__aaaaaaa/agent/claude-code.txt", printed);
    let found = report(&[&folder.at("")]);
    assert_eq!(found["runs"]["total"], 1, "{:#}", found["inputs"]);
    assert_eq!(outcomes(&found), [1, 0, 0]);
    let inspected = json(&["inspect", &folder.at("")]);
    assert_eq!(left_out(&inspected, "result.json")["left_out_as"], "sidecar");
}

#[test]
fn the_same_content_under_the_name_of_another_task_is_another_run() {
    let folder = Folder::new();
    let from = cli::fixture("swe-agent/run/acme__calc-7/acme__calc-7.traj");
    let same = std::fs::read(from).unwrap();
    folder.file("one/acme__calc-7.traj", &same);
    folder.file("two/acme__calc-8.traj", &same);
    folder.file("two/copy/acme__calc-7.traj", &same);
    assert_eq!(report(&[&folder.at("")])["runs"]["total"], 2);
    // What crashed before its first step is alike in every trial.
    let empty = r#"{"environment": "e", "trajectory": [], "history": [], "info": {"exit_status": "exit_error"}}"#;
    folder.file("three/acme__calc-9.traj", empty);
    folder.file("four/acme__calc-9.traj", empty);
    assert_eq!(report(&[&folder.at("")])["runs"]["total"], 4);
}

#[test]
fn a_result_that_contradicts_a_run_is_not_told_as_joined() {
    let folder = Folder::new();
    let line = r#"{"instance_id": "a", "metadata": {}, "test_result": {"report": {"resolved": true}}, "history": [{"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}]}"#;
    folder.file("output.jsonl", line);
    folder.file("results.json", results(&[], &["a"]));
    let found = report(&[&folder.at("")]);
    assert_eq!(outcomes(&found), [1, 0, 0]);
    assert_eq!(warning(&found, "conflicting_outcomes")["count"], 1);
    let inspected = json(&["inspect", &folder.at("")]);
    let told = left_out(&inspected, "results.json")["left_out"].as_str().unwrap();
    assert!(told.ends_with("1 of runs among the inputs, 0 joined"), "{told}");
}

#[test]
fn a_run_that_was_evaluated_is_not_unfinished_whatever_the_outcome() {
    for resolved in [true, false] {
        let folder = Folder::new();
        folder.file("a.traj.json", trajectory("a", "ls").replace("\"Submitted\"", "null"));
        let ids: &[&str] = &["a"];
        let (yes, no): (&[&str], &[&str]) = if resolved { (ids, &[]) } else { (&[], ids) };
        folder.file("results.json", results(yes, no));
        let found = report(&[&folder.at("")]);
        let wanted = [u64::from(resolved), u64::from(!resolved), 0];
        assert_eq!(outcomes(&found), wanted);
        assert_eq!(found["runs"]["unfinished"], 0, "{resolved}");
    }
}

#[test]
fn why_an_evaluation_broke_does_not_depend_on_the_order_of_keys() {
    for text in [
        r#"{"total_instances": 1, "unresolved_ids": ["a"], "error_ids": ["a"]}"#,
        r#"{"total_instances": 1, "error_ids": ["a"], "unresolved_ids": ["a"]}"#,
    ] {
        let folder = Folder::new();
        folder.file("a.traj.json", trajectory("a", "ls"));
        let text = text.replace("{\"total", "{\"resolved_ids\": [], \"total");
        folder.file("results.json", text);
        let found = report(&[&folder.at(""), "--by", "tag:evaluation"]);
        assert_eq!(found["groups"][0]["by"]["tag:evaluation"], "error", "{:#}", found["groups"]);
    }
}

#[test]
fn a_trajectory_whose_head_says_resolved_is_a_run_and_no_file_of_outcomes() {
    let folder = Folder::new();
    let text = r#"{"info": {"exit_status": "Submitted", "resolved": true}, "messages": [
        {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}],
        "trajectory_format": "mini-swe-agent-1"}"#;
    let found = report(&[&folder.file("a.json", text)]);
    assert_eq!(found["runs"]["total"], 1);
}
