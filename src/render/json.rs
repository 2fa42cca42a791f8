//! JSON output: numbers never with an exponent, and rounded where they are made.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// Writes floats in plain decimals.
struct Plain<F>(F);

impl<F: Formatter> Formatter for Plain<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        // `Display` for floats never uses an exponent; the shortest digits that read back equal.
        let value = if value == 0.0 { 0.0 } else { value };
        write!(out, "{value}")
    }
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }
    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }
    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }
    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }
    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }
    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

/// A value as indented JSON with a line break at its end.
#[must_use]
pub fn pretty_json(value: &impl Serialize) -> String {
    let mut text = to_text(value, Plain(PrettyFormatter::with_indent(b"  ")));
    text.push('\n');
    text
}

/// A value as one line of JSON, without a line break.
#[must_use]
pub fn compact_json(value: &impl Serialize) -> String {
    to_text(value, Plain(CompactFormatter))
}

fn to_text(value: &impl Serialize, formatter: impl Formatter) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    // Writing to memory cannot fail, and none of our wire structs can.
    if value.serialize(&mut serializer).is_err() {
        return "null".to_owned();
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Rounds to a number of decimals; what is not finite becomes `None`.
pub(super) fn rounded(value: Option<f64>, decimals: usize) -> Option<f64> {
    let value = value.filter(|value| value.is_finite())?;
    format!("{value:.decimals$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{compact_json, rounded};

    #[test]
    fn floats_have_no_exponent_and_no_negative_zero() {
        assert_eq!(
            compact_json(&[1e-9, 1e21, 0.5, -0.0, 2.0]),
            "[0.000000001,1000000000000000000000,0.5,0,2]"
        );
        assert_eq!(rounded(Some(2.0 / 3.0), 6), Some(0.666_667));
        assert_eq!(rounded(Some(f64::NAN), 6), None);
    }
}
