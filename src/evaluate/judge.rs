//! Applies a config to one run after the other.
//!
//! Owns the scratch that is reused between runs, the evaluators of the config's expressions, and
//! the notes that become warnings. What it counts is in `count.rs`.

use std::collections::BTreeMap;

use super::attempt::{Subtask, Verdict, by_record};
use super::count::StepCounts;
use super::group::{Grouping, NO_STEP, Placed};
use super::names::Names;
use super::row::RunRow;
use super::timeline::Timeline;
use crate::config::{EvalConfig, ExitCodes, StepSelection};
use crate::expr::{Evaluator, Observations};
use crate::model::{Attempt, ErrorInfo, ErrorOrigin, Place, Trajectory};

/// Details kept per kind of note; the smallest are kept, so that the order of runs does not matter.
const KEPT_DETAILS: usize = 20;

/// Judges runs by one config. Shared between threads; each works with its own [`JudgeState`].
#[derive(Debug)]
pub struct Judge<'c> {
    pub(super) config: &'c EvalConfig,
}

/// Scratch and observations of one thread.
pub struct JudgeState {
    pub(super) subtask_passed: Option<Evaluator>,
    pub(super) final_passed: Option<Evaluator>,
    pub(super) notes: Notes,
    pub(super) grouping: Grouping,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) layout: Layout,
    /// What counting gave for each step of the last run.
    pub(super) counted: Vec<StepCounts>,
    pub(super) names: Names,
}

/// What was noticed while judging, by code and detail, with how often and where first.
#[derive(Debug, Default, Clone)]
pub struct Notes {
    entries: BTreeMap<&'static str, Details>,
}

/// The details of one kind of note.
#[derive(Debug, Default, Clone)]
pub struct Details {
    /// Count and first place of each kept detail.
    pub kept: BTreeMap<String, (u64, Place)>,
    /// Count of those not kept.
    pub more: u64,
}

impl Notes {
    /// Books one note.
    pub(super) fn add(&mut self, code: &'static str, detail: &str, place: Place) {
        self.book(code, detail, 1, place);
    }

    fn book(&mut self, code: &'static str, detail: &str, count: u64, place: Place) {
        let details = self.entries.entry(code).or_default();
        if let Some(entry) = details.kept.get_mut(detail) {
            *entry = (entry.0 + count, entry.1.min(place));
            return;
        }
        let larger = details.kept.len() >= KEPT_DETAILS
            && details.kept.last_key_value().is_some_and(|(last, _)| last.as_str() < detail);
        if larger {
            details.more += count;
            return;
        }
        details.kept.insert(detail.to_owned(), (count, place));
        if details.kept.len() > KEPT_DETAILS
            && let Some((_, (count, _))) = details.kept.pop_last()
        {
            details.more += count;
        }
    }

    /// Adds what another thread noted; the order of merging does not matter.
    pub fn merge(&mut self, other: &Self) {
        for (code, details) in &other.entries {
            for (detail, (count, place)) in &details.kept {
                self.book(code, detail, *count, *place);
            }
            self.entries.entry(code).or_default().more += details.more;
        }
    }

    /// The notes, by code.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, &Details)> {
        self.entries.iter().map(|(code, details)| (*code, details))
    }
}

/// The steps of a run after grouping: attempts in order, implied ones among them.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Records by step, sorted by attempt number within a step; as places in `Grouping::order`.
    pub(super) members: Vec<u32>,
    /// Start of each step's records in `members`; one more than there are steps. A step's position
    /// in the run is its number here, plus 1.
    pub(super) starts: Vec<u32>,
}

impl Layout {
    /// The records of a step.
    pub(super) fn of(&self, step: usize) -> &[u32] {
        &self.members[self.starts[step] as usize..self.starts[step + 1] as usize]
    }

    fn build(&mut self, grouping: &Grouping) {
        let steps = grouping.steps as usize;
        let real = || grouping.step_of.iter().filter(|step| **step != NO_STEP);
        self.starts.clear();
        self.starts.resize(steps + 1, 0);
        for step in real() {
            self.starts[*step as usize + 1] += 1;
        }
        for step in 0..steps {
            self.starts[step + 1] += self.starts[step];
        }
        self.members.clear();
        self.members.resize(real().count(), 0);
        let mut next = self.starts.clone();
        for (place, step) in (0..).zip(&grouping.step_of).filter(|(_, step)| **step != NO_STEP) {
            let slot = &mut next[*step as usize];
            self.members[*slot as usize] = place;
            *slot += 1;
        }
        for step in 0..steps {
            let range = self.starts[step] as usize..self.starts[step + 1] as usize;
            let number = |place: &u32| grouping.numbers[*place as usize];
            if !self.members[range.clone()].is_sorted_by_key(number) {
                self.members[range].sort_by_key(number);
            }
        }
    }
}

