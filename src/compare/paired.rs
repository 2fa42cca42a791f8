//! Comparison of the same tasks on both sides.
//!
//! Every task is its own stratum: under no difference the runs of one task could carry either
//! label. What differs between tasks (their difficulty) is in no error.

use super::evidence::{
    Evidence, Kind, Spread, TestOptions, count, fewest_runs, logs_exist, mean, small, trials,
};
use super::sample::{Part, TaskSample};
use crate::metrics::LEVEL;
use crate::stats::{
    Arms, Cluster, Design, Difference, NoInterval, Permuted, Stratum, TaskValues, Trials,
    adjusted_paired_t, effective_n, mean_and_error, mover, normal_quantile, paired_t,
    permute_mean_difference, permute_ratio, ratio_difference, ratio_difference_unpaired,
    smallest_p, split_variance, stratified_exact,
};

/// Compares tasks that have runs on both sides.
pub(super) fn compare(tasks: &[TaskSample], kind: Kind, options: &TestOptions) -> Evidence {
    if tasks.is_empty() {
        return Evidence::none("no task has such runs on both sides");
    }
    let evidence = match kind {
        Kind::RunShare => run_share(tasks, options),
        Kind::Count => counts(tasks, options),
        Kind::Amount if logs_exist(tasks) => logs(tasks, options),
        Kind::Amount => amounts(tasks, options),
        Kind::Ratio { share } => ratio(tasks, share, options),
        Kind::PassK(of) => pass_k(tasks, of, options),
    };
    let permuted = !matches!(kind, Kind::PassK(_));
    Evidence { smallest_p: permuted.then(|| smallest(tasks, &evidence, options)), ..evidence }
}

/// The smallest p of any outcome: every run of one label above every run of the other.
fn smallest(tasks: &[TaskSample], evidence: &Evidence, options: &TestOptions) -> f64 {
    let strict = smallest_p(sizes(tasks));
    if evidence.test.ends_with(MID) {
        strict / 2.0
    } else if evidence.test.starts_with(EXACT) {
        strict
    } else {
        strict.max(1.0 / (f64::from(options.draws.count) + 1.0))
    }
}

const EXACT: &str = "stratified exact";
const MID: &str = "mid-p";
const PERMUTATION: &str = "label permutation";

fn sizes(tasks: &[TaskSample]) -> impl Iterator<Item = (u32, u32)> {
    tasks.iter().map(|task| (small(task.baseline.len()), small(task.candidate.len())))
}

/// The values of each task: of the baseline and of the candidate.
fn by_task(tasks: &[TaskSample], value: impl Fn(&Part) -> f64) -> Vec<(Vec<f64>, Vec<f64>)> {
    let side = |parts: &[Part]| parts.iter().map(&value).collect::<Vec<_>>();
    tasks.iter().map(|task| (side(&task.baseline), side(&task.candidate))).collect()
}

/// Task means of both sides, and their differences.
struct Means {
    baseline: f64,
    candidate: f64,
    differences: Vec<f64>,
    /// Fewest runs of a task and side.
    fewest: usize,
    /// The error of the mean difference that runs of one task alone would make; 0 where no task has
    /// two on a side.
    floor: f64,
}

impl Means {
    fn of(tasks: &[(Vec<f64>, Vec<f64>)]) -> Self {
        let (mut baseline, mut candidate) = (Vec::new(), Vec::new());
        for (b, c) in tasks {
            baseline.push(mean(b));
            candidate.push(mean(c));
        }
        let spreads = tasks.iter().flat_map(|(b, c)| [b, c]).filter(|arm| arm.len() > 1);
        let (sum, arms) = spreads.fold((0.0, 0), |(sum, n), arm| (sum + variance(arm), n + 1));
        let of_runs = if arms > 0 { sum / count(arms) } else { 0.0 };
        let inverse = tasks.iter().map(|(b, c)| 1.0 / count(b.len()) + 1.0 / count(c.len()));
        let m = count(tasks.len());
        Self {
            floor: (of_runs * inverse.sum::<f64>()).sqrt() / m,
            differences: candidate.iter().zip(&baseline).map(|(c, b)| c - b).collect(),
            baseline: mean(&baseline),
            candidate: mean(&candidate),
            fewest: tasks.iter().map(|(b, c)| b.len().min(c.len())).min().unwrap_or(1).max(1),
        }
    }

