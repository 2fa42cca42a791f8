//! Field types that take whatever JSON stands there, so that the fast path refuses little.
//!
//! Each remembers what it needs and drops the rest; none builds a tree. A value that was
//! written in a form JSON does not know (NaN) arrives from `ingest/repair.rs` as a marked text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::WireStep;
use super::shapes::object_or_none;
use crate::model::{ErrorInfo, ErrorOrigin, Score, ScoreValue, Stamp, Tags, Tokens, marked_float};

/// A field that should hold one simple value.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Scalar<'a> {
    /// The field is not there, or null.
    #[default]
    Absent,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number; NaN and infinities too.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// An object or array: nothing that a simple field can mean.
    Other,
}

impl<'a> Scalar<'a> {
    /// Whether the field is not there or null.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// The value as text; numbers and flags in their JSON spelling.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Absent | Self::Other => None,
            Self::Text(text) => Some(text.clone()),
            Self::Bool(flag) => Some(Cow::Owned(flag.to_string())),
            Self::Int(number) => Some(Cow::Owned(number.to_string())),
            Self::Float(number) => Some(Cow::Owned(number.to_string())),
        }
    }

    /// The value as a number; texts that spell one count.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "JSON numbers are compared as f64 everywhere")]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// The value as a whole number from 0; `2.0` and `"2"` are 2.
    ///
    /// # Errors
    /// Says what stands there where it is neither absent nor such a number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked first"
    )]
    pub fn whole(&self) -> Result<Option<u32>, String> {
        match self {
            Self::Absent => Ok(None),
            _ => match self.number() {
                Some(n) if n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&n) => {
                    Ok(Some(n as u32))
                }
                _ => Err(match self {
                    Self::Text(_) => "a text".to_owned(),
                    Self::Bool(_) => "a flag".to_owned(),
                    Self::Other => "an object or array".to_owned(),
                    _ => self.text().unwrap_or_default().into_owned(),
                }),
            },
        }
    }

    /// The value as a flag.
    #[must_use]
    pub fn flag(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            Self::Int(0) => Some(false),
            Self::Int(1) => Some(true),
            Self::Float(0.0) => Some(false),
            Self::Float(1.0) => Some(true),
            Self::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Self::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }

    /// The value as a time.
    #[must_use]
    pub fn stamp(&self) -> Option<Stamp<'a>> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(Stamp::Text(text.clone())),
            Self::Int(_) | Self::Float(_) => self.number().map(Stamp::Number),
            _ => None,
        }
    }

    /// The value as a score.
    #[must_use]
    pub fn score(self) -> Option<ScoreValue<'a>> {
        match self {
            Self::Absent => None,
            Self::Bool(flag) => Some(ScoreValue::Number(f64::from(u8::from(flag)))),
            Self::Int(_) | Self::Float(_) => self.number().map(ScoreValue::Number),
            Self::Text(text) => Some(ScoreValue::from_text(text)),
            Self::Other => Some(ScoreValue::Unreadable(Cow::Borrowed("an object or array"))),
        }
    }
}

/// Implements `Deserialize` through a visitor that takes any JSON value.
struct ScalarVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for ScalarVisitor<'a> {
    type Value = Scalar<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Bool(flag))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Int(number))
    }
    #[expect(clippy::cast_precision_loss, reason = "only above 2^63, where f64 is all there is")]
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(number).map_or(Scalar::Float(number as f64), Scalar::Int))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Float(number))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(marked_float(text).map_or(Scalar::Text(Cow::Borrowed(text)), Scalar::Float))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(marked_float(text)
            .map_or_else(|| Scalar::Text(Cow::Owned(text.to_owned())), Scalar::Float))
    }
    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(marked_float(&text).map_or(Scalar::Text(Cow::Owned(text)), Scalar::Float))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor(PhantomData))
    }
}

/// A field that is kept as JSON text; `None` only where it is not there at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw<'a>(pub Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Self(Some(raw)))
    }
}

