//! `agenteval plan` and `agenteval demo` through the program.

use crate::cli;
use crate::cli::{Folder, run};
use serde_json::Value;

fn plan(arguments: &[&str]) -> Value {
    cli::json(&[&["plan"], arguments].concat())
}

#[test]
fn sizes_fall_with_trials_and_with_the_effect() {
    let plan = plan(&["--effect", "0.1,0.2", "--trials", "1,3", "--tasks", "50"]);
    assert_eq!(plan["schema"], "agenteval.plan/1");
    let tasks: Vec<u64> = plan["sizes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|size| size["tasks"].as_u64().unwrap())
        .collect();
    assert_eq!(tasks.len(), 4);
    assert!(tasks[0] > tasks[1] && tasks[0] > tasks[2] && tasks[1] > tasks[3], "{tasks:?}");
    // Simulation found 80% power at 50 tasks with 3 trials.
    assert!((40..=56).contains(&tasks[1]), "{tasks:?}");
    assert_eq!(plan["detectable"][1]["tasks"], 50);
}

#[test]
fn a_plan_from_runs_knows_their_value_and_spread() {
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/native/support-flow.ndjson");
    let plan = plan(&[traces, "--metric", "avg_retry_count"]);
    assert_eq!(plan["value"], 0.875);
    assert_eq!(plan["assumed"], false);
    assert_eq!(plan["sizes"].as_array().unwrap().len(), 9);
}

#[test]
fn what_cannot_be_planned_is_told() {
    for (arguments, why) in [
        (
            vec!["plan", "--effect", "0.9"],
            "--effect 0.9: this rate cannot get worse by more than 0.800",
        ),
        (vec!["plan", "--effect=-1"], "--effect -1: give a number above 0"),
        (vec!["plan", "--rate", "1.5"], "--rate 1.5: give a number between 0 and 1"),
        (vec!["plan", "--power", "1"], "--power 1: give a number between 0 and 1"),
        (vec!["plan", "--metric", "cost_usd"], "cost_usd needs runs to plan from"),
        (vec!["plan", "--metric", "sucess_rate"], "did you mean `success_rate`?"),
        (vec!["plan", "--baseline", "none", "--store", "nowhere"], "there is no baseline `none`"),
    ] {
        let ran = run(&arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.out);
        assert!(ran.err.contains(why), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn the_demo_catches_a_regression_and_what_it_keeps_can_be_gated() {
    let shown = run(&["demo"]);
    assert_eq!(shown.code, 0);
    assert!(shown.out.contains("\nFAIL  3 regressions"), "{}", shown.out);
    assert!(shown.out.contains("### FAIL"), "{}", shown.out);
    let folder = Folder::new();
    let kept = folder.at("kept");
    assert_eq!(run(&["demo", "--keep", &kept]).code, 0);
    let gated = run(&[
        "gate",
        &format!("{kept}/candidate.ndjson"),
        "-c",
        &format!("{kept}/support.json"),
        "--baseline",
        "main",
        "--store",
        &format!("{kept}/.agenteval/baselines"),
    ]);
    assert_eq!(gated.code, 1, "{}", gated.err);
    let again = run(&["demo"]);
    assert_eq!(again.out, shown.out);
}
