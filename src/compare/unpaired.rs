//! Comparison of two samples of tasks that cannot be paired.
//!
//! A task with all its runs is one observation; a run without a task id is its own. Differences
//! between tasks are in the error here, which makes it far larger than that of a paired comparison.
//!
//! P-values are those of Welch's t, or the cluster-robust t of a ratio, under relabelling of whole
//! tasks. Its own t law will not do: with 10 skewed tasks against 40 it alarms in up to 15% of all
//! comparisons of equal agents (`docs/gate-calibration.md`). Intervals are still those of t. Where
//! tasks of rates have other numbers of trials, both have to agree.

use super::evidence::{
    Evidence, Kind, TestOptions, count, fewest_runs, logs_exist, mean, trials, values,
};
use super::paired::{bounded, clusters, of_intervals, quotient, with_interval};
use super::sample::{Part, TaskSample};
use crate::stats::{
    Cluster, Difference, NoInterval, Stratum, Tails, TaskValues, Trials, effective_n, icc_oneway,
    newcombe, permute_tasks, ratio_difference_unpaired, smallest_p, stratified_exact, welch,
};

/// The tasks of one side.
struct Arms<'t> {
    baseline: Vec<&'t Vec<Part>>,
    candidate: Vec<&'t Vec<Part>>,
}

/// Compares two samples of tasks.
pub(super) fn compare(tasks: &[TaskSample], kind: Kind, options: &TestOptions) -> Evidence {
    let side = |arm: fn(&TaskSample) -> &Vec<Part>| {
        tasks.iter().map(arm).filter(|parts| !parts.is_empty()).collect::<Vec<_>>()
    };
    let arms =
        Arms { baseline: side(|task| &task.baseline), candidate: side(|task| &task.candidate) };
    if arms.baseline.len() < 2 || arms.candidate.len() < 2 {
        return Evidence::none("fewer than 2 tasks, or runs without one, on a side");
    }
    match kind {
        Kind::RunShare => run_share(&arms, options),
        Kind::Count => means(&arms, |parts| mean(&values(parts)), Pseudo::OneRun, options),
        Kind::Amount if logs_exist(tasks) => logs(&arms, options),
        Kind::Amount => means(&arms, |parts| mean(&values(parts)), Pseudo::MeanRun, options),
        Kind::Ratio { share } => ratio(&arms, share, options),
        Kind::PassK(of) => pass_k(&arms, of, options),
    }
}

fn run_share(arms: &Arms<'_>, options: &TestOptions) -> Evidence {
    let share = |arm: &[&Vec<Part>]| {
        let runs: usize = arm.iter().map(|parts| parts.len()).sum();
        let successes =
            arm.iter().flat_map(|parts| parts.iter()).filter(|part| part.0 > 0.0).count();
        (successes, runs)
    };
    let ((b_successes, b_runs), (c_successes, c_runs)) =
        (share(&arms.baseline), share(&arms.candidate));
    let one_run_each = arms.baseline.iter().chain(&arms.candidate).all(|parts| parts.len() == 1);
    if !one_run_each {
        let welch = means(arms, |parts| mean(&values(parts)), Pseudo::OneOutcome, options);
        let effective = |arm: &[&Vec<Part>]| {
            let groups: Vec<Vec<f64>> = arm.iter().map(|parts| values(parts)).collect();
            let (_, runs) = share(arm);
            let trials = count(runs) / count(arm.len());
            let of_all = mean(&arm.iter().map(|parts| mean(&values(parts))).collect::<Vec<_>>());
            let n = effective_n(count(runs), trials, icc_oneway(&groups).unwrap_or(1.0));
            (of_all * n, n)
        };
        let (b, c) = (effective(&arms.baseline), effective(&arms.candidate));
        return Evidence { reason: None, ..newcombe_interval(c, b, options).over(welch) };
    }
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let exact = stratified_exact(&[Stratum {
        candidate_successes: small(c_successes),
        candidate_runs: small(c_runs),
        baseline_successes: small(b_successes),
        baseline_runs: small(b_runs),
    }]);
    let (p, test) =
        if options.exact { (exact.strict, "Fisher") } else { (exact.mid, "Fisher mid-p") };
    let before = count(b_successes) / count(b_runs);
    let after = count(c_successes) / count(c_runs);
    let smallest = smallest_p(std::iter::once((small(b_runs), small(c_runs))));
    let interval = newcombe_interval(
        (count(c_successes), count(c_runs)),
        (count(b_successes), count(b_runs)),
        options,
    );
    Evidence {
        baseline: Some(before),
        candidate: Some(after),
        difference: Some(after - before),
        p: Some(p),
        test,
        smallest_p: Some(if options.exact { smallest } else { smallest / 2.0 }),
        ..interval
    }
}

