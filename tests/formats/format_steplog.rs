//! Step logs: runs rebuilt from interleaved lines.
use crate::support;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use agenteval::config::{Plan, ReadOptions};
use agenteval::ingest::formats::{Fate, Parsed, Probe, Reader, Record, steplog::STEPLOG};
use agenteval::model::{Attempt, EndRule, Final, Place, Stamp, Tokens, Trajectory, input_hash};

/// Reads files given as texts; gives the fate of each line too.
fn read_files(files: &[&str], options: &ReadOptions) -> (Parsed<'static>, Vec<Fate>) {
    let Reader::Parts(open) = STEPLOG.reader else { panic!("a log's lines are parts of runs") };
    let mut assembler = open(options);
    let mut fates = Vec::new();
    for (file, text) in (0_u32..).zip(files) {
        for (line, bytes) in (1_u64..).zip(text.lines()) {
            let place = Place { file, line, byte: 0 };
            let record = Record { bytes: bytes.as_bytes(), place, path: Path::new("log.ndjson") };
            fates.push(assembler.push(&record));
        }
    }
    (assembler.finish(), fates)
}

fn read(text: &str) -> Vec<Trajectory<'static>> {
    read_files(&[text], &ReadOptions::default()).0.runs
}

fn read_with_plan(text: &str) -> Trajectory<'static> {
    let yaml = include_str!("../../fixtures/plans/report.yaml");
    let plan = Plan::from_yaml(yaml, "report.yaml").unwrap();
    let options = ReadOptions { plan: Some(Arc::new(plan)), ..ReadOptions::default() };
    read_files(&[text], &options).0.runs.remove(0)
}

/// `node:number:status` of each attempt; `-` for no number.
fn told(run: &Trajectory<'_>) -> Vec<String> {
    let number = |a: &Attempt<'_>| a.attempt.map_or("-".into(), |n| n.to_string());
    run.attempts
        .iter()
        .map(|a| {
            let node = a.node_id.as_deref().unwrap_or("?");
            format!("{node}:{}:{}", number(a), a.status.as_deref().unwrap_or("?"))
        })
        .collect()
}