/// Defines a field type by what it takes from an object, from a scalar and from an array.
macro_rules! any_field {
    ($name:ident<$life:lifetime>, $visitor:ident, $scalar:expr, $map:expr, $seq:expr) => {
        struct $visitor<$life>(PhantomData<&$life ()>);

        impl<'de: $life, $life> Visitor<'de> for $visitor<$life> {
            type Value = $name<$life>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok($scalar(Scalar::Absent))
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
                Ok($scalar(Scalar::Bool(flag)))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
                ScalarVisitor(PhantomData).visit_i64(number).map($scalar)
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
                ScalarVisitor(PhantomData).visit_u64(number).map($scalar)
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Self::Value, E> {
                ScalarVisitor(PhantomData).visit_f64(number).map($scalar)
            }
            fn visit_borrowed_str<E: serde::de::Error>(
                self,
                text: &'de str,
            ) -> Result<Self::Value, E> {
                ScalarVisitor(PhantomData).visit_borrowed_str(text).map($scalar)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                ScalarVisitor(PhantomData).visit_str(text).map($scalar)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                $seq(seq)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                $map(map)
            }
        }

        impl<'de: $life, $life> Deserialize<'de> for $name<$life> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($visitor(PhantomData))
            }
        }
    };
}

/// Reads an array to its end and keeps nothing of it.
pub(super) fn drain_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// The `error` of a step: null, false and absence are none; anything else is an error.
#[derive(Debug, Clone, Default)]
pub struct ErrorField<'a>(pub Option<ErrorInfo<'a>>);

any_field!(
    ErrorField<'a>,
    ErrorVisitor,
    |scalar: Scalar<'a>| {
        ErrorField(match scalar {
            Scalar::Absent | Scalar::Bool(false) => None,
            Scalar::Bool(true) => Some(ErrorInfo::default()),
            other => Some(ErrorInfo { message: other.text(), ..ErrorInfo::default() }),
        })
    },
    error_from_map,
    |seq| drain_seq(seq).map(|()| ErrorField(Some(ErrorInfo::default())))
);

fn error_from_map<'de: 'a, 'a, A: MapAccess<'de>>(mut map: A) -> Result<ErrorField<'a>, A::Error> {
    let (mut kind, mut message) = (Scalar::Absent, Scalar::Absent);
    while let Some(key) = map.next_key::<Key>()? {
        match key {
            Key::Type => kind = map.next_value()?,
            Key::Message => message = map.next_value()?,
            Key::Other => _ = map.next_value::<IgnoredAny>()?,
        }
    }
    // An empty type says nothing.
    let kind = kind.text().filter(|kind| !kind.trim().is_empty());
    Ok(ErrorField(Some(ErrorInfo { kind, message: message.text(), origin: ErrorOrigin::Recorded })))
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Type,
    Message,
    #[serde(other)]
    Other,
}

/// The `attempts` of a step: a count, or the attempts themselves.
#[derive(Default)]
pub enum NestedAttempts<'a> {
    /// Not there.
    #[default]
    Absent,
    /// A count of attempts.
    Count(Scalar<'a>),
    /// The attempts; an element that is no object is dropped by refusing the run.
    List(Vec<WireStep<'a>>),
}

any_field!(
    NestedAttempts<'a>,
    AttemptsVisitor,
    |scalar: Scalar<'a>| match scalar {
        Scalar::Absent => NestedAttempts::Absent,
        count => NestedAttempts::Count(count),
    },
    |mut map: A| {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(NestedAttempts::Count(Scalar::Other))
    },
    |mut seq: A| {
        let mut list = Vec::new();
        while let Some(step) = seq.next_element::<WireStep<'a>>()? {
            list.push(step);
        }
        Ok(NestedAttempts::List(list))
    }
);

/// The `scores` of a run: name to value.
#[derive(Debug, Default)]
pub struct ScoreMap<'a>(pub Vec<Score<'a>>);

impl<'a> ScoreMap<'a> {
    /// The named scores and the single unnamed one.
    #[must_use]
    pub fn with(mut self, single: Scalar<'a>) -> Vec<Score<'a>> {
        if let Some(value) = single.score() {
            self.0.push(Score { name: Cow::Borrowed(""), value });
        }
        self.0
    }
}

any_field!(
    ScoreMap<'a>,
    ScoreVisitor,
    |scalar: Scalar<'a>| ScoreMap(
        scalar.score().map(|value| Score { name: Cow::Borrowed(""), value }).into_iter().collect()
    ),
    |mut map: A| {
        let mut scores = Vec::new();
        while let Some((name, value)) = map.next_entry::<Scalar<'a>, Scalar<'a>>()? {
            if let (Some(name), Some(value)) = (name.text(), value.score()) {
                scores.push(Score { name, value });
            }
        }
        // As with all keys, the last of equal ones counts.
        let mut seen: HashSet<&str> = HashSet::new();
        let mut last: Vec<bool> =
            scores.iter().rev().map(|score: &Score<'_>| seen.insert(&score.name)).collect();
        scores.retain(|_| last.pop().unwrap_or(true));
        Ok(ScoreMap(scores))
    },
    |mut seq: A| {
        let mut scores = Vec::new();
        while let Some(ScoreEntry(entry)) = seq.next_element::<ScoreEntry<'a>>()? {
            if let Some(NamedScore { name, value }) = entry
                && let (Some(name), Some(value)) = (name.text(), value.score())
            {
                scores.push(Score { name, value });
            }
        }
        Ok(ScoreMap(scores))
    }
);