/// Newcombe's interval, from successes and numbers of both sides.
fn newcombe_interval(
    candidate: (f64, f64),
    baseline: (f64, f64),
    options: &TestOptions,
) -> Evidence {
    of_intervals(|level| newcombe(candidate, baseline, level), options)
}

impl Evidence {
    /// This with the p-values of tasks that change sides.
    fn permuted(
        self,
        candidate: &[Part],
        baseline: &[Part],
        pseudo: &[Part],
        options: &TestOptions,
    ) -> Self {
        let found = permute_tasks(candidate, baseline, pseudo, options.draws);
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let strict = smallest_p(std::iter::once((small(baseline.len()), small(candidate.len()))));
        let drawn = 1.0 / (f64::from(options.draws.count) + 1.0);
        let smallest = found.map(|found| if found.exhaustive { strict } else { drawn });
        Self { p: found.map(|found| found.p), smallest_p: smallest, ..self }
    }

    /// This interval in place of the one of a test.
    fn over(self, test: Self) -> Self {
        Self { interval: self.interval, bounds: self.bounds, error: self.error, ..test }
    }
}

/// What stands for a difference of one run where a side has no spread.
#[derive(Clone, Copy)]
enum Pseudo {
    /// One more, or one less, in one run; of a count.
    OneRun,
    /// The same of a rate, which lies between 0 and 1.
    OneOutcome,
    /// As much as one run has.
    MeanRun,
    /// This much, on the log scale, in one run.
    Log(f64),
}

/// Two tasks that every side of a rate is taken to have besides: one that failed, one that did not.
const OUTCOMES: [Part; 2] = [(0.0, 1.0), (1.0, 1.0)];

/// Welch's t over one value a task, and its p as tasks change sides.
fn means(
    arms: &Arms<'_>,
    value: impl Fn(&[Part]) -> f64,
    pseudo: Pseudo,
    options: &TestOptions,
) -> Evidence {
    let side = |arm: &[&Vec<Part>]| arm.iter().map(|parts| value(parts)).collect::<Vec<f64>>();
    let (before, after) = (side(&arms.baseline), side(&arms.candidate));
    let fewest = fewest_runs(arms.baseline.iter().chain(&arms.candidate).copied()).unwrap_or(1);
    #[expect(clippy::cast_precision_loss, reason = "a number of runs")]
    let fewest = fewest as f64;
    let step = match pseudo {
        Pseudo::OneRun | Pseudo::OneOutcome => 1.0,
        Pseudo::MeanRun => f64::midpoint(mean(&before), mean(&after)),
        Pseudo::Log(step) => step,
    } / fewest;
    let found = adjusted_welch(&after, &before, step);
    let (baseline, candidate) = (mean(&before), mean(&after));
    let ones = |side: &[f64]| side.iter().map(|value| (*value, 1.0)).collect::<Vec<Part>>();
    let evidence = Evidence {
        baseline: Some(baseline),
        candidate: Some(candidate),
        difference: Some(candidate - baseline),
        test: "task permutation of Welch t",
        ..with_interval(found, options)
    };
    if !matches!(pseudo, Pseudo::OneOutcome) {
        return evidence.permuted(&ones(&after), &ones(&before), &[], options);
    }
    // A rate of few tasks may have no spread by chance.
    let evidence = evidence.permuted(&ones(&after), &ones(&before), &OUTCOMES, options);
    let mut trials = arms.baseline.iter().chain(&arms.candidate).map(|parts| parts.len());
    let first = trials.next();
    if trials.all(|runs| Some(runs) == first) {
        return evidence;
    }
    // With other numbers of trials tasks are not alike: rates of single runs are 0 or 1, means of
    // many lie between, and few of the former are all 0 far more often than as many of the latter.
    let added = |side: &[f64]| [side, &OUTCOMES.map(|(outcome, _)| outcome)].concat();
    let t = welch(&added(&after), &added(&before)).ok().and_then(|found| found.tails());
    let p = evidence
        .p
        .zip(t)
        .map(|(p, t)| Tails { less: p.less.max(t.less), greater: p.greater.max(t.greater) });
    Evidence { p, ..evidence }
}

