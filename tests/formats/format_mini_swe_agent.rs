//! mini-swe-agent trajectories of both generations.

use crate::cli::{figure, figures_are, fixture, json, report};
use crate::support::shared;

#[test]
fn exit_codes_and_misformed_answers_of_v1_are_failed_steps() {
    let found = report(&[&fixture("mini-swe-agent/v1")]);
    assert_eq!((&found["runs"]["total"], &found["runs"]["failed"]), (&1.into(), &1.into()));
    let types = &found["distributions"]["error_type"];
    assert_eq!((&types["exit_code"], &types["format_error"]), (&1.into(), &1.into()));
    figures_are(&found, &[("step_error_rate", 0.4, 2.0, 5.0), ("cost_usd", 0.05, 0.05, 1.0)]);
    assert_eq!(figure(&found, "total_tokens").1, Some(1110.0));
    assert_eq!(found["counts"]["revised_retries"], 2);
}

#[test]
fn calls_and_results_of_v2_are_joined_by_id() {
    let found = report(&[&fixture("mini-swe-agent/v2/acme__calc-8.traj.json")]);
    assert_eq!(found["runs"]["failed"], 1, "stopped at a limit with nothing handed in");
    let types = &found["distributions"]["error_type"];
    assert_eq!((&types["exit_code"], &types["TimeoutError"]), (&1.into(), &1.into()), "{types:#}");
    figures_are(&found, &[("step_error_rate", 0.666667, 2.0, 3.0)]);
}

#[test]
fn real_trajectories_are_known_with_their_exit_codes() {
    let wanted = [
        ("mini_swe_agent/v2_testdata_github_issue.traj.json", 10, 2),
        ("mini_swe_agent/v2_testdata_local.traj.json", 2, 0),
        ("harbor_atif/rfc_native_mini-swe-agent-trajectory.json", 3, 0),
    ];
    for (name, attempts, errors) in wanted {
        let Some(path) = shared(&format!("data/{name}")) else { return };
        let path = path.to_str().unwrap();
        let found = report(&[path]);
        assert_eq!(found["inputs"][0]["format"], "mini-swe-agent", "{name}");
        let (_, failed, all) = figure(&found, "step_error_rate");
        assert_eq!((failed, all), (Some(f64::from(errors)), Some(f64::from(attempts))), "{name}");
        assert_eq!(found["runs"]["unknown"], 1, "{name}: submitted is not resolved");
    }
}

#[test]
fn the_four_real_runs_have_their_calls_tokens_and_cost() {
    let Some(path) = shared("data/mini_swe_agent/gemini3pro_run") else { return };
    let found = json(&["inspect", path.to_str().unwrap()]);
    assert_eq!(
        (&found["runs"], &found["attempts"], &found["turns"]),
        (&4.into(), &67.into(), &67.into())
    );
    let report = report(&[path.to_str().unwrap()]);
    let (_, cost, _) = figure(&report, "cost_usd");
    assert!((cost.unwrap() - 0.506_957).abs() < 1e-9, "{cost:?}");
    assert_eq!(figure(&report, "final_completion_rate").1, Some(2.0));
}
