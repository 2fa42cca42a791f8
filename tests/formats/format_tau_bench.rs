//! tau-bench result files: a hand-written one, and the published one beside the repo.

use crate::support;
use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::formats::tau_bench::TAU_BENCH;
use agenteval::ingest::formats::{Parsed, Probe, Reader, Record, Refusal};
use agenteval::model::{ErrorOrigin, Final, Place, ScoreValue, Trajectory};
use serde_json::value::RawValue;
use serde_json::{Value, json};

const FIXTURE: &[u8] = include_bytes!("../../fixtures/tau_bench/four_runs.json");

fn read_with<'r>(bytes: &'r [u8], options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let Reader::Whole(read) = TAU_BENCH.reader else { panic!("tau-bench records are whole runs") };
    read(&Record { bytes, place: Place::default(), path: Path::new("runs.json") }, options)
}

fn read(bytes: &[u8]) -> Result<Parsed<'_>, Refusal> {
    read_with(bytes, &ReadOptions::default())
}

fn elements(file: &[u8]) -> Vec<&[u8]> {
    let raws: Vec<&RawValue> = serde_json::from_slice(file).unwrap();
    raws.into_iter().map(|raw| raw.get().as_bytes()).collect()
}

fn runs(file: &[u8]) -> Vec<Trajectory<'_>> {
    let parsed = elements(file).into_iter().map(|run| read(run).unwrap());
    parsed.flat_map(|parsed| parsed.runs).collect()
}

fn calls<'t>(run: &'t Trajectory<'_>) -> Vec<&'t agenteval::model::Attempt<'t>> {
    run.attempts.iter().filter(|attempt| !attempt.turn).collect()
}

fn delivered(run: &Trajectory<'_>) -> Value {
    let Final::Json(text) = &run.final_output else { panic!("no final output") };
    serde_json::from_str(text).unwrap()
}

fn reward(run: &Trajectory<'_>) -> Option<f64> {
    match run.scores.first()?.value {
        ScoreValue::Number(number) => Some(number),
        ScoreValue::Unreadable(_) => None,
    }
}

#[test]
fn a_failed_call_and_its_revised_repeat_are_two_calls_after_their_turns() {
    let runs = runs(FIXTURE);
    let run = &runs[0];
    assert_eq!(run.task_id.as_deref(), Some("0"));
    assert_eq!(run.trial.as_deref(), Some("0"));
    assert_eq!((run.run_id.as_deref(), run.cost_usd), (None, None));
    let kinds: Vec<_> = run.attempts.iter().map(|a| (a.kind.as_ref(), a.turn)).collect();
    let (turn, call) = (("llm", true), ("tool", false));
    assert_eq!(kinds, [turn, call, turn, call, turn]);
    let calls = calls(run);
    let error = calls[0].error.as_ref().unwrap();
    assert_eq!(error.message.as_deref(), Some("Error: the day must be a date"));
    assert_eq!((error.kind.as_deref(), error.origin), (None, ErrorOrigin::Text));
    assert_eq!((calls[1].name.as_deref(), calls[1].error.as_ref()), (Some("move_trip"), None));
    assert!(calls[0].input.is_some() && calls[0].input != calls[1].input);
    assert_eq!(calls[0].request_id.as_deref(), Some("call_1"));
    assert_eq!(delivered(run), json!({"score": 1.0, "output": "Your trip is on \"Friday\" now."}));
}

#[test]
fn a_crash_keeps_its_reward_and_says_why_it_stopped() {
    let runs = runs(FIXTURE);
    let run = &runs[1];
    assert_eq!(run.status.as_deref(), Some("error"));
    assert_eq!(run.end_reason.as_deref(), Some("Rate limit reached"));
    assert_eq!((reward(run), run.attempts.len()), (Some(0.0), 0));
    let expected = json!({"score": 0.0, "status": "error", "end_reason": "Rate limit reached"});
    assert_eq!(delivered(run), expected);
}

#[test]
fn a_run_without_a_call_is_a_run_and_a_null_reward_info_is_not_an_open_end() {
    let runs = runs(FIXTURE);
    let run = &runs[2];
    assert_eq!(run.task_id.as_deref(), Some("refund-7"));
    assert_eq!((calls(run).len(), run.attempts.len()), (0, 1));
    assert_eq!((run.end_rule, run.status.as_deref(), reward(run)), (None, None, Some(0.0)));
}

