//! tau-bench: one array of runs, each with its reward and its chat messages.
//!
//! Owns: the run record `{task_id, trial, reward, info, traj}` and its mapping. A tool call of
//! the agent is a step; its result is the tool message with its id. Errors stand only in the
//! text of results (they start with `Error`), so they are marked as read from text.
//! Refuses: the user simulator (its messages are no steps, its `user_cost` is not the agent's
//! cost), and calls that text-only agents (`react`, `act`) write inside their answers, which
//! are told and not guessed at.
//!
//! Tool-call ids are no proof of a retry here: published files use one id for several calls.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::calls::{OpenCalls, forget_repeated_ids, model_turn};
use super::raw::{
    any_text, is_true, label, number, object, offset_in, quoted, raw_fields, read, text,
};
use super::{Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{
    Attempt, ErrorInfo, ErrorOrigin, Final, Issue, Place, Score, ScoreValue, Trajectory, input_hash,
};

/// The format of tau-bench result files.
pub const TAU_BENCH: Format = Format {
    name: "tau-bench",
    about: "a tau-bench results file (an array of runs with task_id, reward and traj)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(read_run),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    // `traj` is the last long field and may be cut off with the first block of a file.
    probe.any_has(&["task_id", "reward", "traj"])
        || (probe.in_array && probe.any_has(&["task_id", "reward", "info"]))
}

raw_fields! {
    /// One run.
    Run { task_id, trial, reward, info, traj }
}
raw_fields! {
    /// What a crashed run says; the other fields of `info` are the task's.
    Info { error }
}
raw_fields! {
    /// A chat message.
    Message { role, content, tool_calls, tool_call_id, name }
}
raw_fields! {
    /// A call in an assistant message.
    Call { id, function }
}
raw_fields! {
    /// The called function; `arguments` is JSON inside a string.
    Function { name, arguments }
}

fn read_run<'r>(record: &Record<'r>, options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let run: Run<'r> = quick::from_slice(record.bytes)?;
    if run.traj.is_none() && run.reward.is_none() {
        return Err(Refusal::of("not_a_run", "the record has neither traj nor reward"));
    }
    let messages: Vec<Message<'r>> = match run.traj {
        None => Vec::new(),
        Some(traj) => quick::from_str(traj.get())
            .map_err(|error| Refusal::of("unreadable_traj", format!("traj: {error}")))?,
    };
    let mut issues = Vec::new();
    let attempts = attempts(&messages, record, options, &mut issues)?;

    let crash = run.info.and_then(read::<Info<'r>>).and_then(|info| info.error).map(any_text);
    let score = run.reward.map(score);
    let status = crash.is_some().then_some(Cow::Borrowed("error"));
    let final_output = deliver(score.as_ref(), crash.as_deref(), &messages);
    let trajectory = Trajectory {
        place: record.place,
        task_id: run.task_id.and_then(label),
        trial: run.trial.and_then(label),
        status,
        end_reason: crash,
        scores: score.map(|value| Score { name: Cow::Borrowed(""), value }).into_iter().collect(),
        final_output,
        attempts,
        ..Trajectory::default()
    };
    Ok(Parsed { runs: vec![trajectory], issues })
}

/// The reward; a truth value counts 1 or 0.
fn score(reward: &RawValue) -> ScoreValue<'_> {
    if is_true(Some(reward)) {
        return ScoreValue::Number(1.0);
    }
    match number(reward) {
        Some(number) => ScoreValue::Number(number),
        None => ScoreValue::from_text(any_text(reward)),
    }
}

/// `{score, status, end_reason, output}`, as far as recorded; `output` is what the agent said last.
fn deliver<'r>(
    score: Option<&ScoreValue<'r>>,
    crash: Option<&str>,
    messages: &[Message<'r>],
) -> Final<'r> {
    let score = match score {
        Some(ScoreValue::Number(number)) => serde_json::to_string(number).ok(),
        Some(ScoreValue::Unreadable(text)) => Some(quoted(text)),
        None => None,
    };
    let last_words = messages
        .iter()
        .rev()
        .filter(|message| has_role(message, "assistant"))
        .filter_map(|message| message.content)
        .find(|content| content.get() != "\"\"");
    Final::Json(Cow::Owned(object(&[
        ("score", score.as_deref()),
        ("status", crash.map(|_| "\"error\"")),
        ("end_reason", crash.map(quoted).as_deref()),
        ("output", last_words.map(RawValue::get)),
    ])))
}

fn has_role(message: &Message<'_>, role: &str) -> bool {
    message.role.and_then(text).is_some_and(|found| found == role)
}

