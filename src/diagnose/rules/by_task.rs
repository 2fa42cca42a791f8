//! Sums of runs by task: runs of one task resemble each other, so tasks are what tells a share from chance.

use std::collections::BTreeMap;

use crate::evaluate::RunRow;
use crate::stats::{Cluster, Interval, clustered_wilson, linearise, ratio_mean_interval, wilson};

/// The part of an amount that one task may hold.
const MOST_OF_ALL: f64 = 0.5;

/// A share or a ratio of sums, by task.
#[derive(Default)]
pub(super) struct ByTask<'r> {
    tasks: BTreeMap<&'r str, Cluster>,
    /// Runs without a task are tasks of their own.
    alone: Vec<Cluster>,
    runs: Vec<Cluster>,
}

impl<'r> ByTask<'r> {
    /// Adds what one run has.
    pub(super) fn add(&mut self, row: &'r RunRow, part: f64, of: f64) {
        let one = Cluster::new(part, of);
        self.runs.push(one);
        match row.task_id.as_deref() {
            Some(task) => {
                let sum = self.tasks.entry(task).or_default();
                sum.numerator += one.numerator;
                sum.denominator += one.denominator;
            }
            None => self.alone.push(one),
        }
    }

    /// The tasks; runs, where all are of one task.
    fn clusters(&self) -> Vec<Cluster> {
        let all: Vec<Cluster> =
            self.tasks.values().copied().chain(self.alone.iter().copied()).collect();
        if all.len() < 2 { self.runs.clone() } else { all }
    }

    /// The interval of a share.
    pub(super) fn share(&self, level: f64) -> Option<Interval> {
        clustered_wilson(&self.clusters(), level).ok()
    }

    /// The interval of the part of an amount, within 0 to 1; `None` where one task holds more than half
    /// of it. Where all tasks have the same part, their
    /// number is what tells how sure it is.
    #[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
    pub(super) fn part(&self, level: f64) -> Option<(f64, f64)> {
        let clusters = self.clusters();
        let all: f64 = clusters.iter().map(|one| one.denominator).sum();
        // Of a task that holds most of the amount the spread over tasks tells nothing: it is the mean.
        if clusters.iter().any(|one| one.denominator > MOST_OF_ALL * all) {
            return None;
        }
        let spread = linearise(&clusters).and_then(|linear| linear.standard_error()).ok()?;
        if spread > 0.0 {
            let interval = ratio_mean_interval(&clusters, level).ok()?;
            return Some((interval.low.max(0.0), interval.high.min(1.0)));
        }
        let part: f64 = clusters.iter().map(|one| one.numerator).sum();
        let number = clusters.len() as f64;
        let interval = wilson((part / all).min(1.0) * number, number, level).ok()?;
        Some((interval.low, interval.high))
    }
}
