//! Reading logs of events as their assembler does, and copies of them in other orders.

#![allow(dead_code, reason = "each test crate uses some of it")]

use std::collections::BTreeMap;
use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::formats::{Fate, Format, Parsed, Reader, Record, detect};
use agenteval::ingest::split::Framing;
use agenteval::model::{Attempt, Issue, Place, Tokens, Trajectory};

/// Files as names and lines.
pub(crate) type Files = Vec<(&'static str, Vec<String>)>;

/// Reads files as this format.
pub(crate) fn read(format: &Format, files: &Files) -> (Parsed<'static>, Vec<Fate>) {
    read_with(format, files, &ReadOptions::default())
}

pub(crate) fn read_with(
    format: &Format,
    files: &Files,
    options: &ReadOptions,
) -> (Parsed<'static>, Vec<Fate>) {
    let Reader::Parts(new) = format.reader else { panic!("{} is read in parts", format.name) };
    let mut assembler = new(options);
    let mut fates = Vec::new();
    for ((name, lines), file) in files.iter().zip(0..) {
        for (text, line) in lines.iter().zip(1..) {
            let place = Place { file, line, byte: 0 };
            let record = Record { bytes: text.as_bytes(), place, path: Path::new(name) };
            fates.push(assembler.push(&record));
        }
    }
    (assembler.finish(), fates)
}

pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// One file of these lines.
pub(crate) fn one(text: &str) -> Files {
    vec![("log.jsonl", lines(text))]
}

/// The name of the format that these bytes are detected as.
pub(crate) fn detected(text: &str) -> Option<&'static str> {
    let framing = Framing::of(text.as_bytes());
    detect(Path::new("x"), text.as_bytes(), framing).ok().map(|format| format.name)
}

/// The lines of a file in other orders and over two files: the same log each time.
pub(crate) fn other_orders(lines: &[String]) -> Vec<(&'static str, Files)> {
    let mut reversed = lines.to_vec();
    reversed.reverse();
    let (first, second) = lines.split_at(lines.len() / 2);
    let (first, second) = (first.to_vec(), second.to_vec());
    vec![
        ("reversed", vec![("log.jsonl", reversed)]),
        ("shuffled", vec![("log.jsonl", shuffled(lines, 7))]),
        ("shuffled again", vec![("log.jsonl", shuffled(lines, 99))]),
        ("in two", vec![("log.jsonl", first.clone()), ("more.jsonl", second.clone())]),
        ("second half first", vec![("more.jsonl", second), ("log.jsonl", first)]),
    ]
}

/// A fixed shuffle.
pub(crate) fn shuffled<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let mut out = items.to_vec();
    let mut state = seed;
    for at in (1..out.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.swap(at, (state >> 33) as usize % (at + 1));
    }
    out
}

pub(crate) fn steps<'r>(run: &'r Trajectory<'static>) -> Vec<&'r Attempt<'static>> {
    run.attempts.iter().filter(|attempt| !attempt.turn).collect()
}

pub(crate) fn turns(run: &Trajectory<'static>) -> usize {
    run.attempts.iter().filter(|attempt| attempt.turn).count()
}

pub(crate) fn failed(run: &Trajectory<'static>) -> usize {
    steps(run).iter().filter(|step| step.error.is_some()).count()
}

/// Tokens of the attempts, or of the run where none has any.
pub(crate) fn tokens(run: &Trajectory<'static>) -> Option<Tokens> {
    let mut sum: Option<Tokens> = None;
    for tokens in run.attempts.iter().filter_map(|attempt| attempt.tokens) {
        *sum.get_or_insert_default() += tokens;
    }
    sum.or(run.tokens)
}

pub(crate) fn count(parsed: &Parsed<'_>, code: &str) -> u64 {
    let of_code = parsed.issues.iter().filter(|issue: &&Issue| issue.code == code);
    of_code.map(|issue| issue.count).sum()
}

pub(crate) fn tag<'r>(run: &'r Trajectory<'static>, key: &str) -> Option<&'r str> {
    run.tags.iter().find(|(have, _)| have == key).map(|(_, value)| value.as_ref())
}

/// Name, status and kind of error of each step.
pub(crate) fn told(run: &Trajectory<'static>) -> Vec<(String, String, String)> {
    let all = steps(run).into_iter().map(|step| {
        let status = step.status.as_deref().unwrap_or("-").to_owned();
        let error = step.error.as_ref().map_or("-", |e| e.kind.as_deref().unwrap_or("error"));
        (step.name.as_deref().unwrap_or("?").to_owned(), status, error.to_owned())
    });
    all.collect()
}

/// What must be the same of each run in any order of its records; with `ordered`, the order of
/// the steps as well.
pub(crate) fn figures(parsed: &Parsed<'static>, ordered: bool) -> BTreeMap<String, String> {
    let of = |run: &Trajectory<'static>| {
        let mut steps: Vec<String> = steps(run)
            .iter()
            .zip(told(run))
            .map(|(step, told)| {
                format!("{told:?} {:?} {:?} {:?}", step.input, step.started_at, step.ended_at)
            })
            .collect();
        if !ordered {
            steps.sort();
        }
        format!(
            "{steps:#?} turns {} tokens {:?} cost {:?} outcome {:?} {:?} model {:?} {:?} to {:?}",
            turns(run),
            tokens(run),
            run.cost_usd,
            run.format_outcome,
            run.end_rule,
            run.model,
            run.started_at,
            run.ended_at,
        )
    };
    let runs = parsed.runs.iter();
    runs.map(|run| (run.run_id.as_deref().unwrap_or("?").to_owned(), of(run))).collect()
}

/// Fails unless every other order of these lines gives the same figures.
#[track_caller]
pub(crate) fn same_in_any_order(format: &Format, text: &str, ordered: bool) {
    let all = lines(text);
    let wanted = figures(&read(format, &vec![("log.jsonl", all.clone())]).0, ordered);
    assert!(!wanted.is_empty());
    for (order, files) in other_orders(&all) {
        assert_eq!(figures(&read(format, &files).0, ordered), wanted, "{order}");
    }
}
