//! A run told as a log of events: turns of the model, calls of tools, and their results, each in a record of its own.
//!
//! Owns what the logs of coding agents share: events are collected first, put in order of time
//! where every one has a time (else they stay as read), and only then joined by the ids of calls.
//! Several records of one call or of one result are one; a call without a result is open, which is
//! neither passed nor failed; a result without a call is a step without an input. Refuses wire
//! forms, and to choose which records are of one run: each format does that.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::value::RawValue;

use super::raw::{label, object, quoted};
use crate::ingest::assemble::tally::Tally;
use crate::model::{Attempt, ErrorInfo, Place, Severity, Stamp, Tokens};

/// When a record was written, and the how-manieth one it is.
#[derive(Debug, Clone, Default)]
pub(super) struct At {
    /// Number of the record in reading order.
    pub(super) seq: u64,
    /// Its time as written.
    pub(super) stamp: Option<String>,
    /// Its time in microseconds, for ordering alone.
    pub(super) micros: Option<i64>,
}

impl At {
    /// The time of a record by its field.
    pub(super) fn new(seq: u64, stamp: Option<&RawValue>) -> Self {
        let stamp = stamp.and_then(label).filter(|text| !text.is_empty());
        let micros = stamp.as_deref().and_then(|text| Stamp::Text(text.into()).time());
        Self { seq, stamp: stamp.map(Cow::into_owned), micros: micros.map(|time| time.micros) }
    }

    /// The time as a run or an attempt keeps it.
    pub(super) fn to_stamp(&self) -> Option<Stamp<'static>> {
        self.stamp.clone().map(|text| Stamp::Text(Cow::Owned(text)))
    }
}

/// One answer of the model, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Parts with the same id are one turn.
    pub(super) id: Option<String>,
    /// The model that answered.
    pub(super) model: Option<String>,
    /// Tokens of the request.
    pub(super) tokens: Option<Tokens>,
    /// Why the request failed.
    pub(super) error: Option<ErrorInfo<'static>>,
    /// What was said as JSON text; only where attempts keep their text.
    pub(super) content: Option<String>,
}

/// One call of a tool.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// Id of the call.
    pub(super) id: Option<String>,
    /// Name of the tool.
    pub(super) name: Option<String>,
    /// Hash of the arguments.
    pub(super) input: Option<u64>,
    /// The arguments as JSON text; only where attempts keep their text.
    pub(super) text: Option<String>,
}

/// What became of a call.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Id of the call.
    pub(super) id: Option<String>,
    /// Name of the tool, where it is repeated here.
    pub(super) name: Option<String>,
    /// How the call failed.
    pub(super) error: Option<ErrorInfo<'static>>,
    /// A status word that is neither passed nor failed; it counts before an error.
    pub(super) status: Option<&'static str>,
    /// The result as JSON text; only where attempts keep their text.
    pub(super) text: Option<String>,
    /// How long the call took, in milliseconds.
    pub(super) duration_ms: Option<f64>,
}

/// What one record says.
#[derive(Debug)]
pub(super) enum What {
    /// The model answered.
    Turn(Turn),
    /// A call was made.
    Call(Call),
    /// A call ended.
    Outcome(Outcome),
    /// A call and its end in one record, with the time of the end.
    Done(Call, Outcome, At),
}

/// One event of a run.
#[derive(Debug)]
pub(super) struct Event {
    /// When.
    pub(super) at: At,
    /// What.
    pub(super) what: What,
}

/// The first and the last time among records.
#[derive(Debug, Default)]
pub(super) struct Extent {
    first: Option<(i64, String)>,
    last: Option<(i64, String)>,
}

impl Extent {
    /// Takes the time of a record in.
    pub(super) fn see(&mut self, at: &At) {
        let (Some(micros), Some(stamp)) = (at.micros, at.stamp.as_ref()) else { return };
        if self.first.as_ref().is_none_or(|(first, _)| micros < *first) {
            self.first = Some((micros, stamp.clone()));
        }
        if self.last.as_ref().is_none_or(|(last, _)| micros > *last) {
            self.last = Some((micros, stamp.clone()));
        }
    }

    /// Takes the times of another one in.
    pub(super) fn join(&mut self, other: Self) {
        for (micros, stamp) in [other.first, other.last].into_iter().flatten() {
            self.see(&At { seq: 0, stamp: Some(stamp), micros: Some(micros) });
        }
    }

    /// The first time.
    pub(super) fn start(&self) -> Option<Stamp<'static>> {
        self.first.as_ref().map(|(_, text)| Stamp::Text(Cow::Owned(text.clone())))
    }

    /// The last time.
    pub(super) fn end(&self) -> Option<Stamp<'static>> {
        self.last.as_ref().map(|(_, text)| Stamp::Text(Cow::Owned(text.clone())))
    }
}

