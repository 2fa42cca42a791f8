//! How times are written, and which zone they are in.

use super::super::compiled::Spelling;
use super::{Check, Checked};

impl Check<'_> {
    pub(super) fn spelling(&self, format: Option<&str>, at: &[String]) -> Checked<Spelling> {
        let Some(format) = format else { return Ok(Spelling::Auto) };
        Ok(match format {
            "auto" => Spelling::Auto,
            "iso" => Spelling::Iso,
            "epoch_s" => Spelling::Epoch(1_000_000_000),
            "epoch_ms" => Spelling::Epoch(1_000_000),
            "epoch_us" => Spelling::Epoch(1_000),
            "epoch_ns" => Spelling::Epoch(1),
            pattern if pattern.contains('%') => {
                // What cannot be written cannot be read either.
                if let Err(error) = jiff::fmt::strtime::format(pattern, jiff::Timestamp::UNIX_EPOCH)
                {
                    return self.fault(
                        at,
                        format!("the pattern of this time cannot be read: {error}"),
                        "write one such as %Y-%m-%d %H:%M:%S",
                    );
                }
                Spelling::Pattern(pattern.to_owned())
            }
            other => {
                return self.fault(
                    at,
                    format!("there is no format of times `{other}`"),
                    "write iso, epoch_s, epoch_ms, epoch_us, epoch_ns, auto, or a pattern with %",
                );
            }
        })
    }

    /// Seconds east of UTC.
    pub(super) fn zone(&self, zone: Option<&str>, at: &[String]) -> Checked<Option<i32>> {
        let Some(zone) = zone else { return Ok(None) };
        match offset(zone.trim()) {
            Some(seconds) => Ok(Some(seconds)),
            None => self.fault(
                at,
                format!("`{zone}` is no zone that is known here"),
                "write UTC, or an offset such as +02:00",
            ),
        }
    }
}

fn offset(zone: &str) -> Option<i32> {
    if zone.eq_ignore_ascii_case("utc") || zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = match zone.as_bytes().first()? {
        b'+' => (1, zone.get(1..)?),
        b'-' => (-1, zone.get(1..)?),
        _ => return None,
    };
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    let sound = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    if !sound {
        return None;
    }
    let hours: i32 = digits.get(..2)?.parse().ok()?;
    let minutes: i32 =
        digits.get(2..).filter(|m| !m.is_empty()).map_or(Some(0), |m| m.parse().ok())?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}
