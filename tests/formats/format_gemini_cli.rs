//! Sessions of Gemini CLI: the real files' figures, and the three forms that they are written in.

use crate::events::{
    Files, count, detected, failed, figures, lines, one, read, same_in_any_order, shuffled, steps,
    tag, tokens, told, turns,
};
use crate::support::{fixture_text, shared_text};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::gemini_cli::GEMINI_CLI;
use agenteval::model::{EndRule, Final, Tokens};
use serde_json::Value;

fn fixture(name: &str) -> String {
    fixture_text(&format!("gemini-cli/{name}"))
}

/// A whole document as one record.
fn document(text: &str) -> Files {
    vec![("session.json", vec![text.to_owned()])]
}

const REAL: [&str; 4] = [
    "gemini_cli/agentsview_tool_calls.json",
    "gemini_cli/session-981c87cb_errors_cancelled.json",
    "gemini_cli/session-a63242d9_tool_error.json",
    "harbor_atif/rfc_native_gemini-cli-trajectory.json",
];

#[test]
fn the_long_session_has_11_sound_calls_one_error_one_cancelled_and_its_tokens() {
    let Some(text) = shared_text(REAL[1]) else { return };
    let (parsed, _) = read(&GEMINI_CLI, &document(&text));
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!((steps(run).len(), failed(run)), (13, 1));
    let with =
        |status: &str| steps(run).iter().filter(|s| s.status.as_deref() == Some(status)).count();
    assert_eq!((with("cancelled"), with("pending")), (1, 0));
    assert_eq!(tokens(run).map(|tokens| tokens.total()), Some(109_261.0));
    let error = steps(run).into_iter().find_map(|step| step.error.clone()).unwrap();
    assert_eq!((error.kind, error.message.as_deref()), (None, Some("Path must be absolute: .")));
    assert_eq!((run.format_outcome, run.end_rule), (None, None));
    assert_eq!(run.agent.as_deref(), Some("gemini-cli"));
    assert_eq!(turns(run), 15);
}

#[test]
fn the_session_that_ends_in_an_error_has_one_failed_call_and_no_answer() {
    let Some(text) = shared_text(REAL[2]) else { return };
    let (parsed, _) = read(&GEMINI_CLI, &document(&text));
    let run = &parsed.runs[0];
    assert_eq!(told(run), [("write_file".into(), "-".into(), "error".into())]);
    assert_eq!(run.final_output, Final::Missing);
    assert_eq!(run.model.as_deref(), Some("gemini-2.5-pro"));
}

#[test]
fn the_small_sessions_have_a_call_without_id_and_none_at_all() {
    let Some(text) = shared_text(REAL[0]) else { return };
    let (parsed, _) = read(&GEMINI_CLI, &document(&text));
    assert_eq!(told(&parsed.runs[0]), [("read_file".into(), "-".into(), "-".into())]);
    let (parsed, _) = read(&GEMINI_CLI, &document(&shared_text(REAL[3]).unwrap()));
    let run = &parsed.runs[0];
    assert_eq!((steps(run).len(), turns(run)), (0, 1));
    assert_eq!(run.run_id.as_deref(), Some("cdd63974-c2a3-4f1c-931d-cce1db22ec03"));
    let wanted = Tokens { input: 5915.0, output: 24.0, ..Tokens::default() };
    assert_eq!(tokens(run), Some(wanted));
}

#[test]
fn every_real_session_is_detected_and_its_messages_may_stand_in_any_order() {
    for name in REAL {
        let Some(text) = shared_text(name) else { return };
        assert_eq!(detected(&text), Some("gemini-cli"), "{name}");
        let session: Value = serde_json::from_str(&text).unwrap();
        let messages = session["messages"].as_array().unwrap().clone();
        let of = |messages: &[Value]| {
            let mut copy = session.clone();
            copy["messages"] = Value::Array(messages.to_vec());
            copy.to_string()
        };
        // Written anew, so that escapes are the same in all copies.
        let whole = of(&messages);
        let wanted = figures(&read(&GEMINI_CLI, &document(&whole)).0, true);
        let mut reversed = messages.clone();
        reversed.reverse();
        let (first, second) = messages.split_at(messages.len() / 2);
        for files in [
            document(&of(&reversed)),
            document(&of(&shuffled(&messages, 3))),
            vec![("a.json", vec![of(first)]), ("b.json", vec![of(second)])],
            vec![("b.json", vec![of(second)]), ("a.json", vec![of(first)])],
            vec![("a.json", vec![whole.clone()]), ("copy.json", vec![whole.clone()])],
        ] {
            assert_eq!(figures(&read(&GEMINI_CLI, &files).0, true), wanted, "{name}");
        }
    }
}