/// The attempts that events of one node `a` give.
fn events(words: &[&str]) -> Vec<String> {
    let lines: Vec<String> =
        words.iter().map(|word| format!(r#"{{"node_id":"a","event":"{word}"}}"#)).collect();
    told(&read(&lines.join("\n"))[0])
}

fn detects(text: &str) -> bool {
    let records = text.lines().take(50).map(str::as_bytes).collect();
    (STEPLOG.detect)(&Probe::new(Path::new("x"), records, false))
}

#[test]
fn interleaved_runs_come_apart_with_their_attempts() {
    let text = include_str!("../../fixtures/steplog/interleaved.ndjson");
    assert!(detects(text));
    let (parsed, fates) = read_files(&[text], &ReadOptions::default());
    let [one, two] = &parsed.runs[..] else { panic!("{} runs", parsed.runs.len()) };

    assert_eq!(one.run_id.as_deref(), Some("r-1"));
    assert_eq!(one.task_id.as_deref(), Some("report"));
    assert_eq!(one.trial.as_deref(), Some("1"));
    assert_eq!(one.status.as_deref(), Some("completed"));
    assert_eq!(one.end_rule, None);
    assert_eq!(
        told(one),
        ["fetch:1:failed", "fetch:2:completed", "draft:1:failed", "draft:2:completed"]
    );
    let [failed, fetched, parse_error, drafted] = &one.attempts[..] else { panic!() };
    let error = failed.error.as_ref().unwrap();
    assert_eq!(error.kind.as_deref(), Some("timeout"));
    assert_eq!(failed.duration_ms, Some(5000.0));
    assert_eq!((failed.kind.as_ref(), failed.name.as_deref()), ("tool", Some("http_get")));
    assert_eq!((fetched.kind.as_ref(), fetched.name.as_deref()), ("tool", Some("http_get")));
    assert_eq!(fetched.error, None);
    assert_eq!(fetched.tokens.unwrap().total(), 100.0);
    let seconds = |a: Option<&Stamp<'_>>, b: Option<&Stamp<'_>>| {
        b.unwrap().time().unwrap().seconds_since(a.unwrap().time().unwrap())
    };
    // The start after the retry, not the retry, began the second attempt.
    assert_eq!(seconds(fetched.started_at.as_ref(), fetched.ended_at.as_ref()), Some(1.0));
    let message = parse_error.error.as_ref().unwrap().message.as_deref();
    assert_eq!(message, Some("ParseError: no closing brace"));
    assert_eq!((drafted.kind.as_ref(), drafted.cost_usd), ("llm", Some(0.01)));
    let report = r#"{"accuracy":0.930,"report":"three pages"}"#;
    assert_eq!(one.final_output, Final::Json(report.into()));

    assert_eq!(two.end_rule, Some(EndRule::Unfinished));
    assert_eq!(told(two), ["fetch:-:completed", "approve:-:waiting"]);
    let told_of: Vec<_> = fates.iter().filter(|fate| **fate != Fate::Used).collect();
    let expected = [Fate::Ignored("metric_without_run"), Fate::Ignored("unknown_event")];
    assert_eq!(told_of, expected.iter().collect::<Vec<_>>());
}

#[test]
fn events_of_a_node_pair_into_attempts() {
    assert_eq!(events(&["start", "complete"]), ["a:-:completed"]);
    assert_eq!(events(&["START", "Failed"]), ["a:-:failed"]);
    assert_eq!(events(&["start"]), ["a:-:running"]);
    assert_eq!(events(&["start", "skip"]), ["a:-:skipped"]);
    assert_eq!(events(&["start", "cancelled"]), ["a:-:cancelled"]);
    assert_eq!(events(&["start", "timeout"]), ["a:-:timeout"]);
    // Every way to log one retry gives the same two attempts.
    let two = ["a:1:failed", "a:2:completed"];
    assert_eq!(events(&["start", "fail", "retry", "start", "success"]), two);
    assert_eq!(events(&["start", "fail", "retry", "success"]), two);
    assert_eq!(events(&["start", "fail", "start", "success"]), two);
    assert_eq!(events(&["start", "retry", "success"]), two);
    assert_eq!(events(&["start", "retry", "start", "success"]), two);
    assert_eq!(events(&["start", "start", "success"]), two);
    assert_eq!(events(&["fail", "success"]), two);
    assert_eq!(
        events(&["failed", "failed", "retry", "end"]),
        ["a:1:failed", "a:2:failed", "a:3:completed"]
    );
}

#[test]
fn a_start_after_a_pass_is_a_revisit_and_counts_from_anew() {
    assert_eq!(events(&["start", "end", "start", "end"]), ["a:-:completed", "a:-:completed"]);
    assert_eq!(
        events(&["start", "fail", "start", "end", "start", "fail", "start", "end"]),
        ["a:1:failed", "a:2:completed", "a:1:failed", "a:2:completed"]
    );
}

#[test]
fn one_end_told_twice_is_one_attempt() {
    assert_eq!(events(&["start", "error", "failed"]), ["a:-:failed"]);
    assert_eq!(events(&["start", "success", "end"]), ["a:-:completed"]);
    let text = "{\"node_id\":\"a\",\"event\":\"start\"}\n{\"node_id\":\"a\",\"event\":\"error\"}\n\
                {\"node_id\":\"a\",\"event\":\"failed\",\"extra\":{\"error\":\"no\"}}";
    let (parsed, fates) = read_files(&[text], &ReadOptions::default());
    assert_eq!(fates[2], Fate::Merged("repeated_end"));
    assert!(parsed.runs[0].attempts[0].error.is_some(), "the repetition completes the first");
}

#[test]
fn a_waiting_attempt_goes_on_with_the_next_start_or_end() {
    assert_eq!(events(&["start", "waiting"]), ["a:-:waiting"]);
    assert_eq!(events(&["start", "waiting", "complete"]), ["a:-:completed"]);
    assert_eq!(events(&["start", "waiting", "start", "complete"]), ["a:-:completed"]);
}

#[test]
fn attempts_closed_by_a_restart_are_told() {
    let text = "{\"node_id\":\"a\",\"event\":\"start\"}\n{\"node_id\":\"a\",\"event\":\"start\"}";
    let (parsed, _) = read_files(&[text], &ReadOptions::default());
    assert_eq!(parsed.issues[0].code, "attempt_closed_by_restart");
    assert_eq!(parsed.issues[0].count, 1);
}

#[test]
fn lines_without_a_run_id_belong_to_their_file_or_its_only_run() {
    let plain = r#"{"node_id":"a","event":"end"}"#;
    let (parsed, _) = read_files(&[plain, plain], &ReadOptions::default());
    assert_eq!(parsed.runs.len(), 2, "two files are two runs");
    assert_eq!(parsed.runs[1].place.file, 1);

    let named = r#"{"run_id":"r","event":"run_start"}"#;
    let (parsed, _) = read_files(&[&format!("{named}\n{plain}")], &ReadOptions::default());
    assert_eq!(parsed.runs.len(), 1);
    assert_eq!(parsed.runs[0].attempts.len(), 1);

    let late =
        "{\"run_id\":\"r\",\"event\":\"run_end\"}\n{\"metric\":\"loss\",\"value\":2}".to_owned();
    let run = read(&late).remove(0);
    assert_eq!(run.final_output, Final::Json(r#"{"loss":2}"#.into()), "the file's only run");

    let other = r#"{"workflow_id":"s","event":"run_start"}"#;
    let (parsed, fates) =
        read_files(&[&format!("{named}\n{other}\n{plain}")], &ReadOptions::default());
    assert_eq!(parsed.runs.len(), 2);
    assert!(matches!(&fates[2], Fate::Refused(refusal) if refusal.code == "event_without_run"));

    let bounds = "{\"event\":\"run_start\"}\n{\"node_id\":\"a\",\"event\":\"end\"}\n\
                  {\"event\":\"run_end\",\"status\":\"failed\"}";
    let runs = read(&format!("{bounds}\n{bounds}"));
    assert_eq!(runs.len(), 2, "a second run_start opens another run");
    assert_eq!(runs[0].attempts.len(), 1);
}

#[test]
fn one_run_in_several_files_is_one_run() {
    let start = r#"{"run_id":7,"event":"run_start"}"#;
    let end = r#"{"extra":{"run_id":"7","status":"failed"},"event":"run_end"}"#;
    let (parsed, _) = read_files(&[start, end], &ReadOptions::default());
    assert_eq!(parsed.runs.len(), 1);
    assert_eq!(parsed.runs[0].status.as_deref(), Some("failed"));
    assert_eq!(parsed.runs[0].end_rule, None);
}

#[test]
fn without_run_events_the_end_is_unknown_and_with_a_start_alone_it_is_open() {
    let nodes = read(r#"{"node_id":"a","event":"failed"}"#);
    assert_eq!((nodes[0].end_rule, nodes[0].format_outcome), (None, None));
    let open = read(r#"{"event":"run_start","run_id":"r"}"#);
    assert_eq!(open[0].end_rule, Some(EndRule::Unfinished));
}

#[test]
fn a_plan_tells_the_outcome_and_what_was_never_reached() {
    let log = |ends: &[(&str, &str)]| {
        ends.iter()
            .map(|(node, event)| format!("{{\"node_id\":\"{node}\",\"event\":\"{event}\"}}\n"))
            .collect::<String>()
    };
    let all = read_with_plan(&log(&[("fetch", "end"), ("draft", "end"), ("check", "end")]));
    assert_eq!((all.format_outcome, all.end_rule), (Some(true), None));
    assert_eq!(all.task_id.as_deref(), Some("report"));
    let failed = read_with_plan(&log(&[("fetch", "end"), ("draft", "failed")]));
    assert_eq!((failed.format_outcome, failed.end_rule), (Some(false), None));
    assert_eq!(failed.never_reached, ["check"]);
    let open = read_with_plan(&log(&[("fetch", "end")]));
    assert_eq!((open.format_outcome, open.end_rule), (None, Some(EndRule::Unfinished)));
    assert_eq!(open.never_reached, ["draft", "check"]);
    let running = read_with_plan(&log(&[("fetch", "end"), ("draft", "end"), ("check", "start")]));
    assert_eq!((running.format_outcome, running.end_rule), (None, Some(EndRule::Unfinished)));
    let said = log(&[("fetch", "failed")]) + r#"{"event":"run_end","status":"completed"}"#;
    let said = read_with_plan(&said);
    assert_eq!((said.format_outcome, said.end_rule), (None, None), "the run's own word stands");
}

#[test]
fn the_status_on_an_end_refines_the_event_and_cannot_undo_a_failure() {
    let status = |event: &str, status: &str| {
        let text = format!(r#"{{"node_id":"a","event":"{event}","status":"{status}"}}"#);
        read(&text)[0].attempts[0].status.clone().unwrap()
    };
    assert_eq!(status("completed", "failed"), "failed");
    assert_eq!(status("end", "ok"), "ok");
    assert_eq!(status("failed", "retryable"), "failed");
    assert_eq!(status("failed", "completed"), "failed");
    assert_eq!(status("error", "timed_out"), "timed_out");
    assert_eq!(status("complete", "archived"), "completed");
    assert_eq!(status("skip", "completed"), "skipped");
}

proptest::proptest! {
    #[test]
    fn any_order_of_events_gives_attempts_with_status_and_sound_numbers(
        picks in proptest::collection::vec((0_usize..3, 0_usize..12, 0_u32..4), 0..60),
    ) {
        const WORDS: [&str; 12] = [
            "start", "complete", "failed", "error", "timeout", "retry", "skip", "waiting",
            "cancelled", "end", "step", "run_end",
        ];
        let lines: Vec<_> = picks
            .iter()
            .map(|(node, word, number)| {
                let word = WORDS[*word];
                format!(r#"{{"node_id":"n{node}","event":"{word}","extra":{{"attempt":{number}}}}}"#)
            })
            .collect();
        let (parsed, fates) = read_files(&[&lines.join("\n")], &ReadOptions::default());
        proptest::prop_assert_eq!(fates.len(), lines.len());
        proptest::prop_assert!(fates.iter().all(|f| matches!(f, Fate::Used | Fate::Merged(_))));
        proptest::prop_assert_eq!(parsed.runs.len(), usize::from(!lines.is_empty()));
        for attempt in parsed.runs.iter().flat_map(|run| &run.attempts) {
            proptest::prop_assert!(attempt.attempt != Some(0));
            let whole = attempt.status.is_some();
            proptest::prop_assert!(whole || lines.iter().any(|line| line.contains("step")));
        }
    }
}

#[test]
fn metrics_join_what_was_delivered() {
    let last = |text: &str| read(text).remove(0).final_output;
    let run = r#"{"event":"run_end","final":"#;
    let metric = r#"{"metric":"loss","value":1e-7}"#;
    let json = |text: &'static str| Final::Json(text.into());
    assert_eq!(last(&format!("{run}null}}\n{metric}")), json(r#"{"loss":1e-7}"#));
    assert_eq!(
        last(&format!("{run}\"text\"}}\n{metric}")),
        json(r#"{"loss":1e-7,"output":"text"}"#)
    );
    let logged = r#"{"event":"metric","metric":"loss","value":1}"#;
    assert_eq!(last(&format!("{run}null}}\n{logged}")), json(r#"{"loss":1}"#));
    assert_eq!(last(&format!("{run}null}}")), json("null"));
    assert_eq!(last(r#"{"event":"run_end"}"#), Final::Missing);
}

#[test]
fn lines_of_another_kind_are_counted_and_broken_ones_refused() {
    let text = "{\"node_id\":\"a\",\"event\":\"end\"}\n[1]\n\"x\"\n{\"level\":30}\n\
                {\"event\":{\"a\":1}}\n{\"event\":\"start\"}\n{\"node_id\":\"a\",";
    let (parsed, fates) = read_files(&[text], &ReadOptions::default());
    assert_eq!(parsed.runs.len(), 1);
    assert_eq!(fates[1..5], [const { Fate::Ignored("not_a_step_event") }; 4]);
    let code = |at: usize| match &fates[at] {
        Fate::Refused(refusal) => (refusal.code, refusal.repairable),
        other => panic!("{other:?}"),
    };
    assert_eq!(code(5), ("event_without_node", false));
    assert_eq!(code(6), ("truncated_record", true));
}

#[test]
fn fields_of_odd_types_cost_no_run() {
    let text = r#"{"run_id":9007199254740993,"node_id":4,"event":"end","name":["x"],"extra":"none","tokens":"12","duration_ms":{},"attempt":"2","error":[]}"#;
    let run = read(text).remove(0);
    assert_eq!(run.run_id.as_deref(), Some("9007199254740993"));
    let attempt = &run.attempts[0];
    assert_eq!(attempt.name.as_deref(), Some("4"));
    assert_eq!(attempt.tokens.unwrap().unsplit, 12.0);
    assert_eq!((attempt.duration_ms, attempt.attempt), (None, Some(2)));
    assert!(attempt.error.is_some(), "any non-null error is one");
}

#[test]
fn tokens_stay_split_as_recorded() {
    let text = r#"{"node_id":"a","event":"end","extra":{"tokens":{"prompt":1,"completion":2,"cache_read":4,"cache_write":8}}}"#;
    let tokens = read(text)[0].attempts[0].tokens.unwrap();
    let Tokens { input, output, cache_read, cache_write, unsplit } = tokens;
    assert_eq!([input, output, cache_read, cache_write, unsplit], [1.0, 2.0, 4.0, 8.0, 0.0]);
}

#[test]
fn deeply_nested_extra_neither_crashes_nor_hides() {
    let deep = format!(
        r#"{{"node_id":"a","event":"end","extra":{}1{}}}"#,
        r#"{"extra":"#.repeat(100_000),
        "}".repeat(100_000)
    );
    let (parsed, fates) = read_files(&[&deep], &ReadOptions::default());
    let seen = matches!(fates[0], Fate::Refused(_)) || parsed.runs.len() == 1;
    assert!(seen);
}

#[test]
fn kept_attempts_hold_the_fields_of_all_their_lines() {
    let text = "{\"node_id\":\"a\",\"event\":\"start\",\"extra\":{\"cost\":{\"n\":1}}}\n\
                {\"node_id\":\"a\",\"event\":\"end\",\"extra\":{\"rows\":7},\"worker\":\"w\"}";
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    let (parsed, _) = read_files(&[text], &options);
    let raw = parsed.runs[0].attempts[0].raw.as_deref().unwrap();
    let raw: serde_json::Value = serde_json::from_str(raw).unwrap();
    assert_eq!(raw["cost"]["n"], 1);
    assert_eq!(raw["rows"], 7);
    assert_eq!(raw["worker"], "w");
    assert!(read(text)[0].attempts[0].raw.is_none());
}

#[test]
fn other_logs_are_not_claimed() {
    for foreign in [
        r#"{"event":"error","type":"app","logger":"x"}"#,
        r#"{"event":"error","name":"app.worker"}"#,
        r#"{"type":"assistant","message":{},"sessionId":"s","uuid":"u"}"#,
        r#"{"type":"event_msg","payload":{"type":"agent_message"}}"#,
        r#"{"node_id":"a","status":"succeeded","attempts":1,"result":null}"#,
        r#"{"run_id":"a","steps":[{"type":"tool"}]}"#,
    ] {
        assert!(!detects(foreign), "{foreign}");
    }
}

#[test]
fn no_file_of_another_format_is_claimed() {
    let Some(data) = support::shared("data") else { return };
    let mut folders = vec![data];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files += 1;
                assert!(!detects(&text), "{}", path.display());
            }
        }
    }
    assert!(files > 50, "{files} files");
}

#[test]
fn the_generators_step_log_reads_to_the_runs_of_its_ndjson() {
    let Some(tool) = support::shared("tools/bench/gen_traces.py") else { return };
    let generate = |shape: &str| {
        let made = Command::new("python3")
            .arg(&tool)
            .args(["--runs", "60", "--mean-steps", "8", "--shape", shape])
            .output();
        String::from_utf8(made.expect("python3 runs").stdout).unwrap()
    };
    let (steplog, ndjson) = (generate("steplog"), generate("ndjson"));
    assert!(detects(&steplog));
    let mut runs = read(&steplog);
    assert_eq!(runs.len(), 60);
    runs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    let mut attempts = 0;
    for (run, line) in runs.iter().zip(ndjson.lines()) {
        let wanted: serde_json::Value = serde_json::from_str(line).unwrap();
        for (key, got) in [
            ("run_id", &run.run_id),
            ("task_id", &run.task_id),
            ("model", &run.model),
            ("status", &run.status),
        ] {
            assert_eq!(got.as_deref(), wanted[key].as_str(), "{key}");
        }
        assert_eq!(run.trial.as_deref(), Some(wanted["trial"].to_string().as_str()));
        let time =
            |text: &serde_json::Value| Stamp::Text(text.as_str().unwrap().to_owned().into()).time();
        assert_eq!(run.started_at.as_ref().unwrap().time(), time(&wanted["started_at"]));
        let Final::Json(last) = &run.final_output else { panic!("no final") };
        assert_eq!(serde_json::from_str::<serde_json::Value>(last).unwrap(), wanted["final"]);
        let steps = wanted["steps"].as_array().unwrap();
        assert_eq!(run.attempts.len(), steps.len());
        for (got, step) in run.attempts.iter().zip(steps) {
            attempts += 1;
            assert_eq!(got.index, step["index"].as_f64());
            assert_eq!(got.attempt.map(u64::from), step["attempt"].as_u64());
            assert_eq!(got.kind, step["type"].as_str().unwrap());
            assert_eq!(got.name.as_deref(), step["name"].as_str());
            assert_eq!(got.status.as_deref(), step["status"].as_str());
            assert_eq!(got.request_id.as_deref(), step["request_id"].as_str());
            let error = got.error.as_ref();
            assert_eq!(error.and_then(|e| e.kind.as_deref()), step["error"]["type"].as_str());
            let message = error.and_then(|e| e.message.as_deref());
            assert_eq!(message, step["error"]["message"].as_str());
            let tokens = got.tokens.unwrap();
            assert_eq!(Some(tokens.input), step["tokens"]["prompt"].as_f64());
            assert_eq!(Some(tokens.output), step["tokens"]["completion"].as_f64());
            assert_eq!(got.cost_usd, step["cost_usd"].as_f64());
            assert_eq!(got.duration_ms, step["duration_ms"].as_f64());
            assert_eq!(got.started_at.as_ref().unwrap().time(), time(&step["started_at"]));
            assert_eq!(got.input.is_none(), step["input"].is_null());
        }
        // The hash is over the text as written, so it is taken from the line's own text.
        let raw: Wire<'_> = serde_json::from_str(line).unwrap();
        for (got, step) in run.attempts.iter().zip(raw.steps) {
            assert_eq!(got.input, step.input.and_then(|input| input_hash(input.get())));
        }
    }
    assert!(attempts > 300, "{attempts} attempts");
}

#[derive(serde::Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    steps: Vec<WireStep<'a>>,
}

#[derive(serde::Deserialize)]
struct WireStep<'a> {
    #[serde(borrow)]
    input: Option<&'a serde_json::value::RawValue>,
}
