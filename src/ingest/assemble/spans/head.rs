//! What the run as a whole is called, and how it ended.
//!
//! Owns the join of what a format records of the run itself with what its spans tell: names,
//! times, labels, scores and the final output. Refuses steps; see `run`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::outcome::End;
use super::tree::Tree;
use super::{Span, SpanClass, nanos};
use crate::ingest::assemble::main_model;
use crate::model::{EndRule, Final, Place, Score, ScoreValue, Stamp, Tokens, Trajectory};

/// What a format records of a run as a whole, beside its spans.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Where the record stands.
    pub place: Place,
    /// Name of the agent, for runs whose spans name none.
    pub agent: Option<String>,
    /// Name of the model, for runs whose spans name none.
    pub model: Option<String>,
    /// Id of the task.
    pub task: Option<String>,
    /// Which repetition of the task this is.
    pub trial: Option<String>,
    /// Labels, such as the session.
    pub labels: BTreeMap<String, String>,
    /// Scores, by their ids (or whatever else tells a copy of one).
    pub scores: BTreeMap<String, Score<'static>>,
    /// What the run delivered, as JSON text.
    pub output: Option<String>,
    /// Start, for runs whose spans have none.
    pub started_at: Option<Stamp<'static>>,
    /// End, for runs whose spans have none.
    pub ended_at: Option<Stamp<'static>>,
    /// Tokens of the run as a whole, for runs whose spans count none.
    pub tokens: Option<Tokens>,
    /// Cost of the run as a whole in US dollars, for runs whose spans tell none.
    pub cost_usd: Option<f64>,
    /// Whether the run itself is recorded as ended in an error.
    pub failed: bool,
    /// The message of that error.
    pub error_message: Option<String>,
    /// Whether the run itself is recorded as not ended.
    pub unfinished: bool,
}

impl Head {
    /// Joins another record of the same run. The result does not depend on which came first: of
    /// two values the record with the later end decides, and at equal ends the greater one.
    pub(super) fn join(&mut self, mut other: Self) {
        let key = |head: &Self| nanos(head.ended_at.as_ref());
        if key(&other) > key(self) {
            std::mem::swap(self, &mut other);
        }
        let equal = key(&other) == key(self);
        let join = |mine: &mut Option<String>, theirs: Option<String>| {
            if mine.is_none() || (equal && theirs > *mine) {
                *mine = theirs.or(mine.take());
            }
        };
        join(&mut self.agent, other.agent);
        join(&mut self.model, other.model);
        join(&mut self.task, other.task);
        join(&mut self.trial, other.trial);
        join(&mut self.output, other.output);
        join(&mut self.error_message, other.error_message);
        for (name, value) in other.labels {
            let mine = self.labels.entry(name).or_insert_with(|| value.clone());
            if equal && value > *mine {
                *mine = value;
            }
        }
        for (id, score) in other.scores {
            self.scores.entry(id).or_insert(score);
        }
        self.started_at = self.started_at.take().or(other.started_at);
        self.tokens = self.tokens.or(other.tokens);
        self.cost_usd = self.cost_usd.or(other.cost_usd);
        self.failed |= other.failed;
        // One record that ended says that an earlier one, written before the end, is out of date.
        self.unfinished &= other.unfinished;
        self.place = self.place.min(other.place);
    }
}

/// The scores of the run, and how many others there are: a score says something of what it stands
/// at, so only those of a root, or of an agent on the unbranched path below it, are the run's.
fn scores(spans: &[Span], tree: &Tree, end: &End) -> (Vec<Score<'static>>, u64) {
    // As for the outcome, a span whose parent is not in the input stands for it where no root is.
    let rooted = spans.iter().any(|span| span.parent.is_none());
    let agents: HashSet<usize> =
        end.path.iter().copied().filter(|&at| spans[at].class == SpanClass::Agent).collect();
    let (mut scores, mut others) = (Vec::new(), 0);
    for &at in &tree.by_time {
        let span = &spans[at];
        let root = if rooted { span.parent.is_none() } else { tree.parent[at].is_none() };
        if root || agents.contains(&at) {
            scores.extend(span.scores.iter().cloned());
        } else {
            others += span.scores.len() as u64;
        }
    }
    (scores, others)
}

