//! One workflow's events, and the run that they make.
//!
//! Owns: joining an activity's events by the id of the one that scheduled it, whatever their order,
//! and what each end means. An activity's record is the last of its tries; the number of tries and
//! the last failure before it are all that a history keeps. Refuses workflow tasks, timers and
//! signals, which are no steps.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::payload;
use super::wire::{self, Closing, Ending, Kind, Read, Work};
use crate::ingest::formats::raw::{label, object, quoted};
use crate::model::{Attempt, EndRule, ErrorInfo, Final, Issue, Place, Stamp, Trajectory};

/// An event without a borrow.
#[derive(Debug)]
pub(super) struct Event {
    time: Option<String>,
    said: Said,
}

impl Event {
    /// What is kept of it.
    pub(super) fn said(&self) -> &Said {
        &self.said
    }

    /// Whether both are records of one event. Writers differ in how they spell the rest.
    pub(super) fn is(&self, other: &Self) -> bool {
        let kind = std::mem::discriminant::<Said>;
        self.time == other.time && kind(&self.said) == kind(&other.said)
    }
}

/// What is kept of an event.
#[derive(Debug)]
pub(super) enum Said {
    Start(Box<Start>),
    End {
        ending: Ending,
        failure: Option<ErrorInfo<'static>>,
        result: Option<String>,
    },
    Opened {
        kind: &'static str,
        name: Option<String>,
        id: Option<String>,
        input: Input,
    },
    Started {
        of: Option<u64>,
        attempt: Option<u32>,
        failure: Option<ErrorInfo<'static>>,
    },
    Closed {
        of: Option<u64>,
        closing: Closing,
        failure: Option<ErrorInfo<'static>>,
        result: Option<String>,
    },
    Local {
        name: Option<String>,
        attempt: Option<u32>,
        failure: Option<ErrorInfo<'static>>,
    },
    Other,
}

/// How a workflow begins.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) run: Option<String>,
    first_run: Option<String>,
    workflow_type: Option<String>,
    workflow_id: Option<String>,
    attempt: Option<u32>,
}

/// The input of an activity: its hash, and its text where that is kept.
#[derive(Debug, Default)]
pub(super) struct Input {
    hash: Option<u64>,
    text: Option<String>,
}

/// Copies what is kept of an event; texts of inputs and results only if `raw`.
pub(super) fn keep(read: &Read<'_>, raw: bool) -> Event {
    let a = &read.attributes;
    let owned = |word: Option<Cow<'_, str>>| word.map(Cow::into_owned);
    let failure = || a.failure.map(wire::error);
    let value = |wanted: bool| a.result.filter(|_| wanted).map(|r| payload::value(r).into_owned());
    let said = match read.kind {
        Kind::Start => Said::Start(Box::new(Start {
            run: owned(wire::word(a.original)),
            first_run: owned(wire::word(a.first_run)),
            workflow_type: owned(wire::name(a.workflow_type)),
            workflow_id: owned(wire::word(a.workflow_id)),
            attempt: wire::tries(a.attempt),
        })),
        Kind::End(ending) => {
            let reason = || {
                let message = Some(Cow::Owned(wire::word(a.reason)?.into_owned()));
                Some(ErrorInfo { message, ..ErrorInfo::default() })
            };
            Said::End { ending, failure: failure().or_else(reason), result: value(true) }
        }
        Kind::Opened(work) => {
            let (kind, name) = match work {
                Work::Activity => ("activity", wire::name(a.activity_type)),
                Work::Child => ("child_workflow", wire::name(a.workflow_type)),
                Work::Nexus => ("nexus_operation", nexus_name(a)),
            };
            let input = Input {
                hash: a.input.and_then(payload::hash),
                text: a.input.filter(|_| raw).map(|input| payload::value(input).into_owned()),
            };
            let id = wire::word(a.activity_id).or_else(|| wire::word(a.workflow_id));
            Said::Opened { kind, name: owned(name), id: owned(id), input }
        }
        Kind::Started => Said::Started {
            of: opener(a),
            attempt: wire::tries(a.attempt),
            failure: a.last_failure.map(wire::error),
        },
        Kind::Closed(closing) => {
            let plain = || {
                let kind = a.timeout_type.or(a.cause).and_then(label)?;
                let kind = Some(wire::timeout_kind(&kind));
                Some(ErrorInfo { kind, ..ErrorInfo::default() })
            };
            let failure = failure().or_else(plain);
            Said::Closed { of: opener(a), closing, failure, result: value(raw) }
        }
        Kind::Marker => match wire::local_activity(a) {
            Some(local) => {
                Said::Local { name: local.name, attempt: local.attempt, failure: failure() }
            }
            None => Said::Other,
        },
        Kind::Other => Said::Other,
    };
    Event { time: read.time.as_deref().map(str::to_owned), said }
}

