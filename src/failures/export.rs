//! The tasks of failures as a set to run again: what was wrong with each, and what is right.

use std::collections::BTreeMap;

use super::failure::KnownFailure;
use super::store::Library;

/// The tasks of some failures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegressionSet<'r> {
    /// By task.
    pub tasks: Vec<RegressionTask<'r>>,
    /// Failures of which no task is recorded.
    pub without_task: u64,
    /// Tasks beyond those that the library keeps of a failure; about so many.
    pub beyond: u64,
}

/// One task.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionTask<'r> {
    /// Its id, as stored.
    pub task_id: &'r str,
    /// Its failures, by id.
    pub failures: Vec<Regression<'r>>,
}

/// One failure of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression<'r> {
    /// Its id.
    pub id: &'r str,
    /// What is known of it.
    pub failure: &'r KnownFailure,
    /// What should have come out in this task, as JSON; what is right for another task is not.
    pub corrected_output: Option<&'r str>,
}

impl RegressionTask<'_> {
    /// What should have come out, as JSON, where all of its failures that say so say the same.
    #[must_use]
    pub fn corrected_output(&self) -> Option<&str> {
        let mut outputs = self.failures.iter().filter_map(|one| one.corrected_output);
        let first = outputs.next()?;
        outputs.all(|other| other == first).then_some(first)
    }
}

/// The tasks of the failures with one of these statuses.
#[must_use]
pub fn regressions<'r>(library: &'r Library, statuses: &[&str]) -> RegressionSet<'r> {
    let mut tasks: BTreeMap<&str, Vec<Regression<'r>>> = BTreeMap::new();
    let mut set = RegressionSet::default();
    for (id, failure) in library.failures() {
        if !statuses.contains(&failure.status.name()) {
            continue;
        }
        set.without_task += u64::from(failure.seen.tasks.is_empty());
        set.beyond += failure.seen.tasks.beyond();
        for (_, task) in failure.seen.tasks.kept() {
            let right = failure.corrected_output.as_deref();
            let corrected_output = right.filter(|_| failure.corrected_for() == Some(task));
            tasks.entry(task).or_default().push(Regression { id, failure, corrected_output });
        }
    }
    let task = |(task_id, failures)| RegressionTask { task_id, failures };
    set.tasks = tasks.into_iter().map(task).collect();
    set
}
