//! SQL over the tables, and frames as Parquet and as plain values.

use std::io::Write;
use std::time::Duration;

use polars::prelude::{AnyValue, Column, DataFrame, DataType, IntoLazy, LazyFrame, PolarsError};
use polars::sql::SQLContext;
use polars_io::prelude::ParquetWriter;
use regex::Regex;

use super::grid::{Cell, Grid};
use super::guard::{self, Ended};
use super::quiet::quietly;
use super::{order, plan, statement, whole};
use crate::model::{mask, nearest};

/// Bytes of stack for planning a statement: its longest chain of operators nests that deep.
const STACK: usize = 256 << 20;

/// The most values of a result that is shown or written.
const MOST_VALUES: usize = 50_000_000;

/// A table that could not be made or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the table: {0}")]
pub struct TableError(#[from] PolarsError);

/// A statement that is not run, or fails: a lowercase fragment on one line, with its remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct QueryError(String);

/// A table.
#[derive(Debug, Clone)]
pub struct Frame(pub(super) DataFrame);

impl Frame {
    /// Number of rows.
    #[must_use]
    pub fn height(&self) -> usize {
        self.0.height()
    }

    /// Writes the table as a Parquet file.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write_parquet(mut self, to: impl Write) -> Result<(), TableError> {
        ParquetWriter::new(to).finish(&mut self.0)?;
        Ok(())
    }

    /// The table as the bytes of a Parquet file.
    ///
    /// # Errors
    /// Those of polars.
    pub fn parquet(self) -> Result<Vec<u8>, TableError> {
        let mut bytes = Vec::new();
        self.write_parquet(&mut bytes)?;
        Ok(bytes)
    }

    /// The table with secrets in its texts masked.
    ///
    /// # Errors
    /// Those of polars; none is known.
    pub fn masked(self) -> Result<Self, TableError> {
        let height = self.0.height();
        let mut columns = Vec::with_capacity(self.0.width());
        for column in self.0.columns() {
            columns.push(match column.dtype() {
                DataType::String => {
                    let texts = column.str()?.iter().map(|text| text.map(mask));
                    Column::new(column.name().clone(), texts.collect::<Vec<Option<String>>>())
                }
                _ => column.clone(),
            });
        }
        Ok(Self(DataFrame::new(height, columns)?))
    }

    /// The table as plain values.
    ///
    /// # Errors
    /// Those of polars; none is known.
    pub fn grid(&self) -> Result<Grid, TableError> {
        let columns = self.0.columns();
        let mut rows = Vec::with_capacity(self.0.height());
        for at in 0..self.0.height() {
            let mut row = Vec::with_capacity(columns.len());
            for column in columns {
                row.push(cell(column.get(at)?));
            }
            rows.push(row);
        }
        Ok(Grid {
            names: columns.iter().map(|column| column.name().to_string()).collect(),
            numeric: columns.iter().map(|column| column.dtype().is_primitive_numeric()).collect(),
            rows,
        })
    }

    fn names(&self) -> Vec<String> {
        self.0.columns().iter().map(|column| column.name().to_string()).collect()
    }
}

fn cell(value: AnyValue<'_>) -> Cell {
    match value {
        AnyValue::Null => Cell::Null,
        AnyValue::Boolean(flag) => Cell::Flag(flag),
        AnyValue::String(text) => Cell::Text(text.to_owned()),
        AnyValue::StringOwned(text) => Cell::Text(text.to_string()),
        AnyValue::Float64(number) => Cell::Number(number),
        AnyValue::Float32(number) => Cell::Number(f64::from(number)),
        other => match other.extract::<i64>() {
            Some(number) if other.is_primitive_numeric() => Cell::Whole(number),
            _ => Cell::Text(other.to_string()),
        },
    }
}

/// Whether a statement may be run, before anything is read.
///
/// # Errors
/// Says why not.
pub fn check(sql: &str) -> Result<(), QueryError> {
    statement::refusal(sql).map_or(Ok(()), |why| Err(QueryError(why)))
}

