//! Reading the files of span formats as the program does, and what tests ask of the runs.

#![allow(dead_code, reason = "each test crate uses some of it")]

use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::formats::{Fate, Format, Parsed, Reader, Record, detect};
use agenteval::ingest::split::{Framing, Splitter};
use agenteval::model::{Attempt, Issue, Place, Tokens, Trajectory};

/// The records of a file, as they are given to a format.
pub(crate) fn records(text: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    Splitter::new(Framing::of(text.as_bytes())).split(text.as_bytes(), true, &mut spans);
    spans.iter().map(|span| &text[span.start..span.end]).collect()
}

/// The name of the format that claims a file; empty if none does.
pub(crate) fn format_of(text: &str) -> &'static str {
    let framing = Framing::of(text.as_bytes());
    detect(Path::new("x"), text.as_bytes(), framing).map_or("", |format| format.name)
}

/// Reads each list of records as a file of its own.
pub(crate) fn read_files(format: &Format, files: &[Vec<String>]) -> (Parsed<'static>, Vec<Fate>) {
    read_with(format, files, &ReadOptions::default())
}

pub(crate) fn read_with(
    format: &Format,
    files: &[Vec<String>],
    options: &ReadOptions,
) -> (Parsed<'static>, Vec<Fate>) {
    let Reader::Parts(new) = format.reader else { panic!("{} has parts of runs", format.name) };
    let mut assembler = new(options);
    let mut fates = Vec::new();
    for (records, file) in files.iter().zip(0..) {
        for (record, line) in records.iter().zip(1..) {
            let place = Place { file, line, byte: 0 };
            let path = Path::new("x");
            fates.push(assembler.push(&Record { bytes: record.as_bytes(), place, path }));
        }
    }
    (assembler.finish(), fates)
}

/// Reads one text as one file.
pub(crate) fn read_text(format: &Format, text: &str) -> (Parsed<'static>, Vec<Fate>) {
    read_files(format, &[records(text).into_iter().map(str::to_owned).collect()])
}

pub(crate) fn runs(format: &Format, text: &str) -> Vec<Trajectory<'static>> {
    read_text(format, text).0.runs
}

/// The run with this id.
pub(crate) fn run<'r>(runs: &'r [Trajectory<'static>], id: &str) -> &'r Trajectory<'static> {
    runs.iter()
        .find(|run| run.run_id.as_deref() == Some(id))
        .unwrap_or_else(|| panic!("no run {id}"))
}

/// Everything but the places, which say where the input stood.
pub(crate) fn plain(mut runs: Vec<Trajectory<'static>>) -> String {
    runs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    for run in &mut runs {
        run.place = Place::default();
    }
    format!("{runs:#?}")
}

pub(crate) fn steps<'r>(run: &'r Trajectory<'static>) -> Vec<&'r Attempt<'static>> {
    run.attempts.iter().filter(|attempt| !attempt.turn).collect()
}

pub(crate) fn failed<'r>(run: &'r Trajectory<'static>) -> Vec<&'r Attempt<'static>> {
    steps(run).into_iter().filter(|attempt| attempt.error.is_some()).collect()
}

pub(crate) fn turns(run: &Trajectory<'static>) -> usize {
    run.attempts.iter().filter(|attempt| attempt.turn).count()
}

/// The sum of the tokens of all attempts.
pub(crate) fn tokens(run: &Trajectory<'static>) -> Tokens {
    let mut sum = Tokens::default();
    for tokens in run.attempts.iter().filter_map(|attempt| attempt.tokens) {
        sum += tokens;
    }
    sum
}

/// Tokens of which no cache served or took any.
pub(crate) fn uncached(input: f64, output: f64) -> Tokens {
    Tokens { input, output, ..Tokens::default() }
}

pub(crate) fn tag<'r>(run: &'r Trajectory<'static>, key: &str) -> Option<&'r str> {
    run.tags.iter().find(|(have, _)| have == key).map(|(_, value)| value.as_ref())
}

pub(crate) fn issue<'i>(parsed: &'i Parsed<'static>, code: &str) -> Option<&'i Issue> {
    parsed.issues.iter().find(|issue| issue.code == code)
}

/// Spans that ended in any place, by the notes.
pub(crate) fn accounted(parsed: &Parsed<'static>) -> u64 {
    let codes = ["spans_used", "spans_ignored", "spans_merged", "spans_rejected"];
    parsed.issues.iter().filter(|i| codes.contains(&i.code)).map(|i| i.count).sum()
}

/// The kind of the error of an attempt.
pub(crate) fn kind<'r>(attempt: &'r Attempt<'static>) -> Option<&'r str> {
    attempt.error.as_ref().and_then(|error| error.kind.as_deref())
}
