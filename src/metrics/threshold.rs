//! A bound for a figure, held against its value and its interval.

use super::figure::Figure;

/// Which side of a bound is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The value must not be below.
    Min,
    /// The value must not be above.
    Max,
}

/// How a figure stands to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The value is on the good side.
    Met,
    /// The value is beyond the bound.
    Missed,
    /// The figure has no value.
    Unknown,
}

impl Bound {
    /// The key in configs and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

impl Standing {
    /// The word in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Unknown => "unknown",
        }
    }
}

/// Holds a figure against a bound; with whether its whole interval is on the same side.
#[must_use]
pub fn hold(figure: &Figure, bound: Bound, limit: f64) -> (Standing, bool) {
    let beyond = |value: f64| match bound {
        Bound::Min => value < limit,
        Bound::Max => value > limit,
    };
    let Some(missed) = figure.value.map(beyond) else { return (Standing::Unknown, false) };
    let certain = figure
        .interval
        .as_ref()
        .is_some_and(|ci| beyond(ci.low) == missed && beyond(ci.high) == missed);
    (if missed { Standing::Missed } else { Standing::Met }, certain)
}

#[cfg(test)]
mod tests {
    use super::{Bound, Standing, hold};
    use crate::metrics::Figure;
    use crate::stats::Interval;

    #[test]
    fn the_value_decides_and_the_interval_says_how_surely() {
        let interval = Some(Interval { low: 0.6, high: 0.9, method: "" });
        let figure = Figure { value: Some(0.8), interval, ..Figure::default() };
        assert_eq!(hold(&figure, Bound::Min, 0.8), (Standing::Met, false));
        assert_eq!(hold(&figure, Bound::Min, 0.5), (Standing::Met, true));
        assert_eq!(hold(&figure, Bound::Max, 0.5), (Standing::Missed, true));
        assert_eq!(hold(&Figure::default(), Bound::Max, 0.5), (Standing::Unknown, false));
    }
}
