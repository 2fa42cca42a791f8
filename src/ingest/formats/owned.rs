//! Runs without a borrow, for assemblers that read a run as soon as its record comes.
//!
//! Owns the copying alone; well-known words cost no allocation. Refuses to change anything.

use std::borrow::Cow;

use super::kept::{self, owned};
use crate::model::{Attempt, Final, Score, ScoreValue, Stamp, Trajectory};

fn text(text: Option<Cow<'_, str>>) -> Option<Cow<'static, str>> {
    text.map(owned)
}

/// The same run without a borrow.
pub(super) fn run(run: Trajectory<'_>) -> Trajectory<'static> {
    Trajectory {
        place: run.place,
        run_id: text(run.run_id),
        task_id: text(run.task_id),
        trial: text(run.trial),
        agent: text(run.agent),
        model: text(run.model),
        tags: run.tags.into_iter().map(|(key, value)| (owned(key), owned(value))).collect(),
        status: text(run.status),
        end_reason: text(run.end_reason),
        end_rule: run.end_rule,
        format_outcome: run.format_outcome,
        scores: run.scores.into_iter().map(score).collect(),
        success: run.success,
        started_at: run.started_at.map(Stamp::into_owned),
        ended_at: run.ended_at.map(Stamp::into_owned),
        duration_ms: run.duration_ms,
        tokens: run.tokens,
        cost_usd: run.cost_usd,
        final_output: match run.final_output {
            Final::Missing => Final::Missing,
            Final::Json(json) => Final::Json(owned(json)),
        },
        retry_source: run.retry_source,
        order_unknown: run.order_unknown,
        steps_unknown: run.steps_unknown,
        attempts: run.attempts.into_iter().map(attempt).collect(),
        never_reached: run.never_reached.into_iter().map(owned).collect(),
    }
}

fn score(score: Score<'_>) -> Score<'static> {
    let value = match score.value {
        ScoreValue::Number(number) => ScoreValue::Number(number),
        ScoreValue::Unreadable(text) => ScoreValue::Unreadable(owned(text)),
    };
    Score { name: owned(score.name), value }
}

fn attempt(attempt: Attempt<'_>) -> Attempt<'static> {
    Attempt {
        step_id: text(attempt.step_id),
        node_id: text(attempt.node_id),
        index: attempt.index,
        attempt: attempt.attempt,
        attempts_total: attempt.attempts_total,
        nested_in: attempt.nested_in,
        kind: owned(attempt.kind),
        name: text(attempt.name),
        status: text(attempt.status),
        request_id: text(attempt.request_id),
        input: attempt.input,
        error: attempt.error.map(kept::error),
        status_decides: attempt.status_decides,
        started_at: attempt.started_at.map(Stamp::into_owned),
        ended_at: attempt.ended_at.map(Stamp::into_owned),
        duration_ms: attempt.duration_ms,
        tokens: attempt.tokens,
        cost_usd: attempt.cost_usd,
        turn: attempt.turn,
        raw: text(attempt.raw),
    }
}
