//! How far a judge and people agree on two verdicts, and a rate corrected for the judge's errors.
//!
//! Owns: Cohen's kappa, shares of agreement, sensitivity, specificity and the corrected rate, of rows
//! that were drawn by stratum, each with an interval. Refuses: more than two verdicts, and rows that
//! depend on each other (they are taken as independent).
//!
//! Every figure is a function of the four shares of the table judge by person. A stratum's rows stand
//! for all of it, so a share is the sum over strata of `size / all * rows in the cell / rows`. The
//! variance is the delta method's, by stratum: `sum of W^2 * (mean of z^2 - mean of z ^2) / n` with `z`
//! the derivative by the share of the row's cell. For one stratum and kappa that is the formula of
//! Fleiss, Cohen and Everitt (1969). It holds no correction for a finite population.
//!
//! Rows of a stratum that are all alike have no spread, which is no proof that the others of the
//! stratum are alike too: such a stratum has that of one more row of each of the person's verdicts,
//! as if `(x + 1) / (n + 2)` were the share (Laplace's rule of succession).

use super::distributions::normal_quantile;
use super::interval::{Interval, NoInterval, check_level};
use super::proportion::wilson;

/// Counts or shares: the judge's verdict first (0 pass, 1 fail), then the person's.
pub type VerdictTable = [[f64; 2]; 2];

/// Rated rows of one stratum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatedStratum {
    /// How many there are in the population, rated or not; above 0.
    pub size: f64,
    /// The rated ones.
    pub cells: VerdictTable,
}

/// A figure with its interval, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its interval.
    pub interval: Result<Interval, NoInterval>,
}

/// Why a rate cannot be corrected. The text is a fragment that fits behind "n/a: ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Uncorrected {
    /// Sensitivity and specificity add up to 1 or less.
    #[error("sensitivity and specificity add up to 1 or less: the judge tells no more than chance")]
    NoBetterThanChance,
    /// People passed none, or failed none.
    #[error(
        "people passed none or failed none, so one of sensitivity and specificity is not known"
    )]
    OneVerdict,
    /// There is nothing to correct.
    #[error("no run to correct the rate of")]
    NoRuns,
}

/// How far a judge and people agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgeAgreement {
    /// Shares of the population; they sum to 1.
    pub shares: VerdictTable,
    /// Share of equal verdicts; Wilson's interval with the effective number of rows.
    pub agreement: Estimate,
    /// Cohen's kappa (1960); `None` where both have one and the same verdict for all.
    pub kappa: Option<Estimate>,
    /// Of what people pass, the share that the judge passes.
    pub sensitivity: Option<Estimate>,
    /// Of what people fail, the share that the judge fails.
    pub specificity: Option<Estimate>,
    /// The share that the judge passes.
    pub apparent: f64,
    /// The share that people would pass, by Rogan and Gladen (1978). For the population that the rows
    /// were drawn from it equals the stratified mean of what people pass, and has the variance of double
    /// sampling for stratification (Cochran 1977, 12.2).
    pub corrected: Result<Estimate, Uncorrected>,
}

/// How often the judge is right where people give one verdict, with its derivatives.
#[derive(Clone, Copy)]
struct Correct {
    value: f64,
    z: VerdictTable,
}

/// What a set of strata comes to.
struct Rated<'s> {
    strata: &'s [RatedStratum],
    all: f64,
    shares: VerdictTable,
    level: f64,
}

/// The variance of a figure.
#[derive(Clone, Copy)]
struct Variance {
    value: f64,
    /// Whether a stratum of which all rows are alike has a part in it.
    floored: bool,
}

/// A variance below this is rounding.
const ROUNDING: f64 = 1e-15;

/// The variance of `z` over the rows of a table.
fn spread(cells: &VerdictTable, z: &VerdictTable) -> f64 {
    let n = rows(cells);
    let mean = |power: i32| -> f64 {
        let pairs = cells.iter().flatten().zip(z.iter().flatten());
        pairs.map(|(count, z)| count / n * z.powi(power)).sum()
    };
    (mean(2) - mean(1).powi(2)).max(0.0)
}

