//! OTLP's values in every spelling that exporters use.
//!
//! Owns lenient numbers, enums, ids and attribute values. The specification asks for lower
//! camel case, int64 as text, enums as numbers and ids in hex; each of these is broken by
//! some exporter in use, so each is read both ways. Refuses to guess: what is none of the
//! known spellings is `None`, and the caller counts it.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::ingest::formats::raw::base64;
use crate::ingest::quick;
use crate::model::marked_float;

/// How deep a list or map that is read may nest: levels of it, and brackets of its tagged form.
const MAX_DEPTH: usize = 40;
const MAX_BRACKETS: usize = 3 * MAX_DEPTH;

/// Attributes in recorded order, their values unread: a list of keys and values, or a plain map.
#[derive(Default)]
pub(in crate::ingest::formats) struct Attributes<'a>(
    pub(in crate::ingest::formats) Vec<(Cow<'a, str>, &'a RawValue)>,
);

#[derive(Deserialize)]
struct KeyValue<'a> {
    #[serde(borrow, default)]
    key: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Attributes<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of attributes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = seq.next_element::<KeyValue<'de>>()? {
                    if let Some(value) = pair.value {
                        pairs.push((pair.key, value));
                    }
                }
                Ok(Attributes(pairs))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    pairs.push((pair.0.0, pair.1));
                }
                Ok(Attributes(pairs))
            }
        }
        deserializer.deserialize_any(Pairs)
    }
}

/// A text that is borrowed where it has no escape; a bare `Cow` would always be copied.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// An attribute value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ingest::formats) enum Value<'a> {
    Text(Cow<'a, str>),
    Number(f64),
    Bool(bool),
    /// A list or a map, as plain JSON text.
    Json(Cow<'a, str>),
}

impl<'a> Value<'a> {
    /// The value as text; borrowed where it is written so.
    pub(in crate::ingest::formats) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) | Self::Json(text) => text,
            Self::Number(number) => number.to_string().into(),
            Self::Bool(truth) => if truth { "true" } else { "false" }.into(),
        }
    }

    /// The value without a borrow.
    fn into_owned<'o>(self) -> Value<'o> {
        match self {
            Self::Text(text) => Value::Text(text.into_owned().into()),
            Self::Json(json) => Value::Json(json.into_owned().into()),
            Self::Number(number) => Value::Number(number),
            Self::Bool(truth) => Value::Bool(truth),
        }
    }

    /// The value as a number; texts are read.
    pub(in crate::ingest::formats) fn number(&self) -> Option<f64> {
        match self {
            Self::Text(text) => text.trim().parse().ok(),
            Self::Number(number) => Some(*number),
            Self::Bool(_) | Self::Json(_) => None,
        }
    }
}

#[derive(Deserialize, Default)]
struct AnyValue<'a> {
    #[serde(borrow, default, alias = "string_value", rename = "stringValue")]
    string: Option<Key<'a>>,
    #[serde(borrow, default, alias = "int_value", rename = "intValue")]
    int: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "double_value", rename = "doubleValue")]
    double: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "bool_value", rename = "boolValue")]
    bool: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "array_value", rename = "arrayValue")]
    array: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "kvlist_value", rename = "kvlistValue")]
    kvlist: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "bytes_value", rename = "bytesValue")]
    bytes: Option<Key<'a>>,
}

/// Reads an attribute value: OTLP's tagged form, or a plain JSON value. `None` if it is neither.
pub(in crate::ingest::formats) fn value(raw: &str) -> Option<Value<'_>> {
    let raw = raw.trim();
    match raw.bytes().next()? {
        b'{' => {
            let any: AnyValue<'_> = quick::from_str(raw).ok()?;
            if let Some(text) = any.string.or(any.bytes) {
                return Some(Value::Text(text.0));
            }
            if let Some(number) = any.int.or(any.double) {
                return float(number.get()).map(Value::Number);
            }
            if let Some(truth) = any.bool {
                return boolean(truth.get()).map(Value::Bool);
            }
            if nests_deeper(raw, MAX_BRACKETS) {
                return None;
            }
            if any.array.is_none() && any.kvlist.is_none() && !is_empty(raw) {
                return Some(Value::Json(Cow::Borrowed(raw))); // of an exporter that tags no values
            }
            let mut json = String::new();
            write_json(raw, 0, &mut json)?;
            Some(Value::Json(Cow::Owned(json)))
        }
        b'"' => quick::from_str::<Key<'_>>(raw).ok().map(|key| match marked_float(&key.0) {
            Some(number) => Value::Number(number),
            None => Value::Text(key.0),
        }),
        b'[' => Some(Value::Json(Cow::Borrowed(raw))),
        b't' | b'f' => boolean(raw).map(Value::Bool),
        _ => float(raw).map(Value::Number),
    }
}

