//! A run in the native form.
//!
//! A step keeps the keys of its record, so that expressions that read them still hold; where the
//! native form would read something else there than the run says, the native key is written over it,
//! or a mark goes beside it (`attempts_total`, `input_hash`, `error_origin`).

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json::{Object, push_number, push_text};
use crate::ingest::formats::native::{InputKey, origin_word, step_as_read};
use crate::model::{
    Attempt, EndRule, ErrorInfo, ErrorOrigin, Final, RetrySource, Score, ScoreValue, Stamp, Tokens,
    Trajectory, input_hash,
};

/// Keys under which formats record what a step was given, other than `input`.
const INPUTS: [&str; 4] = ["arguments", "args", "parameters", "tool_input"];

/// The run on one line; `retries` says how they were told.
#[must_use]
pub fn native(run: &Trajectory<'_>, retries: Option<RetrySource>) -> String {
    let mut out = String::with_capacity(1 << 10);
    let mut object = Object::open(&mut out);
    head(&mut object, run, retries);
    // Before the final output, which may be huge, so that the start of a file tells what it is.
    let list = object.key("steps");
    list.push('[');
    for (nth, attempt) in run.attempts.iter().enumerate() {
        if nth > 0 {
            list.push(',');
        }
        let raw = attempt.raw.as_deref();
        step(Object::open(list), attempt, raw).close();
    }
    list.push(']');
    if let Final::Json(json) = &run.final_output {
        object.json("final", json);
    }
    object.close();
    out
}

/// What a run says beside its steps and its final output.
pub(super) fn head(object: &mut Object<'_>, run: &Trajectory<'_>, retries: Option<RetrySource>) {
    object.text("run_id", run.run_id.as_deref());
    object.text("task_id", run.task_id.as_deref());
    object.text("trial", run.trial.as_deref());
    object.text("agent", run.agent.as_deref());
    object.text("model", run.model.as_deref());
    tags(object, run);
    object.text("status", run.status.as_deref());
    object.text("end_reason", run.end_reason.as_deref());
    let rule = run.end_rule.map(|rule| match rule {
        EndRule::Unfinished => "unfinished",
        EndRule::Cancelled => "cancelled",
    });
    object.text("end_rule", rule);
    scores(object, &run.scores);
    object.flag("success", run.success);
    object.flag("format_outcome", run.format_outcome);
    stamp(object, "started_at", run.started_at.as_ref());
    stamp(object, "ended_at", run.ended_at.as_ref());
    object.number("duration_ms", run.duration_ms);
    tokens(object, run.tokens);
    object.number("cost_usd", run.cost_usd);
    let source = run.retry_source.or(retries.filter(|_| !run.attempts.is_empty()));
    let source = source.map(|source| match source {
        RetrySource::Recorded => "recorded",
        RetrySource::Inferred => "inferred",
    });
    object.text("retry_source", source);
    object.mark("order_unknown", run.order_unknown);
    object.mark("steps_unknown", run.steps_unknown);
    if !run.never_reached.is_empty() {
        let list = object.key("never_reached");
        let separator = |nth: usize| if nth == 0 { '[' } else { ',' };
        for (nth, node) in run.never_reached.iter().enumerate() {
            list.push(separator(nth));
            push_text(list, node);
        }
        list.push(']');
    }
}

/// The tags; the last of equal ones counts everywhere, so it alone is written.
fn tags(object: &mut Object<'_>, run: &Trajectory<'_>) {
    if run.tags.is_empty() {
        return;
    }
    let mut seen = HashSet::new();
    let mut last: Vec<_> = run.tags.iter().rev().filter(|(key, _)| seen.insert(key)).collect();
    last.reverse();
    let mut members = Object::open(object.key("tags"));
    for (key, value) in last {
        members.text(key, Some(value));
    }
    members.close();
}

fn scores(object: &mut Object<'_>, scores: &[Score<'_>]) {
    let mut seen = HashSet::new();
    let unique = scores.iter().all(|score| seen.insert(&score.name));
    let unnamed_last = scores.iter().rev().skip(1).all(|score| !score.name.is_empty());
    if unique && unnamed_last {
        let (single, named): (Vec<_>, Vec<_>) = scores.iter().partition(|s| s.name.is_empty());
        if !named.is_empty() {
            let mut members = Object::open(object.key("scores"));
            for score in named {
                score_value(members.key(&score.name), &score.value);
            }
            members.close();
        }
        for score in single {
            score_value(object.key("score"), &score.value);
        }
        return;
    }
    let list = object.key("scores");
    for (nth, score) in scores.iter().enumerate() {
        list.push(if nth == 0 { '[' } else { ',' });
        let mut entry = Object::open(list);
        entry.text("name", Some(&score.name));
        score_value(entry.key("value"), &score.value);
        entry.close();
    }
    list.push(']');
}

