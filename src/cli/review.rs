//! `agenteval review`: sheets for people to rate blind, and how far the config agrees with them.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::args::{Form, Global, Output, ReviewCommand, ReviewSample, ReviewScore};
use super::output::{self, Draft, Forms, More};
use super::runs::{self, Loaded, Set};
use super::{Failure, Outcome, complain};
use crate::drafts;
use crate::evaluate::{Name, RunRow, TimelineStep, Verdict as AttemptVerdict};
use crate::exit::Status;
use crate::model::{Place, Trajectory};
use crate::render::{
    Column, Doc, ScorePage, Table, count, pretty_json, score_doc, score_wire, sheet_csv,
    sheet_json, text,
};
use crate::review::{
    Draw, Key, KeyRow, LEVEL, Sheet, SheetRow, Unit, UnitKind, Verdict, content, draw, ids,
    read_key, read_sheet, score,
};
use crate::stats::corrected_rate;

/// Largest sheet or key, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Runs a command.
pub(super) fn run(command: &ReviewCommand, global: &Global) -> Outcome {
    match command {
        ReviewCommand::Sample(args) => sample(args, global),
        ReviewCommand::Score(args) => rated(args, global),
    }
}

/// A step that may be drawn.
struct StepUnit {
    position: u32,
    label: String,
    /// The record of its last judged attempt.
    record: u32,
    passed: bool,
}

impl StepUnit {
    /// `None` where no attempt of the step passed or failed.
    fn of(step: &TimelineStep) -> Option<Self> {
        let judged = |verdict| verdict != AttemptVerdict::Neither;
        let last = step.attempts.iter().rev().find(|attempt| judged(attempt.verdict))?;
        Some(Self {
            position: step.position,
            label: step.name.clone().unwrap_or_else(|| step.kind.clone()),
            record: last.record,
            passed: last.verdict == AttemptVerdict::Passed,
        })
    }
}

/// A run or step among those that may be drawn: the run's place among the rows, and the step.
struct Candidate<'c> {
    row: usize,
    step: Option<&'c StepUnit>,
}

