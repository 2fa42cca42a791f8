//! Codex's rollouts: one file per session, forks and sub-agents with files of their own.
//!
//! Owns what a line is and to which file it belongs; which session a file is of, and what of it is
//! a replay of another one, is decided in `session` once all files are read. Refuses lines without
//! a `payload`, as the first versions wrote them.

mod output;
mod run;
mod session;
mod wire;

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::agent_log::{At, Call, Event, Outcome, What, stem, word};
use super::raw::{self, read};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Place, Severity, Tokens};
use wire::{Line, Meta, Payload};

pub(super) use wire::{Usage, tokens};

/// Codex's rollouts.
pub const CODEX: Format = Format {
    name: "codex",
    about: "Codex rollouts (JSONL, one file a session)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(Codex::new(options))),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    const TYPES: [&str; 5] =
        ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
    probe.any_has(&["type", "payload"])
        && probe.records.iter().any(|record| {
            let line: Option<Line<'_>> = quick::from_slice(record).ok();
            let kind = line.and_then(|line| word(line.kind));
            kind.is_some_and(|kind| TYPES.contains(&kind.as_str()))
        })
}

/// What a line says.
#[derive(Debug)]
enum Said {
    Event(What),
    /// A call of an MCP server with its end, which another record may tell as well.
    Mcp(Call, Outcome),
    /// The total of tokens so far.
    Tokens(Tokens),
    /// The model, and the turn of the user that it serves.
    Context(Option<String>, Option<String>),
    /// A turn of the user begins.
    Started(Option<String>),
    /// It is done, with the last words of the model.
    Complete(Option<String>, Option<String>),
    /// It was stopped, and why.
    Aborted(Option<String>, Option<String>),
    /// It broke.
    Broken,
    /// The last words of the model so far.
    Words(String),
    /// The user said something.
    User,
}

/// One line, owned.
#[derive(Debug)]
struct Entry {
    at: At,
    said: Said,
    /// Hash of the payload, for copies.
    hash: Option<u64>,
    file: u32,
}

/// The lines of one file.
struct File {
    place: Place,
    stem: String,
    metas: Vec<(At, Meta)>,
    entries: Vec<Entry>,
}

struct Codex {
    files: Vec<File>,
    by_file: HashMap<u32, usize>,
    seq: u64,
    raw: bool,
    tally: Tally,
}

impl Codex {
    fn new(options: &ReadOptions) -> Self {
        let raw = options.raw_attempts;
        Self { files: Vec::new(), by_file: HashMap::new(), seq: 0, raw, tally: Tally::default() }
    }

    fn file(&mut self, record: &Record<'_>) -> Option<&mut File> {
        let next = self.files.len();
        let at = *self.by_file.entry(record.place.file).or_insert(next);
        if at == next {
            self.files.push(File {
                place: record.place,
                stem: stem(record.path),
                metas: Vec::new(),
                entries: Vec::new(),
            });
        }
        self.files.get_mut(at)
    }

