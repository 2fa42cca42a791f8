//! The native trace: an array of runs, an object with `traces` or `runs`, one run, or a run a line.
//!
//! Owns the wire structs of that form. A run needs only `steps`, a step only `type`; what is
//! unreadable in a field that figures need refuses the whole run, and unknown fields are skipped
//! unread. Nothing here judges.

pub(super) mod fields;
mod marks;
mod schema;
mod shapes;
mod spelling;
mod step;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, SeqAccess, Visitor};

use super::{Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::{quick, scan::first_array};
use crate::model::{
    Attempt, EndRule, ErrorInfo, Final, Issue, Place, RetrySource, Trajectory, input_hash,
};

pub use fields::{AnyTokens, ErrorField, NestedAttempts, Raw, Scalar, ScoreMap, TagMap};
pub use marks::{InputKey, OnlyTrue, Origin, Texts, origin_word};
pub use schema::trace_schema;
pub use step::WireStep;

use step::Fill;

/// The native trace.
pub const NATIVE: Format = Format {
    name: "native",
    about: "agenteval's own JSON or NDJSON traces",
    detect,
    wrappers: &["traces", "runs"],
    splits_arrays: true,
    reader: Reader::Whole(read),
    archive: None,
    misspelt: Some(spelling::misspelt),
};

/// A run has `steps`, an array of objects. An eval config may have `steps` too: words, or an array of words.
fn detect(probe: &Probe<'_>) -> bool {
    probe.records.iter().zip(probe.keys()).any(|(record, keys)| {
        let has = |key: &str| keys.iter().any(|have| have == key);
        has("steps")
            && match first_array(record, &["steps"]) {
                Some(array) => !record[array + 1..].trim_ascii_start().starts_with(b"\""),
                None => !has("evaluation") && !has("task_name"),
            }
    })
}

#[derive(Deserialize)]
struct WireRun<'a> {
    #[serde(borrow, default)]
    run_id: Scalar<'a>,
    #[serde(borrow, default)]
    task_id: Scalar<'a>,
    #[serde(borrow, default)]
    trial: Scalar<'a>,
    #[serde(borrow, default)]
    agent: Scalar<'a>,
    #[serde(borrow, default)]
    model: Scalar<'a>,
    #[serde(borrow, default)]
    tags: TagMap<'a>,
    #[serde(borrow, default)]
    status: Scalar<'a>,
    #[serde(borrow, default)]
    end_reason: Scalar<'a>,
    #[serde(borrow, default)]
    score: Scalar<'a>,
    #[serde(borrow, default)]
    scores: ScoreMap<'a>,
    #[serde(borrow, default)]
    success: Scalar<'a>,
    #[serde(borrow, default)]
    started_at: Scalar<'a>,
    #[serde(borrow, default)]
    ended_at: Scalar<'a>,
    #[serde(borrow, default)]
    duration_ms: Scalar<'a>,
    #[serde(default)]
    tokens: AnyTokens,
    #[serde(borrow, default)]
    cost_usd: Scalar<'a>,
    #[serde(borrow, default, rename = "final")]
    final_output: Raw<'a>,
    #[serde(borrow, default)]
    retry_source: Scalar<'a>,
    #[serde(borrow, default)]
    end_rule: Scalar<'a>,
    #[serde(borrow, default)]
    format_outcome: Scalar<'a>,
    #[serde(default)]
    order_unknown: OnlyTrue,
    #[serde(default)]
    steps_unknown: OnlyTrue,
    #[serde(borrow, default)]
    never_reached: Texts<'a>,
    #[serde(borrow, default)]
    steps: Option<Steps<'a>>,
}

/// A run whose steps are kept as text, for expressions and `show`.
#[derive(Deserialize)]
struct RawSteps<'a> {
    #[serde(borrow, default)]
    steps: Vec<&'a serde_json::value::RawValue>,
}

/// The most attempts of one run. Each takes some hundreds of bytes however short its text is, so that
/// a record of the shortest steps would take forty times its size.
const MOST_ATTEMPTS: usize = 2_000_000;

