//! Which API a list of messages is of, and that no list of another format is taken for one.

use crate::chat::{codes, detected, read};
use crate::cli;
use crate::support;
use agenteval::ingest::formats::openai_chat::OPENAI_CHAT;
use serde_json::Value;

const OURS: [&str; 5] =
    ["openai-chat", "openai-responses", "anthropic", "vercel-ai", "who-and-when"];

#[test]
fn real_files_are_claimed_by_the_format_that_they_are_of_and_by_no_list_of_messages_else() {
    let Some(list) = support::shared("data/expected.json") else { return };
    let expected: std::collections::BTreeMap<String, String> =
        serde_json::from_slice(&std::fs::read(list).unwrap()).unwrap();
    let mut ours = 0;
    for (name, format) in expected {
        if name.ends_with(".eval") {
            continue;
        }
        let bytes = std::fs::read(support::shared(&format!("data/{name}")).unwrap()).unwrap();
        let found = detected(&bytes).filter(|found| OURS.contains(found));
        if OURS.contains(&format.as_str()) {
            ours += 1;
            assert_eq!(found, Some(format.as_str()), "{name}");
        } else {
            assert_eq!(found, None, "{name} is {format}");
        }
    }
    assert_eq!(ours, 11);
}

#[test]
fn the_first_message_that_only_one_api_writes_tells_which_it_is() {
    let user = r#"{"role":"user","content":"go"}"#;
    for (message, format) in [
        (
            r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}]}"#,
            "openai-chat",
        ),
        (r#"{"role":"assistant","content":"hi"}"#, "openai-chat"),
        (r#"{"role":"assistant","content":[{"type":"text","text":"hi"}]}"#, "openai-chat"),
        (r#"{"role":"tool","tool_call_id":"a","content":"3"}"#, "openai-chat"),
        (
            r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}"#,
            "openai-responses",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"output_text","text":"hi"}]}"#,
            "openai-responses",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a"}]}"#,
            "anthropic",
        ),
        (r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}"#, "anthropic"),
        (r#"{"role":"tool","content":[{"type":"tool-result","toolCallId":"a"}]}"#, "vercel-ai"),
        (r#"{"role":"assistant","parts":[{"type":"step-start"}]}"#, "vercel-ai"),
    ] {
        for list in [
            format!("[{user},{message}]"),
            format!(r#"{{"id":1,"messages":[{user},{message}],"score":1}}"#),
            format!(r#"[{{"messages":[{user},{message}]}},{{"messages":[]}}]"#),
            format!("[[{user},{message}],[{user}]]"),
            format!("[{user},{message}]\n[{user}]\n"),
            format!("{{\"messages\":[{user},{message}]}}\n{{\"messages\":[{user}]}}\n"),
            format!(r#"{{"request":{{"messages":[{user},{message}]}},"response":{{}}}}"#),
        ] {
            assert_eq!(detected(list.as_bytes()), Some(format), "{list}");
        }
    }
}

#[test]
fn lists_of_other_writers_are_left_to_them() {
    for list in [
        r#"[{"type":"human","content":"hi"},{"type":"ai","content":"x","tool_calls":[]}]"#,
        r#"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"x"}]}]"#,
        r#"{"messages":[{"source":"user","type":"TextMessage","content":"x"}]}"#,
        r#"{"messages":[{"content":"x","source":"user","type":"UserMessage"}]}"#,
        r#"{"info":{},"messages":[{"role":"user","content":"x"}],"trajectory_format":"mini-swe-agent-1"}"#,
        r#"[{"role":"user","content":"x"},{"role":"assistant","content":"y","extra":{"actions":[]}}]"#,
        r#"[{"conversations":[{"role":"user","content":"x"}]}]"#,
        r#"{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"f","arguments":{}}]}]}"#,
        r#"[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{}}]}]"#,
        r#"{"role":"user","content":"one message a line"}"#,
        r#"[{"role":"narrator","content":"x"}]"#,
        r#"{"id":"x","object":"chat.completion.chunk","choices":[{"delta":{"content":"x"}}]}"#,
        r#"{"steps":[{"type":"reasoning","content":"x"}],"messages":[{"role":"user","content":"x"}]}"#,
    ] {
        let found = detected(list.as_bytes()).filter(|found| OURS.contains(found));
        assert_eq!(found, None, "{list}");
    }
}

#[test]
fn runs_of_an_array_that_cannot_be_read_are_told_and_the_others_are_read() {
    let list = br#"[{"messages":[{"role":"user","content":"x"}]},{"messages":[]},7,[{"role":"assistant","content":"y"}]]"#;
    let parsed = read(&OPENAI_CHAT, list).unwrap();
    assert_eq!(
        (parsed.runs.len(), codes(&parsed)),
        (2, vec![("no_messages", 1), ("unexpected_value", 1)])
    );
}

#[test]
fn every_record_of_a_file_is_used_or_refused() {
    let report = cli::json(&["inspect", "fixtures/openai-chat/logged.ndjson"]);
    let file = &report["inputs"][0];
    assert_eq!(
        (&file["records"], &file["used"], &file["rejected"]),
        (&Value::from(4), &Value::from(3), &Value::from(1))
    );
    assert_eq!(report["runs"], 3);
}

#[test]
fn a_list_that_is_cut_off_is_refused_and_no_message_of_it_becomes_a_run() {
    let folder = cli::Folder::new();
    let whole = "[\n{\"role\":\"user\",\"content\":\"x\"},\n{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\n{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"3\"}";
    let path = folder.file("cut.json", whole);
    let ran = cli::run(&["inspect", &path, "--output", "json"]);
    let report = ran.json();
    assert_eq!((ran.code, &report["runs"]), (4, &Value::from(0)), "{ran:?}");
    assert!(report["inputs"][0]["rejected"].as_u64().unwrap() > 0, "{report:#}");
}
