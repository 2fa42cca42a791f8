//! The reading loop: blocks to records, records to runs, in parallel and in input order.

use std::io::Read;
use std::path::Path;
use std::sync::Mutex;

use rayon::prelude::*;

use super::formats::{self, Assembler, Fate, Format, Parsed, Reader, Record, Refusal};
use super::scan::end_of_value;
use super::source::{self, Source, Stream, read_up_to};
use super::split::{Framing, Span, Splitter, restarts, wrapped_elements};
use super::{FileTally, ReadError, Tally, repair};
use crate::config::ReadOptions;
use crate::model::{Issue, Place, Trajectory};

/// Bytes read at a time; a record may be longer.
const BLOCK: usize = 4 << 20;

/// Bytes of records that one task of a thread takes at least.
const BATCH: usize = 128 << 10;

/// Takes each run while its text is still in memory and keeps what it needs of it.
///
/// `visit` runs on several threads; its results are collected in input order, so the outcome
/// must not depend on which state served which run.
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
    /// Stop at the first rejected record.
    pub strict: bool,
    /// Number of threads; 1 reads on the calling thread alone.
    pub threads: usize,
    /// Told how many bytes were read since the last call.
    pub progress: Option<&'q (dyn Fn(u64) + Sync)>,
}

/// Reads all sources, shows every run to `visitor`, and gives its results to `collect` in input order.
///
/// # Errors
/// A named source that cannot be read or recognised; with `strict`, the first rejected record.
pub fn read<V: Visitor>(
    sources: &[Source],
    request: &Request<'_>,
    visitor: &V,
    collect: &mut dyn FnMut(V::Out),
) -> Result<Tally, ReadError> {
    let mut session = Session {
        request,
        visitor,
        collect,
        tally: Tally::default(),
        states: Mutex::new(Vec::new()),
        pool: None,
        assemblers: Vec::new(),
    };
    for source in sources {
        session.file(source)?;
    }
    session.finish()
}

/// What one record gave: results and issues, or a refusal with its place; with whether it was repaired.
type Outcome<O> = (Result<(Vec<O>, Vec<Issue>), Issue>, bool);

struct Session<'s, V: Visitor> {
    request: &'s Request<'s>,
    visitor: &'s V,
    collect: &'s mut dyn FnMut(V::Out),
    tally: Tally,
    states: Mutex<Vec<V::State>>,
    pool: Option<rayon::ThreadPool>,
    assemblers: Vec<(&'static str, Box<dyn Assembler>)>,
}

