//! Which runs of the baseline and of the candidate belong together: those of one task.
//!
//! Owns pairing by task id, what has no partner, runs that are there twice, and runs that were lost
//! (`STATISTICS.md`, 5.7). Refuses to compare: it only says what can be.

use std::collections::{BTreeMap, HashSet};

use crate::evaluate::RunRow;

/// One task with its runs on both sides.
#[derive(Debug, Clone, Default)]
pub struct PairedTask<'r> {
    /// Its id.
    pub id: &'r str,
    /// Runs of the baseline.
    pub baseline: Vec<&'r RunRow>,
    /// Runs of the candidate.
    pub candidate: Vec<&'r RunRow>,
    /// Runs of the candidate that should be there and are not.
    pub lost: u32,
}

/// A run whose task and trial another run of its side has too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duplicate {
    /// The side.
    pub side: Side,
    /// The task.
    pub task: String,
    /// The trial, or the run's id where it has no trial.
    pub trial: String,
}

/// One of the two sets of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// What is compared against.
    Baseline,
    /// What is judged.
    Candidate,
}

impl Side {
    /// The word in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
        }
    }
}

/// How the two sides stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Task by task.
    Paired,
    /// As two samples of other tasks: neither side has task ids, or none is in both.
    Unpaired,
}

/// The runs of both sides, brought together.
#[derive(Debug, Clone)]
pub struct Pairing<'r> {
    /// How they are compared.
    pub mode: Mode,
    /// Tasks on both sides, sorted by id; and tasks of the baseline that the candidate lost, where
    /// lost tasks count. With [`Mode::Unpaired`] each task (or run without one) is an entry with
    /// one side empty.
    pub tasks: Vec<PairedTask<'r>>,
    /// Number of tasks that are on both sides.
    pub paired: usize,
    /// Tasks of the baseline without a run of the candidate, sorted.
    pub baseline_only: Vec<&'r str>,
    /// Tasks of the candidate that the baseline does not have, sorted.
    pub candidate_only: Vec<&'r str>,
    /// Runs that are there twice, sorted.
    pub duplicates: Vec<Duplicate>,
    /// Runs without a task id: of the baseline, of the candidate.
    pub without_task: (usize, usize),
    /// Tasks with fewer runs of the candidate than every task should have: id, runs, lost ones.
    pub short: Vec<(&'r str, usize, u32)>,
}

/// What decides pairing, beside the runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct PairingOptions {
    /// Runs that every task of the candidate should have.
    pub expected_trials: Option<u64>,
    /// Whether tasks without a partner are left out without further ado.
    pub allow_unmatched: bool,
    /// Whether a side holds several saves, which number their trials alike: the baseline, the
    /// candidate.
    pub pooled: (bool, bool),
}

