//! One run of a step log, rebuilt from its lines.
//!
//! Owns: the run's own fields, its metrics, and what the log says of its end. How its lines pair
//! into attempts stands in `steplog/attempts.rs`.
//!
//! The rule for an open end: a run with a `run_start` and no `run_end` is unfinished, unless a
//! plan says that all of its nodes were completed or that one failed. A log without both events
//! says nothing of its end, so the outcome stays unknown without a plan.

use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use super::super::Fate;
use super::super::kept::{is_refusal, object, owned, stamp, text};
use super::attempts::Attempts;
use super::line::{Event, Fields, Line, Written};
use crate::config::Plan;
use crate::ingest::quick;
use crate::model::{Attempt, AttemptWord, EndRule, Final, Place, Score, ScoreValue, Trajectory};

/// One run while its lines come in.
pub(super) struct Run {
    trajectory: Trajectory<'static>,
    workflow_id: Option<String>,
    attempts: Attempts,
    metrics: BTreeMap<String, String>,
    started: bool,
    ended: bool,
}

impl Run {
    pub(super) fn new(place: Place, id: Option<&str>) -> Self {
        let run_id = id.map(|id| id.to_owned().into());
        Self {
            trajectory: Trajectory { place, run_id, ..Trajectory::default() },
            workflow_id: None,
            attempts: Attempts::default(),
            metrics: BTreeMap::new(),
            started: false,
            ended: false,
        }
    }

    /// Attempts that were still open when their node was started again or retried.
    pub(super) fn restarted(&self) -> u64 {
        self.attempts.restarted
    }

    pub(super) fn place(&self) -> Place {
        self.trajectory.place
    }

