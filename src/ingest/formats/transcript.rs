//! A run told as a list of messages: turns of the model, calls of tools, and results that answer them.
//!
//! Owns what all lists of messages share: a call and its result are one attempt, joined by id or by
//! place; a result may stand before its call; a call without a result is open (neither passed nor
//! failed) and counted; a result without a call is a step without an input. Refuses wire forms: a
//! format maps its records to [`Turn`], [`Call`] and [`Answer`] and hands them over in order of time.

use std::borrow::Cow;
use std::collections::HashMap;

use super::calls::{OpenCalls, forget_repeated_ids};
use super::raw::{as_json, object, quoted};
use crate::config::ReadOptions;
use crate::model::{Attempt, ErrorInfo, Issue, Place, Stamp, Tokens, input_hash};

/// One answer of the model.
#[derive(Debug, Default)]
pub(crate) struct Turn<'a> {
    /// What it said, as JSON text.
    pub(crate) content: Option<Cow<'a, str>>,
    /// Tokens of the request behind it; once a request, however many messages it gave.
    pub(crate) tokens: Option<Tokens>,
    /// Its cost in US dollars.
    pub(crate) cost_usd: Option<f64>,
    /// When it came.
    pub(crate) at: Option<Stamp<'a>>,
    /// Why the request failed.
    pub(crate) error: Option<ErrorInfo<'a>>,
}

/// One call of a tool.
#[derive(Debug, Default)]
pub(crate) struct Call<'a> {
    /// Id of the call.
    pub(crate) id: Option<Cow<'a, str>>,
    /// Name of the tool.
    pub(crate) name: Option<Cow<'a, str>>,
    /// The arguments as JSON text; a text that is no JSON is kept as it is.
    pub(crate) arguments: Option<Cow<'a, str>>,
    /// When it was made.
    pub(crate) at: Option<Stamp<'a>>,
    /// What is wrong with the call itself, such as arguments that cannot be read.
    pub(crate) error: Option<ErrorInfo<'a>>,
    /// The step type; `tool` where empty.
    pub(crate) kind: &'static str,
}

/// The result of a call.
#[derive(Debug, Default)]
pub(crate) struct Answer<'a> {
    /// Id of the call that it answers.
    pub(crate) id: Option<Cow<'a, str>>,
    /// Name of the tool, where the result repeats it.
    pub(crate) name: Option<Cow<'a, str>>,
    /// What came back, as JSON text.
    pub(crate) content: Option<Cow<'a, str>>,
    /// How the call failed; `None` where it did not.
    pub(crate) error: Option<ErrorInfo<'a>>,
    /// A status word that is neither passed nor failed (`denied`, `cancelled`, `running`).
    pub(crate) status: Option<&'static str>,
    /// When it came.
    pub(crate) at: Option<Stamp<'a>>,
    /// How long the call took, in milliseconds.
    pub(crate) duration_ms: Option<f64>,
    /// Number of this attempt among those of its step, where it is recorded.
    pub(crate) attempt: Option<u32>,
}

/// Arguments and result of an attempt.
type Texts<'a> = (Option<Cow<'a, str>>, Option<Cow<'a, str>>);

/// Builds the attempts of one run from its messages in order.
pub(crate) struct Transcript<'a> {
    place: Place,
    raw: bool,
    attempts: Vec<Attempt<'a>>,
    /// Arguments and result of each attempt as JSON text, where they are kept.
    texts: Vec<Texts<'a>>,
    open: OpenCalls<'a>,
    /// Results whose call has not come yet, by id.
    early: HashMap<Cow<'a, str>, usize>,
    waiting: Vec<bool>,
    /// Attempts that are a result alone.
    alone: Vec<bool>,
}

impl<'a> Transcript<'a> {
    /// An empty run whose record stands at `place`.
    pub(crate) fn new(place: Place, options: &ReadOptions) -> Self {
        Self {
            place,
            raw: options.raw_attempts,
            attempts: Vec::new(),
            texts: Vec::new(),
            open: OpenCalls::default(),
            early: HashMap::new(),
            waiting: Vec::new(),
            alone: Vec::new(),
        }
    }

    /// Adds an answer of the model; the calls that follow belong to it.
    pub(crate) fn turn(&mut self, turn: Turn<'a>) {
        self.open.start_message();
        let raw = self.raw.then(|| {
            let content = turn.content.as_deref();
            Cow::Owned(object(&[("role", Some("\"assistant\"")), ("content", content)]))
        });
        self.add(Attempt {
            kind: Cow::Borrowed("llm"),
            turn: true,
            tokens: turn.tokens,
            cost_usd: turn.cost_usd,
            started_at: turn.at,
            error: turn.error,
            raw,
            ..Attempt::default()
        });
    }

    fn add(&mut self, attempt: Attempt<'a>) -> usize {
        self.attempts.push(attempt);
        self.texts.push((None, None));
        self.waiting.push(false);
        self.alone.push(false);
        self.attempts.len() - 1
    }

