//! The attempts of one run, paired from the events of its nodes.
//!
//! Owns: which lines of a node are one attempt, and how attempts are numbered. From a start to an
//! end of one node is one attempt. A retry opens the next, and so does a start after an end that
//! was no pass, or while an attempt is open, which then failed; a start after a pass is a revisit
//! and gets no number. A waiting attempt stays open and goes on with the next start or end.
//! Refuses: to know runs.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use super::super::Fate;
use super::super::kept::{self, object, stamp, text};
use super::super::native::fields::Scalar;
use super::line::{Event, Fields, Written};
use crate::ingest::quick;
use crate::model::{Attempt, AttemptWord, ErrorInfo, input_hash};

/// What the last attempt of a node came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Open,
    Passed,
    Failed,
    Neither,
}

/// Where a node stands.
struct Node {
    /// Its latest attempt.
    last: usize,
    verdict: Verdict,
    /// Number of the latest attempt within its visit.
    number: u32,
    /// Whether a retry opened the latest attempt, so that a start only confirms it.
    by_retry: bool,
    /// Whether starts of this node are logged: a second end is then a repetition.
    has_starts: bool,
}

/// The attempts of one run while its lines come in.
#[derive(Default)]
pub(super) struct Attempts {
    list: Vec<Attempt<'static>>,
    nodes: HashMap<Box<str>, Node>,
    /// Members of the attempts as JSON text, by attempt; only if asked for.
    raw: HashMap<usize, BTreeMap<String, String>>,
    /// Attempts that a restart or retry closed.
    pub(super) restarted: u64,
}

impl Attempts {
    /// A whole attempt on one line.
    pub(super) fn step(&mut self, fields: Fields<'_>, raw: Option<Written<'_>>) {
        let mut attempt = Attempt {
            status: text(&fields.status),
            attempt: number(&fields),
            started_at: stamp(&fields.started_at),
            ended_at: stamp(&fields.ended_at),
            ..Attempt::default()
        };
        if attempt.started_at.is_none() && attempt.ended_at.is_none() {
            // The line is written once the attempt is over.
            attempt.ended_at = stamp(&fields.logged_at);
        }
        merge(&mut attempt, fields);
        self.list.push(attempt);
        self.keep_raw(self.list.len() - 1, raw);
    }

    pub(super) fn start(&mut self, fields: &Fields<'_>, raw: Option<Written<'_>>) {
        let Some(key) = fields.node_key() else { return };
        let began = stamp(&fields.started_at).or_else(|| stamp(&fields.logged_at));
        if let Some(node) = self.nodes.get_mut(key.as_ref()) {
            node.has_starts = true;
            let resumes = node.verdict == Verdict::Open
                && self.list.get(node.last).is_some_and(|a| a.status.is_some());
            if node.by_retry || resumes {
                let last = node.last;
                let first_start = node.by_retry;
                node.by_retry = false;
                if let Some(number) = number(fields).filter(|_| first_start) {
                    node.number = number;
                }
                let number = node.number;
                if let Some(attempt) = self.list.get_mut(last) {
                    attempt.status = None;
                    if first_start {
                        attempt.attempt = Some(number);
                        attempt.started_at = began.or(attempt.started_at.take());
                    }
                    merge_start(attempt, fields);
                }
                self.keep_raw(last, raw);
                return;
            }
        }
        self.fail_open(&key);
        let at = self.open(&key, fields, false);
        if let Some(attempt) = self.list.get_mut(at) {
            attempt.started_at = began;
        }
        if let Some(node) = self.nodes.get_mut(key.as_ref()) {
            node.has_starts = true;
        }
        self.keep_raw(at, raw);
    }

    /// The attempt before failed, if it was open; the next is open from here.
    pub(super) fn retry(&mut self, fields: Fields<'_>, raw: Option<Written<'_>>) {
        let Some(key) = fields.node_key() else { return };
        let logged_at = stamp(&fields.logged_at);
        self.fail_open(&key);
        let failed = self.nodes.get(key.as_ref()).map(|node| node.last);
        let at = self.open(&key, &fields, true);
        let input = fields.input.and_then(|input| input_hash(input.get()));
        if let Some(attempt) = self.list.get_mut(at) {
            attempt.started_at.clone_from(&logged_at);
            attempt.input = input;
        }
        // What a retry tells beside its number is why the attempt before it failed.
        if let Some(attempt) = failed.and_then(|at| self.list.get_mut(at)) {
            if attempt.error.is_none() {
                attempt.error = fields.error.0.map(kept::error);
            }
            attempt.ended_at = attempt.ended_at.take().or(logged_at);
            attempt.duration_ms = attempt.duration_ms.or(fields.duration_ms.number());
        }
        self.keep_raw(at, raw);
    }