/// Puts records in order of time where every one has a time, else as read. At one time, lower
/// `rank` comes first, so that a shuffled log has its calls before their results.
pub(super) fn in_order<T>(records: &mut [T], at: impl Fn(&T) -> &At, rank: impl Fn(&T) -> u8) {
    let timed = records.iter().all(|record| at(record).micros.is_some());
    if timed {
        records.sort_by_key(|record| (at(record).micros, rank(record), at(record).seq));
    } else {
        records.sort_by_key(|record| at(record).seq);
    }
}

fn rank(what: &What) -> u8 {
    match what {
        What::Turn(_) => 0,
        What::Call(_) | What::Done(..) => 1,
        What::Outcome(_) => 2,
    }
}

/// A step or a turn that is being put together.
enum Slot {
    Turn(Turn, At, At),
    Call(Call, At, Option<(Outcome, At)>),
}

/// Makes attempts of the events of one run whose first record stands at `place`.
pub(super) fn attempts(
    mut events: Vec<Event>,
    place: Place,
    raw: bool,
    tally: &mut Tally,
) -> Vec<Attempt<'static>> {
    in_order(&mut events, |event| &event.at, |event| rank(&event.what));
    let known: HashSet<String> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::Call(call) => call.id.clone(),
            _ => None,
        })
        .collect();
    let mut slots: Vec<Slot> = Vec::with_capacity(events.len());
    let mut turns: HashMap<String, usize> = HashMap::new();
    let mut calls: HashMap<String, Vec<usize>> = HashMap::new();
    let mut alone: HashMap<String, usize> = HashMap::new();
    let mut outcomes = Vec::new();
    let (mut repeated, mut orphans) = (0, 0);
    for Event { at, what } in events {
        match what {
            What::Turn(turn) => {
                let known = turn.id.as_ref().and_then(|id| turns.get(id)).copied();
                match known.and_then(|known| slots.get_mut(known)) {
                    Some(Slot::Turn(held, _, last)) => {
                        held.add(turn);
                        *last = at;
                    }
                    _ => {
                        turns.extend(turn.id.clone().map(|id| (id, slots.len())));
                        slots.push(Slot::Turn(turn, at.clone(), at));
                    }
                }
            }
            What::Call(call) => {
                let same = call.id.as_ref().and_then(|id| calls.get(id)?.last()).copied();
                let same = same.and_then(|held| slots.get(held)).is_some_and(|held| match held {
                    Slot::Call(held, ..) => held.name == call.name && held.input == call.input,
                    Slot::Turn(..) => false,
                });
                if same {
                    repeated += 1;
                    continue;
                }
                if let Some(id) = &call.id {
                    calls.entry(id.clone()).or_default().push(slots.len());
                }
                slots.push(Slot::Call(call, at, None));
            }
            What::Done(call, outcome, ended) => {
                slots.push(Slot::Call(call, at, Some((outcome, ended))));
            }
            What::Outcome(outcome) => {
                if outcome.id.as_ref().is_some_and(|id| known.contains(id)) {
                    outcomes.push((outcome, at));
                    continue;
                }
                let held = outcome.id.as_ref().and_then(|id| alone.get(id)).copied();
                match held.and_then(|held| slots.get_mut(held)) {
                    Some(Slot::Call(_, _, held)) => merge(held, outcome, at),
                    _ => {
                        orphans += 1;
                        alone.extend(outcome.id.clone().map(|id| (id, slots.len())));
                        let (id, name) = (outcome.id.clone(), outcome.name.clone());
                        let call = Call { id, name, ..Call::default() };
                        slots.push(Slot::Call(call, At::default(), Some((outcome, at))));
                    }
                }
            }
        }
    }
    join(&mut slots, &calls, outcomes);
    let open = |slot: &&Slot| matches!(slot, Slot::Call(_, _, None));
    let dangling = slots.iter().filter(open).count() as u64;
    let rule = "calls without a result; they count as neither passed nor failed";
    tally.add("calls_without_result", Severity::Note, place, rule, dangling);
    let rule = "tool results that answer no recorded call are steps without an input";
    tally.add("result_without_call", Severity::Note, place, rule, orphans);
    let rule = "calls that are recorded again in full; each counts once";
    tally.add("repeated_calls", Severity::Note, place, rule, repeated);
    let mut attempts: Vec<_> = slots.into_iter().map(|slot| slot.attempt(raw)).collect();
    super::calls::forget_repeated_ids(&mut attempts);
    attempts
}

/// Gives each outcome to its call: where several calls share an id, to the next one that has none
/// yet; what comes beyond that completes the last.
fn join(slots: &mut [Slot], calls: &HashMap<String, Vec<usize>>, outcomes: Vec<(Outcome, At)>) {
    let mut next: HashMap<&str, usize> = HashMap::new();
    for (outcome, at) in outcomes {
        let id = outcome.id.as_deref().unwrap_or_default();
        let Some((id, of_id)) = calls.get_key_value(id) else { continue };
        let turn = next.entry(id).or_default();
        let Some(slot) = of_id.get(*turn).or(of_id.last()) else { continue };
        *turn += usize::from(of_id.len() > 1);
        if let Some(Slot::Call(_, _, held)) = slots.get_mut(*slot) {
            merge(held, outcome, at);
        }
    }
}

