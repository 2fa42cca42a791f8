//! Sound JSON into serde types, faster than serde_json does it where most of the text is not read.
//!
//! Owns the passing over of what nobody reads, 64 bytes at a time (`ingest/lanes.rs`), and the walk
//! along what is read. Numbers that are not small and whole, and texts with escapes, are handed to
//! serde_json one by one; and so is the whole record, with every word on what is wrong, once anything
//! here is odd, deep, or not what a type wants. So what is read and refused is what serde_json reads
//! and refuses: all that this must not do is accept what serde_json would not.

use std::fmt;

use fearless_simd::{Level, Simd, dispatch};
use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
    value::BorrowedStrDeserializer,
};
use serde::{Deserialize, forward_to_deserialize_any};

use super::lanes::{level, plain_end, string_end};

/// Nesting that is followed here: below what serde_json allows.
const DEEPEST: u32 = 100;

/// The name by which serde_json's `RawValue` asks for the text of a value.
const RAW: &str = "$serde_json::private::RawValue";

/// Reads a record.
///
/// # Errors
/// Those of serde_json.
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_json::Error> {
    alone(text).map_or_else(|| serde_json::from_str(text), Ok)
}

/// The same of a record that need not be UTF-8 in what is not read. One fast check of the whole spares
/// checking each text.
///
/// # Errors
/// Those of serde_json.
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, serde_json::Error> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => from_str(text),
        Err(_) => serde_json::from_slice(bytes),
    }
}

/// Reads a record without serde_json's help; `None` where it is left to it.
pub fn alone<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    let mut reader = Reader { text, at: 0, depth: 0, level: level() };
    let value = T::deserialize(&mut reader).ok()?;
    reader.space();
    (reader.at == text.len()).then_some(value)
}

/// Something that is left to serde_json. It says nothing, since nobody reads it.
#[derive(Debug)]
struct Odd;

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("left to serde_json")
    }
}

impl std::error::Error for Odd {}

impl Error for Odd {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
    fn invalid_type(_: serde::de::Unexpected<'_>, _: &dyn serde::de::Expected) -> Self {
        Self
    }
    fn invalid_value(_: serde::de::Unexpected<'_>, _: &dyn serde::de::Expected) -> Self {
        Self
    }
}

/// A record, and how far it is read.
struct Reader<'de> {
    text: &'de str,
    at: usize,
    depth: u32,
    level: Level,
}

impl<'de> Reader<'de> {
    #[inline]
    fn space(&mut self) {
        self.at = space(self.text.as_bytes(), self.at);
    }

    /// The next byte that is no space.
    #[inline]
    fn peek(&mut self) -> Result<u8, Odd> {
        self.space();
        self.text.as_bytes().get(self.at).copied().ok_or(Odd)
    }

    /// Takes this byte, if it comes next.
    #[inline]
    fn take(&mut self, byte: u8) -> Result<(), Odd> {
        if self.peek()? != byte {
            return Err(Odd);
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), Odd> {
        let end = self.at + word.len();
        if self.text.as_bytes().get(self.at..end) != Some(word.as_bytes()) {
            return Err(Odd);
        }
        self.at = end;
        Ok(())
    }

    /// The text of the next value, which is passed over.
    fn pass(&mut self) -> Result<&'de str, Odd> {
        self.space();
        let (bytes, start) = (self.text.as_bytes(), self.at);
        self.at = dispatch!(self.level, simd => value_end(simd, bytes, start)).ok_or(Odd)?;
        self.text.get(start..self.at).ok_or(Odd)
    }

    fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Odd> {
        let (bytes, start) = (self.text.as_bytes(), self.at + 1);
        let end = plain_end(self.level, bytes, start).ok_or(Odd)?;
        if bytes[end] == b'"' {
            self.at = end + 1;
            return visitor.visit_borrowed_str(self.text.get(start..end).ok_or(Odd)?);
        }
        handed_over(self.pass()?, visitor)
    }

    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Odd> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        self.at = number_end(bytes, start).ok_or(Odd)?;
        let digits = &bytes[start..self.at];
        if digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) {
            let number = digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            return visitor.visit_u64(number);
        }
        handed_over(self.text.get(start..self.at).ok_or(Odd)?, visitor)
    }

    /// One level deeper.
    fn deeper(&mut self) -> Result<(), Odd> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEEPEST { Err(Odd) } else { Ok(()) }
    }
}

