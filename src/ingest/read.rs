//! The reading loop: blocks to records, records to runs, in parallel and in an order that inputs decide.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;

use super::begun::{Begun, framing_of};
use super::block::{Block, Parse, WholeReader, batches, cut_between, too_large};
use super::feed::{Ahead, Feed};
use super::formats::{self, Assembler, Format, Reader};
use super::joins::{Again, Deferred, Joins};
use super::json_rows::Objects;
use super::parallel::in_parallel;
use super::small::Waiting;
use super::source::{self, Source, Stream};
use super::split::{Framing, Span, Splitter};
use super::starts::{self, Start, look_ahead};
use super::{FileTally, LeftOut, ReadError, Tally};
use crate::config::ReadOptions;
use crate::model::{Issue, Place, Trajectory};

/// Bytes of a file that its format is told from.
pub(super) const BLOCK: usize = 4 << 20;

/// Bytes read at a time after these; a record may be longer.
const STRIDE: usize = 2 << 20;

/// The most bytes of one record (1 GiB, as for a member of an archive): a longer one is rejected,
/// so that no small compressed file can fill the memory.
pub const MAX_RECORD: usize = 1 << 30;

/// Takes each run while its text is still in memory and keeps what it needs of it.
///
/// `visit` runs on several threads; its results are collected in an order that the inputs alone
/// decide, so the outcome must not depend on which state served which run. Runs come in the order
/// of their records, with three exceptions: runs that may be completed from files beside them come
/// after all others of whole records, then the runs that are made of parts, a format at a time, and
/// last the results of trials that have no trajectory.
pub trait Visitor: Sync {
    /// What is kept of a run.
    type Out: Send;
    /// Scratch of one thread at a time.
    type State: Send;
    /// Fresh scratch.
    fn state(&self) -> Self::State;
    /// Looks at one run.
    fn visit(&self, state: &mut Self::State, run: &Trajectory<'_>) -> Self::Out;
    /// Takes scratch back at the end.
    fn retire(&self, state: Self::State);
}

/// How to read.
pub struct Request<'q> {
    /// What readers must know of the config.
    pub options: ReadOptions,
    /// Read every file as this format.
    pub format: Option<&'static Format>,
    /// Stop at the first thing that is lost: a rejected record or part of one, an input that cannot
    /// be read, a stream or array that breaks off.
    pub strict: bool,
    /// Number of threads; 1 reads on the calling thread alone.
    pub threads: usize,
    /// Told how many bytes were read since the last call.
    pub progress: Option<&'q (dyn Fn(u64) + Sync)>,
    /// The most bytes of one record; [`MAX_RECORD`] unless a test says otherwise.
    pub max_record: usize,
}

/// Reads all sources, shows every run to `visitor`, and gives its results to `collect` in the
/// order that [`Visitor`] tells.
///
/// # Errors
/// A named source that cannot be read or recognised; with `strict`, the first thing that is lost.
pub fn read<V: Visitor>(
    sources: &[Source],
    request: &Request<'_>,
    visitor: &V,
    collect: &mut dyn FnMut(V::Out),
) -> Result<Tally, ReadError> {
    let mut session = Session::new(request, visitor, collect, sources.len());
    let mut left = sources;
    while !left.is_empty() {
        let starts = look_ahead(left, request);
        let (now, later) = left.split_at(starts.len());
        for (source, start) in now.iter().zip(starts) {
            session.file(source, start)?;
        }
        left = later;
    }
    session.finish()
}

