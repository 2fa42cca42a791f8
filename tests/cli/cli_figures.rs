//! Figures through the program, held to numbers worked out by hand on paper.

use crate::cli::{
    Folder, Ran, agenteval, figure, figures_are, fixture, json, report, run, schema_faults, warning,
};
use crate::support;
use serde_json::{Value, json};

/// The first block of the eval config, as teams have it.
const CONFIG: &str = r#"{ "task_name": "customer_service_agent", "max_steps": 20,
  "evaluation": { "subtask_passed": "subtask.status == 'completed'", "final_passed": "final.report != null && final.accuracy >= 0.9",
                  "max_retry_per_step": 3, "allowed_total_retries": 10, "timeout_seconds": 600 },
  "metrics": ["first_step_accuracy", "mid_term_error_rate", "final_completion_rate", "avg_retry_count"] }"#;

fn worked_example() -> String {
    fixture("native/worked-example.json")
}

fn shared(rel: &str) -> Option<String> {
    support::shared(rel).map(|path| path.to_str().unwrap().to_owned())
}

/// The cells of the row of a table that starts with `name`, by runs of two spaces or more.
#[track_caller]
fn row<'t>(ran: &'t Ran, name: &str) -> Vec<&'t str> {
    let cells = |line: &'t str| -> Vec<&'t str> {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
    };
    let found = ran.out.lines().map(cells).find(|cells| cells.first() == Some(&name));
    found.unwrap_or_else(|| panic!("no row {name} in\n{}", ran.out))
}

#[test]
fn the_worked_example_gives_every_figure_to_the_digit() {
    let report = report(&[&worked_example()]);
    figures_are(
        &report,
        &[
            ("first_step_accuracy", 0.666667, 2.0, 3.0),
            ("mid_term_error_rate", 0.5, 4.0, 8.0),
            ("mid_term_recovery_rate", 0.5, 1.0, 2.0),
            ("final_completion_rate", 0.666667, 2.0, 3.0),
            ("failure_recovery_rate", 0.666667, 2.0, 3.0),
            ("avg_retry_count", 1.333333, 4.0, 3.0),
            ("retry_success_rate", 0.5, 2.0, 4.0),
            ("avg_steps", 3.333333, 10.0, 3.0),
            ("avg_steps_completed", 3.5, 7.0, 2.0),
            ("step_error_rate", 0.357143, 5.0, 14.0),
            ("intervention_rate", 0.0, 0.0, 3.0),
        ],
    );
    assert_eq!(figure(&report, "error_type_distribution"), (None, None, Some(5.0)));
    assert_eq!(figure(&report, "first_failure_position"), (Some(2.0), None, Some(3.0)));
    let counts = &report["distributions"];
    assert_eq!(counts["error_type"], json!({"parse": 1, "schema": 3, "timeout": 1}));
    assert_eq!(counts["step_type"], json!({"plan": 4, "tool": 10}));
    assert_eq!(counts["first_failure_step"], json!({"1": 1, "2": 1, "3": 1}));
    assert_eq!(
        report["runs"],
        json!({"total": 3, "completed": 2, "failed": 1, "over_limit": 0, "cancelled": 0,
               "unfinished": 0, "unknown": 0})
    );
    assert_eq!(report["tasks"], 3, "a run without a task id is its own task");
    assert_eq!(report["retries"], "recorded");
    let input = &report["inputs"][0];
    assert_eq!((&input["steps"], &input["attempts"]), (&json!(10), &json!(14)));
    for name in
        ["repeated_action_rate", "duration_seconds", "total_tokens", "cost_usd", "pass_hat_k"]
    {
        assert_eq!(figure(&report, name).0, None, "{name} is not recorded");
        assert!(report["metrics"][name]["reason"].is_string(), "{name} says why");
    }
}

