//! The eval config: what loads, and what is said of what does not.

use std::path::Path;

use agenteval::config::{
    Blame, ConfigError, EvalConfig, Infra, Margin, MidRun, StepSelection, config_schema,
};
use agenteval::model::{Unit, resolve_metric};

/// The form that people already have, as the documentation gives it.
const FIRST_BLOCK: &str = r#"{ "task_name": "customer_service_agent", "max_steps": 20,
  "evaluation": { "subtask_passed": "subtask.status == 'completed'", "final_passed": "final.report != null && final.accuracy >= 0.9",
                  "max_retry_per_step": 3, "allowed_total_retries": 10, "timeout_seconds": 600 },
  "metrics": ["first_step_accuracy", "mid_term_error_rate", "final_completion_rate", "avg_retry_count"] }"#;

fn load(text: &str) -> EvalConfig {
    EvalConfig::from_json(text.as_bytes(), "agenteval.json").unwrap_or_else(|e| panic!("{e}"))
}

fn fault(text: &str) -> ConfigError {
    match EvalConfig::from_json(text.as_bytes(), "agenteval.json") {
        Ok(_) => panic!("this loads, but should not: {text}"),
        Err(error) => error,
    }
}

#[test]
fn the_form_that_people_already_have_loads_unchanged() {
    let config = load(FIRST_BLOCK);
    assert_eq!(config.task_name.as_deref(), Some("customer_service_agent"));
    assert_eq!(config.limits.max_steps, Some(20));
    assert_eq!(config.limits.max_retry_per_step, Some(3));
    assert_eq!(config.limits.allowed_total_retries, Some(10));
    assert_eq!(config.limits.timeout_seconds, Some(600.0));
    assert_eq!(config.limits.max_cost_usd, None);
    let names = |metrics: Vec<&agenteval::model::MetricName>| {
        metrics.into_iter().map(|m| m.name).collect::<Vec<_>>()
    };
    let four =
        ["first_step_accuracy", "mid_term_error_rate", "final_completion_rate", "avg_retry_count"];
    assert_eq!(names(config.metrics.clone().expect("named")), four);
    assert_eq!(names(config.gate_metrics()), four);
    assert!(!config.needs_raw_attempts());
    assert!(config.subtask_passed.is_some() && config.final_passed.is_some());
    assert_eq!(config.sha256.len(), 64);
    let marked = load(&format!("\u{FEFF}{FIRST_BLOCK}"));
    assert_eq!(marked.limits, config.limits);
    assert_ne!(marked.sha256, config.sha256, "the hash is that of the file's bytes");
}

#[test]
fn every_key_of_the_documentation_is_taken() {
    let config = load(
        r#"{"$schema": "x", "max_steps": 20.0,
        "limits": {"max_tokens_per_step": 8000, "max_total_tokens": 200000, "max_cost_usd": 1.5},
        "mid_run": {"from": 0.25, "to": 0.75}, "pass_score": 0.8, "steps": ["tool", "llm"],
        "error_types": [{"match": "HTTP 429|rate.?limit", "type": "rate_limit", "blame": "infra"}],
        "infra_errors": "exclude", "exit_codes": "ignore", "expected_trials": 3, "unfinished": "exclude",
        "scorer": "accuracy", "attempts_count": "tries", "side_effects": ["send_email", "charge_*"],
        "tool_schemas": {"search": "schemas/search.json"},
        "thresholds": {"success_rate": {"min": 0.9}, "avg_retry_count": {"max": 2}},
        "gate": {"alpha": 0.1, "margin": {"default": 0.02, "avg_retry_count": "10%", "cost_usd": 0.5},
                 "metrics": ["mid_run_error_rate"], "inconclusive": "fail"}}"#,
    );
    assert_eq!(config.limits.max_steps, Some(20));
    assert_eq!(config.mid_run, MidRun::Window { from: 0.25, to: 0.75 });
    assert_eq!(config.steps, StepSelection::Kinds(vec!["tool".into(), "llm".into()]));
    assert_eq!(config.infra_errors, Infra::Exclude);
    let found = config.error_types.classify("x", Some("HTTP 429")).expect("matches");
    assert_eq!((found.kind, found.blame), (Some("rate_limit"), Some(Blame::Infra)));
    let names: Vec<_> = config.thresholds.iter().map(|t| t.metric.name).collect();
    assert_eq!(names, ["avg_retry_count", "final_completion_rate"]);
    let margin = |name| config.gate.margin(resolve_metric(name).expect("known"));
    assert_eq!(margin("step_error_rate"), Margin::Absolute(0.02));
    assert_eq!(margin("avg_retry_count"), Margin::Relative(0.1));
    assert_eq!(margin("cost_usd"), Margin::Absolute(0.5));
    assert_eq!(margin("total_tokens"), Margin::Relative(0.1));
    assert_eq!(config.gate_metrics()[0].name, "mid_term_error_rate");
    assert!(config.read_options(None).attempts_count_tries);
    assert_eq!(load("{}").pass_score, 1.0);
    assert_eq!(EvalConfig::default().gate_metrics().len(), 4);
}

