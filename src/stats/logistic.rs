//! Two-parameter regressions of a share on one number.
//!
//! Owns: the logistic and the complementary log-log curve `p = link(a + b x)`, fitted by likelihood
//! with an optional ridge on the slope, by Newton's method with halved steps (STATISTICS.md, 1.1 and
//! 4.3). Refuses: data without a finite optimum, which is told as `None` and never as a large number.

/// What is seen at one place: `passed` of `weight` observations at `x`. Weights need not be whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharePoint {
    /// Where.
    pub x: f64,
    /// How much was seen there; above 0.
    pub weight: f64,
    /// How much of it passed; 0 to `weight`.
    pub passed: f64,
}

/// The curve's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// `p = 1 / (1 + exp(-(a + b x)))`.
    Logit,
    /// `p = 1 - exp(-exp(a + b x))`.
    Cloglog,
}

/// A fitted curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareFit {
    /// The value at `x = 0`, on the scale of the link.
    pub intercept: f64,
    /// Its change per unit of `x`.
    pub slope: f64,
    /// Standard error of the slope from the information; says something only where weights are
    /// numbers of independent observations and there is no ridge.
    pub slope_error: f64,
    /// Log likelihood without the ridge's penalty.
    pub loglik: f64,
}

impl ShareFit {
    /// The `x` at which a share of `q` passes, for a logistic curve; `None` where it is flat.
    #[must_use]
    pub fn place_of(&self, q: f64) -> Option<f64> {
        let x = ((q / (1.0 - q)).ln() - self.intercept) / self.slope;
        x.is_finite().then_some(x)
    }
}

/// Iterations before a fit is given up; from a sound start about ten are needed.
const MOST_ROUNDS: usize = 100;

/// Fits `p = link(a + b x)`, minimising `sum of weight * cross entropy + ridge / 2 * b^2`.
///
/// The intercept is not penalised. `None` where there is no finite optimum: nothing or everything
/// passed, all `x` are one, or without a ridge the two kinds lie on two sides of a place.
#[must_use]
pub fn fit_share(points: &[SharePoint], link: Link, ridge: f64) -> Option<ShareFit> {
    let usable = points
        .iter()
        .all(|p| p.x.is_finite() && p.weight.is_finite() && p.weight >= 0.0 && p.passed >= 0.0);
    let points: Vec<SharePoint> = points.iter().copied().filter(|p| p.weight > 0.0).collect();
    if !usable || ridge < 0.0 || ridge.is_nan() || !has_optimum(&points, ridge) {
        return None;
    }
    let total: f64 = points.iter().map(|p| p.weight).sum();
    let share = points.iter().map(|p| p.passed).sum::<f64>() / total;
    let start = match link {
        Link::Logit => (share / (1.0 - share)).ln(),
        Link::Cloglog => (-(1.0 - share).ln()).ln(),
    };
    let (mut a, mut b) = (start, 0.0);
    let mut best = loss(&points, link, ridge, a, b);
    for _ in 0..MOST_ROUNDS {
        let system = Normal::of(&points, link, ridge, a, b);
        let (da, db) = system.step()?;
        let small = |step: f64, at: f64| step.abs() <= 1e-13 * (1.0 + at.abs());
        let mut by = 1.0;
        loop {
            let (to_a, to_b) = (a + by * da, b + by * db);
            let there = loss(&points, link, ridge, to_a, to_b);
            if there <= best {
                (a, b, best) = (to_a, to_b, there);
                break;
            }
            by *= 0.5;
            if by < 1e-10 {
                break;
            }
        }
        if small(by * da, a) && small(by * db, b) || by < 1e-10 {
            break;
        }
    }
    let system = Normal::of(&points, link, ridge, a, b);
    let loglik = -(best - 0.5 * ridge * b * b);
    let slope_error = (system.aa / system.determinant()).sqrt();
    [a, b, loglik].iter().all(|value| value.is_finite()).then_some(ShareFit {
        intercept: a,
        slope: b,
        slope_error,
        loglik,
    })
}

/// Whether the loss has its least value at a finite place.
fn has_optimum(points: &[SharePoint], ridge: f64) -> bool {
    let ends = |of: fn(&SharePoint) -> bool| {
        points.iter().filter(|p| of(p)).fold(None, |ends: Option<(f64, f64)>, p| match ends {
            None => Some((p.x, p.x)),
            Some((low, high)) => Some((low.min(p.x), high.max(p.x))),
        })
    };
    let (Some(passed), Some(failed)) = (ends(|p| p.passed > 0.0), ends(|p| p.passed < p.weight))
    else {
        return false;
    };
    // At one place alone there is no slope, whatever the ridge.
    let (low, high) = (passed.0.min(failed.0), passed.1.max(failed.1));
    if low >= high {
        return false;
    }
    if ridge > 0.0 {
        return true;
    }
    // Overlap on both sides; where the two kinds only touch, the slope has no end either.
    passed.0 < failed.1 && failed.0 < passed.1
}

