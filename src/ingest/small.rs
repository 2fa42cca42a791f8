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
use super::scan::FirstObject;
use super::spelling::misspelt;
use super::split::{Framing, Span, Splitter};
use crate::model::{Issue, Place};

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
    cut: Cut,
    framing: Framing,
    format: &'static Format,
    path: PathBuf,
    file: u32,
}

/// The records of a file that was read to its end.
pub(super) struct Cut {
    spans: Vec<Span>,
    /// Whether its array has no end.
    open: bool,
    /// What is misspelt in the first of them, for a file whose number is not known yet.
    misspelt: Vec<Issue>,
}

impl Cut {
    /// The records of a feed; `first` is the object that it begins with, where that was passed over
    /// before.
    pub(super) fn of(
        feed: &Feed<'_>,
        format: &Format,
        framing: Framing,
        first: Option<&FirstObject>,
    ) -> Self {
        let (mut splitter, mut spans) = (Splitter::new(framing), Vec::new());
        splitter.split(feed.bytes(), true, &mut spans);
        let misspelt = misspelt((feed.bytes(), feed.offset()), &spans, (0, format), first);
        Self { spans, open: splitter.cut_between(), misspelt }
    }
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
        (framing, cut): (Framing, Option<Cut>),
        format: &'static Format,
        path: &Path,
        file: u32,
    ) -> Result<Option<Feed<'s>>, ReadError> {
        // What is strict stops at the first loss, so nothing may be read before its turn.
        let shared = self.many && self.request.threads > 1 && !self.request.strict;
        if !shared || !feed.ended() || !matches!(format.reader, Reader::Whole(_)) {
            return Ok(Some(feed));
        }
        self.waiting.bytes += feed.bytes().len();
        let cut = cut.unwrap_or_else(|| Cut::of(&feed, format, framing, None));
        self.waiting.files.push(Small { feed, cut, framing, format, path: path.to_owned(), file });
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
        let (most, threads) = (self.request.max_record, self.request.threads);
        let (visitor, joins, states) = (self.visitor, &self.joins, &self.states);
        let options = &self.request.options;
        let blocks: Vec<(Block<'_>, &Small<'_>)> =
            files.iter().map(|file| (file.block(most), file)).collect();
        let pieces: Vec<(&Block<'_>, &Format, &[Span])> = blocks
            .iter()
            .flat_map(|(block, file)| {
                batches(&file.cut.spans).into_iter().map(move |spans| (block, file.format, spans))
            })
            .collect();
        let work = |at: usize| {
            let (block, format, spans) = pieces[at];
            let Reader::Whole(parse) = format.reader else { return Vec::new() };
            let whole = WholeReader { parse: &parse, format, options, visitor, joins };
            with_state(states, visitor, |state| whole.batch(state, block, spans))
        };
        let outcomes = in_parallel(threads, pieces.len(), &work, None);
        let mut outcomes = pieces.iter().map(|(block, ..)| block.file).zip(outcomes).peekable();
        for (block, file) in &blocks {
            let Cut { spans, open, misspelt } = &file.cut;
            for issue in misspelt {
                let place = Place { file: file.file, ..issue.place };
                self.issue(Issue { place, ..issue.clone() })?;
            }
            while let Some((at, outcome)) = outcomes.next_if(|(at, _)| *at == file.file) {
                self.take_in(at, outcome)?;
            }
            self.repetitions(block, spans, file.format)?;
            self.ended(&file.feed, *open, file.file)?;
        }
        Ok(())
    }
}
