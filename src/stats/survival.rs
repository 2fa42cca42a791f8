//! Times until an event, where some observations end without it (STATISTICS.md, section 4.1).
//!
//! Owns: the life table with the Kaplan-Meier estimate, its log-log interval, the discrete hazard
//! and the Nelson-Aalen sum. Refuses: parametric curves and anything beyond the last time seen.

use std::collections::BTreeMap;

use super::distributions::{normal_quantile, t_critical};
use super::proportion::wilson;

/// How long one observation was followed, and whether it ended in the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// The time at which it ended, such as a step's position.
    pub time: u32,
    /// Whether the event came then; else it is censored, just after that time.
    pub event: bool,
    /// What it belongs to: observations of one cluster may be alike.
    pub cluster: u32,
}

/// One time at which observations end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LifeStep {
    /// The time.
    pub time: u32,
    /// Observations that got there.
    pub at_risk: u64,
    /// Of those, the ones with the event then.
    pub events: u64,
    /// Of those, the ones that end there without it.
    pub censored: u64,
    /// Events over observations at risk. 0 to 1.
    pub hazard: f64,
    /// Kaplan-Meier: the share without the event after this time. 0 to 1.
    pub survival: f64,
    /// Variance of the logarithm of `survival`; infinite where that is 0.
    pub variance: f64,
    /// Its interval; where `survival` is 0 or 1, Wilson's bound of a share of 0 in as many
    /// observations or clusters as are at risk.
    pub interval: Option<(f64, f64)>,
    /// Nelson-Aalen: the sum of the hazards so far.
    pub cumulative: f64,
}

/// The life table, a line for each time at which an observation ends.
///
/// The variance is Greenwood's. Where clusters have several observations it is the larger of that
/// and the clustered one: observations of one task that fail together say less than their number.
/// Censoring is taken to be uninformative. A level outside 0 to 1 gives no intervals.
#[must_use]
pub fn kaplan_meier(followed: &[Followed], level: f64) -> Vec<LifeStep> {
    let mut ends: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for one in followed {
        let (events, censored) = ends.entry(one.time).or_default();
        if one.event { *events += 1 } else { *censored += 1 }
    }
    let mut at_risk = followed.len() as u64;
    let mut before = LifeStep {
        time: 0,
        at_risk,
        events: 0,
        censored: 0,
        hazard: 0.0,
        survival: 1.0,
        variance: 0.0,
        interval: None,
        cumulative: 0.0,
    };
    let mut table = Vec::with_capacity(ends.len());
    for (time, (events, censored)) in ends {
        let (n, d) = (at_risk as f64, events as f64);
        let left = (at_risk - events) as f64;
        let step = LifeStep {
            time,
            at_risk,
            events,
            censored,
            hazard: d / n,
            survival: before.survival * (left / n),
            variance: before.variance + if events == 0 { 0.0 } else { d / (n * left) },
            interval: None,
            cumulative: before.cumulative + d / n,
        };
        at_risk -= events + censored;
        table.push(step);
        before = step;
    }
    let lasts = clustered(followed, &mut table);
    let critical = match lasts.as_ref().map(|lasts| lasts.len() as f64) {
        Some(clusters) => t_critical(level, clusters - 1.0),
        None if level > 0.0 && level < 1.0 => normal_quantile(0.5 + level / 2.0),
        None => None,
    };
    let mut highest: f64 = 1.0;
    for step in &mut table {
        // Where all or none are left only numbers tell: of clusters, where there are some.
        let number = lasts.as_ref().map_or(step.at_risk, |lasts| {
            (lasts.len() - lasts.partition_point(|last| *last < step.time)) as u64
        });
        step.interval =
            critical.and_then(|critical| interval(step, number, critical, level, highest));
        highest = step.interval.map_or(highest, |(_, high)| high);
    }
    table
}

