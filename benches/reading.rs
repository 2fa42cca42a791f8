//! How long the parts of reading take: cutting a file into records, telling its format, parsing and
//! judging a record, computing the figures. Whole commands are timed as `benches/README.md` says; this
//! finds where the time goes when they slow down.
#![allow(clippy::unwrap_used, reason = "a bench may stop")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use agenteval::config::{EvalConfig, ReadOptions};
use agenteval::evaluate::{Judge, RunRow};
use agenteval::ingest::formats::native::NATIVE;
use agenteval::ingest::formats::{Reader, Record, detect};
use agenteval::ingest::split::{Framing, Splitter};
use agenteval::metrics::Analysis;
use agenteval::model::Place;
use agenteval::stats::{Cluster, bca_ratio};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Runs of 40 steps, about 90 KB each: most of it text with escapes, as in real traces.
fn runs(count: usize) -> Vec<String> {
    let text = "src/parser/token_12.rs:40:7: \\\"index\\\" is 3, not 4\\n\\tat line 12 检索到 4 条记录\\n ";
    (0..count)
        .map(|run| {
            let mut json = format!(
                r#"{{"run_id":"run-{run}","task_id":"task-{}","model":"m-{}","status":"completed","steps":["#,
                run % 40,
                run % 3
            );
            for step in 0..40 {
                let comma = if step > 0 { "," } else { "" };
                let (failed, long) = ((run * 7 + step * 3) % 11 == 0, (run * 13 + step * 17) % 50);
                let (status, error) = match failed {
                    true => ("error", r#"{"type":"ToolTimeout","message":"no answer"}"#),
                    false => ("ok", "null"),
                };
                write!(
                    json,
                    r#"{comma}{{"index":{step},"type":"tool_call","name":"read_file","status":"{status}","attempt":1,"input":{{"path":"src/{long}.rs","range":[1,{step}]}},"output":"{}","error":{error},"started_at":"2026-01-01T00:00:{step:02}Z","duration_ms":20,"tokens":{{"prompt":900,"completion":40}},"cost_usd":0.004}}"#,
                    text.repeat(long + 1)
                )
                .unwrap();
            }
            json + "]}"
        })
        .collect()
}

fn split(c: &mut Criterion) {
    let runs = runs(40);
    let mut group = c.benchmark_group("split");
    for (name, text) in [("lines", runs.join("\n")), ("array", format!("[{}]", runs.join(",\n")))] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), text.as_bytes(), |b, text| {
            b.iter(|| {
                let mut spans = Vec::new();
                Splitter::new(Framing::of(text)).split(black_box(text), true, &mut spans);
                spans
            });
        });
    }
    group.finish();
}

fn detection(c: &mut Criterion) {
    let text = runs(2).join("\n");
    c.bench_function("detection", |b| {
        b.iter(|| {
            let head = black_box(text.as_bytes());
            detect(Path::new("bench.ndjson"), head, Framing::of(head)).is_ok()
        });
    });
}

fn parse_and_judge(c: &mut Criterion) {
    let Reader::Whole(parse) = NATIVE.reader else { return };
    let (runs, options) = (runs(40), ReadOptions::default());
    let record = |text: &'static str| Record {
        bytes: text.as_bytes(),
        place: Place::default(),
        path: Path::new("bench"),
    };
    let bytes: usize = runs.iter().map(String::len).sum();
    let lines: Vec<&'static str> = runs.into_iter().map(|run| &*run.leak()).collect();
    let mut group = c.benchmark_group("run");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("parse", |b| {
        b.iter(|| lines.iter().filter(|line| parse(&record(line), &options).is_ok()).count());
    });
    let written = EvalConfig::load(Path::new("eval-configs/customer-service.json")).unwrap();
    for (name, config) in [("no config", EvalConfig::default()), ("customer service", written)] {
        let judge = Judge::new(&config);
        let mut state = judge.state();
        group.bench_function(BenchmarkId::new("parse and judge", name), |b| {
            b.iter(|| {
                for line in &lines {
                    for run in &parse(&record(line), &options).unwrap().runs {
                        black_box(judge.row(&mut state, run));
                    }
                }
            });
        });
    }
    group.finish();
}

fn figures(c: &mut Criterion) {
    let clusters: Vec<Cluster> =
        (1..=40).map(|at| Cluster::new(f64::from(at * at % 37), f64::from(at))).collect();
    c.bench_function("bootstrap of 40 tasks", |b| {
        b.iter(|| bca_ratio(black_box(&clusters), 10_000, 1, 0.95));
    });
    let Reader::Whole(parse) = NATIVE.reader else { return };
    let (config, options) = (EvalConfig::default(), ReadOptions::default());
    let (judge, texts) = (Judge::new(&config), runs(200));
    let mut state = judge.state();
    let rows: Vec<RunRow> = texts
        .iter()
        .flat_map(|text| {
            let record = Record {
                bytes: text.as_bytes(),
                place: Place::default(),
                path: Path::new("bench"),
            };
            let parsed = parse(&record, &options).unwrap();
            parsed.runs.iter().map(|run| judge.row(&mut state, run)).collect::<Vec<_>>()
        })
        .collect();
    let rows: Vec<&RunRow> = rows.iter().collect();
    c.bench_function("figures of 200 runs", |b| {
        b.iter(|| Analysis::of(black_box(&rows), None, None));
    });
}

criterion_group!(benches, split, detection, parse_and_judge, figures);
criterion_main!(benches);