/// An element of a list of scores, which may hold one name twice.
struct ScoreEntry<'a>(Option<NamedScore<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for ScoreEntry<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object_or_none(deserializer).map(Self)
    }
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct NamedScore<'a> {
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    value: Scalar<'a>,
}

/// The `tags` of a run: key to simple value; a list of texts is tags without a value.
#[derive(Debug, Default)]
pub struct TagMap<'a>(pub Tags<'a>);

any_field!(
    TagMap<'a>,
    TagVisitor,
    |scalar: Scalar<'a>| TagMap(
        scalar.text().map(|tag| (tag, Cow::Borrowed(""))).into_iter().collect()
    ),
    |mut map: A| {
        let mut tags = Vec::new();
        while let Some((key, value)) = map.next_entry::<Scalar<'a>, Scalar<'a>>()? {
            if let (Some(key), Some(value)) = (key.text(), value.text()) {
                tags.push((key, value));
            }
        }
        Ok(TagMap(tags))
    },
    |mut seq: A| {
        let mut tags = Vec::new();
        while let Some(tag) = seq.next_element::<Scalar<'a>>()? {
            tags.extend(tag.text().map(|tag| (tag, Cow::Borrowed(""))));
        }
        Ok(TagMap(tags))
    }
);

/// The `tokens` of a step or run: an object of counts, or one total.
#[derive(Debug, Default, Clone, Copy)]
pub struct AnyTokens(pub Option<Tokens>);

/// Carries the lifetime that `any_field` wants.
struct TokensField<'a>(Option<Tokens>, PhantomData<&'a ()>);

impl<'de> Deserialize<'de> for AnyTokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TokensField::deserialize(deserializer).map(|field| Self(field.0))
    }
}

any_field!(
    TokensField<'a>,
    TokensVisitor,
    |scalar: Scalar<'a>| {
        let total = scalar.number().filter(|n| n.is_finite() && *n >= 0.0);
        TokensField(total.map(|unsplit| Tokens { unsplit, ..Tokens::default() }), PhantomData)
    },
    tokens_from_map,
    |seq| drain_seq(seq).map(|()| TokensField(None, PhantomData))
);

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum TokenKey {
    #[serde(alias = "input", alias = "input_tokens", alias = "prompt_tokens")]
    Prompt,
    #[serde(alias = "output", alias = "output_tokens", alias = "completion_tokens")]
    Completion,
    #[serde(alias = "cache_read_input_tokens")]
    CacheRead,
    #[serde(alias = "cache_write_input_tokens", alias = "cache_creation_input_tokens")]
    CacheWrite,
    #[serde(alias = "total_tokens")]
    Total,
    Unsplit,
    #[serde(other)]
    Other,
}

fn tokens_from_map<'de: 'a, 'a, A: MapAccess<'de>>(
    mut map: A,
) -> Result<TokensField<'a>, A::Error> {
    let mut tokens = Tokens::default();
    let (mut any, mut total) = (false, None);
    while let Some(key) = map.next_key::<TokenKey>()? {
        let value = map.next_value::<Scalar<'a>>()?;
        let Some(value) = value.number().filter(|n| n.is_finite() && *n >= 0.0) else { continue };
        let slot = match key {
            TokenKey::Prompt => &mut tokens.input,
            TokenKey::Completion => &mut tokens.output,
            TokenKey::CacheRead => &mut tokens.cache_read,
            TokenKey::CacheWrite => &mut tokens.cache_write,
            TokenKey::Unsplit => &mut tokens.unsplit,
            TokenKey::Total => {
                total = Some(value);
                continue;
            }
            TokenKey::Other => continue,
        };
        *slot = value;
        any = true;
    }
    if !any {
        // Only a total is recorded; beside a split it would be counted twice.
        tokens.unsplit = total.unwrap_or(0.0);
        any = total.is_some();
    }
    Ok(TokensField(any.then_some(tokens), PhantomData))
}