fn sample(args: &ReviewSample, global: &Global) -> Outcome {
    let ending = args.file.extension().and_then(|ending| ending.to_str());
    let json = match ending {
        Some("json") => true,
        Some("csv") => false,
        _ => {
            return Err(Failure::usage(format!(
                "-o {}: a sheet is a .csv or .json file",
                args.file.display()
            )));
        }
    };
    let key_file = key_of(&args.file);
    for file in [&args.file, &key_file] {
        if file.exists() {
            return Err(Failure::usage(format!(
                "{} is there already, and may hold ratings; name another file or move it away",
                file.display()
            )));
        }
    }
    if args.include_content && args.paths.iter().any(|path| path == Path::new("-")) {
        return Err(Failure::usage(
            "--include-content reads the input twice, which standard input cannot be; save it to a file",
        ));
    }
    let kind = if args.steps { UnitKind::Steps } else { UnitKind::Runs };
    let loaded = Loaded::config(&args.reading, global)?;
    let written = Output { output: Form::Table, files: vec![args.file.clone(), key_file.clone()] };
    let (set, steps) =
        runs::read(&args.paths, &args.reading, global, &loaded, &written, &|judge, state, run| {
            if kind == UnitKind::Runs {
                return (judge.row(state, run), (Vec::new(), 0));
            }
            let timeline = judge.timeline(state, run);
            let units: Vec<StepUnit> = timeline.steps.iter().filter_map(StepUnit::of).collect();
            let without = timeline.steps.len() - units.len();
            (timeline.row, (units, without))
        })?;
    let empty = set.require_runs();
    set.warn(global);
    empty?;
    let (candidates, left_out) = candidates(&set, &steps, kind);
    if candidates.is_empty() {
        return Err(Failure::nothing(match kind {
            UnitKind::Runs => {
                "no run has ended with an outcome, so people's verdicts have nothing to be held against"
            }
            UnitKind::Steps => {
                "no step has passed or failed, so people's verdicts have nothing to be held against"
            }
        }));
    }
    let units: Vec<Unit> = candidates.iter().map(|one| unit(&set, one)).collect();
    let drawn = draw(&units, args.size as usize, args.seed);
    let chosen: Vec<&Candidate<'_>> =
        drawn.chosen.iter().filter_map(|at| candidates.get(*at)).collect();
    let contents = if args.include_content {
        Some(contents(args, global, &loaded, &written, &set, &chosen)?)
    } else {
        None
    };
    let identities: Vec<String> = chosen
        .iter()
        .filter_map(|one| {
            let row = set.rows.get(one.row)?;
            let step = one.step.map(|step| step.position);
            Some(format!("{}\n{:?}\n{:?}\n{step:?}", set.locate(row), row.run_id, row.trial))
        })
        .collect();
    let ids = ids(&identities, args.seed);
    let rows: Vec<SheetRow> = ids
        .iter()
        .zip(&chosen)
        .filter_map(|(id, one)| {
            let row = set.rows.get(one.row)?;
            Some(SheetRow {
                id: id.clone(),
                task: row.task_id.as_deref().map(str::to_owned),
                run: row.run_id.as_deref().map(str::to_owned),
                place: set.locate(row),
                step: one.step.map(|step| step.position),
                tool: one.step.map(|step| step.label.clone()),
                content: contents.as_ref().map(|contents| {
                    let key = (one.row, one.step.map(|step| step.position));
                    contents.get(&key).cloned().unwrap_or_default()
                }),
                ..SheetRow::default()
            })
        })
        .collect();
    let sheet = Sheet {
        schema: "agenteval.review-sheet/1",
        how: "write pass, fail or unsure as the verdict of each row, without looking into the key",
        rows,
    };
    let key = Key {
        schema: "agenteval.review-key/1".to_owned(),
        unit: kind,
        seed: args.seed,
        config_sha256: loaded.config.sha256.clone(),
        strata: drawn.strata.clone(),
        rows: ids
            .iter()
            .zip(&drawn.chosen)
            .filter_map(|(id, at)| Some(KeyRow { id: id.clone(), judge: units.get(*at)?.judge }))
            .collect(),
    };
    let sheet = if json { sheet_json(&sheet) } else { sheet_csv(&sheet, kind) };
    write_both((&key_file, &pretty_json(&key)), (&args.file, &sheet))?;
    output::print(&text(
        &drawn_doc(&drawn, kind, &args.file, &key_file, left_out),
        output::style(global),
    ))
}

/// Writes key and sheet, or neither: a sheet without a key could not be scored, and a key alone would
/// be in the way of the next draw.
fn write_both(key: (&Path, &str), sheet: (&Path, &str)) -> Result<(), Failure> {
    let draft = |(path, text): (&Path, &str)| {
        let mut draft = Draft::begin(path)?;
        let written = draft.write_all(text.as_bytes());
        let fail = |error: std::io::Error| {
            Failure::usage(format!("cannot write {}: {error}", path.display()))
        };
        written.map(|()| draft).map_err(fail)
    };
    let (key_draft, sheet_draft) = (draft(key)?, draft(sheet)?);
    let _together = drafts::together();
    key_draft.finish()?;
    sheet_draft.finish().inspect_err(|_| {
        // It was not there before, so nobody else's is taken away.
        drop(std::fs::remove_file(key.0));
    })
}

/// The key that is written with a sheet.
fn key_of(sheet: &Path) -> PathBuf {
    let mut name = sheet.as_os_str().to_owned();
    name.push(".key.json");
    PathBuf::from(name)
}

