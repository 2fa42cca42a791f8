//! Delimited text (CSV and its kin, RFC 4180): where rows end, and which fields a row has.
//!
//! Owns quotes, in one reading for both questions: a quote opens a field only at its start, two of
//! them inside are one, and a line break inside is text. Refuses to guess what a misplaced quote
//! was meant to be; knows nothing of columns.

use std::borrow::Cow;

use super::split::Span;

/// Where in a row the scanner stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// At the start of a field, where a quote opens one.
    Start,
    /// Inside a field without quotes, or behind a closed one.
    Plain,
    /// Inside quotes.
    Quoted,
    /// Behind a quote inside quotes: it closes the field, or is the first of two.
    Quote,
}

/// Finds rows by their line breaks outside of quotes, in a stream that is read in blocks.
#[derive(Debug)]
pub struct RowScanner {
    delimiter: u8,
    state: At,
    /// First byte not scanned yet; the open row starts at 0 of the buffer.
    scanned: usize,
    /// Line of the next byte, and that of the open row.
    line: u64,
    row_line: u64,
    /// Whether the open row is dropped.
    skipping: bool,
}

impl RowScanner {
    /// A scanner whose first byte stands on `line`.
    #[must_use]
    pub fn new(delimiter: u8, line: u64) -> Self {
        let state = At::Start;
        Self { delimiter, state, scanned: 0, line, row_line: line, skipping: false }
    }

    /// Line of the open row.
    #[must_use]
    pub fn open_line(&self) -> u64 {
        self.row_line
    }

    /// Drops the open row: all of its bytes so far are done with, and it becomes no span.
    pub(super) fn skip(&mut self) {
        self.skipping = true;
        self.scanned = 0;
    }

    /// Appends the rows that are whole in `buffer` (all that is left, if `end`) to `spans`, and
    /// returns how many bytes are done with. The next call's buffer starts there. Rows without a
    /// byte but spaces are none.
    pub fn scan(&mut self, buffer: &[u8], end: bool, spans: &mut Vec<Span>) -> usize {
        let (mut at, mut start) = (self.scanned, 0);
        while at < buffer.len() {
            let rest = &buffer[at..];
            match self.state {
                At::Start if rest[0] == b'"' => {
                    self.state = At::Quoted;
                    at += 1;
                }
                At::Quote if rest[0] == b'"' => {
                    self.state = At::Quoted;
                    at += 1;
                }
                At::Quoted => {
                    let quote = memchr::memchr(b'"', rest);
                    let inside = quote.unwrap_or(rest.len());
                    self.line += memchr::memchr_iter(b'\n', &rest[..inside]).count() as u64;
                    at += inside + usize::from(quote.is_some());
                    if quote.is_some() {
                        self.state = At::Quote;
                    }
                }
                At::Start | At::Plain | At::Quote => {
                    self.state = At::Plain;
                    let Some(found) = memchr::memchr2(self.delimiter, b'\n', rest) else {
                        at = buffer.len();
                        continue;
                    };
                    self.state = At::Start;
                    at += found + 1;
                    if rest[found] == b'\n' {
                        self.close(buffer, start, at - 1, spans);
                        self.line += 1;
                        self.row_line = self.line;
                        start = at;
                    }
                }
            }
        }
        if end {
            self.close(buffer, start, buffer.len(), spans);
            start = buffer.len();
        } else if self.skipping {
            start = buffer.len();
        }
        self.scanned = buffer.len() - start;
        start
    }

    fn close(&mut self, buffer: &[u8], start: usize, stop: usize, spans: &mut Vec<Span>) {
        if std::mem::take(&mut self.skipping) {
            return;
        }
        let text = &buffer[start..stop];
        // Files joined by hand have a byte order mark in the middle.
        let mark = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.get(mark..).is_some_and(|text| text.iter().any(|b| !matches!(b, b' ' | b'\r'))) {
            let end = start + text.len();
            spans.push(Span { start: start + mark, end, line: self.row_line });
        }
    }
}

/// A quote that stands where none may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misquoted {
    /// The quotes that open at this byte of the row are never closed.
    Unclosed(usize),
    /// At this byte of the row there is text behind a closing quote.
    TextBehind(usize),
}

/// The fields of one row, borrowed where they hold no doubled quote.
///
/// # Errors
/// Names the first quote that cannot be read.
pub fn fields(row: &str, delimiter: u8) -> Result<Vec<Cow<'_, str>>, Misquoted> {
    let bytes = row.as_bytes();
    let (mut fields, mut at) = (Vec::new(), 0);
    loop {
        let (field, end) = if bytes.get(at) == Some(&b'"') {
            quoted(row, at, delimiter)?
        } else {
            let rest = &bytes[at..];
            let end = at + memchr::memchr(delimiter, rest).unwrap_or(rest.len());
            (Cow::Borrowed(row.get(at..end).unwrap_or_default()), end)
        };
        fields.push(field);
        if end >= bytes.len() {
            return Ok(fields);
        }
        at = end + 1;
    }
}

