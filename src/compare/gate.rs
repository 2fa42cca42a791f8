//! The regression gate: is the candidate worse than the baseline?
//!
//! Owns which figures are tested at which level, and the verdict of the whole (`STATISTICS.md`,
//! 5.1; the contract in `docs/gate.md`). The tests of figures have alpha under Holm's correction.
//! The guard for broken tasks has a tenth of alpha beside them: what it finds without harm the tests
//! have mostly found too, so that identical candidates fail in at most alpha of all cases but for
//! chance (`docs/gate-calibration.md`).

use super::broken::{BrokenTask, FallenTask, Guard, broken_tasks, fallen_tasks};
use super::errors::ErrorChanges;
use super::evidence::{Evidence, Kind, TestOptions, count};
use super::needed::{Needed, SizeLevels};
use super::pairing::{Mode, PairedTask, Pairing, PairingOptions};
use super::sample::{Sample, counted, counts_lost};
use super::summary::PairingSummary;
use super::thresholds::{HeldThreshold, thresholds};
use super::verdict::{Harm, Levels, Verdict, decide};
use crate::config::{EvalConfig, Margin};
use crate::evaluate::{Outcome, RunRow};
use crate::metrics::{Metric, Set, Standing, metric};
use crate::model::Unit;
use crate::stats::holm;

/// The least margin of a count: a tenth of a retry or step.
const LEAST_COUNT_MARGIN: f64 = 0.1;

/// How a gate is run, beside the config.
#[derive(Debug, Clone, Copy, Default)]
pub struct GateOptions {
    /// How figures are tested.
    pub tests: TestOptions,
    /// Whether what is unmatched is allowed.
    pub allow_unmatched: bool,
    /// Whether a side holds several saves: the baseline (the first set), the candidate (the second).
    pub pooled: (bool, bool),
}

/// One gated figure.
#[derive(Debug, Clone)]
pub struct GatedMetric {
    /// The figure.
    pub metric: &'static Metric,
    /// What is known of its difference.
    pub evidence: Evidence,
    /// The difference towards harm.
    pub harm: Harm,
    /// `p_harm` after Holm's correction over the gated figures.
    pub p_adjusted: Option<f64>,
    /// `p_gain` after the same correction.
    pub gain_adjusted: Option<f64>,
    /// How much worse is accepted, in the figure's unit.
    pub margin: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it is surely worse, but by less than the margin.
    pub within_tolerance: bool,
    /// The smallest harm that this size would most likely have told.
    pub detectable: Option<f64>,
    /// What would decide it, where it is inconclusive.
    pub needed: Option<Needed>,
    /// Why the verdict is what it is, where numbers do not say so.
    pub reason: Option<String>,
}

/// Something that a reader should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A stable code.
    pub code: &'static str,
    /// What it is.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// What the gate found.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The verdict of the whole.
    pub verdict: Verdict,
    /// Who is compared with whom; `None` without a baseline.
    pub pairing: Option<PairingSummary>,
    /// The gated figures, in order.
    pub metrics: Vec<GatedMetric>,
    /// The levels that p-values are held against.
    pub levels: Levels,
    /// The guard for broken tasks; `None` where completion is not gated or tasks are not paired.
    pub guard: Option<Guard>,
    /// Tasks that worked and do not any more.
    pub broken_tasks: Vec<BrokenTask>,
    /// Tasks that completed fewer of their trials without being broken, the hardest drops first.
    pub fallen_tasks: Vec<FallenTask>,
    /// The config's bounds.
    pub thresholds: Vec<HeldThreshold>,
    /// How errors differ.
    pub errors: ErrorChanges,
    /// What a reader should know.
    pub notices: Vec<Notice>,
}

impl Gate {
    /// Judges a candidate. Without a baseline only the bounds of the config are held.
    #[must_use]
    pub fn of(
        baseline: Option<&[RunRow]>,
        candidate: &[RunRow],
        config: &EvalConfig,
        options: &GateOptions,
    ) -> Self {
        let candidate = counted(candidate, config.unfinished);
        match baseline {
            Some(baseline) => {
                let baseline = counted(baseline, config.unfinished);
                Self::compared(&baseline, &candidate, config, options)
            }
            None => Self::alone(&candidate, config, options),
        }
    }