/// The same with one more row of each of the person's verdicts, where the judge has given a verdict.
fn spread_with_one_more(cells: &VerdictTable, z: &VerdictTable) -> f64 {
    let more = |[pass, fail]: [f64; 2]| match pass + fail > 0.0 {
        true => [pass + 1.0, fail + 1.0],
        false => [pass, fail],
    };
    spread(&cells.map(more), z)
}

/// Rows of a table.
fn rows(cells: &VerdictTable) -> f64 {
    cells.iter().flatten().sum()
}

impl<'s> Rated<'s> {
    /// `None` without a rated row in each stratum, or with numbers that count nothing.
    fn of(strata: &'s [RatedStratum], level: f64) -> Option<Self> {
        check_level(level).ok()?;
        let sound = |stratum: &RatedStratum| {
            let counts = stratum.cells.iter().flatten().all(|n| n.is_finite() && *n >= 0.0);
            counts && rows(&stratum.cells) > 0.0 && stratum.size.is_finite() && stratum.size > 0.0
        };
        if strata.is_empty() || !strata.iter().all(sound) {
            return None;
        }
        let all = strata.iter().map(|stratum| stratum.size).sum();
        let mut shares = [[0.0; 2]; 2];
        for stratum in strata {
            let weight = stratum.size / all / rows(&stratum.cells);
            for (share, count) in shares.iter_mut().flatten().zip(stratum.cells.iter().flatten()) {
                *share += weight * count;
            }
        }
        Some(Self { strata, all, shares, level })
    }

    /// The variance of a figure with these derivatives; `None` where a stratum has one row alone, which
    /// tells no spread.
    fn variance(&self, z: &VerdictTable) -> Option<Variance> {
        let mut found = Variance { value: 0.0, floored: false };
        for stratum in self.strata {
            let n = rows(&stratum.cells);
            if n < 2.0 {
                return None;
            }
            let mut spread = spread(&stratum.cells, z);
            if spread <= ROUNDING {
                spread = spread_with_one_more(&stratum.cells, z);
                found.floored |= spread > ROUNDING;
            }
            found.value += (stratum.size / self.all).powi(2) * spread / n;
        }
        Some(found)
    }

    /// A share of the rows in `domain` with Wilson's interval. The effective number of rows is that
    /// which gives the same variance, at most the rows themselves; where all are alike, or a stratum has
    /// one row alone, the variance says nothing, and it is Kish's: the square of the weights' sum over the sum of their squares.
    fn share(&self, value: f64, z: &VerdictTable, domain: [[bool; 2]; 2]) -> Estimate {
        let (mut count, mut weights, mut squares) = (0.0, 0.0, 0.0);
        for stratum in self.strata {
            let weight = stratum.size / rows(&stratum.cells);
            let cells = stratum.cells.iter().flatten().zip(domain.iter().flatten());
            let inside: f64 = cells.filter(|(_, inside)| **inside).map(|(n, _)| n).sum();
            count += inside;
            weights += weight * inside;
            squares += weight * weight * inside;
        }
        let kish = if squares > 0.0 { weights * weights / squares } else { 0.0 };
        let effective = match self.variance(z) {
            Some(Variance { value: variance, .. })
                if variance > ROUNDING && value > 0.0 && value < 1.0 =>
            {
                value * (1.0 - value) / variance
            }
            _ => kish,
        };
        let effective = effective.min(count);
        let interval = wilson(value * effective, effective, self.level)
            .map(|interval| Interval { method: "Wilson, effective number of rows", ..interval });
        Estimate { value, interval }
    }

    /// A figure with the delta method's interval, cut to its range.
    fn delta(&self, value: f64, variance: Option<Variance>, range: (f64, f64)) -> Estimate {
        let interval = variance.ok_or(NoInterval::TooFewClusters).and_then(|variance| {
            let z = normal_quantile(0.5 + self.level / 2.0).ok_or(NoInterval::BadSetting)?;
            if variance.value <= ROUNDING {
                return Err(NoInterval::NoSpread);
            }
            let half = z * variance.value.sqrt();
            let method = match variance.floored {
                true => {
                    "delta method, by stratum; one more row of each verdict where all are alike"
                }
                false => "delta method, by stratum",
            };
            Interval::around(value, (value - half, value + half), range, method)
        });
        Estimate { value, interval }
    }