/// Attempts that a recorded count tells of before this record, of which `before` are known already.
/// A record with a number of its own is told by that: a count beside it implies nothing more.
pub(super) fn implied_before(attempt: &Attempt<'_>, before: u32) -> u32 {
    let total = attempt.attempts_total.filter(|_| attempt.attempt.is_none());
    total.map_or(0, |total| total.saturating_sub(before.saturating_add(1)))
}

fn keeps(selection: &StepSelection, attempt: &Attempt<'_>) -> bool {
    match selection {
        StepSelection::Tools => !attempt.turn,
        StepSelection::All => true,
        StepSelection::Kinds(kinds) => kinds.iter().any(|kind| *kind == attempt.kind),
    }
}

impl<'c> Judge<'c> {
    /// A judge that goes by `config`.
    #[must_use]
    pub const fn new(config: &'c EvalConfig) -> Self {
        Self { config }
    }

    /// Fresh scratch.
    #[must_use]
    pub fn state(&self) -> JudgeState {
        let evaluator = |program: &Option<std::sync::Arc<crate::expr::Program>>| {
            program.as_ref().map(|program| Evaluator::new(std::sync::Arc::clone(program)))
        };
        JudgeState {
            subtask_passed: evaluator(&self.config.subtask_passed),
            final_passed: evaluator(&self.config.final_passed),
            notes: Notes::default(),
            grouping: Grouping::default(),
            verdicts: Vec::new(),
            layout: Layout::default(),
            counted: Vec::new(),
            names: Names::default(),
        }
    }

    /// The error of an attempt, as far as the config lets it count.
    pub(super) fn error<'e, 'a>(&self, attempt: &'e Attempt<'a>) -> Option<&'e ErrorInfo<'a>> {
        attempt.error.as_ref().filter(|error| {
            error.origin != ErrorOrigin::ExitCode || self.config.exit_codes == ExitCodes::Error
        })
    }

    /// Finds what passed and what belongs together; leaves the result in `state`.
    pub(super) fn arrange(&self, state: &mut JudgeState, run: &Trajectory<'_>) {
        let JudgeState { subtask_passed, notes, grouping, verdicts, layout, .. } = state;
        verdicts.clear();
        verdicts.resize(run.attempts.len(), Verdict::Neither);
        grouping.sort(run);
        let keeps = |attempt: &Attempt<'_>| keeps(&self.config.steps, attempt);
        grouping.group(run, &keeps, &mut |placed: Placed| {
            let attempt = &run.attempts[placed.at];
            let error = self.error(attempt);
            let (mut verdict, unknown) = by_record(attempt, error);
            if let Some(evaluator) = subtask_passed {
                let (position, number) = (placed.position, placed.number);
                let subtask = Subtask { attempt, error, position, number };
                if verdict == Verdict::Neither {
                    evaluator.observe(&subtask);
                } else if evaluator.eval(&subtask) {
                    verdict = Verdict::Passed;
                } else {
                    verdict = Verdict::Failed;
                }
            } else if unknown {
                notes.add(
                    "unknown_status",
                    attempt.status.as_deref().unwrap_or_default(),
                    run.place,
                );
            }
            verdicts[placed.at] = verdict;
            verdict
        });
        layout.build(grouping);
    }

    /// Judges one run.
    pub fn row(&self, state: &mut JudgeState, run: &Trajectory<'_>) -> RunRow {
        self.arrange(state, run);
        super::count::row(self, state, run)
    }

    /// Judges one run and keeps what a person reads of it.
    pub fn timeline(&self, state: &mut JudgeState, run: &Trajectory<'_>) -> Timeline {
        let row = self.row(state, run);
        super::timeline::timeline(self, state, run, row)
    }
}

impl JudgeState {
    /// What the expressions saw, and the notes: `subtask_passed`, `final_passed`.
    #[must_use]
    pub fn into_observations(self) -> (Option<Observations>, Option<Observations>, Notes) {
        let seen = |evaluator: Option<Evaluator>| evaluator.map(|mut e| e.take_observations());
        (seen(self.subtask_passed), seen(self.final_passed), self.notes)
    }
}