    /// The attempt stays open, with a status that is neither passed nor failed.
    pub(super) fn wait(&mut self, fields: Fields<'_>, raw: Option<Written<'_>>) {
        let Some(key) = fields.node_key() else { return };
        let open = self.nodes.get(key.as_ref()).filter(|node| node.verdict == Verdict::Open);
        let at = match open.map(|node| node.last) {
            Some(at) => at,
            None => {
                let at = self.open(&key, &fields, false);
                if let Some(attempt) = self.list.get_mut(at) {
                    attempt.started_at = stamp(&fields.started_at).or(stamp(&fields.logged_at));
                }
                at
            }
        };
        if let Some(node) = self.nodes.get_mut(key.as_ref()) {
            node.by_retry = false;
        }
        if let Some(attempt) = self.list.get_mut(at) {
            attempt.status = text(&fields.status)
                .filter(|word| AttemptWord::read(word) == AttemptWord::Neither)
                .or(Some("waiting".into()));
            merge(attempt, fields);
        }
        self.keep_raw(at, raw);
    }

    /// Closes the node's open attempt, or makes one that is closed from the start.
    pub(super) fn end(
        &mut self,
        fields: Fields<'_>,
        event: Event,
        raw: Option<Written<'_>>,
    ) -> Fate {
        let Some(key) = fields.node_key() else { return Fate::Ignored("event_without_node") };
        let ended_at = stamp(&fields.ended_at).or_else(|| stamp(&fields.logged_at));
        let recorded = number(&fields);
        let status = end_status(event, &fields);
        let mut error = fields.error.0.clone().map(kept::error);
        if event == Event::Timeout && error.is_none() {
            error = Some(ErrorInfo { kind: Some("timeout".into()), ..ErrorInfo::default() });
        }
        let verdict = match AttemptWord::read(&status) {
            AttemptWord::Neither => Verdict::Neither,
            AttemptWord::Failed => Verdict::Failed,
            _ if error.is_some() => Verdict::Failed,
            AttemptWord::Passed | AttemptWord::Unknown => Verdict::Passed,
        };
        let (at, fate) = match self.nodes.get_mut(key.as_ref()) {
            Some(node) if node.verdict == Verdict::Open => {
                node.number = recorded.unwrap_or(node.number);
                (node.last, Fate::Used)
            }
            // `error` and then `failed`, or `success` and then `end`, tell one end twice.
            Some(node)
                if (event == Event::End && fields.status.is_absent()
                    || node.has_starts && node.verdict == verdict)
                    && recorded.is_none_or(|number| number == node.number) =>
            {
                let last = node.last;
                if let Some(attempt) = self.list.get_mut(last) {
                    attempt.ended_at = attempt.ended_at.take().or(ended_at);
                    attempt.error = attempt.error.take().or(error);
                    merge_rest(attempt, &fields);
                }
                self.keep_raw(last, raw);
                return Fate::Merged("repeated_end");
            }
            _ => (self.open(&key, &fields, false), Fate::Used),
        };
        if let Some(node) = self.nodes.get_mut(key.as_ref()) {
            node.verdict = verdict;
            node.by_retry = false;
        }
        if let Some(attempt) = self.list.get_mut(at) {
            attempt.status = Some(status);
            attempt.attempt = recorded.or(attempt.attempt);
            attempt.started_at = attempt.started_at.take().or_else(|| stamp(&fields.started_at));
            attempt.ended_at = ended_at;
            merge(attempt, fields);
            attempt.error = error.or(attempt.error.take());
        }
        self.keep_raw(at, raw);
        fate
    }

    /// Closes an open attempt that the log starts again.
    fn fail_open(&mut self, key: &str) {
        let Some(node) = self.nodes.get_mut(key).filter(|n| n.verdict == Verdict::Open) else {
            return;
        };
        node.verdict = Verdict::Failed;
        self.restarted += 1;
        if let Some(attempt) = self.list.get_mut(node.last) {
            attempt.status = Some("failed".into());
        }
    }

    /// Adds the node's next attempt, with its number where the log gives or implies one.
    fn open(&mut self, key: &str, fields: &Fields<'_>, by_retry: bool) -> usize {
        let recorded = number(fields);
        let at = self.list.len();
        let mut attempt = Attempt::default();
        if let Some(node) = self.nodes.get_mut(key) {
            let revisits = node.verdict == Verdict::Passed && !by_retry;
            let next = node.number.saturating_add(1);
            if let Some(last) = self.list.get_mut(node.last) {
                attempt.kind.clone_from(&last.kind);
                attempt.name.clone_from(&last.name);
                if !revisits {
                    last.attempt.get_or_insert(node.number);
                }
            }
            if revisits {
                attempt.attempt = recorded;
                node.number = recorded.unwrap_or(1);
            } else {
                // A retry may carry the number of the attempt that failed: the next is higher.
                node.number = recorded.filter(|&n| !by_retry || n >= next).unwrap_or(next);
                attempt.attempt = Some(node.number);
            }
            (node.last, node.verdict, node.by_retry) = (at, Verdict::Open, by_retry);
        } else {
            // A retry without an attempt before it: that one's lines are lost.
            attempt.attempt = recorded.or(by_retry.then_some(2));
            let number = attempt.attempt.unwrap_or(1);
            let node =
                Node { last: at, verdict: Verdict::Open, number, by_retry, has_starts: false };
            self.nodes.insert(key.into(), node);
        }
        merge_start(&mut attempt, fields);
        self.list.push(attempt);
        at
    }