/// Welch's t; a side without spread gets two pseudo tasks at `step` around its mean, so that no
/// interval has a width of zero.
fn adjusted_welch(after: &[f64], before: &[f64], step: f64) -> Result<Difference, NoInterval> {
    let widened = |side: &[f64]| {
        let mean = mean(side);
        let mut side = side.to_vec();
        if side.iter().all(|value| *value == side[0]) {
            side.extend([mean - step, mean + step]);
        }
        side
    };
    welch(&widened(after), &widened(before))
}

fn logs(arms: &Arms<'_>, options: &TestOptions) -> Evidence {
    let log =
        |parts: &[Part]| mean(&parts.iter().map(|(amount, _)| amount.ln()).collect::<Vec<_>>());
    let found = means(arms, log, Pseudo::Log(std::f64::consts::LN_2), options);
    let baseline = found.baseline.unwrap_or_default().exp();
    Evidence { test: "task permutation of Welch t of logs", ..found.out_of_logs(baseline) }
}

fn ratio(arms: &Arms<'_>, share: bool, options: &TestOptions) -> Evidence {
    let baseline = clusters(arms.baseline.iter().copied());
    let candidate = clusters(arms.candidate.iter().copied());
    let (Some(before), Some(after)) = (quotient(&baseline), quotient(&candidate)) else {
        return Evidence::none("nothing to divide by on one side");
    };
    let found = ratio_difference_unpaired(&candidate, &baseline);
    let spread = found.as_ref().ok().filter(|found| found.error > 0.0);
    let evidence = match spread {
        Some(found) => with_interval(Ok(*found), options),
        // Without spread on either side there is still an interval of each.
        None if share => bounded(&baseline, &candidate, options),
        None => Evidence::none("no interval: no spread between tasks"),
    };
    let sums = |side: &[Cluster]| {
        side.iter().map(|task| (task.numerator, task.denominator)).collect::<Vec<Part>>()
    };
    let evidence = Evidence {
        baseline: Some(before),
        candidate: Some(after),
        difference: Some(after - before),
        test: "task permutation of the ratio's t",
        ..evidence
    };
    evidence.permuted(&sums(&candidate), &sums(&baseline), &[], options)
}

fn pass_k(
    arms: &Arms<'_>,
    of: fn(&[Trials], u64) -> TaskValues,
    options: &TestOptions,
) -> Evidence {
    let all = arms.baseline.iter().chain(&arms.candidate).copied();
    let Some(k) = fewest_runs(all) else { return Evidence::none("no trial") };
    let at_k = |parts: &[Part]| of(&[trials(parts)], k).values.first().copied().unwrap_or_default();
    means(arms, at_k, Pseudo::OneOutcome, options)
}
