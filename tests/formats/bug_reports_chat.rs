//! Faults that people reported of tools that read message lists, each named by its symptom.

use crate::chat::{codes, one, raws, read, told};
use agenteval::ingest::formats::Format;
use agenteval::ingest::formats::anthropic::ANTHROPIC;
use agenteval::ingest::formats::openai_chat::OPENAI_CHAT;
use agenteval::ingest::formats::openai_responses::OPENAI_RESPONSES;
use agenteval::ingest::formats::vercel_ai::VERCEL_AI;
use serde_json::{Value, json};

/// The same call with the same result, as each of the APIs records it.
fn recorded(result: &Value) -> [(&'static Format, String); 4] {
    let text = serde_json::to_string(result).unwrap();
    [
        (
            &OPENAI_CHAT,
            format!(
                r#"[{{"role":"assistant","tool_calls":[{{"id":"a","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"a","content":{text}}}]"#
            ),
        ),
        (
            &OPENAI_RESPONSES,
            format!(
                r#"[{{"type":"function_call","call_id":"a","name":"f","arguments":"{{}}"}},{{"type":"function_call_output","call_id":"a","output":{text}}}]"#
            ),
        ),
        (
            &ANTHROPIC,
            format!(
                r#"[{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"f","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":{text}}}]}}]"#
            ),
        ),
        (
            &VERCEL_AI,
            format!(
                r#"[{{"role":"assistant","content":[{{"type":"tool-call","toolCallId":"a","toolName":"f","input":{{}}}}]}},{{"role":"tool","content":[{{"type":"tool-result","toolCallId":"a","toolName":"f","output":{{"type":"text","value":{text}}}}}]}}]"#
            ),
        ),
    ]
}

#[track_caller]
fn all_tell(result: &Value, expected: &str) {
    for (format, list) in recorded(result) {
        assert_eq!(told(&one(format, list.as_bytes())), expected, "{} {result}", format.name);
    }
}

// Rows 8 and 9.
#[test]
fn tools_that_return_their_failure_look_successful() {
    all_tell(&json!(r#"{"isError":true,"content":[{"type":"text","text":"no"}]}"#), "f -/Flag");
    all_tell(&json!(r#"{"status":"failure"}"#), "f -/Flag");
    all_tell(&json!(r#"{"error":"no such city"}"#), "f -/Text");
    all_tell(&json!("Error: no such city"), "f -/Text");
    all_tell(&json!(r#"{"error":null,"city":"Oslo"}"#), "f ok");
    all_tell(&json!("Error rates by region: 3%, 4%"), "f ok");
    all_tell(&json!("I found 3 errors: TimeoutError is one"), "f ok");
}

// Row 10.
#[test]
fn commands_that_exit_with_a_code_other_than_0_look_successful() {
    all_tell(&json!("Exit code: 2\nls: no such file"), "f exit_code/ExitCode");
    all_tell(&json!("ls: no such file\nProcess exited with code 2"), "f exit_code/ExitCode");
    all_tell(&json!(r#"{"stdout":"","exit_code":2}"#), "f exit_code/ExitCode");
    all_tell(&json!("Exit code: 0\nfine"), "f ok");
    all_tell(&json!("The manual says:\nexit code 2 means a bad pattern\nand so on"), "f ok");
}

// Row 17.
#[test]
fn finished_runs_are_labelled_interrupted_because_a_result_stands_before_its_call() {
    let chat = br#"[{"role":"tool","tool_call_id":"a","content":"Error: x"},
        {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}]"#;
    let parsed = read(&OPENAI_CHAT, chat).unwrap();
    assert_eq!((told(&parsed.runs[0]).as_str(), codes(&parsed)), ("f -/Text", vec![]));
    let items = br#"[{"type":"function_call_output","call_id":"a","output":"3"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]"#;
    let parsed = read(&OPENAI_RESPONSES, items).unwrap();
    assert_eq!((told(&parsed.runs[0]).as_str(), codes(&parsed)), ("f ok", vec![]));
    let blocks = br#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"3"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]"#;
    let parsed = read(&ANTHROPIC, blocks).unwrap();
    assert_eq!((told(&parsed.runs[0]).as_str(), codes(&parsed)), ("f ok", vec![]));
}

// Row 17.
#[test]
fn an_interrupted_call_is_counted_as_failed_or_as_passed() {
    for (format, list) in recorded(&json!("x")) {
        let parsed: Vec<Value> = serde_json::from_str(&list).unwrap();
        let cut = serde_json::to_string(&parsed[..1]).unwrap();
        let parsed = read(format, cut.as_bytes()).unwrap();
        assert_eq!(told(&parsed.runs[0]), "f pending", "{}", format.name);
        assert_eq!(codes(&parsed), [("calls_without_result", 1)], "{}", format.name);
    }
}

// Row 17.
#[test]
fn a_result_whose_call_is_lost_vanishes() {
    for (format, list) in recorded(&json!("Error: x")) {
        let parsed: Vec<Value> = serde_json::from_str(&list).unwrap();
        let rest = serde_json::to_string(&parsed[1..]).unwrap();
        let parsed = read(format, rest.as_bytes()).unwrap();
        assert!(told(&parsed.runs[0]).ends_with(" -/Text"), "{}", format.name);
        assert_eq!(codes(&parsed), [("result_without_call", 1)], "{}", format.name);
    }
}

// Row 17.
#[test]
fn results_of_parallel_calls_go_to_the_wrong_call() {
    let list = br#"[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"b","content":"Error: x"},{"role":"tool","tool_call_id":"a","content":"3"}]"#;
    assert_eq!(told(&one(&OPENAI_CHAT, list)), "f ok, g -/Text");
}

// Row 26.
#[test]
fn an_empty_result_and_a_result_that_was_never_recorded_are_the_same_to_evaluators() {
    for (format, list) in recorded(&json!("")) {
        let answered = raws(&one(format, list.as_bytes()));
        assert_eq!(answered[0]["result"], "", "{}", format.name);
        let parsed: Vec<Value> = serde_json::from_str(&list).unwrap();
        let cut = serde_json::to_string(&parsed[..1]).unwrap();
        let open = raws(&one(format, cut.as_bytes()));
        assert_eq!(open[0].get("result"), None, "{}", format.name);
    }
}

// Row 27.
#[test]
fn a_hallucinated_tool_or_an_unreadable_input_breaks_reading() {
    let parts = br#"[{"role":"assistant","parts":[
        {"type":"tool-sum","toolCallId":"a","state":"output-error","rawInput":"{\"x\"","errorText":"AI_InvalidToolInputError: no JSON"},
        {"type":"dynamic-tool","toolName":"add","toolCallId":"b","state":"output-error","errorText":"no"},
        {"type":"tool-sum","toolCallId":"c","state":"output-available","output":3}]}]"#;
    let run = one(&VERCEL_AI, parts);
    assert_eq!(told(&run), "sum invalid_tool_call/Recorded, add -/Recorded, sum ok");
    let calls: Vec<_> = run.attempts.iter().filter(|attempt| !attempt.turn).collect();
    assert!(calls[0].input.is_some() && calls[1].input.is_none(), "an input may be missing");
    let error = calls[0].error.as_ref().unwrap();
    assert_eq!(error.message.as_deref(), Some("AI_InvalidToolInputError: no JSON"));
}

// Row 27, for the APIs that hand arguments over as a text.
#[test]
fn arguments_that_are_no_json_are_no_step_or_lose_the_whole_run() {
    let chat = br#"[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\": "}}]},{"role":"tool","tool_call_id":"a","content":"Error: bad arguments"}]"#;
    assert_eq!(told(&one(&OPENAI_CHAT, chat)), "f invalid_arguments/Recorded");
    let items = br#"[{"type":"function_call","call_id":"a","name":"f","arguments":"x=1"}]"#;
    assert_eq!(told(&one(&OPENAI_RESPONSES, items)), "f invalid_arguments/Recorded");
    let nan = br#"[{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\": NaN}"},{"type":"function_call_output","call_id":"a","output":"3"}]"#;
    assert_eq!(told(&one(&OPENAI_RESPONSES, nan)), "f ok", "NaN is read by those who run the call");
}

#[test]
fn a_file_that_speaks_of_an_exit_code_is_no_failed_call() {
    for result in [
        "# usage\nfails with exit code 2",
        "exit code 2 means misuse",
        "text\nthe tests end with exit code 1",
    ] {
        all_tell(&json!(result), "f ok");
    }
    all_tell(&json!("no such file\n[Command failed with exit code 2]"), "f exit_code/ExitCode");
}