/// Everything of the run but its attempts, and how many scores are not the run's; what the format
/// records of the run itself goes first.
pub(super) fn of(
    spans: &[Span],
    tree: &Tree,
    end: &End,
    is_turn: &[bool],
    told: Option<Head>,
) -> (Trajectory<'static>, u64) {
    let told = told.unwrap_or_default();
    let by_time = &tree.by_time;
    let first = |of: fn(&Span) -> Option<&String>| {
        let path = end.path.iter().chain(by_time);
        path.filter_map(|&at| of(&spans[at])).next().map(|text| Cow::Owned(text.clone()))
    };
    let root = end.root.filter(|_| !end.several).map(|at| &spans[at]);
    let (started_at, ended_at) = match root {
        Some(Span { started_at: Some(start), ended_at: Some(stop), parent: None, .. }) => {
            (Some(start.clone()), Some(stop.clone()))
        }
        _ => bounds(spans),
    };
    let models = |turns: bool| {
        let of_turn = by_time.iter().filter(move |&&at| is_turn[at] == turns);
        of_turn.filter_map(|&at| spans[at].model.as_deref())
    };
    let failed = told.failed || end.failed_at.is_some();
    // A root that was written and never ended is a run that never ended.
    let open = told.unfinished
        || root.is_some_and(|root| {
            root.parent.is_none() && root.started_at.is_some() && root.ended_at.is_none()
        });
    let mut run = Trajectory {
        task_id: told.task.map(Cow::Owned).or_else(|| first(|span| span.task.as_ref())),
        trial: told.trial.map(Cow::Owned),
        agent: agent(spans, end)
            .map(|name| Cow::Owned(name.to_owned()))
            .or_else(|| first(|span| span.agent.as_ref()))
            .or(told.agent.map(Cow::Owned)),
        model: main_model(models(true))
            .or_else(|| main_model(models(false)))
            .or(told.model)
            .map(Cow::Owned),
        started_at: started_at.or(told.started_at),
        ended_at: if open && !failed { None } else { ended_at.or(told.ended_at) },
        format_outcome: failed.then_some(false),
        end_rule: (open && !failed).then_some(EndRule::Unfinished),
        tokens: told.tokens,
        cost_usd: told.cost_usd,
        ..Trajectory::default()
    };
    let mut have: HashSet<String> = HashSet::new();
    let mut add = |key: &str, value: &str| {
        if !have.contains(key) {
            have.insert(key.to_owned());
            run.tags.push((Cow::Owned(key.to_owned()), Cow::Owned(value.to_owned())));
        }
    };
    for (key, value) in &told.labels {
        add(key, value);
    }
    let mut last_resource = None;
    for &at in end.root.iter().chain(by_time) {
        let span = &spans[at];
        for (key, value) in &span.labels {
            add(key, value);
        }
        // Spans of one resource share it, so that it is looked at once in a row.
        let resource = span.resource.as_ref().map(|resource| resource.as_ptr());
        if resource != last_resource {
            last_resource = resource;
            for (key, value) in span.resource.iter().flat_map(|resource| resource.iter()) {
                add(key, value);
            }
        }
    }
    run.scores = told.scores.into_values().collect();
    let (of_spans, others) = scores(spans, tree, end);
    run.scores.extend(of_spans);
    let deciding = end.failed_at.or(end.root).map(|at| &spans[at]);
    let output = end.path.iter().find_map(|&at| spans[at].output.as_deref());
    let status = match deciding {
        _ if told.failed && end.failed_at.is_none() => "error",
        Some(span) => span.status.word(),
        None => "unset",
    };
    let error = deciding.and_then(|span| span.error_message.as_deref());
    let error = error.or(told.error_message.as_deref());
    run.final_output = final_output(status, error, told.output.as_deref().or(output), &run.scores);
    (run, others)
}

/// The run of a trace of which nothing but its own record is there.
pub(super) fn alone(told: Head) -> Trajectory<'static> {
    let scores: Vec<Score<'static>> = told.scores.into_values().collect();
    let status = if told.failed { "error" } else { "unset" };
    let final_output =
        final_output(status, told.error_message.as_deref(), told.output.as_deref(), &scores);
    let labels = told.labels.into_iter().map(|(key, value)| (Cow::Owned(key), Cow::Owned(value)));
    Trajectory {
        task_id: told.task.map(Cow::Owned),
        trial: told.trial.map(Cow::Owned),
        agent: told.agent.map(Cow::Owned),
        model: told.model.map(Cow::Owned),
        tags: labels.collect(),
        started_at: told.started_at,
        ended_at: told.ended_at,
        format_outcome: told.failed.then_some(false),
        end_rule: (told.unfinished && !told.failed).then_some(EndRule::Unfinished),
        tokens: told.tokens,
        cost_usd: told.cost_usd,
        scores,
        final_output,
        ..Trajectory::default()
    }
}

/// The agent at work: of agents that wrap nothing but an agent, the innermost one.
fn agent<'s>(spans: &'s [Span], end: &End) -> Option<&'s str> {
    end.path
        .iter()
        .map(|&at| &spans[at])
        .take_while(|span| !matches!(span.class, SpanClass::Tool | SpanClass::Llm))
        .filter(|span| span.class == SpanClass::Agent)
        .filter_map(|span| span.agent.as_deref())
        .last()
}

fn bounds(spans: &[Span]) -> (Option<Stamp<'static>>, Option<Stamp<'static>>) {
    let timed = |stamp: &Option<Stamp<'static>>| {
        let stamp = stamp.clone()?;
        Some((super::nanos(Some(&stamp))?, stamp))
    };
    let earliest =
        spans.iter().filter_map(|span| timed(&span.started_at)).min_by_key(|(nanos, _)| *nanos);
    let latest =
        spans.iter().filter_map(|span| timed(&span.ended_at)).max_by_key(|(nanos, _)| *nanos);
    (earliest.map(|(_, stamp)| stamp), latest.map(|(_, stamp)| stamp))
}

/// `{"status": ..., "error"?: ..., "output"?: ..., "score"?: ...}` of the root and what stands for it.
fn final_output(
    status: &str,
    error: Option<&str>,
    output: Option<&str>,
    scores: &[Score<'static>],
) -> Final<'static> {
    let mut json = format!("{{\"status\":\"{status}\"");
    let text = |text: &str| serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned());
    if let Some(message) = error {
        json.push_str(",\"error\":");
        json.push_str(&text(message));
    }
    if let Some(output) = output {
        json.push_str(",\"output\":");
        json.push_str(output);
    }
    let mut numbers = scores.iter().filter_map(|score| match score.value {
        ScoreValue::Number(number) if number.is_finite() => Some(number),
        _ => None,
    });
    if let (Some(score), None) = (numbers.next(), numbers.next()) {
        json.push_str(&format!(",\"score\":{score}"));
    }
    json.push('}');
    Final::Json(Cow::Owned(json))
}
