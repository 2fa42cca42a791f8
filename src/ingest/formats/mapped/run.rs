//! One run while its records come in, and the run that they make.
//!
//! Owns which of several values of a field of the run counts (the first of what it is, the last
//! of how it went), the order of events, and events that name no run.

use std::borrow::Cow;

use super::super::raw::{object, quoted};
use super::attempts::{Attempts, fill};
use super::event::{
    AGENT, END_REASON, Event, Head, MODEL, RUN_ID, STATUS, TASK_ID, TRIAL, unnamed,
};
use crate::config::mapping::{Class, Mapping};
use crate::ingest::assemble::tally::Tally;
use crate::model::{EndRule, Final, Place, ScoreValue, Severity, Stamp, Time, Tokens, Trajectory};

/// When a value was told: by time where both have one, else by place.
pub(super) type Told = (Option<i64>, Place);

/// What a record says of its run, before it is known which run that is.
pub(super) struct Said {
    pub(super) told: Told,
    pub(super) class: Class,
    pub(super) head: Head,
}

fn before(one: &Told, other: &Told) -> bool {
    match (one.0, other.0) {
        (Some(a), Some(b)) => (a, one.1) < (b, other.1),
        _ => one.1 < other.1,
    }
}

/// A value, and when it was told.
type Kept<T> = Option<(Told, T)>;

fn keep_first<T>(slot: &mut Kept<T>, told: Told, value: Option<T>) {
    if let Some(value) = value
        && slot.as_ref().is_none_or(|(known, _)| before(&told, known))
    {
        *slot = Some((told, value));
    }
}

fn keep_last<T>(slot: &mut Kept<T>, told: Told, value: Option<T>) {
    if let Some(value) = value
        && slot.as_ref().is_none_or(|(known, _)| !before(&told, known))
    {
        *slot = Some((told, value));
    }
}

/// One run.
#[derive(Default)]
pub(super) struct Run {
    pub(super) place: Place,
    /// The last place of a record that names it.
    pub(super) until: Place,
    /// What its records share.
    pub(super) key: Option<Box<str>>,
    pub(super) events: Vec<Event>,
    /// What records that name no run say of the run.
    pub(super) said: Vec<Said>,
    texts: [Kept<String>; 7],
    tags: Vec<(String, Kept<String>)>,
    score: Kept<ScoreValue<'static>>,
    success: Kept<bool>,
    started_at: Option<Stamp<'static>>,
    ended_at: Option<Stamp<'static>>,
    duration_ms: Kept<f64>,
    tokens: Kept<Tokens>,
    cost_usd: Kept<f64>,
    output: Kept<String>,
    final_output: Kept<String>,
    has_start: bool,
    has_end: bool,
    /// Records that start a run, beyond the first.
    starts_again: u64,
    /// Whether the record is a run without a list of steps.
    pub(super) steps_unknown: bool,
}

impl Run {
    pub(super) fn new(place: Place, key: Option<Box<str>>) -> Self {
        Self { place, until: place, key, ..Self::default() }
    }

    /// Takes what a record says of the run.
    pub(super) fn tell(&mut self, told: Told, class: Option<Class>, head: Head) {
        self.starts_again += u64::from(self.has_start && class == Some(Class::RunStart));
        self.has_start |= class == Some(Class::RunStart);
        self.has_end |= class == Some(Class::RunEnd);
        for (at, text) in head.texts.into_iter().enumerate() {
            let Some(slot) = self.texts.get_mut(at) else { continue };
            match at {
                STATUS | END_REASON => keep_last(slot, told, text),
                _ => keep_first(slot, told, text),
            }
        }
        for (key, value) in head.tags {
            let at = match self.tags.iter().position(|(known, _)| *known == key) {
                Some(at) => at,
                None => {
                    self.tags.push((key, None));
                    self.tags.len() - 1
                }
            };
            if let Some((_, slot)) = self.tags.get_mut(at) {
                keep_first(slot, told, Some(value));
            }
        }
        keep_last(&mut self.score, told, head.score);
        keep_last(&mut self.success, told, head.success);
        keep_last(&mut self.duration_ms, told, head.duration_ms);
        keep_last(&mut self.tokens, told, head.tokens);
        keep_last(&mut self.cost_usd, told, head.cost_usd);
        keep_last(&mut self.output, told, head.output);
        keep_last(&mut self.final_output, told, head.final_output);
        bound(&mut self.started_at, head.started_at, |new, known| new < known);
        bound(&mut self.ended_at, head.ended_at, |new, known| new > known);
    }

    /// Takes what its records say, now that they are known to be of this run.
    pub(super) fn own(&mut self) {
        for Said { told, class, head } in std::mem::take(&mut self.said) {
            self.tell(told, Some(class), head);
        }
    }

    /// Takes over what records that name no run say of this one.
    pub(super) fn adopt(&mut self, mut other: Self) {
        other.own();
        self.has_start |= other.has_start;
        self.has_end |= other.has_end;
        self.events.extend(other.events);
        let first = |slot: &mut Kept<String>, from: Kept<String>| {
            if let Some((told, value)) = from {
                keep_first(slot, told, Some(value));
            }
        };
        for (at, (slot, from)) in self.texts.iter_mut().zip(other.texts).enumerate() {
            match (at, from) {
                (STATUS | END_REASON, Some((told, value))) => keep_last(slot, told, Some(value)),
                (_, from) => first(slot, from),
            }
        }
        for (key, from) in other.tags {
            match self.tags.iter_mut().find(|(known, _)| *known == key) {
                Some((_, slot)) => first(slot, from),
                None => self.tags.push((key, from)),
            }
        }
        fn last<T>(slot: &mut Kept<T>, from: Kept<T>) {
            if let Some((told, value)) = from {
                keep_last(slot, told, Some(value));
            }
        }
        last(&mut self.score, other.score);
        last(&mut self.success, other.success);
        last(&mut self.duration_ms, other.duration_ms);
        last(&mut self.tokens, other.tokens);
        last(&mut self.cost_usd, other.cost_usd);
        last(&mut self.output, other.output);
        last(&mut self.final_output, other.final_output);
        bound(&mut self.started_at, other.started_at, |new, known| new < known);
        bound(&mut self.ended_at, other.ended_at, |new, known| new > known);
        self.place = self.place.min(other.place);
    }

