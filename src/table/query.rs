//! SQL over the tables, and frames as Parquet and as plain values.

use std::io::Write;

use polars::prelude::{AnyValue, Column, DataFrame, DataType, IntoLazy, LazyFrame, PolarsError};
use polars::sql::SQLContext;
use polars_io::prelude::ParquetWriter;

use super::grid::{Cell, Grid};
use super::quiet::quietly;
use super::{order, statement};
use crate::model::{mask, nearest};

/// Bytes of stack for planning a statement: its longest chain of operators nests that deep.
const STACK: usize = 256 << 20;

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

/// Runs one SELECT over the tables `runs` and `steps`. Rows come in the same order on any number of
/// threads: that of the tables, unless the statement sorts them.
///
/// # Errors
/// Says what is not run, or what is wrong in the statement, with the nearest name.
pub fn query(sql: &str, runs: Frame, steps: Frame) -> Result<Frame, QueryError> {
    check(sql)?;
    let columns = [("runs", runs.names()), ("steps", steps.names())];
    let run = move || -> Result<DataFrame, PolarsError> {
        let mut context = SQLContext::new();
        context.register("runs", runs.0.lazy());
        context.register("steps", steps.0.lazy());
        let plan = context.execute(sql)?;
        LazyFrame::from(order::kept(&plan.logical_plan)).collect()
    };
    // A fault of the library in somebody's SQL is told as a fault of the SQL, in one line.
    let result = quietly(|| {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
            thread.map(std::thread::ScopedJoinHandle::join)
        })
    });
    match result {
        Ok(Ok(Ok(frame))) => Ok(Frame(frame)),
        Ok(Ok(Err(error))) => Err(QueryError(told(&error.to_string(), &columns))),
        Ok(Err(_)) => Err(QueryError("this SQL cannot be run; write it another way".to_owned())),
        Err(error) => Err(QueryError(format!("cannot start a thread for the SQL: {error}"))),
    }
}

/// The error on one line, with the nearest names where it is about one.
fn told(error: &str, columns: &[(&str, Vec<String>); 2]) -> String {
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
    format!("SQL: {line}")
}