    fn alone(candidate: &[RunRow], config: &EvalConfig, options: &GateOptions) -> Self {
        let pairing = PairingOptions {
            expected_trials: config.expected_trials,
            // Nothing is compared, so nothing is sought that is there twice.
            pooled: (true, true),
            ..PairingOptions::default()
        };
        let itself = Pairing::of(candidate, candidate, pairing);
        let lost = lost(&itself);
        let thresholds = thresholds(candidate, &lost, &config.thresholds);
        let mut notices = Vec::new();
        lost_notice(&itself, &mut notices);
        let verdict = of_thresholds(&thresholds);
        Self {
            verdict: if thresholds.is_empty() { Verdict::Inconclusive } else { verdict },
            pairing: None,
            metrics: Vec::new(),
            levels: levels(options),
            guard: None,
            broken_tasks: Vec::new(),
            fallen_tasks: Vec::new(),
            thresholds,
            errors: ErrorChanges::default(),
            notices,
        }
    }

    fn compared(
        baseline: &[RunRow],
        candidate: &[RunRow],
        config: &EvalConfig,
        options: &GateOptions,
    ) -> Self {
        let pairing_options = PairingOptions {
            expected_trials: config.expected_trials,
            allow_unmatched: options.allow_unmatched,
            pooled: options.pooled,
        };
        let pairing = Pairing::of(baseline, candidate, pairing_options);
        let all = Set::new(baseline.iter().chain(candidate).collect());
        let mut notices = Vec::new();
        let chosen = config.gate_metrics();
        let metrics: Vec<&'static Metric> = chosen.iter().filter_map(|m| metric(m.name)).collect();
        let completion = metrics
            .iter()
            .find(|metric| metric.name == COMPLETION)
            .map(|metric| Sample::of(&pairing, metric, &all))
            .filter(|sample| sample.mode == Mode::Paired && !sample.tasks.is_empty());
        let levels = levels(options);
        let guard = completion.and_then(|sample| Guard::of(&sample, &options.tests));
        let sides = [Set::new(baseline.iter().collect()), Set::new(candidate.iter().collect())];
        let mut gated = Vec::new();
        for metric in metrics {
            let missing: Vec<Option<String>> =
                sides.iter().map(|side| side.missing(metric)).collect();
            // A figure that nobody asked for by name may be one that these runs do not have.
            if config.gate.metrics.is_none() && missing.iter().all(Option::is_some) {
                let why = missing.into_iter().flatten().next().unwrap_or_default();
                let message = format!("{} is not gated: {why}", metric.name);
                notices.push(Notice { code: "metric_not_measured", message, count: 1 });
                continue;
            }
            gated.push(one(metric, missing, &pairing, &all, config, options));
        }
        adjust(&mut gated, levels, options);
        left_out(&pairing, &mut gated, &mut notices);
        let pairing_failures = pairing.failures(pairing_options);
        lost_notice(&pairing, &mut notices);
        let thresholds = thresholds(candidate, &lost(&pairing), &config.thresholds);
        let mut gate = Self {
            verdict: Verdict::Pass,
            errors: ErrorChanges::of(&pairing, &options.tests),
            broken_tasks: broken_tasks(&pairing),
            fallen_tasks: fallen_tasks(&pairing),
            pairing: Some(PairingSummary::of(&pairing, pairing_failures)),
            metrics: gated,
            levels,
            guard,
            thresholds,
            notices,
        };
        gate.verdict = gate.overall();
        gate
    }

    /// Whether no figure was compared and no bound held: there was nothing to judge by.
    #[must_use]
    pub fn nothing(&self) -> bool {
        let failed = self.pairing.as_ref().is_some_and(|pairing| !pairing.failures.is_empty());
        let compared = self.metrics.iter().any(|metric| metric.evidence.difference.is_some());
        let held = self.thresholds.iter().any(|held| held.standing != Standing::Unknown);
        !(failed || compared || held)
    }

    /// The verdict over all parts.
    fn overall(&self) -> Verdict {
        let failed = self.pairing.as_ref().is_some_and(|pairing| !pairing.failures.is_empty());
        let broken = self.guard.is_some_and(|guard| guard.fired);
        if failed || broken {
            return Verdict::Regression;
        }
        let nothing = self.metrics.is_empty() && self.thresholds.is_empty();
        let of_metrics = self.metrics.iter().map(|metric| metric.verdict).max();
        let of_metrics = of_metrics.unwrap_or(Verdict::Pass);
        let of_bounds = of_thresholds(&self.thresholds);
        if nothing { Verdict::Inconclusive } else { of_metrics.max(of_bounds) }
    }
}

/// The figure whose drops the guard looks at.
const COMPLETION: &str = "final_completion_rate";

