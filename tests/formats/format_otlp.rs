//! OTLP: the real files' figures, the dialects, and the faults that other readers had.

use crate::spans;
use crate::spans::{accounted, issue, plain, steps, tokens, turns};
use crate::support::{fixture_text, shared_text};
use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::assemble::spans::{Span, SpanClass, SpanStatus, Spans};
use agenteval::ingest::formats::otlp::OTLP;
use agenteval::ingest::formats::{Fate, Parsed, Probe};
use agenteval::model::{
    ErrorOrigin, Final, Place, ScoreValue, Severity, Stamp, Tokens, Trajectory,
};

/// Reads each text as one record of its own file.
fn read<T: AsRef<str>>(records: &[T]) -> (Parsed<'static>, Vec<Fate>) {
    let files: Vec<Vec<String>> =
        records.iter().map(|record| vec![record.as_ref().to_owned()]).collect();
    spans::read_files(&OTLP, &files)
}

fn runs<T: AsRef<str>>(records: &[T]) -> Vec<Trajectory<'static>> {
    read(records).0.runs
}

fn fixture(name: &str) -> String {
    fixture_text(&format!("otlp/{name}"))
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim().is_empty()).collect()
}

/// A trace of one span list in a canonical envelope.
fn envelope(spans: &str) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#)
}

