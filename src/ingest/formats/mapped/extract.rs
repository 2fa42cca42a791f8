//! One pass over a record that keeps the values of the mapping's paths and skips the rest.
//!
//! Owns which of several values a path takes: the first that is not null, for `[-1]` that of the
//! last element. Nothing is decoded here, and no value that no path leads to is looked at. The
//! depth is that of the paths, which is bounded.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::super::raw::{Key, label, text};
use crate::config::mapping::{Slot, Tree};
use crate::ingest::quick;
use crate::model::marked_float;

/// A value that a path led to; never null, never an empty text.
#[derive(Debug, Clone)]
pub(super) enum Found<'a> {
    /// JSON.
    Json(&'a RawValue),
    /// A text: a field of a table, or what a pattern took.
    Text(Cow<'a, str>),
}

impl<'a> Found<'a> {
    /// A text, number or flag as text; `None` for an object or a list.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Json(raw) => label(raw),
            Self::Text(text) => Some(Cow::Borrowed(text)),
        }
    }

    /// The text of a JSON string or of a field, and of nothing else.
    pub(super) fn words(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Json(raw) => text(raw),
            Self::Text(text) => Some(Cow::Borrowed(text)),
        }
    }

    /// A number, or a text that spells one; what a repair marked is one too.
    pub(super) fn number(&self) -> Option<f64> {
        let text = self.text()?;
        marked_float(&text).or_else(|| text.trim().parse().ok())
    }

    /// A flag.
    pub(super) fn flag(&self) -> Option<bool> {
        let text = self.text()?;
        let is = |words: &[&str]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
        if is(&["true", "1", "1.0", "yes"]) {
            Some(true)
        } else if is(&["false", "0", "0.0", "no"]) {
            Some(false)
        } else {
            None
        }
    }

    /// The value as JSON.
    pub(super) fn json(&self) -> Cow<'_, str> {
        match self {
            Self::Json(raw) => Cow::Borrowed(raw.get()),
            Self::Text(text) => Cow::Owned(super::super::raw::quoted(text)),
        }
    }

    /// The value as JSON without a borrow of this.
    pub(super) fn raw(&self) -> Option<&'a RawValue> {
        match self {
            Self::Json(raw) => Some(raw),
            Self::Text(_) => None,
        }
    }
}

/// The values of one level, by slot.
pub(super) type Values<'a> = Vec<Option<Found<'a>>>;

/// The values of the three levels.
#[derive(Debug, Default)]
pub(super) struct Slots<'a> {
    pub(super) levels: [Values<'a>; 3],
}

impl<'a> Slots<'a> {
    pub(super) fn get(&self, slot: Slot) -> Option<&Found<'a>> {
        self.levels.get(slot.level)?.get(slot.at)?.as_ref()
    }
}

/// Reads the values of a tree of paths from JSON.
pub(super) fn extract<'a>(tree: &Tree, json: &'a [u8]) -> Result<Values<'a>, serde_json::Error> {
    let mut found: Values<'a> = vec![None; tree.paths.len()];
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    Walk { tree, node: 0, found: &mut found, keeps: true }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(found)
}

/// The elements of a list; none where it is no list.
pub(super) fn elements(list: &RawValue) -> Vec<&RawValue> {
    quick::from_str(list.get()).unwrap_or_default()
}

/// A walk from one value down.
struct Walk<'w, 'a> {
    tree: &'w Tree,
    node: usize,
    found: &'w mut Values<'a>,
    /// Whether the value itself is kept where a path ends at it.
    keeps: bool,
}

impl<'a> Walk<'_, 'a> {
    fn again(&mut self, node: usize, raw: &'a RawValue) -> Result<(), serde_json::Error> {
        let mut inner = serde_json::Deserializer::from_str(raw.get());
        Walk { tree: self.tree, node, found: self.found, keeps: true }.deserialize(&mut inner)
    }
}

impl<'a> DeserializeSeed<'a> for Walk<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(mut self, from: D) -> Result<(), D::Error> {
        let Some(node) = self.tree.nodes.get(self.node) else {
            return IgnoredAny::deserialize(from).map(drop);
        };
        let Some(slot) = node.leaf.filter(|_| self.keeps) else {
            return from.deserialize_any(self);
        };
        let raw = <&'a RawValue>::deserialize(from)?;
        if let Some(place) = self.found.get_mut(slot)
            && place.is_none()
            && !matches!(raw.get(), "null" | "\"\"")
        {
            *place = Some(Found::Json(raw));
        }
        let goes_on = !node.keys.is_empty()
            || !node.elements.is_empty()
            || node.each.is_some()
            || node.last.is_some();
        if goes_on && raw.get().starts_with(['{', '[']) {
            self.keeps = false;
            let mut inner = serde_json::Deserializer::from_str(raw.get());
            // It was read once already, so that this cannot fail.
            return DeserializeSeed::deserialize(self, &mut inner)
                .map_err(serde::de::Error::custom);
        }
        Ok(())
    }
}

impl<'a> Visitor<'a> for Walk<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let keys = self.tree.nodes.get(self.node).map_or(&[][..], |node| &node.keys);
        while let Some(key) = map.next_key::<Key<'a>>()? {
            match keys.iter().find(|(name, _)| **name == *key.0) {
                Some(&(_, node)) => {
                    let found = &mut *self.found;
                    map.next_value_seed(Walk { tree: self.tree, node, found, keeps: true })?;
                }
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'a>>(mut self, mut seq: S) -> Result<(), S::Error> {
        let Some(node) = self.tree.nodes.get(self.node) else { return Ok(()) };
        if node.elements.is_empty() && node.each.is_none() && node.last.is_none() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let mut last = None;
        let mut at = 0;
        while let Some(element) = seq.next_element::<&'a RawValue>()? {
            let indexed = node.elements.iter().filter(|(index, _)| *index == at);
            for next in indexed.map(|(_, next)| *next).chain(node.each) {
                self.again(next, element).map_err(serde::de::Error::custom)?;
            }
            last = Some(element);
            at += 1;
        }
        if let (Some(next), Some(element)) = (node.last, last) {
            self.again(next, element).map_err(serde::de::Error::custom)?;
        }
        Ok(())
    }
}
