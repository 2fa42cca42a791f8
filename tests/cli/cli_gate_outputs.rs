//! What the gate writes: JSON, JUnit, SARIF, Markdown and what GitHub Actions takes.

use std::collections::BTreeSet;

use crate::cli::{Ran, schema_faults};
use crate::gate::{Run, Sides, grid, lines, save};
use quick_junit::{Report, TestCaseStatus};
use serde_json::{Value, json};

const CONFIG: &str = r#"{"task_name":"t","thresholds":{"final_completion_rate":{"min":0.99},"cost_usd":{"max":1},"avg_retry_count":{"max":5}}}"#;

/// Regressions, broken tasks, missed, met and unknown thresholds, and a new error.
fn worse() -> Sides {
    let before = grid(40, 3, |task, trial| task % 8 != 0 || trial == 0);
    let mut after = grid(40, 3, |task, trial| (task % 8 != 0 || trial == 0) && task % 4 != 1);
    for run in after.iter_mut().filter(|run| !run.passed) {
        run.error = Some("tool_timeout".to_owned());
    }
    Sides::judged(&before, &after, CONFIG)
}

/// Names that a terminal, a page, a table, a command or a link would obey.
const HOSTILE: [&str; 8] = [
    "\u{1b}[31mred\u{1b}[2J",
    "<script>alert(1)</script>",
    "two\nlines\r::error::x",
    "a|b`c`*d*",
    "%0A::error title=x::y,z:w",
    "\u{202e}right\u{2066}to\u{feff}left\u{fffe}",
    "数据分析任务",
    "[x](https://evil.example) @team {0}",
];

fn hostile() -> Sides {
    let rename = |runs: Vec<Run>| -> Vec<Run> {
        let name = |run: &Run| {
            let task: usize = run.task.trim_start_matches("task-").parse().unwrap();
            HOSTILE.get(task).map_or(run.task.clone(), |name| (*name).to_owned())
        };
        runs.into_iter().map(|run| Run { task: name(&run), ..run }).collect()
    };
    let before = rename(grid(20, 3, |_, _| true));
    let mut after = rename(grid(20, 3, |task, _| task >= 8));
    for (run, name) in after.iter_mut().zip(HOSTILE.iter().cycle()) {
        run.error = Some((*name).to_owned());
        run.tool = format!("tool {name}");
    }
    after.push(Run::new(HOSTILE[0].to_owned() + "new", 0, true));
    Sides::new(&before, &after)
}

