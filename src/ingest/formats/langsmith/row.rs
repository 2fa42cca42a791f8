//! One record of a run, joined with the others of that run, and made into a span.
//!
//! Owns the fields of a row, which of two records is the later one, and `dotted_order`.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::evidence::exception_class;
use super::super::otlp::usage::split;
use super::super::raw::{label, number, object, quoted, raw_fields, read};
use super::super::span_record::{Zone, instant};
use super::facts::{self, Outcome};
use crate::ingest::assemble::spans::{Span, SpanClass, SpanStatus};
use crate::model::{
    Attempt, ErrorInfo, ErrorOrigin, Place, Score, ScoreValue, Stamp, Tokens, input_hash,
};

raw_fields! {
    /// A record of a run.
    Wire {
        id, trace_id, parent_run_id, dotted_order, name, run_type, start_time, end_time, error,
        status, inputs, outputs, extra, session_name, reference_example_id, child_runs,
        prompt_tokens, completion_tokens, total_tokens, total_cost, feedback_stats,
        prompt_token_details,
    }
}

raw_fields! {
    /// What SDKs add.
    Extra { metadata, tool_call_id, invocation_params }
}

raw_fields! {
    /// What callers add.
    Metadata { thread_id, session_id, conversation_id, ls_model_name, task_id }
}

raw_fields! {
    /// The parameters of a model call.
    Invocation { model, model_name }
}

raw_fields! {
    /// Figures of one kind of feedback.
    Feedback { avg }
}

raw_fields! {
    /// Parts of the prompt tokens.
    PromptDetails { cache_read, cache_creation }
}

/// Which record of a run was written later, whatever the order in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Written at the start.
    Post,
    /// A dump of the whole run.
    Whole,
    /// An update.
    Patch,
}

/// What is kept of the records of one run. `None` is what no record says.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) place: Place,
    /// Number of the record among all.
    pub(super) sequence: usize,
    rank: Rank,
    trace: Option<String>,
    parent: Option<String>,
    order: Option<String>,
    name: Option<String>,
    kind: Option<String>,
    started_at: Option<Stamp<'static>>,
    ended_at: Option<Stamp<'static>>,
    error: Option<String>,
    status: Option<String>,
    input: Option<u64>,
    kept_input: Option<String>,
    kept_output: Option<String>,
    call_id: Option<String>,
    model: Option<String>,
    task: Option<String>,
    session: Option<String>,
    project: Option<String>,
    tokens: Option<Tokens>,
    cost_usd: Option<f64>,
    scores: Vec<Score<'static>>,
    outcome: Outcome,
}

fn word(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(label).map(Cow::into_owned).filter(|word| !word.is_empty())
}

fn amount(raw: Option<&RawValue>) -> Option<f64> {
    raw.and_then(number).filter(|number| number.is_finite() && *number >= 0.0)
}

/// Reads a record and the runs nested in it. `Err` names the rule by which it is refused.
pub(super) fn read_row(
    json: &RawValue,
    rank: Rank,
    place: Place,
    raw: bool,
) -> Result<(Row, Vec<&RawValue>), &'static str> {
    let wire: Wire<'_> = read(json).ok_or("malformed_run: it is not an object")?;
    let order = word(wire.dotted_order);
    let id = word(wire.id)
        .or_else(|| segments(order.as_deref()).next_back().map(|(_, id)| id.to_owned()))
        .ok_or("run_without_id: it has neither `id` nor `dotted_order`")?;
    let extra: Extra<'_> = wire.extra.and_then(read).unwrap_or_default();
    let metadata: Metadata<'_> = extra.metadata.and_then(read).unwrap_or_default();
    let invocation: Invocation<'_> = extra.invocation_params.and_then(read).unwrap_or_default();
    let outcome = wire.outputs.map(facts::read_outputs).unwrap_or_default();
    // `dotted_order` is finer than a start in milliseconds, which several runs share.
    let of_order = segments(order.as_deref()).next_back().and_then(|(time, _)| stamp(time));
    let is_root = segments(order.as_deref()).nth(1).is_none() && wire.parent_run_id.is_none();
    let empty = |raw: &&RawValue| !matches!(raw.get(), "{}" | "[]" | "\"\"");
    let row = Row {
        id,
        place,
        sequence: 0,
        rank,
        trace: word(wire.trace_id),
        parent: word(wire.parent_run_id),
        name: word(wire.name),
        kind: word(wire.run_type),
        started_at: of_order.or_else(|| instant(wire.start_time, Zone::Utc)),
        ended_at: instant(wire.end_time, Zone::Utc),
        error: word(wire.error),
        status: word(wire.status),
        input: wire.inputs.and_then(|inputs| input_hash(inputs.get())),
        kept_input: wire.inputs.filter(|_| raw).map(|inputs| inputs.get().to_owned()),
        kept_output: wire
            .outputs
            .filter(|_| raw || is_root)
            .filter(empty)
            .map(|outputs| outputs.get().to_owned()),
        call_id: word(extra.tool_call_id),
        model: word(metadata.ls_model_name)
            .or_else(|| word(invocation.model))
            .or_else(|| word(invocation.model_name)),
        task: word(wire.reference_example_id).or_else(|| word(metadata.task_id)),
        session: word(metadata.thread_id.or(metadata.session_id).or(metadata.conversation_id)),
        project: word(wire.session_name),
        tokens: of_row(&wire),
        cost_usd: amount(wire.total_cost),
        scores: scores(wire.feedback_stats),
        outcome,
        order,
    };
    let children = wire.child_runs.and_then(read::<Vec<&RawValue>>).unwrap_or_default();
    Ok((row, children))
}