impl<V: Visitor> Session<'_, V> {
    fn file(&mut self, source: &Source) -> Result<(), ReadError> {
        match source::open(&source.path) {
            Ok(Stream::Bytes(stream)) => self.stream(stream, &source.path, source.named),
            Ok(Stream::Zip(archive)) => self.archive(archive, source),
            Err(error) if source.named => Err(error),
            Err(error) => {
                self.leave_out(&source.path, error.to_string());
                Ok(())
            }
        }
    }

    fn leave_out(&mut self, path: &Path, reason: String) {
        self.tally.files.push(FileTally {
            path: path.to_owned(),
            left_out: Some(reason),
            ..FileTally::default()
        });
    }

    fn archive(
        &mut self,
        mut archive: zip::ZipArchive<std::fs::File>,
        source: &Source,
    ) -> Result<(), ReadError> {
        let (mut names, mut unreadable) = (Vec::<String>::new(), 0_usize);
        for name in archive.file_names() {
            match name {
                Ok(name) => names.push(name.into_owned()),
                Err(_) => unreadable += 1,
            }
        }
        if unreadable > 0 {
            let reason = format!("{unreadable} members whose names cannot be read");
            self.leave_out(&source.path, reason);
        }
        let listed: Vec<&str> = names.iter().map(String::as_str).collect();
        let known = formats::FORMATS.iter().find_map(|format| {
            format.archive.filter(|(is, _)| is(&listed)).map(|(_, read)| (format, read))
        });
        if let Some((format, read)) = known {
            return self.known_archive(&mut archive, &source.path, format, read);
        }
        // Any other archive is a folder: its members are read as files.
        let mut sorted = names.clone();
        sorted.sort_unstable();
        for name in sorted.iter().filter(|name| !name.ends_with('/')) {
            let path = source.path.join(name);
            let mut bytes = Vec::new();
            let member =
                archive.by_name(name).map_err(|error| error.to_string()).and_then(|member| {
                    // A member is held in memory, because an archive cannot be read from another thread.
                    member
                        .take(formats::MEMBER_LIMIT + 1)
                        .read_to_end(&mut bytes)
                        .map_err(|error| error.to_string())
                });
            match member {
                Ok(length) if length as u64 > formats::MEMBER_LIMIT => {
                    self.leave_out(&path, "the member is larger than 1 GiB".to_owned());
                }
                Ok(_) => {
                    let cursor = Box::new(std::io::Cursor::new(bytes));
                    match source::decompress(cursor, &path)? {
                        Stream::Bytes(stream) => self.stream(stream, &path, false)?,
                        Stream::Zip(_) => {
                            self.leave_out(&path, "an archive inside an archive".to_owned())
                        }
                    }
                }
                Err(reason) => self.leave_out(&path, format!("damaged archive member: {reason}")),
            }
        }
        Ok(())
    }

    fn known_archive(
        &mut self,
        archive: &mut zip::ZipArchive<std::fs::File>,
        path: &Path,
        format: &Format,
        read: formats::ReadArchive,
    ) -> Result<(), ReadError> {
        let file = self.begin(path, format);
        let place = Place { file, ..Place::default() };
        let mut found = Vec::new();
        let mut state = self.take_state();
        read(archive, place, &self.request.options, &mut |parsed| {
            found.push(match parsed {
                Ok(parsed) => {
                    let outs: Vec<V::Out> =
                        parsed.runs.iter().map(|run| self.visitor.visit(&mut state, run)).collect();
                    (Ok((outs, parsed.issues)), false)
                }
                Err((place, refusal)) => {
                    (Err(Issue::rejected(refusal.code, place, refusal.message)), false)
                }
            });
        });
        self.put_state(state);
        self.take_in(file, found)
    }

    /// Opens the account of a file.
    #[expect(clippy::cast_possible_truncation, reason = "no one names four billion files")]
    fn begin(&mut self, path: &Path, format: &Format) -> u32 {
        self.tally.files.push(FileTally {
            path: path.to_owned(),
            format: Some(format.name),
            ..FileTally::default()
        });
        (self.tally.files.len() - 1) as u32
    }

    fn stream(
        &mut self,
        mut stream: Box<dyn Read + Send>,
        path: &Path,
        named: bool,
    ) -> Result<(), ReadError> {
        let mut buffer = vec![0; 64 << 10];
        let (mut length, mut end) = (0, false);
        let mut damage = None;
        let mut fill = |buffer: &mut Vec<u8>, length: &mut usize| -> bool {
            match read_up_to(&mut stream, &mut buffer[*length..]) {
                Ok(0) => true,
                Ok(n) => {
                    *length += n;
                    if let Some(progress) = self.request.progress {
                        progress(n as u64);
                    }
                    *length < buffer.len()
                }
                Err(error) => {
                    damage = Some(error.to_string());
                    true
                }
            }
        };
        // The first block is small, because most files are; later ones are read at full size.
        end |= fill(&mut buffer, &mut length);
        if !end {
            buffer.resize(BLOCK, 0);
            end |= fill(&mut buffer, &mut length);
        }
        let skip = if buffer[..length].starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let head = &buffer[skip..length];
        let framing = Framing::of(head);
        let format = match self.request.format {
            Some(format) => format,
            None => match formats::detect(path, head, framing) {
                Ok(format) => format,
                Err(reason) if named => {
                    return Err(ReadError::Unrecognised { path: path.to_owned(), reason });
                }
                Err(reason) => {
                    drop(fill);
                    self.leave_out(path, reason);
                    return Ok(());
                }
            },
        };
        let framing = match framing {
            Framing::Elements if !format.splits_arrays => Framing::Values,
            framing => framing,
        };
        drop(fill);
        let file = self.begin(path, format);
        let mut splitter = Splitter::new(framing);
        let (mut spans, mut base, mut from) = (Vec::new(), skip as u64, skip);
        loop {
            spans.clear();
            let done = splitter.split(&buffer[from..length], end, &mut spans);
            let block = Block { bytes: &buffer[from..length], base, file, path };
            self.block(&block, &spans, format)?;
            base += done as u64;
            buffer.copy_within(from + done..length, 0);
            length -= from + done;
            from = 0;
            if end {
                break;
            }
            // A record longer than the block needs a larger one.
            let wanted = if length * 2 > buffer.len() { buffer.len() * 2 } else { BLOCK };
            if buffer.len() < wanted {
                buffer.resize(wanted, 0);
            }
            match read_up_to(&mut stream, &mut buffer[length..]) {
                Ok(n) => {
                    if let Some(progress) = self.request.progress {
                        progress(n as u64);
                    }
                    length += n;
                    end = length < buffer.len();
                }
                Err(error) => {
                    damage = Some(error.to_string());
                    end = true;
                }
            }
        }
        if let Some(reason) = damage {
            let place = Place { file, line: 0, byte: base };
            self.tally.issues.push(Issue::warning(
                "damaged_stream",
                place,
                format!("the stream ends in an error: {reason}; what came before it was read"),
            ));
        }
        Ok(())
    }

    /// Reads the records of one block.
    fn block(
        &mut self,
        block: &Block<'_>,
        spans: &[Span],
        format: &Format,
    ) -> Result<(), ReadError> {
        match format.reader {
            Reader::Whole(parse) => {
                let whole = WholeReader {
                    parse,
                    format,
                    options: &self.request.options,
                    visitor: self.visitor,
                };
                let batches = batches(spans);
                let outcomes: Vec<Vec<Outcome<V::Out>>> = if self.request.threads > 1
                    && batches.len() > 1
                {
                    if self.pool.is_none() {
                        self.pool = rayon::ThreadPoolBuilder::new()
                            .num_threads(self.request.threads)
                            .build()
                            .ok();
                    }
                    let states = &self.states;
                    let work = || {
                        batches
                            .par_iter()
                            .map(|batch| {
                                let mut state =
                                    take(states).unwrap_or_else(|| self.visitor.state());
                                let outcome = whole.batch(&mut state, block, batch);
                                put(states, state);
                                outcome
                            })
                            .collect()
                    };
                    match &self.pool {
                        Some(pool) => pool.install(work),
                        None => work(),
                    }
                } else {
                    let mut state = self.take_state();
                    let outcomes =
                        batches.iter().map(|batch| whole.batch(&mut state, block, batch)).collect();
                    self.put_state(state);
                    outcomes
                };
                for outcome in outcomes {
                    self.take_in(block.file, outcome)?;
                }
                Ok(())
            }
            Reader::Parts(new) => {
                for span in spans {
                    self.part(block, *span, format, new)?;
                }
                Ok(())
            }
        }
    }

    /// Books what a batch of records gave.
    fn take_in(&mut self, file: u32, outcomes: Vec<Outcome<V::Out>>) -> Result<(), ReadError> {
        for (outcome, repaired) in outcomes {
            let tally = &mut self.tally.files[file as usize];
            tally.records += 1;
            tally.repaired += u64::from(repaired);
            match outcome {
                Ok((outs, issues)) => {
                    tally.used += 1;
                    tally.runs += outs.len() as u64;
                    self.tally.issues.extend(issues);
                    for out in outs {
                        (self.collect)(out);
                    }
                }
                Err(issue) => self.reject(file, issue)?,
            }
        }
        Ok(())
    }

    fn reject(&mut self, file: u32, issue: Issue) -> Result<(), ReadError> {
        if self.request.strict {
            return Err(ReadError::Strict {
                place: self.tally.locate(&issue),
                reason: issue.to_string(),
            });
        }
        self.tally.files[file as usize].reject(issue);
        Ok(())
    }

    /// Hands one record to the assembler of its format.
    fn part(
        &mut self,
        block: &Block<'_>,
        span: Span,
        format: &Format,
        new: fn(&ReadOptions) -> Box<dyn Assembler>,
    ) -> Result<(), ReadError> {
        let at = match self.assemblers.iter().position(|(name, _)| *name == format.name) {
            Some(at) => at,
            None => {
                self.assemblers.push((format.name, new(&self.request.options)));
                self.assemblers.len() - 1
            }
        };
        let mut queue = vec![(span, true)];
        while let Some((span, fresh)) = queue.pop() {
            let record = block.record(span);
            let mut fate = self.assemblers[at].1.push(&record);
            let mut repaired = false;
            if let Fate::Refused(refusal) = &fate
                && fresh
            {
                if let Some(more) = block.within(span, format) {
                    queue.extend(more.into_iter().rev().map(|span| (span, false)));
                    continue;
                }
                if refusal.repairable
                    && let Ok(fixed) = repair::repair(record.bytes)
                {
                    fate = self.assemblers[at].1.push(&Record { bytes: &fixed, ..record });
                    repaired = true;
                }
            }
            let tally = &mut self.tally.files[block.file as usize];
            tally.records += 1;
            match fate {
                Fate::Used => {
                    tally.used += 1;
                    tally.repaired += u64::from(repaired);
                }
                Fate::Merged(rule) => *tally.merged.entry(rule).or_default() += 1,
                Fate::Ignored(rule) => *tally.ignored.entry(rule).or_default() += 1,
                Fate::Refused(refusal) => {
                    let message = describe(&refusal, record.bytes);
                    self.reject(block.file, Issue::rejected(refusal.code, record.place, message))?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Tally, ReadError> {
        for (_, assembler) in std::mem::take(&mut self.assemblers) {
            let parsed = assembler.finish();
            let mut state = self.take_state();
            for run in &parsed.runs {
                if let Some(file) = self.tally.files.get_mut(run.place.file as usize) {
                    file.runs += 1;
                }
                (self.collect)(self.visitor.visit(&mut state, run));
            }
            self.put_state(state);
            for issue in parsed.issues {
                if issue.severity == crate::model::Severity::Rejected {
                    self.reject(issue.place.file, issue)?;
                } else {
                    self.tally.issues.push(issue);
                }
            }
        }
        for state in self.states.into_inner().unwrap_or_default() {
            self.visitor.retire(state);
        }
        Ok(self.tally)
    }

    fn take_state(&self) -> V::State {
        take(&self.states).unwrap_or_else(|| self.visitor.state())
    }

    fn put_state(&self, state: V::State) {
        put(&self.states, state);
    }
}

fn take<S>(states: &Mutex<Vec<S>>) -> Option<S> {
    states.lock().ok().and_then(|mut states| states.pop())
}

fn put<S>(states: &Mutex<Vec<S>>, state: S) {
    if let Ok(mut states) = states.lock() {
        states.push(state);
    }
}

/// Groups consecutive records so that a task is worth a thread's while.
fn batches(spans: &[Span]) -> Vec<&[Span]> {
    let (mut batches, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (nth, span) in spans.iter().enumerate() {
        bytes += span.end - span.start;
        if bytes >= BATCH {
            batches.push(&spans[first..=nth]);
            (first, bytes) = (nth + 1, 0);
        }
    }
    if first < spans.len() {
        batches.push(&spans[first..]);
    }
    batches
}

/// A block of a file.
struct Block<'b> {
    bytes: &'b [u8],
    /// Offset of its first byte in the file.
    base: u64,
    file: u32,
    path: &'b Path,
}

impl<'b> Block<'b> {
    fn record(&self, span: Span) -> Record<'b> {
        Record {
            bytes: &self.bytes[span.start..span.end],
            place: Place { file: self.file, line: span.line, byte: self.base + span.start as u64 },
            path: self.path,
        }
    }

    /// The records inside a refused one: the elements it wraps, or the sound ones that its damage hides.
    fn within(&self, span: Span, format: &Format) -> Option<Vec<Span>> {
        let bytes = &self.bytes[span.start..span.end];
        if let Some(elements) = wrapped_elements(bytes, format.wrappers)
            && format.wrappers.iter().any(|key| !key.is_empty())
        {
            let shift = |inner: Span| Span {
                start: span.start + inner.start,
                end: span.start + inner.end,
                line: 0,
            };
            return Some(elements.into_iter().map(shift).collect());
        }
        if span.line > 0 {
            return None; // a line holds no other record
        }
        let column = self.bytes[..span.start].iter().rev().take_while(|b| **b != b'\n').count();
        let cuts = restarts(bytes, column);
        if cuts.is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
            return None;
        }
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain(std::iter::once(bytes.len()));
        let trimmed = |(start, end): (usize, usize)| {
            // What separates it from the next element, or closes the array, is no part of it.
            let text = bytes[start..end].trim_ascii_end();
            let after = |b: &u8| matches!(b, b',' | b']' | b' ' | b'\t' | b'\r' | b'\n');
            let length = end_of_value(text)
                .filter(|length| text[*length..].iter().all(after))
                .unwrap_or(text.len());
            Span { start: span.start + start, end: span.start + start + length, line: 0 }
        };
        Some(starts.zip(ends).map(trimmed).collect())
    }
}

/// The reader of a format whose records are whole runs, with what every record needs.
struct WholeReader<'w, V: Visitor> {
    parse: for<'r> fn(&Record<'r>, &ReadOptions) -> Result<Parsed<'r>, Refusal>,
    format: &'w Format,
    options: &'w ReadOptions,
    visitor: &'w V,
}

