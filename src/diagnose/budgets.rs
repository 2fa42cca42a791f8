//! What failures cost, and limits that the runs suggest.
//!
//! Owns: for each amount (steps, retries, tokens, seconds, dollars) the limit that all but a chosen
//! share of completed runs keep, and what it would have cut: rightly, of runs that were not completed,
//! and wrongly. A limit is read off the runs that it is then held against, so wrong cuts are counted a
//! second time with limits from other tasks. Refuses amounts that completed runs do not record.

use std::collections::BTreeMap;

use crate::evaluate::RunRow;
use crate::metrics::{ByTask, LEVEL};
use crate::stats::quantile_type7;

/// Parts into which tasks are dealt, to hold a limit against runs that it was not read from.
const FOLDS: usize = 10;

/// An amount that can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Amount {
    /// Steps.
    Steps,
    /// Retries.
    Retries,
    /// Tokens.
    Tokens,
    /// Seconds.
    Seconds,
    /// US dollars.
    Dollars,
}

impl Amount {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 5] =
        [Self::Steps, Self::Retries, Self::Tokens, Self::Seconds, Self::Dollars];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Retries => "retries",
            Self::Tokens => "tokens",
            Self::Seconds => "seconds",
            Self::Dollars => "usd",
        }
    }

    /// Where its limit stands in an eval config.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Steps => "max_steps",
            Self::Retries => "evaluation.allowed_total_retries",
            Self::Tokens => "limits.max_total_tokens",
            Self::Seconds => "evaluation.timeout_seconds",
            Self::Dollars => "limits.max_cost_usd",
        }
    }

    /// What a run used of it; `None` where the run does not say.
    #[must_use]
    pub fn of(self, row: &RunRow) -> Option<f64> {
        let known = !row.steps_unknown;
        match self {
            Self::Steps => known.then(|| f64::from(row.steps)),
            Self::Retries => known.then(|| f64::from(row.retries)),
            Self::Tokens => row.tokens.map(|tokens| tokens.total()),
            Self::Seconds => row.duration_seconds,
            Self::Dollars => row.cost_usd,
        }
    }

    /// A value as a limit that a person would write: whole, or of two digits; never below the value.
    #[must_use]
    pub fn round_up(self, value: f64) -> f64 {
        if matches!(self, Self::Steps | Self::Retries) || value <= 0.0 {
            return value.max(0.0).ceil();
        }
        let unit = 10_f64.powf(value.log10().floor() - 1.0);
        let up = (value / unit - 1e-9).ceil() * unit;
        // The unit is no binary fraction, so the product has noise in its last digits.
        let digits = (-(unit.log10().round())).max(0.0) as i32;
        let scale = 10_f64.powi(digits.min(12));
        ((up * scale).round() / scale).max(value)
    }
}

/// The limit of one amount.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The amount.
    pub amount: Amount,
    /// Ended runs that record it.
    pub runs: u64,
    /// Of those, the completed ones.
    pub completed: u64,
    /// All that was used.
    pub total: f64,
    /// Of it, by runs that were not completed.
    pub by_failed: f64,
    /// Median of completed runs, and of the others.
    pub median: (Option<f64>, Option<f64>),
    /// The limit; `None` with too few completed runs.
    pub limit: Option<Cut>,
}

/// What a limit would have done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// The limit.
    pub limit: f64,
    /// Runs beyond it that were not completed.
    pub right: u64,
    /// Completed runs beyond it.
    pub wrong: u64,
    /// Completed runs beyond a limit from other tasks; `None` where these have fewer than [`LEAST`]
    /// completed runs.
    pub wrong_elsewhere: Option<u64>,
    /// 95% interval of the share of completed runs that such a limit cuts.
    pub wrong_share: Option<(f64, f64)>,
    /// What runs that were not completed used beyond the limit.
    pub saved: f64,
}

/// The least number of completed runs from which a limit is read.
pub const LEAST: u64 = 10;

/// The limits at a quantile of completed runs, 0 to 1.
#[must_use]
pub fn budgets(rows: &[&RunRow], quantile: f64) -> Vec<Budget> {
    Amount::ALL.iter().filter_map(|amount| budget(rows, *amount, quantile)).collect()
}

struct Used<'r> {
    task: Option<&'r str>,
    completed: bool,
    value: f64,
    fold: usize,
}

