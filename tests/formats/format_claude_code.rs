//! Claude Code sessions: the real files' figures, and the faults that other readers had.

use crate::events;
use crate::events::{failed, steps, tag};
use crate::spans::{issue, tokens};
use crate::support::{fixture_text, shared_text};
use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::formats::claude_code::CLAUDE_CODE;
use agenteval::ingest::formats::{Fate, Parsed, Probe};
use agenteval::model::{Attempt, EndRule, ErrorOrigin, Final, Place, Stamp, Tokens, Trajectory};

/// Reads files given as names and lines.
fn read<L: AsRef<str>>(files: &[(&'static str, Vec<L>)]) -> (Parsed<'static>, Vec<Fate>) {
    let lines = |lines: &[L]| lines.iter().map(|line| line.as_ref().to_owned()).collect();
    events::read(&CLAUDE_CODE, &files.iter().map(|(name, of)| (*name, lines(of))).collect())
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim().is_empty()).collect()
}

fn one_file(text: &str) -> (Parsed<'static>, Vec<Fate>) {
    read(&[("session.jsonl", lines(text))])
}

fn fixture(name: &str) -> String {
    fixture_text(&format!("claude_code/{name}"))
}

fn real(name: &str) -> Option<String> {
    shared_text(&format!("claude_code/{name}"))
}

fn turns<'r>(run: &'r Trajectory<'static>) -> Vec<&'r Attempt<'static>> {
    run.attempts.iter().filter(|attempt| attempt.turn).collect()
}

/// A line with the fields that every line has; `extra` starts with a comma or is empty.
fn line(kind: &str, uuid: &str, second: u8, message: &str, extra: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","sessionId":"s-1","timestamp":"2026-02-03T09:00:{second:02}Z","message":{message}{extra}}}"#
    )
}

fn call(id: &str) -> String {
    format!(
        r#"{{"id":"m-{id}","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"n":1}}}}]}}"#
    )
}

fn result(id: &str, text: &str, is_error: bool) -> String {
    let text = serde_json::to_string(text).expect("text");
    format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":{text},"is_error":{is_error}}}]}}"#
    )
}

// Real files.

#[test]
fn session_four_gives_27_calls_30_messages_and_its_tokens_once() {
    let Some(text) = real("agentcmd_full-session-four.jsonl") else { return };
    let (parsed, fates) = one_file(&text);
    let [run] = &parsed.runs[..] else { panic!("one run, not {}", parsed.runs.len()) };
    assert_eq!(steps(run).len(), 27);
    assert_eq!(failed(run), 1);
    assert_eq!(turns(run).len(), 30);
    assert_eq!(
        tokens(run),
        Tokens {
            input: 48.0,
            cache_read: 1_178_761.0,
            cache_write: 64_499.0,
            output: 228.0,
            unsplit: 0.0
        }
    );
    assert_eq!(run.run_id.as_deref(), Some("2d984148-cddb-4605-aac1-13e720fe613c"));
    assert_eq!(run.format_outcome, None);
    assert_eq!(run.end_rule, None);
    let error = steps(run).into_iter().find_map(|step| step.error.clone()).expect("one error");
    assert_eq!((error.kind, error.origin), (None, ErrorOrigin::Flag));
    assert_eq!(fates.len(), 89);
    let ignored = |rule| fates.iter().filter(|fate| **fate == Fate::Ignored(rule)).count();
    assert_eq!(ignored("file_history_snapshot"), 7);
    assert_eq!(issue(&parsed, "dangling_calls"), None);
    assert!(steps(run).iter().all(|step| step.started_at.is_some() && step.ended_at.is_some()));
}

#[test]
fn a_question_without_an_answer_dangles_and_is_neither_passed_nor_failed() {
    let Some(text) = real("agentcmd_full-session-askuserquestion.jsonl") else { return };
    let (parsed, _) = one_file(&text);
    let steps = steps(&parsed.runs[0]);
    assert_eq!(steps.len(), 3);
    let open: Vec<_> = steps.iter().filter(|s| s.status.as_deref() == Some("pending")).collect();
    assert_eq!(open.len(), 1);
    assert!(open[0].error.is_none() && open[0].ended_at.is_none());
    assert_eq!(issue(&parsed, "dangling_calls").map(|issue| issue.count), Some(1));
}

