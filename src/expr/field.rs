//! What an expression reads: paths into recorded data, and the values found there.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::marked_float;

/// The objects that expressions read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// `subtask`: one attempt.
    Subtask,
    /// `final`: what the run delivered.
    Final,
    /// `run`: figures of the whole run.
    Run,
}

/// The fields of `subtask` that are always there, recorded or computed; they never count as absent.
pub const SUBTASK_FIELDS: [&str; 8] =
    ["index", "attempt", "type", "name", "status", "error", "duration_ms", "tokens"];

/// The fields of `run`; there are no others.
pub const RUN_FIELDS: [&str; 11] = [
    "steps",
    "attempts",
    "retries",
    "errors",
    "duration_seconds",
    "tokens",
    "cost_usd",
    "status",
    "task_id",
    "model",
    "tags",
];

impl Root {
    /// All roots.
    pub const ALL: [Self; 3] = [Self::Subtask, Self::Final, Self::Run];

    /// The name in expressions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Subtask => "subtask",
            Self::Final => "final",
            Self::Run => "run",
        }
    }

    /// Fields that are always there, so that their absence says nothing.
    #[must_use]
    pub const fn computed(self) -> &'static [&'static str] {
        match self {
            Self::Subtask => &SUBTASK_FIELDS,
            Self::Final => &[],
            Self::Run => &RUN_FIELDS,
        }
    }
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A key of an object.
    Key(String),
    /// A place in an array, from 0.
    Index(usize),
}

/// One place that a program reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    /// The object it starts from.
    pub root: Root,
    /// The way down from there; empty for the object as a whole.
    pub segments: Vec<Segment>,
    /// Whether the expression compares it with null somewhere.
    pub compared_with_null: bool,
    /// Whether the expression tests it with `has`.
    pub tested_with_has: bool,
    /// Whether anything but a comparison with null, or `has`, reads it. Where it is false, a
    /// caller may give any present value, such as `Field::Bool(true)`.
    pub needs_value: bool,
    /// Whether it is used where null cannot be evaluated (`null >= 0.9`).
    pub(crate) strict: bool,
    /// Where it first stands in the source, in bytes.
    pub range: Range<usize>,
}

impl FieldPath {
    /// Whether the path is one of the fields that are always there, or lies in one.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        matches!(self.segments.first(), Some(Segment::Key(key))
            if self.root.computed().contains(&key.as_str()))
    }

    /// The name of the field if the path is `root.field`, nothing deeper.
    #[must_use]
    pub fn single_key(&self) -> Option<&str> {
        match self.segments.as_slice() {
            [Segment::Key(key)] => Some(key),
            _ => None,
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&display_path(self.root, &self.segments))
    }
}

/// A path as one writes it in an expression.
pub(crate) fn display_path(root: Root, segments: &[Segment]) -> String {
    let mut text = String::from(root.name());
    for segment in segments {
        match segment {
            Segment::Key(key) if is_identifier(key) => {
                text.push('.');
                text.push_str(key);
            }
            Segment::Key(key) => text.push_str(&format!("[{key:?}]")),
            Segment::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn is_identifier(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Field<'a> {
    /// Nothing: the trace lacks it. Reads as null, but `has` tells it from null.
    Missing,
    /// Null.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above `i64::MAX`.
    UInt(u64),
    /// Any other number; NaN passes no comparison.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// An object or array, as JSON text.
    Json(Cow<'a, str>),
}

/// What an expression is evaluated over: one attempt, or one run.
pub trait Fields {
    /// The value at a path.
    fn get<'a>(&'a self, path: &FieldPath) -> Field<'a>;

    /// Whether the root object itself is there (for `final`: recorded and not null).
    fn root_present(&self, root: Root) -> bool;

    /// Calls `visit` with the keys of the object at `segments` below the root, computed ones
    /// included; with none where there is no object. Asked only for paths never seen present,
    /// so that a warning can name the nearest key. [`json_keys`] does it for JSON text.
    fn keys(&self, root: Root, segments: &[Segment], visit: &mut dyn FnMut(&str));
}

/// Finds a path inside JSON text without building a tree of the rest.
///
/// Siblings are skipped, the last of duplicate keys wins, and broken JSON is [`Field::Missing`].
/// The texts U+E000 followed by `NaN`, `Infinity` or `-Infinity`, which the repair of records
/// writes, are those floats.
#[must_use]
pub fn json_field<'a>(json: &'a str, segments: &[Segment]) -> Field<'a> {
    raw_at(json, segments).map_or(Field::Missing, read_scalar)
}

/// Calls `visit` with each key of the object found at `segments` inside JSON text.
pub fn json_keys(json: &str, segments: &[Segment], visit: &mut dyn FnMut(&str)) {
    struct Keys<'v>(&'v mut dyn FnMut(&str));
    impl<'de> Visitor<'de> for Keys<'_> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                (self.0)(&key);
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    if let Some(object) = raw_at(json, segments).filter(|raw| raw.starts_with('{')) {
        // Broken text ends the visit early; the reader has told of it already.
        let _ = serde_json::Deserializer::from_str(object).deserialize_map(Keys(visit));
    }
}

