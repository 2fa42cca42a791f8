//! What the runs of both sides say about the difference of one figure.
//!
//! Owns the choice of test and interval by the kind of figure (`STATISTICS.md`, 5.2). The formulas
//! are in `stats/`. Refuses verdicts: what is too much is `verdict.rs`'s.

use super::pairing::Mode;
use super::sample::{Part, Sample, TaskSample};
use crate::metrics::{Metric, SEED, Shape};
use crate::stats::{Draws, SplitVariance, Tails, TaskValues, Trials, detectable};

/// How figures are compared.
#[derive(Debug, Clone, Copy)]
pub struct TestOptions {
    /// Level of the one-sided bound of harm: 1 minus it is its confidence.
    pub alpha: f64,
    /// Whether p-values are strict instead of mid-p, which never errs more often than it says.
    pub exact: bool,
    /// How runs are relabelled in permutation tests.
    pub draws: Draws,
}

impl Default for TestOptions {
    fn default() -> Self {
        Self { alpha: 0.05, exact: false, draws: Draws::seeded(SEED) }
    }
}

impl TestOptions {
    /// With as many relabellings of so many runs as are made in seconds.
    #[must_use]
    pub(super) fn bounded(&self, runs: usize) -> Self {
        let affordable = MOST_LABELS / (runs as u64).max(1);
        let affordable = u32::try_from(affordable).unwrap_or(u32::MAX).max(FEWEST_DRAWS);
        let draws = Draws { count: self.draws.count.min(affordable), ..self.draws };
        Self { draws, ..*self }
    }
}

/// Labels that all relabellings of one figure may move: about half a second's worth.
const MOST_LABELS: u64 = 200_000_000;

/// Relabellings that are made of however many runs: the smallest p is a thousandth.
const FEWEST_DRAWS: u32 = 999;

/// The kind of a figure, which decides how it is compared.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A share of runs.
    RunShare,
    /// A sum over a sum; whether it lies within 0 and 1.
    Ratio {
        /// Within 0 and 1.
        share: bool,
    },
    /// A mean count of a run.
    Count,
    /// A mean amount of a run: time, tokens, cost.
    Amount,
    /// pass^k or pass@k.
    PassK(fn(&[Trials], u64) -> TaskValues),
}

impl Kind {
    /// The kind of a figure; `None` for those that are only shown.
    #[must_use]
    pub fn of(metric: &Metric) -> Option<Self> {
        match metric.shape {
            Shape::RunShare(_) => Some(Self::RunShare),
            Shape::Proportion(_) | Shape::RepeatedActions | Shape::FailureCostShare => {
                Some(Self::Ratio { share: true })
            }
            Shape::CostPerCompletion => Some(Self::Ratio { share: false }),
            Shape::CountMean(_) => Some(Self::Count),
            Shape::Amount(_) => Some(Self::Amount),
            Shape::PassK(values) => Some(Self::PassK(values)),
            Shape::FirstFailure | Shape::Distribution(_) => None,
        }
    }
}

impl Kind {
    /// Whether the figure lies within 0 and 1.
    fn is_share(self) -> bool {
        matches!(self, Self::RunShare | Self::Ratio { share: true } | Self::PassK(_))
    }
}

/// What is known of a difference, candidate minus baseline, in the figure's unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The figure of the baseline, over the tasks that are compared.
    pub baseline: Option<f64>,
    /// The figure of the candidate, over the same tasks.
    pub candidate: Option<f64>,
    /// Candidate minus baseline.
    pub difference: Option<f64>,
    /// Its 95% interval.
    pub interval: Option<(f64, f64)>,
    /// One-sided bounds of the difference at 1 - alpha: lower and upper.
    pub bounds: Option<(f64, f64)>,
    /// How probable a difference this far down, and this far up, is where there is none.
    pub p: Option<Tails>,
    /// Name of the test.
    pub test: &'static str,
    /// Standard error of the difference; on the log scale where `ratio` is there.
    pub error: Option<f64>,
    /// Candidate over baseline with its 95% interval, where amounts are compared as geometric means.
    pub ratio: Option<(f64, Option<(f64, f64)>)>,
    /// Smallest p that any outcome of this design can have.
    pub smallest_p: Option<f64>,
    /// Tasks that are compared: of the baseline and of the candidate; equal where they are paired.
    pub tasks: (usize, usize),
    /// Runs that are compared: of the baseline and of the candidate.
    pub runs: (usize, usize),
    /// What the spread between tasks and between runs of one task is.
    pub spread: Option<Spread>,
    /// The k of pass^k and pass@k.
    pub k: Option<u64>,
    /// Why something is missing.
    pub reason: Option<String>,
}

/// How far tasks, and runs of one task, are apart (`STATISTICS.md`, 5.5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Variance of the task differences, adjusted as in the interval.
    pub total: f64,
    /// Variance of the task differences as seen, split; `None` where runs of one task cannot be
    /// set against tasks (unpaired sets, pass^k).
    pub split: Option<SplitVariance>,
    /// What the pseudo tasks of the interval add: it falls with the square of the trials.
    pub pseudo: f64,
    /// Mean runs of a task: of the baseline and of the candidate.
    pub trials: (f64, f64),
}

