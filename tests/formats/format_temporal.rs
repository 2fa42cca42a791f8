//! Temporal workflow histories.

use crate::cli;
use crate::frames;
use crate::support::shared;
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::temporal::TEMPORAL;
use agenteval::model::{EndRule, Trajectory};
use serde_json::{Value, json};

const FIXTURE: &[u8] = include_bytes!("../../fixtures/temporal/order.json");

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> [(String, String); N] {
    pairs.map(|(name, fate)| (name.into(), fate.into()))
}

fn events(file: &[u8]) -> Vec<Value> {
    let file: Value = serde_json::from_slice(file).unwrap();
    let events = file.get("events").or_else(|| file["history"].get("events"));
    events.unwrap_or(&file).as_array().unwrap().clone()
}

fn of(events: &[Value]) -> Vec<u8> {
    serde_json::to_vec(&json!({ "events": events })).unwrap()
}

fn run_of(events: &[Value]) -> Trajectory<'static> {
    frames::run_of(&TEMPORAL, &of(events))
}

/// The same events in an order of no meaning.
fn shuffled(events: &[Value]) -> Vec<Value> {
    let mut events = events.to_vec();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    for at in (1..events.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from((state >> 33) % (at as u64 + 1)).unwrap();
        events.swap(at, other);
    }
    events
}

#[test]
fn tries_are_what_the_server_counted_and_the_last_failure_is_kept() {
    let given = frames::read(&TEMPORAL, FIXTURE);
    let run = &given.runs[0];
    let expected = [
        ("charge_card", "completed"),
        ("print_label", "timed_out"),
        ("send_mail", "pending"),
        ("ShipWorkflow", "failed"),
    ];
    assert_eq!(frames::fates(run), pairs(expected));
    let told: Vec<_> = run
        .attempts
        .iter()
        .map(|a| (a.attempts_total, a.error.as_ref().and_then(|error| error.kind.as_deref())))
        .collect();
    // The innermost cause is the error.
    let wanted = [
        (Some(3), Some("BankError")),
        (None, Some("ScheduleToStart")),
        (None, None),
        (None, Some("NoTruck")),
    ];
    assert_eq!(told, wanted);
    let kinds: Vec<_> = run.attempts.iter().map(|attempt| attempt.kind.as_ref()).collect();
    assert_eq!(kinds, ["activity", "activity", "activity", "child_workflow"]);
    assert_eq!((run.status.as_deref(), run.run_id.as_deref()), (Some("failed"), Some("run-b")));
    assert_eq!(
        (run.task_id.as_deref(), run.agent.as_deref()),
        (Some("order-7"), Some("OrderWorkflow"))
    );
    assert_eq!(
        run.tags,
        [("workflow_attempt".into(), "2".into()), ("first_run".into(), "run-a".into())]
    );
    assert_eq!(frames::delivered(run), json!({"status": "failed", "end_reason": "no truck"}));
    let raw: Value = serde_json::from_str(run.attempts[0].raw.as_deref().unwrap()).unwrap();
    assert_eq!(
        raw,
        json!({"id": "charge", "name": "charge_card", "input": {"euro": 12}, "result": "ok"})
    );
    assert_eq!(frames::codes(&given), [("events_passed_over", 1), ("calls_without_result", 1)]);
}

