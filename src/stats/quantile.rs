//! Quantiles of a sample.
//!
//! Owns: type 7 of Hyndman and Fan (1996), which is what numpy, R and METR's
//! published intervals use. Refuses: sorting, and every other type (statrs has
//! type 8, which differs by up to the whole gap between two values).

/// The `p` quantile of values in ascending order, type 7: linear between the two
/// order statistics around position `(n - 1) p`, counted from 0.
///
/// Assumes `sorted` ascending and without NaN. Undefined, and `None`, for an
/// empty sample and for `p` outside 0 to 1. The result lies between the first
/// and the last value; an infinite neighbour gives an infinite result.
pub fn quantile_type7(sorted: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let last = sorted.len().checked_sub(1)?;
    let position = last as f64 * p;
    let below = (position.floor() as usize).min(last);
    let share = position - below as f64;
    let low = *sorted.get(below)?;
    let high = *sorted.get((below + 1).min(last))?;
    if share <= 0.0 || low == high {
        return Some(low);
    }
    // Weights instead of low + (high - low) * share: the gap between two finite
    // values can overflow, and infinity minus infinity is not a number.
    let between = low * (1.0 - share) + high * share;
    Some(between.max(low).min(high))
}

/// The median of values in ascending order: the type 7 quantile at one half.
///
/// Undefined, and `None`, for an empty sample.
pub fn median(sorted: &[f64]) -> Option<f64> {
    quantile_type7(sorted, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_7_interpolates_between_neighbours() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile_type7(&sorted, 0.25), Some(1.75));
        assert_eq!(quantile_type7(&sorted, 0.0), Some(1.0));
        assert_eq!(quantile_type7(&sorted, 1.0), Some(4.0));
        assert_eq!(median(&sorted), Some(2.5));
        assert_eq!(median(&[1.0, 2.0, 3.0]), Some(2.0));
    }

    #[test]
    fn no_values_and_no_such_share_are_undefined() {
        assert_eq!(median(&[]), None);
        assert_eq!(quantile_type7(&[1.0], 1.01), None);
        assert_eq!(quantile_type7(&[1.0], f64::NAN), None);
    }

    #[test]
    fn huge_and_infinite_neighbours_never_give_nan() {
        assert_eq!(median(&[-f64::MAX, f64::MAX]), Some(0.0));
        assert_eq!(median(&[1.0, f64::INFINITY]), Some(f64::INFINITY));
        assert_eq!(quantile_type7(&[1.0, f64::INFINITY], 0.0), Some(1.0));
        assert_eq!(median(&[f64::INFINITY, f64::INFINITY]), Some(f64::INFINITY));
    }
}
