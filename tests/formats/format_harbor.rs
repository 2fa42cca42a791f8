//! Harbor's trials without their trajectories.

use crate::cli::{Folder, figure, fixture, json, report};

#[test]
fn a_result_alone_is_a_run_whose_steps_are_not_known() {
    let found = report(&[&fixture("harbor/job/calc__bbbbbbb/result.json")]);
    assert_eq!(found["inputs"][0]["format"], "harbor");
    assert_eq!(found["runs"]["failed"], 1, "a reward of 0.33 is not 1");
    assert_eq!(figure(&found, "avg_steps").0, None);
    assert_eq!(figure(&found, "duration_seconds").1, Some(120.0), "the agent's own time");
    assert_eq!(figure(&found, "total_tokens").1, Some(1050.0));
}

#[test]
fn an_exception_without_a_reward_is_an_error_with_its_type() {
    let found = report(&[&fixture("harbor/job/mail__ccccccc/result.json")]);
    assert_eq!(found["runs"]["failed"], 1);
    let folder = Folder::new();
    let config = folder.file(
        "c.json",
        r#"{"evaluation": {"final_passed": "final.end_reason != 'AgentTimeoutError'"}}"#,
    );
    let found = report(&[&fixture("harbor/job/mail__ccccccc/result.json"), "-c", &config]);
    assert_eq!(found["runs"]["failed"], 1);
}

#[test]
fn trials_of_a_task_are_grouped_by_it() {
    let found = json(&["inspect", &fixture("harbor/job")]);
    assert_eq!((&found["runs"], &found["tasks"]), (&3.into(), &2.into()));
    assert_eq!(found["runs_without_task"], 0);
}
