//! Jaeger traces.

use crate::spans::{
    accounted, failed, format_of, issue, kind, plain, read_text, runs, steps, tag, tokens, turns,
    uncached,
};
use crate::support::{fixture_text, shared_text};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::jaeger::JAEGER;
use agenteval::model::{Stamp, Tokens};

#[test]
fn inventory_gives_two_calls_one_failed_and_ignores_http() {
    let text = fixture_text("jaeger/inventory.json");
    assert_eq!(format_of(&text), "jaeger");
    let (parsed, fates) = read_text(&JAEGER, &text);
    assert_eq!(fates, [Fate::Used]);
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(steps(run).len(), 2);
    let errors = failed(run);
    assert_eq!(errors.len(), 1);
    assert_eq!(kind(errors[0]), Some("LockedError"));
    let message = errors[0].error.as_ref().and_then(|error| error.message.as_deref());
    assert_eq!(message, Some("store is locked"));
    assert_eq!(steps(run)[0].ended_at, Some(Stamp::Nanos(1_768_212_001_500_000_000)));
    assert_eq!(tokens(run), uncached(80.0, 9.0));
    assert_eq!(turns(run), 1);
    assert_eq!(run.task_id.as_deref(), Some("stock-3"));
    assert_eq!(run.agent.as_deref(), Some("stock"));
    assert_eq!(tag(run, "service.name"), Some("stock-agent"));
    assert_eq!(run.format_outcome, None);
    assert_eq!(issue(&parsed, "orphan_parents"), None, "a link to another trace is no parent");
    assert_eq!(accounted(&parsed), 5);
}

#[test]
fn a_bare_list_of_spans_gives_the_same_run_without_its_process() {
    let text = fixture_text("jaeger/inventory.json");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let trace = &document["data"][0];
    let alone = runs(&JAEGER, &trace.to_string());
    assert_eq!(plain(alone), plain(runs(&JAEGER, &document.to_string())));
    let listed = trace["spans"].to_string();
    assert_eq!(format_of(&listed), "jaeger");
    let bare = runs(&JAEGER, &listed);
    assert_eq!(steps(&bare[0]).len(), 2);
    assert_eq!(tag(&bare[0], "service.name"), None);
}

#[test]
fn the_adk_file_gives_one_run_with_one_model_call_and_no_error() {
    let Some(text) = shared_text("jaeger/k8s_adk_agent.json") else { return };
    assert_eq!(format_of(&text), "jaeger");
    let (parsed, _) = read_text(&JAEGER, &text);
    let [run] = &parsed.runs[..] else { panic!("one run, not {}", parsed.runs.len()) };
    assert_eq!(steps(run).len(), 0);
    assert_eq!(turns(run), 1);
    let wanted = Tokens { input: 411.0, cache_read: 1792.0, output: 139.0, ..Tokens::default() };
    assert_eq!(tokens(run), wanted, "2203 of input in all, once and not twice");
    assert!(run.attempts.iter().all(|attempt| attempt.error.is_none()));
    assert_eq!(run.format_outcome, None, "the failed poll is not the agent's");
    assert_eq!(run.agent.as_deref(), Some("k8s_agent"));
    assert_eq!(run.task_id.as_deref(), Some("9d678e94-b7dc-4ae7-a68e-5bdb19c818f0"));
    assert_eq!(accounted(&parsed), 73);
}

#[test]
fn spans_that_cannot_be_read_are_counted_and_cost_no_other() {
    let good = r#"{"traceID":"a","spanID":"1","operationName":"execute_tool x","startTime":1768212000000000,"duration":1,"tags":[{"key":"gen_ai.operation.name","value":"execute_tool"}]}"#;
    let text = format!(
        r#"{{"data":[{{"traceID":"a","spans":[{good},4,{{"spanID":"2","traceID":"a","tags":3}},{{"spanID":"3"}}]}}, 5]}}"#
    );
    let (parsed, _) = read_text(&JAEGER, &text);
    assert_eq!(steps(&parsed.runs[0]).len(), 1);
    let rejected: u64 =
        parsed.issues.iter().filter(|i| i.code == "spans_rejected").map(|i| i.count).sum();
    assert_eq!(rejected, 4);
    assert_eq!(accounted(&parsed), 5);
}
