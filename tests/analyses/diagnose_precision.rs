//! Findings that people read in real traces and found false, each as a small trace that the rule must
//! pass over, and failures that a rule missed there and must find.

use crate::cli::{Folder, Ran, agenteval};
use serde_json::{Value, json};

/// The findings of one rule over these records.
#[track_caller]
fn findings(rule: &str, records: &[Value]) -> Vec<String> {
    let folder = Folder::new();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let (file, config) = (folder.file("runs.ndjson", lines), folder.file("c.json", "{}"));
    let args = ["diagnose", &file, "-c", &config, "-q", "--output", "json"];
    let ran = Ran::of(agenteval().args(args));
    assert_eq!(ran.code, 0, "{ran:?}");
    let answer = ran.json();
    assert!(answer["rules"][rule]["runs_examined"].as_u64() > Some(0), "not asked: {answer:#}");
    let all = answer["findings"].as_array().unwrap().iter();
    let told = |one: &Value| {
        let step = one["step"].as_u64().map_or_else(String::new, |step| format!("{step}: "));
        format!("{step}{}", one["evidence"].as_str().unwrap())
    };
    all.filter(|one| one["code"] == rule).map(told).collect()
}

/// No finding of the rule in a run of these steps.
#[track_caller]
fn quiet(rule: &str, steps: &[Value]) {
    let found = findings(rule, &[run(steps)]);
    assert!(found.is_empty(), "{found:?}");
}

/// One finding of the rule in a run of these steps.
#[track_caller]
fn one(rule: &str, steps: &[Value]) -> String {
    let found = findings(rule, &[run(steps)]);
    let [one] = found.as_slice() else { panic!("not one: {found:?}") };
    one.clone()
}

fn run(steps: &[Value]) -> Value {
    json!({"run_id": "r", "task_id": "t", "status": "completed", "steps": steps})
}

fn ok(name: &str, input: Value, output: &str) -> Value {
    json!({"type": "tool", "name": name, "status": "ok", "input": input, "output": output})
}

fn bad(name: &str, input: Value, message: &str) -> Value {
    json!({"type": "tool", "name": name, "status": "error", "input": input, "error": {"message": message}})
}

fn bash(command: &str, output: &str) -> Value {
    ok("bash", json!({"command": command}), output)
}

#[test]
fn repeated_step_took_a_check_after_a_change_for_a_step_done_twice() {
    let check = || bash("pytest -q", "3 passed");
    quiet("repeated_step", &[check(), bash("sed -i s/a/b/ f.py", ""), check()]);
    quiet("repeated_step", &[check(), ok("write_file", json!({"path": "f.py"}), "done"), check()]);
    let tests = || ok("run_tests", json!({"suite": "all"}), "3 passed");
    quiet("repeated_step", &[tests(), ok("edit", json!(1), "done"), tests()]);
}

#[test]
fn repeated_step_fires_where_nothing_changed_before_a_check_came_again() {
    let check = || bash("pytest -q", "3 passed");
    for between in [
        bash("cat f.py | head -n 3", "x"),
        ok("search", json!({"q": "x"}), "y"),
        bad("edit", json!(1), "no such line"),
    ] {
        let found = one("repeated_step", &[check(), between, check()]);
        assert!(found.starts_with("3: step 1 did the same"), "{found}");
    }
    let looks = || bash("ls -la", "a b");
    one("repeated_step", &[looks(), bash("make", "ok"), looks()]);
    // The change came before both.
    let found = one("repeated_step", &[check(), bash("make", "ok"), check(), check()]);
    assert!(found.starts_with("4: step 3"), "{found}");
}

#[test]
fn repeated_step_took_waiting_for_a_step_done_twice() {
    let sleep = || ok("terminal", json!({"keystrokes": "sleep 50\n", "duration": 50}), "");
    quiet("repeated_step", &[sleep(), sleep()]);
    let wait = || ok("wait_for_deploy", json!({"seconds": 30}), "");
    quiet("repeated_step", &[wait(), wait()]);
    let sleep_and_look = || ok("terminal", json!({"keystrokes": "sleep 5; cat log\n"}), "empty");
    one("repeated_step", &[sleep_and_look(), sleep_and_look()]);
}

