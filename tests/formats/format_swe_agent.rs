//! SWE-agent trajectories: hand-written ones, and the real ones beside the repo.

use crate::cli::{Folder, figure, figures_are, fixture, json, report};
use crate::support::shared;

#[test]
fn a_refused_edit_and_its_repeat_are_a_failure_and_a_revised_retry() {
    let found = report(&[&fixture("swe-agent/run")]);
    assert_eq!(found["runs"]["total"], 2);
    assert_eq!((&found["runs"]["completed"], &found["runs"]["unfinished"]), (&1.into(), &1.into()));
    assert_eq!(found["counts"]["revised_retries"], 1);
    assert_eq!(found["counts"]["identical_retries"], 1);
    let types = &found["distributions"]["error_type"];
    for kind in ["edit_syntax_error", "ValueError", "timeout"] {
        assert_eq!(types[kind], 1, "{types:#}");
    }
    figures_are(&found, &[("step_error_rate", 0.428571, 3.0, 7.0)]);
}

#[test]
fn the_cost_of_the_batch_is_never_summed() {
    let found = report(&[&fixture("swe-agent/run")]);
    let (_, sum, runs) = figure(&found, "cost_usd");
    assert_eq!((sum, runs), (Some(0.35), Some(2.0)));
}

#[test]
fn all_tries_of_a_retry_agent_are_one_run_and_the_copy_of_the_best_is_not_counted() {
    let found = json(&["inspect", &fixture("swe-agent/tries.traj")]);
    assert_eq!((&found["runs"], &found["attempts"]), (&1.into(), &5.into()));
}

#[test]
fn real_trajectories_of_all_generations_are_known() {
    let wanted = [
        ("run_dir/pydicom__pydicom-1458.traj", 12, 4, (1.26719, 123_981.0)),
        ("v0_test-repo-i1.traj", 5, 0, (0.53839, 53_187.0)),
        ("history_only_function_calling_simple.traj", 5, 0, (0.0, 0.0)),
    ];
    for (name, attempts, errors, used) in wanted {
        let Some(path) = shared(&format!("data/swe_agent/{name}")) else { return };
        let found = report(&[path.to_str().unwrap()]);
        assert_eq!(found["inputs"][0]["format"], "swe-agent", "{name}");
        let (_, failed, all) = figure(&found, "step_error_rate");
        assert_eq!((failed, all), (Some(f64::from(errors)), Some(f64::from(attempts))), "{name}");
        assert_eq!(found["runs"]["unknown"], 1, "{name}: submitted is not resolved");
        let of = |name| figure(&found, name).1;
        assert_eq!((of("cost_usd"), of("total_tokens")), (Some(used.0), Some(used.1)), "{name}");
    }
}

/// An empty submission was taken for a delivery, so that a stopped run had no outcome.
#[test]
fn a_stopped_run_with_an_empty_submission_failed() {
    for submission in ["\"\"", "null"] {
        let folder = Folder::new();
        let text = format!(
            r#"{{"environment": "e", "history": [], "info": {{"exit_status": "exit_cost", "submission": {submission}}}, "trajectory": [{{"action": "ls", "observation": "", "response": "", "thought": ""}}]}}"#
        );
        let found = report(&[&folder.file("a.traj", text)]);
        assert_eq!(found["runs"]["failed"], 1, "{submission}");
    }
}
