//! What a page needs of runs beside their rows, collected while their texts are in memory.
//!
//! Owns the bounds. Input such as a pipe cannot be read twice, and which runs are shown is known only
//! at the end, so the foremost ones are kept while all pass by: those that failed or passed a limit
//! first, then those that did not end, then a stable sample of the others. A run weighs its attempts,
//! but at least [`LEAST`], and all together [`ATTEMPTS`]: 10,000 runs of up to 50 attempts.
//! Groups of failures are counted over all runs. Rules are asked of whole tasks, chosen by their ids
//! whatever became of their runs, up to [`DIAGNOSED`] attempts: what they need of a run is large, and
//! a choice by outcome would bend every share.

use std::sync::Mutex;

use super::Failure;
use super::split::Filter;
use crate::baseline::masked_row;
use crate::diagnose::{Case, Diagnosis, RunFindings, Settings, conclude, look};
use crate::evaluate::{Brief, Contents, Judge, JudgeState, RunRow, Timeline};
use crate::horizon::{Places, error_places};
use crate::metrics::{FailureGroup, Failures, Foremost, Rank};
use crate::model::Trajectory;

/// Attempts of all runs that are shown.
const ATTEMPTS: u64 = 500_000;

/// What a run weighs at least, in attempts.
const LEAST: u64 = 50;

/// Attempts of all runs of which rules are asked.
const DIAGNOSED: u64 = 500_000;

/// Bytes of all contents that are shown.
const CONTENTS: u64 = 4 << 20;

/// A run that a page shows.
pub(crate) struct Kept {
    /// Its rank among all runs, by which failures name it.
    pub(crate) rank: Rank,
    /// Its row, masked.
    pub(crate) row: RunRow,
    pub(crate) brief: Brief,
    /// What was said in it, where that was asked for and the bound allows it.
    pub(crate) contents: Option<Contents>,
}

/// What was collected.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) failures: Vec<FailureGroup>,
    pub(crate) places: Places,
    pub(crate) kept: Vec<Kept>,
    /// What rules say of [`diagnosed`](Self::diagnosed).
    pub(crate) diagnosis: Diagnosis,
    /// The runs of which rules were asked, in the order of the input.
    pub(crate) diagnosed: Vec<(Rank, RunRow)>,
    /// How they were asked.
    pub(crate) settings: Settings,
}

/// Collects from many threads.
pub(crate) struct Collector {
    state: Mutex<State>,
    /// `--where`: what it drops must not take the place of what is shown.
    filter: Option<Mutex<Filter>>,
    contents: bool,
    settings: Settings,
}

struct State {
    failures: Failures,
    places: Places,
    runs: Foremost<(RunRow, Brief)>,
    contents: Foremost<Contents>,
    diagnosed: Foremost<(Rank, RunRow, RunFindings)>,
}

impl Collector {
    /// Collects runs that `filter` keeps, with their contents where that is asked for; rules are
    /// asked by `settings`. Readers must keep attempts as JSON.
    pub(crate) fn new(
        filter: Option<&str>,
        contents: bool,
        settings: Settings,
    ) -> Result<Self, Failure> {
        let state = State {
            failures: Failures::default(),
            places: Places::default(),
            runs: Foremost::new(ATTEMPTS),
            contents: Foremost::new(CONTENTS),
            diagnosed: Foremost::new(DIAGNOSED),
        };
        let filter = filter.map(Filter::compile).transpose()?.map(Mutex::new);
        Ok(Self { state: Mutex::new(state), filter, contents, settings })
    }

    /// Judges a run and collects what is shown of it.
    pub(crate) fn look(
        &self,
        judge: &Judge<'_>,
        state: &mut JudgeState,
        run: &Trajectory<'_>,
    ) -> RunRow {
        let timeline = judge.timeline(state, run);
        if self.keeps(&timeline.row) {
            self.collect(&timeline, run);
        }
        timeline.row
    }

    fn keeps(&self, row: &RunRow) -> bool {
        let Some(filter) = &self.filter else { return true };
        filter.lock().is_ok_and(|mut filter| filter.keeps(row))
    }

    fn collect(&self, timeline: &Timeline, run: &Trajectory<'_>) {
        let rank = Rank::of(&timeline.row);
        let by_task = Rank::by_task(&timeline.row);
        let admits = |state: &State| {
            let said = self.contents && state.contents.admits(rank);
            (state.runs.admits(rank), said, state.diagnosed.admits(by_task))
        };
        // Everything that takes time is done outside of the lock.
        let mut failures = Failures::default();
        failures.add(timeline, rank);
        let places = error_places(timeline);
        let (shown, said, asked) = {
            let Ok(mut state) = self.state.lock() else { return };
            state.failures.join(failures);
            state.places.add(&timeline.row, &places);
            admits(&state)
        };
        // What others bring meanwhile is seen when it is offered.
        let kept = shown.then(|| (masked_row(&timeline.row), Brief::of(timeline)));
        let contents = said.then(|| Contents::of(run)).filter(|said| !said.texts.is_empty());
        let found = asked.then(|| look(&Case::of(run, timeline), &self.settings));
        let Ok(mut state) = self.state.lock() else { return };
        if let Some(found) = found {
            let weight = u64::from(timeline.row.attempts).max(LEAST);
            state.diagnosed.offer(by_task, weight, (rank, timeline.row.clone(), found));
        }
        if let Some((row, brief)) = kept {
            let weight = (brief.attempts.len() as u64).max(LEAST);
            state.runs.offer(rank, weight, (row, brief));
        }
        if let Some(contents) = contents {
            state.contents.offer(rank, contents.bytes() as u64, contents);
        }
    }

    /// The groups of failures and the places of errors over all runs, and the runs to be shown: those
    /// that were not completed first, each kind in the order of the input.
    pub(crate) fn finish(self) -> Collected {
        let Ok(state) = self.state.into_inner() else { return Collected::default() };
        let mut said = state.contents.into_sorted().into_iter().peekable();
        let mut kept: Vec<(Rank, Kept)> = Vec::new();
        for (rank, (row, brief)) in state.runs.into_sorted() {
            while said.next_if(|(other, _)| *other < rank).is_some() {}
            let contents = said.next_if(|(other, _)| *other == rank).map(|(_, contents)| contents);
            kept.push((rank, Kept { rank, row, brief, contents }));
        }
        kept.sort_by_key(|(rank, kept)| (rank.class(), kept.row.place, *rank));
        let mut asked: Vec<(Rank, RunRow, RunFindings)> =
            state.diagnosed.into_sorted().into_iter().map(|(_, run)| run).collect();
        asked.sort_by_key(|(rank, row, _)| (row.place, *rank));
        let (mut ranks, mut rows, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for (rank, row, findings) in asked {
            ranks.push(rank);
            rows.push(row);
            found.push(findings);
        }
        let diagnosis = conclude(&rows, found, &self.settings);
        Collected {
            diagnosis,
            diagnosed: ranks.into_iter().zip(rows).collect(),
            settings: self.settings,
            failures: state.failures.into_groups(),
            places: state.places,
            kept: kept.into_iter().map(|(_, kept)| kept).collect(),
        }
    }
}