/// Everything with a verdict, and how much has none.
fn candidates<'c>(
    set: &Set,
    steps: &'c [(Vec<StepUnit>, usize)],
    kind: UnitKind,
) -> (Vec<Candidate<'c>>, u64) {
    if kind == UnitKind::Runs {
        let ended = |row: &RunRow| row.counts_as_ended();
        let all = set.rows.iter().enumerate().filter(|(_, row)| ended(row));
        let all: Vec<Candidate<'c>> = all.map(|(row, _)| Candidate { row, step: None }).collect();
        let left_out = set.rows.len() - all.len();
        return (all, left_out as u64);
    }
    let all = steps.iter().enumerate().flat_map(|(row, (units, _))| {
        units.iter().map(move |step| Candidate { row, step: Some(step) })
    });
    (all.collect(), steps.iter().map(|(_, without)| *without as u64).sum())
}

fn unit(set: &Set, one: &Candidate<'_>) -> Unit {
    let verdict = |passed| if passed { Verdict::Pass } else { Verdict::Fail };
    match (one.step, set.rows.get(one.row)) {
        (Some(step), _) => Unit { judge: verdict(step.passed), group: step.label.clone() },
        (None, Some(row)) => Unit {
            judge: verdict(row.completed()),
            group: format!(
                "{}\n{}",
                row.outcome.name(),
                row.task_id.as_deref().unwrap_or_default()
            ),
        },
        (None, None) => Unit { judge: Verdict::Fail, group: String::new() },
    }
}

/// What tells a run apart in a second reading.
type RunKey = (Place, Option<Box<str>>, Option<Name>);

/// Position and record of a drawn step; `None` for a whole run.
type Wanted = Option<(u32, u32)>;

/// The texts of the drawn runs or steps. They are read anew, since all texts of all runs would not fit
/// into memory.
fn contents(
    args: &ReviewSample,
    global: &Global,
    loaded: &Loaded,
    written: &Output,
    set: &Set,
    chosen: &[&Candidate<'_>],
) -> Result<BTreeMap<(usize, Option<u32>), String>, Failure> {
    let mut wanted: BTreeMap<RunKey, (usize, Vec<Wanted>)> = BTreeMap::new();
    for one in chosen {
        let Some(row) = set.rows.get(one.row) else { continue };
        let key = (row.place, row.run_id.clone(), row.trial.clone());
        let step = one.step.map(|step| (step.position, step.record));
        wanted.entry(key).or_insert_with(|| (one.row, Vec::new())).1.push(step);
    }
    let look = |run: &Trajectory<'_>, row: &RunRow| {
        let key = (row.place, row.run_id.clone(), row.trial.clone());
        let Some((at, steps)) = wanted.get(&key) else { return Vec::new() };
        let one = |step: &Wanted| {
            let position = step.map(|(position, _)| position);
            ((*at, position), content(run, step.map(|(_, record)| record)))
        };
        steps.iter().map(one).collect()
    };
    let quiet = Global { quiet: true, ..global.clone() };
    let (_, found) = runs::read_texts(
        &args.paths,
        &args.reading,
        &quiet,
        loaded,
        written,
        true,
        &|judge, state, run| {
            let row = judge.row(state, run);
            let found = look(run, &row);
            (row, found)
        },
    )?;
    let found: BTreeMap<(usize, Option<u32>), String> = found.into_iter().flatten().collect();
    let of = |one: &Candidate<'_>| (one.row, one.step.map(|step| step.position));
    if chosen.iter().any(|one| !found.contains_key(&of(one))) {
        return Err(Failure::usage("the input changed while it was read; run the command again"));
    }
    Ok(found)
}

fn drawn_doc(drawn: &Draw, kind: UnitKind, sheet: &Path, key: &Path, left_out: u64) -> Doc {
    let mut doc = Doc::default();
    let name = kind.name();
    doc.title(format!("{} {name} to rate: {}", count(drawn.chosen.len() as u64), sheet.display()));
    doc.table(Table {
        columns: vec![
            Column::left("verdict of the config"),
            Column::right(name),
            Column::right("drawn"),
        ],
        rows: drawn
            .strata
            .iter()
            .map(|stratum| {
                vec![stratum.judge.name().to_owned(), count(stratum.size), count(stratum.drawn)]
            })
            .collect(),
    });
    if left_out > 0 {
        doc.line(format!(
            "{} {name} without a verdict of the config are left out",
            count(left_out)
        ));
    }
    doc.line(format!(
        "do not open {} before the sheet is filled in: it holds the config's verdicts",
        key.display()
    ));
    doc.command("score", format!("agenteval review score {}", sheet.display()));
    doc
}

