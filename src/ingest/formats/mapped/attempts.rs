//! The attempts of one run, from its events in order.
//!
//! Owns which events are one attempt. Events that share an id are one; those of one step follow
//! each other, and a start or a higher number while one is open says that the open one failed;
//! those that share a name alone are paired in their order, what began first ends first. What a
//! later record of the same attempt says fills in what the earlier did not.
//! Refuses to know runs and paths.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde_json::value::RawValue;

use super::super::kept;
use super::event::{Event, Pair};
use crate::config::mapping::Class;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Attempt, Place, Severity};

/// Where an attempt stands.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    open: bool,
    /// Whether its start was seen.
    started: bool,
    /// Whether a retry opened it, so that a start only confirms it.
    by_retry: bool,
}

/// The attempts of one run while its events come in.
#[derive(Default)]
pub(super) struct Attempts {
    list: Vec<Attempt<'static>>,
    states: Vec<State>,
    by_request: HashMap<Box<str>, usize>,
    by_step: HashMap<Box<str>, usize>,
    by_name: HashMap<Box<str>, VecDeque<usize>>,
    last_of_name: HashMap<Box<str>, usize>,
    open: BTreeSet<usize>,
    raw: BTreeMap<usize, BTreeMap<String, String>>,
    pub(super) tally: Tally,
}

impl Attempts {
    /// Takes the next event; run events do not come here.
    pub(super) fn take(&mut self, event: Event) {
        match event.class {
            Class::StepStart => self.start(event),
            Class::StepEnd => self.end(event, false),
            Class::Step => self.end(event, true),
            Class::Retry => self.retry(event),
            Class::Error => self.error(event),
            Class::RunStart | Class::RunEnd | Class::Metric | Class::Ignore => {}
        }
    }

    fn note(&mut self, code: &'static str, place: Place, rule: &'static str) {
        self.tally.count(code, Severity::Note, place, rule);
    }

    fn push(&mut self, attempt: Attempt<'static>, pair: &Pair, state: State) -> usize {
        let at = self.list.len();
        self.list.push(attempt);
        self.states.push(state);
        if state.open {
            self.open.insert(at);
        }
        match pair {
            Pair::Request(id) => _ = self.by_request.insert(id.clone(), at),
            Pair::Step(step) => _ = self.by_step.insert(step.clone(), at),
            Pair::Name(_) | Pair::None => {
                let name = name_of(pair);
                if state.open {
                    self.by_name.entry(name.clone()).or_default().push_back(at);
                }
                self.last_of_name.insert(name, at);
            }
        }
        at
    }

    fn close(&mut self, at: usize) {
        if let Some(state) = self.states.get_mut(at) {
            state.open = false;
        }
        self.open.remove(&at);
    }

    fn is_open(&self, at: usize) -> bool {
        self.states.get(at).is_some_and(|state| state.open)
    }

    /// Closes an attempt that was started again.
    fn fail_open(&mut self, at: usize, place: Place) {
        self.close(at);
        if let Some(attempt) = self.list.get_mut(at) {
            attempt.status = Some("failed".into());
        }
        self.note(
            "attempt_closed_by_restart",
            place,
            "an attempt was still open when its step was started again or retried: it counts as failed",
        );
    }

    fn number(&self, at: usize) -> u32 {
        self.list.get(at).and_then(|attempt| attempt.attempt).unwrap_or(1)
    }

    /// The number of the next attempt of a step whose last one is `at`; `None` where that passed.
    fn next_number(&mut self, at: usize) -> Option<u32> {
        let failed = self.list.get(at).is_some_and(failed);
        if !failed {
            return None;
        }
        let number = self.number(at);
        if let Some(last) = self.list.get_mut(at) {
            last.attempt.get_or_insert(number);
        }
        Some(number.saturating_add(1))
    }

