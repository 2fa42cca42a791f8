//! Reading and judging a set of runs, as several commands need it.

use std::cmp::Reverse;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{Global, Output, Reading};
use super::each::{Each, Seen};
use super::{Failure, complain};
use crate::config::{EvalConfig, MAX_PLAN, Mapping, Plan};
use crate::evaluate::{Judge, JudgeState, Notes, RunRow};
use crate::expr::Finding;
use crate::ingest::{LeftOut, Tally, formats};
use crate::model::{MOST_AMOUNT, Trajectory};
use crate::render::mask;

/// Warnings of one kind; `place` is where first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Warning {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) count: u64,
    pub(crate) place: String,
    /// The message without values of traces, where they stand otherwise than in quotes.
    pub(crate) withheld: Option<String>,
}

/// A config, and where it is from.
pub(crate) struct Loaded {
    pub(crate) config: EvalConfig,
    /// `None` where no file was used.
    pub(crate) path: Option<PathBuf>,
}

impl Loaded {
    /// Loads what `-c` names, else `agenteval.json` in this folder or above, else the defaults.
    pub(crate) fn config(reading: &Reading, global: &Global) -> Result<Self, Failure> {
        let named = reading.config.clone();
        let found = || {
            let here = std::env::current_dir().ok()?;
            let path = EvalConfig::find(&here)?;
            let shown = path.strip_prefix(&here).map_or_else(|_| path.clone(), Path::to_owned);
            if !global.quiet {
                complain(&format!("using the config {}", shown.display()));
            }
            Some(shown)
        };
        match named.or_else(found) {
            Some(path) => Ok(Self { config: EvalConfig::load(&path)?, path: Some(path) }),
            None => Ok(Self { config: EvalConfig::default(), path: None }),
        }
    }
}

/// What reading and judging gave.
pub(crate) struct Set {
    /// The rows that `--where` keeps, in the order in which they are read.
    pub(crate) rows: Vec<RunRow>,
    /// Number of rows before `--where`.
    pub(crate) read: u64,
    pub(crate) tally: Tally,
    pub(crate) warnings: Vec<Warning>,
    /// Steps and attempts by file, before `--where`.
    pub(crate) sizes: Vec<(u64, u64)>,
}

/// Reads and judges; each run is shown to `look` while its texts are in memory. Refuses to start
/// where a file that is to be written is one that is read.
pub(crate) fn read<T: Send>(
    paths: &[PathBuf],
    reading: &Reading,
    global: &Global,
    loaded: &Loaded,
    output: &Output,
    look: &Look<'_, T>,
) -> Result<(Set, Vec<T>), Failure> {
    read_texts(paths, reading, global, loaded, output, false, look)
}

/// What is kept of a run while its texts are in memory: its row, and what a command wants beside.
pub(crate) type Look<'l, T> =
    dyn Fn(&Judge<'_>, &mut JudgeState, &Trajectory<'_>) -> (RunRow, T) + Sync + 'l;

/// Like [`read`]; with `texts`, readers keep each attempt as JSON until it has been looked at.
pub(crate) fn read_texts<T: Send>(
    paths: &[PathBuf],
    reading: &Reading,
    global: &Global,
    loaded: &Loaded,
    output: &Output,
    texts: bool,
    look: &Look<'_, T>,
) -> Result<(Set, Vec<T>), Failure> {
    let (mut rows, mut looked) = (Vec::new(), Vec::new());
    let all = Each { paths, reading, global, loaded, output, texts };
    let mut set = all.read(look, &mut |row, more| {
        rows.push(row);
        looked.push(more);
    })?;
    let mut warnings = row_warnings(&rows, &loaded.config, &set.tally);
    for warning in &mut warnings {
        // Warnings quote values of traces.
        warning.message = mask(&warning.message);
    }
    set.warnings.extend(warnings);
    set.rows = rows;
    Ok((set, looked))
}

