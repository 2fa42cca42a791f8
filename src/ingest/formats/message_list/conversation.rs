//! One run on its way from messages to a trajectory.
//!
//! Owns: what is gathered beside the attempts (last words, end reason, model, times), and the
//! arguments and results of calls in the forms that all of these APIs use. Refuses: to know the
//! messages of any of them.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::result::{from_result, result_text};
use super::wrapper::{Source, Wrapper};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::formats::raw::{label, object, quoted, raw_fields, read, stamp, text};
use crate::ingest::formats::transcript::{Answer, Call, Transcript, Turn};
use crate::ingest::quick;
use crate::ingest::repair;
use crate::model::{
    EndRule, ErrorInfo, ErrorOrigin, Final, Issue, Place, ScoreValue, Severity, Stamp, Tokens,
    Trajectory,
};

/// What the model said in one answer, and what it cost.
#[derive(Default)]
pub(in crate::ingest::formats) struct Said<'a> {
    /// A text, or a list of blocks.
    pub(in crate::ingest::formats) content: Option<&'a RawValue>,
    /// Tokens of the request.
    pub(in crate::ingest::formats) tokens: Option<Tokens>,
    /// When it was given.
    pub(in crate::ingest::formats) at: Option<&'a RawValue>,
    /// Why the request failed.
    pub(in crate::ingest::formats) error: Option<ErrorInfo<'a>>,
}

/// What the record itself says of how a call went.
pub(in crate::ingest::formats) enum Verdict<'a> {
    /// Nothing: the result may tell.
    Unsaid,
    /// That it did not fail.
    Passed,
    /// That it failed, and why.
    Failed(ErrorInfo<'a>),
    /// That it failed; why, the result says.
    Flagged,
    /// That it was neither: a status word such as `denied`.
    Neither(&'static str),
}

/// A run being read.
pub(in crate::ingest::formats) struct Conversation<'a> {
    transcript: Transcript<'a>,
    place: Place,
    tally: Tally,
    /// Whether the items that follow are of the same answer of the model.
    answering: bool,
    words: Option<&'a RawValue>,
    /// When the message that is being read was written.
    now: Option<&'a RawValue>,
    id: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
    end_reason: Option<Cow<'a, str>>,
    started: Option<Stamp<'a>>,
    ended: Option<Stamp<'a>>,
    outcome: Option<bool>,
    end_rule: Option<EndRule>,
}

raw_fields! {
    /// A block of content.
    Block { text }
}

impl<'a> Conversation<'a> {
    pub(super) fn new(place: Place, options: &ReadOptions) -> Self {
        Self {
            transcript: Transcript::new(place, options),
            place,
            tally: Tally::default(),
            answering: false,
            words: None,
            now: None,
            id: None,
            model: None,
            end_reason: None,
            started: None,
            ended: None,
            outcome: None,
            end_rule: None,
        }
    }

    /// Adds an answer of the model; the calls that follow belong to it.
    pub(in crate::ingest::formats) fn turn(&mut self, said: Said<'a>) {
        self.answering = true;
        self.say(said.content);
        let at = said.at.or(self.now).and_then(stamp);
        if self.started.is_none() {
            self.started.clone_from(&at);
        }
        self.transcript.turn(Turn {
            content: said.content.map(|content| Cow::Borrowed(content.get())),
            tokens: said.tokens,
            at,
            error: said.error,
            ..Turn::default()
        });
    }

    /// Opens a turn unless the last item was of the model too.
    pub(in crate::ingest::formats) fn same_turn(&mut self, content: Option<&'a RawValue>) {
        if self.answering {
            self.say(content);
        } else {
            self.turn(Said { content, ..Said::default() });
        }
    }

    /// Notes that the other side spoke: the model's next item is another answer.
    pub(in crate::ingest::formats) fn heard(&mut self) {
        self.answering = false;
    }

    /// Keeps the last words of the agent: a text that is not empty, or the last block that has one.
    fn say(&mut self, content: Option<&'a RawValue>) {
        let Some(content) = content else { return };
        let spoken = |raw: &&'a RawValue| raw.get().starts_with('"') && raw.get().len() > 2;
        let words = match content.get().as_bytes().first() {
            Some(b'[') => read::<Vec<Block<'a>>>(content)
                .unwrap_or_default()
                .into_iter()
                .rev()
                .filter_map(|block| block.text)
                .find(spoken),
            _ => Some(content).filter(spoken),
        };
        self.words = words.or(self.words);
    }

    /// Adds a call. Arguments in a string are decoded; ones that are no JSON are the model's error.
    pub(in crate::ingest::formats) fn call(
        &mut self,
        id: Option<&'a RawValue>,
        name: Option<&'a RawValue>,
        arguments: Option<&'a RawValue>,
    ) {
        let (arguments, error) = arguments.map_or((None, None), |raw| {
            let (arguments, error) = decoded(raw);
            (Some(arguments), error)
        });
        self.made(id, name.and_then(label), arguments, error);
    }

    /// Adds a call whose arguments are known, with what is wrong with the call itself.
    pub(in crate::ingest::formats) fn made(
        &mut self,
        id: Option<&'a RawValue>,
        name: Option<Cow<'a, str>>,
        arguments: Option<Cow<'a, str>>,
        error: Option<ErrorInfo<'a>>,
    ) {
        let (id, at) = (id.and_then(label), self.now.and_then(stamp));
        self.transcript.call(Call { id, name, arguments, at, error, ..Call::default() });
    }

