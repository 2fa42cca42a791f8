//! The time that people need for the tasks that an agent completes half of the time: METR's time
//! horizon (STATISTICS.md, section 1; Kwa et al. 2025).
//!
//! Owns: the weights, the ridge fit of success on the logarithm of minutes, and its bootstrap over
//! families, tasks and runs. Refuses: what counts as success, and any task without a length.

use super::logistic::{Link, ShareFit, SharePoint, fit_share};
use super::quantile::quantile_type7;
use super::random::SplitMix64;

/// One task of known length, with the scores of its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedTask {
    /// Which family it belongs to.
    pub family: u32,
    /// Minutes that a person needs for it; above 0.
    pub minutes: f64,
    /// The score of each run, 0 to 1.
    pub scores: Vec<f64>,
}

/// How runs are weighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunWeights {
    /// Each run the same.
    Runs,
    /// Each task the same.
    Tasks,
    /// Each task by one over the root of the number of tasks in its family, as METR does.
    InverseRoot,
}

/// How a horizon is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HorizonSettings {
    /// Penalty of the slope beside weights that sum to 1; METR uses .1.
    pub ridge: f64,
    /// The weights.
    pub weights: RunWeights,
    /// Draws of the bootstrap.
    pub draws: u32,
    /// Its seed.
    pub seed: u64,
    /// Level of the intervals, such as .95.
    pub level: f64,
}

/// A horizon with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HorizonAt {
    /// The share of success.
    pub share: f64,
    /// Minutes; `None` where success does not fall with length.
    pub minutes: Option<f64>,
    /// Its interval; an end may be 0 or infinite.
    pub interval: Option<(f64, f64)>,
    /// Whether it lies outside of the lengths that were seen.
    pub extrapolated: bool,
}

/// What the runs of one agent say.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeHorizon {
    /// Runs.
    pub runs: u64,
    /// Tasks.
    pub tasks: u64,
    /// Families.
    pub families: u64,
    /// Weighted share of success.
    pub mean: f64,
    /// The curve over log2 of minutes; `None` where all or no runs passed.
    pub fit: Option<ShareFit>,
    /// The ridge that was used: that of the settings, or .1 where without one there is no finite curve.
    pub ridge: f64,
    /// Whether that ridge stands in, because without one there is no finite curve.
    pub stood_in: bool,
    /// The horizons, in the order asked for.
    pub at: Vec<HorizonAt>,
    /// Draws of the bootstrap that have no curve: all or none of their runs passed, or all their
    /// tasks have one length.
    pub without_curve: u32,
    /// Draws whose success rises with length.
    pub rising: u32,
}

/// The ridge that stands in where the two kinds of runs lie on two sides of a length.
const SEPARATED: f64 = 0.1;

/// Values that draws must give for an interval.
const LEAST_DISTINCT: usize = 20;