pub(crate) fn load_plan(path: &Path) -> Result<Arc<Plan>, Failure> {
    let name = path.display().to_string();
    let mut text = String::new();
    // A device or pipe may have no end.
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_PLAN as u64 + 1).read_to_string(&mut text))
        .map_err(|error| Failure::usage(format!("cannot read the plan {name}: {error}")))?;
    Plan::from_yaml(&text, &name).map(Arc::new).map_err(|error| Failure::usage(error.to_string()))
}

pub(crate) fn load_mapping(name: &Path) -> Result<Arc<Mapping>, Failure> {
    Ok(Arc::new(Mapping::named(name)?))
}

pub(super) fn expression_warnings(
    config: &EvalConfig,
    seen: &Seen,
) -> Result<Vec<Warning>, Failure> {
    let mut warnings = Vec::new();
    let subtask = config.subtask_passed.as_ref().zip(seen.subtask.as_ref());
    let finals = config.final_passed.as_ref().zip(seen.finals.as_ref());
    for (name, used) in [("subtask_passed", subtask), ("final_passed", finals)] {
        let Some((program, observations)) = used else { continue };
        for finding in observations.findings(program) {
            let message = format!("{name} `{}`: {finding}", program.source());
            if matches!(finding, Finding::AbsentEverywhere { fatal: true, .. }) {
                return Err(Failure::usage(message));
            }
            warnings.push(Warning {
                code: finding.code().to_owned(),
                message,
                count: finding.count(),
                place: String::new(),
                withheld: Some(format!("{name}: {}", finding.without_values())),
            });
        }
    }
    Ok(warnings)
}

pub(super) fn note_warnings(notes: &Notes, tally: &Tally) -> Vec<Warning> {
    let text = |code: &str, detail: &str| match code {
        "unknown_status" => {
            format!("the attempt status `{detail}` is not known: it counts as passed")
        }
        "unknown_run_status" => {
            format!("the run status `{detail}` is not known: such runs are `unknown`")
        }
        "unreadable_score" if detail.is_empty() => {
            "the score is no number, so it decides nothing".to_owned()
        }
        "unreadable_score" => format!("the score `{detail}` is no number, so it decides nothing"),
        "several_scores" => format!(
            "several scores ({detail}): a run is completed if all reach pass_score; `scorer` in the config names one"
        ),
        "scorer_missing" => format!("`scorer` names `{detail}`, which these runs do not have"),
        "limit_not_recorded" => {
            format!("the limit {detail} is not applied where the trace does not record it")
        }
        "mixed_time_zones" => {
            "times with and without a zone in one run: its duration is not known".to_owned()
        }
        "unusable_duration" => {
            format!("a duration below zero, beyond {MOST_AMOUNT:e} s, or none at all, is not used")
        }
        "unusable_cost" => {
            format!(
                "a cost below zero, beyond {MOST_AMOUNT:e} dollars, or none at all, is in no sum"
            )
        }
        "unusable_tokens" => {
            format!("tokens below zero, beyond {MOST_AMOUNT:e}, or none at all, are in no sum")
        }
        _ => detail.to_owned(),
    };
    let mut warnings = Vec::new();
    for (code, details) in notes.entries() {
        for (detail, (count, place)) in &details.kept {
            warnings.push(Warning {
                code: code.to_owned(),
                message: text(code, detail),
                count: *count,
                place: tally.locate(*place),
                // Statuses and scores are texts of traces.
                withheld: matches!(
                    code,
                    "unknown_status" | "unknown_run_status" | "unreadable_score"
                )
                .then(|| text(code, "…")),
            });
        }
        if details.more > 0 {
            warnings.push(Warning {
                code: code.to_owned(),
                message: "and others of this kind".to_owned(),
                count: details.more,
                place: String::new(),
                withheld: None,
            });
        }
    }
    warnings
}

/// Warnings of one code that are told apart: messages that name a run or a byte differ without end.
const MOST_OF_A_KIND: usize = 100;

