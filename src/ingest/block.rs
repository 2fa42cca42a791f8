//! One block of a file: its records, what a refused one wraps or hides, and reading whole runs from it.

use std::path::Path;

use super::formats::{Format, Parsed, Record, Refusal};
use super::joins::Joins;
use super::read::Visitor;
use super::repair;
use super::scan::end_of_value;
use super::split::{Span, restarts, wrapped_elements};
use crate::config::ReadOptions;
use crate::ingest::quick;
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
    /// The most bytes of one record.
    pub(super) most: usize,
    /// Whether a record may wrap others: not where it is an element of an array itself, since what
    /// stands in a damaged element must not come back as runs.
    pub(super) wraps: bool,
}

/// What is broken around the records inside a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    /// It ends too early.
    Cut,
    /// It goes wrong at this byte of the block.
    At { byte: usize, reason: &'static str },
}

/// The records inside a refused one.
pub(super) struct Inside {
    pub(super) spans: Vec<Span>,
    pub(super) depth: Depth,
    /// What is broken around them, where no record tells of it.
    pub(super) damage: Option<Damage>,
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

    /// The place of a byte of the block.
    pub(super) fn at(&self, byte: usize) -> Place {
        Place { file: self.file, line: 0, byte: self.base + byte as u64 }
    }

    /// The rejection of a record that is too large.
    pub(super) fn too_large(&self, span: Span) -> Option<Issue> {
        (span.end - span.start > self.most).then(|| too_large(self.most, self.record(span).place))
    }

    /// What is broken in a record that was refused; `None` if it is sound, or can be repaired.
    fn damage(&self, span: Span, refusal: &Refusal) -> Option<Damage> {
        let bytes = &self.bytes[span.start..span.end];
        // A refusal that is not of form was given after the whole record was read.
        if !refusal.repairable || quick::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
            return None;
        }
        repair::repair(bytes).err().map(|error| match error.truncated {
            true => Damage::Cut,
            false => Damage::At { byte: span.start + error.offset, reason: error.reason },
        })
    }

    /// The records inside a refused one: the elements it wraps, or the sound ones that its damage
    /// hides. What is wrapped may be damaged too, and what damage hid is not looked into again.
    pub(super) fn within(
        &self,
        span: Span,
        depth: Depth,
        format: &Format,
        refusal: &Refusal,
    ) -> Option<Inside> {
        let bytes = &self.bytes[span.start..span.end];
        if depth == Depth::Outer
            && self.wraps
            && let Some(elements) = wrapped_elements(bytes, format.wrappers)
        {
            let damage = self.damage(span, refusal);
            if elements.is_empty() && damage.is_some() {
                return None; // the record itself tells of it
            }
            let shift = |inner: Span| Span {
                start: span.start + inner.start,
                end: span.start + inner.end,
                line: 0,
            };
            let spans = elements.into_iter().map(shift).collect();
            return Some(Inside { spans, depth: Depth::Wrapped, damage });
        }
        if depth == Depth::Hidden || span.line > 0 {
            return None; // a line holds no other record
        }
        // On one line there is nothing to start again from; and to find the column of each of many
        // records on one line would be quadratic.
        memchr::memchr(b'\n', bytes)?;
        let column = self.bytes[..span.start].iter().rev().take_while(|b| **b != b'\n').count();
        let cuts = restarts(bytes, column);
        if cuts.is_empty() {
            return None;
        }
        let damage = Some(self.damage(span, refusal)?);
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
        let spans = starts.zip(ends).map(trimmed).collect();
        Some(Inside { spans, depth: Depth::Hidden, damage })
    }
}

/// Makes whole runs of one record.
pub(super) type Parse<'p> =
    dyn for<'r> Fn(&Record<'r>, &ReadOptions) -> Result<Parsed<'r>, Refusal> + Sync + 'p;

/// The reader of a format whose records are whole runs, with what every record needs.
pub(super) struct WholeReader<'w, V: Visitor> {
    pub(super) parse: &'w Parse<'w>,
    pub(super) format: &'w Format,
    pub(super) options: &'w ReadOptions,
    pub(super) visitor: &'w V,
    /// What files beside them say of the runs.
    pub(super) joins: &'w Joins,
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
            match block.too_large(*span) {
                Some(issue) => outcomes.push((Err(issue), false)),
                None => self.record(state, block, *span, Depth::Outer, &mut outcomes),
            }
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
                outcomes.push((Ok(self.visit(state, block.path, parsed)), false));
                return;
            }
            Err(refusal) => refusal,
        };
        if let Some(inside) = block.within(span, depth, self.format, &refusal) {
            let first = outcomes.len();
            for span in inside.spans {
                self.record(state, block, span, inside.depth, outcomes);
            }
            match inside.damage {
                // Where the last record inside is whole, nothing else tells of the cut.
                Some(Damage::Cut) => {
                    if let Some((Ok((_, issues)), _)) = outcomes.last_mut() {
                        issues.push(cut_between(block.end_of(span)));
                    }
                }
                Some(Damage::At { byte, reason })
                    if outcomes[first..].iter().all(|(outcome, _)| outcome.is_ok()) =>
                {
                    outcomes.push((Err(outside(block.at(byte), reason)), false));
                }
                _ => {}
            }
            return;
        }
        if refusal.repairable
            && let Ok(fixed) = repair::repair(record.bytes)
            && let Ok(mut parsed) = (self.parse)(&Record { bytes: &fixed, ..record }, self.options)
        {
            // Places in the rewritten text are none in the file.
            for attempt in parsed.runs.iter_mut().flat_map(|run| &mut run.attempts) {
                attempt.bytes = None;
            }
            outcomes.push((Ok(self.visit(state, block.path, parsed)), true));
            return;
        }
        let message = describe(&refusal, record.bytes);
        outcomes.push((Err(Issue::rejected(refusal.code, record.place, message)), false));
    }

    fn visit(
        &self,
        state: &mut V::State,
        path: &Path,
        mut parsed: Parsed<'_>,
    ) -> (Vec<V::Out>, Vec<Issue>) {
        let visit = |run: &mut Trajectory<'_>| {
            self.joins.complete(self.format.name, path, run);
            self.visitor.visit(state, run)
        };
        (parsed.runs.iter_mut().map(visit).collect(), parsed.issues)
    }
}

/// That a list of records has no end, after a record that is whole.
pub(super) fn cut_between(place: Place) -> Issue {
    let message = "the array of records has no end: what followed its last record is lost";
    Issue::warning("truncated_array", place, message)
}

/// That something around or between the records inside a record is broken, and none of them tells of it.
pub(super) fn outside(place: Place, reason: &str) -> Issue {
    let message = format!("{reason}: what stands here, outside of the list of records, is lost");
    Issue::rejected("invalid_json", place, message)
}

/// That a record is longer than what is held in memory.
pub(super) fn too_large(most: usize, place: Place) -> Issue {
    let message = format!("the record has more than {most} bytes");
    Issue::rejected("record_too_large", place, message)
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
