//! Small files of whole runs: several of them are read before their records are, so that threads have
//! something to share.
//!
//! Owns what waits, and that it is booked file by file, as if each had been read by itself. Whatever
//! else is booked or asked for comes after it. Refuses files that are longer than one block.

use std::path::{Path, PathBuf};

use super::ReadError;
use super::block::{Block, WholeReader, batches};
use super::feed::Feed;
use super::formats::{Format, Reader};
use super::parallel::in_parallel;
use super::read::{BLOCK, Session, Visitor, with_state};
use super::spelling::misspelt;
use super::split::{Framing, Span, Splitter};

/// Files that wait at most.
const FILES: usize = 256;

/// What waits.
#[derive(Default)]
pub(super) struct Waiting<'p> {
    files: Vec<Small<'p>>,
    bytes: usize,
}

/// One file, read to its end and cut into records.
struct Small<'p> {
    feed: Feed<'p>,
    spans: Vec<Span>,
    /// Whether its array has no end.
    cut: bool,
    framing: Framing,
    format: &'static Format,
    path: PathBuf,
    file: u32,
}

impl Small<'_> {
    fn block(&self, most: usize) -> Block<'_> {
        Block {
            bytes: self.feed.bytes(),
            base: self.feed.offset(),
            file: self.file,
            path: &self.path,
            most,
            wraps: self.framing != Framing::Elements,
        }
    }
}

impl<'s, V: Visitor> Session<'s, V> {
    /// Lets a file wait for others; gives it back where that would bring nothing.
    pub(super) fn wait(
        &mut self,
        feed: Feed<'s>,
        framing: Framing,
        format: &'static Format,
        path: &Path,
        file: u32,
    ) -> Result<Option<Feed<'s>>, ReadError> {
        // What is strict stops at the first loss, so nothing may be read before its turn.
        let shared = self.many && self.request.threads > 1 && !self.request.strict;
        if !shared || !feed.ended() || !matches!(format.reader, Reader::Whole(_)) {
            return Ok(Some(feed));
        }
        let (mut splitter, mut spans) = (Splitter::new(framing), Vec::new());
        splitter.split(feed.bytes(), true, &mut spans);
        self.waiting.bytes += feed.bytes().len();
        let (cut, path) = (splitter.cut_between(), path.to_owned());
        self.waiting.files.push(Small { feed, spans, cut, framing, format, path, file });
        if self.waiting.bytes >= BLOCK || self.waiting.files.len() >= FILES {
            self.flush()?;
        }
        Ok(None)
    }

    /// Reads the records of the files that wait, and books them in the order of the files.
    pub(super) fn flush(&mut self) -> Result<(), ReadError> {
        let files = std::mem::take(&mut self.waiting).files;
        if files.is_empty() {
            return Ok(());
        }
        let most = self.request.max_record;
        let (visitor, joins, states) = (self.visitor, &self.joins, &self.states);
        let options = &self.request.options;
        let blocks: Vec<(Block<'_>, &Format, &[Span])> =
            files.iter().map(|file| (file.block(most), file.format, &*file.spans)).collect();
        let pieces: Vec<(&Block<'_>, &Format, &[Span])> = blocks
            .iter()
            .flat_map(|(block, format, spans)| {
                batches(spans).into_iter().map(move |spans| (block, *format, spans))
            })
            .collect();
        let work = |at: usize| {
            let (block, format, spans) = pieces[at];
            let Reader::Whole(parse) = format.reader else { return Vec::new() };
            let whole = WholeReader { parse: &parse, format, options, visitor, joins };
            with_state(states, visitor, |state| whole.batch(state, block, spans))
        };
        let outcomes = in_parallel(self.request.threads, pieces.len(), &work, None);
        let spelling = |at: usize| {
            let (block, format, spans) = &blocks[at];
            misspelt(block.bytes, spans, block.file, format)
        };
        let spelling = in_parallel(self.request.threads, blocks.len(), &spelling, None);
        let mut outcomes = pieces.iter().map(|(block, ..)| block.file).zip(outcomes).peekable();
        for (file, spelling) in files.iter().zip(spelling) {
            spelling.into_iter().try_for_each(|issue| self.issue(issue))?;
            while let Some((at, outcome)) = outcomes.next_if(|(at, _)| *at == file.file) {
                self.take_in(at, outcome)?;
            }
            self.repetitions(&file.block(most), &file.spans, file.format)?;
            self.ended(&file.feed, file.cut, file.file)?;
        }
        Ok(())
    }
}
