//! From rows to one figure with its counts and its interval.
//!
//! Owns the assignment of runs to clusters (their tasks) and the choice of interval by shape
//! (`METRICS.md`, "Intervals"). The formulas are in `stats/`.

use std::collections::{BTreeMap, HashMap};

use super::catalogue::{Distribution, Metric, Shape};
use crate::evaluate::{Outcome, RunRow};
use crate::stats::{
    Cluster, Interval, NoInterval, TaskValues, Trials, bca_ratio, clustered_wilson, mean_interval,
    quantile_type7, ratio_mean_interval,
};

/// Confidence of every interval.
pub const LEVEL: f64 = 0.95;
/// Draws of the bootstrap.
pub const DRAWS: usize = 2_000;
/// Its seed; fixed, so that the same input gives the same bytes.
pub const SEED: u64 = 20_260_101;
/// Clusters from which on the bootstrap gives way to the linearised interval.
const MOST_RESAMPLED: usize = 10_000;
/// Largest k that `by_k` lists, beside the one whose value is shown.
const MAX_K: u64 = 1_000;

/// One figure of a set of runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// The value; `None` where it cannot be computed.
    pub value: Option<f64>,
    /// Numerator, where the figure has one.
    pub numerator: Option<f64>,
    /// Denominator, or the number that it is taken over.
    pub denominator: Option<f64>,
    /// The 95% interval.
    pub interval: Option<Interval>,
    /// Whether runs stand in for tasks as clusters of the interval.
    pub runs_as_clusters: bool,
    /// Why there is no value, or no interval.
    pub reason: Option<String>,
    /// Median and 95th percentile of amounts (type 7).
    pub quantiles: Option<(f64, f64)>,
    /// pass^k and pass@k by k.
    pub by_k: Option<BTreeMap<u64, ByK>>,
    /// What more a reader should know, as a fragment.
    pub note: Option<String>,
}

/// pass^k or pass@k at one k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ByK {
    /// The mean over tasks; `None` where no task has k ended trials.
    pub value: Option<f64>,
    /// Tasks in it.
    pub tasks: u64,
    /// Tasks with fewer than k ended trials.
    pub left_out: u64,
}

/// Rows with the cluster that each belongs to.
pub struct Set<'r> {
    rows: Vec<&'r RunRow>,
    clusters: Vec<u32>,
    count: u32,
    /// Ended and completed trials of each recorded task, sorted.
    trials: Vec<Trials>,
}

impl<'r> Set<'r> {
    /// Assigns each run to its task; a run without a task id is its own.
    #[must_use]
    pub fn new(rows: Vec<&'r RunRow>) -> Self {
        let mut ids: HashMap<&str, u32> = HashMap::new();
        let mut trials: BTreeMap<&str, Trials> = BTreeMap::new();
        let mut count = 0;
        let mut fresh = || {
            count += 1;
            count - 1
        };
        let clusters = rows
            .iter()
            .map(|row| match row.task_id.as_deref() {
                Some(task) => *ids.entry(task).or_insert_with(&mut fresh),
                None => fresh(),
            })
            .collect();
        for row in &rows {
            if let Some(task) = row.task_id.as_deref() {
                let task = trials.entry(task).or_insert(Trials { ended: 0, completed: 0 });
                task.ended += u64::from(row.counts_as_ended());
                task.completed += u64::from(row.counts_as_ended() && row.completed());
            }
        }
        // Sums of floats depend on their order, and may not depend on the names of tasks.
        let mut trials: Vec<Trials> = trials.into_values().collect();
        trials.sort_unstable_by_key(|task| (task.ended, task.completed));
        Self { rows, clusters, count, trials }
    }

    /// The runs.
    #[must_use]
    pub fn rows(&self) -> &[&'r RunRow] {
        &self.rows
    }

