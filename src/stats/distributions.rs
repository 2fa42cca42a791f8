//! The normal and Student's t distribution, and their inverses.
//!
//! Owns: quantiles good to 1e-8 of their size at any degrees of freedom.
//! Refuses: the t inverse of statrs, which is off by 3.5e-6 at 100,000 degrees
//! of freedom (STATISTICS.md, section 6); its distribution functions are used.

use std::f64::consts::PI;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::checked_beta_reg;
use statrs::function::gamma::ln_gamma;

/// From here on the expansion about the normal quantile is good to 1e-12, and
/// below it the distribution function is.
const EXPANSION_FROM: f64 = 1000.0;

/// The standard normal distribution function at `x`.
pub fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// The standard normal quantile. `None` unless `p` is strictly between 0 and 1.
pub fn normal_quantile(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| Normal::standard().inverse_cdf(p))
}

/// The distribution function of Student's t with `df` degrees of freedom at `x`; that
/// of the upper tail is this one at `-x`. `None` for NaN and unless `df` is above 0.
pub fn t_cdf(x: f64, df: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, df).ok()?;
    (!x.is_nan()).then(|| t.cdf(x).clamp(0.0, 1.0))
}

/// The quantile of Student's t with `df` degrees of freedom, which need not be whole.
///
/// Closed forms for 1 and 2, an expansion in 1/df from 1,000 (Abramowitz and
/// Stegun 26.7.5), Newton's method on the distribution function between.
/// Undefined, and `None`, unless `p` is strictly between 0 and 1 and `df` above 0.
pub fn t_quantile(p: f64, df: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0 && df > 0.0) {
        return None;
    }
    if p == 0.5 {
        return Some(0.0);
    }
    // The distribution is symmetric, so only the distance into the tail matters.
    let tail = p.min(1.0 - p);
    let distance = upper_t(tail, df)?;
    (distance.is_finite()).then_some(if p < 0.5 { -distance } else { distance })
}

/// The two-sided critical value: `level` of Student's t lies within plus or minus
/// it. `None` unless `level` is strictly between 0 and 1 and `df` above 0.
pub fn t_critical(level: f64, df: f64) -> Option<f64> {
    if level > 0.0 && level < 1.0 { t_quantile(0.5 + level / 2.0, df) } else { None }
}

/// The point with `tail` (below one half) of the distribution above it.
fn upper_t(tail: f64, df: f64) -> Option<f64> {
    if df == 1.0 {
        return Some(1.0 / (PI * tail).tan());
    }
    if df == 2.0 {
        return Some((1.0 - 2.0 * tail) / (2.0 * tail * (1.0 - tail)).sqrt());
    }
    let start = expanded(-normal_quantile(tail)?, df);
    if df >= EXPANSION_FROM {
        return Some(start);
    }
    let t = StudentsT::new(0.0, 1.0, df).ok()?;
    let density = Density::new(df);
    Some(if tail > 0.25 { near_centre(&density, tail) } else { in_tail(&t, &density, tail, start) })
}

/// The t quantile as the normal quantile `z` plus terms in 1/df.
fn expanded(z: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return z;
    }
    let s = z * z;
    let terms = [
        z * (s + 1.0) / 4.0,
        z * ((5.0 * s + 16.0) * s + 3.0) / 96.0,
        z * (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
        z * ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92_160.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) / df) + z
}

/// The share within plus and minus `x` is concave in `x`, so Newton's steps from 0
/// only ever walk towards the root. It is computed as such: one half minus the
/// upper tail would leave 8 digits of a quantile close to 0.
fn near_centre(density: &Density, tail: f64) -> f64 {
    let df = density.df;
    let target = 1.0 - 2.0 * tail;
    let mut x = 0.0;
    for _ in 0..60 {
        let within = checked_beta_reg(0.5, df / 2.0, x * x / (df + x * x)).unwrap_or(f64::NAN);
        let step = (target - within) / (2.0 * density.at(x));
        x += step;
        if step.is_nan() || step.abs() <= 1e-15 * x {
            break;
        }
    }
    x
}

/// In the tail the logarithm of the upper tail is concave in the logarithm of `x`
/// and close to a line, so Newton's steps on that scale settle in a few rounds.
fn in_tail(t: &StudentsT, density: &Density, tail: f64, start: f64) -> f64 {
    let mut x = start.max(0.1);
    for _ in 0..100 {
        let above = t.sf(x);
        let slope = density.at(x) * x / above;
        let step = ((above / tail).ln() / slope).clamp(-2.0, 2.0);
        if !step.is_finite() {
            break;
        }
        x *= step.exp();
        if step.abs() <= 1e-15 {
            break;
        }
    }
    x
}

/// The density of Student's t, with its constant computed once.
struct Density {
    ln_constant: f64,
    df: f64,
}

impl Density {
    fn new(df: f64) -> Self {
        let ln_constant = ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0) - (df * PI).ln() / 2.0;
        Self { ln_constant, df }
    }

    fn at(&self, x: f64) -> f64 {
        (self.ln_constant - (self.df + 1.0) / 2.0 * (x * x / self.df).ln_1p()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of printed t tables carry three decimals.
    #[test]
    fn t_matches_the_printed_table() {
        for (df, p, expected) in
            [(3.0, 0.975, 3.182), (9.0, 0.95, 1.833), (49.0, 0.975, 2.010), (30.0, 0.995, 2.750)]
        {
            let got = t_quantile(p, df).unwrap_or(f64::NAN);
            assert!((got - expected).abs() < 6e-4, "t({p}, {df}) = {got}");
        }
    }

    #[test]
    fn the_expansion_meets_newton_where_they_join() {
        for p in [0.500_001, 0.6, 0.8, 0.975, 0.999, 1.0 - 1e-9] {
            let newton = t_quantile(p, 999.999_999).unwrap_or(f64::NAN);
            let expansion = t_quantile(p, 1000.0).unwrap_or(f64::NAN);
            assert!((newton / expansion - 1.0).abs() < 1e-8, "{p}: {newton} {expansion}");
        }
    }

    #[test]
    fn the_distribution_function_undoes_the_quantile() {
        for df in [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.3, 40.0, 400.0, 5e3] {
            for p in [1e-9, 1e-4, 0.025, 0.2, 0.3, 0.49, 0.51, 0.74, 0.76, 0.99] {
                let x = t_quantile(p, df).unwrap_or(f64::NAN);
                let back = StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |t| t.cdf(x));
                assert!((back / p - 1.0).abs() < 1e-7, "df {df}, p {p}: {x} gives {back}");
            }
        }
    }

    #[test]
    fn outside_its_domain_there_is_no_quantile() {
        assert_eq!(t_quantile(0.5, 0.0), None);
        assert_eq!(t_quantile(1.0, 5.0), None);
        assert_eq!(t_quantile(f64::NAN, 5.0), None);
        assert_eq!(t_critical(0.95, f64::NAN), None);
        assert_eq!(normal_quantile(0.0), None);
        assert_eq!(t_quantile(0.975, f64::INFINITY), normal_quantile(0.975));
    }
}
