//! `agenteval horizon` through the program: published and hand-worked figures.

use crate::cli::{Folder, run};
use crate::support;
use serde_json::Value;

fn near(got: &Value, expected: f64, off: f64) {
    let number = got.as_f64().unwrap_or_else(|| panic!("{got} is no number, expected {expected}"));
    assert!((number - expected).abs() <= off, "got {number}, expected {expected} within {off}");
}

#[test]
fn errors_of_one_step_add_up_over_many() {
    let ran = run(&["horizon", "--per-step", "0.95", "--steps", "20,30", "--output", "json"]);
    near(&ran.json()["projections"]["20"], 0.3585, 5e-5);
    near(&ran.json()["projections"]["30"], 0.2146, 5e-5);
    let ran = run(&["horizon", "--per-step", "0.90", "--steps", "20", "--output", "json"]);
    near(&ran.json()["projections"]["20"], 0.1216, 5e-5);
}

/// 400 runs of two steps: 20 fail the first, 19 of the other 380 the second. 95% of steps pass at
/// either place, and so the projection of runs is that of the share that was typed.
#[test]
fn a_projection_from_runs_is_that_of_their_risk() {
    let folder = Folder::new();
    let step = |fails: bool| match fails {
        true => r#"{"type": "tool", "error": {"type": "x"}}"#,
        false => r#"{"type": "tool"}"#,
    };
    let line = |first, second| format!("{{\"steps\": [{}, {}]}}\n", step(first), step(second));
    let text = line(true, false).repeat(20) + &line(false, true).repeat(19);
    let text = text + &line(false, false).repeat(361);
    let file = folder.file("runs.ndjson", text);
    let ran = run(&["horizon", &file, "--steps", "20,30", "--output", "json"]);
    let json = ran.json();
    near(&json["hazard"]["value"], 0.05, 1e-12);
    near(&json["projections"][0]["geometric"]["value"], 0.3585, 5e-5);
    near(&json["projections"][1]["geometric"]["value"], 0.2146, 5e-5);
    assert_eq!(json["projections"][0]["extrapolated"], true);
    assert_eq!(json["projections"][0]["seen"], Value::Null);
}

#[test]
fn the_first_tool_errors_of_tau_bench_rise_with_the_step() {
    let Some(file) = support::shared("data/tau_bench/gpt-4o-airline.json") else { return };
    let ran =
        run(&["horizon", &file.display().to_string(), "--steps", "15,60", "--output", "json"]);
    let json = ran.json();
    near(&json["hazard"]["value"], 0.03478, 5e-6);
    near(&json["hazard"]["low"], 0.0166, 5e-5);
    near(&json["hazard"]["high"], 0.0530, 5e-5);
    near(&json["hazard_naive"]["low"], 0.0252, 5e-5);
    near(&json["half_life"]["value"], 19.579_363, 1e-5);
    let constant = &json["constant"];
    assert_eq!(constant["verdict"], "rising");
    near(&constant["slope"]["value"], 0.803_490, 1e-6);
    near(&constant["lrt"], 13.2523, 5e-5);
    near(&constant["naive_p"], 0.0003, 5e-5);
    // The design's own resampling gave about [.37, 1.64].
    near(&constant["slope"]["low"], 0.37, 0.05);
    near(&constant["slope"]["high"], 1.64, 0.1);
    let at = &json["projections"][0];
    near(&at["seen"]["value"], 0.3925, 5e-5);
    near(&at["geometric"]["value"], 0.5878, 5e-4);
    assert_eq!((&at["extrapolated"], &at["withheld"]), (&false.into(), &false.into()));
    let beyond = &json["projections"][1];
    assert_eq!((&beyond["withheld"], &beyond["geometric"]), (&true.into(), &Value::Null));
    let text = run(&["horizon", &file.display().to_string()]).out;
    assert!(text.contains("as if runs of a task were independent"), "{text}");
    assert!(text.contains("no: it rises") && text.contains("withheld"), "{text}");
}

