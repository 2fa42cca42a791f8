//! The generators: how tasks differ, how runs of one task differ, and what an effect changes.
//!
//! Every generator draws a task first and then its runs, those of the candidate under an effect.
//! The effect `none` leaves both sides alike.

use agenteval::compare::{Kind, Mode, Part, Sample, TaskSample};
use agenteval::model::Better;
use agenteval::stats::{pass_at_k_by_task, pass_hat_k_by_task};

use crate::random::Random;

/// One kind of figure with its settings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Figure {
    /// Completion: p of a task from a beta law with mean `mu` and a + b = 1.
    Share { mu: f64 },
    /// The same, of the runs in which something failed: four in ten.
    Subset { mu: f64 },
    /// pass^k of such runs.
    PassHat { mu: f64 },
    /// pass@k of such runs.
    PassAt { mu: f64 },
    /// Failed steps of 5 to 20: logit(.08) plus a task's and a run's normal effect; with
    /// probability `serial` a step ends as the one before did.
    Steps { task: f64, run: f64, serial: f64 },
    /// Retries: negative binomial with mean `mu`, times a lognormal effect of the task.
    Counts { mu: f64, dispersion: f64, task: f64 },
    /// Durations: lognormal, .7 between tasks and .5 within; 3% are stuck and take ten times as
    /// long. The log exists.
    Logs,
    /// Costs: the same, but 15% of runs have none.
    Zeros,
}

/// How many runs a task has on both sides.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trials {
    /// The same everywhere.
    Same(usize),
    /// So many of the baseline, so many of the candidate.
    Sides(usize, usize),
    /// 3 to 5 of the baseline, 1 to 3 of the candidate, by task.
    Unequal,
}

impl Trials {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Same(k) => k.to_string(),
            Self::Sides(b, c) => format!("{b} / {c}"),
            Self::Unequal => "3-5 / 1-3".to_owned(),
        }
    }

    fn draw(self, random: &mut Random) -> (usize, usize) {
        match self {
            Self::Same(k) => (k, k),
            Self::Sides(b, c) => (b, c),
            Self::Unequal => (random.between(3, 5), random.between(1, 3)),
        }
    }
}

impl Figure {
    pub(crate) fn setting(self) -> String {
        match self {
            Self::Share { mu } | Self::Subset { mu } => format!("rate {mu}"),
            Self::PassHat { mu } => format!("pass^k, rate {mu}"),
            Self::PassAt { mu } => format!("pass@k, rate {mu}"),
            Self::Steps { task, run, serial } => {
                format!("sd of tasks {task}, of runs {run}, serial {serial}")
            }
            Self::Counts { mu, dispersion, task } => {
                format!("mean {mu}, dispersion {dispersion}, sd of tasks {task}")
            }
            Self::Logs => "3% stuck".to_owned(),
            Self::Zeros => "3% stuck, 15% zero".to_owned(),
        }
    }

    /// What an effect is, in words.
    pub(crate) fn effect(self, effect: f64) -> String {
        if effect == self.none() {
            return "none".to_owned();
        }
        match self {
            Self::Steps { .. } => format!("log odds +{effect}"),
            Self::Counts { .. } | Self::Logs | Self::Zeros => format!("x {effect}"),
            _ => format!("-{effect}"),
        }
    }

    /// The mean rate of what is a rate of runs.
    pub(crate) fn rate(self) -> Option<f64> {
        match self {
            Self::Share { mu }
            | Self::Subset { mu }
            | Self::PassHat { mu }
            | Self::PassAt { mu } => Some(mu),
            _ => None,
        }
    }

