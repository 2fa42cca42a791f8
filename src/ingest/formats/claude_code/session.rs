//! The lines of one session, or of one sub-agent, made into a run.
//!
//! Owns joining: lines of one message are one turn whose usage counts once; a call and its
//! result are joined by id in whatever order they stand; a result without a call is a step without
//! an input. Refuses to judge: a call without a
//! result is neither passed nor failed, and a session that just stops is not unfinished.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::branches::Branches;
use super::call::{Call, ToolResult};
use crate::ingest::assemble::main_model;
use crate::ingest::assemble::tally::Tally;
use crate::model::{
    Attempt, EndRule, ErrorInfo, ErrorOrigin, Final, Place, Severity, Stamp, Tokens, Trajectory,
};

/// What a line says of the end of the run, if it is the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum EndSign {
    /// The line is no part of the conversation (a local command).
    #[default]
    Aside,
    /// The conversation goes on or ends here; it says nothing of success.
    Other,
    /// The model could not be reached.
    ApiError,
    /// The user stopped it.
    Interrupted,
}

impl EndSign {
    /// What a user's line says, by its text; `None` for a line of tool results.
    pub(super) fn of_user(said: Option<&str>) -> Self {
        let asides = ["<command-name>", "<command-message>", "<local-command-", "Caveat: "];
        match said {
            Some(text) if text.starts_with("[Request interrupted by user") => Self::Interrupted,
            Some(text) if asides.iter().any(|aside| text.starts_with(aside)) => Self::Aside,
            _ => Self::Other,
        }
    }
}

/// What one line tells of a model's message.
#[derive(Debug)]
pub(super) struct TurnPart {
    pub(super) id: String,
    pub(super) model: Option<String>,
    pub(super) tokens: Option<Tokens>,
    pub(super) cost: Option<f64>,
    /// The text of an API error.
    pub(super) error: Option<String>,
}

/// One line, owned.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) place: Place,
    pub(super) seq: u64,
    pub(super) stamp: Option<String>,
    /// Microseconds, for ordering alone.
    pub(super) time: Option<i64>,
    pub(super) turn: Option<TurnPart>,
    pub(super) calls: Vec<Call>,
    pub(super) results: Vec<ToolResult>,
    pub(super) end: EndSign,
    pub(super) output: Option<String>,
    pub(super) uuid: Option<String>,
    /// Version, working directory and branch.
    pub(super) labels: [Option<String>; 3],
}

impl Part {
    pub(super) fn new(place: Place, seq: u64, stamp: Option<String>, time: Option<i64>) -> Self {
        Self {
            place,
            seq,
            stamp,
            time,
            turn: None,
            calls: Vec::new(),
            results: Vec::new(),
            end: EndSign::Aside,
            output: None,
            uuid: None,
            labels: [None, None, None],
        }
    }
}

/// The lines of one run so far.
pub(super) struct Session {
    id: String,
    /// The sub-agent; empty for the main agent.
    agent: String,
    place: Place,
    parts: Vec<Part>,
    /// Whether lines of it stand in another file too.
    pub(super) has_copies: bool,
}

/// Session, agent and call that started each sub-agent.
pub(super) type Starts = HashMap<(String, String), String>;

/// Which call started which sub-agent, by session and agent.
pub(super) fn sub_agents(sessions: &[Session]) -> Starts {
    let mut starts = HashMap::new();
    for session in sessions {
        for result in session.parts.iter().flat_map(|part| &part.results) {
            if let (Some(agent), Some(call)) = (&result.agent, &result.id) {
                starts.insert((session.id.clone(), agent.clone()), call.clone());
            }
        }
    }
    starts
}

/// Brings results home that a forked session holds, while their calls stand in the session
/// it was copied from (whose lines count there, once).
pub(super) fn join_forks(sessions: &mut [Session]) {
    let mut callers: HashMap<String, usize> = HashMap::new();
    for (at, session) in sessions.iter().enumerate() {
        for call in session.parts.iter().flat_map(|part| &part.calls) {
            callers.extend(call.id.clone().map(|id| (id, at)));
        }
    }
    for at in 0..sessions.len() {
        if !sessions[at].has_copies {
            continue;
        }
        let mut moved = Vec::new();
        for part in &mut sessions[at].parts {
            for result in std::mem::take(&mut part.results) {
                match result.id.as_ref().and_then(|id| callers.get(id)) {
                    Some(&home) if home != at => moved.push((home, part.seq, result)),
                    _ => part.results.push(result),
                }
            }
        }
        for (home, seq, result) in moved {
            let mut part = Part::new(sessions[home].place, seq, None, None);
            part.results.push(result);
            sessions[home].parts.push(part);
        }
    }
}

