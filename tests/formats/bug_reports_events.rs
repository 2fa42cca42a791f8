//! Faults that users of other readers reported for logs of events (`formats/bugs.md`, by row): each
//! test is named by its symptom.

use crate::events;
use crate::support::{self, fixture_text, shared_text};
use std::fmt::Write as _;

use crate::cli::{Folder, figure, json, report, run};
use crate::events::{
    count, failed, figures, lines, one, read, same_in_any_order, shuffled, steps, tokens,
};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::claude_code::CLAUDE_CODE;
use agenteval::ingest::formats::claude_stream::CLAUDE_STREAM;
use agenteval::ingest::formats::codex::CODEX;
use agenteval::ingest::formats::codex_exec::CODEX_EXEC;
use agenteval::ingest::formats::gemini_cli::GEMINI_CLI;
use serde_json::Value;

/// A line of a Claude Code session.
fn line(kind: &str, uuid: &str, parent: Option<&str>, second: u32, message: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s-1","timestamp":"2026-02-03T09:{:02}:{:02}Z","message":{message}}}"#,
        second / 60,
        second % 60
    )
}

fn said(id: &str) -> String {
    format!(
        r#"{{"id":"m-{id}","role":"assistant","content":[{{"type":"tool_use","id":"t-{id}","name":"Bash","input":{{"n":1}}}}]}}"#
    )
}

fn answered(id: &str) -> String {
    format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t-{id}","content":"ok"}}]}}"#
    )
}

// Row 13.

