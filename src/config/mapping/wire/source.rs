//! Where one value comes from, as written: a text, an object or a list.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DurationUnit;

/// One text or several.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Texts {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Texts {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

/// Where a value comes from: a path, an object that says more of it, or a list of these, of which the first that is not null counts.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Source {
    /// A path.
    Path(String),
    /// A value with what is done to it.
    Pick(Box<Pick>),
    /// The first that is not null.
    FirstOf(Vec<Source>),
}

/// A value and what is done to it.
#[derive(Debug, Default, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pick {
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The same value for every record.
    #[serde(rename = "const", skip_serializing_if = "Option::is_none")]
    pub constant: Option<Value>,
    /// Paths whose texts are joined by ` / `; null where none of them is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<Vec<String>>,
    /// A regular expression over the text: its first group is the value, or all that matches.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// The line of the text in which `match` looks; all of the text without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// What values stand for: a table, of which values that are not in it are null, or `pino_levels`, `syslog_levels`, `level_words`, which give `failed` for errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// How this time is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The zone of this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The unit of this duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<DurationUnit>,
}

/// The line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first that is not blank.
    First,
    /// The last that is not blank.
    Last,
    /// The first that matches.
    Any,
}

/// What values stand for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Values {
    /// A table that is known by name.
    Known(String),
    /// A table.
    Table(BTreeMap<String, String>),
}

/// Reads one of two or three shapes by what stands there, so that faults inside keep their words.
macro_rules! by_shape {
    ($name:ident, $what:literal, $($method:tt)+) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Shape;
                impl<'de> Visitor<'de> for Shape {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }

                    $($method)+
                }
                from.deserialize_any(Shape)
            }
        }
    };
}

by_shape! {
    Source, "a path in quotes, an object with `path`, or a list of these",
    fn visit_str<E: de::Error>(self, path: &str) -> Result<Source, E> {
        Ok(Source::Path(path.to_owned()))
    }
    fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<Source, M::Error> {
        Pick::deserialize(MapAccessDeserializer::new(map)).map(|pick| Source::Pick(Box::new(pick)))
    }
    fn visit_seq<S: de::SeqAccess<'de>>(self, seq: S) -> Result<Source, S::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Source::FirstOf)
    }
}

by_shape! {
    Texts, "a text in quotes, or a list of texts",
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts::One(text.to_owned()))
    }
    fn visit_seq<S: de::SeqAccess<'de>>(self, seq: S) -> Result<Texts, S::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Texts::Many)
    }
}

by_shape! {
    Values, "a table in { }, or the name of one",
    fn visit_str<E: de::Error>(self, name: &str) -> Result<Values, E> {
        Ok(Values::Known(name.to_owned()))
    }
    fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<Values, M::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Values::Table)
    }
}
