//! What runs cost, by how they ended; where cost is not recorded, what they took in tokens or time.

use super::catalogue::metric;
use super::figure::{Figure, Set};
use crate::evaluate::{Outcome, RunRow};

/// What ended runs cost, by outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent {
    /// `cost` (US dollars), `tokens` or `duration` (seconds).
    pub measure: &'static str,
    /// Sum and number of runs by outcome, of the runs that record it; ended outcomes, in order.
    pub by: Vec<(Outcome, f64, u64)>,
    /// Ended runs that do not record it.
    pub unrecorded: u64,
    /// The share that runs took which were not completed.
    pub lost: Figure,
}

impl Spent {
    /// Sums over ended runs; `None` where none records cost, tokens or duration.
    #[must_use]
    pub fn of(rows: &[&RunRow]) -> Option<Self> {
        let set = Set::new(rows.to_vec());
        let (name, measure) = set.measure()?;
        let ended = || rows.iter().filter(|row| row.outcome.ended());
        let of = |outcome: Outcome| {
            let mut amounts: Vec<f64> = ended()
                .filter(|row| row.outcome == outcome)
                .filter_map(|row| measure(row))
                .collect();
            // The order of runs must not show in a sum of floats.
            amounts.sort_by(f64::total_cmp);
            (outcome, amounts.iter().sum::<f64>() + 0.0, amounts.len() as u64)
        };
        Some(Self {
            measure: name,
            by: Outcome::ALL.into_iter().filter(|outcome| outcome.ended()).map(of).collect(),
            unrecorded: ended().filter(|row| measure(row).is_none()).count() as u64,
            lost: metric("failure_cost_share").map(|metric| set.figure(metric)).unwrap_or_default(),
        })
    }

    /// The sum over all of them.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.by.iter().map(|(_, amount, _)| amount).sum()
    }
}
