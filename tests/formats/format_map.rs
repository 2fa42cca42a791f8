//! Field mappings: the fixtures, and every real file that needs one, with figures counted apart.
use crate::cli;
use std::path::Path;
use std::sync::Arc;

use agenteval::config::{Mapping, ReadOptions};
use agenteval::ingest::formats::{Fate, Parsed, Reader, Record, mapped::MAPPED};
use agenteval::model::{Attempt, EndRule, Place, Tokens, Trajectory};

use crate::support::shared;

fn mapping(name: &str) -> Arc<Mapping> {
    Arc::new(Mapping::named(Path::new(name)).unwrap())
}

/// Reads lines by a mapping, without the walk through files.
fn read_lines(lines: &[&str], mapping: Arc<Mapping>) -> (Parsed<'static>, Vec<Fate>) {
    let Reader::PartsOrRows(open) = MAPPED.reader else { panic!("events are parts of runs") };
    let options = ReadOptions { mapping: Some(mapping), ..ReadOptions::default() };
    let mut assembler = open(&options);
    let mut fates = Vec::new();
    for (line, text) in (1_u64..).zip(lines) {
        let place = Place { file: 0, line, byte: line * 1_000_000 };
        fates.push(assembler.push(&Record { bytes: text.as_bytes(), place, path: Path::new("x") }));
    }
    (assembler.finish(), fates)
}

/// `name:number:status:error type` of each attempt that is a step; `-` for what is not there.
fn told(run: &Trajectory<'_>) -> Vec<String> {
    run.attempts.iter().filter(|attempt| !attempt.turn).map(attempt).collect()
}

fn attempt(a: &Attempt<'_>) -> String {
    let number = a.attempt.map_or("-".into(), |n| n.to_string());
    let kind = a.error.as_ref().and_then(|error| error.kind.as_deref());
    let name = a.name.as_deref().unwrap_or("-");
    format!("{name}:{number}:{}:{}", a.status.as_deref().unwrap_or("-"), kind.unwrap_or("-"))
}

/// The runs of a real file of JSON lines.
fn real(file: &str, name: &str) -> Option<(Parsed<'static>, Vec<Fate>)> {
    let text = std::fs::read_to_string(shared(&format!("data/{file}"))?).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    Some(read_lines(&lines, mapping(name)))
}

fn used(fates: &[Fate]) -> usize {
    fates.iter().filter(|fate| **fate == Fate::Used).count()
}

fn turns<'a, 'r>(run: &'r Trajectory<'a>) -> Vec<&'r Attempt<'a>> {
    run.attempts.iter().filter(|attempt| attempt.turn).collect()
}

#[test]
fn events_of_jobs_become_runs_with_their_tries() {
    let text = include_str!("../../fixtures/map/orders.ndjson");
    let lines: Vec<&str> = text.lines().collect();
    let (parsed, fates) = read_lines(&lines, mapping("fixtures/map/orders.map.json"));
    assert_eq!(used(&fates), 8);
    assert_eq!(fates[6], Fate::Ignored("no_event_of_the_mapping"));
    let [one, two] = &parsed.runs[..] else { panic!("{} runs", parsed.runs.len()) };
    assert_eq!(one.run_id.as_deref(), Some("j-1"));
    assert_eq!(one.task_id.as_deref(), Some("refund"));
    assert_eq!(one.agent.as_deref(), Some("desk"));
    assert_eq!(one.model.as_deref(), Some("m-1"));
    assert_eq!(one.status.as_deref(), Some("completed"));
    assert_eq!(told(one), ["lookup:1:timeout:TimeoutError", "lookup:2:completed:-"]);
    let durations: Vec<_> = one.attempts.iter().map(|attempt| attempt.duration_ms).collect();
    assert_eq!(durations, [Some(2500.0), Some(250.0)]);
    assert_eq!(one.attempts[0].input, one.attempts[1].input);
    assert!(one.attempts[0].input.is_some());
    // Nothing ended the other run, nor its call.
    assert_eq!(told(two), ["refund:1:running:-"]);
    assert_eq!(two.end_rule, Some(EndRule::Unfinished));
}

