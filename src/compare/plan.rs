//! How many tasks and trials it takes to see an effect.
//!
//! Owns the assumptions of a plan: the same tasks on both sides, a one-sided test, every task worse
//! by the same share. Amounts, counts and ratios are planned by the normal formula
//! (`STATISTICS.md`, 5.5); shares of runs, for which that formula promises up to 15 points of power
//! too much at small sizes, by playing the gate's own test.

use super::evidence::{Kind, POWER, count, mean};
use super::played::played_power;
use crate::evaluate::RunRow;
use crate::metrics::{Metric, Set};
use crate::model::Better;
use crate::stats::{TASKS_MARGIN, detectable, needed_tasks};

/// What a plan knows of a figure before there is a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The figure's value; of amounts the geometric mean.
    pub value: f64,
    /// Variance between runs of one task; of amounts, of their logs.
    pub of_runs: f64,
    /// Whether that is assumed because no task has two runs.
    pub assumed: bool,
    /// Tasks, and mean runs of a task, that it was told from; `None` for assumptions.
    pub seen: Option<(usize, f64)>,
    /// How effects are measured and planned.
    pub scale: Scale,
}

/// How the effects of a plan are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// In points of a share of runs; played. Whether more of it is better.
    Share {
        /// More is better.
        higher: bool,
    },
    /// In the figure's unit.
    Unit,
    /// As a share of the value: amounts, which are compared as logs.
    Relative,
}

/// What is asked of a plan.
#[derive(Debug, Clone)]
pub struct PlanQuestion {
    /// The figure.
    pub metric: &'static Metric,
    /// What is known of it.
    pub expected: Expected,
    /// Level and power.
    pub sureness: Sureness,
    /// Effects, as [`Scale`] measures them; none for the usual ones.
    pub effects: Vec<f64>,
    /// Trials of the baseline and of the candidate.
    pub trials: Vec<(u32, u32)>,
    /// Tasks that there are, for what they can detect.
    pub tasks: Option<u64>,
}

/// Tasks that tell an effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// The effect.
    pub effect: f64,
    /// Trials of the baseline and of the candidate.
    pub trials: (u32, u32),
    /// Tasks; `None` for more than a million.
    pub tasks: Option<u64>,
}

/// The answer of a plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What was asked, with the effects that were planned for.
    pub question: PlanQuestion,
    /// Tasks by effect and trials.
    pub sizes: Vec<Size>,
    /// What the given tasks detect by trials: an effect, `None` where it cannot be told.
    pub detectable: Vec<((u32, u32), Option<f64>)>,
}

impl Plan {
    /// Answers the question.
    #[must_use]
    pub fn of(mut question: PlanQuestion) -> Self {
        let room = question.expected.room().unwrap_or(f64::INFINITY);
        if question.effects.is_empty() {
            question.effects = question.expected.usual_effects();
            question.effects.retain(|effect| *effect <= room);
        }
        let PlanQuestion { expected, sureness, trials, .. } = &question;
        let sizes = question.effects.iter().flat_map(|effect| {
            trials.iter().map(|trials| Size {
                effect: *effect,
                trials: *trials,
                tasks: expected.tasks(*effect, *trials, *sureness),
            })
        });
        let detectable = question.tasks.iter().flat_map(|tasks| {
            trials.iter().map(|trials| (*trials, expected.detectable(*tasks, *trials, *sureness)))
        });
        Self { sizes: sizes.collect(), detectable: detectable.collect(), question }
    }
}

/// How sure a plan is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sureness {
    /// Level of the one-sided test.
    pub alpha: f64,
    /// How often the effect is to be told.
    pub power: f64,
}

impl Default for Sureness {
    fn default() -> Self {
        Self { alpha: 0.05, power: POWER }
    }
}

impl Expected {
    /// Of a rate by assumption: its value, and how alike runs of one task are (0 to 1).
    #[must_use]
    pub fn rate(value: f64, icc: f64) -> Self {
        let of_runs = value * (1.0 - value) * (1.0 - icc);
        let scale = Scale::Share { higher: true };
        Self { value, of_runs, assumed: true, seen: None, scale }
    }