#[test]
fn identical_retry_missed_the_same_failing_call_after_a_look_elsewhere() {
    let edit = || bad("edit_file", json!({"path": "a"}), "old_str is required");
    let look = || ok("view_file", json!({"path": "a"}), "x");
    let found = one("identical_retry", &[edit(), look(), edit()]);
    assert_eq!(found, "3: the same input as step 1, and it failed again in the same way");
    let other = || bad("edit_file", json!({"path": "b"}), "old_str is required");
    let found = findings("identical_retry", &[run(&[edit(), other(), edit()])]);
    assert_eq!(
        found,
        ["1: the same input as attempt 1 of this step, and it failed again in the same way"]
    );
}

#[test]
fn identical_retry_is_quiet_where_the_second_failure_is_another_or_something_was_mended() {
    let edit = |message| bad("edit_file", json!({"path": "a"}), message);
    let look = || ok("view_file", json!({"path": "a"}), "x");
    // It fails in another way: something is moving.
    let moved = [edit("line 3 is gone"), look(), edit("old_str is required"), look(), edit("busy")];
    quiet("identical_retry", &moved);
    // A check that fails again after an edit is no retry.
    let test = || bad("bash", json!({"command": "pytest -q"}), "exit code 1");
    let fixed = ok("write_file", json!({"path": "f.py"}), "done");
    quiet("identical_retry", &[test(), fixed, test()]);
    // Waiting may mend it.
    quiet("identical_retry", &[edit("timed out"), look(), edit("timed out")]);
    let wait = ok("wait", json!({"seconds": 9}), "");
    quiet("identical_retry", &[edit("still locked"), wait, edit("still locked")]);
    // It passed in between: this failure is a new one.
    let passed = ok("edit_file", json!({"path": "a"}), "done");
    quiet("identical_retry", &[edit("no"), look(), passed, look(), edit("no"), look(), edit("x")]);
    // The rule of reflections tells of it.
    let think = json!({"type": "reflection", "status": "ok"});
    quiet("identical_retry", &[edit("no"), think, edit("no"), look(), edit("other")]);
}

#[test]
fn ignored_error_took_a_tool_that_does_not_exist_for_one_to_come_back_to() {
    for message in [
        "get_weathr is not a valid tool, try one of [get_weather]",
        "AI_NoSuchToolError: no tool get_weathr",
        "Unknown tool get_weathr, should be one of: get_weather",
    ] {
        let misspelt = bad("get_weathr", json!({"city": "Paris"}), message);
        quiet("ignored_error", &[misspelt, ok("find_hotel", json!(1), "Ritz")]);
    }
    // The tool is there and its service is not: that one is passed over.
    let gone = bad("get_weather", json!({"city": "Paris"}), "unknown host");
    one("ignored_error", &[gone, ok("find_hotel", json!(1), "Ritz")]);
}

#[test]
fn ignored_error_took_a_call_that_names_no_tool_for_one_to_come_back_to() {
    let lost = json!({"type": "tool", "status": "error", "error": {"message": "no such command"}});
    quiet("ignored_error", &[lost, ok("edit", json!(1), "done")]);
    let typed = json!({"type": "retrieve", "status": "error", "error": {"message": "locked"}});
    one("ignored_error", &[typed, json!({"type": "answer", "status": "ok"})]);
}

#[test]
fn ignored_error_took_a_call_made_at_the_same_time_for_going_on() {
    let timed = |mut step: Value, from: u32, to: u32| {
        let at = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
        step["started_at"] = json!(at(from));
        step["ended_at"] = json!(at(to));
        step
    };
    let failed = || timed(bad("run_suite", json!(1), "exit code 2"), 2, 6);
    let beside = timed(ok("load", json!(1), "x"), 3, 5);
    quiet("ignored_error", &[failed(), beside.clone()]);
    let later = timed(ok("save", json!(3), "x"), 7, 8);
    let found = one("ignored_error", &[failed(), beside, later]);
    assert!(found.contains("went on with save"), "{found}");
}