impl<'r> Pairing<'r> {
    /// Brings the runs of both sides together. The order of the runs makes no difference.
    #[must_use]
    pub fn of(baseline: &'r [RunRow], candidate: &'r [RunRow], options: PairingOptions) -> Self {
        let mut by_task: BTreeMap<&str, PairedTask<'r>> = BTreeMap::new();
        let mut loose = (Vec::new(), Vec::new());
        for row in baseline {
            match row.task_id.as_deref() {
                Some(id) => by_task.entry(id).or_default().baseline.push(row),
                None => loose.0.push(row),
            }
        }
        for row in candidate {
            match row.task_id.as_deref() {
                Some(id) => by_task.entry(id).or_default().candidate.push(row),
                None => loose.1.push(row),
            }
        }
        let mut pairing = Self {
            mode: Mode::Paired,
            tasks: Vec::new(),
            paired: 0,
            baseline_only: Vec::new(),
            candidate_only: Vec::new(),
            duplicates: duplicates(
                if options.pooled.0 { &[] } else { baseline },
                if options.pooled.1 { &[] } else { candidate },
            ),
            without_task: (loose.0.len(), loose.1.len()),
            short: Vec::new(),
        };
        for (id, task) in &by_task {
            match (task.baseline.is_empty(), task.candidate.is_empty()) {
                (false, true) => pairing.baseline_only.push(id),
                (true, false) => pairing.candidate_only.push(id),
                _ => pairing.paired += 1,
            }
        }
        if pairing.paired == 0 && (by_task.is_empty() || options.allow_unmatched) {
            pairing.mode = Mode::Unpaired;
            let alone = |row: &'r RunRow| vec![row];
            let of_baseline = loose.0.into_iter().map(alone);
            let of_candidate = loose.1.into_iter().map(alone);
            for (id, task) in by_task {
                let runs = task.candidate.len();
                let expected = if runs > 0 { options.expected_trials.unwrap_or(0) } else { 0 };
                let lost = pairing.lost(id, runs, expected);
                pairing.tasks.push(PairedTask { id, lost, ..task });
            }
            pairing.tasks.extend(
                of_baseline.map(|baseline| PairedTask { baseline, ..PairedTask::default() }),
            );
            pairing.tasks.extend(
                of_candidate.map(|candidate| PairedTask { candidate, ..PairedTask::default() }),
            );
            return pairing;
        }
        let expected = options.expected_trials.unwrap_or(0);
        for (id, task) in by_task {
            let runs = task.candidate.len();
            if task.baseline.is_empty() || (runs == 0 && options.allow_unmatched) {
                continue;
            }
            // A task that the candidate has no run of lost at least one.
            let lost = pairing.lost(id, runs, expected.max(u64::from(runs == 0)));
            pairing.tasks.push(PairedTask { id, lost, ..task });
        }
        pairing
    }

    /// Runs of the candidate that a task should have and has not.
    fn lost(&mut self, id: &'r str, runs: usize, due: u64) -> u32 {
        let lost = u32::try_from(due.saturating_sub(runs as u64)).unwrap_or(u32::MAX);
        if lost > 0 && runs > 0 {
            self.short.push((id, runs, lost));
        }
        lost
    }

    /// Why the pairing failed, as fragments; empty where it did not, or where what is unmatched
    /// is allowed.
    #[must_use]
    pub fn failures(&self, options: PairingOptions) -> Vec<String> {
        let mut failures = Vec::new();
        if options.allow_unmatched {
            return failures;
        }
        let some = |ids: &[&str]| {
            let named: Vec<String> = ids.iter().take(3).map(|id| format!("`{id}`")).collect();
            let more = if ids.len() > 3 { ", ..." } else { "" };
            format!("{}{more}", named.join(", "))
        };
        if self.mode == Mode::Paired && self.paired == 0 {
            failures.push("no task is on both sides".to_owned());
        } else if !self.baseline_only.is_empty() {
            failures.push(format!(
                "tasks of the baseline without a candidate run: {} ({})",
                self.baseline_only.len(),
                some(&self.baseline_only)
            ));
        }
        if let Some(first) = self.duplicates.first() {
            failures.push(format!(
                "runs that are there twice: {} (the first is task `{}`, trial `{}` of the {})",
                self.duplicates.len(),
                first.task,
                first.trial,
                first.side.name()
            ));
        }
        failures
    }
}

/// Runs whose task and trial (else run id) another run of the same agent and model has.
fn duplicates(baseline: &[RunRow], candidate: &[RunRow]) -> Vec<Duplicate> {
    let mut found = Vec::new();
    for (side, rows) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
        let mut seen = HashSet::new();
        for row in rows {
            let Some(task) = row.task_id.as_deref() else { continue };
            let trial = row.trial.as_deref();
            // Without a trial, the same run id says that it is one run.
            let Some(name) = trial.or(row.run_id.as_deref()) else { continue };
            let key = (task, trial.is_some(), name, row.agent.as_deref(), row.model.as_deref());
            if !seen.insert(key) {
                found.push(Duplicate { side, task: task.to_owned(), trial: name.to_owned() });
            }
        }
    }
    found.sort();
    found
}
