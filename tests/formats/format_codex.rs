//! Rollouts of Codex: the real files' figures, forks, and every encoding of an output.

use crate::events;
use crate::events::{
    Files, count, detected, failed, lines, one, read, read_with, same_in_any_order, steps, tag,
    tokens, told, turns,
};
use crate::support::{fixture_text, shared_text};
use agenteval::config::ReadOptions;
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::codex::CODEX;
use agenteval::model::{EndRule, Final, Tokens};

fn shared(name: &str) -> Option<String> {
    shared_text(&format!("codex/{name}"))
}

fn fixture(name: &str) -> String {
    fixture_text(&format!("codex/{name}"))
}

const REAL: [&str; 4] = [
    "agentsview_fc_stdin.jsonl",
    "agentsview_function_calls.jsonl",
    "agentsview_standard_session.jsonl",
    "openagents_rollout.sample.jsonl",
];

#[test]
fn the_sample_rollout_has_two_sound_calls_and_its_last_total_of_tokens() {
    let Some(text) = shared("openagents_rollout.sample.jsonl") else { return };
    let (parsed, fates) = read(&CODEX, &one(&text));
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(steps(run).len(), 2);
    assert_eq!(failed(run), 0);
    assert!(steps(run).iter().all(|step| step.status.is_none() && step.ended_at.is_some()));
    assert_eq!(tokens(run).map(|tokens| tokens.total()), Some(82_396.0));
    let wanted =
        Tokens { input: 37_064.0, cache_read: 44_992.0, output: 340.0, ..Tokens::default() };
    assert_eq!(run.tokens, Some(wanted));
    assert_eq!((run.end_rule, run.format_outcome, &run.success), (None, None, &None));
    assert_eq!(run.run_id.as_deref(), Some("019efa28-63ad-76a2-8e9b-8a653170604e"));
    assert_eq!((run.agent.as_deref(), run.model.as_deref()), (Some("Codex CLI"), Some("gpt-5.5")));
    assert_eq!(turns(run), 2);
    assert!(!fates.iter().any(|fate| matches!(fate, Fate::Refused(_))));
}