/// The horizons at `shares`.
///
/// `None` without a run, or with a length or score that is no number in its range.
#[must_use]
pub fn time_horizon(
    tasks: &[TimedTask],
    shares: &[f64],
    settings: HorizonSettings,
) -> Option<TimeHorizon> {
    let tasks: Vec<&TimedTask> = tasks.iter().filter(|task| !task.scores.is_empty()).collect();
    let sound = |task: &&TimedTask| {
        task.minutes.is_finite()
            && task.minutes > 0.0
            && task.scores.iter().all(|score| (0.0..=1.0).contains(score))
    };
    if tasks.is_empty() || !tasks.iter().all(sound) {
        return None;
    }
    let families = families(&tasks);
    let weights = weights(&tasks, &families, settings.weights);
    let points: Vec<SharePoint> = tasks
        .iter()
        .zip(&weights)
        .map(|(task, weight)| SharePoint {
            x: task.minutes.log2(),
            weight: weight * task.scores.len() as f64,
            passed: weight * task.scores.iter().sum::<f64>(),
        })
        .collect();
    let (fit, ridge) = curve(&points, settings.ridge);
    let (draws, without_curve, rising) = draw(&tasks, &families, &weights, shares, ridge, settings);
    let (least, most) = tasks.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), task| {
        (least.min(task.minutes), most.max(task.minutes))
    });
    let at = shares
        .iter()
        .zip(draws)
        .map(|(&share, mut values)| {
            let minutes = match fit {
                Some(fit) if fit.slope < 0.0 => fit.place_of(share).map(f64::exp2),
                Some(_) => None,
                // Nothing passed: no length is short enough.
                None => points.iter().all(|p| p.passed == 0.0).then_some(0.0),
            };
            values.sort_unstable_by(f64::total_cmp);
            let tail = (1.0 - settings.level) / 2.0;
            let ends = quantile_type7(&values, tail).zip(quantile_type7(&values, 1.0 - tail));
            // A few samples that come again and again are no interval.
            let mut distinct = values.clone();
            distinct.dedup();
            let ends = ends.filter(|(low, high)| low < high && distinct.len() >= LEAST_DISTINCT);
            HorizonAt {
                share,
                minutes,
                interval: ends.filter(|_| minutes.is_some()),
                extrapolated: minutes.is_some_and(|m| m < least || m > most),
            }
        })
        .collect();
    Some(TimeHorizon {
        runs: tasks.iter().map(|task| task.scores.len() as u64).sum(),
        tasks: tasks.len() as u64,
        families: families.len() as u64,
        mean: points.iter().map(|p| p.passed).sum::<f64>()
            / points.iter().map(|p| p.weight).sum::<f64>(),
        fit,
        ridge,
        stood_in: ridge > settings.ridge,
        at,
        without_curve,
        rising,
    })
}

/// The tasks of each family, by place.
fn families(tasks: &[&TimedTask]) -> Vec<Vec<usize>> {
    let mut by_family: std::collections::BTreeMap<u32, Vec<usize>> = Default::default();
    for (at, task) in tasks.iter().enumerate() {
        by_family.entry(task.family).or_default().push(at);
    }
    by_family.into_values().collect()
}

