//! Tables: the header that all rows share, and reading rows under it.
//!
//! Owns finding the header and its delimiter, the width of rows, what a misplaced quote swallowed,
//! the rows that say nothing, and the form in which rows that are parts of runs are handed to the
//! assembler of their format. Refuses to know what columns mean, which their format does.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use super::ReadError;
use super::block::{Block, Outcome, batches};
use super::delimited::{Misquoted, RowScanner, fields};
use super::formats::{
    self, Assembler, Format, Parsed, Probe, Reader, Record, Refusal, Row, RowReader,
};
use super::parallel::in_parallel;
use super::read::{Session, Visitor, with_state};
use super::split::{Framing, Span};
use crate::config::ReadOptions;
use crate::model::{Issue, Place, Severity};

/// Bytes in which a header must end.
const LONGEST_HEADER: usize = 256 << 10;

/// What may part the columns; the first under which the header is known is taken.
const DELIMITERS: [u8; 4] = *b",\t;|";

/// The header row of a table, under one delimiter.
struct Header {
    delimiter: u8,
    /// Names of the columns, trimmed.
    names: Vec<String>,
    /// The row as written.
    row: Vec<u8>,
    /// Its line.
    header_line: u64,
    /// Bytes of the file up to the first row below, and that row's line.
    length: usize,
    line: u64,
}

/// The first row of a file under each delimiter; none where it begins like JSON.
fn headers(head: &[u8]) -> impl Iterator<Item = Header> + '_ {
    let json = matches!(head.trim_ascii_start().first(), None | Some(b'{' | b'['));
    let sought = &head[..head.len().min(LONGEST_HEADER)];
    let (said, before) = said_delimiter(sought);
    DELIMITERS
        .into_iter()
        .chain(said)
        .filter(move |delimiter| !json && said.is_none_or(|said| said == *delimiter))
        .filter_map(move |delimiter| header(sought, before, delimiter))
}

/// The line `sep=;` with which spreadsheets say their delimiter, and its length.
fn said_delimiter(head: &[u8]) -> (Option<u8>, usize) {
    let end = memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1);
    match head[..end].trim_ascii_end().strip_prefix(b"sep=") {
        Some([delimiter]) if *delimiter != b'"' && delimiter.is_ascii() => (Some(*delimiter), end),
        _ => (None, 0),
    }
}

/// The first row that is not blank, without looking further than it goes.
fn header(head: &[u8], before: usize, delimiter: u8) -> Option<Header> {
    let ended = head.len() < LONGEST_HEADER;
    let (mut from, mut line) = (before, 1 + u64::from(before > 0));
    loop {
        let rest = head.get(from..).filter(|rest| !rest.is_empty())?;
        let mut scanner = RowScanner::new(delimiter, line);
        let mut spans = Vec::new();
        // One line more at a time, until the quotes of the row are closed.
        let mut lines = memchr::memchr_iter(b'\n', rest).map(|end| end + 1);
        let length = lines
            .find_map(|end| Some(scanner.scan(&rest[..end], false, &mut spans)).filter(|n| *n > 0))
            .or_else(|| ended.then(|| scanner.scan(rest, true, &mut spans)))?;
        from += length;
        line = scanner.open_line();
        let Some(span) = spans.first() else { continue };
        let row = rest[span.start..span.end].to_vec();
        let text = String::from_utf8_lossy(&row);
        let names = fields(&text, delimiter).ok()?;
        let mut names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        // A comma at the end of the header is no column.
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        let (length, header_line) = (from, span.line);
        return Some(Header { delimiter, names, row, header_line, length, line });
    }
}

/// Whether a format of tables claims a file by its header.
pub(super) fn claims(format: &Format, path: &Path, head: &[u8]) -> bool {
    matches!(format.reader, Reader::Rows(_) | Reader::PartsOrRows(_))
        && headers(head).any(|header| known(format, path, &header))
}

/// Whether a file looks like delimited text: its first row has several fields.
pub(super) fn has_header(head: &[u8]) -> bool {
    headers(head).any(|header| header.names.len() > 2)
}