#[test]
fn the_small_rollouts_have_open_calls_that_are_neither_passed_nor_failed() {
    let Some(text) = shared("agentsview_function_calls.jsonl") else { return };
    let (parsed, _) = read(&CODEX, &one(&text));
    let names: Vec<_> = told(&parsed.runs[0]);
    let open = |name: &str| (name.to_owned(), "pending".to_owned(), "-".to_owned());
    assert_eq!(names, [open("shell_command"), open("apply_patch")], "two calls under one id");
    assert_eq!(count(&parsed, "calls_without_result"), 2);
    let (parsed, _) = read(&CODEX, &one(&shared("agentsview_fc_stdin.jsonl").unwrap()));
    assert_eq!(told(&parsed.runs[0]), [open("write_stdin")]);
    assert!(steps(&parsed.runs[0])[0].input.is_some(), "arguments that are an object");
    let (parsed, _) = read(&CODEX, &one(&shared("agentsview_standard_session.jsonl").unwrap()));
    let run = &parsed.runs[0];
    assert_eq!((steps(run).len(), turns(run), run.end_rule), (0, 1, None));
    assert_eq!(
        run.final_output,
        Final::Json(r#"{"output":"I'll add rate limiting to the API."}"#.into())
    );
}

#[test]
fn every_real_rollout_is_detected_and_gives_one_result_in_any_order() {
    for name in REAL {
        let Some(text) = shared(name) else { return };
        assert_eq!(detected(&text), Some("codex"), "{name}");
        same_in_any_order(&CODEX, &text, true);
    }
    same_in_any_order(&CODEX, &fixture("rollout-parent.jsonl"), true);
    same_in_any_order(&CODEX, &fixture("rollout-fork.jsonl"), true);
}

#[test]
fn the_fixture_tells_each_call_by_its_own_encoding() {
    let (parsed, _) = read(&CODEX, &one(&fixture("rollout-parent.jsonl")));
    let run = &parsed.runs[0];
    let found = told(run);
    let found: Vec<_> =
        found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert_eq!(
        found,
        [
            ("shell", "-", "exit_code"),
            ("shell", "-", "-"),
            ("apply_patch", "denied", "-"),
            ("local_shell", "-", "sandbox_denied"),
            ("web_search", "-", "-"),
            ("mcp__bell__ring", "-", "error"),
            ("exec_command", "pending", "-"),
        ]
    );
    let ring = steps(run)[5];
    assert_eq!(ring.duration_ms, Some(250.0));
    assert_eq!(ring.error.as_ref().and_then(|e| e.message.as_deref()), Some("no bell"));
    assert_eq!(tokens(run).map(|tokens| tokens.total()), Some(2590.0));
    assert_eq!(tag(run, "git_branch"), Some("main"));
}

#[test]
fn bug_14_a_fork_counts_its_own_calls_and_tokens_and_no_replayed_ones() {
    let (parent, fork) =
        (lines(&fixture("rollout-parent.jsonl")), lines(&fixture("rollout-fork.jsonl")));
    let orders: [Files; 3] = [
        vec![("p.jsonl", parent.clone()), ("f.jsonl", fork.clone())],
        vec![("f.jsonl", fork.clone()), ("p.jsonl", parent)],
        vec![("f.jsonl", fork)],
    ];
    for files in orders {
        let (parsed, _) = read(&CODEX, &files);
        assert_eq!(parsed.runs.len(), files.len());
        let run = parsed.runs.iter().find(|run| tag(run, "parent").is_some()).expect("the fork");
        assert_eq!(run.run_id.as_deref(), Some("019c2100-0000-7000-8000-000000000002"));
        assert_eq!(told(run), [("exec_command".into(), "-".into(), "exit_code".into())]);
        assert_eq!(tokens(run).map(|tokens| tokens.total()), Some(3100.0 - 2590.0));
        assert_eq!(run.end_rule, Some(EndRule::Cancelled));
        assert_eq!(run.end_reason.as_deref(), Some("interrupted"));
        assert_eq!(count(&parsed, "replayed_lines"), 18);
        let all: f64 = parsed.runs.iter().filter_map(tokens).map(|tokens| tokens.total()).sum();
        assert_eq!(all, if files.len() == 2 { 3100.0 } else { 510.0 });
    }
}

#[test]
fn bug_14_a_sub_agent_that_replays_nothing_keeps_its_first_turn() {
    let text = fixture("rollout-fork.jsonl");
    let fork = lines(&text);
    // The meta of the parent stands second, and the sub-agent's own turn follows at once.
    let direct: Vec<String> = fork[..2].iter().chain(&fork[20..]).cloned().collect();
    let (parsed, _) = read(&CODEX, &vec![("f.jsonl", direct)]);
    let run = &parsed.runs[0];
    assert_eq!(run.run_id.as_deref(), Some("019c2100-0000-7000-8000-000000000002"));
    assert_eq!(steps(run).len(), 1);
    assert_eq!(tokens(run).map(|tokens| tokens.total()), Some(3100.0));
}

#[test]
fn bug_14_replayed_calls_count_once_where_nothing_tells_the_end_of_the_replay() {
    let strip = |text: String| -> Vec<String> {
        lines(&text).into_iter().filter(|line| !line.contains("task_")).collect()
    };
    let (parent, fork) =
        (strip(fixture("rollout-parent.jsonl")), strip(fixture("rollout-fork.jsonl")));
    for files in [
        vec![("p.jsonl", parent.clone()), ("f.jsonl", fork.clone())],
        vec![("f.jsonl", fork), ("p.jsonl", parent)],
    ] {
        let (parsed, _) = read(&CODEX, &files);
        let ids: Vec<_> =
            parsed.runs.iter().flat_map(steps).filter_map(|s| s.request_id.clone()).collect();
        assert_eq!(ids.iter().filter(|id| *id == "c-1").count(), 1, "{ids:?}");
        assert!(count(&parsed, "copied_calls") > 0);
    }
}

#[test]
fn bug_14_the_same_rollout_under_another_name_counts_once() {
    let all = lines(&fixture("rollout-parent.jsonl"));
    let (once, _) = read(&CODEX, &vec![("a.jsonl", all.clone())]);
    let (twice, _) = read(&CODEX, &vec![("a.jsonl", all.clone()), ("archived.jsonl", all)]);
    assert_eq!(twice.runs.len(), 1);
    assert_eq!(events::figures(&twice, true), events::figures(&once, true));
    assert_eq!(count(&twice, "copied_lines"), 18);
}

#[test]
fn the_second_half_of_a_rollout_finds_its_session_among_several() {
    let parent = lines(&fixture("rollout-parent.jsonl"));
    let fork = lines(&fixture("rollout-fork.jsonl"));
    let whole = vec![("p", parent.clone()), ("f", fork.clone())];
    let wanted = events::figures(&read(&CODEX, &whole).0, true);
    for at in 1..parent.len() {
        let (first, second) = (parent[..at].to_vec(), parent[at..].to_vec());
        for files in [
            vec![("f", fork.clone()), ("p2", second.clone()), ("p1", first.clone())],
            vec![("p1", first), ("f", fork.clone()), ("p2", second)],
        ] {
            assert_eq!(events::figures(&read(&CODEX, &files).0, true), wanted, "cut after {at}");
        }
    }
}

#[test]
fn a_turn_that_began_and_did_not_end_is_unfinished_and_a_broken_one_failed() {
    let all = lines(&fixture("rollout-parent.jsonl"));
    let cut = all[..all.len() - 1].to_vec();
    let (parsed, _) = read(&CODEX, &vec![("a.jsonl", cut.clone())]);
    assert_eq!(parsed.runs[0].end_rule, Some(EndRule::Unfinished));
    let mut broken = cut;
    broken.push(r#"{"timestamp":"2026-02-03T09:00:13Z","type":"event_msg","payload":{"type":"error","message":"usage limit"}}"#.into());
    let (parsed, _) = read(&CODEX, &vec![("a.jsonl", broken)]);
    assert_eq!((parsed.runs[0].end_rule, parsed.runs[0].format_outcome), (None, Some(false)));
}

#[test]
fn lines_that_are_no_rollout_lines_are_refused_with_their_reason() {
    let text = "noise\n{\"payload\":{}}\n{\"type\":\"event_msg\"}\n{\"type\":\"session_meta\",\"payload\":{}}\n{\"type\":\"new\",\"payload\":{}}\n{\"type\":\"response_item\",\"payload\":{\"type\":\"ghost_snapshot\"}}";
    let (parsed, fates) = read(&CODEX, &one(text));
    let codes: Vec<_> = fates
        .iter()
        .map(|fate| match fate {
            Fate::Refused(refusal) => refusal.code,
            Fate::Ignored(rule) => rule,
            _ => "used",
        })
        .collect();
    assert_eq!(
        codes,
        [
            "not_an_object",
            "line_without_type",
            "line_without_payload",
            "session_without_id",
            "other_line_type",
            "other_item"
        ]
    );
    assert!(parsed.runs.is_empty());
}

#[test]
fn input_and_result_are_kept_where_they_are_asked_for() {
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    let (parsed, _) = read_with(&CODEX, &one(&fixture("rollout-parent.jsonl")), &options);
    let raw: Vec<serde_json::Value> = parsed.runs[0]
        .attempts
        .iter()
        .map(|attempt| serde_json::from_str(attempt.raw.as_deref().expect("raw")).expect("JSON"))
        .collect();
    assert_eq!(raw[0]["input"], serde_json::json!({"command": ["make"]}));
    assert_eq!(raw[2]["input"], "*** Begin Patch\n*** End Patch");
    assert_eq!(raw[7]["content"][0]["text"], "The clock runs.");
}

#[test]
fn odd_types_in_any_field_cost_no_panic() {
    for odd in ["null", "7", "true", "[]", "{}", "\"x\"", "[[1]]", "\"{\"", "-1e999"] {
        for key in [
            "type",
            "role",
            "id",
            "call_id",
            "name",
            "arguments",
            "output",
            "content",
            "action",
            "info",
            "invocation",
            "result",
            "duration",
            "source",
            "git",
            "turn_id",
            "success",
        ] {
            for kind in [
                "function_call",
                "function_call_output",
                "message",
                "token_count",
                "mcp_tool_call_end",
                "web_search_call",
            ] {
                for line in ["response_item", "event_msg", "session_meta", "turn_context"] {
                    let text = format!(
                        r#"{{"type":"{line}","timestamp":{odd},"payload":{{"type":"{kind}","id":"a","{key}":{odd}}}}}"#
                    );
                    read(&CODEX, &one(&text));
                }
            }
        }
    }
}