#[test]
fn lines_with_times_give_the_same_runs_in_any_order() {
    let text = include_str!("../../fixtures/map/orders.ndjson");
    let forward: Vec<&str> = text.lines().collect();
    let backward: Vec<&str> = text.lines().rev().collect();
    let shuffled: Vec<&str> =
        (0..forward.len()).map(|n| forward[(n * 4 + 2) % forward.len()]).collect();
    let figures = |lines: &[&str]| {
        let (parsed, _) = read_lines(lines, mapping("fixtures/map/orders.map.json"));
        let mut runs: Vec<_> = parsed
            .runs
            .iter()
            .map(|run| (run.run_id.clone(), told(run), run.started_at.clone(), run.status.clone()))
            .map(|run| format!("{run:?}"))
            .collect();
        runs.sort();
        runs
    };
    assert_eq!(figures(&forward), figures(&backward));
    assert_eq!(figures(&forward), figures(&shuffled));
}

#[test]
fn a_pino_log_gives_the_tries_of_its_node() {
    let Some((parsed, fates)) = real("structured_logs/pino.jsonl", "pino") else { return };
    assert_eq!(used(&fates), 4);
    let [run] = &parsed.runs[..] else { panic!("{} runs", parsed.runs.len()) };
    assert_eq!(run.run_id.as_deref(), Some("wf-1"));
    assert_eq!(told(run), ["fetch:1:failed:TypeError", "fetch:2:failed:-", "fetch:3:failed:Error"]);
    let message = run.attempts[2].error.as_ref().and_then(|error| error.message.as_deref());
    assert_eq!(message, Some("upstream timed out"));
    // The line of the metric names no run, and there is one.
    assert_eq!(run.tokens, Some(Tokens { unsplit: 123.0, ..Tokens::default() }));
}

#[test]
fn a_structlog_log_gives_the_tries_of_its_nodes() {
    let Some((parsed, fates)) = real("structured_logs/structlog.jsonl", "structlog") else {
        return;
    };
    assert_eq!(used(&fates), 5);
    let [run] = &parsed.runs[..] else { panic!("{} runs", parsed.runs.len()) };
    assert_eq!((run.run_id.as_deref(), run.task_id.as_deref()), (Some("r-9"), Some("wf-1")));
    assert_eq!(
        told(run),
        [
            "fetch:1:failed:TimeoutError",
            "fetch:2:completed:-",
            "summarize:1:failed:ZeroDivisionError"
        ]
    );
    assert_eq!(run.attempts[1].duration_ms, Some(12.5));
    assert_eq!(run.tokens.map(|tokens| tokens.unsplit), Some(123.0));
}

#[test]
fn a_python_log_gives_the_retries_that_only_its_text_tells() {
    let Some((parsed, fates)) =
        real("structured_logs/python_json_logger.jsonl", "python-json-logger")
    else {
        return;
    };
    assert_eq!(used(&fates), 5);
    let [run] = &parsed.runs[..] else { panic!("{} runs", parsed.runs.len()) };
    assert_eq!(
        told(run),
        [
            "fetch:1:failed:TimeoutError",
            "fetch:2:failed:TimeoutError",
            "fetch:3:completed:-",
            "summarize:1:failed:ZeroDivisionError"
        ]
    );
    let message = run.attempts[3].error.as_ref().and_then(|error| error.message.as_deref());
    assert_eq!(message, Some("division by zero"));
    // `asctime` names no zone.
    let time = run.attempts[0].started_at.as_ref().and_then(|stamp| stamp.time()).unwrap();
    assert!(!time.zoned && time.micros % 1_000_000 == 108_000, "{time:?}");
}

#[test]
fn both_forms_of_a_tracing_log_give_the_same() {
    for file in ["rust_tracing_default", "rust_tracing_flat"] {
        let Some((parsed, fates)) = real(&format!("structured_logs/{file}.jsonl"), "rust-tracing")
        else {
            return;
        };
        assert_eq!(used(&fates), fates.len(), "{file}");
        let [run] = &parsed.runs[..] else { panic!("{} runs", parsed.runs.len()) };
        assert_eq!(run.run_id.as_deref(), Some("wf-1"), "{file}");
        assert_eq!(
            told(run),
            ["fetch:1:failed:-", "fetch:2:failed:-", "fetch:3:completed:-", "summarize:-:failed:-"],
            "{file}"
        );
        assert_eq!(run.attempts[2].duration_ms, Some(12.5), "{file}");
    }
}