fn known(format: &Format, path: &Path, header: &Header) -> bool {
    (format.detect)(&Probe::of_header(path, &header.row, header.names.clone()))
}

/// Who takes the rows of a table.
enum Taker {
    /// Each row is a run.
    Runs(Box<dyn RowReader>),
    /// Each row is a part of a run.
    Parts(PartRows),
}

/// How rows that are parts of runs become records.
struct PartRows {
    new: fn(&ReadOptions) -> Box<dyn Assembler>,
    /// The columns that are handed over, each with its name as a JSON string and a colon.
    keys: Vec<(usize, String)>,
    /// The names that several columns have.
    twice: BTreeSet<String>,
}

impl PartRows {
    fn new(names: &[String], new: fn(&ReadOptions) -> Box<dyn Assembler>) -> Self {
        let (mut keys, mut twice, mut seen) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        // Of equal names the last counts, as with keys of JSON objects.
        for (at, name) in names.iter().enumerate().rev() {
            let name = if name.is_empty() { format!("column_{}", at + 1) } else { name.clone() };
            if seen.insert(name.clone()) {
                keys.push((at, format!("{}:", serde_json::Value::from(name))));
            } else {
                twice.insert(name);
            }
        }
        keys.reverse();
        Self { new, keys, twice }
    }

    fn notices(&self) -> Vec<(&'static str, Severity, String)> {
        let message = |first: &String| {
            let others = match self.twice.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} other names)"),
            };
            format!("`{first}` is the name of several columns{others}: the last counts")
        };
        let first = self.twice.first().map(message);
        first.map(|text| ("duplicate_column", Severity::Warning, text)).into_iter().collect()
    }

    /// The row as a JSON object of texts.
    fn object(&self, fields: &[Cow<'_, str>]) -> String {
        let mut json = String::with_capacity(256);
        for (at, key) in &self.keys {
            json.push(if json.is_empty() { '{' } else { ',' });
            json.push_str(key);
            match fields.get(*at).map_or("", |cell| cell.as_ref()) {
                "" | "\\N" => json.push_str("null"),
                cell => json.push_str(&serde_json::Value::from(cell).to_string()),
            }
        }
        json.push('}');
        json
    }
}

/// A table whose header was read.
pub(super) struct Table {
    header: Header,
    taker: Taker,
    /// Bytes of the file before the first row.
    pub(super) length: usize,
    /// The line of the first row.
    pub(super) line: u64,
}

/// What became of a row.
enum Fate<O> {
    /// It gave a run, or a reason why not.
    Read(Outcome<O>),
    /// It says nothing; the name of the rule.
    Ignored(&'static str),
}

impl Table {
    /// The table of a file of this format; `None` for other formats, and for a file without a row.
    ///
    /// # Errors
    /// Says why the file has no usable header.
    pub(super) fn open(path: &Path, head: &[u8], format: &Format) -> Result<Option<Self>, String> {
        if !matches!(format.reader, Reader::Rows(_) | Reader::PartsOrRows(_)) {
            return Ok(None);
        }
        if matches!(head.trim_ascii_start().first(), None | Some(b'{' | b'[')) {
            return Ok(None);
        }
        let claimed = headers(head).find(|header| known(format, path, header));
        // Under `--format` also a header that detection would leave alone.
        let widest =
            || headers(head).reduce(|a, b| if b.names.len() > a.names.len() { b } else { a });
        let header = claimed.or_else(widest);
        let (header, taker) = match (format.reader, header) {
            (Reader::Rows(open), Some(header)) => {
                let reader = open(&header.names)?;
                (header, Taker::Runs(reader))
            }
            (Reader::PartsOrRows(new), Some(header)) if header.names.len() > 1 => {
                let rows = PartRows::new(&header.names, new);
                (header, Taker::Parts(rows))
            }
            // What is no table is read as records.
            (Reader::PartsOrRows(_), _) => return Ok(None),
            _ => return Err("the file does not begin with a header row".to_owned()),
        };
        let (length, line) = (header.length, header.line);
        Ok(Some(Self { header, taker, length, line }))
    }

    pub(super) fn framing(&self) -> Framing {
        Framing::Rows(self.header.delimiter)
    }

