//! What a program saw over all attempts or runs, and what of it people must hear.
//!
//! Observations merge in any order to the same result, so the number of threads does not show.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::field::{Field, FieldPath, Fields, Root, Segment, display_path};
use super::program::Program;
use crate::model::nearest;

/// Distinct values that are kept per path.
const KEPT_VALUES: usize = 5;
/// Keys that are kept around an absent path.
const KEPT_KEYS: usize = 200;
/// Characters of a value that are shown.
const SHOWN: usize = 40;

/// What stood at a path in one evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nothing.
    Missing,
    /// Null.
    Null,
    /// A float that is no number.
    NotANumber,
    /// An object or list too deep or too large to be evaluated.
    TooLarge,
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// A text.
    Text,
    /// An object or list.
    Structure,
}

impl State {
    pub(super) fn of(value: &Field<'_>) -> Self {
        match value {
            Field::Missing => Self::Missing,
            Field::Null => Self::Null,
            Field::Bool(_) => Self::Bool,
            Field::Float(float) if float.is_nan() => Self::NotANumber,
            Field::Int(_) | Field::UInt(_) | Field::Float(_) => Self::Number,
            Field::Text(_) => Self::Text,
            Field::Json(_) => Self::Structure,
        }
    }

    /// What the state is, as the end of a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Null => "null",
            Self::NotANumber => "NaN",
            Self::TooLarge => "too large",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Structure => "an object or a list",
        }
    }
}

/// The answer of one evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    True,
    False,
    /// With the paths that may be why.
    Unevaluable(Vec<usize>),
}

/// A value as short text; `None` where nothing stands.
pub(super) fn short(value: &Field<'_>) -> Option<String> {
    let text = match value {
        Field::Missing | Field::Null => return None,
        Field::Bool(flag) => flag.to_string(),
        Field::Int(int) => int.to_string(),
        Field::UInt(uint) => uint.to_string(),
        Field::Float(float) => float.to_string(),
        Field::Text(text) => {
            let mut start: String = text.chars().take(SHOWN).collect();
            if start.len() < text.len() {
                start.push_str("...");
            }
            return Some(format!("{start:?}"));
        }
        Field::Json(json) => {
            let mut start: String = json.chars().take(SHOWN).collect();
            if start.len() < json.len() {
                start.push_str("...");
            }
            start
        }
    };
    Some(text)
}

/// A few of the values seen at a path: the smallest as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The values, in order.
    pub values: BTreeSet<String>,
    /// Whether there were more.
    pub more: bool,
}

impl Seen {
    fn add(&mut self, value: &str) {
        if self.values.contains(value) {
            return;
        }
        let full = self.values.len() >= KEPT_VALUES;
        self.more |= full;
        if !full || self.values.last().is_some_and(|last| value < last.as_str()) {
            self.values.insert(value.to_owned());
            cut(&mut self.values, KEPT_VALUES);
        }
    }

    fn merge(&mut self, other: Self) {
        self.values.extend(other.values);
        self.more |= other.more | cut(&mut self.values, KEPT_VALUES);
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<&str> = self.values.iter().map(String::as_str).collect();
        if self.more {
            parts.push("...");
        }
        f.write_str(&parts.join(", "))
    }
}

/// Drops the largest until at most `most` are left; tells whether any was dropped.
fn cut(set: &mut BTreeSet<String>, most: usize) -> bool {
    let over = set.len() > most;
    while set.len() > most {
        set.pop_last();
    }
    over
}

/// What was seen at one path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathObservation {
    /// Evaluations by what stood there.
    pub states: BTreeMap<State, u64>,
    /// Evaluations that could not be done, by what stood here, where this path may be why.
    pub unevaluable: BTreeMap<State, u64>,
    /// A few of the values; none for a path that is only compared with null or tested with `has`.
    pub seen: Seen,
    /// Whether the root object was there in at least one evaluation in which the path was not.
    pub root_present: bool,
    /// Paths around it, noted while it was absent: the smallest 200.
    pub around: BTreeSet<String>,
}

