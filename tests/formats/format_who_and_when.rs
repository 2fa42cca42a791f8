//! Who&When: labelled runs that failed, each message a step of the agent that wrote it.

use crate::chat::{codes, delivered, detected, one, read};
use crate::support;
use agenteval::ingest::formats::who_and_when::WHO_AND_WHEN;
use agenteval::model::Trajectory;
use serde_json::json;
use serde_json::value::RawValue;

const FIXTURE: &[u8] = include_bytes!("../../fixtures/who-and-when/two_labels.json");

fn tag<'t>(run: &'t Trajectory<'_>, key: &str) -> Option<&'t str> {
    run.tags.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_ref())
}

#[test]
fn every_message_is_a_step_of_its_agent_and_the_labels_are_tags() {
    assert_eq!(detected(FIXTURE), Some("who-and-when"));
    let records: Vec<&RawValue> = serde_json::from_slice(FIXTURE).unwrap();
    let run = one(&WHO_AND_WHEN, records[0].get().as_bytes());
    assert_eq!((run.task_id.as_deref(), run.success), (Some("q-1"), Some(false)));
    let steps: Vec<_> = run
        .attempts
        .iter()
        .map(|a| (a.index, a.kind.as_ref(), a.name.as_deref().unwrap(), a.turn))
        .collect();
    assert_eq!(
        steps,
        [
            (Some(0.0), "agent", "Counter", false),
            (Some(1.0), "agent", "Computer_terminal", false),
            (Some(2.0), "agent", "Counter", false),
        ]
    );
    assert!(run.attempts.iter().all(|a| a.error.is_none()), "a label is no recorded error");
    assert_eq!(
        (tag(&run, "mistake_agent"), tag(&run, "mistake_step")),
        (Some("Counter"), Some("0"))
    );
    assert_eq!(
        (tag(&run, "level"), delivered(&run)),
        (Some("2"), json!({"output": "6. TERMINATE"}))
    );
}

#[test]
fn an_agent_is_named_as_the_labels_name_it_and_a_label_beyond_the_end_is_told() {
    let records: Vec<&RawValue> = serde_json::from_slice(FIXTURE).unwrap();
    let parsed = read(&WHO_AND_WHEN, records[1].get().as_bytes()).unwrap();
    let names: Vec<_> =
        parsed.runs[0].attempts.iter().map(|a| a.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["human", "Orchestrator", "Orchestrator", "WebSurfer"]);
    assert_eq!(codes(&parsed), [("label_out_of_range", 1)]);
}

#[test]
fn the_real_logs_point_at_a_step_of_the_agent_that_is_blamed() {
    let expected = [
        ("alg_1", 6, "0", "Excel_Expert"),
        ("alg_8", 10, "4", "AlgorithmDesign_Expert"),
        ("alg_50", 10, "3", "DataAnalysis_Expert"),
        ("alg_100", 10, "2", "Movie_Expert"),
        ("hand_6", 8, "5", "Orchestrator"),
        ("hand_55", 40, "18", "Orchestrator"),
    ];
    for (name, steps, step, agent) in expected {
        let Some(path) = support::shared(&format!("data/who_when/{name}.json")) else { return };
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(detected(&bytes), Some("who-and-when"), "{name}");
        let parsed = read(&WHO_AND_WHEN, &bytes).unwrap();
        assert_eq!(codes(&parsed), []);
        let run = &parsed.runs[0];
        assert_eq!((run.attempts.len(), run.success), (steps, Some(false)), "{name}");
        assert_eq!(
            (tag(run, "mistake_step"), tag(run, "mistake_agent")),
            (Some(step), Some(agent))
        );
        let blamed: usize = step.parse().unwrap();
        assert_eq!(run.attempts[blamed].name.as_deref(), Some(agent), "{name}");
    }
}

#[test]
fn odd_records_are_read_or_refused_but_never_panic() {
    let code =
        |bytes: &str| read(&WHO_AND_WHEN, bytes.as_bytes()).map(|_| ()).map_err(|why| why.code);
    assert_eq!(code("{}"), Err("not_a_run"));
    assert_eq!(code(r#"{"history":7}"#), Err("unreadable_history"));
    assert_eq!(
        code(
            r#"{"history":[7,{},{"name":"a) (b)"},{"role":")"}],"mistake_step":-1,"is_correct":"no"}"#
        ),
        Ok(())
    );
    let correct = one(&WHO_AND_WHEN, br#"{"history":[],"is_correct":true}"#);
    assert_eq!((correct.success, correct.attempts.len()), (Some(true), 0));
}