#[derive(Default)]
struct Turn {
    model: Option<String>,
    tokens: Option<Tokens>,
    cost: Option<f64>,
    error: Option<String>,
    first: Option<String>,
    last: Option<String>,
}

impl Turn {
    /// Adds a line of the same message. Lines repeat the usage, early ones with fewer output
    /// tokens, so the largest of each count is the message's.
    fn add(&mut self, part: TurnPart, stamp: Option<&String>) {
        self.model = self.model.take().or(part.model);
        if let Some(new) = part.tokens {
            let held = self.tokens.get_or_insert_with(Tokens::default);
            held.input = held.input.max(new.input);
            held.cache_read = held.cache_read.max(new.cache_read);
            held.cache_write = held.cache_write.max(new.cache_write);
            held.output = held.output.max(new.output);
        }
        self.cost = match (self.cost, part.cost) {
            (Some(held), Some(new)) => Some(held.max(new)),
            (held, new) => held.or(new),
        };
        self.error = self.error.take().or(part.error);
        self.first = self.first.take().or_else(|| stamp.cloned());
        self.last = stamp.cloned().or_else(|| self.last.take());
    }

    fn attempt(self) -> Attempt<'static> {
        Attempt {
            kind: "llm".into(),
            name: self.model.map(Cow::Owned),
            error: self.error.map(|message| ErrorInfo {
                kind: None,
                message: Some(Cow::Owned(message)),
                origin: ErrorOrigin::Recorded,
            }),
            started_at: self.first.map(stamp),
            ended_at: self.last.map(stamp),
            tokens: self.tokens,
            cost_usd: self.cost,
            turn: true,
            ..Attempt::default()
        }
    }
}

fn stamp(text: String) -> Stamp<'static> {
    Stamp::Text(Cow::Owned(text))
}

impl Session {
    pub(super) fn new(id: String, agent: String, place: Place) -> Self {
        Self { id, agent, place, parts: Vec::new(), has_copies: false }
    }

    pub(super) fn add(&mut self, part: Part) {
        self.place = self.place.min(part.place);
        self.parts.push(part);
    }

    /// The run; `None` where every line of it is a copy that counts elsewhere.
    pub(super) fn finish(
        mut self,
        starts: &Starts,
        branches: &Branches,
        tally: &mut Tally,
    ) -> Option<Trajectory<'static>> {
        if self.parts.is_empty() {
            return None;
        }
        self.sort();
        let rule =
            "calls on branches that the conversation left (branch:dead); they ran, so they count";
        let dead = branches.dead_calls(&self.parts);
        tally.add("dead_branch_calls", Severity::Note, self.place, rule, dead);
        let rule = "lines whose parent is not in the input; each is the root of a tree of its own";
        let lost = branches.lost_parents(&self.parts);
        tally.add("lost_parents", Severity::Warning, self.place, rule, lost);
        let (id, agent, place) = (self.id, self.agent, self.place);
        let mut run = Trajectory {
            place,
            agent: Some("claude-code".into()),
            started_at: self.parts.iter().find_map(|part| part.stamp.clone()).map(stamp),
            ended_at: self.parts.iter().rev().find_map(|part| part.stamp.clone()).map(stamp),
            ..Trajectory::default()
        };
        label(&mut run, &self.parts, &id, &agent, starts);
        run.run_id = Some(Cow::Owned(if agent.is_empty() { id } else { format!("{id}/{agent}") }));

        match self.parts.iter().rev().map(|part| part.end).find(|end| *end != EndSign::Aside) {
            Some(EndSign::ApiError) => run.format_outcome = Some(false),
            Some(EndSign::Interrupted) => run.end_rule = Some(EndRule::Cancelled),
            _ => {}
        }
        if let Some(said) = self.parts.iter_mut().rev().find_map(|part| part.output.take()) {
            let said = serde_json::to_string(&said).unwrap_or_else(|_| "null".to_owned());
            run.final_output = Final::Json(Cow::Owned(format!("{{\"output\":{said}}}")));
        }
        run.attempts = attempts(self.parts, place, tally);
        let turns = run.attempts.iter().filter(|attempt| attempt.turn);
        run.model = main_model(turns.filter_map(|turn| turn.name.as_deref())).map(Cow::Owned);
        Some(run)
    }

    /// By time where every line has one, else as read; the sort is stable by reading order.
    fn sort(&mut self) {
        let lines = |part: &&Part| part.end != EndSign::Aside || part.stamp.is_some();
        let timed = self.parts.iter().filter(lines).all(|part| part.time.is_some());
        self.parts.sort_by_key(|part| (part.time.filter(|_| timed).unwrap_or(i64::MIN), part.seq));
    }
}

