//! The records of one session made into a run.
//!
//! Owns the patches: a message with the id of another takes its place, `$set` puts a whole list in
//! place of all, and `$rewindTo` takes a message and all behind it away (all of them, where it
//! names none). They work in the order of the lines, as Gemini CLI itself reads them; what is left
//! is then put in order of time. The copies of a session in several files are one: for each
//! message the copy that was updated last counts. A session that is there as messages and as a
//! stream of events counts its messages; of the stream only the calls that no message holds.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::agent_log::{Event, Extent, Turn, What, attempts, delivered, in_order};
use super::super::raw::quoted;
use super::message::Message;
use super::stream::Ended;
use super::{Change, Part};
use crate::ingest::assemble::main_model;
use crate::ingest::assemble::tally::Tally;
use crate::model::{EndRule, Place, Severity, Stamp, Trajectory};

/// Makes the runs of all sessions, in the order of their first record.
pub(super) fn runs(parts: Vec<Part>, raw: bool, tally: &mut Tally) -> Vec<Trajectory<'static>> {
    let ids: HashSet<&str> = parts.iter().filter_map(|part| part.id.as_deref()).collect();
    let only = (ids.len() == 1).then(|| ids.into_iter().next().map(str::to_owned)).flatten();
    let mut sessions: Vec<Vec<Part>> = Vec::new();
    let mut by_id: HashMap<String, usize> = HashMap::new();
    for mut part in parts {
        let mut continues = false;
        if part.id.is_none() {
            continues = only.is_some();
            if only.is_none() {
                let rule = "files that name no session; each is a run named after its file";
                tally.count("session_without_id", Severity::Warning, part.place, rule);
            }
            part.id.clone_from(&only);
        }
        let Some(id) = part.id.clone() else {
            sessions.push(vec![part]);
            continue;
        };
        let at = *by_id.entry(id).or_insert(sessions.len());
        match sessions.get_mut(at) {
            Some(session) => match session.last_mut().filter(|_| continues) {
                Some(last) => last.absorb(part),
                None => session.push(part),
            },
            None => sessions.push(vec![part]),
        }
    }
    let mut runs: Vec<_> =
        sessions.into_iter().filter_map(|parts| run(parts, raw, tally)).collect();
    runs.sort_by_key(|run| run.place);
    runs
}

impl Part {
    /// Goes on with the lines of a file that names no session.
    fn absorb(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.events.list.extend(other.events.list);
        self.events.any |= other.events.any;
        self.events.model = self.events.model.take().or(other.events.model);
        self.events.ended = other.events.ended.or(self.events.ended.take());
        self.extent.join(other.extent);
    }
}

/// The messages that the changes leave.
fn left(changes: Vec<Change>, place: Place, tally: &mut Tally) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut by_id: HashMap<String, usize> = HashMap::new();
    let (mut replaced, mut rewound) = (0, 0);
    for change in changes {
        match change {
            Change::Put(message) => {
                replaced += u64::from(put(&mut messages, &mut by_id, message));
            }
            Change::Set(list) => {
                replaced += messages.len() as u64;
                messages.clear();
                by_id.clear();
                for message in list {
                    put(&mut messages, &mut by_id, message);
                }
            }
            Change::Rewind(id) => {
                let from = by_id.get(&id).copied().unwrap_or(0);
                for message in messages.drain(from..) {
                    rewound += 1;
                    if let Some(id) = &message.id {
                        by_id.remove(id);
                    }
                }
            }
        }
    }
    let rule = "messages that a later record of the same session takes the place of";
    tally.add("replaced_messages", Severity::Note, place, rule, replaced);
    let rule = "messages that a rewind took away; their calls are in no figure";
    tally.add("rewound_messages", Severity::Note, place, rule, rewound);
    messages
}

/// Puts a message at the end, or in the place of the one with its id; tells which.
fn put(messages: &mut Vec<Message>, by_id: &mut HashMap<String, usize>, message: Message) -> bool {
    let held = message.id.as_ref().and_then(|id| by_id.get(id)).copied();
    match held.and_then(|at| messages.get_mut(at)) {
        Some(held) => {
            *held = message;
            true
        }
        None => {
            by_id.extend(message.id.clone().map(|id| (id, messages.len())));
            messages.push(message);
            false
        }
    }
}