    /// What the header tells.
    pub(super) fn notices(&self, file: u32) -> Vec<Issue> {
        let place = Place { file, line: self.header.header_line, byte: 0 };
        let notices = match &self.taker {
            Taker::Runs(reader) => reader.notices(),
            Taker::Parts(rows) => rows.notices(),
        };
        notices
            .into_iter()
            .map(|(code, severity, message)| Issue { code, severity, place, message, count: 1 })
            .collect()
    }

    /// Reads one row into a run; `Ok(Err(rule))` for one that is ignored.
    fn read<'r>(
        &self,
        reader: &dyn RowReader,
        text: &'r str,
        place: Place,
    ) -> Result<Result<Parsed<'r>, &'static str>, Refusal> {
        match self.fields(text)? {
            Ok(fields) => reader.read(Row { fields, place, written: None }).map(Ok),
            Err(rule) => Ok(Err(rule)),
        }
    }

    /// The fields of one row, as many as there are columns; `Ok(Err(rule))` for one that is ignored.
    fn fields<'r>(
        &self,
        text: &'r str,
    ) -> Result<Result<Vec<Cow<'r, str>>, &'static str>, Refusal> {
        if text.as_bytes() == self.header.row {
            return Ok(Err("repeated_header"));
        }
        let mut fields = fields(text, self.header.delimiter).map_err(misquoted)?;
        if fields.iter().all(|field| field.trim().is_empty()) {
            return Ok(Err("empty_row"));
        }
        let (columns, found) = (self.header.names.len(), fields.len());
        if found < columns {
            let message = format!(
                "the row has {found} fields where the header has {columns}: one is missing, or the row is cut off"
            );
            return Err(Refusal::of("short_row", message));
        }
        // Commas at the end are harmless; a value beyond the columns says that all may be shifted.
        if fields.drain(columns..).any(|beyond| !beyond.trim().is_empty()) {
            let message = format!(
                "the row has {found} fields where the header has {columns}: a value with a delimiter inside must stand in quotes"
            );
            return Err(Refusal::of("long_row", message));
        }
        Ok(Ok(fields))
    }

    /// Reads one row and books what it gave. What a quote without an end swallowed is looked
    /// through once: where a sound row is among it, each of its lines counts for itself.
    fn row<V: Visitor>(
        &self,
        visitor: &V,
        state: &mut V::State,
        block: &Block<'_>,
        span: Span,
        inside: bool,
        fates: &mut Vec<Fate<V::Out>>,
    ) {
        let Taker::Runs(reader) = &self.taker else { return };
        if let Some(issue) = block.too_large(span) {
            fates.push(Fate::Read((Err(issue), false)));
            return;
        }
        let record = block.record(span);
        let text = String::from_utf8_lossy(record.bytes);
        let repaired = matches!(text, Cow::Owned(_));
        match self.read(reader.as_ref(), &text, record.place) {
            Ok(Ok(parsed)) => {
                let outs = parsed.runs.iter().map(|run| visitor.visit(state, run)).collect();
                fates.push(Fate::Read((Ok((outs, parsed.issues)), repaired)));
            }
            Ok(Err(rule)) => fates.push(Fate::Ignored(rule)),
            Err(refusal) => {
                let issue = Issue::rejected(refusal.code, record.place, refusal.message);
                fates.push(Fate::Read((Err(issue), false)));
                if !inside && refusal.code == MISQUOTED {
                    for span in self.swallowed(block, span) {
                        self.row(visitor, state, block, span, true, fates);
                    }
                }
            }
        }
    }

    /// The rows behind the first line of a misquoted one; none where none of them is sound.
    fn swallowed(&self, block: &Block<'_>, span: Span) -> Vec<Span> {
        let bytes = block.record(span).bytes;
        let Some(newline) = memchr::memchr(b'\n', bytes) else { return Vec::new() };
        let mut spans = Vec::new();
        RowScanner::new(self.header.delimiter, span.line + 1).scan(
            &bytes[newline + 1..],
            true,
            &mut spans,
        );
        let base = span.start + newline + 1;
        for span in &mut spans {
            (span.start, span.end) = (span.start + base, span.end + base);
        }
        let sound = |span: &Span| {
            let record = block.record(*span);
            let text = String::from_utf8_lossy(record.bytes);
            match &self.taker {
                Taker::Runs(reader) => {
                    matches!(self.read(reader.as_ref(), &text, record.place), Ok(Ok(_)))
                }
                Taker::Parts(_) => matches!(self.fields(&text), Ok(Ok(_))),
            }
        };
        if spans.iter().any(sound) { spans } else { Vec::new() }
    }
}

