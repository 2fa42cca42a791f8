//! `agenteval inspect`: what is in the inputs.

use std::collections::BTreeMap;

use super::Outcome;
use super::args::{Global, Inspect, Output};
use super::output::{self, Forms};
use super::runs::{self, Loaded, Set};
use crate::exit::Status;
use crate::model::{Final, Severity, Stamp, Time, Tokens, Trajectory};
use crate::render::{FileWire, InspectWire, IssueWire, TokensWire, inspect_doc, pretty_json};

/// What is looked for in a run: the fields that it has, and its first and last time.
struct Look {
    fields: Vec<&'static str>,
    turns: u64,
    first: Option<Time>,
    last: Option<Time>,
}

/// Reads everything and tells what is there.
pub(super) fn run(args: &Inspect, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, output::More::Nothing)?;
    let loaded = Loaded::config(&args.input.reading, global)?;
    let (set, looks) = runs::read(
        &args.input.paths,
        &args.input.reading,
        global,
        &loaded,
        &output,
        &|judge, state, run| (judge.row(state, run), look(run)),
    )?;
    let wire = wire(&set, &looks);
    output::emit(&Forms::page(&|| inspect_doc(&wire), &|| pretty_json(&wire)), &output, global)?;
    set.require_runs()?;
    Ok(Status::Done)
}

/// Which fields a run has. A field of attempts counts if any attempt has it.
fn look(run: &Trajectory<'_>) -> Look {
    let any = |has: fn(&crate::model::Attempt<'_>) -> bool| run.attempts.iter().any(has);
    let present = [
        ("run_id", run.run_id.is_some()),
        ("task_id", run.task_id.is_some()),
        ("trial", run.trial.is_some()),
        ("agent", run.agent.is_some()),
        ("model", run.model.is_some()),
        ("tags", !run.tags.is_empty()),
        ("status", run.status.is_some()),
        ("score", !run.scores.is_empty()),
        ("success", run.success.is_some()),
        ("final", run.final_output != Final::Missing),
        ("step.name", any(|a| a.name.is_some())),
        ("step.status", any(|a| a.status.is_some())),
        ("step.attempt", any(|a| a.attempt.is_some() || a.attempts_total.is_some())),
        ("step.request_id", any(|a| a.request_id.is_some())),
        ("step.input", any(|a| a.input.is_some())),
        ("step.error", any(|a| a.error.is_some())),
        ("step.started_at", any(|a| a.started_at.is_some())),
        ("step.duration", any(|a| a.duration_ms.is_some() || a.ended_at.is_some())),
        ("step.tokens", any(|a| a.tokens.is_some())),
        ("step.cost", any(|a| a.cost_usd.is_some())),
    ];
    let stamps = run.attempts.iter().flat_map(|a| [&a.started_at, &a.ended_at]);
    let times = [&run.started_at, &run.ended_at].into_iter().chain(stamps);
    let known: Vec<Time> = times.filter_map(|stamp| stamp.as_ref().and_then(Stamp::time)).collect();
    Look {
        turns: run.attempts.iter().filter(|attempt| attempt.turn).count() as u64,
        fields: present.iter().filter(|(_, there)| *there).map(|(field, _)| *field).collect(),
        first: known.iter().min().copied(),
        last: known.iter().max().copied(),
    }
}

fn wire(set: &Set, looks: &[Look]) -> InspectWire {
    let mut fields = BTreeMap::new();
    for field in looks.iter().flat_map(|look| &look.fields) {
        *fields.entry(*field).or_default() += 1;
    }
    let mut by_task: BTreeMap<&str, u64> = BTreeMap::new();
    for task in set.rows.iter().filter_map(|row| row.task_id.as_deref()) {
        *by_task.entry(task).or_default() += 1;
    }
    let first = looks.iter().filter_map(|look| look.first).min();
    let last = looks.iter().filter_map(|look| look.last).max();
    let mut tokens: Option<Tokens> = None;
    for more in set.rows.iter().filter_map(|row| row.tokens) {
        *tokens.get_or_insert_with(Tokens::default) += more;
    }
    let trials = by_task.values().min().copied().zip(by_task.values().max().copied());
    InspectWire {
        inputs: set.tally.files.iter().zip(&set.sizes).map(file).collect(),
        runs: set.rows.len() as u64,
        tasks: by_task.len() as u64,
        runs_without_task: set.rows.iter().filter(|row| row.task_id.is_none()).count() as u64,
        trials: trials.map(|(least, most)| [least, most]),
        steps: set.rows.iter().map(|row| u64::from(row.steps)).sum(),
        attempts: set.rows.iter().map(|row| u64::from(row.attempts)).sum(),
        turns: looks.iter().map(|look| look.turns).sum(),
        tokens: tokens.map(|tokens| TokensWire {
            input: tokens.input,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
            output: tokens.output,
            unsplit: tokens.unsplit,
        }),
        time_span: first.zip(last).and_then(|(a, b)| Some([iso(a)?, iso(b)?])),
        fields,
        issues: issues(set),
    }
}

fn file((file, (steps, attempts)): (&crate::ingest::FileTally, &(u64, u64))) -> FileWire {
    FileWire {
        path: file.path.display().to_string(),
        format: file.format,
        left_out: file.left_out.clone(),
        left_out_as: file.left_out_as.map(crate::ingest::LeftOut::name),
        records: file.records,
        used: file.used,
        merged: file.merged.clone(),
        ignored: file.ignored.clone(),
        rejected: file.rejected,
        rejected_parts: file.rejected_parts.clone(),
        repaired: file.repaired,
        runs: file.runs,
        steps: *steps,
        attempts: *attempts,
    }
}

/// A time in ISO 8601, with `Z` only where the source names a zone.
fn iso(time: Time) -> Option<String> {
    let stamp = jiff::Timestamp::from_microsecond(time.micros).ok()?.to_string();
    Some(if time.zoned { stamp } else { stamp.trim_end_matches('Z').to_owned() })
}

fn issues(set: &Set) -> Vec<IssueWire> {
    let noticed = set.tally.issues.iter();
    let rejected = set.tally.files.iter().flat_map(|file| &file.rejections);
    noticed
        .chain(rejected)
        .map(|issue| IssueWire {
            severity: match issue.severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
                Severity::Rejected => "rejected",
            },
            code: issue.code,
            place: set.tally.locate(issue.place),
            message: issue.message.clone(),
            count: issue.count,
        })
        .collect()
}