/// The share that passes and the log of both shares, without loss of digits at the ends.
fn shares(link: Link, eta: f64) -> (f64, f64, f64) {
    match link {
        Link::Logit => {
            let log_pass = -(-eta).exp().ln_1p();
            let log_fail = -eta.exp().ln_1p();
            let log_pass = if log_pass.is_finite() { log_pass } else { eta };
            let log_fail = if log_fail.is_finite() { log_fail } else { -eta };
            (1.0 / (1.0 + (-eta).exp()), log_pass, log_fail)
        }
        Link::Cloglog => {
            let rate = eta.exp();
            let share = -(-rate).exp_m1();
            (share, share.ln(), -rate)
        }
    }
}

fn loss(points: &[SharePoint], link: Link, ridge: f64, a: f64, b: f64) -> f64 {
    let sum: f64 = points
        .iter()
        .map(|p| {
            let (_, pass, fail) = shares(link, a + b * p.x);
            let term = |count: f64, log: f64| if count == 0.0 { 0.0 } else { count * log };
            -(term(p.passed, pass) + term(p.weight - p.passed, fail))
        })
        .sum();
    let whole = sum + 0.5 * ridge * b * b;
    if whole.is_nan() { f64::INFINITY } else { whole }
}

/// The gradient and the expected information at one place (Fisher scoring; for the logit the
/// same as Newton's method).
struct Normal {
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
}

impl Normal {
    fn of(points: &[SharePoint], link: Link, ridge: f64, a: f64, b: f64) -> Self {
        let mut n = Self { a: 0.0, b: ridge * b, aa: 0.0, ab: 0.0, bb: ridge };
        for p in points {
            let eta = a + b * p.x;
            let (share, _, _) = shares(link, eta);
            let spread = (share * (1.0 - share)).max(1e-300);
            let slope = match link {
                Link::Logit => spread,
                Link::Cloglog => (eta - eta.exp()).exp(),
            };
            let residual = (p.weight * share - p.passed) * slope / spread;
            let information = p.weight * slope * slope / spread;
            n.a += residual;
            n.b += residual * p.x;
            n.aa += information;
            n.ab += information * p.x;
            n.bb += information * p.x * p.x;
        }
        n
    }

    fn determinant(&self) -> f64 {
        self.aa * self.bb - self.ab * self.ab
    }

    fn step(&self) -> Option<(f64, f64)> {
        let det = self.determinant();
        let step = (
            -(self.bb * self.a - self.ab * self.b) / det,
            -(self.aa * self.b - self.ab * self.a) / det,
        );
        (step.0.is_finite() && step.1.is_finite()).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::{Link, SharePoint, fit_share};

    fn points(seen: &[(f64, f64, f64)]) -> Vec<SharePoint> {
        seen.iter().map(|&(x, weight, passed)| SharePoint { x, weight, passed }).collect()
    }

    #[test]
    fn two_places_are_met_exactly() {
        let fit = fit_share(&points(&[(0.0, 10.0, 8.0), (1.0, 10.0, 5.0)]), Link::Logit, 0.0);
        let fit = fit.unwrap_or(super::ShareFit {
            intercept: 0.0,
            slope: 0.0,
            slope_error: 0.0,
            loglik: 0.0,
        });
        assert!((fit.intercept - 4_f64.ln()).abs() < 1e-12, "{fit:?}");
        assert!((fit.slope + 4_f64.ln()).abs() < 1e-12, "{fit:?}");
        assert!(fit.place_of(0.5).is_some_and(|x| (x - 1.0).abs() < 1e-12));
    }

    #[test]
    fn without_a_finite_optimum_there_is_no_fit() {
        let apart = points(&[(0.0, 3.0, 3.0), (1.0, 3.0, 0.0)]);
        assert_eq!(fit_share(&apart, Link::Logit, 0.0), None);
        assert!(fit_share(&apart, Link::Logit, 0.1).is_some());
        let touching = points(&[(0.0, 3.0, 3.0), (1.0, 3.0, 1.0), (2.0, 3.0, 0.0)]);
        assert_eq!(fit_share(&touching, Link::Logit, 0.0), None);
        assert_eq!(fit_share(&points(&[(2.0, 3.0, 1.0), (2.0, 5.0, 4.0)]), Link::Logit, 0.1), None);
        for all in [points(&[(0.0, 3.0, 0.0), (1.0, 3.0, 0.0)]), points(&[(2.0, 3.0, 1.0)]), vec![]]
        {
            assert_eq!(fit_share(&all, Link::Cloglog, 0.0), None);
        }
        assert_eq!(fit_share(&points(&[(f64::NAN, 1.0, 0.5)]), Link::Logit, 0.1), None);
    }
}