/// The weight of one run of each task; over all runs they sum to 1.
fn weights(tasks: &[&TimedTask], families: &[Vec<usize>], kind: RunWeights) -> Vec<f64> {
    let mut size = vec![1_usize; tasks.len()];
    for family in families {
        for &at in family {
            size[at] = family.len();
        }
    }
    let weights: Vec<f64> = tasks
        .iter()
        .zip(size)
        .map(|(task, family)| match kind {
            RunWeights::Runs => 1.0,
            RunWeights::Tasks => 1.0 / task.scores.len() as f64,
            RunWeights::InverseRoot => 1.0 / (task.scores.len() as f64 * (family as f64).sqrt()),
        })
        .collect();
    let total: f64 = tasks.iter().zip(&weights).map(|(t, w)| w * t.scores.len() as f64).sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// The curve and the ridge behind it.
fn curve(points: &[SharePoint], ridge: f64) -> (Option<ShareFit>, f64) {
    match fit_share(points, Link::Logit, ridge) {
        Some(fit) => (Some(fit), ridge),
        None if ridge < SEPARATED => {
            let fit = fit_share(points, Link::Logit, SEPARATED);
            (fit, if fit.is_some() { SEPARATED } else { ridge })
        }
        None => (None, ridge),
    }
}

/// Horizons of bootstrap samples: families with replacement, tasks inside each drawn family, runs
/// inside each drawn task. Weights stay as they are (METR's `ftr`).
fn draw(
    tasks: &[&TimedTask],
    families: &[Vec<usize>],
    weights: &[f64],
    shares: &[f64],
    ridge: f64,
    settings: HorizonSettings,
) -> (Vec<Vec<f64>>, u32, u32) {
    let mut values = vec![Vec::with_capacity(settings.draws as usize); shares.len()];
    let (mut without, mut rising) = (0, 0);
    let bound = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let mut times = vec![0_usize; tasks.len()];
    let mut points = Vec::with_capacity(tasks.len());
    for number in 0..settings.draws {
        let mut random = SplitMix64::stream(settings.seed, u64::from(number));
        times.fill(0);
        let drawn: Vec<usize> = random.indices(families.len(), bound(families.len())).collect();
        for family in drawn.into_iter().filter_map(|at| families.get(at)) {
            for at in random.indices(family.len(), bound(family.len())) {
                times[family[at]] += 1;
            }
        }
        points.clear();
        for ((task, weight), &times) in tasks.iter().zip(weights).zip(&times) {
            if times == 0 {
                continue;
            }
            let runs = times * task.scores.len();
            let passed: f64 =
                random.indices(runs, bound(task.scores.len())).map(|at| task.scores[at]).sum();
            points.push(SharePoint {
                x: task.minutes.log2(),
                weight: weight * runs as f64,
                // Sums of weights and of passed weights must not differ by rounding alone.
                passed: if passed == runs as f64 { weight * runs as f64 } else { weight * passed },
            });
        }
        // The same estimator as for the runs themselves, with the ridge that stands in.
        let (Some(fit), _) = curve(&points, ridge) else {
            without += 1;
            continue;
        };
        rising += u32::from(fit.slope >= 0.0);
        for (values, &share) in values.iter_mut().zip(shares) {
            // A sample whose success rises with length has a crossing too; METR keeps it.
            values.extend(fit.place_of(share).map(f64::exp2));
        }
    }
    (values, without, rising)
}

#[cfg(test)]
mod tests {
    use super::{HorizonSettings, RunWeights, TimedTask, time_horizon};

    const SETTINGS: HorizonSettings = HorizonSettings {
        ridge: 0.0,
        weights: RunWeights::Tasks,
        draws: 200,
        seed: 1,
        level: 0.95,
    };

    fn tasks(scores: &[(f64, &[f64])]) -> Vec<TimedTask> {
        (0..)
            .zip(scores)
            .map(|(family, (minutes, scores))| TimedTask {
                family,
                minutes: *minutes,
                scores: scores.to_vec(),
            })
            .collect()
    }

    #[test]
    fn half_way_between_two_lengths() {
        let runs = tasks(&[(1.0, &[1.0, 1.0, 1.0, 0.0]), (16.0, &[1.0, 0.0, 0.0, 0.0])]);
        let found = time_horizon(&runs, &[0.5], SETTINGS).expect("runs");
        assert!((found.at[0].minutes.expect("falls") - 4.0).abs() < 1e-9, "{found:?}");
        assert!(!found.at[0].extrapolated && found.ridge == 0.0);
    }

    #[test]
    fn what_has_no_horizon_says_so() {
        let none = time_horizon(&tasks(&[(1.0, &[0.0]), (9.0, &[0.0])]), &[0.5], SETTINGS);
        assert_eq!(none.expect("runs").at[0].minutes, Some(0.0));
        let all = time_horizon(&tasks(&[(1.0, &[1.0]), (9.0, &[1.0])]), &[0.5], SETTINGS);
        assert_eq!(all.expect("runs").at[0].minutes, None);
        let rises = tasks(&[(1.0, &[0.0, 0.0, 1.0]), (9.0, &[1.0, 1.0, 0.0])]);
        assert_eq!(time_horizon(&rises, &[0.5], SETTINGS).expect("runs").at[0].minutes, None);
        let apart = tasks(&[(1.0, &[1.0]), (9.0, &[0.0])]);
        let apart = time_horizon(&apart, &[0.5], SETTINGS).expect("runs");
        assert!(apart.ridge > 0.0 && apart.at[0].minutes.is_some());
        assert_eq!(time_horizon(&[], &[0.5], SETTINGS), None);
        assert_eq!(time_horizon(&tasks(&[(0.0, &[1.0])]), &[0.5], SETTINGS), None);
    }
}
