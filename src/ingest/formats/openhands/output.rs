//! A line of an evaluation's or the resolver's output: one whole run.
//!
//! Owns what stands around the history: the instance, the report where one was merged in, the error
//! that ended the run, and usage per response, which is joined to the turns so that what no event
//! tells of is counted too. An `error` is the last, failed step of type `runtime`: whether it was the
//! agent's fault is decided by `error_types` in the config, not here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::value::RawValue;

use super::super::coding::message;
use super::super::evidence::exception_class;
use super::super::raw::{amount, label, raw_fields, text};
use super::super::{Record, Refusal};
use super::run::{Event, Events, What};
use super::v0::{self, usage};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Final, Issue, Place, Severity, Trajectory};

raw_fields! {
    /// One line.
    Line {
        instance_id, issue, history, test_result, metadata, metrics, error, attempt, success,
        git_patch,
    }
}
raw_fields! {
    /// How it was tested.
    Tested { report, git_patch }
}
raw_fields! {
    /// What the tests say.
    Report { resolved }
}
raw_fields! {
    /// How it was started.
    Metadata { agent_class, llm_config, llm, eval_output_dir, dataset }
}
raw_fields! {
    /// The model.
    Model { model }
}
raw_fields! {
    /// An issue of a repository.
    Ticket { number, owner, repo }
}
raw_fields! {
    /// What was used.
    Metrics { accumulated_cost, accumulated_token_usage, token_usages, costs }
}
raw_fields! {
    /// The response that used it.
    Used { response_id }
}

