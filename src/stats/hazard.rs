//! The risk of failing in each step: constant or not, how far it lets a run get, and what failed
//! and what succeeded by a step (STATISTICS.md, sections 4.1 to 4.3).
//!
//! Owns: the geometric model, the discrete Weibull model, tests of a constant hazard, and the
//! Aalen-Johansen estimate. Refuses to say which steps may be projected to: callers withhold what
//! the tests reject.

use std::collections::BTreeMap;

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::logistic::{Link, ShareFit, SharePoint, fit_share};
use super::survival::Followed;

/// One step: how many took it, and for how many it was the first failed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRisk {
    /// The step, from 1.
    pub step: u32,
    /// Observations that took it.
    pub at_risk: u64,
    /// Of those, the ones whose event came there.
    pub events: u64,
}

/// The steps from 1 to the last one that any observation took.
#[must_use]
pub fn steps_at_risk(followed: &[Followed]) -> Vec<StepRisk> {
    let mut ends: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for one in followed.iter().filter(|one| one.time > 0) {
        let (all, events) = ends.entry(one.time).or_default();
        *all += 1;
        *events += u64::from(one.event);
    }
    let mut at_risk: u64 = ends.values().map(|(all, _)| all).sum();
    let mut steps = Vec::new();
    let mut next = 1;
    for (time, (all, events)) in ends {
        for step in next..=time {
            let events = if step == time { events } else { 0 };
            steps.push(StepRisk { step, at_risk, events });
        }
        next = time.saturating_add(1);
        at_risk -= all;
    }
    steps
}

/// The same risk in every step: `S(n) = (1 - h)^n`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometric {
    /// Events, D.
    pub events: u64,
    /// Steps taken at risk, X.
    pub exposure: u64,
    /// The hazard D / X. 0 to 1.
    pub hazard: f64,
    /// Log likelihood.
    pub loglik: f64,
}

impl Geometric {
    /// Fits the model; `None` where no step was taken.
    #[must_use]
    pub fn of(followed: &[Followed]) -> Option<Self> {
        let events = followed.iter().filter(|one| one.event && one.time > 0).count() as u64;
        let exposure: u64 = followed.iter().map(|one| u64::from(one.time)).sum();
        if exposure == 0 {
            return None;
        }
        let (d, x) = (events as f64, exposure as f64);
        let hazard = d / x;
        let term = |count: f64, share: f64| if count == 0.0 { 0.0 } else { count * share.ln() };
        let loglik = term(d, hazard) + term(x - d, 1.0 - hazard);
        Some(Self { events, exposure, hazard, loglik })
    }
}

/// `(1 - hazard)^steps`: the share that gets through that many steps. 0 to 1.
#[must_use]
pub fn survival_to(hazard: f64, steps: f64) -> f64 {
    (steps * (-hazard).ln_1p()).exp()
}

/// The number of steps after which a share `q` is left; infinite without a risk.
#[must_use]
pub fn horizon_at(hazard: f64, q: f64) -> f64 {
    q.ln() / (-hazard).ln_1p()
}

/// Discrete Weibull (Nakagawa and Osaki 1975): `S(n) = q^(n^beta)`; `beta` 1 is the geometric model,
/// below 1 the risk falls with the step, above it rises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weibull {
    /// The share that gets through the first step. 0 to 1.
    pub q: f64,
    /// The shape, above 0.
    pub beta: f64,
    /// Log likelihood.
    pub loglik: f64,
}

impl Weibull {
    /// Fits by likelihood; `None` without an event, without a step after the first, or where the
    /// shape has no best value between .02 and 20.
    #[must_use]
    pub fn of(followed: &[Followed]) -> Option<Self> {
        let mut ends: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for one in followed.iter().filter(|one| one.time > 0) {
            let (events, censored) = ends.entry(one.time).or_default();
            if one.event { *events += 1.0 } else { *censored += 1.0 }
        }
        let ends: Vec<(f64, f64, f64)> =
            ends.into_iter().map(|(time, (d, c))| (f64::from(time), d, c)).collect();
        if ends.iter().all(|(_, events, _)| *events == 0.0) || ends.last()?.0 < 2.0 {
            return None;
        }
        let (mut low, mut high) = (0.02_f64, 20.0_f64);
        let slope = |beta: f64| profile_slope(&ends, beta);
        if !(slope(low)? > 0.0 && slope(high)? < 0.0) {
            return None;
        }
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if slope(middle)? > 0.0 {
                low = middle
            } else {
                high = middle
            }
            if high / low - 1.0 < 1e-14 {
                break;
            }
        }
        let beta = (low * high).sqrt();
        let rate = best_rate(&ends, beta)?;
        let loglik = ends
            .iter()
            .map(|&(n, events, censored)| {
                let (a, b) = ((n - 1.0).powf(beta), n.powf(beta));
                let event = -rate * a + (-(-rate * (b - a)).exp_m1()).ln();
                let term = |count: f64, log: f64| if count == 0.0 { 0.0 } else { count * log };
                term(events, event) - term(censored, rate * b)
            })
            .sum();
        Some(Self { q: (-rate).exp(), beta, loglik })
    }

    /// The share that gets through `steps` steps. 0 to 1.
    #[must_use]
    pub fn survival_to(&self, steps: f64) -> f64 {
        (self.q.ln() * steps.powf(self.beta)).exp()
    }
}

