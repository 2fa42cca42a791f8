//! The field mapping as used: every path in a tree, every pattern compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::value::RawValue;

use super::path::{Part, Path};
use super::wire::{Class, DurationUnit, Line};

/// Where one value of a record is kept while the record is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// 0 for the document around records, 1 for records, 2 for the steps inside of a record that is a run.
    pub level: usize,
    /// Its number on that level.
    pub at: usize,
}

/// All paths that are read at one level.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// The nodes; the first is the value itself.
    pub nodes: Vec<Node>,
    /// The paths, by slot.
    pub paths: Vec<Path>,
}

/// One value on the way of a path.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// The slot that takes the value.
    pub leaf: Option<usize>,
    /// Members that paths go through, with their nodes.
    pub keys: Vec<(Box<str>, usize)>,
    /// Elements that paths go through.
    pub elements: Vec<(usize, usize)>,
    /// What every element is looked at for.
    pub each: Option<usize>,
    /// What the last element is looked at for.
    pub last: Option<usize>,
    /// All slots at and below the node.
    pub slots: Vec<usize>,
}

impl Tree {
    /// The slot of a path; one path has one slot.
    pub(super) fn slot(&mut self, path: &Path) -> usize {
        if let Some(known) = self.paths.iter().position(|known| known == path) {
            return known;
        }
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let slot = self.paths.len();
        self.paths.push(path.clone());
        let mut at = 0;
        self.pass(at, slot);
        for part in &path.parts {
            at = self.step(at, part);
            self.pass(at, slot);
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.leaf = Some(slot);
        }
        // Flat logs and columns of tables have keys with dots in their names.
        let keys: Option<Vec<&str>> = path.parts.iter().map(Part::key).collect();
        if let (Some(keys), Some(top)) =
            (keys.filter(|keys| keys.len() > 1), self.nodes.first_mut())
        {
            top.keys.push((keys.join(".").into(), at));
        }
        slot
    }

    fn pass(&mut self, at: usize, slot: usize) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.slots.push(slot);
        }
    }

    fn step(&mut self, at: usize, part: &Part) -> usize {
        let next = self.nodes.len();
        let Some(node) = self.nodes.get_mut(at) else { return at };
        let known = match part {
            Part::Key(key) => node.keys.iter().find(|(name, _)| **name == **key).map(|(_, to)| *to),
            Part::At(index) => node.elements.iter().find(|(i, _)| i == index).map(|(_, to)| *to),
            Part::Each => node.each,
            Part::Last => node.last,
        };
        if let Some(known) = known {
            return known;
        }
        match part {
            Part::Key(key) => node.keys.push((key.as_str().into(), next)),
            Part::At(index) => node.elements.push((*index, next)),
            Part::Each => node.each = Some(next),
            Part::Last => node.last = Some(next),
        }
        self.nodes.push(Node::default());
        next
    }
}

/// How a time is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeForm {
    /// Its spelling.
    pub spelling: Spelling,
    /// Seconds east of UTC where it names no zone; `None` keeps it without one.
    pub zone: Option<i32>,
}

/// The spelling of a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelling {
    /// ISO 8601, or a number whose unit its magnitude tells.
    Auto,
    /// ISO 8601.
    Iso,
    /// A number since the Unix epoch, of this many nanoseconds.
    Epoch(u64),
    /// A pattern of `strptime`.
    Pattern(String),
}

/// One way to a value.
#[derive(Debug, Clone)]
pub struct Pick {
    /// Where it comes from.
    pub from: Origin,
    /// What of the text is the value: the first group, or all.
    pub pattern: Option<Regex>,
    /// The line in which the pattern looks.
    pub line: Option<Line>,
    /// What values stand for, in lower case; others are null.
    pub values: Option<Arc<BTreeMap<String, String>>>,
    /// How times are written.
    pub time: TimeForm,
    /// The unit of durations; always there for a duration.
    pub unit: Option<DurationUnit>,
    /// Whether it stands in a rule, so that a constant is evidence.
    pub of_rule: bool,
}

/// Where a value comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A slot.
    Slot(Slot),
    /// Nowhere: it is always the same.
    Constant(Box<RawValue>),
    /// Several slots, joined.
    Join(Vec<Slot>),
}

/// The ways to a value, of which the first that gives one counts.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// In order.
    pub picks: Vec<Pick>,
}

/// Simple fields of the run, in the order of the wire form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the wire form documents them")]
pub enum RunField {
    RunId,
    TaskId,
    Trial,
    Agent,
    Model,
    Status,
    EndReason,
    Score,
    Success,
    StartedAt,
    EndedAt,
    Duration,
    Cost,
    Output,
    Final,
}

/// Simple fields of the step, in the order of the wire form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the wire form documents them")]
pub enum StepField {
    StepId,
    Attempt,
    Attempts,
    Index,
    Kind,
    Name,
    Status,
    Success,
    Error,
    ErrorType,
    ErrorMessage,
    RequestId,
    Input,
    Output,
    StartedAt,
    EndedAt,
    Duration,
    Cost,
}

/// The sources of a run or a step.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    /// Simple fields, by [`RunField`] or [`StepField`].
    pub simple: Vec<Source>,
    /// Tokens, in the order of the wire form; empty where none is mapped.
    pub tokens: Vec<Source>,
    /// Labels by key.
    pub tags: Vec<(String, Source)>,
}

impl Fields {
    /// The source of a field of the run.
    #[must_use]
    pub fn of_run(&self, field: RunField) -> Option<&Source> {
        self.simple.get(field as usize)
    }

    /// The source of a field of the step.
    #[must_use]
    pub fn of_step(&self, field: StepField) -> Option<&Source> {
        self.simple.get(field as usize)
    }
}

/// A value that a test compares with.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// A text; in any case.
    Text(String),
    /// A number; also where it is written as a text.
    Number(f64),
    /// A flag; also where it is written as a text.
    Flag(bool),
}

/// A test on one value.
#[derive(Debug, Clone)]
pub struct Test {
    /// The value.
    pub slot: Slot,
    /// Whether it must be there, or must not.
    pub exists: Option<bool>,
    /// What its text must match.
    pub pattern: Option<Regex>,
    /// What it must be one of; empty for anything.
    pub any_of: Vec<Literal>,
    /// What it must not be.
    pub none_of: Vec<Literal>,
    /// The least number.
    pub min: Option<f64>,
    /// The largest number.
    pub max: Option<f64>,
}

/// What a record is, and where its fields are.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What must hold.
    pub tests: Vec<Test>,
    /// What it is then.
    pub class: Class,
    /// Fields of the run.
    pub run: Fields,
    /// Fields of the step.
    pub step: Fields,
}

/// What stands in front of the JSON of a line.
#[derive(Debug, Clone, Default)]
pub enum Prefix {
    /// What container runtimes write.
    Container,
    /// Anything up to the first `{`.
    Any,
    /// Nothing.
    #[default]
    None,
    /// What matches at the start.
    Pattern(Regex),
}

/// A field, and the slots that can fill it.
#[derive(Debug, Clone)]
pub struct Use {
    /// Its name, such as `step.name` or `events/0/when`.
    pub field: String,
    /// Its slots.
    pub slots: Vec<Slot>,
    /// The rule that it stands in, apart from that rule's tests.
    pub rule: Option<usize>,
    /// Whether it is filled or may be empty anyway: it has a constant, or a test asks for its absence.
    pub can_do_without: bool,
}
