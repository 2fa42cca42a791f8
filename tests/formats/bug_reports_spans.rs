//! Faults that users of other tools reported (the numbers are those of the list of reports), for
//! formats of spans; each test bears the symptom's name. And the rule behind most of them: a copy
//! of a file that is shuffled, reversed or split gives the same runs.

use crate::cli;
use crate::spans;
use crate::spans::{
    failed, issue, plain, read_files, read_text, records, runs, steps, tokens, turns, uncached,
};
use crate::support::{self, fixture_text, shared_text};
use agenteval::ingest::formats::jaeger::JAEGER;
use agenteval::ingest::formats::langfuse::LANGFUSE;
use agenteval::ingest::formats::langsmith::LANGSMITH;
use agenteval::ingest::formats::mlflow::MLFLOW;
use agenteval::ingest::formats::openai_agents::OPENAI_AGENTS;
use agenteval::ingest::formats::openinference::OPENINFERENCE;
use agenteval::ingest::formats::otlp::OTLP;
use agenteval::ingest::formats::{FORMATS, Fate, Format};
use agenteval::model::{EndRule, ErrorOrigin, Severity};
use serde_json::{Value, json};

// The order of files and of what is in them.

/// Lists of parts, whose order says nothing.
const LISTS: [&str; 12] = [
    "observations",
    "spans",
    "data",
    "resourceSpans",
    "scopeSpans",
    "resource_spans",
    "scope_spans",
    "batches",
    "instrumentationLibrarySpans",
    "post",
    "patch",
    "scores",
];

/// The document with each such list rearranged.
fn rearranged(value: &Value, how: &dyn Fn(&[Value]) -> Vec<Value>) -> Value {
    match value {
        Value::Object(members) => {
            let of = |(key, inner): (&String, &Value)| {
                let inner = rearranged(inner, how);
                let inner = match inner {
                    Value::Array(list) if LISTS.contains(&key.as_str()) => Value::Array(how(&list)),
                    other => other,
                };
                (key.clone(), inner)
            };
            Value::Object(members.iter().map(of).collect())
        }
        Value::Array(list) => {
            Value::Array(list.iter().map(|inner| rearranged(inner, how)).collect())
        }
        other => other.clone(),
    }
}

fn reversed(list: &[Value]) -> Vec<Value> {
    list.iter().rev().cloned().collect()
}

/// Every k-th element and so on: a fixed shuffle.
fn shuffled(list: &[Value]) -> Vec<Value> {
    (0..5).flat_map(|from| list.iter().skip(from).step_by(5)).cloned().collect()
}

/// The lowest list of spans of the document, where it can be split: every second span.
fn half(value: &Value, odd: bool) -> Value {
    let pick = |list: &[Value]| {
        let has_lists = list.iter().any(|item| {
            item.as_object().is_some_and(|item| {
                LISTS.iter().any(|key| item.get(*key).is_some_and(Value::is_array))
            })
        });
        if has_lists {
            return list.to_vec();
        }
        list.iter()
            .enumerate()
            .filter(|(at, _)| (at % 2 == 1) == odd)
            .map(|(_, item)| item.clone())
            .collect()
    };
    rearranged(value, &pick)
}

