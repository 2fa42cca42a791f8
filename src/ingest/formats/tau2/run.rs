//! One simulation of tau2-bench as a run.
//!
//! Owns: the agent's answers as turns and its tool calls as steps; the reward, and its parts, as
//! scores; why the simulation stopped. Refuses the simulated user: what it says and the tools that
//! it calls (`requestor: "user"`) are told by number and are nobody's steps, and `user_cost` is
//! not the agent's.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;

use super::super::Refusal;
use super::super::raw::{
    Entries, is_true, label, number, object, quoted, raw_fields, read, stamp, text,
};
use super::super::transcript::{Answer, Call, Transcript, Turn};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{
    ErrorInfo, ErrorOrigin, Final, Issue, Place, Score, ScoreValue, Tokens, Trajectory,
};

raw_fields! {
    /// One run.
    Simulation {
        id, task_id, trial, seed, mode, start_time, end_time, duration, termination_reason,
        agent_cost, reward_info, messages, ticks,
    }
}
raw_fields! {
    /// How the run was judged.
    Reward { reward, reward_breakdown }
}
raw_fields! {
    /// A message, of whatever role.
    Message {
        role, content, tool_calls, tool_messages, id, requestor, error, timestamp, cost, usage,
    }
}
raw_fields! {
    /// A call of a tool.
    ToolCall { id, name, arguments, requestor }
}
raw_fields! {
    /// A slice of a voice conversation.
    Tick { timestamp, agent_chunk, agent_tool_calls, agent_tool_results, user_tool_calls }
}
raw_fields! {
    /// Tokens of a request.
    Usage { prompt_tokens, completion_tokens }
}

/// Reads one run.
pub(super) fn read_run<'r>(
    bytes: &'r [u8],
    place: Place,
    options: &ReadOptions,
    issues: &mut Vec<Issue>,
) -> Result<Trajectory<'r>, Refusal> {
    let run: Simulation<'r> = quick::from_slice(bytes)?;
    if run.task_id.is_none() && run.termination_reason.is_none() {
        let message = "the simulation has neither `task_id` nor `termination_reason`";
        return Err(Refusal::of("not_a_simulation", message));
    }
    let mut conversation = Conversation::new(place, options);
    if let Some(messages) = run.messages {
        conversation.messages(&list(messages, "messages")?);
    }
    let mut told = run.messages.is_some();
    if let Some(ticks) = run.ticks.filter(|_| run.messages.is_none()) {
        told = conversation.ticks(&list(ticks, "ticks")?);
    }
    if !told {
        let message =
            "the run records no message and no tool call, so no figure of its steps is known";
        issues.push(Issue::warning("steps_not_recorded", place, message));
    }
    let end_reason = run.termination_reason.and_then(label);
    let scores = scores(run.reward_info);
    if scores.is_empty() {
        let message = "the run has no reward: how it ended is unknown";
        issues.push(Issue::warning("outcome_not_recorded", place, message));
    }
    let score = scores.first().filter(|score| score.name.is_empty());
    let score = score.and_then(|score| match &score.value {
        ScoreValue::Number(number) => serde_json::to_string(number).ok(),
        ScoreValue::Unreadable(text) => Some(quoted(text)),
    });
    let final_output = Final::Json(Cow::Owned(object(&[
        ("score", score.as_deref()),
        ("end_reason", end_reason.as_deref().map(quoted).as_deref()),
        ("output", conversation.last_words.map(RawValue::get)),
        ("reward_info", run.reward_info.map(RawValue::get)),
    ])));
    let tags = [
        ("mode", run.mode),
        ("seed", run.seed),
        // Labelled too, so that runs can be told apart by how they stopped.
        ("termination_reason", run.termination_reason),
    ];
    let tags = tags
        .into_iter()
        .filter_map(|(key, value)| Some((Cow::Borrowed(key), value.and_then(label)?)));
    Ok(Trajectory {
        place,
        run_id: run.id.and_then(label),
        task_id: run.task_id.and_then(label),
        trial: run.trial.and_then(label),
        tags: tags.collect(),
        end_reason,
        scores,
        started_at: run.start_time.and_then(stamp),
        ended_at: run.end_time.and_then(stamp),
        duration_ms: run.duration.and_then(number).map(|seconds| seconds * 1000.0),
        cost_usd: run.agent_cost.and_then(number),
        final_output,
        steps_unknown: !told,
        attempts: conversation.finish(issues),
        ..Trajectory::default()
    })
}

fn list<'r, T: serde::Deserialize<'r>>(
    raw: &'r RawValue,
    name: &'static str,
) -> Result<Vec<T>, Refusal> {
    quick::from_str(raw.get())
        .map_err(|error| Refusal::of("unreadable_messages", format!("{name}: {error}")))
}

/// The reward without a name, then its parts by name. A run that was not judged has none.
fn scores(reward_info: Option<&RawValue>) -> Vec<Score<'_>> {
    let reward: Reward<'_> = reward_info.and_then(read).unwrap_or_default();
    let value = |raw| match number(raw) {
        Some(number) => ScoreValue::Number(number),
        None => ScoreValue::from_text(label(raw).unwrap_or(Cow::Borrowed(raw.get()))),
    };
    let Some(main) = reward.reward else { return Vec::new() };
    let mut scores = vec![Score { name: Cow::Borrowed(""), value: value(main) }];
    let parts: Entries<'_> = reward.reward_breakdown.and_then(read).unwrap_or_default();
    for (name, part) in parts.0 {
        scores.push(Score { name, value: value(part) });
    }
    scores
}

