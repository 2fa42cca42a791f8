//! pass^k and pass@k: all of k trials succeed, or at least one does.
//!
//! Owns: the unbiased estimators per task and their suite means. Refuses: one
//! number of trials for all tasks, which is wrong as soon as a trial is missing.

/// How often one task was tried and how often it was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// Ended trials.
    pub ended: u64,
    /// Completed trials among them.
    pub completed: u64,
}

/// The values of the tasks that have one, in the order of the tasks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskValues {
    /// One value from 0 to 1 per task with at least k trials.
    pub values: Vec<f64>,
    /// Tasks with fewer than k trials, which have none.
    pub left_out: usize,
}

impl TaskValues {
    /// The suite's figure: the mean over tasks; `None` if no task has a value.
    pub fn mean(&self) -> Option<f64> {
        let count = self.values.len();
        (count > 0).then(|| self.values.iter().sum::<f64>() / count as f64)
    }
}

/// pass^k of one task: the chance that `k` trials, drawn without replacement from
/// its `n`, are all among the `c` completed ones, C(c,k)/C(n,k) (Yao et al. 2024).
///
/// Assumes trials of a task are exchangeable. Undefined, and `None`, for `n < k`,
/// for `k = 0` and for `c > n`.
pub fn pass_hat_k(n: u64, c: u64, k: u64) -> Option<f64> {
    if k == 0 || n < k || c > n {
        return None;
    }
    if c < k {
        return Some(0.0);
    }
    // C(c,k)/C(n,k) and C(n-k,n-c)/C(n,n-c) are the same number; the one with
    // fewer factors rounds less.
    let missed = n - c;
    let (top, factors) = if k <= missed { (c, k) } else { (n - k, missed) };
    let mut product = 1.0;
    for i in 0..factors {
        product *= (top - i) as f64 / (n - i) as f64;
        if product == 0.0 {
            break;
        }
    }
    Some(product)
}

/// pass@k of one task: the chance that at least one of `k` trials, drawn without
/// replacement from its `n`, is among the `c` completed ones,
/// 1 - C(n-c,k)/C(n,k) (Chen et al. 2021).
///
/// Assumes trials of a task are exchangeable. Undefined, and `None`, for `n < k`,
/// for `k = 0` and for `c > n`.
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Option<f64> {
    if k == 0 || n < k || c > n {
        return None;
    }
    if c == 0 {
        return Some(0.0);
    }
    if k > n - c {
        return Some(1.0);
    }
    let (fewer, more) = (k.min(c), k.max(c));
    if fewer == 1 {
        return Some(more as f64 / n as f64);
    }
    // In logarithms, because 1 minus a product close to 1 would lose its digits.
    let mut ln_none = 0.0;
    for i in 0..fewer {
        ln_none += (-(more as f64) / (n - i) as f64).ln_1p();
        if ln_none < -800.0 {
            break;
        }
    }
    Some(-f64::exp_m1(ln_none))
}

/// [`pass_hat_k`] of every task that has `k` trials.
pub fn pass_hat_k_by_task(tasks: &[Trials], k: u64) -> TaskValues {
    by_task(tasks, |task| pass_hat_k(task.ended, task.completed, k))
}

/// [`pass_at_k`] of every task that has `k` trials.
pub fn pass_at_k_by_task(tasks: &[Trials], k: u64) -> TaskValues {
    by_task(tasks, |task| pass_at_k(task.ended, task.completed, k))
}

fn by_task(tasks: &[Trials], value: impl Fn(&Trials) -> Option<f64>) -> TaskValues {
    let values: Vec<f64> = tasks.iter().filter_map(value).collect();
    let left_out = tasks.len() - values.len();
    TaskValues { values, left_out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_four_trials_by_hand() {
        // Of the 6 pairs of 4 trials 1 is all completed and 1 all missed.
        assert_eq!(pass_hat_k(4, 2, 2), Some(1.0 / 6.0));
        let at_least_one = pass_at_k(4, 2, 2).unwrap_or(f64::NAN);
        assert!((at_least_one - 5.0 / 6.0).abs() < 1e-15);
        assert_eq!(pass_at_k(4, 1, 1), Some(0.25));
    }

    #[test]
    fn fewer_trials_than_k_have_no_value_rather_than_zero() {
        assert_eq!(pass_hat_k(3, 3, 4), None);
        assert_eq!(pass_at_k(3, 0, 4), None);
        assert_eq!(pass_hat_k(3, 4, 1), None);
        assert_eq!(pass_at_k(3, 1, 0), None);
    }

    #[test]
    fn large_numbers_keep_their_digits() {
        // One completed trial of a million: pass@2 is exactly 2 in a million.
        assert_eq!(pass_at_k(1_000_000, 1, 2), Some(2e-6));
        let two = pass_at_k(1_000_000, 2, 2).unwrap_or(f64::NAN);
        let exact = 2.0 * 2.0 / 1e6 - 2.0 / (1e6 * 999_999.0);
        assert!((two / exact - 1.0).abs() < 1e-12, "{two}");
        // All but one completed: the odd one out is missed with chance 1 - k/n.
        assert_eq!(pass_hat_k(1_000_000, 999_999, 400_000), Some(0.6));
        assert_eq!(pass_hat_k(u64::MAX, u64::MAX, u64::MAX), Some(1.0));
        assert_eq!(pass_hat_k(u64::MAX, u64::MAX / 2, u64::MAX / 2 - 1), Some(0.0));
        assert_eq!(pass_at_k(u64::MAX, u64::MAX / 2, u64::MAX / 2 - 1), Some(1.0));
    }

    #[test]
    fn a_suite_counts_the_tasks_it_leaves_out() {
        let tasks = [(4, 4), (4, 2), (1, 1)].map(|(ended, completed)| Trials { ended, completed });
        let suite = pass_hat_k_by_task(&tasks, 2);
        assert_eq!((suite.values.len(), suite.left_out), (2, 1));
        assert_eq!(suite.mean(), Some((1.0 + 1.0 / 6.0) / 2.0));
        assert_eq!(pass_at_k_by_task(&tasks, 5).mean(), None);
    }
}
