//! The head of a log: what its runs share, and what must be told of the log as a whole.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::wire;
use crate::ingest::formats::raw::{Entries, is_true, label, number, read, text};
use crate::model::{Issue, Place, Tags};

/// Longest part of a name that runs take from their log, in bytes, and most tags of it: each
/// run repeats them, so a log with huge ones would grow with the product of both.
const MAX_NAME: usize = 512;
const MAX_TAGS: usize = 64;

/// How the log says it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogStatus {
    /// `started`: it was never closed.
    Started,
    /// `cancelled`.
    Cancelled,
    /// `error`.
    Error,
    /// `success`, or nothing that says otherwise.
    Closed,
}

/// What the runs of a log share.
pub(super) struct Log<'a> {
    /// Prefix of the ids of runs that have no uuid; unique to the log, where the log's ids are.
    pub(super) key: String,
    /// The name of the task.
    pub(super) task: Option<Cow<'a, str>>,
    /// The model under test.
    pub(super) model: Option<Cow<'a, str>>,
    /// The solver.
    pub(super) agent: Option<Cow<'a, str>>,
    /// `eval.tags` (each with the value `true`) and the plain values of `eval.metadata`.
    pub(super) tags: Tags<'a>,
    /// How it ended.
    pub(super) status: LogStatus,
    error: Option<String>,
    invalidated: bool,
    total_samples: Option<f64>,
    tags_left_out: u64,
}

impl<'a> Log<'a> {
    /// Reads the head.
    pub(super) fn new(wire: &wire::Log<'a>) -> Self {
        let spec: wire::Spec<'a> = wire.eval.and_then(read).unwrap_or_default();
        let status = match wire.status.and_then(text).as_deref() {
            Some("started") => LogStatus::Started,
            Some("cancelled") => LogStatus::Cancelled,
            Some("error") => LogStatus::Error,
            _ => LogStatus::Closed,
        };
        // One `eval()` call gives its run_id to several logs; the id of the log itself must be
        // in the key, or equal samples of two tasks or models would look like one run.
        let own = spec.eval_id.or(spec.task_id);
        let key: Vec<_> = [spec.run_id, own].into_iter().flatten().filter_map(name).collect();
        let mut tags = tags(&spec);
        let tags_left_out = tags.len().saturating_sub(MAX_TAGS) as u64;
        tags.truncate(MAX_TAGS);
        Self {
            key: key.join("/"),
            task: spec.task.and_then(name),
            model: spec.model.and_then(name),
            agent: spec.solver.and_then(name).or_else(|| last_solver(wire.plan)),
            tags,
            tags_left_out,
            status,
            error: wire.error.map(|error| {
                let fault: wire::Fault<'_> = read(error).unwrap_or_default();
                fault.message.and_then(text).unwrap_or_default().into_owned()
            }),
            invalidated: is_true(wire.invalidated),
            total_samples: wire
                .results
                .and_then(read::<wire::Results<'_>>)
                .and_then(|results| results.total_samples)
                .and_then(number),
        }
    }

    /// Tells how the log ended where that is not well, and that it has no samples.
    pub(super) fn tell(&self, place: Place, samples: usize, issues: &mut Vec<Issue>) {
        let mut warn = |code, message: String| issues.push(Issue::warning(code, place, message));
        match self.status {
            LogStatus::Started => {
                warn("log_unfinished", "the log was never closed (status started)".to_owned());
            }
            LogStatus::Cancelled => {
                warn("log_cancelled", "the evaluation was cancelled".to_owned())
            }
            LogStatus::Error => {
                let why = self.error.as_deref().unwrap_or_default();
                warn("log_error", format!("the evaluation ended in an error: {why}"));
            }
            LogStatus::Closed => {}
        }
        if self.invalidated {
            warn("log_invalidated", "the log is marked as invalidated".to_owned());
        }
        if samples == 0 {
            let said = self
                .total_samples
                .map(|total| format!(" (it counts {total}; log them to have runs)"))
                .unwrap_or_default();
            warn("no_samples", format!("the log holds no samples{said}"));
        }
        if self.tags_left_out > 0 {
            let message = format!("only the first {MAX_TAGS} tags of the log are kept");
            issues.push(Issue::note("tags_left_out", place, message).times(self.tags_left_out));
        }
    }
}

/// A label of bounded length.
fn name(raw: &RawValue) -> Option<Cow<'_, str>> {
    let mut end = MAX_NAME;
    let label = label(raw)?;
    if label.len() <= end {
        return Some(label);
    }
    while !label.is_char_boundary(end) {
        end -= 1;
    }
    Some(Cow::Owned(label.get(..end).unwrap_or_default().to_owned()))
}

/// The last solver of the plan: the one that acts, after those that set things up.
fn last_solver(plan: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let plan: wire::Plan<'_> = read(plan?)?;
    let steps: Vec<wire::PlanStep<'_>> = plan.steps.and_then(read).unwrap_or_default();
    let last = steps.last().and_then(|step| step.solver).and_then(name);
    last.or_else(|| plan.name.and_then(name).filter(|plan| plan != "plan"))
}

fn tags<'a>(spec: &wire::Spec<'a>) -> Tags<'a> {
    let listed: Vec<&'a RawValue> = spec.tags.and_then(read).unwrap_or_default();
    let listed = listed.into_iter().filter_map(name).map(|tag| (tag, Cow::Borrowed("true")));
    let metadata: Entries<'a> = spec.metadata.and_then(read).unwrap_or_default();
    let plain = metadata.0.into_iter().filter_map(|(key, value)| Some((key, name(value)?)));
    listed.chain(plain).collect()
}
