//! smolagents: the steps of an agent's memory, and the result of a run that holds them.
//!
//! Owns: a memory step that acts is a model turn and the tool calls in it; where it failed before
//! its calls were kept, they are taken from the model's message. `max_steps_error` and the error
//! that ends a run make it failed. Refuses `model_input_messages`, which repeat the whole history.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::evidence::hidden_error;
use super::message_dumps::{
    self, Dialect, List, Listed, MessageLists, arguments, first_element, id_hash, tell_unreadable,
    words,
};
use super::raw::{is_true, label, object, quoted, raw_fields, read, stamp, text};
use super::transcript::{Answer, Call, Transcript, Turn};
use super::{Format, Probe, Reader};
use crate::config::ReadOptions;
use crate::model::{ErrorInfo, ErrorOrigin, Final, Issue, Stamp, Tokens, Trajectory};

/// smolagents steps.
pub const SMOLAGENTS: Format = Format {
    name: "smolagents",
    about: "smolagents steps (get_full_steps) and run results",
    detect,
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Parts(|options| Box::new(MessageLists::new(DIALECT, options))),
    archive: None,
    misspelt: None,
};

const DIALECT: Dialect = Dialect { list_in, is_message, read: read_list };

raw_fields! {
    /// A step of the memory: a task, a plan, or an action.
    Step {
        task, plan, step_number, timing, tool_calls, error, model_output_message, model_output,
        observations, action_output, token_usage, is_final_answer, system_prompt,
    }
}
raw_fields! { Timing { start_time, end_time } }
raw_fields! { Usage { input_tokens, output_tokens } }
raw_fields! { Fault { kind = "type", message } }
raw_fields! { ModelMessage { tool_calls, content } }
raw_fields! { ToolCall { id, function } }
raw_fields! { Function { name, arguments } }
raw_fields! {
    /// The result of a run.
    RunResult { output, state, steps, messages, timing }
}

/// The error of the step that is added when the steps are used up; it comes with an answer.
const MAX_STEPS: &str = "AgentMaxStepsError";

/// The error of a model call, which ends the run.
const GENERATION: &str = "AgentGenerationError";

/// How many calls of one step an error's text is compared with.
const CALLS_NAMED: usize = 64;

/// Longest text of a task that is used as its id as it is, in bytes.
const LONGEST_TASK: usize = 160;

fn step(raw: &RawValue) -> Option<Step<'_>> {
    raw.get().starts_with('{').then_some(())?;
    let step: Step<'_> = read(raw)?;
    let known = step.step_number.is_some() && step.timing.is_some()
        || step.task.is_some()
        || step.plan.is_some()
        || step.system_prompt.is_some();
    known.then_some(step)
}

fn is_message(raw: &RawValue) -> bool {
    step(raw).is_some()
}

fn list_in(raw: &RawValue) -> Option<Vec<&RawValue>> {
    raw.get().starts_with('{').then_some(())?;
    let result: RunResult<'_> = read(raw)?;
    result.state?;
    read(result.steps.or(result.messages)?)
}

fn detect(probe: &Probe<'_>) -> bool {
    const ACTION: [&str; 3] = ["step_number", "timing", "tool_calls"];
    const LISTS: [&str; 2] = ["steps", "messages"];
    let keys = |bytes: &[u8]| crate::ingest::scan::top_keys(bytes);
    let acts = |keys: &[String]| ACTION.iter().all(|key| keys.iter().any(|have| have == key));
    let opens = |keys: &[String]| acts(keys) || keys.iter().any(|key| key == "task_images");
    probe.records.iter().zip(probe.keys()).any(|(record, own)| {
        let result = ["state", "output", "timing"].iter().all(|key| own.iter().any(|k| k == key));
        opens(own)
            || result && first_element(record, &LISTS).is_some_and(|first| opens(&keys(first)))
    })
}