fn values(text: &str) -> Vec<Value> {
    records(text).into_iter().map(|record| serde_json::from_str(record).expect("JSON")).collect()
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn every_order_gives_the_same_runs(name: &str, format: &Format, text: &str) {
    let whole = values(text);
    let read = |files: &[Vec<String>]| plain(read_files(format, files).0.runs);
    let expected = read(&[texts(&whole)]);
    let backwards: Vec<Value> =
        whole.iter().rev().map(|value| rearranged(value, &reversed)).collect();
    assert_eq!(read(&[texts(&backwards)]), expected, "{name}, reversed");
    let mixed: Vec<Value> =
        shuffled(&whole).iter().map(|value| rearranged(value, &shuffled)).collect();
    assert_eq!(read(&[texts(&mixed)]), expected, "{name}, shuffled");
    let parts: [Vec<Value>; 2] = if whole.len() > 1 {
        [false, true].map(|odd| {
            let mine = whole.iter().enumerate().filter(|(at, _)| (at % 2 == 1) == odd);
            mine.map(|(_, value)| value.clone()).collect()
        })
    } else {
        [false, true].map(|odd| whole.iter().map(|value| half(value, odd)).collect())
    };
    let [first, second] = parts.map(|part| texts(&part));
    assert_eq!(read(&[first.clone(), second.clone()]), expected, "{name}, split in two");
    assert_eq!(read(&[second.clone(), first.clone()]), expected, "{name}, split, the other first");
    let twice = read(&[texts(&whole), texts(&whole)]);
    assert_eq!(twice, expected, "{name}, given twice");
}

#[test]
fn a_shuffled_reversed_split_or_repeated_copy_of_every_span_file_gives_the_same_runs() {
    let folders =
        ["otlp", "openinference", "jaeger", "langfuse", "langsmith", "mlflow", "openai_agents"];
    let Some(root) = support::shared("data") else { return };
    let mut seen = 0;
    for folder in folders {
        let mut files: Vec<_> = std::fs::read_dir(root.join(folder))
            .expect("a folder")
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for path in files {
            let text = std::fs::read_to_string(&path).expect("text");
            let name = spans::format_of(&text);
            let Some(format) = FORMATS.iter().find(|format| format.name == name) else { continue };
            if !matches!(format.reader, agenteval::ingest::formats::Reader::Parts(_)) {
                continue; // a list of messages of the same SDK
            }
            every_order_gives_the_same_runs(&path.display().to_string(), format, &text);
            seen += 1;
        }
    }
    assert_eq!(seen, 20, "all files of spans");
}

#[test]
fn the_same_holds_for_the_fixtures() {
    for (format, name) in [
        (&OTLP, "otlp/trip_planner.ndjson"),
        (&OTLP, "otlp/notes_bot_batches.json"),
        (&OPENINFERENCE, "openinference/phoenix_refund.ndjson"),
        (&OPENINFERENCE, "openinference/console_spans.json"),
        (&JAEGER, "jaeger/inventory.json"),
        (&LANGFUSE, "langfuse/download.json"),
        (&LANGFUSE, "langfuse/blob_observations.jsonl"),
        (&LANGSMITH, "langsmith/flat_runs.ndjson"),
        (&LANGSMITH, "langsmith/batch.json"),
        (&MLFLOW, "mlflow/two_traces.ndjson"),
        (&OPENAI_AGENTS, "openai-agents/two_traces.ndjson"),
    ] {
        every_order_gives_the_same_runs(name, format, &fixture_text(name));
    }
}

#[test]
fn conformant_and_nonconformant_otlp_give_one_and_the_same_result() {
    let conformant = shared_text("openinference/openai_agents_otlp.ndjson");
    let naive = shared_text("openinference/openai_agents_otlp_nonconformant.json");
    let (Some(conformant), Some(naive)) = (conformant, naive) else { return };
    assert_eq!(plain(runs(&OTLP, &conformant)), plain(runs(&OTLP, &naive)));
}

#[test]
fn span_formats_claim_their_own_of_all_real_files_and_no_other() {
    let of_spans =
        ["otlp", "openinference", "jaeger", "langfuse", "langsmith", "mlflow", "openai-agents"];
    let Some(list) = shared_text("expected.json") else { return };
    let expected: Value = serde_json::from_str(&list).expect("JSON");
    let mut seen = 0;
    for (name, wanted) in expected.as_object().expect("an object of files") {
        let path = support::shared(&format!("data/{name}")).expect("the shared folder");
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let ours = |format: &str| {
            if of_spans.contains(&format) { format.to_owned() } else { String::new() }
        };
        assert_eq!(
            ours(spans::format_of(&text)),
            ours(wanted.as_str().unwrap_or_default()),
            "{name}"
        );
        seen += 1;
    }
    assert!(seen > 100, "only {seen} files");
}

#[test]
fn figures_of_one_run_are_the_same_from_every_format_that_recorded_it() {
    let name = |rel: &str| support::shared(&format!("data/{rel}"));
    let files = [
        "openinference/openai_agents_otlp.ndjson",
        "openinference/openai_agents_otlp_nonconformant.json",
        "openinference/openai_agents_console_spans.json",
        "openai_agents/trace_spans.ndjson",
    ];
    let Some(paths) = files.map(name).into_iter().collect::<Option<Vec<_>>>() else { return };
    let reports: Vec<Value> =
        paths.iter().map(|path| cli::report(&[path.to_str().expect("UTF-8")])).collect();
    for (file, report) in files.iter().zip(&reports).skip(1) {
        for figure in [
            "first_step_accuracy",
            "mid_term_error_rate",
            "final_completion_rate",
            "failure_recovery_rate",
            "avg_retry_count",
            "retry_success_rate",
            "avg_steps",
            "step_error_rate",
            "first_failure_position",
            "repeated_action_rate",
        ] {
            let ours = cli::figure(report, figure);
            assert_eq!(ours, cli::figure(&reports[0], figure), "{file}, {figure}");
        }
    }
    let calls = cli::figure(&reports[0], "step_error_rate");
    assert_eq!(calls, (Some(0.25), Some(1.0), Some(4.0)), "one of four calls failed");
}

#[test]
fn bug_25_values_that_json_cannot_write_are_repaired_and_fail_no_record() {
    let folder = cli::Folder::new();
    let path = folder.file(
        "nan.ndjson",
        r#"{"name":"c","context":{"trace_id":"01","span_id":"02"},"span_kind":"LLM","parent_id":null,"start_time":"2026-01-10T10:00:00Z","end_time":"2026-01-10T10:00:01Z","status_code":"OK","attributes":{"llm.token_count.prompt":NaN,"llm.token_count.completion":4,"llm.cost.total":Infinity}}"#,
    );
    let report = cli::json(&["inspect", &path]);
    assert_eq!(report["inputs"][0]["rejected"], 0, "{report:#}");
    assert_eq!(report["inputs"][0]["repaired"], 1);
    assert_eq!(report["turns"], 1);
    let issues = report["issues"].as_array().expect("issues");
    let told = issues.iter().find(|issue| issue["code"] == "undecodable_attributes");
    assert_eq!(told.map(|issue| &issue["count"]), Some(&json!(2)), "{issues:#?}");
}

#[test]
fn no_two_span_formats_claim_one_file() {
    for (name, text) in [
        ("openinference", fixture_text("openinference/console_spans.json")),
        ("jaeger", fixture_text("jaeger/inventory.json")),
        ("langfuse", fixture_text("langfuse/download.json")),
        ("langsmith", fixture_text("langsmith/batch.json")),
        ("mlflow", fixture_text("mlflow/two_traces.ndjson")),
        ("openai-agents", fixture_text("openai-agents/two_traces.ndjson")),
        ("otlp", fixture_text("otlp/trip_planner.ndjson")),
    ] {
        let probe = agenteval::ingest::formats::Probe::new(
            std::path::Path::new("x"),
            records(&text).into_iter().take(1).map(str::as_bytes).collect(),
            false,
        );
        let of_spans =
            ["otlp", "openinference", "jaeger", "langfuse", "langsmith", "mlflow", "openai-agents"];
        let claims: Vec<&str> = FORMATS
            .iter()
            .filter(|format| of_spans.contains(&format.name) && (format.detect)(&probe))
            .map(|format| format.name)
            .collect();
        assert_eq!(claims, [name]);
    }
}

// One report each.

const ENVELOPE: &str = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[SPANS]}]}]}"#;

