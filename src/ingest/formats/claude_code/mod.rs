//! Claude Code's session files: one run per session, and one per sub-agent.
//!
//! Owns which lines count, which are copies (a fork or a backgrounded session copies its
//! history under new names but keeps the uuids), and to which run a line belongs. What lines
//! say is read in `wire`; how they become a run, in `session`. The tree of parent uuids is
//! never walked to choose steps: calls on abandoned branches ran too, so all count (`branches`
//! tells how many).

mod branches;
pub(super) mod call;
mod session;
pub(super) mod wire;

use std::collections::HashMap;
use std::path::Path;

use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Severity, Stamp, Time, input_hash};
use branches::Branches;
use call::{Call, ToolResult};
use session::{EndSign, Part, Session, TurnPart};
use wire::{Line, Message, is_true, text};

/// Sessions of Claude Code.
pub const CLAUDE_CODE: Format = Format {
    name: "claude-code",
    about: "Claude Code sessions (JSONL, or a web export with `loglines`)",
    detect,
    wrappers: &["loglines"],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(ClaudeCode::new(options))),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    const SHAPES: [&[&str]; 6] = [
        &["type", "sessionId", "uuid", "message"],
        &["type", "sessionId", "parentUuid"],
        &["type", "summary", "leafUuid"],
        &["type", "messageId", "snapshot"],
        &["type", "operation", "sessionId", "timestamp"],
        &["loglines"],
    ];
    SHAPES.iter().any(|keys| probe.any_has(keys))
}

/// One run's key: the session, and the sub-agent in it (empty for the main agent).
type Key = (String, String);

struct ClaudeCode {
    sessions: Vec<Session>,
    by_key: HashMap<Key, usize>,
    /// File and hash of the message of each uuid.
    uuids: HashMap<String, (u32, Option<u64>)>,
    /// Lines of sub-agents without an agent id, until their first ancestor is known.
    held: Vec<Held>,
    branches: Branches,
    seq: u64,
    raw: bool,
    tally: Tally,
}

struct Held {
    session: String,
    uuid: String,
    parent: Option<String>,
    part: Part,
}

impl ClaudeCode {
    fn new(options: &ReadOptions) -> Self {
        Self {
            sessions: Vec::new(),
            by_key: HashMap::new(),
            uuids: HashMap::new(),
            held: Vec::new(),
            branches: Branches::default(),
            seq: 0,
            raw: options.raw_attempts,
            tally: Tally::default(),
        }
    }

    fn session(&mut self, key: Key, place: crate::model::Place) -> &mut Session {
        let next = self.sessions.len();
        let at = *self.by_key.entry(key.clone()).or_insert(next);
        if at == next {
            self.sessions.push(Session::new(key.0, key.1, place));
        }
        &mut self.sessions[at]
    }

