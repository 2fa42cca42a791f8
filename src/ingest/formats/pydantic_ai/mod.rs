//! Pydantic-AI's message history: requests to the model and its responses, made of parts.
//!
//! Owns: which parts are calls and results, in this and older versions (`retry-prompt`), and the
//! runs of one list. A list is often the history of a conversation: every `run_id` in it is a run,
//! and its `conversation_id` a tag. Refuses to read success from a final text: the error that ends a
//! run stands in no message.

mod attempts;
mod wire;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::evidence::{hidden_error, told_error};
use super::message_dumps::{
    Dialect, List, Listed, MessageLists, arguments, delivered, id_hash, opens_with,
    tell_unreadable, words,
};
use super::raw::{label, number, read, stamp, text};
use super::transcript::{Answer, Call, Transcript, Turn};
use super::{Format, Probe, Reader};
use crate::config::ReadOptions;
use crate::ingest::assemble::main_model;
use crate::ingest::quick;
use crate::model::{EndRule, ErrorInfo, ErrorOrigin, Issue, Trajectory};
use wire::{Message, Part, Retry};

/// Pydantic-AI messages.
pub const PYDANTIC_AI: Format = Format {
    name: "pydantic-ai",
    about: "Pydantic-AI messages (all_messages_json)",
    detect,
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Parts(|options| Box::new(MessageLists::new(DIALECT, options))),
    archive: None,
    misspelt: None,
};

const DIALECT: Dialect = Dialect { list_in: wire::list_in, is_message, read: read_list };

fn is_message(raw: &RawValue) -> bool {
    wire::message(raw).is_some()
}

fn detect(probe: &Probe<'_>) -> bool {
    let claims = |bytes: &[u8]| quick::from_slice::<&RawValue>(bytes).is_ok_and(is_message);
    opens_with(probe, &wire::LISTS, &["parts"], claims)
}

/// One run of a list while it is read.
struct Reading<'r> {
    transcript: Transcript<'r>,
    run: Trajectory<'r>,
    models: Vec<Cow<'r, str>>,
    /// Calls that wait for a result.
    waiting: HashSet<Cow<'r, str>>,
    /// Model turns whose output was sent back, by their place among the attempts.
    sent_back: Vec<(usize, ErrorInfo<'r>)>,
    last_turn: Option<usize>,
    output: Option<Cow<'r, str>>,
    state: Option<Cow<'r, str>>,
    messages: usize,
}

impl<'r> Reading<'r> {
    fn new(list: &List<'r>, run_id: Option<Cow<'r, str>>, options: &ReadOptions) -> Self {
        Self {
            transcript: Transcript::new(list.place, options),
            run: Trajectory { place: list.place, run_id, ..Trajectory::default() },
            models: Vec::new(),
            waiting: HashSet::new(),
            sent_back: Vec::new(),
            last_turn: None,
            output: None,
            state: None,
            messages: 0,
        }
    }
}

