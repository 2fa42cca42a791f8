//! Writing JSON piece by piece, where most values are JSON text already.

use std::fmt::Write as _;

/// An object that is being written.
pub(super) struct Object<'o> {
    out: &'o mut String,
    empty: bool,
}

impl<'o> Object<'o> {
    /// Opens an object at the end of `out`.
    pub(super) fn open(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, empty: true }
    }

    pub(super) fn close(self) {
        self.out.push('}');
    }

    /// Writes a key; its value goes to what is returned.
    pub(super) fn key(&mut self, key: &str) -> &mut String {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        push_text(self.out, key);
        self.out.push(':');
        self.out
    }

    /// A text, where there is one.
    pub(super) fn text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            push_text(self.key(key), text);
        }
    }

    /// A number, where there is one.
    pub(super) fn number(&mut self, key: &str, number: Option<f64>) {
        if let Some(number) = number {
            push_number(self.key(key), number);
        }
    }

    /// A whole number, where there is one.
    pub(super) fn whole(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            // Writing to memory cannot fail.
            let _ = write!(self.key(key), "{number}");
        }
    }

    /// A flag, where there is one.
    pub(super) fn flag(&mut self, key: &str, flag: Option<bool>) {
        if let Some(flag) = flag {
            self.key(key).push_str(if flag { "true" } else { "false" });
        }
    }

    /// `true`, where it holds.
    pub(super) fn mark(&mut self, key: &str, holds: bool) {
        self.flag(key, holds.then_some(true));
    }

    /// JSON text, on one line.
    pub(super) fn json(&mut self, key: &str, json: &str) {
        push_compact(self.key(key), json);
    }
}

/// A text as a JSON string.
pub(super) fn push_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// A number so that it reads back as the same one: as a text where JSON has no such number, or where
/// a reader of JSON would give its neighbour.
pub(super) fn push_number(out: &mut String, number: f64) {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
    let text = match number {
        n if n.fract() == 0.0 && n.abs() < 9e15 => (n as i64).to_string(),
        n => n.to_string(),
    };
    let same = |read: f64| read.to_bits() == number.to_bits() || (read == 0.0 && number == 0.0);
    if serde_json::from_str::<f64>(&text).is_ok_and(same) {
        out.push_str(&text);
    } else {
        push_text(out, &text);
    }
}

/// JSON text without the space between its parts, so that it stands on one line.
pub(super) fn push_compact(out: &mut String, json: &str) {
    let bytes = json.as_bytes();
    let (mut at, mut start) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at + 1),
            b' ' | b'\t' | b'\n' | b'\r' => {
                out.push_str(json.get(start..at).unwrap_or_default());
                at += 1;
                start = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(json.get(start..).unwrap_or_default());
}

/// The offset after the closing quote of a string whose contents start at `at`.
pub(super) fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::{push_compact, push_number};

    #[test]
    fn space_between_parts_goes_and_space_in_strings_stays() {
        let mut out = String::new();
        push_compact(&mut out, "{ \"a \\\" b\" :\n [ 1 ,\t\"é x\" ] }\n");
        assert_eq!(out, "{\"a \\\" b\":[1,\"é x\"]}");
    }

    #[test]
    fn numbers_read_back_as_they_are() {
        for number in [0.1, 1.0 / 3.0, 1e300, 5e-324, 1_767_225_600.123_456, f64::NAN, -3.0, 9e15] {
            let mut out = String::new();
            push_number(&mut out, number);
            let read: f64 = match serde_json::from_str::<String>(&out) {
                Ok(text) => text.parse().unwrap_or_default(),
                Err(_) => serde_json::from_str(&out).unwrap_or_default(),
            };
            assert_eq!(read.to_bits(), number.to_bits(), "{out}");
        }
    }
}