    /// Adds the result of a call. What no field says is read from the result itself, always by the same rules.
    pub(in crate::ingest::formats) fn answer(
        &mut self,
        id: Option<&'a RawValue>,
        name: Option<&'a RawValue>,
        content: Option<&'a RawValue>,
        verdict: Verdict<'a>,
    ) {
        let (error, status) = match verdict {
            Verdict::Unsaid => (content.and_then(from_result), None),
            Verdict::Passed => (None, None),
            Verdict::Failed(error) => (Some(error), None),
            Verdict::Flagged => (Some(flagged(content)), None),
            Verdict::Neither(status) => (None, Some(status)),
        };
        self.transcript.answer(Answer {
            id: id.and_then(label),
            name: name.and_then(label),
            content: content.map(|content| Cow::Borrowed(content.get())),
            error,
            status,
            at: self.now.and_then(stamp),
            ..Answer::default()
        });
    }

    /// Counts something smaller than a record that is in no figure, or that is odd.
    pub(in crate::ingest::formats) fn count(
        &mut self,
        code: &'static str,
        severity: Severity,
        rule: &'static str,
    ) {
        self.tally.count(code, severity, self.place, rule);
    }

    /// Notes when the message that follows was written: its calls were made, or its results came, then.
    pub(in crate::ingest::formats) fn written_at(&mut self, at: Option<&'a RawValue>) {
        self.now = at;
    }

    /// The id of a response is the run's, unless what stands around has one.
    pub(in crate::ingest::formats) fn take_id(&mut self, id: Option<&'a RawValue>) {
        self.id = id.and_then(label).or(self.id.take());
    }

    /// The first model that is named is the run's.
    pub(in crate::ingest::formats) fn take_model(&mut self, model: Option<&'a RawValue>) {
        self.model = self.model.take().or_else(|| model.and_then(label));
    }

    /// The last reason that is named is the run's.
    pub(in crate::ingest::formats) fn take_end(&mut self, reason: Option<&'a RawValue>) {
        self.end_reason = reason.and_then(label).or(self.end_reason.take());
    }

    /// When the run ended.
    pub(in crate::ingest::formats) fn ended_at(&mut self, at: Option<&'a RawValue>) {
        self.ended = at.and_then(stamp).or(self.ended.take());
    }

    /// Says that the run failed by the word of its record, which never says that one succeeded.
    pub(in crate::ingest::formats) fn failed(&mut self, reason: Option<Cow<'a, str>>) {
        self.outcome = Some(false);
        self.end_reason = reason.or(self.end_reason.take());
    }

    /// Says that the end is open, or that someone cancelled the run.
    pub(in crate::ingest::formats) fn left_open(&mut self, rule: EndRule) {
        self.end_rule = Some(rule);
    }

    /// The run, with what stands around its messages.
    pub(super) fn finish(
        self,
        around: &Wrapper<'a>,
        source: Source,
        issues: &mut Vec<Issue>,
    ) -> Trajectory<'a> {
        let attempts = self.transcript.finish(issues);
        issues.extend(self.tally.into_issues());
        let mut run = Trajectory {
            place: self.place,
            run_id: self.id,
            model: self.model,
            end_reason: self.end_reason,
            end_rule: self.end_rule,
            format_outcome: self.outcome,
            started_at: self.started,
            ended_at: self.ended,
            attempts,
            ..Trajectory::default()
        };
        let output = around.fill(&mut run, source);
        run.final_output = deliver(&run, output.or(self.words.map(RawValue::get)));
        run
    }
}

/// `{score, status, end_reason, output}`, as far as recorded.
fn deliver<'a>(run: &Trajectory<'a>, output: Option<&'a str>) -> Final<'a> {
    let unnamed = run.scores.iter().find(|score| score.name.is_empty());
    let score = unnamed.and_then(|score| match &score.value {
        ScoreValue::Number(number) => serde_json::to_string(number).ok(),
        ScoreValue::Unreadable(text) => Some(quoted(text)),
    });
    Final::Json(Cow::Owned(object(&[
        ("score", score.as_deref()),
        ("status", run.status.as_deref().map(quoted).as_deref()),
        ("end_reason", run.end_reason.as_deref().map(quoted).as_deref()),
        ("output", output),
    ])))
}

/// The error of a result that is flagged as one: an exit code where it names one, else its text, from
/// whose head the type is told.
fn flagged(content: Option<&RawValue>) -> ErrorInfo<'_> {
    let by_code = content.and_then(from_result);
    by_code.filter(|error| error.origin == ErrorOrigin::ExitCode).unwrap_or_else(|| ErrorInfo {
        kind: None,
        message: content.and_then(message_of),
        origin: ErrorOrigin::Flag,
    })
}

/// Arguments as JSON text, and the error where a string of them is none.
fn decoded(raw: &RawValue) -> (Cow<'_, str>, Option<ErrorInfo<'_>>) {
    let Some(inner) = text(raw) else { return (Cow::Borrowed(raw.get()), None) };
    if inner.trim().is_empty() {
        // A call without arguments, as some servers write it.
        return (Cow::Borrowed("{}"), None);
    }
    let Err(error) = quick::from_str::<serde::de::IgnoredAny>(&inner) else {
        return (inner, None);
    };
    // NaN, raw control characters and the like are read by most parsers of arguments.
    if repair::repair(inner.as_bytes()).is_ok() {
        return (inner, None);
    }
    let error = ErrorInfo {
        kind: Some(Cow::Borrowed("invalid_arguments")),
        message: Some(Cow::Owned(format!("the arguments are no JSON: {error}"))),
        origin: ErrorOrigin::Recorded,
    };
    (inner, Some(error))
}

/// The text of a value for an error's message: a string's own text, the text blocks of a list, else its JSON.
pub(super) fn message_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    Some(result_text(raw)).filter(|text| !text.is_empty())
}
