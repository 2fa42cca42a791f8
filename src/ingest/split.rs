//! Where one record ends and the next begins, in a stream that is read in blocks.
//!
//! Owns the framings: lines, JSON values in a row or in one array, and (in `delimited.rs`) the rows
//! of a table. It looks at structure alone (brackets outside strings), never parses, and keeps its state between blocks, so that a
//! record may be longer than any block. Refuses nothing: what is no value becomes a record too, and
//! is rejected by whoever reads it.

mod scanner;

use self::scanner::Scanner;
use super::delimited::RowScanner;
use super::scan::{FirstObject, first_object};

/// A record's range in the current buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Line of the first byte, from 1; 0 where records are not lines.
    pub line: u64,
}

/// How the records of a file are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One record a line.
    Lines,
    /// JSON values one after the other, over any number of lines.
    Values,
    /// The elements of one top-level array.
    Elements,
    /// Rows of delimited text, with the byte that parts their fields. It is never told from the
    /// start of a file alone: which header is that of a table, its format knows.
    Rows(u8),
}

impl Framing {
    /// Tells the framing from the start of a file.
    ///
    /// A `{` file is lines if its first line is a whole value, or if every line starts with `{`, as
    /// in NDJSON whose first line is damaged. Lines that a comma or another
    /// value follows, or a closing bracket, are parts of something larger.
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        Self::told(head, first_object(head).as_ref())
    }

    /// The same where the object that the file begins with was passed over before.
    #[must_use]
    pub fn told(head: &[u8], first: Option<&FirstObject>) -> Self {
        if let Some(FirstObject { start, end: Some(end), balanced: true, .. }) = first
            && let Some(after) = memchr::memchr(b'\n', &head[*start..]).map(|at| start + at)
            && after >= *end
            && head[*end..after].trim_ascii().is_empty()
        {
            return Self::Lines;
        }
        let text = head.trim_ascii_start();
        match text.first() {
            Some(b'[') => Self::Elements,
            Some(b'{') => {
                let mut whole = false;
                for (nth, line) in text.split(|&b| b == b'\n').take(50).enumerate() {
                    let line = line.trim_ascii_end();
                    if line.is_empty() {
                        continue;
                    }
                    if line[0] != b'{' {
                        // What is closed or goes on here was opened above: the lines are parts of
                        // one value.
                        let part = matches!(line[0], b']' | b'}' | b',');
                        return if whole && !part { Self::Lines } else { Self::Values };
                    }
                    let rest = end_of_first_value(line).map(|end| line[end..].trim_ascii_start());
                    if rest.is_some_and(|rest| matches!(rest.first(), Some(b',' | b'{'))) {
                        return Self::Values;
                    }
                    // What closes an array here was opened on a line above.
                    if nth > 0 && !whole && rest.is_some_and(|rest| rest.starts_with(b"]")) {
                        return Self::Values;
                    }
                    whole |= rest.is_some_and(<[u8]>::is_empty);
                    if nth == 0 && whole {
                        return Self::Lines;
                    }
                }
                // Every line opens a value: they are lines, also where each of them is damaged.
                Self::Lines
            }
            _ => Self::Lines,
        }
    }
}

/// Where the brackets of a text that starts with one close.
fn end_of_first_value(text: &[u8]) -> Option<usize> {
    let mut scanner = Scanner::new(false);
    let mut spans = Vec::new();
    scanner.scan(text, false, &mut spans);
    spans.first().filter(|span| span.start == 0).map(|span| span.end)
}

/// Cuts a stream of blocks into records.
#[derive(Debug)]
pub struct Splitter {
    framing: Framing,
    line: u64,
    scanner: Scanner,
    rows: RowScanner,
    /// Whether the rest of the current line is dropped.
    skipping: bool,
}