    fn line(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        if record.bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Refusal::of("not_an_object", "the line is no JSON object"));
        }
        let line: Line<'_> = quick::from_slice(record.bytes)?;
        let Some(kind) = text(line.kind) else {
            return Err(Refusal::of("line_without_type", "the line has no `type`"));
        };
        // A snapshot may bear the uuid of a message, and is no line of the tree.
        if kind != "file-history-snapshot"
            && let Some(uuid) = text(line.uuid)
        {
            let parent = text(line.parent).or_else(|| text(line.logical_parent));
            self.branches.see(uuid, parent);
        }
        match kind.as_str() {
            "user" | "assistant" => {}
            "summary" => return Ok(Fate::Ignored("summary")),
            "file-history-snapshot" => return Ok(Fate::Ignored("file_history_snapshot")),
            "queue-operation" => return Ok(Fate::Ignored("queue_operation")),
            "progress" => return Ok(Fate::Ignored("progress")),
            "attachment" => return Ok(Fate::Ignored("attachment")),
            "system" => {
                if text(line.subtype).as_deref() == Some("api_error") {
                    let rule = "model calls that were tried again after an API error";
                    self.tally.count("api_retries", Severity::Note, record.place, rule);
                }
                return Ok(Fate::Ignored("system"));
            }
            _ => return Ok(Fate::Ignored("other_line_type")),
        }
        let Some(message) = wire::object::<Message<'_>>(line.message) else {
            return Err(Refusal::of("message_not_an_object", "its `message` is no object"));
        };
        let session = text(line.session).unwrap_or_else(|| stem(record.path));
        let uuid = text(line.uuid);
        let hash = line.message.and_then(|message| input_hash(message.get()));
        if let Some(uuid) = &uuid {
            match self.uuids.get(uuid) {
                Some(&(file, same)) if file != record.place.file || same == hash => {
                    self.session((session, String::new()), record.place).has_copies = true;
                    return Ok(Fate::Merged("duplicate_uuid"));
                }
                Some(_) => {}
                None => {
                    self.uuids.insert(uuid.clone(), (record.place.file, hash));
                }
            }
        }
        if kind == "user" && is_true(line.meta) {
            return Ok(Fate::Ignored("meta"));
        }
        if message.content.is_none() && kind == "user" {
            return Ok(Fate::Ignored("no_content"));
        }
        let part = self.part(&line, &message, kind == "assistant", uuid.as_deref(), record);
        let agent = text(line.agent).or_else(|| {
            let stem = stem(record.path);
            stem.strip_prefix("agent-").filter(|_| is_true(line.sidechain)).map(str::to_owned)
        });
        match agent {
            None if is_true(line.sidechain) => self.held.push(Held {
                session,
                uuid: uuid.unwrap_or_default(),
                parent: text(line.parent),
                part,
            }),
            agent => self.session((session, agent.unwrap_or_default()), record.place).add(part),
        }
        Ok(Fate::Used)
    }

    fn part(
        &mut self,
        line: &Line<'_>,
        message: &Message<'_>,
        assistant: bool,
        uuid: Option<&str>,
        record: &Record<'_>,
    ) -> Part {
        self.seq += 1;
        let stamp = text(line.timestamp);
        let time = stamp.as_deref().and_then(|stamp| Stamp::Text(stamp.into()).time());
        let mut part =
            Part::new(record.place, self.seq, stamp, time.map(|Time { micros, .. }| micros));
        part.uuid = uuid.map(str::to_owned);
        part.labels = [line.version, line.cwd, line.branch].map(text);
        let (blocks, bad) = wire::blocks(message.content);
        let rule = "elements of a message's content that are no objects";
        self.tally.add("unreadable_blocks", Severity::Warning, record.place, rule, bad);
        let api_error = is_true(line.api_error);
        let mut said = None;
        for block in &blocks {
            match text(block.kind).as_deref() {
                Some("tool_use") if assistant => part.calls.push(Call {
                    id: text(block.id),
                    name: text(block.name),
                    input: wire::input(block.input),
                    raw: self
                        .raw
                        .then(|| block.input.map(|input| input.get().to_owned()))
                        .flatten(),
                }),
                Some("tool_result") => part.results.push(ToolResult {
                    id: text(block.tool_use_id),
                    is_error: is_true(block.is_error),
                    text: (is_true(block.is_error) || self.raw)
                        .then(|| wire::result_text(block.content))
                        .flatten(),
                    agent: agent_started(line.result),
                    time: part.stamp.clone(),
                }),
                None | Some("text") => said = text(block.text).or(said),
                _ => {}
            }
        }
        if assistant {
            let model = text(message.model).filter(|model| model != "<synthetic>");
            let synthetic = text(message.model).is_some() && model.is_none();
            if !synthetic || api_error {
                let own = format!("line {} of file {}", self.seq, record.place.file);
                part.turn = Some(TurnPart {
                    id: text(message.id).or_else(|| uuid.map(str::to_owned)).unwrap_or(own),
                    model,
                    tokens: wire::tokens(message.usage).filter(|_| !synthetic),
                    cost: wire::number(line.cost),
                    error: api_error.then(|| said.clone().unwrap_or_default()),
                });
            }
            part.end = if api_error { EndSign::ApiError } else { EndSign::Other };
            part.output = said;
        } else {
            part.end = EndSign::of_user(said.as_deref());
        }
        part
    }

    /// Gives held lines to the run of the first line of their chain. Linear: every line's
    /// answer is kept, and a loop ends at the line where it is met.
    fn place_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        let by_uuid: HashMap<&str, usize> =
            held.iter().enumerate().map(|(at, held)| (held.uuid.as_str(), at)).collect();
        let mut first: Vec<Option<usize>> = vec![None; held.len()];
        let mut on_walk = vec![false; held.len()];
        for from in 0..held.len() {
            let (mut walk, mut at) = (Vec::new(), from);
            let root = loop {
                if let Some(root) = first[at] {
                    break root;
                }
                if std::mem::replace(&mut on_walk[at], true) {
                    break at;
                }
                walk.push(at);
                let above = held[at].parent.as_deref().and_then(|parent| by_uuid.get(parent));
                match above {
                    Some(&above) if held[above].session == held[at].session => at = above,
                    _ => break at,
                }
            };
            for at in walk {
                first[at] = Some(root);
            }
        }
        let keys: Vec<String> = first
            .iter()
            .enumerate()
            .map(|(at, root)| format!("sidechain-{}", held[root.unwrap_or(at)].uuid))
            .collect();
        for (held, agent) in held.into_iter().zip(keys) {
            self.session((held.session, agent), held.part.place).add(held.part);
        }
    }
}

impl Assembler for ClaudeCode {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.line(record).unwrap_or_else(Fate::Refused)
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        self.place_held();
        session::join_forks(&mut self.sessions);
        let started = session::sub_agents(&self.sessions);
        let mut parsed = Parsed::default();
        for session in self.sessions {
            parsed.runs.extend(session.finish(&started, &self.branches, &mut self.tally));
        }
        parsed.issues.extend(self.tally.into_issues());
        parsed
    }
}

/// The name of a file without its ending.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The sub-agent that a tool call started, as its structured result names it.
fn agent_started(result: Option<&serde_json::value::RawValue>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Started<'a> {
        #[serde(borrow, default, rename = "agentId")]
        agent: Option<&'a serde_json::value::RawValue>,
    }
    text(wire::object::<Started<'_>>(result)?.agent)
}