fn label(run: &mut Trajectory<'static>, parts: &[Part], id: &str, agent: &str, starts: &Starts) {
    let mut tag = |key: &'static str, value: String| {
        run.tags.push((Cow::Borrowed(key), Cow::Owned(value)));
    };
    if !agent.is_empty() {
        tag("parent", id.to_owned());
        tag("agent_id", agent.to_owned());
        if let Some(call) = starts.get(&(id.to_owned(), agent.to_owned())) {
            tag("parent_call", call.clone());
        }
    }
    for (at, key) in ["version", "cwd", "git_branch"].into_iter().enumerate() {
        if let Some(value) = parts.iter().find_map(|part| part.labels[at].clone()) {
            tag(key, value);
        }
    }
}

/// Turns and calls in order, each turn before the calls that it made.
fn attempts(parts: Vec<Part>, place: Place, tally: &mut Tally) -> Vec<Attempt<'static>> {
    enum Slot {
        Turn(usize),
        Call(Call, Option<String>),
        Answer(usize),
    }
    let mut turns: Vec<Turn> = Vec::new();
    let mut turn_at: HashMap<String, usize> = HashMap::new();
    let mut call_ids: HashSet<String> = HashSet::new();
    let mut slots = Vec::new();
    let mut repeated = 0;
    // Results in the order in which they stand: one without a call is a step where it stands.
    let mut answers: Vec<Option<ToolResult>> = Vec::new();
    let mut answered: HashSet<String> = HashSet::new();
    for part in parts {
        if let Some(turn) = part.turn {
            let at = *turn_at.entry(turn.id.clone()).or_insert(turns.len());
            if at == turns.len() {
                turns.push(Turn::default());
                slots.push(Slot::Turn(at));
            }
            turns[at].add(turn, part.stamp.as_ref());
        }
        for call in part.calls {
            // One message may be written again in full as it grows.
            let new = call.id.as_ref().is_none_or(|id| call_ids.insert(id.clone()));
            if new {
                slots.push(Slot::Call(call, part.stamp.clone()));
            } else {
                repeated += 1;
            }
        }
        for result in part.results {
            if result.id.as_ref().is_some_and(|id| !answered.insert(id.clone())) {
                repeated += 1;
                continue;
            }
            slots.push(Slot::Answer(answers.len()));
            answers.push(Some(result));
        }
    }
    let mut results: HashMap<String, ToolResult> = HashMap::new();
    for answer in &mut answers {
        let id = answer.as_ref().and_then(|result| result.id.clone());
        if let Some(id) = id.filter(|id| call_ids.contains(id)) {
            results.extend(answer.take().map(|result| (id, result)));
        }
    }
    let (mut dangling, mut orphans) = (0, 0);
    let mut turns: Vec<Option<Turn>> = turns.into_iter().map(Some).collect();
    let attempts = slots
        .into_iter()
        .filter_map(|slot| match slot {
            Slot::Turn(at) => turns[at].take().map(Turn::attempt),
            Slot::Call(call, stamp) => {
                let result = call.id.as_ref().and_then(|id| results.remove(id));
                dangling += u64::from(result.is_none());
                Some(call.attempt(stamp, result))
            }
            Slot::Answer(at) => {
                let result = answers.get_mut(at)?.take()?;
                orphans += 1;
                let call = Call { id: result.id.clone(), name: None, input: None, raw: None };
                Some(call.attempt(None, Some(result)))
            }
        })
        .collect();
    let rule = "calls without a result; they are neither passed nor failed";
    tally.add("dangling_calls", Severity::Warning, place, rule, dangling);
    let rule = "tool results that answer no recorded call are steps without an input";
    tally.add("result_without_call", Severity::Note, place, rule, orphans);
    let rule = "calls and results written again under the same id; the first one counts";
    tally.add("repeated_blocks", Severity::Note, place, rule, repeated);
    attempts
}
