//! JSON that nests without end in any field of any format: nothing overflows the stack, and every record
//! ends in one place.

use std::path::{Path, PathBuf};

use agenteval::config::{EvalConfig, ReadOptions};
use agenteval::evaluate::Judge;
use agenteval::ingest::split::{Framing, Splitter};
use agenteval::ingest::{self, FileTally, MAX_RECORD, ReadError, Request, Source, Tally};
use serde_json::Value;

use crate::cli::Folder;
use crate::rows::Rows;

fn read(path: &str, raw: bool) -> Result<Tally, ReadError> {
    let sources = [Source { path: PathBuf::from(path), named: true }];
    let config = EvalConfig::default();
    let request = Request {
        options: ReadOptions { raw_attempts: raw, ..config.read_options(None) },
        format: None,
        strict: false,
        threads: 1,
        progress: None,
        max_record: MAX_RECORD,
    };
    ingest::read(&sources, &request, &Rows(Judge::new(&config)), &mut |_| ())
}

/// The ways to all values below one, breadth first.
fn ways(value: &Value) -> Vec<Vec<String>> {
    let mut ways = vec![Vec::new()];
    let mut next = 0;
    while let Some(way) = ways.get(next).cloned() {
        next += 1;
        let below: Vec<String> = match at(&mut value.clone(), &way) {
            Value::Object(members) => members.keys().cloned().collect(),
            Value::Array(list) => (0..list.len().min(3)).map(|at| at.to_string()).collect(),
            _ => Vec::new(),
        };
        ways.extend(below.into_iter().map(|key| [way.clone(), vec![key]].concat()));
        if ways.len() > 400 {
            break;
        }
    }
    ways
}

fn at<'v>(value: &'v mut Value, way: &[String]) -> &'v mut Value {
    way.iter().fold(value, |value, key| match value {
        Value::Array(list) => &mut list[key.parse::<usize>().unwrap()],
        value => &mut value[key.as_str()],
    })
}

/// All files below a folder.
fn files(root: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn a_value_of_any_field_of_any_format_may_nest_without_end() {
    // In a debug build a level that recurses takes half a kilobyte of the 2 MB of a thread at least.
    const DEPTH: usize = 10_000;
    /// Fields of a file that are tried.
    const TRIED: usize = 2;
    const NO_TRACES: [&str; 6] = ["baselines", "configs", "failures", "map", "plans", "review"];
    let deep = [
        format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        format!("{}1{}", "{\"content\":[".repeat(DEPTH / 2), "]}".repeat(DEPTH / 2)),
        // A text that holds JSON, as many fields do.
        format!("\"{}{}\"", "[".repeat(DEPTH), "]".repeat(DEPTH)),
    ];
    let (folder, mut held) = (Folder::new(), 0);
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let no_trace = |part: &std::ffi::OsStr| NO_TRACES.iter().any(|name| part == *name);
        if text.len() > 100_000 || file.iter().any(no_trace) {
            continue;
        }
        let framing = Framing::of(text.as_bytes());
        let mut spans = Vec::new();
        Splitter::new(framing).split(text.as_bytes(), true, &mut spans);
        let Some(span) = spans.first() else { continue };
        let Ok(value) = serde_json::from_str::<Value>(&text[span.start..span.end]) else {
            continue;
        };
        let ways = ways(&value);
        for (nth, way) in ways.iter().skip(1).step_by(ways.len() / TRIED + 1).enumerate() {
            let mut changed = value.clone();
            *at(&mut changed, way) = Value::from("@deep@");
            let record = changed.to_string().replace("\"@deep@\"", &deep[nth % deep.len()]);
            // The other records of the file still tell its format.
            let text = format!("{}{record}{}", &text[..span.start], &text[span.end..]);
            let path = folder.file(file.file_name().unwrap().to_str().unwrap(), text);
            match read(&path, nth % 2 == 0) {
                Ok(tally) => {
                    assert!(
                        tally.files.iter().all(FileTally::adds_up),
                        "{path} {way:?}: {tally:?}"
                    );
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            held += 1;
        }
    }
    assert!(held > 80, "{held} fields were tried");
}
