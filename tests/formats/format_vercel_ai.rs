//! Vercel's AI SDK: steps, model messages and UI messages, and the steps of a real result.

use crate::chat::{codes, delivered, detected, one, raws, read, tokens, told, turns};
use crate::support;
use agenteval::ingest::formats::vercel_ai::VERCEL_AI;
use serde_json::json;

const STEPS: &[u8] = include_bytes!("../../fixtures/vercel-ai/steps.json");
const MODEL: &[u8] = include_bytes!("../../fixtures/vercel-ai/model_messages.json");
const UI: &[u8] = include_bytes!("../../fixtures/vercel-ai/ui_messages.json");

#[test]
fn steps_give_their_calls_once_and_their_usage_once() {
    assert_eq!(detected(STEPS), Some("vercel-ai"));
    let run = one(&VERCEL_AI, STEPS);
    assert_eq!(told(&run), "search -/Recorded, serch invalid_tool_call/Recorded, search ok");
    assert_eq!((turns(&run), tokens(&run)), (3, [130.0, 20.0, 0.0, 30.0]));
    assert_eq!((run.model.as_deref(), run.run_id.as_deref()), (Some("gpt-4o"), Some("resp-3")));
    assert_eq!(delivered(&run), json!({"end_reason": "stop", "output": "Nothing found."}));
    assert_eq!((run.success, run.format_outcome), (None, None));
}

#[test]
fn outputs_of_model_messages_say_how_a_call_went() {
    assert_eq!(detected(MODEL), Some("vercel-ai"));
    let run = one(&VERCEL_AI, MODEL);
    assert_eq!(
        told(&run),
        "book ConflictError/Recorded, pay denied, mail ECONNRESET/Recorded, note ok"
    );
    assert_eq!(raws(&run)[3]["result"], json!({"ok": true}));
}

#[test]
fn ui_parts_are_calls_by_how_far_they_came() {
    assert_eq!(detected(UI), Some("vercel-ai"));
    let parsed = read(&VERCEL_AI, UI).unwrap();
    let run = &parsed.runs[0];
    assert_eq!(
        told(run),
        "locate TimeoutError/Recorded, guess invalid_tool_call/Recorded, locate ok, track denied, map pending"
    );
    assert_eq!((turns(run), run.run_id.as_deref()), (2, Some("chat-7")));
    assert_eq!(delivered(run), json!({"output": "In Oslo."}));
    assert_eq!(codes(&parsed), [("calls_without_result", 1)]);
}

#[test]
fn the_real_steps_are_three_calls_of_which_two_failed() {
    let Some(path) = support::shared("data/vercel_ai/steps.json") else { return };
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(detected(&bytes), Some("vercel-ai"));
    let run = one(&VERCEL_AI, &bytes);
    assert_eq!(
        told(&run),
        "getWeather -/Recorded, getWeathr invalid_tool_call/Recorded, getWeather ok"
    );
    assert_eq!((turns(&run), tokens(&run)), (4, [400.0, 0.0, 0.0, 80.0]));
    assert_eq!(delivered(&run), json!({"end_reason": "stop", "output": "12C, rain"}));
}

#[test]
fn the_spelling_of_sdk_4_is_read_too() {
    let steps = br#"[{"finishReason":"tool-calls","text":"","toolCalls":[{"type":"tool-call","toolCallId":"a","toolName":"f","args":{"x":1}}],
        "toolResults":[{"type":"tool-result","toolCallId":"a","toolName":"f","args":{"x":1},"result":"Error: no"}],
        "usage":{"promptTokens":5,"completionTokens":2,"totalTokens":7}},{"finishReason":"stop","text":"sorry","toolCalls":[],"toolResults":[]}]"#;
    assert_eq!(detected(steps), Some("vercel-ai"));
    let run = one(&VERCEL_AI, steps);
    assert_eq!((told(&run).as_str(), tokens(&run)), ("f -/Text", [5.0, 0.0, 0.0, 2.0]));
    assert_eq!(delivered(&run)["output"], "sorry");
    let ui = br#"[{"role":"assistant","content":"","parts":[{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"a","toolName":"f","args":{},"result":3}}]}]"#;
    assert_eq!((detected(ui), told(&one(&VERCEL_AI, ui)).as_str()), (Some("vercel-ai"), "f ok"));
}

#[test]
fn odd_records_are_read_or_refused_but_never_panic() {
    let code = |bytes: &str| read(&VERCEL_AI, bytes.as_bytes()).map(|_| ()).map_err(|why| why.code);
    assert_eq!(code(r#"{"finishReason":"stop","content":[]}"#), Err("message_alone"));
    assert_eq!(code("{}"), Err("no_messages"));
    for odd in [
        r#"[{"finishReason":7,"content":[7,{"type":"tool-call"},{"type":"tool-error"},{"type":"tool-result","output":[]}]}]"#,
        r#"[{"role":"assistant","parts":[7,{"type":"tool-"},{"type":"dynamic-tool","state":"output-error"},{"type":"tool-invocation"}]}]"#,
        r#"{"steps":[{},7]}"#,
    ] {
        assert_eq!(code(odd), Ok(()), "{odd}");
    }
}
