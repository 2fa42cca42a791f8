//! A second reading of records that strict JSON refuses but a person would read.
//!
//! Owns the faults that real writers make: a byte order mark, `NaN` and infinities, duplicate keys
//! (the last one wins), text that is not UTF-8, raw control characters, lone surrogates, numbers
//! beyond the range of f64. It rewrites the record as strict JSON, so that one mapping serves both
//! readings. Refuses what has no single meaning: broken structure, bad escapes, trailing text.
//!
//! It keeps its own stack, so depth costs memory and never the thread's stack; what it keeps is bounded
//! (`MOST_HELD`), because a small record may open millions of brackets.

use std::collections::HashMap;

use crate::model::FLOAT_MARK;

/// The most open brackets, and members of open objects, that are kept at once: each takes some 150
/// bytes, however few of the record's it has.
const MOST_HELD: usize = 2_000_000;

/// Why a record cannot be repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrepairable {
    /// Offset into the record, from 0.
    pub offset: usize,
    /// What was met there.
    pub reason: &'static str,
    /// Whether the record just ends too early.
    pub truncated: bool,
}

/// Rewrites one JSON value as strict JSON.
///
/// # Errors
/// Says where and why the bytes have no single meaning as JSON.
pub fn repair(bytes: &[u8]) -> Result<Vec<u8>, Unrepairable> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let out = Vec::with_capacity(bytes.len() + 64);
    let mut repairer = Repairer { input: bytes, at: 0, out, held: 0 };
    repairer.run()?;
    Ok(repairer.out)
}

struct Repairer<'i> {
    input: &'i [u8],
    at: usize,
    out: Vec<u8>,
    /// Open brackets, and members of open objects.
    held: usize,
}

/// An open object or array.
enum Open {
    Array,
    /// Members by key, as ranges of the output, and the start of the current one.
    Object {
        members: HashMap<Vec<u8>, (usize, usize)>,
        key: Vec<u8>,
        start: usize,
    },
}