    /// Adds a call.
    pub(crate) fn call(&mut self, call: Call<'a>) {
        let kind = if call.kind.is_empty() { "tool" } else { call.kind };
        let early = call.id.as_ref().and_then(|id| self.early.remove(id));
        let at = match early {
            Some(at) => at,
            None => {
                let at = self.add(Attempt::default());
                self.open.add(at, call.id.clone());
                self.waiting[at] = true;
                at
            }
        };
        self.alone[at] = false;
        let waits = self.waiting[at];
        let attempt = &mut self.attempts[at];
        attempt.kind = Cow::Borrowed(kind);
        attempt.name = call.name.or(attempt.name.take());
        attempt.request_id = call.id.or(attempt.request_id.take());
        attempt.input = call.arguments.as_deref().and_then(input_hash);
        attempt.started_at = call.at;
        if waits {
            attempt.status = Some(Cow::Borrowed("pending"));
        }
        if let Some(error) = call.error {
            attempt.status = None;
            attempt.error = Some(error);
        }
        if self.raw {
            self.texts[at].0 = call.arguments;
        }
    }

    /// Adds a result.
    pub(crate) fn answer(&mut self, answer: Answer<'a>) {
        let at = match self.open.answer(answer.id.as_deref()) {
            Some(at) => {
                self.waiting[at] = false;
                at
            }
            None => {
                let at = self.add(Attempt {
                    kind: Cow::Borrowed("tool"),
                    request_id: answer.id.clone(),
                    ..Attempt::default()
                });
                self.alone[at] = true;
                if let Some(id) = answer.id {
                    self.early.entry(id).or_insert(at);
                }
                at
            }
        };
        let attempt = &mut self.attempts[at];
        attempt.name = attempt.name.take().or(answer.name);
        attempt.status = answer.status.map(Cow::Borrowed);
        // What is wrong with the call is known before its result, which only repeats it.
        attempt.error = attempt.error.take().or(answer.error);
        attempt.ended_at = answer.at;
        attempt.duration_ms = answer.duration_ms;
        attempt.attempt = answer.attempt;
        if self.raw {
            self.texts[at].1 = answer.content;
        }
    }

    /// How many attempts there are so far, turns among them.
    pub(crate) fn len(&self) -> usize {
        self.attempts.len()
    }

    /// The attempts in order; what is odd about them is told in `issues`.
    pub(crate) fn finish(mut self, issues: &mut Vec<Issue>) -> Vec<Attempt<'a>> {
        let open = self.waiting.iter().zip(&self.attempts);
        let open = open.filter(|(waits, attempt)| **waits && attempt.error.is_none()).count();
        if open > 0 {
            let message = "calls without a result; they count as neither passed nor failed";
            issues
                .push(Issue::note("calls_without_result", self.place, message).times(open as u64));
        }
        let alone = self.alone.iter().filter(|alone| **alone).count();
        if alone > 0 {
            let message = "tool results that answer no recorded call are steps without an input";
            issues
                .push(Issue::note("result_without_call", self.place, message).times(alone as u64));
        }
        if self.raw {
            for (attempt, (input, result)) in self.attempts.iter_mut().zip(&self.texts) {
                if attempt.turn {
                    continue;
                }
                let input = input.as_deref().map(as_json);
                let result = result.as_deref().map(as_json);
                attempt.raw = Some(Cow::Owned(object(&[
                    ("id", attempt.request_id.as_deref().map(quoted).as_deref()),
                    ("name", attempt.name.as_deref().map(quoted).as_deref()),
                    ("input", input.as_deref()),
                    ("result", result.as_deref()),
                ])));
            }
        }
        forget_repeated_ids(&mut self.attempts);
        self.attempts
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Call, Transcript, Turn};
    use crate::config::ReadOptions;
    use crate::model::{ErrorInfo, Place};

    #[test]
    fn calls_and_results_meet_in_either_order() {
        let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
        let mut run = Transcript::new(Place::default(), &options);
        run.turn(Turn::default());
        run.answer(Answer {
            id: Some("b".into()),
            error: Some(ErrorInfo::default()),
            ..Answer::default()
        });
        for id in ["a", "b", "c"] {
            let arguments = Some("{\"x\":1}".into());
            run.call(Call { id: Some(id.into()), arguments, ..Call::default() });
        }
        run.answer(Answer {
            id: Some("a".into()),
            content: Some("ok".into()),
            ..Answer::default()
        });
        run.answer(Answer { id: Some("z".into()), ..Answer::default() });
        let mut issues = Vec::new();
        let attempts = run.finish(&mut issues);
        let found: Vec<_> = attempts
            .iter()
            .map(|a| (a.request_id.as_deref(), a.error.is_some(), a.status.as_deref()))
            .collect();
        assert_eq!(
            found,
            [
                (None, false, None),
                (Some("b"), true, None),
                (Some("a"), false, None),
                (Some("c"), false, Some("pending")),
                (Some("z"), false, None),
            ]
        );
        assert_eq!(attempts[2].raw.as_deref(), Some(r#"{"id":"a","input":{"x":1},"result":"ok"}"#));
        let codes: Vec<_> = issues.iter().map(|issue| (issue.code, issue.count)).collect();
        assert_eq!(codes, [("calls_without_result", 1), ("result_without_call", 1)]);
    }
}
