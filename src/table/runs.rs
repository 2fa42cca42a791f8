//! The table `runs`: one row a run.

use polars::prelude::{Column, DataFrame};

use super::query::{Frame, TableError};
use crate::evaluate::RunRow;
use crate::model::{RetrySource, Tokens};

/// One row a run, in the order in which they are read. Counts are those of [`RunRow`]; what a run does not record is null.
///
/// # Errors
/// Those of polars; none is known for these columns.
pub fn runs(rows: &[RunRow]) -> Result<Frame, TableError> {
    let text = |name: &str, value: fn(&RunRow) -> Option<&str>| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<Option<&str>>>())
    };
    // A source that knows no steps has no counts of them, which is not the same as 0.
    let count = |name: &str, value: fn(&RunRow) -> u32| {
        let counts = rows.iter().map(|row| (!row.steps_unknown).then(|| i64::from(value(row))));
        Column::new(name.into(), counts.collect::<Vec<Option<i64>>>())
    };
    let maybe = |name: &str, value: fn(&RunRow) -> Option<u32>| {
        let counts = rows.iter().map(|row| value(row).filter(|_| !row.steps_unknown));
        Column::new(name.into(), counts.map(|n| n.map(i64::from)).collect::<Vec<Option<i64>>>())
    };
    let amount = |name: &str, value: fn(&RunRow) -> Option<f64>| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<Option<f64>>>())
    };
    let flag = |name: &str, value: fn(&RunRow) -> Option<bool>| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<Option<bool>>>())
    };
    let tags: Vec<Option<String>> = rows.iter().map(tags).collect();
    let numbers: Vec<i64> = (1..).take(rows.len()).collect();
    let mut columns = vec![
        Column::new("run".into(), numbers),
        text("run_id", |row| row.run_id.as_deref()),
        text("task_id", |row| row.task_id.as_deref()),
        text("trial", |row| row.trial.as_deref()),
        text("agent", |row| row.agent.as_deref()),
        text("model", |row| row.model.as_deref()),
        Column::new("tags".into(), tags),
        text("status", |row| row.status.as_deref()),
        text("outcome", |row| Some(row.outcome.name())),
        flag("completed", |row| Some(row.completed())),
        flag("ended", |row| Some(row.outcome.ended())),
        flag("infra_excused", |row| Some(row.infra_excused)),
        text("limit_passed", |row| row.limit.map(|limit| limit.name())),
        count("steps", |row| row.steps),
        count("attempts", |row| row.attempts),
        count("attempts_judged", |row| row.judged),
        count("attempts_failed", |row| row.failed),
        count("attempts_failed_infra", |row| row.infra_failed),
        count("attempts_implied", |row| row.implied),
        flag("first_step_passed", |row| row.first_step),
        maybe("mid_run_judged", |row| row.mid.map(|mid| mid.judged)),
        maybe("mid_run_failed", |row| row.mid.map(|mid| mid.failed)),
        maybe("mid_run_failed_steps", |row| row.mid.map(|mid| mid.failed_steps)),
        maybe("mid_run_recovered_steps", |row| row.mid.map(|mid| mid.recovered_steps)),
        count("retries", |row| row.retries),
        count("retries_present", |row| row.retries_present),
        count("retries_passed", |row| row.retries_passed),
        count("retries_identical", |row| row.retries_identical),
        count("retries_revised", |row| row.retries_revised),
        text("retry_source", |row| (!row.steps_unknown).then(|| source(row.retry_source))),
        count("repeated_actions", |row| row.repeated),
        flag("records_input", |row| Some(row.has_input)),
        flag("intervention", |row| (!row.steps_unknown).then_some(row.intervention)),
        maybe("first_failure_step", |row| row.first_failure),
        maybe("turned_at_step", |row| row.turned_at),
        count("never_reached", |row| row.never_reached),
        amount("duration_seconds", |row| row.duration_seconds),
    ];
    columns.extend(token_columns(rows.iter().map(|row| row.tokens)));
    columns.push(amount("cost_usd", |row| row.cost_usd));
    Ok(Frame(DataFrame::new(rows.len(), columns)?))
}

/// The columns of tokens; null where a row records none.
pub(super) fn token_columns(rows: impl Iterator<Item = Option<Tokens>>) -> [Column; 5] {
    let rows: Vec<Option<Tokens>> = rows.collect();
    let amount = |name: &str, value: fn(&Tokens) -> f64| {
        let amounts = rows.iter().map(|tokens| tokens.as_ref().map(value));
        Column::new(name.into(), amounts.collect::<Vec<Option<f64>>>())
    };
    [
        amount("input_tokens", |tokens| tokens.input),
        amount("cache_read_tokens", |tokens| tokens.cache_read),
        amount("cache_write_tokens", |tokens| tokens.cache_write),
        amount("output_tokens", |tokens| tokens.output),
        amount("total_tokens", Tokens::total),
    ]
}

/// The word for how retries were told.
pub(super) const fn source(source: RetrySource) -> &'static str {
    match source {
        RetrySource::Recorded => "recorded",
        RetrySource::Inferred => "inferred",
    }
}

/// The labels as a JSON object; the last of equal ones counts.
fn tags(row: &RunRow) -> Option<String> {
    if row.tags.is_empty() {
        return None;
    }
    let tags: serde_json::Map<String, serde_json::Value> =
        row.tags.iter().map(|(key, value)| (key.to_string(), (&**value).into())).collect();
    Some(serde_json::Value::Object(tags).to_string())
}