#[test]
fn the_json_has_the_keys_of_the_contract_and_the_form_of_its_schema() {
    let (report, code) = worse().json(&[]);
    assert_eq!(code, 1);
    assert_eq!(schema_faults("gate", &report), Vec::<String>::new());
    assert_eq!(report["schema"], "agenteval.gate/1");
    for key in [
        "verdict",
        "baseline",
        "pairing",
        "metrics",
        "thresholds",
        "broken_tasks",
        "fallen_tasks",
        "error_types",
        "warnings",
        "guard",
        "mix_shift",
        "reasons",
        "levels",
    ] {
        assert!(report.get(key).is_some(), "no {key}");
    }
    let names: Vec<&String> = report["metrics"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let metric = &report["metrics"]["final_completion_rate"];
    for key in [
        "baseline",
        "candidate",
        "difference",
        "ci",
        "p",
        "p_adjusted",
        "margin",
        "harm_bound",
        "verdict",
        "test",
        "detectable",
        "needed",
        "reason",
    ] {
        assert!(metric.get(key).is_some(), "no {key} in {metric:#}");
    }
    assert_eq!(
        (&metric["ci"]["level"], &metric["harm_bound"]["level"]),
        (&json!(0.95), &json!(0.95))
    );
    assert!(metric["p"].as_f64().unwrap() > 0.0);
    let held: Vec<&Value> =
        report["thresholds"].as_array().unwrap().iter().map(|held| &held["verdict"]).collect();
    assert_eq!(held.len(), 3);
    assert!(["missed", "unknown", "met"].iter().all(|verdict| held.contains(&&json!(verdict))));
    assert_eq!(report["error_types"]["new"][0]["tool"], "search");
}

#[test]
fn a_p_however_small_is_not_0_and_has_no_exponent() {
    let sides = Sides::new(&grid(60, 5, |_, _| true), &grid(60, 5, |_, _| false));
    let ran = sides.gate(&["--output", "json"]);
    let p = ran.json()["metrics"]["final_completion_rate"]["p"].as_f64().unwrap();
    assert!(p > 0.0 && p < 1e-50, "{p}");
    let line = ran.out.lines().find(|line| line.contains("\"p\": 0.00000000000")).unwrap();
    assert!(!line.contains('e'), "{line}");
}

#[test]
fn junit_has_a_case_for_each_thing_that_is_judged_and_only_known_attributes() {
    let text = worse().written("x.xml");
    let report = Report::deserialize_from_str(&text).unwrap();
    let [suite] = report.test_suites.as_slice() else { panic!("{text}") };
    let ended = |class: &str| -> Vec<(String, &str)> {
        let of = suite.test_cases.iter().filter(|case| {
            case.classname.as_ref().unwrap().as_str() == format!("agenteval.gate.{class}")
        });
        of.map(|case| {
            let end = match &case.status {
                TestCaseStatus::Success { .. } => "passed",
                TestCaseStatus::NonSuccess { .. } => "failed",
                TestCaseStatus::Skipped { .. } => "skipped",
            };
            (case.name.as_str().to_owned(), end)
        })
        .collect()
    };
    assert_eq!(ended("pairing"), [("pairing".to_owned(), "passed")]);
    assert_eq!(ended("guard"), [("broken tasks".to_owned(), "failed")]);
    assert_eq!(ended("metric").len(), 4);
    assert!(ended("metric").contains(&("final_completion_rate".to_owned(), "failed")));
    assert!(ended("metric").contains(&("first_step_accuracy".to_owned(), "passed")));
    let thresholds = ended("threshold");
    assert!(thresholds.contains(&("final_completion_rate min".to_owned(), "failed")));
    assert!(thresholds.contains(&("cost_usd max".to_owned(), "skipped")));
    assert!(thresholds.contains(&("avg_retry_count max".to_owned(), "passed")));
    assert_eq!(ended("broken_task").len(), 10);
    assert_eq!(suite.test_cases.len(), 1 + 1 + 4 + 3 + 10);
    assert_eq!((suite.tests, suite.failures), (19, 14));
    // What Jenkins' schema knows; `skipped` of the whole is not in it.
    let tag = regex::Regex::new(r"<([a-z-]+)((?: [a-z]+=\x22[^\x22]*\x22)*)\s*/?>").unwrap();
    let attribute = regex::Regex::new(r" ([a-z]+)=\x22").unwrap();
    for found in tag.captures_iter(&text) {
        let known: &[&str] = match &found[1] {
            "testsuites" => &["name", "tests", "failures", "errors"],
            "testsuite" => &["name", "tests", "failures", "errors", "skipped"],
            "testcase" => &["name", "classname"],
            "failure" | "skipped" => &["message", "type"],
            "system-out" => &[],
            other => panic!("<{other}>"),
        };
        for name in attribute.captures_iter(&found[2]) {
            assert!(known.contains(&&name[1]), "{} of {}", &name[1], &found[0]);
        }
    }
}

#[test]
fn a_gate_that_passes_fails_no_case_of_junit_for_one_flaky_task() {
    let before = grid(60, 1, |_, _| true);
    let after = grid(60, 1, |task, _| task != 7);
    let sides = Sides::new(&before, &after);
    assert_eq!(sides.gate(&[]).code, 0);
    let report = Report::deserialize_from_str(&sides.written("x.xml")).unwrap();
    assert_eq!((report.failures, report.errors), (0, 0));
    let case =
        report.test_suites[0].test_cases.iter().find(|case| case.name.as_str() == "task-007");
    assert!(matches!(case.unwrap().status, TestCaseStatus::Skipped { .. }));
    let sarif: Value = serde_json::from_str(&sides.written("x.sarif")).unwrap();
    let levels: BTreeSet<&str> = sarif["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["level"].as_str().unwrap())
        .collect();
    assert!(!levels.contains("error"), "{levels:?}");
}

#[test]
fn sarif_has_rules_levels_places_and_fingerprints_that_stay() {
    let sides = worse();
    let sarif: Value = serde_json::from_str(&sides.written("x.sarif")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    let mut prints = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        let level = result["level"].as_str().unwrap();
        seen.insert((result["ruleId"].as_str().unwrap(), level));
        let place = &result["locations"][0];
        assert_eq!(place["physicalLocation"]["region"]["startLine"], 1);
        let uri = place["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.ends_with("/store/main.json"), "{uri}");
        let print = result["partialFingerprints"]["agentevalFinding/v1"].as_str().unwrap();
        assert!(prints.insert(print), "{result:#}");
    }
    let wanted = [
        ("broken-task", "error"),
        ("metric-regression", "error"),
        ("new-error-type", "note"),
        ("tasks-broke", "error"),
        ("threshold-missed", "error"),
    ];
    assert!(wanted.iter().all(|pair| seen.contains(pair)), "{seen:?}");
    let task = results.iter().find(|result| result["ruleId"] == "broken-task").unwrap();
    assert_eq!(task["locations"][0]["logicalLocations"][0]["name"], "task-001");
}

/// Runs the gate as GitHub Actions does; gives the summary too.
fn on_github(sides: &Sides, more: &[&str]) -> (Ran, String) {
    let summary = sides.folder.file("summary.md", "before\n");
    let mut command = sides.command(more);
    command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary);
    (Ran::of(&mut command), std::fs::read_to_string(summary).unwrap())
}

#[test]
fn github_gets_bounded_annotations_and_a_summary_unless_that_is_off() {
    let sides = worse();
    let (ran, summary) = on_github(&sides, &[]);
    assert_eq!(ran.code, 1);
    let of = |kind: &str| ran.err.lines().filter(|line| line.starts_with(kind)).collect::<Vec<_>>();
    let errors = of("::error title=");
    assert_eq!(errors.len(), 10, "{errors:#?}");
    assert!(
        errors[0].starts_with("::error title=agenteval gate against main%3A "),
        "{}",
        errors[0]
    );
    assert!(errors[9].ends_with(" more: the JSON report has all"), "{}", errors[9]);
    assert!(!of("::warning title=").is_empty());
    assert!(!ran.out.contains("::error"), "results alone go to standard output");
    assert!(summary.starts_with("before\n"), "what others wrote stays: {summary}");
    assert!(summary.contains("### FAIL  ") && summary.contains("| final_completion_rate | "));
    let (ran, summary) = on_github(&sides, &["--github", "off"]);
    assert!(!ran.err.contains("::error") && summary == "before\n", "{ran:?}");
    let same = Sides::new(&grid(40, 3, |_, _| true), &grid(40, 3, |_, _| true));
    let (ran, summary) = on_github(&same, &[]);
    assert!(!ran.err.contains("::error"), "{ran:?}");
    assert!(summary.contains("40 of 40 tasks paired"), "{summary}");
}

#[test]
fn hostile_names_are_shown_and_obeyed_nowhere() {
    let sides = hostile();
    let ran = sides.gate(&[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let tame = |text: &str| {
        let wild =
            |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{feff}".contains(c);
        assert!(!text.contains(wild), "{text:?}");
    };
    tame(&ran.out);
    tame(&ran.err);
    assert!(ran.out.contains("数据分析任务"), "{}", ran.out);
    let rows = ran.out.lines().filter(|line| line.contains("3/3"));
    let ends: BTreeSet<usize> = rows
        .map(|line| unicode_width::UnicodeWidthStr::width(line.split("3/3").next().unwrap()))
        .collect();
    assert_eq!(ends.len(), 1, "aligned: {}", ran.out);
    // The command that is offered names a task that a shell takes as one word.
    assert!(ran.out.contains("next    agenteval show '%0A::error title=x::y,z:w' "), "{}", ran.out);

    let page = sides.written("x.md");
    tame(&page);
    assert!(
        !page.contains("<script") && !page.contains("[x](") && !page.contains("@team"),
        "{page}"
    );
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let table: BTreeSet<usize> =
        page.lines().filter(|line| line.contains("3/3")).map(cells).collect();
    assert_eq!(table, BTreeSet::from([4]), "{page}");

    let xml = sides.written("x.xml");
    tame(&xml);
    assert!(!xml.contains("<script") && !xml.contains('\u{fffe}'), "{xml}");
    Report::deserialize_from_str(&xml).unwrap();

    let sarif = sides.written("x.sarif");
    tame(&sarif);
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    for result in sarif["runs"][0]["results"].as_array().unwrap() {
        let text = result["message"]["text"].as_str().unwrap();
        assert!(!text.contains("]("), "{text}");
    }

    let (ran, summary) = on_github(&sides, &[]);
    tame(&summary);
    for line in ran.err.lines().filter(|line| line.starts_with("::")) {
        assert!(
            line.starts_with("::error title=agenteval gate")
                || line.starts_with("::warning title=agenteval gate"),
            "{line}"
        );
        assert!(!line.contains("%0A"), "{line}");
    }

    let (report, _) = sides.json(&[]);
    let ids: BTreeSet<&str> = report["broken_tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["task_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, BTreeSet::from(HOSTILE), "JSON has the names as they are");
}

#[test]
fn secrets_in_names_are_masked_in_every_form() {
    // Put together here, so that no scanner takes this file for a leak.
    let secret = format!("sk-proj-{}", "Ab1".repeat(14));
    let name = |runs: Vec<Run>| -> Vec<Run> {
        runs.into_iter().map(|run| Run { task: format!("{} {secret}", run.task), ..run }).collect()
    };
    let sides = Sides::new(&name(grid(10, 3, |_, _| true)), &name(grid(10, 3, |_, _| false)));
    let mut all = vec![sides.gate(&[]).out, sides.gate(&["--output", "json"]).out];
    all.extend(["x.md", "x.xml", "x.sarif"].map(|file| sides.written(file)));
    let (ran, summary) = on_github(&sides, &[]);
    all.extend([ran.err, summary]);
    for text in all {
        assert!(text.contains("[masked]") || text.contains("\\[masked\\]"), "{text}");
        assert!(!text.contains(&"Ab1".repeat(5)), "{text}");
    }
}

#[test]
fn the_same_runs_give_the_same_bytes_in_any_order_of_the_file() {
    let sides = hostile();
    let forms = |sides: &Sides| {
        let mut all: Vec<String> =
            ["table", "json", "markdown"].map(|form| sides.gate(&["--output", form]).out).into();
        all.extend(["x.xml", "x.sarif"].map(|name| sides.written(name)));
        all
    };
    let first = forms(&sides);
    assert_eq!(first, forms(&sides));
    let text = std::fs::read_to_string(sides.after()).unwrap();
    let backwards: Vec<&str> = text.lines().rev().collect();
    sides.folder.file("after.ndjson", backwards.join("\n"));
    assert_eq!(first, forms(&sides));
    let before = sides.folder.file("before.ndjson", lines(&grid(4, 1, |_, _| true)));
    save(&sides.folder, "other", &before, None);
    assert_eq!(first, forms(&sides), "other baselines make no difference");
}
