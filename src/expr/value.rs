//! From recorded data to CEL values, bounded in depth and size.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;

use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull};
use cel::common::types::{CelString, CelUInt};
use cel::common::value::Val;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};

use super::field::Field;
use crate::model::marked_float;

/// A value that may borrow from the record.
pub(super) type Boxed<'v> = Box<dyn Val + 'v>;

/// Levels of objects and arrays that are converted.
const MAX_DEPTH: usize = 64;
/// Elements and members that are converted, over all levels.
const MAX_ELEMENTS: usize = 100_000;

/// The value of a field, or `None` for one that is too deep or too large to be evaluated.
pub(super) fn from_field<'v>(field: &'v Field<'_>) -> Option<Boxed<'v>> {
    Some(match field {
        Field::Missing | Field::Null => Box::new(CelNull),
        Field::Bool(flag) => Box::new(CelBool::from(*flag)),
        Field::Int(int) => Box::new(CelInt::from(*int)),
        Field::UInt(uint) => Box::new(CelUInt::from(*uint)),
        Field::Float(float) => Box::new(CelDouble::from(*float)),
        Field::Text(text) => Box::new(CelString::from(text.as_ref())),
        Field::Json(json) => {
            let left = Cell::new(MAX_ELEMENTS);
            let mut reader = serde_json::Deserializer::from_str(json);
            return Tree { depth: 0, left: &left }.deserialize(&mut reader).ok();
        }
    })
}

/// Builds one value and, below it, its elements.
#[derive(Clone, Copy)]
struct Tree<'c> {
    depth: usize,
    left: &'c Cell<usize>,
}

impl Tree<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom("too deep"));
        }
        Ok(Self { depth: self.depth + 1, left: self.left })
    }

    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        self.left.set(self.left.get().checked_sub(1).ok_or_else(|| E::custom("too large"))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Boxed<'de>;
    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Boxed<'de>, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Boxed<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Boxed<'de>, E> {
        Ok(Box::new(CelNull))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Boxed<'de>, E> {
        Ok(Box::new(CelBool::from(flag)))
    }

    fn visit_i64<E>(self, int: i64) -> Result<Boxed<'de>, E> {
        Ok(Box::new(CelInt::from(int)))
    }

    fn visit_u64<E>(self, uint: u64) -> Result<Boxed<'de>, E> {
        Ok(match i64::try_from(uint) {
            Ok(int) => Box::new(CelInt::from(int)),
            Err(_) => Box::new(CelUInt::from(uint)),
        })
    }

    fn visit_f64<E>(self, float: f64) -> Result<Boxed<'de>, E> {
        Ok(Box::new(CelDouble::from(float)))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Boxed<'de>, E> {
        Ok(match marked_float(text) {
            Some(float) => Box::new(CelDouble::from(float)),
            None => Box::new(CelString::from(text)),
        })
    }

    fn visit_str<E>(self, text: &str) -> Result<Boxed<'de>, E> {
        Ok(match marked_float(text) {
            Some(float) => Box::new(CelDouble::from(float)),
            None => Box::new(CelString::from(text.to_owned())),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Boxed<'de>, A::Error> {
        let below = self.deeper()?;
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element_seed(below)? {
            self.count()?;
            elements.push(element);
        }
        Ok(Box::new(CelList::from(elements)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Boxed<'de>, A::Error> {
        let below = self.deeper()?;
        let mut members: HashMap<CelMapKey<'de>, Boxed<'de>> = HashMap::new();
        while let Some(key) = map.next_key::<String>()? {
            self.count()?;
            members.insert(CelMapKey::from(key), map.next_value_seed(below)?);
        }
        if members.len() > MAX_ELEMENTS {
            return Err(A::Error::custom("too large"));
        }
        Ok(Box::new(CelMap::from(members)))
    }
}
