//! What the sources of a mapping make of the values of a record.
//!
//! Owns constants, joins, patterns, tables of values, tests, and the spelling of times and
//! durations.

use std::borrow::Cow;

use super::extract::{Found, Slots};
use crate::config::mapping::{
    DurationUnit, Line, Literal, Origin, Pick, Source, Spelling, Test, TimeForm,
};
use crate::model::Stamp;

/// A value, and the way that led to it.
pub(super) type Picked<'a> = (Found<'a>, &'a Pick);

/// The first of the ways to a value that gives one.
pub(super) fn find<'a>(source: &'a Source, slots: &Slots<'a>) -> Option<Picked<'a>> {
    source.picks.iter().find_map(|pick| take(pick, slots).map(|found| (found, pick)))
}

/// The text of a source.
pub(super) fn text(source: &Source, slots: &Slots<'_>) -> Option<String> {
    source.picks.iter().find_map(|pick| {
        let found = take(pick, slots)?;
        let text = found.text()?;
        (!text.trim().is_empty()).then(|| text.into_owned())
    })
}

/// The number of a source.
pub(super) fn number(source: &Source, slots: &Slots<'_>) -> Option<f64> {
    source.picks.iter().find_map(|pick| take(pick, slots)?.number())
}

pub(super) fn take<'a>(pick: &'a Pick, slots: &Slots<'a>) -> Option<Found<'a>> {
    let found = match &pick.from {
        Origin::Slot(slot) => slots.get(*slot)?.clone(),
        Origin::Constant(raw) => Found::Json(raw),
        Origin::Join(parts) => {
            let texts = parts.iter().filter_map(|slot| slots.get(*slot));
            let texts: Vec<String> =
                texts.filter_map(|found| found.text().map(Cow::into_owned)).collect();
            if texts.is_empty() {
                return None;
            }
            Found::Text(texts.join(" / ").into())
        }
    };
    let found = match &pick.pattern {
        None => found,
        Some(_) => Found::Text(captured(pick, &found.text()?)?.into()),
    };
    match &pick.values {
        None => Some(found),
        Some(table) => {
            let word = found.text()?.trim().to_lowercase();
            table.get(&word).map(|means| Found::Text(Cow::Owned(means.clone())))
        }
    }
}

/// What the pattern takes of a text: its first group, else all that matches; nothing empty.
fn captured(pick: &Pick, text: &str) -> Option<String> {
    let pattern = pick.pattern.as_ref()?;
    let of = |text: &str| {
        let groups = pattern.captures(text)?;
        let group = groups.iter().skip(1).flatten().next().or_else(|| groups.get(0))?;
        let taken = group.as_str().trim();
        (!taken.is_empty()).then(|| taken.to_owned())
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    match pick.line {
        None => of(text),
        Some(Line::First) => of(lines.next()?),
        Some(Line::Last) => of(lines.next_back()?),
        Some(Line::Any) => lines.find_map(of),
    }
}

/// Whether all tests hold.
pub(super) fn fits(tests: &[Test], slots: &Slots<'_>) -> bool {
    tests.iter().all(|test| {
        let found = slots.get(test.slot);
        if test.exists.is_some_and(|exists| exists != found.is_some()) {
            return false;
        }
        let Some(found) = found else {
            let asks = test.pattern.is_some()
                || !test.any_of.is_empty()
                || test.min.is_some()
                || test.max.is_some();
            return !asks;
        };
        let number = || found.number();
        test.pattern.as_ref().is_none_or(|p| found.text().is_some_and(|text| p.is_match(&text)))
            && (test.any_of.is_empty() || test.any_of.iter().any(|literal| is(found, literal)))
            && !test.none_of.iter().any(|literal| is(found, literal))
            && test.min.is_none_or(|min| number().is_some_and(|n| n >= min))
            && test.max.is_none_or(|max| number().is_some_and(|n| n <= max))
    })
}

fn is(found: &Found<'_>, literal: &Literal) -> bool {
    match literal {
        Literal::Text(text) => {
            found.text().is_some_and(|found| found.trim().eq_ignore_ascii_case(text))
        }
        Literal::Number(number) => found.number() == Some(*number),
        Literal::Flag(flag) => {
            found.text().is_some_and(|found| found.trim().eq_ignore_ascii_case(&flag.to_string()))
        }
    }
}

/// A time as its form says that it is written; `Err` where it cannot be read so.
pub(super) fn stamp(found: &Found<'_>, form: &TimeForm) -> Result<Option<Stamp<'static>>, ()> {
    let Some(text) = found.text() else { return Err(()) };
    let text = text.trim();
    if text.is_empty() || matches!(text, "0" | "0.0") {
        return Ok(None); // writers use zero for "unknown"
    }
    let numeric = text.parse::<f64>().is_ok_and(f64::is_finite);
    let read = match &form.spelling {
        Spelling::Epoch(unit) => epoch(text, *unit),
        Spelling::Auto if numeric => match text.parse::<u64>() {
            // Beyond 2^53 a float would lose what the digits say.
            Ok(nanos) if nanos >= 100_000_000_000_000_000 => Some(Stamp::Nanos(nanos)),
            _ => {
                let stamp = text.parse().ok().map(Stamp::Number);
                stamp.filter(|stamp| stamp.time().is_some())
            }
        },
        Spelling::Auto | Spelling::Iso if !numeric => {
            in_zone(Stamp::Text(text.to_owned().into()), form.zone)
        }
        Spelling::Auto | Spelling::Iso => None,
        Spelling::Pattern(pattern) => by_pattern(text, pattern, form.zone),
    };
    read.map(Some).ok_or(())
}

/// A number of units since the epoch, exact where it has no fraction.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction has no more than a float, and the range is checked first"
)]
fn epoch(text: &str, unit: u64) -> Option<Stamp<'static>> {
    if let Ok(whole) = text.parse::<u64>() {
        return whole.checked_mul(unit).map(Stamp::Nanos);
    }
    // Whole units and their fraction apart: a float has no room for both.
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if let (Ok(whole), true) = (whole.parse::<u64>(), fraction.bytes().all(|b| b.is_ascii_digit()))
    {
        let part: f64 = format!("0.{fraction}").parse().ok()?;
        return whole
            .checked_mul(unit)?
            .checked_add((part * unit as f64).round() as u64)
            .map(Stamp::Nanos);
    }
    let nanos = text.parse::<f64>().ok()? * unit as f64;
    (0.0..1.8e19).contains(&nanos).then_some(Stamp::Nanos(nanos.round() as u64))
}