/// Reads a value whose JSON may stand in a text, as in all attributes of MLflow; a text that holds
/// no JSON is itself. `None` if it is no attribute's value.
pub(in crate::ingest::formats) fn value_in_text(raw: &str) -> Option<Value<'_>> {
    if raw.starts_with('"')
        && let Ok(inner) = quick::from_str::<Key<'_>>(raw)
        && quick::from_str::<IgnoredAny>(&inner.0).is_ok()
    {
        return match inner.0 {
            Cow::Borrowed(inner) => value(inner),
            Cow::Owned(inner) => value(&inner).map(Value::into_owned),
        };
    }
    value(raw)
}

/// Whether a value is null, be it as it is or as JSON in a text.
pub(in crate::ingest::formats) fn is_null_in_text(raw: &str) -> bool {
    let Some(inside) = raw.strip_prefix('"') else { return raw == "null" };
    // Only a text that starts with the word, with space or with an escape of either is decoded.
    let may = inside.starts_with(['n', ' ', '\t', '\n', '\r'])
        || ["\\n", "\\t", "\\r", "\\u"].iter().any(|escape| inside.starts_with(escape));
    may && quick::from_str::<Key<'_>>(raw)
        .is_ok_and(|text| text.0.trim_matches([' ', '\t', '\n', '\r']) == "null")
}

/// Whether JSON text has more open brackets at one point than `limit`. One pass, so that a
/// hostile value is not unpacked level by level before it is refused.
fn nests_deeper(raw: &str, limit: usize) -> bool {
    let (bytes, mut depth, mut at) = (raw.as_bytes(), 0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_text(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The offset after the closing quote of a text whose contents start at `at`.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Whether an object has no members.
fn is_empty(raw: &str) -> bool {
    raw.trim_start_matches(['{', ' ', '\n', '\t', '\r']) == "}"
}

/// Writes a value as plain JSON. `None` where it nests too deep or is of no known type.
fn write_json(raw: &str, depth: usize, out: &mut String) -> Option<()> {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow, default)]
        values: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Map<'a> {
        #[serde(borrow, default)]
        values: Attributes<'a>,
    }
    if depth > MAX_DEPTH {
        return None;
    }
    if !raw.starts_with('{') {
        out.push_str(raw);
        return Some(());
    }
    let any: AnyValue<'_> = quick::from_str(raw).ok()?;
    if let Some(text) = any.string.or(any.bytes) {
        out.push_str(&serde_json::to_string(&text.0).ok()?);
    } else if let Some(number) = any.int {
        out.push_str(number.get().trim_matches('"'));
    } else if let Some(plain) = any.double.or(any.bool) {
        out.push_str(plain.get());
    } else if let Some(list) = any.array {
        let list: List<'_> = quick::from_str(list.get()).ok()?;
        out.push('[');
        for (at, value) in list.values.into_iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_json(value.get(), depth + 1, out)?;
        }
        out.push(']');
    } else if let Some(map) = any.kvlist {
        let map: Map<'_> = quick::from_str(map.get()).ok()?;
        out.push('{');
        for (at, (key, value)) in map.values.0.into_iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write!(out, "{}:", serde_json::to_string(&key).ok()?).ok()?;
            write_json(value.get(), depth + 1, out)?;
        }
        out.push('}');
    } else if is_empty(raw) {
        out.push_str("null"); // an empty value, which the specification allows
    } else {
        out.push_str(raw); // a plain object of an exporter that does not tag its values
    }
    Some(())
}

/// A text or number as f64; NaN and infinities by name, as protobuf writes them.
fn float(raw: &str) -> Option<f64> {
    raw.trim().trim_matches('"').trim().parse().ok()
}

