//! What people write: configs, expressions, plans, baselines, sheets of reviews.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use agenteval::baseline::{Baseline, Judging, ReadBy};
use agenteval::compare::{Comparison, Gate, GateOptions, TestOptions, Verdict};
use agenteval::config::{EvalConfig, Plan, ReadOptions};
use agenteval::evaluate::{Judge, JudgeState, RunRow};
use agenteval::expr::{
    Evaluator, Field, FieldPath, Fields, Program, Root, Segment, json_field, json_keys,
};
use agenteval::ingest::{MAX_RECORD, Request, Visitor, read_stream};
use agenteval::model::Trajectory;
use agenteval::review::{read_key, read_sheet};
use agenteval::stats::Draws;

use super::look::full;
use super::parted;

/// Runs with retries, errors, scores, tokens and a final output.
const RUNS: &[u8] = include_bytes!("../../../fixtures/native/worked-example.json");
/// Runs that say everything that the native form can.
const SAYING_ALL: &[u8] = include_bytes!("../../../fixtures/native/full.json");

/// Judges each run by one config.
struct By<'c>(Judge<'c>);

impl Visitor for By<'_> {
    type Out = RunRow;
    type State = JudgeState;
    fn state(&self) -> JudgeState {
        self.0.state()
    }
    fn visit(&self, state: &mut JudgeState, run: &Trajectory<'_>) -> RunRow {
        self.0.row(state, run)
    }
    fn retire(&self, state: JudgeState) {
        let (subtask, whole, _) = state.into_observations();
        drop((subtask, whole));
    }
}

/// Judges the fixed runs.
fn judged(config: &EvalConfig) -> Vec<RunRow> {
    let mut rows = Vec::new();
    for text in [RUNS, SAYING_ALL] {
        let options = ReadOptions { raw_attempts: true, ..config.read_options(None) };
        let (format, max_record) = (None, MAX_RECORD);
        let request =
            Request { options, format, strict: false, threads: 1, progress: None, max_record };
        let stream = Box::new(Cursor::new(text));
        let by = By(Judge::new(config));
        read_stream(stream, Path::new("runs"), &request, &by, &mut |row| rows.push(row))
            .expect("the fixed runs can be read");
    }
    assert!(!rows.is_empty());
    rows
}

/// With few relabellings, which is all that time allows.
fn few() -> GateOptions {
    let tests =
        TestOptions { draws: Draws { count: 99, ..Draws::seeded(1) }, ..TestOptions::default() };
    GateOptions { tests, ..GateOptions::default() }
}

/// The text of an eval config, by which the fixed runs are judged; the same as a task plan, and as
/// what raters fill in.
pub fn config(data: &[u8]) {
    match EvalConfig::from_json(data, "agenteval.json") {
        Ok(config) => {
            let rows = judged(&config);
            let judging = Judging::of(&config, ReadBy::default());
            assert!(judging.differences(&Judging::of(&config, ReadBy::default())).is_empty());
            drop(Gate::of(Some(&rows), &rows, &config, &few()));
            drop(agenteval::diagnose::Settings::of(&config));
        }
        Err(error) => drop(error.render()),
    }
    if let Ok(text) = std::str::from_utf8(data) {
        match Plan::from_yaml(text, "plan.yaml") {
            Ok(plan) => assert_eq!(plan.order().len(), plan.tasks.len()),
            Err(error) => drop(error.to_string()),
        }
    }
    drop(read_sheet(data, "sheet.csv", "ann"));
    drop(read_key(data, "key.json"));
}

/// One object as JSON text, whatever root is read.
struct Recorded<'j>(&'j str);

impl Fields for Recorded<'_> {
    fn get<'a>(&'a self, path: &FieldPath) -> Field<'a> {
        json_field(self.0, &path.segments)
    }
    fn root_present(&self, _: Root) -> bool {
        self.0 != "null"
    }
    fn keys(&self, _: Root, segments: &[Segment], visit: &mut dyn FnMut(&str)) {
        json_keys(self.0, segments, visit);
    }
}

/// An expression, over the JSON behind it and over the fixed runs.
pub fn expressions(data: &[u8]) {
    let (source, json) = parted(data);
    let Ok(source) = std::str::from_utf8(source) else { return };
    let json = std::str::from_utf8(json).ok();
    let json = json.filter(|json| serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok());
    let program = match Program::compile(source, &Root::ALL) {
        Ok(program) => Arc::new(program),
        Err(error) => return drop(error.render(source, "expression")),
    };
    let mut evaluator = Evaluator::new(Arc::clone(&program));
    for json in [json.unwrap_or("{}"), "null", r#"{"error":null,"steps":[1,2.5,"x",{"a":{}}]}"#] {
        let first = evaluator.eval(&Recorded(json));
        assert_eq!(first, evaluator.eval(&Recorded(json)), "{source} over {json}");
        evaluator.observe(&Recorded(json));
    }
    let seen = evaluator.take_observations();
    drop((seen.findings(&program), seen));
    let mut config = full().clone();
    if let Ok(program) = Program::compile(source, &[Root::Subtask]) {
        config.subtask_passed = Some(Arc::new(program));
        config.final_passed = None;
        judged(&config);
    }
    if let Ok(program) = Program::compile(source, &[Root::Final, Root::Run]) {
        config.subtask_passed = None;
        config.final_passed = Some(Arc::new(program));
        judged(&config);
    }
}

/// The bytes of a baseline's file.
pub fn baselines(data: &[u8]) {
    let baseline = match Baseline::from_json(data, "main", "main.json") {
        Ok(baseline) => baseline,
        Err(error) => return drop(error.to_string()),
    };
    let again = Baseline::from_json(&baseline.to_bytes(), "main", "main.json");
    let mut again = again.expect("what is written can be read");
    again.sha256.clone_from(&baseline.sha256);
    assert_eq!(baseline, again);
    drop(baseline.pool(again, Some(2)));
    drop((baseline.completion(), baseline.agents(), baseline.models(), baseline.only_moved_up()));
    if baseline.rows.len() > 200 {
        return;
    }
    super::look::figures(&baseline.rows);
    let config = EvalConfig::default();
    let gate = Gate::of(Some(&baseline.rows), &baseline.rows, &config, &few());
    // The same trial twice cannot be paired with itself either.
    let paired = gate.pairing.as_ref().is_none_or(|pairing| pairing.failures.is_empty());
    assert!(!paired || gate.verdict != Verdict::Regression, "worse than itself");
    drop(Comparison::of(&baseline.rows, &baseline.rows, &config, &few()));
}