fn otlp(spans: &[Value]) -> String {
    let spans: Vec<String> = spans.iter().map(ToString::to_string).collect();
    ENVELOPE.replace("SPANS", &spans.join(","))
}

fn otlp_span(id: &str, parent: &str, operation: &str) -> Value {
    json!({
        "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": id, "parentSpanId": parent,
        "startTimeUnixNano": "1768212000000000000", "endTimeUnixNano": "1768212001000000000",
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": operation}}],
    })
}

fn with(mut span: Value, key: &str, value: Value) -> Value {
    span["attributes"].as_array_mut().unwrap().push(json!({"key": key, "value": value}));
    span
}

const A: &str = "00000000000000a1";
const B: &str = "00000000000000b2";
const C: &str = "00000000000000c3";

#[test]
fn bug_1_token_usage_is_not_zero_where_counts_are_texts() {
    for value in [json!({"intValue": "25"}), json!({"intValue": 25})] {
        let span = with(otlp_span(A, "", "chat"), "gen_ai.usage.input_tokens", value);
        assert_eq!(tokens(&runs(&OTLP, &otlp(&[span]))[0]), uncached(25.0, 0.0));
    }
    for value in [json!("25"), json!(25)] {
        let text = json!({"name": "c", "context": {"trace_id": "1", "span_id": "2"}, "span_kind": "LLM", "status_code": "OK", "attributes": {"llm.token_count.prompt": value}});
        assert_eq!(tokens(&runs(&OPENINFERENCE, &text.to_string())[0]), uncached(25.0, 0.0));
    }
}