#[test]
fn the_order_the_wrapping_and_the_number_of_documents_change_nothing() {
    let events = events(FIXTURE);
    let plain = frames::told(&frames::run_of(&TEMPORAL, FIXTURE));
    let reversed: Vec<Value> = events.iter().rev().cloned().collect();
    for other in [shuffled(&events), reversed] {
        assert_eq!(frames::told(&run_of(&other)), plain);
        let bare = serde_json::to_vec(&other).unwrap();
        assert_eq!(frames::told(&frames::run_of(&TEMPORAL, &bare)), plain);
        let api = json!({"history": {"events": other}, "nextPageToken": ""});
        let api = serde_json::to_vec(&api).unwrap();
        assert_eq!(frames::told(&frames::run_of(&TEMPORAL, &api)), plain);
        for apart in [false, true] {
            let (one, two) = (of(&other[..5]), of(&other[5..]));
            let given = frames::read_records(&TEMPORAL, &[&one, &two], apart);
            assert_eq!(given.runs.len(), 1, "{apart}");
            let run = Trajectory { place: Default::default(), ..given.runs[0].clone() };
            assert_eq!(frames::told(&run), plain, "{apart}");
        }
        let lines: Vec<Vec<u8>> = other.iter().map(|e| serde_json::to_vec(e).unwrap()).collect();
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let given = frames::read_records(&TEMPORAL, &lines, false);
        assert_eq!(frames::all_told(&given.runs), std::slice::from_ref(&plain));
    }
}

#[test]
fn ids_are_texts_or_numbers_and_types_have_two_spellings() {
    let plain = frames::told(&frames::run_of(&TEMPORAL, FIXTURE));
    let camel = |word: &str| {
        let words = word.trim_start_matches("EVENT_TYPE_").split('_');
        words.map(|w| format!("{}{}", &w[..1], w[1..].to_lowercase())).collect::<String>()
    };
    let mut other = events(FIXTURE);
    for event in &mut other {
        event["eventType"] = json!(camel(event["eventType"].as_str().unwrap()));
        event["eventId"] = json!(event["eventId"].as_str().unwrap().parse::<u64>().unwrap());
        for (_, attributes) in event.as_object_mut().unwrap() {
            for key in ["scheduledEventId", "initiatedEventId"] {
                if let Some(id) = attributes.get_mut(key) {
                    *id = json!(id.as_str().unwrap().parse::<u64>().unwrap());
                }
            }
        }
    }
    assert_eq!(frames::told(&run_of(&other)), plain);
    // Some writers give the type as a number: the name of the attributes says it too.
    for event in &mut other {
        event["eventType"] = json!(7);
    }
    assert_eq!(frames::told(&run_of(&other)), plain);
}

#[test]
fn every_end_of_a_workflow_has_its_own_meaning() {
    let start = json!({"eventId": 1, "eventType": "WorkflowExecutionStarted", "workflowExecutionStartedEventAttributes": {}});
    let end = |kind: &str| {
        let end =
            json!({"eventId": 2, "eventType": format!("EVENT_TYPE_WORKFLOW_EXECUTION_{kind}")});
        let run = run_of(&[start.clone(), end]);
        (run.status.map(|s| s.into_owned()), run.end_rule, run.end_reason.map(|r| r.into_owned()))
    };
    let word = |word: &str| Some(word.to_owned());
    assert_eq!(end("COMPLETED"), (word("completed"), None, None));
    assert_eq!(end("FAILED"), (word("failed"), None, None));
    assert_eq!(end("TIMED_OUT"), (word("timed_out"), None, None));
    assert_eq!(end("CANCELED"), (word("cancelled"), None, None));
    assert_eq!(end("TERMINATED"), (word("terminated"), Some(EndRule::Cancelled), None));
    assert_eq!(end("CONTINUED_AS_NEW"), (None, None, word("continued_as_new")));
    let open = run_of(&[start]);
    assert_eq!((open.status, open.end_rule), (None, Some(EndRule::Unfinished)));
}

#[test]
fn a_page_that_says_that_more_follow_is_not_unfinished() {
    let events = events(FIXTURE);
    let page = json!({"history": {"events": events[..5]}, "nextPageToken": "abc"});
    let page = serde_json::to_vec(&page).unwrap();
    let given = frames::read(&TEMPORAL, &page);
    assert_eq!(given.runs[0].end_rule, None);
    assert!(frames::codes(&given).contains(&("more_pages", 1)));
    let given = frames::read_records(&TEMPORAL, &[&page, &of(&events[5..])], false);
    assert_eq!((given.runs.len(), given.runs[0].attempts.len()), (1, 4));
    assert!(!frames::codes(&given).iter().any(|(code, _)| *code == "more_pages"));
}