#[test]
fn an_id_used_for_two_calls_is_no_retry_and_a_call_without_result_is_pending() {
    let runs = runs(FIXTURE);
    let run = &runs[3];
    assert_eq!(reward(run), Some(0.5));
    let calls = calls(run);
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[0].status.as_deref(), calls[1].status.as_deref()), (None, Some("pending")));
    assert_eq!((calls[0].request_id.as_deref(), calls[1].request_id.as_deref()), (None, None));
    assert!(calls[1].input.is_some(), "arguments that are no JSON are hashed as a text");
    assert_eq!(delivered(run)["output"], "One moment.");
}

#[test]
fn an_attempts_own_json_is_kept_only_where_it_is_asked_for() {
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    let file = elements(FIXTURE);
    let parsed = read_with(file[0], &options).unwrap();
    let raw: Value =
        serde_json::from_str(parsed.runs[0].attempts[1].raw.as_ref().unwrap()).unwrap();
    let expected = json!({"id": "call_1", "name": "move_trip", "arguments": {"trip": "T1", "day": "Fri"},
        "result": "Error: the day must be a date"});
    assert_eq!(raw, expected);
    assert!(runs(FIXTURE).iter().all(|run| run.attempts.iter().all(|a| a.raw.is_none())));
}

#[test]
fn results_without_a_call_are_told_steps_and_calls_in_text_are_told() {
    let run = br#"{"task_id":1,"reward":0,"traj":[{"role":"tool","name":"f","content":"Error: x"},
        {"role":"user","content":"API output: 3"}]}"#;
    let parsed = read(run).unwrap();
    assert_eq!(parsed.runs[0].attempts.len(), 1);
    assert!(parsed.runs[0].attempts[0].error.is_some());
    let codes: Vec<_> = parsed.issues.iter().map(|issue| issue.code).collect();
    assert_eq!(codes, ["result_without_call", "calls_in_text"]);
}