/// Counts that the API puts on the row itself.
fn of_row(wire: &Wire<'_>) -> Option<Tokens> {
    let (input, output) = (amount(wire.prompt_tokens), amount(wire.completion_tokens));
    if input.is_none() && output.is_none() {
        let unsplit = amount(wire.total_tokens).filter(|total| *total > 0.0)?;
        return Some(Tokens { unsplit, ..Tokens::default() });
    }
    let details: PromptDetails<'_> = wire.prompt_token_details.and_then(read).unwrap_or_default();
    let cache_read = amount(details.cache_read).unwrap_or(0.0);
    let cache_write = amount(details.cache_creation).unwrap_or(0.0);
    let tokens = split(input, cache_read, cache_write, output);
    (tokens.total() > 0.0).then_some(tokens)
}

fn scores(stats: Option<&RawValue>) -> Vec<Score<'static>> {
    let stats = stats.and_then(read::<super::super::raw::Entries<'_>>).unwrap_or_default();
    let average = |value: &RawValue| read::<Feedback<'_>>(value)?.avg.and_then(number);
    stats
        .0
        .into_iter()
        .filter_map(|(name, value)| {
            let value = ScoreValue::Number(average(value)?);
            Some(Score { name: Cow::Owned(name.into_owned()), value })
        })
        .collect()
}

/// The start times and ids of a run and those above it, the topmost first.
fn segments(order: Option<&str>) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    order.unwrap_or_default().split('.').filter_map(|part| {
        let (time, id) = part.split_once('Z')?;
        (!id.is_empty()).then_some((time, id))
    })
}

/// `20261129T160828092875`, in UTC.
fn stamp(time: &str) -> Option<Stamp<'static>> {
    let digits = |from: usize, to: usize| time.get(from..to);
    let (year, month, day) = (digits(0, 4)?, digits(4, 6)?, digits(6, 8)?);
    let (hour, minute, second) = (digits(9, 11)?, digits(11, 13)?, digits(13, 15)?);
    let fraction = time.get(15..).filter(|fraction| !fraction.is_empty()).unwrap_or("0");
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction}Z");
    let micros = Stamp::Text(Cow::Owned(text)).time()?.micros;
    u64::try_from(micros).ok()?.checked_mul(1000).map(Stamp::Nanos)
}

impl Row {
    /// The trace, as far as the row itself says.
    pub(super) fn trace(&self) -> Option<String> {
        self.trace
            .clone()
            .or_else(|| segments(self.order.as_deref()).next().map(|(_, id)| id.to_owned()))
    }

    /// What sorts the records of one run from the earliest to the latest.
    pub(super) fn age(&self) -> (Rank, i64, usize) {
        let end = self.ended_at.as_ref().and_then(Stamp::time).map_or(i64::MIN, |time| time.micros);
        (self.rank, end, self.sequence)
    }

    /// Takes over what a later record says.
    pub(super) fn update(&mut self, later: Self) {
        fn take<T>(mine: &mut Option<T>, theirs: Option<T>) {
            if theirs.is_some() {
                *mine = theirs;
            }
        }
        take(&mut self.trace, later.trace);
        take(&mut self.parent, later.parent);
        take(&mut self.order, later.order);
        take(&mut self.name, later.name);
        take(&mut self.kind, later.kind);
        take(&mut self.started_at, later.started_at);
        take(&mut self.ended_at, later.ended_at);
        take(&mut self.error, later.error);
        take(&mut self.status, later.status);
        take(&mut self.input, later.input);
        take(&mut self.kept_input, later.kept_input);
        take(&mut self.kept_output, later.kept_output);
        take(&mut self.call_id, later.call_id);
        take(&mut self.model, later.model);
        take(&mut self.task, later.task);
        take(&mut self.session, later.session);
        take(&mut self.project, later.project);
        take(&mut self.tokens, later.tokens);
        take(&mut self.cost_usd, later.cost_usd);
        if !later.scores.is_empty() {
            self.scores = later.scores;
        }
        self.outcome.update(later.outcome);
        self.place = self.place.min(later.place);
    }