/// Inputs that could not be read, rejections by reason, and what readers warned of, each kind once
/// with how often.
pub(super) fn tally_warnings(tally: &Tally) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    let mut known = std::collections::HashMap::<(String, String), usize>::new();
    let mut kinds = std::collections::HashMap::<String, usize>::new();
    let mut add = |code: &str, message: String, count: u64, place: String| {
        let next = warnings.len();
        let mut key = (code.to_owned(), message);
        let mut place = place;
        if !known.contains_key(&key) {
            let kept = kinds.entry(code.to_owned()).or_default();
            if *kept >= MOST_OF_A_KIND {
                let others = "and others of this kind: `agenteval inspect` lists them";
                (key.1, place) = (others.to_owned(), String::new());
            }
            *kept += 1;
        }
        let at = *known.entry(key.clone()).or_insert(next);
        match warnings.get_mut(at) {
            Some(warning) => warning.count += count,
            None => {
                warnings.push(Warning { code: key.0, message: key.1, count, place, withheld: None })
            }
        }
    };
    for file in &tally.files {
        if let Some(reason) = file.left_out.as_ref().filter(|_| file.unreadable()) {
            add("unreadable_input", reason.clone(), 1, file.path.display().to_string());
        }
        if let Some(reason) = file.left_out.as_ref().filter(|_| file.unmapped()) {
            let message = match file.left_out_as {
                Some(LeftOut::NeedsMap) => format!("left out: {reason}"),
                _ => "left out: JSON of no known form; `agenteval inspect` tells what is in it"
                    .to_owned(),
            };
            add("file_left_out", message, 1, file.path.display().to_string());
        }
        let records = file.rejected_by.iter().map(|by_code| ("record", by_code));
        let parts = file.rejected_parts.iter().map(|by_code| ("part of a record", by_code));
        for (what, (code, count)) in records.chain(parts) {
            // Beyond those that are kept, only the number of a code is known.
            let first = file.rejections.iter().find(|issue| issue.code == *code);
            let (message, place) = first.map_or_else(
                || (format!("a {what} could not be read"), file.path.display().to_string()),
                |first| (first.message.clone(), tally.locate(first.place)),
            );
            add(code, format!("{message} ({what} rejected)"), *count, place);
        }
    }
    for issue in &tally.issues {
        if issue.severity == crate::model::Severity::Warning {
            add(issue.code, issue.message.clone(), issue.count, tally.locate(issue.place));
        }
    }
    let repaired: u64 = tally.files.iter().map(|file| file.repaired).sum();
    if repaired > 0 {
        let message =
            "records read after repair (duplicate keys, NaN, bad UTF-8 and the like)".to_owned();
        add("repaired_records", message, repaired, String::new());
    }
    warnings
}

fn row_warnings(rows: &[RunRow], config: &EvalConfig, tally: &Tally) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut add = |code: &str, message: String, count: usize, row: Option<&RunRow>| {
        let place = row.map(|row| tally.locate(row.place));
        let place = place.unwrap_or_default();
        warnings.push(Warning {
            code: code.to_owned(),
            message,
            count: count as u64,
            place,
            withheld: None,
        });
    };
    let mut ids = std::collections::HashSet::new();
    let mut trials = std::collections::HashSet::new();
    let twice: Vec<&RunRow> =
        rows.iter().filter(|row| row.run_id.as_deref().is_some_and(|id| !ids.insert(id))).collect();
    if let Some(first) = twice.first() {
        let message = format!(
            "runs have the id of another, such as `{}`: each is counted",
            first.run_id.as_deref().unwrap_or_default()
        );
        add("duplicate_run_id", message, twice.len(), Some(first));
    }
    let again: Vec<&RunRow> = rows
        .iter()
        .filter(|row| {
            let key = row.task_id.as_deref().zip(row.trial.as_deref());
            key.is_some_and(|(task, trial)| {
                !trials.insert((task, trial, row.agent.as_deref(), row.model.as_deref()))
            })
        })
        .collect();
    if let Some(first) = again.first() {
        let message = format!(
            "runs have the task and trial of another, such as task `{}`: each is counted",
            first.task_id.as_deref().unwrap_or_default()
        );
        add("duplicate_trial", message, again.len(), Some(first));
    }
    if let Some(expected) = config.expected_trials {
        let mut by_task = std::collections::BTreeMap::<&str, u64>::new();
        for task in rows.iter().filter_map(|row| row.task_id.as_deref()) {
            *by_task.entry(task).or_default() += 1;
        }
        let short: Vec<_> = by_task.iter().filter(|(_, n)| **n < expected).collect();
        if let Some((task, n)) = short.first() {
            let message =
                format!("tasks have fewer than {expected} trials, such as `{task}` with {n}");
            add("lost_trials", message, short.len(), None);
        }
    }
    let lost = rows.iter().filter(|row| row.lost > 0).count();
    if lost > 0 {
        let attempts: u64 = rows.iter().map(|row| u64::from(row.lost)).sum();
        let message = format!(
            "runs with attempts that only the numbers of later ones tell of, {attempts} in all: they are retries, and in no rate"
        );
        add("lost_attempts", message, lost, rows.iter().find(|row| row.lost > 0));
    }
    let implied = rows.iter().filter(|row| row.implied > 0).count();
    if implied > 0 {
        let attempts: u64 = rows.iter().map(|row| u64::from(row.implied)).sum();
        let message = format!(
            "runs with failed attempts that only a recorded count tells of: {attempts} in all"
        );
        add("implied_attempts", message, implied, rows.iter().find(|row| row.implied > 0));
    }
    let unordered = rows.iter().filter(|row| row.mid.is_none()).count();
    if unordered > 0 {
        let message = "the order of steps is unknown in these runs: they are in no first-step and mid-run figure";
        add(
            "order_unknown",
            message.to_owned(),
            unordered,
            rows.iter().find(|row| row.mid.is_none()),
        );
    }
    warnings
}