    /// Of differences of task means with their interval. The error is not smaller than what runs of
    /// one task differ by explains: a few tasks that happen to differ alike prove nothing, however
    /// many runs each has.
    fn evidence(&self, found: Result<Difference, NoInterval>, options: &TestOptions) -> Evidence {
        let found = found.map(|found| Difference { error: found.error.max(self.floor), ..found });
        Evidence {
            baseline: Some(self.baseline),
            candidate: Some(self.candidate),
            difference: Some(mean(&self.differences)),
            ..with_interval(found, options)
        }
    }
}

/// The interval, the bounds and the error of a difference; or why there are none.
pub(super) fn with_interval(
    found: Result<Difference, NoInterval>,
    options: &TestOptions,
) -> Evidence {
    let bounded = found.and_then(|found| {
        let level = 1.0 - options.alpha;
        Ok((found.interval(LEVEL)?, (found.lower(level)?, found.upper(level)?), found.error))
    });
    match bounded {
        Ok((interval, bounds, error)) => Evidence {
            interval: Some(interval),
            bounds: Some(bounds),
            error: Some(error),
            ..Evidence::default()
        },
        Err(reason) => Evidence::none(format!("no interval: {reason}")),
    }
}

/// The sample variance of two values or more.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count(values.len() - 1)
}

/// Relabels the runs of each task, with the mean over tasks of the difference of their means.
fn permute_means(tasks: &[(Vec<f64>, Vec<f64>)], options: &TestOptions) -> Option<Permuted> {
    let design = Design::new(tasks.iter().map(|(b, c)| (small(b.len()), small(c.len()))))?;
    let values: Vec<f64> = tasks.iter().flat_map(|(b, c)| b.iter().chain(c)).copied().collect();
    permute_mean_difference(&design, &values, options.draws)
}

fn run_share(tasks: &[TaskSample], options: &TestOptions) -> Evidence {
    let by_task = by_task(tasks, |(success, _)| *success);
    let means = Means::of(&by_task);
    let pseudo = 1.0 / count(means.fewest);
    let evidence = means.evidence(adjusted_paired_t(&means.differences, pseudo), options);
    let spread = spread(&by_task, evidence.error);
    // The exact test weights a task by the harmonic mean of its runs: where that is not the same
    // for all, sign and p could disagree with the mean over tasks that is shown.
    let weight = |(b, c): (u32, u32)| (u64::from(b) * u64::from(c), u64::from(b) + u64::from(c));
    let mut weights = sizes(tasks).map(weight);
    let first = weights.next();
    let equal = weights.all(|(product, sum)| {
        first.is_some_and(|(p, s)| {
            u128::from(product) * u128::from(s) == u128::from(p) * u128::from(sum)
        })
    });
    let (p, test) = if equal {
        let strata: Vec<Stratum> = tasks.iter().map(stratum).collect();
        let exact = stratified_exact(&strata);
        let p = if options.exact { exact.strict } else { exact.mid };
        let test = match (exact.approximate, options.exact) {
            (true, _) => "stratified exact, its law taken as normal",
            (false, true) => EXACT,
            (false, false) => "stratified exact mid-p",
        };
        (Some(p), test)
    } else {
        let permuted = permute_means(&by_task, options);
        let p = permuted.map(|permuted| if options.exact { permuted.p } else { permuted.mid });
        (p, if options.exact { PERMUTATION } else { "label permutation mid-p" })
    };
    Evidence { p, test, spread, ..evidence }
}

fn stratum(task: &TaskSample) -> Stratum {
    let successes =
        |parts: &[Part]| small(parts.iter().filter(|(success, _)| *success > 0.0).count());
    Stratum {
        candidate_successes: successes(&task.candidate),
        candidate_runs: small(task.candidate.len()),
        baseline_successes: successes(&task.baseline),
        baseline_runs: small(task.baseline.len()),
    }
}

fn counts(tasks: &[TaskSample], options: &TestOptions) -> Evidence {
    let by_task = by_task(tasks, |(count, _)| *count);
    let means = Means::of(&by_task);
    let pseudo = 1.0 / count(means.fewest);
    let evidence = means.evidence(adjusted_paired_t(&means.differences, pseudo), options);
    let spread = spread(&by_task, evidence.error);
    let p = permute_means(&by_task, options).map(|permuted| permuted.p);
    Evidence { p, test: PERMUTATION, spread, ..evidence }
}

/// Amounts as the ratio of their geometric means.
fn logs(tasks: &[TaskSample], options: &TestOptions) -> Evidence {
    let by_task = by_task(tasks, |(amount, _)| amount.ln());
    let means = Means::of(&by_task);
    let plain = paired_t(&means.differences).ok().filter(|found| found.error > 0.0);
    // Without spread, as if two tasks had one run that takes twice or half as much.
    let pseudo = std::f64::consts::LN_2 / count(means.fewest);
    let found = plain.map_or_else(|| adjusted_paired_t(&means.differences, pseudo), Ok);
    let evidence = means.evidence(found, options).out_of_logs(means.baseline.exp());
    let spread = spread(&by_task, evidence.error);
    let p = permute_means(&by_task, options).map(|permuted| permuted.p);
    Evidence { p, test: "label permutation of logs", spread, ..evidence }
}

