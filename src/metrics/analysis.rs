//! What `analyze` tells of a set of runs: outcomes, figures, distributions, groups.

use std::collections::BTreeMap;

use super::catalogue::{CATALOGUE, Metric};
use super::figure::{Figure, Set};
use crate::evaluate::{Limit, Name, Outcome, RunRow};
use crate::model::RetrySource;

/// Runs by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    counts: [u64; 6],
}

impl OutcomeCounts {
    /// Counts rows.
    #[must_use]
    pub fn of(rows: &[&RunRow]) -> Self {
        let mut counts = [0; 6];
        for row in rows {
            counts[row.outcome as usize] += 1;
        }
        Self { counts }
    }

    /// Runs with this outcome.
    #[must_use]
    pub fn get(&self, outcome: Outcome) -> u64 {
        self.counts[outcome as usize]
    }

    /// All runs.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Counts by name.
pub type Counts = BTreeMap<Box<str>, u64>;

/// The distributions of a set of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distributions {
    /// Attempts by step type.
    pub step_type: Counts,
    /// Failed attempts by error type.
    pub error_type: Counts,
    /// Runs by the step of their first failed attempt.
    pub first_failure_step: BTreeMap<u32, u64>,
    /// Runs by the limit they passed; all limits are there.
    pub limit: BTreeMap<Limit, u64>,
}

/// One figure with the entry that defines it.
pub type Measured = (&'static Metric, Figure);

/// One part of a set, split by `--by`.
#[derive(Debug, Clone)]
pub struct Group {
    /// What it was split by.
    pub by: String,
    /// The value; `None` for runs that record none.
    pub value: Option<Name>,
    /// Its analysis; without groups of its own.
    pub analysis: Analysis,
}

/// A key, and the group of each run under it.
pub type Split<'s> = (&'s str, &'s dyn Fn(&RunRow) -> Option<Name>);

/// How retries of a set of runs were told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retries {
    /// Recorded in every run.
    Recorded,
    /// Inferred in every run.
    Inferred,
    /// Recorded in some, inferred in others.
    Mixed,
}

impl Retries {
    /// The word in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Inferred => "inferred",
            Self::Mixed => "mixed",
        }
    }
}

/// The step at which the largest share of the runs that reach it has a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RiskiestStep {
    /// Its position, from 1.
    pub step: u32,
    /// Runs with a failed attempt there.
    pub failed: u64,
    /// Runs that reach it.
    pub reached: u64,
}

/// Figures of a set of runs.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// Runs by outcome.
    pub runs: OutcomeCounts,
    /// Tasks: recorded ones, and runs without a task id.
    pub tasks: u32,
    /// Recorded task ids.
    pub recorded_tasks: u64,
    /// The smallest and largest number of runs of a recorded task.
    pub trials: Option<(u64, u64)>,
    /// Attempts, implied ones among them.
    pub attempts: u64,
    /// How retries were told.
    pub retries: Retries,
    /// The chosen figures, in the chosen order.
    pub figures: Vec<Measured>,
    /// Distributions.
    pub distributions: Distributions,
    /// Where runs fail most.
    pub riskiest: Option<RiskiestStep>,
    /// Inferred retries: identical and revised.
    pub inferred_retries: (u64, u64),
    /// Attempts told by attempt numbers whose records are lost.
    pub lost: u64,
    /// Attempts told by counts alone.
    pub implied: u64,
    /// Failed attempts left out of error rates as infra, and runs left out of completion.
    pub infra: (u64, u64),
    /// The parts, with `--by`.
    pub groups: Vec<Group>,
}

