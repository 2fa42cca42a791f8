//! LangSmith runs, flat and in batches.

use crate::cli::{Folder, run as cli};
use crate::spans::{
    accounted, failed, format_of, issue, kind, plain, read_files, read_text, run, runs, steps, tag,
    tokens, turns, uncached,
};
use crate::support::{fixture_text, shared_text};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::langsmith::LANGSMITH;
use agenteval::model::{EndRule, ErrorOrigin, Final, ScoreValue, Stamp, Tokens};

#[test]
fn flat_runs_give_a_recovered_run_and_an_unfinished_one() {
    let text = fixture_text("langsmith/flat_runs.ndjson");
    assert_eq!(format_of(&text), "langsmith");
    let (parsed, fates) = read_text(&LANGSMITH, &text);
    assert!(fates.iter().all(|fate| *fate == Fate::Used));
    let done = run(&parsed.runs, "11111111-0000-4000-8000-000000000001");
    assert_eq!(steps(done).len(), 2);
    let errors = failed(done);
    assert_eq!(errors.len(), 1, "a tool that returns its error failed");
    assert_eq!(kind(errors[0]), Some("TimeoutError"));
    assert_eq!(errors[0].error.as_ref().map(|error| error.origin), Some(ErrorOrigin::Flag));
    assert_eq!(errors[0].request_id.as_deref(), Some("call_1"));
    let wanted = Tokens { input: 100.0, cache_read: 30.0, output: 13.0, ..Tokens::default() };
    assert_eq!(tokens(done), wanted, "the root's sum counts no second time");
    assert_eq!((done.task_id.as_deref(), done.agent.as_deref()), (Some("ex-1"), Some("planner")));
    assert_eq!((tag(done, "session"), tag(done, "project")), (Some("t-1"), Some("clock")));
    assert_eq!(done.scores.len(), 1);
    assert_eq!(done.scores[0].value, ScoreValue::Number(1.0));
    assert_eq!(issue(&parsed, "calls_without_span").map(|issue| issue.count), Some(1));
    assert_eq!(issue(&parsed, "orphan_parents"), None, "a missing row is bridged by dotted_order");
    let open = run(&parsed.runs, "22222222-0000-4000-8000-000000000001");
    assert_eq!(open.end_rule, Some(EndRule::Unfinished));
    assert_eq!(steps(open)[0].status.as_deref(), Some("running"), "success without an end is none");
    assert_eq!((open.format_outcome, open.ended_at.as_ref()), (None, None));
    assert_eq!(accounted(&parsed), 6);
}

#[test]
fn a_batch_is_merged_by_id_and_its_error_counts_once_at_the_deepest_run() {
    let text = fixture_text("langsmith/batch.json");
    assert_eq!(format_of(&text), "langsmith");
    let (parsed, fates) = read_text(&LANGSMITH, &text);
    assert_eq!(fates, [Fate::Used]);
    let [run] = &parsed.runs[..] else { panic!("one run") };
    let errors = failed(run);
    assert_eq!(errors.len(), 1);
    assert_eq!(kind(errors[0]), Some("TypeError"));
    let message = errors[0].error.as_ref().and_then(|error| error.message.as_deref());
    assert_eq!(message, Some("TypeError('cannot add')"), "without the traceback");
    assert_eq!(errors[0].ended_at, Some(Stamp::Nanos(1_768_471_200_500_000_000)), "milliseconds");
    assert_eq!(run.format_outcome, Some(false));
    assert_eq!(accounted(&parsed), 4);
}