/// The attempts of a run while its messages come in.
struct Conversation<'r> {
    place: Place,
    transcript: Transcript<'r>,
    /// What the agent said last.
    last_words: Option<&'r RawValue>,
    /// Ids of the calls of the simulated user, and how many there are.
    of_user: HashSet<Cow<'r, str>>,
    user_calls: u64,
}

impl<'r> Conversation<'r> {
    fn new(place: Place, options: &ReadOptions) -> Self {
        Self {
            place,
            transcript: Transcript::new(place, options),
            last_words: None,
            of_user: HashSet::new(),
            user_calls: 0,
        }
    }

    fn messages(&mut self, messages: &[Message<'r>]) {
        for message in messages {
            match message.role.and_then(text).as_deref() {
                Some("assistant") => {
                    self.answer(message);
                    self.calls(message.tool_calls, "assistant", message.timestamp);
                }
                Some("user") => self.calls(message.tool_calls, "user", message.timestamp),
                Some("tool") => match message.tool_messages {
                    // Older files keep the results of parallel calls in one message.
                    Some(inner) => {
                        let inner: Vec<Message<'r>> = read(inner).unwrap_or_default();
                        for result in &inner {
                            self.result(result);
                        }
                    }
                    None => self.result(message),
                },
                _ => {}
            }
        }
    }

    /// Reads what ticks tell of tool calls; `false` where they tell nothing of any.
    fn ticks(&mut self, ticks: &[Tick<'r>]) -> bool {
        let mut told = false;
        for tick in ticks {
            let chunk: Message<'r> = tick.agent_chunk.and_then(read).unwrap_or_default();
            if chunk.usage.is_some() {
                self.answer(&chunk);
            }
            let sides = [tick.agent_tool_calls, chunk.tool_calls, tick.agent_tool_results];
            told |= sides.iter().any(Option::is_some);
            self.calls(tick.agent_tool_calls.or(chunk.tool_calls), "assistant", tick.timestamp);
            self.calls(tick.user_tool_calls, "user", tick.timestamp);
            let results: Vec<Message<'r>> =
                tick.agent_tool_results.and_then(read).unwrap_or_default();
            for result in &results {
                self.result(result);
            }
        }
        told
    }

    /// An answer of the agent.
    fn answer(&mut self, message: &Message<'r>) {
        let said = |content: &&RawValue| content.get() != "\"\"";
        self.last_words = message.content.filter(said).or(self.last_words);
        self.transcript.turn(Turn {
            content: message.content.map(|content| Cow::Borrowed(content.get())),
            tokens: message.usage.and_then(tokens),
            cost_usd: message.cost.and_then(number),
            at: message.timestamp.and_then(stamp),
            error: None,
        });
    }

    /// The calls of one message, by whom they were asked for.
    fn calls(&mut self, calls: Option<&'r RawValue>, side: &str, at: Option<&'r RawValue>) {
        let calls: Vec<ToolCall<'r>> = calls.and_then(read).unwrap_or_default();
        for call in calls {
            let id = call.id.and_then(label).filter(|id| !id.is_empty());
            let by = call.requestor.and_then(text);
            if by.as_deref().unwrap_or(side) == "user" {
                self.user_calls += 1;
                self.of_user.extend(id);
                continue;
            }
            self.transcript.call(Call {
                id,
                name: call.name.and_then(label),
                arguments: call.arguments.map(|arguments| Cow::Borrowed(arguments.get())),
                at: at.and_then(stamp),
                ..Call::default()
            });
        }
    }

    /// The result of a call. The flag tells of failure, and the content how.
    fn result(&mut self, message: &Message<'r>) {
        let id = message.id.and_then(label).filter(|id| !id.is_empty());
        let of_user = match message.requestor.and_then(text) {
            Some(requestor) => requestor == "user",
            None => id.as_ref().is_some_and(|id| self.of_user.contains(id)),
        };
        if of_user {
            return;
        }
        let error = is_true(message.error).then(|| ErrorInfo {
            kind: None,
            message: message.content.and_then(text),
            origin: ErrorOrigin::Flag,
        });
        self.transcript.answer(Answer {
            id,
            content: message.content.map(|content| Cow::Borrowed(content.get())),
            error,
            at: message.timestamp.and_then(stamp),
            ..Answer::default()
        });
    }

    fn finish(self, issues: &mut Vec<Issue>) -> Vec<crate::model::Attempt<'r>> {
        if self.user_calls > 0 {
            let message = "tool calls of the simulated user are no steps of the agent";
            let note = Issue::note("calls_of_the_user", self.place, message);
            issues.push(note.times(self.user_calls));
        }
        self.transcript.finish(issues)
    }
}

/// Tokens of one request; the source keeps no cache apart.
fn tokens(usage: &RawValue) -> Option<Tokens> {
    let usage: Usage<'_> = read(usage)?;
    let (input, output) =
        (usage.prompt_tokens.and_then(number), usage.completion_tokens.and_then(number));
    (input.is_some() || output.is_some()).then(|| Tokens {
        input: input.unwrap_or(0.0),
        output: output.unwrap_or(0.0),
        ..Tokens::default()
    })
}
