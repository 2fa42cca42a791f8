//! Reading a file as its format does, with the account of what became of its records.

#![allow(dead_code, reason = "each test crate uses some of it")]

use std::path::{Path, PathBuf};

use agenteval::config::ReadOptions;
use agenteval::ingest::formats::{Fate, Format, Reader, Record};
use agenteval::model::{Attempt, Final, Issue, Place, Trajectory};
use serde_json::Value;

/// What records gave.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) fates: Vec<Fate>,
    pub(crate) runs: Vec<Trajectory<'static>>,
    pub(crate) issues: Vec<Issue>,
}

/// Reads records, each of a file of its own if `apart`.
pub(crate) fn read_records(format: &Format, records: &[&[u8]], apart: bool) -> Given {
    let Reader::Parts(new) = format.reader else { panic!("records are parts of runs") };
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    let mut assembler = new(&options);
    let mut fates = Vec::new();
    for (at, bytes) in (0_u32..).zip(records) {
        let place = Place { file: if apart { at } else { 0 }, line: 0, byte: u64::from(at) };
        fates.push(assembler.push(&Record { bytes, place, path: Path::new("file.json") }));
    }
    let parsed = assembler.finish();
    Given { fates, runs: parsed.runs, issues: parsed.issues }
}

/// Reads one record.
pub(crate) fn read(format: &Format, record: &[u8]) -> Given {
    read_records(format, &[record], false)
}

/// Reads one record that must give one run.
#[track_caller]
pub(crate) fn run_of(format: &Format, record: &[u8]) -> Trajectory<'static> {
    let mut given = read(format, record);
    assert_eq!((given.fates.as_slice(), given.runs.len()), (&[Fate::Used][..], 1), "{given:?}");
    given.runs.remove(0)
}

/// The attempts that are no model turns.
pub(crate) fn calls<'t>(run: &'t Trajectory<'static>) -> Vec<&'t Attempt<'static>> {
    run.attempts.iter().filter(|attempt| !attempt.turn).collect()
}

/// Name, and kind of the error or `-`, of each call; a call without an error has its status word.
pub(crate) fn fates(run: &Trajectory<'static>) -> Vec<(String, String)> {
    calls(run)
        .iter()
        .map(|call| {
            let error = call.error.as_ref().filter(|_| !call.status_decides);
            let fate = match (error, &call.status) {
                (Some(error), _) => format!("!{}", error.kind.as_deref().unwrap_or("-")),
                (None, status) => status.as_deref().unwrap_or("-").to_owned(),
            };
            (call.name.as_deref().unwrap_or("-").to_owned(), fate)
        })
        .collect()
}

/// Tokens of all attempts: uncached input, cache read, cache write, output.
pub(crate) fn tokens(run: &Trajectory<'static>) -> [f64; 4] {
    run.attempts.iter().filter_map(|attempt| attempt.tokens).fold([0.0; 4], |sum, t| {
        [sum[0] + t.input, sum[1] + t.cache_read, sum[2] + t.cache_write, sum[3] + t.output]
    })
}

/// All that is told of a run but its attempts' own JSON, whose spaces and order of keys may differ.
pub(crate) fn told(run: &Trajectory<'static>) -> String {
    let mut run = run.clone();
    for attempt in &mut run.attempts {
        attempt.raw = None;
    }
    format!("{run:?}")
}

/// The same of several runs.
pub(crate) fn all_told(runs: &[Trajectory<'static>]) -> Vec<String> {
    runs.iter().map(told).collect()
}

/// What the run delivered.
#[track_caller]
pub(crate) fn delivered(run: &Trajectory<'static>) -> Value {
    let Final::Json(text) = &run.final_output else { panic!("nothing delivered") };
    serde_json::from_str(text).expect("JSON")
}

/// The codes of issues, with how often.
pub(crate) fn codes(given: &Given) -> Vec<(&'static str, u64)> {
    given.issues.iter().map(|issue| (issue.code, issue.count)).collect()
}

/// A file beside the repository.
pub(crate) fn bytes(path: Option<PathBuf>) -> Option<Vec<u8>> {
    path.map(|path| std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display())))
}

/// What the program takes a text for: the format, and the number of runs in it.
#[track_caller]
pub(crate) fn taken_for(text: &[u8]) -> (String, u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file.json");
    std::fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    let output = assert_cmd::cargo::cargo_bin_cmd!("agenteval")
        .args(["inspect", &path, "--output", "json"])
        .output()
        .expect("the program starts");
    let page: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&output.stderr)));
    let input = &page["inputs"][0];
    let name = input["format"].as_str().unwrap_or_default();
    (name.to_owned(), input["runs"].as_u64().unwrap_or_default())
}

/// A list as one value a line.
pub(crate) fn lines(list: &[Value]) -> Vec<u8> {
    let lines: Vec<String> = list.iter().map(Value::to_string).collect();
    lines.join("\n").into_bytes()
}