#[test]
fn creates_and_updates_in_any_order_and_any_file_give_the_same_run() {
    let whole: serde_json::Value =
        serde_json::from_str(&fixture_text("langsmith/batch.json")).unwrap();
    let expected = plain(runs(&LANGSMITH, &whole.to_string()));
    let post = format!(r#"{{"post":{}}}"#, whole["post"]);
    let patch = format!(r#"{{"patch":{}}}"#, whole["patch"]);
    for files in [[&post, &patch], [&patch, &post]] {
        let files = files.map(|text| vec![text.clone()]);
        assert_eq!(plain(read_files(&LANGSMITH, &files).0.runs), expected);
    }
    let (parsed, fates) = read_files(&LANGSMITH, &[vec![post.clone()], vec![post]]);
    assert_eq!(fates[1], Fate::Merged("later_record_of_a_run"));
    assert_eq!(parsed.runs[0].end_rule, Some(EndRule::Unfinished), "only begun");
}

#[test]
fn langgraph_rows_give_two_runs_with_one_error_each() {
    let Some(text) = shared_text("langsmith/langgraph_runs_flat.jsonl") else { return };
    assert_eq!(format_of(&text), "langsmith");
    let (parsed, _) = read_text(&LANGSMITH, &text);
    assert_eq!(parsed.runs.len(), 2);
    let a = run(&parsed.runs, "01a22810-a0bc-76dd-a8dd-c5fa34c1c360");
    assert_eq!((turns(a), steps(a).len()), (4, 2));
    assert_eq!(kind(steps(a)[0]), Some("TimeoutError"));
    assert!(steps(a)[1].error.is_none());
    assert_eq!(steps(a)[0].input, steps(a)[1].input);
    assert_eq!((a.format_outcome, a.end_rule), (None, None));
    assert_eq!(tokens(a), uncached(400.0, 80.0));
    assert_eq!((a.agent.as_deref(), a.model.as_deref()), (Some("LangGraph"), Some("fake-model-1")));
    assert_eq!(tag(a, "session"), Some("t1"));
    let b = run(&parsed.runs, "01a22810-a0e9-73fc-a0e8-a835bda53c09");
    assert_eq!((turns(b), steps(b).len(), failed(b).len()), (1, 1, 1));
    assert_eq!(kind(steps(b)[0]), Some("TimeoutError"));
    assert_eq!(b.format_outcome, Some(false));
    let Final::Json(end) = &b.final_output else { panic!("an end") };
    assert!(end.contains("upstream timed out after 5s") && !end.contains("Traceback"), "{end}");
    assert_eq!(accounted(&parsed), 39);
    assert_eq!(issue(&parsed, "calls_without_span").map(|issue| issue.count), Some(1));
}

#[test]
fn batches_of_both_sdks_give_one_model_call_each() {
    for (name, model) in [
        ("langsmith/js_wrap_openai_post_patch.json", "gpt-4o-mini-2024-07-18"),
        ("langsmith/py_wrap_openai_post_patch.json", "gpt-4o-mini-2024-07-18"),
    ] {
        let Some(text) = shared_text(name) else { return };
        assert_eq!(format_of(&text), "langsmith", "{name}");
        let (parsed, _) = read_text(&LANGSMITH, &text);
        let [run] = &parsed.runs[..] else { panic!("one run in {name}") };
        assert_eq!((turns(run), steps(run).len()), (1, 0), "{name}");
        assert_eq!(tokens(run), uncached(9.0, 9.0), "{name}");
        assert_eq!(run.model.as_deref(), Some(model), "{name}");
        assert_eq!((run.end_rule, run.format_outcome), (None, None), "{name}");
        assert_eq!(accounted(&parsed), 2, "{name}");
    }
}

#[test]
fn rows_without_trace_find_it_through_their_parents_and_loops_end() {
    let row = |id: &str, parent: &str| {
        format!(
            r#"{{"id":"{id}","parent_run_id":{parent},"name":"{id}","run_type":"tool","start_time":"2026-01-14T10:00:00","end_time":"2026-01-14T10:00:01","inputs":{{}}}}"#
        )
    };
    let text = [row("c", "\"b\""), row("b", "\"a\""), row("a", "null")].join("\n");
    let found = runs(&LANGSMITH, &text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].run_id.as_deref(), Some("a"));
    let text = [row("y", "\"x\""), row("x", "\"y\"")].join("\n");
    let (parsed, _) = read_text(&LANGSMITH, &text);
    assert_eq!(parsed.runs.len(), 1);
    assert_eq!(accounted(&parsed), 2);
    let nested = r#"{"id":"p","name":"p","run_type":"chain","child_runs":[{"id":"q","parent_run_id":"p","name":"q","run_type":"tool","inputs":{"a":1}}]}"#;
    assert_eq!(steps(&runs(&LANGSMITH, nested)[0]).len(), 1);
}

#[test]
fn a_run_that_has_no_id_at_all_is_refused() {
    let (_, fates) =
        read_text(&LANGSMITH, "{\"run_type\":\"tool\",\"name\":\"x\"}\n[]\n{\"post\":[]}");
    assert!(matches!(&fates[0], Fate::Refused(refusal) if refusal.code == "no_readable_run"));
    assert_eq!(fates[1], Fate::Ignored("no_runs"));
    assert_eq!(fates[2], Fate::Ignored("no_runs"));
}

#[test]
fn feedback_on_a_run_inside_of_another_is_no_score_of_the_whole() {
    let text = fixture_text("langsmith/flat_runs.ndjson");
    let (mut children, mut lines) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
        if row["parent_run_id"].is_string() {
            row["feedback_stats"] = serde_json::json!({"helpful": {"n": 1, "avg": 0.0}});
            children += 1;
        }
        lines.push(row.to_string());
    }
    let (parsed, _) = read_text(&LANGSMITH, &lines.join("\n"));
    let done = run(&parsed.runs, "11111111-0000-4000-8000-000000000001");
    let names: Vec<&str> = done.scores.iter().map(|score| score.name.as_ref()).collect();
    assert_eq!(names, ["right"]);
    assert_eq!(issue(&parsed, "scores_ignored").map(|issue| issue.count), Some(children));
}

/// A data frame writes NaN where a label is missing; the mark of its repair was shown to people.
#[test]
fn a_label_that_is_no_number_is_shown_as_it_was_written() {
    let text = fixture_text("langsmith/flat_runs.ndjson");
    let text = text.replace("\"reference_example_id\": \"ex-1\"", "\"reference_example_id\": NaN");
    assert!(text.contains("NaN"), "{text}");
    let folder = Folder::new();
    let converted = cli(&["convert", &folder.file("runs.ndjson", &text), "--to", "native", "-q"]);
    let shown = converted.json();
    let tasks: Vec<_> =
        shown.as_array().unwrap().iter().map(|run| run["task_id"].clone()).collect();
    assert!(tasks.contains(&"NaN".into()), "{tasks:?}");
}