#[test]
fn bug_2_integers_that_cannot_be_read_are_counted_and_not_silently_missing() {
    let span =
        with(otlp_span(A, "", "chat"), "gen_ai.usage.input_tokens", json!({"intValue": "a few"}));
    let (parsed, _) = read_text(&OTLP, &otlp(&[span]));
    assert_eq!(issue(&parsed, "undecodable_attributes").map(|issue| issue.count), Some(1));
    let tag = json!({"traceID": "1", "spanID": "2", "operationName": "c", "startTime": 1768212000000000_u64, "duration": 1, "tags": [{"key": "gen_ai.operation.name", "value": "chat"}, {"key": "gen_ai.usage.input_tokens", "value": "a few"}]});
    let (parsed, _) = read_text(&JAEGER, &tag.to_string());
    assert_eq!(issue(&parsed, "undecodable_attributes").map(|issue| issue.count), Some(1));
    assert_eq!(turns(&parsed.runs[0]), 1);
}

#[test]
fn bug_3_a_signal_does_not_vanish_where_numbers_are_bare_and_malformed_spans_are_told() {
    let mut bare = with(otlp_span(A, "", "chat"), "gen_ai.usage.output_tokens", json!(7));
    bare["startTimeUnixNano"] = json!(1_768_212_000_000_000_001_u64);
    let (parsed, _) = read_text(&OTLP, &otlp(&[bare, json!(3), json!({"spanId": "1"})]));
    assert_eq!(tokens(&parsed.runs[0]), uncached(0.0, 7.0));
    let start = parsed.runs[0].started_at.clone();
    assert_eq!(start, Some(agenteval::model::Stamp::Nanos(1_768_212_000_000_000_001)));
    let rejected = parsed.issues.iter().filter(|issue| issue.severity == Severity::Rejected);
    assert_eq!(rejected.map(|issue| issue.count).sum::<u64>(), 2);
}

#[test]
fn bug_4_spans_are_not_dropped_where_enums_are_names() {
    for code in [json!(2), json!("ERROR"), json!("STATUS_CODE_ERROR"), json!("Error")] {
        let mut span = otlp_span(A, "", "execute_tool");
        span["status"] = json!({"code": code});
        span["kind"] = json!("SPAN_KIND_SERVER");
        assert_eq!(failed(&runs(&OTLP, &otlp(&[span]))[0]).len(), 1, "{code}");
        let trace = json!({"info": {"trace_id": "tr-1", "state": "OK"}, "data": {"spans": [{"span_id": "AAAAAAAAAgE=", "name": "t", "status": {"code": code}, "attributes": {"mlflow.spanType": "\"TOOL\""}}]}});
        assert_eq!(failed(&runs(&MLFLOW, &trace.to_string())[0]).len(), 1, "{code}");
    }
}

#[test]
fn bug_5_a_trace_is_not_excluded_where_the_root_has_an_empty_parent() {
    for parent in ["", "0000000000000000"] {
        let (parsed, _) = read_text(
            &OTLP,
            &otlp(&[otlp_span(A, parent, "invoke_agent"), otlp_span(B, A, "execute_tool")]),
        );
        assert_eq!((parsed.runs.len(), steps(&parsed.runs[0]).len()), (1, 1));
        assert_eq!(issue(&parsed, "orphan_parents"), None);
    }
    let row = |parent: Value| json!({"id": "o", "trace_id": "t", "type": "TOOL", "level": "DEFAULT", "name": "x", "parent_observation_id": parent, "start_time": "2026-01-16 10:00:00", "end_time": "2026-01-16 10:00:01"});
    for parent in [json!(""), Value::Null] {
        let (parsed, _) = read_text(&LANGFUSE, &row(parent).to_string());
        assert_eq!(issue(&parsed, "orphan_parents"), None);
    }
}

