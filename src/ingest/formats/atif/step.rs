//! One step of an ATIF trajectory: its turn, its calls, their results, and the errors these tell.
//!
//! Owns which result answers which call, and the errors that texts tell: a flag or an exit code in
//! `extra` or in a JSON result, an exit code at the edge of an observation, and what starts with
//! `ERROR` or `Error:` or says that the answer could not be parsed. An agent's observation without a
//! call is one action whose call stands in the text of its message.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use super::super::coding::{edge_exit_code, message};
use super::super::evidence::{exception_class, exit_error, flagged_error};
use super::super::raw::{amount, label, number, raw_fields, read as value, said, text};
use super::super::transcript::{Answer, Call, Transcript, Turn};
use super::own;
use super::wire::{Happened, Reference, owned, tokens};
use crate::model::{Attempt, ErrorInfo, ErrorOrigin, Stamp};

raw_fields! {
    /// One step.
    WireStep {
        timestamp, source, message, tool_calls, observation, metrics, is_copied_context,
        llm_call_count, extra,
    }
}
raw_fields! {
    /// One call.
    WireCall { tool_call_id, function_name, arguments }
}
raw_fields! {
    /// What came of a step.
    Observation { results }
}
raw_fields! {
    /// One result.
    Outcome { source_call_id, content, subagent_trajectory_ref, extra }
}
raw_fields! {
    /// What some writers say of a result.
    Extra { error, exit_code }
}
raw_fields! {
    /// Usage of a step.
    Metrics { prompt_tokens, completion_tokens, cached_tokens, cost_usd }
}
raw_fields! {
    /// A subagent's document, by any of its names.
    WireReference { trajectory_id, session_id, trajectory_path }
}

/// One step of the agent.
#[derive(Default)]
pub(super) struct Step {
    pub(super) stamp: Option<Stamp<'static>>,
    pub(super) words: Option<String>,
    turn: Option<Turn<'static>>,
    calls: Vec<Call<'static>>,
    answers: Vec<Answer<'static>>,
    /// The attempts that this step was made of, where it says so.
    own: Option<Vec<Attempt<'static>>>,
}

impl Step {
    /// Adds its turn, calls and results. Gives back the attempts that stand for them, where the step
    /// says what it was made of.
    pub(super) fn add(
        mut self,
        transcript: &mut Transcript<'static>,
    ) -> Option<Vec<Attempt<'static>>> {
        let own = self.own.take();
        let before = transcript.len();
        if let Some(turn) = self.turn {
            transcript.turn(turn);
        }
        for call in self.calls {
            transcript.call(call);
        }
        for answer in self.answers {
            transcript.answer(answer);
        }
        own.filter(|own| transcript.len() - before == own.len())
    }

    /// Takes what this step was made of. It has a turn only if that had one, and its calls without a
    /// result ended as that says.
    fn made_of(&mut self, own: Vec<Attempt<'static>>) {
        if !own.first().is_some_and(|first| first.turn) {
            self.turn = None;
        }
        let answered: HashSet<_> = self.answers.iter().map(|answer| answer.id.clone()).collect();
        for call in self.calls.iter().filter(|call| !answered.contains(&call.id)) {
            self.answers.push(Answer { id: call.id.clone(), ..Answer::default() });
        }
        self.own = Some(own);
    }
}