fn score_value(out: &mut String, value: &ScoreValue<'_>) {
    match value {
        ScoreValue::Number(number) => push_number(out, *number),
        // A text that would now be read as a number stays unreadable as a list.
        ScoreValue::Unreadable(text)
            if ScoreValue::from_text(text.clone()) != ScoreValue::Unreadable(text.clone()) =>
        {
            out.push('[');
            push_text(out, text);
            out.push(']');
        }
        ScoreValue::Unreadable(text) => push_text(out, text),
    }
}

fn stamp(object: &mut Object<'_>, key: &str, stamp: Option<&Stamp<'_>>) {
    match stamp {
        None => {}
        Some(Stamp::Text(text)) => object.text(key, Some(text)),
        Some(Stamp::Number(number)) => object.number(key, Some(*number)),
        Some(nanos @ Stamp::Nanos(_)) => {
            let iso = nanos.iso();
            // Zero is how writers say that a time is not known.
            object.text(key, Some(iso.as_deref().unwrap_or("0")));
        }
    }
}

fn tokens(object: &mut Object<'_>, tokens: Option<Tokens>) {
    let Some(tokens) = tokens else { return };
    let mut members = Object::open(object.key("tokens"));
    let split = [
        ("prompt", tokens.input),
        ("completion", tokens.output),
        ("cache_read", tokens.cache_read),
        ("cache_write", tokens.cache_write),
    ];
    let any = split.iter().any(|(_, count)| *count != 0.0);
    for (key, count) in split {
        members.number(key, Some(count).filter(|count| *count != 0.0));
    }
    let rest = Some(tokens.unsplit).filter(|count| !any || *count != 0.0);
    members.number(if any { "unsplit" } else { "total" }, rest);
    members.close();
}

/// The keys of a record in their order, with their values as written. The last of equal ones counts.
struct Recorded<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Recorded<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Recorded<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Recorded<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    members.push((key, value));
                }
                let mut seen = HashSet::new();
                let mut unique: Vec<_> = Vec::with_capacity(members.len());
                while let Some((key, value)) = members.pop() {
                    if seen.insert(key.clone()) {
                        unique.push((key, value));
                    }
                }
                unique.reverse();
                Ok(Recorded(unique))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'a> Recorded<'a> {
    fn of(raw: Option<&'a str>) -> Self {
        raw.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or(Self(Vec::new()))
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.get())
    }

    /// Takes a key out, with its value.
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(at).1.get())
    }
}

/// A step that is being written: what its record says, and what the native form reads of that.
struct Step<'s, 'o> {
    object: Object<'o>,
    recorded: Recorded<'s>,
}

/// Keys of which expressions see what the run says, never the record: an object there, which other
/// tools write, is no word and no number of ours.
const COMPUTED: [&str; 6] = ["type", "name", "status", "index", "attempt", "duration_ms"];

impl Step<'_, '_> {
    /// Keeps the recorded keys where they are read as they should be. Else takes them out: what
    /// should be read is then to be written.
    fn keep(&mut self, keys: &[&str], same: bool) -> bool {
        for key in keys {
            let value = self.recorded.take(key).filter(|_| same);
            let shaped = |value: &&str| value.starts_with(['{', '[']) && COMPUTED.contains(key);
            if let Some(value) = value.filter(|value| !shaped(value)) {
                self.object.json(key, value);
            }
        }
        same
    }
}