#[test]
fn bug_6_traces_without_their_root_show_their_steps_and_orphans_do_not_float() {
    let orphans = [
        otlp_span(A, "00000000000000ff", "execute_tool"),
        otlp_span(B, "00000000000000ff", "chat"),
    ];
    let phoenix = |id: &str| json!({"name": "x", "context": {"trace_id": "t", "span_id": id}, "span_kind": "TOOL", "parent_id": "ff", "status_code": "OK", "attributes": {}});
    let jaeger = |id: &str| json!({"traceID": "a", "spanID": id, "operationName": "execute_tool x", "startTime": 1768212000000000_u64, "duration": 1, "references": [{"refType": "CHILD_OF", "traceID": "a", "spanID": "ff"}], "tags": [{"key": "gen_ai.operation.name", "value": "execute_tool"}]});
    for (format, text) in [
        (&OTLP, otlp(&orphans)),
        (&OPENINFERENCE, format!("{}\n{}", phoenix("1"), phoenix("2"))),
        (&JAEGER, format!("{}\n{}", jaeger("1"), jaeger("2"))),
    ] {
        let (parsed, _) = read_text(format, &text);
        assert_eq!((parsed.runs.len(), parsed.runs[0].attempts.len()), (1, 2), "{}", format.name);
        let told = issue(&parsed, "orphan_parents").map(|issue| issue.count);
        assert_eq!(told, Some(2), "{}", format.name);
    }
}

#[test]
fn bug_7_ids_in_hex_base64_and_with_0x_join() {
    let text = |parent: &str| {
        let root = json!({"name": "a", "context": {"trace_id": "0x0af7651916cd43dd8448eb211c80319c", "span_id": "0x00f067aa0ba902b7"}, "span_kind": "AGENT", "parent_id": null, "status_code": "OK", "attributes": {}});
        let child = json!({"name": "t", "context": {"trace_id": "CvdlGRbNQ92ESOshHIAxnA==", "span_id": "01"}, "span_kind": "TOOL", "parent_id": parent, "status_code": "OK", "attributes": {}});
        format!("{root}\n{child}")
    };
    for parent in ["00F067AA0BA902B7", "0x00f067aa0ba902b7", "f067aa0ba902b7", "APBnqgupArc="] {
        let (parsed, _) = read_text(&OPENINFERENCE, &text(parent));
        assert_eq!(parsed.runs.len(), 1, "{parent}");
        assert_eq!(issue(&parsed, "orphan_parents"), None, "{parent}");
    }
}

#[test]
fn bug_8_failed_tools_do_not_look_successful_where_the_status_is_unset() {
    let result = json!({"stringValue": "{\"status\": \"failure\", \"message\": \"disk full\"}"});
    let span = with(otlp_span(A, "", "execute_tool"), "gen_ai.tool.call.result", result);
    let run = &runs(&OTLP, &otlp(&[span]))[0];
    let error = failed(run)[0].error.clone().expect("an error");
    assert_eq!((error.origin, error.message.as_deref()), (ErrorOrigin::Flag, Some("disk full")));
    assert_eq!(run.format_outcome, None, "and a run without status is no success");
    let function = json!({"object": "trace.span", "id": "s", "trace_id": "t", "parent_id": null, "started_at": "2026-01-13T10:00:00Z", "ended_at": "2026-01-13T10:00:01Z", "span_data": {"type": "function", "name": "f", "input": "{}", "output": "{\"status\": \"failure\"}"}, "error": null});
    assert_eq!(failed(&runs(&OPENAI_AGENTS, &function.to_string())[0]).len(), 1);
}

