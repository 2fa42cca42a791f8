//! Gemini CLI's sessions: one document, lines that patch one, or the events of `stream-json`.
//!
//! Owns what a record is and to which session it belongs. A document and a metadata line name their
//! session; lines behind one are of it; a file that names none continues the only session of the
//! input. What the patches leave of a session is decided in `session`.

mod message;
mod session;
mod stream;

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::agent_log::{At, Extent, stem, word};
use super::raw::{raw_fields, read};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Place, Severity};
use message::Message;
use stream::Events;

/// Gemini CLI's sessions.
pub const GEMINI_CLI: Format = Format {
    name: "gemini-cli",
    about: "Gemini CLI sessions (JSON, JSONL, or the output of `--output-format stream-json`)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(GeminiCli::new(options))),
    archive: None,
    misspelt: None,
};

raw_fields! {
    /// A record of any of the three forms.
    Line {
        kind = "type", id, timestamp, content, calls = "toolCalls", tokens, model,
        session = "sessionId", project = "projectHash", start = "startTime",
        updated = "lastUpdated", messages, session_kind = "kind", set = "$set",
        rewind = "$rewindTo", stream_session = "session_id", role, delta, tool_name, tool_id,
        parameters, status, output, error, stats, severity,
    }
}

raw_fields! {
    /// What a patch sets.
    Patch { messages, updated = "lastUpdated", session_kind = "kind" }
}

fn detect(probe: &Probe<'_>) -> bool {
    if probe.any_has(&["sessionId", "projectHash"])
        || probe
            .keys()
            .iter()
            .any(|keys| matches!(&keys[..], [key] if key == "$set" || key == "$rewindTo"))
    {
        return true;
    }
    // Written with its keys in order, a long session names itself only at its end.
    if probe.any_has(&["lastUpdated", "messages"]) && probe.records.iter().any(|r| speaks(r)) {
        return true;
    }
    const SHAPES: [(&[&str], &str); 5] = [
        (&["type", "tool_id", "timestamp"], "tool_use"),
        (&["type", "tool_id", "timestamp"], "tool_result"),
        (&["type", "session_id", "timestamp", "model"], "init"),
        (&["type", "id", "timestamp", "content"], "gemini"),
        (&["type", "status", "stats"], "result"),
    ];
    let is = |kind: &str| {
        probe.records.iter().any(|record| {
            let line: Option<Line<'_>> = quick::from_slice(record).ok();
            line.and_then(|line| word(line.kind)).as_deref() == Some(kind)
        })
    };
    SHAPES.iter().any(|(keys, kind)| probe.any_has(keys) && is(kind))
}

/// Whether a message of Gemini's stands in the first bytes.
fn speaks(record: &[u8]) -> bool {
    let head = record.get(..64 << 10).unwrap_or(record);
    [&b"\"type\":\"gemini\""[..], b"\"type\": \"gemini\""]
        .iter()
        .any(|mark| memchr::memmem::find(head, mark).is_some())
}

/// A change of the list of messages.
enum Change {
    /// A message is added, or takes the place of the one with its id.
    Put(Message),
    /// The list is this one from now on.
    Set(Vec<Message>),
    /// This message and all behind it are taken away.
    Rewind(String),
}

/// What one file tells of one session.
struct Part {
    place: Place,
    stem: String,
    folder: Option<String>,
    id: Option<String>,
    /// `main` or `subagent`, where it is recorded.
    kind: Option<String>,
    updated: Option<String>,
    extent: Extent,
    changes: Vec<Change>,
    events: Events,
}

struct GeminiCli {
    parts: Vec<Part>,
    /// The part that the last record of a file was of.
    open: HashMap<u32, usize>,
    seq: u64,
    raw: bool,
    tally: Tally,
}

impl GeminiCli {
    fn new(options: &ReadOptions) -> Self {
        let raw = options.raw_attempts;
        Self { parts: Vec::new(), open: HashMap::new(), seq: 0, raw, tally: Tally::default() }
    }

    /// The part that a record is of. Records before the first that names a session are of it, too.
    fn part(&mut self, record: &Record<'_>, id: Option<&str>) -> Option<&mut Part> {
        let file = record.place.file;
        let held = self.open.get(&file).copied();
        let fits = held
            .and_then(|at| self.parts.get(at))
            .is_some_and(|part| id.is_none() || part.id.is_none() || part.id.as_deref() == id);
        let at = match held.filter(|_| fits) {
            Some(at) => at,
            None => {
                let folder = record.path.parent().and_then(|folder| folder.file_name());
                self.parts.push(Part {
                    place: record.place,
                    stem: stem(record.path),
                    folder: folder.map(|name| name.to_string_lossy().into_owned()),
                    id: None,
                    kind: None,
                    updated: None,
                    extent: Extent::default(),
                    changes: Vec::new(),
                    events: Events::default(),
                });
                self.open.insert(file, self.parts.len() - 1);
                self.parts.len() - 1
            }
        };
        let part = self.parts.get_mut(at)?;
        if part.id.is_none() {
            part.id = id.map(str::to_owned);
        }
        Some(part)
    }

