//! Span formats under input that is wrong on purpose: nothing panics, nothing hangs, and whatever
//! is read is accounted for.

use crate::spans;
use crate::spans::{accounted, read_files, records};
use crate::support::fixture_text;
use agenteval::ingest::formats::jaeger::JAEGER;
use agenteval::ingest::formats::langfuse::LANGFUSE;
use agenteval::ingest::formats::langsmith::LANGSMITH;
use agenteval::ingest::formats::mlflow::MLFLOW;
use agenteval::ingest::formats::openai_agents::OPENAI_AGENTS;
use agenteval::ingest::formats::openinference::OPENINFERENCE;
use agenteval::ingest::formats::otlp::OTLP;
use agenteval::ingest::formats::{Fate, Format};
use serde_json::{Value, json};

const FIXTURES: [(&Format, &str); 8] = [
    (&OTLP, "otlp/notes_bot_batches.json"),
    (&OPENINFERENCE, "openinference/phoenix_refund.ndjson"),
    (&JAEGER, "jaeger/inventory.json"),
    (&LANGFUSE, "langfuse/download.json"),
    (&LANGSMITH, "langsmith/flat_runs.ndjson"),
    (&LANGSMITH, "langsmith/batch.json"),
    (&MLFLOW, "mlflow/two_traces.ndjson"),
    (&OPENAI_AGENTS, "openai-agents/two_traces.ndjson"),
];

/// Every value of the document in turn replaced by `other`.
fn replaced(value: &Value, other: &Value, found: &mut Vec<Value>) {
    fn at<'v>(value: &'v mut Value, path: &[String]) -> &'v mut Value {
        path.iter().fold(value, |value, key| match value {
            Value::Array(list) => &mut list[key.parse::<usize>().unwrap()],
            value => &mut value[key.as_str()],
        })
    }
    let mut paths: Vec<Vec<String>> = vec![Vec::new()];
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        let mut copy = value.clone();
        let below: Vec<String> = match at(&mut copy, &path) {
            Value::Object(members) => members.keys().cloned().collect(),
            Value::Array(list) => (0..list.len()).map(|at| at.to_string()).collect(),
            _ => Vec::new(),
        };
        paths.extend(below.into_iter().map(|key| [path.clone(), vec![key]].concat()));
        *at(&mut copy, &path) = other.clone();
        found.push(copy);
    }
}

#[test]
fn any_value_of_any_other_type_panics_nothing() {
    let others = [json!(null), json!(-7), json!("x"), json!([]), json!({"a": [1]}), json!(true)];
    for (format, name) in FIXTURES {
        let text = fixture_text(name);
        for record in records(&text) {
            let value: Value = serde_json::from_str(record).expect("JSON");
            for other in &others {
                let mut all = Vec::new();
                replaced(&value, other, &mut all);
                for changed in all {
                    let (parsed, fates) = read_files(format, &[vec![changed.to_string()]]);
                    let gave = !parsed.runs.is_empty() || accounted(&parsed) > 0;
                    let told = !matches!(fates[0], Fate::Used);
                    assert!(gave || told, "{name}: used and nothing came of it: {changed}");
                }
            }
        }
    }
}

#[test]
fn a_record_cut_anywhere_is_refused_as_a_fault_of_form() {
    for (format, name) in FIXTURES {
        let text = fixture_text(name);
        let record = records(&text)[0];
        for end in (1..record.len()).step_by(11).filter(|end| record.is_char_boundary(*end)) {
            let (parsed, fates) = read_files(format, &[vec![record[..end].to_owned()]]);
            assert!(parsed.runs.is_empty(), "{name} cut at {end}");
            // A number cut in its middle is told apart from a fault by the repair that follows.
            let may_be_repaired = matches!(&fates[0], Fate::Refused(refusal) if refusal.repairable);
            assert!(may_be_repaired, "{name} cut at {end}: {:?}", fates[0]);
        }
    }
}

#[test]
fn values_nested_without_end_are_skipped_or_refused() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let objects = r#"{"llm":"#.repeat(50_000) + "1" + &"}".repeat(50_000);
    for nested in [&deep, &objects] {
        for (format, text) in [
            (
                &OPENINFERENCE,
                format!(
                    r#"{{"context":{{"trace_id":"1","span_id":"2"}},"span_kind":"TOOL","attributes":{{"llm":{nested},"input":{{"value":{nested}}},"output.value":{nested}}}}}"#
                ),
            ),
            (
                &JAEGER,
                format!(
                    r#"{{"traceID":"1","spanID":"2","operationName":"x","startTime":1768212000000000,"duration":1,"tags":[{{"key":"gen_ai.operation.name","value":"chat"}},{{"key":"gen_ai.output.messages","value":{nested}}}]}}"#
                ),
            ),
            (
                &LANGFUSE,
                format!(
                    r#"{{"id":"o","traceId":"t","type":"GENERATION","startTime":"2026-01-16T10:00:00Z","input":{nested},"output":{nested},"metadata":{nested},"usageDetails":{nested}}}"#
                ),
            ),
            (
                &LANGSMITH,
                format!(
                    r#"{{"id":"r","trace_id":"r","run_type":"llm","inputs":{nested},"outputs":{{"generations":{nested},"output":{nested}}},"child_runs":{nested}}}"#
                ),
            ),
            (
                &MLFLOW,
                format!(
                    r#"{{"info":{{"trace_id":"tr-1"}},"data":{{"spans":[{{"span_id":"AA==","attributes":{{"mlflow.spanType":"\"TOOL\"","mlflow.spanInputs":{nested}}},"events":{nested}}}]}}}}"#
                ),
            ),
            (
                &OPENAI_AGENTS,
                format!(
                    r#"{{"object":"trace.span","id":"s","trace_id":"t","span_data":{{"type":"generation","input":{nested},"output":{nested},"usage":{nested}}}}}"#
                ),
            ),
        ] {
            let (parsed, fates) = read_files(format, &[vec![text]]);
            assert_eq!(fates.len(), 1);
            assert!(
                !parsed.runs.is_empty() || matches!(fates[0], Fate::Refused(_)),
                "{}",
                format.name
            );
        }
    }
    // Runs in runs, deeper than any real ones.
    let open = r#"{"id":"a","run_type":"chain","child_runs":["#;
    let nested = open.repeat(2_000) + &"]}".repeat(2_000);
    let (_, fates) = read_files(&LANGSMITH, &[vec![nested]]);
    assert_eq!(fates.len(), 1);
}

