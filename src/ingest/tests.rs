//! The bound on one record, with a smaller bound than the real one.
#![allow(clippy::expect_used, reason = "a test may fail loudly")]

use std::io::Write;

use super::{FileTally, ReadError, Request, Source, Tally, Visitor, read};
use crate::config::ReadOptions;
use crate::model::Trajectory;

/// Collects the ids of runs.
struct Ids;

impl Visitor for Ids {
    type Out = String;
    type State = ();
    fn state(&self) {}
    fn visit(&self, (): &mut (), run: &Trajectory<'_>) -> String {
        run.run_id.as_deref().unwrap_or_default().to_owned()
    }
    fn retire(&self, (): ()) {}
}

/// The ids read from a file with this content, and its account.
fn bounded(
    content: &str,
    max_record: usize,
    strict: bool,
) -> Result<(Vec<String>, Tally), ReadError> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(content.as_bytes()).expect("written");
    let sources = [Source { path: file.path().to_owned(), named: true }];
    let options = ReadOptions::default();
    let request = Request { options, format: None, strict, threads: 1, progress: None, max_record };
    let mut ids = Vec::new();
    let tally = read(&sources, &request, &Ids, &mut |id| ids.push(id))?;
    assert!(tally.files.iter().all(FileTally::adds_up), "{tally:?}");
    Ok((ids, tally))
}

fn run(id: &str, filling: usize) -> String {
    format!(r#"{{"run_id":"{id}","steps":[{{"type":"t","output":"{}"}}]}}"#, "x".repeat(filling))
}

/// The bound, the size of the large record, and whether it fits.
const SIZES: [(usize, usize, bool); 4] = [
    // In the first block, in one that comes later, and over several blocks.
    (1_000, 2_000, false),
    (1_000, 100_000, false),
    (100_000, 13 << 20, false),
    (14 << 20, 13 << 20, true),
];

#[test]
fn a_record_beyond_the_bound_is_rejected_with_its_place_and_those_after_it_are_read() {
    let lines = ["", "\n", "\n", ""];
    let array = ["[", ",\n", ",", "]"];
    let values = ["", " ", " \n ", "\n"];
    for (bound, size, fits) in SIZES {
        for [open, first, second, close] in [lines, array, values] {
            let head = format!("{open}{}{first}", run("a", 9));
            let text = format!("{head}{}{second}{}{close}", run("b", size), run("c", 9));
            // The values start on one line, so that they are no lines.
            let text =
                if first == " " { text.replacen("{\"run_id\"", "{\n\"run_id\"", 1) } else { text };
            let byte = text.find("{\"run_id\":\"b\"").expect("the large one") as u64;
            let (ids, tally) = bounded(&text, bound, false).expect("read");
            let file = &tally.files[0];
            if fits {
                assert_eq!((ids.len(), file.rejected), (3, 0), "{first:?} {size}");
                continue;
            }
            assert_eq!(ids, ["a", "c"], "{first:?} {size}");
            let issue = &file.rejections[0];
            assert_eq!((file.rejected, issue.code), (1, "record_too_large"));
            let line = if open.is_empty() && first == "\n" { 2 } else { 0 };
            assert_eq!((issue.place.line, issue.place.byte), (line, byte), "{first:?} {size}");
            assert!(matches!(bounded(&text, bound, true), Err(ReadError::Strict { .. })));
        }
    }
}

#[test]
fn a_record_without_an_end_is_rejected_once_and_not_kept() {
    for head in ["", "[", "[{\"run_id\":\"a\",\"steps\":[]},"] {
        let text = format!("{head}{{\"steps\":[{{\"type\":\"{}", "x".repeat(9 << 20));
        let (ids, tally) = bounded(&text, 50_000, false).expect("read");
        assert_eq!(ids.len(), usize::from(head.len() > 1));
        assert_eq!(tally.files[0].rejected, 1);
        assert_eq!(tally.files[0].rejections[0].code, "record_too_large");
    }
}

#[test]
fn a_row_beyond_the_bound_is_rejected_with_its_line_and_those_after_it_are_read() {
    for (bound, size, fits) in SIZES {
        let head = "run_id,task_id,success,notes\na,t,1,\n";
        let text = format!("{head}b,t,1,\"{}\n\"\nc,t,0,\"x\ny\"\nd,t,1,z\n", "x".repeat(size));
        let (ids, tally) = bounded(&text, bound, false).expect("read");
        let file = &tally.files[0];
        if fits {
            assert_eq!((ids.len(), file.rejected), (4, 0), "{size}");
            continue;
        }
        assert_eq!(ids, ["a", "c", "d"], "{size}");
        let issue = &file.rejections[0];
        assert_eq!((file.rejected, issue.code), (1, "record_too_large"));
        assert_eq!((issue.place.line, issue.place.byte), (3, head.len() as u64), "{size}");
    }
}

#[test]
fn quotes_without_an_end_cost_no_more_than_the_bound() {
    let head = "run_id,task_id,success\na,t,1\nb,t,\"";
    let text = format!("{head}{}", "x,\n".repeat(3 << 20));
    let (ids, tally) = bounded(&text, 50_000, false).expect("read");
    assert_eq!((ids, tally.files[0].rejected), (vec!["a".to_owned()], 1));
    assert_eq!(tally.files[0].rejections[0].code, "record_too_large");
}
