//! Langfuse traces and observations.

use crate::spans::{
    accounted, failed, format_of, issue, plain, read_files, read_text, run, runs, steps, tag,
    tokens, turns, uncached,
};
use crate::support::{fixture_text, shared_text};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::langfuse::LANGFUSE;
use agenteval::model::{Final, ScoreValue, Time, Tokens};

#[test]
fn a_download_counts_its_observations_once_and_a_warning_is_no_error() {
    let text = fixture_text("langfuse/download.json");
    assert_eq!(format_of(&text), "langfuse");
    let (parsed, fates) = read_text(&LANGFUSE, &text);
    assert_eq!(fates, [Fate::Used]);
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(steps(run).len(), 2, "a span that executes a tool is a tool");
    let errors = failed(run);
    assert_eq!(errors.len(), 1);
    let message = errors[0].error.as_ref().and_then(|error| error.message.as_deref());
    assert_eq!(message, Some("TimeoutError: stock service did not answer"));
    assert_eq!(steps(run)[0].input, steps(run)[1].input, "JSON in a text is JSON");
    assert!(steps(run)[0].input.is_some());
    let wanted = Tokens { input: 60.0, cache_read: 40.0, output: 10.0, ..Tokens::default() };
    assert_eq!(tokens(run), wanted);
    let cost: f64 = run.attempts.iter().filter_map(|attempt| attempt.cost_usd).sum();
    assert_eq!(cost, 0.002, "the agent's sum counts no second time");
    assert_eq!(run.format_outcome, None);
    let [score] = &run.scores[..] else { panic!("one score of the run") };
    assert_eq!((score.name.as_ref(), &score.value), ("right", &ScoreValue::Number(1.0)));
    assert_eq!(run.task_id.as_deref(), Some("lamp"));
    assert_eq!(run.agent.as_deref(), Some("shop_agent"));
    let tags = (tag(run, "session"), tag(run, "user"), tag(run, "topic"), tag(run, "tags"));
    assert_eq!(tags, (Some("s-1"), Some("u-1"), Some("stock"), Some("beta")));
    let Final::Json(end) = &run.final_output else { panic!("an end") };
    assert!(end.contains("\"output\":\"It is.\""), "{end}");
    assert_eq!(issue(&parsed, "warnings_not_counted").map(|issue| issue.count), Some(1));
    assert_eq!(issue(&parsed, "scores_ignored").map(|issue| issue.count), Some(1));
    assert_eq!(issue(&parsed, "calls_without_span"), None);
    assert_eq!(accounted(&parsed), 6);
}

#[test]
fn rows_of_the_blob_export_are_in_utc_and_an_error_of_the_root_is_a_failed_run() {
    let text = fixture_text("langfuse/blob_observations.jsonl");
    assert_eq!(format_of(&text), "langfuse");
    let (parsed, fates) = read_text(&LANGFUSE, &text);
    assert!(fates.iter().all(|fate| *fate == Fate::Used));
    let run = run(&parsed.runs, "d2");
    assert_eq!(run.format_outcome, Some(false));
    let start = run.started_at.as_ref().and_then(agenteval::model::Stamp::time);
    assert_eq!(start, Some(Time { micros: 1_768_561_200_000_000, zoned: true }));
    let wanted = Tokens { input: 20.0, cache_read: 5.0, output: 4.0, ..Tokens::default() };
    assert_eq!(tokens(run), wanted, "29 in all, so that the cache stands beside the input");
    assert_eq!(run.attempts[0].cost_usd, None, "a zero without details is no price");
    assert_eq!(run.scores[0].value, ScoreValue::Number(0.2));
}