impl Repairer<'_> {
    fn run(&mut self) -> Result<(), Unrepairable> {
        let mut open: Vec<Open> = Vec::new();
        'value: loop {
            // One value starts here.
            self.skip_space();
            match self.peek()? {
                b'{' => {
                    self.push_byte(b'{');
                    self.skip_space();
                    if self.peek()? == b'}' {
                        self.push_byte(b'}');
                    } else {
                        let (start, key) = self.member_key()?;
                        self.hold()?;
                        open.push(Open::Object { members: HashMap::new(), key, start });
                        continue 'value;
                    }
                }
                b'[' => {
                    self.push_byte(b'[');
                    self.skip_space();
                    if self.peek()? == b']' {
                        self.push_byte(b']');
                    } else {
                        self.hold()?;
                        open.push(Open::Array);
                        continue 'value;
                    }
                }
                b'"' => self.string()?,
                _ => self.word_or_number()?,
            }
            // One value has ended: close what ends with it.
            loop {
                self.skip_space();
                match open.last_mut() {
                    None if self.at == self.input.len() => return Ok(()),
                    None => return Err(self.fail("text after the end of the value")),
                    Some(Open::Array) => match self.peek()? {
                        b',' => {
                            self.push_byte(b',');
                            continue 'value;
                        }
                        b']' => self.push_byte(b']'),
                        _ => return Err(self.fail("expected `,` or `]`")),
                    },
                    Some(Open::Object { members, key, start }) => {
                        let next = self.peek()?;
                        if !matches!(next, b',' | b'}') {
                            return Err(self.fail("expected `,` or `}`"));
                        }
                        let end = self.out.len();
                        if let Some((from, to)) = members.insert(std::mem::take(key), (*start, end))
                        {
                            // The earlier member gives way, with the comma that followed it.
                            self.out[from..=to].fill(b' ');
                        } else {
                            self.hold()?;
                        }
                        self.push_byte(next);
                        if next == b',' {
                            self.skip_space();
                            (*start, *key) = self.member_key()?;
                            continue 'value;
                        }
                    }
                }
                let released = match open.pop() {
                    Some(Open::Object { members, .. }) => 1 + members.len(),
                    _ => 1,
                };
                self.held -= released;
            }
        }
    }

    /// Counts one more bracket or member that is kept until what it stands in is closed.
    fn hold(&mut self) -> Result<(), Unrepairable> {
        self.held += 1;
        if self.held > MOST_HELD {
            return Err(self.fail("too many open brackets and members"));
        }
        Ok(())
    }

    /// Reads `"key":` and gives where the member starts in the output, and the key as written there.
    fn member_key(&mut self) -> Result<(usize, Vec<u8>), Unrepairable> {
        let start = self.out.len();
        if self.peek()? != b'"' {
            return Err(self.fail("expected a key in double quotes"));
        }
        self.string()?;
        // Two spellings of one key are one key.
        let written = &self.out[start..];
        let key = match serde_json::from_slice::<String>(written) {
            Ok(key) if written.contains(&b'\\') => key.into_bytes(),
            _ => written.get(1..written.len() - 1).unwrap_or_default().to_vec(),
        };
        self.skip_space();
        if self.peek()? != b':' {
            return Err(self.fail("expected `:` after a key"));
        }
        self.push_byte(b':');
        Ok((start, key))
    }

    fn string(&mut self) -> Result<(), Unrepairable> {
        self.push_byte(b'"');
        loop {
            let rest = &self.input[self.at..];
            let run = rest
                .iter()
                .position(|&b| b == b'"' || b == b'\\' || b < 0x20)
                .ok_or_else(|| self.cut_off())?;
            for chunk in rest[..run].utf8_chunks() {
                self.out.extend_from_slice(chunk.valid().as_bytes());
                if !chunk.invalid().is_empty() {
                    self.out.extend_from_slice("\u{FFFD}".as_bytes());
                }
            }
            self.at += run;
            match self.input[self.at] {
                b'"' => {
                    self.push_byte(b'"');
                    return Ok(());
                }
                b'\\' => self.escape()?,
                control => {
                    self.out.extend_from_slice(format!("\\u{control:04x}").as_bytes());
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self) -> Result<(), Unrepairable> {
        match self.input.get(self.at + 1) {
            None => Err(self.cut_off()),
            Some(b'u') => {
                let first = self.hex(self.at + 2)?;
                let (text_end, whole) = match first {
                    0xD800..=0xDBFF => match self.low_surrogate(self.at + 6) {
                        true => (self.at + 12, true),
                        false => (self.at + 6, false),
                    },
                    0xDC00..=0xDFFF => (self.at + 6, false),
                    _ => (self.at + 6, true),
                };
                if whole {
                    self.out.extend_from_slice(&self.input[self.at..text_end]);
                } else {
                    self.out.extend_from_slice(b"\\ufffd");
                }
                self.at = text_end;
                Ok(())
            }
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.out.extend_from_slice(&self.input[self.at..self.at + 2]);
                self.at += 2;
                Ok(())
            }
            Some(_) => Err(self.fail("invalid escape in a text")),
        }
    }

    fn hex(&self, from: usize) -> Result<u32, Unrepairable> {
        let digits = self.input.get(from..from + 4).ok_or_else(|| self.cut_off())?;
        let text =
            std::str::from_utf8(digits).ok().filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()));
        text.and_then(|t| u32::from_str_radix(t, 16).ok())
            .ok_or_else(|| self.fail("invalid \\u escape in a text"))
    }

    fn low_surrogate(&self, from: usize) -> bool {
        self.input.get(from..from + 2) == Some(b"\\u")
            && self.hex(from + 2).is_ok_and(|unit| (0xDC00..=0xDFFF).contains(&unit))
    }

    fn word_or_number(&mut self) -> Result<(), Unrepairable> {
        let rest = &self.input[self.at..];
        let length = rest
            .iter()
            .position(|b| {
                matches!(
                    b,
                    b',' | b']' | b'}' | b':' | b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'[' | b'{'
                )
            })
            .unwrap_or(rest.len());
        let word = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        let written = match word {
            "true" | "false" | "null" => word.to_owned(),
            "NaN" | "Infinity" | "-Infinity" => format!("\"{FLOAT_MARK}{word}\""),
            _ if length == 0 => return Err(self.fail("expected a value")),
            _ => match serde_json::from_str::<serde_json::Number>(word) {
                Ok(_) => word.to_owned(),
                // The grammar is right where only the exponent is beyond f64.
                Err(error) if error.to_string().starts_with("number out of range") => {
                    let sign = if word.starts_with('-') { "-" } else { "" };
                    format!("\"{FLOAT_MARK}{sign}Infinity\"")
                }
                Err(_) if self.at + length == self.input.len() => return Err(self.cut_off()),
                Err(_) => return Err(self.fail("expected a value")),
            },
        };
        self.out.extend_from_slice(written.as_bytes());
        self.at += length;
        Ok(())
    }

    fn skip_space(&mut self) {
        while matches!(self.input.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Result<u8, Unrepairable> {
        self.input.get(self.at).copied().ok_or_else(|| self.cut_off())
    }

    /// Takes one byte of structure over to the output.
    fn push_byte(&mut self, byte: u8) {
        self.out.push(byte);
        self.at += 1;
    }

    fn fail(&self, reason: &'static str) -> Unrepairable {
        Unrepairable { offset: self.at, reason, truncated: false }
    }

    fn cut_off(&self) -> Unrepairable {
        Unrepairable {
            offset: self.input.len(),
            reason: "the record ends too early",
            truncated: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::repair;
    use crate::model::marked_float;

    fn repaired(bytes: impl AsRef<[u8]>) -> serde_json::Value {
        let fixed = repair(bytes.as_ref()).expect("repairable");
        serde_json::from_slice(&fixed).expect("strict JSON after repair")
    }

    #[test]
    fn the_last_of_duplicate_keys_wins() {
        let value = repaired(r#"{"a":1, "b":{"x":1,"x":2,"\u0078":3} ,"a":[2]}"#);
        assert_eq!(value, serde_json::json!({"a": [2], "b": {"x": 3}}));
    }

    #[test]
    fn floats_beyond_json_become_marked_texts() {
        let value = repaired("\u{FEFF}[NaN, -Infinity,1e999, 2.5]");
        let float = |i: usize| marked_float(value[i].as_str().unwrap_or_default());
        assert!(float(0).is_some_and(f64::is_nan));
        assert_eq!((float(1), float(2)), (Some(f64::NEG_INFINITY), Some(f64::INFINITY)));
        assert_eq!(value[3], 2.5);
    }

    #[test]
    fn bad_text_is_kept_as_replacement_characters() {
        assert_eq!(repaired(b"\"a\xFFb\tc\""), "a\u{FFFD}b\tc");
        assert_eq!(repaired(r#""\ud800 \ud83d\ude00 \udc00""#), "\u{FFFD} 😀 \u{FFFD}");
    }

    #[test]
    fn what_has_no_single_meaning_is_refused_with_its_place() {
        for (text, offset, truncated) in [
            (r#"{"a":1"#, 6, true),
            (r#"{"a":tru"#, 8, true),
            (r#"{"a" 1}"#, 5, false),
            ("[1 2]", 3, false),
            ("{} {}", 3, false),
            (r#"["\x"]"#, 2, false),
            ("[,]", 1, false),
        ] {
            let error = repair(text.as_bytes()).expect_err(text);
            assert_eq!((error.offset, error.truncated), (offset, truncated), "{text}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
        assert_eq!(repair(&deep).map(|out| out.len()), Ok(400_000));
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 60, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn sound_json_keeps_its_meaning(value in any_json(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            prop_assert_eq!(repaired(text.expect("serialises")), value);
        }

        #[test]
        fn what_comes_out_is_strict_json_whatever_goes_in(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(fixed) = repair(&bytes) {
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&fixed).is_ok());
            }
        }
    }
}