impl Splitter {
    /// A splitter at the start of a stream.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self::on_line(framing, 1)
    }

    /// A splitter in the middle of a stream, at the start of this line.
    #[must_use]
    pub fn on_line(framing: Framing, line: u64) -> Self {
        let scanner = Scanner::new(framing == Framing::Elements);
        let delimiter = if let Framing::Rows(delimiter) = framing { delimiter } else { b',' };
        let rows = RowScanner::new(delimiter, line);
        Self { framing, line, scanner, rows, skipping: false }
    }

    /// Finds the records that are whole in `buffer` (all that is left, if `end`), appends them to
    /// `spans`, and returns how many bytes are done with. The next call's buffer starts there.
    pub fn split(&mut self, buffer: &[u8], end: bool, spans: &mut Vec<Span>) -> usize {
        match self.framing {
            Framing::Lines => self.lines(buffer, end, spans),
            Framing::Rows(_) => self.rows.scan(buffer, end, spans),
            Framing::Values | Framing::Elements => {
                self.scanner.scan(buffer, end, spans);
                self.scanner.forget()
            }
        }
    }

    /// Line of the record that is still open; 0 where records are not lines.
    #[must_use]
    pub fn line(&self) -> u64 {
        match self.framing {
            Framing::Lines => self.line,
            Framing::Rows(_) => self.rows.open_line(),
            Framing::Values | Framing::Elements => 0,
        }
    }

    /// Drops the record that is still open: `kept` bytes of it are done with, and it becomes no span
    /// when its end comes.
    pub fn skip(&mut self, kept: usize) -> usize {
        match self.framing {
            Framing::Lines => {
                self.skipping = true;
                kept
            }
            Framing::Rows(_) => {
                self.rows.skip();
                kept
            }
            Framing::Values | Framing::Elements => {
                self.scanner.skipping = self.scanner.start.is_some();
                self.scanner.forget()
            }
        }
    }

    /// Whether the stream, read to its end, lacks the end of its array after a whole record: then
    /// nothing else tells that it was cut.
    #[must_use]
    pub fn cut_between(&self) -> bool {
        self.framing == Framing::Elements && !self.scanner.ended
    }

    fn lines(&mut self, buffer: &[u8], end: bool, spans: &mut Vec<Span>) -> usize {
        let mut start = 0;
        let mut push = |start: usize, stop: usize, line: u64| {
            if std::mem::take(&mut self.skipping) {
                return;
            }
            let text = buffer[start..stop].trim_ascii_end();
            // Files joined by hand have a byte order mark in the middle.
            let rest = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text).trim_ascii_start();
            let lead = text.len() - rest.len();
            let text = rest;
            if !text.is_empty() {
                spans.push(Span { start: start + lead, end: start + lead + text.len(), line });
            }
        };
        for newline in memchr::memchr_iter(b'\n', buffer) {
            push(start, newline, self.line);
            self.line += 1;
            start = newline + 1;
        }
        if end {
            push(start, buffer.len(), self.line);
            start = buffer.len();
        }
        if self.skipping { buffer.len() } else { start }
    }
}

/// Where a damaged value may hide sound ones: the starts of lines inside it that open an object
/// no further to the right than the value itself. Offsets into `value`; `column` is that of its start.
#[must_use]
pub fn restarts(value: &[u8], column: usize) -> Vec<usize> {
    memchr::memchr_iter(b'\n', value)
        .filter_map(|newline| {
            let line = &value[newline + 1..];
            let indent = line.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
            (indent <= column && line.get(indent) == Some(&b'{')).then_some(newline + 1 + indent)
        })
        .collect()
}

/// The elements of the arrays that stand under `keys` at the top level of an object.
///
/// Works on a damaged or cut-off object as far as it goes. `None` where there is no such array.
#[must_use]
pub fn wrapped_elements(object: &[u8], keys: &[&str]) -> Option<Vec<Span>> {
    let arrays = super::scan::find_arrays(object, keys);
    if arrays.is_empty() {
        return None;
    }
    let mut spans = Vec::new();
    for array in arrays {
        let before = spans.len();
        let end = super::scan::end_of_value(&object[array..]);
        let end = end.map_or(object.len(), |length| array + length);
        Scanner::new(true).scan(&object[array..end], true, &mut spans);
        for span in &mut spans[before..] {
            span.start += array;
            span.end += array;
        }
    }
    Some(spans)
}

#[cfg(test)]
mod tests {
    use super::{Framing, Splitter, wrapped_elements};

    /// All records of `text`, fed in blocks of `block` bytes.
    fn records(text: &str, block: usize) -> Vec<String> {
        let mut splitter = Splitter::new(Framing::of(text.as_bytes()));
        let (mut out, mut buffer, mut fed) = (Vec::new(), Vec::new(), 0);
        loop {
            let next = (fed + block).min(text.len());
            buffer.extend_from_slice(&text.as_bytes()[fed..next]);
            fed = next;
            let mut spans = Vec::new();
            let done = splitter.split(&buffer, fed == text.len(), &mut spans);
            out.extend(
                spans.iter().map(|s| String::from_utf8_lossy(&buffer[s.start..s.end]).into_owned()),
            );
            buffer.drain(..done);
            if fed == text.len() {
                return out;
            }
        }
    }

