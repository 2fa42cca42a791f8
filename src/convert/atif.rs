//! A run in the Agent Trajectory Interchange Format, RFC 0001, version 1.6.
//!
//! Owns the mapping. Its models forbid keys that they do not know, and have no place for outcomes,
//! errors and retries: those go to `extra.agenteval`, of the run and of each step, in the words of the
//! native form. Other readers of ATIF keep that and do not read it; ours makes the same run of it. A turn
//! of the model is a step with the calls that follow it; a call without a turn, or with tokens of its
//! own, is a step by itself.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::json::{Object, push_compact};
use super::native;
use crate::model::{Attempt, Final, RetrySource, Stamp, Tokens, Trajectory};

/// The version that is written.
const VERSION: &str = "ATIF-v1.6";
/// Stands where ATIF wants a text and the source has none.
const UNKNOWN: &str = "unknown";
/// Keys of records that hold what a step was given, gave and thought, or what a turn said.
const INPUTS: [&str; 5] = ["input", "arguments", "args", "parameters", "tool_input"];
const OUTPUTS: [&str; 5] = ["output", "result", "response", "observation", "content"];
const MESSAGES: [&str; 4] = ["content", "text", "message", "output"];
const THOUGHTS: [&str; 3] = ["reasoning", "thinking", "thought"];

