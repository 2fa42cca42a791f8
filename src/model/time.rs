//! Points in time, in every spelling that traces use.

use std::borrow::Cow;

/// A time as recorded; it is read only where a figure needs it.
#[derive(Debug, Clone, PartialEq)]
pub enum Stamp<'a> {
    /// A text: ISO 8601 with `Z`, an offset, or no zone; a space for the `T`; a comma for the point.
    Text(Cow<'a, str>),
    /// A number since the Unix epoch; its unit (s, ms, us, ns) is told from its magnitude.
    Number(f64),
    /// Nanoseconds since the Unix epoch, exactly (OTLP).
    Nanos(u64),
}

/// A point in time with microsecond resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Microseconds since the Unix epoch; local ones where no zone is given.
    pub micros: i64,
    /// Whether the source names a zone. Times with and without one cannot be subtracted.
    pub zoned: bool,
}

impl Stamp<'_> {
    /// Reads the time. `None` where it is empty, zero (which writers use for "unknown") or unreadable.
    #[must_use]
    pub fn time(&self) -> Option<Time> {
        match self {
            Self::Text(text) => parse_text(text.trim()),
            Self::Number(number) => from_number(*number),
            Self::Nanos(0) => None,
            Self::Nanos(nanos) => {
                Some(Time { micros: i64::try_from(nanos / 1000).ok()?, zoned: true })
            }
        }
    }

    /// The time as ISO 8601, as exactly as it is recorded; `None` where it is unknown or beyond the
    /// year 9999.
    #[must_use]
    pub fn iso(&self) -> Option<String> {
        match self {
            Self::Nanos(nanos) if *nanos > 0 => {
                jiff::Timestamp::from_nanosecond(i128::from(*nanos)).ok().map(|t| t.to_string())
            }
            _ => self.time()?.iso(),
        }
    }

    /// The same time without a borrow.
    #[must_use]
    pub fn into_owned(self) -> Stamp<'static> {
        match self {
            Self::Text(text) => Stamp::Text(Cow::Owned(text.into_owned())),
            Self::Number(number) => Stamp::Number(number),
            Self::Nanos(nanos) => Stamp::Nanos(nanos),
        }
    }
}

impl Time {
    /// The time as ISO 8601, with `Z` where it has a zone; `None` beyond the year 9999.
    #[must_use]
    pub fn iso(self) -> Option<String> {
        let text = jiff::Timestamp::from_microsecond(self.micros).ok()?.to_string();
        if self.zoned { Some(text) } else { text.strip_suffix('Z').map(str::to_owned) }
    }

    /// Seconds from `earlier` to this time; `None` where one has a zone and the other has none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a span of under 285 years is exact in f64")]
    pub fn seconds_since(self, earlier: Self) -> Option<f64> {
        (self.zoned == earlier.zoned)
            .then(|| self.micros.saturating_sub(earlier.micros) as f64 / 1e6)
    }
}

/// Seconds up to the year 5138, then milliseconds, microseconds and nanoseconds by magnitude.
#[expect(clippy::cast_possible_truncation, reason = "the magnitude is bounded below 2^63 first")]
fn from_number(number: f64) -> Option<Time> {
    if !number.is_finite() || number <= 0.0 {
        return None;
    }
    let micros = match number {
        n if n < 1e11 => n * 1e6,
        n if n < 1e14 => n * 1e3,
        n if n < 1e17 => n,
        n if n < 1e20 => n / 1e3,
        _ => return None,
    };
    (micros < 9e18).then_some(Time { micros: micros.round() as i64, zoned: true })
}

fn parse_text(text: &str) -> Option<Time> {
    if text.is_empty() {
        return None;
    }
    if let Ok(number) = text.parse::<f64>() {
        return from_number(number);
    }
    if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
        return Some(Time { micros: stamp.as_microsecond(), zoned: true });
    }
    let local: jiff::civil::DateTime = match text.parse() {
        Ok(local) => local,
        // Python's logging writes `2026-11-29 16:07:49,024`.
        Err(_) if text.contains(',') => text.replacen(',', ".", 1).parse().ok()?,
        Err(_) => return None,
    };
    let stamp = jiff::tz::Offset::UTC.to_timestamp(local).ok()?;
    Some(Time { micros: stamp.as_microsecond(), zoned: false })
}

#[cfg(test)]
mod tests {
    use super::{Stamp, Time};

    fn text(text: &str) -> Option<Time> {
        Stamp::Text(text.into()).time()
    }

    #[test]
    fn every_spelling_of_one_instant_is_the_same_time() {
        let instant = Some(Time { micros: 1_767_225_600_500_000, zoned: true });
        assert_eq!(text("2026-01-01T00:00:00.500Z"), instant);
        assert_eq!(text("2026-01-01T10:00:00.5+10:00"), instant);
        assert_eq!(text("2026-01-01 00:00:00.500000+00:00"), instant);
        assert_eq!(text("1767225600.5"), instant);
        assert_eq!(Stamp::Number(1_767_225_600_500.0).time(), instant);
        assert_eq!(Stamp::Nanos(1_767_225_600_500_000_000).time(), instant);
    }

    #[test]
    fn no_zone_is_kept_apart_and_not_subtracted() {
        let local = text("2026-01-01 00:00:00,500");
        assert_eq!(local, Some(Time { micros: 1_767_225_600_500_000, zoned: false }));
        let zoned = text("2026-01-01T00:00:00Z");
        assert_eq!(local.and_then(|l| l.seconds_since(zoned?)), None);
    }

    #[test]
    fn what_is_written_is_read_as_the_same_time() {
        for stamp in [
            Stamp::Number(1_767_225_600.25),
            Stamp::Nanos(1_767_225_600_123_456_789),
            Stamp::Text("2026-01-01 00:00:00,5".into()),
            Stamp::Text("2026-01-01T10:00:00+10:00".into()),
        ] {
            let written = stamp.iso();
            assert!(written.is_some(), "{stamp:?}");
            assert_eq!(written.and_then(|written| text(&written)), stamp.time(), "{stamp:?}");
        }
        assert_eq!(Stamp::Nanos(0).iso(), None);
    }

    #[test]
    fn zero_and_nonsense_are_unknown() {
        for unknown in ["", "0", "0.0", "yesterday", "-5"] {
            assert_eq!(text(unknown), None, "{unknown}");
        }
        assert_eq!(Stamp::Number(f64::NAN).time(), None);
        assert_eq!(Stamp::Nanos(0).time(), None);
    }
}
