//! Floats that JSON cannot write, as texts that no sound input holds.
//!
//! Owns the encoding between the repair of a record, which writes such texts, and whoever reads
//! a repaired number. Refuses any other text.

/// Marks a text that stands for a float JSON cannot write. Private use, so that no sound text is it.
pub const FLOAT_MARK: char = '\u{E000}';

/// The float that a marked text stands for (not a number, or an infinity), if it is one.
#[must_use]
pub fn marked_float(text: &str) -> Option<f64> {
    match text.strip_prefix(FLOAT_MARK)? {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The text as it is shown: of a marked float its word alone, of any other all of it.
#[must_use]
pub fn unmarked(text: &str) -> &str {
    match marked_float(text) {
        Some(_) => text.trim_start_matches(FLOAT_MARK),
        None => text,
    }
}
