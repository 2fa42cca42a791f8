//! Run tables: one row a run (METR's columns among them), as delimited text with a header, as JSON
//! objects (lines or an array), or as Parquet; and the one-row summary that AgentLab writes of a run.
//!
//! Owns the mapping of known columns to the fields of a run; the row as a whole is its `final`, so
//! that expressions reach every column. Exactly one column decides how a run ended; a status beside
//! it still says that a run is open, cancelled or failed, but never that it was completed.
//! Refuses: steps, of which a table says nothing; units and separators that must be guessed.

mod cell;
mod columns;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::super::scan::{find_arrays, first_array};
use super::raw::quoted;
use super::{Format, Parsed, Probe, Reader, Refusal, Row, RowReader};
use crate::model::{
    Final, Issue, Place, RunWord, Score, ScoreValue, Severity, Stamp, Tokens, Trajectory,
};
use cell::recorded;
use columns::{Columns, Decider, LISTS, are_of_flat_runs, are_of_runs, are_of_summary};

/// The format of tables with a row per run.
pub const RUNS_TABLE: Format = Format {
    name: "runs-table",
    about: "a table of runs (CSV, JSON objects or Parquet with a column for the task and one for the outcome)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Rows(open),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    let Some(names) = probe.keys().first() else { return false };
    if probe.of_table {
        return are_of_runs(names);
    }
    (are_of_flat_runs(names) && probe.records.first().is_some_and(|row| is_flat(row, names)))
        || are_of_summary(names)
}

/// Whether no key of an object holds a list of objects, or the list of a run's parts: such a record
/// is more than a row.
fn is_flat(row: &[u8], names: &[String]) -> bool {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    first_array(row, LISTS).is_none()
        && find_arrays(row, &names).iter().all(|at| {
            let inside = row.get(at + 1..).unwrap_or_default();
            inside.trim_ascii_start().first() != Some(&b'{')
        })
}

fn open(names: &[String]) -> Result<Box<dyn RowReader>, String> {
    let columns = Columns::of(names);
    if columns.say_nothing() {
        let why = "there is no column of a run table, such as `task_id` or `success`";
        return Err(why.to_owned());
    }
    let named = |at: usize, name: &str| match name {
        "" => format!("column_{}", at + 1),
        name => name.to_owned(),
    };
    let names: Vec<String> = names.iter().enumerate().map(|(at, name)| named(at, name)).collect();
    let mut last = BTreeMap::new();
    let (mut kept, mut twice) = (Vec::new(), BTreeSet::new());
    for (at, name) in names.iter().enumerate() {
        if last.insert(name.as_str(), at).is_some() {
            twice.insert(name.as_str());
        }
    }
    for (at, name) in
        names.iter().enumerate().filter(|(at, name)| last.get(name.as_str()) == Some(at))
    {
        kept.push((at, quoted(name)));
    }
    let twice = twice.into_iter().map(str::to_owned).collect();
    Ok(Box::new(RunRows { columns, names, kept, twice }))
}

/// Reads the rows of one table.
struct RunRows {
    columns: Columns,
    names: Vec<String>,
    /// The columns of `final`, with their names as JSON.
    kept: Vec<(usize, String)>,
    /// The names that several columns have.
    twice: Vec<String>,
}

/// One row while it is read, and what is doubtful in it.
struct Cells<'r, 't> {
    row: Row<'r>,
    names: &'t [String],
    issues: Vec<Issue>,
}

