//! One block of a file: its records, what a refused one wraps or hides, and reading whole runs from it.

use std::path::Path;

use super::formats::{Format, Parsed, Record, Refusal, TRUNCATED};
use super::read::Visitor;
use super::repair;
use super::scan::end_of_value;
use super::split::{Span, restarts, wrapped_elements};
use crate::config::ReadOptions;
use crate::model::{Issue, Place, Trajectory};

/// Bytes of records that one task of a thread takes at least.
const BATCH: usize = 128 << 10;

/// What one record gave: results and issues, or a refusal with its place; with whether it was repaired.
pub(super) type Outcome<O> = (Result<(Vec<O>, Vec<Issue>), Issue>, bool);

/// Groups consecutive records so that a task is worth a thread's while.
pub(super) fn batches(spans: &[Span]) -> Vec<&[Span]> {
    let (mut batches, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (nth, span) in spans.iter().enumerate() {
        bytes += span.end - span.start;
        if bytes >= BATCH {
            batches.push(&spans[first..=nth]);
            (first, bytes) = (nth + 1, 0);
        }
    }
    if first < spans.len() {
        batches.push(&spans[first..]);
    }
    batches
}

/// How far inside a record of the file a record was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// It is a record of the file.
    Outer,
    /// It is an element of an array that one wraps.
    Wrapped,
    /// It stood behind damage.
    Hidden,
}

/// A block of a file.
pub(super) struct Block<'b> {
    pub(super) bytes: &'b [u8],
    /// Offset of its first byte in the file.
    pub(super) base: u64,
    pub(super) file: u32,
    pub(super) path: &'b Path,
}

impl<'b> Block<'b> {
    pub(super) fn record(&self, span: Span) -> Record<'b> {
        Record {
            bytes: &self.bytes[span.start..span.end],
            place: Place { file: self.file, line: span.line, byte: self.base + span.start as u64 },
            path: self.path,
        }
    }

    /// The end of a record.
    pub(super) fn end_of(&self, span: Span) -> Place {
        Place { file: self.file, line: 0, byte: self.base + span.end as u64 }
    }

    /// The records inside a refused one: the elements it wraps, or the sound ones that its damage
    /// hides. What is wrapped may be damaged too, and what damage hid is not looked into again.
    pub(super) fn within(
        &self,
        span: Span,
        depth: Depth,
        format: &Format,
    ) -> Option<(Vec<Span>, Depth)> {
        let bytes = &self.bytes[span.start..span.end];
        if depth == Depth::Outer
            && let Some(elements) = wrapped_elements(bytes, format.wrappers)
            && format.wrappers.iter().any(|key| !key.is_empty())
        {
            let shift = |inner: Span| Span {
                start: span.start + inner.start,
                end: span.start + inner.end,
                line: 0,
            };
            return Some((elements.into_iter().map(shift).collect(), Depth::Wrapped));
        }
        if depth == Depth::Hidden || span.line > 0 {
            return None; // a line holds no other record
        }
        // On one line there is nothing to start again from; and to find the column of each of many
        // records on one line would be quadratic.
        memchr::memchr(b'\n', bytes)?;
        let column = self.bytes[..span.start].iter().rev().take_while(|b| **b != b'\n').count();
        let cuts = restarts(bytes, column);
        if cuts.is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
            return None;
        }
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain(std::iter::once(bytes.len()));
        let trimmed = |(start, end): (usize, usize)| {
            // What separates it from the next element, or closes the array and the object around
            // it, is no part of it.
            let text = bytes[start..end].trim_ascii_end();
            let after = |b: &u8| match b {
                b',' | b']' | b' ' | b'\t' | b'\r' | b'\n' => true,
                b'}' => depth == Depth::Wrapped,
                _ => false,
            };
            let length = end_of_value(text)
                .filter(|length| text[*length..].iter().all(after))
                .unwrap_or(text.len());
            Span { start: span.start + start, end: span.start + start + length, line: 0 }
        };
        Some((starts.zip(ends).map(trimmed).collect(), Depth::Hidden))
    }
}

/// The reader of a format whose records are whole runs, with what every record needs.
pub(super) struct WholeReader<'w, V: Visitor> {
    pub(super) parse: for<'r> fn(&Record<'r>, &ReadOptions) -> Result<Parsed<'r>, Refusal>,
    pub(super) format: &'w Format,
    pub(super) options: &'w ReadOptions,
    pub(super) visitor: &'w V,
}

impl<V: Visitor> WholeReader<'_, V> {
    pub(super) fn batch(
        &self,
        state: &mut V::State,
        block: &Block<'_>,
        spans: &[Span],
    ) -> Vec<Outcome<V::Out>> {
        let mut outcomes = Vec::with_capacity(spans.len());
        for span in spans {
            self.record(state, block, *span, Depth::Outer, &mut outcomes);
        }
        outcomes
    }

    /// Reads one record: strictly, then what it wraps or hides, then repaired.
    fn record(
        &self,
        state: &mut V::State,
        block: &Block<'_>,
        span: Span,
        depth: Depth,
        outcomes: &mut Vec<Outcome<V::Out>>,
    ) {
        let record = block.record(span);
        let refusal = match (self.parse)(&record, self.options) {
            Ok(parsed) => {
                outcomes.push((Ok(self.visit(state, &parsed.runs, parsed.issues)), false));
                return;
            }
            Err(refusal) => refusal,
        };
        let cut = refusal.code == TRUNCATED;
        if let Some((inner, depth)) = block.within(span, depth, self.format)
            && !(cut && inner.is_empty())
        {
            for span in inner {
                self.record(state, block, span, depth, outcomes);
            }
            // Where the last record inside is whole, nothing else tells of the cut.
            if cut && let Some((Ok((_, issues)), _)) = outcomes.last_mut() {
                issues.push(cut_between(block.end_of(span)));
            }
            return;
        }
        if refusal.repairable
            && let Ok(fixed) = repair::repair(record.bytes)
            && let Ok(parsed) = (self.parse)(&Record { bytes: &fixed, ..record }, self.options)
        {
            outcomes.push((Ok(self.visit(state, &parsed.runs, parsed.issues)), true));
            return;
        }
        let message = describe(&refusal, record.bytes);
        outcomes.push((Err(Issue::rejected(refusal.code, record.place, message)), false));
    }

    fn visit(
        &self,
        state: &mut V::State,
        runs: &[Trajectory<'_>],
        issues: Vec<Issue>,
    ) -> (Vec<V::Out>, Vec<Issue>) {
        (runs.iter().map(|run| self.visitor.visit(state, run)).collect(), issues)
    }
}

/// That a list of records has no end, after a record that is whole.
pub(super) fn cut_between(place: Place) -> Issue {
    let message = "the array of records has no end: what followed its last record is lost";
    Issue::warning("truncated_array", place, message)
}

/// The reason of a refusal; for damage, the one that the repairer gives, with its byte.
pub(super) fn describe(refusal: &Refusal, bytes: &[u8]) -> String {
    if !refusal.repairable {
        return refusal.message.clone();
    }
    match repair::repair(bytes) {
        Ok(_) => refusal.message.clone(),
        Err(error) => format!("{} at byte {} of the record", error.reason, error.offset),
    }
}