    /// Merges a record that says the same as an event that is known: the later value counts.
    pub(super) fn merge(&mut self, at: usize, mut event: Event) {
        let Some(known) = self.events.get_mut(at) else { return };
        let told = |event: &Event| (event.order, event.place);
        if before(&told(&event), &told(known)) {
            fill(&mut known.attempt, event.attempt);
            return;
        }
        std::mem::swap(&mut known.attempt, &mut event.attempt);
        fill(&mut known.attempt, event.attempt);
        known.time = event.time.or(known.time.take());
        known.order = known.order.or(event.order);
        known.raw = event.raw.or(known.raw.take());
    }

    /// The run that its records make.
    pub(super) fn finish(mut self, mapping: &Mapping, tally: &mut Tally) -> Trajectory<'static> {
        // By time where each event has one; else in the order of the file.
        let timed = self.events.iter().filter(|event| event.order.is_some()).count();
        if timed == self.events.len() {
            self.events.sort_by_key(|event| (event.order, event.place));
        } else {
            self.events.sort_by_key(|event| event.place);
            if !mapping.whole_runs && self.events.len() > 1 {
                tally.count(
                    "order_of_the_file",
                    Severity::Note,
                    self.place,
                    "not every event of a run has a time: its events are taken in the order of the file",
                );
            }
        }
        if self.key.is_none() && self.starts_again > 0 {
            tally.add(
                "several_starts",
                Severity::Warning,
                self.place,
                "records that start a run come again in a file whose records name no run, so all of it is one run: map `run.run_id` or `group.run`",
                self.starts_again,
            );
        }
        let mut attempts = Attempts::default();
        for event in self.events {
            attempts.take(event);
        }
        let (mut list, told) = attempts.finish();
        tally.merge(told);
        for attempt in &mut list {
            attempt.turn =
                mapping.turns.iter().any(|kind| kind.eq_ignore_ascii_case(&attempt.kind));
        }
        let mut texts = self.texts.map(|kept| kept.map(|(_, text)| text));
        let mut text = |at: usize| texts.get_mut(at).and_then(Option::take).map(Cow::Owned);
        let (score, success) = (value(self.score), value(self.success));
        let mut run = Trajectory {
            place: self.place,
            run_id: text(RUN_ID).or_else(|| self.key.map(|key| Cow::Owned(key.into_string()))),
            task_id: text(TASK_ID),
            trial: text(TRIAL),
            agent: text(AGENT),
            model: text(MODEL),
            status: text(STATUS),
            end_reason: text(END_REASON),
            success,
            started_at: self.started_at,
            ended_at: self.ended_at,
            duration_ms: value(self.duration_ms),
            tokens: value(self.tokens),
            cost_usd: value(self.cost_usd),
            attempts: list,
            steps_unknown: self.steps_unknown,
            ..Trajectory::default()
        };
        run.tags = self
            .tags
            .into_iter()
            .filter_map(|(key, kept)| Some((Cow::Owned(key), Cow::Owned(value(kept)?))))
            .collect();
        if self.has_start && !self.has_end && mapping.tells_ends() {
            run.end_rule = Some(EndRule::Unfinished);
        }
        run.final_output = match value(self.final_output) {
            Some(json) => Final::Json(json.into()),
            None => final_output(&run, score.as_ref(), value(self.output).as_deref()),
        };
        run.scores = score.map(unnamed).into_iter().collect();
        run
    }
}

fn value<T>(kept: Kept<T>) -> Option<T> {
    kept.map(|(_, value)| value)
}

/// The earliest or latest of two times; what cannot be read loses.
fn bound(
    slot: &mut Option<Stamp<'static>>,
    new: Option<Stamp<'static>>,
    wins: fn(Time, Time) -> bool,
) {
    let Some(new) = new else { return };
    let better = match (slot.as_ref().and_then(Stamp::time), new.time()) {
        (Some(known), Some(new)) => wins(new, known),
        (None, _) => true,
        (Some(_), None) => false,
    };
    if better {
        *slot = Some(new);
    }
}

fn final_output(
    run: &Trajectory<'_>,
    score: Option<&ScoreValue<'static>>,
    output: Option<&str>,
) -> Final<'static> {
    let score = match score {
        Some(ScoreValue::Number(number)) if number.is_finite() => Some(number.to_string()),
        _ => None,
    };
    let status = run.status.as_deref().map(quoted);
    let end_reason = run.end_reason.as_deref().map(quoted);
    if score.is_none() && status.is_none() && end_reason.is_none() && output.is_none() {
        return Final::Missing;
    }
    Final::Json(
        object(&[
            ("score", score.as_deref()),
            ("status", status.as_deref()),
            ("end_reason", end_reason.as_deref()),
            ("output", output),
        ])
        .into(),
    )
}
