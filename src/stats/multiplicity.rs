//! Several tests at once.
//!
//! Owns: Holm's adjustment, which bounds the chance of any false alarm among all
//! tests. Refuses: bounds on the share of false alarms (Benjamini and Hochberg),
//! which are no ground to fail a build.

/// P-values adjusted for being several (Holm 1979), in the order given: compared
/// with alpha, they bound the chance of any false alarm by it.
///
/// The i-th smallest of M is multiplied by M - i + 1, is at least the adjusted one
/// before it, and at most 1. Holds however the tests depend on each other. Give it
/// only p-values that take part: each one makes the others weaker. A p-value that
/// is no number counts as 1, one below 0 as 0.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let sound = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut order: Vec<(usize, f64)> = p_values.iter().map(|&p| sound(p)).enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (before, (place, p)) in order.into_iter().enumerate() {
        largest = largest.max((p_values.len() - before) as f64 * p).min(1.0);
        if let Some(slot) = adjusted.get_mut(place) {
            *slot = largest;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_counts_for_all_and_none_overtakes_the_one_before() {
        // .01 * 3, .02 * 2 and .025 * 1, which must not be less than .04.
        assert_eq!(holm(&[0.025, 0.01, 0.02]), [0.04, 0.03, 0.04]);
        assert_eq!(holm(&[0.2]), [0.2]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    #[test]
    fn no_adjusted_value_leaves_0_to_1() {
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        assert_eq!(holm(&[f64::NAN, 0.01, 7.0, -1.0]), [1.0, 0.03, 1.0, 0.0]);
    }
}
