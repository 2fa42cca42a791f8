//! LangSmith's runs: rows as the API and the SDKs dump them, and the batches that SDKs send.
//!
//! Owns the join of all rows of one run (a create, its updates, a later dump) and the parents that
//! `dotted_order` tells where a row between is missing. What one row says is read in `row`; how
//! rows become a run is decided in `assemble::spans`. Refuses Parquet.

mod facts;
mod row;

use std::collections::HashMap;

use serde_json::value::RawValue;

use self::row::{Rank, Row};
use super::raw::{raw_fields, read};
use super::span_record::text;
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::ingest::assemble::spans::Spans;
use crate::ingest::quick;
use crate::model::Severity;

/// Runs of LangSmith.
pub const LANGSMITH: Format = Format {
    name: "langsmith",
    about: "LangSmith runs or ingest batches",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| {
        Box::new(LangSmith { raw: options.raw_attempts, ..LangSmith::default() })
    }),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    let holds = |part: &[u8]| {
        probe.records.iter().any(|record| memchr::memmem::find(record, part).is_some())
    };
    probe.any_has(&["run_type", "trace_id"])
        || probe.any_has(&["run_type", "dotted_order"])
        || probe.any_has(&["run_type", "parent_run_id"])
        || ((probe.any_has(&["post"]) || probe.any_has(&["patch"]) || probe.any_has(&["runs"]))
            && holds(b"\"run_type\"")
            && holds(b"\"trace_id\""))
}

raw_fields! {
    /// A batch, or an answer of the API; a row has none of these.
    Batch { post, patch, runs, run_type, id, trace_id }
}

/// Nested runs beyond this depth are rejected: real ones end long before.
const DEEPEST: usize = 64;

#[derive(Default)]
struct LangSmith {
    runs: Vec<Vec<Row>>,
    by_id: HashMap<String, usize>,
    rows: usize,
    spans: Spans,
    raw: bool,
}

impl Assembler for LangSmith {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        let mut rows = Vec::new();
        let mut refused = Vec::new();
        if let Err(refusal) = self.read(record, &mut rows, &mut refused) {
            return Fate::Refused(refusal);
        }
        for rule in &refused {
            self.spans.tally.count("spans_rejected", Severity::Rejected, record.place, rule);
        }
        if rows.is_empty() {
            return match refused.first() {
                Some(rule) => Fate::Refused(Refusal::of("no_readable_run", *rule)),
                None => Fate::Ignored("no_runs"),
            };
        }
        let mut new = false;
        for row in rows {
            new |= self.take(row);
        }
        if new { Fate::Used } else { Fate::Merged("later_record_of_a_run") }
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        let merged = "a later record of one run: an update, or a copy";
        let mut joined: Vec<Row> = Vec::with_capacity(self.runs.len());
        for mut rows in std::mem::take(&mut self.runs) {
            rows.sort_by_key(Row::age);
            let mut rows = rows.into_iter();
            let Some(mut first) = rows.next() else { continue };
            for later in rows {
                self.spans.tally.count("spans_merged", Severity::Note, later.place, merged);
                first.update(later);
            }
            joined.push(first);
        }
        let parents: Vec<Option<String>> =
            joined.iter().map(|row| row.nearest_parent(|id| self.by_id.contains_key(id))).collect();
        let traces = traces(&joined, &parents, &self.by_id);
        for ((row, parent), trace) in joined.into_iter().zip(parents).zip(traces) {
            self.spans.push(&trace, row.into_span(parent));
        }
        self.spans.finish()
    }
}

impl LangSmith {
    fn read(
        &self,
        record: &Record<'_>,
        rows: &mut Vec<Row>,
        refused: &mut Vec<&'static str>,
    ) -> Result<(), Refusal> {
        let json = text(record)?;
        let mut open: Vec<(&RawValue, Rank, usize)> = Vec::new();
        if json.trim_start().starts_with('[') {
            let list: Vec<&RawValue> = quick::from_str(json)?;
            open.extend(list.into_iter().map(|row| (row, Rank::Whole, 0)));
        } else {
            let batch: Batch<'_> = quick::from_str(json)?;
            let is_row = batch.run_type.is_some() || batch.id.is_some() || batch.trace_id.is_some();
            if is_row {
                open.push((quick::from_str(json)?, Rank::Whole, 0));
            }
            for (list, rank) in
                [(batch.post, Rank::Post), (batch.patch, Rank::Patch), (batch.runs, Rank::Whole)]
            {
                let Some(list) = list.filter(|_| !is_row) else { continue };
                for row in read::<Vec<&RawValue>>(list).unwrap_or_default() {
                    open.push((row, rank, 0));
                }
            }
        }
        open.reverse();
        while let Some((json, rank, depth)) = open.pop() {
            match row::read_row(json, rank, record.place, self.raw) {
                Ok((row, children)) => {
                    rows.push(row);
                    if depth < DEEPEST {
                        open.extend(children.into_iter().rev().map(|row| (row, rank, depth + 1)));
                    } else if !children.is_empty() {
                        refused.push("child_runs_too_deep: more than 64 levels of `child_runs`");
                    }
                }
                Err(rule) => refused.push(rule),
            }
        }
        Ok(())
    }

    /// Takes a row; false if its run was there already.
    fn take(&mut self, mut row: Row) -> bool {
        row.sequence = self.rows;
        self.rows += 1;
        if let Some(&at) = self.by_id.get(&row.id) {
            self.runs[at].push(row);
            return false;
        }
        self.by_id.insert(row.id.clone(), self.runs.len());
        self.runs.push(vec![row]);
        true
    }
}

/// The trace of each run: its own word, else that of the run above it, else the id of the topmost
/// one. Each run is walked once; a loop of parents ends at the least of its ids.
fn traces(rows: &[Row], parents: &[Option<String>], by_id: &HashMap<String, usize>) -> Vec<String> {
    let mut known: Vec<Option<String>> = rows.iter().map(Row::trace).collect();
    let mut on_walk = vec![false; rows.len()];
    for from in 0..rows.len() {
        let mut walk = Vec::new();
        let mut at = from;
        let trace = loop {
            if let Some(trace) = &known[at] {
                break trace.clone();
            }
            if on_walk[at] {
                let on_loop = walk.iter().skip_while(|&&below: &&usize| below != at);
                let least = on_loop.map(|&at| rows[at].id.as_str()).min();
                break least.unwrap_or_default().to_owned();
            }
            on_walk[at] = true;
            walk.push(at);
            match parents[at].as_ref().and_then(|id| by_id.get(id)) {
                Some(&above) => at = above,
                None => break rows[at].id.clone(),
            }
        };
        for at in walk {
            known[at] = Some(trace.clone());
            on_walk[at] = false;
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}
