//! Which nodes can do without an approval: the lower bound of their success against a target.
//!
//! Owns: the success of each node over its steps, one-sided bounds over tasks, and how many more runs
//! would decide. Refuses to call a node ready because nothing has failed yet: few runs have a low bound.

use std::collections::BTreeMap;

use super::StepFact;
use crate::evaluate::RunRow;
use crate::metrics::ByTask;
use crate::stats::Effective;

/// What to do with a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Advice {
    /// The lower bound is at the target or above.
    Automate,
    /// The upper bound is below the target.
    KeepApproval,
    /// All runs are of one task, which tells nothing of others.
    OneTask,
    /// Neither: about so many more runs of further tasks that reach the node would decide, if its success stays as it is;
    /// `None` where more than a million would be needed.
    NotEnough(Option<u64>),
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeReadiness {
    /// Tool or node, else the step type.
    pub node: String,
    /// Runs with a judged step of it.
    pub runs: u64,
    /// Their tasks.
    pub tasks: u64,
    /// Its judged steps.
    pub steps: u64,
    /// Of those, the ones that passed in the end.
    pub passed: u64,
    /// Of those, the ones whose first attempt passed.
    pub passed_at_once: u64,
    /// One-sided 95% bounds of its success.
    pub bounds: Option<(f64, f64)>,
    /// What to do.
    pub advice: Advice,
}

/// Two one-sided bounds of 95% are the ends of an interval of 90%.
const LEVEL: f64 = 0.90;

/// The most runs that are asked for.
const MOST_RUNS: f64 = 1e6;

#[derive(Default)]
struct Sums<'r> {
    by_task: ByTask<'r>,
    runs: u64,
    steps: u64,
    passed: u64,
    at_once: u64,
}

/// The nodes by name; `steps` are those of each row. With `first`, a step counts by its first attempt.
#[must_use]
pub fn readiness(
    rows: &[RunRow],
    steps: &[Vec<StepFact>],
    target: f64,
    first: bool,
) -> Vec<NodeReadiness> {
    let mut nodes: BTreeMap<&str, Sums<'_>> = BTreeMap::new();
    for (row, steps) in rows.iter().zip(steps) {
        let mut of_run: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for step in steps {
            let Some(last) = step.last else { continue };
            let sums = of_run.entry(&step.label).or_default();
            sums.0 += 1;
            sums.1 += u64::from(last);
            sums.2 += u64::from(step.first == Some(true));
        }
        for (node, (steps, passed, at_once)) in of_run {
            let sums = nodes.entry(node).or_default();
            sums.runs += 1;
            sums.steps += steps;
            sums.passed += passed;
            sums.at_once += at_once;
            #[expect(clippy::cast_precision_loss, reason = "numbers of steps")]
            let (part, of) = (if first { at_once } else { passed } as f64, steps as f64);
            sums.by_task.add(row.task_id.as_deref(), part, of);
        }
    }
    nodes.into_iter().map(|(node, sums)| of(node, sums, target)).collect()
}

fn of(node: &str, sums: Sums<'_>, target: f64) -> NodeReadiness {
    let clusters = sums.by_task.clusters();
    let tasks = clusters.len() as u64;
    let seen = Effective::of(&clusters).ok();
    let bounds = seen
        .and_then(|seen| seen.interval(1.0, LEVEL).ok())
        .map(|interval| (interval.low, interval.high));
    let advice = match bounds {
        Some((low, _)) if low >= target => Advice::Automate,
        Some((_, high)) if high < target => Advice::KeepApproval,
        None if tasks < 2 => Advice::OneTask,
        _ => Advice::NotEnough(seen.and_then(|seen| more_runs(&seen, sums.runs, target))),
    };
    NodeReadiness {
        node: node.to_owned(),
        runs: sums.runs,
        tasks,
        steps: sums.steps,
        passed: sums.passed,
        passed_at_once: sums.at_once,
        bounds,
        advice,
    }
}

/// Runs beside those that are there after which the success would be told from the target, one way or
/// the other, if it stays as it is and tasks stay as alike.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "numbers of runs, bounded by the largest that is asked for"
)]
fn more_runs(seen: &Effective, runs: u64, target: f64) -> Option<u64> {
    let runs = runs as f64;
    let decided = |times: f64| {
        seen.interval(times, LEVEL).is_ok_and(|ci| ci.low >= target || ci.high < target)
    };
    let mut high = 2.0;
    while !decided(high) {
        high *= 2.0;
        if high * runs > 2.0 * MOST_RUNS {
            return None;
        }
    }
    let mut low = high / 2.0;
    while (high - low) * runs > 0.5 {
        let middle = (low + high) / 2.0;
        if decided(middle) { high = middle } else { low = middle }
    }
    let more = (high * runs - runs).ceil().max(1.0);
    (more <= MOST_RUNS).then_some(more as u64)
}

#[cfg(test)]
mod tests {
    use super::{Advice, NodeReadiness, readiness};
    use crate::diagnose::StepFact;
    use crate::evaluate::RunRow;

    fn node(passed: usize, failed: usize, target: f64) -> NodeReadiness {
        let total = passed + failed;
        let rows: Vec<RunRow> = (0..total).map(|at| RunRow::lost(&format!("t{at}"))).collect();
        let steps: Vec<Vec<StepFact>> = (0..total)
            .map(|at| {
                let passed = Some(at < passed);
                let label = "pay".into();
                vec![StepFact {
                    position: 1,
                    label,
                    first: passed,
                    last: passed,
                    attempts: 1,
                    record: 0,
                }]
            })
            .collect();
        readiness(&rows, &steps, target, false).remove(0)
    }

    #[test]
    fn nothing_failed_yet_is_not_ready() {
        assert!(matches!(node(5, 0, 0.99).advice, Advice::NotEnough(Some(more)) if more > 100));
        assert_eq!(node(300, 0, 0.99).advice, Advice::Automate);
        assert_eq!(node(10, 30, 0.9).advice, Advice::KeepApproval);
        assert!(matches!(node(95, 5, 0.95).advice, Advice::NotEnough(_)));
    }

    #[test]
    fn as_many_runs_as_asked_for_do_decide() {
        let Advice::NotEnough(Some(more)) = node(5, 0, 0.9).advice else { panic!("too few") };
        let enough = 5 + usize::try_from(more).expect("small");
        assert_eq!(node(enough, 0, 0.9).advice, Advice::Automate);
        assert!(matches!(node(enough - 2, 0, 0.9).advice, Advice::NotEnough(_)));
        assert_eq!(node(9, 1, 0.9).advice, Advice::NotEnough(None));
    }
}