#[test]
fn long_chains_and_loops_of_parents_take_linear_time() {
    let count = 60_000;
    let row = |at: usize| {
        let parent = (at + 1) % count;
        format!(r#"{{"id":"r{at}","parent_run_id":"r{parent}","run_type":"tool","name":"x"}}"#)
    };
    let rows: Vec<String> = (0..count).map(row).collect();
    let (parsed, _) = read_files(&LANGSMITH, &[rows]);
    assert_eq!(accounted(&parsed), count as u64);
    assert_eq!(parsed.runs.len(), 1);
    let turn = |at: usize| {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"s{}\"", at - 1) };
        format!(
            r#"{{"object":"trace.span","id":"s{at}","trace_id":"t","parent_id":{parent},"span_data":{{"type":"custom","name":"turn","data":{{"usage":{{"input_tokens":1,"output_tokens":0}}}}}}}}"#
        )
    };
    let turns: Vec<String> = (0..count).map(turn).collect();
    let (parsed, _) = read_files(&OPENAI_AGENTS, &[turns]);
    assert_eq!(spans::tokens(&parsed.runs[0]).input, 1.0, "the lowest one alone counts");
}

/// A record of one span of the format, whose parent is `parent`; all are of one trace.
fn span_with_parent(format: &str, id: usize, parent: usize) -> String {
    let (hex, above) = (format!("{:016x}", id + 1), format!("{:016x}", parent + 1));
    let start = 1_768_212_000_000_000_000_u64 + id as u64;
    let value = match format {
        "otlp" => {
            json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "a".repeat(32), "spanId": hex,
            "parentSpanId": above, "name": "execute_tool x", "startTimeUnixNano": start.to_string(),
            "endTimeUnixNano": (start + 9).to_string(),
            "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}]}]}]}]})
        }
        "openinference" => {
            json!({"context": {"trace_id": "1", "span_id": hex}, "parent_id": above, "name": "x",
            "span_kind": "TOOL", "attributes": {"openinference.span.kind": "TOOL"}})
        }
        "jaeger" => {
            json!({"traceID": "1", "spanID": hex, "operationName": "execute_tool x", "duration": 9,
            "references": [{"refType": "CHILD_OF", "traceID": "1", "spanID": above}], "startTime": start / 1000,
            "tags": [{"key": "gen_ai.operation.name", "value": "execute_tool"}]})
        }
        "langfuse" => {
            json!({"id": hex, "traceId": "t", "type": "TOOL", "name": "x", "parentObservationId": above,
            "startTime": "2026-01-16T10:00:00Z", "endTime": "2026-01-16T10:00:01Z"})
        }
        "langsmith" => {
            json!({"id": hex, "trace_id": "t", "parent_run_id": above, "run_type": "tool", "name": "x"})
        }
        "mlflow" => json!({"span_id": hex, "parent_span_id": above, "name": "x",
            "attributes": {"mlflow.spanType": "\"TOOL\""}}),
        _ => json!({"object": "trace.span", "id": hex, "trace_id": "t", "parent_id": above,
            "span_data": {"type": "function", "name": "x"}}),
    };
    value.to_string()
}

#[test]
fn parents_in_circles_are_cut_in_every_span_format() {
    let count = 600;
    for format in [&OTLP, &OPENINFERENCE, &JAEGER, &LANGFUSE, &LANGSMITH, &MLFLOW, &OPENAI_AGENTS] {
        for (what, parent) in [
            ("itself", (|id| id) as fn(usize) -> usize),
            ("pairs", |id| id ^ 1),
            ("one circle", |id| (id + 1) % 600),
            ("a tail on a circle", |id| if id < 300 { (id + 1) % 300 } else { id - 1 }),
        ] {
            let began = std::time::Instant::now();
            let spans: Vec<String> =
                (0..count).map(|id| span_with_parent(format.name, id, parent(id))).collect();
            let spans = match format.name {
                // A record is a whole trace.
                "mlflow" => {
                    let spans = spans.join(",");
                    vec![format!(
                        r#"{{"info":{{"trace_id":"tr-1"}},"data":{{"spans":[{spans}]}}}}"#
                    )]
                }
                _ => spans,
            };
            let (parsed, fates) = read_files(format, &[spans]);
            let rejected = fates.iter().filter(|fate| matches!(fate, Fate::Refused(_))).count();
            assert_eq!(rejected, 0, "{} {what}: {:?}", format.name, fates[0]);
            assert!(!parsed.runs.is_empty(), "{} {what}", format.name);
            let attempts: usize = parsed.runs.iter().map(|run| run.attempts.len()).sum();
            assert!(attempts > 0, "{} {what}: {attempts}", format.name);
            let told = parsed.issues.iter().any(|issue| issue.code == "parent_loops");
            assert!(told, "{} {what}: {:?}", format.name, parsed.issues);
            assert!(began.elapsed().as_secs() < 20, "{} {what}", format.name);
        }
    }
}
