//! How fast one record becomes a row: parse, judge, count. Whole commands are timed as
//! `benches/README.md` says; this finds where the time goes when they slow down.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use agenteval::config::{EvalConfig, ReadOptions};
use agenteval::evaluate::Judge;
use agenteval::ingest::formats::native::NATIVE;
use agenteval::ingest::formats::{Reader, Record};
use agenteval::model::Place;

/// Runs a piece of work for about a second and gives its mean time in microseconds.
fn time(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut times = 0_u32;
    while start.elapsed().as_secs_f64() < 1.0 {
        work();
        times += 1;
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(times)
}

#[expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may stop")]
fn main() {
    let text = std::fs::read_to_string("fixtures/native/support-flow.ndjson").unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let config = EvalConfig::load(Path::new("eval-configs/customer-service.json")).unwrap();
    let Reader::Whole(parse) = NATIVE.reader else { return };
    let options = ReadOptions::default();
    let record = |line: &'static str| Record {
        bytes: line.as_bytes(),
        place: Place::default(),
        path: Path::new("bench"),
    };
    let lines: Vec<&'static str> =
        lines.iter().map(|line| &*Box::leak((*line).to_owned().into_boxed_str())).collect();
    let per_run = |micros: f64| micros / f64::from(u32::try_from(lines.len()).unwrap_or(1));
    let parsed = time(|| {
        for line in &lines {
            drop(black_box(parse(&record(line), &options)));
        }
    });
    println!("parse               {:8.2} us a run", per_run(parsed));
    for (name, config) in [("no config", EvalConfig::default()), ("customer service", config)] {
        let judge = Judge::new(&config);
        let mut state = judge.state();
        let both = time(|| {
            for line in &lines {
                for run in &parse(&record(line), &options).unwrap().runs {
                    black_box(judge.row(&mut state, run));
                }
            }
        });
        println!("parse and judge     {:8.2} us a run, {name}", per_run(both));
    }
}