    /// How alike the runs of one task are: of shares, 0 to 1.
    #[must_use]
    pub fn icc(&self) -> f64 {
        let all = self.value * (1.0 - self.value);
        if all > 0.0 { (1.0 - self.of_runs / all).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// From the runs of a baseline.
    ///
    /// # Errors
    /// Why the figure cannot be planned for with these runs.
    pub fn of(rows: &[RunRow], metric: &Metric) -> Result<Self, String> {
        let set = Set::new(rows.iter().collect());
        if let Some(why) = set.missing(metric) {
            return Err(why);
        }
        let kind = match Kind::of(metric) {
            Some(Kind::PassK(_)) => return Err("plan with final_completion_rate instead: it sees more than pass^k with as many runs".to_owned()),
            Some(kind) => kind,
            None => return Err("this figure is only shown".to_owned()),
        };
        let mut tasks: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut known = std::collections::BTreeMap::<&str, usize>::new();
        for row in rows {
            let Some(part) = set.part(metric, row) else { continue };
            let next = tasks.len();
            let at = row.task_id.as_deref().map_or(next, |id| *known.entry(id).or_insert(next));
            match tasks.get_mut(at) {
                Some(task) => task.push(part),
                None => tasks.push(vec![part]),
            }
        }
        let (sum, length) =
            tasks.iter().flatten().fold((0.0, 0.0), |(n, d), part| (n + part.0, d + part.1));
        let runs = tasks.iter().map(Vec::len).sum::<usize>();
        let ratio = sum / length;
        let zero = tasks.iter().flatten().any(|(amount, _)| *amount <= 0.0);
        let relative = matches!(kind, Kind::Amount) && !zero;
        let per_run = length / count(runs.max(1));
        let value = |(n, d): &(f64, f64)| match kind {
            Kind::Amount if relative => n.ln(),
            // What a run adds to the error of a ratio, as if it were a value of its own.
            Kind::Ratio { .. } => (n - ratio * d) / per_run,
            _ => n / d,
        };
        let values: Vec<Vec<f64>> =
            tasks.iter().map(|task| task.iter().map(value).collect()).collect();
        let within: Vec<f64> = values.iter().filter_map(|task| variance(task)).collect();
        let all: Vec<f64> = values.iter().flatten().copied().collect();
        let of_runs = if within.is_empty() {
            variance(&all).ok_or("a plan needs at least 2 runs")? / 2.0
        } else {
            mean(&within)
        };
        if of_runs <= 0.0
            && (within.is_empty()
                || !matches!(kind, Kind::RunShare)
                || ratio <= 0.0
                || ratio >= 1.0)
        {
            return Err("all of these runs are alike, so nothing tells how far others would be apart; for a rate, assume one with --rate and --icc".to_owned());
        }
        let shown = match kind {
            Kind::Amount if relative => {
                mean(&values.iter().map(|task| mean(task)).collect::<Vec<_>>()).exp()
            }
            _ => ratio,
        };
        Ok(Self {
            value: shown,
            of_runs,
            assumed: within.is_empty(),
            seen: Some((tasks.len(), count(runs) / count(tasks.len().max(1)))),
            scale: match kind {
                Kind::RunShare => Scale::Share { higher: metric.info().better == Better::Higher },
                Kind::Amount if relative => Scale::Relative,
                _ => Scale::Unit,
            },
        })
    }

    /// Effects that people ask for.
    fn usual_effects(&self) -> Vec<f64> {
        match self.scale {
            Scale::Share { .. } => vec![0.05, 0.1, 0.2],
            Scale::Relative => vec![0.1, 0.25, 0.5],
            Scale::Unit => [0.1, 0.25, 0.5].map(|share| share * self.value.abs()).to_vec(),
        }
    }

    /// The largest effect that a share has room for; `None` where there is no such bound.
    #[must_use]
    pub fn room(&self) -> Option<f64> {
        match self.scale {
            Scale::Share { higher } => Some(if higher { self.value } else { 1.0 - self.value }),
            Scale::Unit | Scale::Relative => None,
        }
    }

    /// How often an effect is told by this many tasks; `None` where that is not known.
    #[must_use]
    pub fn power(
        &self,
        effect: f64,
        tasks: u64,
        trials: (u32, u32),
        sureness: Sureness,
    ) -> Option<f64> {
        match self.scale {
            // A share of which less is better is the share of the runs that are not in it.
            Scale::Share { .. } => {
                played_power(self.room()?, self.icc(), effect, (tasks, trials), sureness.alpha)
            }
            Scale::Unit | Scale::Relative => None,
        }
    }

    /// The effect on the scale of the variance.
    fn scaled(&self, effect: f64) -> f64 {
        if self.scale == Scale::Relative { effect.ln_1p() } else { effect }
    }

    /// Tasks that most likely tell `effect` (as [`Scale`] measures it), with these trials of the
    /// baseline and of the candidate. `None` where no number does.
    #[must_use]
    pub fn tasks(&self, effect: f64, trials: (u32, u32), sureness: Sureness) -> Option<u64> {
        let sd = self.of_task(effect, trials).sqrt();
        let by_formula = needed_tasks(sd, self.scaled(effect), sureness.alpha, sureness.power)?;
        let planned = whole(TASKS_MARGIN * by_formula)?;
        // As far as it can be played; beyond, the formula is good enough.
        let enough = |tasks: u64| {
            self.power(effect, tasks, trials, sureness).map(|power| power >= sureness.power)
        };
        Some(smallest(planned, enough).unwrap_or(planned))
    }

    /// The smallest effect that this many tasks most likely tell.
    #[must_use]
    pub fn detectable(&self, tasks: u64, trials: (u32, u32), sureness: Sureness) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
        let error =
            |effect: f64| (TASKS_MARGIN * self.of_task(effect, trials) / tasks as f64).sqrt();
        let first = detectable(error(0.0), sureness.alpha, sureness.power)?;
        let found = detectable(error(first), sureness.alpha, sureness.power)?;
        let found = if self.scale == Scale::Relative { found.exp_m1() } else { found };
        Some(found).filter(|found| self.room().is_none_or(|room| *found <= room))
    }

    /// Variance of the difference of one task, if the candidate is worse by `effect`.
    fn of_task(&self, effect: f64, (baseline, candidate): (u32, u32)) -> f64 {
        let mut after = self.of_runs;
        if let Scale::Share { higher } = self.scale {
            let worse = if higher { self.value - effect } else { self.value + effect };
            let (before, worse) = (self.value * (1.0 - self.value), worse * (1.0 - worse));
            if before > 0.0 && worse > 0.0 {
                after *= worse / before;
            }
        }
        self.of_runs / f64::from(baseline.max(1)) + after / f64::from(candidate.max(1))
    }
}

/// The smallest number from 2 that is enough, searched for around `near`; `None` where that cannot be
/// told.
fn smallest(near: u64, enough: impl Fn(u64) -> Option<bool>) -> Option<u64> {
    let step = |tasks: u64| (tasks / 3).max(1);
    let (mut low, mut high) = (near, near);
    if enough(near)? {
        while low > 2 && enough(low)? {
            high = low;
            low = low.saturating_sub(step(low)).max(2);
        }
        if enough(low)? {
            return Some(low);
        }
    } else {
        while !enough(high)? {
            low = high;
            high += step(high);
        }
    }
    // To a hundredth: games are not more exact.
    while high - low > 1.max(high / 100) {
        let middle = low.midpoint(high);
        if enough(middle)? { high = middle } else { low = middle }
    }
    Some(high)
}

/// A number of tasks; `None` for more than anybody has.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be between 2 and a million"
)]
fn whole(tasks: f64) -> Option<u64> {
    (tasks <= 1e6).then(|| tasks.ceil().max(2.0) as u64)
}

