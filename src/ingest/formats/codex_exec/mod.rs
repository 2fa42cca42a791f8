//! What `codex exec --json` prints: threads, turns and items, without any time.
//!
//! Owns how items become steps. An item counts once, by its completion; one that was only started
//! is open. Items have no id of their own beyond one process, so a file that is whole again under
//! another name is told by all of its lines together. Without times the order of steps is that of
//! the lines: a shuffled file keeps its counts, and loses which step was a retry.

mod item;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::agent_log::{At, Call, Event, Turn, What, attempts, delivered};
use super::agent_log::{stem, word};
use super::codex::{Usage, tokens};
use super::raw::{quoted, raw_fields, read};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{EndRule, Place, Severity, Tokens, Trajectory};
use item::{Item, Said, call, outcome};

/// The output of `codex exec --json`.
pub const CODEX_EXEC: Format = Format {
    name: "codex-exec",
    about: "the output of `codex exec --json` (JSONL)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(CodexExec::new(options))),
    archive: None,
    misspelt: None,
};

raw_fields! {
    /// One line.
    Line { kind = "type", thread_id, item, usage, error, message }
}

fn detect(probe: &Probe<'_>) -> bool {
    const TYPES: [&str; 7] = [
        "thread.started",
        "turn.started",
        "turn.completed",
        "turn.failed",
        "item.started",
        "item.updated",
        "item.completed",
    ];
    let shapes: [&[&str]; 4] = [&["thread_id"], &["item"], &["usage"], &["type"]];
    shapes.iter().any(|keys| probe.any_has(keys))
        && probe.records.iter().any(|record| {
            // The type stands in front; a line that long is an item's and begins like any other.
            let line: Option<Line<'_>> = quick::from_slice(record).ok();
            let kind = line.and_then(|line| word(line.kind));
            kind.is_some_and(|kind| TYPES.contains(&kind.as_str()))
        })
}

/// How a turn of the user ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Completed,
    Failed,
}

/// The lines of one file that are of one thread.
struct Part {
    place: Place,
    stem: String,
    thread: Option<String>,
    events: Vec<Event>,
    /// Items that were started, by id and what they do, and those that ended, taken off.
    started: Vec<(At, Call)>,
    ended: HashMap<(Option<String>, Option<u64>), u64>,
    tokens: Vec<Tokens>,
    end: Option<End>,
    error: Option<String>,
    words: Option<String>,
    /// Number of lines and the sum of their hashes: equal for the same lines in any order.
    sum: (u64, u64),
}

impl Part {
    fn new(record: &Record<'_>, thread: Option<String>) -> Self {
        Self {
            place: record.place,
            stem: stem(record.path),
            thread,
            events: Vec::new(),
            started: Vec::new(),
            ended: HashMap::new(),
            tokens: Vec::new(),
            end: None,
            error: None,
            words: None,
            sum: (0, 0),
        }
    }

    fn absorb(&mut self, other: Self) {
        self.place = self.place.min(other.place);
        self.events.extend(other.events);
        self.started.extend(other.started);
        for (key, count) in sorted(other.ended) {
            *self.ended.entry(key).or_default() += count;
        }
        self.tokens.extend(other.tokens);
        self.end = other.end.or(self.end);
        self.error = other.error.or(self.error.take());
        self.words = other.words.or(self.words.take());
    }
}

/// The entries of a map in an order that no hasher decides.
fn sorted<K: Ord, V>(map: HashMap<K, V>) -> Vec<(K, V)> {
    let mut entries: Vec<(K, V)> = map.into_iter().collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries
}

struct CodexExec {
    parts: Vec<Part>,
    /// The part of each file that its last line was of.
    open: HashMap<u32, usize>,
    seq: u64,
    raw: bool,
    tally: Tally,
}

impl CodexExec {
    fn new(options: &ReadOptions) -> Self {
        let raw = options.raw_attempts;
        Self { parts: Vec::new(), open: HashMap::new(), seq: 0, raw, tally: Tally::default() }
    }

