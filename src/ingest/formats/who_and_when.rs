//! Who&When: runs of several agents that failed, with the step and the agent that a person blamed.
//!
//! Owns: the record `{question, question_ID, is_correct, history, mistake_agent, mistake_step, ...}`.
//! There are no tool calls and no times: each element of `history` is one step of the agent that
//! wrote it, counted from 0 as `mistake_step` counts, so that both mean the same place. The labels
//! become tags: they are a person's judgement, and no error that the run records.
//! Refuses: to call the step with the mistake a failed one.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::native::fields::Scalar;
use super::raw::{label, object, raw_fields, read, text};
use super::{Format, Parsed, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{Attempt, Final, Issue, Trajectory};

/// The format of Who&When's labelled logs.
pub const WHO_AND_WHEN: Format = Format {
    name: "who-and-when",
    about: "failure logs of Who&When, with the agent and step that a person blamed",
    detect: |probe| {
        ["mistake_agent", "mistake_step", "mistake_reason"]
            .iter()
            .any(|label| probe.any_has(&["history", label]))
    },
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(read_run),
    archive: None,
    misspelt: None,
};

raw_fields! {
    /// One run.
    Run { question_id = "question_ID", history, is_correct, is_corrected, level,
        mistake_agent, mistake_step, mistake_type }
}
raw_fields! {
    /// What one agent wrote.
    Entry { role, name, content }
}

fn read_run<'r>(record: &Record<'r>, options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let run: Run<'r> = quick::from_slice(record.bytes)?;
    let history: Vec<&'r RawValue> = match run.history {
        None => return Err(Refusal::of("not_a_run", "the record has no history")),
        Some(history) => quick::from_str(history.get())
            .map_err(|error| Refusal::of("unreadable_history", format!("history: {error}")))?,
    };
    let mut issues = Vec::new();
    let mut attempts = Vec::with_capacity(history.len());
    let mut output = None;
    for (at, raw) in history.iter().enumerate() {
        let Some(entry) = read::<Entry<'r>>(raw) else {
            let message = "an element of the history is no object; its place is kept";
            issues.push(Issue::rejected("unreadable_message", record.place, message));
            continue;
        };
        output = entry.content.or(output);
        #[expect(clippy::cast_precision_loss, reason = "no history has 2^53 elements")]
        attempts.push(Attempt {
            index: Some(at as f64),
            kind: Cow::Borrowed("agent"),
            name: entry.name.or(entry.role).and_then(label).map(agent_of),
            raw: options.raw_attempts.then_some(Cow::Borrowed(raw.get())),
            ..Attempt::default()
        });
    }
    let correct = run.is_correct.or(run.is_corrected);
    let success = correct.and_then(read::<Scalar<'r>>).and_then(|flag| flag.flag());
    check_label(&run, history.len(), record, &mut issues);
    let labels = [
        ("mistake_agent", run.mistake_agent),
        ("mistake_step", run.mistake_step),
        ("mistake_type", run.mistake_type),
        ("level", run.level),
    ];
    let tags = labels.into_iter().filter_map(|(key, value)| Some((key.into(), label(value?)?)));
    let final_output = object(&[("output", output.map(RawValue::get))]);
    let trajectory = Trajectory {
        place: record.place,
        task_id: run.question_id.and_then(label),
        tags: tags.collect(),
        success,
        final_output: Final::Json(Cow::Owned(final_output)),
        attempts,
        ..Trajectory::default()
    };
    Ok(Parsed { runs: vec![trajectory], issues })
}

/// The agent, without what it was doing: `Orchestrator (-> WebSurfer)` is the Orchestrator, as the labels call it.
fn agent_of(name: Cow<'_, str>) -> Cow<'_, str> {
    let end = name.strip_suffix(')').and_then(|open| open.find(" ("));
    match (end, name) {
        (Some(end), Cow::Borrowed(name)) => Cow::Borrowed(name.get(..end).unwrap_or(name)),
        (Some(end), Cow::Owned(mut name)) => {
            name.truncate(end);
            Cow::Owned(name)
        }
        (None, name) => name,
    }
}

/// Tells of a label that points to no step.
fn check_label(run: &Run<'_>, steps: usize, record: &Record<'_>, issues: &mut Vec<Issue>) {
    let Some(raw) = run.mistake_step else { return };
    let step = text(raw).or_else(|| label(raw)).and_then(|step| step.trim().parse::<usize>().ok());
    if step.is_none_or(|step| step >= steps) {
        let message = "mistake_step names no element of the history, counted from 0";
        issues.push(Issue::warning("label_out_of_range", record.place, message));
    }
}