/// The sample variance; `None` for fewer than two values.
fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    Some(values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count(values.len() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Power that simulation found at these sizes (`STATISTICS.md`, 5.3), runs of a task alike by .5.
    #[test]
    fn played_power_is_that_of_the_published_simulation() {
        for (tasks, trials, rate, effect, wanted) in [
            (50, 3, 0.8, 0.1, 0.80),
            (100, 1, 0.8, 0.1, 0.667),
            (20, 3, 0.95, 0.1, 0.676),
            (50, 5, 0.5, 0.1, 0.885),
        ] {
            let sureness = Sureness::default();
            let expected = Expected::rate(rate, 0.5);
            let got = expected.power(effect, tasks, (trials, trials), sureness);
            assert!((got.unwrap_or_default() - wanted).abs() < 0.04, "{tasks} x {trials}: {got:?}");
        }
    }

    #[test]
    fn a_plan_has_the_power_that_it_was_made_for() {
        for (rate, effect, trials) in [(0.8, 0.1, (3, 3)), (0.95, 0.1, (1, 1)), (0.6, 0.2, (5, 1))]
        {
            let expected = Expected::rate(rate, 0.5);
            let sureness = Sureness::default();
            let tasks = expected.tasks(effect, trials, sureness).unwrap_or_default();
            let power = expected.power(effect, tasks, trials, sureness).unwrap_or_default();
            assert!((power - 0.8).abs() < 0.04, "{rate} {effect} {trials:?}: {tasks}, {power}");
        }
    }

    /// By hand: (1.645 + .842)^2 * 1.1 * 2 * 4 / 1^2 = 54.4.
    #[test]
    fn counts_are_planned_by_the_formula() {
        let expected =
            Expected { value: 2.0, of_runs: 4.0, assumed: false, seen: None, scale: Scale::Unit };
        assert_eq!(expected.tasks(1.0, (1, 1), Sureness::default()), Some(55));
        let found = expected.detectable(55, (1, 1), Sureness::default()).unwrap_or_default();
        assert!(found <= 1.0 && found > 0.99, "{found}");
    }
}
