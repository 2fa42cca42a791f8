//! Sound JSON into serde types, faster than serde_json does it where most of the text is not read.
//!
//! Owns the passing over of what nobody reads, 64 bytes at a time (`ingest/lanes.rs`), and the walk
//! along what is read. Numbers that are not small and whole, and texts with escapes, are handed to
//! serde_json one by one; and so is the whole record, with every word on what is wrong, once anything
//! here is odd, deep, or not what a type wants. So what is read and refused is what serde_json reads
//! and refuses: all that this must not do is accept what serde_json would not.

mod pass;
#[cfg(test)]
mod tests;

use std::fmt;

use fearless_simd::{Level, dispatch};
use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
    value::BorrowedStrDeserializer,
};
use serde::{Deserialize, forward_to_deserialize_any};

use super::lanes::{level, plain_end};
use pass::{number_end, space, value_end};

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
    alone_by(level(), text)
}

/// The same with these instructions.
fn alone_by<'de, T: Deserialize<'de>>(level: Level, text: &'de str) -> Option<T> {
    let mut reader = Reader { text, at: 0, depth: 0, level };
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

/// Methods that read a value which starts with a byte of this pattern.
macro_rules! only {
    ($($first:pat => $($method:ident),+;)+) => {
        $($(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
            match self.peek()? {
                $first => self.deserialize_any(visitor),
                _ => Err(Odd),
            }
        })+)+
    };
}

/// Methods that leave the record to serde_json, with what they are told beside the visitor.
macro_rules! never {
    ($($method:ident($($hint:ty),*)),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, $(_: $hint,)* _: V) -> Result<V::Value, Odd> {
            Err(Odd)
        })+
    };
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

    // What a type asks for and does not get is serde_json's to refuse, whatever else the type takes.
    only! {
        b't' | b'f' => deserialize_bool;
        b'n' => deserialize_unit;
        b'-' | b'0'..=b'9' => deserialize_i8, deserialize_i16, deserialize_i32, deserialize_i64,
            deserialize_u8, deserialize_u16, deserialize_u32, deserialize_u64, deserialize_f64;
        b'"' => deserialize_char, deserialize_str, deserialize_string, deserialize_identifier;
        b'[' => deserialize_seq;
        b'{' => deserialize_map;
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Odd> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Odd> {
        match self.peek()? {
            b'{' | b'[' => self.deserialize_any(visitor),
            _ => Err(Odd),
        }
    }

    never! {
        deserialize_f32(), deserialize_i128(), deserialize_u128(), deserialize_bytes(),
        deserialize_byte_buf(), deserialize_unit_struct(&'static str),
        deserialize_tuple_struct(&'static str, usize),
        deserialize_enum(&'static str, &'static [&'static str]),
    }
}

/// The key of a member: a text, which is read also where nobody wants it.
struct Key<'r, 'de>(&'r mut Reader<'de>);

impl<'de> Deserializer<'de> for Key<'_, 'de> {
    type Error = Odd;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
        self.0.string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Odd> {
        match name {
            RAW => Err(Odd),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    never! {
        deserialize_bool(), deserialize_unit(), deserialize_i8(), deserialize_i16(), deserialize_i32(),
        deserialize_i64(), deserialize_i128(), deserialize_u8(), deserialize_u16(), deserialize_u32(),
        deserialize_u64(), deserialize_u128(), deserialize_f32(), deserialize_f64(), deserialize_bytes(),
        deserialize_byte_buf(), deserialize_seq(), deserialize_map(), deserialize_tuple(usize),
        deserialize_unit_struct(&'static str), deserialize_tuple_struct(&'static str, usize),
        deserialize_struct(&'static str, &'static [&'static str]),
        deserialize_enum(&'static str, &'static [&'static str]),
    }

    forward_to_deserialize_any! { char str string identifier ignored_any }
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
        seed.deserialize(Key(self.reader)).map(Some)
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