    /// Number of tasks: recorded ones, and runs without a task id.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.count
    }

    /// Number of recorded task ids.
    #[must_use]
    pub fn recorded_tasks(&self) -> usize {
        self.trials.len()
    }

    /// Computes one figure.
    #[must_use]
    pub fn figure(&self, metric: &Metric) -> Figure {
        match metric.shape {
            Shape::RunShare(part) | Shape::Proportion(part) => {
                self.ratio(metric, part, |c| clustered_wilson(c, LEVEL))
            }
            Shape::CountMean(part) => self.ratio(metric, part, |c| ratio_mean_interval(c, LEVEL)),
            Shape::Amount(amount) => self.amount(metric, amount),
            Shape::RepeatedActions => {
                if self.rows.iter().any(|row| row.has_input) {
                    let part =
                        |row: &RunRow| Some((f64::from(row.repeated), f64::from(row.attempts)));
                    self.ratio(metric, part, |c| clustered_wilson(c, LEVEL))
                } else {
                    undefined(metric)
                }
            }
            Shape::CostPerCompletion => self.cost_per_completion(metric),
            Shape::FailureCostShare => self.failure_cost_share(metric),
            Shape::FirstFailure => self.first_failure(metric),
            Shape::PassK(value) => self.pass_k(metric, value),
            Shape::Distribution(which) => {
                let total = self.rows.iter().map(|row| {
                    f64::from(match which {
                        Distribution::ErrorType => row.failed_all,
                        Distribution::StepType => row.attempts,
                    })
                });
                let key = match which {
                    Distribution::ErrorType => "error_type",
                    Distribution::StepType => "step_type",
                };
                Figure {
                    denominator: Some(total.sum()),
                    reason: Some(format!(
                        "a distribution has no single value: see distributions.{key}"
                    )),
                    ..Figure::default()
                }
            }
        }
    }

    /// Why the figure has no value here; `None` where it has one.
    #[must_use]
    pub fn missing(&self, metric: &Metric) -> Option<String> {
        let recorded = match metric.shape {
            Shape::RepeatedActions => self.rows.iter().any(|row| row.has_input),
            Shape::CostPerCompletion => self.rows.iter().any(|row| row.cost_usd.is_some()),
            Shape::Distribution(_) => true,
            _ => self.rows.iter().any(|row| {
                self.part(metric, row).is_some_and(|(_, denominator)| denominator > 0.0)
            }),
        };
        if recorded { None } else { self.undefined(metric).reason }
    }

    /// What one run adds to a figure's numerator and denominator; `None` where it is in neither.
    #[must_use]
    pub fn part(&self, metric: &Metric, row: &RunRow) -> Option<(f64, f64)> {
        let flag = |flag: bool| f64::from(u8::from(flag));
        match metric.shape {
            Shape::RunShare(part) | Shape::Proportion(part) | Shape::CountMean(part) => part(row),
            Shape::Amount(amount) => amount(row).map(|amount| (amount, 1.0)),
            Shape::RepeatedActions => Some((f64::from(row.repeated), f64::from(row.attempts))),
            Shape::CostPerCompletion => completion_cost(row),
            Shape::FailureCostShare => self.measure().and_then(|(_, measure)| lost(measure, row)),
            Shape::FirstFailure => row.first_failure.map(|step| (f64::from(step), 1.0)),
            Shape::PassK(_) => (row.task_id.is_some() && row.counts_as_ended())
                .then(|| (flag(row.completed()), 1.0)),
            Shape::Distribution(Distribution::ErrorType) => {
                Some((f64::from(row.failed_all), f64::from(row.failed_all)))
            }
            Shape::Distribution(Distribution::StepType) => {
                Some((f64::from(row.attempts), f64::from(row.attempts)))
            }
        }
    }

    /// A figure without a value, and why: its own reason, or that no run has a known order.
    fn undefined(&self, metric: &Metric) -> Figure {
        let with_attempts = || self.rows.iter().filter(|row| row.attempts > 0);
        if metric.needs_order
            && with_attempts().next().is_some()
            && with_attempts().all(|r| r.mid.is_none())
        {
            return Figure {
                reason: Some("the order of steps is unknown".to_owned()),
                ..Figure::default()
            };
        }
        let of_outcomes =
            matches!(metric.shape, Shape::PassK(_)) || metric.name == "final_completion_rate";
        if of_outcomes && self.rows.iter().any(|row| row.outcome == Outcome::Unknown) {
            let reason = "no run has a score, a success flag or a status that tells its outcome";
            return Figure { reason: Some(reason.to_owned()), ..Figure::default() };
        }
        undefined(metric)
    }

    /// A sum over a sum, with an interval over tasks, or over runs where there are fewer than two tasks.
    fn ratio(
        &self,
        metric: &Metric,
        part: impl Fn(&RunRow) -> Option<(f64, f64)>,
        interval: impl Fn(&[Cluster]) -> Result<Interval, NoInterval>,
    ) -> Figure {
        let order = |a: &Cluster, b: &Cluster| {
            a.denominator.total_cmp(&b.denominator).then(a.numerator.total_cmp(&b.numerator))
        };
        let mut parts: Vec<(Cluster, u32)> = self
            .rows
            .iter()
            .zip(&self.clusters)
            .filter_map(|(row, task)| {
                part(row)
                    .map(|(numerator, denominator)| (Cluster { numerator, denominator }, *task))
            })
            .collect();
        // The order of runs must not show, neither in sums of floats nor in what the bootstrap draws.
        parts.sort_by(|a, b| order(&a.0, &b.0));
        let mut by_task = vec![Cluster::default(); self.count as usize];
        for (run, task) in &parts {
            let task = &mut by_task[*task as usize];
            task.numerator += run.numerator;
            task.denominator += run.denominator;
        }
        by_task.sort_by(order);
        let by_run: Vec<Cluster> = parts.into_iter().map(|(run, _)| run).collect();
        // An empty sum of floats is -0.
        let numerator = by_run.iter().map(|run| run.numerator).sum::<f64>() + 0.0;
        let denominator = by_run.iter().map(|run| run.denominator).sum::<f64>() + 0.0;
        if denominator <= 0.0 {
            return Figure {
                denominator: Some(denominator),
                numerator: Some(numerator),
                ..self.undefined(metric)
            };
        }
        let value = numerator / denominator;
        if ![value, numerator, denominator].into_iter().all(f64::is_finite) {
            let reason = Some("the sum is too large for a number".to_owned());
            let denominator = Some(denominator).filter(|sum| sum.is_finite());
            return Figure { denominator, reason, ..Figure::default() };
        }
        let used = |clusters: &[Cluster]| {
            clusters.iter().filter(|c| c.denominator > 0.0 || c.numerator > 0.0).count()
        };
        let runs_as_clusters = used(&by_task) < 2 && used(&by_run) >= 2;
        let (interval, reason) = match interval(if runs_as_clusters { &by_run } else { &by_task }) {
            Ok(interval) => (Some(interval), None),
            Err(reason) => (None, Some(format!("no interval: {reason}"))),
        };
        Figure {
            value: Some(value),
            numerator: Some(numerator),
            denominator: Some(denominator),
            runs_as_clusters: runs_as_clusters && interval.is_some(),
            interval,
            reason,
            ..Figure::default()
        }
    }

    fn amount(&self, metric: &Metric, amount: fn(&RunRow) -> Option<f64>) -> Figure {
        let part = |row: &RunRow| amount(row).map(|amount| (amount, 1.0));
        let figure = self.ratio(metric, part, resampled);
        let mut amounts: Vec<f64> = self.rows.iter().filter_map(|row| amount(row)).collect();
        amounts.sort_by(f64::total_cmp);
        let quantile = |p| quantile_type7(&amounts, p);
        Figure { quantiles: quantile(0.5).zip(quantile(0.95)), ..figure }
    }

    fn cost_per_completion(&self, metric: &Metric) -> Figure {
        if self.rows.iter().all(|row| row.cost_usd.is_none()) {
            return undefined(metric);
        }
        let recorded = self.rows.iter().filter(|row| row.cost_usd.is_some()).count();
        let mut figure = self.ratio(metric, completion_cost, resampled);
        if figure.denominator == Some(0.0) {
            figure.reason = Some("no run was completed".to_owned());
        }
        Figure { note: recorded_note("cost", recorded, self.rows.len(), "runs"), ..figure }
    }

    fn failure_cost_share(&self, metric: &Metric) -> Figure {
        let Some((of, measure)) = self.measure() else { return undefined(metric) };
        let part = |row: &RunRow| lost(measure, row);
        let ended = || self.rows.iter().filter(|row| row.outcome.ended());
        let recorded = ended().filter(|row| measure(row).is_some()).count();
        let figure = self.ratio(metric, part, resampled);
        let note = match recorded_note(of, recorded, ended().count(), "ended runs") {
            Some(partly) => format!("of {of}; {partly}"),
            None => format!("of {of}"),
        };
        Figure { note: Some(note), ..figure }
    }

    /// What failed runs are said to have cost: cost, else tokens, else duration.
    pub(super) fn measure(&self) -> Option<(&'static str, Measure)> {
        let measures: [(&str, Measure); 3] = [
            ("cost", |row| row.cost_usd),
            ("tokens", |row| row.tokens.map(|tokens| tokens.total())),
            ("duration", |row| row.duration_seconds),
        ];
        let ended = || self.rows.iter().filter(|row| row.outcome.ended());
        measures.into_iter().find(|(_, measure)| ended().any(|row| measure(row).is_some()))
    }

    fn first_failure(&self, metric: &Metric) -> Figure {
        let mut steps: Vec<f64> =
            self.rows.iter().filter_map(|row| row.first_failure).map(f64::from).collect();
        steps.sort_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "a number of runs")]
        let denominator = Some(steps.len() as f64);
        match quantile_type7(&steps, 0.5) {
            Some(median) => Figure {
                value: Some(median),
                denominator,
                reason: Some("no interval: the value is a median".to_owned()),
                ..Figure::default()
            },
            None => Figure { denominator, ..self.undefined(metric) },
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of tasks")]
    fn pass_k(&self, metric: &Metric, values: fn(&[Trials], u64) -> TaskValues) -> Figure {
        let ended = || self.trials.iter().map(|task| task.ended).filter(|ended| *ended > 0);
        let (Some(all_allow), Some(largest)) = (ended().min(), ended().max()) else {
            return self.undefined(metric);
        };
        let shown = (all_allow > MAX_K).then_some(all_allow);
        let by_k = (1..=largest.min(MAX_K))
            .chain(shown)
            .map(|k| {
                let tasks = values(&self.trials, k);
                let (used, left_out) = (tasks.values.len() as u64, tasks.left_out as u64);
                (k, ByK { value: tasks.mean(), tasks: used, left_out })
            })
            .collect();
        let at = values(&self.trials, all_allow);
        let (interval, reason) = match mean_interval(&at.values, LEVEL, (0.0, 1.0)) {
            Ok(interval) => (Some(interval), None),
            Err(reason) => (None, Some(format!("no interval: {reason}"))),
        };
        Figure {
            value: at.mean(),
            denominator: Some(at.values.len() as f64),
            interval,
            reason,
            by_k: Some(by_k),
            note: Some(format!("k = {all_allow}")),
            ..Figure::default()
        }
    }
}