/// The model turns and the tool calls of a run, each call filled by its result.
fn attempts<'r>(
    messages: &[Message<'r>],
    record: &Record<'r>,
    options: &ReadOptions,
    issues: &mut Vec<Issue>,
) -> Result<Vec<Attempt<'r>>, Refusal> {
    let mut attempts = Vec::new();
    let mut open = OpenCalls::default();
    let (mut orphans, mut calls_in_text) = (0, 0);
    let mut place = record.place;
    for message in messages {
        if has_role(message, "assistant") {
            attempts.push(model_turn(message.content, options));
            let calls: Vec<Call<'r>> = match message.tool_calls {
                None => Vec::new(),
                Some(calls) => quick::from_str(calls.get())
                    .map_err(|e| Refusal::of("unreadable_step", format!("tool_calls: {e}")))?,
            };
            if !calls.is_empty() {
                open.start_message();
            }
            // Read a second time for where they stand, which only those who look at texts need.
            let written = message.tool_calls.filter(|_| options.raw_attempts);
            let written: Vec<&RawValue> = written.and_then(read).unwrap_or_default();
            for (nth, call) in calls.into_iter().enumerate() {
                let id = call.id.and_then(label);
                open.add(attempts.len(), id.clone());
                let bytes = written.get(nth).and_then(|text| record.span_of(text));
                attempts.push(Attempt { bytes, ..tool_call(&call, id, options) });
            }
        } else if has_role(message, "tool") {
            let id = message.tool_call_id.and_then(label);
            match open.answer(id.as_deref()).and_then(|at| attempts.get_mut(at)) {
                Some(attempt) => take_result(attempt, message, options),
                None => {
                    orphans += 1;
                    place.byte =
                        record.place.byte + message.role.map_or(0, |r| offset_in(record.bytes, r));
                    let mut attempt = Attempt {
                        kind: Cow::Borrowed("tool"),
                        name: message.name.and_then(label),
                        request_id: id,
                        raw: options.raw_attempts.then_some(Cow::Borrowed("{}")),
                        ..Attempt::default()
                    };
                    take_result(&mut attempt, message, options);
                    attempts.push(attempt);
                }
            }
        } else if message.content.is_some_and(|c| c.get().starts_with("\"API output:")) {
            calls_in_text += 1;
        }
    }
    forget_repeated_ids(&mut attempts);
    tell(issues, place, orphans, calls_in_text);
    Ok(attempts)
}

fn tell(issues: &mut Vec<Issue>, place: Place, orphans: u64, calls_in_text: u64) {
    if orphans > 0 {
        let message = "tool results that answer no recorded call are steps without an input";
        issues.push(Issue::note("result_without_call", place, message).times(orphans));
    }
    if calls_in_text > 0 {
        let message = "tool calls written as text (a react or act agent) are not read as steps";
        issues.push(Issue::warning("calls_in_text", place, message).times(calls_in_text));
    }
}

/// A call that waits for its result.
fn tool_call<'r>(call: &Call<'r>, id: Option<Cow<'r, str>>, options: &ReadOptions) -> Attempt<'r> {
    let function = call.function.and_then(read::<Function<'r>>).unwrap_or_default();
    let arguments = function.arguments.map(decoded);
    Attempt {
        kind: Cow::Borrowed("tool"),
        name: function.name.and_then(label),
        status: Some(Cow::Borrowed("pending")),
        request_id: id,
        input: arguments.as_deref().and_then(input_hash),
        raw: options.raw_attempts.then(|| {
            Cow::Owned(object(&[
                ("id", call.id.map(RawValue::get)),
                ("name", function.name.map(RawValue::get)),
                ("arguments", arguments.as_deref()),
            ]))
        }),
        ..Attempt::default()
    }
}

/// The JSON that a string of arguments holds; the string itself where it holds none.
fn decoded(arguments: &RawValue) -> Cow<'_, str> {
    match text(arguments) {
        Some(inner) if quick::from_str::<serde::de::IgnoredAny>(&inner).is_ok() => inner,
        _ => Cow::Borrowed(arguments.get()),
    }
}

fn take_result<'r>(attempt: &mut Attempt<'r>, result: &Message<'r>, options: &ReadOptions) {
    attempt.status = None;
    let content = result.content.and_then(text);
    attempt.error = content.filter(|text| text.starts_with("Error")).map(|message| ErrorInfo {
        kind: None,
        message: Some(message),
        origin: ErrorOrigin::Text,
    });
    if let (true, Some(raw), Some(content)) =
        (options.raw_attempts, attempt.raw.as_mut(), result.content)
    {
        let raw = raw.to_mut();
        raw.pop();
        raw.push_str(if raw.len() > 1 { ",\"result\":" } else { "\"result\":" });
        raw.push_str(content.get());
        raw.push('}');
    }
}
