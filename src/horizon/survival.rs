//! Runs without a failed step, by step.
//!
//! A run is followed to its first step with a failed attempt, or to its last step without one: a
//! run that ends in good order, is cut by a limit or is unfinished leaves the runs at risk there.
//! This is the risk of the steps that were taken, and not the share of runs that fail.

use std::collections::BTreeMap;

use crate::evaluate::{Outcome, RunRow};
use crate::metrics::LEVEL;
use crate::stats::{Cluster, Followed, LifeStep, clustered_wilson, kaplan_meier, wilson};

/// Most bins of [`Survival::hazard`].
const MOST_BINS: u32 = 24;

/// Runs without a failed step, by step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Survival {
    /// Runs that are followed.
    pub runs: u64,
    /// Of those, the runs with a failed step.
    pub failed: u64,
    /// Of those without, the ones that a limit cut or that have not ended.
    pub cut: u64,
    /// Runs whose order of steps is unknown, or that have no step: they are not followed.
    pub left_out: u64,
    /// Tasks of the followed runs; a run without a task id is its own.
    pub tasks: u64,
    /// The longest that a run is followed, in steps.
    pub last: u32,
    /// Lower end of the 95% interval before the first step that a run ends or fails at.
    pub start: Option<f64>,
    /// A line for each step at which a run ends or first fails.
    pub table: Vec<LifeStep>,
    /// The risk of a first failure by step, steps put together where there are many.
    pub hazard: Vec<HazardBin>,
    /// The first step after which at most half of the runs are without a failure.
    pub median: Option<u32>,
}

/// The risk of a first failure in one step, or in each of several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HazardBin {
    /// First step, from 1.
    pub from: u32,
    /// Last step.
    pub to: u32,
    /// First failures in these steps.
    pub events: u64,
    /// Steps taken by runs without a failure before.
    pub exposure: u64,
    /// First failures over steps taken; `None` where none is taken.
    pub hazard: Option<f64>,
    /// Its 95% interval over tasks.
    pub interval: Option<(f64, f64)>,
}

impl Survival {
    /// Follows every run whose steps have a known order.
    #[must_use]
    pub fn of(rows: &[&RunRow]) -> Self {
        Self::of_followed(rows, &follow(rows))
    }

    /// The same, of runs that are followed already.
    pub(super) fn of_followed(rows: &[&RunRow], runs: &[(&RunRow, Followed)]) -> Self {
        let followed: Vec<Followed> = runs.iter().map(|(_, one)| *one).collect();
        let tasks = followed.iter().map(|one| one.cluster + 1).max().unwrap_or(0);
        let open = |outcome| matches!(outcome, Outcome::OverLimit | Outcome::Unfinished);
        let cut = runs.iter().filter(|(row, one)| !one.event && open(row.outcome)).count() as u64;
        let table = kaplan_meier(&followed, LEVEL);
        let last = table.last().map_or(0, |step| step.time);
        Self {
            runs: followed.len() as u64,
            failed: table.iter().map(|step| step.events).sum(),
            cut,
            left_out: (rows.len() - followed.len()) as u64,
            tasks: u64::from(tasks),
            last,
            median: table.iter().find(|step| step.survival <= 0.5 + 1e-9).map(|step| step.time),
            hazard: hazard(&followed, tasks, last),
            start: start(&followed, tasks),
            table,
        }
    }

    /// Runs that reach a step, from 1, without a failure before it.
    #[must_use]
    pub fn at_risk(&self, step: u32) -> u64 {
        at_risk(&self.table, step)
    }
}

/// Runs whose steps have a known order, each to its first failed step or its last one; tasks are
/// numbered from 0, and a run without one is its own.
pub(super) fn follow<'r>(rows: &[&'r RunRow]) -> Vec<(&'r RunRow, Followed)> {
    let mut ids: BTreeMap<&str, u32> = BTreeMap::new();
    let mut tasks = 0;
    let mut followed = Vec::with_capacity(rows.len());
    for row in rows.iter().filter(|row| row.mid.is_some() && row.steps > 0) {
        let mut fresh = || {
            tasks += 1;
            tasks - 1
        };
        let cluster = match row.task_id.as_deref() {
            Some(task) => *ids.entry(task).or_insert_with(&mut fresh),
            None => fresh(),
        };
        let time = row.first_failure.unwrap_or(row.steps);
        followed.push((*row, Followed { time, event: row.first_failure.is_some(), cluster }));
    }
    followed
}

/// What the number of tasks alone says of a share of 1.
fn start(followed: &[Followed], tasks: u32) -> Option<f64> {
    let number = if tasks < 2 { followed.len() } else { tasks as usize };
    #[expect(clippy::cast_precision_loss, reason = "a number of tasks or runs")]
    wilson(0.0, number as f64, LEVEL).ok().map(|ci| 1.0 - ci.high)
}

fn at_risk(table: &[LifeStep], step: u32) -> u64 {
    let place = table.partition_point(|line| line.time < step);
    table.get(place).map_or(0, |line| line.at_risk)
}

/// Without a failure the bound is one of runs that get through the whole bin; as a risk of each of
/// its steps it is less, since each run got through several.
#[expect(clippy::cast_precision_loss, reason = "numbers of runs and steps")]
fn each(bound: f64, exposure: u64, runs: usize) -> f64 {
    let steps = exposure as f64 / (runs as f64).max(1.0);
    1.0 - (1.0 - bound).powf(1.0 / steps.max(1.0))
}

fn hazard(followed: &[Followed], tasks: u32, last: u32) -> Vec<HazardBin> {
    let width = last.div_ceil(MOST_BINS).max(1);
    let mut bins = Vec::new();
    let mut from = 1;
    while from <= last {
        let to = from.saturating_add(width - 1).min(last);
        let mut by_task = vec![Cluster::default(); tasks as usize];
        let mut by_run = Vec::new();
        let (mut events, mut exposure) = (0, 0);
        for one in followed.iter().filter(|one| one.time >= from) {
            let event = one.event && one.time <= to;
            let steps = one.time.min(to) - from + 1;
            events += u64::from(event);
            exposure += u64::from(steps);
            let run = Cluster::new(f64::from(u8::from(event)), f64::from(steps));
            by_run.push(run);
            if let Some(task) = by_task.get_mut(one.cluster as usize) {
                task.numerator += run.numerator;
                task.denominator += run.denominator;
            }
        }
        let interval = clustered_wilson(&by_task, LEVEL)
            .or_else(|_| clustered_wilson(&by_run, LEVEL))
            .ok()
            .map(|ci| {
                (ci.low, if events == 0 { each(ci.high, exposure, by_run.len()) } else { ci.high })
            });
        bins.push(HazardBin {
            from,
            to,
            events,
            exposure,
            #[expect(clippy::cast_precision_loss, reason = "numbers of steps")]
            hazard: (exposure > 0).then(|| events as f64 / exposure as f64),
            interval,
        });
        let Some(next) = to.checked_add(1) else { break };
        from = next;
    }
    bins
}
