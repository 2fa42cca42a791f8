//! How errors add up along a run: the risk of each step, how far it lets runs get, and what that says
//! of longer runs.
//!
//! Owns: which runs are followed and what takes them out of the risk (`STATISTICS.md`, 4.2), the
//! geometric model with its interval over tasks, the test of a constant risk, and which projections
//! are withheld. Refuses to project where the runs themselves reject the model.

use std::collections::BTreeMap;

use super::survival::{Survival, follow};
use crate::evaluate::{Outcome, RunRow};
use crate::metrics::{ByTask, LEVEL};
use crate::stats::{
    Cluster, Ended, Followed, Geometric, Incidence, Link, SplitMix64, StepRisk, Thirds, Trend,
    Weibull, aalen_johansen, clustered_wilson, hazard_trend, horizon_at, linearise, median,
    quantile_type7, steps_at_risk, survival_to, t_critical, thirds, trend_slope, wilson,
};

/// Resamplings of tasks behind the interval of the slope.
pub const SLOPE_DRAWS: u32 = 2_000;

/// Their seed.
pub const SLOPE_SEED: u64 = 20_260_101;

/// Work beyond which no resampling is done: tasks times steps, and steps alone, since each
/// resampling fits a curve over all of them.
const MOST_CELLS: usize = 4_000_000;
const MOST_STEPS: usize = 2_000;

/// Most rows of [`Accumulation::lengths`].
const MOST_LENGTHS: usize = 10;

/// How errors add up.
#[derive(Debug, Clone, PartialEq)]
pub struct Accumulation {
    /// Runs without a failed step, by step.
    pub survival: Survival,
    /// Shares that failed a step, ended without, and still go, by step.
    pub incidence: Vec<Incidence>,
    /// Runs that left the risk without a failure or an end.
    pub censored: Censored,
    /// The risk per step if every one of them had failed at its last step: a bound for the case that
    /// runs are cut because they are in trouble.
    pub if_cut_failed: Option<f64>,
    /// The same risk in every step.
    pub geometric: Option<GeometricRisk>,
    /// Whether the risk is the same in every step.
    pub constancy: Constancy,
    /// The risk that changes with the step.
    pub weibull: Option<Weibull>,
    /// How far runs get, seen and projected.
    pub projections: Vec<Projection>,
    /// Completion by the number of steps of a run.
    pub lengths: Vec<Length>,
}

/// A constant risk a step, with its intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeometricRisk {
    /// First failures, steps taken and their ratio.
    pub fit: Geometric,
    /// The 95% interval over tasks, nowhere inside of that of independent steps; `None` with fewer
    /// than two tasks.
    pub clustered: Option<(f64, f64)>,
    /// The 95% interval if all steps were independent (Wilson); too narrow where runs share tasks.
    pub naive: Option<(f64, f64)>,
}

impl GeometricRisk {
    /// The interval to use: over tasks, and none where there is one task alone.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.clustered
    }

    /// Steps after which a share `q` of runs is without a failure, with its interval.
    #[must_use]
    pub fn horizon(&self, q: f64) -> (f64, Option<(f64, f64)>) {
        let ends = self.interval().map(|(low, high)| (horizon_at(high, q), horizon_at(low, q)));
        (horizon_at(self.fit.hazard, q), ends)
    }
}

/// What is known of whether the risk is constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Constancy {
    /// The regression on the logarithm of the step.
    pub trend: Option<Trend>,
    /// The 95% interval of its slope from resampled tasks.
    pub slope_interval: Option<(f64, f64)>,
    /// Resamplings of tasks that had no slope.
    pub without_slope: u32,
    /// Early, middle and late thirds of the steps.
    pub thirds: Option<Thirds>,
    /// Whether several runs share a task, so that the test's p-value is too small.
    pub clustered: bool,
}

/// What the runs say of a constant risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The runs agree with it.
    NotRejected,
    /// It falls with the step, or differs from task to task; the two cannot be told apart here.
    Falling,
    /// It rises with the step.
    Rising,
    /// There is too little to tell.
    Unknown,
}

impl Constancy {
    /// By the interval over tasks where there is one, else by the test; where the curve has no finite
    /// slope (all first failures at one end), by the thirds of the steps.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let Some(trend) = self.trend else { return self.by_thirds() };
        let rejected = match self.slope_interval {
            Some((low, high)) => low > 0.0 || high < 0.0,
            None if self.clustered => return Verdict::Unknown,
            None => trend.p < 0.05,
        };
        match (rejected, trend.fit.slope > 0.0) {
            (false, _) => Verdict::NotRejected,
            (true, true) => Verdict::Rising,
            (true, false) => Verdict::Falling,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of steps")]
    fn by_thirds(&self) -> Verdict {
        let Some(thirds) = self.thirds.as_ref().filter(|thirds| thirds.p < 0.05) else {
            return Verdict::Unknown;
        };
        let risk =
            |(_, _, failed, taken): (u32, u32, u64, u64)| failed as f64 / taken.max(1) as f64;
        let [first, _, last] = thirds.thirds;
        if risk(last) > risk(first) { Verdict::Rising } else { Verdict::Falling }
    }
}

/// How many runs are without a failure after some steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projection {
    /// The steps.
    pub steps: u32,
    /// As seen (Kaplan-Meier), with its interval; `None` beyond the last step that was taken.
    pub seen: Option<(f64, Option<(f64, f64)>)>,
    /// By a constant risk.
    pub geometric: Option<(f64, Option<(f64, f64)>)>,
    /// By a risk that changes with the step.
    pub weibull: Option<f64>,
    /// Beyond the last step that was taken.
    pub extrapolated: bool,
    /// Extrapolated by a model that the runs reject, or that they cannot tell of.
    pub withheld: bool,
}