impl Set {
    /// Fails where no run was evaluated.
    pub(crate) fn require_runs(&self) -> Result<(), Failure> {
        if !self.rows.is_empty() {
            return Ok(());
        }
        let rejected = self.tally.rejected();
        let first = self.tally.files.iter().find_map(|file| file.rejections.first());
        Err(Failure::nothing(match first {
            _ if self.read > 0 => {
                let why = self.warnings.iter().find(|warning| warning.place == "--where");
                let why = why.map(|why| format!(" ({})", why.message)).unwrap_or_default();
                format!("no run is left of {}: --where keeps none{why}", self.read)
            }
            Some(first) => format!(
                "no run was evaluated; records rejected: {rejected}, the first at {}: {first}",
                self.tally.locate(first.place)
            ),
            None if self.tally.recognised() == 0 => {
                let left_out = self.tally.files.iter().filter(|file| file.left_out.is_some());
                // What could not be read is a likelier reason than what is no trace.
                let left_out = left_out.max_by_key(|file| (file.unreadable(), Reverse(&file.path)));
                let left_out = left_out.and_then(|file| {
                    file.left_out.as_ref().map(|why| format!("{}: {why}", file.path.display()))
                });
                match left_out {
                    Some(why) => format!("no run was evaluated: no trace among the files ({why})"),
                    None => "no run was evaluated: there is no file to read".to_owned(),
                }
            }
            None => {
                let unmatched = |code: &str| code == formats::mapped::NEVER_MATCHED;
                let unmatched = self.tally.issues.iter().find(|issue| unmatched(issue.code));
                let why = unmatched.map_or("the input holds no run", |issue| &issue.message);
                format!("no run was evaluated: {why}")
            }
        }))
    }

    /// Where a run stands.
    pub(crate) fn locate(&self, row: &RunRow) -> String {
        self.tally.locate(row.place)
    }

    /// Prints warnings to standard error.
    pub(crate) fn warn(&self, global: &Global) {
        if global.quiet {
            return;
        }
        for warning in &self.warnings {
            complain(&format!("warning: {}", crate::render::one_line(&warning.line())));
        }
    }
}

impl Warning {
    /// The warning on one line.
    pub(crate) fn line(&self) -> String {
        let times = if self.count > 1 { format!(" ({} times)", self.count) } else { String::new() };
        let place = if self.place.is_empty() { String::new() } else { format!("{}: ", self.place) };
        format!("{place}{}: {}{times}", self.code, self.message)
    }
}
