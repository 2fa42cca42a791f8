//! Who was compared with whom, kept for reports.

use super::pairing::{Duplicate, Mode, Pairing};

/// The outcome of pairing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingSummary {
    /// How the sides were compared.
    pub mode: Mode,
    /// Tasks on both sides.
    pub paired: usize,
    /// Tasks of the baseline, on both sides or not.
    pub of_baseline: usize,
    /// Tasks without a candidate run.
    pub baseline_only: Vec<String>,
    /// Tasks that the baseline does not have.
    pub candidate_only: Vec<String>,
    /// Runs that are there twice.
    pub duplicates: Vec<Duplicate>,
    /// Runs without a task id: of the baseline, of the candidate.
    pub without_task: (usize, usize),
    /// Tasks with fewer candidate runs than every task should have: id, runs, lost ones.
    pub short: Vec<(String, usize, u32)>,
    /// Why the pairing failed; empty where it did not.
    pub failures: Vec<String>,
}

impl PairingSummary {
    pub(super) fn of(pairing: &Pairing<'_>, failures: Vec<String>) -> Self {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<String>>();
        Self {
            mode: pairing.mode,
            paired: pairing.paired,
            of_baseline: pairing.paired + pairing.baseline_only.len(),
            baseline_only: owned(&pairing.baseline_only),
            candidate_only: owned(&pairing.candidate_only),
            duplicates: pairing.duplicates.clone(),
            without_task: pairing.without_task,
            short: pairing
                .short
                .iter()
                .map(|(id, runs, lost)| ((*id).to_owned(), *runs, *lost))
                .collect(),
            failures,
        }
    }
}
