//! The differences of a comparison or a gate on one scale each for rates and amounts, turned
//! towards harm, so that they can be drawn below each other.

use super::comparison::Comparison;
use super::evidence::Evidence;
use super::gate::{Gate, margin};
use super::verdict::Verdict;
use crate::config::EvalConfig;
use crate::metrics::Metric;
use crate::model::{Better, Unit};

/// What a difference is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForestScale {
    /// Of shares, as they are: 0.1 is ten percentage points.
    Points,
    /// Of amounts and counts, as a share of the first side's: 0.1 is a tenth of it.
    Relative,
}

/// One difference, turned towards harm: above 0 the second side is worse.
#[derive(Debug, Clone)]
pub struct ForestRow {
    /// The figure.
    pub metric: &'static Metric,
    /// Its scale.
    pub scale: ForestScale,
    /// How much worse the second side is.
    pub harm: f64,
    /// The 95% interval of that.
    pub interval: Option<(f64, f64)>,
    /// How much worse is accepted.
    pub margin: Option<f64>,
    /// Whether the test tells it from none.
    pub told: bool,
    /// The difference in the figure's own unit and direction.
    pub evidence: Evidence,
}

/// The differences of two sides.
#[derive(Debug, Clone, Default)]
pub struct Forest {
    /// Those that can be drawn, in order.
    pub rows: Vec<ForestRow>,
    /// Those that cannot, and why.
    pub missing: Vec<(&'static Metric, String)>,
    /// Tasks on both sides; 0 where the sides are two samples.
    pub paired: usize,
}

impl Forest {
    /// Of a comparison, with the margins that a gate with this config would have.
    #[must_use]
    pub fn of(comparison: &Comparison, config: &EvalConfig) -> Self {
        let mut forest = Self { paired: comparison.pairing.paired, ..Self::default() };
        for one in &comparison.metrics {
            let margin = margin(one.metric, &one.evidence, config);
            forest.add(one.metric, &one.evidence, margin, one.distinguishable);
        }
        forest
    }

    /// Of a gate.
    #[must_use]
    pub fn of_gate(gate: &Gate) -> Self {
        let paired = gate.pairing.as_ref().map_or(0, |pairing| pairing.paired);
        let mut forest = Self { paired, ..Self::default() };
        for one in &gate.metrics {
            let harmed = one.p_adjusted.is_some_and(|p| p <= gate.levels.harm);
            let told = harmed || one.verdict == Verdict::Improved;
            forest.add(one.metric, &one.evidence, one.margin, told);
        }
        forest
    }

    fn add(
        &mut self,
        metric: &'static Metric,
        evidence: &Evidence,
        margin: Option<f64>,
        told: bool,
    ) {
        let info = metric.info();
        let scale =
            if info.unit == Unit::Ratio { ForestScale::Points } else { ForestScale::Relative };
        let why = || evidence.reason.clone().unwrap_or_else(|| "no difference".to_owned());
        let toward = match info.better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
            Better::Neither => {
                return self.missing.push((metric, "neither better nor worse".to_owned()));
            }
        };
        let of_first = evidence.baseline.filter(|value| *value > 0.0);
        let (difference, ends, margin) = match (scale, evidence.ratio, of_first) {
            (ForestScale::Points, ..) => (evidence.difference, evidence.interval, margin),
            (_, Some((ratio, ends)), first) => {
                let ends = ends.map(|(low, high)| (low - 1.0, high - 1.0));
                (Some(ratio - 1.0), ends, margin.zip(first).map(|(margin, of)| margin / of))
            }
            (_, None, Some(of)) => {
                let ends = evidence.interval.map(|(low, high)| (low / of, high / of));
                (evidence.difference.map(|d| d / of), ends, margin.map(|margin| margin / of))
            }
            (_, None, None) if evidence.difference.is_some() => {
                return self.missing.push((metric, "the first side is 0".to_owned()));
            }
            (_, None, None) => (None, None, None),
        };
        let Some(difference) = difference.filter(|difference| difference.is_finite()) else {
            return self.missing.push((metric, why()));
        };
        let finite = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite();
        let turned = |(low, high): (f64, f64)| {
            if toward > 0.0 { (low, high) } else { (-high, -low) }
        };
        self.rows.push(ForestRow {
            metric,
            scale,
            // Adding 0 makes -0 of an equal pair plain.
            harm: difference * toward + 0.0,
            interval: ends.filter(finite).map(turned),
            margin: margin.filter(|margin| margin.is_finite()),
            told,
            evidence: evidence.clone(),
        });
    }
}