fn levels(options: &GateOptions) -> Levels {
    Levels { harm: options.tests.alpha, gain: options.tests.alpha }
}

fn of_thresholds(held: &[HeldThreshold]) -> Verdict {
    let of = |held: &HeldThreshold| match held.standing {
        Standing::Met => Verdict::Pass,
        Standing::Missed => Verdict::Regression,
        Standing::Unknown => Verdict::Inconclusive,
    };
    held.iter().map(of).max().unwrap_or(Verdict::Pass)
}

fn lost(pairing: &Pairing<'_>) -> Vec<(String, u32)> {
    let lost = pairing.tasks.iter().filter(|task| task.lost > 0);
    lost.map(|task| (task.id.to_owned(), task.lost)).collect()
}

fn lost_notice(pairing: &Pairing<'_>, notices: &mut Vec<Notice>) {
    let runs: u64 = pairing.tasks.iter().map(|task| u64::from(task.lost)).sum();
    if let Some(task) = pairing.tasks.iter().find(|task| task.lost > 0) {
        let message = format!(
            "runs of the candidate are not there, such as of task `{}`: they count as not completed",
            task.id
        );
        notices.push(Notice { code: "lost_runs", message, count: runs });
    }
}

/// Says which runs are in no completion rate. Those of which the trace does not tell how they ended:
/// where a task has
/// no other run on the candidate's side, nobody knows whether it still works: that is no pass.
fn left_out(pairing: &Pairing<'_>, gated: &mut [GatedMetric], notices: &mut Vec<Notice>) {
    let unknown =
        |rows: &[&RunRow]| rows.iter().filter(|row| row.outcome == Outcome::Unknown).count();
    let before: usize = pairing.tasks.iter().map(|task| unknown(&task.baseline)).sum();
    let after: usize = pairing.tasks.iter().map(|task| unknown(&task.candidate)).sum();
    let untold_runs = (before, after);
    if before + after > 0 {
        let message = format!(
            "runs of which the trace does not tell how they ended: {before} of the baseline, {after} of the candidate; they are in no completion rate"
        );
        notices.push(Notice { code: "unknown_outcome", message, count: (before + after) as u64 });
    }
    let excused = |rows: &[&RunRow]| {
        rows.iter().filter(|row| row.infra_excused && row.outcome.ended()).count()
    };
    let before: usize = pairing.tasks.iter().map(|task| excused(&task.baseline)).sum();
    let after: usize = pairing.tasks.iter().map(|task| excused(&task.candidate)).sum();
    if before + after > 0 {
        let message = format!(
            "runs that failed by the infrastructure: {before} of the baseline, {after} of the candidate; they are in no completion rate"
        );
        notices.push(Notice { code: "infra_runs", message, count: (before + after) as u64 });
    }
    if pairing.mode == Mode::Paired && pairing.without_task != (0, 0) {
        let (before, after) = pairing.without_task;
        let message = format!(
            "runs without a task id cannot be paired and are left out: {before} of the baseline, {after} of the candidate"
        );
        notices.push(Notice { code: "without_task", message, count: (before + after) as u64 });
    }
    let known = |rows: &[&RunRow]| rows.iter().any(|row| row.counts_as_ended());
    let untold = |task: &&PairedTask<'_>| {
        known(&task.baseline) && unknown(&task.candidate) > 0 && !known(&task.candidate)
    };
    let tasks = pairing.tasks.iter().filter(untold).count();
    let runs = |side: fn(&PairedTask<'_>) -> usize| pairing.tasks.iter().map(side).sum::<usize>();
    let of_candidate = runs(|task| task.candidate.len()).max(1);
    let of_baseline = runs(|task| task.baseline.len()).max(1);
    // A candidate that tells less than the baseline may have lost the word of its failures.
    let tells_less =
        count(untold_runs.1) / count(of_candidate) > count(untold_runs.0) / count(of_baseline);
    let passed = |metric: &&mut GatedMetric| {
        counts_lost(metric.metric) && matches!(metric.verdict, Verdict::Pass | Verdict::Improved)
    };
    if tasks > 0 || tells_less {
        let reason = format!(
            "{} runs of the candidate do not tell how they ended, all of those of {tasks} tasks among them",
            untold_runs.1
        );
        for metric in gated.iter_mut().filter(passed) {
            metric.verdict = Verdict::Inconclusive;
            metric.within_tolerance = false;
            metric.reason = Some(reason.clone());
        }
    }
}

