//! MCPMark: one file a task with its repeated runs, or the `meta.json` of one run.
//!
//! Owns `{model, service, task, runs: {"run-1": {...}}}` and the harness's own file of one run,
//! whose outcome stands in `execution_result`. A run whose `success` is null counts as not
//! completed, as in the benchmark's own pass rates, and is told apart. A run that another file
//! holds with the same figures, under the same task and number, counts once; the number of a
//! `meta.json` is that of its folder `run-N`. Refuses steps, of which
//! these files give only a number (`final.turn_count`).

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use serde_json::value::RawValue;

use super::kept;
use super::raw::{
    Entries, amount, label, number, object, offset_in, quoted, raw_fields, read, stamp,
};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Final, Issue, Place, Severity, Tokens, Trajectory};

/// Results of MCPMark.
pub const MCPMARK: Format = Format {
    name: "mcpmark",
    about: "results of MCPMark (a task with its runs, or meta.json of one run)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|_: &ReadOptions| Box::new(McpMark::default())),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    probe.any_has(&["model", "service", "task", "runs"])
        || probe.any_has(&["task_name", "execution_result", "token_usage", "turn_count"])
}

raw_fields! {
    /// A task with its runs, or one run.
    Root {
        model, service, task, runs, task_name, model_name, mcp, execution_result, time,
        agent_execution_time, token_usage, turn_count,
    }
}
raw_fields! {
    /// One run.
    Run { success, error_message, execution_time, token_usage, turn_count }
}
raw_fields! {
    /// Tokens, under the names of both kinds of file.
    Usage {
        input, input_tokens, output, output_tokens, total, total_tokens,
    }
}
raw_fields! {
    /// Start and end.
    Times { start, end }
}

#[derive(Default)]
struct McpMark {
    runs: Vec<Trajectory<'static>>,
    /// Task, number and figures of each run.
    seen: HashSet<(String, String, String)>,
    issues: Vec<Issue>,
    tally: Tally,
}

impl McpMark {
    /// Reads the runs of one record; the number of those that are there already.
    fn read(&mut self, record: &Record<'_>) -> Result<(usize, usize), Refusal> {
        let root: Root<'_> = quick::from_slice(record.bytes)?;
        let task = root.task.or(root.task_name).and_then(label);
        let model = root.model.or(root.model_name).and_then(label);
        let service = root.service.or(root.mcp).and_then(label);
        let whole = format!("{model:?} {service:?} {task:?}");
        let mut runs = Vec::new();
        let mut copies = 0;
        if let Some(entries) = root.runs {
            let entries: Entries<'_> = quick::from_str(entries.get())
                .map_err(|error| Refusal::of("unreadable_runs", format!("runs: {error}")))?;
            for (name, raw) in entries.0 {
                let byte = record.place.byte + offset_in(record.bytes, raw);
                let place = Place { byte, line: 0, ..record.place };
                let Some(run) = read::<Run<'_>>(raw) else {
                    let message = format!("run {name} is no object");
                    self.issues.push(Issue::rejected("unreadable_run", place, message));
                    continue;
                };
                let trial = trial(name);
                if !self.seen.insert((whole.clone(), trial.clone().into_owned(), figures(&run))) {
                    copies += 1;
                    continue;
                }
                let mut trajectory = one(&run, place, &mut self.tally);
                trajectory.trial = Some(trial);
                runs.push(trajectory);
            }
        } else if let Some(result) = root.execution_result {
            let mut run: Run<'_> = read(result).unwrap_or_default();
            run.execution_time = root.agent_execution_time;
            run.token_usage = root.token_usage;
            run.turn_count = root.turn_count;
            let trial = number_of(record.path);
            let new = trial
                .as_ref()
                .is_none_or(|trial| self.seen.insert((whole, trial.clone(), figures(&run))));
            if !new {
                return Ok((0, 1));
            }
            let mut trajectory = one(&run, record.place, &mut self.tally);
            let times: Times<'_> = root.time.and_then(read).unwrap_or_default();
            trajectory.started_at = times.start.and_then(stamp);
            trajectory.ended_at = times.end.and_then(stamp);
            trajectory.trial = trial.map(Cow::Owned);
            runs.push(trajectory);
        } else {
            let message = "neither `runs` nor `execution_result` is there";
            return Err(Refusal::of("not_mcpmark", message));
        }
        let new = runs.len();
        for mut run in runs {
            run.task_id.clone_from(&task);
            run.model.clone_from(&model);
            run.tags.extend(service.clone().map(|service| (Cow::Borrowed("service"), service)));
            self.runs.push(kept::run(run));
        }
        Ok((new, copies))
    }
}