fn nexus_name<'r>(a: &wire::Attributes<'r>) -> Option<Cow<'r, str>> {
    match (wire::word(a.service), wire::word(a.operation)) {
        (Some(service), Some(operation)) => Some(Cow::Owned(format!("{service}/{operation}"))),
        (service, operation) => operation.or(service),
    }
}

/// The event that scheduled what this one is about.
fn opener(a: &wire::Attributes<'_>) -> Option<u64> {
    a.scheduled.or(a.initiated).and_then(wire::whole).filter(|id| *id > 0)
}

/// The events of one workflow run, in the order of their ids.
#[derive(Debug)]
pub(super) struct History {
    pub(super) place: Place,
    pub(super) events: BTreeMap<u64, Event>,
    /// The event that begins it.
    begun: Option<u64>,
    /// Whether every page of it says that another follows.
    pub(super) more_pages: bool,
}

impl History {
    pub(super) fn new(place: Place) -> Self {
        Self { place, events: BTreeMap::new(), begun: None, more_pages: true }
    }

    /// Adds an event under an id that is free.
    pub(super) fn add(&mut self, id: u64, event: Event) {
        if matches!(event.said, Said::Start(_)) {
            self.begun.get_or_insert(id);
        }
        self.events.insert(id, event);
    }

    pub(super) fn start(&self) -> Option<&Start> {
        match &self.events.get(&self.begun?)?.said {
            Said::Start(start) => Some(start),
            _ => None,
        }
    }

    /// Whether the events may be of the same run: no id stands for two events.
    pub(super) fn agrees(&self, events: &[(u64, Event)]) -> bool {
        events.iter().all(|(id, event)| self.events.get(id).is_none_or(|known| known.is(event)))
    }

    /// Whether it and `other` are the two parts of one whole history.
    pub(super) fn completes(&self, other: &Self) -> bool {
        let last = |history: &Self| history.events.keys().next_back().copied().unwrap_or(0);
        let together = (self.events.len() + other.events.len()) as u64;
        together == last(self).max(last(other))
            && other.events.keys().all(|id| !self.events.contains_key(id))
    }

    /// The run.
    pub(super) fn run(self, raw: bool, issues: &mut Vec<Issue>) -> Trajectory<'static> {
        let place = self.place;
        let mut run = Trajectory { place, ..Trajectory::default() };
        let mut works: BTreeMap<u64, Worked> = BTreeMap::new();
        let (mut unjoined, mut passed_over, mut ended) = (0, 0, false);
        let (mut first, mut last) = (None, None);
        for (id, event) in self.events {
            first = first.or_else(|| event.time.clone());
            last = event.time.clone().or(last);
            match event.said {
                Said::Start(start) => begin(&mut run, *start, event.time),
                Said::End { ending, failure, result } => {
                    ended = true;
                    end(&mut run, ending, failure, result);
                    run.ended_at = event.time.map(|time| Stamp::Text(time.into()));
                }
                said @ Said::Opened { .. } => works.entry(id).or_default().opened(said, event.time),
                Said::Started { of: Some(of), attempt, failure } => {
                    let work = works.entry(of).or_default();
                    (work.tries, work.last_failure) = (attempt, failure);
                }
                Said::Closed { of: Some(of), closing, failure, result } => {
                    let work = works.entry(of).or_default();
                    work.closed = Some((closing, failure, result));
                    work.end = event.time;
                }
                Said::Local { name, attempt, failure } => {
                    let closing =
                        if failure.is_some() { Closing::Failed } else { Closing::Completed };
                    works.insert(
                        id,
                        Worked {
                            kind: Some("local_activity"),
                            name,
                            tries: attempt,
                            closed: Some((closing, failure, None)),
                            end: event.time,
                            ..Worked::default()
                        },
                    );
                }
                Said::Started { of: None, .. } | Said::Closed { of: None, .. } => unjoined += 1,
                Said::Other => passed_over += 1,
            }
        }
        let stamp = |time: Option<String>| time.map(|time| Stamp::Text(time.into()));
        run.started_at = run.started_at.take().or_else(|| stamp(first));
        run.ended_at = run.ended_at.take().or_else(|| stamp(last));
        if !ended && !self.more_pages {
            run.end_rule = Some(EndRule::Unfinished);
        }
        let orphans = works.values().filter(|work| work.kind.is_none()).count() as u64;
        let open = works.values().filter(|work| work.closed.is_none()).count() as u64;
        let mut tell = |code, count, message: &str| {
            if count > 0 {
                issues.push(Issue::note(code, place, message).times(count));
            }
        };
        tell(
            "events_passed_over",
            passed_over,
            "workflow tasks, timers, signals and other events are no steps",
        );
        tell(
            "event_without_schedule",
            unjoined,
            "ends that name no event that scheduled them are left out",
        );
        tell(
            "result_without_call",
            orphans,
            "activities whose scheduling is not in the file are steps without a name",
        );
        tell(
            "calls_without_result",
            open,
            "activities that were scheduled and have no end; they count as neither passed nor failed",
        );
        if self.more_pages && !ended {
            let message = "the history goes on in a page that is not here: how it ends is unknown";
            issues.push(Issue::warning("more_pages", place, message));
        }
        run.attempts = works.into_iter().map(|(id, work)| work.attempt(id, raw)).collect();
        run
    }
}

