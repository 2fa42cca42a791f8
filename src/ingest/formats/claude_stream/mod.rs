//! What `claude -p --output-format stream-json` and the Agent SDK print: one JSON message a line.
//!
//! Owns sessions and their ends. A run is a session, and one more per sub-agent (the messages with
//! a `parent_tool_use_id`), as in `claude-code`. Tokens and cost are the session's own sums from the
//! last `result` of each file, because the usage on the messages is partial. Few lines have a time, so the order
//! of steps is that of the lines: a shuffled file keeps its counts, and loses which step was a
//! retry. Refuses text between the lines, which is told line by line.

mod session;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::agent_log::{At, Call, Event, Extent, Outcome, Turn, What, stem, word};
use super::claude_code::call::judged;
use super::claude_code::wire::{self, Message};
use super::raw::{is_true, quoted, raw_fields, read};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin, Place, Severity};
use session::{Ended, Session};

/// The stream of messages of Claude Code.
pub const CLAUDE_STREAM: Format = Format {
    name: "claude-stream",
    about: "the output of `claude --output-format stream-json` (JSONL)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(ClaudeStream::new(options))),
    archive: None,
    misspelt: None,
};

raw_fields! {
    /// One line.
    Line {
        kind = "type", subtype, session_id, uuid, parent = "parent_tool_use_id", message, timestamp,
        model, cwd, version = "claude_code_version", is_error, result, errors, error, usage,
        model_usage = "modelUsage", total_cost_usd, duration_ms, num_turns, terminal_reason,
        denials = "permission_denials",
    }
}

raw_fields! {
    /// A call that was not permitted.
    Denial { id = "tool_use_id", name = "tool_name" }
}

fn detect(probe: &Probe<'_>) -> bool {
    const SHAPES: [&[&str]; 5] = [
        &["type", "subtype", "session_id", "cwd"],
        &["type", "message", "session_id", "parent_tool_use_id"],
        &["type", "subtype", "is_error", "num_turns"],
        &["type", "event", "session_id", "parent_tool_use_id"],
        &["type", "subtype", "session_id", "uuid"],
    ];
    SHAPES.iter().any(|keys| probe.any_has(keys))
}

struct ClaudeStream {
    sessions: Vec<Session>,
    by_key: HashMap<(String, Option<String>), usize>,
    /// File and hash of the line of each uuid.
    uuids: HashMap<String, (u32, u64)>,
    seq: u64,
    raw: bool,
    tally: Tally,
}

impl ClaudeStream {
    fn new(options: &ReadOptions) -> Self {
        Self {
            sessions: Vec::new(),
            by_key: HashMap::new(),
            uuids: HashMap::new(),
            seq: 0,
            raw: options.raw_attempts,
            tally: Tally::default(),
        }
    }

    fn session(&mut self, id: &str, call: Option<String>, place: Place) -> Option<&mut Session> {
        let next = self.sessions.len();
        let at = *self.by_key.entry((id.to_owned(), call.clone())).or_insert(next);
        if at == next {
            self.sessions.push(Session {
                place,
                id: id.to_owned(),
                call,
                events: Vec::new(),
                extent: Extent::default(),
                init_model: None,
                models: Vec::new(),
                labels: [None, None],
                denials: Vec::new(),
                ended: BTreeMap::new(),
                words: None,
                interrupted: false,
            });
        }
        let session = self.sessions.get_mut(at)?;
        session.place = session.place.min(place);
        Some(session)
    }

    fn line(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        if record.bytes.trim_ascii_start().first() != Some(&b'{') {
            let reason =
                "the line is no JSON object but text that was printed between the messages";
            return Err(Refusal::of("not_an_object", reason));
        }
        let line: Line<'_> = quick::from_slice(record.bytes)?;
        let Some(kind) = word(line.kind) else {
            return Err(Refusal::of("line_without_type", "the line has no `type`"));
        };
        let subtype = word(line.subtype);
        match (kind.as_str(), subtype.as_deref()) {
            ("assistant" | "user" | "result", _) | ("system", Some("init")) => {}
            ("system", Some("api_retry")) => {
                let rule = "model calls that were tried again after an API error";
                self.tally.count("api_retries", Severity::Note, record.place, rule);
                return Ok(Fate::Ignored("api_retry"));
            }
            ("system", _) => return Ok(Fate::Ignored("system")),
            ("stream_event", _) => return Ok(Fate::Ignored("stream_event")),
            ("rate_limit_event", _) => return Ok(Fate::Ignored("rate_limit_event")),
            _ => return Ok(Fate::Ignored("other_line_type")),
        }
        if let Some(uuid) = word(line.uuid) {
            let hash = xxh3_64(record.bytes);
            let file = record.place.file;
            match self.uuids.get(&uuid) {
                Some(&(held, same)) if held != file || same == hash => {
                    return Ok(Fate::Merged("duplicate_uuid"));
                }
                Some(_) => {}
                None => {
                    self.uuids.insert(uuid, (file, hash));
                }
            }
        }
        self.seq += 1;
        let at = At::new(self.seq, line.timestamp);
        let id = word(line.session_id).unwrap_or_else(|| stem(record.path));
        if kind == "assistant" || kind == "user" {
            return self.message(&line, kind == "assistant", &id, at, record);
        }
        let Some(session) = self.session(&id, None, record.place) else {
            return Ok(Fate::Ignored("other_line_type"));
        };
        session.extent.see(&at);
        if kind == "system" {
            session.init_model = word(line.model).or(session.init_model.take());
            session.labels = [word(line.version), word(line.cwd)];
            return Ok(Fate::Used);
        }
        let denials: Vec<Denial<'_>> = line.denials.and_then(read).unwrap_or_default();
        session.denials.extend(denials.iter().map(|denial| (word(denial.id), word(denial.name))));
        let (file, hash) = (record.place.file, xxh3_64(record.bytes.trim_ascii()));
        // Older versions give a result no uuid by which a copy of the file is known.
        if session.ended.iter().any(|(of, ended)| *of != file && ended.hash == hash) {
            return Ok(Fate::Merged("same_result"));
        }
        if session.ended.insert(file, Ended::of(&line, subtype, hash)).is_some() {
            let rule = "results of a session in a file before its last; the last one counts";
            self.tally.count("earlier_results", Severity::Note, record.place, rule);
        }
        Ok(Fate::Used)
    }