#[test]
fn usage_in_any_of_its_forms_is_read_once() {
    let of = |usage: &str| {
        let text = format!(
            r#"{{"id":"g","traceId":"t","type":"GENERATION","name":"g","level":"DEFAULT","startTime":"2026-01-16T10:00:00Z","endTime":"2026-01-16T10:00:01Z",{usage}}}"#
        );
        tokens(&runs(&LANGFUSE, &text)[0])
    };
    let plain = uncached(7.0, 3.0);
    assert_eq!(of(r#""usageDetails":{"input":7,"output":3,"total":10}"#), plain);
    assert_eq!(of(r#""usageDetails":"{\"input\":7,\"output\":3}""#), plain);
    assert_eq!(of(r#""usage":{"input":7,"output":3,"total":10,"unit":"TOKENS"}"#), plain);
    assert_eq!(of(r#""usage":{"promptTokens":7,"completionTokens":3}"#), plain);
    assert_eq!(of(r#""promptTokens":7,"completionTokens":3,"totalTokens":10"#), plain);
    let both = r#""usageDetails":{"input":7,"output":3,"total":10},"inputUsage":7,"outputUsage":3"#;
    assert_eq!(of(both), plain);
    assert_eq!(of(r#""usageDetails":{},"inputUsage":7,"outputUsage":3"#), plain);
    let inside = r#""usageDetails":{"input":7,"output":3,"total":10,"prompt_details.cache_read":5,"completion_details.reasoning":2}"#;
    assert_eq!(
        of(inside),
        Tokens { input: 2.0, cache_read: 5.0, output: 3.0, ..Tokens::default() }
    );
    let beside = r#""usageDetails":{"input":2,"output":1,"total":10,"cache_read_input_tokens":5,"output_reasoning_tokens":2}"#;
    assert_eq!(
        of(beside),
        Tokens { input: 2.0, cache_read: 5.0, output: 3.0, ..Tokens::default() }
    );
    assert_eq!(of(r#""usageDetails":{"total":10}"#), Tokens { unsplit: 10.0, ..Tokens::default() });
    assert_eq!(of(r#""usageDetails":{},"inputUsage":0"#), Tokens::default());
    let letters = r#""usage":{"input":7,"output":3,"total":10,"unit":"CHARACTERS"}"#;
    assert_eq!(of(letters), Tokens::default());
}

#[test]
fn observations_and_the_trace_in_records_of_their_own_give_the_run_of_the_download() {
    let whole: serde_json::Value =
        serde_json::from_str(&fixture_text("langfuse/download.json")).unwrap();
    let expected = plain(runs(&LANGFUSE, &whole.to_string()));
    let mut trace = whole["trace"].clone();
    trace.as_object_mut().unwrap().remove("observations");
    let mut records: Vec<String> =
        whole["observations"].as_array().unwrap().iter().map(ToString::to_string).collect();
    records.push(trace.to_string());
    assert_eq!(plain(read_files(&LANGFUSE, &[records.clone()]).0.runs), expected);
    records.reverse();
    assert_eq!(plain(read_files(&LANGFUSE, &[records]).0.runs), expected);
    let mut inner = whole["trace"].clone();
    inner["observations"] = whole["observations"].clone();
    assert_eq!(plain(runs(&LANGFUSE, &inner.to_string())), expected);
    let page = format!(r#"{{"data":{},"meta":{{}}}}"#, whole["observations"]);
    assert_eq!(format_of(&page), "langfuse");
    assert_eq!(steps(&runs(&LANGFUSE, &page)[0]).len(), 2);
}

/// Name, steps, model turns, uncached input and output of each public file.
const FILES: [(&str, usize, usize, f64, f64); 6] = [
    ("langfuse/autogen-2025-06-06.trace.json", 0, 1, 41.0, 3.0),
    ("langfuse/claude-agent-2025-12-22.trace.json", 2, 4, 34.0, 232.0),
    ("langfuse/microsoft-agent-2025-10-14.seeder.json", 1, 2, 656.0, 105.0),
    ("langfuse/microsoft-agent-2025-12-17.trace.json", 1, 2, 293.0, 106.0),
    ("langfuse/openai-agents-2025-09-30.trace.json", 1, 2, 140.0, 44.0),
    ("langfuse/pydantic-ai-tools-2025-12-04.trace.json", 3, 4, 1315.0, 209.0),
];

#[test]
fn public_files_give_the_usage_of_their_generations_and_no_errors() {
    for (name, calls, model_turns, input, output) in FILES {
        let Some(text) = shared_text(name) else { return };
        assert_eq!(format_of(&text), "langfuse", "{name}");
        let (parsed, _) = read_text(&LANGFUSE, &text);
        let [run] = &parsed.runs[..] else { panic!("one run in {name}") };
        assert_eq!((steps(run).len(), turns(run)), (calls, model_turns), "{name}");
        assert_eq!(tokens(run), uncached(input, output), "{name}");
        assert!(failed(run).is_empty(), "{name}");
        assert_eq!((run.format_outcome, run.end_rule), (None, None), "{name}");
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(run.run_id.as_deref(), document["trace"]["id"].as_str(), "{name}");
        let listed = |list: &serde_json::Value| list.as_array().map_or(0, Vec::len) as u64;
        let all = listed(&document["observations"]) + listed(&document["trace"]["observations"]);
        assert_eq!(accounted(&parsed), all, "{name}");
        assert_eq!(run.scores.len() as u64, listed(&document["trace"]["scores"]), "{name}");
        for step in steps(run) {
            assert!(step.input.is_some() && step.name.is_some(), "{name}");
        }
    }
}

#[test]
fn ids_that_are_lists_are_matched_with_the_calls_that_were_asked_for() {
    let Some(text) = shared_text("langfuse/microsoft-agent-2025-10-14.seeder.json") else { return };
    let (parsed, _) = read_text(&LANGFUSE, &text);
    assert_eq!(issue(&parsed, "calls_without_span"), None);
    assert_eq!(steps(&parsed.runs[0])[0].name.as_deref(), Some("get_weather"));
}

#[test]
fn records_of_no_known_shape_are_refused_and_bad_observations_cost_no_other() {
    let (parsed, fates) = read_text(
        &LANGFUSE,
        r#"{"foo":1}
{"trace":{"id":"t","timestamp":"2026-01-16T10:00:00Z"},"observations":[7,{"id":"a","type":"TOOL","name":"x","startTime":"2026-01-16T10:00:00Z","endTime":"2026-01-16T10:00:01Z"}]}
{"id":"s","traceId":"t","name":"n","value":1,"dataType":"NUMERIC","source":"API"}"#,
    );
    assert!(matches!(&fates[0], Fate::Refused(refusal) if refusal.code == "no_readable_span"));
    assert_eq!(fates[1], Fate::Used);
    assert_eq!(steps(&parsed.runs[0]).len(), 1);
    assert_eq!(parsed.runs[0].scores.len(), 1);
}