#[test]
fn copies_count_once_and_two_runs_with_one_id_stay_apart() {
    let events = events(FIXTURE);
    let early = of(&events[..6]);
    let given = frames::read_records(&TEMPORAL, &[&early, FIXTURE, FIXTURE], true);
    assert_eq!(given.fates, [Fate::Used, Fate::Used, Fate::Merged("copy_of_history")]);
    assert_eq!((given.runs.len(), given.runs[0].attempts.len()), (1, 4));
    // A run that was reset keeps the id of the run that it began as.
    let mut reset = events.clone();
    reset[11]["eventTime"] = json!("2026-03-01T11:00:00Z");
    let given = frames::read_records(&TEMPORAL, &[FIXTURE, &of(&reset)], true);
    assert_eq!(given.runs.len(), 2);
}

#[test]
fn local_activities_are_read_from_their_markers() {
    let marker = |name: &str, data: &str, failure: Value| {
        json!({"eventId": 2, "eventType": "MarkerRecorded", "markerRecordedEventAttributes": {"markerName": name,
            "details": {"data": {"payloads": [{"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": data}]}}, "failure": failure}})
    };
    // {"activity_type":"look_up","attempt":2} and {"ActivityType":"look_up"}
    let core = marker(
        "core_local_activity",
        "eyJhY3Rpdml0eV90eXBlIjoibG9va191cCIsImF0dGVtcHQiOjJ9",
        json!({"message": "no", "applicationFailureInfo": {"type": "NoRow"}}),
    );
    let run = run_of(&[core]);
    assert_eq!(frames::fates(&run), pairs([("look_up", "failed")]));
    assert_eq!(
        (run.attempts[0].attempts_total, run.attempts[0].kind.as_ref()),
        (Some(2), "local_activity")
    );
    let go = marker("LocalActivity", "eyJBY3Rpdml0eVR5cGUiOiJsb29rX3VwIn0=", Value::Null);
    assert_eq!(frames::fates(&run_of(&[go])), pairs([("look_up", "completed")]));
    let version = marker("Version", "Mw==", Value::Null);
    assert_eq!(run_of(&[version]).attempts.len(), 0);
}

#[test]
fn what_is_no_history_is_refused_or_told() {
    for odd in ["{}", "[]", "[7]", r#"{"events":[]}"#, r#"{"events":[{"eventId":"x"}]}"#, "7"] {
        let given = frames::read(&TEMPORAL, odd.as_bytes());
        assert!(matches!(&given.fates[0], Fate::Refused(why) if why.code == "no_events"), "{odd}");
    }
    let lone = br#"{"eventId":"5","eventType":"ActivityTaskFailed","activityTaskFailedEventAttributes":{"scheduledEventId":"3"}}"#;
    let given = frames::read(&TEMPORAL, lone);
    let codes = frames::codes(&given);
    assert_eq!(codes, [("history_without_start", 1), ("result_without_call", 1)]);
    let twice = br#"{"events":[{"eventId":1,"eventTime":"a","eventType":"X"},{"eventId":1,"eventTime":"b","eventType":"X"},{"x":1}]}"#;
    let codes = frames::codes(&frames::read(&TEMPORAL, twice));
    assert!(
        codes.contains(&("event_id_used_twice", 1)) && codes.contains(&("unreadable_events", 1))
    );
}

fn real(name: &str) -> Option<(String, Vec<u8>)> {
    let path = shared(&format!("data/temporal/{name}"))?;
    let page = cli::json(&["inspect", path.to_str().unwrap()]);
    assert_eq!(page["inputs"][0]["format"], "temporal", "{page:#}");
    Some((path.to_str().unwrap().to_owned(), std::fs::read(path).unwrap()))
}

