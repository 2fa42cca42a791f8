//! Pydantic-AI message histories.

use crate::cli;
use crate::frames;
use crate::support::shared;
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::pydantic_ai::PYDANTIC_AI;
use agenteval::model::EndRule;
use serde_json::{Value, json};

const TWO: &[u8] = include_bytes!("../../fixtures/pydantic-ai/two_runs.json");
const OLDER: &[u8] = include_bytes!("../../fixtures/pydantic-ai/older_retry_prompt.json");

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> [(String, String); N] {
    pairs.map(|(name, fate)| (name.into(), fate.into()))
}

#[test]
fn run_ids_divide_a_conversation_and_a_call_is_answered_in_the_run_that_made_it() {
    let given = frames::read(&PYDANTIC_AI, TWO);
    let ids: Vec<_> = given.runs.iter().map(|run| run.run_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["run-1", "run-2"]);
    let (first, second) = (&given.runs[0], &given.runs[1]);
    let expected = [
        ("weather", "!validation_error"),
        ("weather", "-"),
        ("weather", "-"),
        ("send_mail", "denied"),
    ];
    assert_eq!(frames::fates(first), pairs(expected));
    let tries: Vec<_> =
        frames::calls(first).iter().map(|call| (call.step_id.is_some(), call.attempt)).collect();
    // The call for the other city, made at the same time, is a step of its own.
    assert_eq!(tries, [(true, Some(1)), (false, None), (true, Some(2)), (false, None)]);
    assert_eq!(frames::tokens(first), [115.0, 20.0, 5.0, 17.0]);
    assert_eq!((frames::calls(second).len(), frames::tokens(second)), (0, [90.0, 0.0, 0.0, 12.0]));
    for run in [first, second] {
        assert_eq!(run.tags, [("conversation".into(), "talk-1".into())]);
        assert_eq!((run.model.as_deref(), run.format_outcome), (Some("model-x"), None));
    }
    let wanted = json!({"end_reason": "stop", "output": "Oslo -2C, Bergen 4C; no mail was sent."});
    assert_eq!(frames::delivered(second), wanted);
    assert_eq!(frames::codes(&given), []);
}

#[test]
fn a_history_that_a_later_dump_repeats_counts_once() {
    let messages: Vec<Value> = serde_json::from_slice(TWO).unwrap();
    let first = serde_json::to_vec(&messages[..4]).unwrap();
    let given = frames::read_records(&PYDANTIC_AI, &[&first, TWO, &first], true);
    assert_eq!(given.fates, [Fate::Used, Fate::Used, Fate::Merged("copy_of_list")]);
    assert_eq!((given.runs.len(), frames::calls(&given.runs[0]).len()), (2, 4));
}

#[test]
fn retry_prompts_of_older_versions_are_errors_of_the_call_or_of_the_turn() {
    let given = frames::read(&PYDANTIC_AI, OLDER);
    let run = &given.runs[0];
    assert_eq!(frames::fates(run), pairs([("add", "!validation_error"), ("add", "-")]));
    // No number of a try is recorded there, so none is given.
    assert!(run.attempts.iter().all(|attempt| attempt.attempt.is_none()));
    let turns: Vec<_> = run.attempts.iter().filter(|attempt| attempt.turn).collect();
    let kinds: Vec<_> = turns.iter().map(|t| t.error.as_ref()?.kind.as_deref()).collect();
    assert_eq!(kinds, [None, None, Some("model_retry"), None]);
    assert_eq!(frames::tokens(run), [220.0, 0.0, 0.0, 16.0]);
    assert_eq!(frames::delivered(run), json!({"output": "5"}));
}

#[test]
fn an_interrupted_answer_ends_a_run_as_cancelled_and_a_suspended_one_leaves_it_open() {
    for (state, rule) in [
        ("interrupted", Some(EndRule::Cancelled)),
        ("suspended", Some(EndRule::Unfinished)),
        ("complete", None),
    ] {
        let list = json!([{"kind": "response", "parts": [], "state": state}]);
        let run = frames::run_of(&PYDANTIC_AI, &serde_json::to_vec(&list).unwrap());
        assert_eq!(run.end_rule, rule, "{state}");
    }
}

#[test]
fn every_wrapping_gives_the_same_runs() {
    let plain = frames::all_told(&frames::read(&PYDANTIC_AI, TWO).runs);
    let messages: Vec<Value> = serde_json::from_slice(TWO).unwrap();
    for key in ["messages", "all_messages", "message_history"] {
        let object = serde_json::to_vec(&json!({ key: messages })).unwrap();
        assert_eq!(frames::all_told(&frames::read(&PYDANTIC_AI, &object).runs), plain, "{key}");
    }
    let lines: Vec<Vec<u8>> = messages.iter().map(|m| serde_json::to_vec(m).unwrap()).collect();
    let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    assert_eq!(frames::all_told(&frames::read_records(&PYDANTIC_AI, &lines, false).runs), plain);
}

#[test]
fn what_is_no_message_is_refused_or_told() {
    for odd in ["{}", "[]", "[7]", r#"{"kind":"request"}"#, r#"[{"kind":"other","parts":[]}]"#] {
        let given = frames::read(&PYDANTIC_AI, odd.as_bytes());
        assert!(
            matches!(&given.fates[0], Fate::Refused(why) if why.code == "no_messages"),
            "{odd}"
        );
    }
    let given = frames::read(&PYDANTIC_AI, br#"[{"kind":"response","parts":[7,{}]},{"kind":3}]"#);
    assert_eq!(frames::codes(&given), [("unreadable_messages", 1)]);
}

#[test]
fn the_real_history_is_one_step_in_three_recorded_tries() {
    let Some(path) = shared("data/pydantic_ai/all_messages.json") else { return };
    let file = path.to_str().unwrap();
    let page = cli::json(&["inspect", file]);
    assert_eq!(page["inputs"][0]["format"], "pydantic-ai", "{page:#}");
    let run = frames::run_of(&PYDANTIC_AI, &std::fs::read(&path).unwrap());
    let calls = frames::calls(&run);
    let tries: Vec<_> = calls
        .iter()
        .map(|call| (call.attempt, call.error.as_ref().and_then(|e| e.kind.as_deref())))
        .collect();
    let expected =
        [(Some(1), Some("validation_error")), (Some(2), Some("model_retry")), (Some(3), None)];
    assert_eq!(tries, expected);
    let report = cli::report(&[file]);
    cli::figures_are(&report, &[("avg_retry_count", 2.0, 2.0, 1.0), ("avg_steps", 1.0, 1.0, 1.0)]);
    assert_eq!(cli::figure(&report, "retry_success_rate"), (Some(0.5), Some(1.0), Some(2.0)));
    let tokens = frames::tokens(&run);
    assert_eq!(tokens, [332.0, 0.0, 0.0, 47.0]);
}

#[test]
fn every_wrapping_is_told_by_its_contents() {
    let two = ("pydantic-ai".to_owned(), 2);
    let list: Vec<Value> = serde_json::from_slice(TWO).unwrap();
    assert_eq!(frames::taken_for(TWO), two);
    assert_eq!(frames::taken_for(&frames::lines(&list)), two);
    assert_eq!(
        frames::taken_for(json!({"output": "x", "all_messages": list}).to_string().as_bytes()),
        two
    );
    let older: Value = serde_json::from_slice(OLDER).unwrap();
    assert_eq!(frames::taken_for(&frames::lines(&[json!(list), older])).1, 3);
}
