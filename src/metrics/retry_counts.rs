//! How many runs have how many retries.

use std::collections::BTreeMap;

use crate::evaluate::RunRow;

/// Bins that are kept apart.
const MOST_BINS: u32 = 20;

/// Runs by their number of retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryCounts {
    /// Fewest and most retries of a bin, and its runs; bins follow each other from 0.
    pub bins: Vec<(u32, u32, u64)>,
    /// Runs in them.
    pub runs: u64,
    /// Retries of all of them.
    pub retries: u64,
    /// Runs whose source says nothing of steps.
    pub left_out: u64,
}

impl RetryCounts {
    /// Counts runs; numbers of retries are put together where they go far.
    #[must_use]
    pub fn of(rows: &[&RunRow]) -> Self {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for row in rows.iter().filter(|row| !row.steps_unknown) {
            *counts.entry(row.retries).or_default() += 1;
        }
        let runs: u64 = counts.values().sum();
        let retries = counts.iter().map(|(retries, runs)| u64::from(*retries) * runs).sum();
        let most = counts.keys().next_back().copied().unwrap_or(0);
        let width = (most / MOST_BINS).saturating_add(1);
        let bins = (0..=most / width).map(|bin| {
            let from = bin.saturating_mul(width);
            let to = from.saturating_add(width - 1);
            (from, to, counts.range(from..=to).map(|(_, runs)| runs).sum())
        });
        Self { bins: bins.collect(), runs, retries, left_out: rows.len() as u64 - runs }
    }
}
