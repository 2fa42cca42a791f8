//! What stands around a list of messages: ids, task, model, outcome, times, usage.
//!
//! Owns the keys that people who store conversations use for these, at the top of the object or in
//! its `metadata`. Refuses: to take the status of an API's response for that of a task.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::conversation::message_of;
use super::usage::tokens;
use crate::ingest::formats::native::fields::Scalar;
use crate::ingest::formats::raw::{Entries, label, number, raw_fields, read, stamp, text};
use crate::model::{Score, Tags, Trajectory};

/// Labels that are taken from `metadata` at most.
const MOST_TAGS: usize = 64;

/// A text under `task` that is longer is a description, no id.
const LONGEST_TASK: usize = 200;

/// Of what kind the object is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// It stands around a list.
    Around,
    /// It is the API's own response, whose status, error, usage and output are read as such.
    Response,
}

raw_fields! {
    /// The object.
    Wrapper {
        messages, steps, input, input_items, items, request, response, choices, content,
        run_id, trajectory_id, id,
        task_id, instance_id, question_id, problem_id, sample_id, example_id, custom_id, task,
        trial, trial_id, epoch, agent, agent_name, model, model_name,
        session_id, thread_id, conversation_id, metadata,
        usage, total_usage, total_usage_camel = "totalUsage",
        cost_usd, total_cost_usd, cost, total_cost,
        score, reward, scores, success, passed, resolved, is_correct, correct,
        status, error, stop_reason, finish_reason, finish_reason_camel = "finishReason", end_reason, termination_reason,
        started_at, start_time, created_at, created, created_at_camel = "createdAt", timestamp,
        ended_at, end_time, completed_at, finished_at, duration_ms,
        output, final_answer, answer,
    }
}

/// The first of these values that is a label.
fn first<'a>(values: &[Option<&'a RawValue>]) -> Option<Cow<'a, str>> {
    values.iter().flatten().find_map(|raw| label(raw))
}

impl<'a> Wrapper<'a> {
    /// The list of messages, items or steps.
    pub(super) fn list(&self) -> Option<Vec<&'a RawValue>> {
        let lists = [self.messages, self.steps, self.input, self.input_items, self.items];
        lists.into_iter().flatten().find_map(read::<Vec<&'a RawValue>>)
    }

    /// Fills what the object says of its run; returns the output that it names.
    pub(super) fn fill(&self, run: &mut Trajectory<'a>, source: Source) -> Option<&'a str> {
        self.identify(run);
        let started = [
            self.started_at,
            self.start_time,
            self.created_at,
            self.created,
            self.created_at_camel,
            self.timestamp,
        ];
        let ended = [self.ended_at, self.end_time, self.completed_at, self.finished_at];
        let time =
            |values: &[Option<&'a RawValue>]| values.iter().flatten().find_map(|raw| stamp(raw));
        run.started_at = time(&started).or(run.started_at.take());
        run.ended_at = time(&ended).or(run.ended_at.take());
        run.duration_ms = self.duration_ms.and_then(number);
        let costs = [self.cost_usd, self.total_cost_usd, self.cost, self.total_cost];
        run.cost_usd = costs.into_iter().flatten().find_map(number);
        self.judge(run);
        if source == Source::Response {
            return None;
        }
        let usages = [self.usage, self.total_usage, self.total_usage_camel];
        run.tokens = usages.into_iter().flatten().find_map(tokens);
        run.status = self.status.and_then(label);
        let reasons = [
            self.end_reason,
            self.termination_reason,
            self.stop_reason,
            self.finish_reason,
            self.finish_reason_camel,
        ];
        run.end_reason = first(&reasons).or(run.end_reason.take());
        let error = self.error.filter(|error| !matches!(error.get(), "false" | "\"\""));
        if let Some(error) = error {
            // A recorded error of the run, which a score or a success flag overrules.
            run.format_outcome = Some(false);
            run.end_reason = run.end_reason.take().or_else(|| message_of(error));
        }
        let answered = self.response.filter(|response| response.get().starts_with('"'));
        let outputs = [self.output, self.final_answer, self.answer, answered];
        outputs.into_iter().flatten().map(RawValue::get).next()
    }

    fn identify(&self, run: &mut Trajectory<'a>) {
        run.run_id = first(&[self.run_id, self.trajectory_id, self.id]).or(run.run_id.take());
        let tasks = [
            self.task_id,
            self.instance_id,
            self.question_id,
            self.problem_id,
            self.sample_id,
            self.example_id,
            self.custom_id,
        ];
        let short = || self.task.and_then(label).filter(|task| task.len() <= LONGEST_TASK);
        run.task_id = first(&tasks).or_else(short);
        run.trial = first(&[self.trial, self.trial_id, self.epoch]);
        run.agent = first(&[self.agent, self.agent_name]);
        run.model = first(&[self.model, self.model_name]).or(run.model.take());
        let sessions = [
            ("session", self.session_id),
            ("thread", self.thread_id),
            ("conversation", self.conversation_id),
        ];
        for (key, value) in sessions {
            if let Some(value) = value.and_then(label) {
                run.tags.push((Cow::Borrowed(key), value));
            }
        }
        let Some(metadata) = self.metadata.and_then(read::<Entries<'a>>) else { return };
        let mut rest: Tags<'a> = Vec::new();
        for (key, value) in metadata.0 {
            let Some(value) = label(value) else { continue };
            let missing = match key.as_ref() {
                "run_id" => Some(&mut run.run_id),
                "task_id" | "instance_id" => Some(&mut run.task_id),
                "trial" | "trial_id" => Some(&mut run.trial),
                "agent" | "agent_name" => Some(&mut run.agent),
                "model" | "model_name" => Some(&mut run.model),
                _ => None,
            };
            match missing {
                Some(field) if field.is_none() => *field = Some(value),
                _ => rest.push((key, value)),
            }
        }
        rest.truncate(MOST_TAGS);
        run.tags.append(&mut rest);
    }

    /// Scores and success flags.
    fn judge(&self, run: &mut Trajectory<'a>) {
        let score = |raw: &'a RawValue| read::<Scalar<'a>>(raw).and_then(Scalar::score);
        if let Some(value) = self.score.or(self.reward).and_then(score) {
            run.scores.push(Score { name: Cow::Borrowed(""), value });
        }
        for (name, value) in self.scores.and_then(read::<Entries<'a>>).unwrap_or_default().0 {
            if let Some(value) = score(value) {
                run.scores.push(Score { name, value });
            }
        }
        let flags = [self.success, self.passed, self.resolved, self.is_correct, self.correct];
        run.success = flags.into_iter().flatten().find_map(|raw| read::<Scalar<'a>>(raw)?.flag());
    }
}

/// Whether a text stands under a key.
pub(super) fn says(raw: Option<&RawValue>, word: &str) -> bool {
    raw.and_then(text).is_some_and(|found| found == word)
}