impl PathObservation {
    /// Evaluations in which something stood there, null included.
    #[must_use]
    pub fn present(&self) -> u64 {
        self.states.iter().filter(|(state, _)| **state != State::Missing).map(|(_, n)| n).sum()
    }
}

/// What a program saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observations {
    /// Evaluations.
    pub evaluations: u64,
    /// Attempts or runs that were only looked at, because something else decided them.
    pub unused: u64,
    /// Those that held.
    pub held: u64,
    /// Those that could not be done, and so did not hold.
    pub unevaluable: u64,
    /// By path, in the order of [`Program::paths`].
    pub paths: Vec<PathObservation>,
}

impl Observations {
    pub(super) fn new(paths: usize) -> Self {
        Self { paths: vec![PathObservation::default(); paths], ..Self::default() }
    }

    pub(super) fn note(&mut self, answer: &Answer, notes: &[(State, Option<String>)], count: u64) {
        self.evaluations += count;
        match answer {
            Answer::True => self.held += count,
            Answer::False => {}
            Answer::Unevaluable(paths) => {
                self.unevaluable += count;
                for &at in paths {
                    if let (Some(path), Some((state, _))) = (self.paths.get_mut(at), notes.get(at))
                    {
                        *path.unevaluable.entry(*state).or_default() += count;
                    }
                }
            }
        }
        for (path, (state, value)) in self.paths.iter_mut().zip(notes) {
            *path.states.entry(*state).or_default() += count;
            if let Some(value) = value {
                path.seen.add(value);
            }
        }
    }

    /// Notes what stood at each path of an attempt or run that the expression did not decide.
    pub(super) fn note_unused(&mut self, states: &[State]) {
        self.unused += 1;
        for (path, state) in self.paths.iter_mut().zip(states) {
            *path.states.entry(*state).or_default() += 1;
        }
    }

    pub(super) fn note_keys(&mut self, at: usize, path: &FieldPath, fields: &dyn Fields) {
        let Some(noted) = self.paths.get_mut(at) else { return };
        noted.root_present = noted.root_present || fields.root_present(path.root);
        let above = path.segments.len().saturating_sub(1);
        for depth in [0, above] {
            let Some(prefix) = path.segments.get(..depth) else { continue };
            fields.keys(path.root, prefix, &mut |key| noted.add_key(path.root, prefix, key));
            if above == 0 {
                break;
            }
        }
    }

    /// Adds what another evaluator of the same program saw; in any order, to the same result.
    pub fn merge(&mut self, other: Self) {
        self.evaluations += other.evaluations;
        self.unused += other.unused;
        self.held += other.held;
        self.unevaluable += other.unevaluable;
        if self.paths.len() < other.paths.len() {
            self.paths.resize_with(other.paths.len(), PathObservation::default);
        }
        for (path, theirs) in self.paths.iter_mut().zip(other.paths) {
            for (state, count) in theirs.states {
                *path.states.entry(state).or_default() += count;
            }
            for (state, count) in theirs.unevaluable {
                *path.unevaluable.entry(state).or_default() += count;
            }
            path.seen.merge(theirs.seen);
            path.root_present |= theirs.root_present;
            path.around.extend(theirs.around);
            cut(&mut path.around, KEPT_KEYS);
        }
    }

    /// What people must hear, in the order of the source: absent paths, then what could not be
    /// evaluated, then that nothing held.
    #[must_use]
    pub fn findings(&self, program: &Program) -> Vec<Finding> {
        let mut findings = Vec::new();
        let looked_at = self.evaluations + self.unused;
        if looked_at == 0 {
            return findings;
        }
        let both = || program.paths().iter().zip(&self.paths);
        for (path, noted) in both() {
            if noted.present() == 0 && !path.is_computed() {
                let written = path.to_string();
                let others = noted.around.iter().map(String::as_str);
                findings.push(Finding::AbsentEverywhere {
                    nearest: nearest(&written, others.filter(|other| *other != written))
                        .map(str::to_owned),
                    path: written,
                    evaluations: looked_at,
                    fatal: noted.root_present
                        && path.root != Root::Run
                        && !path.segments.is_empty()
                        && !path.compared_with_null
                        && !path.tested_with_has,
                });
            }
        }
        let mut explained = false;
        for (path, noted) in both() {
            for (&state, &count) in &noted.unevaluable {
                explained = true;
                findings.push(Finding::Unevaluable {
                    path: Some((path.to_string(), state)),
                    count,
                    evaluations: self.evaluations,
                });
            }
        }
        if self.unevaluable > 0 && !explained {
            findings.push(Finding::Unevaluable {
                path: None,
                count: self.unevaluable,
                evaluations: self.evaluations,
            });
        }
        if self.held == 0 && self.evaluations > 0 {
            let seen = both()
                .map(|(path, noted)| (path.to_string(), noted.seen.clone()))
                .filter(|(_, seen)| !seen.values.is_empty())
                .collect();
            findings.push(Finding::NeverTrue { evaluations: self.evaluations, seen });
        }
        findings
    }
}

