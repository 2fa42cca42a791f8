//! Values of a JSON document that are read late, one by one.
//!
//! Owns: structs whose fields are undecoded JSON text (so that no unexpected type and no
//! repeated key can refuse a whole record: the last of several equal keys counts, as in most
//! readers), and the reading of one such value as text, label, number, amount or time.
//! Refuses: trees of values, and copies where the text can be borrowed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::ingest::quick;
use crate::model::{Stamp, unmarked};

/// An object key; borrowed unless it holds escapes.
#[derive(serde::Deserialize)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Declares a struct of undecoded fields, each named like its key: absent and `null` are `None`.
macro_rules! raw_fields {
    ($(#[$meta:meta])* $name:ident { $($field:ident $(= $key:literal)?),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Default)]
        pub(crate) struct $name<'a> {
            $(pub(crate) $field: Option<&'a serde_json::value::RawValue>,)+
        }

        impl<'de: 'a, 'a> serde::de::Deserialize<'de> for $name<'a> {
            fn deserialize<D: serde::de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name<'de>;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<M: serde::de::MapAccess<'de>>(
                        self,
                        mut map: M,
                    ) -> Result<Self::Value, M::Error> {
                        let mut found = $name::default();
                        while let Some(key) = map.next_key::<$crate::ingest::formats::raw::Key<'de>>()? {
                            match key.0.as_ref() {
                                $($crate::ingest::formats::raw::raw_fields!(@key $field $($key)?) => {
                                    found.$field = map.next_value()?;
                                })+
                                _ => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(found)
                    }
                }
                from.deserialize_map(Fields)
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}
pub(crate) use raw_fields;

/// The members of an object in recorded order.
#[derive(Default)]
pub(crate) struct Entries<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push((key.0, value));
                }
                Ok(Entries(members))
            }
        }
        from.deserialize_map(Members)
    }
}

/// Decodes a value as `T`; `None` where it has another shape.
pub(crate) fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    quick::from_str(raw.get()).ok()
}

/// The text of a JSON string; `None` for any other value. A string that cannot be decoded (a
/// lone surrogate) is given as it is written, because losing it would lose an error's message.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let written = raw.get().trim();
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    // A text with escapes is serde_json's to decode in any case.
    Some(serde_json::from_str(written).map_or(Cow::Borrowed(inner), Cow::Owned))
}

/// A string, number or truth value as text, for ids and labels; `None` for null and containers.
pub(crate) fn label(raw: &RawValue) -> Option<Cow<'_, str>> {
    let word = scalar(raw)?;
    match unmarked(&word) {
        shown if shown.len() == word.len() => Some(word),
        // What a number is that JSON cannot write; how its repair marks it is nobody's label.
        shown => Some(Cow::Owned(shown.to_owned())),
    }
}

/// The same with the mark of a number that JSON cannot write, which parses as none.
fn scalar(raw: &RawValue) -> Option<Cow<'_, str>> {
    let written = raw.get().trim();
    match written.as_bytes().first()? {
        b'"' => text(raw),
        b'{' | b'[' | b'n' => None,
        _ => Some(Cow::Borrowed(written)),
    }
}

/// A number, or a string that holds one.
pub(crate) fn number(raw: &RawValue) -> Option<f64> {
    let written = scalar(raw)?;
    written.trim().parse().ok()
}

/// A count or an amount: a finite number from 0. A string may hold one, which can spell `inf` too.
pub(crate) fn amount(raw: Option<&RawValue>) -> Option<f64> {
    raw.and_then(number).filter(|number| number.is_finite() && *number >= 0.0)
}

/// A time: a text that is not empty, or a number.
pub(crate) fn stamp(raw: &RawValue) -> Option<Stamp<'_>> {
    match text(raw) {
        Some(text) => (!text.is_empty()).then_some(Stamp::Text(text)),
        None => number(raw).map(Stamp::Number),
    }
}

/// The text of a string, or any other value as it is written.
pub(crate) fn any_text(raw: &RawValue) -> Cow<'_, str> {
    text(raw).unwrap_or(Cow::Borrowed(raw.get()))
}

raw_fields! {
    /// A part of a content.
    Part { text }
}

/// The words of a content: a string, or the `text` of each of its parts, a line each. `None` where
/// there is no text.
pub(crate) fn said(content: &RawValue) -> Option<Cow<'_, str>> {
    if let Some(text) = text(content) {
        return Some(text);
    }
    let parts: Vec<&RawValue> = read(content)?;
    let mut texts = parts.into_iter().filter_map(|part| text(read::<Part<'_>>(part)?.text?));
    let mut said = texts.next()?;
    for more in texts {
        said.to_mut().push('\n');
        said.to_mut().push_str(&more);
    }
    Some(said)
}

/// Whether the value is `true`.
pub(crate) fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get().trim() == "true")
}

/// JSON text of an object of the values that are there, each JSON text itself.
pub(crate) fn object(members: &[(&str, Option<&str>)]) -> String {
    let mut out = String::from("{");
    for (key, value) in members.iter().filter_map(|(key, value)| Some((key, (*value)?))) {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&quoted(key));
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}

/// JSON text as it is, any other text as a JSON string.
pub(crate) fn as_json(text: &str) -> Cow<'_, str> {
    match quick::from_str::<IgnoredAny>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(quoted(text)),
    }
}

/// Decodes base64, standard or URL-safe, padded or not; `None` for any other text.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(((bits >> held) & 0xff) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

/// Text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned())
}

/// Offset of `part` in `whole`, of which it is a slice; 0 where it is not.
pub(crate) fn offset_in(whole: &[u8], part: &RawValue) -> u64 {
    let start = whole.as_ptr() as usize;
    let at = part.get().as_ptr() as usize;
    match at.checked_sub(start) {
        Some(offset) if offset <= whole.len() => offset as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{amount, said, stamp};
    use crate::model::Stamp;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn an_amount_is_finite_and_not_below_0_also_where_a_string_holds_it() {
        let of = |json: &str| amount(Some(&raw(json)));
        assert_eq!((of("0"), of("\"7.5\"")), (Some(0.0), Some(7.5)));
        for none in ["-1", "\"inf\"", "\"NaN\"", "\"many\"", "true", "[1]"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(amount(None), None);
    }

    #[test]
    fn a_time_is_a_text_or_a_number_and_an_empty_text_is_none() {
        assert_eq!(stamp(&raw("\"today\"")), Some(Stamp::Text("today".into())));
        assert_eq!(stamp(&raw("3")), Some(Stamp::Number(3.0)));
        assert_eq!((stamp(&raw("\"\"")), stamp(&raw("{}"))), (None, None));
    }

    #[test]
    fn the_words_of_a_content_are_its_texts_whatever_stands_between_them() {
        let of = |json: &str| said(&raw(json)).map(std::borrow::Cow::into_owned);
        assert_eq!(of("\"a\\nb\"").as_deref(), Some("a\nb"));
        let parts = r#"[{"text":"a"},7,{"type":"image"},{"text":"b"}]"#;
        assert_eq!(of(parts).as_deref(), Some("a\nb"));
        assert_eq!((of("[]"), of("{\"text\":\"a\"}"), of("7")), (None, None, None));
    }
}
