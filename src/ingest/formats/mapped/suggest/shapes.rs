//! What the values at each path of a file look like.
//!
//! Owns counts: how many records have the path, kinds of values, how many are apart. Bounded in
//! paths and in values kept.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::super::super::raw::label;
use super::super::missing::collect;
use crate::config::mapping::path::{Part, Path};
use crate::model::{AttemptWord, Stamp};

/// Paths that are told apart.
const PATHS: usize = 400;
/// Different values that are kept of a path.
const VALUES: usize = 200;

/// What was seen at one path.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// Values that are not null.
    pub(super) count: u64,
    pub(super) texts: u64,
    pub(super) numbers: u64,
    pub(super) flags: u64,
    pub(super) objects: u64,
    /// Elements of its lists, and how many lists.
    pub(super) elements: u64,
    pub(super) lists: u64,
    /// Lists whose first element is an object.
    pub(super) object_lists: u64,
    pub(super) times: u64,
    pub(super) statuses: u64,
    pub(super) longest: usize,
    pub(super) sum: f64,
    /// Values with how often, as long as there are not too many.
    pub(super) values: BTreeMap<String, u64>,
    /// Whether there were too many to keep.
    pub(super) many: bool,
}

impl Shape {
    pub(super) fn is_scalar(&self) -> bool {
        self.count > 0 && self.texts + self.numbers + self.flags == self.count
    }

    /// Whether its values are names that come again: few are apart.
    pub(super) fn repeats(&self) -> bool {
        !self.many && self.count >= 2 && (self.values.len() as u64) * 2 <= self.count
    }

    fn take(&mut self, raw: &RawValue) {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'n') | None => return,
            Some(b'{') => {
                self.count += 1;
                self.objects += 1;
                return;
            }
            Some(b'[') => {
                let elements = super::super::extract::elements(raw);
                self.count += 1;
                self.lists += 1;
                self.elements += elements.len() as u64;
                self.object_lists +=
                    u64::from(elements.first().is_some_and(|first| first.get().starts_with('{')));
                return;
            }
            _ => {}
        }
        let Some(value) = label(raw) else { return };
        if value.is_empty() {
            return;
        }
        self.count += 1;
        let number: Option<f64> = value.trim().parse().ok().filter(|n: &f64| n.is_finite());
        match text.as_bytes().first() {
            Some(b't' | b'f') => self.flags += 1,
            Some(b'"') if number.is_none() => self.texts += 1,
            _ => self.numbers += 1,
        }
        self.sum += number.unwrap_or(0.0);
        self.longest = self.longest.max(value.len());
        self.times += u64::from(is_time(&value, number));
        self.statuses += u64::from(AttemptWord::read(&value) != AttemptWord::Unknown);
        if value.len() <= 200 && (self.values.len() < VALUES || self.values.contains_key(&*value)) {
            *self.values.entry(value.into_owned()).or_default() += 1;
        } else {
            self.many = true;
        }
    }
}

/// A time of this century, as text with a date or as a number since the epoch.
fn is_time(value: &str, number: Option<f64>) -> bool {
    match number {
        // From September 2001 on, in seconds; the other units follow by magnitude.
        Some(number) => {
            (1e9..2e19).contains(&number) && {
                let time = Stamp::Number(number).time();
                time.is_some_and(|time| {
                    (1_000_000_000_000_000..4_102_444_800_000_000).contains(&time.micros)
                })
            }
        }
        None => value.len() >= 16 && Stamp::Text(value.into()).time().is_some(),
    }
}

/// The shapes of all paths, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub(super) records: u64,
    order: Vec<Vec<Part>>,
    by_path: BTreeMap<String, (usize, Shape)>,
}

impl Shapes {
    pub(super) fn take(&mut self, record: &RawValue) {
        self.records += 1;
        collect(record, &mut Vec::new(), &mut |parts, value| {
            let path = Path { outer: false, parts: parts.to_vec() };
            let name = path.to_string();
            if !self.by_path.contains_key(&name) {
                if self.by_path.len() >= PATHS {
                    return;
                }
                self.order.push(path.parts);
            }
            let next = self.order.len().saturating_sub(1);
            let (_, shape) = self.by_path.entry(name).or_insert((next, Shape::default()));
            shape.take(value);
        });
    }

    /// Paths with their shapes: outer ones first, else as met.
    pub(super) fn all(&self) -> Vec<(&str, &[Part], &Shape)> {
        let mut all: Vec<_> = self
            .by_path
            .iter()
            .filter_map(|(name, (at, shape))| {
                let parts = self.order.get(*at)?;
                Some((name.as_str(), parts.as_slice(), shape, *at))
            })
            .collect();
        all.sort_by_key(|(_, parts, _, at)| (parts.len(), *at));
        all.into_iter().map(|(name, parts, shape, _)| (name, parts, shape)).collect()
    }

    /// Drops paths that are not wanted.
    pub(super) fn keep(&mut self, wanted: impl Fn(&str, &Shape) -> bool) {
        self.by_path.retain(|path, (_, shape)| wanted(path, shape));
    }

    /// Drops the paths that others have.
    pub(super) fn forget(&mut self, others: &Self) {
        self.by_path.retain(|path, _| !others.by_path.contains_key(path));
    }

    pub(super) fn get(&self, path: &str) -> Option<&Shape> {
        self.by_path.get(path).map(|(_, shape)| shape)
    }

    pub(super) fn has(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| self.get(path).is_some_and(|shape| shape.count > 0))
    }
}