/// The time with the zone that is assumed where it names none; one that names a zone as a number.
fn in_zone(stamp: Stamp<'static>, zone: Option<i32>) -> Option<Stamp<'static>> {
    let time = stamp.time()?;
    let micros = match (time.zoned, zone) {
        (true, _) => time.micros,
        (false, Some(east)) => time.micros.checked_sub(i64::from(east) * 1_000_000)?,
        (false, None) => return Some(stamp),
    };
    let nanos = u64::try_from(micros).ok().and_then(|micros| micros.checked_mul(1000));
    Some(nanos.map_or(stamp, Stamp::Nanos))
}

fn by_pattern(text: &str, pattern: &str, zone: Option<i32>) -> Option<Stamp<'static>> {
    let read = jiff::fmt::strtime::parse(pattern, text).ok()?;
    if let Ok(stamp) = read.to_timestamp() {
        return in_zone(Stamp::Text(stamp.to_string().into()), None);
    }
    let local = match read.to_datetime() {
        Ok(local) => local,
        Err(_) => read.to_date().ok()?.to_datetime(jiff::civil::Time::midnight()),
    };
    in_zone(Stamp::Text(local.to_string().into()), zone)
}

/// A duration in milliseconds.
pub(super) fn duration(found: &Found<'_>, unit: Option<DurationUnit>) -> Option<f64> {
    let factor = match unit? {
        DurationUnit::S => 1e3,
        DurationUnit::Ms => 1.0,
        DurationUnit::Us => 1e-3,
        DurationUnit::Ns => 1e-6,
        DurationUnit::Text => return suffixed(found.words()?.trim()),
    };
    found.number().filter(|number| number.is_finite()).map(|number| number * factor)
}

/// Milliseconds of `43.8µs`, `1m 2.5s`, `250 ms`, `00:01:02.5`.
fn suffixed(text: &str) -> Option<f64> {
    if text.contains(':') {
        let parts: Option<Vec<f64>> =
            text.split(':').map(|part| part.trim().parse().ok()).collect();
        let parts = parts.filter(|parts| matches!(parts.len(), 2 | 3))?;
        return Some(parts.iter().fold(0.0, |sum, part| sum * 60.0 + part) * 1e3);
    }
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).filter(|at| *at > 0)?;
        let number: f64 = rest.get(..digits)?.parse().ok()?;
        let behind = rest.get(digits..)?.trim_start();
        let end = behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len());
        let factor = match behind.get(..end)?.to_lowercase().as_str() {
            "ns" | "nanoseconds" => 1e-6,
            // The micro sign and the Greek letter.
            "us" | "\u{b5}s" | "\u{3bc}s" | "microseconds" => 1e-3,
            "ms" | "millis" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
            "m" | "min" | "mins" | "minute" | "minutes" => 60e3,
            "h" | "hr" | "hour" | "hours" => 3_600e3,
            "d" | "day" | "days" => 86_400e3,
            _ => return None,
        };
        sum += number * factor;
        rest = behind.get(end..)?.trim_start();
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::suffixed;

    #[test]
    fn durations_name_their_unit() {
        for (text, millis) in [
            ("43.8\u{b5}s", Some(0.0438)),
            ("43.8\u{3bc}s", Some(0.0438)),
            ("1m2.5s", Some(62_500.0)),
            ("1m 2.5s", Some(62_500.0)),
            ("250 ms", Some(250.0)),
            ("00:01:02.5", Some(62_500.0)),
            ("2h", Some(7_200_000.0)),
            ("12", None),
            ("", None),
            ("ms", None),
            ("1 parsec", None),
        ] {
            let read = suffixed(text);
            match (read, millis) {
                (Some(a), Some(b)) => assert!((a - b).abs() < 1e-9, "{text}: {a}"),
                (a, b) => assert_eq!(a, b, "{text}"),
            }
        }
    }
}
