//! LangChain messages in their three encodings.

use crate::cli;
use crate::frames;
use crate::support::shared;
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::langchain::LANGCHAIN;
use agenteval::model::ErrorOrigin;
use serde_json::{Value, json};

const FIXTURE: &[u8] = include_bytes!("../../fixtures/langchain/flight_search.json");

/// The fixture's messages in another encoding.
fn encoded(encode: fn(&Value) -> Value) -> Vec<u8> {
    let messages: Vec<Value> = serde_json::from_slice(FIXTURE).unwrap();
    serde_json::to_vec(&messages.iter().map(encode).collect::<Vec<_>>()).unwrap()
}

fn to_dict(message: &Value) -> Value {
    json!({"type": message["type"], "data": message})
}

fn dumpd(message: &Value) -> Value {
    let class = match message["type"].as_str().unwrap() {
        "ai" => "AIMessage",
        "tool" => "ToolMessage",
        "human" => "HumanMessage",
        _ => "SystemMessage",
    };
    let id = json!(["langchain", "schema", "messages", class]);
    json!({"lc": 1, "type": "constructor", "id": id, "kwargs": message})
}

#[test]
fn failed_invalid_unanswered_and_hidden_failures_are_told_apart() {
    let given = frames::read(&LANGCHAIN, FIXTURE);
    let run = &given.runs[0];
    let expected = [
        ("search_flights", "!TimeoutError"),
        ("search_flights", "-"),
        ("weather", "!invalid_arguments"),
        ("execute", "!exit_code"),
        ("notify", "pending"),
    ];
    assert_eq!(frames::fates(run), expected.map(|(name, fate)| (name.into(), fate.into())));
    let calls = frames::calls(run);
    let origins: Vec<_> = calls.iter().filter_map(|c| Some(c.error.as_ref()?.origin)).collect();
    let recorded = ErrorOrigin::Recorded;
    assert_eq!(origins, [recorded, recorded, ErrorOrigin::ExitCode]);
    assert_eq!(calls[0].input, calls[1].input);
    assert_eq!(frames::codes(&given), [("calls_without_result", 1)]);
    // 120 input tokens of the first answer hold 80 read from and 10 written to a cache.
    assert_eq!(frames::tokens(run), [560.0, 80.0, 10.0, 53.0]);
    assert_eq!(run.attempts.iter().filter(|attempt| attempt.turn).count(), 4);
    let (agent, model) = (run.agent.as_deref(), run.model.as_deref());
    assert_eq!((agent, model), (Some("booker"), Some("model-x")));
    assert_eq!(frames::delivered(run), json!({"end_reason": "stop", "output": "SK 4411 is full."}));
    let raw: Value = serde_json::from_str(calls[1].raw.as_deref().unwrap()).unwrap();
    let wanted = json!({"id": "c2", "name": "search_flights", "input": {"to": "Oslo"}, "result": "SK 4411, 08:20"});
    assert_eq!(raw, wanted);
}

#[test]
fn no_outcome_is_read_from_a_list_that_merely_ends() {
    let run = frames::run_of(&LANGCHAIN, FIXTURE);
    let outcome = (run.status, run.format_outcome, run.end_rule, run.success, run.scores.len());
    assert_eq!(outcome, (None, None, None, None, 0));
}

#[test]
fn three_encodings_and_four_wrappings_give_one_and_the_same_run() {
    let plain = frames::run_of(&LANGCHAIN, FIXTURE);
    let messages: Vec<Value> = serde_json::from_slice(FIXTURE).unwrap();
    let object = serde_json::to_vec(&json!({"messages": messages})).unwrap();
    let state = serde_json::to_vec(&json!({"values": {"messages": messages}, "next": []})).unwrap();
    for other in [encoded(to_dict), encoded(dumpd), object, state] {
        let run = frames::run_of(&LANGCHAIN, &other);
        assert_eq!(frames::told(&run), frames::told(&plain));
    }
    let lines: Vec<Vec<u8>> = messages.iter().map(|m| serde_json::to_vec(m).unwrap()).collect();
    let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    let given = frames::read_records(&LANGCHAIN, &lines, false);
    assert!(given.fates.iter().all(|fate| *fate == Fate::Used));
    assert_eq!(frames::all_told(&given.runs), [frames::told(&plain)]);
}