/// The list, cut at its tasks: an agent that goes on with another task keeps its memory.
fn read_list<'r>(
    list: &List<'r>,
    options: &ReadOptions,
    issues: &mut Vec<Issue>,
) -> Vec<Listed<'r>> {
    let mut tasks: Vec<Vec<Step<'r>>> = Vec::new();
    let mut unreadable = 0;
    for raw in &list.messages {
        let Some(step) = step(raw) else {
            unreadable += 1;
            continue;
        };
        match tasks.last_mut() {
            Some(steps)
                if step.task.is_none() || steps.iter().all(|s| s.system_prompt.is_some()) =>
            {
                steps.push(step);
            }
            _ => tasks.push(vec![step]),
        }
    }
    if tasks.is_empty() {
        return Vec::new();
    }
    tell_unreadable(unreadable, list.place, issues);
    let last = tasks.len() - 1;
    let result = list.wrapper.and_then(read::<RunResult<'r>>);
    let mut result = result.unwrap_or_default();
    let mut runs = Vec::new();
    for (at, steps) in tasks.into_iter().enumerate() {
        let own = if at == last { std::mem::take(&mut result) } else { RunResult::default() };
        let run = read_task(&steps, &own, list, options, issues);
        runs.push(Listed { run, ids: Vec::new() });
    }
    runs
}

fn read_task<'r>(
    steps: &[Step<'r>],
    result: &RunResult<'r>,
    list: &List<'r>,
    options: &ReadOptions,
    issues: &mut Vec<Issue>,
) -> Trajectory<'r> {
    let mut transcript = Transcript::new(list.place, options);
    let mut run = Trajectory { place: list.place, ..Trajectory::default() };
    let (mut output, mut ending) = (None, None);
    for step in steps {
        if let Some(task) = step.task {
            run.task_id = Some(task_id(words(task)));
            continue;
        }
        if step.system_prompt.is_some() && step.step_number.is_none() {
            continue;
        }
        let timing = step.timing.and_then(read::<Timing<'r>>).unwrap_or_default();
        let (start, end) = (timing.start_time.and_then(stamp), timing.end_time.and_then(stamp));
        if run.started_at.is_none() {
            run.started_at.clone_from(&start);
        }
        run.ended_at = end.clone().or(run.ended_at.take());
        let error = step.error.map(fault);
        if step.plan.is_some() {
            transcript.turn(Turn { error, ..turn(step, start) });
            continue;
        }
        ending = error.as_ref().and_then(|error| error.kind.clone());
        if is_true(step.is_final_answer) || ending.as_deref() == Some(MAX_STEPS) {
            output = step.action_output.or(step.observations).or(output);
        }
        act(step, error, (start, end), &mut transcript);
    }
    finish(run, result, output, ending, transcript.finish(issues))
}