#[test]
fn ignored_error_took_calls_of_one_turn_without_times_for_going_on() {
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": format!("{{\"to\": \"{id}\"}}")}});
    let asks = |calls: &[Value]| json!({"role": "assistant", "content": null, "tool_calls": calls});
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let (failed, done) = (result("a", "Error: no seats left"), result("b", "done"));
    let calls = [call("a", "change_seats"), call("b", "cancel_order")];
    let together = [asks(&calls), failed.clone(), done.clone()];
    let found = findings("ignored_error", &[json!({"messages": together})]);
    assert!(found.is_empty(), "{found:?}");
    let apart = [asks(&calls[..1]), failed, asks(&calls[1..]), done];
    let found = findings("ignored_error", &[json!({"messages": apart})]);
    assert_eq!(found.len(), 1, "{found:?}");
}

/// A run that its limit of turns ended.
fn limited(steps: &[Value]) -> Value {
    json!({"run_id": "r", "task_id": "t", "status": "failed", "end_reason": "max_turns", "steps": steps})
}

#[test]
fn no_end_condition_took_a_retry_that_passed_for_a_repetition() {
    let weather = || json!({"city": "Paris"});
    let steps = [bad("get_weather", weather(), "timed out"), ok("get_weather", weather(), "rain")];
    assert!(findings("no_end_condition", &[limited(&steps)]).is_empty());
    let news = [ok("poll", json!(1), "10%"), ok("poll", json!(1), "60%")];
    assert!(findings("no_end_condition", &[limited(&news)]).is_empty());
    let same = [ok("poll", json!(1), "10%"), ok("poll", json!(1), "10%")];
    assert_eq!(findings("no_end_condition", &[limited(&same)]).len(), 1);
}

#[test]
fn no_end_condition_missed_a_limit_that_only_the_error_of_the_run_names() {
    let weather = || ok("get_weather", json!({"city": "Paris"}), "rain");
    let ended = |error: &str| json!({"run_id": "r", "status": "failed", "final": {"error": error}, "steps": [weather(), weather()]});
    let found = findings("no_end_condition", &[ended("Max turns exceeded: {'max_turns': 2}")]);
    assert_eq!(found, ["2: 1 of the last 2 actions had been there before, mostly get_weather"]);
    // The timeout of a tool ends no circle; a second run keeps the rule asked.
    let other = json!({"run_id": "o", "end_reason": "max_steps", "steps": [weather()]});
    let found = findings("no_end_condition", &[ended("upstream timed out after 5s"), other]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn missing_fields_called_runs_nameless_that_task_and_trial_tell_apart() {
    let step = || ok("look", json!(1), "x");
    let told = |trial: u32| json!({"task_id": "t", "trial": trial, "steps": [step()]});
    let names = |runs: &[Value]| {
        let found = findings("missing_fields", runs);
        found.into_iter().filter(|one| one.contains("named")).collect::<Vec<_>>()
    };
    assert!(names(&[told(1), told(2)]).is_empty());
    assert_eq!(names(&[told(1), told(1)]), ["2 of 2 runs have none: runs cannot be named"]);
    let nameless = json!({"steps": [step()]});
    assert_eq!(names(&[nameless]), ["1 of 1 runs have none: runs cannot be named"]);
}

#[test]
fn an_error_without_a_type_was_called_after_a_word_of_the_program() {
    let failed = || {
        let mut step = bad("edit", json!(1), "no such line");
        step["step_id"] = json!("s");
        step
    };
    let (first, mut second) = (failed(), failed());
    second["attempt"] = json!(2);
    let found = one("identical_retry", &[first, second]);
    assert_eq!(found, "1: the same input again after an error, and it failed again");
}

#[test]
fn failed_cost_was_sure_of_a_share_that_one_task_alone_decides() {
    let run = |task: &str, status: &str, cost: f64| json!({"task_id": task, "status": status, "steps": [{"type": "tool", "name": "a", "status": "ok", "cost_usd": cost}]});
    let runs = |large: f64| -> Vec<Value> {
        let pair = |at: usize| {
            let (task, cost) = (format!("t{at}"), if at == 0 { large } else { 1.0 });
            [run(&task, "completed", cost), run(&task, "failed", cost * 4.0)]
        };
        (0..6).flat_map(pair).collect()
    };
    assert!(findings("failed_cost", &runs(1000.0)).is_empty());
    assert_eq!(findings("failed_cost", &runs(1.0)).len(), 1);
}