    fn start(&mut self, mut event: Event) {
        let attempt = &mut event.attempt;
        attempt.started_at = attempt.started_at.take().or(event.time.take());
        let opened = State { open: true, started: true, by_retry: false };
        match &event.pair {
            Pair::Request(id) => {
                if let Some(&at) = self.by_request.get(id) {
                    self.note(
                        "events_merged",
                        event.place,
                        "another start of one attempt, or one behind its end",
                    );
                    return self.fill(at, event, |state| state.started = true);
                }
            }
            Pair::Step(step) => {
                if let Some(&at) = self.by_step.get(step) {
                    let state = self.states.get(at).copied().unwrap_or_default();
                    let same = attempt.attempt.is_none_or(|number| number == self.number(at));
                    if state.open && state.by_retry && same {
                        if let Some(last) = self.list.get_mut(at) {
                            last.started_at = attempt.started_at.clone().or(last.started_at.take());
                        }
                        return self.fill(at, event, |state| {
                            (state.by_retry, state.started) = (false, true);
                        });
                    }
                    if attempt.attempt.is_some() && same && state.open {
                        self.note(
                            "events_merged",
                            event.place,
                            "another start of one attempt, or one behind its end",
                        );
                        return self.fill(at, event, |state| state.started = true);
                    }
                    if state.open {
                        self.fail_open(at, event.place);
                    }
                    let next = self.next_number(at);
                    attempt.attempt = attempt.attempt.or(next);
                    inherit(attempt, self.list.get(at));
                }
            }
            Pair::Name(_) | Pair::None => {}
        }
        let at = self.push(event.attempt, &event.pair, opened);
        self.keep_raw(at, event.raw.as_deref());
    }

    /// An end, or with `whole` a record of a whole attempt.
    fn end(&mut self, mut event: Event, whole: bool) {
        let attempt = &mut event.attempt;
        if !whole {
            attempt.ended_at = attempt.ended_at.take().or(event.time.take());
        }
        let known = match &event.pair {
            Pair::Request(id) => self.by_request.get(id).copied(),
            Pair::Step(step) => self.by_step.get(step).copied(),
            Pair::Name(_) | Pair::None if whole => None,
            Pair::Name(_) | Pair::None => {
                self.by_name.get_mut(&name_of(&event.pair)).and_then(VecDeque::pop_front)
            }
        };
        if let Some(at) = known {
            let last = self.number(at);
            let numbered = attempt.attempt;
            if self.is_open(at) {
                match numbered {
                    // A later attempt of the step is over: the open one failed before it.
                    Some(number)
                        if number > last
                            && matches!(event.pair, Pair::Step(_))
                            && self.has_number(at) =>
                    {
                        self.fail_open(at, event.place);
                        inherit(attempt, self.list.get(at));
                    }
                    _ => {
                        self.close(at);
                        return self.fill(at, event, |_| {});
                    }
                }
            } else {
                let same = numbered.is_none_or(|number| number == last);
                let started = self.states.get(at).is_some_and(|state| state.started);
                let is_request = matches!(event.pair, Pair::Request(_));
                if same && !whole && (started || is_request) {
                    self.note(
                        "events_merged",
                        event.place,
                        "another end of one attempt: it fills in what the first did not say",
                    );
                    return self.fill_closed(at, event);
                }
                let next = self.next_number(at);
                attempt.attempt = numbered.or(next.filter(|_| !whole));
            }
        }
        // Where starts of a step are logged, a second end is a repetition.
        let started = known.and_then(|at| self.states.get(at)).is_some_and(|state| state.started);
        let at = self.push(event.attempt, &event.pair, State { started, ..State::default() });
        self.keep_raw(at, event.raw.as_deref());
    }

    fn has_number(&self, at: usize) -> bool {
        self.list.get(at).is_some_and(|attempt| attempt.attempt.is_some())
    }

    /// The attempt that a record is about: the open one of its key, else the last one of it;
    /// without a key the only open one, else the last one of the run.
    fn target(&self, pair: &Pair) -> Option<usize> {
        match pair {
            Pair::Request(id) => self.by_request.get(id).copied(),
            Pair::Step(step) => self.by_step.get(step).copied(),
            Pair::Name(name) => self
                .by_name
                .get(name)
                .and_then(|open| open.front().copied())
                .or_else(|| self.last_of_name.get(name).copied()),
            Pair::None => {
                let only = self.open.first().filter(|_| self.open.len() == 1).copied();
                only.or_else(|| self.list.len().checked_sub(1).filter(|_| self.open.is_empty()))
            }
        }
    }

