//! A figure of the score as it is told: value, bounds, and how they came about.

use crate::stats::{Estimate, NoInterval, Uncorrected};

/// A value with its 95% interval, or why one of them is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The value; `None` where there is none.
    pub value: Option<f64>,
    /// The bounds; `None` where there are none.
    pub bounds: Option<(f64, f64)>,
    /// How the interval was computed, or why value or interval are missing.
    pub how: String,
}

impl Figure {
    /// No value, and why.
    #[must_use]
    pub fn missing(why: &str) -> Self {
        Self { value: None, bounds: None, how: format!("n/a: {why}") }
    }

    /// The estimate, or why there is none.
    #[must_use]
    pub fn or_missing(estimate: Option<Estimate>, why: &str) -> Self {
        estimate.map_or_else(|| Self::missing(why), Self::from)
    }
}

impl From<Estimate> for Figure {
    fn from(estimate: Estimate) -> Self {
        let how = match &estimate.interval {
            Ok(interval) => interval.method.to_owned(),
            Err(NoInterval::TooFewClusters) => {
                "n/a: one row of a verdict alone tells no spread".to_owned()
            }
            Err(NoInterval::NoSpread) => "n/a: no spread between the rows".to_owned(),
            Err(why) => format!("n/a: {why}"),
        };
        let bounds = estimate.interval.ok().map(|interval| (interval.low, interval.high));
        Self { value: Some(estimate.value), bounds, how }
    }
}

impl From<Result<Estimate, Uncorrected>> for Figure {
    fn from(rate: Result<Estimate, Uncorrected>) -> Self {
        rate.map_or_else(|why| Self::missing(&why.to_string()), Self::from)
    }
}