    fn line(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        if record.bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Refusal::of("not_an_object", "the record is no JSON object"));
        }
        let line: Line<'_> = quick::from_slice(record.bytes)?;
        let id = word(line.session).or_else(|| word(line.stream_session));
        let kind = word(line.kind);
        if kind.is_none() && id.is_some() {
            return Ok(self.session_record(&line, id.as_deref(), record));
        }
        if line.set.is_some() || line.rewind.is_some() {
            return Ok(self.patch(&line, record));
        }
        let Some(kind) = kind else {
            return Err(Refusal::of("line_without_type", "the record has no `type`"));
        };
        self.seq += 1;
        let at = At::new(self.seq, line.timestamp);
        let is_event = line.tool_id.is_some()
            || line.role.is_some()
            || line.severity.is_some()
            || matches!(kind.as_str(), "init" | "result" | "message" | "tool_use" | "tool_result");
        let raw = self.raw;
        if is_event {
            let Some(part) = self.part(record, id.as_deref()) else {
                return Ok(Fate::Ignored("other_line_type"));
            };
            part.extent.see(&at);
            let fate = part.events.take(&line, &kind, at, raw);
            if fate == Fate::Ignored("error_event") {
                let rule = "errors and warnings that the agent went on after; they are no step";
                self.tally.count("error_events", Severity::Note, record.place, rule);
            }
            return Ok(fate);
        }
        if line.id.is_none() && line.content.is_none() {
            return Ok(Fate::Ignored("other_line_type"));
        }
        let message = Message::of(&line, &kind, at, raw);
        if let Some(part) = self.part(record, None) {
            part.changes.push(Change::Put(message));
        }
        Ok(Fate::Used)
    }

    /// A whole session, or the line that names one.
    fn session_record(&mut self, line: &Line<'_>, id: Option<&str>, record: &Record<'_>) -> Fate {
        let messages = self.messages(line.messages, record);
        let times = [line.start, line.updated].map(|time| At::new(self.seq, time));
        if let Some(part) = self.part(record, id) {
            part.kind = word(line.session_kind).or(part.kind.take());
            part.updated = word(line.updated).or(part.updated.take());
            times.iter().for_each(|at| part.extent.see(at));
            part.changes.extend(messages.into_iter().map(Change::Put));
        }
        Fate::Used
    }

    fn patch(&mut self, line: &Line<'_>, record: &Record<'_>) -> Fate {
        let patch: Patch<'_> = line.set.and_then(read).unwrap_or_default();
        let set = patch.messages.map(|messages| self.messages(Some(messages), record));
        let updated = At::new(self.seq, patch.updated);
        let Some(part) = self.part(record, None) else { return Fate::Used };
        part.kind = word(patch.session_kind).or(part.kind.take());
        part.updated = word(patch.updated).or(part.updated.take());
        part.extent.see(&updated);
        part.changes.extend(set.map(Change::Set));
        part.changes.extend(line.rewind.and_then(|id| word(Some(id))).map(Change::Rewind));
        Fate::Used
    }

    /// The messages of a list; elements that are none are told.
    fn messages(&mut self, list: Option<&RawValue>, record: &Record<'_>) -> Vec<Message> {
        let Some(list) = list else { return Vec::new() };
        let elements: Vec<&RawValue> = read(list).unwrap_or_default();
        let mut messages = Vec::with_capacity(elements.len());
        let mut bad = 0;
        for element in elements {
            let line: Option<Line<'_>> = read(element);
            let Some((line, kind)) = line.and_then(|line| Some((word(line.kind)?, line))).map(swap)
            else {
                bad += 1;
                continue;
            };
            self.seq += 1;
            let at = At::new(self.seq, line.timestamp);
            messages.push(Message::of(&line, &kind, at, self.raw));
        }
        let rule = "messages of a session that are no objects with a `type`";
        self.tally.add("unreadable_messages", Severity::Warning, record.place, rule, bad);
        messages
    }
}

fn swap<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}

impl Assembler for GeminiCli {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.line(record).unwrap_or_else(Fate::Refused)
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        let runs = session::runs(std::mem::take(&mut self.parts), self.raw, &mut self.tally);
        Parsed { runs, issues: self.tally.into_issues().collect() }
    }
}
