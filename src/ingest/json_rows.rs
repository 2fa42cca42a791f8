//! Tables whose rows are JSON objects, one a row: lines, or the elements of an array.
//!
//! Owns the columns of such a table (every key of the records at the start of the file, in order
//! of first use) and the reading of one object as the cells under them, so that a table means the
//! same in every spelling. Refuses records that are no objects, and to guess what a key means that
//! is first used further down: it is told.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::ReadError;
use super::feed::Feed;
use super::formats::{Format, Parsed, Reader, Record, Refusal, Row, RowReader, entries};
use super::joins::Again;
use super::read::{BLOCK, Session, Visitor};
use super::scan::top_keys;
use super::split::{Framing, Splitter};
use crate::model::{Issue, Place};

/// Bytes of a file whose records name the columns.
const NAMING: usize = 1 << 20;

/// The most columns of a table: each row has a cell for every one, be it written or not.
const MOST_COLUMNS: usize = 1_000;

/// A table of JSON objects whose columns are known.
pub(super) struct Objects {
    reader: Box<dyn RowReader>,
    names: Vec<String>,
    at: HashMap<String, usize>,
    /// Line and byte of the first row.
    first: (u64, u64),
}

impl Objects {
    /// The table of a file of this format; `None` for formats that are no tables, and for
    /// delimited text.
    ///
    /// # Errors
    /// Says why the records are no rows.
    pub(super) fn open(
        head: &[u8],
        framing: Framing,
        format: &Format,
    ) -> Result<Option<Self>, String> {
        let Reader::Rows(open) = format.reader else { return Ok(None) };
        if !matches!(head.trim_ascii_start().first(), Some(b'{' | b'[')) {
            return Ok(None);
        }
        let start = head.get(..NAMING).unwrap_or(head);
        let mut spans = Vec::new();
        Splitter::new(framing).split(start, true, &mut spans);
        let (mut names, mut at) = (Vec::new(), HashMap::new());
        for span in &spans {
            for key in top_keys(&start[span.start..span.end]) {
                let key = decoded(key);
                if names.len() < MOST_COLUMNS && !at.contains_key(&key) {
                    at.insert(key.clone(), names.len());
                    names.push(key);
                }
            }
        }
        let reader = open(&names)?;
        let first = spans.first().map_or((0, 0), |span| (span.line, span.start as u64));
        Ok(Some(Self { reader, names, at, first }))
    }

    /// What the columns tell.
    pub(super) fn notices(&self, file: u32) -> Vec<Issue> {
        let place = Place { file, line: self.first.0, byte: self.first.1 };
        let notices = self.reader.notices().into_iter();
        notices
            .map(|(code, severity, message)| Issue { code, severity, place, message, count: 1 })
            .collect()
    }

    /// Reads one record as a row.
    pub(super) fn read<'r>(&self, record: &Record<'r>) -> Result<Parsed<'r>, Refusal> {
        let members = entries(record.bytes)?;
        let mut fields = vec![Cow::Borrowed(""); self.names.len()];
        let mut filled = vec![false; self.names.len()];
        let (mut next, mut late) = (0, false);
        for (key, value) in members {
            // Most records have the keys of the first one, in its order.
            let expected = self.names.get(next).filter(|name| **name == key).map(|_| next);
            let Some(at) = expected.or_else(|| self.at.get(key.as_ref()).copied()) else {
                late = true;
                continue;
            };
            if std::mem::replace(&mut filled[at], true) {
                let message = format!("duplicate key `{key}`");
                return Err(Refusal { code: "invalid_json", message, repairable: true });
            }
            fields[at] = value;
            next = at + 1;
        }
        if fields.iter().all(|field| field.trim().is_empty()) {
            return Err(Refusal::of("empty_row", "the row says nothing"));
        }
        let written = std::str::from_utf8(record.bytes).ok().map(str::trim);
        let mut parsed = self.reader.read(Row { fields, place: record.place, written })?;
        if late {
            let message = "keys that the rows at the start of the file do not have are read by expressions alone";
            parsed.issues.push(Issue::warning("late_column", record.place, message));
        }
        Ok(parsed)
    }
}

/// A key as it is meant; as it is written where its escapes cannot be read.
fn decoded(key: String) -> String {
    if !key.contains('\\') {
        return key;
    }
    serde_json::from_str(&format!("\"{key}\"")).unwrap_or(key)
}

impl<V: Visitor> Session<'_, V> {
    /// Reads a Parquet file: its rows as JSON lines, each on the line that is its number.
    pub(super) fn parquet(
        &mut self,
        mut feed: Feed<'_>,
        path: &Path,
        named: bool,
    ) -> Result<(), ReadError> {
        let most = self.request.max_record;
        while !feed.ended() && feed.bytes().len() <= most {
            feed.fill(BLOCK);
        }
        let rows = match (self.request.options.parquet, feed.damage()) {
            (_, Some(damage)) => Err(damage.to_owned()),
            _ if feed.bytes().len() > most => {
                Err(format!("a Parquet file of more than {most} bytes: split it"))
            }
            (None, _) => Err(
                "a Parquet file, which needs a build with the feature `tables`: export the table as CSV or JSON lines".to_owned(),
            ),
            (Some(read), None) => read(feed.bytes().to_vec()),
        };
        match rows {
            Ok(lines) => {
                let lines = Box::new(std::io::Cursor::new(lines));
                // By its path the file would be had as Parquet again, not as these lines.
                self.stream(lines, path, named, Again::Never)
            }
            Err(reason) if named => Err(ReadError::Unrecognised { path: path.to_owned(), reason }),
            Err(reason) => self.cannot_read(path, reason),
        }
    }
}