/// Completes what is known of the end of a call by another record of it.
fn merge(held: &mut Option<(Outcome, At)>, new: Outcome, at: At) {
    let Some((outcome, ended)) = held else {
        *held = Some((new, at));
        return;
    };
    outcome.error = outcome.error.take().or(new.error);
    outcome.status = outcome.status.or(new.status);
    outcome.text = outcome.text.take().or(new.text);
    outcome.duration_ms = outcome.duration_ms.or(new.duration_ms);
    if at.stamp.is_some() && ended.micros < at.micros {
        *ended = at;
    }
}

impl Turn {
    /// Adds another part of the same answer. Parts repeat the usage, so each count is the largest.
    fn add(&mut self, part: Self) {
        self.model = self.model.take().or(part.model);
        self.error = self.error.take().or(part.error);
        self.tokens = match (self.tokens, part.tokens) {
            (Some(a), Some(b)) => Some(Tokens {
                input: a.input.max(b.input),
                cache_read: a.cache_read.max(b.cache_read),
                cache_write: a.cache_write.max(b.cache_write),
                output: a.output.max(b.output),
                unsplit: a.unsplit.max(b.unsplit),
            }),
            (a, b) => a.or(b),
        };
        self.content = match (self.content.take(), part.content) {
            (Some(a), Some(b)) => Some(joined_lists(&a, &b).unwrap_or(a)),
            (a, b) => a.or(b),
        };
    }
}

/// Two JSON lists as one; `None` where one of them is none.
fn joined_lists(a: &str, b: &str) -> Option<String> {
    let inner =
        |text: &str| Some(text.trim().strip_prefix('[')?.strip_suffix(']')?.trim().to_owned());
    let parts: Vec<String> =
        [inner(a)?, inner(b)?].into_iter().filter(|part| !part.is_empty()).collect();
    Some(format!("[{}]", parts.join(",")))
}

impl Slot {
    fn attempt(self, raw: bool) -> Attempt<'static> {
        match self {
            Self::Turn(turn, first, last) => Attempt {
                kind: "llm".into(),
                name: turn.model.map(Cow::Owned),
                error: turn.error,
                started_at: first.to_stamp(),
                ended_at: last.to_stamp(),
                tokens: turn.tokens,
                turn: true,
                raw: raw.then(|| {
                    let content = turn.content.as_deref();
                    Cow::Owned(object(&[("role", Some("\"assistant\"")), ("content", content)]))
                }),
                ..Attempt::default()
            },
            Self::Call(call, at, end) => {
                let result = end.as_ref().and_then(|(outcome, _)| outcome.text.as_deref());
                let text = raw.then(|| {
                    let (id, name) = (call.id.as_deref(), call.name.as_deref());
                    Cow::Owned(object(&[
                        ("id", id.map(quoted).as_deref()),
                        ("name", name.map(quoted).as_deref()),
                        ("input", call.text.as_deref()),
                        ("result", result),
                    ]))
                });
                let mut attempt = Attempt {
                    kind: "tool".into(),
                    name: call.name.map(Cow::Owned),
                    request_id: call.id.map(Cow::Owned),
                    input: call.input,
                    started_at: at.to_stamp(),
                    raw: text,
                    ..Attempt::default()
                };
                let Some((outcome, ended)) = end else {
                    attempt.status = Some("pending".into());
                    return attempt;
                };
                attempt.ended_at = ended.to_stamp();
                attempt.duration_ms = outcome.duration_ms;
                attempt.status = outcome.status.map(Cow::Borrowed);
                attempt.error = outcome.error.filter(|_| outcome.status.is_none());
                attempt
            }
        }
    }
}

/// A field as text that is not empty; a number or a flag in its JSON spelling.
pub(super) fn word(raw: Option<&RawValue>) -> Option<String> {
    label(raw?).filter(|text| !text.is_empty()).map(Cow::into_owned)
}

/// The name of a file without its last ending, for runs that no record names.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The most bytes of an error's message that are kept: enough to sort errors, not whole outputs.
const MESSAGE: usize = 4096;

/// The start of a text, as an error's message; `None` if there is none.
pub(super) fn message(text: &str) -> Option<Cow<'static, str>> {
    let mut end = text.len().min(MESSAGE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).filter(|text| !text.is_empty()).map(|text| Cow::Owned(text.to_owned()))
}

/// What a run delivered, as JSON text: the members that are there, each JSON text itself.
pub(super) fn delivered(members: &[(&str, Option<&str>)]) -> crate::model::Final<'static> {
    match members.iter().all(|(_, value)| value.is_none()) {
        true => crate::model::Final::Missing,
        false => crate::model::Final::Json(Cow::Owned(object(members))),
    }
}
