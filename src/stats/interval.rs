//! What an interval is, what it is made from, and why there is none.
//!
//! Owns: [`Interval`] with its promises (finite, `low < high`, inside the range
//! of the figure, around the estimate), [`Cluster`] and [`NoInterval`].
//! Refuses: computing any bound.

/// A confidence interval: finite, never of zero width, never outside the range
/// of its figure, and never without the estimate inside it or on its edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound, in the unit of the figure.
    pub low: f64,
    /// Upper bound, in the unit of the figure; above `low`.
    pub high: f64,
    /// How it was computed, in a few words for the reader of a report.
    pub method: &'static str,
}

/// Why a figure has no interval. The text is a fragment that fits behind "n/a: ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoInterval {
    /// Spread cannot be told from one cluster.
    #[error("fewer than 2 tasks or runs to tell the spread from")]
    TooFewClusters,
    /// Every cluster gives the same value, so an interval would have zero width.
    #[error("no spread between tasks or runs")]
    NoSpread,
    /// The denominators sum to 0, so there is no figure either.
    #[error("a denominator of 0")]
    ZeroDenominator,
    /// So many resampled sets have a denominator of 0 that a bound has no end.
    #[error("too many resampled sets with a denominator of 0")]
    Unbounded,
    /// A value lies outside what the figure can be (a share above 1, a count below 0).
    #[error("a value outside the range of the figure")]
    OutOfRange,
    /// A value, or what was computed from it, is infinite or not a number.
    #[error("a value that is not a finite number")]
    NotFinite,
    /// The confidence level is not strictly between 0 and 1, or there are no draws.
    #[error("a confidence level outside 0 to 1, or no draws")]
    BadSetting,
}

/// What one cluster adds to a figure of the form "sum over sum": one task with
/// all its runs, or one run where runs are the clusters. A mean over runs has
/// the number of runs as its denominator.
///
/// A cluster with 0 for both says nothing about the figure and is left out of
/// the number of clusters everywhere in this module.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cluster {
    /// What is counted or summed; 0 or more.
    pub numerator: f64,
    /// What it is divided by; 0 or more.
    pub denominator: f64,
}

impl Cluster {
    /// A cluster from its two sums.
    pub fn new(numerator: f64, denominator: f64) -> Self {
        Self { numerator, denominator }
    }

    /// Whether the cluster says anything about the figure.
    pub(super) fn counts(&self) -> bool {
        self.numerator != 0.0 || self.denominator != 0.0
    }
}

impl Interval {
    /// Cuts the bounds to `range` and keeps the promises of the type.
    ///
    /// The bounds are stretched to the estimate where they miss it: by rounding
    /// at an edge, or in a bootstrap whose draws nearly all fall on one side.
    ///
    /// # Errors
    /// [`NoInterval::NotFinite`], [`NoInterval::OutOfRange`] for the estimate, and
    /// [`NoInterval::NoSpread`] if nothing is left between the bounds.
    pub(super) fn around(
        estimate: f64,
        (low, high): (f64, f64),
        (least, most): (f64, f64),
        method: &'static str,
    ) -> Result<Self, NoInterval> {
        if !(estimate.is_finite() && low.is_finite() && high.is_finite()) {
            return Err(NoInterval::NotFinite);
        }
        if !(least <= estimate && estimate <= most) {
            return Err(NoInterval::OutOfRange);
        }
        let low = low.max(least).min(estimate);
        let high = high.min(most).max(estimate);
        if low < high { Ok(Self { low, high, method }) } else { Err(NoInterval::NoSpread) }
    }
}

/// Refuses clusters that no figure here can have: not finite, or below 0.
pub(super) fn check(clusters: &[Cluster]) -> Result<(), NoInterval> {
    for cluster in clusters {
        if !(cluster.numerator.is_finite() && cluster.denominator.is_finite()) {
            return Err(NoInterval::NotFinite);
        }
        if cluster.numerator < 0.0 || cluster.denominator < 0.0 {
            return Err(NoInterval::OutOfRange);
        }
    }
    Ok(())
}

/// Refuses a confidence level that is not strictly between 0 and 1.
pub(super) fn check_level(level: f64) -> Result<(), NoInterval> {
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(NoInterval::BadSetting) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_cut_to_the_range_and_stretched_to_the_estimate() {
        let cut = Interval::around(0.5, (-0.2, 1.4), (0.0, 1.0), "m");
        assert_eq!(cut, Ok(Interval { low: 0.0, high: 1.0, method: "m" }));
        let stretched = Interval::around(0.5, (0.6, 0.7), (0.0, 1.0), "m");
        assert_eq!(stretched, Ok(Interval { low: 0.5, high: 0.7, method: "m" }));
    }

    #[test]
    fn zero_width_nan_and_estimates_outside_are_refused() {
        let range = (0.0, 1.0);
        assert_eq!(Interval::around(1.0, (1.0, 2.0), range, "m"), Err(NoInterval::NoSpread));
        assert_eq!(Interval::around(0.5, (f64::NAN, 0.6), range, "m"), Err(NoInterval::NotFinite));
        assert_eq!(Interval::around(1.5, (0.1, 0.6), range, "m"), Err(NoInterval::OutOfRange));
    }

    #[test]
    fn reasons_are_lowercase_fragments() {
        for reason in [NoInterval::TooFewClusters, NoInterval::NoSpread, NoInterval::NotFinite] {
            let text = reason.to_string();
            assert!(text.starts_with(char::is_lowercase) && !text.ends_with('.'), "{text}");
        }
    }
}