    fn message(
        &mut self,
        line: &Line<'_>,
        assistant: bool,
        id: &str,
        at: At,
        record: &Record<'_>,
    ) -> Result<Fate, Refusal> {
        let Some(message) = wire::object::<Message<'_>>(line.message) else {
            return Err(Refusal::of("message_not_an_object", "its `message` is no object"));
        };
        let raw = self.raw;
        let (blocks, bad) = wire::blocks(message.content);
        let rule = "elements of a message's content that are no objects";
        self.tally.add("unreadable_blocks", Severity::Warning, record.place, rule, bad);
        let Some(session) = self.session(id, word(line.parent), record.place) else {
            return Ok(Fate::Ignored("other_line_type"));
        };
        session.extent.see(&at);
        let mut said = None;
        let mut event = |what| session.events.push(Event { at: at.clone(), what });
        if assistant {
            let model = word(message.model).filter(|model| model != "<synthetic>");
            session.models.extend(model.clone());
            let failed = word(line.error);
            event(What::Turn(Turn {
                id: word(message.id).or_else(|| word(line.uuid)),
                model,
                error: failed.map(|kind| ErrorInfo {
                    kind: Some(Cow::Owned(kind)).filter(|kind| kind != "unknown"),
                    message: None,
                    origin: ErrorOrigin::Recorded,
                }),
                content: message.content.filter(|_| raw).map(|content| content.get().to_owned()),
                ..Turn::default()
            }));
        }
        for block in &blocks {
            match wire::text(block.kind).as_deref() {
                Some("tool_use") if assistant => event(What::Call(Call {
                    id: word(block.id),
                    name: word(block.name),
                    input: wire::input(block.input),
                    text: block.input.filter(|_| raw).map(|input| input.get().to_owned()),
                })),
                Some("tool_result") => {
                    let failed = is_true(block.is_error);
                    let text = wire::result_text(block.content).filter(|_| failed || raw);
                    let kept = text.as_deref().filter(|_| raw).map(quoted);
                    let (status, error) = match failed.then(|| judged(text.unwrap_or_default())) {
                        Some(Ok(status)) => (Some(status), None),
                        Some(Err(error)) => (None, Some(error)),
                        None => (None, None),
                    };
                    let id = word(block.tool_use_id);
                    event(What::Outcome(Outcome {
                        id,
                        error,
                        status,
                        text: kept,
                        ..Outcome::default()
                    }));
                }
                None | Some("text") => said = wire::text(block.text).or(said),
                _ => {}
            }
        }
        let stopped =
            said.as_deref().is_some_and(|said| said.starts_with("[Request interrupted by user"));
        session.interrupted = !assistant && stopped;
        if assistant {
            session.words = said.or(session.words.take());
        }
        Ok(Fate::Used)
    }
}

impl Assembler for ClaudeStream {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.line(record).unwrap_or_else(Fate::Refused)
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        let mut calls: HashMap<(String, String), usize> = HashMap::new();
        for (at, session) in self.sessions.iter().enumerate() {
            for event in &session.events {
                if let What::Call(Call { id: Some(id), .. }) = &event.what {
                    calls.insert((session.id.clone(), id.clone()), at);
                }
            }
        }
        // A refused call may be a sub-agent's, while the session alone tells of it.
        for at in 0..self.sessions.len() {
            let Some(session) = self.sessions.get_mut(at) else { continue };
            let id = session.id.clone();
            for (call, name) in std::mem::take(&mut session.denials) {
                let home = call.as_ref().and_then(|call| calls.get(&(id.clone(), call.clone())));
                let Some(session) = self.sessions.get_mut(*home.unwrap_or(&at)) else { continue };
                let at = At { seq: u64::MAX, micros: Some(i64::MAX), stamp: None };
                let outcome =
                    Outcome { id: call, name, status: Some("denied"), ..Outcome::default() };
                session.events.push(Event { at, what: What::Outcome(outcome) });
            }
        }
        self.sessions.sort_by_key(|session| session.place);
        let (raw, mut tally) = (self.raw, self.tally);
        let runs = self.sessions.into_iter().map(|session| session.finish(raw, &mut tally));
        let runs = runs.collect();
        Parsed { runs, issues: tally.into_issues().collect() }
    }
}