/// Runs without a failed step that are not known to have come to their end, by why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Censored {
    /// Over a limit of the config, by its key.
    pub limits: BTreeMap<&'static str, u64>,
    /// Unfinished by their own record.
    pub unfinished: u64,
    /// Of unknown outcome.
    pub unknown: u64,
}

impl Censored {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.limits.values().sum::<u64>() + self.unfinished + self.unknown
    }
}

/// Runs with so many steps, and how many of them were completed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    /// Fewest and most steps.
    pub steps: (u32, u32),
    /// Runs that ended.
    pub runs: u64,
    /// Of those, the completed ones.
    pub completed: u64,
    /// The 95% interval of the share.
    pub interval: Option<(f64, f64)>,
    /// What a constant risk leaves at their median number of steps.
    pub product: Option<f64>,
}

impl Accumulation {
    /// Follows the runs; `steps` are the numbers of steps to project to.
    #[must_use]
    pub fn of(rows: &[&RunRow], steps: &[u32]) -> Self {
        let runs = follow(rows);
        let followed: Vec<Followed> = runs.iter().map(|(_, one)| *one).collect();
        let survival = Survival::of_followed(rows, &runs);
        let geometric = geometric(&followed);
        let constancy = constancy(&followed);
        let weibull = Weibull::of(&followed);
        let verdict = constancy.verdict();
        let projections = steps
            .iter()
            .map(|&steps| {
                let extrapolated = steps > survival.last;
                let at = survival.table.iter().take_while(|line| line.time <= steps).last();
                let start = survival.start.map(|low| (low, 1.0));
                let seen = at.map_or((1.0, start), |line| (line.survival, line.interval));
                let number = f64::from(steps);
                Projection {
                    steps,
                    seen: (!extrapolated && survival.runs > 0).then_some(seen),
                    geometric: geometric.map(|risk| {
                        let ends = risk.interval().map(|(low, high)| {
                            (survival_to(high, number), survival_to(low, number))
                        });
                        (survival_to(risk.fit.hazard, number), ends)
                    }),
                    weibull: weibull.map(|fit| fit.survival_to(number)),
                    extrapolated,
                    withheld: extrapolated && verdict != Verdict::NotRejected,
                }
            })
            .collect();
        let ends: Vec<_> = runs.iter().map(|(row, one)| (one.time, ended(row))).collect();
        let incidence = aalen_johansen(&ends);
        let censored = censored(&runs);
        #[expect(clippy::cast_precision_loss, reason = "numbers of steps")]
        let if_cut_failed = geometric
            .map(|risk| (risk.fit.events + censored.total()) as f64 / risk.fit.exposure as f64);
        Self {
            incidence,
            censored,
            if_cut_failed,
            lengths: lengths(rows, geometric.map(|risk| risk.fit.hazard)),
            survival,
            geometric,
            constancy,
            weibull,
            projections,
        }
    }
}

/// How a followed run left the risk.
fn ended(row: &RunRow) -> Ended {
    match row.outcome {
        _ if row.first_failure.is_some() => Ended::Failed,
        Outcome::OverLimit | Outcome::Unfinished | Outcome::Unknown => Ended::Censored,
        // An end without a failed step takes the run out of the risk, whatever it delivered.
        Outcome::Completed | Outcome::Failed | Outcome::Cancelled => Ended::Succeeded,
    }
}

/// The followed runs that are right-censored, by why.
fn censored(runs: &[(&RunRow, Followed)]) -> Censored {
    let mut censored = Censored::default();
    for (row, _) in runs.iter().filter(|(_, one)| !one.event) {
        match row.outcome {
            Outcome::OverLimit => {
                let limit = row.limit.map_or("unknown limit", |limit| limit.name());
                *censored.limits.entry(limit).or_default() += 1;
            }
            Outcome::Unfinished => censored.unfinished += 1,
            Outcome::Unknown => censored.unknown += 1,
            Outcome::Completed | Outcome::Failed | Outcome::Cancelled => {}
        }
    }
    censored
}

/// First failures and steps taken, by task.
fn by_task(followed: &[Followed]) -> BTreeMap<u32, Cluster> {
    let mut tasks: BTreeMap<u32, Cluster> = BTreeMap::new();
    for one in followed {
        let sums = tasks.entry(one.cluster).or_default();
        sums.numerator += f64::from(u8::from(one.event));
        sums.denominator += f64::from(one.time);
    }
    tasks
}

