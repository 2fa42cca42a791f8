//! What holds of reading and counting, whatever the runs: every record ends in one place, order and
//! splitting change no figure, parts add up to the whole, names are only names, blocks cut nothing
//! otherwise, and the repair of what needs none changes nothing.

use std::path::{Path, PathBuf};

use agenteval::config::{EvalConfig, ReadOptions};
use agenteval::evaluate::{Judge, RunRow};
use agenteval::ingest::formats::native::NATIVE;
use agenteval::ingest::formats::{FORMATS, Parsed, Reader, Record, Refusal};
use agenteval::ingest::repair::repair;
use agenteval::ingest::split::{Framing, Splitter};
use agenteval::ingest::{self, MAX_RECORD, Request, Tally};
use agenteval::metrics::{Analysis, Shape};
use agenteval::model::Place;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cli::Folder;
use crate::rows::Rows;

/// Reads files of these texts, in this order.
fn read(texts: &[Vec<u8>], threads: usize) -> (Vec<RunRow>, Tally) {
    let folder = Folder::new();
    let write =
        |(at, text): (usize, &Vec<u8>)| PathBuf::from(folder.file(&format!("{at}.json"), text));
    let paths: Vec<PathBuf> = texts.iter().enumerate().map(write).collect();
    let found = ingest::find(&paths).expect("files");
    let config = EvalConfig::default();
    let request = Request {
        options: config.read_options(None),
        format: Some(&NATIVE),
        strict: false,
        threads,
        progress: None,
        max_record: MAX_RECORD,
    };
    let mut rows = Vec::new();
    let judging = Rows(Judge::new(&config));
    let tally =
        ingest::read(&found.sources, &request, &judging, &mut |row| rows.push(row)).expect("read");
    (rows, tally)
}

fn analysis(rows: &[&RunRow]) -> Analysis {
    let model = |row: &RunRow| row.model.clone();
    Analysis::of(rows, None, Some(("model", &model)))
}

/// Everything that a report says of these runs.
fn said(rows: &[RunRow]) -> String {
    format!("{:#?}", analysis(&rows.iter().collect::<Vec<_>>()))
}

fn lines(runs: &[Value]) -> Vec<u8> {
    runs.iter().map(|run| format!("{run}\n")).collect::<String>().into_bytes()
}

fn step() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["tool", "llm", "plan", "数据", "a\"b"]);
    let error = prop::option::weighted(
        0.3,
        prop::sample::select(vec![
            json!("x"),
            json!({"type": "Timeout"}),
            json!({"message": "HTTP 429"}),
            json!({}),
        ]),
    );
    let place = (prop::option::of(0_u8..3), 1_u8..4, prop::option::of(0_u8..3));
    let cost = (
        prop::option::of(0_u32..5_000),
        prop::option::of(0_u32..1_000),
        prop::option::of(0_u32..9_000),
    );
    (kind, error, place, cost).prop_map(
        |(kind, error, (id, attempt, input), (tokens, cost, time))| {
            let mut step = json!({"type": kind, "name": format!("n{}", attempt % 2)});
            if let Some(id) = id {
                step["step_id"] = json!(format!("s{id}"));
                step["attempt"] = json!(attempt);
            }
            error.into_iter().for_each(|error| step["error"] = error);
            input.into_iter().for_each(|input| step["input"] = json!({"q": input}));
            tokens
                .into_iter()
                .for_each(|tokens| step["tokens"] = json!({"prompt": tokens, "completion": 7}));
            cost.into_iter().for_each(|cost| step["cost_usd"] = json!(f64::from(cost) * 0.1));
            time.into_iter().for_each(|time| step["duration_ms"] = json!(time));
            step
        },
    )
}

