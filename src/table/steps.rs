//! The table `steps`: one row an attempt.

use polars::prelude::{Column, DataFrame};

use super::query::{Frame, TableError};
use super::runs::{source, token_columns};
use crate::evaluate::{AttemptRow, RunRow, Verdict};
use crate::model::{ErrorOrigin, Time};

/// The attempts of one run with its row.
pub type Steps<'s> = (&'s RunRow, &'s [AttemptRow]);

/// One row an attempt, in the order of the runs and of their steps. `run` is the number of the run in
/// the table `runs`.
///
/// # Errors
/// Those of polars; none is known for these columns.
pub fn steps<'s>(runs: impl Iterator<Item = Steps<'s>>) -> Result<Frame, TableError> {
    let rows: Vec<(i64, &RunRow, &AttemptRow)> = (1..)
        .zip(runs)
        .flat_map(|(number, (run, attempts))| attempts.iter().map(move |row| (number, run, row)))
        .collect();
    let run_text = |name: &str, value: fn(&RunRow) -> Option<&str>| {
        let texts = rows.iter().map(|(_, run, _)| value(run));
        Column::new(name.into(), texts.collect::<Vec<Option<&str>>>())
    };
    let text = |name: &str, value: fn(&AttemptRow) -> Option<&str>| {
        let texts = rows.iter().map(|(_, _, row)| value(row));
        Column::new(name.into(), texts.collect::<Vec<Option<&str>>>())
    };
    let count = |name: &str, value: fn(&AttemptRow) -> u32| {
        let counts = rows.iter().map(|(_, _, row)| i64::from(value(row)));
        Column::new(name.into(), counts.collect::<Vec<i64>>())
    };
    let amount = |name: &str, value: fn(&AttemptRow) -> Option<f64>| {
        let amounts = rows.iter().map(|(_, _, row)| value(row));
        Column::new(name.into(), amounts.collect::<Vec<Option<f64>>>())
    };
    let flag = |name: &str, value: fn(&AttemptRow) -> Option<bool>| {
        let flags = rows.iter().map(|(_, _, row)| value(row));
        Column::new(name.into(), flags.collect::<Vec<Option<bool>>>())
    };
    let time = |name: &str, value: fn(&AttemptRow) -> Option<Time>| {
        let times = rows.iter().map(|(_, _, row)| value(row).and_then(Time::iso));
        Column::new(name.into(), times.collect::<Vec<Option<String>>>())
    };
    let numbers: Vec<i64> = rows.iter().map(|(number, _, _)| *number).collect();
    let mut columns = vec![
        Column::new("run".into(), numbers),
        run_text("run_id", |run| run.run_id.as_deref()),
        run_text("task_id", |run| run.task_id.as_deref()),
        run_text("trial", |run| run.trial.as_deref()),
        run_text("agent", |run| run.agent.as_deref()),
        run_text("model", |run| run.model.as_deref()),
        count("step", |row| row.step),
        text("step_id", |row| row.step_id.as_deref()),
        count("attempt", |row| row.attempt),
        count("attempts", |row| row.attempts),
        flag("implied", |row| Some(row.implied)),
        text("type", |row| Some(&row.kind)),
        text("name", |row| row.name.as_deref()),
        text("status", |row| row.status.as_deref()),
        text("verdict", |row| Some(verdict(row.verdict))),
        flag("judged", |row| Some(row.judged)),
        flag("first_of_run", |row| row.is_first),
        flag("mid_run", |row| row.mid_run),
        count("retries", |row| row.retries),
        text("retry_source", |row| row.retry_source.map(source)),
        flag("same_input", |row| row.same_input),
        flag("recovered", |row| row.recovered),
        flag("repeated", |row| Some(row.repeated)),
        text("error_type", |row| row.error_type.as_deref()),
        text("error_message", |row| row.error_message.as_deref()),
        text("error_origin", |row| row.error_origin.map(origin)),
        flag("infra", |row| Some(row.infra)),
        text("request_id", |row| row.request_id.as_deref()),
        time("started_at", |row| row.started_at),
        time("ended_at", |row| row.ended_at),
        amount("duration_seconds", |row| row.duration_seconds),
    ];
    columns.extend(token_columns(rows.iter().map(|(_, _, row)| row.tokens)));
    columns.push(amount("cost_usd", |row| row.cost_usd));
    Ok(Frame(DataFrame::new(rows.len(), columns)?))
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Neither => "neither",
    }
}

const fn origin(origin: ErrorOrigin) -> &'static str {
    match origin {
        ErrorOrigin::Recorded => "recorded",
        ErrorOrigin::Flag => "flag",
        ErrorOrigin::Text => "text",
        ErrorOrigin::ExitCode => "exit_code",
    }
}