#[test]
fn bug_9_failures_of_mcp_tools_are_not_recorded_as_fine() {
    let result = r#"{"isError": true, "content": [{"type": "text", "text": "no"}]}"#;
    let texts = [
        (&OTLP, otlp(&[with(otlp_span(A, "", "execute_tool"), "gen_ai.tool.call.result", json!({"stringValue": result}))])),
        (&OPENINFERENCE, json!({"name": "t", "context": {"trace_id": "1", "span_id": "2"}, "span_kind": "TOOL", "status_code": "OK", "attributes": {"output.value": result}}).to_string()),
        (&JAEGER, json!({"traceID": "1", "spanID": "2", "operationName": "t", "startTime": 1768212000000000_u64, "duration": 1, "tags": [{"key": "gen_ai.operation.name", "value": "execute_tool"}, {"key": "gen_ai.tool.call.result", "value": result}]}).to_string()),
        (&LANGFUSE, json!({"id": "o", "traceId": "t", "type": "TOOL", "level": "DEFAULT", "name": "x", "startTime": "2026-01-16T10:00:00Z", "endTime": "2026-01-16T10:00:01Z", "output": result}).to_string()),
        (&LANGSMITH, json!({"id": "r", "trace_id": "r", "run_type": "tool", "name": "x", "start_time": "2026-01-16T10:00:00", "end_time": "2026-01-16T10:00:01", "outputs": {"output": result}}).to_string()),
        (&MLFLOW, json!({"info": {"trace_id": "tr-1", "state": "OK"}, "data": {"spans": [{"span_id": "AAAAAAAAAgE=", "name": "t", "attributes": {"mlflow.spanType": "\"TOOL\"", "mlflow.spanOutputs": result}}]}}).to_string()),
        (&OPENAI_AGENTS, json!({"object": "trace.span", "id": "s", "trace_id": "t", "span_data": {"type": "function", "name": "f", "output": result}, "error": null}).to_string()),
    ];
    for (format, text) in texts {
        let runs = runs(format, &text);
        let errors = failed(&runs[0]);
        assert_eq!(errors.len(), 1, "{}", format.name);
        let origin = errors[0].error.as_ref().map(|error| error.origin);
        assert_eq!(origin, Some(ErrorOrigin::Flag), "{}", format.name);
    }
}

#[test]
fn bug_11_tokens_and_cost_are_not_doubled_by_the_sum_on_the_agent() {
    if let Some(text) = shared_text("otlp/vercel_ai7_otel_genai.ndjson") {
        assert_eq!(tokens(&runs(&OTLP, &text)[0]), uncached(400.0, 80.0), "not 800");
    }
    for (format, name, input, output) in [
        (&LANGFUSE, "langfuse/microsoft-agent-2025-12-17.trace.json", 293.0, 106.0),
        (&OPENAI_AGENTS, "openai_agents/trace_spans.ndjson", 300.0, 60.0),
        (&MLFLOW, "mlflow/trace_recovered.json", 100.0, 20.0),
    ] {
        let Some(text) = shared_text(name) else { return };
        assert_eq!(tokens(&runs(format, &text)[0]), uncached(input, output), "{name}");
    }
}

#[test]
fn bug_12_usage_on_nested_wrappers_of_one_call_counts_once_and_is_told() {
    let usage = |span: Value| with(span, "gen_ai.usage.input_tokens", json!({"intValue": 10}));
    let spans = [
        usage(otlp_span(A, "", "chat")),
        usage(otlp_span(B, A, "chat")),
        usage(otlp_span(C, B, "generate_content")),
    ];
    let (parsed, _) = read_text(&OTLP, &otlp(&spans));
    assert_eq!((tokens(&parsed.runs[0]), turns(&parsed.runs[0])), (uncached(10.0, 0.0), 1));
    assert_eq!(issue(&parsed, "usage_spans_ignored").map(|issue| issue.count), Some(2));
}