/// The run of a session from its files; `None` where they hold nothing but its name.
fn run(mut parts: Vec<Part>, raw: bool, tally: &mut Tally) -> Option<Trajectory<'static>> {
    let updated = |part: &Part| {
        let stamp = part.updated.clone().map(|text| Stamp::Text(Cow::Owned(text)));
        stamp.and_then(|stamp| stamp.time()).map(|time| time.micros)
    };
    let several = parts.len() > 1;
    parts.sort_by_key(|part| (updated(part), part.place));
    let place = parts.iter().map(|part| part.place).min()?;
    let mut run = Trajectory { place, agent: Some("gemini-cli".into()), ..Trajectory::default() };
    let (mut messages, mut by_id) = (Vec::new(), HashMap::new());
    let mut extent = Extent::default();
    let mut events = super::Events::default();
    let (mut kind, mut name, mut folder, mut copies) = (None, None, None, 0);
    for part in parts {
        kind = part.kind.or(kind);
        name = part.id.or(name).or(Some(part.stem));
        folder = part.folder.or(folder);
        extent.join(part.extent);
        for message in left(part.changes, part.place, tally) {
            copies += u64::from(put(&mut messages, &mut by_id, message));
        }
        events.any |= part.events.any;
        events.list.extend(part.events.list);
        events.model = part.events.model.or(events.model);
        events.ended = part.events.ended.or(events.ended);
    }
    let rule = "messages that another file of the same session holds as well; each counts once";
    tally.add("copied_messages", Severity::Note, place, rule, copies);
    messages.iter().for_each(|message: &Message| extent.see(&message.at));
    run.run_id = name.map(Cow::Owned);
    if kind.as_deref() == Some("subagent") {
        let parent = folder.filter(|folder| folder != "chats");
        run.tags.extend(parent.map(|parent| (Cow::Borrowed("parent"), Cow::Owned(parent))));
    }
    run.tags.extend(kind.map(|kind| (Cow::Borrowed("kind"), Cow::Owned(kind))));
    told_by_messages(&mut events, &messages, place, tally);
    let streams = events.any;
    let ended = events.ended.take();
    let (mut list, mut words) = match several {
        true => copies_dropped(events, place, tally).grouped(),
        false => events.grouped(),
    };
    in_order(&mut messages, |message| &message.at, |_| 0);
    let said = messages.iter_mut().rev().find_map(|message| message.words.take());
    words = words.or(said);
    list.extend(events_of(messages, &mut extent, place, tally));
    (run.started_at, run.ended_at) = (extent.start(), extent.end());
    run.attempts = attempts(list, place, raw, tally);
    let mut error = None;
    match ended.map(|(_, ended)| ended) {
        Some(Ended { status, error: told, tokens, duration_ms }) => {
            if status.as_deref() == Some("error") {
                run.format_outcome = Some(false);
            }
            (run.tokens, run.duration_ms) = (tokens, duration_ms);
            run.end_reason = status.map(Cow::Owned);
            error = told;
        }
        None if streams => run.end_rule = Some(EndRule::Unfinished),
        None => {}
    }
    run.final_output = delivered(&[
        ("end_reason", run.end_reason.as_deref().map(quoted).as_deref()),
        ("error", error.as_deref().map(quoted).as_deref()),
        ("output", words.as_deref().map(quoted).as_deref()),
    ]);
    let turns = run.attempts.iter().filter(|attempt| attempt.turn);
    run.model = main_model(turns.filter_map(|turn| turn.name.as_deref())).map(Cow::Owned);
    Some(run)
}

/// The events without those that stand with the same id, kind and time once more, as in a copy of
/// the file. Pieces of answers have no id, so in a session of several files the same piece at the
/// same time is a copy as well.
fn copies_dropped(mut events: super::Events, place: Place, tally: &mut Tally) -> super::Events {
    let mut seen = HashSet::new();
    let before = events.list.len();
    events.list.retain(|(event, said)| {
        let (kind, id) = match &event.what {
            What::Turn(_) => (0, said.clone()),
            What::Call(call) => (1, call.id.clone()),
            What::Done(call, ..) => (2, call.id.clone()),
            What::Outcome(outcome) => (3, outcome.id.clone()),
        };
        event.at.stamp.is_none() || seen.insert((kind, id, event.at.stamp.clone()))
    });
    let rule = "events that stand once more with the same id and time; each counts once";
    let dropped = (before - events.list.len()) as u64;
    tally.add("copied_events", Severity::Note, place, rule, dropped);
    events
}

/// Takes out of a stream what the messages of the same session tell: their calls with the results,
/// and all turns, which have no id in a stream.
fn told_by_messages(
    events: &mut super::Events,
    messages: &[Message],
    place: Place,
    tally: &mut Tally,
) {
    let turns = messages.iter().any(|message| message.is_model);
    let calls = messages.iter().flat_map(|message| &message.calls);
    let calls: HashSet<&str> = calls.filter_map(|(call, ..)| call.id.as_deref()).collect();
    let told = |id: &Option<String>| id.as_deref().is_some_and(|id| calls.contains(id));
    let before = events.list.len();
    events.list.retain(|(event, _)| match &event.what {
        What::Turn(_) => !turns,
        What::Call(call) | What::Done(call, ..) => !told(&call.id),
        What::Outcome(outcome) => !told(&outcome.id),
    });
    let rule = "events of a stream that the messages of the same session tell; they count once";
    let dropped = (before - events.list.len()) as u64;
    tally.add("events_told_by_messages", Severity::Note, place, rule, dropped);
}

/// Turns and calls of messages. A call that two messages hold counts once.
fn events_of(
    messages: Vec<Message>,
    extent: &mut Extent,
    place: Place,
    tally: &mut Tally,
) -> Vec<Event> {
    let mut seen = HashSet::new();
    let (mut repeated, mut errors) = (0, 0);
    let mut events = Vec::new();
    for message in messages {
        errors += u64::from(message.is_error);
        if message.is_model {
            events.push(Event {
                at: message.at.clone(),
                what: What::Turn(Turn {
                    model: message.model,
                    tokens: message.tokens,
                    content: message.content,
                    ..Turn::default()
                }),
            });
        }
        for (call, outcome, ended) in message.calls {
            if call.id.as_ref().is_some_and(|id| !seen.insert(id.clone())) {
                repeated += 1;
                continue;
            }
            extent.see(&ended);
            let at = message.at.clone();
            events.push(Event { at, what: What::Done(call, outcome, ended) });
        }
    }
    let rule = "calls that are recorded again in full; each counts once";
    tally.add("repeated_calls", Severity::Note, place, rule, repeated);
    let rule = "errors that the session shows between its messages; they are no step";
    tally.add("error_messages", Severity::Note, place, rule, errors);
    events
}