/// Amounts of which some are 0, so that their logs do not exist.
fn amounts(tasks: &[TaskSample], options: &TestOptions) -> Evidence {
    let by_task = by_task(tasks, |(amount, _)| *amount);
    let means = Means::of(&by_task);
    let plain = paired_t(&means.differences).ok().filter(|found| found.error > 0.0);
    let pseudo = f64::midpoint(means.baseline, means.candidate) / count(means.fewest);
    let found = match plain {
        Some(found) => Ok(found),
        None if pseudo > 0.0 => adjusted_paired_t(&means.differences, pseudo),
        None => Err(NoInterval::NoSpread),
    };
    let evidence = means.evidence(found, options);
    let spread = spread(&by_task, evidence.error);
    let p = permute_means(&by_task, options).map(|permuted| permuted.p);
    Evidence { p, test: PERMUTATION, spread, ..evidence }
}

/// The sums of one side, task by task.
pub(super) fn clusters<'t>(arms: impl Iterator<Item = &'t Vec<Part>>) -> Vec<Cluster> {
    let sum = |parts: &Vec<Part>| {
        parts.iter().fold(Cluster::default(), |sum, (numerator, denominator)| {
            Cluster::new(sum.numerator + numerator, sum.denominator + denominator)
        })
    };
    arms.map(sum).collect()
}

fn ratio(tasks: &[TaskSample], share: bool, options: &TestOptions) -> Evidence {
    let baseline = clusters(tasks.iter().map(|task| &task.baseline));
    let candidate = clusters(tasks.iter().map(|task| &task.candidate));
    let (Some(before), Some(after)) = (quotient(&baseline), quotient(&candidate)) else {
        return Evidence::none("nothing to divide by on one side");
    };
    let paired = ratio_difference(&candidate, &baseline).ok().filter(|found| found.error > 0.0);
    // Two equal sides have no spread of differences; as independent samples they still do.
    let apart = || ratio_difference_unpaired(&candidate, &baseline).ok();
    let found = paired.or_else(|| apart().filter(|found| found.error > 0.0));
    let evidence = match found {
        Some(found) => with_interval(Ok(found), options),
        // No task and no run differs: as if in two tasks one step of one run had another outcome,
        // where steps of a run are alike by half: errors come in whole runs as well as one by one.
        None if share => {
            let runs = tasks.iter().map(|task| task.baseline.len().min(task.candidate.len())).min();
            let steps = tasks.iter().flat_map(|task| task.baseline.iter().chain(&task.candidate));
            let (runs_all, total) = steps.fold((0, 0.0), |(n, sum), (_, d)| (n + 1, sum + d));
            let length = (total / count(runs_all)).max(1.0);
            let per_run = effective_n(length, length, STEPS_ALIKE);
            let pseudo = 1.0 / (count(runs.unwrap_or(1).max(1)) * per_run);
            with_interval(adjusted_paired_t(&vec![after - before; tasks.len()], pseudo), options)
        }
        None => Evidence::none("no interval: no spread between tasks"),
    };
    let parts = tasks.iter().flat_map(|task| task.baseline.iter().chain(&task.candidate));
    let runs: Vec<Cluster> = parts.map(|(n, d)| Cluster::new(*n, *d)).collect();
    let p = Design::new(sizes(tasks))
        .and_then(|design| permute_ratio(&design, &runs, options.draws))
        .map(|permuted| permuted.p);
    // What a run adds to the error of a ratio, as if it were a value of its own.
    let residuals = |arm: &dyn Fn(&TaskSample) -> &Vec<Part>, ratio: f64| -> Vec<Vec<f64>> {
        let sums = tasks.iter().flat_map(arm).map(|(_, d)| *d);
        let runs = tasks.iter().map(|task| arm(task).len()).sum::<usize>();
        let length = sums.sum::<f64>() / count(runs.max(1));
        let of_task = |task: &TaskSample| {
            arm(task).iter().map(|(n, d)| (n - ratio * d) / length).collect::<Vec<f64>>()
        };
        tasks.iter().map(of_task).collect()
    };
    let values: Vec<(Vec<f64>, Vec<f64>)> = residuals(&|task| &task.baseline, before)
        .into_iter()
        .zip(residuals(&|task| &task.candidate, after))
        .collect();
    let spread = spread(&values, evidence.error);
    Evidence {
        baseline: Some(before),
        candidate: Some(after),
        difference: Some(after - before),
        p,
        test: PERMUTATION,
        spread,
        ..evidence
    }
}

