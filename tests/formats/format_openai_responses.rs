//! OpenAI responses: lists of items, responses, and the list of a real run of the Agents SDK.

use crate::chat;
use crate::chat::{codes, delivered, detected, one, raws, read, tokens, told, turns};
use crate::support;
use agenteval::ingest::formats::openai_responses::OPENAI_RESPONSES;
use agenteval::model::EndRule;
use serde_json::json;

const ITEMS: &[u8] = include_bytes!("../../fixtures/openai-responses/items.json");
const RESPONSES: &str = include_str!("../../fixtures/openai-responses/responses.ndjson");

#[test]
fn items_of_the_model_in_a_row_are_one_answer_and_calls_join_by_call_id() {
    let run = one(&OPENAI_RESPONSES, ITEMS);
    assert_eq!(
        told(&run),
        "get_weather -/Text, get_time invalid_arguments/Recorded, get_weather ok, route -32602/Recorded, web_search ok"
    );
    assert_eq!(turns(&run), 3, "reasoning and two calls; a call; hosted tools and words");
    assert_eq!(raws(&run)[2]["id"], "call_3");
    assert_eq!(raws(&run)[4]["input"], json!({"type": "search", "query": "Oslo"}));
    assert_eq!(delivered(&run), json!({"output": "4C."}));
}

#[test]
fn a_failed_response_is_a_failed_run_and_an_incomplete_one_is_unfinished() {
    let runs: Vec<_> =
        RESPONSES.lines().map(|line| one(&OPENAI_RESPONSES, line.as_bytes())).collect();
    let ends: Vec<_> =
        runs.iter().map(|r| (r.format_outcome, r.end_rule, r.end_reason.as_deref())).collect();
    assert_eq!(
        ends,
        [
            (None, None, Some("completed")),
            (Some(false), None, Some("the model is overloaded")),
            (None, Some(EndRule::Unfinished), Some("max_output_tokens")),
        ]
    );
    assert!(runs.iter().all(|run| run.status.is_none() && run.success.is_none()));
    assert_eq!(tokens(&runs[0]), [44.0, 256.0, 0.0, 20.0], "cached input is a part, reasoning too");
    assert_eq!(runs[1].attempts[0].error.as_ref().unwrap().kind.as_deref(), Some("server_error"));
    assert!(runs.iter().all(|run| run.task_id.as_deref() == Some("oslo")));
}

#[test]
fn a_cancelled_response_is_cancelled_and_one_in_progress_is_unfinished() {
    let end = |status: &str| {
        let record = format!(r#"{{"object":"response","status":"{status}","output":[]}}"#);
        one(&OPENAI_RESPONSES, record.as_bytes()).end_rule
    };
    assert_eq!(end("cancelled"), Some(EndRule::Cancelled));
    assert_eq!(end("in_progress"), Some(EndRule::Unfinished));
    assert_eq!(end("queued"), Some(EndRule::Unfinished));
    assert_eq!(end("completed"), None);
}

#[test]
fn the_list_of_a_real_agent_is_a_failed_call_and_its_repeat() {
    let Some(path) = support::shared("data/openai_agents/to_input_list.json") else { return };
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(detected(&bytes), Some("openai-responses"));
    let run = one(&OPENAI_RESPONSES, &bytes);
    assert_eq!(told(&run), "get_weather -/Text, get_weather ok");
    assert_eq!((turns(&run), run.format_outcome, run.success), (3, None, None));
    assert_eq!(delivered(&run), json!({"output": "12C, rain"}));
}

#[test]
fn the_real_response_is_one_call_that_waits() {
    let Some(path) = support::shared("data/openai/responses_tool_calls.json") else { return };
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(detected(&bytes), Some("openai-responses"));
    let run = one(&OPENAI_RESPONSES, &bytes);
    assert_eq!(
        (told(&run).as_str(), tokens(&run)),
        ("get_weather pending", [287.0, 0.0, 0.0, 20.0])
    );
    assert_eq!(raws(&run)[0]["id"], "call_qVCWmymIoOH1B9nFUSr9r4mc");
}

#[test]
fn input_and_output_beside_each_other_are_one_run() {
    let run = br#"{"task_id":"t","success":true,"input":[{"role":"user","content":"go"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
        {"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"Error: no"}]}],
        "output":[{"type":"custom_tool_call","call_id":"d","name":"sh","input":"ls ("},{"type":"custom_tool_call_output","call_id":"d","output":"a"}]}"#;
    assert_eq!(detected(run), Some("openai-responses"));
    let run = one(&OPENAI_RESPONSES, run);
    assert_eq!(told(&run), "f -/Text, sh ok", "the text of a custom tool need not be JSON");
    assert_eq!(run.success, Some(true));
}

#[test]
fn odd_records_are_read_or_refused_but_never_panic() {
    let code =
        |bytes: &str| read(&OPENAI_RESPONSES, bytes.as_bytes()).map(|_| ()).map_err(|why| why.code);
    assert_eq!(code(r#"{"type":"function_call","call_id":"c","name":"f"}"#), Err("message_alone"));
    assert_eq!(
        code(r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_text"}]}"#),
        Err("message_alone")
    );
    assert_eq!(code("{}"), Err("no_messages"));
    assert_eq!(code("[]"), Err("no_messages"));
    for odd in [
        r#"[{"type":"function_call"},{"type":"function_call_output"},{"type":"mcp_call"},{"type":7,"role":"user"}]"#,
        r#"{"object":"response","output":null,"status":7,"error":"x","usage":7}"#,
    ] {
        assert_eq!(code(odd), Ok(()), "{odd}");
    }
    let parsed = read(&OPENAI_RESPONSES, br#"[{"type":"mcp_list_tools"},{"type":"new_thing"},{"type":"message","role":"assistant"}]"#).unwrap();
    assert_eq!(codes(&parsed), [("messages_ignored", 1), ("messages_ignored", 1)]);
}

#[test]
fn responses_inside_of_responses_are_counted_and_not_followed_without_end() {
    let mut nested = r#"{"type":"response","output":[]}"#.to_owned();
    for _ in 0..50 {
        nested = format!(r#"{{"type":"response","output":[{nested}]}}"#);
    }
    let list = format!(r#"[{{"type":"message","role":"user","content":"x"}},{nested}]"#);
    let parsed = chat::read(&OPENAI_RESPONSES, list.as_bytes()).unwrap();
    assert_eq!(parsed.runs.len(), 1);
    assert_eq!(chat::codes(&parsed), [("messages_ignored", 1)]);
}