    /// Whether its start or its end was logged.
    pub(super) fn has_bounds(&self) -> bool {
        self.started || self.ended
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether its start and its end were logged.
    pub(super) fn is_over(&self) -> bool {
        self.started && self.ended
    }

    /// Attempts so far.
    pub(super) fn attempts(&self) -> usize {
        self.attempts.count()
    }

    /// Sets `final.<metric>`; the last value of a metric stays.
    pub(super) fn set_metric(&mut self, line: &Line<'_>) {
        if let Some(name) = line.metric() {
            let value = line.value.map_or("null", RawValue::get);
            self.metrics.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Takes an event; `raw` is its text, if attempts keep theirs.
    pub(super) fn take(&mut self, line: Line<'_>, event: Event, raw: Option<Written<'_>>) -> Fate {
        let fields = line.fields;
        self.take_context(&fields);
        match event {
            Event::RunStart | Event::RunEnd => self.take_bounds(fields, event),
            Event::Step => self.attempts.step(fields, raw),
            Event::Start => self.attempts.start(&fields, raw),
            Event::Retry => self.attempts.retry(fields, raw),
            Event::Waiting => self.attempts.wait(fields, raw),
            _ => return self.attempts.end(fields, event, raw),
        }
        Fate::Used
    }

    /// What any line may say of its run: the first one to say it counts.
    fn take_context(&mut self, fields: &Fields<'_>) {
        let run = &mut self.trajectory;
        for (slot, value) in [
            (&mut run.task_id, &fields.task_id),
            (&mut run.trial, &fields.trial),
            (&mut run.agent, &fields.agent),
            (&mut run.model, &fields.model),
        ] {
            if slot.is_none() {
                *slot = text(value);
            }
        }
        if self.workflow_id.is_none() {
            self.workflow_id = fields.workflow_id.text().map(Into::into);
        }
    }

    /// The run's own fields, from its start and its end.
    fn take_bounds(&mut self, fields: Fields<'_>, event: Event) {
        let run = &mut self.trajectory;
        let logged_at = stamp(&fields.logged_at);
        let (started_at, ended_at) = (stamp(&fields.started_at), stamp(&fields.ended_at));
        if event == Event::RunStart {
            self.started = true;
            run.started_at = run.started_at.take().or(started_at).or(logged_at);
            run.ended_at = ended_at.or(run.ended_at.take());
        } else {
            self.ended = true;
            run.started_at = run.started_at.take().or(started_at);
            run.ended_at = ended_at.or(logged_at).or(run.ended_at.take());
            run.status = text(&fields.status).or(run.status.take());
            self.attempts.shrink();
        }
        run.end_reason = text(&fields.end_reason).or(run.end_reason.take());
        run.success = fields.success.flag().or(run.success);
        run.duration_ms = fields.duration_ms.number().or(run.duration_ms);
        run.cost_usd = fields.cost_usd.number().or(run.cost_usd);
        run.tokens = fields.tokens.0.or(run.tokens);
        let scores = fields.scores.with(fields.score);
        if !scores.is_empty() {
            run.scores = scores.into_iter().map(kept_score).collect();
        }
        if !fields.tags.0.is_empty() {
            let tags = fields.tags.0.into_iter();
            run.tags = tags.map(|(key, value)| (owned(key), owned(value))).collect();
        }
        if let Some(value) = fields.final_output {
            let json = value.map_or("null", RawValue::get);
            run.final_output = Final::Json(json.to_owned().into());
        }
    }

    /// The run as its lines left it.
    pub(super) fn finish(mut self, plan: Option<&Plan>) -> Trajectory<'static> {
        self.trajectory.attempts = std::mem::take(&mut self.attempts).finish();
        let (verdict, open_nodes) = plan.map_or((None, false), |plan| self.by_plan(plan));
        let run = &mut self.trajectory;
        let says_itself = run.status.is_some() || run.success.is_some() || !run.scores.is_empty();
        match verdict {
            Some(outcome) if !says_itself => run.format_outcome = Some(outcome),
            _ if !self.ended && (self.started || open_nodes) => {
                run.end_rule = Some(EndRule::Unfinished);
            }
            _ => {}
        }
        if run.task_id.is_none() {
            let workflow = self.workflow_id.filter(|id| run.run_id.as_deref() != Some(id));
            let workflow = workflow.or_else(|| plan.and_then(|plan| plan.workflow.clone()));
            run.task_id = workflow.map(Into::into);
        }
        if !self.metrics.is_empty() {
            let given = std::mem::take(&mut run.final_output);
            run.final_output = Final::Json(with_metrics(given, self.metrics).into());
        }
        self.trajectory
    }

    /// Fills in which nodes of the plan were never reached; and what the plan says of the
    /// outcome: all of its nodes completed (or were skipped), or one failed; and whether one was
    /// never reached or is still open.
    fn by_plan(&mut self, plan: &Plan) -> (Option<bool>, bool) {
        let mut last: HashMap<&str, &Attempt<'_>> = HashMap::new();
        for attempt in &self.trajectory.attempts {
            for key in [&attempt.node_id, &attempt.step_id, &attempt.name].into_iter().flatten() {
                last.insert(key.as_ref(), attempt);
            }
        }
        let (mut completed, mut failed, mut open) = (true, false, false);
        let mut never_reached = Vec::new();
        for id in plan.order() {
            let Some(attempt) = last.get(id) else {
                never_reached.push(id.to_owned().into());
                continue;
            };
            let status = attempt.status.as_deref().unwrap_or_default();
            match AttemptWord::read(status) {
                AttemptWord::Failed => failed = true,
                AttemptWord::Neither if status.eq_ignore_ascii_case("skipped") => {}
                AttemptWord::Neither => {
                    completed = false;
                    open |= !is_refusal(status);
                }
                _ => failed |= attempt.error.is_some(),
            }
        }
        open |= !never_reached.is_empty();
        self.trajectory.never_reached = never_reached;
        let verdict = if failed { Some(false) } else { (completed && !open).then_some(true) };
        (verdict, open)
    }
}

fn kept_score(score: Score<'_>) -> Score<'static> {
    let value = match score.value {
        ScoreValue::Number(number) => ScoreValue::Number(number),
        ScoreValue::Unreadable(text) => ScoreValue::Unreadable(owned(text)),
    };
    Score { name: owned(score.name), value }
}

/// Adds the metrics to what the run delivered; another thing than an object becomes its `output`.
fn with_metrics(given: Final<'_>, metrics: BTreeMap<String, String>) -> String {
    let mut members = BTreeMap::new();
    if let Final::Json(json) = given {
        if let Ok(object) = quick::from_str::<BTreeMap<String, &RawValue>>(&json) {
            members = object.into_iter().map(|(key, v)| (key, v.get().to_owned())).collect();
        } else if json.trim() != "null" {
            members.insert("output".to_owned(), json.into_owned());
        }
    }
    members.extend(metrics);
    object(&members)
}
