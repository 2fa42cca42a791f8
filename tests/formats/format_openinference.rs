//! Span lists of Phoenix and of OpenTelemetry's console exporter.

use crate::spans::{
    accounted, failed, format_of, issue, kind, read_text, run, runs, steps, tag, tokens, turns,
};
use crate::support::{fixture_text, shared_text};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::openinference::OPENINFERENCE;
use agenteval::ingest::formats::otlp::OTLP;
use agenteval::model::{ErrorOrigin, Final, Tokens};

#[test]
fn phoenix_spans_dotted_and_nested_give_one_recovered_run_and_an_orphan() {
    let text = fixture_text("openinference/phoenix_refund.ndjson");
    assert_eq!(format_of(&text), "openinference");
    let (parsed, fates) = read_text(&OPENINFERENCE, &text);
    assert!(fates.iter().all(|fate| *fate == Fate::Used));
    let paid = run(&parsed.runs, "5f1c2a9e77d04b0c9a3d6e1f20b4c8d1");
    let kinds: Vec<&str> = paid.attempts.iter().map(|attempt| attempt.kind.as_ref()).collect();
    assert_eq!(kinds, ["llm", "tool", "llm", "tool"]);
    let errors = failed(paid);
    assert_eq!(errors.len(), 1);
    assert_eq!(kind(errors[0]), Some("ConnectionError"));
    assert_eq!(steps(paid)[0].input, steps(paid)[1].input);
    assert_eq!(paid.agent.as_deref(), Some("refund_agent"));
    assert_eq!(tag(paid, "session"), Some("s-4"));
    assert_eq!(paid.format_outcome, None, "a status OK is no success");
    let wanted = Tokens { input: 50.0, cache_read: 220.0, output: 22.0, ..Tokens::default() };
    assert_eq!(tokens(paid), wanted, "the agent's sum counts no second time");
    let Final::Json(end) = &paid.final_output else { panic!("an end") };
    assert!(end.contains("Order 17 is refunded."), "{end}");
    let orphan = run(&parsed.runs, "5f1c2a9e77d04b0c9a3d6e1f20b4c8d2");
    assert_eq!(failed(orphan)[0].error.as_ref().map(|e| e.origin), Some(ErrorOrigin::Flag));
    assert_eq!(issue(&parsed, "orphan_parents").map(|issue| issue.count), Some(1));
    assert_eq!(issue(&parsed, "calls_without_span"), None, "calls are matched by name");
    assert_eq!(issue(&parsed, "undecodable_attributes"), None, "null is not unreadable");
    assert_eq!(accounted(&parsed), 6);
}

#[test]
fn concatenated_console_spans_give_one_failed_run_with_one_failed_call() {
    let text = fixture_text("openinference/console_spans.json");
    assert_eq!(format_of(&text), "openinference");
    let runs = runs(&OPENINFERENCE, &text);
    let [run] = &runs[..] else { panic!("one run, not {}", runs.len()) };
    assert_eq!(run.run_id.as_deref(), Some("0af7651916cd43dd8448eb211c803100"));
    assert_eq!(failed(run).len(), 1);
    assert_eq!(run.format_outcome, Some(false));
    assert_eq!(tag(run, "service.name"), Some("clock-bot"));
}

#[test]
fn a_list_below_data_and_columns_of_a_table_are_read_too() {
    let span = r#"{"name":"t","context":{"trace_id":"t1","span_id":"1"},"span_kind":"TOOL","parent_id":null,"start_time":"2026-01-10T10:00:00Z","end_time":"2026-01-10T10:00:01Z","status_code":"OK","status_message":"","attributes":{"input.value":"1"},"events":[]}"#;
    let listed = format!(r#"{{"data":[{span}, 7],"next_cursor":null}}"#);
    assert_eq!(format_of(&listed), "openinference");
    let (parsed, _) = read_text(&OPENINFERENCE, &listed);
    assert_eq!(steps(&parsed.runs[0]).len(), 1);
    assert_eq!(issue(&parsed, "spans_rejected").map(|issue| issue.count), Some(1));
    let row = r#"{"context.trace_id":"t1","context.span_id":"1","name":"t","span_kind":"TOOL","parent_id":null,"start_time":1768039200000,"end_time":1768039201000,"status_code":"OK","status_message":"","attributes.input.value":"1"}"#;
    assert_eq!(format_of(row), "openinference");
    let runs = runs(&OPENINFERENCE, row);
    assert_eq!(steps(&runs[0])[0].input, steps(&parsed.runs[0])[0].input);
}

#[test]
fn a_span_without_trace_is_refused_and_a_cut_one_is_truncated() {
    let (parsed, fates) = read_text(
        &OPENINFERENCE,
        "{\"context\":{\"span_id\":\"1\"},\"span_kind\":\"TOOL\"}\n{\"context\":{\"trace_id\":\"1\"",
    );
    assert!(parsed.runs.is_empty());
    let codes: Vec<&str> = fates
        .iter()
        .map(|fate| match fate {
            Fate::Refused(refusal) => refusal.code,
            _ => "",
        })
        .collect();
    assert_eq!(codes, ["no_readable_span", "truncated_record"]);
    assert_eq!(accounted(&parsed), 1);
}

#[test]
fn the_console_file_gives_the_figures_of_the_otlp_file_of_the_same_runs() {
    let console = shared_text("openinference/openai_agents_console_spans.json");
    let otlp = shared_text("openinference/openai_agents_otlp.ndjson");
    let (Some(console), Some(otlp)) = (console, otlp) else { return };
    assert_eq!(format_of(&console), "openinference");
    let (mut ours, mut theirs) = (runs(&OPENINFERENCE, &console), runs(&OTLP, &otlp));
    assert_eq!(ours.len(), 2);
    ours.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    theirs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    for (a, b) in ours.iter().zip(&theirs) {
        // Times differ below a microsecond, as the exporters write them; all else is the same.
        assert_eq!(
            (&a.run_id, &a.agent, &a.format_outcome),
            (&b.run_id, &b.agent, &b.format_outcome)
        );
        assert_eq!((&a.tags, &a.final_output, turns(a)), (&b.tags, &b.final_output, turns(b)));
        let told = |run: &agenteval::model::Trajectory<'static>| {
            let of = |attempt: &agenteval::model::Attempt<'static>| {
                let name = attempt.name.clone();
                (name, attempt.input, attempt.error.clone(), attempt.tokens, attempt.turn)
            };
            run.attempts.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(told(a), told(b));
    }
}
