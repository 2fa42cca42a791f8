//! The only place that names `polars`: rows as a table, to Parquet and from it.
//!
//! Owns the columns of the table `runs`; reading a Parquet file stands in `parquet`. Refuses to compute figures, and is never on the path of a
//! command that was not asked for a table: its thread pool alone costs more than a small analysis.

mod parquet;

pub use parquet::json_lines;

use polars::prelude::{Column, DataFrame, PolarsError};
use polars_io::prelude::ParquetWriter;

use crate::evaluate::RunRow;

/// A table that could not be made or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the table: {0}")]
pub struct TableError(#[from] PolarsError);

/// The table `runs`: one row a run, in input order. Counts are those of [`RunRow`]; what a run does
/// not record is null.
///
/// # Errors
/// Those of polars; none is known for these columns.
pub fn runs(rows: &[RunRow]) -> Result<DataFrame, TableError> {
    let text = |name: &str, value: fn(&RunRow) -> Option<&str>| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<Option<&str>>>())
    };
    let count = |name: &str, value: fn(&RunRow) -> u32| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<u32>>())
    };
    let maybe = |name: &str, value: fn(&RunRow) -> Option<u32>| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<Option<u32>>>())
    };
    let amount = |name: &str, value: fn(&RunRow) -> Option<f64>| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<Option<f64>>>())
    };
    let flags = |name: &str, value: fn(&RunRow) -> Option<bool>| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<Option<bool>>>())
    };
    let columns = vec![
        text("run_id", |row| row.run_id.as_deref()),
        text("task_id", |row| row.task_id.as_deref()),
        text("trial", |row| row.trial.as_deref()),
        text("agent", |row| row.agent.as_deref()),
        text("model", |row| row.model.as_deref()),
        text("status", |row| row.status.as_deref()),
        text("outcome", |row| Some(row.outcome.name())),
        text("limit", |row| row.limit.map(|limit| limit.name())),
        count("steps", |row| row.steps),
        count("attempts", |row| row.attempts),
        count("attempts_judged", |row| row.judged),
        count("attempts_failed", |row| row.failed),
        flags("first_step_passed", |row| row.first_step),
        maybe("mid_run_judged", |row| row.mid.map(|mid| mid.judged)),
        maybe("mid_run_failed", |row| row.mid.map(|mid| mid.failed)),
        maybe("mid_run_failed_steps", |row| row.mid.map(|mid| mid.failed_steps)),
        maybe("mid_run_recovered_steps", |row| row.mid.map(|mid| mid.recovered_steps)),
        count("retries", |row| row.retries),
        count("retries_passed", |row| row.retries_passed),
        maybe("first_failure_step", |row| row.first_failure),
        amount("duration_seconds", |row| row.duration_seconds),
        amount("total_tokens", |row| row.tokens.map(|tokens| tokens.total())),
        amount("cost_usd", |row| row.cost_usd),
    ];
    Ok(DataFrame::new(rows.len(), columns)?)
}

/// The table `runs` as a Parquet file.
///
/// # Errors
/// Those of polars.
pub fn runs_parquet(rows: &[RunRow]) -> Result<Vec<u8>, TableError> {
    let mut frame = runs(rows)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes).finish(&mut frame)?;
    Ok(bytes)
}
