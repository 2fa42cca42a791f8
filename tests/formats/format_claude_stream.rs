//! The stream of messages of Claude Code: the real file's figures, and what a session may hold.

use crate::events::{
    count, detected, failed, figures, lines, one, read, same_in_any_order, steps, tag, tokens,
    told, turns,
};
use crate::support::{fixture_text, shared_text};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::claude_stream::CLAUDE_STREAM;
use agenteval::model::{EndRule, Tokens};

fn shared(name: &str) -> Option<String> {
    shared_text(&format!("claude_stream_json/{name}"))
}

fn fixture(name: &str) -> String {
    fixture_text(&format!("claude-stream/{name}"))
}

#[test]
fn the_real_stream_has_one_call_two_turns_and_the_tokens_of_its_result() {
    let Some(text) = shared("tool_use_stream.jsonl") else { return };
    assert_eq!(detected(&text), Some("claude-stream"));
    let (parsed, fates) = read(&CLAUDE_STREAM, &one(&text));
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(told(run), [("Bash".into(), "-".into(), "-".into())]);
    assert_eq!(turns(run), 2);
    let wanted = Tokens {
        input: 4.0,
        cache_read: 17_653.0,
        cache_write: 1215.0,
        output: 415.0,
        unsplit: 0.0,
    };
    assert_eq!((tokens(run), run.cost_usd), (Some(wanted), Some(0.016_089_15)));
    assert_eq!(run.duration_ms, Some(9352.0));
    assert_eq!((run.format_outcome, run.end_rule, &run.status), (None, None, &None));
    assert_eq!(run.end_reason.as_deref(), Some("success"));
    assert_eq!(run.model.as_deref(), Some("claude-sonnet-4-6"));
    assert!(fates.iter().all(|fate| *fate == Fate::Used));
    same_in_any_order(&CLAUDE_STREAM, &text, false);
}

#[test]
fn a_recorded_cassette_is_no_trace() {
    let Some(text) = shared("logfire_cassette_tool_use.json") else { return };
    let ours = ["claude-stream", "claude-code", "codex", "codex-exec", "gemini-cli"];
    assert!(detected(&text).is_none_or(|name| !ours.contains(&name)));
}

#[test]
fn the_harbour_has_a_retry_a_denial_a_sub_agent_and_told_chatter() {
    let text = fixture("harbour_lights.jsonl");
    assert_eq!(detected(&text), Some("claude-stream"));
    let (parsed, fates) = read(&CLAUDE_STREAM, &one(&text));
    let [main, sub] = &parsed.runs[..] else { panic!("two runs, not {}", parsed.runs.len()) };
    assert_eq!(
        told(main),
        [
            ("Bash".into(), "-".into(), "exit_code".into()),
            ("Bash".into(), "-".into(), "-".into()),
            ("Task".into(), "-".into(), "-".into()),
            ("Write".into(), "denied".into(), "-".into()),
        ]
    );
    assert_eq!((failed(main), turns(main)), (1, 4));
    assert_eq!(
        main.tokens.map(|tokens| tokens.total()),
        Some(20.0 + 40.0 + 100.0 + 10.0 + 5.0 + 6.0)
    );
    assert_eq!(main.cost_usd, Some(0.02));
    assert_eq!(sub.run_id.as_deref(), Some("hl-1/t-3"));
    assert_eq!((tag(sub, "parent"), tag(sub, "parent_call")), (Some("hl-1"), Some("t-3")));
    assert_eq!(told(sub), [("Grep".into(), "-".into(), "-".into())]);
    assert_eq!((sub.tokens, sub.end_rule), (None, None), "its tokens are in the session's sums");
    assert_eq!(count(&parsed, "api_retries"), 1);
    let refused: Vec<_> = fates
        .iter()
        .filter_map(|fate| match fate {
            Fate::Refused(refusal) => Some(refusal.code),
            _ => None,
        })
        .collect();
    assert_eq!(refused, ["not_an_object"]);
    same_in_any_order(&CLAUDE_STREAM, &text, false);
}

#[test]
fn sessions_in_one_file_end_apart_and_a_success_that_is_an_error_failed() {
    let (parsed, _) = read(&CLAUDE_STREAM, &one(&fixture("two_sessions.jsonl")));
    let [open, broken] = &parsed.runs[..] else { panic!("two runs") };
    assert_eq!((open.end_rule, open.format_outcome), (Some(EndRule::Unfinished), None));
    assert_eq!(told(open), [("Bash".into(), "pending".into(), "-".into())]);
    assert_eq!(open.tokens, None, "the usage on messages is partial");
    assert_eq!((broken.end_rule, broken.format_outcome), (None, Some(false)));
    assert_eq!(broken.end_reason.as_deref(), Some("success"));
}

#[test]
fn the_last_of_several_results_counts_and_its_subtype_decides() {
    let result = |subtype: &str, cost: f64| {
        format!(
            r#"{{"type":"result","subtype":"{subtype}","is_error":false,"num_turns":1,"session_id":"s","total_cost_usd":{cost}}}"#
        )
    };
    let text = [result("success", 0.1), result("error_max_turns", 0.3)].join("\n");
    let (parsed, _) = read(&CLAUDE_STREAM, &one(&text));
    let run = &parsed.runs[0];
    assert_eq!((run.cost_usd, run.format_outcome), (Some(0.3), Some(false)));
    assert_eq!(count(&parsed, "earlier_results"), 1);
    assert!(run.steps_unknown, "a result alone tells of no step");
}

#[test]
fn the_same_stream_in_two_files_counts_once() {
    let all = lines(&fixture("harbour_lights.jsonl"));
    let (once, _) = read(&CLAUDE_STREAM, &vec![("a", all.clone())]);
    let (twice, fates) = read(&CLAUDE_STREAM, &vec![("a", all.clone()), ("b", all)]);
    assert_eq!(figures(&twice, true), figures(&once, true));
    let merged = fates.iter().filter(|fate| **fate == Fate::Merged("duplicate_uuid")).count();
    assert_eq!(merged, 12);
}

#[test]
fn an_interrupted_session_is_cancelled() {
    let said = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}"#;
    let (parsed, _) = read(&CLAUDE_STREAM, &one(said));
    assert_eq!(parsed.runs[0].end_rule, Some(EndRule::Cancelled));
    let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,"session_id":"s"}"#;
    let (parsed, _) = read(&CLAUDE_STREAM, &one(&[said, result].join("\n")));
    assert_eq!(parsed.runs[0].end_rule, Some(EndRule::Cancelled));
    let (parsed, _) = read(&CLAUDE_STREAM, &one(result));
    assert_eq!(parsed.runs[0].format_outcome, Some(false));
}

#[test]
fn odd_types_in_any_field_cost_no_panic() {
    for odd in ["null", "7", "true", "[]", "{}", "\"x\"", "[[1]]", "[{}]", "-1e999"] {
        for key in [
            "subtype",
            "session_id",
            "uuid",
            "parent_tool_use_id",
            "message",
            "usage",
            "modelUsage",
            "permission_denials",
            "total_cost_usd",
            "result",
            "error",
        ] {
            for kind in ["system", "assistant", "user", "result", "stream_event"] {
                let text =
                    format!(r#"{{"type":"{kind}","message":{{"content":[]}},"{key}":{odd}}}"#);
                let (parsed, _) = read(&CLAUDE_STREAM, &one(&text));
                assert!(parsed.runs.iter().all(|run| steps(run).len() <= 1));
            }
        }
    }
}