#[test]
fn the_table_of_the_worked_example_shows_each_value_with_its_counts() {
    let ran = run(&["analyze", &worked_example()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for (name, value, counts) in [
        ("first_step_accuracy", "66.7%", "2/3"),
        ("mid_term_error_rate", "50.0%", "4/8"),
        ("mid_term_recovery_rate", "50.0%", "1/2"),
        ("final_completion_rate", "66.7%", "2/3"),
        ("failure_recovery_rate", "66.7%", "2/3"),
        ("avg_retry_count", "1.33", "4/3"),
        ("retry_success_rate", "50.0%", "2/4"),
        ("avg_steps", "3.33", "10/3"),
        ("avg_steps_completed", "3.50", "7/2"),
        ("step_error_rate", "35.7%", "5/14"),
        ("first_failure_position", "2.00", "n=3"),
        ("repeated_action_rate", "n/a", "-"),
    ] {
        let cells = row(&ran, name);
        assert_eq!((cells[1], cells[3]), (value, counts), "{name} in\n{}", ran.out);
    }
    assert!(ran.out.contains("3 runs"), "{}", ran.out);
    assert!(ran.out.contains("14 attempts"), "{}", ran.out);
    assert!(ran.out.contains("schema 60% 3/5  parse 20% 1/5  timeout 20% 1/5"), "{}", ran.out);
    assert!(ran.out.contains("tool 71% 10/14  plan 29% 4/14"), "{}", ran.out);
}

#[test]
fn csv_ndjson_and_markdown_say_the_same_as_json() {
    let path = worked_example();
    let csv = run(&["analyze", &path, "--output", "csv"]).out;
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("group,metric,value,numerator,denominator,low,high"));
    assert!(lines.any(|line| line.starts_with(",mid_term_error_rate,0.5,4,8,")), "{csv}");
    assert!(csv.contains("\n,repeated_action_rate,,,,,\n"), "n/a is empty, not 0: {csv}");

    let report = report(&[&path]);
    let ndjson = run(&["analyze", &path, "--output", "ndjson"]).out;
    let mut names = Vec::new();
    for line in ndjson.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let name = line["metric"].as_str().unwrap().to_owned();
        let figure = &report["metrics"][&name];
        for key in ["value", "numerator", "denominator"] {
            assert_eq!(line[key], figure[key], "{name}.{key}");
        }
        assert_eq!(line["low"], figure["ci"]["low"], "{name}");
        assert_eq!(line["group"], Value::Null);
        names.push(name);
    }
    assert_eq!(names.len(), report["metrics"].as_object().unwrap().len());

    let markdown = run(&["analyze", &path, "--output", "markdown"]).out;
    assert!(markdown.contains("| metric | value | 95% CI | counts | note |"), "{markdown}");
    assert!(markdown.contains("| avg_retry_count | 1.33 |"), "{markdown}");
}

