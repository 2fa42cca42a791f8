//! How numbers look to people.

/// A whole number with separators: `1,871`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share as a percentage with one decimal: `91.3%`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A number with separators and a fixed number of decimals.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and larger numbers are shown without separators"
)]
pub fn plain(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    if number.abs() >= 1e15 || !number.is_finite() {
        return text;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if whole.starts_with('-') { "-" } else { "" };
    let whole = count(whole.trim_start_matches('-').parse::<f64>().unwrap_or(0.0) as u64);
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A duration: `0.35 s`, `12.4 s`, `3 min 20 s`, `2 h 05 min`.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "durations are not negative, and the cast saturates"
)]
pub fn seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        s if s > 0.0 && s < 0.005 => format!("{:.2} ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.2} s"),
        s if s < 100.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", count(whole / 3600), whole % 3600 / 60),
    }
}

/// A number of bytes in decimal units.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, percent, plain, seconds};

    #[test]
    fn numbers_are_written_for_people() {
        let counts = [0, 999, 1871, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,871", "1,234,567"]);
        assert_eq!(percent(0.913_43), "91.3%");
        assert_eq!(plain(-1234.5, 2), "-1,234.50");
        assert_eq!(plain(1e16, 1), "10000000000000000.0");
        let durations = [0.351, 200.0, 7500.0].map(seconds);
        assert_eq!(durations, ["0.35 s", "3 min 20 s", "2 h 05 min"]);
    }
}
