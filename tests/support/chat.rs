//! Reading message lists in memory, and telling their steps in short words.

#![allow(dead_code, reason = "each test crate uses some of it")]

use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::formats::{Format, Parsed, Reader, Record, Refusal, detect};
use agenteval::ingest::split::Framing;
use agenteval::model::{Final, Place, Tokens, Trajectory};
use serde_json::Value;

/// Reads one record, with the JSON of each attempt kept.
pub(crate) fn read<'r>(format: &Format, bytes: &'r [u8]) -> Result<Parsed<'r>, Refusal> {
    let Reader::Whole(read) = format.reader else { panic!("records are whole runs") };
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    read(&Record { bytes, place: Place::default(), path: Path::new("runs.json") }, &options)
}

/// The one run of a record.
#[track_caller]
pub(crate) fn one<'r>(format: &Format, bytes: &'r [u8]) -> Trajectory<'r> {
    let mut runs = read(format, bytes).unwrap().runs;
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// Code and count of each issue.
pub(crate) fn codes(parsed: &Parsed<'_>) -> Vec<(&'static str, u64)> {
    parsed.issues.iter().map(|issue| (issue.code, issue.count)).collect()
}

/// Name and verdict of each step: `ok`, a status word, or `KIND/ORIGIN` of its error.
pub(crate) fn steps(run: &Trajectory<'_>) -> Vec<(String, String)> {
    let calls = run.attempts.iter().filter(|attempt| !attempt.turn);
    calls
        .map(|call| {
            let verdict = match (&call.error, &call.status) {
                (Some(error), _) => {
                    format!("{}/{:?}", error.kind.as_deref().unwrap_or("-"), error.origin)
                }
                (None, Some(status)) => status.to_string(),
                (None, None) => "ok".to_owned(),
            };
            (call.name.as_deref().unwrap_or("-").to_owned(), verdict)
        })
        .collect()
}

/// The steps as one text, for short comparisons.
pub(crate) fn told(run: &Trajectory<'_>) -> String {
    steps(run)
        .iter()
        .map(|(name, verdict)| format!("{name} {verdict}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// How many answers of the model there are.
pub(crate) fn turns(run: &Trajectory<'_>) -> usize {
    run.attempts.iter().filter(|attempt| attempt.turn).count()
}

/// Uncached input, cache read, cache write and output of all answers.
pub(crate) fn tokens(run: &Trajectory<'_>) -> [f64; 4] {
    let mut sum = Tokens::default();
    run.attempts.iter().filter_map(|attempt| attempt.tokens).for_each(|tokens| sum += tokens);
    [sum.input, sum.cache_read, sum.cache_write, sum.output]
}

/// The JSON of each step.
pub(crate) fn raws(run: &Trajectory<'_>) -> Vec<Value> {
    let calls = run.attempts.iter().filter(|attempt| !attempt.turn);
    calls.map(|call| serde_json::from_str(call.raw.as_deref().unwrap()).unwrap()).collect()
}

/// What the run delivered.
pub(crate) fn delivered(run: &Trajectory<'_>) -> Value {
    let Final::Json(text) = &run.final_output else { panic!("no final output") };
    serde_json::from_str(text).unwrap()
}

/// The format of a file with these bytes.
pub(crate) fn detected(bytes: &[u8]) -> Option<&'static str> {
    detect(Path::new("x"), bytes, Framing::of(bytes)).ok().map(|format| format.name)
}