impl<'r> Cells<'r, '_> {
    /// The text of a cell, where the column is there and the cell says something.
    fn text(&self, at: Option<usize>) -> Option<Cow<'r, str>> {
        self.row.fields.get(at?).and_then(recorded)
    }

    fn warn(&mut self, code: &'static str, message: String) {
        self.issues.push(Issue::warning(code, self.row.place, message));
    }

    /// The amount in a cell; one that is no number is told.
    fn amount(&mut self, at: Option<usize>) -> Option<f64> {
        let text = self.text(at)?;
        let number = cell::number(text.strip_prefix('$').unwrap_or(&text));
        if number.is_none() {
            let name = self.names.get(at?)?;
            let message = format!("what `{name}` says is no number, so it is not used");
            self.warn("unreadable_number", message);
        }
        number
    }

    fn stamp(&self, at: Option<usize>) -> Option<Stamp<'r>> {
        let text = self.text(at)?;
        Some(cell::number(&text).map_or(Stamp::Text(text), Stamp::Number))
    }

    /// Tokens by kind. What a recorded total has beyond its parts is not split.
    fn tokens(&mut self, columns: &Columns) -> Option<Tokens> {
        let mut kind = |at| self.amount(at).filter(|number| *number >= 0.0);
        let total = kind(columns.total);
        let (input, output) = (kind(columns.input), kind(columns.output));
        let (read, write) = (kind(columns.cache_read), kind(columns.cache_write));
        let inside = kind(columns.cached).filter(|cached| {
            // More cached than there was at all: then it was not part of it.
            read.is_none() && input.is_some_and(|input| *cached <= input)
        });
        [total, input, output, read, write].iter().any(Option::is_some).then(|| {
            let mut tokens = Tokens {
                input: input.unwrap_or(0.0) - inside.unwrap_or(0.0),
                cache_read: read.or(inside).unwrap_or(0.0),
                cache_write: write.unwrap_or(0.0),
                output: output.unwrap_or(0.0),
                unsplit: 0.0,
            };
            tokens.unsplit = (total.unwrap_or(0.0) - tokens.total()).max(0.0);
            tokens
        })
    }
}

/// What a row says of the end of its run.
#[derive(Default)]
struct End<'r> {
    status: Option<Cow<'r, str>>,
    reason: Option<Cow<'r, str>>,
    success: Option<bool>,
    score: Option<Score<'r>>,
}

impl RunRows {
    fn end<'r>(&self, cells: &mut Cells<'r, '_>) -> End<'r> {
        let mut end = End { status: cells.text(self.columns.status), ..End::default() };
        let reasons = self.columns.end_reasons.iter();
        end.reason = reasons.copied().find_map(|at| self.reason(cells, at));
        let Some(decider) = self.columns.decider else { return end };
        let at = decider.column();
        let name = self.names.get(at).cloned().unwrap_or_default();
        let Some(text) = cells.text(Some(at)) else {
            let message = format!("`{name}`, which decides how runs ended, says nothing");
            cells.warn("outcome_not_recorded", message);
            end.withhold_completed(decider);
            return end;
        };
        match decider {
            Decider::Flag(_) => {
                end.success = cell::flag(&text);
                if end.success.is_none() {
                    let message =
                        format!("`{name}` is neither true nor false, so it decides nothing");
                    cells.warn("unreadable_success", message);
                    end.withhold_completed(decider);
                }
            }
            Decider::Score(_) => {
                let value = match cell::flag(&text) {
                    Some(passed) => ScoreValue::Number(f64::from(u8::from(passed))),
                    None => ScoreValue::from_text(text),
                };
                if matches!(value, ScoreValue::Unreadable(_)) {
                    end.withhold_completed(decider);
                }
                end.score = Some(Score { name: Cow::Owned(name), value });
            }
            Decider::Word(_) => {
                end.success = cell::flag(&text);
                if end.success.is_none() {
                    end.status = Some(text);
                }
            }
        }
        end
    }

    /// Why a run stopped: a text, or the name of a column that is true.
    fn reason<'r>(&self, cells: &Cells<'r, '_>, at: usize) -> Option<Cow<'r, str>> {
        let text = cells.text(Some(at))?;
        match cell::flag(&text) {
            Some(true) => self.names.get(at).cloned().map(Cow::Owned),
            Some(false) => None,
            None => Some(text),
        }
    }