#[test]
fn metr_horizons_are_the_exact_optimum_with_intervals_within_their_tolerance() {
    let Some(file) = support::shared("stats/metr/runs_jan2025.csv") else { return };
    let Some(expected) = support::shared("stats/metr/expected_jan2025.json") else { return };
    let expected: Value =
        serde_json::from_slice(&std::fs::read(expected).expect("expected figures")).expect("JSON");
    let path = file.display().to_string();
    let json =
        run(&["horizon", &path, "--preset", "metr", "--draws", "8000", "--output", "json", "-q"])
            .json();
    let agents = json["agents"].as_array().expect("agents");
    let mut checked = 0;
    for (name, figures) in expected["agents"].as_object().expect("agents") {
        let agent = agents.iter().find(|agent| agent["agent"] == name.as_str());
        let agent = agent.unwrap_or_else(|| panic!("{name} is not there"));
        for (at, share) in ["p50", "p80"].iter().enumerate() {
            let horizon = &agent["horizons"][at];
            let Some(exact) = figures[format!("exact_{share}")].as_f64() else { continue };
            let minutes = horizon["minutes"].as_f64().expect("minutes");
            // Nine decimals are printed, which for the smallest is less than seven digits.
            assert!(
                (minutes / exact - 1.0).abs() <= 1e-7 || (minutes - exact).abs() < 1e-9,
                "{name} {share}: {minutes} {exact}"
            );
            for (end, q) in [("low", "0.025"), ("high", "0.975")] {
                let key = format!("{share}q{q}");
                let (Some(own), Some(sd)) = (
                    figures["own_bootstrap_B8000_geomean_of_4"][&key].as_f64(),
                    figures["own_bootstrap_B8000_sd_log"][&key].as_f64(),
                ) else {
                    continue;
                };
                let got = horizon[end].as_f64().unwrap_or_else(|| panic!("{name} {key}"));
                let off = (got / own).ln().abs();
                assert!(off <= f64::max(0.05, 6.0 * sd), "{name} {key}: {got} {own} {sd}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 16, "only {checked} ends of intervals were compared");
}

#[test]
fn what_cannot_be_followed_is_told_with_its_remedy() {
    run(&["horizon"]).refused(2, &["--per-step"]);
    run(&["horizon", "--per-step", "1.5"]).refused(2, &["up to 1"]);
    let folder = Folder::new();
    let table = folder.file("runs.csv", "task_id,success\na,1\nb,0\n");
    run(&["horizon", &table, "-q"]).refused(4, &["--preset metr"]);
    run(&["horizon", &table, "-q", "--preset", "metr"]).refused(4, &["human_minutes"]);
}

/// All first failures stand at step 1, so that no curve over the steps has a finite slope; the
/// thirds of the steps reject a constant risk, and nothing is projected.
#[test]
fn failures_at_one_end_alone_are_no_constant_risk() {
    let folder = Folder::new();
    let fails = r#"{"steps": [{"type": "tool", "error": {"type": "x"}}]}"#.to_owned() + "\n";
    let steps = vec![r#"{"type": "tool"}"#; 20].join(", ");
    let clean = format!("{{\"steps\": [{steps}], \"status\": \"completed\"}}\n");
    let file = folder.file("runs.ndjson", fails.repeat(50) + &clean.repeat(50));
    let json = run(&["horizon", &file, "--steps", "10,50", "--output", "json", "-q"]).json();
    assert_eq!(json["constant"]["verdict"], "falling");
    assert_eq!(json["projections"][1]["withheld"], true);
    near(&json["projections"][0]["seen"]["value"], 0.5, 1e-9);
    let text = run(&["horizon", &file, "-q"]).out;
    assert!(text.contains("first failures lie at one end"), "{text}");
    assert!(text.contains("seen: 1"), "{text}");
}

#[test]
fn runs_that_are_not_followed_to_their_end_are_counted_by_why_with_a_bound() {
    let folder = Folder::new();
    let config = folder.file("c.json", r#"{"max_steps": 2}"#);
    let runs = [
        r#"{"steps": [{"type": "tool"}, {"type": "tool"}, {"type": "tool"}], "status": "completed"}"#,
        r#"{"steps": [{"type": "tool"}, {"type": "tool"}], "status": "running"}"#,
        r#"{"steps": [{"type": "tool"}]}"#,
        r#"{"steps": [{"type": "tool", "error": "x"}, {"type": "tool"}], "status": "failed"}"#,
    ];
    let file = folder.file("runs.ndjson", runs.join("\n"));
    let json = run(&["horizon", &file, "-c", &config, "--output", "json", "-q"]).json();
    assert_eq!(
        json["censored_by"],
        serde_json::json!({"max_steps": 1, "unfinished": 1, "unknown": 1})
    );
    // One failure in 7 steps; with the three that were cut it would be four.
    near(&json["hazard"]["value"], 1.0 / 7.0, 1e-6);
    near(&json["hazard_if_cut_failed"], 4.0 / 7.0, 1e-6);
}

#[test]
fn one_task_tells_nothing_of_others() {
    let folder = Folder::new();
    let line = |n| {
        let error = if n % 10 == 0 { ", \"error\": \"x\"" } else { "" };
        format!(
            "{{\"task_id\": \"a\", \"steps\": [{{\"type\": \"tool\", \"name\": \"pay\"{error}}}]}}\n"
        )
    };
    let file = folder.file("runs.ndjson", (0..60).map(line).collect::<String>());
    let json = run(&["horizon", &file, "--output", "json", "-q"]).json();
    assert_eq!((&json["hazard"]["low"], &json["hazard"]["high"]), (&Value::Null, &Value::Null));
    let ready = run(&["readiness", &file, "--output", "json", "-q"]).json();
    assert_eq!(ready["nodes"][0]["advice"], "one_task");
}

#[test]
fn tasks_of_one_length_say_nothing_of_length() {
    let folder = Folder::new();
    let mut text = "agent,task_id,human_minutes,success\n".to_owned();
    for task in 0..4 {
        text.push_str(&format!("a,t{task},10,1\na,t{task},10,0\n"));
    }
    let ran = run(&["horizon", &folder.file("s.csv", text), "--time", "-q"]);
    assert!(ran.out.contains("all tasks have one length"), "{}", ran.out);
    assert!(!ran.out.contains("rise") && !ran.out.contains("separates"), "{}", ran.out);
}
