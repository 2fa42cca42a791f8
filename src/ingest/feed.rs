//! A stream in a buffer that moves along: what is done with is dropped, what is cut off is kept.
//!
//! Owns two buffers: while one is worked on, the next block can be read into the other.

use std::io::Read;

/// Told how many bytes were read.
pub(super) type Progress<'p> = Option<&'p (dyn Fn(u64) + Sync)>;

/// The unread rest of a stream, a block at a time.
pub(super) struct Feed<'p> {
    stream: Box<dyn Read + Send>,
    progress: Progress<'p>,
    buffer: Vec<u8>,
    /// The first byte of `buffer` that is in use.
    start: usize,
    /// What was read ahead, with what is kept of `buffer` before it.
    next: Vec<u8>,
    /// How the stream stood after `next` was read; `None` where nothing was read ahead.
    read_ahead: Option<End>,
    /// Offset of `start` in the stream.
    offset: u64,
    end: End,
    /// The most bytes that a record may have.
    most: usize,
}

/// Whether a stream has ended, and by which error.
#[derive(Debug, Default)]
struct End {
    ended: bool,
    damage: Option<String>,
}

impl<'p> Feed<'p> {
    /// A feed at the start of a stream.
    pub(super) fn new(stream: Box<dyn Read + Send>, progress: Progress<'p>, most: usize) -> Self {
        Self {
            stream,
            progress,
            buffer: Vec::new(),
            start: 0,
            next: Vec::new(),
            read_ahead: None,
            offset: 0,
            end: End::default(),
            most,
        }
    }

    /// A feed of a stream that was read to its end.
    pub(super) fn whole(bytes: Vec<u8>, progress: Progress<'p>, most: usize) -> Self {
        if let Some(progress) = progress {
            progress(bytes.len() as u64);
        }
        let end = End { ended: true, damage: None };
        Self { buffer: bytes, end, ..Self::new(Box::new(std::io::empty()), progress, most) }
    }

    /// What was read and is not done with.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Offset of the first of [`bytes`](Self::bytes) in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether nothing more will come.
    pub(super) fn ended(&self) -> bool {
        self.end.ended
    }

    /// The error that ended the stream.
    pub(super) fn damage(&self) -> Option<&str> {
        self.end.damage.as_deref()
    }

    /// Drops the first bytes.
    pub(super) fn done(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Reads until there are at least `block` bytes, or half as many again as are kept, or no more.
    /// Never holds more than a block beyond the longest record.
    pub(super) fn fill(&mut self, block: usize) {
        if self.end.ended {
            return;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start.., 0);
            self.buffer.truncate(self.buffer.len() - self.start);
            self.start = 0;
        }
        // A record longer than the block needs a larger one, and growth by a share of what is kept
        // keeps the scanning and copying linear.
        let kept = self.buffer.len();
        let wanted = block.max((kept + kept / 2).min(self.most.saturating_add(block)));
        self.end = read(&mut self.stream, &mut self.buffer, wanted, self.progress);
        if self.end.ended {
            // Many files may wait at once: none stays open.
            self.stream = Box::new(std::io::empty());
        }
    }

    /// All bytes, of which the first `done` are done with once they are worked on, and what reads the
    /// block that comes after them meanwhile. [`turn`](Self::turn) goes on to it.
    pub(super) fn overlap(&mut self, done: usize, block: usize) -> (&[u8], Ahead<'_, 'p>) {
        let bytes = &self.buffer[self.start..];
        let kept = bytes.get(done..).unwrap_or_default();
        let Self { stream, next, read_ahead, progress, .. } = self;
        (bytes, Ahead { stream, kept, next, read_ahead, progress: *progress, block })
    }

    /// Drops what is done with, and goes on to the block that was read ahead; false where none was.
    pub(super) fn turn(&mut self, done: usize) -> bool {
        self.done(done);
        let Some(end) = self.read_ahead.take() else { return false };
        std::mem::swap(&mut self.buffer, &mut self.next);
        (self.start, self.end) = (0, end);
        true
    }
}

/// Reads the next block of a [`Feed`] while its bytes are worked on.
pub(super) struct Ahead<'f, 'p> {
    stream: &'f mut Box<dyn Read + Send>,
    kept: &'f [u8],
    next: &'f mut Vec<u8>,
    read_ahead: &'f mut Option<End>,
    progress: Progress<'p>,
    block: usize,
}

impl Ahead<'_, '_> {
    /// Reads it.
    pub(super) fn read(self) {
        self.next.clear();
        self.next.reserve_exact(self.block.max(self.kept.len()));
        self.next.extend_from_slice(self.kept);
        *self.read_ahead = Some(read(self.stream, self.next, self.block, self.progress));
    }
}

/// Reads until `buffer` has `wanted` bytes. Memory is taken for what comes alone: room that stays
/// empty is never touched.
fn read(
    stream: &mut Box<dyn Read + Send>,
    buffer: &mut Vec<u8>,
    wanted: usize,
    progress: Progress<'_>,
) -> End {
    let before = buffer.len();
    let more = wanted.saturating_sub(before);
    buffer.reserve_exact(more);
    // What came before an error is kept.
    let error = stream.take(more as u64).read_to_end(buffer).err();
    if let Some(progress) = progress {
        progress((buffer.len() - before) as u64);
    }
    End { ended: buffer.len() < wanted, damage: error.map(|error| error.to_string()) }
}