/// How alike the steps of one run are taken to be, where there is nothing to tell it from.
const STEPS_ALIKE: f64 = 0.5;

/// Sum of numerators over sum of denominators.
pub(super) fn quotient(clusters: &[Cluster]) -> Option<f64> {
    let numerator: f64 = clusters.iter().map(|cluster| cluster.numerator).sum();
    let denominator: f64 = clusters.iter().map(|cluster| cluster.denominator).sum();
    Some(numerator / denominator).filter(|_| denominator > 0.0).filter(|ratio| ratio.is_finite())
}

/// The difference of two shares of which neither has any spread, from the interval of each.
pub(super) fn bounded(
    baseline: &[Cluster],
    candidate: &[Cluster],
    options: &TestOptions,
) -> Evidence {
    let at = |level: f64| {
        let side = |clusters: &[Cluster]| {
            let interval = crate::stats::clustered_wilson(clusters, level)?;
            Ok::<_, NoInterval>((
                quotient(clusters).unwrap_or_default(),
                (interval.low, interval.high),
            ))
        };
        let ((c, c_interval), (b, b_interval)) = (side(candidate)?, side(baseline)?);
        Ok::<_, NoInterval>(mover((c, c_interval), (b, b_interval)))
    };
    of_intervals(at, options)
}

/// From a two-sided interval at any level; its error is as large as one with this interval would be.
pub(super) fn of_intervals(
    at: impl Fn(f64) -> Result<(f64, f64), NoInterval>,
    options: &TestOptions,
) -> Evidence {
    match at(LEVEL).and_then(|interval| Ok((interval, at(1.0 - 2.0 * options.alpha)?))) {
        Ok((interval, bounds)) => Evidence {
            interval: Some(interval),
            bounds: Some(bounds),
            error: normal_quantile(0.5 + LEVEL / 2.0)
                .map(|z| (interval.1 - interval.0) / (2.0 * z)),
            ..Evidence::default()
        },
        Err(reason) => Evidence::none(format!("no interval: {reason}")),
    }
}

/// pass^k and pass@k by task, at the largest k that all allow on both sides.
fn pass_k(
    tasks: &[TaskSample],
    of: fn(&[Trials], u64) -> TaskValues,
    options: &TestOptions,
) -> Evidence {
    let arms = tasks.iter().flat_map(|task| [&task.baseline, &task.candidate]);
    let Some(k) = fewest_runs(arms) else { return Evidence::none("no trial") };
    let side = |arm: fn(&TaskSample) -> &Vec<Part>| {
        let trials: Vec<Trials> = tasks.iter().map(|task| trials(arm(task))).collect();
        of(&trials, k).values
    };
    let (before, after) = (side(|task| &task.baseline), side(|task| &task.candidate));
    let pairs: Vec<_> = before.into_iter().zip(after).map(|(b, c)| (vec![b], vec![c])).collect();
    let means = Means::of(&pairs);
    let fewest = count(usize::try_from(k).unwrap_or(usize::MAX));
    let found = adjusted_paired_t(&means.differences, 1.0 / fewest);
    let p = found.as_ref().ok().and_then(Difference::tails);
    let evidence = means.evidence(found, options);
    Evidence { p, test: "adjusted paired t", k: Some(k), ..evidence }
}

/// Splits the variance of task differences.
fn spread(tasks: &[(Vec<f64>, Vec<f64>)], error: Option<f64>) -> Option<Spread> {
    let m = count(tasks.len());
    let total = error?.powi(2) * m;
    let arms: Vec<Arms<'_>> =
        tasks.iter().map(|(baseline, candidate)| Arms { candidate, baseline }).collect();
    let trials =
        |arm: fn(&Arms<'_>) -> usize| arms.iter().map(|task| count(arm(task))).sum::<f64>() / m;
    let differences: Vec<f64> = tasks.iter().map(|(b, c)| mean(c) - mean(b)).collect();
    // Of one task there is no variance to be seen: all of it is the interval's.
    let seen = mean_and_error(&differences).map_or(0.0, |(_, error)| error.powi(2) * m);
    Some(Spread {
        total,
        split: Some(split_variance(seen, &arms)?),
        pseudo: (total - seen).max(0.0),
        trials: (trials(|task| task.baseline.len()), trials(|task| task.candidate.len())),
    })
}