/// The raw text of the value at `segments`.
fn raw_at<'a>(json: &'a str, segments: &[Segment]) -> Option<&'a str> {
    let mut raw = json.trim_matches([' ', '\t', '\n', '\r']);
    for segment in segments {
        let mut reader = serde_json::Deserializer::from_str(raw);
        let found = match (segment, raw.as_bytes().first()?) {
            (Segment::Key(key), b'{') => reader.deserialize_map(Member(key)),
            (Segment::Index(index), b'[') => reader.deserialize_seq(Element(*index)),
            _ => return None,
        };
        raw = found.ok()??.get();
    }
    Some(raw)
}

/// Takes the last value of one key and skips all else.
struct Member<'k>(&'k str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(KeyIs(self.0))? {
            if is_it {
                found = Some(map.next_value::<&RawValue>()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares a key without copying it; read as bytes, so that a lone surrogate in it is no fault.
struct KeyIs<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;
    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_bytes(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_bytes<E>(self, key: &[u8]) -> Result<bool, E> {
        Ok(key == self.0.as_bytes())
    }
    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Takes one element and skips all else.
struct Element(usize);

impl<'de> Visitor<'de> for Element {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let mut at = 0_usize;
        loop {
            if at == self.0 {
                let Some(element) = seq.next_element::<&RawValue>()? else { break };
                found = Some(element);
            } else if seq.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
            at += 1;
        }
        Ok(found)
    }
}

/// Reads the raw text of one value; objects and arrays stay text.
fn read_scalar(raw: &str) -> Field<'_> {
    match raw.as_bytes().first() {
        Some(b'n') => Field::Null,
        Some(b't') => Field::Bool(true),
        Some(b'f') => Field::Bool(false),
        Some(b'{' | b'[') => Field::Json(Cow::Borrowed(raw)),
        Some(b'"') => text(raw),
        Some(b'-' | b'0'..=b'9') => number(raw),
        _ => Field::Missing,
    }
}

fn number(raw: &str) -> Field<'_> {
    if let Ok(int) = raw.parse() {
        Field::Int(int)
    } else if let Ok(uint) = raw.parse() {
        Field::UInt(uint)
    } else {
        raw.parse().map_or(Field::Missing, Field::Float)
    }
}

fn text(raw: &str) -> Field<'_> {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    let text = if !inner.contains('\\') {
        Cow::Borrowed(inner)
    } else if let Ok(text) = serde_json::from_str::<String>(raw) {
        Cow::Owned(text)
    } else {
        // A lone surrogate is the one fault that a skipped text may hide.
        match serde_json::from_str::<Bytes>(raw) {
            Ok(Bytes(bytes)) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            Err(_) => return Field::Missing,
        }
    };
    match marked_float(&text) {
        Some(float) => Field::Float(float),
        None => Field::Text(text),
    }
}

struct Bytes(Vec<u8>);

impl<'de> serde::Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Take;
        impl Visitor<'_> for Take {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        reader.deserialize_bytes(Take)
    }
}