/// A single value as serde_json reads it.
fn handed_over<'de, V: Visitor<'de>>(value: &'de str, visitor: V) -> Result<V::Value, Odd> {
    let mut reader = serde_json::Deserializer::from_str(value);
    let value = reader.deserialize_any(visitor).map_err(|_| Odd)?;
    reader.end().map_err(|_| Odd)?;
    Ok(value)
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Odd;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
        match self.peek()? {
            b'"' => self.string(visitor),
            b'{' => {
                self.deeper()?;
                let value = visitor.visit_map(Members { reader: self, first: true })?;
                self.depth -= 1;
                self.take(b'}')?;
                Ok(value)
            }
            b'[' => {
                self.deeper()?;
                let value = visitor.visit_seq(Elements { reader: self, first: true })?;
                self.depth -= 1;
                self.take(b']')?;
                Ok(value)
            }
            b'n' => {
                self.word("null")?;
                visitor.visit_unit()
            }
            b't' => {
                self.word("true")?;
                visitor.visit_bool(true)
            }
            b'f' => {
                self.word("false")?;
                visitor.visit_bool(false)
            }
            _ => self.number(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
        match self.peek()? {
            b'n' => {
                self.word("null")?;
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Odd> {
        match name {
            RAW => visitor.visit_map(RawText(Some(self.pass()?))),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
        self.pass()?;
        visitor.visit_unit()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Odd> {
        Err(Odd)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Odd> {
        Err(Odd)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Odd> {
        Err(Odd)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct
        seq tuple tuple_struct map struct identifier
    }
}

/// The elements of an array, up to its bracket.
struct Elements<'r, 'de> {
    reader: &'r mut Reader<'de>,
    first: bool,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Odd;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Odd> {
        if self.reader.peek()? == b']' {
            return Ok(None);
        }
        if !std::mem::take(&mut self.first) {
            self.reader.take(b',')?;
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

/// The members of an object, up to its bracket.
struct Members<'r, 'de> {
    reader: &'r mut Reader<'de>,
    first: bool,
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Odd;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Odd> {
        if self.reader.peek()? == b'}' {
            return Ok(None);
        }
        if !std::mem::take(&mut self.first) {
            self.reader.take(b',')?;
        }
        if self.reader.peek()? != b'"' {
            return Err(Odd);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Odd> {
        self.reader.take(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

/// The one member that `RawValue` takes for the text of a value.
struct RawText<'de>(Option<&'de str>);

impl<'de> MapAccess<'de> for RawText<'de> {
    type Error = Odd;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Odd> {
        match self.0 {
            Some(_) => seed.deserialize(RAW.into_deserializer()).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Odd> {
        seed.deserialize(BorrowedStrDeserializer::new(self.0.take().ok_or(Odd)?))
    }
}

#[inline(always)]
fn space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Where the JSON value at `at` ends; `None` where it is not sound, or nests deeper than is told apart.
#[inline(always)]
fn value_end<S: Simd>(simd: S, text: &[u8], mut at: usize) -> Option<usize> {
    // One bit a level that is open: whether it is an object.
    let (mut objects, mut depth) = (0_u128, 0);
    loop {
        at = space(text, at);
        let byte = *text.get(at)?;
        match byte {
            b'"' => at = string_end(simd, text, at + 1)? + 1,
            b'{' | b'[' => {
                let object = byte == b'{';
                at = space(text, at + 1);
                if *text.get(at)? == byte + 2 {
                    at += 1;
                } else {
                    depth += 1;
                    if depth > DEEPEST {
                        return None;
                    }
                    objects = objects << 1 | u128::from(object);
                    if object {
                        at = key_end(simd, text, at)?;
                    }
                    continue;
                }
            }
            b't' | b'n' => at = word_end(text, at, if byte == b't' { "true" } else { "null" })?,
            b'f' => at = word_end(text, at, "false")?,
            _ => at = number_end(text, at)?,
        }
        loop {
            if depth == 0 {
                return Some(at);
            }
            at = space(text, at);
            let object = objects & 1 == 1;
            match *text.get(at)? {
                b',' => {
                    at += 1;
                    if object {
                        at = key_end(simd, text, at)?;
                    }
                    break;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ => return None,
            }
            at += 1;
            depth -= 1;
            objects >>= 1;
        }
    }
}

/// Where the key at `at` ends, with its colon.
#[inline(always)]
fn key_end<S: Simd>(simd: S, text: &[u8], at: usize) -> Option<usize> {
    let quote = space(text, at);
    if *text.get(quote)? != b'"' {
        return None;
    }
    let colon = space(text, string_end(simd, text, quote + 1)? + 1);
    (*text.get(colon)? == b':').then_some(colon + 1)
}

#[inline(always)]
fn word_end(text: &[u8], at: usize, word: &str) -> Option<usize> {
    let end = at + word.len();
    (text.get(at..end)? == word.as_bytes()).then_some(end)
}

/// Where the number at `at` ends.
fn number_end(text: &[u8], at: usize) -> Option<usize> {
    let digits = |from: usize| {
        let count = text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let start = at + usize::from(*text.get(at)? == b'-');
    let mut end = match text.get(start)? {
        b'0' => start + 1,
        _ => digits(start)?,
    };
    if text.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        end = digits((end + 1 + sign).min(text.len()))?;
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::Deserialize;
    use serde::de::IgnoredAny;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::{alone, from_slice, from_str};

    /// What formats ask for: borrowed and owned texts, numbers, what is there or not, texts of values.
    #[derive(Debug, PartialEq, Default, Deserialize)]
    #[serde(default)]
    struct Wire<'a> {
        #[serde(borrow)]
        name: Option<Cow<'a, str>>,
        n: Option<f64>,
        whole: Option<u32>,
        flag: bool,
        list: Vec<Value>,
        pair: (i8, String),
        map: BTreeMap<String, Value>,
        inner: Option<Box<Wire<'a>>>,
    }

    #[derive(Deserialize)]
    struct Texts<'a> {
        #[serde(borrow, default)]
        raw: Option<&'a RawValue>,
        #[serde(default)]
        boxed: Option<Box<RawValue>>,
    }

    /// What is read alone is what serde_json reads.
    fn same(text: &str) -> Result<(), TestCaseError> {
        if alone::<IgnoredAny>(text).is_some() {
            prop_assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "passed over: {text}");
        }
        if let Some(value) = alone::<Value>(text) {
            prop_assert_eq!(Some(value), serde_json::from_str::<Value>(text).ok());
        }
        if let Some(raw) = alone::<&RawValue>(text) {
            let theirs = serde_json::from_str::<&RawValue>(text).ok();
            prop_assert_eq!(Some(raw.get()), theirs.map(RawValue::get));
        }
        if let Some(wire) = alone::<Wire<'_>>(text) {
            prop_assert_eq!(Some(wire), serde_json::from_str::<Wire<'_>>(text).ok());
        }
        if let Some(texts) = alone::<Texts<'_>>(text) {
            let theirs = serde_json::from_str::<Texts<'_>>(text);
            prop_assert!(theirs.is_ok(), "{text}");
            if let Ok(theirs) = theirs {
                prop_assert_eq!(texts.raw.map(RawValue::get), theirs.raw.map(RawValue::get));
                let boxed = |raw: Option<Box<RawValue>>| raw.map(|raw| raw.get().to_owned());
                prop_assert_eq!(boxed(texts.boxed), boxed(theirs.boxed));
            }
        }
        Ok(())
    }

    /// Parts of which texts are made, sound and broken.
    const PARTS: [&str; 62] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\n",
        "\t",
        "\r",
        "null",
        "true",
        "false",
        "nul",
        "0",
        "-0",
        "1",
        "01",
        "-",
        "12.5",
        "1.",
        ".5",
        "1e3",
        "1E+2",
        "1e",
        "1e400",
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678",
        "1234567890123456789",
        "\"",
        "\"a\"",
        "\"name\":",
        "\"n\":",
        "\"whole\":",
        "\"flag\":",
        "\"list\":",
        "\"pair\":",
        "\"map\":",
        "\"inner\":",
        "\"raw\":",
        "\"boxed\":",
        "\"other\":",
        "\\",
        "\\\\",
        "\\n",
        "\\u00e4",
        "\\ud83d\\ude00",
        "\\ud800",
        "\\u12",
        "\\x",
        "\u{1}",
        "\u{7f}",
        "ä",
        "任务",
        "\"\"",
        "{}",
        "[]",
        "\"some words, \\\"quoted\\\", that are longer than one block of sixty-four bytes\"",
        "\"x\\\\\"",
        "\"n\":1,",
        "\u{feff}",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn whatever_is_read_is_what_serde_json_reads(
            parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..40),
            lead in 0_usize..70,
        ) {
            let text = parts.concat();
            same(&text)?;
            same(&format!("{}{text}", " ".repeat(lead)))?;
            same(&format!("{{\"other\":{text}}}"))?;
            same(&format!("{{\"raw\":\"{}{text}\"}}", "-".repeat(lead)))?;
        }

        #[test]
        fn whatever_is_damaged_in_sound_text_is_refused_as_there(
            at in any::<prop::sample::Index>(),
            put in prop::sample::select(&PARTS[..]),
            cut in 0_usize..4,
            pad in 0_usize..130,
        ) {
            let text = sound(pad);
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                same(&format!("{}{put}{}", &text[..at], &text[end..]))?;
            }
        }
    }

    fn sound(pad: usize) -> String {
        let words = "words \\\"and\\\" \\u00e4 \\\\ 任务 ".repeat(3);
        let pad = "-".repeat(pad);
        format!(
            r#" {{"name":"{pad}","n":-0.5e-3,"whole":7,"flag":true,"list":[1,"{words}",[],{{}},null],
            "pair":[-3,"{words}"],"map":{{"{words}":{{"a":[{{"b":[]}}]}},"":12345678901234567890}},
            "inner":{{"name":"{words}","unread":{{"x":["{pad}{words}",false]}}}},"raw":{{"{pad}":[1, 2]}},"boxed":"{words}"}} "#
        )
    }

    #[test]
    fn what_is_sound_is_read_without_help() {
        for pad in 0..130 {
            let text = sound(pad);
            assert!(alone::<Wire<'_>>(&text).is_some(), "{text}");
            assert!(alone::<IgnoredAny>(&text).is_some(), "{text}");
            let texts = alone::<Texts<'_>>(&text).unwrap();
            assert_eq!(texts.raw.unwrap().get(), format!(r#"{{"{}":[1, 2]}}"#, "-".repeat(pad)));
            assert!(texts.boxed.is_some());
            same(&text).unwrap();
        }
    }

    #[test]
    fn what_is_deep_or_odd_is_read_all_the_same() {
        let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
        assert!(alone::<Value>(&deep).is_none());
        assert!(from_str::<Value>(&deep).is_ok());
        let deeper = deep.replace('[', "[[").replace(']', "]]");
        assert!(from_str::<Value>(&deeper).is_err(), "the limit is serde_json's");
        assert!(from_str::<IgnoredAny>(&deeper).is_ok());
        let wrong: Result<Wire<'_>, _> = from_slice(br#"{"whole":-1}"#);
        let told = wrong.unwrap_err().to_string();
        assert!(told.starts_with("invalid value: integer `-1`, expected u32"), "{told}");
        let unread: Result<Wire<'_>, _> = from_slice(b"{\"whole\":1,\"other\":\"\xff\"}");
        assert_eq!(unread.unwrap().whole, Some(1), "what is not read need not be UTF-8");
    }
}