#[test]
fn tokens_1_6_to_2_times_too_high_because_each_block_repeats_the_usage() {
    let block = |uuid: &str, second, content: &str, output| {
        let message = format!(
            r#"{{"id":"m-1","role":"assistant","content":[{content}],"usage":{{"input_tokens":5,"cache_read_input_tokens":100,"output_tokens":{output}}}}}"#
        );
        line("assistant", uuid, None, second, &message)
    };
    let text = [
        block("a", 1, r#"{"type":"thinking","thinking":"x"}"#, 1),
        block("b", 2, r#"{"type":"tool_use","id":"t-1","name":"Bash","input":{}}"#, 2),
        block("c", 3, r#"{"type":"tool_use","id":"t-2","name":"Read","input":{}}"#, 31),
    ]
    .join("\n");
    let (parsed, _) = read(&CLAUDE_CODE, &one(&text));
    let found = tokens(&parsed.runs[0]).expect("tokens");
    assert_eq!((found.input, found.cache_read, found.output), (5.0, 100.0, 31.0));
    assert_eq!(steps(&parsed.runs[0]).len(), 2, "no tool is lost with a dropped line");
}

#[test]
fn output_tokens_2_to_3_times_too_low_because_messages_of_a_stream_are_partial() {
    let (parsed, _) =
        read(&CLAUDE_STREAM, &one(&fixture_text("claude-stream/harbour_lights.jsonl")));
    assert_eq!(parsed.runs[0].tokens.map(|tokens| tokens.output), Some(46.0));
    assert!(parsed.runs[0].attempts.iter().all(|attempt| attempt.tokens.is_none()));
}

// Row 14.

#[test]
fn codex_usage_many_times_too_high_because_forks_replay_their_parent() {
    let folder = Folder::new();
    folder.file("2026/rollout-a.jsonl", fixture_text("codex/rollout-parent.jsonl"));
    folder.file("2026/rollout-b.jsonl", fixture_text("codex/rollout-fork.jsonl"));
    let report = report(&[&folder.at("2026")]);
    assert_eq!(
        figure(&report, "total_tokens").1,
        Some(3100.0),
        "{:#}",
        report["metrics"]["total_tokens"]
    );
    let inspected = json(&["inspect", &folder.at("2026")]);
    let attempts: u64 = inspected["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["attempts"].as_u64().unwrap())
        .sum();
    assert_eq!(attempts, 8, "seven of the parent and one of the fork");
}

// Row 15.

#[test]
fn a_conversation_counted_twice_because_branching_copied_its_lines() {
    let text = fixture_text("claude_code/interrupted_clock.jsonl");
    let copy = |id: &str| text.replace("5c1f0000-0000-4000-8000-000000000001", id);
    let (alone, _) = read(&CLAUDE_CODE, &one(&text));
    let files = vec![
        ("a.jsonl", lines(&text)),
        ("b.jsonl", lines(&copy("branch"))),
        ("c.jsonl", lines(&copy("branch twice"))),
    ];
    let (parsed, fates) = read(&CLAUDE_CODE, &files);
    assert_eq!(figures(&parsed, true), figures(&alone, true));
    assert_eq!(fates.iter().filter(|fate| matches!(fate, Fate::Merged(_))).count(), 22);
}

// Row 16.

#[test]
fn dead_end_branches_shown_as_real_turns_or_lost_are_counted_and_told() {
    // The person went back to `u` and asked anew: `b` and what follows it was left.
    let text = [
        line("user", "u", None, 1, r#"{"role":"user","content":"go"}"#),
        line("assistant", "b", Some("u"), 2, &said("b")),
        line("user", "b2", Some("b"), 3, &answered("b")),
        line("assistant", "b3", Some("b2"), 4, &said("b3")),
        line("user", "n", Some("u"), 10, r#"{"role":"user","content":"again"}"#),
        line("assistant", "n1", Some("n"), 11, &said("n1")),
        line("user", "n2", Some("n1"), 12, &answered("n1")),
    ]
    .join("\n");
    let (parsed, _) = read(&CLAUDE_CODE, &one(&text));
    assert_eq!(steps(&parsed.runs[0]).len(), 3, "they all ran");
    assert_eq!(count(&parsed, "dead_branch_calls"), 2);
    let mut reversed = lines(&text);
    reversed.reverse();
    let (parsed, _) = read(&CLAUDE_CODE, &vec![("x", reversed)]);
    assert_eq!(count(&parsed, "dead_branch_calls"), 2);
}

#[test]
fn parallel_calls_and_lost_parents_are_no_dead_branches() {
    let block = |tool: &str| said("p").replace("t-p", tool);
    let text = [
        line("assistant", "a", Some("gone"), 1, &block("t-1")),
        line("assistant", "b", Some("a"), 2, &block("t-2")),
        line("user", "r2", Some("b"), 3, &answered("2")),
        line("user", "r1", Some("a"), 4, &answered("1")),
        line("assistant", "c", Some("r1"), 5, &said("c")),
    ]
    .join("\n");
    let (parsed, _) = read(&CLAUDE_CODE, &one(&text));
    assert_eq!(count(&parsed, "dead_branch_calls"), 0);
    assert_eq!(count(&parsed, "lost_parents"), 1);
    for name in ["agentcmd_full-session-four.jsonl", "simonw_sample_session.jsonl"] {
        let Some(text) = shared_text(&format!("claude_code/{name}")) else { return };
        let (parsed, _) = read(&CLAUDE_CODE, &one(&text));
        assert_eq!(count(&parsed, "dead_branch_calls"), 0, "{name}");
        assert_eq!(count(&parsed, "lost_parents"), 0, "{name}");
    }
}

// Row 17.

#[test]
fn finished_sessions_labelled_interrupted_because_results_stand_before_their_calls() {
    let swapped = |text: &str, call: &str, result: &str| {
        let mut all = lines(text);
        let at = |part: &str| all.iter().position(|line| line.contains(part)).expect("a line");
        let (call, result) = (at(call), at(result));
        all.swap(call, result);
        all
    };
    let exec = fixture_text("codex-exec/kettle.jsonl");
    let cases = [
        (&CODEX, fixture_text("codex/rollout-parent.jsonl"), "\"c-1\"", "exit_code"),
        (
            &CLAUDE_STREAM,
            fixture_text("claude-stream/harbour_lights.jsonl"),
            "lights --list",
            "Exit code 127",
        ),
        (&GEMINI_CLI, fixture_text("gemini-cli/stream.jsonl"), "\"tree\":1", "LADDER"),
        (&CODEX_EXEC, exec, "item.started", "\"exit_code\":3"),
    ];
    for (format, text, call, result) in cases {
        let (wanted, _) = read(format, &one(&text));
        let (found, _) = read(format, &vec![("x", swapped(&text, call, result))]);
        assert_eq!(failed(&found.runs[0]), failed(&wanted.runs[0]), "{}", format.name);
        for code in ["calls_without_result", "result_without_call"] {
            assert_eq!(count(&found, code), count(&wanted, code), "{}: {code}", format.name);
        }
    }
}

#[test]
fn unmatched_calls_and_results_are_told_and_neither_passed_nor_failed() {
    let without = |text: &str, part: &str| {
        lines(text).into_iter().filter(|line| !line.contains(part)).collect::<Vec<_>>()
    };
    let stream = fixture_text("gemini-cli/stream.jsonl");
    let (open, _) = read(&GEMINI_CLI, &vec![("x", without(&stream, "LADDER"))]);
    let first = steps(&open.runs[0])[0];
    assert_eq!((first.status.as_deref(), first.error.is_none()), (Some("pending"), true));
    let (orphan, _) = read(&GEMINI_CLI, &vec![("x", without(&stream, "\"tree\":1"))]);
    assert_eq!((count(&orphan, "result_without_call"), failed(&orphan.runs[0])), (1, 1));
    let rollout = fixture_text("codex/rollout-parent.jsonl");
    let (orphan, _) = read(&CODEX, &vec![("x", without(&rollout, "[\\\"make\\\"]}"))]);
    assert_eq!(count(&orphan, "result_without_call"), 1);
}

// Row 24.

#[test]
fn the_last_line_cut_at_rotation_costs_no_other_line() {
    let text = fixture_text("codex/rollout-parent.jsonl");
    let all = lines(&text);
    // The file ends inside its ninth line, and the next one begins with the rest of it.
    let (before, after) = all.split_at(8);
    let (head, tail) = after[0].split_at(60);
    let folder = Folder::new();
    folder.file("logs/rollout-1.jsonl", format!("{}\n{head}", before.join("\n")));
    folder.file("logs/rollout-2.jsonl", format!("{tail}\n{}\n", after[1..].join("\n")));
    let ran = run(&["inspect", &folder.at("logs"), "--output", "json"]);
    let inspected = ran.json();
    let files = inspected["inputs"].as_array().unwrap();
    let sum = |key: &str| -> u64 { files.iter().map(|file| file[key].as_u64().unwrap_or(0)).sum() };
    assert_eq!((sum("records"), sum("rejected"), sum("runs")), (20, 2, 1), "{inspected:#}");
    let strict = run(&["analyze", &folder.at("logs"), "--strict"]);
    assert_ne!(strict.code, 0, "--strict takes the cut for a loss");
}

#[test]
fn ten_megabytes_of_one_pretty_printed_object_are_read() {
    let mut messages = String::new();
    let count = 12_000;
    for at in 0..count {
        let comma = if at == 0 { "" } else { "," };
        let status = if at % 10 == 0 { "error" } else { "success" };
        write!(
            messages,
            r#"{comma}{{"id":"m-{at}","timestamp":"2026-02-03T09:00:00.000Z","type":"gemini","content":"{}","tokens":{{"input":2,"output":1,"cached":0,"thoughts":0,"tool":0,"total":3}},"toolCalls":[{{"id":"c-{at}","name":"dig","args":{{"n":{at}}},"status":"{status}","timestamp":"2026-02-03T09:00:01.000Z"}}]}}"#,
            "x".repeat(400)
        )
        .unwrap();
    }
    let session = format!(
        r#"{{"sessionId":"big","projectHash":"p","lastUpdated":"2026-02-03T09:00:01.000Z","messages":[{messages}]}}"#
    );
    let value: Value = serde_json::from_str(&session).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    assert!(pretty.len() > 10 << 20, "{} bytes", pretty.len());
    let folder = Folder::new();
    let path = folder.file("big.json", &pretty);
    let report = report(&[&path]);
    assert_eq!(
        figure(&report, "step_error_rate").1,
        Some(1200.0),
        "{:#}",
        report["metrics"]["step_error_rate"]
    );
    assert_eq!(figure(&report, "total_tokens").1, Some(36_000.0));
}

#[test]
fn lines_longer_than_16_kb_and_than_a_block_are_whole() {
    let long = "x".repeat(5 << 20);
    let text = fixture_text("codex-exec/kettle.jsonl").replace("no water\\n", &long);
    let folder = Folder::new();
    let report = report(&[&folder.file("long.jsonl", text)]);
    assert_eq!(figure(&report, "step_error_rate").1, Some(2.0));
}

// Row 25.

#[test]
fn null_nan_infinity_unknown_fields_and_missing_sections_refuse_no_line() {
    let folder = Folder::new();
    let stream = fixture_text("claude-stream/harbour_lights.jsonl")
        .replace("\"total_cost_usd\":0.02", "\"total_cost_usd\":NaN,\"new_section\":{\"a\":[1]}")
        .replace("\"duration_ms\":15000", "\"duration_ms\":Infinity")
        .replace("\"cache_creation_input_tokens\":10", "\"cache_creation_input_tokens\":null");
    let inspected = json(&["inspect", &folder.file("s.jsonl", stream)]);
    let file = &inspected["inputs"][0];
    assert_eq!(
        (file["rejected"].as_u64(), file["runs"].as_u64()),
        (Some(1), Some(2)),
        "the chatter alone"
    );
    let rollout = fixture_text("codex/rollout-parent.jsonl")
        .replace("\"input_tokens\":2500", "\"input_tokens\":NaN")
        .replace("\"info\":{", "\"later\":-Infinity,\"info\":{");
    let inspected = json(&["inspect", &folder.file("r.jsonl", rollout)]);
    let file = &inspected["inputs"][0];
    assert_eq!((file["rejected"].as_u64(), file["attempts"].as_u64()), (Some(0), Some(7)));
    for section in ["\"metrics\":null", "\"x\":1"] {
        let session = format!(r#"{{"sessionId":"s","projectHash":"p",{section}}}"#);
        let (parsed, fates) = read(&GEMINI_CLI, &one(&session));
        assert_eq!((fates, parsed.runs.len()), (vec![Fate::Used], 1));
    }
}

#[test]
fn a_faulty_line_is_named_by_file_line_and_reason() {
    let folder = Folder::new();
    let mut all = lines(&fixture_text("codex/rollout-parent.jsonl"));
    all[4] = r#"{"timestamp":"x","type":"event_msg","payload":[1]}"#.to_owned();
    let path = folder.file("r.jsonl", all.join("\n"));
    let ran = run(&["inspect", &path]);
    assert!(ran.out.contains(&format!("{path}:5: line_without_payload")), "{ran:?}");
}

// Any order of the records, for every real file of these formats.

#[test]
fn every_real_session_of_claude_code_gives_the_same_figures_in_any_order() {
    let names = [
        "agentcmd_full-session-askuserquestion.jsonl",
        "agentcmd_full-session-four.jsonl",
        "daaain_representative_messages.jsonl",
        "scout_agent-atest01.jsonl",
        "scout_agent_session.jsonl",
        "simonw_sample_session.jsonl",
    ];
    for name in names {
        let Some(text) = shared_text(&format!("claude_code/{name}")) else { return };
        same_in_any_order(&CLAUDE_CODE, &text, true);
    }
    let Some(text) = shared_text("claude_code/simonw_sample_session_loglines.json") else { return };
    let export: Value = serde_json::from_str(&text).unwrap();
    let all: Vec<String> =
        export["loglines"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let of = |lines: &[String]| format!("{{\"loglines\":[{}]}}", lines.join(","));
    let folder = Folder::new();
    let wanted = report(&[&folder.file("sample.json", of(&all))]);
    for (at, seed) in [3, 5, 8].into_iter().enumerate() {
        let other =
            report(&[&folder.file(&format!("{at}/sample.json"), of(&shuffled(&all, seed)))]);
        assert_eq!(other["metrics"], wanted["metrics"]);
    }
}

#[test]
fn a_shuffled_file_gives_the_same_report() {
    let folder = Folder::new();
    let names = [
        "claude_code/agentcmd_full-session-four.jsonl",
        "claude_code/agentcmd_full-session-askuserquestion.jsonl",
        "codex/openagents_rollout.sample.jsonl",
        "codex/agentsview_function_calls.jsonl",
    ];
    for (at, name) in names.into_iter().enumerate() {
        let Some(text) = shared_text(name) else { return };
        let wanted = report(&[&folder.file(&format!("{at}/plain.jsonl"), &text)]);
        for (order, files) in events::other_orders(&lines(&text)) {
            let within = format!("{at}/{}", order.replace(' ', "_"));
            for (file, lines) in files {
                folder.file(&format!("{within}/{file}"), lines.join("\n"));
            }
            let other = report(&[&folder.at(&within)]);
            assert_eq!(other["metrics"], wanted["metrics"], "{name} {order}");
        }
    }
}

#[test]
fn every_real_file_is_of_its_format_and_every_record_ends_in_one_place() {
    let Some(list) = shared_text("expected.json") else { return };
    let expected: Value = serde_json::from_str(&list).unwrap();
    let ours = ["claude-code", "claude-stream", "codex", "codex-exec", "gemini-cli"];
    let mut seen = 0;
    for (name, format) in expected.as_object().expect("files and formats") {
        if !format.as_str().is_some_and(|format| ours.contains(&format)) {
            continue;
        }
        seen += 1;
        let path = support::shared(&format!("data/{name}")).unwrap();
        let inspected = json(&["inspect", path.to_str().unwrap()]);
        let file = &inspected["inputs"][0];
        assert_eq!(&file["format"], format, "{name}");
        let sum = |key: &str| -> u64 {
            file[key].as_object().unwrap().values().filter_map(Value::as_u64).sum()
        };
        let number = |key: &str| file[key].as_u64().unwrap();
        let ended = number("used") + sum("merged") + sum("ignored") + number("rejected");
        assert_eq!(ended, number("records"), "{name}: {file:#}");
    }
    assert_eq!(seen, 20, "all of them");
}

#[test]
fn a_resumed_session_costs_what_both_of_its_processes_did() {
    let process = |nth: u32, cost: &str| {
        format!(
            r#"{{"type":"assistant","session_id":"s","parent_tool_use_id":null,"uuid":"a{nth}","message":{{"id":"m{nth}","role":"assistant","content":[{{"type":"tool_use","id":"t{nth}","name":"Bash","input":{{}}}}]}}}}
{{"type":"result","subtype":"success","session_id":"s","is_error":false,"num_turns":1,"total_cost_usd":{cost},"duration_ms":1000,"usage":{{"input_tokens":10,"output_tokens":5}}}}"#
        )
    };
    let (first, second) = (lines(&process(1, "0.5")), lines(&process(2, "0.25")));
    let files = vec![
        ("a.jsonl", first.clone()),
        ("b.jsonl", second.clone()),
        ("copy.jsonl", first.clone()),
    ];
    let (parsed, fates) = read(&CLAUDE_STREAM, &files);
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!((run.cost_usd, run.duration_ms), (Some(0.75), Some(2000.0)));
    assert_eq!(tokens(run).map(|tokens| tokens.total()), Some(30.0));
    assert_eq!(steps(run).len(), 2);
    assert_eq!(fates.last(), Some(&Fate::Merged("same_result")));
    // Within one process the last result holds the earlier ones.
    let (parsed, _) = read(&CLAUDE_STREAM, &vec![("a.jsonl", [first, second].concat())]);
    assert_eq!(parsed.runs[0].cost_usd, Some(0.25));
    assert_eq!(count(&parsed, "earlier_results"), 1);
}

#[test]
fn a_session_saved_as_a_document_and_as_a_stream_has_its_calls_once() {
    let document = r#"{"sessionId":"garden-3","projectHash":"a","startTime":"2026-02-03T11:00:00.000Z","lastUpdated":"2026-02-03T11:00:09.000Z","messages":[{"id":"g-1","timestamp":"2026-02-03T11:00:01.000Z","type":"gemini","content":"I pick apples.","model":"gemini-test","toolCalls":[{"id":"s-1","name":"pick","args":{"tree":1},"status":"error","timestamp":"2026-02-03T11:00:03.000Z","result":[{"functionResponse":{"id":"s-1","name":"pick","response":{"error":"no ladder"}}}]}]}]}"#;
    let stream = lines(&fixture_text("gemini-cli/stream.jsonl"));
    let files = vec![("a.json", vec![document.to_owned()]), ("b.jsonl", stream)];
    let (parsed, _) = read(&GEMINI_CLI, &files);
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(steps(run).len(), 2, "of the stream only the call that no message holds");
    assert_eq!(run.attempts.iter().filter(|attempt| attempt.turn).count(), 1);
    assert_eq!(failed(run), 1);
    assert!(count(&parsed, "events_told_by_messages") > 0);
}