    /// The row as an object by column, or as it is written, and `score`, `status`, `success` and `end_reason` where no
    /// column has that name.
    fn deliver(&self, row: &Row<'_>, end: &End<'_>) -> String {
        let mut out = String::with_capacity(256);
        let mut push = |key: &str, value: &str| {
            out.push(if out.is_empty() { '{' } else { ',' });
            out.push_str(key);
            out.push(':');
            out.push_str(value);
        };
        let written = row.written.and_then(|row| row.trim().strip_prefix('{')?.strip_suffix('}'));
        let kept = if written.is_some() { &[][..] } else { &self.kept[..] };
        for (at, key) in kept {
            push(
                key,
                row.fields.get(*at).map_or(Cow::Borrowed("null"), |cell| cell::json(cell)).as_ref(),
            );
        }
        let score = end.score.as_ref().and_then(|score| match &score.value {
            ScoreValue::Number(number) => serde_json::to_string(number).ok(),
            ScoreValue::Unreadable(text) => Some(quoted(text)),
        });
        for (name, value) in [
            ("score", score),
            ("status", end.status.as_deref().map(quoted)),
            ("success", end.success.map(|success| success.to_string())),
            ("end_reason", end.reason.as_deref().map(quoted)),
        ] {
            if let Some(value) = value.filter(|_| !self.names.iter().any(|have| have == name)) {
                push(&quoted(name), &value);
            }
        }
        match written.map(str::trim) {
            None | Some("") => {
                if out.is_empty() {
                    out.push('{');
                }
            }
            Some(row) if out.is_empty() => out = format!("{{{row}"),
            Some(row) => out = format!("{{{row},{}", &out[1..]),
        }
        out.push('}');
        out
    }
}

impl End<'_> {
    /// A status beside a column for the outcome that says nothing tells how the run stopped; that
    /// it came to its end does not mean that it succeeded.
    fn withhold_completed(&mut self, decider: Decider) {
        let completed = |word: &str| RunWord::read(word) == RunWord::Completed;
        if !matches!(decider, Decider::Word(_)) && self.status.as_deref().is_some_and(completed) {
            let status = self.status.take();
            self.reason = self.reason.take().or(status);
        }
    }
}

impl RowReader for RunRows {
    fn notices(&self) -> Vec<(&'static str, Severity, String)> {
        let name = |at: usize| self.names.get(at).map_or("", String::as_str);
        let without_steps = "a table says nothing of the steps of its runs: no figure of steps, attempts, retries, errors and interventions is known";
        let mut notices = vec![("runs_without_steps", Severity::Warning, without_steps.to_owned())];
        notices.push(match self.columns.decider {
            Some(decider) => {
                let message = format!("`{}` decides how runs ended", name(decider.column()));
                ("outcome_column", Severity::Note, message)
            }
            None => {
                let message = "no column says how runs ended, such as `success` or `score`";
                ("no_outcome_column", Severity::Warning, message.to_owned())
            }
        });
        if let Some(first) = self.twice.first() {
            let others = match self.twice.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} other names)"),
            };
            let message =
                format!("`{first}` is the name of several columns{others}: the last counts");
            notices.push(("duplicate_column", Severity::Warning, message));
        }
        if let Some(at) = self.columns.without_unit {
            let name = name(at);
            let message = format!(
                "`{name}` has no unit, so it is not used: name it `{name}_s` or `{name}_ms`"
            );
            notices.push(("column_without_unit", Severity::Warning, message));
        }
        notices
    }

    fn read<'r>(&self, row: Row<'r>) -> Result<Parsed<'r>, Refusal> {
        let place: Place = row.place;
        let columns = &self.columns;
        let mut cells = Cells { row, names: &self.names, issues: Vec::new() };
        let end = self.end(&mut cells);
        let duration = columns.duration;
        let duration_ms = cells.amount(duration.map(|(at, _)| at));
        let tags = columns.labels.iter().filter_map(|at| {
            let value = cells.text(Some(*at))?;
            Some((Cow::Owned(self.names.get(*at)?.clone()), value))
        });
        let tags = tags.collect();
        let final_output = Final::Json(Cow::Owned(self.deliver(&cells.row, &end)));
        let run = Trajectory {
            place,
            run_id: cells.text(columns.run),
            task_id: cells.text(columns.task),
            trial: cells.text(columns.trial),
            agent: cells.text(columns.agent),
            model: cells.text(columns.model),
            tags,
            status: end.status,
            end_reason: end.reason,
            scores: end.score.into_iter().collect(),
            success: end.success,
            started_at: cells.stamp(columns.started),
            ended_at: cells.stamp(columns.ended),
            duration_ms: duration_ms.zip(duration).map(|(number, (_, unit))| number * unit),
            tokens: cells.tokens(columns),
            cost_usd: cells.amount(columns.cost),
            final_output,
            steps_unknown: true,
            ..Trajectory::default()
        };
        Ok(Parsed { runs: vec![run], issues: cells.issues })
    }
}
