//! JSON output: numbers never with an exponent, and rounded where they are made; characters that a
//! terminal would obey are escaped, beyond those that JSON itself forbids.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::safe::is_disturbing;

/// Writes floats in plain decimals, and texts without what disturbs a terminal.
struct Plain<F>(F);

impl<F: Formatter> Formatter for Plain<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        // `Display` for floats never uses an exponent; the shortest digits that read back equal.
        let value = if value == 0.0 { 0.0 } else { value };
        write!(out, "{value}")
    }
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.is_ascii() && !fragment.contains('\u{7F}') {
            return out.write_all(fragment.as_bytes());
        }
        let mut plain = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| is_disturbing(*c)) {
            out.write_all(fragment.get(plain..at).unwrap_or_default().as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            plain = at + c.len_utf8();
        }
        out.write_all(fragment.get(plain..).unwrap_or_default().as_bytes())
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
    fn what_a_terminal_would_obey_is_escaped_and_reads_back_equal() {
        let text = "é\u{9B}1m\u{202E}x\u{7F}\u{E0041}\u{1F600}\"\n";
        let json = compact_json(&text);
        assert_eq!(json, "\"é\\u009b1m\\u202ex\\u007f\\udb40\\udc41\u{1F600}\\\"\\n\"");
        assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some(text));
    }

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