    fn judge(&self) -> [f64; 2] {
        self.shares.map(|row| row[0] + row[1])
    }

    fn person(&self) -> [f64; 2] {
        let [pass, fail] = self.shares;
        [pass[0] + fail[0], pass[1] + fail[1]]
    }

    fn agreement(&self) -> Estimate {
        let value = (self.shares[0][0] + self.shares[1][1]).clamp(0.0, 1.0);
        self.share(value, &[[1.0, 0.0], [0.0, 1.0]], [[true; 2]; 2])
    }

    fn kappa(&self) -> Option<Estimate> {
        let (judge, person) = (self.judge(), self.person());
        let equal = self.shares[0][0] + self.shares[1][1];
        let chance = judge[0] * person[0] + judge[1] * person[1];
        let room = 1.0 - chance;
        if room <= 1e-12 {
            return None;
        }
        let z = |j: usize, p: usize| {
            let same = if j == p { room } else { 0.0 };
            (same - (1.0 - equal) * (person[j] + judge[p])) / (room * room)
        };
        let z = [[z(0, 0), z(0, 1)], [z(1, 0), z(1, 1)]];
        let value = ((equal - chance) / room).clamp(-1.0, 1.0);
        Some(self.delta(value, self.variance(&z), (-1.0, 1.0)))
    }

    /// Sensitivity for verdict 0, specificity for verdict 1.
    fn correct(&self, verdict: usize) -> Option<Correct> {
        let of = self.person()[verdict];
        if of <= 0.0 {
            return None;
        }
        let value = (self.shares[verdict][verdict] / of).clamp(0.0, 1.0);
        let mut z = [[0.0; 2]; 2];
        z[verdict][verdict] = (1.0 - value) / of;
        z[1 - verdict][verdict] = -value / of;
        Some(Correct { value, z })
    }

    fn correct_share(&self, verdict: usize) -> Option<Estimate> {
        let Correct { value, z } = self.correct(verdict)?;
        let mut domain = [[false; 2]; 2];
        domain[0][verdict] = true;
        domain[1][verdict] = true;
        Some(self.share(value, &z, domain))
    }

    /// Sensitivity, specificity and Youden's index, where they can correct a rate.
    fn errors(&self) -> Result<(Correct, Correct, f64), Uncorrected> {
        let both = self.correct(0).zip(self.correct(1));
        let (sensitivity, specificity) = both.ok_or(Uncorrected::OneVerdict)?;
        let index = sensitivity.value + specificity.value - 1.0;
        if index <= 1e-12 {
            return Err(Uncorrected::NoBetterThanChance);
        }
        Ok((sensitivity, specificity, index))
    }

    fn corrected(&self) -> Result<Estimate, Uncorrected> {
        let (_, specificity, index) = self.errors()?;
        let rate = ((self.judge()[0] + specificity.value - 1.0) / index).clamp(0.0, 1.0);
        // The runs are themselves drawn from what the agent may do: the first phase.
        let first: f64 = self
            .strata
            .iter()
            .map(|stratum| {
                let passed = (stratum.cells[0][0] + stratum.cells[1][0]) / rows(&stratum.cells);
                stratum.size / self.all * (passed - rate).powi(2) / self.all
            })
            .sum();
        let second = self.variance(&[[1.0, 0.0], [1.0, 0.0]]);
        let variance = second.map(|second| Variance { value: second.value + first, ..second });
        Ok(self.delta(rate, variance, (0.0, 1.0)))
    }
}

/// How far a judge and people agree on rows drawn by stratum; `None` where a stratum has no rated row.
#[must_use]
pub fn judge_agreement(strata: &[RatedStratum], level: f64) -> Option<JudgeAgreement> {
    let rated = Rated::of(strata, level)?;
    Some(JudgeAgreement {
        shares: rated.shares,
        agreement: rated.agreement(),
        kappa: rated.kappa(),
        sensitivity: rated.correct_share(0),
        specificity: rated.correct_share(1),
        apparent: rated.judge()[0],
        corrected: rated.corrected(),
    })
}

