//! The only place that names `polars`: the tables `runs` and `steps`, their Parquet files, and SQL.
//!
//! Owns the columns of both tables, which statements are run, and what is told where one is not.
//! Refuses to compute figures (the rows carry what SQL sums), to read or write files from SQL, and
//! to be on the path of a command that was not asked for a table: its thread pool alone costs more
//! than a small analysis.

mod grid;
#[cfg(feature = "tables")]
mod guard;
#[cfg(feature = "tables")]
mod order;
#[cfg(feature = "tables")]
mod parquet;
#[cfg(feature = "tables")]
mod plan;
#[cfg(feature = "tables")]
mod query;
#[cfg(feature = "tables")]
mod quiet;
#[cfg(feature = "tables")]
mod runs;
#[cfg(feature = "tables")]
mod statement;
#[cfg(feature = "tables")]
mod steps;
#[cfg(feature = "tables")]
mod whole;

pub use grid::{Cell, Grid};
#[cfg(feature = "tables")]
pub use parquet::json_lines;
#[cfg(feature = "tables")]
pub use query::{Frame, QueryError, TableError, check, query};
#[cfg(feature = "tables")]
pub use runs::runs;
#[cfg(feature = "tables")]
pub use steps::{Steps, steps};
