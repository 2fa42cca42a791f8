//! Where runs fail and where they end for good, by step.
//!
//! Counts only; hazards and survival with their intervals are another analysis.

use std::collections::BTreeMap;

use crate::evaluate::RunRow;

/// One step over all runs whose order of steps is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRisk {
    /// Its position, from 1.
    pub step: u32,
    /// Runs that reach it.
    pub reached: u64,
    /// Runs with a failed attempt there.
    pub failed: u64,
    /// Runs that were not completed and went wrong there: the first failed step that was not
    /// recovered.
    pub lost: u64,
}

/// The steps with a failed attempt, in order.
#[must_use]
pub fn step_risks(rows: &[&RunRow]) -> Vec<StepRisk> {
    let ordered = || rows.iter().filter(|row| row.mid.is_some() && row.steps > 0);
    let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
    let mut steps: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for row in ordered() {
        *lengths.entry(row.steps).or_default() += 1;
        for step in &row.failed_steps {
            steps.entry(*step).or_default().0 += 1;
        }
        if let Some(step) = row.turned_at {
            steps.entry(step).or_default().1 += 1;
        }
    }
    let mut reached: u64 = lengths.values().sum();
    let mut ends = lengths.iter().peekable();
    let mut risks = Vec::with_capacity(steps.len());
    for (step, (failed, lost)) in steps {
        while let Some((_, runs)) = ends.next_if(|(length, _)| **length < step) {
            reached -= runs;
        }
        risks.push(StepRisk { step, reached, failed, lost });
    }
    risks
}

#[cfg(test)]
mod tests {
    use super::{StepRisk, step_risks};
    use crate::evaluate::{MidRun, RunRow};

    #[test]
    fn a_step_is_held_against_the_runs_that_reach_it() {
        let row = |steps: u32, failed: &[u32], turned_at: Option<u32>| RunRow {
            steps,
            mid: Some(MidRun::default()),
            failed_steps: failed.into(),
            turned_at,
            ..RunRow::lost("t")
        };
        let rows = [row(2, &[2], Some(2)), row(4, &[2, 4], Some(4)), row(4, &[], None)];
        let risks = step_risks(&rows.iter().collect::<Vec<_>>());
        let wanted = [
            StepRisk { step: 2, reached: 3, failed: 2, lost: 1 },
            StepRisk { step: 4, reached: 2, failed: 1, lost: 1 },
        ];
        assert_eq!(risks, wanted);
    }
}
