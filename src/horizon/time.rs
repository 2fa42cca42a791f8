//! Time horizons: how long the tasks are, in people's minutes, that each agent completes half of the time.
//!
//! Owns: which runs have a task of known length, and which agent they are of. The method is in
//! `stats/`. Refuses runs without an outcome, and tells how many they are.

use std::collections::BTreeMap;

use crate::evaluate::RunRow;
use crate::metrics::LEVEL;
use crate::stats::{
    Cluster, HorizonSettings, TimeHorizon, TimedTask, clustered_wilson, time_horizon, wilson,
};

/// The horizon of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentHorizon {
    /// The agent, else the model; empty where neither is recorded.
    pub agent: String,
    /// What its runs say; `None` where it has no run with a length and an outcome.
    pub horizon: Option<TimeHorizon>,
    /// Its runs without a length of the task.
    pub without_length: u64,
    /// Its runs without a task id, so that nobody knows whose length it is.
    pub without_task: u64,
    /// Its runs without an outcome.
    pub without_outcome: u64,
    /// Tasks whose runs tell of different lengths; the first is used.
    pub contradicting: u64,
    /// Its tasks by length, shortest first: each bin reaches to twice the length at which it begins.
    pub bins: Vec<LengthBin>,
}

/// Tasks of about one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthBin {
    /// Their mean length on the scale of log2, in minutes.
    pub minutes: f64,
    /// Tasks.
    pub tasks: u64,
    /// Runs.
    pub runs: u64,
    /// Mean of their shares of success, each task the same. 0 to 1.
    pub share: f64,
    /// Its 95% interval over tasks.
    pub interval: Option<(f64, f64)>,
}

/// The tag that tells the length of a run's task.
pub const MINUTES: &str = "human_minutes";

/// The tag that tells the family of a run's task.
pub const FAMILY: &str = "task_family";

struct Task {
    family: u32,
    minutes: f64,
    scores: Vec<f64>,
    contradicts: bool,
}

/// The horizons of all agents, in the order of their names, at `shares` of success.
#[must_use]
pub fn time_horizons(
    rows: &[&RunRow],
    shares: &[f64],
    settings: HorizonSettings,
) -> Vec<AgentHorizon> {
    let mut agents: BTreeMap<&str, Vec<&RunRow>> = BTreeMap::new();
    for row in rows {
        let name = row.agent.as_deref().or(row.model.as_deref()).unwrap_or_default();
        agents.entry(name).or_default().push(row);
    }
    agents.into_iter().map(|(name, rows)| agent(name, &rows, shares, settings)).collect()
}

fn agent(name: &str, rows: &[&RunRow], shares: &[f64], settings: HorizonSettings) -> AgentHorizon {
    let mut families: BTreeMap<&str, u32> = BTreeMap::new();
    let mut tasks: BTreeMap<&str, Task> = BTreeMap::new();
    let mut next = 0;
    let (mut without_length, mut without_task, mut without_outcome) = (0, 0, 0);
    for row in rows {
        let minutes = row.tag(MINUTES).and_then(|text| text.trim().parse::<f64>().ok());
        let minutes = minutes.filter(|minutes| minutes.is_finite() && *minutes > 0.0);
        let Some(minutes) = minutes else {
            without_length += 1;
            continue;
        };
        let Some(task) = row.task_id.as_deref() else {
            without_task += 1;
            continue;
        };
        if !row.counts_as_ended() {
            without_outcome += 1;
            continue;
        }
        let task = tasks.entry(task).or_insert_with(|| {
            let mut fresh = || {
                next += 1;
                next - 1
            };
            // A task without a family is a family of its own.
            let family = match row.tag(FAMILY) {
                Some(family) => *families.entry(family).or_insert_with(&mut fresh),
                None => fresh(),
            };
            Task { family, minutes, scores: Vec::new(), contradicts: false }
        });
        task.contradicts |= (task.minutes - minutes).abs() > 1e-6 * minutes;
        task.scores.push(f64::from(u8::from(row.completed())));
    }
    let contradicting = tasks.values().filter(|task| task.contradicts).count() as u64;
    let timed: Vec<TimedTask> = tasks
        .into_values()
        .map(|task| TimedTask { family: task.family, minutes: task.minutes, scores: task.scores })
        .collect();
    AgentHorizon {
        agent: name.to_owned(),
        bins: bins(&timed),
        horizon: time_horizon(&timed, shares, settings),
        without_length,
        without_task,
        without_outcome,
        contradicting,
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tasks and runs")]
#[expect(clippy::cast_possible_truncation, reason = "the exponent of a float")]
fn bins(tasks: &[TimedTask]) -> Vec<LengthBin> {
    let mut by_length: BTreeMap<i32, Vec<&TimedTask>> = BTreeMap::new();
    for task in tasks {
        by_length.entry(task.minutes.log2().floor() as i32).or_default().push(task);
    }
    let bin = |tasks: &Vec<&TimedTask>| {
        let number = tasks.len() as f64;
        let mean = |task: &&TimedTask| {
            task.scores.iter().sum::<f64>() / (task.scores.len() as f64).max(1.0)
        };
        let share = tasks.iter().map(mean).sum::<f64>() / number;
        let clusters: Vec<Cluster> =
            tasks.iter().map(|task| Cluster::new(mean(task), 1.0)).collect();
        let ci =
            clustered_wilson(&clusters, LEVEL).or_else(|_| wilson(share * number, number, LEVEL));
        LengthBin {
            minutes: (tasks.iter().map(|task| task.minutes.log2()).sum::<f64>() / number).exp2(),
            tasks: tasks.len() as u64,
            runs: tasks.iter().map(|task| task.scores.len() as u64).sum(),
            share,
            interval: ci.ok().map(|ci| (ci.low, ci.high)),
        }
    };
    by_length.values().map(bin).collect()
}
