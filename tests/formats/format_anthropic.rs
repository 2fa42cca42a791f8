//! Anthropic messages: the fixtures, the real response, and what flags and texts say.

use crate::chat::{codes, delivered, detected, one, read, tokens, told, turns};
use crate::support;
use agenteval::ingest::formats::anthropic::ANTHROPIC;
use serde_json::json;

const NOTES: &[u8] = include_bytes!("../../fixtures/anthropic/notes.json");
const INTERRUPTED: &str = include_str!("../../fixtures/anthropic/interrupted.ndjson");

#[test]
fn a_flag_decides_where_there_is_one_and_the_text_where_there_is_none() {
    assert_eq!(detected(NOTES), Some("anthropic"));
    let run = one(&ANTHROPIC, NOTES);
    assert_eq!(
        told(&run),
        "list_notes ok, read_note -/Flag, read_note ok, bash exit_code/ExitCode"
    );
    let error = run.attempts.iter().find_map(|attempt| attempt.error.as_ref()).unwrap();
    assert_eq!(error.message.as_deref(), Some("NotFoundError: no note a"));
    assert_eq!(turns(&run), 3);
    assert_eq!(
        (run.run_id.as_deref(), run.task_id.as_deref()),
        (Some("notes-1"), Some("tidy-notes"))
    );
    assert_eq!(run.success, Some(true));
    assert_eq!(delivered(&run), json!({"end_reason": "end_turn", "output": "One note is left."}));
}

#[test]
fn input_tokens_leave_out_the_cache_which_stands_apart() {
    assert_eq!(tokens(&one(&ANTHROPIC, NOTES)), [32.0, 200.0, 100.0, 48.0]);
}

#[test]
fn a_refusal_and_a_missing_result_decide_nothing() {
    let lines: Vec<&str> = INTERRUPTED.lines().collect();
    let parsed = read(&ANTHROPIC, lines[0].as_bytes()).unwrap();
    assert_eq!(told(&parsed.runs[0]), "- ok, bash pending");
    assert_eq!(codes(&parsed), [("calls_without_result", 1), ("result_without_call", 1)]);
    let refused = one(&ANTHROPIC, lines[1].as_bytes());
    assert_eq!(refused.end_reason.as_deref(), Some("refusal"));
    assert_eq!((refused.format_outcome, refused.end_rule, refused.success), (None, None, None));
    assert_eq!(refused.run_id.as_deref(), Some("msg_1"));
}

#[test]
fn the_real_response_was_cut_off_and_is_not_failed_for_it() {
    let Some(path) = support::shared("data/anthropic/conversation.json") else { return };
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(detected(&bytes), Some("anthropic"));
    let run = one(&ANTHROPIC, &bytes);
    assert_eq!((told(&run).as_str(), turns(&run), tokens(&run)), ("", 1, [43.0, 0.0, 0.0, 100.0]));
    assert_eq!(run.end_reason.as_deref(), Some("max_tokens"));
    assert_eq!((run.format_outcome, run.end_rule), (None, None));
    assert_eq!(run.model.as_deref(), Some("claude-3-opus-20240229"));
}

#[test]
fn tools_that_the_api_runs_and_errors_of_the_api_are_read() {
    let run = br#"[{"role":"assistant","content":[
        {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}},
        {"type":"web_search_tool_result","tool_use_id":"s1","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}},
        {"type":"mcp_tool_use","id":"m1","name":"echo","input":{}},
        {"type":"mcp_tool_result","tool_use_id":"m1","is_error":false,"content":[]}]}]"#;
    assert_eq!(told(&one(&ANTHROPIC, run)), "web_search max_uses_exceeded/Recorded, echo ok");
    let failed = br#"{"request":{"messages":[{"role":"user","content":"hi"}]},"response":{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}}"#;
    let failed = one(&ANTHROPIC, failed);
    assert_eq!(
        (failed.format_outcome, failed.end_reason.as_deref()),
        (Some(false), Some("Overloaded"))
    );
}

#[test]
fn responses_in_an_array_are_a_run_each_and_messages_are_one() {
    let reply = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}"#;
    let runs = |list: String| read(&ANTHROPIC, list.as_bytes()).unwrap().runs.len();
    assert_eq!(runs(format!("[{reply},{reply}]")), 2);
    assert_eq!(runs(format!(r#"[{{"role":"user","content":"go"}},{reply},{reply}]"#)), 1);
}

#[test]
fn odd_records_are_read_or_refused_but_never_panic() {
    let code = |bytes: &str| read(&ANTHROPIC, bytes.as_bytes()).map(|_| ()).map_err(|why| why.code);
    assert_eq!(code(r#"{"role":"assistant","content":"hi"}"#), Err("message_alone"));
    assert_eq!(code("{}"), Err("no_messages"));
    for odd in [
        r#"[{"role":"user","content":[7,{},{"type":"tool_result"},{"type":"tool_use","input":"{"}]}]"#,
        r#"[{"role":"assistant","content":{},"usage":[]},{"role":"tool","content":"x"}]"#,
    ] {
        assert_eq!(code(odd), Ok(()), "{odd}");
    }
}
