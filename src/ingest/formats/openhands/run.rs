//! Events to one run: ordered, joined, counted.
//!
//! Owns the small form that events of all generations are brought into, their order (by number where
//! all have one, else by time, else as in the file), and the pairing of results with calls. Usage is
//! counted once per response of the model. Refuses wire forms.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::coding::ended_by;
use super::super::evidence::exception_class;
use super::super::raw::{object, quoted};
use super::super::transcript::{Answer, Call, Transcript, Turn};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::model::{EndRule, ErrorInfo, Final, Issue, Place, Severity, Stamp, Tokens, Trajectory};

/// One event.
#[derive(Debug, Default)]
pub(super) struct Event {
    /// Its number or uuid.
    pub(super) id: Option<String>,
    /// The same as a number.
    pub(super) number: Option<i64>,
    /// The event that caused it.
    pub(super) cause: Option<String>,
    /// When it was, as recorded.
    pub(super) stamp: Option<String>,
    /// The response of the model behind it, with its usage where the event says it.
    pub(super) response: Option<String>,
    pub(super) usage: Option<Tokens>,
    pub(super) model: Option<String>,
    /// Cost of the run so far.
    pub(super) cost_so_far: Option<f64>,
    pub(super) what: What,
}

/// What happened.
#[derive(Debug, Default)]
pub(super) enum What {
    /// The agent said something.
    #[default]
    Said,
    /// It said this to the user.
    Words(String),
    /// It called a tool.
    Call { id: Option<String>, name: Option<String>, arguments: Option<String> },
    /// A tool answered.
    Result {
        call: Option<String>,
        name: Option<String>,
        content: Option<String>,
        error: Option<ErrorInfo<'static>>,
        status: Option<&'static str>,
    },
    /// The agent said that it is done, and with what.
    Finish { words: Option<String>, completed: Option<bool> },
    /// The state that the run is in.
    State(String),
    /// The run broke.
    Broke { kind: Option<String>, said: String },
    /// Something that is no step; its time is that of the run.
    Other,
    /// What was used so far: latest counts.
    Used { tokens: Option<Tokens>, cost: Option<f64> },
}

impl What {
    /// Whether it came out of a response of the model.
    fn is_agents(&self) -> bool {
        matches!(self, Self::Said | Self::Words(_) | Self::Call { .. } | Self::Finish { .. })
    }
}

/// Events of one run.
pub(super) struct Events {
    place: Place,
    events: Vec<Event>,
    records: u64,
    digest: u64,
}

impl Events {
    pub(super) fn new(place: Place) -> Self {
        Self { place, events: Vec::new(), records: 0, digest: 0 }
    }

    pub(super) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Takes note of a record's text, by which copies are known.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let mut hasher = DefaultHasher::new();
        (self.digest, bytes).hash(&mut hasher);
        self.digest = hasher.finish();
        self.records += 1;
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// Records that it was made of.
    pub(super) fn count(&self) -> u64 {
        self.records
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.iter().all(|event| matches!(event.what, What::Other))
    }

    /// Gives the agent's events the usage of their response, and takes what was given out of `usages`.
    pub(super) fn set_usage(&mut self, usages: &mut HashMap<String, Tokens>) {
        let mut given = HashSet::new();
        for event in &mut self.events {
            // What the event says itself would be the same usage once more.
            event.usage = None;
            let Some(id) = event.response.as_ref().filter(|_| event.what.is_agents()) else {
                continue;
            };
            if let Some(tokens) = usages.get(id) {
                event.usage = Some(*tokens);
                given.insert(id.clone());
            }
        }
        usages.retain(|id, _| !given.contains(id));
    }

    pub(super) fn join(&mut self, other: Self) {
        self.place = self.place.min(other.place);
        self.records += other.records;
        self.events.extend(other.events);
    }

    /// Puts events into the order in which they happened.
    fn order(&mut self) -> bool {
        let numbers: Option<Vec<i64>> = self.events.iter().map(|event| event.number).collect();
        if let Some(numbers) = numbers
            && numbers.iter().collect::<HashSet<_>>().len() == numbers.len()
        {
            self.events.sort_by_key(|event| event.number);
            return true;
        }
        let time = |event: &Event| {
            let stamp = event.stamp.as_deref()?;
            Stamp::Text(stamp.into()).time().map(|time| time.micros)
        };
        if self.events.iter().all(|event| time(event).is_some()) {
            self.events.sort_by_cached_key(time);
            return true;
        }
        false
    }