fn read_list<'r>(
    list: &List<'r>,
    options: &ReadOptions,
    issues: &mut Vec<Issue>,
) -> Vec<Listed<'r>> {
    let mut runs: Vec<Reading<'r>> = Vec::new();
    let mut by_id: HashMap<Cow<'r, str>, usize> = HashMap::new();
    // Calls of all runs that wait for a result: a call that was put off is answered in a later run.
    let mut waiting: HashMap<Cow<'r, str>, usize> = HashMap::new();
    let (mut unreadable, mut current, mut retried_requests) = (0, None, 0);
    for raw in &list.messages {
        let Some(message) = wire::message(raw) else {
            unreadable += 1;
            continue;
        };
        let run_id = message.run_id.and_then(label);
        let at = match (run_id, current) {
            (None, Some(at)) => at,
            (run_id, _) => match run_id.as_ref().and_then(|id| by_id.get(id)) {
                Some(at) => *at,
                None => {
                    by_id.extend(run_id.clone().map(|id| (id, runs.len())));
                    runs.push(Reading::new(list, run_id, options));
                    runs.len() - 1
                }
            },
        };
        current = Some(at);
        let failed = message.failed_attempts.and_then(read::<Vec<&RawValue>>);
        retried_requests += failed.map_or(0, |failed| failed.len() as u64);
        let answers = match runs.get_mut(at) {
            Some(run) if message.is_response() => {
                waiting.extend(run.response(&message).into_iter().map(|id| (id, at)));
                // Results of tools that the provider itself ran stand beside their calls.
                run.results(&message)
            }
            Some(run) => {
                run.request(&message);
                run.results(&message)
            }
            None => continue,
        };
        for answer in answers {
            let own = answer
                .id
                .as_ref()
                .is_some_and(|id| runs.get(at).is_some_and(|run| run.waiting.contains(id)));
            let other = answer.id.as_ref().and_then(|id| waiting.get(id)).copied();
            let to = if own { at } else { other.unwrap_or(at) };
            let Some(run) = runs.get_mut(to) else { continue };
            if let Some(id) = &answer.id {
                run.waiting.remove(id);
                waiting.remove(id);
            }
            run.transcript.answer(answer);
        }
    }
    if runs.is_empty() {
        return Vec::new();
    }
    tell_unreadable(unreadable, list.place, issues);
    if retried_requests > 0 {
        let message = "failed tries of model requests that were made again";
        issues.push(Issue::note("request_retries", list.place, message).times(retried_requests));
    }
    runs.into_iter().map(|run| run.finish(issues)).collect()
}

impl<'r> Reading<'r> {
    fn saw(&mut self, message: &Message<'r>) {
        self.messages += 1;
        if self.run.tags.is_empty()
            && let Some(conversation) = message.conversation_id.and_then(label)
        {
            self.run.tags.push(("conversation".into(), conversation));
        }
        let at = message.timestamp.and_then(stamp).or_else(|| {
            wire::parts(message).iter().find_map(|part| part.timestamp.and_then(stamp))
        });
        if self.run.started_at.is_none() {
            self.run.started_at.clone_from(&at);
        }
        self.run.ended_at = at.or(self.run.ended_at.take());
    }