fn run() -> impl Strategy<Value = Value> {
    let labels = (prop::option::of(0_u8..5), prop::option::of(0_u8..3), prop::option::of(0_u8..3));
    let status = prop::option::of(prop::sample::select(vec![
        "completed",
        "failed",
        "cancelled",
        "running",
        "timeout",
        "odd",
    ]));
    let score = prop::option::of(prop::sample::select(vec![0.0, 0.3, 0.7, 1.0]));
    (labels, status, score, prop::collection::vec(step(), 0..6)).prop_map(
        |((task, trial, model), status, score, steps)| {
            let mut run = json!({"steps": steps});
            task.into_iter().for_each(|task| run["task_id"] = json!(format!("t{task}")));
            trial.into_iter().for_each(|trial| run["trial"] = json!(trial.to_string()));
            model.into_iter().for_each(|model| run["model"] = json!(format!("m{model}")));
            status.into_iter().for_each(|status| run["status"] = json!(status));
            score.into_iter().for_each(|score| run["score"] = json!(score));
            run
        },
    )
}

/// Runs with ids of their own.
fn runs(most: usize) -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(run(), 1..most).prop_map(|mut runs| {
        for (at, run) in runs.iter_mut().enumerate() {
            run["run_id"] = json!(format!("run-{at}"));
        }
        runs
    })
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Used,
    Repaired,
    Rejected,
    Blank,
}

fn line() -> impl Strategy<Value = (Fate, Vec<u8>)> {
    let odd = [
        r#"{"x":NaN,"#,
        r#"{"success":true,"success":null,"#,
        "{\"x\":\"a\tb\",",
        r#"{"x":-Infinity,"#,
    ];
    let broken = [
        "{\"steps\":[",
        "7",
        "\"a\"",
        "{}",
        "[",
        "]",
        "{\"steps\":[{}]}",
        "{\"steps\":[7]}",
        "nothing",
        "{\"steps\":[]}}",
        ",",
        "{\"a\":tru}",
    ];
    prop_oneof![
        6 => run().prop_map(|run| (Fate::Used, run.to_string().into_bytes())),
        2 => (run(), prop::sample::select(odd.to_vec())).prop_map(|(run, odd)| {
            (Fate::Repaired, (odd.to_owned() + &run.to_string()[1..]).into_bytes())
        }),
        2 => prop::sample::select(broken.to_vec()).prop_map(|text| (Fate::Rejected, text.into())),
        1 => prop::sample::select(vec!["", "  ", "\t", "\r"]).prop_map(|text| (Fate::Blank, text.into())),
    ]
}

/// Texts of JSON's signs, sound and not.
fn signs() -> impl Strategy<Value = Vec<u8>> {
    let sign = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\n",
        " ",
        "1",
        "null",
        "\"a\"",
        "{\"a\":[1]}",
        "[{}]",
        "\\\"",
        "é",
        "\r\n",
        "{\"s\":\"]}\"}",
        "\u{FEFF}",
    ]);
    prop::collection::vec(sign, 0..40).prop_map(|signs| signs.concat().into_bytes())
}

/// First byte, end and line of each record, where the text comes in pieces that end at `cuts`.
fn pieces(text: &[u8], framing: Framing, cuts: &[usize]) -> Vec<(usize, usize, u64)> {
    let mut splitter = Splitter::new(framing);
    let (mut base, mut found) = (0, Vec::new());
    for (nth, cut) in cuts.iter().chain([&text.len()]).enumerate() {
        let mut spans = Vec::new();
        let done = splitter.split(&text[base..*cut], nth == cuts.len(), &mut spans);
        found.extend(spans.iter().map(|span| (base + span.start, base + span.end, span.line)));
        base += done;
    }
    found
}

type Parse = for<'r> fn(&Record<'r>, &ReadOptions) -> Result<Parsed<'r>, Refusal>;