    /// The run; what is known of it beside events is filled in by the caller.
    pub(super) fn run(
        mut self,
        options: &ReadOptions,
        tally: &mut Tally,
        issues: &mut Vec<Issue>,
    ) -> Trajectory<'static> {
        if !self.order() {
            let rule = "events without number and time are taken in the order of the file";
            tally.count("order_of_file", Severity::Note, self.place, rule);
        }
        let mut seen = Seen::default();
        let mut transcript = Transcript::new(self.place, options);
        let stamps: Vec<&String> = self.events.iter().filter_map(|e| e.stamp.as_ref()).collect();
        let first = stamps.first().map(|s| Stamp::Text(Cow::Owned(String::clone(s))));
        let last = stamps.last().map(|s| Stamp::Text(Cow::Owned(String::clone(s))));
        // Which call an event is: results name the event, not always the call.
        let calls: HashMap<String, String> = self
            .events
            .iter()
            .filter_map(|event| match &event.what {
                What::Call { id, .. } => {
                    let own = event.id.clone()?;
                    Some((own.clone(), id.clone().unwrap_or_else(|| format!("event-{own}"))))
                }
                _ => None,
            })
            .collect();
        for event in self.events {
            seen.take(event, &calls, &mut transcript);
        }
        let mut attempts = transcript.finish(issues);
        if let Some((kind, said)) = &seen.broke {
            let kind = kind.clone().or_else(|| exception_class(said).map(str::to_owned));
            attempts.push(ended_by(kind.map(Cow::Owned), said));
        }
        let mut run = Trajectory {
            place: self.place,
            agent: Some(Cow::Borrowed("OpenHands")),
            model: seen.model.clone().map(Cow::Owned),
            started_at: first,
            ended_at: last,
            tokens: seen.tokens,
            cost_usd: seen.cost,
            attempts,
            ..Trajectory::default()
        };
        seen.ending(&mut run);
        run
    }
}

/// What the events say of the run as a whole.
#[derive(Default)]
struct Seen {
    responses: HashSet<String>,
    model: Option<String>,
    tokens: Option<Tokens>,
    cost: Option<f64>,
    finish: Option<Option<String>>,
    completed: Option<bool>,
    state: Option<String>,
    broke: Option<(Option<String>, String)>,
    words: Option<String>,
}

impl Seen {
    fn take(
        &mut self,
        event: Event,
        calls: &HashMap<String, String>,
        transcript: &mut Transcript<'static>,
    ) {
        let at = || event.stamp.clone().map(|stamp| Stamp::Text(Cow::Owned(stamp)));
        if event.cost_so_far.is_some() {
            self.cost = event.cost_so_far;
        }
        if self.model.is_none() {
            self.model.clone_from(&event.model);
        }
        let own = |text: Option<String>| text.map(Cow::Owned);
        let agents = event.what.is_agents();
        let new = match &event.response {
            Some(response) if agents => self.responses.insert(response.clone()),
            _ => true,
        };
        if agents && new {
            transcript.turn(Turn { tokens: event.usage, at: at(), ..Turn::default() });
        }
        let id = event.id.clone();
        match event.what {
            What::Said | What::Other => {}
            What::Words(words) => self.words = Some(words),
            What::Call { id: call, name, arguments } => {
                let key = call.or_else(|| id.as_ref().map(|own| format!("event-{own}")));
                transcript.call(Call {
                    id: own(key),
                    name: own(name),
                    arguments: own(arguments),
                    at: at(),
                    ..Call::default()
                });
                self.finish = None;
            }
            What::Result { call, name, content, error, status } => {
                let by_cause = event.cause.as_ref().and_then(|cause| calls.get(cause)).cloned();
                let id = own(by_cause.or(call));
                let (name, content) = (own(name), own(content));
                transcript.answer(Answer {
                    id,
                    name,
                    content,
                    error,
                    status,
                    at: event.stamp.map(|stamp| Stamp::Text(Cow::Owned(stamp))),
                    ..Answer::default()
                });
            }
            What::Finish { words, completed } => {
                self.completed = completed;
                self.finish = Some(words);
            }
            What::State(state) => self.state = Some(state),
            What::Broke { kind, said } => self.broke = Some((kind, said)),
            What::Used { tokens, cost } => {
                self.tokens = tokens.or(self.tokens);
                self.cost = cost.or(self.cost);
            }
        }
    }

    /// How the run ended, as far as events say it. That the agent says it is done is no success.
    fn ending(self, run: &mut Trajectory<'static>) {
        let state = self.state.as_deref().unwrap_or_default().to_ascii_lowercase();
        let finished = self.finish.is_some();
        let mut reason = None;
        if let Some((kind, said)) = &self.broke {
            reason = kind.clone().or_else(|| exception_class(said).map(str::to_owned));
            reason = reason.or_else(|| said.lines().next().map(str::to_owned));
            run.status = Some(Cow::Borrowed("error"));
        } else if finished {
            reason = Some("finish".to_owned());
        } else {
            match state.as_str() {
                "error" | "stuck" => {
                    run.status = Some(Cow::Borrowed("error"));
                    reason = Some(state.clone());
                }
                "running"
                | "paused"
                | "awaiting_user_confirmation"
                | "waiting_for_confirmation" => {
                    run.end_rule = Some(EndRule::Unfinished);
                    reason = Some(state.clone());
                }
                "" => {}
                _ => reason = Some(state.clone()),
            }
        }
        let output = self.finish.flatten().or(self.words);
        run.final_output = Final::Json(Cow::Owned(object(&[
            ("status", run.status.as_deref().map(quoted).as_deref()),
            ("end_reason", reason.as_deref().map(quoted).as_deref()),
            ("completed", self.completed.map(|done| done.to_string()).as_deref()),
            ("output", output.as_deref().map(quoted).as_deref()),
        ])));
        run.end_reason = reason.map(Cow::Owned);
    }
}