/// Cohen's kappa of two raters over the same rows, and the share on which they agree; `None` without
/// rows. The kappa is `None` where both give all rows one and the same verdict.
#[must_use]
pub fn rater_agreement(cells: VerdictTable, level: f64) -> Option<(Estimate, Option<Estimate>)> {
    let strata = [RatedStratum { size: rows(&cells), cells }];
    let rated = Rated::of(&strata, level)?;
    Some((rated.agreement(), rated.kappa()))
}

/// The share that people would pass of other runs, of which the judge passes `passed` of `of`, by Rogan
/// and Gladen (1978). Assumes that the judge errs there as often as on the rated rows. The interval adds
/// the variance of the judge's rate to that of sensitivity and specificity (delta method).
///
/// # Errors
/// See [`Uncorrected`].
pub fn corrected_rate(
    strata: &[RatedStratum],
    passed: f64,
    of: f64,
    level: f64,
) -> Result<Estimate, Uncorrected> {
    let rated = Rated::of(strata, level).ok_or(Uncorrected::OneVerdict)?;
    if !(passed >= 0.0 && of > 0.0 && passed <= of && of.is_finite()) {
        return Err(Uncorrected::NoRuns);
    }
    let (sensitivity, specificity, index) = rated.errors()?;
    let apparent = passed / of;
    let rate = (apparent + specificity.value - 1.0) / index;
    let mut z = [[0.0; 2]; 2];
    for (j, row) in z.iter_mut().enumerate() {
        for (p, z) in row.iter_mut().enumerate() {
            *z = (-rate * sensitivity.z[j][p] + (1.0 - rate) * specificity.z[j][p]) / index;
        }
    }
    let of_rate = apparent * (1.0 - apparent) / of / (index * index);
    let of_errors = rated.variance(&z);
    let variance = of_errors.map(|errors| Variance { value: errors.value + of_rate, ..errors });
    Ok(rated.delta(rate.clamp(0.0, 1.0), variance, (0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn one_row_a_stratum_tells_a_value_and_no_spread() {
        let strata = [
            RatedStratum { size: 5.0, cells: [[1.0, 0.0], [0.0, 0.0]] },
            RatedStratum { size: 5.0, cells: [[0.0, 0.0], [0.0, 1.0]] },
        ];
        let found = judge_agreement(&strata, 0.95);
        let kappa = found.and_then(|found| found.kappa);
        assert!(kappa.is_some_and(|kappa| near(kappa.value, 1.0)));
        let interval = kappa.map(|kappa| kappa.interval);
        assert_eq!(interval, Some(Err(NoInterval::TooFewClusters)));
    }

    #[test]
    fn a_judge_that_is_always_right_has_a_lower_bound_below_one() {
        let cells = [[20.0, 0.0], [0.0, 20.0]];
        let found = judge_agreement(&[RatedStratum { size: 40.0, cells }], 0.95);
        let found = found.map(|found| (found.sensitivity, found.kappa));
        let (sensitivity, kappa) = found.unwrap_or_default();
        // Wilson of 20 of 20: 20 / (20 + 1.96^2).
        let low = sensitivity.and_then(|s| s.interval.ok()).map(|ci| ci.low);
        assert!(low.is_some_and(|low| near(low, 0.838_875)), "{low:?}");
        // Both judges' verdicts have one more row of each kind: 21, 1, 1 and 21 of 44. Kappa's
        // derivative is 2 where they agree and 0 elsewhere: 4 * 42/44 * 2/44 / 40 = 0.0043388.
        let low = kappa.and_then(|kappa| kappa.interval.ok()).map(|ci| ci.low);
        assert!(low.is_some_and(|low| near(low, 1.0 - 1.959_963_985 * 0.004_338_843_f64.sqrt())));
    }

    #[test]
    fn a_judge_no_better_than_chance_corrects_nothing() {
        let cells = [[5.0, 5.0], [5.0, 5.0]];
        let found = judge_agreement(&[RatedStratum { size: 20.0, cells }], 0.95);
        let why = found.map(|found| found.corrected.err());
        assert_eq!(why, Some(Some(Uncorrected::NoBetterThanChance)));
        assert!(judge_agreement(&[], 0.95).is_none());
    }
}