#[test]
fn the_real_history_with_retries_has_thirteen_activities_and_twelve_retries() {
    let Some((path, file)) = real("gogoproto_retries_history.json") else { return };
    let run = frames::run_of(&TEMPORAL, &file);
    assert_eq!(run.attempts.len(), 13);
    assert!(run.attempts.iter().all(|a| a.status.as_deref() == Some("completed")));
    let retries: u32 = run.attempts.iter().filter_map(|a| Some(a.attempts_total? - 1)).sum();
    assert_eq!(retries, 12);
    let third: Vec<_> = run.attempts.iter().filter(|a| a.attempts_total == Some(3)).collect();
    assert_eq!(third.len(), 6);
    for attempt in third {
        let kind = attempt.error.as_ref().and_then(|error| error.kind.as_deref());
        assert_eq!(kind, Some("ActivityNotRegisteredError"));
    }
    let report = cli::report(&[&path]);
    cli::figures_are(
        &report,
        &[("avg_retry_count", 12.0, 12.0, 1.0), ("final_completion_rate", 1.0, 1.0, 1.0)],
    );
    let shuffled = frames::run_of(&TEMPORAL, &of(&shuffled(&events(&file))));
    assert_eq!(frames::told(&shuffled), frames::told(&run));
}

#[test]
fn the_real_timed_out_history_is_newest_first_and_joins_an_activity_that_never_started() {
    let Some((_, file)) = real("ui_descending_timed_out.json") else { return };
    let run = frames::run_of(&TEMPORAL, &file);
    assert_eq!(run.status.as_deref(), Some("timed_out"));
    assert_eq!(frames::fates(&run), pairs([("activity.advanced-visibility", "timed_out")]));
    let kind = run.attempts[0].error.as_ref().and_then(|error| error.kind.as_deref());
    assert_eq!(kind, Some("ScheduleToStart"));
    assert!(run.attempts[0].started_at.is_some() && run.attempts[0].ended_at.is_some());
    let ascending: Vec<Value> = events(&file).into_iter().rev().collect();
    assert_eq!(frames::told(&run_of(&ascending)), frames::told(&run));
}

#[test]
fn the_real_agent_calls_its_model_twice_and_its_tool_once() {
    let Some((_, file)) = real("openai_agents_tools_history.json") else { return };
    let run = frames::run_of(&TEMPORAL, &file);
    let kinds: Vec<_> = run.attempts.iter().map(|a| (a.kind.as_ref(), a.turn)).collect();
    assert_eq!(kinds, [("llm", true), ("activity", false), ("llm", true)]);
    let wanted = json!({"status": "completed", "output": "Test weather result"});
    assert_eq!(frames::delivered(&run), wanted);
    let Some((_, file)) = real("ui_ascending_failed.json") else { return };
    let run = frames::run_of(&TEMPORAL, &file);
    assert_eq!((run.status.as_deref(), run.attempts.len()), (Some("completed"), 0));
    assert!(run.tags.contains(&("workflow_attempt".into(), "3".into())));
}

#[test]
fn every_wrapping_is_told_by_its_contents() {
    let one = ("temporal".to_owned(), 1);
    let events = events(FIXTURE);
    assert_eq!(frames::taken_for(FIXTURE), one);
    assert_eq!(frames::taken_for(&frames::lines(&events)), one);
    let newest_first: Vec<Value> = events.iter().rev().cloned().collect();
    assert_eq!(frames::taken_for(json!(newest_first).to_string().as_bytes()), one);
    let api = json!({"history": {"events": events}});
    assert_eq!(frames::taken_for(api.to_string().as_bytes()), one);
    let document: Value = serde_json::from_slice(FIXTURE).unwrap();
    assert_eq!(frames::taken_for(json!([document]).to_string().as_bytes()), one);
}