/// The run on one line; `retries` says how they were told.
#[must_use]
pub fn atif(run: &Trajectory<'_>, retries: Option<RetrySource>) -> String {
    let mut out = String::with_capacity(1 << 10);
    let mut root = Object::open(&mut out);
    root.text("schema_version", Some(VERSION));
    root.text("session_id", Some(&session(run)));
    let mut agent = Object::open(root.key("agent"));
    agent.text("name", Some(run.agent.as_deref().unwrap_or(UNKNOWN)));
    agent.text("version", Some(UNKNOWN));
    agent.text("model_name", run.model.as_deref());
    agent.close();
    let steps = steps(run);
    let list = root.key("steps");
    list.push('[');
    for (nth, step) in steps.iter().enumerate() {
        if nth > 0 {
            list.push(',');
        }
        write_step(list, nth as u64 + 1, step);
    }
    if steps.is_empty() {
        // The form wants at least one step.
        list.push_str(r#"{"step_id":1,"source":"system","message":"no step is recorded"}"#);
    }
    list.push(']');
    final_metrics(&mut root, run, steps.len().max(1) as u64);
    let mut extra = Object::open(root.key("extra"));
    about_run(&mut extra, run, retries);
    extra.close();
    root.close();
    out
}

/// The id of the run; where it has none, its task, trial and place, so that no two runs are one.
fn session(run: &Trajectory<'_>) -> String {
    if let Some(id) = run.run_id.as_deref().filter(|id| !id.is_empty()) {
        return id.to_owned();
    }
    let place = format!("{}-{}", run.place.file, run.place.byte);
    let parts = [run.task_id.as_deref(), run.trial.as_deref(), Some(&place)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}

/// One step: a turn, calls, or both.
struct Step<'s, 'a> {
    turn: Option<&'s Attempt<'a>>,
    /// Each with its id in the step.
    calls: Vec<(String, &'s Attempt<'a>)>,
    ids: HashSet<String>,
}

fn steps<'s, 'a>(run: &'s Trajectory<'a>) -> Vec<Step<'s, 'a>> {
    let mut steps: Vec<Step<'s, 'a>> = Vec::new();
    for (nth, attempt) in run.attempts.iter().enumerate() {
        if attempt.turn {
            steps.push(Step { turn: Some(attempt), calls: Vec::new(), ids: HashSet::new() });
            continue;
        }
        let spends = attempt.tokens.is_some() || attempt.cost_usd.is_some();
        let open = steps.last_mut().filter(|step| step.turn.is_some() && !spends);
        let step = match open {
            Some(step) => step,
            None => {
                steps.push(Step { turn: None, calls: Vec::new(), ids: HashSet::new() });
                let Some(step) = steps.last_mut() else { continue };
                step
            }
        };
        let recorded = attempt.request_id.as_deref().map(str::to_owned);
        let mut id = recorded.unwrap_or_else(|| format!("call-{}", nth + 1));
        // A recorded id may look like one of these.
        while step.ids.contains(&id) {
            id = format!("{id}#{}", nth + 1);
        }
        step.ids.insert(id.clone());
        step.calls.push((id, attempt));
    }
    steps
}

fn write_step(out: &mut String, id: u64, step: &Step<'_, '_>) {
    let Some(first) = step.turn.or(step.calls.first().map(|(_, call)| *call)) else { return };
    let mut object = Object::open(out);
    object.whole("step_id", Some(id));
    object.text("timestamp", time(first.started_at.as_ref()).as_deref());
    object.text("source", Some("agent"));
    let said = step.turn.map(fields).unwrap_or_default();
    object.text("model_name", step.turn.and_then(|turn| turn.name.as_deref()));
    object.text("message", Some(&first_of(&said, &MESSAGES).unwrap_or_default()));
    let thought = first_of(&fields(first), &THOUGHTS);
    object.text("reasoning_content", thought.as_deref());
    if !step.calls.is_empty() {
        calls(&mut object, step);
    }
    metrics(&mut object, first);
    let mut extra = Object::open(object.key("extra"));
    let mut own = Object::open(extra.key("agenteval"));
    if let Some(turn) = step.turn {
        own = native::step(own, turn, None);
    }
    if !step.calls.is_empty() {
        let list = own.key("calls");
        for (nth, (id, call)) in step.calls.iter().enumerate() {
            list.push(if nth == 0 { '[' } else { ',' });
            let mut entry = Object::open(list);
            entry.text("tool_call_id", Some(id));
            // The contents stand in the step itself.
            native::step(entry, call, None).close();
        }
        list.push(']');
    }
    own.close();
    extra.close();
    object.close();
}

/// The calls of a step, and what they gave.
fn calls(object: &mut Object<'_>, step: &Step<'_, '_>) {
    let list = object.key("tool_calls");
    for (nth, (id, call)) in step.calls.iter().enumerate() {
        list.push(if nth == 0 { '[' } else { ',' });
        let mut entry = Object::open(list);
        entry.text("tool_call_id", Some(id));
        entry.text("function_name", Some(call.name.as_deref().unwrap_or(&call.kind)));
        arguments(entry.key("arguments"), call);
        entry.close();
    }
    list.push(']');
    let given: Vec<(&str, String)> = step
        .calls
        .iter()
        .filter_map(|(id, call)| {
            let error = || call.error.as_ref()?.message.as_deref().map(str::to_owned);
            Some((id.as_str(), first_of(&fields(call), &OUTPUTS).or_else(error)?))
        })
        .collect();
    if given.is_empty() {
        return;
    }
    let mut observation = Object::open(object.key("observation"));
    let list = observation.key("results");
    for (nth, (id, content)) in given.iter().enumerate() {
        list.push(if nth == 0 { '[' } else { ',' });
        let mut entry = Object::open(list);
        entry.text("source_call_id", Some(id));
        entry.text("content", Some(content));
        entry.close();
    }
    list.push(']');
    observation.close();
}

/// Arguments are an object; anything else is its member `input`.
fn arguments(out: &mut String, call: &Attempt<'_>) {
    let fields = fields(call);
    let value = INPUTS.iter().find_map(|key| fields.get(*key)).map(|value| value.get());
    match value.map(str::trim_start) {
        None | Some("null") => out.push_str("{}"),
        Some(json) if json.starts_with('{') => push_compact(out, json),
        Some(json) => {
            let mut wrapped = Object::open(out);
            wrapped.json("input", json);
            wrapped.close();
        }
    }
}

fn metrics(object: &mut Object<'_>, attempt: &Attempt<'_>) {
    if attempt.tokens.is_none() && attempt.cost_usd.is_none() {
        return;
    }
    let mut metrics = Object::open(object.key("metrics"));
    let tokens = attempt.tokens.filter(countable);
    if let Some(tokens) = tokens {
        counts(&mut metrics, tokens, ["prompt_tokens", "completion_tokens", "cached_tokens"]);
    }
    metrics.number("cost_usd", attempt.cost_usd.filter(|cost| cost.is_finite()));
    extra_tokens(&mut metrics, tokens);
    metrics.close();
}

/// Whether tokens are whole numbers that ATIF can hold.
fn countable(tokens: &Tokens) -> bool {
    const MOST: f64 = 9_007_199_254_740_992.0;
    tokens.usable() && tokens.total() <= MOST
}

/// Input with cache, output, and input that a cache served.
fn counts(object: &mut Object<'_>, tokens: Tokens, keys: [&str; 3]) {
    let [prompt, completion, cached] = keys;
    let read = tokens.input + tokens.cache_read + tokens.cache_write;
    if tokens.unsplit == 0.0 || read + tokens.output > 0.0 {
        object.whole(prompt, Some(whole(read)));
        object.whole(completion, Some(whole(tokens.output)));
        object.whole(cached, Some(whole(tokens.cache_read)).filter(|count| *count > 0));
    }
}

/// What ATIF has no key for.
fn extra_tokens(object: &mut Object<'_>, tokens: Option<Tokens>) {
    let Some(tokens) = tokens else { return };
    let (written, unsplit) = (whole(tokens.cache_write), whole(tokens.unsplit));
    if written > 0 || unsplit > 0 {
        let mut extra = Object::open(object.key("extra"));
        extra.whole("cache_write_tokens", Some(written).filter(|count| *count > 0));
        extra.whole("total_tokens", Some(unsplit).filter(|count| *count > 0));
        extra.close();
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, which is what is wanted"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn final_metrics(root: &mut Object<'_>, run: &Trajectory<'_>, steps: u64) {
    let mut tokens = None;
    for more in run.attempts.iter().filter_map(|attempt| attempt.tokens).filter(Tokens::usable) {
        *tokens.get_or_insert_with(Tokens::default) += more;
    }
    let tokens = tokens.or(run.tokens).filter(countable);
    let mut cost = None;
    for more in run.attempts.iter().filter_map(|attempt| attempt.cost_usd) {
        *cost.get_or_insert(0.0) += more;
    }
    let cost = cost.or(run.cost_usd).filter(|cost| cost.is_finite());
    let mut metrics = Object::open(root.key("final_metrics"));
    if let Some(tokens) = tokens {
        let keys = ["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens"];
        counts(&mut metrics, tokens, keys);
    }
    metrics.number("total_cost_usd", cost);
    metrics.whole("total_steps", Some(steps));
    extra_tokens(&mut metrics, tokens);
    metrics.close();
}

/// What ATIF has no place for in a run: all that the native form says, so that our own reader gives
/// the run back.
fn about_run(extra: &mut Object<'_>, run: &Trajectory<'_>, retries: Option<RetrySource>) {
    let mut own = Object::open(extra.key("agenteval"));
    own.mark("complete", true);
    native::head(&mut own, run, retries);
    if let Final::Json(json) = &run.final_output {
        own.json("final", json);
    }
    own.close();
}

fn time(stamp: Option<&Stamp<'_>>) -> Option<String> {
    stamp?.time()?.iso()
}

type Fields<'a> = std::collections::BTreeMap<String, &'a RawValue>;

/// The fields of an attempt's record.
fn fields<'s>(attempt: &'s Attempt<'_>) -> Fields<'s> {
    attempt.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default()
}

/// The first of these fields that says something: a text as it is, anything else as its JSON.
fn first_of(fields: &Fields<'_>, keys: &[&str]) -> Option<String> {
    let value = keys
        .iter()
        .filter_map(|key| fields.get(*key).map(|value| value.get().trim()))
        .find(|value| !matches!(*value, "null" | "\"\""))?;
    if value.starts_with('"') {
        return serde_json::from_str(value).ok();
    }
    let mut text = String::with_capacity(value.len());
    push_compact(&mut text, value);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::atif;
    use crate::model::{Attempt, Trajectory};

    #[test]
    fn calls_follow_their_turn_and_ids_are_told_apart() {
        let call = |id: &'static str, raw: &'static str| Attempt {
            kind: "tool".into(),
            request_id: Some(id.into()),
            raw: Some(raw.into()),
            ..Attempt::default()
        };
        let turn = Attempt { kind: "llm".into(), turn: true, ..Attempt::default() };
        let attempts = vec![
            turn,
            call("a", r#"{"arguments":"x","result":[1, 2]}"#),
            call("a", r#"{"input":{"k": 1}}"#),
            call("b#5", "{}"),
            call("b", "{}"),
            call("b", "{}"),
            call("b#5", "{}"),
        ];
        let line = atif(&Trajectory { attempts, ..Trajectory::default() }, None);
        let json: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let step = &json["steps"][0];
        assert_eq!(step["tool_calls"][0]["arguments"]["input"], "x", "{line}");
        assert_eq!(step["tool_calls"][1]["tool_call_id"], "a#3");
        assert_eq!(step["tool_calls"][1]["arguments"]["k"], 1);
        let ids: Vec<_> = (2..6).map(|at| step["tool_calls"][at]["tool_call_id"].clone()).collect();
        assert_eq!(ids, ["b#5", "b", "b#6", "b#5#7"]);
        assert_eq!(step["observation"]["results"][0]["content"], "[1,2]");
        assert!(json["steps"][1].is_null() && json["session_id"] == "0-0");
    }
}