fn too_many_steps() -> Refusal {
    let message = format!("the run has more than {MOST_ATTEMPTS} steps: split it");
    Refusal::of("too_many_steps", message)
}

/// The steps of a run, each made an attempt as it is read: collecting them as written first would
/// move a kilobyte a step about for nothing. The first refusal stands for the run.
struct Steps<'a>(Result<Vec<Attempt<'a>>, Refusal>);

impl<'de: 'a, 'a> Deserialize<'de> for Steps<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Steps<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array of steps")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Steps<'de>, A::Error> {
                let mut attempts = Vec::with_capacity(32);
                let (mut position, mut refusal) = (0, None);
                loop {
                    let mut step = WireStep::default();
                    let Some(object) = seq.next_element_seed(Fill(&mut step))? else { break };
                    if refusal.is_none() {
                        let step = object.then_some(step);
                        refusal = push_step(step, &mut attempts, position, None).err();
                        if attempts.len() > MOST_ATTEMPTS {
                            refusal = Some(too_many_steps());
                            attempts = Vec::new();
                        }
                    }
                    position += 1;
                }
                Ok(Steps(refusal.map_or(Ok(attempts), Err)))
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

/// Appends the attempts of an element of `steps`, or refuses the run.
fn push_step<'a>(
    step: Option<WireStep<'a>>,
    attempts: &mut Vec<Attempt<'a>>,
    position: usize,
    raw: Option<Cow<'a, str>>,
) -> Result<(), Refusal> {
    let Some(step) = step else {
        return Err(Refusal::of(
            "unreadable_step",
            format!("element {position} of `steps` is no object"),
        ));
    };
    step.push_onto(attempts, position, raw)
}

fn read<'r>(record: &Record<'r>, options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    if record.bytes.first() != Some(&b'{') {
        return Err(Refusal::of("not_a_run", "a run is an object with `steps`"));
    }
    let mut wire: WireRun<'r> = quick::from_slice(record.bytes)?;
    if options.raw_attempts && wire.steps.is_some() {
        wire.steps = Some(Steps(raw_steps(record)));
    }
    let mut issues = Vec::new();
    if wire.success.flag().is_none() && !wire.success.is_absent() {
        let message = "`success` is neither true nor false, so it decides nothing";
        issues.push(Issue::warning("unreadable_success", record.place, message));
    }
    let run = wire.into_trajectory(record.place)?;
    Ok(Parsed { runs: vec![run], issues })
}

/// The attempts of a run, each with its own text, for expressions that read more than we do.
fn raw_steps<'r>(record: &Record<'r>) -> Result<Vec<Attempt<'r>>, Refusal> {
    let raw: RawSteps<'r> = quick::from_slice(record.bytes)?;
    let mut attempts = Vec::with_capacity(raw.steps.len().min(MOST_ATTEMPTS));
    for (position, text) in raw.steps.into_iter().enumerate() {
        let mut step = WireStep::default();
        let object =
            Fill(&mut step).deserialize(&mut serde_json::Deserializer::from_str(text.get()))?;
        let (before, step) = (attempts.len(), object.then_some(step));
        push_step(step, &mut attempts, position, Some(Cow::Borrowed(text.get())))?;
        if attempts.len() > MOST_ATTEMPTS {
            return Err(too_many_steps());
        }
        let new = attempts.get_mut(before..).unwrap_or_default();
        if let [one] = &mut *new
            && one.nested_in.is_none()
        {
            one.bytes = record.span_of(text);
            continue;
        }
        for (attempt, text) in new.iter_mut().zip(nested_texts(Some(text.get()))) {
            attempt.bytes = record.span_of(text);
        }
    }
    Ok(attempts)
}

