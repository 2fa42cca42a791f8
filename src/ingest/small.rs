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
use super::read::{Session, Visitor, with_state};
use super::scan::FirstObject;
use super::spelling::misspelt;
use super::split::{Framing, Span, Splitter};
use super::starts::TOGETHER;
use crate::model::{Issue, Place};

/// Files that wait at most.
const FILES: usize = 256;

/// What waits.
#[derive(Default)]
pub(super) struct Waiting<'p> {
    files: Vec<Small<'p>>,
    bytes: usize,
}

/// One file, read to its end.
struct Small<'p> {
    feed: Feed<'p>,
    /// Its records, where they were told apart ahead.
    cut: Option<Cut>,
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
    /// The records of these bytes, at their offset in the file; `first` is the object that they begin
    /// with, where that was passed over before.
    pub(super) fn of(
        bytes: &[u8],
        base: u64,
        format: &Format,
        framing: Framing,
        first: Option<&FirstObject>,
    ) -> Self {
        let (mut splitter, mut spans) = (Splitter::new(framing), Vec::new());
        splitter.split(bytes, true, &mut spans);
        let misspelt = misspelt((bytes, base), &spans, (0, format), first);
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
        self.waiting.files.push(Small { feed, cut, framing, format, path: path.to_owned(), file });
        if self.waiting.bytes >= TOGETHER || self.waiting.files.len() >= FILES {
            self.flush()?;
        }
        Ok(None)
    }

    /// Reads the records of the files that wait, and books them in the order of the files.
    pub(super) fn flush(&mut self) -> Result<(), ReadError> {
        let mut files = std::mem::take(&mut self.waiting).files;
        if files.is_empty() {
            return Ok(());
        }
        let (most, threads) = (self.request.max_record, self.request.threads);
        let (visitor, joins, states) = (self.visitor, &self.joins, &self.states);
        let options = &self.request.options;
        let ahead: Vec<Option<Cut>> = files.iter_mut().map(|file| file.cut.take()).collect();
        let blocks: Vec<(Block<'_>, &Format, Framing)> =
            files.iter().map(|file| (file.block(most), file.format, file.framing)).collect();
        let left: Vec<usize> = (0..ahead.len()).filter(|at| ahead[*at].is_none()).collect();
        let cut = |nth: usize| {
            let (block, format, framing) = &blocks[left[nth]];
            Cut::of(block.bytes, block.base, format, *framing, None)
        };
        let mut later = in_parallel(threads, left.len(), &cut, None).into_iter();
        let cuts: Vec<Cut> =
            ahead.into_iter().filter_map(|cut| cut.or_else(|| later.next())).collect();
        let pieces: Vec<(&Block<'_>, &Format, &[Span])> = blocks
            .iter()
            .zip(&cuts)
            .flat_map(|((block, format, _), cut)| {
                batches(&cut.spans).into_iter().map(move |spans| (block, *format, spans))
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
        for ((file, (block, ..)), cut) in files.iter().zip(&blocks).zip(&cuts) {
            let Cut { spans, open, misspelt } = cut;
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
