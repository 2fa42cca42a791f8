//! Applies a config to one run after the other.
//!
//! Owns the scratch that is reused between runs, the evaluators of the config's expressions, and
//! the notes that become warnings. What it counts is in `count.rs`.

use std::collections::BTreeMap;

use super::attempt::{Subtask, Verdict, by_record};
use super::group::Grouping;
use super::row::RunRow;
use super::timeline::Timeline;
use crate::config::{EvalConfig, ExitCodes, StepSelection};
use crate::expr::{Evaluator, Observations, Root, Segment};
use crate::model::{Attempt, ErrorInfo, ErrorOrigin, Place, Trajectory};

/// Details kept per kind of note; the smallest are kept, so that the order of runs does not matter.
const KEPT_DETAILS: usize = 20;

/// Judges runs by one config. Shared between threads; each works with its own [`JudgeState`].
#[derive(Debug)]
pub struct Judge<'c> {
    pub(super) config: &'c EvalConfig,
    /// Whether `subtask_passed` reads the computed position or number of an attempt.
    reads_position: bool,
}

/// Scratch and observations of one thread.
pub struct JudgeState {
    pub(super) subtask_passed: Option<Evaluator>,
    pub(super) final_passed: Option<Evaluator>,
    pub(super) notes: Notes,
    pub(super) grouping: Grouping,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) layout: Layout,
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
    /// Start of each step's records in `members`; one more than there are steps.
    pub(super) starts: Vec<u32>,
    /// Position of each step among the kept ones, from 1; 0 for a step that is left out.
    pub(super) position: Vec<u32>,
    /// Number of kept steps.
    pub(super) kept: u32,
}

impl Layout {
    /// The records of a step.
    pub(super) fn of(&self, step: usize) -> &[u32] {
        &self.members[self.starts[step] as usize..self.starts[step + 1] as usize]
    }

    fn build(&mut self, run: &Trajectory<'_>, grouping: &Grouping, config: &EvalConfig) {
        let steps = grouping.steps as usize;
        self.starts.clear();
        self.starts.resize(steps + 1, 0);
        for step in &grouping.step_of {
            self.starts[*step as usize + 1] += 1;
        }
        for step in 0..steps {
            self.starts[step + 1] += self.starts[step];
        }
        self.members.clear();
        self.members.resize(grouping.step_of.len(), 0);
        let mut next = self.starts.clone();
        for (place, step) in (0..).zip(&grouping.step_of) {
            let slot = &mut next[*step as usize];
            self.members[*slot as usize] = place;
            *slot += 1;
        }
        self.position.clear();
        self.kept = 0;
        let attempt = |place: u32| &run.attempts[grouping.order[place as usize] as usize];
        for step in 0..steps {
            let range = self.starts[step] as usize..self.starts[step + 1] as usize;
            let members = &mut self.members[range];
            if members.len() > 1 && members.iter().all(|place| attempt(*place).attempt.is_some()) {
                members.sort_by_key(|place| attempt(*place).attempt);
            }
            let keep = members.first().is_some_and(|place| keeps(&config.steps, attempt(*place)));
            self.kept += u32::from(keep);
            self.position.push(if keep { self.kept } else { 0 });
        }
    }
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
    pub fn new(config: &'c EvalConfig) -> Self {
        let reads_position = config.subtask_passed.as_ref().is_some_and(|program| {
            program.paths().iter().any(|path| {
                path.root == Root::Subtask
                    && matches!(path.segments.first(), Some(Segment::Key(key)) if key == "index" || key == "attempt")
            })
        });
        Self { config, reads_position }
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
        state.grouping.sort(run);
        state.verdicts.clear();
        for attempt in &run.attempts {
            let (verdict, unknown) = by_record(attempt, self.error(attempt));
            if unknown && state.subtask_passed.is_none() {
                let word = attempt.status.as_deref().unwrap_or_default();
                state.notes.add("unknown_status", word, run.place);
            }
            state.verdicts.push(verdict);
        }
        if state.subtask_passed.is_none() {
            state.grouping.group(run, &state.verdicts);
            state.layout.build(run, &state.grouping, self.config);
            return;
        }
        if self.reads_position {
            state.grouping.group(run, &state.verdicts);
            state.layout.build(run, &state.grouping, self.config);
            self.apply_expression(state, run);
            // The steps stand as they were when the expression saw their positions.
            return;
        }
        self.apply_expression(state, run);
        state.grouping.group(run, &state.verdicts);
        state.layout.build(run, &state.grouping, self.config);
    }

    /// Lets `subtask_passed` decide every attempt that is not open.
    fn apply_expression(&self, state: &mut JudgeState, run: &Trajectory<'_>) {
        let Some(evaluator) = &mut state.subtask_passed else { return };
        let (grouping, layout) = (&state.grouping, &state.layout);
        let mut judge = |at: usize, position: u32, number: u32| {
            let attempt = &run.attempts[at];
            if state.verdicts[at] == Verdict::Neither {
                return;
            }
            let subtask = Subtask { attempt, error: self.error(attempt), position, number };
            let passed = evaluator.eval(&subtask);
            state.verdicts[at] = if passed { Verdict::Passed } else { Verdict::Failed };
        };
        if !self.reads_position {
            for at in 0..run.attempts.len() {
                if keeps(&self.config.steps, &run.attempts[at]) {
                    judge(at, 0, 0);
                }
            }
            return;
        }
        for step in 0..grouping.steps as usize {
            if layout.position[step] == 0 {
                continue;
            }
            for (nth, place) in (1..).zip(layout.of(step)) {
                let at = grouping.order[*place as usize] as usize;
                judge(at, layout.position[step], run.attempts[at].attempt.unwrap_or(nth));
            }
        }
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