/// The bootstrap over tasks; where there are so many that it would take seconds, the linearised
/// interval, which is the same at that size.
fn resampled(clusters: &[Cluster]) -> Result<Interval, NoInterval> {
    if clusters.len() > MOST_RESAMPLED {
        ratio_mean_interval(clusters, LEVEL)
    } else {
        bca_ratio(clusters, DRAWS, SEED, LEVEL)
    }
}

/// Says so where only some runs record what a figure sums.
fn recorded_note(what: &str, recorded: usize, of: usize, runs: &str) -> Option<String> {
    (recorded < of).then(|| format!("{recorded} of {of} {runs} record {what}"))
}

/// An amount that a run may record.
pub(super) type Measure = fn(&RunRow) -> Option<f64>;

fn completion_cost(row: &RunRow) -> Option<(f64, f64)> {
    Some((row.cost_usd.unwrap_or(0.0), f64::from(u8::from(row.completed()))))
}

/// The amount of an ended run, as lost unless it was completed.
fn lost(measure: Measure, row: &RunRow) -> Option<(f64, f64)> {
    let amount = measure(row).filter(|_| row.outcome.ended())?;
    Some((if row.completed() { 0.0 } else { amount }, amount))
}

fn undefined(metric: &Metric) -> Figure {
    Figure { reason: Some(metric.undefined.to_owned()), ..Figure::default() }
}
