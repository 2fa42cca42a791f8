//! MLflow traces.

use crate::spans;
use crate::spans::{
    accounted, failed, format_of, issue, kind, read_text, read_with, run, runs, steps, tag, tokens,
    turns, uncached,
};
use crate::support::{fixture_text, shared_text};
use agenteval::config::ReadOptions;
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::mlflow::MLFLOW;
use agenteval::model::{EndRule, ErrorOrigin, Final, ScoreValue, Stamp, Tokens};

#[test]
fn both_schemas_give_their_runs() {
    let text = fixture_text("mlflow/two_traces.ndjson");
    assert_eq!(format_of(&text), "mlflow");
    let (parsed, fates) = read_text(&MLFLOW, &text);
    assert_eq!(fates, [Fate::Used, Fate::Used]);
    let new = run(&parsed.runs, "tr-00000000000000000000000000000a01");
    assert_eq!(steps(new).len(), 2);
    let errors = failed(new);
    assert_eq!(errors.len(), 1);
    assert_eq!(kind(errors[0]), Some("SMTPServerBusy"));
    assert_eq!(steps(new)[0].input, steps(new)[1].input);
    let wanted = Tokens { input: 30.0, cache_read: 60.0, output: 8.0, ..Tokens::default() };
    assert_eq!(tokens(new), wanted, "the total of the metadata counts no second time");
    assert_eq!(turns(new), 1);
    assert_eq!((new.agent.as_deref(), new.model.as_deref()), (Some("mailer"), Some("small-1")));
    assert_eq!(new.task_id.as_deref(), Some("mail-1"));
    assert_eq!((tag(new, "session"), tag(new, "team")), (Some("s-1"), Some("post")));
    assert_eq!(new.started_at, Some(Stamp::Nanos(1_768_208_400_000_000_001)), "to the nanosecond");
    assert_eq!(new.format_outcome, None);
    let [score] = &new.scores[..] else { panic!("one score: {:?}", new.scores) };
    assert_eq!((score.name.as_ref(), &score.value), ("sent", &ScoreValue::Number(1.0)));
    assert_eq!(issue(&parsed, "assessments_ignored").map(|issue| issue.count), Some(1));
    let Final::Json(end) = &new.final_output else { panic!("an end") };
    assert!(end.contains("\"output\":\"sent\""), "{end}");
    let old = run(&parsed.runs, "tr-old-2");
    assert_eq!(old.format_outcome, Some(false));
    assert_eq!(failed(old)[0].error.as_ref().map(|e| e.origin), Some(ErrorOrigin::Flag));
    assert_eq!(accounted(&parsed), 6);
}

#[test]
fn a_tool_error_under_state_ok_is_recovered() {
    let Some(text) = shared_text("mlflow/trace_recovered.json") else { return };
    assert_eq!(format_of(&text), "mlflow");
    let (parsed, _) = read_text(&MLFLOW, &text);
    let [run] = &parsed.runs[..] else { panic!("one run") };
    let errors: Vec<Option<&str>> = steps(run).iter().map(|step| kind(step)).collect();
    assert_eq!(errors, [Some("TimeoutError"), None]);
    assert_eq!(run.format_outcome, None);
    assert_eq!(tokens(run), uncached(100.0, 20.0));
    assert_eq!(run.agent.as_deref(), Some("agent"));
    assert_eq!(accounted(&parsed), 4);
}

#[test]
fn an_error_of_the_root_is_a_failed_run() {
    let Some(text) = shared_text("mlflow/trace_failed.json") else { return };
    assert_eq!(format_of(&text), "mlflow");
    let runs = runs(&MLFLOW, &text);
    assert_eq!(runs[0].format_outcome, Some(false));
    let Final::Json(end) = &runs[0].final_output else { panic!("an end") };
    assert!(end.contains("ValueError: no answer"), "{end}");
    assert!(steps(&runs[0]).is_empty());
}

#[test]
fn a_total_of_the_metadata_counts_where_no_span_counts_any() {
    let text = r#"{"info":{"trace_id":"tr-1","state":"IN_PROGRESS","trace_metadata":{"mlflow.trace.tokenUsage":"{\"input_tokens\":5,\"output_tokens\":1}"}},"data":{"spans":[{"span_id":"AAAAAAAAAgE=","name":"t","start_time_unix_nano":1768208400000000000,"end_time_unix_nano":1768208401000000000,"attributes":{"mlflow.spanType":"\"TOOL\""}}]}}"#;
    let runs = runs(&MLFLOW, text);
    assert_eq!(runs[0].tokens, Some(uncached(5.0, 1.0)));
    assert_eq!(runs[0].end_rule, Some(EndRule::Unfinished));
}

#[test]
fn a_trace_without_info_or_id_is_refused() {
    let (_, fates) = read_text(&MLFLOW, "{\"info\":3,\"data\":{}}\n{\"info\":{},\"data\":{}}");
    let codes: Vec<&str> = fates
        .iter()
        .map(|fate| match fate {
            Fate::Refused(refusal) => refusal.code,
            _ => "",
        })
        .collect();
    assert_eq!(codes, ["trace_without_info", "trace_without_id"]);
}

#[test]
fn what_is_kept_of_a_call_has_its_input_and_result() {
    let text = fixture_text("mlflow/two_traces.ndjson");
    let files = [spans::records(&text).into_iter().map(str::to_owned).collect()];
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    let (parsed, _) = read_with(&MLFLOW, &files, &options);
    let new = run(&parsed.runs, "tr-00000000000000000000000000000a01");
    let raw = steps(new)[1].raw.as_deref().expect("kept");
    let raw: serde_json::Value = serde_json::from_str(raw).expect("JSON");
    assert_eq!((&raw["name"], &raw["result"]), (&"send_mail".into(), &"sent".into()));
    assert_eq!(raw["input"]["to"], "ann");
}