    /// The effect that changes nothing.
    pub(crate) fn none(self) -> f64 {
        if matches!(self, Self::Counts { .. } | Self::Logs | Self::Zeros) { 1.0 } else { 0.0 }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Share { .. } | Self::Subset { .. } => Kind::RunShare,
            Self::PassHat { .. } => Kind::PassK(pass_hat_k_by_task),
            Self::PassAt { .. } => Kind::PassK(pass_at_k_by_task),
            Self::Steps { .. } => Kind::Ratio { share: true },
            Self::Counts { .. } => Kind::Count,
            Self::Logs | Self::Zeros => Kind::Amount,
        }
    }

    pub(crate) fn better(self) -> Better {
        match self {
            Self::Steps { .. } | Self::Counts { .. } | Self::Logs | Self::Zeros => Better::Lower,
            _ => Better::Higher,
        }
    }

    /// The margin that holds without a config: .05 of a rate, a tenth of everything else.
    pub(crate) fn margin(self, baseline: f64) -> f64 {
        match self {
            Self::Counts { .. } => (0.1 * baseline.abs()).max(0.1),
            Self::Logs | Self::Zeros => 0.1 * baseline.abs(),
            _ => 0.05,
        }
    }

    /// What is the task's own, and the same in all its runs.
    fn task(self, random: &mut Random) -> f64 {
        match self {
            Self::Share { mu }
            | Self::Subset { mu }
            | Self::PassHat { mu }
            | Self::PassAt { mu } => random.rate(mu),
            Self::Steps { task, .. } => task * random.normal(),
            Self::Counts { mu, task, .. } => mu * random.spread(task),
            Self::Logs | Self::Zeros => (0.7 * random.normal()).exp(),
        }
    }

    /// One run of a task; `None` where the figure does not see it.
    fn run(self, task: f64, effect: f64, random: &mut Random) -> Option<Part> {
        let flag = |flag: bool| f64::from(u8::from(flag));
        match self {
            Self::Share { mu } | Self::PassHat { mu } | Self::PassAt { mu } => {
                Some((flag(random.chance(task * (1.0 - effect / mu))), 1.0))
            }
            Self::Subset { mu } => {
                let passed = random.chance(task * (1.0 - effect / mu));
                random.chance(0.4).then_some((flag(passed), 1.0))
            }
            Self::Steps { run, serial, .. } => {
                let logit = (0.08_f64 / 0.92).ln() + task + run * random.normal() + effect;
                let p = 1.0 / (1.0 + (-logit).exp());
                let steps = random.between(5, 20);
                let (mut failed, mut last) = (0.0, random.chance(p));
                for step in 0..steps {
                    if step > 0 && !random.chance(serial) {
                        last = random.chance(p);
                    }
                    failed += flag(last);
                }
                Some((failed, steps as f64))
            }
            Self::Counts { dispersion, .. } => {
                Some((f64::from(random.negative_binomial(task * effect, dispersion)), 1.0))
            }
            Self::Logs | Self::Zeros => {
                let none = matches!(self, Self::Zeros) && random.chance(0.15);
                let stuck = if random.chance(0.03) { 10.0 } else { 1.0 };
                let amount = 60.0 * task * (0.5 * random.normal()).exp() * stuck * effect;
                Some((if none { 0.0 } else { amount }, 1.0))
            }
        }
    }

    fn runs(self, runs: usize, task: f64, effect: f64, random: &mut Random) -> Vec<Part> {
        let mut parts: Vec<Part> =
            (0..runs).filter_map(|_| self.run(task, effect, random)).collect();
        // As `Sample::of` has them.
        parts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        parts
    }

    /// The same tasks on both sides.
    pub(crate) fn paired(
        self,
        tasks: usize,
        trials: Trials,
        effect: f64,
        random: &mut Random,
    ) -> Sample {
        let draw = |_| {
            let task = self.task(random);
            let (before, after) = trials.draw(random);
            TaskSample {
                baseline: self.runs(before, task, self.none(), random),
                candidate: self.runs(after, task, effect, random),
            }
        };
        let says = |task: &TaskSample| !task.baseline.is_empty() && !task.candidate.is_empty();
        let tasks = (0..tasks).map(draw).filter(says).collect();
        Sample { mode: Mode::Paired, tasks }
    }

    /// Other tasks on each side.
    pub(crate) fn unpaired(
        self,
        (before, after): (usize, usize),
        trials: Trials,
        effect: f64,
        random: &mut Random,
    ) -> Sample {
        let mut tasks = Vec::with_capacity(before + after);
        for _ in 0..before {
            let (runs, _) = trials.draw(random);
            let task = self.task(random);
            let baseline = self.runs(runs, task, self.none(), random);
            tasks.push(TaskSample { baseline, candidate: Vec::new() });
        }
        for _ in 0..after {
            let (_, runs) = trials.draw(random);
            let task = self.task(random);
            let candidate = self.runs(runs, task, effect, random);
            tasks.push(TaskSample { baseline: Vec::new(), candidate });
        }
        tasks.retain(|task| !task.baseline.is_empty() || !task.candidate.is_empty());
        Sample { mode: Mode::Unpaired, tasks }
    }
}
