//! The reading loop: blocks to records, records to runs, in parallel and in input order.

use std::io::Read;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::block::{Block, Depth, Outcome, WholeReader, batches, cut_between, describe};
use super::feed::Feed;
use super::formats::{self, Assembler, Fate, Format, Reader, Record, TRUNCATED};
use super::source::{self, Source, Stream};
use super::split::{Framing, Span, Splitter};
use super::{FileTally, ReadError, Tally, repair};
use crate::config::ReadOptions;
use crate::model::{Issue, Place, Trajectory};

/// Bytes read at a time; a record may be longer.
const BLOCK: usize = 4 << 20;

/// Bytes read at first.
const FIRST: usize = 64 << 10;

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
        assemblers: Vec::new(),
    };
    for source in sources {
        session.file(source)?;
    }
    session.finish()
}

struct Session<'s, V: Visitor> {
    request: &'s Request<'s>,
    visitor: &'s V,
    collect: &'s mut dyn FnMut(V::Out),
    tally: Tally,
    states: Mutex<Vec<V::State>>,
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
        stream: Box<dyn Read + Send>,
        path: &Path,
        named: bool,
    ) -> Result<(), ReadError> {
        let mut feed = Feed::new(stream, self.request.progress);
        // The first block is small, because most files are; later ones are read at full size.
        feed.fill(FIRST);
        feed.fill(BLOCK);
        if feed.bytes().starts_with(b"\xEF\xBB\xBF") {
            feed.done(3);
        }
        let framing = Framing::of(feed.bytes());
        let format = match self.request.format {
            Some(format) => format,
            None => match formats::detect(path, feed.bytes(), framing) {
                Ok(format) => format,
                Err(reason) if named => {
                    return Err(ReadError::Unrecognised { path: path.to_owned(), reason });
                }
                Err(reason) => {
                    self.leave_out(path, reason);
                    return Ok(());
                }
            },
        };
        let framing = match framing {
            Framing::Elements if !format.splits_arrays => Framing::Values,
            framing => framing,
        };
        let file = self.begin(path, format);
        let mut splitter = Splitter::new(framing);
        let mut spans = Vec::new();
        loop {
            spans.clear();
            let done = splitter.split(feed.bytes(), feed.ended(), &mut spans);
            let block = Block { bytes: feed.bytes(), base: feed.offset(), file, path };
            self.block(&block, &spans, format)?;
            feed.done(done);
            if feed.ended() {
                break;
            }
            feed.fill(BLOCK);
        }
        let place = Place { file, line: 0, byte: feed.offset() };
        let cut = match feed.damage() {
            Some(reason) => Some(Issue::warning(
                "damaged_stream",
                place,
                format!("the stream ends in an error: {reason}; what came before it was read"),
            )),
            None => splitter.cut_between().then(|| cut_between(place)),
        };
        if let Some(issue) = cut {
            // A stream that is cut off may have lost whole records, which --strict must not pass over.
            if self.request.strict {
                let (place, reason) = (self.tally.locate(&issue), issue.to_string());
                return Err(ReadError::Strict { place, reason });
            }
            self.tally.issues.push(issue);
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
                let outcomes = in_parallel(self.request.threads, batches.len(), &|at| {
                    let mut state = take(&self.states).unwrap_or_else(|| self.visitor.state());
                    let outcome = whole.batch(&mut state, block, batches[at]);
                    put(&self.states, state);
                    outcome
                });
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
        let mut queue = vec![(span, Depth::Outer)];
        let mut cut = false;
        while let Some((span, depth)) = queue.pop() {
            let record = block.record(span);
            let mut fate = self.assemblers[at].1.push(&record);
            let mut repaired = false;
            if let Fate::Refused(refusal) = &fate {
                if let Some((more, depth)) = block.within(span, depth, format) {
                    queue.extend(more.into_iter().rev().map(|span| (span, depth)));
                    cut = refusal.code == TRUNCATED;
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
                    // A cut-off last record tells of the cut by itself.
                    cut &= !queue.is_empty();
                    let message = describe(&refusal, record.bytes);
                    self.reject(block.file, Issue::rejected(refusal.code, record.place, message))?;
                }
            }
        }
        if cut {
            self.tally.issues.push(cut_between(block.end_of(span)));
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
                // Parts smaller than a record (spans) are told, and are no records of the tally.
                if self.request.strict && issue.severity == crate::model::Severity::Rejected {
                    let (place, reason) = (self.tally.locate(&issue), issue.to_string());
                    return Err(ReadError::Strict { place, reason });
                }
                self.tally.issues.push(issue);
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

/// Does `count` pieces of work on up to `threads` threads, this one among them, and gives the
/// results in order. Threads take the next piece as they come free; none of them spins while the
/// next block is read, which a pool's would.
fn in_parallel<T: Send>(
    threads: usize,
    count: usize,
    work: &(dyn Fn(usize) -> T + Sync),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return done;
            }
            done.push((at, work(at)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        // A thread that cannot be had leaves its share to the others.
        let others: Vec<_> = (1..threads.min(count))
            .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, run).ok())
            .collect();
        let mut done = run();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<S>(states: &Mutex<Vec<S>>) -> Option<S> {
    states.lock().ok().and_then(|mut states| states.pop())
}

fn put<S>(states: &Mutex<Vec<S>>, state: S) {
    if let Ok(mut states) = states.lock() {
        states.push(state);
    }
}
