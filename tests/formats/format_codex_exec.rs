//! The output of `codex exec --json`: the real files' figures, and items that end in every way.

use crate::events::{
    count, detected, failed, figures, lines, one, read, same_in_any_order, steps, told, turns,
};
use crate::support::{fixture_text, shared_text};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::codex_exec::CODEX_EXEC;
use agenteval::model::{EndRule, Tokens};

const REAL: [(&str, &str, usize, [f64; 3]); 3] = [
    ("stream-output-2.jsonl", "command_execution", 7, [1048.0, 4992.0, 129.0]),
    ("stream-output-3.jsonl", "file_change", 6, [1912.0, 4096.0, 51.0]),
    ("stream-output-5.jsonl", "command_execution", 8, [3142.0, 2944.0, 223.0]),
];

fn shared(name: &str) -> Option<String> {
    shared_text(&format!("codex_exec_json/{name}"))
}

fn fixture() -> String {
    fixture_text("codex-exec/kettle.jsonl")
}

#[test]
fn every_real_stream_has_one_step_and_its_tokens_without_cache() {
    for (name, step, records, [input, cache_read, output]) in REAL {
        let Some(text) = shared(name) else { return };
        assert_eq!(detected(&text), Some("codex-exec"), "{name}");
        let (parsed, fates) = read(&CODEX_EXEC, &one(&text));
        let [run] = &parsed.runs[..] else { panic!("one run") };
        assert_eq!(told(run), [(step.into(), "-".into(), "-".into())], "{name}");
        assert_eq!(run.tokens, Some(Tokens { input, cache_read, output, ..Tokens::default() }));
        assert_eq!((turns(run), run.end_rule, run.format_outcome), (1, None, None));
        assert_eq!(fates.len(), records);
        assert_eq!(count(&parsed, "calls_without_result"), 0, "started and completed are one");
        same_in_any_order(&CODEX_EXEC, &text, false);
    }
}

#[test]
fn the_fixture_has_failed_declined_and_open_items_and_a_failed_end() {
    let (parsed, fates) = read(&CODEX_EXEC, &one(&fixture()));
    let [run] = &parsed.runs[..] else { panic!("one run") };
    let found = told(run);
    let found: Vec<_> =
        found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert_eq!(
        found,
        [
            ("command_execution", "-", "exit_code"),
            ("command_execution", "-", "-"),
            ("command_execution", "denied", "-"),
            ("mcp__pantry__find", "-", "error"),
            ("command_execution", "pending", "-"),
        ]
    );
    assert_eq!(failed(run), 2);
    assert_eq!((run.format_outcome, run.end_rule), (Some(false), None));
    assert_eq!((count(&parsed, "api_retries"), count(&parsed, "error_items")), (1, 1));
    let ignored = fates.iter().filter(|fate| matches!(fate, Fate::Ignored(_))).count();
    assert_eq!(ignored, 3);
    let message = steps(run)[3].error.as_ref().and_then(|error| error.message.clone());
    assert_eq!(message.as_deref(), Some("the pantry is closed"));
}

#[test]
fn ids_that_begin_anew_with_each_turn_join_no_items() {
    let line = |kind: &str, id: &str, command: &str| {
        format!(
            r#"{{"type":"item.{kind}","item":{{"id":"{id}","type":"command_execution","command":"{command}","status":"completed","exit_code":0}}}}"#
        )
    };
    let start = r#"{"type":"thread.started","thread_id":"t"}"#.to_owned();
    let turn = r#"{"type":"turn.started"}"#.to_owned();
    let all = vec![
        start,
        turn.clone(),
        line("completed", "item_0", "a"),
        turn,
        line("started", "item_0", "b"),
        line("completed", "item_0", "c"),
    ];
    let (parsed, _) = read(&CODEX_EXEC, &vec![("x", all)]);
    let run = &parsed.runs[0];
    assert_eq!(steps(run).len(), 3);
    assert_eq!(count(&parsed, "calls_without_result"), 1);
    assert_eq!(run.end_rule, Some(EndRule::Unfinished), "no turn ended");
}

#[test]
fn two_threads_in_one_file_are_two_runs_and_a_copied_file_counts_once() {
    let first = lines(&fixture());
    let second = lines(&fixture().replace("thread-kettle", "thread-pot"));
    let both: Vec<String> = first.iter().chain(&second).cloned().collect();
    let (parsed, _) = read(&CODEX_EXEC, &vec![("x", both)]);
    assert_eq!(parsed.runs.len(), 2);
    assert!(parsed.runs.iter().all(|run| steps(run).len() == 5));
    let (once, _) = read(&CODEX_EXEC, &vec![("x", first.clone())]);
    let (twice, _) = read(&CODEX_EXEC, &vec![("x", first.clone()), ("y", first)]);
    assert_eq!(figures(&twice, true), figures(&once, true));
    assert_eq!(count(&twice, "copied_lines"), 16);
}

#[test]
fn odd_types_in_any_field_cost_no_panic() {
    for odd in ["null", "7", "true", "[]", "{}", "\"x\"", "[[1]]", "-1e999"] {
        for key in ["id", "type", "status", "command", "exit_code", "error", "arguments", "changes"]
        {
            for kind in ["item.started", "item.completed"] {
                read(
                    &CODEX_EXEC,
                    &one(&format!(
                        r#"{{"type":"{kind}","item":{{"id":"a","type":"x","{key}":{odd}}}}}"#
                    )),
                );
            }
        }
        for key in ["item", "usage", "error", "message", "thread_id"] {
            for kind in
                ["item.completed", "turn.completed", "turn.failed", "error", "thread.started"]
            {
                read(&CODEX_EXEC, &one(&format!(r#"{{"type":"{kind}","{key}":{odd}}}"#)));
            }
        }
    }
}
