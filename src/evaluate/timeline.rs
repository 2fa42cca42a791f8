//! One run as a person reads it: its steps, their attempts, and where it turned.
//!
//! Owns what `show` prints. Texts are as recorded: whoever prints them masks and escapes them.

use super::attempt::Verdict;
use super::count::{Effective, effective};
use super::judge::{Judge, JudgeState};
use super::row::RunRow;
use crate::model::{MOST_AMOUNT, Stamp, Time, Trajectory};

/// A judged run with what a person reads of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Its counts and outcome.
    pub row: RunRow,
    /// Why it stopped, as recorded.
    pub end_reason: Option<String>,
    /// Its steps, in order.
    pub steps: Vec<TimelineStep>,
    /// Planned nodes never reached.
    pub never_reached: Vec<String>,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineStep {
    /// Its position, from 1.
    pub position: u32,
    /// Its type, as recorded.
    pub kind: String,
    /// Its name, where one is recorded.
    pub name: Option<String>,
    /// Its attempts, in order.
    pub attempts: Vec<TimelineAttempt>,
}

/// One attempt, or several implied ones.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineAttempt {
    /// Which record of the run tells of it.
    pub record: u32,
    /// Its number, from 1.
    pub number: u32,
    /// How many implied attempts it stands for; 1 for a recorded one.
    pub times: u32,
    /// Whether only a recorded count tells of it.
    pub implied: bool,
    /// For an inferred retry: whether the input is the same.
    pub same_input: Option<bool>,
    /// What became of it.
    pub verdict: Verdict,
    /// Its status word, as recorded.
    pub status: Option<String>,
    /// Its error's type where it failed.
    pub error_type: Option<String>,
    /// The tool or node that failed, where it failed and one is recorded.
    pub failed_tool: Option<String>,
    /// Its error's message.
    pub error_message: Option<String>,
    /// Seconds since the start of the run, where times are recorded.
    pub offset_seconds: Option<f64>,
    /// Duration in milliseconds.
    pub duration_ms: Option<f64>,
    /// Tokens.
    pub tokens: Option<f64>,
}

/// Builds the timeline of the run that `state` has arranged.
pub(super) fn timeline(
    judge: &Judge<'_>,
    state: &JudgeState,
    run: &Trajectory<'_>,
    row: RunRow,
) -> Timeline {
    let origin = origin(run);
    let mut steps = Vec::new();
    let mut attempts = Vec::new();
    for (position, step) in (1..).zip(0..state.grouping.steps as usize) {
        effective(judge, state, run, step, &mut attempts);
        let Some(first) = attempts.first() else { continue };
        let record = &run.attempts[state.grouping.order[first.place as usize] as usize];
        steps.push(TimelineStep {
            position,
            kind: record.kind.to_string(),
            name: record.name.as_deref().map(str::to_owned),
            attempts: attempts.iter().map(|a| attempt(state, run, a, origin)).collect(),
        });
    }
    Timeline {
        row,
        end_reason: run.end_reason.as_deref().map(str::to_owned),
        steps,
        never_reached: run.never_reached.iter().map(ToString::to_string).collect(),
    }
}

/// The start of the run, or else of its earliest attempt.
fn origin(run: &Trajectory<'_>) -> Option<Time> {
    run.started_at.as_ref().and_then(Stamp::time).or_else(|| {
        run.attempts
            .iter()
            .filter_map(|attempt| attempt.started_at.as_ref().and_then(Stamp::time))
            .min()
    })
}

fn attempt(
    state: &JudgeState,
    run: &Trajectory<'_>,
    effective: &Effective<'_>,
    origin: Option<Time>,
) -> TimelineAttempt {
    let at = state.grouping.order[effective.place as usize];
    let record = &run.attempts[at as usize];
    let recorded = !effective.implied;
    let failed = effective.verdict == Verdict::Failed;
    let start = record.started_at.as_ref().and_then(Stamp::time);
    TimelineAttempt {
        record: at,
        number: effective.number,
        times: effective.times,
        implied: effective.implied,
        same_input: state.grouping.inferred[effective.place as usize].filter(|_| recorded),
        verdict: effective.verdict,
        status: record.status.as_deref().filter(|_| recorded).map(str::to_owned),
        error_type: effective.error.as_ref().map(|error| error.kind.to_string()),
        failed_tool: record.name.as_deref().filter(|_| failed).map(str::to_owned),
        error_message: record
            .error
            .as_ref()
            .and_then(|error| error.message.as_deref())
            .filter(|_| failed && recorded)
            .map(str::to_owned),
        offset_seconds: start
            .zip(origin)
            .and_then(|(start, origin)| start.seconds_since(origin))
            .filter(|_| recorded),
        duration_ms: record.duration_ms.filter(|ms| recorded && ms.abs() / 1e3 <= MOST_AMOUNT),
        tokens: record.tokens.filter(|t| recorded && t.usable()).map(|tokens| tokens.total()),
    }
}