impl PathObservation {
    fn add_key(&mut self, root: Root, prefix: &[Segment], key: &str) {
        let mut segments = prefix.to_vec();
        segments.push(Segment::Key(key.chars().take(SHOWN * 2).collect()));
        let path = display_path(root, &segments);
        let full = self.around.len() >= KEPT_KEYS;
        if !full || self.around.last().is_some_and(|last| path < *last) {
            self.around.insert(path);
            cut(&mut self.around, KEPT_KEYS);
        }
    }
}

/// Something that people must hear of a program, as data; the text is that of a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A path was in none of the attempts or runs.
    AbsentEverywhere {
        /// The path.
        path: String,
        /// The path that is nearest among those there.
        nearest: Option<String>,
        /// How many attempts or runs were looked at.
        evaluations: u64,
        /// Whether it ends the command (exit 2): its root object was there, and the expression
        /// neither compares it with null nor tests it with `has`. Not for a gate's candidate.
        fatal: bool,
    },
    /// The expression could not be evaluated, and so did not hold.
    Unevaluable {
        /// The path that may be why, and what stood there.
        path: Option<(String, State)>,
        /// In how many attempts or runs.
        count: u64,
        /// Out of how many.
        evaluations: u64,
    },
    /// The expression held for none.
    NeverTrue {
        /// How many attempts or runs were looked at.
        evaluations: u64,
        /// The values seen, by path.
        seen: Vec<(String, Seen)>,
    },
}

impl Finding {
    /// A stable code for the warning.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AbsentEverywhere { .. } => "field_absent",
            Self::Unevaluable { .. } => "expression_unevaluable",
            Self::NeverTrue { .. } => "expression_never_true",
        }
    }

    /// The finding without the values that were seen, which are contents of traces.
    #[must_use]
    pub fn without_values(&self) -> String {
        match self {
            Self::NeverTrue { evaluations, .. } => format!("is true for none of {evaluations}"),
            Self::AbsentEverywhere { .. } | Self::Unevaluable { .. } => self.to_string(),
        }
    }

    /// In how many attempts or runs.
    #[must_use]
    pub const fn count(&self) -> u64 {
        match self {
            Self::AbsentEverywhere { evaluations, .. } | Self::NeverTrue { evaluations, .. } => {
                *evaluations
            }
            Self::Unevaluable { count, .. } => *count,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AbsentEverywhere { path, nearest, evaluations, .. } => {
                write!(f, "`{path}` is in none of {evaluations}")?;
                match nearest {
                    Some(near) => write!(f, "; did you mean `{near}`?"),
                    None => Ok(()),
                }
            }
            Self::Unevaluable { path: Some((path, state)), count, evaluations } => write!(
                f,
                "could not be evaluated in {count} of {evaluations}, and counts as false there: `{path}` is {}",
                state.name()
            ),
            Self::Unevaluable { path: None, count, evaluations } => write!(
                f,
                "could not be evaluated in {count} of {evaluations}, and counts as false there"
            ),
            Self::NeverTrue { evaluations, seen } => {
                write!(f, "is true for none of {evaluations}")?;
                for (at, (path, values)) in seen.iter().enumerate() {
                    write!(f, "{} `{path}` is {values}", if at == 0 { ";" } else { "," })?;
                }
                Ok(())
            }
        }
    }
}
