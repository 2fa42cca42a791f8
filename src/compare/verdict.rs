//! The four verdicts (`STATISTICS.md`, 5.1).

use super::evidence::Evidence;
use crate::model::Better;
use crate::stats::Tails;

/// What is said of a figure, or of the whole. In the order of what outweighs what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Shown not to be worse by the margin.
    Pass,
    /// Better.
    Improved,
    /// Not enough evidence to say either.
    Inconclusive,
    /// Worse.
    Regression,
}

impl Verdict {
    /// The word in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Improved => "improved",
            Self::Inconclusive => "inconclusive",
            Self::Regression => "regression",
        }
    }
}

/// A difference seen from the side of harm.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Harm {
    /// How much worse the candidate is; below 0 it is better.
    pub estimate: Option<f64>,
    /// The one-sided upper bound of that.
    pub bound: Option<f64>,
    /// How probable such harm is where there is none.
    pub p_harm: Option<f64>,
    /// How probable such a gain is where there is none.
    pub p_gain: Option<f64>,
}

impl Harm {
    /// Turns a difference towards harm; `None` for figures that are neither better nor worse.
    #[must_use]
    pub fn of(evidence: &Evidence, better: Better) -> Option<Self> {
        let tails = evidence.p;
        let less = tails.map(|Tails { less, .. }| less);
        let greater = tails.map(|Tails { greater, .. }| greater);
        match better {
            Better::Lower => Some(Self {
                estimate: evidence.difference,
                bound: evidence.bounds.map(|(_, upper)| upper),
                p_harm: greater,
                p_gain: less,
            }),
            Better::Higher => Some(Self {
                estimate: evidence.difference.map(|difference| -difference),
                bound: evidence.bounds.map(|(lower, _)| -lower),
                p_harm: less,
                p_gain: greater,
            }),
            Better::Neither => None,
        }
    }
}

/// Levels of the tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// For harm; the guard for broken tasks has its own level.
    pub harm: f64,
    /// For gain.
    pub gain: f64,
}

/// Decides on one figure from its p-values as adjusted over all figures.
#[must_use]
pub fn decide(
    harm: Option<f64>,
    gain: Option<f64>,
    bound: Option<f64>,
    margin: f64,
    levels: Levels,
) -> Verdict {
    let within = bound.is_some_and(|bound| bound < margin);
    if harm.is_some_and(|p| p <= levels.harm) && !within {
        Verdict::Regression
    } else if gain.is_some_and(|p| p <= levels.gain) {
        Verdict::Improved
    } else if within {
        Verdict::Pass
    } else {
        Verdict::Inconclusive
    }
}