    /// The part that a line is of. Lines before the first `thread.started` of a file are of its
    /// thread as well; another thread's starts another part.
    fn part(&mut self, record: &Record<'_>, thread: Option<&str>) -> Option<&mut Part> {
        let file = record.place.file;
        let held = self.open.get(&file).copied();
        let fits = held.and_then(|at| self.parts.get(at)).is_some_and(|part| {
            thread.is_none() || part.thread.is_none() || part.thread.as_deref() == thread
        });
        let at = match held.filter(|_| fits) {
            Some(at) => at,
            None => {
                self.parts.push(Part::new(record, None));
                self.open.insert(file, self.parts.len() - 1);
                self.parts.len() - 1
            }
        };
        let part = self.parts.get_mut(at)?;
        if part.thread.is_none() {
            part.thread = thread.map(str::to_owned);
        }
        Some(part)
    }

    fn line(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        if record.bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Refusal::of("not_an_object", "the line is no JSON object"));
        }
        let line: Line<'_> = quick::from_slice(record.bytes)?;
        let Some(kind) = word(line.kind) else {
            return Err(Refusal::of("line_without_type", "the line has no `type`"));
        };
        self.seq += 1;
        let (seq, raw) = (self.seq, self.raw);
        let at = At { seq, ..At::default() };
        let hash = xxh3_64(record.bytes);
        let said = |raw: Option<&RawValue>| {
            let error: Option<Said<'_>> = raw.and_then(read);
            word(error.and_then(|error| error.message)).or_else(|| word(raw))
        };
        let thread = word(line.thread_id);
        let Some(part) = self.part(record, thread.as_deref()) else {
            return Ok(Fate::Ignored("other_line_type"));
        };
        part.sum = (part.sum.0 + 1, part.sum.1.wrapping_add(hash));
        match kind.as_str() {
            "thread.started" | "turn.started" => {}
            "turn.completed" => {
                part.end = Some(End::Completed);
                part.tokens.extend(line.usage.and_then(read::<Usage<'_>>).and_then(|u| tokens(&u)));
            }
            "turn.failed" => {
                part.end = Some(End::Failed);
                part.error = said(line.error).or(part.error.take());
            }
            "error" => {
                let told = said(line.message).or_else(|| said(line.error)).unwrap_or_default();
                if told.starts_with("Reconnecting") || told.starts_with("stream error") {
                    let rule = "model calls that were tried again after a broken stream";
                    self.tally.count("api_retries", Severity::Note, record.place, rule);
                    return Ok(Fate::Ignored("reconnecting"));
                }
                part.error = Some(told);
            }
            "item.updated" => return Ok(Fate::Ignored("item_updated")),
            "item.started" | "item.completed" => {
                let Some(item) = line.item.and_then(read::<Item<'_>>) else {
                    return Err(Refusal::of("item_not_an_object", "its `item` is no object"));
                };
                let started = kind == "item.started";
                return Ok(self.item(&item, started, at, record, raw));
            }
            _ => return Ok(Fate::Ignored("other_line_type")),
        }
        Ok(Fate::Used)
    }

    fn item(
        &mut self,
        item: &Item<'_>,
        started: bool,
        at: At,
        record: &Record<'_>,
        raw: bool,
    ) -> Fate {
        let kind = word(item.kind).or_else(|| word(item.item_type)).unwrap_or_default();
        match kind.as_str() {
            "reasoning" => return Fate::Ignored("reasoning"),
            "todo_list" => return Fate::Ignored("todo_list"),
            "error" => {
                let rule = "errors and warnings that the agent went on after; they are no step";
                self.tally.count("error_items", Severity::Note, record.place, rule);
                return Fate::Ignored("error_item");
            }
            "agent_message" | "assistant_message" if started => {
                return Fate::Ignored("item_started");
            }
            _ => {}
        }
        let Some(part) = self.part(record, None) else { return Fate::Ignored("other_line_type") };
        if matches!(kind.as_str(), "agent_message" | "assistant_message") {
            let content = raw.then(|| item.text.map(|text| text.get().to_owned())).flatten();
            part.words = word(item.text).or(part.words.take());
            let what = What::Turn(Turn { content, ..Turn::default() });
            part.events.push(Event { at, what });
            return Fate::Used;
        }
        let call = call(item, &kind, raw);
        if started {
            part.started.push((at, call));
            return Fate::Used;
        }
        *part.ended.entry((word(item.id), call.input)).or_default() += 1;
        let outcome = outcome(item, raw);
        // The ids of items begin anew with each process, so they are no ids of calls.
        let call = Call { id: None, ..call };
        part.events.push(Event { at, what: What::Done(call, outcome, At::default()) });
        Fate::Used
    }
}