#[test]
fn odd_records_are_read_or_refused_but_never_panic() {
    let code = |bytes: &[u8]| read(bytes).map(|_| ()).map_err(|why| (why.code, why.repairable));
    assert_eq!(code(b"{}"), Err(("not_a_run", false)));
    assert_eq!(code(b"[1]"), Err(("unexpected_value", true)));
    assert_eq!(code(br#"{"task_id":1,"reward":NaN,"traj":[]}"#), Err(("invalid_json", true)));
    assert_eq!(code(br#"{"task_id":1,"reward":1,"traj":[{"#), Err(("truncated_record", true)));
    assert_eq!(code(br#"{"task_id":1,"reward":1,"traj":7}"#), Err(("unreadable_traj", false)));
    let calls = br#"{"reward":1,"traj":[{"role":"assistant","tool_calls":{"a":1}}]}"#;
    assert_eq!(code(calls), Err(("unreadable_step", false)));
    for odd in [
        r#"{"reward":1,"reward":0.5,"traj":null}"#,
        r#"{"reward":"1.0","traj":[{"role":7,"content":{}},{"role":"assistant","tool_calls":[{}]}]}"#,
        r#"{"reward":true,"info":[],"traj":[{"role":"tool","content":"\ud800","tool_call_id":4}]}"#,
    ] {
        assert_eq!(code(odd.as_bytes()), Ok(()), "{odd}");
    }
    let last_wins = read(br#"{"reward":1,"reward":0.5,"traj":null}"#).unwrap();
    assert_eq!(reward(&last_wins.runs[0]), Some(0.5));
}

#[test]
fn many_calls_of_one_id_take_neither_the_stack_nor_quadratic_time() {
    let call = r#"{"id":"x","function":{"name":"f","arguments":"{}"}}"#;
    let calls = vec![call; 50_000].join(",");
    let results = vec![r#"{"role":"tool","content":"ok"}"#; 50_000].join(",");
    let last = r#"{"role":"tool","tool_call_id":"x","content":"late"}"#;
    let run = format!(
        r#"{{"reward":1,"traj":[{{"role":"assistant","tool_calls":[{calls}]}},{results},{last}]}}"#
    );
    let parsed = read(run.as_bytes()).unwrap();
    assert_eq!(parsed.runs[0].attempts.len(), 1 + 50_000 + 1);
    assert!(parsed.runs[0].attempts.iter().all(|attempt| attempt.status.is_none()));
}

#[test]
fn it_is_told_by_its_keys_also_when_the_first_record_is_cut_off() {
    let file = elements(FIXTURE);
    let probe =
        |record: &'static [u8], in_array| Probe::new(Path::new("x"), vec![record], in_array);
    assert!((TAU_BENCH.detect)(&probe(file[0], true)));
    assert!((TAU_BENCH.detect)(&probe(&file[0][..file[0].len() - 40], true)));
    assert!((TAU_BENCH.detect)(&probe(&file[0][..120], true)));
    assert!(!(TAU_BENCH.detect)(&probe(br#"{"task_id":"a","steps":[]}"#, true)));
    assert!(!(TAU_BENCH.detect)(&probe(br#"{"messages_display":"user: hi"}"#, false)));
}

/// Reads the published file both through the reader and straight from its JSON.
#[test]
fn the_published_airline_file_gives_the_figures_counted_straight_from_its_json() {
    let Some(path) = support::shared("data/tau_bench/gpt-4o-airline.json") else { return };
    let bytes = std::fs::read(path).unwrap();
    let straight: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let runs = runs(&bytes);
    assert_eq!((runs.len(), straight.len()), (200, 200));
    let tasks: std::collections::BTreeSet<_> = runs.iter().map(|r| r.task_id.clone()).collect();
    assert_eq!(tasks.len(), 50);
    let completed = runs.iter().filter(|run| (reward(run).unwrap() - 1.0).abs() <= 1e-6).count();
    assert_eq!(completed, 84);

    let (mut results, mut errors, mut runs_with_error, mut without_call) = (0, 0, 0, 0);
    let (mut identical, mut revised) = (0, 0);
    for (run, json) in runs.iter().zip(&straight) {
        let messages = json["traj"].as_array().unwrap();
        let tools: Vec<_> = messages.iter().filter(|m| m["role"] == "tool").collect();
        let failed: Vec<bool> =
            tools.iter().map(|m| m["content"].as_str().unwrap().starts_with("Error")).collect();
        let calls = calls(run);
        assert_eq!(calls.iter().map(|c| c.error.is_some()).collect::<Vec<_>>(), failed);
        let names: Vec<_> = tools.iter().map(|m| m["name"].as_str()).collect();
        assert_eq!(calls.iter().map(|c| c.name.as_deref()).collect::<Vec<_>>(), names);
        assert!(calls.iter().all(|c| c.status.is_none() && c.input.is_some()));
        let turns = messages.iter().filter(|m| m["role"] == "assistant").count();
        assert_eq!(run.attempts.len() - calls.len(), turns);
        results += calls.len();
        errors += failed.iter().filter(|failed| **failed).count();
        runs_with_error += usize::from(failed.contains(&true));
        without_call += usize::from(calls.is_empty());
        for pair in calls.windows(2) {
            if pair[0].error.is_some() && pair[0].name == pair[1].name {
                *(if pair[0].input == pair[1].input { &mut identical } else { &mut revised }) += 1;
            }
        }
        let ids: Vec<_> = calls.iter().filter_map(|c| c.request_id.as_deref()).collect();
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len(), "a repeated id would be read as a recorded retry");
    }
    assert_eq!((results, errors, runs_with_error, without_call), (1164, 73, 36, 18));
    assert_eq!((identical, revised), (3, 26));
}

#[test]
fn the_cut_airline_file_gives_the_same_runs_as_the_whole_one() {
    let Some(whole) = support::shared("data/tau_bench/gpt-4o-airline.json") else { return };
    let Some(cut) = support::shared("data/tau_bench/gpt-4o-airline_tasks0-2.json") else { return };
    let (whole, cut) = (std::fs::read(whole).unwrap(), std::fs::read(cut).unwrap());
    let (whole, cut) = (runs(&whole), runs(&cut));
    assert_eq!(cut.len(), 12);
    for run in &cut {
        let same = |r: &&Trajectory<'_>| r.task_id == run.task_id && r.trial == run.trial;
        let other = whole.iter().find(same).unwrap();
        assert_eq!(run.scores, other.scores);
        let inputs = |r: &Trajectory<'_>| r.attempts.iter().map(|a| a.input).collect::<Vec<_>>();
        assert_eq!(inputs(run), inputs(other));
    }
}