/// The attempt that a step of this text is read as; `None` where it would be refused or is several.
/// A missing type reads as an empty one.
#[must_use]
pub fn step_as_read(text: &str) -> Option<Attempt<'_>> {
    let mut step: WireStep<'_> = quick::from_str(text).ok()?;
    if step.kind.is_absent() {
        step.kind = Scalar::Text(Cow::Borrowed(""));
    }
    let mut attempts = Vec::with_capacity(1);
    step.push_onto(&mut attempts, 0, None).ok()?;
    // Attempts nested in a step are not it.
    attempts.pop().filter(|_| attempts.is_empty()).filter(|_| !nests(text))
}

/// The run that a native run without its `steps` says; `None` where that cannot be read.
pub(super) fn head_as_read(text: &str) -> Option<Trajectory<'_>> {
    let mut wire: WireRun<'_> = quick::from_str(text).ok()?;
    wire.steps = Some(Steps(Ok(Vec::new())));
    wire.into_trajectory(Place::default()).ok()
}

fn nests(step: &str) -> bool {
    !nested_texts(Some(step)).is_empty()
}

impl<'a> WireRun<'a> {
    fn into_trajectory(self, place: Place) -> Result<Trajectory<'a>, Refusal> {
        let Some(Steps(attempts)) = self.steps else {
            return Err(Refusal::of("run_without_steps", "the run has no array `steps`"));
        };
        let attempts = attempts?;
        let retry_source = match self.retry_source.text().as_deref() {
            Some("recorded") => Some(RetrySource::Recorded),
            Some("inferred") => Some(RetrySource::Inferred),
            _ => None,
        };
        Ok(Trajectory {
            place,
            run_id: self.run_id.text(),
            task_id: self.task_id.text(),
            trial: self.trial.text(),
            agent: self.agent.text(),
            model: self.model.text(),
            tags: self.tags.0,
            status: self.status.text(),
            end_reason: self.end_reason.text(),
            scores: self.scores.with(self.score),
            success: self.success.flag(),
            started_at: self.started_at.stamp(),
            ended_at: self.ended_at.stamp(),
            duration_ms: self.duration_ms.number(),
            tokens: self.tokens.0,
            cost_usd: self.cost_usd.number(),
            end_rule: match self.end_rule.text().as_deref() {
                Some("unfinished") => Some(EndRule::Unfinished),
                Some("cancelled") => Some(EndRule::Cancelled),
                _ => None,
            },
            format_outcome: match self.format_outcome {
                Scalar::Bool(outcome) => Some(outcome),
                _ => None,
            },
            order_unknown: self.order_unknown.0,
            steps_unknown: self.steps_unknown.0,
            never_reached: self.never_reached.0,
            final_output: self
                .final_output
                .0
                .map_or(Final::Missing, |raw| Final::Json(Cow::Borrowed(raw.get()))),
            retry_source,
            attempts,
        })
    }
}