/// What a record gives when it is read as it is, or after repair; places left out.
fn rows_of(parse: Parse, bytes: &[u8]) -> Option<String> {
    let config = EvalConfig::default();
    let judge = Judge::new(&config);
    let mut state = judge.state();
    let record = Record { bytes, place: Place::default(), path: Path::new("x") };
    let parsed = parse(&record, &ReadOptions::default()).ok()?;
    let mut rows: Vec<RunRow> = parsed.runs.iter().map(|run| judge.row(&mut state, run)).collect();
    rows.iter_mut().for_each(|row| row.place = Place::default());
    Some(format!("{rows:#?}"))
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn every_line_ends_in_one_place(all in prop::collection::vec(line(), 0..25), threads in 1_usize..4) {
        // A sound first line says that the file has one record a line.
        let first = (Fate::Used, br#"{"steps":[]}"#.to_vec());
        let all: Vec<_> = std::iter::once(first).chain(all).collect();
        let text: Vec<u8> = all.iter().flat_map(|(_, line)| [line.as_slice(), b"\n"].concat()).collect();
        let (rows, tally) = read(&[text], threads);
        let file = &tally.files[0];
        let with = |fate: Fate| all.iter().filter(|(have, _)| *have == fate).count() as u64;
        prop_assert!(file.adds_up());
        prop_assert_eq!(file.rejected, with(Fate::Rejected), "{:?}", &file.rejections);
        prop_assert_eq!(file.repaired, with(Fate::Repaired));
        prop_assert_eq!(file.used, with(Fate::Used) + with(Fate::Repaired));
        prop_assert_eq!((file.runs, rows.len() as u64), (file.used, file.used));
        prop_assert_eq!(file.rejected_by.values().sum::<u64>(), file.rejected);
    }

    #[test]
    fn any_text_adds_up(texts in prop::collection::vec(signs(), 1..4), threads in 1_usize..4) {
        let (rows, tally) = read(&texts, threads);
        prop_assert!(tally.files.iter().all(ingest::FileTally::adds_up), "{:?}", tally);
        prop_assert_eq!(tally.files.iter().map(|file| file.runs).sum::<u64>(), rows.len() as u64);
    }

    #[test]
    fn repair_changes_nothing_of_what_needs_none(run in run(), pretty: bool) {
        let text = if pretty { serde_json::to_vec_pretty(&run) } else { serde_json::to_vec(&run) };
        let text = text.expect("JSON");
        let Reader::Whole(parse) = NATIVE.reader else { panic!("whole runs") };
        let strict = rows_of(parse, &text);
        prop_assert!(strict.is_some());
        prop_assert_eq!(rows_of(parse, &repair(&text).expect("sound")), strict);
    }
}

// Each case computes intervals by resampling, which takes its time without optimisation.
proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_order_of_runs_and_the_files_they_lie_in_change_no_figure(
        (runs, shuffled) in runs(24).prop_flat_map(|runs| (Just(runs.clone()), Just(runs).prop_shuffle())),
        at in any::<prop::sample::Index>(),
    ) {
        let (rows, _) = read(&[lines(&runs)], 1);
        let whole = said(&rows);
        let (rows, _) = read(&[lines(&shuffled)], 2);
        prop_assert_eq!(&said(&rows), &whole, "shuffled");
        let (first, second) = shuffled.split_at(at.index(shuffled.len()));
        let both = [lines(first), lines(second)];
        let (rows, _) = read(&both, 1);
        prop_assert_eq!(&said(&rows), &whole, "in two files");
        let array = Value::Array(shuffled.clone());
        let (rows, _) = read(&[array.to_string().into_bytes()], 1);
        prop_assert_eq!(&said(&rows), &whole, "as an array");
        let (rows, _) = read(&[serde_json::to_vec_pretty(&array).expect("JSON")], 3);
        prop_assert_eq!(&said(&rows), &whole, "as a pretty array");
    }

    #[test]
    fn parts_add_up_to_the_whole(runs in runs(24), at in any::<prop::sample::Index>()) {
        let (rows, _) = read(&[lines(&runs)], 1);
        let rows: Vec<&RunRow> = rows.iter().collect();
        let (first, second) = rows.split_at(at.index(rows.len()));
        let [whole, first, second] = [&rows, first, second].map(analysis);
        for (((metric, whole), (_, first)), (_, second)) in
            whole.figures.iter().zip(&first.figures).zip(&second.figures)
        {
            if !matches!(metric.shape, Shape::RunShare(_) | Shape::Proportion(_) | Shape::CountMean(_)) {
                continue;
            }
            for part in [|f: &agenteval::metrics::Figure| f.numerator, |f: &agenteval::metrics::Figure| f.denominator] {
                let sum = part(first).unwrap_or(0.0) + part(second).unwrap_or(0.0);
                prop_assert_eq!(part(whole).unwrap_or(0.0), sum, "{}", metric.name);
            }
        }
        prop_assert_eq!(whole.runs.total(), first.runs.total() + second.runs.total());
        prop_assert_eq!(whole.attempts, first.attempts + second.attempts);
        for (kind, count) in &whole.distributions.error_type {
            let of = |part: &Analysis| part.distributions.error_type.get(kind).copied().unwrap_or(0);
            prop_assert_eq!(*count, of(&first) + of(&second), "{}", kind);
        }
        // Groups split the same runs.
        let grouped: u64 = whole.groups.iter().map(|group| group.analysis.runs.total()).sum();
        prop_assert_eq!(grouped, whole.runs.total());
    }

    #[test]
    fn one_more_completed_run_never_lowers_completion(mut runs in runs(24)) {
        let rate = |runs: &[Value]| {
            let (rows, _) = read(&[lines(runs)], 1);
            let all = analysis(&rows.iter().collect::<Vec<_>>());
            let (_, figure) = all.figures.iter().find(|(metric, _)| metric.name == "final_completion_rate").expect("in the catalogue");
            figure.value
        };
        let before = rate(&runs);
        runs.push(json!({"run_id": "more", "status": "completed", "steps": [{"type": "tool"}]}));
        let after = rate(&runs);
        prop_assert!(after.is_some() && after >= before, "{:?} after {:?}", after, before);
    }

    #[test]
    fn other_ids_change_nothing_but_the_ids(mut runs in runs(24), seed in any::<u64>()) {
        let (rows, _) = read(&[lines(&runs)], 1);
        let before = said(&rows);
        for (at, run) in runs.iter_mut().enumerate() {
            let mixed = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(seed);
            run["run_id"] = json!(format!("{mixed:x}"));
            if let Some(task) = run["task_id"].as_str().map(str::to_owned) {
                let number: u64 = task[1..].parse().expect("a number");
                run["task_id"] = json!(format!("{:x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(seed)));
            }
        }
        let (rows, _) = read(&[lines(&runs)], 1);
        prop_assert_eq!(said(&rows), before);
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn where_blocks_end_changes_no_record(
        text in signs(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        for framing in [Framing::Lines, Framing::Values, Framing::Elements, Framing::Rows(b',')] {
            let whole = pieces(&text, framing, &[]);
            prop_assert_eq!(pieces(&text, framing, &cuts), whole, "{:?}", framing);
        }
    }
}

#[test]
fn repair_changes_nothing_of_a_sound_record_of_any_format() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let (mut folders, mut held) = (vec![root], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = std::fs::read(&path) else { continue };
            let framing = Framing::of(&text);
            let mut spans = Vec::new();
            Splitter::new(framing).split(&text, true, &mut spans);
            for span in spans.iter().take(20) {
                let bytes = &text[span.start..span.end];
                let Ok(fixed) = repair(bytes) else { continue };
                for format in FORMATS {
                    let Reader::Whole(parse) = format.reader else { continue };
                    let Some(strict) = rows_of(parse, bytes) else { continue };
                    let lenient = rows_of(parse, &fixed);
                    assert_eq!(
                        lenient.as_ref(),
                        Some(&strict),
                        "{} as {}",
                        path.display(),
                        format.name
                    );
                    held += 1;
                }
            }
        }
    }
    assert!(held > 100, "{held} records were held");
}