    fn line(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        if record.bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Refusal::of("not_an_object", "the line is no JSON object"));
        }
        let line: Line<'_> = quick::from_slice(record.bytes)?;
        let Some(kind) = word(line.kind) else {
            return Err(Refusal::of("line_without_type", "the line has no `type`"));
        };
        let payload: Option<Payload<'_>> = line.payload.and_then(read);
        let Some(payload) = payload else {
            let reason = "the line has no object `payload`; rollouts have one since version 0.32";
            return Err(Refusal::of("line_without_payload", reason));
        };
        self.seq += 1;
        let at = At::new(self.seq, line.timestamp);
        let said = match kind.as_str() {
            "session_meta" => {
                let Some(meta) = wire::meta(&payload) else {
                    return Err(Refusal::of("session_without_id", "its `session_meta` has no id"));
                };
                if let Some(file) = self.file(record) {
                    file.metas.push((at, meta));
                }
                return Ok(Fate::Used);
            }
            "turn_context" => Said::Context(word(payload.model), word(payload.turn_id)),
            "response_item" => match self.item(&payload) {
                Ok(said) => said,
                Err(rule) => return Ok(Fate::Ignored(rule)),
            },
            "event_msg" => match self.event(&payload, record.place) {
                Ok(said) => said,
                Err(rule) => return Ok(Fate::Ignored(rule)),
            },
            "compacted" => return Ok(Fate::Ignored("compacted")),
            _ => return Ok(Fate::Ignored("other_line_type")),
        };
        let hash = line.payload.map(|payload| xxh3_64(payload.get().as_bytes()));
        let file_number = record.place.file;
        if let Some(file) = self.file(record) {
            file.place = file.place.min(record.place);
            // The words of a message are a record of their own, behind its turn.
            if let Said::Event(What::Turn(_)) = said
                && let Some(words) = payload.content.and_then(raw::said)
            {
                let said = Said::Words(words.into_owned());
                file.entries.push(Entry { at: at.clone(), said, hash: None, file: file_number });
            }
            file.entries.push(Entry { at, said, hash, file: file_number });
        }
        Ok(Fate::Used)
    }

    /// What a line of the conversation says, or the rule by which it is ignored.
    fn item(&self, payload: &Payload<'_>) -> Result<Said, &'static str> {
        let raw = self.raw;
        let call = |default| Ok(Said::Event(What::Call(wire::call(payload, default, raw))));
        let kind = word(payload.kind);
        match kind.as_deref() {
            // Small old files leave the type of a message out.
            Some("message") | None => match word(payload.role).as_deref() {
                Some("assistant") => Ok(Said::Event(What::Turn(wire::turn(payload, raw)))),
                Some("user") => Ok(Said::User),
                _ => Err("instructions"),
            },
            Some("reasoning") => Err("reasoning"),
            Some("function_call" | "custom_tool_call") => call(""),
            Some("local_shell_call") => call("local_shell"),
            Some(
                "function_call_output" | "custom_tool_call_output" | "local_shell_call_output",
            ) => Ok(Said::Event(What::Outcome(wire::outcome(payload, raw)))),
            Some("web_search_call") => {
                let mut call = wire::call(payload, "web_search", raw);
                call.id = word(payload.call_id).or_else(|| word(payload.id));
                let outcome = wire::search_outcome(payload);
                Ok(Said::Event(What::Done(call, outcome, At::default())))
            }
            _ => Err("other_item"),
        }
    }

    /// What an event says, or the rule by which it is ignored.
    fn event(&mut self, payload: &Payload<'_>, place: Place) -> Result<Said, &'static str> {
        match word(payload.kind).as_deref() {
            Some("task_started" | "turn_started") => Ok(Said::Started(word(payload.turn_id))),
            Some("task_complete" | "turn_complete") => {
                Ok(Said::Complete(word(payload.turn_id), word(payload.last_agent_message)))
            }
            Some("turn_aborted") => Ok(Said::Aborted(word(payload.turn_id), word(payload.reason))),
            Some("error") => Ok(Said::Broken),
            Some("token_count") => wire::total(payload).map(Said::Tokens).ok_or("rate_limits"),
            Some("mcp_tool_call_end") => {
                let (call, outcome) = wire::mcp(payload, self.raw);
                Ok(Said::Mcp(call, outcome))
            }
            Some("patch_apply_end" | "exec_command_end") => {
                Ok(Said::Event(What::Outcome(wire::end(payload))))
            }
            Some("stream_error") => {
                let rule = "model calls that were tried again after a broken stream";
                self.tally.count("api_retries", Severity::Note, place, rule);
                Err("stream_error")
            }
            // They repeat what items of the conversation say.
            Some("user_message" | "agent_message" | "agent_reasoning") => Err("repeated_message"),
            _ => Err("other_event"),
        }
    }
}

impl Assembler for Codex {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.line(record).unwrap_or_else(Fate::Refused)
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        let sessions = session::sessions(self.files, &mut self.tally);
        let runs = session::runs(sessions, self.raw, &mut self.tally);
        Parsed { runs, issues: self.tally.into_issues().collect() }
    }
}

impl Entry {
    /// The event, with the time of the record as that of the end of what it tells whole.
    fn into_event(self) -> Option<Event> {
        let Self { at, said, .. } = self;
        let what = match said {
            Said::Event(What::Done(call, outcome, _)) => What::Done(call, outcome, at.clone()),
            Said::Event(what) => what,
            _ => return None,
        };
        Some(Event { at, what })
    }
}