    fn keep_raw(&mut self, at: usize, line: Option<Written<'_>>) {
        let Some(Written { text, bytes }) = line else { return };
        // The last line to tell of an attempt is the one to look at: it says how it ended.
        if let Some(attempt) = self.list.get_mut(at) {
            attempt.bytes = bytes;
        }
        let Ok(members) = quick::from_slice::<BTreeMap<String, &RawValue>>(text) else {
            return;
        };
        let kept = self.raw.entry(at).or_default();
        let extra = members.get("extra").map(|extra| extra.get());
        let extra: BTreeMap<String, &RawValue> =
            extra.and_then(|extra| quick::from_str(extra).ok()).unwrap_or_default();
        for (key, value) in extra.into_iter().chain(members) {
            if key != "event" && (value.get() != "null" || !kept.contains_key(&key)) {
                kept.insert(key, value.get().to_owned());
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Gives back the room for attempts that an ended run will not have.
    pub(super) fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    /// All attempts; those still open are running, or waiting.
    pub(super) fn finish(self) -> Vec<Attempt<'static>> {
        let Self { mut list, nodes, raw, .. } = self;
        let raw: BTreeMap<_, _> = raw.into_iter().collect();
        for (at, members) in raw {
            if let Some(attempt) = list.get_mut(at) {
                attempt.raw = Some(object(&members).into());
            }
        }
        let open = nodes.values().filter(|node| node.verdict == Verdict::Open);
        open.for_each(|node| {
            if let Some(attempt) = list.get_mut(node.last) {
                attempt.status.get_or_insert("running".into());
            }
        });
        list
    }
}

/// What identifies an attempt; the first line to say it counts.
fn merge_start(attempt: &mut Attempt<'static>, fields: &Fields<'_>) {
    let first = |slot: &mut Option<_>, value: &Scalar<'_>| {
        if slot.is_none() {
            *slot = text(value);
        }
    };
    first(&mut attempt.step_id, &fields.step_id);
    first(&mut attempt.node_id, &fields.node_id);
    first(&mut attempt.request_id, &fields.request_id);
    if let Some(kind) = text(&fields.kind).or_else(|| text(&fields.node_type)) {
        attempt.kind = kind;
    } else if attempt.kind.is_empty() {
        attempt.kind = "node".into();
    }
    if let Some(name) = text(&fields.name) {
        attempt.name = Some(name);
    } else if attempt.name.is_none() {
        attempt.name = text(&fields.node_id);
    }
    attempt.index = attempt.index.or_else(|| fields.index.number());
    attempt.input =
        attempt.input.or_else(|| fields.input.and_then(|input| input_hash(input.get())));
}

/// What an attempt used; a later line says it better.
fn merge_rest(attempt: &mut Attempt<'static>, fields: &Fields<'_>) {
    attempt.duration_ms = fields.duration_ms.number().or(attempt.duration_ms);
    attempt.tokens = fields.tokens.0.or(attempt.tokens);
    attempt.cost_usd = fields.cost_usd.number().or(attempt.cost_usd);
}

fn merge(attempt: &mut Attempt<'static>, fields: Fields<'_>) {
    merge_start(attempt, &fields);
    merge_rest(attempt, &fields);
    attempt.error = fields.error.0.map(kept::error).or(attempt.error.take());
}

/// The status of an ended attempt. A known word on the line says more than a passing or neutral
/// event (`completed` may only mean that it is over); it cannot undo a failure, and an unknown
/// word undoes nothing.
fn end_status(event: Event, fields: &Fields<'_>) -> Cow<'static, str> {
    let failed = fields.error.0.is_some();
    let (word, allowed): (_, &[AttemptWord]) = match event {
        Event::Failed => ("failed", &[AttemptWord::Failed]),
        Event::Timeout => ("timeout", &[AttemptWord::Failed]),
        Event::Skipped => ("skipped", &[AttemptWord::Neither]),
        Event::Cancelled => ("cancelled", &[AttemptWord::Neither]),
        _ => (
            if event == Event::End && failed { "failed" } else { "completed" },
            &[AttemptWord::Passed, AttemptWord::Failed, AttemptWord::Neither],
        ),
    };
    text(&fields.status)
        .filter(|status| allowed.contains(&AttemptWord::read(status)))
        .unwrap_or(Cow::Borrowed(word))
}

/// The recorded number of the attempt; 0 is none, as they count from 1. A line whose number cannot
/// be read was refused before.
fn number(fields: &Fields<'_>) -> Option<u32> {
    fields.attempt.whole().ok().flatten().filter(|&number| number > 0)
}