impl Analysis {
    /// Analyses rows. `chosen` picks and orders the figures; `split` gives each row's group.
    #[must_use]
    pub fn of(
        rows: &[&RunRow],
        chosen: Option<&[&'static crate::model::MetricName]>,
        split: Option<Split<'_>>,
    ) -> Self {
        let metrics: Vec<&'static Metric> = match chosen {
            Some(names) => names.iter().filter_map(|name| super::metric(name.name)).collect(),
            None => CATALOGUE.iter().collect(),
        };
        let groups = split.map_or_else(Vec::new, |(by, value)| {
            let mut parts: BTreeMap<Option<Name>, Vec<&RunRow>> = BTreeMap::new();
            for row in rows {
                parts.entry(value(row)).or_default().push(row);
            }
            let group = |(value, rows): (_, Vec<&RunRow>)| Group {
                by: by.to_owned(),
                value,
                analysis: Self::of(&rows, chosen, None),
            };
            parts.into_iter().map(group).collect()
        });
        let set = Set::new(rows.to_vec());
        let mut by_task: BTreeMap<&str, u64> = BTreeMap::new();
        for task in rows.iter().filter_map(|row| row.task_id.as_deref()) {
            *by_task.entry(task).or_default() += 1;
        }
        let sum = |count: fn(&RunRow) -> u32| rows.iter().map(|row| u64::from(count(row))).sum();
        Self {
            runs: OutcomeCounts::of(rows),
            tasks: set.tasks(),
            recorded_tasks: set.recorded_tasks() as u64,
            trials: by_task.values().min().copied().zip(by_task.values().max().copied()),
            attempts: sum(|row| row.attempts),
            retries: retries(rows),
            figures: metrics.iter().map(|metric| (*metric, set.figure(metric))).collect(),
            distributions: distributions(rows),
            riskiest: riskiest(rows),
            inferred_retries: (sum(|row| row.retries_identical), sum(|row| row.retries_revised)),
            lost: sum(|row| row.lost),
            implied: sum(|row| row.implied),
            infra: (
                sum(|row| row.infra_failed),
                rows.iter().filter(|row| row.infra_excused && row.outcome.ended()).count() as u64,
            ),
            groups,
        }
    }
}

fn retries(rows: &[&RunRow]) -> Retries {
    let any = |source| rows.iter().any(|row| row.retry_source == source);
    let (recorded, inferred) = (any(RetrySource::Recorded), any(RetrySource::Inferred));
    match (recorded, inferred) {
        (true, true) => Retries::Mixed,
        (true, false) => Retries::Recorded,
        (false, _) => Retries::Inferred,
    }
}

fn distributions(rows: &[&RunRow]) -> Distributions {
    let mut all = Distributions::default();
    all.limit.extend(Limit::ALL.iter().map(|limit| (*limit, 0)));
    let add = |counts: &mut Counts, name: &str, count: u32| match counts.get_mut(name) {
        Some(sum) => *sum += u64::from(count),
        None => _ = counts.insert(name.into(), u64::from(count)),
    };
    for row in rows {
        row.step_types.iter().for_each(|(kind, n)| add(&mut all.step_type, kind, *n));
        row.errors.iter().for_each(|error| add(&mut all.error_type, &error.kind, error.attempts));
        if let Some(step) = row.first_failure {
            *all.first_failure_step.entry(step).or_default() += 1;
        }
        if let Some(limit) = row.limit {
            *all.limit.entry(limit).or_default() += 1;
        }
    }
    all
}

/// Looks only at steps that enough runs reach: at least 5, and at least a tenth of those with steps.
fn riskiest(rows: &[&RunRow]) -> Option<RiskiestStep> {
    let ordered = || rows.iter().filter(|row| row.mid.is_some() && row.steps > 0);
    let enough = (ordered().count() as u64 / 10).max(5);
    let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
    let mut failed: BTreeMap<u32, u64> = BTreeMap::new();
    for row in ordered() {
        *lengths.entry(row.steps).or_default() += 1;
        for step in &row.failed_steps {
            *failed.entry(*step).or_default() += 1;
        }
    }
    let mut ended_before: u64 = 0;
    let mut ends = lengths.iter().peekable();
    let runs: u64 = lengths.values().sum();
    let mut best: Option<RiskiestStep> = None;
    for (step, failed) in failed {
        while let Some((_, count)) = ends.next_if(|(length, _)| **length < step) {
            ended_before += count;
        }
        let at = RiskiestStep { step, failed, reached: runs - ended_before };
        let riskier = |other: &RiskiestStep| {
            u128::from(at.failed) * u128::from(other.reached)
                > u128::from(other.failed) * u128::from(at.reached)
        };
        if at.reached >= enough && best.as_ref().is_none_or(riskier) {
            best = Some(at);
        }
    }
    best
}