fn boolean(raw: &str) -> Option<bool> {
    match raw.trim().trim_matches('"') {
        "true" | "True" => Some(true),
        "false" | "False" => Some(false),
        _ => None,
    }
}

/// A text field; a number is taken as its digits.
pub(in crate::ingest::formats) fn text(raw: Option<&RawValue>) -> Option<String> {
    borrowed_text(raw).map(Cow::into_owned)
}

/// The same, borrowed where it has no escape.
fn borrowed_text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = raw?.get();
    match raw.bytes().next()? {
        b'"' => quick::from_str::<Key<'_>>(raw).ok().map(|text| text.0),
        b'0'..=b'9' | b'-' => Some(Cow::Borrowed(raw)),
        _ => None,
    }
}

/// A list of texts in one spelling, for some frameworks give a list where one id is due.
pub(in crate::ingest::formats) fn list_of_texts(json: &str) -> Option<String> {
    if !json.starts_with('[') {
        return None;
    }
    let texts: Vec<Cow<'_, str>> = quick::from_str(json).ok()?;
    serde_json::to_string(&texts).ok()
}

/// A fixed64 time in nanoseconds, as number or text, exactly. Zero, which means "unknown", is `None`.
pub(in crate::ingest::formats) fn nanos(raw: Option<&RawValue>) -> Option<u64> {
    let digits = raw?.get().trim_matches('"').trim();
    let nanos = match digits.parse() {
        Ok(nanos) => nanos,
        Err(_) => whole(digits.parse().ok()?)?,
    };
    (nanos > 0).then_some(nanos)
}

/// A number written as a float (`1.77e18`), where it is one that u64 holds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(number: f64) -> Option<u64> {
    (number.is_finite() && (0.0..1.8e19).contains(&number)).then_some(number as u64)
}

/// The name of an enum's value without its prefix in lower case, or its number.
pub(in crate::ingest::formats) fn enum_word(
    raw: Option<&RawValue>,
    prefix: &str,
) -> Option<String> {
    let mut word = text(raw)?;
    word.make_ascii_lowercase();
    Some(match word.strip_prefix(prefix) {
        Some(rest) => rest.to_owned(),
        None => word,
    })
}

/// An id of `bytes` bytes as lower-case hex, from hex in any case, `0x` hex or base64. Other
/// texts are kept as they are. `None` where it is empty or all zero, which both mean "none".
pub(in crate::ingest::formats) fn id(raw: Option<&RawValue>, bytes: usize) -> Option<String> {
    let text = borrowed_text(raw)?;
    let text = text.trim();
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let id = if !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        // Leading zeros are dropped by writers that hold ids as numbers.
        let mut id = "0".repeat((bytes * 2).saturating_sub(hex.len()));
        id.push_str(hex);
        id.make_ascii_lowercase();
        id
    } else if let Some(decoded) = decoded(text).filter(|decoded| decoded.len() == bytes) {
        decoded.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    } else {
        text.to_owned()
    };
    (!id.bytes().all(|byte| byte == b'0')).then_some(id)
}

/// What an id in base64 stands for; ids are short, and no longer text is decoded.
fn decoded(text: &str) -> Option<Vec<u8>> {
    (text.len() <= 64).then(|| base64(text)).flatten()
}

#[cfg(test)]
mod tests {
    use super::{is_null_in_text, value_in_text};

    #[test]
    fn a_value_is_read_out_of_the_text_that_holds_its_json() {
        let text = |raw: &str| value_in_text(raw).map(|value| value.into_text().into_owned());
        for (raw, told) in [
            (r#""\"a b\"""#, "a b"),
            (r#""12""#, "12"),
            (r#""{\"k\": [1]}""#, r#"{"k": [1]}"#),
            (r#""no json {""#, "no json {"),
            ("true", "true"),
        ] {
            assert_eq!(text(raw).as_deref(), Some(told), "{raw}");
        }
    }

    #[test]
    fn null_is_told_as_it_is_and_in_a_text() {
        for raw in ["null", r#""null""#, r#"" null ""#, r#""\u006eull""#, r#""\n null""#] {
            assert!(is_null_in_text(raw), "{raw}");
        }
        for raw in ["0", r#""nulls""#, r#""\"null\"""#, r#""""#, r#""n""#] {
            assert!(!is_null_in_text(raw), "{raw}");
        }
    }
}