#[test]
fn raw_attempts_are_needed_only_for_fields_beyond_the_computed_ones() {
    let needs = |expression: &str| {
        let text = serde_json::json!({"evaluation": {"subtask_passed": expression}}).to_string();
        load(&text).needs_raw_attempts()
    };
    assert!(!needs(
        "subtask.status == 'ok' && subtask.duration_ms < 3000 && subtask.error == null"
    ));
    assert!(needs("subtask.output != null"));
    assert!(needs("subtask.error.type != 'x'"));
    assert!(needs("subtask != null"));
}

#[test]
fn each_fault_says_what_and_where_and_how_to_mend_it() {
    let table = [
        (
            r#"{"evaluation": {"max_stepz": 3}}"#,
            "unknown key `max_stepz` in `evaluation`; did you mean `max_steps`, which stands at the top level? (agenteval.json:1:17, /evaluation/max_stepz)",
        ),
        (
            "{\n  \"max_stepz\": 3\n}",
            "unknown key `max_stepz`; did you mean `max_steps`? (agenteval.json:2:3, /max_stepz)",
        ),
        (
            r#"{"evaluation": {"max_steps": 3}}"#,
            "`max_steps` does not belong in `evaluation`; move it to the top level (agenteval.json:1:17, /evaluation/max_steps)",
        ),
        (
            r#"{"max_retry_per_step": 3}"#,
            "`max_retry_per_step` does not belong at the top level; move it into `evaluation` (agenteval.json:1:2, /max_retry_per_step)",
        ),
        (
            r#"{"limits": {"max_cost": 3}}"#,
            "unknown key `max_cost` in `limits`; did you mean `max_cost_usd`? (agenteval.json:1:13, /limits/max_cost)",
        ),
        (
            r#"{"thresholds": {"avg_steps": {"maximum": 3}}}"#,
            "unknown key `maximum` in a threshold; did you mean `max`? (agenteval.json:1:31, /thresholds/avg_steps/maximum)",
        ),
        (
            r#"{"zzz": 3, "limits": {}}"#,
            "unknown key `zzz`; the keys here are `$schema`, `task_name`,",
        ),
        (
            "{\"max_steps\": 1,\n \"max_steps\": 2}",
            "the key `max_steps` stands here twice; keep one of the two (agenteval.json:2:2, /max_steps)",
        ),
        (
            r#"{"max_steps": "20"}"#,
            "expected a whole number of at least 0, found the text \"20\"; write a whole number of at least 0 (agenteval.json:1:15, /max_steps)",
        ),
        (
            r#"{"max_steps": 20.5}"#,
            "expected a whole number of at least 0, found 20.5; write a whole number of at least 0 (agenteval.json:1:15, /max_steps)",
        ),
        (
            r#"{"max_steps": -1}"#,
            "expected a whole number of at least 0, found -1; write a whole number of at least 0 (agenteval.json:1:15, /max_steps)",
        ),
        (
            r#"{"evaluation": {"timeout_seconds": -0.5}}"#,
            "expected a number of at least 0, found -0.5; write a number of at least 0 (agenteval.json:1:36, /evaluation/timeout_seconds)",
        ),
        (
            r#"{"evaluation": []}"#,
            "expected an object in { }, found a list; write an object in { } (agenteval.json:1:16, /evaluation)",
        ),
        (
            r#"{"thresholds": {"avg_steps": [3]}}"#,
            "expected an object in { }, found a list; write an object in { } (agenteval.json:1:30, /thresholds/avg_steps)",
        ),
        (
            r#"{"error_types": [["x", "y"]]}"#,
            "expected an object in { }, found a list; write an object in { } (agenteval.json:1:18, /error_types/0)",
        ),
        (
            r#"{"metrics": "first_step_accuracy"}"#,
            "expected a list in [ ], found the text \"first_step_accuracy\"; write a list in [ ] (agenteval.json:1:13, /metrics)",
        ),
        (
            r#"{"task_name": 7}"#,
            "expected a text in quotes, found 7; write a text in quotes (agenteval.json:1:15, /task_name)",
        ),
        (
            r#"{"pass_score": true}"#,
            "expected a number, found true; write a number (agenteval.json:1:16, /pass_score)",
        ),
        (
            r#"{"infra_errors": "excluded"}"#,
            "`excluded` is not a word that is known here; did you mean `exclude`? valid here: `count` or `exclude` (agenteval.json:1:18, /infra_errors)",
        ),
        (
            r#"{"infra_errors": 1}"#,
            "expected a word in quotes, found 1; write a word in quotes (agenteval.json:1:18, /infra_errors)",
        ),
        (
            r#"{"mid_run": "middle"}"#,
            "`middle` is not a word that is known here; write `auto`, `interior` or `after_first` (agenteval.json:1:13, /mid_run)",
        ),
        (r#"{"mid_run": {"from": 0.2, "til": 1}}"#, "unknown key `til` in `mid_run`; "),
        (
            r#"{"mid_run": {"from": 0.2}}"#,
            "`to` is missing; add the key `to` (agenteval.json:1:13, /mid_run)",
        ),
        (
            r#"{"mid_run": {"from": 0.8, "to": 0.2}}"#,
            "the window from 0.8 to 0.2 is empty or leaves the run; from must be below to, both between 0 and 1 (agenteval.json:1:13, /mid_run)",
        ),
        (
            r#"{"steps": []}"#,
            "the list of step types is empty, so no record would be a step; name some, or write `tools` or `all` (agenteval.json:1:11, /steps)",
        ),
        (
            r#"{"metrics": ["first_step_accuracy", "mid_term_eror_rate"]}"#,
            "there is no metric `mid_term_eror_rate`; did you mean `mid_term_error_rate`? (agenteval.json:1:37, /metrics/1)",
        ),
        (
            r#"{"thresholds": {"final_completion": {"min": 0.9}}}"#,
            "there is no metric `final_completion`; did you mean `final_completion_rate`? (agenteval.json:1:17, /thresholds/final_completion)",
        ),
        (
            r#"{"thresholds": {"error_type_distribution": {"min": 0.9}}}"#,
            "`error_type_distribution` is a distribution, it has no single value to bound; bound a rate such as `step_error_rate`",
        ),
        (
            r#"{"thresholds": {"avg_steps": {"min": 3, "max": 2}}}"#,
            "min 3 is above max 2, so no value could meet it; swap the two (agenteval.json:1:30, /thresholds/avg_steps)",
        ),
        (
            r#"{"thresholds": {"avg_steps": {}}}"#,
            "this threshold has no bound; add `min`, `max` or both (agenteval.json:1:30, /thresholds/avg_steps)",
        ),
        (
            r#"{"thresholds": {"final_completion_rate": {"min": 90}}}"#,
            "`final_completion_rate` is a share between 0 and 1, not 90; write a percentage as a share, 90% as 0.9 (agenteval.json:1:50, /thresholds/final_completion_rate/min)",
        ),
        (
            r#"{"thresholds": {"final_completion_rate": {"min": 0.9}, "success_rate": {"min": 0.8}}}"#,
            "`final_completion_rate` has two thresholds, one under its other name; keep one of the two (agenteval.json:1:56, /thresholds/success_rate)",
        ),
        (
            r#"{"gate": {"alpha": 1}}"#,
            "alpha is 1, but a level lies between 0.0001 and 0.5; write a number such as 0.05 (agenteval.json:1:20, /gate/alpha)",
        ),
        (
            r#"{"gate": {"metrics": ["step_type_distribution"]}}"#,
            "`step_type_distribution` only describes, it cannot get worse; take it out of the gate; `metrics` may show it (agenteval.json:1:23, /gate/metrics/0)",
        ),
        (r#"{"gate": {"margin": {"defualt": 0.1}}}"#, "there is no metric `defualt`; "),
        (
            r#"{"gate": {"margin": {"default": "5%"}}}"#,
            "the default margin is for rates, and is a share between 0 and 1; write 0.05 for five percentage points (agenteval.json:1:33, /gate/margin/default)",
        ),
        (
            r#"{"gate": {"margin": {"avg_steps": "ten"}}}"#,
            "this is no margin; write a number of at least 0, or a share of the baseline such as \"10%\" (agenteval.json:1:35, /gate/margin/avg_steps)",
        ),
        (
            r#"{"error_types": [{"match": "a(b"}]}"#,
            "this rule says nothing of what it matches; add `type`, `blame` or both (agenteval.json:1:18, /error_types/0)",
        ),
        (
            r#"{"error_types": [{"match": "a(b", "type": "x"}]}"#,
            "this is no regular expression: unclosed group; mend the pattern; in JSON a backslash is written twice (agenteval.json:1:28, /error_types/0/match)",
        ),
        (
            r#"{"error_types": [{"type": "x"}]}"#,
            "`match` is missing; add the key `match` (agenteval.json:1:18, /error_types/0)",
        ),
        (
            r#"{"error_types": [{"match": "x", "blame": "Infra"}]}"#,
            "`Infra` is not a word that is known here; did you mean `infra`? valid here: `agent`, `infra` or `task` (agenteval.json:1:42, /error_types/0/blame)",
        ),
        (
            r#"{"expected_trials": 0}"#,
            "expected_trials is 0, but a task has at least one trial; write 1 or more, or take the key out",
        ),
        (
            r#"{"side_effects": ["a[b"]}"#,
            "`a[b` is no pattern for tool names; write a name, with `*` for any part of it (agenteval.json:1:19, /side_effects/0)",
        ),
        (
            "[1]",
            "the eval config is a list, not an object; it is written such as {\"task_name\": \"...\", \"evaluation\": {...}} (agenteval.json:1:1)",
        ),
        ("null", "the eval config is a single value, not an object;"),
        (
            "",
            "the eval config is no valid JSON: EOF while parsing a value; an empty config is written {} (agenteval.json:1:1)",
        ),
        (
            "{\n  \"max_steps\": 20,\n}",
            "the eval config is no valid JSON: trailing comma; take out the comma before it (agenteval.json:3:1)",
        ),
        (
            "{\n  // how many\n  \"max_steps\": 20}",
            "the eval config is no valid JSON: key must be a string; JSON has no comments; take it out (agenteval.json:2:3)",
        ),
        (
            "{'max_steps': 20}",
            "the eval config is no valid JSON: key must be a string; JSON texts stand in double quotes (agenteval.json:1:2)",
        ),
    ];
    let wrong: Vec<String> = table
        .iter()
        .map(|(text, due)| (text, due, fault(text).to_string()))
        .filter(|(_, due, found)| !found.starts_with(**due) || found.contains('\n'))
        .map(|(text, due, found)| format!("{text}\n  due: {due}\nfound: {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_bad_expression_shows_a_caret_in_the_file_past_escapes() {
    let text = "{\n  \"evaluation\": {\n    \"subtask_passed\": \"subtask.name == \\\"caf\\u00e9 \\ud83d\\ude00\\\" && subtsk.ok\"\n  }\n}";
    insta::assert_snapshot!(fault(text).render(), @r#"
    error: `subtask_passed`: `subtsk` is not known
     --> agenteval.json:3:70
      |
    3 |     "subtask_passed": "subtask.name == \"caf\u00e9 \ud83d\ude00\" && subtsk.ok"
      |                                                                      ^^^^^^ /evaluation/subtask_passed
      |
      = help: did you mean `subtask`?
    "#);
}

#[test]
fn other_faults_show_their_place_too() {
    insta::assert_snapshot!(fault("{\n  \"max_steps\": 20,\n  \"evaluatoin\": {}\n}").render(), @r#"
    error: unknown key `evaluatoin`
     --> agenteval.json:3:3
      |
    3 |   "evaluatoin": {}
      |   ^^^^^^^^^^^^ /evaluatoin
      |
      = help: did you mean `evaluation`?
    "#);
    let error = fault(r#"{"evaluation": {"final_passed": "final.ok = true"}}"#);
    assert_eq!(
        error.to_string(),
        "`final_passed`: `=` is no operator; write `==` (agenteval.json:1:43, /evaluation/final_passed)"
    );
    let error = fault(r#"{"evaluation": {"final_passed": ""}}"#);
    assert!(error.to_string().starts_with("`final_passed`: the expression is empty"), "{error}");
}

#[test]
fn hostile_text_is_an_error_and_no_crash() {
    let run = || {
        for text in [
            "[".repeat(100_000),
            "{\"a\":".repeat(100_000),
            format!("{{\"max_steps\": {}{}}}", "[".repeat(50_000), "]".repeat(50_000)),
            format!("{{\"gate\": {}1{}}}", "{\"x\":".repeat(500), "}".repeat(500)),
            format!("{{\"evaluation\": {{\"final_passed\": \"{}\"}}}}", "(".repeat(100_000)),
            format!(
                "{{\"error_types\": [{{\"match\": \"{}\", \"type\": \"x\"}}]}}",
                "(".repeat(10_000)
            ),
            r#"{"error_types": [{"match": "(a{1000}){1000}", "type": "x"}]}"#.to_owned(),
            format!("{{\"side_effects\": [\"{}\"]}}", "{".repeat(10_000)),
            "{\"max_steps\": 1e400}".to_owned(),
            "{\"\\ud800\": 1}".to_owned(),
            "\u{0}".to_owned(),
            format!("{{\"task_name\": \"{}\"}}", "a".repeat(2 << 20)),
        ] {
            let error = fault(&text);
            assert!(!error.render().is_empty());
            assert!(error.to_string().len() < 2000, "{} bytes", error.to_string().len());
        }
        let error = EvalConfig::from_json(b"{\"a\": \"\xff\"}", "x").expect_err("not UTF-8");
        assert_eq!(error.to_string(), "the file is not UTF-8 at byte 7; save it as UTF-8 (x)");
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("sound");
}

fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("eval-configs");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .expect("eval-configs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).expect("text")))
        .collect();
    found.sort();
    assert!(found.len() >= 3);
    found
}

#[test]
fn the_example_configs_load() {
    for (path, text) in examples() {
        EvalConfig::load(Path::new(&path)).unwrap_or_else(|e| panic!("{e}"));
        assert!(text.ends_with('\n'), "{path}");
    }
    let invoice = examples().into_iter().find(|(path, _)| path.contains("invoice")).expect("there");
    assert_eq!(load(&invoice.1).limits.max_steps, Some(30));
}

#[test]
fn the_schema_takes_the_examples_and_refuses_what_the_reader_refuses() {
    let schema = jsonschema::validator_for(&config_schema()).expect("a sound schema");
    let valid = |text: &str| schema.is_valid(&serde_json::from_str(text).expect("JSON"));
    for (path, text) in examples() {
        assert!(valid(&text), "{path}");
    }
    assert!(valid(FIRST_BLOCK));
    for text in [
        r#"{"max_stepz": 3}"#,
        r#"{"evaluation": {"max_steps": 3}}"#,
        r#"{"max_steps": -1}"#,
        r#"{"max_steps": 20.5}"#,
        r#"{"infra_errors": "excluded"}"#,
        r#"{"mid_run": "middle"}"#,
        r#"{"mid_run": {"from": 0.2}}"#,
        r#"{"steps": []}"#,
        r#"{"metrics": ["mid_term_eror_rate"]}"#,
        r#"{"thresholds": {"final_completion": {"min": 0.9}}}"#,
        r#"{"gate": {"margin": {"avg_steps": "ten"}}}"#,
        r#"{"gate": {"metrics": ["nothing"]}}"#,
        r#"{"error_types": [{"type": "x"}]}"#,
    ] {
        assert!(!valid(text), "the schema takes {text}");
        fault(text);
    }
    assert!(valid(
        r#"{"gate": {"margin": {"default": 0.1, "avg_steps": "10%"}}, "mid_run": "auto"}"#
    ));
}

#[test]
fn the_config_of_a_folder_is_found_in_it_or_above() {
    let root = tempfile::tempdir().expect("a folder");
    let deep = root.path().join("a/b");
    std::fs::create_dir_all(&deep).expect("folders");
    std::fs::write(root.path().join("agenteval.json"), "{}").expect("a file");
    assert_eq!(EvalConfig::find(&deep), Some(root.path().join("agenteval.json")));
    std::fs::write(deep.join("agenteval.json"), "{}").expect("a file");
    assert_eq!(EvalConfig::find(&deep), Some(deep.join("agenteval.json")));
    let error = EvalConfig::load(&root.path().join("none.json")).expect_err("not there");
    assert!(
        error.to_string().contains("none.json") && error.to_string().contains("agenteval init"),
        "{error}"
    );
}

#[test]
fn a_margin_of_its_own_unit_is_kept_apart_from_rates() {
    assert_eq!(resolve_metric("cost_usd").map(|m| m.unit), Some(Unit::Usd));
    let error = fault(r#"{"gate": {"margin": {"step_error_rate": 5}}}"#);
    assert!(
        error.to_string().starts_with("`step_error_rate` is a share between 0 and 1, not 5"),
        "{error}"
    );
}
