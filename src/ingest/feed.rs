//! A stream in a buffer that moves along: what is done with is dropped, what is cut off is kept.

use std::io::Read;

use super::source::read_up_to;

/// Told how many bytes were read.
pub(super) type Progress<'p> = Option<&'p (dyn Fn(u64) + Sync)>;

/// The unread rest of a stream, a block at a time.
pub(super) struct Feed<'p> {
    stream: Box<dyn Read + Send>,
    progress: Progress<'p>,
    buffer: Vec<u8>,
    /// The bytes in use: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Offset of `start` in the stream.
    offset: u64,
    ended: bool,
    damage: Option<String>,
    /// The most bytes that a record may have.
    most: usize,
}

impl<'p> Feed<'p> {
    /// A feed at the start of a stream.
    pub(super) fn new(stream: Box<dyn Read + Send>, progress: Progress<'p>, most: usize) -> Self {
        Self {
            stream,
            progress,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            ended: false,
            damage: None,
            most,
        }
    }

    /// What was read and is not done with.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset of the first of [`bytes`](Self::bytes) in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether nothing more will come.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// The error that ended the stream.
    pub(super) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Drops the first bytes.
    pub(super) fn done(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Reads until there are at least `block` bytes, or half as many again as are kept, or no more.
    /// Never holds more than a block beyond the longest record.
    pub(super) fn fill(&mut self, block: usize) {
        if self.ended {
            return;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        // A record longer than the block needs a larger one, and growth by a share of what is kept
        // keeps the scanning and copying linear.
        let kept = self.end;
        let wanted = block.max((kept + kept / 2).min(self.most.saturating_add(block)));
        if let Some(more) = wanted.checked_sub(self.buffer.len()) {
            self.buffer.reserve_exact(more);
            self.buffer.resize(wanted, 0);
        }
        let (read, error) = read_up_to(&mut self.stream, &mut self.buffer[self.end..wanted]);
        self.end += read;
        self.ended = self.end < wanted;
        self.damage = error.map(|error| error.to_string());
        if let Some(progress) = self.progress {
            progress(read as u64);
        }
    }
}
