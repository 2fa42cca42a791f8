//! OpenAI chat messages: the fixtures, the real response, and the shapes they come in.

use crate::chat::{codes, delivered, detected, one, raws, read, tokens, told, turns};
use crate::support;
use agenteval::ingest::formats::openai_chat::OPENAI_CHAT;
use agenteval::model::ScoreValue;
use serde_json::json;

const REFUNDS: &[u8] = include_bytes!("../../fixtures/openai-chat/refunds.json");
const LOGGED: &str = include_str!("../../fixtures/openai-chat/logged.ndjson");

#[test]
fn an_array_of_objects_is_many_runs_with_what_stands_around_their_messages() {
    let parsed = read(&OPENAI_CHAT, REFUNDS).unwrap();
    let [first, second] = parsed.runs.as_slice() else { panic!("two runs") };
    assert_eq!(
        told(first),
        "find_order -/Text, find_customer ok, find_order ok, refund invalid_arguments/Recorded, refund ok"
    );
    assert_eq!((turns(first), tokens(first)), (5, [0.0; 4]));
    let around = first.tokens.unwrap();
    assert_eq!((around.input, around.cache_read, around.output), (600.0, 300.0, 60.0));
    let ids = [&first.run_id, &first.task_id, &first.trial, &first.agent, &first.model];
    let ids: Vec<_> = ids.iter().filter_map(|id| id.as_deref()).collect();
    assert_eq!(ids, ["run-1", "refund", "0", "desk", "gpt-4o"]);
    assert_eq!(first.tags, [("shift".into(), "early".into())]);
    assert!(first.started_at.is_some() && first.ended_at.is_some());
    assert_eq!(first.scores[0].value, ScoreValue::Number(1.0));
    assert_eq!(delivered(first), json!({"score": 1.0, "output": "Refunded 12.50."}));
    assert_eq!((second.success, second.format_outcome), (Some(false), None));
    assert!(second.place.byte > first.place.byte);
    assert_eq!(codes(&parsed), [("calls_without_result", 1)]);
}

#[test]
fn the_older_function_call_is_answered_by_the_next_function_message() {
    let parsed = read(&OPENAI_CHAT, REFUNDS).unwrap();
    assert_eq!(told(&parsed.runs[1]), "find_order -/Flag, find_order pending");
    let calls: Vec<_> = parsed.runs[1].attempts.iter().filter(|a| !a.turn).collect();
    assert_eq!(calls[0].input, calls[1].input);
}

#[test]
fn the_json_of_a_call_has_its_decoded_arguments_and_its_result() {
    let parsed = read(&OPENAI_CHAT, REFUNDS).unwrap();
    let raws = raws(&parsed.runs[0]);
    assert_eq!(
        raws[0],
        json!({"id": "call_1", "name": "find_order", "input": {"order": "#7"}, "result": "Error: orders are numbers"})
    );
    assert_eq!(raws[1]["input"], json!({}), "no arguments are none, not broken ones");
    assert_eq!(raws[3]["input"], "{\"order\": 7, \"amount\": ", "what cannot be read is kept");
}

#[test]
fn a_request_with_its_response_is_one_run_and_of_several_choices_one_counts() {
    let lines: Vec<&str> = LOGGED.lines().collect();
    let parsed = read(&OPENAI_CHAT, lines[0].as_bytes()).unwrap();
    let run = &parsed.runs[0];
    assert_eq!(told(run), "get_weather pending");
    assert_eq!((turns(run), tokens(run)), (1, [40.0, 0.0, 0.0, 6.0]));
    assert_eq!((run.run_id.as_deref(), run.model.as_deref()), (Some("chatcmpl-1"), Some("gpt-4o")));
    assert_eq!(run.end_reason.as_deref(), Some("tool_calls"));
    assert_eq!((run.format_outcome, run.end_rule, run.success), (None, None, None));
    assert_eq!(codes(&parsed), [("calls_without_result", 1), ("choices_ignored", 1)]);

    let failed = one(&OPENAI_CHAT, lines[1].as_bytes());
    assert_eq!(failed.format_outcome, Some(false));
    assert_eq!(failed.end_reason.as_deref(), Some("slow down"));
    let error = failed.attempts[0].error.as_ref().unwrap();
    assert_eq!(error.kind.as_deref(), Some("rate_limit_exceeded"));
    let plain = one(&OPENAI_CHAT, lines[2].as_bytes());
    assert_eq!((told(&plain).as_str(), turns(&plain)), ("", 1));
    assert_eq!(read(&OPENAI_CHAT, lines[3].as_bytes()).unwrap_err().code, "no_messages");
}

#[test]
fn the_real_response_is_one_call_that_waits() {
    let Some(path) = support::shared("data/openai/chat_tool_calls.json") else { return };
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(detected(&bytes), Some("openai-chat"));
    let run = one(&OPENAI_CHAT, &bytes);
    assert_eq!(told(&run), "get_weather pending");
    assert_eq!(tokens(&run), [97.0, 0.0, 0.0, 23.0]);
    assert_eq!(run.model.as_deref(), Some("gpt-4o-2024-08-06"));
    assert_eq!((run.success, run.format_outcome), (None, None), "finished is not succeeded");
}

#[test]
fn messages_keep_their_times_and_calls_of_another_api_are_told() {
    let run = br#"[{"role":"assistant","timestamp":"2026-01-01T00:00:00Z","tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]},
        {"role":"tool","tool_call_id":"a","timestamp":"2026-01-01T00:00:02Z","content":"3"},
        {"role":"assistant","content":[{"type":"tool_use","id":"b","name":"g","input":{}}]}]"#;
    let parsed = read(&OPENAI_CHAT, run).unwrap();
    let call = &parsed.runs[0].attempts[1];
    assert!(call.started_at.is_some() && call.ended_at.is_some() && call.input.is_some());
    assert_eq!(codes(&parsed), [("calls_of_another_api", 1)]);
}

#[test]
fn odd_records_are_read_or_refused_but_never_panic() {
    let code = |bytes: &str| {
        read(&OPENAI_CHAT, bytes.as_bytes()).map(|_| ()).map_err(|why| (why.code, why.repairable))
    };
    assert_eq!(code(r#"{"role":"user","content":"hi"}"#), Err(("message_alone", false)));
    assert_eq!(code("{}"), Err(("no_messages", false)));
    assert_eq!(code(r#"{"messages":7}"#), Err(("no_messages", false)));
    assert_eq!(code("[[], 7, {}]"), Err(("no_messages", false)));
    assert_eq!(code(r#"[{"role":"user""#), Err(("truncated_record", true)));
    assert_eq!(code("7"), Err(("unexpected_value", true)));
    for odd in [
        r#"{"messages":[7,null,[],{},{"role":7},{"role":"assistant","tool_calls":{},"function_call":3}]}"#,
        r#"{"messages":[{"role":"assistant","tool_calls":[null,{"function":[]},{"id":{}}]}],"metadata":[],"scores":7}"#,
        r#"{"choices":[],"messages":null,"usage":{"prompt_tokens":-1}}"#,
        r#"{"choices":[{"message":null}],"usage":[]}"#,
    ] {
        assert_eq!(code(odd), Ok(()), "{odd}");
    }
    let deep = format!(
        "[{{\"role\":\"user\",\"content\":{}{}}}]",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let _ = code(&deep);
    let parsed =
        read(&OPENAI_CHAT, br#"[{"role":"robot"},{"role":"assistant","content":"x"}]"#).unwrap();
    assert_eq!(codes(&parsed), [("messages_ignored", 1)]);
}
