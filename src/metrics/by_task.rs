//! Sums of runs by task: runs of one task resemble each other, so tasks tell a share from chance.

use std::collections::BTreeMap;

use crate::stats::{Cluster, Interval, clustered_wilson, wilson};

/// What runs have of an amount, summed by task; a run without a task is a task of its own.
#[derive(Debug, Clone, Default)]
pub struct ByTask<'r> {
    tasks: BTreeMap<&'r str, Cluster>,
    alone: Vec<Cluster>,
}

impl<'r> ByTask<'r> {
    /// Adds what one run has: `part` of `of`.
    pub fn add(&mut self, task: Option<&'r str>, part: f64, of: f64) {
        let one = Cluster::new(part, of);
        match task {
            Some(task) => {
                let sums = self.tasks.entry(task).or_default();
                sums.numerator += one.numerator;
                sums.denominator += one.denominator;
            }
            None => self.alone.push(one),
        }
    }

    /// The sums of each task, in the order of their names; runs without a task come last.
    #[must_use]
    pub fn clusters(&self) -> Vec<Cluster> {
        self.tasks.values().chain(&self.alone).copied().collect()
    }

    /// The interval of the share of runs, where each has 0 or 1 of 1: over tasks, or over runs where
    /// tasks tell nothing; `None` without a run.
    #[must_use]
    pub fn share(&self, level: f64) -> Option<Interval> {
        let clusters = self.clusters();
        let (part, of) = clusters
            .iter()
            .fold((0.0, 0.0), |(part, of), one| (part + one.numerator, of + one.denominator));
        clustered_wilson(&clusters, level).or_else(|_| wilson(part, of, level)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::ByTask;
    use crate::stats::{Cluster, clustered_wilson, wilson};

    #[test]
    fn runs_of_a_task_are_one_cluster_and_each_run_without_one_is_its_own() {
        let mut sums = ByTask::default();
        for (task, part) in [(Some("b"), 1.0), (None, 0.0), (Some("a"), 1.0), (Some("b"), 0.0)] {
            sums.add(task, part, 1.0);
        }
        let wanted = [(1.0, 1.0), (1.0, 2.0), (0.0, 1.0)].map(|(n, d)| Cluster::new(n, d));
        assert_eq!(sums.clusters(), wanted);
        assert_eq!(sums.share(0.95), clustered_wilson(&wanted, 0.95).ok());
    }

    #[test]
    fn runs_of_one_task_have_the_interval_of_runs_and_none_have_none() {
        let mut sums = ByTask::default();
        assert_eq!(sums.share(0.95), None);
        for part in [1.0, 0.0, 1.0] {
            sums.add(Some("a"), part, 1.0);
        }
        assert_eq!(sums.share(0.95), wilson(2.0, 3.0, 0.95).ok());
    }
}
