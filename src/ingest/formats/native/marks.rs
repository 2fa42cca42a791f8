//! Field types for what only `convert` writes: marks beside the fields that people write.
//!
//! Each takes whatever JSON stands there and means nothing unless it is exactly what `convert`
//! writes, so that a field of somebody's own that has such a name changes no figure.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer};

use super::fields::Scalar;
use crate::model::ErrorOrigin;

/// The head of a written hash, which names the function.
const HASH_HEAD: &str = "xxh3:";

/// A mark that is set by `true` alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct OnlyTrue(pub bool);

impl<'de> Deserialize<'de> for OnlyTrue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Scalar::deserialize(deserializer).map(|scalar| Self(scalar == Scalar::Bool(true)))
    }
}

/// What stands for an input that is not there, or is there in another form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputKey {
    /// No such mark: the input itself counts.
    #[default]
    Absent,
    /// The input is unknown, whatever stands in `input`.
    Unknown,
    /// The hash of the input.
    Hash(u64),
}

impl InputKey {
    /// The text that is read as this; `None` for no mark.
    #[must_use]
    pub fn written(self) -> Option<String> {
        match self {
            Self::Absent => None,
            Self::Unknown => Some("unknown".to_owned()),
            Self::Hash(hash) => Some(format!("{HASH_HEAD}{hash:016x}")),
        }
    }

    fn read(text: &str) -> Self {
        let hash = text.strip_prefix(HASH_HEAD).filter(|digits| {
            digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        });
        match hash.map(|digits| u64::from_str_radix(digits, 16)) {
            Some(Ok(hash)) => Self::Hash(hash),
            _ if text == "unknown" => Self::Unknown,
            _ => Self::Absent,
        }
    }
}

impl<'de> Deserialize<'de> for InputKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = Scalar::deserialize(deserializer)?;
        Ok(match &scalar {
            Scalar::Text(text) => Self::read(text),
            _ => Self::Absent,
        })
    }
}

/// How the error of a step is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin(pub Option<ErrorOrigin>);

/// The words of origins; a recorded error needs none.
const ORIGINS: [(&str, ErrorOrigin); 4] = [
    ("recorded", ErrorOrigin::Recorded),
    ("flag", ErrorOrigin::Flag),
    ("text", ErrorOrigin::Text),
    ("exit_code", ErrorOrigin::ExitCode),
];

/// The word of an origin.
#[must_use]
pub fn origin_word(origin: ErrorOrigin) -> &'static str {
    ORIGINS.iter().find(|(_, known)| *known == origin).map_or("recorded", |(word, _)| word)
}

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = Scalar::deserialize(deserializer)?;
        let word = match &scalar {
            Scalar::Text(text) => ORIGINS.iter().find(|(word, _)| word == text),
            _ => None,
        };
        Ok(Self(word.map(|(_, origin)| *origin)))
    }
}

/// A list of texts; what is none in it is left out.
#[derive(Debug, Default)]
pub struct Texts<'a>(pub Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = super::shapes::list_or_none::<D, Scalar<'a>>(deserializer)?;
        Ok(Self(list.unwrap_or_default().iter().filter_map(Scalar::text).collect()))
    }
}