/// A span with the given fields beside its trace id.
fn span(fields: &str, attributes: &[(&str, &str)]) -> String {
    let attributes: Vec<String> = attributes
        .iter()
        .map(|(key, value)| format!(r#"{{"key":"{key}","value":{value}}}"#))
        .collect();
    format!(
        r#"{{"traceId":"0af7651916cd43dd8448eb211c80319c",{fields},"attributes":[{}]}}"#,
        attributes.join(",")
    )
}

const TOOL: (&str, &str) = ("gen_ai.operation.name", r#"{"stringValue":"execute_tool"}"#);
const CHAT: (&str, &str) = ("gen_ai.operation.name", r#"{"stringValue":"chat"}"#);
const AGENT: (&str, &str) = ("gen_ai.operation.name", r#"{"stringValue":"invoke_agent"}"#);

// Real files.

fn check_vercel(text: &str) {
    let (parsed, _) = read(&lines(text));
    let [run] = &parsed.runs[..] else { panic!("one run, not {}", parsed.runs.len()) };
    let steps = steps(run);
    assert_eq!(steps.len(), 2);
    assert_eq!(turns(run), 4);
    let error = steps[0].error.as_ref().expect("the first call failed");
    assert_eq!(error.kind.as_deref(), Some("Error"));
    assert_eq!(error.message.as_deref(), Some("upstream timed out after 5s"));
    assert_eq!(error.origin, ErrorOrigin::Recorded);
    assert!(steps[1].error.is_none());
    assert_eq!(steps[0].input, steps[1].input);
    assert!(steps[0].input.is_some());
    assert_eq!(steps[1].request_id.as_deref(), Some("call_3"));
    assert_eq!(tokens(run), Tokens { input: 400.0, output: 80.0, ..Tokens::default() });
    assert_eq!(issue(&parsed, "calls_without_span").map(|issue| issue.count), Some(1));
    assert_eq!(run.format_outcome, None, "a status that is unset proves nothing");
    assert_eq!(run.agent.as_deref(), Some("weather_agent"));
    assert_eq!(run.model.as_deref(), Some("mock-model-1"));
    assert_eq!(accounted(&parsed), lines(text).len() as u64);
    let kinds: Vec<&str> = run.attempts.iter().map(|attempt| attempt.kind.as_ref()).collect();
    assert_eq!(kinds, ["llm", "tool", "llm", "llm", "tool", "llm"]);
}

#[test]
fn vercel_genai_file_gives_two_calls_four_turns_and_400_tokens_not_800() {
    if let Some(text) = shared_text("otlp/vercel_ai7_otel_genai.ndjson") {
        check_vercel(&text);
    }
}

#[test]
fn vercel_legacy_attributes_give_the_same_figures() {
    if let Some(text) = shared_text("otlp/vercel_ai7_legacy_ai_attrs.ndjson") {
        check_vercel(&text);
    }
}

#[test]
fn openinference_file_gives_a_recovered_run_and_a_failed_one() {
    let Some(text) = shared_text("openinference/openai_agents_otlp.ndjson") else { return };
    let runs = runs(&lines(&text));
    let [a, b] = &runs[..] else { panic!("two runs, not {}", runs.len()) };
    assert_eq!(a.run_id.as_deref(), Some("b9806374896fe807569c1c1352ec4b90"));
    let errors: Vec<bool> = steps(a).iter().map(|step| step.error.is_some()).collect();
    assert_eq!(errors, [true, false]);
    assert_eq!(a.format_outcome, None);
    assert_eq!(a.agent.as_deref(), Some("weather_agent"));
    assert_eq!(steps(b).iter().filter(|step| step.error.is_some()).count(), 0);
    assert_eq!(steps(b).len(), 2);
    assert_eq!(b.format_outcome, Some(false));
    let Final::Json(end) = &b.final_output else { panic!("the failed run has an end") };
    assert!(end.contains("Max turns exceeded"), "{end}");
}

#[test]
fn base64_ids_and_enum_names_give_the_same_runs_as_the_conformant_file() {
    let conformant = shared_text("openinference/openai_agents_otlp.ndjson");
    let naive = shared_text("openinference/openai_agents_otlp_nonconformant.json");
    let (Some(conformant), Some(naive)) = (conformant, naive) else { return };
    assert_eq!(plain(runs(&lines(&conformant))), plain(runs(&[naive])));
}

#[test]
fn tempo_file_gives_one_call_and_two_model_calls_not_six() {
    let Some(text) = shared_text("otlp/tempo_export_with_batches.json") else { return };
    let (parsed, _) = read(&[text]);
    let [run] = &parsed.runs[..] else { panic!("one run, not {}", parsed.runs.len()) };
    let steps = steps(run);
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].name.as_deref(), Some("helm_list_releases"));
    assert!(steps[0].error.is_none());
    assert_eq!(turns(run), 2);
    let of_turns: Vec<Tokens> = run.attempts.iter().filter_map(|turn| turn.tokens).collect();
    let split = |input, output| Tokens { input, output, ..Tokens::default() };
    assert_eq!(of_turns, [split(2256.0, 13.0), split(2392.0, 116.0)]);
    assert_eq!(run.task_id.as_deref(), Some("60494115-84c3-4c3c-a5a4-6cdd1e033e8d"));
    assert_eq!(run.model.as_deref(), Some("gpt-4.1-mini-2025-04-14"));
    assert_eq!(run.format_outcome, None);
    assert!(issue(&parsed, "orphan_parents").is_some());
    assert_eq!(issue(&parsed, "calls_without_span"), None);
}

#[test]
fn a_trace_without_any_agent_gives_no_run_and_is_told() {
    let Some(text) = shared_text("otlp/opentelemetry-proto_trace.json") else { return };
    let (parsed, fates) = read(&[text]);
    assert_eq!(fates, [Fate::Used]);
    assert!(parsed.runs.is_empty());
    assert_eq!(accounted(&parsed), 1);
}

// Fixtures.

#[test]
fn trip_planner_gives_run_task_score_and_uncached_input() {
    let text = fixture("trip_planner.ndjson");
    let (parsed, _) = read(&lines(&text));
    let [run] = &parsed.runs[..] else { panic!("one run") };
    assert_eq!(run.run_id.as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
    assert_eq!(run.task_id.as_deref(), Some("trip-17"));
    assert_eq!(run.agent.as_deref(), Some("planner"));
    let tag = |key: &str| run.tags.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_ref());
    assert_eq!(tag("service.name"), Some("trip-planner"));
    assert_eq!(tag("session"), Some("s-9"));
    let split = Tokens { input: 440.0, cache_read: 200.0, output: 26.0, ..Tokens::default() };
    assert_eq!(tokens(run), split);
    let [score] = &run.scores[..] else { panic!("one score") };
    assert_eq!((score.name.as_ref(), &score.value), ("right_train", &ScoreValue::Number(1.0)));
    let kind = steps(run)[0].error.as_ref().and_then(|error| error.kind.as_deref());
    assert_eq!(kind, Some("TimetableTimeout"));
    let Final::Json(end) = &run.final_output else { panic!("a final output") };
    assert!(serde_json::from_str::<serde_json::Value>(end).is_ok(), "{end}");
    assert!(end.contains("\"score\":1") && end.contains("TGV 6607"), "{end}");
    let seconds = run
        .ended_at
        .as_ref()
        .and_then(Stamp::time)
        .zip(run.started_at.as_ref().and_then(Stamp::time));
    assert_eq!(seconds.and_then(|(end, start)| end.seconds_since(start)), Some(8.0));
    assert_eq!(issue(&parsed, "calls_without_span"), None);
    let http = parsed.issues.iter().find(|issue| issue.message == "http_span");
    assert_eq!(http.map(|issue| (issue.code, issue.count)), Some(("spans_ignored", 1)));
    assert_eq!(run.format_outcome, None, "an HTTP error below a call is not the run's");
}

#[test]
fn traceloop_in_snake_case_batches_gives_tool_retrieval_and_turn() {
    let (parsed, _) = read(&[fixture("notes_bot_batches.json")]);
    let [run] = &parsed.runs[..] else { panic!("one run") };
    let kinds: Vec<(&str, Option<&str>)> =
        run.attempts.iter().map(|a| (a.kind.as_ref(), a.name.as_deref())).collect();
    assert_eq!(
        kinds,
        [("llm", Some("m-2")), ("tool", Some("search_notes")), ("retrieval", Some("retrieve"))]
    );
    assert_eq!(run.agent.as_deref(), Some("answer"));
    assert_eq!(tokens(run), Tokens { input: 50.0, output: 5.0, ..Tokens::default() });
    // The call has no id, so it is matched to its span by name.
    assert_eq!(issue(&parsed, "calls_without_span"), None);
    assert_eq!(accounted(&parsed), 6);
}

#[test]
fn any_order_and_any_split_into_files_gives_the_same_runs() {
    let mut texts = vec![fixture("trip_planner.ndjson")];
    for name in ["otlp/vercel_ai7_otel_genai.ndjson", "otlp/vercel_ai7_legacy_ai_attrs.ndjson"] {
        texts.extend(shared_text(name));
    }
    for text in texts {
        let in_order = lines(&text);
        let expected = plain(runs(&in_order));
        let mut shuffled = in_order.clone();
        shuffled.reverse();
        assert_eq!(plain(runs(&shuffled)), expected);
        for step in [3, 5, 7] {
            let count = in_order.len();
            if !count.is_multiple_of(step) {
                let strided: Vec<&str> = (0..count).map(|at| in_order[at * step % count]).collect();
                assert_eq!(plain(runs(&strided)), expected);
            }
        }
        let array = format!("[{}]", in_order.join(",\n"));
        assert_eq!(plain(runs(&[array])), expected);
        let wrapped: Vec<String> =
            in_order.iter().map(|line| format!(r#"{{"trace":{line}}}"#)).collect();
        assert_eq!(plain(runs(&wrapped)), expected);
    }
}

// Faults that other readers had (formats/bugs.md, by row).

#[test]
fn bug_1_and_3_counts_are_read_as_text_and_as_bare_number() {
    let with = |value: &str| {
        let usage = ("gen_ai.usage.input_tokens", value);
        plain(runs(&[envelope(&span(r#""spanId":"0000000000000001""#, &[CHAT, usage]))]))
    };
    let text = with(r#"{"intValue":"25"}"#);
    assert!(text.contains("input: 25.0"), "{text}");
    assert_eq!(text, with(r#"{"intValue":25}"#));
    assert_eq!(text, with(r#"{"doubleValue":25.0}"#));
    assert_eq!(text, with(r#"{"int_value":"25"}"#));
    assert_eq!(text, with("25"), "a plain value in place of a tagged one");
}

#[test]
fn bug_2_an_attribute_that_cannot_be_decoded_is_counted_not_dropped() {
    let usage = ("gen_ai.usage.input_tokens", r#"{"intValue":"many"}"#);
    let (parsed, _) = read(&[envelope(&span(r#""spanId":"0000000000000001""#, &[CHAT, usage]))]);
    assert_eq!(issue(&parsed, "undecodable_attributes").map(|issue| issue.count), Some(1));
    assert_eq!(turns(&parsed.runs[0]), 1);
    assert_eq!(parsed.runs[0].attempts[0].tokens, None);
}

#[test]
fn bug_3_one_malformed_span_costs_no_other_and_is_visible() {
    let good = span(r#""spanId":"0000000000000001""#, &[TOOL]);
    let bad = r#"{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"02","attributes":7}"#;
    let (parsed, fates) = read(&[envelope(&format!("{bad},{good},[],{{}}"))]);
    assert_eq!(fates, [Fate::Used]);
    assert_eq!(steps(&parsed.runs[0]).len(), 1);
    let rejected: u64 = parsed
        .issues
        .iter()
        .filter(|issue| issue.severity == Severity::Rejected)
        .map(|issue| issue.count)
        .sum();
    assert_eq!(rejected, 3);
    assert_eq!(accounted(&parsed), 4);
}

#[test]
fn bug_4_status_codes_are_read_as_number_name_and_short_name() {
    for code in ["2", "\"2\"", "\"STATUS_CODE_ERROR\"", "\"ERROR\"", "\"error\"", "\"Error\""] {
        let fields = format!(r#""spanId":"0000000000000001","status":{{"code":{code}}}"#);
        let runs = runs(&[envelope(&span(&fields, &[TOOL]))]);
        assert!(steps(&runs[0])[0].error.is_some(), "{code}");
    }
    for code in ["0", "1", "\"STATUS_CODE_OK\"", "\"Unset\"", "null"] {
        let fields = format!(r#""spanId":"0000000000000001","status":{{"code":{code}}}"#);
        let runs = runs(&[envelope(&span(&fields, &[TOOL]))]);
        assert!(steps(&runs[0])[0].error.is_none(), "{code}");
    }
}

#[test]
fn bug_5_a_root_with_an_empty_or_zero_parent_id_is_a_root() {
    for parent in [r#""""#, r#""0000000000000000""#, "null", r#""AAAAAAAAAAA=""#] {
        let fields =
            format!(r#""spanId":"0000000000000001","parentSpanId":{parent},"status":{{"code":2}}"#);
        let (parsed, _) = read(&[envelope(&span(&fields, &[AGENT]))]);
        assert_eq!(parsed.runs[0].format_outcome, Some(false), "{parent}");
        assert_eq!(issue(&parsed, "orphan_parents"), None, "{parent}");
    }
}

#[test]
fn bug_6_spans_below_a_parent_that_was_not_exported_are_kept() {
    let orphan = span(r#""spanId":"0000000000000002","parentSpanId":"00000000000000ff""#, &[TOOL]);
    let (parsed, _) = read(&[envelope(&orphan)]);
    assert_eq!(steps(&parsed.runs[0]).len(), 1);
    assert_eq!(issue(&parsed, "orphan_parents").map(|issue| issue.count), Some(1));
}

#[test]
fn bug_7_ids_in_hex_of_any_case_0x_and_base64_join() {
    let agent = span(r#""spanId":"00F067AA0BA902B7","status":{"code":2}"#, &[AGENT]);
    for parent in ["00f067aa0ba902b7", "0x00f067aa0ba902b7", "0xf067aa0ba902b7", "APBnqgupArc="] {
        let fields = format!(r#""spanId":"0000000000000002","parentSpanId":"{parent}""#);
        let (parsed, _) = read(&[envelope(&format!("{agent},{}", span(&fields, &[TOOL])))]);
        assert_eq!(issue(&parsed, "orphan_parents"), None, "{parent}");
    }
    let trace = |id: &str| {
        let agent = agent.replace("0af7651916cd43dd8448eb211c80319c", id);
        runs(&[envelope(&agent)])[0].run_id.clone()
    };
    let hex = Some("0af7651916cd43dd8448eb211c80319c".into());
    assert_eq!(trace("0AF7651916CD43DD8448EB211C80319C"), hex);
    assert_eq!(trace("CvdlGRbNQ92ESOshHIAxnA=="), hex);
    assert_eq!(trace("CvdlGRbNQ92ESOshHIAxnA"), hex);
}

#[test]
fn bug_8_and_9_a_failure_that_only_the_result_tells_is_an_error_by_flag() {
    let failed = [
        r#"{"isError":true,"content":[]}"#,
        r#"{"is_error": true}"#,
        r#"{"status":"error","error":"disk full"}"#,
        r#""{\"isError\":true}""#,
    ];
    let fine = [r#"{"isError":false}"#, r#"{"status":"ok","error":"none"}"#, "isError:true", "[1]"];
    for (results, expected) in [(&failed[..], true), (&fine[..], false)] {
        for result in results {
            let value = format!(r#"{{"stringValue":{}}}"#, serde_json::to_string(result).unwrap());
            let attributes = [TOOL, ("gen_ai.tool.call.result", value.as_str())];
            let runs = runs(&[envelope(&span(r#""spanId":"0000000000000001""#, &attributes))]);
            let error = &steps(&runs[0])[0].error;
            assert_eq!(error.as_ref().map(|e| e.origin), expected.then_some(ErrorOrigin::Flag));
        }
    }
    // The same as a tree of tagged values.
    let tree = r#"{"kvlistValue":{"values":[{"key":"isError","value":{"boolValue":true}}]}}"#;
    let attributes = [TOOL, ("gen_ai.tool.call.result", tree)];
    let runs = runs(&[envelope(&span(r#""spanId":"0000000000000001""#, &attributes))]);
    assert!(steps(&runs[0])[0].error.is_some());
}

#[test]
fn bug_11_and_12_sums_on_ancestors_do_not_double_the_tokens() {
    let usage =
        |count| vec![("gen_ai.usage.input_tokens", count), ("gen_ai.usage.output_tokens", "1")];
    let with = |kind, count| [vec![kind], usage(count)].concat();
    let spans = [
        span(r#""spanId":"0000000000000001""#, &with(AGENT, "20")),
        span(r#""spanId":"0000000000000002","parentSpanId":"0000000000000001""#, &with(CHAT, "10")),
        span(r#""spanId":"0000000000000003","parentSpanId":"0000000000000002""#, &with(CHAT, "10")),
        span(r#""spanId":"0000000000000004","parentSpanId":"0000000000000001""#, &with(CHAT, "10")),
    ];
    let runs = runs(&[envelope(&spans.join(","))]);
    assert_eq!(tokens(&runs[0]), Tokens { input: 20.0, output: 2.0, ..Tokens::default() });
    assert_eq!(turns(&runs[0]), 2);
}

#[test]
fn usage_that_only_the_agent_records_is_not_lost() {
    let usage = ("gen_ai.usage.input_tokens", "7");
    let runs = runs(&[envelope(&span(r#""spanId":"0000000000000001""#, &[AGENT, usage]))]);
    assert_eq!(tokens(&runs[0]).input, 7.0);
    assert!(steps(&runs[0]).is_empty());
}

#[test]
fn unspecified_error_types_give_way_and_error_type_alone_is_an_error() {
    let kind = |kind: &str| {
        let value = format!(r#"{{"stringValue":"{kind}"}}"#);
        let attributes = [TOOL, ("error.type", value.as_str())];
        let runs = runs(&[envelope(&span(r#""spanId":"0000000000000001""#, &attributes))]);
        let error = steps(&runs[0])[0].error.clone().expect("an error");
        error.kind.map(std::borrow::Cow::into_owned)
    };
    assert_eq!(kind("_OTHER"), None);
    assert_eq!(kind("unknown"), None);
    assert_eq!(kind("RateLimitError"), Some("RateLimitError".to_owned()));
}

#[test]
fn one_exception_on_nested_calls_is_one_error_at_the_leaf() {
    let fields = |id: u8, parent: u8, name: &str| {
        format!(
            r#""spanId":"000000000000000{id}","parentSpanId":"000000000000000{parent}","name":"{name}","status":{{"code":2,"message":"ValueError: no such city"}}"#
        )
    };
    let spans = [
        span(&fields(1, 0, "graph"), &[AGENT]),
        span(&fields(2, 1, "delegate"), &[TOOL]),
        span(&fields(3, 2, "helper"), &[AGENT]),
        span(&fields(4, 3, "lookup"), &[TOOL]),
    ];
    let (parsed, _) = read(&[envelope(&spans.join(","))]);
    let run = &parsed.runs[0];
    let failed: Vec<&str> = steps(run)
        .iter()
        .filter(|step| step.error.is_some())
        .filter_map(|step| step.name.as_deref())
        .collect();
    assert_eq!(failed, ["lookup"]);
    assert_eq!(run.format_outcome, Some(false));
}

#[test]
fn absent_arguments_are_unknown_and_equal_ones_are_equal_in_any_encoding() {
    let input = |attributes: &[(&str, &str)]| {
        let attributes = [&[TOOL], attributes].concat();
        let runs = runs(&[envelope(&span(r#""spanId":"0000000000000001""#, &attributes))]);
        steps(&runs[0])[0].input
    };
    assert_eq!(input(&[]), None);
    let text = input(&[("gen_ai.tool.call.arguments", r#"{"stringValue":"{\"n\": 1}"}"#)]);
    let tree = r#"{"kvlistValue":{"values":[{"key":"n","value":{"intValue":"1"}}]}}"#;
    assert!(text.is_some());
    assert_eq!(text, input(&[("gen_ai.tool.call.arguments", tree)]));
    assert_ne!(text, input(&[("input.value", r#"{"stringValue":"{\"n\": 2}"}"#)]));
}

#[test]
fn a_run_that_ends_in_an_error_failed_and_one_that_goes_on_did_not() {
    let at = |id: u8, start: u64, code: u8| {
        format!(
            r#""spanId":"000000000000000{id}","parentSpanId":"0000000000000001","startTimeUnixNano":"{start}","endTimeUnixNano":"{}","status":{{"code":{code}}}"#,
            start + 1
        )
    };
    let root = span(
        r#""spanId":"0000000000000001","startTimeUnixNano":"1","endTimeUnixNano":"90""#,
        &[AGENT],
    );
    let outcome = |last: u8| {
        let spans = [root.clone(), span(&at(2, 10, 2), &[TOOL]), span(&at(3, 20, last), &[CHAT])];
        runs(&[envelope(&spans.join(","))])[0].format_outcome
    };
    assert_eq!(outcome(2), Some(false));
    assert_eq!(outcome(0), None);
    assert_eq!(outcome(1), None, "OK is no proof of success");
}

#[test]
fn one_span_written_twice_counts_once_and_the_ended_one_is_kept() {
    let open = span(r#""spanId":"0000000000000001","startTimeUnixNano":"5""#, &[TOOL]);
    let ended = span(
        r#""spanId":"0000000000000001","startTimeUnixNano":"5","endTimeUnixNano":"6""#,
        &[TOOL],
    );
    for order in [[&open, &ended], [&ended, &open]] {
        let (parsed, fates) = read(&order.map(|span| envelope(span)));
        assert_eq!(fates, [Fate::Used, Fate::Merged("duplicate_span")]);
        let steps = steps(&parsed.runs[0]);
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].status, None);
        assert_eq!(accounted(&parsed), 2);
    }
    let runs = runs(&[envelope(&open)]);
    assert_eq!(steps(&runs[0])[0].status.as_deref(), Some("running"));
}

#[test]
fn records_that_hold_no_span_are_told_apart() {
    let (parsed, fates) = read(&[
        r#"{"resourceLogs":[]}"#,
        r#"{"resourceSpans":[]}"#,
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[3]}]}]}"#,
        r#"{"resourceSpans":[{"scopeSpans""#,
    ]);
    assert!(parsed.runs.is_empty());
    assert_eq!(fates[..2], [Fate::Ignored("no_spans"), Fate::Ignored("no_spans")]);
    let code = |fate: &Fate| match fate {
        Fate::Refused(refusal) => refusal.code,
        _ => "",
    };
    assert_eq!(code(&fates[2]), "no_readable_span");
    assert_eq!(code(&fates[3]), "truncated_record");
}

#[test]
fn detection_is_by_the_envelope() {
    let is = |record: &str| {
        let probe = Probe::new(Path::new("x"), vec![record.as_bytes()], false);
        (OTLP.detect)(&probe)
    };
    assert!(is(r#"{"resourceSpans":[{"#));
    assert!(is(r#"{"trace":{"resourceSpans":[]}}"#));
    assert!(is(r#"{"batches":[{"scopeSpans":[]}]}"#));
    assert!(!is(r#"{"trace":{"id":"1"},"observations":[]}"#));
    assert!(!is(r#"{"batches":[]}"#));
    assert!(!is(r#"{"type":"user","sessionId":"x","uuid":"resourceSpans"}"#));
}

#[test]
fn calls_in_any_dialects_messages_are_matched_by_id_and_by_name() {
    let missing = |key: &str, value: &str| {
        let value = format!(r#"{{"stringValue":{}}}"#, serde_json::to_string(value).unwrap());
        let id = ("gen_ai.tool.call.id", r#"{"stringValue":"c1"}"#);
        let spans = [
            span(r#""spanId":"0000000000000001""#, &[CHAT, (key, value.as_str())]),
            span(r#""spanId":"0000000000000002","name":"execute_tool look""#, &[TOOL, id]),
            span(r#""spanId":"0000000000000003","name":"execute_tool find""#, &[TOOL]),
        ];
        let (parsed, _) = read(&[envelope(&spans.join(","))]);
        issue(&parsed, "calls_without_span").map_or(0, |issue| issue.count)
    };
    let genai = |id: &str, name: &str| {
        format!(r#"[{{"parts":[{{"type":"tool_call","id":"{id}","name":"{name}"}}]}}]"#)
    };
    assert_eq!(missing("gen_ai.output.messages", &genai("c1", "x")), 0);
    assert_eq!(missing("gen_ai.output.messages", &genai("c2", "find")), 0);
    assert_eq!(missing("gen_ai.output.messages", &genai("c2", "look")), 1);
    let openai = r#"[{"tool_calls":[{"id":"c9","function":{"name":"fnd"}}]}]"#;
    assert_eq!(missing("gen_ai.output.messages", openai), 1);
    let vercel = r#"[{"toolCallId":"c1","toolName":"look"},{"toolCallId":"c8"}]"#;
    assert_eq!(missing("ai.response.toolCalls", vercel), 1);
    let google = r#"{"content":{"parts":[{"function_call":{"id":"c7","name":"no"}}]}}"#;
    assert_eq!(missing("gcp.vertex.agent.llm_response", google), 1);
    let indexed = "llm.output_messages.0.message.tool_calls.0.tool_call.function.name";
    assert_eq!(missing(indexed, "find"), 0);
    assert_eq!(missing(indexed, "fnd"), 1);
}

#[test]
fn the_inner_view_of_one_call_is_merged_and_its_failure_is_not_lost() {
    let name = ("gen_ai.tool.name", r#"{"stringValue":"look"}"#);
    let result = ("gen_ai.tool.call.result", r#"{"stringValue":"{\"isError\":true}"}"#);
    let outer = span(r#""spanId":"0000000000000001""#, &[TOOL, name]);
    let inner = |id: &str| {
        let id = format!(r#"{{"stringValue":"{id}"}}"#);
        let attributes = [TOOL, name, result, ("gen_ai.tool.call.id", id.as_str())];
        span(r#""spanId":"0000000000000002","parentSpanId":"0000000000000001""#, &attributes)
    };
    let (parsed, _) = read(&[envelope(&format!("{outer},{}", inner("c1")))]);
    let one = steps(&parsed.runs[0]);
    assert_eq!(one.len(), 1);
    assert!(one[0].error.is_some());
    assert_eq!(one[0].request_id.as_deref(), Some("c1"));
    assert_eq!(accounted(&parsed), 2);
}

#[test]
fn the_json_of_a_span_is_kept_where_it_is_asked_for() {
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    let text = envelope(&span(r#""spanId":"0000000000000001""#, &[TOOL]));
    let (parsed, _) = spans::read_with(&OTLP, &[vec![text]], &options);
    let raw = parsed.runs[0].attempts[0].raw.clone().unwrap();
    assert!(raw.starts_with('{') && raw.contains("execute_tool"));
}

// Hostile input.

#[test]
fn a_chain_of_300_000_parents_neither_overflows_nor_crawls() {
    let count = 300_000_u64;
    let mut spans = Spans::default();
    for at in 0..count {
        let class = if at + 1 == count { SpanClass::Agent } else { SpanClass::Chain };
        let mut span = Span::new(at.to_string(), Place::default(), class);
        span.parent = at.checked_sub(1).map(|above| above.to_string());
        span.started_at = Some(Stamp::Nanos(at + 1));
        span.status = if class == SpanClass::Agent { SpanStatus::Error } else { SpanStatus::Ok };
        assert!(spans.push("t", span));
    }
    let parsed = spans.finish();
    assert_eq!(accounted(&parsed), count);
    assert_eq!(parsed.runs[0].format_outcome, Some(false));
}

#[test]
fn loops_of_parents_are_cut_and_every_span_is_kept() {
    let count = 50_000_u64;
    let mut spans = Spans::default();
    for at in 0..count {
        let mut span = Span::new(at.to_string(), Place::default(), SpanClass::Tool);
        span.parent = Some(((at + 1) % count).to_string());
        span.attempt = Some(Box::default());
        spans.push("t", span);
    }
    let mut own = Span::new("self".into(), Place::default(), SpanClass::Agent);
    own.parent = Some("self".into());
    spans.push("t", own);
    let parsed = spans.finish();
    assert_eq!(accounted(&parsed), count + 1);
    assert_eq!(issue(&parsed, "parent_loops").map(|issue| issue.count), Some(2));
}

#[test]
fn values_nested_without_end_are_counted_and_skipped() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    let list = deep(r#"{"arrayValue":{"values":["#, "]}}");
    let object = deep(r#"{"a":"#, "}").replace(":}", ":1}");
    for value in [&list, &object, &deep("[", "]")] {
        let attributes = [TOOL, ("gen_ai.tool.call.arguments", value.as_str()), ("other", value)];
        let spans = span(r#""spanId":"0000000000000001""#, &attributes);
        let (parsed, fates) = read(&[envelope(&spans)]);
        assert_eq!(fates, [Fate::Used]);
        assert_eq!(steps(&parsed.runs[0]).len(), 1);
    }
    let trace = r#"{"trace":"#.repeat(100_000) + &"}".repeat(100_000);
    let (parsed, fates) = read(&[trace]);
    assert!(matches!(fates[0], Fate::Refused(_)));
    assert!(parsed.runs.is_empty());
}
