//! Paths of a mapping that never matched, and what the records have instead; mappings that no step
//! can fail by.
//!
//! Owns which fields were filled at least once, and the first records of each level, from which
//! the nearest path that there is gets named. Both are bounded.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::super::raw::Entries;
use super::extract::Values;
use crate::config::mapping::path::{Part, Path};
use crate::config::mapping::{Class, Fields, Mapping, Origin, Slot, StepField};
use crate::ingest::quick;
use crate::model::{Issue, Place, nearest};

/// Records of each level that are kept.
const SAMPLES: usize = 8;
/// Bytes of such a record; of a longer one nothing is kept.
const LONGEST: usize = 256 << 10;
/// Paths that are told apart.
const PATHS: usize = 2_000;
/// How deep they go.
const DEPTH: usize = 8;

/// What was filled.
pub(super) struct Missing {
    seen: [Vec<bool>; 3],
    /// Whether a value of the level was looked at.
    looked: [bool; 3],
    fired: Vec<bool>,
    samples: [Vec<Vec<u8>>; 3],
    first: Option<Place>,
}

impl Missing {
    pub(super) fn new(mapping: &Mapping) -> Self {
        let slots = |level: usize| {
            vec![false; mapping.levels.get(level).map_or(0, |tree| tree.paths.len())]
        };
        Self {
            seen: [slots(0), slots(1), slots(2)],
            looked: [false; 3],
            fired: vec![false; mapping.rules.len()],
            samples: Default::default(),
            first: None,
        }
    }

    pub(super) fn saw(&mut self, level: usize, values: &Values<'_>) {
        let (Some(seen), Some(looked)) = (self.seen.get_mut(level), self.looked.get_mut(level))
        else {
            return;
        };
        *looked = true;
        for (seen, value) in seen.iter_mut().zip(values) {
            *seen |= value.is_some();
        }
    }

    pub(super) fn fired(&mut self, rule: usize) {
        if let Some(fired) = self.fired.get_mut(rule) {
            *fired = true;
        }
    }

    pub(super) fn sample(&mut self, level: usize, json: &[u8], place: Place) {
        self.first.get_or_insert(place);
        if let Some(samples) = self.samples.get_mut(level)
            && samples.len() < SAMPLES
            && json.len() <= LONGEST
        {
            samples.push(json.to_vec());
        }
    }

    /// A warning for each field whose paths never matched. A mapping that ships with the program
    /// covers more than one file has: where it gave runs, its fields are one note together.
    pub(super) fn issues(&self, mapping: &Mapping, any_run: bool) -> Vec<Issue> {
        let seen = |slot: &Slot| {
            self.seen.get(slot.level).and_then(|seen| seen.get(slot.at)).copied().unwrap_or(false)
        };
        let looked = |slot: &Slot| self.looked.get(slot.level).copied().unwrap_or(false);
        let mut known: [Option<BTreeSet<String>>; 3] = Default::default();
        let (mut issues, mut unused) = (Vec::new(), Vec::new());
        let mut told = BTreeSet::new();
        for used in &mapping.uses {
            let Some(first) = used.slots.first().filter(|slot| looked(slot)) else { continue };
            let asleep = used.rule.is_some_and(|rule| self.fired.get(rule) == Some(&false));
            if used.can_do_without || asleep || used.slots.iter().any(seen) {
                continue;
            }
            let path = |slot: &Slot| mapping.levels.get(slot.level)?.paths.get(slot.at);
            let paths: Vec<String> =
                used.slots.iter().filter_map(path).map(|path| format!("`{path}`")).collect();
            let Some(wanted) = path(first) else { continue };
            let has = known
                .get_mut(first.level)
                .map(|known| known.get_or_insert_with(|| self.paths(first.level)));
            let near = has.and_then(|has| near(wanted, has));
            let what = match paths.as_slice() {
                [one] => format!("path {one} never matched"),
                many => format!("none of the paths {} ever matched", many.join(", ")),
            };
            let near = near.map(|near| format!("; the records have `{near}`")).unwrap_or_default();
            let message = format!("{what} (`{}` of the mapping){near}", used.field);
            if !told.insert(paths.join(",")) {
                continue;
            }
            let place = self.first.unwrap_or_default();
            if any_run && mapping.ready {
                unused.push(used.field.as_str());
            } else {
                issues.push(Issue::warning(NEVER_MATCHED, place, message));
            }
        }
        if !unused.is_empty() {
            let message =
                format!("fields that the mapping reads and no record has: {}", unused.join(", "));
            issues.push(Issue::note("fields_not_there", self.first.unwrap_or_default(), message));
        }
        issues
    }

