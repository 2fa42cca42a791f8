//! Absolute bounds of the config, held against the candidate alone.
//!
//! Unfinished and lost runs count as they do in comparisons: a candidate must not pass on the runs
//! that survived.

use super::sample::{MOST_LOST, counts_lost};
use crate::config::Threshold;
use crate::evaluate::RunRow;
use crate::metrics::{Bound, Figure, Metric, Set, Standing, hold, metric};

/// One bound with what became of it.
#[derive(Debug, Clone)]
pub struct HeldThreshold {
    /// The figure.
    pub metric: &'static Metric,
    /// Which side is good.
    pub bound: Bound,
    /// The bound.
    pub limit: f64,
    /// The figure's value and interval.
    pub figure: Figure,
    /// What became of it.
    pub standing: Standing,
    /// Whether the whole interval is on the same side.
    pub certain: bool,
}

/// Holds every bound against the runs of the candidate; `lost` names tasks with runs that are not
/// there.
#[must_use]
pub fn thresholds(
    rows: &[RunRow],
    lost: &[(String, u32)],
    wanted: &[Threshold],
) -> Vec<HeldThreshold> {
    let missing: Vec<RunRow> = lost
        .iter()
        .flat_map(|(task, runs)| {
            let runs = usize::try_from(*runs).unwrap_or(usize::MAX).min(MOST_LOST);
            std::iter::repeat_with(|| RunRow::lost(task)).take(runs)
        })
        .collect();
    let present = Set::new(rows.iter().collect());
    let all = (!missing.is_empty()).then(|| Set::new(rows.iter().chain(&missing).collect()));
    let mut held = Vec::new();
    for threshold in wanted {
        let Some(metric) = metric(threshold.metric.name) else { continue };
        let set = all.as_ref().filter(|_| counts_lost(metric)).unwrap_or(&present);
        let figure = set.figure(metric);
        for (bound, limit) in [(Bound::Min, threshold.min), (Bound::Max, threshold.max)] {
            let Some(limit) = limit else { continue };
            let (standing, certain) = hold(&figure, bound, limit);
            let figure = figure.clone();
            held.push(HeldThreshold { metric, bound, limit, figure, standing, certain });
        }
    }
    held
}