impl Assembler for CodexExec {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.line(record).unwrap_or_else(Fate::Refused)
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        let (mut runs, mut nameless): (Vec<Part>, Vec<Part>) = (Vec::new(), Vec::new());
        let mut by_thread: HashMap<String, usize> = HashMap::new();
        let mut whole: HashMap<String, Vec<(u64, u64)>> = HashMap::new();
        for part in std::mem::take(&mut self.parts) {
            let Some(thread) = part.thread.clone() else {
                nameless.push(part);
                continue;
            };
            let known = whole.entry(thread.clone()).or_default();
            if known.contains(&part.sum) {
                let rule = "lines of a file that holds the same as another one; each counts once";
                self.tally.add("copied_lines", Severity::Note, part.place, rule, part.sum.0);
                continue;
            }
            // Resumed threads have few files; more are compared with the last ones alone.
            if known.len() == 64 {
                known.remove(0);
            }
            known.push(part.sum);
            let at = *by_thread.entry(thread).or_insert(runs.len());
            match runs.get_mut(at) {
                Some(run) => run.absorb(part),
                None => runs.push(part),
            }
        }
        let single = runs.len() == 1;
        for part in nameless {
            match runs.first_mut().filter(|_| single) {
                Some(run) => run.absorb(part),
                None => {
                    let rule = "files without `thread.started`; each is a run named after its file";
                    let (code, severity) = ("thread_without_start", Severity::Warning);
                    self.tally.count(code, severity, part.place, rule);
                    runs.push(part);
                }
            }
        }
        runs.sort_by_key(|part| part.place);
        let raw = self.raw;
        let runs = runs.into_iter().map(|part| part.finish(raw, &mut self.tally)).collect();
        Parsed { runs, issues: self.tally.into_issues().collect() }
    }
}

impl Part {
    fn finish(mut self, raw: bool, tally: &mut Tally) -> Trajectory<'static> {
        for (at, call) in std::mem::take(&mut self.started) {
            let ended = self.ended.get_mut(&(call.id.clone(), call.input));
            match ended {
                Some(count) if *count > 0 => *count -= 1,
                _ => {
                    let call = Call { id: None, ..call };
                    self.events.push(Event { at, what: What::Call(call) });
                }
            }
        }
        // The counts of a thread go on from turn to turn: the largest is the whole.
        let tokens = self.tokens.into_iter().max_by(|a, b| a.total().total_cmp(&b.total()));
        let mut run = Trajectory {
            place: self.place,
            run_id: Some(Cow::Owned(self.thread.unwrap_or(self.stem))),
            agent: Some("codex".into()),
            tokens,
            ..Trajectory::default()
        };
        match (self.end, &self.error) {
            (Some(End::Completed), _) => {}
            (Some(End::Failed), _) | (None, Some(_)) => run.format_outcome = Some(false),
            (None, None) => run.end_rule = Some(EndRule::Unfinished),
        }
        let failed = run.format_outcome == Some(false);
        let error = self.error.filter(|_| failed);
        run.final_output = delivered(&[
            ("error", error.as_deref().map(quoted).as_deref()),
            ("output", self.words.as_deref().map(quoted).as_deref()),
        ]);
        run.attempts = attempts(self.events, self.place, raw, tally);
        run
    }
}