#[test]
fn bug_23_a_run_that_never_ended_is_unfinished_and_not_a_success() {
    let run = |end: Value, status: &str, error: Value| {
        json!({"id": "r", "trace_id": "r", "run_type": "chain", "name": "x", "start_time": "2026-01-16T10:00:00", "end_time": end, "status": status, "error": error}).to_string()
    };
    for (text, rule, outcome) in [
        (run(Value::Null, "pending", Value::Null), Some(EndRule::Unfinished), None),
        (run(Value::Null, "success", Value::Null), Some(EndRule::Unfinished), None),
        (
            run(json!("2026-01-16T10:00:01"), "pending", Value::Null),
            Some(EndRule::Unfinished),
            None,
        ),
        (run(json!("2026-01-16T10:00:01"), "success", Value::Null), None, None),
        (run(Value::Null, "success", json!("ValueError('x')")), None, Some(false)),
    ] {
        let found = &runs(&LANGSMITH, &text)[0];
        assert_eq!((found.end_rule, found.format_outcome), (rule, outcome), "{text}");
    }
    let twice = run(json!("2026-01-16T10:00:01"), "success", Value::Null);
    let (parsed, fates) = read_text(&LANGSMITH, &format!("{twice}\n{twice}"));
    assert_eq!((parsed.runs.len(), &fates[1]), (1, &Fate::Merged("later_record_of_a_run")));
    let mut open = otlp_span(A, "", "invoke_agent");
    open.as_object_mut().unwrap().remove("endTimeUnixNano");
    assert_eq!(runs(&OTLP, &otlp(&[open]))[0].end_rule, Some(EndRule::Unfinished));
    let open = json!({"object": "trace.span", "id": "s", "trace_id": "t", "parent_id": null, "started_at": "2026-01-13T10:00:00Z", "ended_at": null, "span_data": {"type": "agent", "name": "a"}, "error": null});
    assert_eq!(runs(&OPENAI_AGENTS, &open.to_string())[0].end_rule, Some(EndRule::Unfinished));
}

#[test]
fn bug_25_nulls_unknown_fields_and_missing_sections_fail_no_record() {
    for (format, text) in [
        (
            &OTLP,
            r#"{"resourceSpans":[{"resource":null,"scopeSpans":[{"scope":null,"spans":[{"traceId":"01","spanId":"02","status":null,"events":null,"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.usage.input_tokens","value":null}],"novel":{}}]}]}]}"#,
        ),
        (
            &OPENINFERENCE,
            r#"{"context":{"trace_id":"01","span_id":"02"},"span_kind":"LLM","status_code":null,"status_message":null,"attributes":{"llm.token_count.prompt":null,"llm":{"model_name":null}},"events":null,"novel":{}}"#,
        ),
        (
            &JAEGER,
            r#"{"traceID":"01","spanID":"02","operationName":null,"references":null,"startTime":1768212000000000,"duration":1,"tags":[{"key":"gen_ai.operation.name","value":"chat"},{"key":"gen_ai.usage.input_tokens","value":null}],"logs":null,"warnings":null}"#,
        ),
        (
            &LANGFUSE,
            r#"{"id":"o","traceId":"t","type":"GENERATION","level":null,"name":null,"startTime":"2026-01-16T10:00:00Z","endTime":null,"input":null,"output":null,"metadata":null,"usageDetails":{"input":null},"totalCost":null}"#,
        ),
        (
            &LANGSMITH,
            r#"{"id":"r","trace_id":"r","run_type":"llm","name":null,"start_time":null,"end_time":null,"inputs":null,"outputs":null,"extra":null,"error":null,"feedback_stats":null}"#,
        ),
        (
            &MLFLOW,
            r#"{"info":{"trace_id":"tr-1","state":null,"assessments":null,"tags":null},"data":{"spans":[{"span_id":"AAAAAAAAAgE=","name":null,"status":null,"events":null,"attributes":{"mlflow.spanType":"\"LLM\"","mlflow.chat.tokenUsage":null}}]}}"#,
        ),
        (
            &OPENAI_AGENTS,
            r#"{"object":"trace.span","id":"s","trace_id":"t","parent_id":null,"started_at":null,"ended_at":null,"span_data":{"type":"generation","model":null,"usage":null},"error":null}"#,
        ),
    ] {
        let (parsed, fates) = read_text(format, text);
        assert_eq!(fates, [Fate::Used], "{}", format.name);
        assert_eq!(turns(&parsed.runs[0]), 1, "{}", format.name);
        assert_eq!(issue(&parsed, "undecodable_attributes"), None, "{}", format.name);
        assert_eq!(tokens(&parsed.runs[0]), uncached(0.0, 0.0), "{}", format.name);
    }
}
