//! Differences of figures as people read them: percentage points, ratios and amounts, with their
//! interval; and p-values.
//!
//! One manner everywhere: a difference that the test cannot tell from none is `~`, never a number,
//! and its interval is shown all the same.

use super::figures::figure_value;
use super::number::plain;
use crate::compare::{Evidence, GatedMetric, Levels, Verdict};
use crate::metrics::Metric;
use crate::model::Unit;

/// Numbers beyond this are shown with an exponent: no figure of use is as large.
const LARGEST: f64 = 1e15;

/// How differences of one figure are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// What numbers are multiplied by.
    factor: f64,
    decimals: usize,
    /// Between sign and digits.
    before: &'static str,
    /// After the digits of each number.
    each: &'static str,
    /// After the last number.
    after: &'static str,
}

impl Scale {
    /// For ratios of geometric means, as what is more or less than the whole.
    const RATIO: Self = Self { factor: 100.0, decimals: 1, before: "", each: "%", after: "" };

    fn of(metric: &Metric) -> Self {
        let plain = Self { factor: 1.0, decimals: 2, before: "", each: "", after: "" };
        match metric.info().unit {
            Unit::Ratio => Self { factor: 100.0, decimals: 1, after: "pp", ..plain },
            Unit::Count | Unit::Steps => plain,
            Unit::Seconds => Self { after: " s", ..plain },
            Unit::Tokens => Self { decimals: 0, ..plain },
            Unit::Usd => Self { decimals: 4, before: "$", ..plain },
        }
    }

    /// A number with its sign, at a number of decimals more than usual.
    fn signed(self, number: f64, more: usize) -> String {
        let digits = self.digits(number.abs(), more);
        let zero = !digits.contains(|digit: char| ('1'..='9').contains(&digit));
        let sign = match number {
            _ if zero => "",
            n if n < 0.0 => "-",
            _ => "+",
        };
        format!("{sign}{}{digits}{}", self.before, self.each)
    }

    fn digits(self, number: f64, more: usize) -> String {
        let number = number * self.factor;
        if number.abs() < LARGEST {
            plain(number, self.decimals + more)
        } else {
            format!("{number:.2e}")
        }
    }

    /// A number that is not 0, with decimals enough to show that.
    fn point(self, number: f64) -> String {
        let tried = (0..8).map(|more| self.signed(number, more));
        let shown = tried.clone().find(|text| text.contains(|c: char| ('1'..='9').contains(&c)));
        let shown = shown.unwrap_or_else(|| self.signed(number, 0));
        format!("{shown}{}", self.after)
    }

    /// An interval, with decimals enough to tell its ends apart.
    fn interval(self, (low, high): (f64, f64)) -> String {
        let ends = |more| (self.signed(low, more), self.signed(high, more));
        let (low, high) =
            (0..8).map(ends).find(|(low, high)| low != high).unwrap_or_else(|| ends(0));
        format!("[{low}, {high}]")
    }

    /// A size without a sign and without needless zeros: `5pp`, `0.1`, `12.5%`.
    fn size(self, number: f64) -> String {
        let tried = (0..8).map(|more| self.digits(number.abs(), more));
        let shown = tried.clone().find(|text| text.contains(|c: char| ('1'..='9').contains(&c)));
        let shown = shown.unwrap_or_else(|| "0".to_owned());
        let short = match shown.contains('.') && !shown.contains('e') {
            true => shown.trim_end_matches('0').trim_end_matches('.'),
            false => &shown,
        };
        format!("{}{short}{}{}", self.before, self.each, self.after)
    }
}

/// A difference in its parts: what stands before the interval, and the interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// `-8.7pp`, `+12.0%`, `~`, or `-` where there is none.
    pub(super) point: String,
    /// `[-14.9, -2.4]`, or nothing.
    pub(super) interval: String,
}

impl Change {
    /// The difference of one figure; `told` says whether the test tells it from none.
    pub(super) fn of(metric: &Metric, evidence: &Evidence, told: bool) -> Self {
        let less_one = |ratio: f64| ratio - 1.0;
        let (scale, value, interval) = match evidence.ratio {
            Some((ratio, ends)) => {
                let ends = ends.map(|(low, high)| (less_one(low), less_one(high)));
                (Scale::RATIO, Some(less_one(ratio)), ends)
            }
            None => (Scale::of(metric), evidence.difference, evidence.interval),
        };
        let finite = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite();
        let interval = interval.filter(finite).map(|ends| scale.interval(ends));
        let interval = interval.unwrap_or_default();
        match value.filter(|value| value.is_finite()) {
            None => Self { point: "-".to_owned(), interval: String::new() },
            Some(value) if told => Self { point: scale.point(value), interval },
            // The unit stands where the number is.
            Some(_) if interval.is_empty() => Self { point: "~".to_owned(), interval },
            Some(_) => {
                Self { point: "~".to_owned(), interval: format!("{interval}{}", scale.after) }
            }
        }
    }