fn budget(rows: &[&RunRow], amount: Amount, quantile: f64) -> Option<Budget> {
    let mut folds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next = 0;
    let used: Vec<Used<'_>> = rows
        .iter()
        .filter(|row| row.counts_as_ended())
        .filter_map(|row| {
            let value = amount.of(row).filter(|value| value.is_finite())?;
            let mut fresh = || {
                next += 1;
                (next - 1) % FOLDS
            };
            let task = row.task_id.as_deref();
            let fold = match task {
                Some(task) => *folds.entry(task).or_insert_with(&mut fresh),
                None => fresh(),
            };
            Some(Used { task, completed: row.completed(), value, fold })
        })
        .collect();
    if used.is_empty() {
        return None;
    }
    let values = |wanted: bool, skip: Option<usize>| -> Vec<f64> {
        let mut values: Vec<f64> = used
            .iter()
            .filter(|run| run.completed == wanted && Some(run.fold) != skip)
            .map(|run| run.value)
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let limit_of =
        |values: &[f64]| quantile_type7(values, quantile).map(|value| amount.round_up(value));
    let (passed, failed) = (values(true, None), values(false, None));
    let limit = (passed.len() as u64 >= LEAST).then(|| limit_of(&passed)).flatten().map(|limit| {
        let elsewhere: Vec<Option<f64>> = (0..FOLDS)
            .map(|fold| {
                let others = values(true, Some(fold));
                (others.len() as u64 >= LEAST).then(|| limit_of(&others)).flatten()
            })
            .collect();
        let known = used
            .iter()
            .filter(|run| run.completed)
            .all(|run| elsewhere.get(run.fold).copied().flatten().is_some());
        let mut cuts = ByTask::default();
        let mut wrong_elsewhere = 0;
        for run in used.iter().filter(|run| run.completed) {
            let limit = elsewhere.get(run.fold).copied().flatten().unwrap_or(limit);
            let cut = run.value > limit;
            wrong_elsewhere += u64::from(cut);
            cuts.add(run.task, f64::from(u8::from(cut)), 1.0);
        }
        Cut {
            limit,
            right: failed.iter().filter(|value| **value > limit).count() as u64,
            wrong: passed.iter().filter(|value| **value > limit).count() as u64,
            wrong_elsewhere: known.then_some(wrong_elsewhere),
            wrong_share: cuts.share(LEVEL).filter(|_| known).map(|ci| (ci.low, ci.high)),
            saved: total(failed.iter().map(|value| (value - limit).max(0.0))),
        }
    });
    let by_failed = total(failed.iter().copied());
    Some(Budget {
        amount,
        runs: used.len() as u64,
        completed: passed.len() as u64,
        total: by_failed + total(passed.iter().copied()),
        by_failed,
        median: (quantile_type7(&passed, 0.5), quantile_type7(&failed, 0.5)),
        limit,
    })
}

/// The sum; of nothing it is 0, where that of floats is minus 0.
fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() + 0.0
}

#[cfg(test)]
mod tests {
    use super::{Amount, budgets};
    use crate::evaluate::{Outcome, RunRow};

    fn run(task: usize, steps: u32, completed: bool) -> RunRow {
        let outcome = if completed { Outcome::Completed } else { Outcome::Failed };
        RunRow { steps, outcome, ..RunRow::lost(&format!("t{task}")) }
    }

    #[test]
    fn a_limit_is_one_that_a_person_would_write_and_cuts_what_it_says() {
        assert_eq!(Amount::Steps.round_up(7.2), 8.0);
        assert_eq!(Amount::Tokens.round_up(12_345.0), 13_000.0);
        assert_eq!(Amount::Dollars.round_up(0.0342), 0.035);
        assert_eq!(Amount::Seconds.round_up(0.5), 0.5);
        // Twenty completed runs of 1 to 20 steps, and failed ones of 5, 30 and 50.
        let mut runs: Vec<RunRow> = (1..=20).map(|n| run(n as usize, n, true)).collect();
        runs.extend([5, 30, 50].map(|steps| run(steps as usize, steps, false)));
        let rows: Vec<&RunRow> = runs.iter().collect();
        let found = budgets(&rows, 0.9);
        let steps = &found[0];
        assert_eq!((steps.runs, steps.completed, steps.by_failed), (23, 20, 85.0));
        let cut = steps.limit.expect("twenty completed runs");
        // The 90% quantile of 1 to 20 is 18.1.
        assert_eq!((cut.limit, cut.right, cut.wrong, cut.saved), (19.0, 2, 1, 42.0));
        assert!(cut.wrong_elsewhere.is_some_and(|wrong| wrong >= cut.wrong));
        let well: Vec<&RunRow> = rows.iter().copied().filter(|row| row.completed()).collect();
        assert!(budgets(&well, 0.9)[0].by_failed.is_sign_positive());
        let one_task: Vec<RunRow> = (1..=20).map(|n| run(1, n, true)).collect();
        let one_task: Vec<&RunRow> = one_task.iter().collect();
        assert_eq!(budgets(&one_task, 0.9)[0].limit.and_then(|cut| cut.wrong_elsewhere), None);
        assert!(budgets(&rows[..5], 0.9)[0].limit.is_none());
    }
}