impl<'a> WireStep<'a> {
    /// Appends the attempts that this step records: itself, or those nested in it.
    ///
    /// # Errors
    /// Refuses a step without a type, and one whose attempt number or count cannot be read.
    pub fn push_onto(
        self,
        attempts: &mut Vec<Attempt<'a>>,
        position: usize,
        raw: Option<Cow<'a, str>>,
    ) -> Result<(), Refusal> {
        let Some(kind) = self.kind.text() else {
            return Err(Refusal::of(
                "step_without_type",
                format!("element {position} of `steps` has no `type`"),
            ));
        };
        let number = |scalar: &Scalar<'a>, field: &str| {
            scalar.whole().map_err(|found| {
                Refusal::of(
                    "unreadable_number",
                    format!(
                        "`{field}` of element {position} of `steps` is {found}, not a whole number"
                    ),
                )
            })
        };
        let attempt = number(&self.attempt, "attempt")?;
        let retries = match number(&self.retries, "retries")? {
            Some(retries) => Some(retries),
            None => number(&self.retry_count, "retry_count")?,
        };
        let total = match &self.attempts {
            NestedAttempts::Count(count) => number(count, "attempts")?,
            _ => retries.map(|n| n.saturating_add(1)),
        };
        let total = number(&self.attempts_total, "attempts_total")?.or(total);
        let origin = self.error_origin.0.unwrap_or_default();
        let outer = Attempt {
            step_id: self.step_id.text(),
            node_id: self.node_id.text(),
            index: self.index.number(),
            attempt,
            attempts_total: total,
            kind,
            name: self.name.text(),
            status: self.status.text(),
            request_id: self.request_id.text().or_else(|| self.tool_call_id.text()),
            input: match self.input_hash {
                InputKey::Absent => self.input.0.and_then(|raw| input_hash(raw.get())),
                InputKey::Unknown => None,
                InputKey::Hash(hash) => Some(hash),
            },
            error: self.error.0.map(|error| ErrorInfo { origin, ..error }),
            status_decides: self.status_decides.0,
            turn: self.model_turn.0,
            bytes: None,
            nested_in: number(&self.nested_in, "nested_in")?,
            started_at: self.started_at.stamp(),
            ended_at: self.ended_at.stamp(),
            duration_ms: self.duration_ms.number(),
            tokens: self.tokens.0,
            cost_usd: self.cost_usd.number(),
            raw,
        };
        match self.attempts {
            NestedAttempts::List(list) if !list.is_empty() => {
                push_nested(attempts, &outer, list, position)
            }
            _ => {
                attempts.push(outer);
                Ok(())
            }
        }
    }
}

/// Appends attempts nested in a step: each takes its place, name and input from the step around it
/// where it has none. What the step records as a whole (tokens, cost, duration) goes to the last of
/// them if none records its own, so that nothing is lost or counted twice.
fn push_nested<'a>(
    attempts: &mut Vec<Attempt<'a>>,
    outer: &Attempt<'a>,
    list: Vec<WireStep<'a>>,
    position: usize,
) -> Result<(), Refusal> {
    let before = attempts.len();
    let texts = nested_texts(outer.raw.as_deref());
    for (nth, mut inner) in list.into_iter().enumerate() {
        if matches!(inner.attempts, NestedAttempts::List(_)) {
            return Err(Refusal::of(
                "nested_attempts",
                format!("element {position} of `steps` nests attempts inside attempts"),
            ));
        }
        if inner.kind.is_absent() {
            inner.kind = Scalar::Text(outer.kind.clone());
        }
        let raw = texts.get(nth).map(|text| Cow::Owned(text.get().to_owned()));
        inner.push_onto(attempts, position, raw)?;
    }
    for attempt in &mut attempts[before..] {
        attempt.nested_in = u32::try_from(position).ok();
        attempt.step_id.clone_from(&outer.step_id);
        attempt.node_id.clone_from(&outer.node_id);
        attempt.index = outer.index;
        attempt.name = attempt.name.take().or_else(|| outer.name.clone());
        attempt.input = attempt.input.or(outer.input);
    }
    let nested = &attempts[before..];
    let (tokens, cost, duration) = (
        nested.iter().all(|attempt| attempt.tokens.is_none()),
        nested.iter().all(|attempt| attempt.cost_usd.is_none()),
        nested.iter().all(|attempt| attempt.duration_ms.is_none() && attempt.ended_at.is_none()),
    );
    if let Some(last) = attempts.last_mut() {
        last.tokens = last.tokens.or(outer.tokens.filter(|_| tokens));
        last.cost_usd = last.cost_usd.or(outer.cost_usd.filter(|_| cost));
        last.duration_ms = last.duration_ms.or(outer.duration_ms.filter(|_| duration));
    }
    Ok(())
}

/// The texts of the attempts that a step nests.
fn nested_texts(step: Option<&str>) -> Vec<&serde_json::value::RawValue> {
    #[derive(Deserialize)]
    struct Nest<'a> {
        #[serde(borrow, default)]
        attempts: Vec<&'a serde_json::value::RawValue>,
    }
    step.and_then(|step| quick::from_str::<Nest<'_>>(step).ok())
        .map_or_else(Vec::new, |nest| nest.attempts)
}