/// The best `-ln q` for a shape: the root of a falling derivative, by bisection of its logarithm.
fn best_rate(ends: &[(f64, f64, f64)], beta: f64) -> Option<f64> {
    let slope = |log_rate: f64| -> f64 {
        let rate = log_rate.exp();
        ends.iter()
            .map(|&(n, events, censored)| {
                let (a, b) = ((n - 1.0).powf(beta), n.powf(beta));
                let event = if events == 0.0 {
                    0.0
                } else {
                    events * ((b - a) / (rate * (b - a)).exp_m1() - a)
                };
                event - if censored == 0.0 { 0.0 } else { censored * b }
            })
            .sum()
    };
    // The longest time raised to the shape is the largest number that a rate meets.
    let longest = ends.last().map_or(1.0, |end| end.0);
    let (mut low, mut high) = (-beta * longest.ln() - 40.0, 7.0);
    if !(slope(low) > 0.0 && slope(high) < 0.0) {
        return None;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if slope(middle) > 0.0 {
            low = middle
        } else {
            high = middle
        }
        if high - low < 1e-14 {
            break;
        }
    }
    Some((0.5_f64 * (low + high)).exp())
}

/// The derivative of the log likelihood along the shape, at the best rate for it.
fn profile_slope(ends: &[(f64, f64, f64)], beta: f64) -> Option<f64> {
    let rate = best_rate(ends, beta)?;
    let slope = ends
        .iter()
        .map(|&(n, events, censored)| {
            // The derivative of n^beta; of 0^beta it is 0.
            let change = |n: f64| if n > 0.0 { n.powf(beta) * n.ln() } else { 0.0 };
            let (a, b) = ((n - 1.0).powf(beta), n.powf(beta));
            let (da, db) = (change(n - 1.0), change(n));
            let event = if events == 0.0 {
                0.0
            } else {
                events * rate * ((db - da) / (rate * (b - a)).exp_m1() - da)
            };
            event - if censored == 0.0 { 0.0 } else { censored * rate * db }
        })
        .sum::<f64>();
    slope.is_finite().then_some(slope)
}

/// The regression of the hazard on the logarithm of the step, against a constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// `logit(h_j) = intercept + slope * ln j`, or the same with the complementary log-log.
    pub fit: ShareFit,
    /// Twice the gain in log likelihood over a constant hazard.
    pub lrt: f64,
    /// Its p-value from chi-squared with 1 degree; takes observations to be independent.
    pub p: f64,
}

/// Tests a constant hazard against one that changes with the logarithm of the step.
///
/// `None` without both a failed and a passed step at two places. Observations of one task are
/// alike, so that with several of them a task the p-value is too small; callers label it and
/// resample tasks ([`trend_slope`]).
#[must_use]
pub fn hazard_trend(followed: &[Followed], link: Link) -> Option<Trend> {
    let constant = Geometric::of(followed)?;
    let fit = trend_slope(&steps_at_risk(followed), link)?;
    let lrt = (2.0 * (fit.loglik - constant.loglik)).max(0.0);
    Some(Trend { fit, lrt, p: chi_squared_tail(lrt, 1.0)? })
}

/// The fit of [`hazard_trend`] from counts by step, which resampling adds up anew.
#[must_use]
pub fn trend_slope(steps: &[StepRisk], link: Link) -> Option<ShareFit> {
    let points: Vec<SharePoint> = steps
        .iter()
        .map(|step| SharePoint {
            x: f64::from(step.step).ln(),
            weight: step.at_risk as f64,
            passed: step.events as f64,
        })
        .collect();
    fit_share(&points, link, 0.0)
}

/// Early, middle and late thirds of the steps against a constant hazard.
#[derive(Debug, Clone, PartialEq)]
pub struct Thirds {
    /// First and last step, events, and steps taken, of each third.
    pub thirds: [(u32, u32, u64, u64); 3],
    /// Pearson's statistic with 2 degrees.
    pub chi_squared: f64,
    /// Its p-value; takes observations to be independent.
    pub p: f64,
}