fn begin(run: &mut Trajectory<'static>, start: Start, time: Option<String>) {
    run.started_at = time.map(|time| Stamp::Text(time.into()));
    if let Some(attempt) = start.attempt.filter(|attempt| *attempt > 1) {
        run.tags.push(("workflow_attempt".into(), attempt.to_string().into()));
    }
    if let Some(first) = start.first_run.filter(|first| Some(first) != start.run.as_ref()) {
        run.tags.push(("first_run".into(), first.into()));
    }
    run.run_id = start.run.map(Cow::Owned);
    run.task_id = start.workflow_id.map(Cow::Owned);
    run.agent = start.workflow_type.map(Cow::Owned);
}

fn end(
    run: &mut Trajectory<'static>,
    ending: Ending,
    failure: Option<ErrorInfo<'static>>,
    result: Option<String>,
) {
    let said = failure.and_then(|failure| failure.message.or(failure.kind));
    let (status, reason) = match ending {
        Ending::Completed => ("completed", None),
        Ending::Failed => ("failed", said),
        Ending::TimedOut => ("timed_out", said),
        Ending::Canceled => ("cancelled", said),
        Ending::Terminated => {
            // Someone ended it from outside, which is no failure of its own.
            run.end_rule = Some(EndRule::Cancelled);
            ("terminated", said)
        }
        // What it was for goes on in another run.
        Ending::ContinuedAsNew => ("", Some(Cow::Borrowed("continued_as_new"))),
    };
    let status = (!status.is_empty()).then_some(status);
    run.final_output = Final::Json(Cow::Owned(object(&[
        ("status", status.map(quoted).as_deref()),
        ("end_reason", reason.as_deref().map(quoted).as_deref()),
        ("output", result.as_deref()),
    ])));
    run.status = status.map(Cow::Borrowed);
    run.end_reason = reason;
}

/// One activity (or child workflow, ...) while its events are joined.
#[derive(Default)]
struct Worked {
    kind: Option<&'static str>,
    name: Option<String>,
    id: Option<String>,
    input: Input,
    start: Option<String>,
    end: Option<String>,
    tries: Option<u32>,
    last_failure: Option<ErrorInfo<'static>>,
    closed: Option<(Closing, Option<ErrorInfo<'static>>, Option<String>)>,
}

impl Worked {
    fn opened(&mut self, said: Said, time: Option<String>) {
        if let Said::Opened { kind, name, id, input } = said {
            (self.kind, self.name, self.id, self.input) = (Some(kind), name, id, input);
            self.start = time;
        }
    }

    fn attempt(self, id: u64, raw: bool) -> Attempt<'static> {
        let stamp = |time: Option<String>| time.map(|time| Stamp::Text(time.into()));
        let name = self.name.unwrap_or_default();
        let by_model = self.kind == Some("activity") && is_model_call(&name);
        let (status, error, result) = match self.closed {
            None => ("pending", self.last_failure, None),
            Some((Closing::Completed, _, result)) => ("completed", self.last_failure, result),
            Some((Closing::Canceled, failure, result)) => ("cancelled", failure, result),
            Some((Closing::TimedOut, failure, result)) => {
                ("timed_out", Some(failure.unwrap_or_default()), result)
            }
            Some((Closing::Failed | Closing::Terminated, failure, result)) => {
                ("failed", Some(failure.unwrap_or_default()), result)
            }
        };
        Attempt {
            step_id: Some(id.to_string().into()),
            attempts_total: self.tries,
            kind: if by_model { "llm" } else { self.kind.unwrap_or("activity") }.into(),
            turn: by_model,
            status: Some(status.into()),
            input: self.input.hash,
            error,
            status_decides: true,
            started_at: stamp(self.start),
            ended_at: stamp(self.end),
            raw: raw.then(|| {
                Cow::Owned(object(&[
                    ("id", self.id.as_deref().map(quoted).as_deref()),
                    ("name", (!name.is_empty()).then(|| quoted(&name)).as_deref()),
                    ("input", self.input.text.as_deref()),
                    ("result", result.as_deref()),
                ]))
            }),
            name: (!name.is_empty()).then_some(Cow::Owned(name)),
            ..Attempt::default()
        }
    }
}

/// Whether an activity is a call of a model, by the names that the integrations for the OpenAI Agents
/// SDK and Pydantic-AI give it.
fn is_model_call(name: &str) -> bool {
    name.starts_with("invoke_model_activity")
        || name.ends_with("__model_request")
        || name.ends_with("__model_request_stream")
}