#[test]
fn broken_lines_are_refused_one_by_one_and_the_rest_is_read() {
    let Some(text) = real("daaain_edge_cases.jsonl") else { return };
    let (parsed, fates) = one_file(&text);
    assert_eq!(parsed.runs.iter().map(failed).sum::<usize>(), 1);
    let refused: Vec<&str> = fates
        .iter()
        .filter_map(|fate| match fate {
            Fate::Refused(refusal) => Some(refusal.code),
            _ => None,
        })
        .collect();
    assert_eq!(
        refused,
        [
            "message_not_an_object",
            "not_an_object",
            "line_without_type",
            "not_an_object",
            "not_an_object"
        ]
    );
    assert!(fates.contains(&Fate::Ignored("no_content")), "`contenst` is no content");
    assert_eq!(issue(&parsed, "unreadable_blocks").map(|issue| issue.count), Some(1));
    let message = steps(&parsed.runs[0])[0].error.as_ref().and_then(|e| e.message.as_deref());
    assert_eq!(message, Some("Error: Tool execution failed with error: Command not found"));
}

#[test]
fn a_sub_agents_file_is_a_run_of_its_own_linked_to_the_call_that_started_it() {
    let main = real("scout_agent_session.jsonl");
    let sub = real("scout_agent-atest01.jsonl");
    let (Some(main), Some(sub)) = (main, sub) else { return };
    let (parsed, _) =
        read(&[("agent-atest01.jsonl", lines(&sub)), ("test-session-004.jsonl", lines(&main))]);
    let [sub, main] = &parsed.runs[..] else { panic!("two runs, not {}", parsed.runs.len()) };
    assert_eq!(main.run_id.as_deref(), Some("test-session-004"));
    assert_eq!(steps(main).len(), 1);
    assert_eq!(sub.run_id.as_deref(), Some("test-session-004/atest01"));
    assert_eq!(steps(sub).len(), 1);
    assert_eq!(tag(sub, "parent"), Some("test-session-004"));
    assert_eq!(tag(sub, "parent_call"), Some("toolu_task_001"));
    assert_eq!(tag(main, "parent"), None);
}

#[test]
fn the_web_exports_lines_without_session_make_one_run_named_after_the_file() {
    let Some(text) = real("simonw_sample_session_loglines.json") else { return };
    assert_eq!(CLAUDE_CODE.wrappers, ["loglines"]);
    let export: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let lines: Vec<String> =
        export["loglines"].as_array().expect("list").iter().map(ToString::to_string).collect();
    let (parsed, _) = read(&[("sample.json", lines)]);
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(run.run_id.as_deref(), Some("sample"));
    assert!(steps(run).len() > 1);
    assert_eq!(issue(&parsed, "result_without_call"), None);
}

// Fixtures.

#[test]
fn interrupted_clock_gives_every_kind_of_failure_and_a_cancelled_end() {
    let (parsed, fates) = one_file(&fixture("interrupted_clock.jsonl"));
    assert_eq!(fates[0], Fate::Ignored("summary"));
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(run.end_rule, Some(EndRule::Cancelled));
    assert_eq!(run.format_outcome, None);
    assert_eq!(run.model.as_deref(), Some("claude-test-1"));
    let told: Vec<_> = steps(run)
        .iter()
        .map(|step| {
            let error = step.error.as_ref();
            let kind = error.and_then(|error| error.kind.as_deref());
            (step.name.as_deref(), step.status.as_deref(), kind, error.map(|error| error.origin))
        })
        .collect();
    assert_eq!(
        told,
        [
            (Some("Bash"), None, Some("exit_code"), Some(ErrorOrigin::ExitCode)),
            (Some("Read"), None, None, None),
            (Some("Edit"), None, Some("InputValidationError"), Some(ErrorOrigin::Recorded)),
            (Some("Write"), Some("denied"), None, None),
        ]
    );
    let seconds = |step: &Attempt<'_>| {
        let time = |stamp: &Option<Stamp<'_>>| stamp.as_ref().and_then(Stamp::time);
        time(&step.ended_at)?.seconds_since(time(&step.started_at)?)
    };
    assert_eq!(seconds(steps(run)[0]), Some(4.0));
    assert_eq!(tag(run, "git_branch"), Some("main"));
}

#[test]
fn sidechain_lines_without_an_agent_id_make_a_run_apart_in_any_order() {
    let text = fixture("sidechain_bell.jsonl");
    let mut reversed = lines(&text);
    reversed.reverse();
    for lines in [lines(&text), reversed] {
        let (parsed, _) = read(&[("s.jsonl", lines)]);
        let mut runs = parsed.runs;
        runs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
        let [main, sub] = &runs[..] else { panic!("two runs, not {}", runs.len()) };
        assert_eq!(steps(main).len(), 1);
        assert_eq!(main.format_outcome, Some(false), "it ends in an API error");
        assert_eq!(tokens(main).input, 10.0);
        assert_eq!(steps(sub)[0].name.as_deref(), Some("Grep"));
        assert_eq!(sub.format_outcome, None);
        assert!(sub.run_id.as_deref().is_some_and(|id| id.ends_with("/sidechain-v-3")));
        assert_eq!(tag(sub, "parent"), main.run_id.as_deref());
    }
}