/// Compares thirds of the steps; `None` where fewer than 3 steps were taken or the hazard is 0 or 1.
#[must_use]
pub fn thirds(followed: &[Followed]) -> Option<Thirds> {
    let all = Geometric::of(followed)?;
    let steps = steps_at_risk(followed);
    let last = steps.last()?.step;
    if last < 3 || all.events == 0 || all.events == all.exposure {
        return None;
    }
    let ends = [0, last / 3, (u64::from(last) * 2 / 3) as u32, last];
    let mut thirds = [(0, 0, 0, 0); 3];
    let mut chi_squared = 0.0;
    for (third, bounds) in thirds.iter_mut().zip(ends.windows(2)) {
        let within = steps.iter().filter(|s| s.step > bounds[0] && s.step <= bounds[1]);
        let (events, taken) = within.fold((0, 0), |(d, n), s| (d + s.events, n + s.at_risk));
        *third = (bounds[0] + 1, bounds[1], events, taken);
        let expected = all.hazard * taken as f64;
        let off = events as f64 - expected;
        chi_squared += off * off / (expected * (1.0 - all.hazard));
    }
    Some(Thirds { thirds, chi_squared, p: chi_squared_tail(chi_squared, 2.0)? })
}

/// The chance of a chi-squared number beyond `value`.
#[must_use]
pub fn chi_squared_tail(value: f64, degrees: f64) -> Option<f64> {
    value.is_finite().then(|| ChiSquared::new(degrees).ok().map(|law| law.sf(value)))?
}

/// How an observation ended, where success takes it out of the risk of failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It failed.
    Failed,
    /// It succeeded.
    Succeeded,
    /// It was not seen to the end.
    Censored,
}

/// What had happened by a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Incidence {
    /// The step.
    pub time: u32,
    /// Observations that got there.
    pub at_risk: u64,
    /// Share that failed by then. 0 to 1.
    pub failed: f64,
    /// Share that succeeded by then. 0 to 1.
    pub succeeded: f64,
    /// Share still going. The three sum to 1.
    pub going: f64,
}

/// The Aalen-Johansen estimate (1978): shares that failed and succeeded by each step at which an
/// observation ends, where the two compete. Censoring is taken to be uninformative.
#[must_use]
pub fn aalen_johansen(ends: &[(u32, Ended)]) -> Vec<Incidence> {
    let mut by_time: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
    for (time, ended) in ends {
        let slot = match ended {
            Ended::Failed => 0,
            Ended::Succeeded => 1,
            Ended::Censored => 2,
        };
        by_time.entry(*time).or_default()[slot] += 1;
    }
    let mut at_risk = ends.len() as u64;
    let (mut failed, mut succeeded, mut going) = (0.0, 0.0, 1.0);
    let mut table = Vec::with_capacity(by_time.len());
    for (time, [f, s, c]) in by_time {
        let n = at_risk as f64;
        failed += going * (f as f64 / n);
        succeeded += going * (s as f64 / n);
        going *= (at_risk - f - s) as f64 / n;
        table.push(Incidence { time, at_risk, failed, succeeded, going });
        at_risk -= f + s + c;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Geometric, Weibull, horizon_at, steps_at_risk, survival_to, thirds};
    use crate::stats::Followed;

    fn followed(ends: &[(u32, bool)]) -> Vec<Followed> {
        (0..).zip(ends).map(|(cluster, &(time, event))| Followed { time, event, cluster }).collect()
    }

    #[test]
    fn errors_add_up_as_everybody_says() {
        for (hazard, steps, left) in
            [(0.05, 20.0, 0.3585), (0.05, 30.0, 0.2146), (0.1, 20.0, 0.1216)]
        {
            assert!((survival_to(hazard, steps) - left).abs() < 5e-5, "{hazard} {steps}");
        }
        assert!((horizon_at(0.05, 0.5) - 13.513_407).abs() < 1e-6);
        assert_eq!((survival_to(0.0, 9.0), horizon_at(0.0, 0.5)), (1.0, f64::INFINITY));
    }

    #[test]
    fn steps_are_counted_for_those_who_take_them() {
        let steps = steps_at_risk(&followed(&[(1, true), (3, false), (3, true)]));
        let counts: Vec<_> = steps.iter().map(|s| (s.step, s.at_risk, s.events)).collect();
        assert_eq!(counts, [(1, 3, 1), (2, 2, 0), (3, 2, 1)]);
    }

    #[test]
    fn what_cannot_be_fitted_is_not_fitted() {
        assert_eq!(Geometric::of(&[]), None);
        assert_eq!(Weibull::of(&followed(&[(5, false), (7, false)])), None);
        assert_eq!(Weibull::of(&followed(&[(1, true), (1, true)])), None);
        assert_eq!(thirds(&followed(&[(2, true), (2, false)])), None);
        assert_eq!(thirds(&followed(&[(9, false), (9, false)])), None);
    }
}