/// What copies of a line share, hashed: the task, which try of it this is, and its history. A line
/// without events has the very same copies only where it says which try it is, and else none
/// (`None`): runs that did not start are alike without being copies.
pub(super) fn identity(bytes: &[u8]) -> Result<Option<u64>, Refusal> {
    let line: Line<'_> = quick::from_slice(bytes)?;
    let elements = line.history.and_then(read_as::<Vec<&RawValue>>).unwrap_or_default();
    let metadata = line.metadata.and_then(read_as::<Metadata<'_>>).unwrap_or_default();
    let tried = line.attempt.or(metadata.eval_output_dir).is_some();
    let mut hasher = DefaultHasher::new();
    for raw in [line.instance_id.or(line.issue), line.attempt, metadata.eval_output_dir] {
        raw.map(RawValue::get).hash(&mut hasher);
    }
    match line.history.filter(|_| !elements.is_empty()) {
        Some(history) => history.get().hash(&mut hasher),
        None if tried => bytes.trim_ascii().hash(&mut hasher),
        None => return Ok(None),
    }
    Ok(Some(hasher.finish()))
}

/// Reads one line.
pub(super) fn read(
    record: &Record<'_>,
    options: &ReadOptions,
    tally: &mut Tally,
    issues: &mut Vec<Issue>,
) -> Result<Trajectory<'static>, Refusal> {
    let line: Line<'_> = quick::from_slice(record.bytes)?;
    let own = |raw: Option<&RawValue>| raw.and_then(label).map(Cow::into_owned);
    let mut events = Events::new(record.place);
    if let Some(history) = line.history {
        let elements: Vec<&RawValue> = quick::from_str(history.get())
            .map_err(|error| Refusal::of("unreadable_history", format!("history: {error}")))?;
        add_history(&elements, &mut events, record.place, tally);
    }
    let metrics = line.metrics.and_then(read_as::<Metrics<'_>>).unwrap_or_default();
    join_usage(&metrics, &mut events);
    let error = line.error.and_then(text).filter(|error| !error.trim().is_empty());
    if let Some(error) = &error {
        let kind = exception_class(error).map(str::to_owned);
        events.push(Event {
            number: Some(i64::MAX),
            what: What::Broke { kind, said: message(error).into_owned() },
            ..Event::default()
        });
    }
    let mut run = events.run(options, tally, issues);
    let tested = line.test_result.and_then(read_as::<Tested<'_>>).unwrap_or_default();
    let report = tested.report.and_then(read_as::<Report<'_>>).unwrap_or_default();
    let metadata = line.metadata.and_then(read_as::<Metadata<'_>>).unwrap_or_default();
    let model = metadata.llm_config.or(metadata.llm).and_then(read_as::<Model<'_>>);
    run.task_id = own(line.instance_id).or_else(|| line.issue.and_then(ticket)).map(Cow::Owned);
    run.trial =
        own(line.attempt).or_else(|| metadata.eval_output_dir.and_then(trial)).map(Cow::Owned);
    run.agent = own(metadata.agent_class).map(Cow::Owned).or(run.agent);
    run.model = model.and_then(|model| own(model.model)).map(Cow::Owned).or(run.model);
    if let Some(dir) = own(metadata.eval_output_dir) {
        run.tags.push((Cow::Borrowed("eval_output_dir"), Cow::Owned(dir)));
    }
    let flag = |raw: Option<&RawValue>| own(raw).and_then(|flag| flag.parse().ok());
    run.success = flag(report.resolved).or_else(|| flag(line.success));
    // Usage per response is joined to the turns; without it the sums are all there is.
    run.tokens = metrics.accumulated_token_usage.and_then(usage).or(run.tokens);
    let cost = amount(metrics.accumulated_cost).filter(|cost| *cost > 0.0);
    run.cost_usd = cost.or(run.cost_usd);
    if line.history.is_none() {
        run.steps_unknown = true;
    }
    deliver(&mut run, tested.git_patch.or(line.git_patch));
    Ok(run)
}

fn read_as<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    super::super::raw::read(raw)
}

/// Events one by one, or pairs of an action and what came of it.
fn add_history(elements: &[&RawValue], events: &mut Events, place: Place, tally: &mut Tally) {
    let mut lost = 0;
    for raw in elements {
        let pair: Vec<&RawValue> = match raw.get().trim_start().starts_with('[') {
            true => read_as(raw).unwrap_or_default(),
            false => vec![raw],
        };
        for raw in pair {
            match v0::inside(raw) {
                Some(Some(event)) => events.push(event),
                Some(None) => {}
                None => lost += 1,
            }
        }
    }
    let rule = "elements of a history that are no events";
    tally.add("unreadable_events", Severity::Warning, place, rule, lost);
}

/// Gives each response its usage; a response that no event tells of is a turn by itself.
fn join_usage(metrics: &Metrics<'_>, events: &mut Events) {
    let Some(all) = metrics.token_usages.and_then(read_as::<Vec<&RawValue>>) else { return };
    let mut usages = HashMap::new();
    let mut order = Vec::new();
    for raw in all {
        let id = read_as::<Used<'_>>(raw).and_then(|used| used.response_id).and_then(label);
        let (Some(id), Some(tokens)) = (id.filter(|id| !id.is_empty()), usage(raw)) else { return };
        order.push(id.clone().into_owned());
        if usages.insert(id.into_owned(), tokens).is_some() {
            // Ids that repeat cannot tell responses apart; the sum stands for all.
            return;
        }
    }
    events.set_usage(&mut usages);
    for id in order {
        if let Some(tokens) = usages.remove(&id) {
            events.push(Event {
                number: Some(i64::MAX - 1 - i64::try_from(usages.len()).unwrap_or(0)),
                response: Some(id),
                usage: Some(tokens),
                ..Event::default()
            });
        }
    }
}

/// `owner/repo#number`, as far as it is said.
fn ticket(raw: &RawValue) -> Option<String> {
    let ticket = read_as::<Ticket<'_>>(raw)?;
    let number = ticket.number.and_then(label)?;
    let name = |raw: Option<&RawValue>| raw.and_then(label).map(Cow::into_owned);
    Some(match (name(ticket.owner), name(ticket.repo)) {
        (Some(owner), Some(repo)) => format!("{owner}/{repo}#{number}"),
        _ => number.into_owned(),
    })
}

/// The number behind `run_` at the end of the folder of the outputs.
fn trial(raw: &RawValue) -> Option<String> {
    let dir = text(raw)?;
    let (_, number) = dir.rsplit_once("run_")?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then(|| number.to_owned())
}

/// Adds the patch to what the run delivered.
fn deliver(run: &mut Trajectory<'static>, patch: Option<&RawValue>) {
    let (Some(patch), Final::Json(json)) = (patch, &run.final_output) else { return };
    let Some(inside) = json.strip_suffix('}') else { return };
    let comma = if inside.len() > 1 { "," } else { "" };
    run.final_output =
        Final::Json(Cow::Owned(format!("{inside}{comma}\"patch\":{}}}", patch.get())));
}