/// The model's answer of a step, and the calls in it.
fn act<'r>(
    step: &Step<'r>,
    error: Option<ErrorInfo<'r>>,
    (start, end): (Option<Stamp<'r>>, Option<Stamp<'r>>),
    transcript: &mut Transcript<'r>,
) {
    let by_model = error.as_ref().is_some_and(|e| e.kind.as_deref() == Some(GENERATION));
    let mut turn = turn(step, start.clone());
    if by_model {
        turn.error = error;
        transcript.turn(turn);
        return;
    }
    transcript.turn(turn);
    let mut calls = calls(step.tool_calls);
    if calls.is_empty() && error.is_some() {
        let message = step.model_output_message.and_then(read::<ModelMessage<'r>>);
        calls = message.map(|message| self::calls(message.tool_calls)).unwrap_or_default();
    }
    let kept = !step.tool_calls.is_none_or(|calls| calls.get().starts_with("[]"));
    // The error's text names the tool that raised it; without a name it is the first that ran.
    let said = error.as_ref().and_then(|error| error.message.as_deref()).unwrap_or_default();
    let named = calls.iter().take(CALLS_NAMED).position(|(_, function)| {
        let name = function.name.and_then(label).unwrap_or_default();
        !name.is_empty()
            && (said.contains(&format!("'{name}'")) || said.contains(&format!("tool {name}")))
    });
    let failing = error.is_some().then(|| named.unwrap_or(0));
    if calls.is_empty() && error.is_some() {
        // Nothing was called: what the model wrote could not be read, or the steps were used up.
        transcript.call(Call { kind: "action", error, at: start, ..Call::default() });
        return;
    }
    let mut error = error;
    let single = calls.len() == 1;
    let ids: Vec<_> = calls.iter().map(|(id, _)| id.clone()).collect();
    for (id, function) in calls {
        transcript.call(Call {
            id,
            name: function.name.and_then(label),
            arguments: arguments(function.arguments),
            at: start.clone(),
            ..Call::default()
        });
    }
    for (at, id) in ids.into_iter().enumerate() {
        let fails = failing == Some(at);
        // Where another call of the step failed and none was kept, it is not known what became of this one.
        if !fails && failing.is_some() && !kept {
            continue;
        }
        let own = single.then_some(step.observations).flatten().map(words);
        let hidden = || own.as_deref().and_then(hidden_error);
        transcript.answer(Answer {
            id,
            error: if fails { error.take() } else { hidden() },
            content: own.clone(),
            at: end.clone(),
            ..Answer::default()
        });
    }
}

fn turn<'r>(step: &Step<'r>, at: Option<Stamp<'r>>) -> Turn<'r> {
    let said = step.model_output.or(step.plan);
    Turn {
        content: said.map(|said| Cow::Borrowed(said.get())),
        tokens: step.token_usage.and_then(tokens),
        at,
        ..Turn::default()
    }
}

fn calls<'r>(raw: Option<&'r RawValue>) -> Vec<(Option<Cow<'r, str>>, Function<'r>)> {
    let calls: Vec<&'r RawValue> = raw.and_then(read).unwrap_or_default();
    let calls = calls.into_iter().filter_map(read::<ToolCall<'r>>);
    calls
        .map(|call| {
            let function = call.function.and_then(read::<Function<'r>>).unwrap_or_default();
            (call.id.and_then(label), function)
        })
        .collect()
}

/// Any error that is not null, also one without type or message.
fn fault(raw: &RawValue) -> ErrorInfo<'_> {
    let fault = raw.get().starts_with('{').then(|| read::<Fault<'_>>(raw)).flatten();
    match fault {
        Some(fault) => ErrorInfo {
            kind: fault.kind.and_then(label),
            message: fault.message.map(words),
            origin: ErrorOrigin::Recorded,
        },
        None => ErrorInfo { message: Some(words(raw)), ..ErrorInfo::default() },
    }
}

fn tokens(usage: &RawValue) -> Option<Tokens> {
    let usage: Usage<'_> = read(usage)?;
    message_dumps::tokens(usage.input_tokens, usage.output_tokens)
}

/// The task's own text; of a long one its beginning and its hash, so that trials still share it.
fn task_id(task: Cow<'_, str>) -> Cow<'_, str> {
    if task.len() <= LONGEST_TASK {
        return task;
    }
    let mut end = LONGEST_TASK;
    while !task.is_char_boundary(end) {
        end -= 1;
    }
    let head = task.get(..end).unwrap_or_default();
    Cow::Owned(format!("{head}... {:016x}", id_hash(&task)))
}

/// Outcome and output: the state's own word decides; without one, only the errors that end a run do.
fn finish<'r>(
    mut run: Trajectory<'r>,
    result: &RunResult<'r>,
    output: Option<&'r RawValue>,
    ending: Option<Cow<'r, str>>,
    attempts: Vec<crate::model::Attempt<'r>>,
) -> Trajectory<'r> {
    let state = result.state.and_then(text);
    let ends_it = matches!(ending.as_deref(), Some(MAX_STEPS | GENERATION));
    if ends_it || state.as_deref() == Some("max_steps_error") {
        run.format_outcome = Some(false);
        run.end_reason = ending.filter(|_| ends_it).or_else(|| state.clone());
    }
    if let Some(timing) = result.timing.and_then(read::<Timing<'r>>) {
        run.started_at = timing.start_time.and_then(stamp).or(run.started_at);
        run.ended_at = timing.end_time.and_then(stamp).or(run.ended_at);
    }
    let output = result.output.or(output).map(RawValue::get);
    if state.is_some() || run.end_reason.is_some() || output.is_some() {
        run.final_output = Final::Json(Cow::Owned(object(&[
            ("status", state.as_deref().map(quoted).as_deref()),
            ("end_reason", run.end_reason.as_deref().map(quoted).as_deref()),
            ("output", output),
        ])));
    }
    run.status = state;
    run.attempts = attempts;
    run
}
