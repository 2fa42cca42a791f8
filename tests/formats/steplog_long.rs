//! Step logs that are long: runs are given out before the log ends.
use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::formats::{Fate, Reader, Record, steplog::STEPLOG};
use agenteval::model::Place;

/// A log of this many runs of 100 steps, one after the other.
fn long_log(runs: usize) -> Vec<String> {
    (0..runs)
        .flat_map(|run| {
            let start = format!(r#"{{"event":"run_start","run_id":"r-{run}","task_id":"t"}}"#);
            let step = format!(r#"{{"event":"step","run_id":"r-{run}","type":"tool"}}"#);
            let end = format!(r#"{{"event":"run_end","run_id":"r-{run}","status":"completed"}}"#);
            std::iter::once(start).chain(std::iter::repeat_n(step, 100)).chain([end])
        })
        .collect()
}

#[test]
fn a_run_is_given_out_once_many_others_have_ended_and_a_later_line_of_it_is_refused() {
    let Reader::Parts(open) = STEPLOG.reader else { panic!("a log's lines are parts of runs") };
    let mut assembler = open(&ReadOptions::default());
    let push = |assembler: &mut Box<dyn agenteval::ingest::formats::Assembler>, line: &str| {
        let place = Place { line: 1, ..Place::default() };
        assembler.push(&Record { bytes: line.as_bytes(), place, path: Path::new("log.ndjson") })
    };
    let mut given = Vec::new();
    for line in long_log(200) {
        assert_eq!(push(&mut assembler, &line), Fate::Used);
        given.extend(assembler.give_out());
    }
    assert!((100..200).contains(&given.len()), "{}", given.len());
    assert_eq!(given[0].run_id.as_deref(), Some("r-0"));
    assert!(given.iter().all(|run| run.attempts.len() == 100));
    let late = |run: &str| format!(r#"{{"metric":"score","value":1,"run_id":"{run}"}}"#);
    match push(&mut assembler, &late("r-0")) {
        Fate::Refused(refusal) => assert_eq!(refusal.code, "line_after_run_end"),
        other => panic!("{other:?}"),
    }
    assert_eq!(push(&mut assembler, &late("r-199")), Fate::Used);
    let rest = assembler.finish().runs;
    assert_eq!(given.len() + rest.len(), 200);
}

#[test]
fn a_long_log_tells_its_runs_in_the_order_of_their_first_lines() {
    let folder = crate::cli::Folder::new();
    let mut lines = long_log(300);
    // The first run goes on to the end of the log.
    let last = lines.remove(101);
    lines.push(last);
    let path = folder.file("log.ndjson", lines.join("\n"));
    let report = crate::cli::report(&[&path]);
    assert_eq!(report["runs"]["total"], 300);
    assert_eq!(report["inputs"][0]["attempts"], 30_000);
    assert_eq!(report["inputs"][0]["rejected"], 0);
    let inspected = crate::cli::run(&["convert", &path, "--to", "native"]);
    let ids: Vec<&str> =
        inspected.out.lines().filter_map(|line| line.split('"').nth(3)).take(3).collect();
    assert_eq!(ids, ["r-0", "r-1", "r-2"], "{}", inspected.err);
}