    fn retry(&mut self, mut event: Event) {
        let recorded = event.attempt.attempt.take();
        let error = event.attempt.error.take();
        let (pair, at) = match self.target(&event.pair) {
            Some(at) => (self.pair_of(&event.pair, at), at),
            None if event.pair == Pair::None => {
                self.tally.count(
                    "event_without_step",
                    Severity::Warning,
                    event.place,
                    "a retry that names no step, where no attempt or more than one is open: it is in no figure",
                );
                return;
            }
            None => {
                // The attempt before it is known by this record alone.
                let number = recorded.map_or(1, |number| number.saturating_sub(1).max(1));
                let mut lost = Attempt { attempt: Some(number), ..Attempt::default() };
                inherit(&mut lost, Some(&event.attempt));
                (event.pair.clone(), self.push(lost, &event.pair, State::default()))
            }
        };
        self.close(at);
        if let Pair::Name(_) | Pair::None = pair
            && let Some(open) = self.by_name.get_mut(&name_of(&pair))
            && open.front() == Some(&at)
        {
            open.pop_front();
        }
        let number = self.number(at);
        if let Some(failed) = self.list.get_mut(at) {
            failed.attempt.get_or_insert(number);
            failed.status = Some("failed".into());
            failed.error = failed.error.take().or(error);
            failed.ended_at = failed.ended_at.take().or(event.time.clone());
            failed.duration_ms = failed.duration_ms.or(event.attempt.duration_ms.take());
            if failed.step_id.is_none() && failed.request_id.is_none() {
                failed.step_id.clone_from(&failed.name);
            }
        }
        let next = number.saturating_add(1);
        let mut attempt = Attempt {
            // A retry may carry the number of the attempt that failed: the next is higher.
            attempt: Some(recorded.filter(|number| *number >= next).unwrap_or(next)),
            started_at: event.time.take(),
            input: event.attempt.input,
            request_id: event.attempt.request_id.take(),
            ..Attempt::default()
        };
        inherit(&mut attempt, self.list.get(at));
        if attempt.request_id.is_none() {
            attempt.request_id = self.list.get(at).and_then(|failed| failed.request_id.clone());
        }
        let at = self.push(attempt, &pair, State { open: true, started: true, by_retry: true });
        self.keep_raw(at, event.raw.as_deref());
    }

    /// The key of a record that names none: that of its attempt.
    fn pair_of(&self, pair: &Pair, at: usize) -> Pair {
        if *pair != Pair::None {
            return pair.clone();
        }
        let Some(attempt) = self.list.get(at) else { return Pair::None };
        let boxed = |text: &str| text.to_owned().into_boxed_str();
        let request = attempt.request_id.as_deref().map(boxed).map(Pair::Request);
        let step = attempt.step_id.as_deref().map(boxed).map(Pair::Step);
        let name = attempt.name.as_deref().map(boxed).map(Pair::Name);
        request.or(step).or(name).unwrap_or(Pair::None)
    }

    fn error(&mut self, mut event: Event) {
        let error = event.attempt.error.take().unwrap_or_default();
        match self.target(&event.pair) {
            Some(at) => {
                let attempt = self.list.get_mut(at);
                if let Some(attempt) = attempt {
                    attempt.error.get_or_insert(error);
                }
                self.keep_raw(at, event.raw.as_deref());
            }
            None if event.pair == Pair::None => {
                let rule = "an error that names no step, where no attempt or more than one is open: it is in no figure";
                self.tally.count("event_without_step", Severity::Warning, event.place, rule);
            }
            None => {
                event.attempt.error = Some(error);
                event.attempt.ended_at = event.attempt.ended_at.take().or(event.time.take());
                let at = self.push(event.attempt, &event.pair, State::default());
                self.keep_raw(at, event.raw.as_deref());
            }
        }
    }