/// Runs one SELECT over the tables `runs` and `steps`, for as long as `most`. Rows come in the same
/// order on any number of threads: that of the tables, unless the statement sorts them. Where a bound
/// of time or memory is reached, what is at work goes on: the program is to end.
///
/// # Errors
/// Says what is not run, what is wrong in the statement, with the nearest name, or which bound was
/// reached.
pub fn query(sql: &str, runs: Frame, steps: Frame, most: Duration) -> Result<Frame, QueryError> {
    check(sql)?;
    let columns = [("runs", runs.names()), ("steps", steps.names())];
    let statement = sql.to_owned();
    let run = move || -> Result<Result<DataFrame, String>, PolarsError> {
        let mut context = SQLContext::new();
        context.register("runs", runs.0.lazy());
        context.register("steps", steps.0.lazy());
        let lazy = context.execute(&statement)?;
        if let Some(why) = guard::pairs(&lazy.logical_plan, false) {
            return Ok(Err(why));
        }
        let deepest = std::cell::Cell::new(0);
        let plan = plan::map(&lazy.logical_plan, &|node| {
            order::keep(node);
            whole::check(node, &deepest);
        });
        if let Some(why) = whole::refusal(deepest.get()) {
            return Ok(Err(why));
        }
        LazyFrame::from(plan).collect().map(Ok)
    };
    // What the library has to say of its own plans is for its developers.
    polars::error::set_warning_function(|_, _| {});
    let (tell, told_of) = std::sync::mpsc::channel();
    // A fault of the library in somebody's SQL is told as a fault of the SQL, in one line.
    let result = quietly(|| {
        let work = move || drop(tell.send(run()));
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
        thread.map(|_| guard::wait(&told_of, most))
    });
    let fail = |why: String| Err(QueryError(why));
    match result {
        Ok(Ok(Ok(Ok(frame)))) => bounded(frame),
        Ok(Ok(Ok(Err(why)))) | Ok(Err(Ended::Bound(why))) => fail(why),
        Ok(Ok(Err(error))) => fail(told(&error.to_string(), &columns)),
        Ok(Err(Ended::Gone)) => fail("this SQL cannot be run; write it another way".to_owned()),
        Err(error) => fail(format!("cannot start a thread for the SQL: {error}")),
    }
}

/// Refuses a result that is too large to be shown.
fn bounded(frame: DataFrame) -> Result<Frame, QueryError> {
    let (rows, columns) = (frame.height(), frame.width().max(1));
    let most = MOST_VALUES / columns;
    if rows > most {
        return Err(QueryError(format!(
            "the result has {rows} rows of {columns} columns; at most {most} such rows are written: add a LIMIT or a WHERE, or choose fewer columns; `agenteval convert PATH... -o NAME.parquet` writes the tables whole"
        )));
    }
    Ok(Frame(frame))
}

/// The error on one line, with the nearest names where it is about one.
fn told(error: &str, columns: &[(&str, Vec<String>); 2]) -> String {
    if error.contains(whole::TOO_LARGE) {
        return whole::TOO_LARGE.to_owned();
    }
    let line = error.lines().next().unwrap_or_default().trim();
    let line: String = line.chars().take(300).collect();
    let between = |head: &str, close: char| {
        let rest = &line[line.find(head)? + head.len()..];
        Some(rest[..rest.find(close)?].to_owned())
    };
    let near = |name: &str, of: &[&str]| {
        let lower = name.to_lowercase();
        let near = nearest(&lower, of.iter().copied());
        near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
    };
    if let Some(table) = between("relation '", '\'') {
        let hint = near(&table, &["runs", "steps"]);
        return format!("no table is named `{table}`; the tables are runs and steps{hint}");
    }
    let heads = [("unable to find column \"", '"'), ("no column named '", '\'')];
    if heads.iter().any(|(head, _)| line.contains(head)) {
        let name = heads.iter().find_map(|(head, close)| between(head, *close));
        let all: Vec<&str> =
            columns.iter().flat_map(|(_, names)| names).map(String::as_str).collect();
        if let Some(name) = name.as_ref().filter(|name| all.contains(&name.as_str())) {
            return format!(
                "`{name}` cannot be read in this part of the SQL: what stands behind a GROUP BY or a subquery sees only what its SELECT names; give it a name with AS there, and use that"
            );
        }
        if let Some(name) = name {
            let hint = near(&name, &all);
            let lists =
                columns.iter().map(|(table, names)| format!("{table} has {}", names.join(", ")));
            return match hint.is_empty() {
                true => {
                    format!("no column is named `{name}`; {}", lists.collect::<Vec<_>>().join("; "))
                }
                false => format!("no column is named `{name}`{hint}"),
            };
        }
    }
    if let Some(name) = between("duplicate output name '", '\'') {
        return format!("two columns of the result are named `{name}`; name them apart with AS");
    }
    // Some errors end in what the parser made of the statement, for whoever mends the parser.
    let dump = Regex::new(r"\b([A-Z][a-z]+[A-Za-z]*)\s?[({]").ok();
    match dump.and_then(|dump| dump.captures(&line).and_then(|c| c.get(0).zip(c.get(1)))) {
        Some((found, part)) => {
            let before = line.get(..found.start()).unwrap_or_default();
            let before = before.trim_end_matches([' ', '(', ':', '[', '"', '`', '\'']);
            format!("SQL: {before} (`{}`); write this part another way", part.as_str())
        }
        None => format!("SQL: {}", line.trim_end_matches("; found:").trim_end_matches(':')),
    }
}
