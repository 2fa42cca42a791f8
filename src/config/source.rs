//! The config file as text with places: where each key and value stands, and which keys repeat.
//!
//! Built only from text that is sound JSON already, and bounded in depth, because positions of
//! keys and the offsets inside a text are what `serde` does not keep.

use std::ops::Range;

/// Levels that a config may have; the form itself has four.
const MAX_DEPTH: usize = 32;

/// One value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    /// Its bytes in the file.
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<(Key, Node)>),
    Array(Vec<Node>),
    Other,
}

/// A key, decoded, and where it stands with its quotes.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) span: Range<usize>,
}

/// The text nests too deeply at this byte.
#[derive(Debug)]
pub(super) struct TooDeep(pub(super) usize);

impl Node {
    /// Reads sound JSON.
    pub(super) fn read(text: &str) -> Result<Self, TooDeep> {
        Reader { text, at: 0 }.value(0)
    }

    /// The value at a path of keys and places, the last of duplicate keys.
    pub(super) fn at<'n>(&'n self, path: &[String]) -> Option<&'n Node> {
        path.iter().try_fold(self, |node, part| match &node.kind {
            Kind::Object(members) => {
                members.iter().rev().find(|(key, _)| key.name == *part).map(|(_, value)| value)
            }
            Kind::Array(elements) => elements.get(part.parse::<usize>().ok()?),
            Kind::Other => None,
        })
    }

    /// The key that the last part of a path is.
    pub(super) fn key_at<'n>(&'n self, path: &[String]) -> Option<&'n Key> {
        let (last, parents) = path.split_last()?;
        match &self.at(parents)?.kind {
            Kind::Object(members) => {
                members.iter().rev().find(|(key, _)| key.name == *last).map(|(key, _)| key)
            }
            _ => None,
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Skips space, and one `sign` if it is there.
    fn take(&mut self, sign: u8) -> bool {
        self.space();
        let is_there = self.byte() == sign;
        self.at += usize::from(is_there);
        is_there
    }

    fn value(&mut self, depth: usize) -> Result<Node, TooDeep> {
        self.space();
        let start = self.at;
        if depth > MAX_DEPTH {
            return Err(TooDeep(start));
        }
        let kind = match self.byte() {
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                while !self.take(b'}') && self.at < self.text.len() {
                    let key = self.key();
                    self.take(b':');
                    members.push((key, self.value(depth + 1)?));
                    self.take(b',');
                }
                Kind::Object(members)
            }
            b'[' => {
                self.at += 1;
                let mut elements = Vec::new();
                while !self.take(b']') && self.at < self.text.len() {
                    elements.push(self.value(depth + 1)?);
                    self.take(b',');
                }
                Kind::Array(elements)
            }
            b'"' => {
                self.string();
                Kind::Other
            }
            _ => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let ends = |c: char| matches!(c, ',' | '}' | ']') || c.is_ascii_whitespace();
                // At least one byte, so that broken text cannot hold the reader up.
                self.at += rest.find(ends).unwrap_or(rest.len()).max(1);
                Kind::Other
            }
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn key(&mut self) -> Key {
        self.space();
        let start = self.at;
        self.string();
        let raw = self.text.get(start..self.at).unwrap_or_default();
        let name = serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned());
        Key { name, span: start..self.at }
    }

    fn string(&mut self) {
        self.at += 1;
        loop {
            match self.byte() {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
            if self.at >= self.text.len() {
                self.at = self.text.len();
                return;
            }
        }
        self.at += 1;
    }
}

/// The bytes in the file that a range of a decoded text came from; `span` is the text with its
/// quotes.
pub(super) fn inside_text(file: &str, span: &Range<usize>, decoded: &Range<usize>) -> Range<usize> {
    let mut at = span.start + 1;
    let end = span.end.saturating_sub(1);
    let mut passed = 0;
    let (mut start, mut stop) = (None, None);
    while at < end {
        if passed >= decoded.start && start.is_none() {
            start = Some(at);
        }
        if passed >= decoded.end {
            stop = Some(at);
            break;
        }
        let (bytes, length) = one_character(file.get(at..end).unwrap_or_default());
        at += bytes.max(1);
        passed += length;
    }
    let start = start.unwrap_or(end);
    start..stop.unwrap_or(end).max(start)
}

/// Bytes that one character takes in the file, and in the decoded text.
fn one_character(rest: &str) -> (usize, usize) {
    let unit = |at: usize| {
        (rest.get(at..at + 2) == Some("\\u"))
            .then(|| u32::from_str_radix(rest.get(at + 2..at + 6)?, 16).ok())
            .flatten()
    };
    if let Some(first) = unit(0) {
        return match unit(6) {
            Some(second)
                if (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second) =>
            {
                (12, 4)
            }
            _ => (6, char::from_u32(first).map_or(3, char::len_utf8)),
        };
    }
    match rest.chars().next() {
        Some('\\') => (2, 1),
        Some(c) => (c.len_utf8(), c.len_utf8()),
        None => (1, 0),
    }
}

/// Line and column of a byte, both from 1, columns in characters.
pub(super) fn line_and_column(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..text.floor_char_boundary(at.min(text.len()))).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}