#[test]
fn an_earlier_dump_of_a_thread_and_a_second_copy_count_once() {
    let messages: Vec<Value> = serde_json::from_slice(FIXTURE).unwrap();
    let half = serde_json::to_vec(&messages[..4]).unwrap();
    let given = frames::read_records(&LANGCHAIN, &[&half, FIXTURE, FIXTURE], true);
    let merged = Fate::Merged("copy_of_list");
    assert_eq!(given.fates, [Fate::Used, merged.clone(), merged]);
    assert_eq!((given.runs.len(), frames::calls(&given.runs[0]).len()), (1, 5));
    // A history of states is a list of such dumps, the newest first.
    let states =
        json!([{"values": {"messages": messages}}, {"values": {"messages": messages[..4]}}]);
    let run = frames::run_of(&LANGCHAIN, &serde_json::to_vec(&states).unwrap());
    assert_eq!(frames::calls(&run).len(), 5);
}

#[test]
fn what_is_no_message_is_refused_or_told() {
    let code = |bytes: &[u8]| match &frames::read(&LANGCHAIN, bytes).fates[0] {
        Fate::Refused(refusal) => refusal.code,
        fate => panic!("{fate:?}"),
    };
    assert_eq!(code(b"{}"), "no_messages");
    assert_eq!(code(b"[]"), "no_messages");
    assert_eq!(code(b"[1, {\"type\": 3}]"), "no_messages");
    assert_eq!(code(b"7"), "no_messages");
    assert_eq!(code(b"[[1], [2]]"), "no_messages");
    assert_eq!(code(b"[{\"type\":\"human\""), "truncated_record");
    let given = frames::read(&LANGCHAIN, br#"[{"type":"human","content":"x"}, 7, {"type":"odd"}]"#);
    assert_eq!(frames::codes(&given), [("unreadable_messages", 2)]);
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    let _ = frames::read(&LANGCHAIN, &deep);
}

#[test]
fn the_three_real_files_give_one_and_the_same_result() {
    let mut seen = Vec::new();
    for name in ["messages_model_dump", "messages_to_dict", "messages_dumpd_lc"] {
        let Some(path) = shared(&format!("data/langchain/{name}.json")) else { return };
        let path = path.to_str().unwrap();
        let page = cli::json(&["inspect", path]);
        assert_eq!(page["inputs"][0]["format"], "langchain", "{page:#}");
        let run = frames::run_of(&LANGCHAIN, &std::fs::read(path).unwrap());
        let names: Vec<_> = frames::fates(&run);
        let expected =
            [("get_weather", "!TimeoutError"), ("get_weathr", "!-"), ("get_weather", "-")];
        assert_eq!(names, expected.map(|(name, fate)| (name.into(), fate.into())));
        assert_eq!(frames::tokens(&run), [400.0, 0.0, 0.0, 80.0]);
        seen.push(frames::told(&run));
        // Recovered: the run ended without an error of its own.
        assert_eq!((run.format_outcome, run.end_reason.as_deref()), (None, Some("stop")));
    }
    assert!(seen.iter().all(|run| *run == seen[0]));
}

#[test]
fn a_state_history_without_messages_is_not_claimed() {
    let Some(path) = shared("data/langchain/langgraph_state_history_meta.json") else { return };
    let ran =
        cli::run(&["inspect", path.to_str().unwrap(), "--format", "langchain", "--output", "json"]);
    assert_eq!(ran.json()["inputs"][0]["runs"], 0, "{ran:?}");
    let ran = cli::run(&["inspect", path.to_str().unwrap()]);
    assert_ne!(ran.code, 0, "{ran:?}");
}

#[test]
fn every_wrapping_is_told_by_its_contents() {
    let list: Vec<Value> = serde_json::from_slice(FIXTURE).unwrap();
    let copy: Vec<Value> =
        list.iter().map(|message| json!({"type": message["type"], "content": "x"})).collect();
    let one = ("langchain".to_owned(), 1);
    assert_eq!(frames::taken_for(&frames::lines(&list)), one);
    assert_eq!(
        frames::taken_for(&frames::lines(&list.iter().map(to_dict).collect::<Vec<_>>())),
        one
    );
    assert_eq!(frames::taken_for(&frames::lines(&list.iter().map(dumpd).collect::<Vec<_>>())), one);
    let two = ("langchain".to_owned(), 2);
    assert_eq!(frames::taken_for(&frames::lines(&[json!(list), json!(copy)])), two);
    assert_eq!(frames::taken_for(json!([list, copy]).to_string().as_bytes()), two);
    let states = [json!({"messages": list, "thread_id": "a"}), json!({"messages": copy})];
    assert_eq!(frames::taken_for(&frames::lines(&states)), two);
    assert_eq!(
        frames::taken_for(json!({"values": {"messages": list}}).to_string().as_bytes()),
        one
    );
}