/// The field whose quotes open at `open`, and where its delimiter stands.
fn quoted(row: &str, open: usize, delimiter: u8) -> Result<(Cow<'_, str>, usize), Misquoted> {
    let bytes = row.as_bytes();
    let mut doubled: Option<String> = None;
    let mut from = open + 1;
    loop {
        let close = memchr::memchr(b'"', &bytes[from..]);
        let close = from + close.ok_or(Misquoted::Unclosed(open))?;
        let part = row.get(from..close).unwrap_or_default();
        if bytes.get(close + 1) == Some(&b'"') {
            let text = doubled.get_or_insert_default();
            text.push_str(part);
            text.push('"');
            from = close + 2;
            continue;
        }
        let rest = &bytes[close + 1..];
        let length = memchr::memchr(delimiter, rest).unwrap_or(rest.len());
        if let Some(text) = rest[..length].iter().position(|b| *b != b' ') {
            return Err(Misquoted::TextBehind(close + 1 + text));
        }
        let field = match doubled {
            Some(text) => Cow::Owned(text + part),
            None => Cow::Borrowed(part),
        };
        return Ok((field, close + 1 + length));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Misquoted, RowScanner, fields};

    /// The rows of `text` with their lines, fed in blocks of `block` bytes.
    fn rows(text: &[u8], block: usize) -> Vec<(String, u64)> {
        let mut scanner = RowScanner::new(b',', 1);
        let (mut out, mut buffer, mut fed) = (Vec::new(), Vec::new(), 0);
        loop {
            let next = (fed + block).min(text.len());
            buffer.extend_from_slice(&text[fed..next]);
            fed = next;
            let mut spans = Vec::new();
            let done = scanner.scan(&buffer, fed == text.len(), &mut spans);
            let text_of = |s: &super::Span| String::from_utf8_lossy(&buffer[s.start..s.end]).into();
            out.extend(spans.iter().map(|span| (text_of(span), span.line)));
            buffer.drain(..done);
            if fed == text.len() {
                return out;
            }
        }
    }

    #[test]
    fn a_row_ends_at_a_line_break_outside_of_quotes_whatever_the_block() {
        let text = "a,\"b\r\nc\"\"\n\",d\r\n\r\n  \n\u{FEFF}x,y\"z\"\n\"\",\"\"\n,\n\"open\nq";
        let expected = [
            ("a,\"b\r\nc\"\"\n\",d", 1),
            ("x,y\"z\"", 6),
            ("\"\",\"\"", 7),
            (",", 8),
            ("\"open\nq", 9),
        ];
        let expected = expected.map(|(row, line)| (row.to_owned(), line));
        for block in 1..=text.len() {
            assert_eq!(rows(text.as_bytes(), block), expected, "blocks of {block}");
        }
    }

    #[test]
    fn misplaced_quotes_are_told_with_their_byte() {
        assert_eq!(fields("a,\"b", b','), Err(Misquoted::Unclosed(2)));
        assert_eq!(fields("a,\"b\"c,d", b','), Err(Misquoted::TextBehind(5)));
        assert_eq!(fields("a,\"b\" ,", b','), Ok(vec!["a".into(), "b".into(), "".into()]));
        assert_eq!(fields("5\" disk;x", b';'), Ok(vec!["5\" disk".into(), "x".into()]));
    }

    proptest! {
        #[test]
        fn rows_and_fields_are_those_of_the_csv_crate(text in "[ab,\"\n]{0,40}", block in 1_usize..9) {
            let found = rows(text.as_bytes(), block);
            let mut reader = csv::ReaderBuilder::new();
            let mut reader = reader.has_headers(false).flexible(true);
            reader = reader.terminator(csv::Terminator::Any(b'\n'));
            let mut expected = Vec::new();
            for row in reader.from_reader(text.as_bytes()).records() {
                let row: Vec<String> = row.expect("flexible").iter().map(str::to_owned).collect();
                expected.push(row);
            }
            // What we refuse, the crate reads in its own way.
            if found.iter().all(|(row, _)| fields(row, b',').is_ok()) {
                let ours: Vec<Vec<String>> = found
                    .iter()
                    .map(|(row, _)| fields(row, b',').expect("sound").into_iter().map(String::from).collect())
                    .collect();
                prop_assert_eq!(ours, expected);
            }
        }

        #[test]
        fn what_the_csv_crate_writes_is_read_back(table in prop::collection::vec(prop::collection::vec("[a ,\"\r\n任]{0,6}", 2..4), 1..5), block in 1_usize..9) {
            let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
            for row in &table {
                writer.write_record(row).expect("written");
            }
            let text = writer.into_inner().expect("flushed");
            let read: Vec<Vec<String>> = rows(&text, block)
                .iter()
                .map(|(row, _)| fields(row, b',').expect("sound").into_iter().map(String::from).collect())
                .collect();
            prop_assert_eq!(read, table);
        }
    }
}