    fn fill(&mut self, at: usize, event: Event, state: impl FnOnce(&mut State)) {
        if let Some(attempt) = self.list.get_mut(at) {
            fill(attempt, event.attempt);
        }
        if let Some(found) = self.states.get_mut(at) {
            state(found);
        }
        self.keep_raw(at, event.raw.as_deref());
    }

    /// Fills in an attempt that is over. One that was denied or cancelled stays so: its flagged
    /// result only tells of it.
    fn fill_closed(&mut self, at: usize, mut event: Event) {
        let refused = self.list.get(at).and_then(|attempt| attempt.status.as_deref());
        if refused.is_some_and(kept::is_refusal) {
            event.attempt.error = None;
        }
        self.fill(at, event, |_| {});
    }

    fn keep_raw(&mut self, at: usize, record: Option<&str>) {
        let Some(record) = record else { return };
        let Ok(members) = quick::from_str::<BTreeMap<String, &RawValue>>(record) else {
            return;
        };
        let kept = self.raw.entry(at).or_default();
        for (key, value) in members {
            if value.get() != "null" {
                kept.insert(key, value.get().to_owned());
            }
        }
    }

    /// All attempts in order. Those that are still open are running, or calls without a result.
    pub(super) fn finish(mut self) -> (Vec<Attempt<'static>>, Tally) {
        for at in &self.open {
            let Some(attempt) = self.list.get_mut(*at) else { continue };
            if attempt.status.is_none() {
                attempt.status = Some(match (&attempt.error, &attempt.request_id) {
                    (Some(_), _) => "failed".into(),
                    (None, Some(_)) => "pending".into(),
                    (None, None) => "running".into(),
                });
            }
        }
        for (at, members) in &self.raw {
            if let Some(attempt) = self.list.get_mut(*at) {
                attempt.raw = Some(kept::object(members).into());
            }
        }
        for attempt in &mut self.list {
            if attempt.kind.is_empty() {
                attempt.kind = "step".into();
            }
        }
        (self.list, self.tally)
    }
}

fn name_of(pair: &Pair) -> Box<str> {
    match pair {
        Pair::Name(name) => name.clone(),
        _ => Box::default(),
    }
}

fn failed(attempt: &Attempt<'_>) -> bool {
    attempt.error.is_some()
        || attempt.status.as_deref().is_some_and(|status| {
            crate::model::AttemptWord::read(status) == crate::model::AttemptWord::Failed
        })
}

/// What all attempts of a step share.
fn inherit(attempt: &mut Attempt<'static>, from: Option<&Attempt<'static>>) {
    let Some(from) = from else { return };
    if attempt.kind.is_empty() {
        attempt.kind.clone_from(&from.kind);
    }
    attempt.step_id = attempt.step_id.take().or(from.step_id.clone());
    attempt.name = attempt.name.take().or(from.name.clone());
    attempt.index = attempt.index.or(from.index);
}

/// Takes over what is not there yet.
pub(super) fn fill(into: &mut Attempt<'static>, from: Attempt<'static>) {
    if into.kind.is_empty() {
        into.kind = from.kind;
    }
    into.step_id = into.step_id.take().or(from.step_id);
    into.index = into.index.or(from.index);
    into.attempt = into.attempt.or(from.attempt);
    into.attempts_total = into.attempts_total.or(from.attempts_total);
    into.name = into.name.take().or(from.name);
    into.status = into.status.take().or(from.status);
    into.request_id = into.request_id.take().or(from.request_id);
    into.input = into.input.or(from.input);
    into.error = into.error.take().or(from.error);
    into.started_at = into.started_at.take().or(from.started_at);
    into.ended_at = into.ended_at.take().or(from.ended_at);
    into.duration_ms = into.duration_ms.or(from.duration_ms);
    into.tokens = into.tokens.or(from.tokens);
    into.cost_usd = into.cost_usd.or(from.cost_usd);
}
