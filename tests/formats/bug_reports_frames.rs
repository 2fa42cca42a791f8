//! Faults that users of other tools reported, of the dumps of frameworks and of Temporal.

use crate::cli;
use crate::frames;
use agenteval::ingest::formats::langchain::LANGCHAIN;
use agenteval::ingest::formats::pydantic_ai::PYDANTIC_AI;
use agenteval::ingest::formats::temporal::TEMPORAL;
use agenteval::model::ErrorOrigin;
use serde_json::{Value, json};

fn history(attempt: u32, end: Option<&str>) -> String {
    let mut events = vec![
        json!({"eventId": "1", "eventType": "WorkflowExecutionStarted", "eventTime": "2026-03-01T10:00:00Z", "workflowExecutionStartedEventAttributes": {"workflowType": {"name": "W"}}}),
        json!({"eventId": "5", "eventType": "ActivityTaskScheduled", "eventTime": "2026-03-01T10:00:01Z", "activityTaskScheduledEventAttributes": {"activityType": {"name": "charge"}}}),
    ];
    if let Some(end) = end {
        events.push(json!({"eventId": "6", "eventType": "ActivityTaskStarted", "eventTime": "2026-03-01T10:00:08Z", "activityTaskStartedEventAttributes":
            {"scheduledEventId": "5", "attempt": attempt, "lastFailure": {"message": "closed", "applicationFailureInfo": {"type": "BankError"}}}}));
        events.push(json!({"eventId": "7", "eventType": format!("ActivityTask{end}"), "eventTime": "2026-03-01T10:00:09Z", format!("activityTask{end}EventAttributes"): {"scheduledEventId": "5"}}));
        events.push(json!({"eventId": "8", "eventType": "WorkflowExecutionCompleted", "eventTime": "2026-03-01T10:00:10Z", "workflowExecutionCompletedEventAttributes": {}}));
    }
    serde_json::to_string(&json!({ "events": events })).unwrap()
}

/// The report of a history.
fn report_of(history: &str) -> Value {
    let folder = cli::Folder::new();
    let path = folder.file("history.json", history);
    cli::report(&[&path])
}

/// Row 22: one Started event is written at the end, with the number of the last try.
#[test]
fn retries_are_counted_though_the_history_has_one_event_for_all_tries() {
    let report = report_of(&history(4, Some("Completed")));
    assert_eq!(cli::figure(&report, "avg_retry_count"), (Some(3.0), Some(3.0), Some(1.0)));
    let text = report.to_string();
    // The failure before the last try is known, those before it are not.
    assert!(text.contains("BankError") && text.contains("unknown_retry_error"), "{report:#}");
}

/// Row 22: an activity that is tried again seems never started.
#[test]
fn an_activity_that_was_scheduled_and_has_not_started_is_open_and_no_success() {
    let report = report_of(&history(1, None));
    let (value, passed, all) = cli::figure(&report, "step_error_rate");
    assert_eq!((value, passed.unwrap_or(0.0), all.unwrap_or(0.0)), (None, 0.0, 0.0));
    assert_eq!(cli::figure(&report, "final_completion_rate").0, None);
    let run = frames::run_of(&TEMPORAL, history(1, None).as_bytes());
    assert_eq!(run.attempts[0].status.as_deref(), Some("pending"));
}

/// Row 22: what failed in the end is not told as the failure before it.
#[test]
fn the_failure_that_ends_an_activity_is_not_the_last_one_before_it() {
    let run = frames::run_of(&TEMPORAL, history(2, Some("Failed")).as_bytes());
    let error = run.attempts[0].error.as_ref().unwrap();
    assert_eq!((error.kind.as_deref(), run.attempts[0].attempts_total), (None, Some(2)));
}

/// Row 10: the status of a tool message says success though its command failed.
#[test]
fn a_command_with_an_exit_code_is_no_success_though_its_message_says_so() {
    let list = br#"[{"type":"ai","content":"","tool_calls":[{"id":"1","name":"execute","args":{}}]},
        {"type":"tool","tool_call_id":"1","status":"success","content":"make: *** [all] Error 2\n[Command failed with exit code 2]"}]"#;
    let run = frames::run_of(&LANGCHAIN, list);
    let error = frames::calls(&run)[0].error.clone().unwrap();
    assert_eq!((error.kind.as_deref(), error.origin), (Some("exit_code"), ErrorOrigin::ExitCode));
    // The rule can be switched off in the config, and baselines keep which held.
    let folder = cli::Folder::new();
    let path = folder.file("list.json", list);
    let config = folder.file("agenteval.json", r#"{"exit_codes": "ignore"}"#);
    let rate = |args: &[&str]| cli::figure(&cli::report(args), "step_error_rate").0;
    assert_eq!(rate(&[&path]), Some(1.0));
    assert_eq!(rate(&[&path, "--config", &config]), Some(0.0));
}

/// Row 9: a tool of a server reports its failure in the result.
#[test]
fn a_result_that_says_is_error_is_a_failed_call() {
    let list = br#"[{"kind":"response","parts":[{"part_kind":"tool-call","tool_name":"f","args":{},"tool_call_id":"1"}]},
        {"kind":"request","parts":[{"part_kind":"tool-return","tool_name":"f","tool_call_id":"1","content":"{\"isError\": true}","outcome":"success"}]}]"#;
    let run = frames::run_of(&PYDANTIC_AI, list);
    assert_eq!(frames::calls(&run)[0].error.as_ref().map(|e| e.origin), Some(ErrorOrigin::Flag));
}

/// Row 26: a call whose result is not in the file is called hallucinated.
#[test]
fn a_call_whose_result_was_not_exported_is_neither_failed_nor_empty() {
    let without = br#"[{"type":"ai","content":"","tool_calls":[{"id":"1","name":"f","args":{}}]}]"#;
    let empty = br#"[{"type":"ai","content":"","tool_calls":[{"id":"1","name":"f","args":{}}]},{"type":"tool","tool_call_id":"1","content":""}]"#;
    let raw = |list: &[u8]| {
        let run = frames::run_of(&LANGCHAIN, list);
        let call = frames::calls(&run)[0].clone();
        assert!(call.error.is_none());
        let raw: Value = serde_json::from_str(call.raw.as_deref().unwrap()).unwrap();
        (call.status.map(|status| status.into_owned()), raw.get("result").cloned())
    };
    assert_eq!(raw(without), (Some("pending".to_owned()), None));
    assert_eq!(raw(empty), (None, Some(json!(""))));
}

/// Row 17: a result that is written before its call.
#[test]
fn a_result_that_stands_before_its_call_answers_it() {
    let list = br#"[{"type":"tool","tool_call_id":"1","name":"f","content":"ok"},{"type":"ai","content":"","tool_calls":[{"id":"1","name":"f","args":{"a":1}}]}]"#;
    let given = frames::read(&LANGCHAIN, list);
    let calls = frames::calls(&given.runs[0]);
    assert_eq!(
        (calls.len(), calls[0].status.as_deref(), calls[0].input.is_some()),
        (1, None, true)
    );
    assert_eq!(frames::codes(&given), []);
}