#[test]
fn starts_and_ends_without_ids_are_paired_in_their_order() {
    let Some((parsed, fates)) = real("openclaw/sample-telemetry.jsonl", "openclaw") else { return };
    assert_eq!((fates.len(), used(&fates)), (57, 48));
    assert_eq!(parsed.runs.len(), 5);
    let steps: Vec<_> = parsed.runs.iter().map(|run| told(run).len()).collect();
    assert_eq!(steps.iter().sum::<usize>(), 14, "{steps:?}");
    assert!(parsed.runs.iter().flat_map(told).all(|step| step.ends_with(":-:completed:-")));
    // 20 lines of agent.start are 10 invocations.
    assert_eq!(parsed.runs.iter().map(|run| turns(run).len()).sum::<usize>(), 10);
    let spent: f64 = parsed
        .runs
        .iter()
        .flat_map(|run| &run.attempts)
        .filter_map(|attempt| attempt.duration_ms)
        .sum();
    assert!((spent - 10_440.0).abs() < 1e-9, "{spent}");
    // The three that were open at once keep their own inputs, and end in their order.
    let spawned: Vec<_> = parsed
        .runs
        .iter()
        .flat_map(|run| &run.attempts)
        .filter(|attempt| attempt.name.as_deref() == Some("sessions_spawn"))
        .collect();
    let durations: Vec<_> = spawned.iter().map(|attempt| attempt.duration_ms).collect();
    assert_eq!(durations, [Some(410.0), Some(508.0), Some(605.0)]);
    assert!(spawned[0].input != spawned[1].input && spawned[1].input != spawned[2].input);
}

#[test]
fn a_denied_call_is_not_a_failed_one() {
    let Some((parsed, _)) =
        real("anthropic_managed_agents/mcp_tools_reject.jsonl", "anthropic-managed")
    else {
        return;
    };
    let [run] = &parsed.runs[..] else { panic!("{} runs", parsed.runs.len()) };
    assert_eq!(run.run_id.as_deref(), Some("sesn_01KW5vhbxfVqMHgLH2dWKbJG"));
    assert_eq!(run.agent.as_deref(), Some("Exa assistant"));
    assert_eq!(run.model.as_deref(), Some("claude-opus-4-8"));
    assert_eq!(run.end_reason.as_deref(), Some("end_turn"));
    assert_eq!(told(run), ["web_search_exa:-:denied:-", "web_fetch:-:completed:-"]);
    assert!(run.attempts.iter().all(|attempt| attempt.error.is_none()));
    assert_eq!(turns(run).len(), 3);
    let mut sum = Tokens::default();
    turns(run).iter().filter_map(|turn| turn.tokens).for_each(|tokens| sum += tokens);
    let counted = Tokens {
        input: 6.0,
        cache_read: 15_730.0,
        cache_write: 18_067.0,
        output: 314.0,
        unsplit: 0.0,
    };
    assert_eq!(sum, counted);
    assert!(run.started_at.is_some() && run.ended_at.is_some());
}

#[test]
fn runtime_events_count_a_call_once() {
    let Some((parsed, fates)) =
        real("event_log_misc/activegraph_runtime_events.jsonl", "activegraph")
    else {
        return;
    };
    assert_eq!((fates.len(), used(&fates)), (30, 6));
    let [run] = &parsed.runs[..] else { panic!("{} runs", parsed.runs.len()) };
    assert_eq!(run.run_id.as_deref(), Some("20260531-153843-240865"));
    assert_eq!(run.task_id.as_deref(), Some("create_task_1"));
    assert_eq!(run.end_reason.as_deref(), Some("max_steps"));
    assert_eq!(told(run), ["get_users:-:ok:-"]);
    let [turn] = turns(run)[..] else { panic!("one turn") };
    let tokens = turn.tokens.unwrap();
    assert_eq!((tokens.input, tokens.output), (441.0, 10.0));
    assert!(matches!(
        run.scores[..],
        [agenteval::model::Score { value: agenteval::model::ScoreValue::Number(0.0), .. }]
    ));
}

#[test]
fn a_run_a_record_gives_its_list_of_steps() {
    let Some((parsed, fates)) = real("mint/gpt-4-0613_gsm8k_max5_first12.jsonl", "mint") else {
        return;
    };
    assert_eq!(used(&fates), 12);
    assert_eq!(parsed.runs.len(), 12);
    assert_eq!(parsed.runs.iter().filter(|run| run.success == Some(true)).count(), 11);
    let all = |name: &str| {
        parsed.runs.iter().flat_map(told).filter(|step| step.starts_with(name)).count()
    };
    // As `agent_action_count` of the records says: 10 uses of the tool, 13 proposals.
    assert_eq!((all("python"), all("propose_solution")), (10, 13));
    assert_eq!(all("propose_solution:-:-:wrong_answer"), 1);
    let sum = |of: fn(&Tokens) -> f64| -> f64 {
        parsed.runs.iter().filter_map(|run| run.tokens.as_ref()).map(of).sum()
    };
    assert_eq!((sum(|t| t.input), sum(|t| t.output)), (23_154.0, 2_277.0));
    assert_eq!(parsed.runs[9].end_reason.as_deref(), Some("max_propose_steps"));
    assert_eq!(parsed.runs[0].task_id.as_deref(), Some("reasoning / 0"));
}

