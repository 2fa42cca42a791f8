//! Label permutation of whole tasks, where the arms share none.
//!
//! Owns: the studentised difference of two ratios (or means) and its p-value when tasks change
//! sides. Refuses: pairs of tasks, which `label_tests` compares inside each task, and intervals.

use super::permutation::{Draws, Permuted, permute};
use super::relabel::Design;

/// Spread below this share of all spread is rounding.
const ROUNDING: f64 = 1e-11;

/// The least variance of a difference, as a share of that of all tasks together: arms without
/// spread get a large statistic instead of an infinite one.
const FLOOR: f64 = 1e-10;

/// Tests the difference of the ratios of sums of two arms that share no task, from numerator and
/// denominator of each task; with denominators of 1 that of their means. Tasks change sides, all
/// their runs with them, so runs of a task may depend on each other.
///
/// The statistic is the difference over its error, that of Welch or of the linearised ratio
/// (STATISTICS.md, section 5.2). Where tasks of both arms are alike the level is exact, however
/// skewed their values and however different their numbers; where they spread differently (other
/// numbers of trials) it holds for many tasks, as that of the t test does (Janssen 1997, Chung
/// and Romano 2013).
///
/// `pseudo` holds tasks that are added to both arms and never change sides: one that succeeded and
/// one that failed (Agresti and Caffo 2000) keep an arm of a few tasks that all failed from having
/// no spread. Empty for figures without such bounds.
///
/// Tasks of 0 over 0 say nothing and are left out. Relabelings in which an arm has nothing to
/// divide by count in both tails.
///
/// `None` without two tasks in each arm, with values that are not finite or denominators that
/// are not above 0 on both sides, and for 2^32 tasks or more.
pub fn permute_tasks(
    candidate: &[(f64, f64)],
    baseline: &[(f64, f64)],
    pseudo: &[(f64, f64)],
    draws: Draws,
) -> Option<Permuted> {
    let says = |task: &&(f64, f64)| **task != (0.0, 0.0);
    let tasks: Vec<(f64, f64)> =
        baseline.iter().filter(says).chain(candidate.iter().filter(says)).copied().collect();
    let of_baseline = baseline.iter().filter(says).count();
    let of_candidate = tasks.len() - of_baseline;
    if of_baseline < 2 || of_candidate < 2 || tasks.iter().any(|(_, d)| *d < 0.0) {
        return None;
    }
    let divides = |arm: &[(f64, f64)]| arm.iter().map(|(_, d)| d).sum::<f64>() > 0.0;
    let (numerator, denominator) =
        tasks.iter().fold((0.0, 0.0), |(n, d), (more, length)| (n + more, d + length));
    let pooled = numerator / denominator;
    if !pooled.is_finite() || !divides(baseline) || !divides(candidate) {
        return None;
    }
    // As shares of the mean length, around the ratio of all, so that sums neither overflow nor
    // cancel.
    let mean = denominator / tasks.len() as f64;
    let of = |(n, d): &(f64, f64)| Moments::of(n / mean - pooled * (d / mean), d / mean);
    let moments: Vec<Moments> = tasks.iter().map(of).collect();
    let added = pseudo.iter().map(of).fold(Moments::default(), |sum, more| sum.plus(&more));
    let all = moments.iter().fold(Moments::default(), Moments::plus);
    if !all.residuals.is_finite() {
        return None;
    }
    let rounding = ROUNDING * all.residuals;
    let floor = FLOOR * all.residuals / (tasks.len() as f64).powi(2);
    let (sizes, counts) = (
        (u32::try_from(of_baseline).ok()?, u32::try_from(of_candidate).ok()?),
        ((of_baseline + pseudo.len()) as f64, (of_candidate + pseudo.len()) as f64),
    );
    let design = Design::new([sizes])?;
    Some(permute(&design, draws, 0.0, |chosen| {
        let moments = chosen.iter().filter_map(|&task| moments.get(task as usize));
        let candidate = moments.fold(Moments::default(), Moments::plus);
        let baseline = all.minus(&candidate);
        let (ratio_c, variance_c) = candidate.plus(&added).ratio(counts.1, rounding);
        let (ratio_b, variance_b) = baseline.plus(&added).ratio(counts.0, rounding);
        let error = (variance_c + variance_b).max(floor).sqrt();
        // Without any spread no relabeling differs from another.
        if error > 0.0 { (ratio_c - ratio_b) / error } else { 0.0 }
    }))
}

/// Sums over tasks: of residuals around the pooled ratio, of lengths, and of their products.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    residual: f64,
    length: f64,
    residuals: f64,
    product: f64,
    lengths: f64,
}

impl Moments {
    fn of(residual: f64, length: f64) -> Self {
        Self {
            residual,
            length,
            residuals: residual * residual,
            product: residual * length,
            lengths: length * length,
        }
    }

    fn plus(self, more: &Self) -> Self {
        Self {
            residual: self.residual + more.residual,
            length: self.length + more.length,
            residuals: self.residuals + more.residuals,
            product: self.product + more.product,
            lengths: self.lengths + more.lengths,
        }
    }