    /// The run above this one: its parent, or the next one up that the input has.
    pub(super) fn nearest_parent(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let above = segments(self.order.as_deref()).rev().skip(1).map(|(_, id)| id);
        let mut all = self.parent.as_deref().into_iter().chain(above);
        let direct = self
            .parent
            .clone()
            .or_else(|| segments(self.order.as_deref()).rev().nth(1).map(|(_, id)| id.to_owned()));
        all.find(|id| is_there(id)).map(str::to_owned).or(direct)
    }

    fn class(&self) -> SpanClass {
        match self.kind.as_deref().unwrap_or_default().to_ascii_lowercase().as_str() {
            "tool" => SpanClass::Tool,
            "llm" => SpanClass::Llm,
            "retriever" => SpanClass::Retrieval,
            "embedding" => SpanClass::Other("embedding_span"),
            "prompt" => SpanClass::Other("prompt_span"),
            "parser" => SpanClass::Other("parser_span"),
            _ => SpanClass::Chain,
        }
    }

    /// The error in words: what stands before the traceback that every ancestor repeats.
    fn error_info(&self) -> Option<ErrorInfo<'static>> {
        let text = self.error.as_deref()?;
        let (head, trace) = match text.find("Traceback (most recent call last)") {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let last = trace.trim_end().rsplit('\n').next().unwrap_or_default();
        let message = if head.trim().is_empty() { last } else { head };
        Some(ErrorInfo {
            kind: exception_class(message).map(|class| Cow::Owned(class.to_owned())),
            message: Some(Cow::Owned(message.trim().to_owned())),
            origin: ErrorOrigin::Recorded,
        })
    }

    /// The span of the run below this parent.
    pub(super) fn into_span(self, parent: Option<String>) -> Span {
        let class = self.class();
        let error = self.error_info();
        let pending =
            self.status.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("pending"));
        let says_error =
            self.status.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("error"));
        let mut span = Span::new(self.id, self.place, class);
        span.parent = parent;
        // A status of success without an end is what a crash leaves behind, and no success.
        span.status = match (&error, &self.ended_at) {
            (Some(_), _) => SpanStatus::Error,
            _ if says_error => SpanStatus::Error,
            (None, Some(_)) if !pending => SpanStatus::Ok,
            _ => SpanStatus::Unset,
        };
        span.started_at = self.started_at;
        span.ended_at = self.ended_at.filter(|_| !pending);
        span.error_message =
            error.as_ref().and_then(|error| Some(error.message.as_deref()?.to_owned()));
        span.model = self.outcome.model.or(self.model);
        span.task = self.task;
        span.scores = self.scores;
        if class == SpanClass::Llm {
            span.calls = self.outcome.calls;
        }
        if span.parent.is_none() {
            span.agent.clone_from(&self.name);
            span.output.clone_from(&self.kept_output);
        }
        let labels = [("session", self.session), ("project", self.project)];
        span.labels.extend(labels.into_iter().filter_map(|(key, value)| Some((key, value?))));
        let tokens = self.outcome.tokens.or(self.tokens);
        let is_call = matches!(class, SpanClass::Tool | SpanClass::Retrieval);
        if !is_call && class != SpanClass::Llm && tokens.is_none() && self.cost_usd.is_none() {
            return span;
        }
        let name =
            if class == SpanClass::Llm { span.model.clone().or(self.name) } else { self.name };
        let open = span.started_at.is_some() && span.ended_at.is_none() && error.is_none();
        let mut attempt = Attempt {
            kind: if class == SpanClass::Retrieval { "retrieval" } else { "tool" }.into(),
            tokens,
            cost_usd: self.cost_usd,
            status: open.then_some("running".into()),
            error: error.or(if is_call { self.outcome.soft_error } else { None }),
            ..Attempt::default()
        };
        if attempt.error.is_none() && says_error {
            attempt.error = Some(ErrorInfo::default());
        }
        if self.kept_input.is_some() || self.kept_output.is_some() {
            let quoted_name = name.as_deref().map(quoted);
            let id = self.call_id.as_deref().map(quoted);
            let members = [
                ("id", id.as_deref()),
                ("name", quoted_name.as_deref()),
                ("input", self.kept_input.as_deref()),
                ("result", self.kept_output.as_deref()),
            ];
            attempt.raw = self.kept_input.is_some().then(|| Cow::Owned(object(&members)));
        }
        attempt.name = name.map(Cow::Owned);
        if is_call {
            attempt.request_id = self.call_id.or(self.outcome.call_id).map(Cow::Owned);
            attempt.input = self.input;
        }
        span.attempt = Some(Box::new(attempt));
        span
    }
}