impl Assembler for McpMark {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        match self.read(record) {
            Ok((0, 0)) => Fate::Ignored("no_runs"),
            Ok((0, _)) => Fate::Merged("run_stored_twice"),
            Ok((_, copies)) => {
                let rule = "a run that is stored twice counts once";
                let count = copies as u64;
                self.tally.add("run_stored_twice", Severity::Note, record.place, rule, count);
                Fate::Used
            }
            Err(refusal) => Fate::Refused(refusal),
        }
    }

    fn finish(self: Box<Self>) -> Parsed<'static> {
        let Self { mut runs, mut issues, tally, .. } = *self;
        runs.sort_by_key(|run| run.place);
        if let Some(run) = runs.first() {
            let message = "results say nothing of the steps of runs: no figure of steps, attempts, retries, errors and interventions is known";
            issues.push(Issue::warning("runs_without_steps", run.place, message));
        }
        issues.extend(tally.into_issues());
        Parsed { runs, issues }
    }
}

/// `run-3` is the third trial.
fn trial(name: Cow<'_, str>) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(name.strip_prefix("run-").unwrap_or(name)),
        Cow::Owned(name) => Cow::Owned(name.strip_prefix("run-").unwrap_or(&name).to_owned()),
    }
}

/// The number of a run whose file stands in a folder `run-N`, next to its task's or above it.
fn number_of(path: &Path) -> Option<String> {
    let above = path.parent()?.components().rev().filter_map(|part| part.as_os_str().to_str());
    let number = |name: &str| name.strip_prefix("run-").map(str::to_owned);
    let is_number = |text: &String| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    above.take(3).find_map(|name| number(name).filter(is_number))
}

/// What both kinds of file say of a run, in one spelling: by it copies of the run are known.
fn figures(run: &Run<'_>) -> String {
    let success = run.success.map_or("null", |raw| raw.get().trim());
    let reason = run.error_message.and_then(label).unwrap_or_default();
    // Writers round seconds, and leave out counts.
    let seconds = run.execution_time.and_then(number).map(f64::round);
    let turns = run.turn_count.and_then(number);
    let tokens = run.token_usage.and_then(tokens).map(|tokens| tokens.total());
    format!("{success} {reason:?} {seconds:?} {turns:?} {tokens:?}")
}

fn one<'r>(run: &Run<'r>, place: Place, tally: &mut Tally) -> Trajectory<'r> {
    let success = match run.success.map(|raw| raw.get().trim()) {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => None,
    };
    let recorded = if success.is_some() { "yes" } else { "no" };
    let tags = vec![(Cow::Borrowed("outcome_recorded"), Cow::Borrowed(recorded))];
    if success.is_none() {
        let message = "`success` is null: the run counts as not completed, as in the benchmark's own pass rates; `run.tags.outcome_recorded` is `no`";
        tally.count("outcome_not_recorded", Severity::Warning, place, message);
    }
    let end_reason = run.error_message.and_then(label).filter(|text| !text.trim().is_empty());
    let seconds = amount(run.execution_time).filter(|seconds| *seconds > 0.0);
    if let (Some(reason), Some(seconds)) = (&end_reason, seconds)
        && let Some(limit) = timed_out_after(reason)
        && seconds < limit / 2.0
    {
        let message = "the message names a timeout that is more than twice the measured duration: which of them holds is not known";
        tally.count("timeout_contradicts_duration", Severity::Warning, place, message);
    }
    let final_output = Final::Json(Cow::Owned(object(&[
        ("success", success.map(|success| if success { "true" } else { "false" })),
        ("end_reason", end_reason.as_deref().map(quoted).as_deref()),
        ("turn_count", run.turn_count.map(RawValue::get)),
    ])));
    Trajectory {
        place,
        tags,
        end_reason,
        success,
        format_outcome: success.is_none().then_some(false),
        duration_ms: seconds.map(|seconds| seconds * 1000.0),
        tokens: run.token_usage.and_then(tokens),
        final_output,
        steps_unknown: true,
        ..Trajectory::default()
    }
}

/// The seconds in `... timed out after N seconds`.
fn timed_out_after(reason: &str) -> Option<f64> {
    let (_, rest) = reason.split_once("timed out after ")?;
    let (number, unit) = rest.split_once(' ')?;
    unit.starts_with("second").then(|| number.parse().ok()).flatten()
}

/// Reasoning is part of the output. What a total has beyond its parts is not split.
fn tokens(usage: &RawValue) -> Option<Tokens> {
    let usage: Usage<'_> = read(usage)?;
    let input = amount(usage.input.or(usage.input_tokens));
    let output = amount(usage.output.or(usage.output_tokens));
    let total = amount(usage.total.or(usage.total_tokens));
    let mut tokens =
        Tokens { input: input.unwrap_or(0.0), output: output.unwrap_or(0.0), ..Tokens::default() };
    tokens.unsplit = (total.unwrap_or(0.0) - tokens.total()).max(0.0);
    (tokens.total() > 0.0).then_some(tokens)
}