impl Spread {
    /// The variance of task differences with other numbers of trials; `None` where that is not known.
    #[must_use]
    pub fn with_trials(&self, (baseline, candidate): (f64, f64)) -> Option<f64> {
        let split = self.split?;
        let fewest = self.trials.0.min(self.trials.1) / baseline.min(candidate);
        let within = split.within * (1.0 / baseline + 1.0 / candidate);
        Some(split.between + within + self.pseudo * fewest.powi(2))
    }

    /// Where only the error of the whole is known, over `m` tasks.
    pub(super) fn of_error(error: Option<f64>, m: usize) -> Option<Self> {
        let total = error?.powi(2) * count(m);
        Some(Self { total, split: None, pseudo: 0.0, trials: (1.0, 1.0) })
    }
}

impl Evidence {
    /// Compares both sides of one figure.
    #[must_use]
    pub fn of(sample: &Sample, kind: Kind, options: &TestOptions) -> Self {
        let (before, after) = sample.runs();
        let options = &options.bounded(before + after);
        let evidence = match sample.mode {
            Mode::Paired => super::paired::compare(&sample.tasks, kind, options),
            Mode::Unpaired => super::unpaired::compare(&sample.tasks, kind, options),
        };
        let tasks = |side: fn(&TaskSample) -> &Vec<Part>| {
            sample.tasks.iter().filter(|task| !side(task).is_empty()).count()
        };
        let evidence = if kind.is_share() { evidence.within(1.0) } else { evidence };
        let tasks = (tasks(|task| &task.baseline), tasks(|task| &task.candidate));
        let of_error = || Spread::of_error(evidence.error, tasks.0.max(tasks.1));
        let spread = evidence.spread.or_else(of_error);
        Self { tasks, runs: sample.runs(), spread, ..evidence }
    }

    /// Evidence that there is none, and why.
    pub(super) fn none(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }

    /// Intervals cut to what a difference of two shares can be.
    fn within(self, most: f64) -> Self {
        let cut = |(low, high): (f64, f64)| (low.max(-most), high.min(most));
        Self { interval: self.interval.map(cut), bounds: self.bounds.map(cut), ..self }
    }

    /// The difference as computed on the log scale, in the unit of the figure: `baseline` is the
    /// geometric mean that the ratio refers to.
    pub(super) fn out_of_logs(self, baseline: f64) -> Self {
        let unit = |log: f64| baseline * log.exp_m1();
        let both = |(low, high): (f64, f64)| (unit(low), unit(high));
        let ratio = self
            .difference
            .map(|log| (log.exp(), self.interval.map(|(low, high)| (low.exp(), high.exp()))));
        Self {
            baseline: Some(baseline),
            candidate: self.difference.map(|log| baseline * log.exp()),
            difference: self.difference.map(unit),
            interval: self.interval.map(both),
            bounds: self.bounds.map(both),
            ratio,
            ..self
        }
    }

    /// Smallest difference that this size would most likely (80%) have told, in the figure's unit.
    #[must_use]
    pub fn detectable(&self, alpha: f64) -> Option<f64> {
        let found = detectable(self.error?, alpha, POWER)?;
        match (self.ratio, self.baseline) {
            (Some(_), Some(baseline)) => Some(baseline * found.exp_m1()),
            _ => Some(found),
        }
    }
}

/// The power for which sizes are told.
pub const POWER: f64 = 0.8;

/// The value of one run in a mean: its numerator over its denominator.
pub(super) fn values(parts: &[Part]) -> Vec<f64> {
    parts.iter().map(|(numerator, denominator)| numerator / denominator).collect()
}

/// The mean; of nothing 0.
pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / count(values.len()) }
}

/// A number of things as a float.
#[expect(clippy::cast_precision_loss, reason = "numbers of runs and tasks")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}

/// How amounts are compared: as logs, unless one of them is 0.
pub(super) fn logs_exist(tasks: &[TaskSample]) -> bool {
    let mut parts = tasks.iter().flat_map(|task| task.baseline.iter().chain(&task.candidate));
    parts.all(|(amount, _)| *amount > 0.0)
}

/// The fewest runs of a task on a side; the largest k that all allow.
pub(super) fn fewest_runs<'t>(arms: impl Iterator<Item = &'t Vec<Part>>) -> Option<u64> {
    arms.filter(|arm| !arm.is_empty()).map(|arm| arm.len() as u64).min()
}

/// A number of runs as the tests take it.
pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Completed of all trials of one task.
pub(super) fn trials(arm: &[Part]) -> Trials {
    let completed = arm.iter().filter(|(completed, _)| *completed > 0.0).count() as u64;
    Trials { ended: arm.len() as u64, completed }
}