#[test]
fn files_named_with_o_hold_what_output_prints() {
    let folder = Folder::new();
    let path = worked_example();
    let mut args = vec!["analyze".to_owned(), path.clone()];
    let forms = [("json", "json"), ("ndjson", "ndjson"), ("csv", "csv"), ("md", "markdown")];
    for (ending, _) in forms {
        args.extend(["-o".to_owned(), folder.at(&format!("out.{ending}"))]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let both = run(&args);
    assert_eq!(both.code, 0, "{both:?}");
    assert_eq!(both.out, run(&["analyze", &path]).out, "standard output stays the table");
    for (ending, form) in forms {
        let file = std::fs::read_to_string(folder.at(&format!("out.{ending}"))).unwrap();
        assert_eq!(file, run(&["analyze", &path, "--output", form]).out, "{ending}");
    }
}

#[test]
fn the_config_that_teams_have_works_unchanged() {
    let folder = Folder::new();
    let config = folder.file("config.json", CONFIG);
    let report = report(&[&fixture("native/customer-support.ndjson"), "-c", &config]);
    let shown: Vec<&String> = report["metrics"].as_object().unwrap().keys().collect();
    assert_eq!(
        shown,
        ["avg_retry_count", "final_completion_rate", "first_step_accuracy", "mid_term_error_rate"],
        "the four that it names (this test's map sorts them)"
    );
    figures_are(
        &report,
        &[
            ("first_step_accuracy", 0.777778, 7.0, 9.0),
            ("mid_term_error_rate", 0.470588, 8.0, 17.0),
            ("final_completion_rate", 0.5, 4.0, 8.0),
            ("avg_retry_count", 0.888889, 8.0, 9.0),
        ],
    );
    assert_eq!(report["config"]["task_name"], "customer_service_agent");
    assert_eq!(report["config"]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(
        report["runs"],
        json!({"total": 9, "completed": 4, "failed": 2, "over_limit": 1, "cancelled": 1,
               "unfinished": 1, "unknown": 0})
    );
    assert_eq!(report["distributions"]["limit"]["max_retry_per_step"], 1);
    let out = run(&["analyze", &fixture("native/customer-support.ndjson"), "-c", &config]).out;
    let order: Vec<_> = out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let at = |name: &str| order.iter().position(|first| *first == name).unwrap();
    assert!(at("first_step_accuracy") < at("mid_term_error_rate"), "the order of the config");
    assert!(at("final_completion_rate") < at("avg_retry_count"), "the order of the config");
}

#[test]
fn the_config_with_every_key_is_taken() {
    let folder = Folder::new();
    folder.file("schemas/search.json", r#"{"type":"object"}"#);
    let mut config: Value = serde_json::from_str(CONFIG).unwrap();
    let rest = json!({
        "limits": {"max_tokens_per_step": 8000, "max_total_tokens": 200000, "max_cost_usd": 1.5},
        "mid_run": "auto", "pass_score": 1.0, "steps": "tools",
        "error_types": [{"match": "HTTP 429|rate.?limit", "type": "rate_limit", "blame": "infra"}],
        "infra_errors": "count", "exit_codes": "error", "expected_trials": 3, "unfinished": "fail",
        "scorer": "accuracy", "attempts_count": "failures", "side_effects": ["send_email", "charge_*"],
        "tool_schemas": {"search": "schemas/search.json"},
        "thresholds": {"final_completion_rate": {"min": 0.9}, "avg_retry_count": {"max": 2}},
        "gate": {"alpha": 0.05, "margin": {"default": 0.05, "avg_retry_count": "10%"},
                 "metrics": ["final_completion_rate"], "inconclusive": "warn"}
    });
    config.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    assert!(schema_faults("config", &config).is_empty());
    let path = folder.file("config.json", config.to_string());
    let traces = fixture("native/customer-support.ndjson");
    let report = report(&[&traces, "-c", &path]);
    figures_are(&report, &[("final_completion_rate", 0.5, 4.0, 8.0)]);
    let thresholds = report["thresholds"].as_array().unwrap();
    let verdicts: Vec<_> =
        thresholds.iter().map(|held| (&held["metric"], &held["verdict"])).collect();
    let (rate, count) = (json!("final_completion_rate"), json!("avg_retry_count"));
    assert!(verdicts.contains(&(&rate, &json!("missed"))), "{verdicts:?}");
    assert!(verdicts.contains(&(&count, &json!("met"))), "{verdicts:?}");
    for (key, other) in [
        ("steps", json!("all")),
        ("steps", json!(["tool", "llm"])),
        ("mid_run", json!("interior")),
        ("mid_run", json!("after_first")),
        ("mid_run", json!({"from": 0.25, "to": 0.75})),
        ("infra_errors", json!("exclude")),
        ("exit_codes", json!("ignore")),
        ("unfinished", json!("exclude")),
        ("attempts_count", json!("tries")),
    ] {
        config[key] = other.clone();
        assert!(schema_faults("config", &config).is_empty(), "{key}: {other}");
        let ran = run(&["analyze", &traces, "-c", &folder.file("config.json", config.to_string())]);
        assert_eq!(ran.code, 0, "{key}: {other}: {ran:?}");
    }
}

#[test]
fn each_limit_makes_a_run_over_limit_and_is_named() {
    let folder = Folder::new();
    let traces = folder.file(
        "r.ndjson",
        r#"{"status":"completed","started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:01:00Z","steps":[{"step_id":"s","attempt":1,"type":"t","error":"e","tokens":100,"cost_usd":0.5},{"step_id":"s","attempt":2,"type":"t","error":"e","tokens":50,"cost_usd":0.5},{"step_id":"s","attempt":3,"type":"t","tokens":50,"cost_usd":0.5},{"step_id":"u","type":"t","tokens":10}]}"#,
    );
    // The run has 2 steps, 2 retries, 60 s, 100 tokens in a step, 210 in all, and costs 1.5.
    for (limit, passed, kept) in [
        ("max_steps", json!(1), json!(2)),
        ("max_retry_per_step", json!(1), json!(2)),
        ("allowed_total_retries", json!(1), json!(2)),
        ("timeout_seconds", json!(59.9), json!(60)),
        ("max_tokens_per_step", json!(99), json!(100)),
        ("max_total_tokens", json!(209), json!(210)),
        ("max_cost_usd", json!(1.49), json!(1.5)),
    ] {
        for (bound, over) in [(passed, 1), (kept, 0)] {
            let place = match limit {
                "max_steps" => json!({ limit: bound }),
                "max_retry_per_step" | "allowed_total_retries" | "timeout_seconds" => {
                    json!({"evaluation": {limit: bound}})
                }
                _ => json!({"limits": {limit: bound}}),
            };
            let config = folder.file("config.json", place.to_string());
            let report = report(&[&traces, "-c", &config]);
            let found = (&report["runs"]["over_limit"], &report["distributions"]["limit"][limit]);
            assert_eq!(found, (&json!(over), &json!(over)), "{limit} of {bound}");
            assert_eq!(report["distributions"]["limit"].as_object().unwrap().len(), 7);
        }
    }
}

#[test]
fn customer_support_runs_give_the_figures_worked_out_by_hand() {
    let folder = Folder::new();
    let mut config: Value = serde_json::from_str(CONFIG).unwrap();
    config.as_object_mut().unwrap().remove("metrics");
    let config = folder.file("config.json", config.to_string());
    let report = report(&[&fixture("native/customer-support.ndjson"), "-c", &config]);
    figures_are(
        &report,
        &[
            ("mid_term_recovery_rate", 0.5, 2.0, 4.0),
            ("failure_recovery_rate", 0.4, 2.0, 5.0),
            ("retry_success_rate", 0.5, 4.0, 8.0),
            ("avg_steps", 2.666667, 24.0, 9.0),
            ("avg_steps_completed", 3.0, 12.0, 4.0),
            ("step_error_rate", 0.322581, 10.0, 31.0),
            ("intervention_rate", 0.111111, 1.0, 9.0),
        ],
    );
    assert_eq!(
        report["distributions"]["error_type"],
        json!({"timeout": 6, "policy": 2, "parse": 1, "解析错误": 1})
    );
    assert_eq!(report["distributions"]["first_failure_step"], json!({"1": 2, "2": 3, "3": 1}));
    let hat = &report["metrics"]["pass_hat_k"];
    let by_k = [("1", 0.555556, 3, 0), ("2", 0.333333, 3, 0), ("3", 0.0, 2, 1)];
    for (k, value, tasks, left_out) in by_k {
        let at = &hat["by_k"][k];
        assert_eq!(at["value"].as_f64(), Some(value), "pass^{k}");
        assert_eq!((&at["tasks"], &at["left_out"]), (&json!(tasks), &json!(left_out)), "{k}");
    }
    assert_eq!(hat["value"], 0.333333, "the largest k that every task allows");
    assert_eq!((&hat["numerator"], &hat["denominator"]), (&Value::Null, &json!(3)));
    let at = &report["metrics"]["pass_at_k"]["by_k"];
    let value = |k: &str| at[k]["value"].as_f64();
    assert_eq!((value("2"), value("3")), (Some(0.777778), Some(1.0)));
    assert_eq!(report["tasks"], 3);
    assert_eq!(warning(&report, "lost_attempts")["count"], 1, "verify of cs-7 began at attempt 2");
}

#[test]
fn the_full_form_gives_time_tokens_cost_and_repeats() {
    let report = report(&[&fixture("native/full.json")]);
    figures_are(
        &report,
        &[
            ("final_completion_rate", 0.5, 1.0, 2.0),
            ("duration_seconds", 4.0, 8.0, 2.0),
            ("total_tokens", 1050.0, 2100.0, 2.0),
            ("cost_usd", 0.00325, 0.0065, 2.0),
            ("cost_per_completion", 0.0065, 0.0065, 1.0),
            ("failure_cost_share", 0.384615, 0.0025, 0.0065),
            ("repeated_action_rate", 0.25, 1.0, 4.0),
            ("intervention_rate", 0.5, 1.0, 2.0),
        ],
    );
    let duration = &report["metrics"]["duration_seconds"];
    assert_eq!((duration["p50"].as_f64(), duration["p95"].as_f64()), (Some(4.0), Some(4.9)));
    assert_eq!(report["distributions"]["error_type"], json!({"HTTP 429": 1}));
}

#[test]
fn actions_without_ids_get_inferred_retries() {
    let report = report(&[&fixture("native/plain.json")]);
    figures_are(
        &report,
        &[
            ("first_step_accuracy", 0.5, 1.0, 2.0),
            ("mid_term_error_rate", 0.5, 1.0, 2.0),
            ("avg_retry_count", 0.5, 1.0, 2.0),
            ("avg_steps", 2.0, 4.0, 2.0),
            ("step_error_rate", 0.4, 2.0, 5.0),
        ],
    );
    assert_eq!(report["retries"], "inferred");
    assert_eq!(report["runs"]["unknown"], 2, "no status is no failure");
    assert_eq!(figure(&report, "final_completion_rate").0, None, "no run has ended");
}

#[test]
fn every_wrapping_of_the_native_form_gives_its_runs() {
    for (name, runs, completed) in
        [("wrapped.json", 2, 1), ("single.json", 1, 1), ("lines.ndjson", 3, 1), ("full.json", 2, 1)]
    {
        let report = report(&[&fixture(&format!("native/{name}"))]);
        assert_eq!(report["inputs"][0]["format"], "native", "{name}");
        assert_eq!(report["inputs"][0]["rejected"], 0, "{name}");
        let (total, done) = (&report["runs"]["total"], &report["runs"]["completed"]);
        assert_eq!((total, done), (&json!(runs), &json!(completed)), "{name}");
    }
}

#[test]
fn line_breaks_between_runs_do_not_change_what_is_read() {
    let runs: Vec<String> = std::fs::read_to_string(fixture("native/lines.ndjson"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let folder = Folder::new();
    for count in [1, 2, 3] {
        let runs = &runs[..count];
        for text in [
            format!("{{\"traces\":[\n{}\n]}}\n", runs.join(",\n")),
            format!("{{\"traces\":[\n{}\n]\n}}\n", runs.join("\n,\n")),
            format!("{{\"traces\":[{}\n]}}", runs.join(",\n")),
            format!("{{\"traces\":\n[\n  {}\n]}}", runs.join(",\n  ")),
            format!("{{\"note\":1,\n\"runs\":[{}]}}", runs.join(",")),
            format!("[\n{}\n]\n", runs.join(",\n")),
            format!("[{}]", runs.join(", ")),
            format!("{}\n", runs.join(",\n")),
            runs.join("\n\n"),
            runs.join(" "),
        ] {
            let report = report(&[&folder.file("r.json", &text)]);
            let read = (&report["runs"]["total"], &report["inputs"][0]["rejected"]);
            assert_eq!(read, (&json!(count), &json!(0)), "{text}");
        }
    }
}

/// Runs judged by `final_passed` of the config above, in what they deliver.
fn delivered(finals: &[&str]) -> Ran {
    let folder = Folder::new();
    let config = folder.file("config.json", CONFIG);
    let runs: String = finals
        .iter()
        .map(|text| format!("{{\"status\":\"completed\",{text}\"steps\":[{{\"type\":\"t\"}}]}}\n"))
        .collect();
    let traces = folder.file("runs.ndjson", runs);
    Ran::of(agenteval().args(["analyze", &traces, "-c", &config, "--output", "json"]))
}

const GOOD: &str = r#""final":{"report":"done","accuracy":0.95},"#;

#[test]
fn a_run_that_delivers_nothing_right_is_failed_not_lost() {
    for (what, text, completed) in [
        ("an exact integer", r#""final":{"report":"x","accuracy":1},"#, 2),
        ("the bound itself", r#""final":{"report":"x","accuracy":0.9},"#, 2),
        ("just below", r#""final":{"report":"x","accuracy":0.899999},"#, 1),
        ("report is missing", r#""final":{"accuracy":0.95},"#, 1),
        ("report is null", r#""final":{"report":null,"accuracy":0.95},"#, 1),
        ("final is null", r#""final":null,"#, 1),
        ("final is missing", "", 1),
        ("final is a text", r#""final":"done","#, 1),
        ("accuracy is a text", r#""final":{"report":"x","accuracy":"0.95"},"#, 1),
        ("accuracy is NaN", r#""final":{"report":"x","accuracy":NaN},"#, 1),
        ("accuracy is null", r#""final":{"report":"x","accuracy":null},"#, 1),
    ] {
        let ran = delivered(&[GOOD, text]);
        assert_eq!(ran.code, 0, "{what}: {ran:?}");
        let report = ran.json();
        let runs = &report["runs"];
        assert_eq!(runs["total"], 2, "{what}");
        assert_eq!(runs["completed"], completed, "{what}");
        assert_eq!(runs["failed"], 2 - completed, "{what}");
    }
}

#[test]
fn what_cannot_be_compared_is_told_with_field_and_count() {
    let ran = delivered(&[GOOD, r#""final":{"report":"x","accuracy":"0.95"},"#]);
    let report = ran.json();
    let warning = warning(&report, "expression_unevaluable");
    assert_eq!(warning["count"], 1);
    let message = warning["message"].as_str().unwrap();
    assert!(message.contains("final.accuracy"), "{message}");
    assert!(message.contains("a text"), "{message}");
    assert!(ran.err.contains("final.accuracy"), "also on standard error: {}", ran.err);
}

#[test]
fn groups_hold_the_figures_of_their_runs_alone() {
    let traces = fixture("native/customer-support.ndjson");
    let folder = Folder::new();
    let config = folder.file("config.json", CONFIG);
    let report = report(&[&traces, "-c", &config, "--by", "task"]);
    let groups = report["groups"].as_array().unwrap();
    let group = |task: &str| {
        let found = groups.iter().find(|group| group["by"] == json!({ "task": task }));
        found.unwrap_or_else(|| panic!("no {task} in {groups:#?}"))
    };
    assert_eq!(groups.len(), 3);
    figures_are(group("refund-014"), &[("final_completion_rate", 0.333333, 1.0, 3.0)]);
    figures_are(group("退货申请-007"), &[("final_completion_rate", 1.0, 2.0, 2.0)]);
    figures_are(group("reset-password"), &[("final_completion_rate", 0.333333, 1.0, 3.0)]);
    figures_are(group("refund-014"), &[("avg_retry_count", 2.0, 6.0, 3.0)]);
    figures_are(group("退货申请-007"), &[("avg_retry_count", 0.333333, 1.0, 3.0)]);

    for (by, sizes) in [("model", vec![6, 3]), ("agent", vec![9]), ("tag:lang", vec![6, 3])] {
        let report = self::report(&[&traces, "--by", by]);
        let mut found: Vec<u64> = report["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| group["runs"]["total"].as_u64().unwrap())
            .collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(found, sizes, "--by {by}");
    }
    let csv = run(&["analyze", &traces, "-c", &config, "--by", "task", "--output", "csv"]).out;
    assert!(csv.contains("task=退货申请-007,final_completion_rate,1,2,2,"), "{csv}");
}

#[test]
fn where_keeps_only_the_runs_for_which_it_holds() {
    let traces = fixture("native/customer-support.ndjson");
    for (filter, total) in [
        ("run.retries > 0", 5),
        ("run.retries > 0 && run.model == 'm-1'", 4),
        ("run.task_id == '退货申请-007'", 3),
        ("run.tags.lang == 'zh' || run.status == 'cancelled'", 4),
        ("run.errors == 0 && run.steps == 3", 2),
    ] {
        let report = report(&[&traces, "--where", filter]);
        assert_eq!(report["runs"]["total"], total, "{filter}");
    }
}

#[test]
fn every_report_validates_against_its_schema() {
    let folder = Folder::new();
    let config = folder.file("config.json", CONFIG);
    let support = fixture("native/customer-support.ndjson");
    for args in [
        vec![worked_example()],
        vec![fixture("native/plain.json")],
        vec![fixture("native/full.json"), "--by".into(), "model".into()],
        vec![support.clone(), "-c".into(), config, "--by".into(), "task".into()],
        vec![support, "-c".into(), "eval-configs/customer-service.json".into()],
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let faults = schema_faults("report", &report(&args));
        assert!(faults.is_empty(), "{args:?}: {faults:#?}");
    }
    assert!(!schema_faults("report", &json!({})).is_empty(), "the schema asks for something");
}

#[test]
fn native_fixtures_validate_against_the_trace_schema() {
    let mut seen = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/native")).unwrap()
    {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = path.extension().is_some_and(|ending| ending == "ndjson");
        let documents: Vec<&str> = if lines { text.lines().collect() } else { vec![&text] };
        for document in documents {
            let document = serde_json::from_str(document).unwrap();
            let faults = schema_faults("trace", &document);
            assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 8, "only {seen} documents");
    for wrong in [json!({"steps": [{"name": "x"}]}), json!({"run_id": "r"}), json!(7)] {
        assert!(!schema_faults("trace", &wrong).is_empty(), "{wrong} is no trace");
    }
}

#[test]
fn the_airline_results_of_tau_bench_give_the_accepted_figures() {
    let Some(path) = shared("data/tau_bench/gpt-4o-airline.json") else { return };
    let report = report(&[&path]);
    assert_eq!(report["inputs"][0]["format"], "tau-bench");
    assert_eq!(report["tasks"], 50);
    assert_eq!(report["retries"], "inferred");
    figures_are(
        &report,
        &[
            ("final_completion_rate", 0.42, 84.0, 200.0),
            ("step_error_rate", 0.062715, 73.0, 1164.0),
            ("avg_steps", 5.675, 1135.0, 200.0),
            ("avg_retry_count", 0.145, 29.0, 200.0),
            ("mid_term_error_rate", 0.077596, 71.0, 915.0),
            ("failure_recovery_rate", 0.25, 9.0, 36.0),
            ("first_step_accuracy", 1.0, 182.0, 182.0),
        ],
    );
    let hat = &report["metrics"]["pass_hat_k"]["by_k"];
    for (k, value) in [("1", 0.42), ("2", 0.273333), ("3", 0.22), ("4", 0.20)] {
        assert_eq!(hat[k], json!({"value": value, "tasks": 50, "left_out": 0}), "pass^{k}");
    }
    let ci = &report["metrics"]["final_completion_rate"]["ci"];
    let at = |end: &str| (ci[end].as_f64().unwrap() * 1e4).round() / 1e4;
    assert_eq!((at("low"), at("high")), (0.3208, 0.5262));
    assert_eq!(report["runs"]["failed"], 116, "runs without reward are failed, not unfinished");
    let table = run(&["analyze", &path]);
    assert!(table.out.contains("50 tasks x 4 trials = 200 runs"), "{}", table.out);
    assert!(table.out.contains("3 identical, 26 revised"), "{}", table.out);
}

#[test]
fn a_log_of_inspect_ai_with_one_failing_tool_is_one_step_of_eleven_attempts() {
    let Some(path) = shared("data/inspect_ai/log_tool_call_error.json") else { return };
    let report = report(&[&path]);
    let input = &report["inputs"][0];
    assert_eq!(input["format"], "inspect-ai");
    assert_eq!((&input["steps"], &input["attempts"]), (&json!(1), &json!(11)));
    figures_are(&report, &[("step_error_rate", 1.0, 11.0, 11.0)]);
}

#[test]
fn logs_of_inspect_ai_without_samples_are_told_not_counted_as_empty() {
    let Some(folder) = shared("data/inspect_ai") else { return };
    let name = "2025-05-12T20-28-13-04-00_no-samples.json";
    let ran = run(&["analyze", &format!("{folder}/{name}"), "--output", "json"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("no run was evaluated"), "{}", ran.err);
    let all = run(&["analyze", &folder, "--output", "json"]);
    assert_eq!(all.code, 0, "{}", all.err);
    assert!(all.err.contains(name), "its name is told: {}", all.err);
}

#[test]
fn otlp_spans_are_counted_at_the_leaf() {
    let Some(path) = shared("data/otlp/vercel_ai7_otel_genai.ndjson") else { return };
    let report = report(&[&path]);
    assert_eq!(report["inputs"][0]["format"], "otlp");
    assert_eq!(report["runs"]["total"], 1);
    figures_are(
        &report,
        &[
            ("step_error_rate", 0.5, 1.0, 2.0),
            ("avg_steps", 1.0, 1.0, 1.0),
            ("avg_retry_count", 1.0, 1.0, 1.0),
            ("total_tokens", 480.0, 480.0, 1.0),
        ],
    );
    assert_eq!(report["retries"], "inferred");
    assert!(warning(&report, "calls_without_span")["count"].as_u64() >= Some(1));
}

#[test]
fn a_session_of_claude_code_counts_each_message_and_token_once() {
    let Some(path) = shared("data/claude_code/agentcmd_full-session-four.jsonl") else { return };
    let report = report(&[&path]);
    assert_eq!(report["inputs"][0]["format"], "claude-code");
    assert_eq!(report["runs"]["total"], 1);
    let tokens = 48.0 + 1_178_761.0 + 64_499.0 + 228.0;
    figures_are(
        &report,
        &[("step_error_rate", 0.037037, 1.0, 27.0), ("total_tokens", tokens, tokens, 1.0)],
    );
}

#[test]
fn explain_names_the_runs_in_a_figure() {
    let answer = json(&["explain", "final_completion_rate", &worked_example()]);
    assert_eq!(answer["figure"]["value"].as_f64().map(|v| (v * 1e6).round() / 1e6), Some(0.666667));
    let runs: Vec<_> = answer["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (part["run"].as_str().unwrap(), part["numerator"].as_f64().unwrap()))
        .collect();
    assert_eq!(runs, [("A", 1.0), ("C", 1.0), ("B", 0.0)]);
    assert_eq!(answer["left_out"], 0);
    let alias = json(&["explain", "success_rate", &worked_example()]);
    assert_eq!(alias["metric"], "final_completion_rate");
}