/// Raises the variances to the clustered ones; gives the last times of the clusters, sorted, or
/// `None` where each observation is its own cluster, or all are one.
///
/// The logarithm of the estimate changes by `(d_g - n_g h) / (n - d)` at each time for the events
/// and the observations at risk of cluster `g`; the squares of the sums over time, added over
/// clusters, are its variance (the infinitesimal jackknife).
fn clustered(followed: &[Followed], table: &mut [LifeStep]) -> Option<Vec<u32>> {
    let mut sorted: Vec<Followed> = followed.to_vec();
    sorted.sort_unstable_by_key(|one| (one.cluster, one.time, one.event));
    let groups: Vec<&[Followed]> = sorted.chunk_by(|a, b| a.cluster == b.cluster).collect();
    if groups.len() < 2 || groups.len() == followed.len() {
        return None;
    }
    let number = groups.len() as f64;
    let mut lasts: Vec<u32> =
        groups.iter().filter_map(|group| group.last().map(|one| one.time)).collect();
    lasts.sort_unstable();
    let at: Vec<usize> = (0..table.len()).filter(|at| table[*at].events > 0).collect();
    // Squares while a cluster has observations at risk, and of its last sum from then on.
    let mut squares = vec![0.0; at.len()];
    let mut from_then_on = vec![0.0; at.len() + 1];
    for group in groups {
        let (mut sum, mut begun) = (0.0, 0);
        let mut next = 0;
        for (slot, place) in at.iter().enumerate() {
            let step = &table[*place];
            while group.get(begun).is_some_and(|one| one.time < step.time) {
                begun += 1;
            }
            if begun == group.len() {
                break;
            }
            let here = group[begun..].iter().take_while(|one| one.time == step.time);
            let events = here.filter(|one| one.event).count() as f64;
            let risk = (group.len() - begun) as f64;
            let left = (step.at_risk - step.events) as f64;
            if left > 0.0 {
                sum += (events - risk * step.hazard) / left;
            }
            squares[slot] += sum * sum;
            next = slot + 1;
        }
        from_then_on[next] += sum * sum;
    }
    let mut ended = 0.0;
    let mut variance = 0.0;
    let mut slots = at.iter().zip(squares.iter().zip(&from_then_on)).peekable();
    for (place, step) in table.iter_mut().enumerate() {
        if let Some((_, (square, gone))) = slots.next_if(|(at, _)| **at == place) {
            ended += gone;
            variance = (square + ended) * number / (number - 1.0);
        }
        step.variance = step.variance.max(variance);
    }
    Some(lasts)
}

fn interval(
    step: &LifeStep,
    number: u64,
    critical: f64,
    level: f64,
    highest: f64,
) -> Option<(f64, f64)> {
    let none = || wilson(0.0, number as f64, level).ok().map(|ci| ci.high);
    if step.survival >= 1.0 {
        return none().map(|high| (1.0 - high, 1.0));
    }
    if step.survival <= 0.0 {
        return none().map(|high| (0.0, high.min(highest)));
    }
    let spread = critical * step.variance.sqrt() / step.survival.ln();
    let (low, high) = (step.survival.powf((-spread).exp()), step.survival.powf(spread.exp()));
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::{Followed, kaplan_meier};

    fn alone(ends: &[(u32, bool)]) -> Vec<Followed> {
        (0..)
            .zip(ends)
            .map(|(cluster, (time, event))| Followed { time: *time, event: *event, cluster })
            .collect()
    }

    #[test]
    fn nobody_followed_is_an_empty_table() {
        assert_eq!(kaplan_meier(&[], 0.95), []);
    }

    #[test]
    fn without_an_event_and_with_nothing_else_there_is_still_an_interval() {
        let all_well = kaplan_meier(&alone(&[(20, false); 5]), 0.95);
        let (low, high) = all_well[0].interval.unwrap_or_default();
        assert!((0.5..0.6).contains(&low) && high == 1.0, "{low} {high}");
        let all_failed = kaplan_meier(&alone(&[(1, true); 4]), 0.95);
        let (low, high) = all_failed[0].interval.unwrap_or_default();
        assert!(low == 0.0 && (0.45..0.55).contains(&high), "{low} {high}");
    }

    #[test]
    fn runs_that_copy_each_other_widen_the_interval_and_single_ones_do_not() {
        let ends = [(2, true), (3, false), (4, true), (5, false), (6, true), (7, false)];
        let once = kaplan_meier(&alone(&ends), 0.95);
        let copies: Vec<Followed> = alone(&ends).into_iter().flat_map(|one| [one; 4]).collect();
        let clustered = kaplan_meier(&copies, 0.95);
        for (once, copies) in once.iter().zip(&clustered) {
            assert!((once.survival - copies.survival).abs() < 1e-12);
            let width = |ends: Option<(f64, f64)>| ends.map_or(0.0, |(low, high)| high - low);
            if once.survival < 1.0 {
                // Six tasks, whatever the number of their runs: about Greenwood's of six runs.
                let ratio = copies.variance / once.variance;
                assert!((0.9..1.3).contains(&ratio), "{ratio}");
                assert!(width(copies.interval) > 0.9 * width(once.interval));
            }
        }
    }
}
