//! AutoGen task results, messages, saved teams and recorded sessions.

use crate::cli;
use crate::frames;
use crate::support::shared;
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::autogen::AUTOGEN;
use agenteval::model::ErrorOrigin;
use serde_json::{Value, json};

const RESULT: &[u8] = include_bytes!("../../fixtures/autogen/report_team.json");
const TEAM: &[u8] = include_bytes!("../../fixtures/autogen/saved_team.json");
const RECORDED: &[u8] = include_bytes!("../../fixtures/autogen/recorded_client.json");

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> [(String, String); N] {
    pairs.map(|(name, fate)| (name.into(), fate.into()))
}

#[test]
fn a_flagged_result_is_a_failed_call_and_a_stop_reason_is_no_outcome() {
    let given = frames::read(&AUTOGEN, RESULT);
    let run = &given.runs[0];
    assert_eq!(frames::fates(run), pairs([("count_orders", "!ValueError"), ("count_orders", "-")]));
    let error = frames::calls(run)[0].error.clone().unwrap();
    assert_eq!(error.origin, ErrorOrigin::Flag);
    assert_eq!(error.message.as_deref(), Some("ValueError: day must be a date"));
    assert_eq!(frames::tokens(run), [190.0, 0.0, 0.0, 35.0]);
    // The summary of a result is no answer of a model.
    assert_eq!(run.attempts.iter().filter(|attempt| attempt.turn).count(), 3);
    assert_eq!((run.status.as_deref(), run.format_outcome, run.success), (None, None, None));
    let why = "Text 'TERMINATE' mentioned";
    assert_eq!(run.end_reason.as_deref(), Some(why));
    let wanted = json!({"end_reason": why, "output": "17 orders. TERMINATE"});
    assert_eq!(frames::delivered(run), wanted);
    let seconds = |stamp: &Option<agenteval::model::Stamp<'_>>| {
        stamp.as_ref().unwrap().time().unwrap().micros / 1_000_000 % 60
    };
    assert_eq!((seconds(&run.started_at), seconds(&run.ended_at)), (0, 7));
    let call = frames::calls(run)[0].clone();
    assert_eq!((seconds(&call.started_at), seconds(&call.ended_at)), (1, 3));
    assert_eq!(frames::codes(&given), []);
}

#[test]
fn what_two_agents_and_the_thread_of_a_team_hold_counts_once() {
    let given = frames::read(&AUTOGEN, TEAM);
    let run = &given.runs[0];
    assert_eq!(frames::fates(run), pairs([("count_orders", "-"), ("transfer_to_writer", "-")]));
    let turns = run.attempts.iter().filter(|attempt| attempt.turn).count();
    assert_eq!((turns, frames::tokens(run)), (3, [40.0, 0.0, 0.0, 5.0]));
    // The last turn is the one that the thread ends with.
    assert!(run.attempts.last().unwrap().tokens.is_some());
    assert_eq!(frames::codes(&given), []);
}

#[test]
fn each_request_of_a_recorded_session_counts_once_and_so_does_its_repeated_history() {
    let given = frames::read(&AUTOGEN, RECORDED);
    let run = &given.runs[0];
    assert_eq!(frames::fates(run), pairs([("count_orders", "!-")]));
    assert_eq!(run.attempts.iter().filter(|attempt| attempt.turn).count(), 3);
    assert_eq!(frames::tokens(run), [94.0, 0.0, 0.0, 12.0]);
    assert_eq!(frames::codes(&given), [("message_repeated", 1)]);
    assert_eq!(frames::delivered(run), json!({"end_reason": "stop", "output": "0"}));
}

#[test]
fn messages_a_line_are_the_run_that_their_list_is() {
    let result: Value = serde_json::from_slice(RESULT).unwrap();
    let messages = result["messages"].as_array().unwrap();
    let mut lines: Vec<Vec<u8>> = messages.iter().map(|m| serde_json::to_vec(m).unwrap()).collect();
    let plain = frames::read(&AUTOGEN, &serde_json::to_vec(messages).unwrap());
    let of_lines = {
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        frames::read_records(&AUTOGEN, &lines, false)
    };
    assert_eq!(frames::all_told(&of_lines.runs), frames::all_told(&plain.runs));
    // A stream of messages ends with the result that holds them all again.
    lines.push(RESULT.to_vec());
    let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    let streamed = frames::read_records(&AUTOGEN, &lines, false);
    assert_eq!((streamed.runs.len(), frames::calls(&streamed.runs[0]).len()), (1, 2));
    assert_eq!(streamed.runs[0].end_reason.as_deref(), Some("Text 'TERMINATE' mentioned"));
    assert_eq!(frames::codes(&streamed), [("list_repeated", 1)]);
}