fn rated(args: &ReviewScore, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let key_file = args.key.clone().map_or_else(
        || {
            let beside: Vec<PathBuf> = args.sheets.iter().map(|sheet| key_of(sheet)).collect();
            let found = beside.iter().find(|key| key.is_file()).cloned();
            found.ok_or_else(|| {
                let first = beside.first().map(|key| key.display().to_string());
                Failure::usage(format!(
                    "no key beside the sheet ({}); name it with --key FILE",
                    first.unwrap_or_default()
                ))
            })
        },
        Ok,
    )?;
    let read = args.sheets.iter().chain([&key_file]).map(PathBuf::as_path);
    output::guard(&output, read)?;
    let key = read_key(&bytes_of(&key_file)?, &key_file.display().to_string())
        .map_err(|error| Failure::usage(error.to_string()))?;
    let mut sheets = Vec::new();
    let mut given = BTreeMap::new();
    for sheet in &args.sheets {
        // One person is one rater, however the path of the sheet is written.
        if let Ok(whole) = sheet.canonicalize()
            && let Some(other) = given.insert(whole, sheet)
        {
            return Err(Failure::usage(format!(
                "{}: this sheet is given twice (as {}), and would count as two raters; name it once",
                sheet.display(),
                other.display()
            )));
        }
        let name = sheet.display().to_string();
        let ratings = read_sheet(&bytes_of(sheet)?, &name, &name)
            .map_err(|error| Failure::usage(error.to_string()))?;
        sheets.push(ratings);
    }
    let found = score(&key, &sheets).map_err(|error| Failure::usage(error.to_string()))?;
    if found.scored == 0 {
        return Err(Failure::nothing(
            "no row has a pass or fail that most raters share; fill in the column `verdict`",
        ));
    }
    let others = if args.paths.is_empty() {
        None
    } else {
        let (passed, of) = others(args, global, &key, &output)?;
        let rate = match found.agreement {
            Some(_) => corrected_rate(&found.rated, float(passed), float(of), LEVEL).into(),
            None => found.missing(),
        };
        Some((passed, of, rate))
    };
    let page = ScorePage { score: &found, key: &key, others };
    output::emit(
        &Forms::page(&|| score_doc(&page), &|| pretty_json(&score_wire(&page))),
        &output,
        global,
    )?;
    Ok(Status::Done)
}

/// Completed and ended runs of `--of`.
fn others(
    args: &ReviewScore,
    global: &Global,
    key: &Key,
    output: &Output,
) -> Result<(u64, u64), Failure> {
    if key.unit == UnitKind::Steps {
        return Err(Failure::usage(
            "--of corrects the completion rate of runs, and this sheet rates steps; draw one with --runs",
        ));
    }
    let loaded = Loaded::config(&args.reading, global)?;
    if loaded.config.sha256 != key.config_sha256 && !global.quiet {
        complain(
            "warning: the sheet was drawn with another config, whose errors may be others than those of this one",
        );
    }
    let (set, _) =
        runs::read(&args.paths, &args.reading, global, &loaded, output, &|judge, state, run| {
            (judge.row(state, run), ())
        })?;
    let empty = set.require_runs();
    set.warn(global);
    empty?;
    let ended = || set.rows.iter().filter(|row| row.counts_as_ended());
    let passed = ended().filter(|row| row.completed()).count();
    Ok((passed as u64, ended().count() as u64))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs")]
fn float(number: u64) -> f64 {
    number as f64
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable =
        |reason: String| Failure::usage(format!("cannot read {}: {reason}", path.display()));
    let mut bytes = Vec::new();
    // A device or pipe may have no end.
    std::fs::File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable("it is too large for a sheet or key".to_owned()));
    }
    Ok(bytes)
}