// Faults that other readers had (formats/bugs.md, by row).

#[test]
fn bug_13_usage_repeated_on_each_block_counts_once_with_its_largest_output() {
    let (parsed, _) = one_file(&fixture("interrupted_clock.jsonl"));
    let run = &parsed.runs[0];
    assert_eq!(turns(run).len(), 3);
    let first = turns(run)[0].tokens.expect("tokens");
    assert_eq!((first.input, first.cache_read, first.output), (4.0, 900.0, 25.0));
    assert_eq!(tokens(run).output, 43.0);
    assert_eq!(steps(run).len(), 4, "no block of the message is dropped");
}

#[test]
fn bug_15_a_session_copied_into_another_file_counts_once() {
    let text = fixture("interrupted_clock.jsonl");
    let copy = text.replace("5c1f0000-0000-4000-8000-000000000001", "copy");
    let more = line("assistant", "new-1", 50, &call("t-50"), "").replace("s-1", "copy");
    let mut copied = lines(&copy);
    copied.push(&more);
    let (parsed, fates) = read(&[("a.jsonl", lines(&text)), ("b.jsonl", copied)]);
    let merged = fates.iter().filter(|fate| **fate == Fate::Merged("duplicate_uuid")).count();
    assert_eq!(merged, 11);
    let [first, fork] = &parsed.runs[..] else { panic!("two runs") };
    assert_eq!((steps(first).len(), steps(fork).len()), (4, 1));
    let (parsed, _) = read(&[("a.jsonl", lines(&text)), ("b.jsonl", lines(&copy))]);
    assert_eq!(parsed.runs.len(), 1, "a mere copy is no run");
}

#[test]
fn bug_15_a_result_that_only_the_copy_holds_reaches_its_call() {
    let asked = line("assistant", "u-1", 1, &call("t-1"), "");
    let answered = line("user", "u-2", 2, &result("t-1", "fine", false), "").replace("s-1", "copy");
    let copy = asked.replace("s-1", "copy");
    let (parsed, _) = read(&[("a.jsonl", vec![asked]), ("b.jsonl", vec![copy, answered])]);
    let all: Vec<_> = parsed.runs.iter().flat_map(steps).collect();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].status, None, "it has its result");
    assert_eq!(issue(&parsed, "result_without_call"), None);
}