    /// On one line: `-8.7pp [-14.9, -2.4]`, `~ [-4.1, +3.0]pp`.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.point, self.interval).trim_end().to_owned()
    }
}

/// Changes below each other: their first parts end, and their intervals begin, in one column.
pub(super) fn aligned(changes: &[Change]) -> Vec<String> {
    let widest = changes.iter().map(|change| change.point.len()).max().unwrap_or(0);
    let pad = |change: &Change| format!("{:>widest$} {}", change.point, change.interval);
    changes.iter().map(|change| pad(change).trim_end().to_owned()).collect()
}

/// The size of a harm, in the unit in which the figure's difference is shown.
pub(super) fn size(metric: &Metric, evidence: &Evidence, harm: f64) -> String {
    match (evidence.ratio, evidence.baseline) {
        (Some(_), Some(baseline)) if baseline > 0.0 => Scale::RATIO.size(harm / baseline),
        _ => Scale::of(metric).size(harm),
    }
}

/// A value of one side, with the unit of the figure.
pub(super) fn side(metric: &Metric, value: Option<f64>) -> String {
    match value {
        Some(value) if value.abs() >= LARGEST => format!("{value:.2e}"),
        value => figure_value(metric, value),
    }
}

/// A p-value: three decimals.
pub(super) fn p_value(p: Option<f64>) -> String {
    match p {
        None => "-".to_owned(),
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
}

/// Whether a gated figure's difference is told from none, in either direction.
pub(super) fn told(gated: &GatedMetric, levels: Levels) -> bool {
    gated.p_adjusted.is_some_and(|p| p <= levels.harm) || gated.verdict == Verdict::Improved
}

/// The adjusted p of the direction that is spoken of: of gain for an improved figure, else of harm.
pub(super) fn spoken_p(gated: &GatedMetric) -> Option<f64> {
    match gated.verdict {
        Verdict::Improved => gated.gain_adjusted,
        _ => gated.p_adjusted,
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, aligned, p_value, size};
    use crate::compare::Evidence;
    use crate::metrics::metric;

    fn change(name: &str, difference: f64, interval: (f64, f64), told: bool) -> String {
        let evidence = Evidence {
            difference: Some(difference),
            interval: Some(interval),
            ..Evidence::default()
        };
        Change::of(metric(name).unwrap(), &evidence, told).line()
    }

    #[test]
    fn every_unit_has_its_manner_and_what_is_not_told_is_a_tilde_with_its_interval() {
        let rate = "final_completion_rate";
        assert_eq!(change(rate, -0.087, (-0.149, -0.024), true), "-8.7pp [-14.9, -2.4]");
        assert_eq!(change(rate, -0.008, (-0.041, 0.03), false), "~ [-4.1, +3.0]pp");
        assert_eq!(change(rate, -1e-5, (-2e-5, -1e-6), true), "-0.001pp [-0.002, 0.000]");
        assert_eq!(change("avg_retry_count", 0.2, (-0.1, 0.5), true), "+0.20 [-0.10, +0.50]");
        assert_eq!(change("duration_seconds", 1.5, (-1.0, 4.0), false), "~ [-1.00, +4.00] s");
        assert_eq!(change("total_tokens", 1200.0, (3.0, 1e20), true), "+1,200 [+3, +1.00e20]");
        assert_eq!(change("cost_usd", -0.01, (-0.02, 0.0), true), "-$0.0100 [-$0.0200, $0.0000]");
        let nothing = Change::of(metric(rate).unwrap(), &Evidence::default(), false);
        assert_eq!(nothing.line(), "-");
    }

    #[test]
    fn geometric_means_are_compared_as_a_percentage() {
        let evidence = Evidence {
            difference: Some(3.0),
            baseline: Some(25.0),
            ratio: Some((1.12, Some((1.03, 1.22)))),
            ..Evidence::default()
        };
        let duration = metric("duration_seconds").unwrap();
        assert_eq!(Change::of(duration, &evidence, true).line(), "+12.0% [+3.0%, +22.0%]");
        assert_eq!(Change::of(duration, &evidence, false).line(), "~ [+3.0%, +22.0%]");
        assert_eq!(size(duration, &evidence, 2.5), "10%");
        let rate = metric("first_step_accuracy").unwrap();
        assert_eq!(size(rate, &Evidence::default(), 0.05), "5pp");
    }

    #[test]
    fn intervals_stand_below_each_other_and_small_p_is_not_0() {
        let change = |point: &str, interval: &str| Change {
            point: point.to_owned(),
            interval: interval.to_owned(),
        };
        let lines = aligned(&[change("-8.7pp", "[-14.9, -2.4]"), change("~", "[-1.0, +2.0]pp")]);
        assert_eq!(lines, ["-8.7pp [-14.9, -2.4]", "     ~ [-1.0, +2.0]pp"]);
        assert_eq!([p_value(Some(1e-9)), p_value(Some(0.0123))], ["<0.001", "0.012"]);
    }
}