/// Writes a step whose record is `raw`; what the native form has no place for stays as it is there.
pub(super) fn step<'o>(object: Object<'o>, attempt: &Attempt<'_>, raw: Option<&str>) -> Object<'o> {
    let recorded = Recorded::of(raw);
    let read = raw.and_then(step_as_read);
    let known = read.is_some();
    let read = read.unwrap_or_default();
    let mut step = Step { object, recorded };
    let text = |step: &mut Step<'_, '_>,
                key: &str,
                is: &Option<Cow<'_, str>>,
                was: &Option<Cow<'_, str>>| {
        if !step.keep(&[key], known && is == was) {
            step.object.text(key, is.as_deref());
        }
    };
    text(&mut step, "step_id", &attempt.step_id, &read.step_id);
    text(&mut step, "node_id", &attempt.node_id, &read.node_id);
    number(&mut step, "index", known, attempt.index, read.index);
    if !step.keep(&["attempt"], known && attempt.attempt == read.attempt) {
        step.object.whole("attempt", attempt.attempt.map(u64::from));
    }
    totals(&mut step, known, attempt, &read);
    if !step.keep(&["nested_in"], known && attempt.nested_in == read.nested_in) {
        step.object.whole("nested_in", attempt.nested_in.map(u64::from));
    }
    if !step.keep(&["type"], known && attempt.kind == read.kind && !read.kind.is_empty()) {
        step.object.text("type", Some(&attempt.kind));
    }
    text(&mut step, "name", &attempt.name, &read.name);
    text(&mut step, "status", &attempt.status, &read.status);
    if !step.keep(&["status_decides"], known && attempt.status_decides == read.status_decides) {
        step.object.mark("status_decides", attempt.status_decides);
    }
    if !step.keep(&["model_turn"], known && attempt.turn == read.turn) {
        step.object.mark("model_turn", attempt.turn);
    }
    let same_request = known && attempt.request_id == read.request_id;
    if !step.keep(&["request_id", "tool_call_id"], same_request) {
        step.object.text("request_id", attempt.request_id.as_deref());
    }
    input(&mut step, known, attempt.input, read.input);
    step.keep(&["output"], true);
    step.keep(&["reasoning"], true);
    error(&mut step, known, attempt.error.as_ref(), read.error.as_ref());
    for (key, is, was) in [
        ("started_at", &attempt.started_at, &read.started_at),
        ("ended_at", &attempt.ended_at, &read.ended_at),
    ] {
        if !step.keep(&[key], known && is == was) {
            stamp(&mut step.object, key, is.as_ref());
        }
    }
    number(&mut step, "duration_ms", known, attempt.duration_ms, read.duration_ms);
    if !step.keep(&["tokens"], known && attempt.tokens == read.tokens) {
        tokens(&mut step.object, attempt.tokens);
    }
    number(&mut step, "cost_usd", known, attempt.cost_usd, read.cost_usd);
    let Step { mut object, recorded } = step;
    for (key, value) in &recorded.0 {
        object.json(key, value.get());
    }
    object
}

fn number(step: &mut Step<'_, '_>, key: &str, known: bool, is: Option<f64>, was: Option<f64>) {
    let same = is.map(f64::to_bits) == was.map(f64::to_bits);
    if !step.keep(&[key], known && same) {
        step.object.number(key, is);
    }
}

/// Counts of attempts: what is recorded stays for expressions, and the mark goes before it.
fn totals(step: &mut Step<'_, '_>, known: bool, attempt: &Attempt<'_>, read: &Attempt<'_>) {
    const COUNTS: [&str; 3] = ["attempts", "retries", "retry_count"];
    let is = attempt.attempts_total;
    let same = known && is == read.attempts_total;
    if !step.keep(&["attempts_total"], same) {
        step.object.whole("attempts_total", is.map(u64::from));
    }
    // Counts that cannot be read, and nested attempts, would refuse or repeat the step.
    step.keep(&COUNTS, same || (known && is.is_some()));
}

/// The input, by its own key, or by another key that holds the same; else its hash. What is recorded
/// as `input` stays for expressions, whatever counts.
fn input(step: &mut Step<'_, '_>, known: bool, is: Option<u64>, was: Option<u64>) {
    if step.keep(&["input_hash"], known && is == was) {
        step.keep(&["input"], true);
        return;
    }
    let own = step.recorded.take("input");
    if let Some(json) = own {
        step.object.json("input", json);
    }
    match (own, is) {
        (None, None) => {}
        (Some(json), _) if input_hash(json) == is => {}
        (None, Some(_)) if let Some(json) = other_input(&step.recorded, is) => {
            step.object.json("input", json);
        }
        (_, None) => step.object.text("input_hash", InputKey::Unknown.written().as_deref()),
        (_, Some(hash)) => {
            step.object.text("input_hash", InputKey::Hash(hash).written().as_deref());
        }
    }
}

/// What is recorded under another key and has this hash.
fn other_input<'a>(recorded: &Recorded<'a>, hash: Option<u64>) -> Option<&'a str> {
    let values = INPUTS.iter().filter_map(|key| recorded.get(key));
    values.into_iter().find(|json| input_hash(json) == hash)
}

fn error(
    step: &mut Step<'_, '_>,
    known: bool,
    is: Option<&ErrorInfo<'_>>,
    was: Option<&ErrorInfo<'_>>,
) {
    let parts = |error: Option<&ErrorInfo<'_>>| {
        error.map(|error| {
            (error.kind.as_deref().map(str::to_owned), error.message.as_deref().map(str::to_owned))
        })
    };
    let origin = |error: Option<&ErrorInfo<'_>>| error.map(|error| error.origin);
    let same = known && parts(is) == parts(was);
    if !step.keep(&["error"], same)
        && let Some(error) = is
    {
        let mut members = Object::open(step.object.key("error"));
        members.text("type", error.kind.as_deref());
        members.text("message", error.message.as_deref());
        members.close();
    }
    if !step.keep(&["error_origin"], same && origin(is) == origin(was)) {
        let origin = origin(is).filter(|origin| *origin != ErrorOrigin::Recorded);
        step.object.text("error_origin", origin.map(origin_word));
    }
}