#[test]
fn bug_16_calls_on_an_abandoned_branch_and_below_a_lost_parent_count() {
    let branch = |uuid: &str, parent: &str, second| {
        line("assistant", uuid, second, &call(uuid), &format!(r#","parentUuid":"{parent}""#))
    };
    let text = [branch("a", "gone", 1), branch("b", "a", 2), branch("c", "a", 3)].join("\n");
    let (parsed, _) = one_file(&text);
    assert_eq!(steps(&parsed.runs[0]).len(), 3);
}

#[test]
fn bug_16_a_snapshot_with_the_id_of_a_message_hides_no_message() {
    let snapshot = r#"{"type":"file-history-snapshot","messageId":"u-1","uuid":"u-1"}"#;
    let text = [snapshot.to_owned(), line("assistant", "u-1", 1, &call("t-1"), "")].join("\n");
    let (parsed, fates) = one_file(&text);
    assert_eq!(fates, [Fate::Ignored("file_history_snapshot"), Fate::Used]);
    assert_eq!(steps(&parsed.runs[0]).len(), 1);
}

#[test]
fn bug_17_a_result_before_its_call_joins_and_one_without_a_call_is_told() {
    let text = [
        line("user", "u-1", 2, &result("t-1", "Exit code 1\nno", true), ""),
        line("assistant", "u-2", 1, &call("t-1"), ""),
        line("user", "u-3", 3, &result("t-7", "lost", true), ""),
    ]
    .join("\n");
    let (parsed, _) = one_file(&text);
    // What was lost is the call alone: that something ran and failed is recorded.
    assert_eq!(steps(&parsed.runs[0]).len(), 2);
    assert_eq!(failed(&parsed.runs[0]), 2);
    assert_eq!(issue(&parsed, "result_without_call").map(|issue| issue.count), Some(1));
    assert_eq!(issue(&parsed, "dangling_calls"), None);
}

#[test]
fn reversed_lines_give_the_same_run() {
    let text = fixture("interrupted_clock.jsonl");
    let plain = |lines: Vec<&str>| {
        let (mut parsed, _) = read(&[("s.jsonl", lines)]);
        parsed.runs[0].place = Place::default();
        format!("{:#?}", parsed.runs)
    };
    let mut reversed = lines(&text);
    reversed.reverse();
    assert_eq!(plain(lines(&text)), plain(reversed));
}

#[test]
fn a_session_that_just_stops_is_unknown_and_a_plain_one_keeps_its_last_words() {
    let said = r#"{"id":"m-1","content":[{"type":"text","text":"Done \"well\"."}]}"#;
    let (parsed, _) = one_file(&line("assistant", "u-1", 1, said, ""));
    let run = &parsed.runs[0];
    assert_eq!((run.format_outcome, run.end_rule, &run.status), (None, None, &None));
    assert_eq!(run.final_output, Final::Json(r#"{"output":"Done \"well\"."}"#.into()));
}

#[test]
fn an_api_error_that_was_got_over_does_not_fail_the_run() {
    let said = r#"{"id":"m-1","model":"<synthetic>","content":"API Error"}"#;
    let error = line("assistant", "u-1", 1, said, r#","isApiErrorMessage":true"#);
    let text = [error, line("assistant", "u-2", 2, &call("t-1"), "")].join("\n");
    let (parsed, _) = one_file(&text);
    assert_eq!(parsed.runs[0].format_outcome, None);
    assert!(turns(&parsed.runs[0])[0].error.is_some());
    assert_eq!(parsed.runs[0].model, None, "<synthetic> is no model");
}

#[test]
fn calls_that_were_not_permitted_are_denied_and_not_errors() {
    for said in [
        "The user doesn't want to proceed with this tool use.",
        "Claude requested permissions to write to /etc/x, but you haven't granted it yet.",
        "Permission to use Bash with command ls has been denied.",
    ] {
        let text = [
            line("assistant", "u-1", 1, &call("t-1"), ""),
            line("user", "u-2", 2, &result("t-1", said, true), ""),
        ]
        .join("\n");
        let (parsed, _) = one_file(&text);
        let step = steps(&parsed.runs[0])[0];
        assert_eq!((step.status.as_deref(), step.error.is_none()), (Some("denied"), true));
    }
}

#[test]
fn input_and_result_are_kept_where_they_are_asked_for() {
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    let lines = vec![
        line("assistant", "u-1", 1, &call("t-1"), ""),
        line("user", "u-2", 2, &result("t-1", "fine", false), ""),
    ];
    let (parsed, _) = events::read_with(&CLAUDE_CODE, &vec![("x", lines)], &options);
    let raw = steps(&parsed.runs[0])[0].raw.clone();
    assert_eq!(raw.as_deref(), Some(r#"{"input":{"n":1},"result":"fine"}"#));
}

#[test]
fn odd_types_in_any_field_cost_no_panic() {
    for odd in ["null", "7", "true", "[]", "{}", "\"x\"", "[[1]]", "-1e999"] {
        for key in ["uuid", "sessionId", "timestamp", "isSidechain", "agentId", "toolUseResult"] {
            let text = format!(r#"{{"type":"assistant","message":{},"{key}":{odd}}}"#, call("t-1"));
            let (parsed, _) = one_file(&text);
            assert!(parsed.runs.iter().map(|run| steps(run).len()).sum::<usize>() <= 1, "{text}");
        }
        for key in ["id", "model", "content", "usage", "role"] {
            one_file(&format!(r#"{{"type":"assistant","message":{{"{key}":{odd}}}}}"#));
            one_file(&format!(r#"{{"type":"user","message":{{"content":[{{"{key}":{odd}}}]}}}}"#));
        }
        let usage = format!(r#"{{"id":"m","content":[],"usage":{{"input_tokens":{odd}}}}}"#);
        one_file(&line("assistant", "u-1", 1, &usage, ""));
        one_file(odd);
    }
}

#[test]
fn a_long_sidechain_and_a_loop_of_parents_end() {
    let count = 20_000;
    let lines: Vec<String> = (0..count)
        .map(|at| {
            let parent = format!(r#","isSidechain":true,"parentUuid":"u{}""#, (at + 1) % count);
            line("assistant", &format!("u{at}"), 1, &call(&format!("t{at}")), &parent)
        })
        .collect();
    let (parsed, _) = read(&[("s.jsonl", lines)]);
    assert_eq!(parsed.runs.len(), 1);
    assert_eq!(steps(&parsed.runs[0]).len(), count);
}

#[test]
fn detection_is_by_the_keys_of_a_line() {
    let is = |record: &str| {
        let probe = Probe::new(Path::new("x"), vec![record.as_bytes()], false);
        (CLAUDE_CODE.detect)(&probe)
    };
    assert!(is(&line("user", "u-1", 1, "{}", "")));
    assert!(is(r#"{"type":"summary","summary":"x","leafUuid":"y"}"#));
    assert!(is(r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#));
    assert!(is(r#"{"loglines":[{"type":"user""#));
    assert!(!is(r#"{"sessionId":"x","projectHash":"y","messages":[]}"#));
    assert!(!is(r#"{"type":"system","subtype":"init","session_id":"x"}"#));
}