#[test]
fn a_call_whose_result_is_not_recorded_is_open_and_no_failure() {
    let list = br#"[{"type":"UserMessage","source":"u","content":"x"},{"type":"AssistantMessage","source":"a","content":[{"id":"1","name":"f","arguments":"{}"}]}]"#;
    let given = frames::read(&AUTOGEN, list);
    assert_eq!(frames::fates(&given.runs[0]), pairs([("f", "pending")]));
    assert_eq!(frames::codes(&given), [("calls_without_result", 1)]);
}

#[test]
fn odd_records_are_refused_or_told_but_never_panic() {
    let code = |bytes: &[u8]| match &frames::read(&AUTOGEN, bytes).fates[0] {
        Fate::Refused(refusal) => refusal.code,
        fate => panic!("{fate:?}"),
    };
    for odd in [
        "{}",
        "[]",
        "[7]",
        "\"x\"",
        r#"{"messages":{}}"#,
        r#"{"type":"TeamState","agent_states":3}"#,
    ] {
        assert_eq!(code(odd.as_bytes()), "no_messages", "{odd}");
    }
    let nested = [r#"{"agent_state":"#.repeat(5000), "1".into(), "}".repeat(5000)].concat();
    let _ = frames::read(&AUTOGEN, nested.as_bytes());
}

/// One run of a real file, with the format that the program tells.
fn real(name: &str) -> Option<agenteval::model::Trajectory<'static>> {
    let path = shared(&format!("data/autogen/{name}"))?;
    let page = cli::json(&["inspect", path.to_str().unwrap()]);
    assert_eq!(page["inputs"][0]["format"], "autogen", "{page:#}");
    Some(frames::run_of(&AUTOGEN, &std::fs::read(path).unwrap()))
}

#[test]
fn the_real_task_result_has_two_calls_of_which_one_failed() {
    let Some(run) = real("agentchat_taskresult.json") else { return };
    assert_eq!(frames::fates(&run), pairs([("get_weather", "!-"), ("get_weather", "-")]));
    assert_eq!(frames::tokens(&run), [300.0, 0.0, 0.0, 60.0]);
    assert_eq!(run.agent.as_deref(), Some("weather_agent"));
}

#[test]
fn the_real_saved_team_gives_the_same_run_as_its_task_result() {
    let (Some(team), Some(result)) = (real("team_state.json"), real("agentchat_taskresult.json"))
    else {
        return;
    };
    // The state keeps no stop reason; all else is the same.
    let attempts = |mut run: agenteval::model::Trajectory<'static>| {
        (run.end_reason, run.final_output) = (None, agenteval::model::Final::Missing);
        frames::told(&run)
    };
    assert_eq!(attempts(team), attempts(result));
    let folder = shared("data/autogen").unwrap();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let records = [read("agentchat_taskresult.json"), read("team_state.json")];
    let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    let given = frames::read_records(&AUTOGEN, &records, true);
    assert_eq!(given.fates, [Fate::Used, Fate::Merged("copy_of_list")]);
}

#[test]
fn the_real_session_is_twelve_requests_and_the_real_history_one_handoff() {
    let Some(run) = real("demonstration_session.json") else { return };
    assert_eq!((run.attempts.len(), frames::calls(&run).len()), (12, 0));
    assert_eq!(frames::tokens(&run), [5172.0, 0.0, 0.0, 1423.0]);
    let Some(run) = real("history-wile_e_coyote_1.json") else { return };
    assert_eq!(frames::fates(&run), pairs([("transfer_to_issues_and_repairs", "-")]));
    assert_eq!(run.attempts.iter().filter(|attempt| attempt.turn).count(), 3);
}

#[test]
fn every_wrapping_is_told_by_its_contents() {
    let one = ("autogen".to_owned(), 1);
    for fixture in [RESULT, TEAM, RECORDED] {
        assert_eq!(frames::taken_for(fixture), one);
    }
    let result: Value = serde_json::from_slice(RESULT).unwrap();
    let list = result["messages"].as_array().unwrap();
    assert_eq!(frames::taken_for(&frames::lines(list)), one);
    assert_eq!(frames::taken_for(json!(list).to_string().as_bytes()), one);
    let recorded: Vec<Value> = serde_json::from_slice(RECORDED).unwrap();
    assert_eq!(frames::taken_for(&frames::lines(&recorded)), one);
    let response = json!({"chat_message": list[6], "inner_messages": list[..6]});
    assert_eq!(frames::taken_for(response.to_string().as_bytes()), one);
    let core = json!({"messages": [{"type": "UserMessage", "source": "u", "content": "x"}]});
    assert_eq!(frames::taken_for(&frames::lines(&[result, core])).1, 2);
}