/// `inspect` of a real file, through the program.
fn inspect(file: &str, map: &str) -> Option<serde_json::Value> {
    let path = shared(&format!("data/{file}"))?;
    Some(cli::json(&["inspect", path.to_str().unwrap(), "--map", map]))
}

#[test]
fn checkpoints_that_stand_newest_first_are_put_in_order() {
    let Some(found) = inspect("langchain/langgraph_state_history_meta.json", "langgraph-history")
    else {
        return;
    };
    assert_eq!(found["inputs"][0]["records"], 9);
    assert_eq!(found["inputs"][0]["used"], 9);
    assert_eq!((&found["runs"], &found["steps"]), (&1.into(), &7.into()));
    let path = shared("data/langchain/langgraph_state_history_meta.json").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let records: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (parsed, _) = read_lines(&lines, mapping("langgraph-history"));
    let names: Vec<_> =
        parsed.runs[0].attempts.iter().map(|a| a.name.clone().unwrap_or_default()).collect();
    assert_eq!(names, ["agent", "tools", "agent", "tools", "agent", "tools", "agent"]);
    assert_eq!(parsed.runs[0].run_id.as_deref(), Some("t1"));
}

#[test]
fn a_saved_run_state_is_a_run_with_a_pending_call() {
    let Some(found) = inspect("openai_agents/run_state_v1_13.json", "openai-run-state") else {
        return;
    };
    assert_eq!(
        (&found["runs"], &found["steps"], &found["turns"]),
        (&1.into(), &2.into(), &1.into())
    );
    let text = std::fs::read_to_string(shared("data/openai_agents/run_state_v1_13.json").unwrap());
    let (parsed, _) = read_lines(&[&text.unwrap()], mapping("openai-run-state"));
    let run = &parsed.runs[0];
    assert_eq!(told(run), ["program:-:completed:-", "lookup:-:pending:-"]);
    assert_eq!(run.agent.as_deref(), Some("compat-agent"));
}

#[test]
fn every_file_that_needs_a_mapping_is_read_through_the_program() {
    for (file, map, runs, steps, turns) in [
        ("structured_logs/pino.jsonl", "pino", 1, 1, 0),
        ("structured_logs/structlog.jsonl", "structlog", 1, 2, 0),
        ("structured_logs/python_json_logger.jsonl", "python-json-logger", 1, 2, 0),
        ("structured_logs/rust_tracing_default.jsonl", "rust-tracing", 1, 2, 0),
        ("structured_logs/rust_tracing_flat.jsonl", "rust-tracing", 1, 2, 0),
        ("openclaw/sample-telemetry.jsonl", "openclaw", 5, 14, 10),
        ("anthropic_managed_agents/mcp_tools_reject.jsonl", "anthropic-managed", 1, 2, 3),
        ("event_log_misc/activegraph_runtime_events.jsonl", "activegraph", 1, 1, 1),
        ("mint/gpt-4-0613_gsm8k_max5_first12.jsonl", "mint", 12, 23, 0),
    ] {
        let Some(found) = inspect(file, map) else { return };
        let told = [&found["runs"], &found["steps"], &found["turns"]].map(|n| n.as_u64().unwrap());
        assert_eq!(told, [runs, steps, turns], "{file}: {found:#}");
        let input = &found["inputs"][0];
        let sum = |key: &str| -> u64 {
            input[key].as_object().map_or(0, |by| by.values().filter_map(|n| n.as_u64()).sum())
        };
        let accounted = input["used"].as_u64().unwrap()
            + sum("merged")
            + sum("ignored")
            + input["rejected"].as_u64().unwrap_or(0);
        assert_eq!(input["records"].as_u64(), Some(accounted), "{file}: {input:#}");
        assert_eq!(input["rejected"].as_u64().unwrap_or(0), 0, "{file}");
    }
}