    fn minus(&self, less: &Self) -> Self {
        Self {
            residual: self.residual - less.residual,
            length: self.length - less.length,
            residuals: self.residuals - less.residuals,
            product: self.product - less.product,
            lengths: self.lengths - less.lengths,
        }
    }

    /// The ratio above the pooled one, and its variance; NaN with nothing to divide by.
    fn ratio(&self, tasks: f64, rounding: f64) -> (f64, f64) {
        if self.length <= ROUNDING {
            return (f64::NAN, f64::NAN);
        }
        let ratio = self.residual / self.length;
        let squares = self.residuals - 2.0 * ratio * self.product + ratio * ratio * self.lengths;
        let squares = if squares <= rounding { 0.0 } else { squares };
        (ratio, tasks / (tasks - 1.0) * squares / (self.length * self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().map(|&value| (value, 1.0)).collect()
    }

    fn p(candidate: &[f64], baseline: &[f64]) -> Permuted {
        permute_tasks(&ones(candidate), &ones(baseline), &[], Draws::seeded(1)).unwrap()
    }

    #[test]
    fn the_most_extreme_of_all_relabelings_has_a_p_of_one_over_their_number() {
        // 3 of 7 tasks can be chosen in 35 ways.
        let found = p(&[7.0, 8.5, 9.0], &[1.0, 2.0, 2.5, 4.0]);
        assert!(found.exhaustive);
        assert_eq!(found.draws, 35);
        assert!((found.p.greater - 1.0 / 35.0).abs() < 1e-12, "{found:?}");
        assert!((found.p.less - 1.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn arms_without_spread_of_their_own_are_still_told_apart() {
        let found = p(&[1.0; 4], &[0.0; 4]);
        assert!((found.p.greater - 1.0 / 70.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn pseudo_tasks_keep_an_arm_that_has_no_spread_by_chance_from_being_certain() {
        // Four tasks at .4 against eight at 0 or 1: of the 495 relabelings 15 are as far down
        // without pseudo tasks, and 39 with them.
        let (candidate, baseline) = (ones(&[0.4; 4]), ones(&[0.0, 1.0, 1.0, 1.0].repeat(2)));
        let p = |pseudo: &[(f64, f64)]| {
            permute_tasks(&candidate, &baseline, pseudo, Draws::seeded(1)).unwrap().p.less
        };
        assert!((p(&[]) - 15.0 / 495.0).abs() < 1e-12);
        assert!((p(&[(0.0, 1.0), (1.0, 1.0)]) - 39.0 / 495.0).abs() < 1e-12);
    }

    #[test]
    fn equal_tasks_tell_nothing() {
        let found = p(&[0.3; 5], &[0.3; 6]);
        assert_eq!((found.p.less, found.p.greater), (1.0, 1.0));
    }

    #[test]
    fn the_statistic_is_that_of_the_linearised_ratio() {
        use crate::stats::{Cluster, ratio_difference_unpaired};
        let candidate = [(3.0, 10.0), (0.0, 7.0), (4.0, 9.0), (1.0, 20.0)];
        let baseline = [(1.0, 12.0), (2.0, 8.0), (0.0, 15.0)];
        // Of every relabeling with the statistic computed anew.
        let all: Vec<(f64, f64)> = baseline.iter().chain(&candidate).copied().collect();
        let clusters = |chosen: &[(f64, f64)]| -> Vec<Cluster> {
            chosen.iter().map(|&(n, d)| Cluster::new(n, d)).collect()
        };
        let t = |c: &[(f64, f64)], b: &[(f64, f64)]| {
            let found = ratio_difference_unpaired(&clusters(c), &clusters(b)).unwrap();
            found.estimate / found.error
        };
        let seen = t(&candidate, &baseline);
        let (mut above, mut number) = (0.0, 0.0);
        for set in 0_u32..128 {
            if set.count_ones() != 4 {
                continue;
            }
            let (c, b): (Vec<_>, Vec<_>) = (0..7).partition(|at| set >> at & 1 == 1);
            let pick = |places: Vec<usize>| places.iter().map(|&at| all[at]).collect::<Vec<_>>();
            number += 1.0;
            above += f64::from(u8::from(t(&pick(c), &pick(b)) >= seen - 1e-9));
        }
        let found = permute_tasks(&candidate, &baseline, &[], Draws::seeded(1)).unwrap();
        assert!((found.p.greater - above / number).abs() < 1e-12, "{found:?} {above} {number}");
    }

    #[test]
    fn what_cannot_be_divided_or_is_no_number_is_refused() {
        let two = ones(&[1.0, 2.0]);
        let draws = Draws::seeded(1);
        assert_eq!(permute_tasks(&two, &ones(&[1.0]), &[], draws), None);
        assert_eq!(permute_tasks(&two, &[(0.0, 0.0), (0.0, 0.0), (1.0, 1.0)], &[], draws), None);
        assert_eq!(permute_tasks(&two, &ones(&[1.0, f64::NAN]), &[], draws), None);
        assert_eq!(permute_tasks(&two, &ones(&[1.0, f64::MAX]), &[], draws), None);
        assert_eq!(permute_tasks(&two, &[(1.0, -1.0), (1.0, 1.0)], &[], draws), None);
    }
}