#[test]
fn the_garden_counts_input_without_cache_and_no_exit_code_in_an_output() {
    let (parsed, _) = read(&GEMINI_CLI, &document(&fixture("session-garden.json")));
    let run = &parsed.runs[0];
    assert_eq!(
        told(run),
        [
            ("water".into(), "-".into(), "error".into()),
            ("water".into(), "-".into(), "-".into()),
            ("dig".into(), "cancelled".into(), "-".into()),
        ]
    );
    let wanted = Tokens { input: 700.0, cache_read: 1400.0, output: 60.0, ..Tokens::default() };
    assert_eq!(tokens(run), Some(wanted));
    assert_eq!(run.final_output, Final::Json(r#"{"output":"Bed 2 is wet."}"#.into()));
}

#[test]
fn a_patched_session_keeps_the_last_form_of_a_message_and_nothing_behind_a_rewind() {
    let text = fixture("session-patched.jsonl");
    let (parsed, fates) = read(&GEMINI_CLI, &one(&text));
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(
        told(run),
        [("prune".into(), "-".into(), "-".into()), ("rake".into(), "pending".into(), "-".into())]
    );
    assert_eq!((turns(run), tag(run, "kind")), (2, Some("subagent")));
    assert_eq!(tokens(run).map(|tokens| tokens.total()), Some(105.0));
    assert_eq!((count(&parsed, "replaced_messages"), count(&parsed, "rewound_messages")), (1, 1));
    assert!(fates.iter().all(|fate| *fate == Fate::Used));
    assert_eq!(detected(&text), Some("gemini-cli"));
    let all = lines(&text);
    let (wanted, (a, b)) = (figures(&parsed, true), all.split_at(4));
    let split = vec![("a", a.to_vec()), ("b", b.to_vec())];
    assert_eq!(figures(&read(&GEMINI_CLI, &split).0, true), wanted);
    let twice = vec![("a", all.clone()), ("b", all)];
    assert_eq!(figures(&read(&GEMINI_CLI, &twice).0, true), wanted);
}

#[test]
fn a_set_replaces_all_messages_and_a_rewind_to_nowhere_clears_them() {
    let head = r#"{"sessionId":"s","projectHash":"p"}"#;
    let message = |id: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-02-03T10:00:01Z","type":"gemini","content":"x","toolCalls":[{{"id":"c-{id}","name":"t","status":"success"}}]}}"#
        )
    };
    let set = format!(r#"{{"$set":{{"messages":[{},{}]}}}}"#, message("b"), message("c"));
    let all = vec![head.to_owned(), message("a"), set.clone()];
    assert_eq!(steps(&read(&GEMINI_CLI, &vec![("x", all)]).0.runs[0]).len(), 2);
    let all =
        vec![head.to_owned(), message("a"), set, r#"{"$rewindTo":"zz"}"#.to_owned(), message("d")];
    assert_eq!(steps(&read(&GEMINI_CLI, &vec![("x", all)]).0.runs[0]).len(), 1);
}

#[test]
fn the_stream_has_errors_with_types_pieces_as_one_turn_and_its_sums() {
    let text = fixture("stream.jsonl");
    assert_eq!(detected(&text), Some("gemini-cli"));
    let (parsed, _) = read(&GEMINI_CLI, &one(&text));
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(
        told(run),
        [
            ("pick".into(), "-".into(), "LADDER_MISSING".into()),
            ("pick".into(), "-".into(), "-".into())
        ]
    );
    assert_eq!(turns(run), 2);
    let wanted = Tokens {
        input: 700.0,
        cache_read: 300.0,
        output: 200.0,
        unsplit: 100.0,
        ..Tokens::default()
    };
    assert_eq!((run.tokens, run.duration_ms), (Some(wanted), Some(6500.0)));
    assert_eq!((run.format_outcome, run.end_rule, &run.status), (None, None, &None));
    let output = Final::Json(r#"{"end_reason":"success","output":"Three apples."}"#.into());
    assert_eq!(run.final_output, output);
    same_in_any_order(&GEMINI_CLI, &text, true);
    let all = lines(&text);
    let (open, _) = read(&GEMINI_CLI, &vec![("x", all[..all.len() - 1].to_vec())]);
    assert_eq!(open.runs[0].end_rule, Some(EndRule::Unfinished));
    let twice = vec![("a", all.clone()), ("b", all)];
    assert_eq!(figures(&read(&GEMINI_CLI, &twice).0, true), figures(&parsed, true));
}

#[test]
fn what_is_no_record_is_refused_and_other_formats_are_not_claimed() {
    let (_, fates) = read(&GEMINI_CLI, &one("noise\n{\"x\":1}\n{\"type\":\"new\"}"));
    let codes: Vec<_> = fates
        .iter()
        .map(|fate| match fate {
            Fate::Refused(refusal) => refusal.code,
            Fate::Ignored(rule) => rule,
            _ => "used",
        })
        .collect();
    assert_eq!(codes, ["not_an_object", "line_without_type", "other_line_type"]);
    let sorted = r#"{"lastUpdated":"2026-02-03T09:00:01Z","messages":[{"id":"m","timestamp":"2026-02-03T09:00:01Z","type":"gemini","content":"cut off he"#;
    assert_eq!(detected(sorted), Some("gemini-cli"), "keys in order of the alphabet, cut off");
    for other in [
        r#"{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/"}"#,
        r#"{"type":"user","sessionId":"s","uuid":"u","message":{}}"#,
        r#"{"type":"tool_use","id":"x","name":"n","input":{}}"#,
    ] {
        assert_ne!(detected(other), Some("gemini-cli"), "{other}");
    }
}

#[test]
fn odd_types_in_any_field_cost_no_panic() {
    for odd in ["null", "7", "true", "[]", "{}", "\"x\"", "[[1]]", "[{}]", "-1e999"] {
        for key in [
            "sessionId",
            "messages",
            "$set",
            "$rewindTo",
            "id",
            "timestamp",
            "content",
            "toolCalls",
            "tokens",
            "status",
            "stats",
            "error",
            "tool_id",
            "parameters",
            "role",
        ] {
            for kind in
                ["gemini", "user", "init", "message", "tool_use", "tool_result", "result", "error"]
            {
                read(&GEMINI_CLI, &one(&format!(r#"{{"type":"{kind}","id":"i","{key}":{odd}}}"#)));
            }
            read(&GEMINI_CLI, &one(&format!(r#"{{"{key}":{odd}}}"#)));
            read(
                &GEMINI_CLI,
                &one(&format!(
                    r#"{{"sessionId":"s","messages":[{{"type":"gemini","toolCalls":[{{"{key}":{odd}}}]}}]}}"#
                )),
            );
        }
    }
}