/// The margin in the figure's unit.
pub(super) fn margin(metric: &Metric, evidence: &Evidence, config: &EvalConfig) -> Option<f64> {
    let info = metric.info();
    let margin = match config.gate.margin(info) {
        Margin::Absolute(margin) => margin,
        Margin::Relative(share) => share * evidence.baseline?.abs(),
    };
    let count = matches!(info.unit, Unit::Count | Unit::Steps);
    let asked_for = config.gate.margins.contains_key(info.name);
    Some(if count && !asked_for { margin.max(LEAST_COUNT_MARGIN) } else { margin })
}

/// One figure, not yet judged.
fn one(
    metric: &'static Metric,
    missing: Vec<Option<String>>,
    pairing: &Pairing<'_>,
    all: &Set<'_>,
    config: &EvalConfig,
    options: &GateOptions,
) -> GatedMetric {
    let sides = ["the baseline", "the candidate"];
    let lacks = missing.into_iter().zip(sides).find_map(|(why, side)| Some((why?, side)));
    let evidence = match (Kind::of(metric), lacks) {
        (_, Some((why, side))) => Evidence::none(format!("not measured in {side}: {why}")),
        (None, None) => Evidence::none("this figure is only shown"),
        (Some(kind), None) => Evidence::of(&Sample::of(pairing, metric, all), kind, &options.tests),
    };
    let harm = Harm::of(&evidence, metric.info().better).unwrap_or_default();
    GatedMetric {
        metric,
        margin: margin(metric, &evidence, config),
        harm,
        p_adjusted: None,
        gain_adjusted: None,
        verdict: Verdict::Inconclusive,
        within_tolerance: false,
        detectable: None,
        needed: None,
        reason: evidence.reason.clone(),
        evidence,
    }
}

/// Corrects the p-values over all figures, and decides.
fn adjust(gated: &mut [GatedMetric], levels: Levels, options: &GateOptions) {
    let adjusted = |p: fn(&Harm) -> Option<f64>| {
        let tested: Vec<f64> = gated.iter().filter_map(|metric| p(&metric.harm)).collect();
        let mut corrected = holm(&tested).into_iter();
        gated
            .iter()
            .map(|metric| p(&metric.harm).and_then(|_| corrected.next()))
            .collect::<Vec<Option<f64>>>()
    };
    let harm = adjusted(|harm| harm.p_harm);
    let gain = adjusted(|harm| harm.p_gain);
    // A figure that alone is worse is tested at the first step of Holm's correction.
    let tested = harm.iter().flatten().count().max(1);
    let sizes = SizeLevels { bound: options.tests.alpha, harm: levels.harm / count(tested) };
    for ((metric, p_harm), p_gain) in gated.iter_mut().zip(harm).zip(gain) {
        let bound = metric.harm.bound;
        metric.p_adjusted = p_harm;
        metric.gain_adjusted = p_gain;
        let Some(margin) = metric.margin else { continue };
        metric.verdict = decide(p_harm, p_gain, bound, margin, levels);
        let sure = p_harm.is_some_and(|p| p <= levels.harm);
        metric.within_tolerance = metric.verdict == Verdict::Pass && sure;
        // A share cannot change by more than 1: then nothing is told.
        let share = metric.metric.info().unit == Unit::Ratio;
        metric.detectable =
            metric.evidence.detectable(sizes.harm).filter(|size| !share || *size <= 1.0);
        if metric.verdict == Verdict::Inconclusive {
            metric.needed = needed(metric, margin, sizes);
            if let Some(p) = metric.evidence.smallest_p.filter(|p| *p > sizes.harm) {
                metric.reason.get_or_insert(format!(
                    "cannot detect: the smallest possible p is {}, above {}",
                    short(p),
                    short(sizes.harm)
                ));
            }
        }
    }
}

/// What would decide, on the scale of the error.
fn needed(metric: &GatedMetric, margin: f64, levels: SizeLevels) -> Option<Needed> {
    let harm = metric.harm.estimate?;
    let (harm, margin) = match (metric.evidence.ratio, metric.evidence.baseline) {
        (Some(_), Some(baseline)) => ((harm / baseline).ln_1p(), (margin / baseline).ln_1p()),
        _ => (harm, margin),
    };
    Needed::of(&metric.evidence, harm, margin, levels)
}

/// A p-value for a sentence.
fn short(p: f64) -> String {
    if p >= 0.001 { format!("{p:.3}") } else { format!("{p:.1e}") }
}
