//! The steps around a failure in one run: enough to know it again.
//!
//! Owns which steps these are and their bounds. Inputs and outputs are there only where they were
//! asked for.

use crate::evaluate::{ContentKind, Contents, Timeline, TimelineAttempt, TimelineStep, Verdict};

use super::signature::{bounded, label};
use crate::model::mask;

/// Steps before and behind the failed one.
const AROUND: usize = 2;
/// Attempts of one step: the last ones.
const MOST_ATTEMPTS: usize = 3;
/// Steps of a run that no failed step explains: the last ones.
const LAST: usize = 4;
/// Characters of a message.
const MOST_MESSAGE: usize = 300;
/// Characters of an input or an output.
const MOST_CONTENT: usize = 1_000;

/// A part of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Excerpt {
    /// The key of the run among those seen.
    pub key: String,
    /// The run's id, else its task and trial.
    pub run: String,
    /// Its task.
    pub task: Option<String>,
    /// How it ended.
    pub outcome: String,
    /// Why it stopped, masked and cut.
    pub end_reason: Option<String>,
    /// Attempts in order.
    pub steps: Vec<ExcerptStep>,
}

/// One attempt. All texts are masked and cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExcerptStep {
    /// Position of its step, from 1.
    pub step: u32,
    /// Its number, from 1.
    pub attempt: u32,
    /// Step type.
    pub kind: String,
    /// Tool or node.
    pub name: Option<String>,
    /// `passed`, `failed` or `neither`.
    pub verdict: String,
    /// Its error's type.
    pub error: Option<String>,
    /// Its error's message.
    pub message: Option<String>,
    /// What it was given, where that was asked for.
    pub input: Option<String>,
    /// What it gave, where that was asked for.
    pub output: Option<String>,
}

impl Excerpt {
    /// Whether it has inputs or outputs.
    #[must_use]
    pub fn has_content(&self) -> bool {
        self.steps.iter().any(|step| step.input.is_some() || step.output.is_some())
    }

    /// Masks all texts anew.
    pub(super) fn mask(&mut self) {
        let own = [&mut self.run, &mut self.outcome].into_iter();
        let own = own.chain(&mut self.task).chain(&mut self.end_reason);
        let steps = self.steps.iter_mut().flat_map(|step| {
            let texts = [&mut step.name, &mut step.error, &mut step.message];
            let texts = texts.into_iter().chain([&mut step.input, &mut step.output]).flatten();
            texts.chain([&mut step.kind, &mut step.verdict])
        });
        own.chain(steps).for_each(|text| *text = mask(text));
    }

    /// Whether this one is kept rather than another: one with contents, then that of the run with
    /// the smaller key. A total order, so that it does not matter which of both was first.
    #[must_use]
    pub fn goes_before(&self, other: &Self) -> bool {
        let rank = |one: &Self| (!one.has_content(), one.key.clone());
        // Of one run, what tells more: a run may have been collected before it ended.
        (rank(self), other.steps.len(), other) < (rank(other), self.steps.len(), self)
    }

    /// The steps around one that failed, else the last ones of the run.
    pub(super) fn of(
        timeline: &Timeline,
        at: Option<usize>,
        contents: &Contents,
    ) -> Vec<ExcerptStep> {
        let steps = &timeline.steps;
        let (from, to) = match at {
            Some(at) => (at.saturating_sub(AROUND), (at + AROUND + 1).min(steps.len())),
            None => (steps.len().saturating_sub(LAST), steps.len()),
        };
        let mut out = Vec::new();
        for step in steps.get(from..to).unwrap_or_default() {
            let skip = step.attempts.len().saturating_sub(MOST_ATTEMPTS);
            let kept = step.attempts.iter().skip(skip);
            out.extend(kept.map(|attempt| one(step, attempt, contents)));
        }
        out
    }
}

fn one(step: &TimelineStep, attempt: &TimelineAttempt, contents: &Contents) -> ExcerptStep {
    // Texts are in the order of records and kinds.
    let said = |kind: ContentKind| {
        let key = (Some(attempt.record), kind);
        let at = contents.texts.partition_point(|text| (text.record, text.kind) < key);
        let found = contents.texts.get(at).filter(|text| (text.record, text.kind) == key)?;
        Some(bounded(&found.text, MOST_CONTENT)).filter(|_| !attempt.implied)
    };
    let message = attempt.error_message.as_deref().map(|text| bounded(text, MOST_MESSAGE));
    ExcerptStep {
        step: step.position,
        attempt: attempt.number,
        kind: label(&step.kind),
        name: step.name.as_deref().map(label).filter(|name| !name.is_empty()),
        verdict: match attempt.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Neither => "neither",
        }
        .to_owned(),
        error: attempt.error_type.as_deref().map(label),
        message: message.filter(|text| !text.is_empty()),
        input: said(ContentKind::Input),
        output: said(ContentKind::Output),
    }
}

/// The reason of an end as an excerpt shows it.
pub(super) fn reason(timeline: &Timeline) -> Option<String> {
    let reason = timeline.end_reason.as_deref().map(|text| bounded(text, MOST_MESSAGE));
    reason.filter(|text| !text.is_empty())
}
