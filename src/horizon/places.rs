//! Which errors come at which step or in which tool.
//!
//! Owns the counting of failed attempts by type against a second thing, and what becomes of rare
//! types and long runs: the most frequent are kept, the rest put together, steps in bins.

use std::collections::BTreeMap;

use crate::evaluate::{RunRow, Timeline};

/// Types and tools that are kept apart.
const MOST_NAMES: usize = 12;
/// Columns of steps.
const MOST_STEPS: u32 = 20;
/// The name of what is put together.
const OTHER: &str = "other";

/// Failed attempts of one type in one step of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPlace {
    /// The step's position, from 1.
    pub step: u32,
    /// Steps of the run.
    pub steps: u32,
    /// The error's type.
    pub kind: Box<str>,
    /// How many attempts.
    pub attempts: u32,
}

/// The failed attempts of one run, in order; none where the order of its steps is unknown.
#[must_use]
pub fn error_places(timeline: &Timeline) -> Vec<ErrorPlace> {
    let steps = timeline.row.steps;
    if timeline.row.mid.is_none() {
        return Vec::new();
    }
    let mut places: Vec<ErrorPlace> = Vec::new();
    for step in &timeline.steps {
        for attempt in &step.attempts {
            let Some(kind) = attempt.error_type.as_deref() else { continue };
            match places.last_mut() {
                Some(last) if last.step == step.position && *last.kind == *kind => {
                    last.attempts = last.attempts.saturating_add(attempt.times);
                }
                _ => places.push(ErrorPlace {
                    step: step.position,
                    steps,
                    kind: kind.into(),
                    attempts: attempt.times,
                }),
            }
        }
    }
    places
}

/// What error types are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Tenths of the run's length.
    Decile,
    /// The step's position.
    Step,
    /// The tool that failed.
    Tool,
}

/// Failed attempts by type and step or tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorGrid {
    /// What the columns are.
    pub split: Split,
    /// Their names, in order; of steps `3` or `3-5`, of tenths where they end: `10%`.
    pub columns: Vec<String>,
    /// The types, the most frequent first, with a number for each column.
    pub kinds: Vec<(String, Vec<u64>)>,
    /// How many types are put together as the last of them; 0 where all have their own line.
    pub others: u64,
    /// All failed attempts in it.
    pub total: u64,
    /// Runs whose failed attempts are not in it, since the order of their steps is unknown.
    pub left_out: u64,
}

/// Failed attempts by step, collected over runs.
#[derive(Debug, Clone, Default)]
pub struct Places {
    counts: BTreeMap<Box<str>, BTreeMap<(u32, u32), u64>>,
    left_out: u64,
}

impl Places {
    /// Adds one run.
    pub fn add(&mut self, row: &RunRow, places: &[ErrorPlace]) {
        self.left_out += u64::from(row.mid.is_none() && row.failed_all > 0);
        for place in places {
            // Only what a grid can show is kept of a long run: its position and its tenth.
            // By where the step ends: the last step of any run is in the last tenth.
            let (step, steps) = (u64::from(place.step.max(1)), u64::from(place.steps.max(1)));
            let tenth = ((step * 10 - 1) / steps).min(9);
            let key = (place.step, u32::try_from(tenth).unwrap_or(9));
            let of_kind = match self.counts.get_mut(&place.kind) {
                Some(of_kind) => of_kind,
                None => self.counts.entry(place.kind.clone()).or_default(),
            };
            *of_kind.entry(key).or_default() += u64::from(place.attempts);
        }
    }

    /// Types against steps, or against tenths of a run.
    #[must_use]
    pub fn grid(&self, split: Split) -> ErrorGrid {
        let last = self.counts.values().flat_map(|of| of.keys().map(|(step, _)| *step)).max();
        let last = last.unwrap_or(0);
        let width = if split == Split::Decile { 1 } else { last.div_ceil(MOST_STEPS).max(1) };
        let columns: Vec<String> = match split {
            Split::Decile => (1..=10).map(|tenth| format!("{}%", tenth * 10)).collect(),
            _ => (0..last.div_ceil(width))
                .map(|bin| {
                    let (from, to) = (bin * width + 1, ((bin + 1) * width).min(last));
                    if from == to { from.to_string() } else { format!("{from}-{to}") }
                })
                .collect(),
        };
        let cells = self.counts.iter().map(|(kind, of)| {
            let mut cells = vec![0; columns.len()];
            for ((step, tenth), number) in of {
                let at = if split == Split::Decile { *tenth } else { (step.max(&1) - 1) / width };
                if let Some(cell) = cells.get_mut(at as usize) {
                    *cell += number;
                }
            }
            (kind.to_string(), cells)
        });
        ErrorGrid::of(split, columns.clone(), cells.collect(), self.left_out)
    }
}

impl ErrorGrid {
    /// Types against the tools that failed.
    #[must_use]
    pub fn by_tool(rows: &[&RunRow]) -> Self {
        let mut tools: BTreeMap<&str, u64> = BTreeMap::new();
        let mut unnamed = 0;
        for error in rows.iter().flat_map(|row| &row.errors) {
            let sum = match error.tool.as_deref() {
                Some(tool) => tools.entry(tool).or_default(),
                None => &mut unnamed,
            };
            *sum += u64::from(error.attempts);
        }
        let mut ranked: Vec<(&str, u64)> = tools.into_iter().collect();
        ranked.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let more = ranked.len() > MOST_NAMES;
        ranked.truncate(if more { MOST_NAMES - 1 } else { MOST_NAMES });
        let mut columns: Vec<String> = ranked.iter().map(|(tool, _)| (*tool).to_owned()).collect();
        let place: BTreeMap<&str, usize> =
            ranked.iter().enumerate().map(|(at, (tool, _))| (*tool, at)).collect();
        let other = columns.len();
        columns.extend(more.then(|| OTHER.to_owned()));
        let none = columns.len();
        columns.extend((unnamed > 0).then(|| "(no tool)".to_owned()));
        let mut cells: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for error in rows.iter().flat_map(|row| &row.errors) {
            let at = match error.tool.as_deref() {
                Some(tool) => place.get(tool).copied().unwrap_or(other),
                None => none,
            };
            let of_kind = cells.entry(&error.kind).or_insert_with(|| vec![0; columns.len()]);
            if let Some(cell) = of_kind.get_mut(at) {
                *cell += u64::from(error.attempts);
            }
        }
        let cells = cells.into_iter().map(|(kind, cells)| (kind.to_owned(), cells)).collect();
        Self::of(Split::Tool, columns, cells, 0)
    }

    fn of(
        split: Split,
        columns: Vec<String>,
        mut kinds: Vec<(String, Vec<u64>)>,
        left_out: u64,
    ) -> Self {
        let sum = |cells: &[u64]| cells.iter().sum::<u64>();
        kinds.sort_by(|a, b| sum(&b.1).cmp(&sum(&a.1)).then(a.0.cmp(&b.0)));
        let total = kinds.iter().map(|(_, cells)| sum(cells)).sum();
        let mut others = 0;
        if kinds.len() > MOST_NAMES {
            others = (kinds.len() + 1 - MOST_NAMES) as u64;
            let mut rest = vec![0; columns.len()];
            for (_, cells) in kinds.drain(MOST_NAMES - 1..) {
                rest.iter_mut().zip(cells).for_each(|(rest, cell)| *rest += cell);
            }
            kinds.push((format!("{OTHER} ({others} types)"), rest));
        }
        Self { split, columns, kinds, others, total, left_out }
    }
}