    /// What the model answered; gives the ids of its calls.
    fn response(&mut self, message: &Message<'r>) -> Vec<Cow<'r, str>> {
        self.saw(message);
        self.models.extend(message.model_name.and_then(label));
        let usage = message.usage.map(wire::usage).unwrap_or_default();
        let at = message.timestamp.and_then(stamp);
        self.last_turn = Some(self.transcript.len());
        self.transcript.turn(Turn {
            content: message.parts.map(|parts| Cow::Borrowed(parts.get())),
            tokens: usage.tokens,
            cost_usd: usage.cost,
            at: at.clone(),
            ..Turn::default()
        });
        self.state = message.state.and_then(text);
        self.run.end_reason = message.finish_reason.and_then(label);
        let (mut said, mut called) = (None, Vec::new());
        for part in wire::parts(message) {
            let kind = part.kind();
            if kind == "text" {
                said = part.content.map(words).or(said);
            } else if kind.ends_with("tool-call") {
                let id = part.tool_call_id.and_then(label);
                self.waiting.extend(id.clone());
                called.extend(id.clone());
                self.transcript.call(Call {
                    id,
                    name: part.tool_name.and_then(label),
                    arguments: arguments(part.args),
                    at: at.clone(),
                    ..Call::default()
                });
            }
        }
        self.output = said;
        called
    }

    /// What was sent to the model: a text that sends its output back is an error of that turn.
    fn request(&mut self, message: &Message<'r>) {
        self.saw(message);
        for part in wire::parts(message) {
            if part.kind() == "retry-prompt"
                && part.tool_name.is_none()
                && let Some(turn) = self.last_turn
            {
                self.sent_back.push((turn, older_retry(&part)));
            }
        }
        // An answer of the run's last turn is not its last word if more was asked.
        self.output = None;
        self.run.end_reason = None;
    }

    fn results(&self, message: &Message<'r>) -> Vec<Answer<'r>> {
        let parts = wire::parts(message).into_iter();
        let answers = parts.filter_map(|part| {
            let kind = part.kind();
            let older = kind == "retry-prompt" && part.tool_name.is_some();
            (older || kind.ends_with("tool-return")).then(|| {
                let (error, status, attempt) = match older {
                    true => (Some(older_retry(&part)), None, None),
                    false => fate(&part),
                };
                Answer {
                    id: part.tool_call_id.and_then(label),
                    name: part.tool_name.and_then(label),
                    content: part.content.map(said),
                    error,
                    status,
                    at: part.timestamp.and_then(stamp),
                    duration_ms: None,
                    attempt,
                }
            })
        });
        answers.collect()
    }

    fn finish(mut self, issues: &mut Vec<Issue>) -> Listed<'r> {
        self.run.model = main_model(self.models.iter().map(AsRef::as_ref)).map(Cow::Owned);
        self.run.end_rule = match self.state.as_deref() {
            Some("suspended" | "incomplete") => Some(EndRule::Unfinished),
            Some("interrupted") => Some(EndRule::Cancelled),
            _ => None,
        };
        let odd = self.state.filter(|state| state != "complete");
        self.run.end_reason = self.run.end_reason.take().or(odd);
        self.run.final_output = delivered(self.run.end_reason.as_deref(), self.output.as_deref());
        let mut attempts = self.transcript.finish(issues);
        for (turn, error) in self.sent_back {
            if let Some(turn) = attempts.get_mut(turn) {
                turn.error = turn.error.take().or(Some(error));
            }
        }
        attempts::number(&mut attempts);
        self.run.attempts = attempts;
        // A run is known by its id; a longer dump of it says more.
        let key = self.run.run_id.as_deref().map(id_hash);
        let ids = key.map_or_else(Vec::new, |key| {
            let mut ids = vec![0; self.messages];
            ids.insert(0, key);
            ids
        });
        Listed { run: self.run, ids }
    }
}

/// A result's content as JSON text.
fn said(content: &RawValue) -> Cow<'_, str> {
    Cow::Borrowed(content.get())
}

/// Error, status word and number of the attempt that a result tells.
fn fate<'r>(part: &Part<'r>) -> (Option<ErrorInfo<'r>>, Option<&'static str>, Option<u32>) {
    let retry = part.retry.and_then(read::<Retry<'r>>).unwrap_or_default();
    let attempt = retry.attempt.and_then(number).and_then(whole);
    let content = part.content.map(words);
    match part.outcome.and_then(text).as_deref() {
        Some("denied") => (None, Some("denied"), attempt),
        Some("interrupted") => (None, Some("cancelled"), attempt),
        Some("retried" | "failed" | "error") => {
            let mut error = told_error(part.content.map(wire::said), ErrorOrigin::Recorded);
            error.kind = retry.cause.and_then(label).or(error.kind);
            (Some(error), None, attempt)
        }
        _ => (content.as_deref().and_then(hidden_error), None, attempt),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
fn whole(number: f64) -> Option<u32> {
    (number >= 1.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0)
        .then_some(number as u32)
}

/// What a `retry-prompt` of an older version tells: a list of faults is a failed validation, a text
/// is what the tool (or the check of the output) raised.
fn older_retry<'r>(part: &Part<'r>) -> ErrorInfo<'r> {
    let is_list = part.content.is_some_and(|content| content.get().starts_with('['));
    let kind = if is_list { "validation_error" } else { "model_retry" };
    ErrorInfo {
        kind: Some(kind.into()),
        message: part.content.map(wire::said),
        origin: ErrorOrigin::Recorded,
    }
}
