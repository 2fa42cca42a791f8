//! Values told by their brackets, in a stream that is read in blocks.
//!
//! Owns where a value starts and ends, byte by byte; inside of an open value it goes 64 bytes at a time
//! (`ingest/lanes.rs`) as long as the value cannot end in them. Refuses to parse, and to match brackets by
//! their kind: a damaged value must end somewhere.

use fearless_simd::{Simd, dispatch};

use super::Span;
use crate::ingest::lanes::{Lanes, WIDTH, level};

/// Finds values by their brackets, skipping over strings.
#[derive(Debug)]
pub(super) struct Scanner {
    /// Whether values are elements of an outer array.
    elements: bool,
    /// Open brackets inside the current value.
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// Start of the current value.
    pub(super) start: Option<usize>,
    /// First byte not scanned yet.
    at: usize,
    /// Whether the current value is no object or array: a bare word, number or string.
    bare: bool,
    /// Whether the current value is dropped.
    pub(super) skipping: bool,
    /// Whether what was scanned ends with the end of the outer array, or in the middle of a value.
    pub(super) ended: bool,
}

impl Scanner {
    /// A scanner over values in a row, or over the elements of an array that starts with `[`.
    #[must_use]
    pub(super) fn new(elements: bool) -> Self {
        Self {
            elements,
            depth: 0,
            in_string: false,
            escaped: false,
            start: None,
            at: 0,
            bare: false,
            skipping: false,
            ended: false,
        }
    }

    /// Drops what is done with; offsets of the next call count from there.
    pub(super) fn forget(&mut self) -> usize {
        let done = self.start.filter(|_| !self.skipping).unwrap_or(self.at);
        self.at -= done;
        self.start = self.start.map(|_| 0);
        done
    }

    /// Passes over what lies inside of the open value, up to bytes in which it may end.
    fn leap(&mut self, buffer: &[u8]) {
        let (blocks, _) = buffer.get(self.at..).unwrap_or_default().as_chunks::<WIDTH>();
        if !blocks.is_empty() {
            dispatch!(level(), simd => self.leap_over(simd, blocks));
        }
    }

    #[inline(always)]
    fn leap_over<S: Simd>(&mut self, simd: S, blocks: &[[u8; WIDTH]]) {
        let mut lanes = Lanes { escaped: self.escaped, in_string: self.in_string };
        for block in blocks {
            let Some((next, opens, closes)) = lanes.pass(simd, block) else { break };
            let (opened, closed) = (opens.count_ones(), closes.count_ones());
            if self.depth <= u64::from(closed) {
                break;
            }
            self.depth = self.depth + u64::from(opened) - u64::from(closed);
            lanes = next;
            self.at += WIDTH;
        }
        (self.escaped, self.in_string) = (lanes.escaped, lanes.in_string);
    }

    /// The open value ends here, if there is one.
    fn close(&mut self, end: usize, spans: &mut Vec<Span>) {
        if let Some(start) = self.start.take()
            && !std::mem::take(&mut self.skipping)
        {
            spans.push(Span { start, end, line: 0 });
        }
    }

    /// Scans on to the end of `buffer`; at the end of the stream an open value is closed as it is.
    pub(super) fn scan(&mut self, buffer: &[u8], end: bool, spans: &mut Vec<Span>) {
        // Up to here a value may end, as far as is known: byte by byte.
        let mut careful = 0;
        while self.at < buffer.len() {
            if self.at >= careful && self.start.is_some() && !self.bare {
                self.leap(buffer);
                careful = self.at + WIDTH;
                if self.at == buffer.len() {
                    break;
                }
            }
            if self.escaped {
                self.escaped = false;
                self.at += 1;
                continue;
            }
            if self.in_string {
                let Some(found) = memchr::memchr2(b'"', b'\\', &buffer[self.at..]) else {
                    self.at = buffer.len();
                    break;
                };
                self.at += found;
                self.in_string = buffer[self.at] != b'"';
                self.escaped = self.in_string;
                self.at += 1;
                continue;
            }
            let byte = buffer[self.at];
            match byte {
                b'{' | b'[' => {
                    if self.start.is_some() && self.bare {
                        self.close(self.at, spans);
                    }
                    if self.start.is_none() {
                        if self.elements && byte == b'[' && self.depth == 0 {
                            // The outer array itself; a second one in a row is the same to us.
                            self.ended = false;
                            self.at += 1;
                            continue;
                        }
                        self.start = Some(self.at);
                        self.bare = false;
                    }
                    self.depth += 1;
                }
                b'}' | b']' if self.start.is_some() && !self.bare => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.close(self.at + 1, spans);
                    }
                }
                b']' if self.elements => {
                    self.close(self.at, spans);
                    self.ended = true;
                }
                b',' | b' ' | b'\t' | b'\r' | b'\n' => {
                    if self.bare {
                        self.close(self.at, spans);
                    }
                }
                _ => {
                    if self.start.is_none() {
                        self.start = Some(self.at);
                        self.bare = true;
                    }
                    self.in_string = byte == b'"';
                }
            }
            self.at += 1;
        }
        if end {
            self.ended |= self.start.is_some();
            self.close(buffer.len(), spans);
        }
    }
}