pub(super) struct Session<'s, V: Visitor> {
    pub(super) request: &'s Request<'s>,
    pub(super) visitor: &'s V,
    pub(super) collect: &'s mut dyn FnMut(V::Out),
    pub(super) tally: Tally,
    pub(super) states: Mutex<Vec<V::State>>,
    pub(super) assemblers: Vec<(&'static str, Box<dyn Assembler>)>,
    /// Issues that were told, by file, code and message, as places in `Tally::issues`.
    pub(super) told: HashMap<(u32, &'static str, String), usize>,
    pub(super) joins: Joins,
    /// File and bytes of the last record of requests to a model.
    last_record: Option<(u32, Vec<u8>)>,
    /// What waits for the second pass, and how many bytes of it are held.
    pub(super) deferred: Vec<Deferred<'s>>,
    pub(super) held: usize,
    /// Whether files may lie beside others, so that what they say must be known first.
    pub(super) two_passes: bool,
    /// Whether there are several files.
    pub(super) many: bool,
    pub(super) waiting: Waiting<'s>,
    /// What was kept of runs that assemblers gave out early, with format and place.
    pub(super) early: Vec<(&'static str, Place, V::Out)>,
}

impl<'s, V: Visitor> Session<'s, V> {
    /// A session over so many files that has read nothing yet.
    pub(super) fn new(
        request: &'s Request<'s>,
        visitor: &'s V,
        collect: &'s mut dyn FnMut(V::Out),
        files: usize,
    ) -> Self {
        let many = files > 1;
        Self {
            request,
            visitor,
            collect,
            tally: Tally::default(),
            states: Mutex::new(Vec::new()),
            assemblers: Vec::new(),
            told: HashMap::new(),
            joins: Joins::default(),
            last_record: None,
            deferred: Vec::new(),
            held: 0,
            two_passes: many && request.format.is_none(),
            many,
            early: Vec::new(),
            waiting: Waiting::default(),
        }
    }

    /// Reads a file, of which the start may have been looked at before.
    fn file(&mut self, source: &Source, start: Option<Start<'s>>) -> Result<(), ReadError> {
        if let Some(start) = start {
            // Only plain files are looked at ahead.
            return self.started(start, &source.path, source.named, Again::Path);
        }
        match source::open(&source.path) {
            Ok(Stream::Bytes(stream)) => {
                self.stream(stream, &source.path, source.named, Again::of(&source.path))
            }
            Ok(Stream::Zip(archive)) => self.archive(archive, source),
            Err(error) if source.named => Err(error),
            Err(ReadError::Unreadable { path, reason }) => self.cannot_read(&path, reason),
            Err(error) => self.cannot_read(&source.path, error.to_string()),
        }
    }

    /// Leaves out a file that was found.
    pub(super) fn leave_out(&mut self, path: &Path, reason: String, what: LeftOut) {
        self.tally.files.push(FileTally::left_out(path.to_owned(), what, reason));
    }

    /// Leaves out what was found and may be a trace, but cannot be read.
    pub(super) fn cannot_read(&mut self, path: &Path, reason: String) -> Result<(), ReadError> {
        if self.request.strict {
            return Err(ReadError::unreadable_input(path, &reason));
        }
        self.leave_out(path, reason, LeftOut::Unreadable);
        Ok(())
    }

    /// Opens the account of a file.
    #[expect(clippy::cast_possible_truncation, reason = "no one names four billion files")]
    pub(super) fn begin(&mut self, path: &Path, format: &Format) -> u32 {
        self.tally.files.push(FileTally {
            path: path.to_owned(),
            format: Some(format.name),
            ..FileTally::default()
        });
        (self.tally.files.len() - 1) as u32
    }

    /// The start of a stream.
    pub(super) fn feed(&self, stream: Box<dyn Read + Send>) -> Feed<'s> {
        starts::feed(self.request, stream)
    }

    pub(super) fn stream(
        &mut self,
        stream: Box<dyn Read + Send>,
        path: &Path,
        named: bool,
        again: Again,
    ) -> Result<(), ReadError> {
        let start = starts::look(self.request, stream, path);
        self.started(start, path, named, again)
    }

    /// Reads the records of a stream whose account is open; those of a table with its header.
    pub(super) fn records(
        &mut self,
        mut feed: Feed<'s>,
        framing: Framing,
        format: &'static Format,
        path: &Path,
        Begun { file, table, objects, cut }: Begun,
    ) -> Result<(), ReadError> {
        let framing = match &table {
            Some(table) => table.framing(),
            None => framing_of(format, framing),
        };
        if table.is_none() && objects.is_none() {
            feed = match self.wait(feed, (framing, cut), format, path, file)? {
                Some(feed) => feed,
                None => return Ok(()),
            };
        }
        let mut splitter = Splitter::on_line(framing, table.as_ref().map_or(1, |table| table.line));
        if let Some(table) = &table {
            feed.done(table.length);
            for issue in table.notices(file) {
                self.issue(issue)?;
            }
        }
        for issue in objects.iter().flat_map(|objects| objects.notices(file)) {
            self.issue(issue)?;
        }
        let mut spans = Vec::new();
        let whole = matches!(format.reader, Reader::Whole(_)) && table.is_none();
        loop {
            spans.clear();
            let done = splitter.split(feed.bytes(), feed.ended(), &mut spans);
            let most = self.request.max_record;
            let wraps = framing != Framing::Elements;
            if feed.offset() <= 3 {
                self.spelling((feed.bytes(), feed.offset()), &spans, file, format)?;
            }
            let (base, ended) = (feed.offset(), feed.ended());
            // A record that is longer than what is read at a time grows in one buffer.
            let few = feed.bytes().len() - done <= STRIDE / 2;
            let ahead = whole && !ended && few && self.request.threads > 1;
            let (bytes, ahead) = match ahead {
                true => {
                    let (bytes, ahead) = feed.overlap(done, STRIDE);
                    (bytes, Some(ahead))
                }
                false => (feed.bytes(), None),
            };
            let block = Block { bytes, base, file, path, most, wraps };
            match &table {
                Some(table) => self.table(&block, &spans, table, format)?,
                None => self.block(&block, &spans, format, objects.as_ref(), ahead)?,
            }
            if feed.turn(done) {
                continue;
            }
            if ended {
                break;
            }
            if feed.bytes().len() > most {
                // The record that is still open: the rest of it is dropped as it comes.
                let place = Place { file, line: splitter.line(), byte: feed.offset() };
                self.tally.files[file as usize].records += 1;
                self.reject(too_large(most, place))?;
                feed.done(splitter.skip(feed.bytes().len()));
            }
            feed.fill(STRIDE);
        }
        self.ended(&feed, splitter.cut_between(), file)
    }

    /// Tells how a stream broke off, where it did: by an error, or in an array between two records.
    pub(super) fn ended(&mut self, feed: &Feed<'_>, cut: bool, file: u32) -> Result<(), ReadError> {
        let place = Place { file, line: 0, byte: feed.offset() + feed.bytes().len() as u64 };
        let cut = match feed.damage() {
            Some(reason) => Some(Issue::warning(
                "damaged_stream",
                place,
                format!("the stream ends in an error: {reason}; what came before it was read"),
            )),
            None => cut.then(|| cut_between(place)),
        };
        cut.map_or(Ok(()), |issue| self.issue(issue))
    }

    /// Reads the records of one block.
    fn block(
        &mut self,
        block: &Block<'_>,
        spans: &[Span],
        format: &Format,
        objects: Option<&Objects>,
        ahead: Option<Ahead<'_, '_>>,
    ) -> Result<(), ReadError> {
        match format.reader {
            Reader::Whole(parse) => self.whole(block, spans, format, &parse, ahead),
            Reader::Parts(new) | Reader::PartsOrRows(new) => {
                for span in spans {
                    self.part(block, *span, format, new)?;
                }
                Ok(())
            }
            Reader::Rows(_) => match objects {
                Some(rows) => {
                    self.whole(block, spans, format, &|record, _| rows.read(record), None)
                }
                // A table without a header has no rows.
                None => Ok(()),
            },
        }
    }

    /// Reads the records of one block, each of which is whole runs, while the next one is read.
    fn whole(
        &mut self,
        block: &Block<'_>,
        spans: &[Span],
        format: &Format,
        parse: &Parse<'_>,
        ahead: Option<Ahead<'_, '_>>,
    ) -> Result<(), ReadError> {
        let options = &self.request.options;
        let (visitor, joins, states) = (self.visitor, &self.joins, &self.states);
        let whole = WholeReader { parse, format, options, visitor, joins };
        let batches = batches(spans);
        let meanwhile = ahead.map(|ahead| Box::new(|| ahead.read()) as Box<dyn FnOnce()>);
        let work =
            |at: usize| with_state(states, visitor, |state| whole.batch(state, block, batches[at]));
        let outcomes = in_parallel(self.request.threads, batches.len(), &work, meanwhile);
        for outcome in outcomes {
            self.take_in(block.file, outcome)?;
        }
        self.repetitions(block, spans, format)
    }

    /// Tells of records whose messages begin with those of the record before them in the file.
    pub(super) fn repetitions(
        &mut self,
        block: &Block<'_>,
        spans: &[Span],
        format: &Format,
    ) -> Result<(), ReadError> {
        let Some(repeats) = formats::history_of(format) else { return Ok(()) };
        let record = |span: &Span| block.bytes.get(span.start..span.end).unwrap_or_default();
        let (mut first, mut count) = (None, 0);
        let held = self.last_record.take().filter(|(file, _)| *file == block.file);
        let mut before = held.as_ref().map(|(_, bytes)| bytes.as_slice());
        for span in spans {
            if before.is_some_and(|before| repeats(before, record(span))) {
                first = first.or_else(|| Some(block.record(*span).place));
                count += 1;
            }
            before = Some(record(span));
        }
        self.last_record = before.map(|bytes| (block.file, bytes.to_vec()));
        match first {
            Some(place) => self.issue(formats::history_repeated(place, count)),
            None => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> Result<Tally, ReadError> {
        self.flush()?;
        let (results, finished) = self.second_pass()?;
        self.flush()?;
        let others = std::mem::take(&mut self.assemblers).into_iter();
        let others = others.map(|(format, assembler)| (format, assembler.finish()));
        for (format, mut parsed) in others.chain(finished) {
            let mut state = self.take_state();
            let (early, others): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.early).into_iter().partition(|(of, ..)| *of == format);
            self.early = others;
            let mut early: Vec<_> = early.into_iter().map(|(_, place, out)| (place, out)).collect();
            early.sort_by_key(|(place, _)| *place);
            let mut early = early.into_iter().peekable();
            for run in &mut parsed.runs {
                while let Some((_, out)) = early.next_if(|(place, _)| *place < run.place) {
                    (self.collect)(out);
                }
                let out = self.look(&mut state, format, run);
                (self.collect)(out);
            }
            early.for_each(|(_, out)| (self.collect)(out));
            self.put_state(state);
            for issue in parsed.issues {
                self.issue(issue)?;
            }
        }
        self.results(results)?;
        self.flush()?;
        self.tell_joins()?;
        for state in self.states.into_inner().unwrap_or_default() {
            self.visitor.retire(state);
        }
        Ok(self.tally)
    }

    pub(super) fn take_state(&self) -> V::State {
        take(&self.states).unwrap_or_else(|| self.visitor.state())
    }

    pub(super) fn put_state(&self, state: V::State) {
        put(&self.states, state);
    }
}

/// Works with scratch that no other thread has.
pub(super) fn with_state<V: Visitor, T>(
    states: &Mutex<Vec<V::State>>,
    visitor: &V,
    work: impl FnOnce(&mut V::State) -> T,
) -> T {
    let mut state = take(states).unwrap_or_else(|| visitor.state());
    let result = work(&mut state);
    put(states, state);
    result
}

fn take<S>(states: &Mutex<Vec<S>>) -> Option<S> {
    states.lock().ok().and_then(|mut states| states.pop())
}

fn put<S>(states: &Mutex<Vec<S>>, state: S) {
    if let Ok(mut states) = states.lock() {
        states.push(state);
    }
}