#[expect(clippy::cast_precision_loss, reason = "numbers of steps and tasks")]
fn geometric(followed: &[Followed]) -> Option<GeometricRisk> {
    let fit = Geometric::of(followed)?;
    let naive = wilson(fit.events as f64, fit.exposure as f64, LEVEL).ok();
    let clusters: Vec<Cluster> = by_task(followed).into_values().collect();
    let clustered = linearise(&clusters).ok().and_then(|linear| {
        let error = linear.standard_error().ok().filter(|error| *error > 0.0)?;
        let reach = t_critical(LEVEL, linear.clusters as f64 - 1.0)? * error;
        Some(((fit.hazard - reach).max(0.0), (fit.hazard + reach).min(1.0)))
    });
    // Without a failure, or where all tasks fail alike, the spread says nothing.
    let clustered =
        clustered.or_else(|| clustered_wilson(&clusters, LEVEL).ok().map(|ci| (ci.low, ci.high)));
    let naive = naive.map(|ci| (ci.low, ci.high));
    // Tasks that happen to be alike do not tell more than independent steps would.
    let wider = |(low, high): (f64, f64)| {
        naive.map_or((low, high), |(from, to): (f64, f64)| (low.min(from), high.max(to)))
    };
    Some(GeometricRisk { fit, clustered: clustered.map(wider), naive })
}

fn constancy(followed: &[Followed]) -> Constancy {
    let trend = hazard_trend(followed, Link::Logit);
    let tasks = by_task(followed).len();
    let (slope_interval, without_slope) = match trend {
        Some(_) => slope_interval(followed),
        None => (None, 0),
    };
    Constancy {
        trend,
        slope_interval,
        without_slope,
        thirds: thirds(followed),
        clustered: tasks < followed.len(),
    }
}

/// The slopes of resampled tasks, between their 2.5% and 97.5% quantiles.
fn slope_interval(followed: &[Followed]) -> (Option<(f64, f64)>, u32) {
    let mut tasks: BTreeMap<u32, Vec<Followed>> = BTreeMap::new();
    for one in followed {
        tasks.entry(one.cluster).or_default().push(*one);
    }
    let tasks: Vec<Vec<StepRisk>> = tasks.values().map(|runs| steps_at_risk(runs)).collect();
    let last = tasks.iter().map(Vec::len).max().unwrap_or_default();
    if tasks.len() < 3 || last > MOST_STEPS || tasks.len().saturating_mul(last) > MOST_CELLS {
        return (None, 0);
    }
    let mut slopes = Vec::with_capacity(SLOPE_DRAWS as usize);
    let mut without = 0;
    let mut sums: Vec<StepRisk> =
        (1..).take(last).map(|step| StepRisk { step, at_risk: 0, events: 0 }).collect();
    let number = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
    for draw in 0..SLOPE_DRAWS {
        for sum in &mut sums {
            (sum.at_risk, sum.events) = (0, 0);
        }
        let mut random = SplitMix64::stream(SLOPE_SEED, u64::from(draw));
        for at in random.indices(tasks.len(), number) {
            for (sum, step) in sums.iter_mut().zip(&tasks[at]) {
                sum.at_risk += step.at_risk;
                sum.events += step.events;
            }
        }
        match trend_slope(&sums, Link::Logit) {
            Some(fit) => slopes.push(fit.slope),
            None => without += 1,
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    // Where many samples have no slope, the others are a choice of samples.
    if without > SLOPE_DRAWS / 20 {
        return (None, without);
    }
    (quantile_type7(&slopes, 0.025).zip(quantile_type7(&slopes, 0.975)), without)
}

/// Ended runs by their number of steps, in groups of about the same size.
fn lengths(rows: &[&RunRow], hazard: Option<f64>) -> Vec<Length> {
    let mut runs: Vec<&&RunRow> = rows
        .iter()
        .filter(|row| row.counts_as_ended() && !row.steps_unknown && row.steps > 0)
        .collect();
    runs.sort_by_key(|row| row.steps);
    let size = runs.len().div_ceil(MOST_LENGTHS).max(1);
    let mut groups = Vec::new();
    let mut from = 0;
    while from < runs.len() {
        let mut to = (from + size).min(runs.len());
        // Runs of one length stay together.
        while to < runs.len() && runs[to].steps == runs[to - 1].steps {
            to += 1;
        }
        groups.push(&runs[from..to]);
        from = to;
    }
    groups
        .into_iter()
        .filter_map(|group| {
            let steps = (group.first()?.steps, group.last()?.steps);
            let completed = group.iter().filter(|row| row.completed()).count() as u64;
            let mut share = ByTask::default();
            for row in group {
                share.add(row.task_id.as_deref(), f64::from(u8::from(row.completed())), 1.0);
            }
            let of_steps: Vec<f64> = group.iter().map(|row| f64::from(row.steps)).collect();
            let middle = median(&of_steps);
            Some(Length {
                steps,
                runs: group.len() as u64,
                completed,
                interval: share.share(LEVEL).map(|ci| (ci.low, ci.high)),
                product: hazard.zip(middle).map(|(hazard, steps)| survival_to(hazard, steps)),
            })
        })
        .collect()
}