impl<V: Visitor> WholeReader<'_, V> {
    fn batch(
        &self,
        state: &mut V::State,
        block: &Block<'_>,
        spans: &[Span],
    ) -> Vec<Outcome<V::Out>> {
        let mut outcomes = Vec::with_capacity(spans.len());
        for span in spans {
            self.record(state, block, *span, true, &mut outcomes);
        }
        outcomes
    }

    /// Reads one record: strictly, then what it wraps or hides, then repaired.
    fn record(
        &self,
        state: &mut V::State,
        block: &Block<'_>,
        span: Span,
        fresh: bool,
        outcomes: &mut Vec<Outcome<V::Out>>,
    ) {
        let record = block.record(span);
        let refusal = match (self.parse)(&record, self.options) {
            Ok(parsed) => {
                outcomes.push((Ok(self.visit(state, &parsed.runs, parsed.issues)), false));
                return;
            }
            Err(refusal) => refusal,
        };
        if fresh && let Some(inner) = block.within(span, self.format) {
            for span in inner {
                self.record(state, block, span, false, outcomes);
            }
            return;
        }
        if refusal.repairable
            && let Ok(fixed) = repair::repair(record.bytes)
            && let Ok(parsed) = (self.parse)(&Record { bytes: &fixed, ..record }, self.options)
        {
            outcomes.push((Ok(self.visit(state, &parsed.runs, parsed.issues)), true));
            return;
        }
        let message = describe(&refusal, record.bytes);
        outcomes.push((Err(Issue::rejected(refusal.code, record.place, message)), false));
    }

    fn visit(
        &self,
        state: &mut V::State,
        runs: &[Trajectory<'_>],
        issues: Vec<Issue>,
    ) -> (Vec<V::Out>, Vec<Issue>) {
        (runs.iter().map(|run| self.visitor.visit(state, run)).collect(), issues)
    }
}

/// The reason of a refusal; for damage, the one that the repairer gives, with its byte.
fn describe(refusal: &Refusal, bytes: &[u8]) -> String {
    if !refusal.repairable {
        return refusal.message.clone();
    }
    match repair::repair(bytes) {
        Ok(_) => refusal.message.clone(),
        Err(error) => format!("{} at byte {} of the record", error.reason, error.offset),
    }
}