/// Adds what happened in a step; `is_own` where its document says what run it was made of.
pub(super) fn add_step(wire: &WireStep<'_>, is_own: bool, steps: &mut Vec<Happened>) {
    let observation = wire.observation.and_then(value::<Observation<'_>>).unwrap_or_default();
    let outcomes = observation.results.and_then(value::<Vec<Outcome<'_>>>).unwrap_or_default();
    let agents = wire.source.and_then(text).is_some_and(|source| source == "agent");
    let references: Vec<Reference> = outcomes
        .iter()
        .filter_map(|outcome| outcome.subagent_trajectory_ref)
        .flat_map(|raw| value::<Vec<WireReference<'_>>>(raw).unwrap_or_default())
        .map(|wire| Reference {
            trajectory: owned(wire.trajectory_id),
            session: owned(wire.session_id),
            path: owned(wire.trajectory_path),
        })
        .collect();
    let stamp = owned(wire.timestamp).map(|stamp| Stamp::Text(stamp.into()));
    let mut step = Step { stamp, ..Step::default() };
    if agents {
        agents_step(wire, &outcomes, &mut step);
        if let Some(own) = own::attempts(wire.extra).filter(|_| is_own) {
            step.made_of(own);
        }
    }
    steps.push(Happened::Step(Box::new(step)));
    if !references.is_empty() {
        steps.push(Happened::Subagents(references));
    }
}

fn agents_step(wire: &WireStep<'_>, outcomes: &[Outcome<'_>], step: &mut Step) {
    let words = wire.message.and_then(said).filter(|said| !said.is_empty());
    let metrics = wire.metrics.and_then(value::<Metrics<'_>>).unwrap_or_default();
    // A step of which it is recorded that no model was asked is no turn.
    if wire.llm_call_count.and_then(number) != Some(0.0) {
        step.turn = Some(Turn {
            content: wire.message.map(|raw| raw.get().to_owned().into()),
            tokens: tokens([
                metrics.prompt_tokens,
                metrics.completion_tokens,
                metrics.cached_tokens,
            ]),
            cost_usd: amount(metrics.cost_usd).filter(|cost| *cost > 0.0),
            at: step.stamp.clone(),
            error: None,
        });
    }
    let calls = wire.tool_calls.and_then(value::<Vec<WireCall<'_>>>).unwrap_or_default();
    for call in &calls {
        step.calls.push(Call {
            id: owned(call.tool_call_id).map(Into::into),
            name: owned(call.function_name).map(Into::into),
            arguments: call.arguments.map(|raw| raw.get().to_owned().into()),
            at: step.stamp.clone(),
            ..Call::default()
        });
    }
    answers(&calls, outcomes, step);
    // What the agent wrote in its message was run, although it is not told apart as a call.
    if calls.is_empty() && !step.answers.is_empty() {
        let arguments = wire.message.map(|raw| raw.get().to_owned().into());
        let at = step.stamp.clone();
        step.calls = step
            .answers
            .iter()
            .map(|_| Call {
                arguments: Clone::clone(&arguments),
                at: at.clone(),
                ..Call::default()
            })
            .collect();
    }
    step.words = words.map(Cow::into_owned);
}

/// Gives each call its result: by id, and what has none in order; one text for several calls is the
/// result of the last, and the others ended too.
fn answers(calls: &[WireCall<'_>], outcomes: &[Outcome<'_>], step: &mut Step) {
    let mut open: Vec<Option<Option<String>>> =
        calls.iter().map(|call| Some(owned(call.tool_call_id))).collect();
    let mut by_id: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (at, id) in open.iter().enumerate() {
        if let Some(id) = id.clone().flatten() {
            by_id.entry(id).or_default().push_back(at);
        }
    }
    let mut nameless = Vec::new();
    for outcome in outcomes {
        let id = owned(outcome.source_call_id);
        let at = id.as_ref().and_then(|id| by_id.get_mut(id)?.pop_front());
        match at.and_then(|at| open.get_mut(at)).and_then(Option::take) {
            Some(_) => step.answers.push(answer(id, outcome)),
            None if outcome.content.is_some() || outcome.extra.is_some() => nameless.push(outcome),
            None => {}
        }
    }
    let mut open: Vec<Option<String>> = open.into_iter().flatten().collect();
    if nameless.is_empty() {
        return;
    }
    // More calls than texts: the first ones ended without a text of their own.
    let without = open.len().saturating_sub(nameless.len());
    for id in open.drain(..without) {
        step.answers.push(Answer { id: id.map(Into::into), ..Answer::default() });
    }
    for (nth, outcome) in nameless.into_iter().enumerate() {
        step.answers.push(answer(open.get(nth).cloned().flatten(), outcome));
    }
}

fn answer(id: Option<String>, outcome: &Outcome<'_>) -> Answer<'static> {
    Answer {
        id: id.map(Into::into),
        content: outcome.content.map(|raw| raw.get().to_owned().into()),
        error: failed(outcome),
        ..Answer::default()
    }
}

/// The error that a result tells.
fn failed(outcome: &Outcome<'_>) -> Option<ErrorInfo<'static>> {
    let said = outcome.content.and_then(said).unwrap_or_default();
    let extra = outcome.extra.and_then(value::<Extra<'_>>).unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, reason = "exit codes are small")]
    let code = extra.exit_code.and_then(number).map(|code| code as i64);
    let flagged = outcome.extra.and_then(|raw| flagged_error(raw.get()));
    if let Some(error) = flagged.or_else(|| flagged_error(&said)) {
        return Some(ErrorInfo {
            message: error.message.or_else(|| Some(message(&said))),
            ..error
        });
    }
    if let Some(error) = extra.error.and_then(label) {
        let kind = exception_class(&error).map(|class| class.to_owned().into());
        let origin = ErrorOrigin::Recorded;
        return Some(ErrorInfo { kind, message: Some(message(&error)), origin });
    }
    if let Some(code) = code.or_else(|| edge_exit_code(&said)) {
        return exit_error(code, Some(message(&said)));
    }
    let start = said.trim_start();
    let unparsed = start.starts_with("Previous response had parsing errors");
    let error = unparsed || start.starts_with("ERROR") || start.starts_with("Error:");
    error.then(|| ErrorInfo {
        kind: match unparsed {
            true => Some("invalid_response".into()),
            false => exception_class(start).map(|class| class.to_owned().into()),
        },
        message: Some(message(start)),
        origin: ErrorOrigin::Text,
    })
}