/// The code of a row whose quotes cannot be read.
const MISQUOTED: &str = "misplaced_quote";

fn misquoted(fault: Misquoted) -> Refusal {
    let message = match fault {
        Misquoted::Unclosed(byte) => {
            format!("the quotes that open at byte {byte} of the row are never closed")
        }
        Misquoted::TextBehind(byte) => format!(
            "text behind a closing quote at byte {byte} of the row: quotes inside of quotes are doubled"
        ),
    };
    Refusal::of(MISQUOTED, message)
}

impl<V: Visitor> Session<'_, V> {
    /// Reads the rows of one block.
    pub(super) fn table(
        &mut self,
        block: &Block<'_>,
        spans: &[Span],
        table: &Table,
        format: &Format,
    ) -> Result<(), ReadError> {
        match &table.taker {
            Taker::Runs(_) => self.rows(block, spans, table),
            Taker::Parts(rows) => {
                for span in spans {
                    self.part_row(block, *span, table, rows, format, false)?;
                }
                Ok(())
            }
        }
    }

    /// Hands one row to the assembler of its format, as a record. What a quote without an end
    /// swallowed is looked through once, as in [`Table::row`].
    fn part_row(
        &mut self,
        block: &Block<'_>,
        span: Span,
        table: &Table,
        rows: &PartRows,
        format: &Format,
        inside: bool,
    ) -> Result<(), ReadError> {
        let record = block.record(span);
        if let Some(issue) = block.too_large(span) {
            self.tally.files[block.file as usize].records += 1;
            return self.reject(issue);
        }
        let text = String::from_utf8_lossy(record.bytes);
        let fate = match table.fields(&text) {
            Ok(Ok(fields)) => {
                let object = rows.object(&fields);
                let bytes = object.as_bytes();
                // Only its start is where the file has it: the object is longer than the row.
                self.assembler(format, rows.new).push_repaired(&Record { bytes, ..record })
            }
            Ok(Err(rule)) => formats::Fate::Ignored(rule),
            Err(refusal) => formats::Fate::Refused(refusal),
        };
        let fate = match fate {
            // The row is no JSON, for whose damage a byte could be told.
            formats::Fate::Refused(refusal) => {
                formats::Fate::Refused(Refusal { repairable: false, ..refusal })
            }
            fate => fate,
        };
        let misquoted =
            matches!(&fate, formats::Fate::Refused(refusal) if refusal.code == MISQUOTED);
        self.book(&record, fate, matches!(text, Cow::Owned(_)))?;
        if misquoted && !inside {
            for span in table.swallowed(block, span) {
                self.part_row(block, span, table, rows, format, true)?;
            }
        }
        Ok(())
    }

    /// Reads the rows of one block, each a run.
    fn rows(&mut self, block: &Block<'_>, spans: &[Span], table: &Table) -> Result<(), ReadError> {
        let batches = batches(spans);
        let (visitor, states) = (self.visitor, &self.states);
        let work = |at: usize| {
            with_state(states, visitor, |state| {
                let mut fates = Vec::with_capacity(batches[at].len());
                for span in batches[at] {
                    table.row(visitor, state, block, *span, false, &mut fates);
                }
                fates
            })
        };
        let done = in_parallel(self.request.threads, batches.len(), &work, None);
        for fate in done.into_iter().flatten() {
            match fate {
                Fate::Read(outcome) => self.take_in(block.file, [outcome])?,
                Fate::Ignored(rule) => {
                    let tally = &mut self.tally.files[block.file as usize];
                    tally.records += 1;
                    *tally.ignored.entry(rule).or_default() += 1;
                }
            }
        }
        Ok(())
    }
}
