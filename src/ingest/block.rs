//! One block of a file: its records, what a refused one wraps or hides, and reading whole runs from it.

use std::path::Path;

use super::formats::{Format, Parsed, Record, Refusal};
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

    /// The records inside a refused one: the elements it wraps, or the sound ones that its damage hides.
    pub(super) fn within(&self, span: Span, format: &Format) -> Option<Vec<Span>> {
        let bytes = &self.bytes[span.start..span.end];
        if let Some(elements) = wrapped_elements(bytes, format.wrappers)
            && format.wrappers.iter().any(|key| !key.is_empty())
        {
            let shift = |inner: Span| Span {
                start: span.start + inner.start,
                end: span.start + inner.end,
                line: 0,
            };
            return Some(elements.into_iter().map(shift).collect());
        }
        if span.line > 0 {
            return None; // a line holds no other record
        }
        let column = self.bytes[..span.start].iter().rev().take_while(|b| **b != b'\n').count();
        let cuts = restarts(bytes, column);
        if cuts.is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
            return None;
        }
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain(std::iter::once(bytes.len()));
        let trimmed = |(start, end): (usize, usize)| {
            // What separates it from the next element, or closes the array, is no part of it.
            let text = bytes[start..end].trim_ascii_end();
            let after = |b: &u8| matches!(b, b',' | b']' | b' ' | b'\t' | b'\r' | b'\n');
            let length = end_of_value(text)
                .filter(|length| text[*length..].iter().all(after))
                .unwrap_or(text.len());
            Span { start: span.start + start, end: span.start + start + length, line: 0 }
        };
        Some(starts.zip(ends).map(trimmed).collect())
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
            self.record(state, block, *span, true, &mut outcomes);
        }
        outcomes
    }

    /// Reads one record: strictly, then what it wraps or hides, then repaired.
    fn record(
        &self,
        state: &mut V::State,
        block: &Block<'_>,
        span: Span,
        fresh: bool,
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
        if fresh && let Some(inner) = block.within(span, self.format) {
            for span in inner {
                self.record(state, block, span, false, outcomes);
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