    /// A warning where nothing that the mapping reads of the steps could say that one failed.
    pub(super) fn no_failure(&self, mapping: &Mapping) -> Option<Issue> {
        let fired = self.fired.iter().zip(&mapping.rules).filter(|(fired, _)| **fired);
        let mut rules = fired.map(|(_, rule)| rule).filter(|rule| super::is_step(rule.class));
        let first = rules.next()?;
        let tells = |rule| matches!(rule, Class::Retry | Class::Error);
        if std::iter::once(first).chain(rules).any(|rule| tells(rule.class) || judges(&rule.step)) {
            return None;
        }
        let message = "the mapping reads no status and no error of a step, so every step that ended passed: map `step.status`, `step.success`, `step.error`, `step.error_type` or `step.error_message`";
        Some(Issue::warning(NO_FAILURE, self.first.unwrap_or_default(), message))
    }

    fn paths(&self, level: usize) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for json in self.samples.get(level).into_iter().flatten() {
            if let Ok(raw) = quick::from_slice::<&RawValue>(json) {
                collect(raw, &mut Vec::new(), &mut |parts, _| {
                    if found.len() < PATHS {
                        found.insert(Path { outer: false, parts: parts.to_vec() }.to_string());
                    }
                });
            }
        }
        found
    }
}

/// Whether one of these fields can say that a step failed. A constant type or message that holds for
/// all records says nothing.
fn judges(step: &Fields) -> bool {
    let has = |field, counts: fn(bool, bool) -> bool| {
        step.of_step(field).is_some_and(|source| {
            let mut picks = source.picks.iter();
            picks.any(|pick| counts(pick.of_rule, matches!(pick.from, Origin::Constant(_))))
        })
    };
    [StepField::Status, StepField::Success, StepField::Error].iter().any(|f| has(*f, |_, _| true))
        || [StepField::ErrorType, StepField::ErrorMessage]
            .iter()
            .any(|field| has(*field, |of_rule, constant| of_rule || !constant))
}

/// The code of a mapping by which no step can fail; an expression may still tell.
pub const NO_FAILURE: &str = "mapping_tells_no_failure";

/// The code of a path that never matched.
pub const NEVER_MATCHED: &str = "mapping_path_never_matched";

/// Shows every value of a record with its path; those of a list share `[]`, or have their index
/// where the record itself is a list. The depth is bounded.
pub(super) fn collect<'a>(
    raw: &'a RawValue,
    parts: &mut Vec<Part>,
    show: &mut dyn FnMut(&[Part], &'a RawValue),
) {
    if !parts.is_empty() {
        show(parts, raw);
    }
    if parts.len() >= DEPTH {
        return;
    }
    match raw.get().as_bytes().first() {
        Some(b'{') => {
            let Ok(Entries(members)) = quick::from_str(raw.get()) else { return };
            for (key, value) in members {
                parts.push(Part::Key(key.into_owned()));
                collect(value, parts, show);
                parts.pop();
            }
        }
        Some(b'[') => {
            let top = parts.is_empty();
            for (at, value) in super::extract::elements(raw).into_iter().enumerate().take(64) {
                parts.push(if top { Part::At(at) } else { Part::Each });
                collect(value, parts, show);
                parts.pop();
            }
        }
        _ => {}
    }
}

/// The path that is nearest to one that never matched.
fn near<'n>(wanted: &Path, has: &'n BTreeSet<String>) -> Option<&'n str> {
    let wanted = wanted.to_string();
    let bare = |path: &str| {
        path.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let same = has.iter().find(|path| bare(path) == bare(&wanted));
    let last = |path: &str| bare(path.rsplit('.').next().unwrap_or(path));
    let elsewhere = || has.iter().find(|path| last(path) == last(&wanted));
    same.or_else(elsewhere)
        .map(String::as_str)
        .or_else(|| nearest(&wanted, has.iter().map(String::as_str)))
}