    #[test]
    fn every_block_size_gives_the_same_records() {
        for (text, expected) in [
            ("{\"a\":1}\r\n\n{\"b\":\"}\"}\n{\"c\"", vec!["{\"a\":1}", "{\"b\":\"}\"}", "{\"c\""]),
            (
                "[{\"a\":\"]\\\"\"},\n {\"b\":[{}]} , 7, \"x,y\"]\n",
                vec!["{\"a\":\"]\\\"\"}", "{\"b\":[{}]}", "7", "\"x,y\""],
            ),
            (
                "{\n \"a\": 1\n}\n{\n \"b\": [\n{}]\n}{}",
                vec!["{\n \"a\": 1\n}", "{\n \"b\": [\n{}]\n}", "{}"],
            ),
            ("[]", vec![]),
            ("[{\"a\":1},{\"b\"", vec!["{\"a\":1}", "{\"b\""]),
        ] {
            for block in 1..=text.len() {
                assert_eq!(records(text, block), expected, "{text:?} in blocks of {block}");
            }
        }
    }

    #[test]
    fn what_is_scanned_64_bytes_at_a_time_is_split_as_byte_by_byte() {
        let parts = [
            "\"",
            "\\",
            "\\\\",
            "\\\"",
            "{",
            "}",
            "[",
            "]",
            ",",
            ": ",
            "a",
            "\n",
            "{\"k\":[",
            "\",\"",
            "},\n{",
            "some words that fill a good part of a block, some more of them",
        ];
        let mut random = 1_u64;
        for _ in 0..2_000 {
            let mut text = "[".to_owned();
            while text.len() < 400 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                text += parts[usize::try_from(random >> 60).unwrap_or_default()];
            }
            for from in ["", "{\"a\":\"", "{\"a\":["] {
                let text = format!("[{from}{}", &text[1..]);
                // No block of 64 bytes is whole where they come one by one.
                assert_eq!(records(&text, text.len()), records(&text, 1), "{text}");
            }
        }
    }

    #[test]
    fn an_array_without_its_end_is_noticed_where_no_record_tells_of_it() {
        for (text, cut) in [
            ("[{},\n{},\n", true),
            ("[{}", true),
            ("[", true),
            ("[{},{}]\n", false),
            ("[]", false),
            ("[{},{\"a\":", false), // the cut record tells
            ("{}\n{}\n", false),
        ] {
            let mut splitter = Splitter::new(Framing::of(text.as_bytes()));
            splitter.split(text.as_bytes(), true, &mut Vec::new());
            assert_eq!(splitter.cut_between(), cut, "{text:?}");
        }
    }

    #[test]
    fn a_damaged_first_line_does_not_hide_that_a_file_is_lines() {
        assert_eq!(Framing::of(b"{\"steps\":[{\"ty\n{\"steps\":[]}\n"), Framing::Lines);
        assert_eq!(Framing::of(b"{\"steps\":[{\"ty\n{\"steps\":[\n"), Framing::Lines);
        assert_eq!(Framing::of(b"{\n\"steps\":[]\n}\n"), Framing::Values);
        assert_eq!(Framing::of(b"{\"runs\":[\n{\"a\":1},\n{\"b\":1}\n]}\n"), Framing::Values);
        assert_eq!(Framing::of(b"{\"runs\":[\n{\"a\":1}\n]\n}\n"), Framing::Values);
        assert_eq!(Framing::of(b"{\"runs\":[{\"a\":1},\n{\"b\":1}]}\n"), Framing::Values);
        assert_eq!(Framing::of(b"  {\"steps\":["), Framing::Lines);
        // Its brackets do not close: what follows is not cut line by line.
        let damaged = "{\"steps\":[{\"type\":1}]\n{\n \"steps\":[]\n}\n";
        assert_eq!(Framing::of(damaged.as_bytes()), Framing::Values);
        let damaged = damaged.replace("1}]\n", "1}]]}\n");
        assert_eq!(Framing::of(damaged.as_bytes()), Framing::Values);
    }

    #[test]
    fn a_wrapped_array_is_found_and_cut() {
        let doc = br#"{"note":{"runs":[9]},"runs" : [ {"steps":[]}, {"st"#;
        let spans = wrapped_elements(doc, &["traces", "runs"]).unwrap_or_default();
        let texts: Vec<_> = spans.iter().map(|s| &doc[s.start..s.end]).collect();
        assert_eq!(texts, [&br#"{"steps":[]}"#[..], &br#"{"st"#[..]]);
        assert!(wrapped_elements(br#"{"runs":{}}"#, &["runs"]).is_none());
    }
}
