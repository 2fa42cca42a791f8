//! What the gate decides, through the program: verdicts and exit codes.

use crate::cli;
use crate::cli::{Folder, Ran, agenteval, fixture};
use crate::gate::{Run, Sides, grid, lines, save};
use serde_json::{Value, json};

/// 40 tasks, most of which pass.
fn sound(trials: usize) -> Vec<Run> {
    grid(40, trials, |task, trial| task % 8 != 0 || trial == 0)
}

/// The same with every fourth task broken.
fn broken(trials: usize) -> Vec<Run> {
    grid(40, trials, |task, trial| (task % 8 != 0 || trial == 0) && task % 4 != 1)
}

fn only_completion(more: &str) -> String {
    format!(r#"{{"task_name":"t","gate":{{"metrics":["final_completion_rate"]}}{more}}}"#)
}

fn gate_alone(args: &[&str]) -> Ran {
    Ran::of(agenteval().arg("gate").args(args).env_remove("GITHUB_ACTIONS"))
}

#[test]
fn exit_codes_tell_worse_from_undecided_from_nothing() {
    let same = Sides::judged(&sound(3), &sound(3), &only_completion(""));
    let passed = same.gate(&[]);
    assert_eq!(passed.code, 0, "{passed:?}");
    assert!(passed.out.starts_with("PASS  1 pass    baseline main@"), "{}", passed.out);
    assert!(passed.out.contains("40 of 40 tasks paired, can detect >= "), "{}", passed.out);

    let worse = Sides::new(&sound(3), &broken(3)).gate(&[]);
    assert_eq!(worse.code, 1, "{worse:?}");
    assert!(worse.out.starts_with("FAIL  1 regression, "), "{}", worse.out);
    assert!(worse.out.contains("next    agenteval show task-001 "), "{}", worse.out);
    assert!(worse.out.contains("accept  agenteval baseline bless main "), "{}", worse.out);

    let few = Sides::new(&grid(5, 1, |_, _| true), &grid(5, 1, |task, _| task > 0));
    let warned = few.gate(&[]);
    assert_eq!(warned.code, 0, "{warned:?}");
    assert!(warned.out.starts_with("INCONCLUSIVE  "), "{}", warned.out);
    assert!(!warned.out.to_lowercase().contains("no regression"), "{}", warned.out);
    assert_eq!(few.gate(&["--inconclusive", "fail"]).code, 3);

    same.folder.file("after.ndjson", "");
    same.gate(&[]).refused(4, &["no run was evaluated"]);
}

#[test]
fn bad_usage_is_exit_2_and_says_what_to_do() {
    let sides = Sides::new(&sound(1), &sound(1));
    let after = sides.after();
    gate_alone(&[&after]).refused(2, &["--baseline", "thresholds"]);
    gate_alone(&[&after, "--baseline", "mian", "--store", &sides.store])
        .refused(2, &["did you mean `main`", "agenteval baseline save", "--baseline-missing warn"]);
    gate_alone(&[&after, "--baseline", "../x", "--store", &sides.store]).refused(2, &["write `x`"]);
    let config = sides.folder.file("other.json", r#"{"task_name":"t","max_steps":2}"#);
    sides.gate(&["-c", &config]).refused(2, &["max_steps", "--allow-different-config"]);
    let allowed = sides.gate(&["-c", &config, "--allow-different-config"]);
    assert!(allowed.err.contains("different_config"), "{allowed:?}");
    sides.gate(&["-o", &sides.folder.at("x.csv")]).refused(2, &["csv"]);
    // Exit 1 goes before 3, and a config may ask for 3.
    let config = r#"{"task_name":"t","gate":{"inconclusive":"fail"}}"#;
    assert_eq!(Sides::judged(&sound(3), &broken(3), config).gate(&[]).code, 1);
    let few = Sides::judged(&grid(5, 1, |_, _| true), &grid(5, 1, |task, _| task > 0), config);
    assert_eq!(few.gate(&[]).code, 3);
    assert_eq!(few.gate(&["--inconclusive", "warn"]).code, 0);
}

#[test]
fn nine_runs_a_side_have_the_p_that_is_computed_by_hand() {
    let folder = Folder::new();
    let store = save(&folder, "main", &fixture("gate/before.json"), None);
    let args = [&fixture("gate/after.json"), "--baseline", "main", "--store", &store];
    let ran = gate_alone(&args);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = gate_alone(&[args.as_slice(), &["--output", "json"]].concat()).json();
    let completion = &report["metrics"]["final_completion_rate"];
    // One task 3/3 -> 0/3, one 3/3 -> 3/3, one 1/3 -> 2/3. With 3 of 6 completed, 0 to 3 of them
    // fall to a side with 1, 9, 9 and 1 of 20: P(S < 2) = 19/400, P(S = 2) = 99/400.
    assert_eq!(completion["p"], json!(0.17125));
    assert_eq!(
        (&completion["baseline"], &completion["candidate"]),
        (&json!(0.777778), &json!(0.555556))
    );
    assert_eq!(completion["difference"], json!(-0.222222));
    assert_eq!(completion["verdict"], "inconclusive");
    assert_eq!(
        report["broken_tasks"],
        json!([{"task_id": "refund-014", "baseline": "3/3", "candidate": "0/3"}])
    );
    let error = |kind: &str, runs: u64| json!([{"type": kind, "tool": "search_kb", "runs": runs, "attempts": runs}]);
    assert_eq!(report["error_types"]["new"], error("tool_timeout", 3));
    assert_eq!(report["error_types"]["gone"], error("bad_args", 2));
    assert!(ran.out.contains("tool_timeout@search_kb is new (3 runs)"), "{}", ran.out);
    assert!(ran.out.contains("about "), "{}", ran.out);
}

#[test]
fn renamed_tasks_fail_the_pairing_and_never_pass_by_comparing_nothing() {
    let mut renamed = sound(3);
    for run in &mut renamed {
        run.task = format!("v2-{}", run.task);
    }
    let sides = Sides::new(&sound(3), &renamed);
    let ran = sides.gate(&[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.starts_with("FAIL  pairing failed"), "{}", ran.out);
    assert!(ran.out.contains("no task is on both sides"), "{}", ran.out);
    let (report, code) = sides.json(&["--allow-unmatched"]);
    assert_eq!((code, &report["pairing"]["mode"]), (0, &json!("unpaired")));
    assert_eq!(report["pairing"]["failures"], json!([]));
}

#[test]
fn a_candidate_that_lost_tasks_does_not_pass_on_the_survivors() {
    let before = grid(40, 3, |task, _| task >= 8);
    // The tasks that fail are those that crashed without leaving a trace.
    let after = grid(40, 3, |_, _| true).split_off(8 * 3);
    let sides = Sides::judged(&before, &after, &only_completion(""));
    let (report, code) = sides.json(&[]);
    assert_eq!((code, &report["verdict"]), (1, &json!("regression")));
    assert_eq!(report["pairing"]["baseline_only"].as_array().unwrap().len(), 8);
    assert_eq!(report["pairing"]["paired"], 32);
    let (report, code) = sides.json(&["--allow-unmatched"]);
    assert_eq!((code, &report["verdict"]), (0, &json!("pass")));
    let text = sides.gate(&["--allow-unmatched"]).out;
    assert!(text.contains("left out: 8 tasks of the baseline without a candidate run"), "{text}");
    // Where they were completed before, each counts as one lost run.
    let sides = Sides::judged(&grid(40, 3, |_, _| true), &after, &only_completion(""));
    let (report, _) = sides.json(&[]);
    let completion = &report["metrics"]["final_completion_rate"];
    assert_eq!(
        (&completion["candidate"], &completion["runs"]["candidate"]),
        (&json!(0.8), &json!(104))
    );
}

#[test]
fn a_run_that_is_there_twice_fails_unless_that_is_allowed() {
    let mut after = sound(3);
    after.push(after[0].clone());
    let sides = Sides::new(&sound(3), &after);
    let (report, code) = sides.json(&[]);
    assert_eq!((code, &report["verdict"]), (1, &json!("regression")));
    let twice = json!([{"side": "candidate", "task_id": "task-000", "trial": "0"}]);
    assert_eq!(report["pairing"]["duplicates"], twice);
    assert!(report["reasons"][0].as_str().unwrap().contains("there twice"), "{report:#}");
    let allowed = sides.gate(&["--allow-unmatched"]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert!(allowed.out.contains("1 run is there more than once"), "{}", allowed.out);
}

#[test]
fn other_numbers_of_trials_on_the_sides_are_no_loss() {
    for (before, after) in [(5, 1), (1, 5)] {
        let sides = Sides::new(&grid(40, before, |_, _| true), &grid(40, after, |_, _| true));
        let (report, code) = sides.json(&[]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(report["pairing"]["short"], json!([]));
        assert_eq!(report["broken_tasks"], json!([]));
    }
}

#[test]
fn a_first_run_without_a_baseline_warns_and_holds_the_thresholds() {
    let folder = Folder::new();
    let after = folder.file("after.ndjson", lines(&broken(1)));
    let store = folder.at("store");
    let first = ["--baseline", "main", "--store", &store, "--baseline-missing", "warn"];
    let ran = gate_alone(&[&[after.as_str()], first.as_slice()].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("baseline_missing"), "{ran:?}");
    assert!(ran.out.starts_with("INCONCLUSIVE  nothing was compared"), "{}", ran.out);
    assert!(ran.out.contains("agenteval baseline save main"), "{}", ran.out);
    let config = folder.file(
        "config.json",
        r#"{"task_name":"t","thresholds":{"final_completion_rate":{"min":0.99}}}"#,
    );
    let ran = gate_alone(&[&[after.as_str(), "-c", &config], first.as_slice()].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn thresholds_alone_decide_without_a_baseline_and_say_so() {
    let folder = Folder::new();
    let after = folder.file("after.ndjson", lines(&grid(20, 1, |task, _| task > 0)));
    let held = |thresholds: &str, form: &str| {
        let config = format!(r#"{{"task_name":"t","thresholds":{thresholds}}}"#);
        let config = folder.file("config.json", config);
        gate_alone(&[&after, "-c", &config, "--output", form])
    };
    let met = held(r#"{"final_completion_rate":{"min":0.9}}"#, "table");
    assert_eq!(met.code, 0, "{met:?}");
    assert!(
        met.out.starts_with("PASS  1 threshold met    no baseline: thresholds alone"),
        "{}",
        met.out
    );
    assert!(!met.out.contains("accept"), "{}", met.out);
    let both = r#"{"final_completion_rate":{"min":0.97,"max":1}}"#;
    let missed = held(both, "json");
    assert_eq!(missed.code, 1, "{missed:?}");
    let report = missed.json();
    assert_eq!(
        report["thresholds"],
        json!([
            {"metric": "final_completion_rate", "bound": "min", "limit": 0.97, "value": 0.95, "verdict": "missed", "certain": false},
            {"metric": "final_completion_rate", "bound": "max", "limit": 1, "value": 0.95, "verdict": "met", "certain": true},
        ])
    );
    assert_eq!((&report["baseline"], &report["pairing"]), (&Value::Null, &Value::Null));
    let unknown = held(r#"{"cost_usd":{"max":1}}"#, "table");
    assert_eq!(unknown.code, 4, "{unknown:?}");
    assert!(unknown.out.starts_with("INCONCLUSIVE  1 threshold unknown"), "{}", unknown.out);
}

#[test]
fn runs_that_the_config_expects_and_that_are_not_there_count_as_not_completed() {
    let before = grid(30, 3, |_, _| true);
    let after: Vec<Run> = before.iter().filter(|run| run.trial == 0).cloned().collect();
    let config = only_completion(r#","expected_trials":3"#);
    let sides = Sides::judged(&before, &after, &config);
    let (report, code) = sides.json(&[]);
    assert_eq!((code, &report["verdict"]), (1, &json!("regression")));
    let completion = &report["metrics"]["final_completion_rate"];
    assert_eq!(completion["candidate"], json!(0.333333));
    assert_eq!(report["pairing"]["short"][0], json!({"task_id": "task-000", "runs": 1, "lost": 2}));
    let lost = cli::warning(&report, "lost_runs");
    assert_eq!(lost["count"], 60);
    let sides = Sides::judged(&before, &after, &only_completion(""));
    assert_eq!(sides.gate(&[]).code, 0, "the baseline's trials are no promise");
}

#[test]
fn failures_of_the_infrastructure_are_left_out_where_the_config_says_so() {
    let before = grid(30, 3, |_, _| true);
    let mut after = grid(30, 3, |task, trial| task % 2 == 0 || trial == 0);
    for run in after.iter_mut().filter(|run| !run.passed) {
        run.ends_with = Some("HTTP 429");
    }
    let rules = |infra: &str| {
        only_completion(&format!(
            r#","error_types":[{{"match":"429","type":"rate_limit","blame":"infra"}}],"infra_errors":"{infra}""#
        ))
    };
    let counted = Sides::judged(&before, &after, &rules("count"));
    assert_eq!(counted.gate(&[]).code, 1);
    let (report, code) = Sides::judged(&before, &after, &rules("exclude")).json(&[]);
    let completion = &report["metrics"]["final_completion_rate"];
    assert_eq!((code, &completion["candidate"]), (0, &json!(1)), "{report:#}");
    assert_eq!(completion["runs"]["candidate"], 60);
}

#[test]
fn unfinished_runs_are_not_completed_unless_the_config_leaves_them_out() {
    let before = grid(30, 3, |_, _| true);
    let mut after = before.clone();
    for run in after.iter_mut().filter(|run| run.trial > 0) {
        run.unfinished = true;
    }
    let failed = Sides::judged(&before, &after, &only_completion(""));
    assert_eq!(failed.gate(&[]).code, 1);
    let left_out = Sides::judged(&before, &after, &only_completion(r#","unfinished":"exclude""#));
    let (report, code) = left_out.json(&[]);
    let completion = &report["metrics"]["final_completion_rate"];
    assert_eq!((code, &completion["candidate"]), (0, &json!(1)), "{report:#}");
    assert_eq!(completion["runs"]["candidate"], 30);
}

#[test]
fn an_improvement_is_told_with_its_own_p() {
    let sides = Sides::judged(&broken(3), &sound(3), &only_completion(""));
    let ran = sides.gate(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.starts_with("IMPROVED  1 improved"), "{}", ran.out);
    assert!(ran.out.contains("<0.001  improved"), "{}", ran.out);
    assert!(!ran.out.contains("accept"), "a better run moves no baseline by itself: {}", ran.out);
}

#[test]
fn harm_below_the_margin_is_within_tolerance_and_says_so() {
    let config =
        r#"{"task_name":"t","gate":{"metrics":["first_step_accuracy"],"margin":{"default":0.5}}}"#;
    let before = grid(40, 3, |_, _| true);
    let mut after = before.clone();
    after.iter_mut().for_each(|run| run.first = run.trial != 1);
    let sides = Sides::judged(&before, &after, config);
    let (report, code) = sides.json(&[]);
    let figure = &report["metrics"]["first_step_accuracy"];
    assert_eq!((code, &figure["verdict"]), (0, &json!("pass")), "{report:#}");
    assert_eq!(
        (&figure["within_tolerance"], &figure["distinguishable"]),
        (&json!(true), &json!(true))
    );
    let text = sides.gate(&[]).out;
    assert!(text.contains("-33.3pp ["), "{text}");
    assert!(text.contains("within tolerance"), "{text}");
}

/// Fails where a number is not there, or an interval has no width.
#[track_caller]
fn defined(report: &Value) {
    let verdicts = ["pass", "improved", "inconclusive", "regression"];
    let known = |value: &Value| verdicts.contains(&value.as_str().unwrap_or_default());
    assert!(known(&report["verdict"]), "{report:#}");
    for (name, metric) in report["metrics"].as_object().unwrap() {
        assert!(known(&metric["verdict"]), "{name}: {metric:#}");
        let numbers = ["baseline", "candidate", "difference"];
        let there = numbers.iter().filter(|key| {
            metric[**key].is_f64() || metric[**key].is_u64() || metric[**key].is_i64()
        });
        assert!(there.count() == 3 || metric["reason"].is_string(), "{name}: {metric:#}");
        let ci = &metric["ci"];
        let wide = ci["low"].as_f64().zip(ci["high"].as_f64()).is_some_and(|(l, h)| l < h);
        assert!(wide || (ci.is_null() && metric["reason"].is_string()), "{name}: {metric:#}");
        assert!(metric["margin"].is_number() || metric["reason"].is_string(), "{name}");
    }
    assert!(!report.to_string().contains("NaN"));
}

#[test]
fn degenerate_sets_have_a_defined_verdict() {
    let all = |tasks, trials| grid(tasks, trials, |_, _| true);
    let none = |tasks, trials| grid(tasks, trials, |_, _| false);
    let uneven: Vec<Run> =
        all(10, 4).into_iter().filter(|run| run.trial <= run.task.len() % 3).collect();
    let no_ids = |runs: Vec<Run>| -> Vec<Run> {
        runs.into_iter().map(|run| Run { task: String::new(), ..run }).collect()
    };
    let cases: [(&str, Vec<Run>, Vec<Run>, i32); 11] = [
        ("all pass", all(20, 3), all(20, 3), 0),
        ("all fail", none(20, 3), none(20, 3), 0),
        ("all break", all(20, 3), none(20, 3), 1),
        ("all mend", none(20, 3), all(20, 3), 0),
        ("one task", all(1, 5), none(1, 5), 1),
        ("one run", all(1, 1), all(1, 1), 0),
        ("one run breaks", all(1, 1), none(1, 1), 0),
        ("uneven", uneven.clone(), all(10, 2), 0),
        ("new tasks alone", all(1, 1), all(9, 1), 0),
        ("no task ids", no_ids(all(12, 1)), no_ids(all(12, 1)), 0),
        ("no task ids, all break", no_ids(all(12, 1)), no_ids(none(12, 1)), 1),
    ];
    for (name, before, after, code) in cases {
        let sides = Sides::new(&before, &after);
        let (report, ended) = sides.json(&[]);
        defined(&report);
        assert_eq!(ended, code, "{name}: {report:#}");
        let text = sides.gate(&[]).out;
        assert!(!text.contains("NaN") && !text.contains("inf"), "{name}: {text}");
    }
}
