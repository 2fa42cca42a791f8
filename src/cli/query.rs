//! `agenteval query`: SQL over the tables `runs` and `steps`.

use super::args::{Global, Query};
#[cfg(feature = "tables")]
use super::output;
use super::{Failure, Outcome};
use crate::evaluate::RunRow;

/// What is told where the tables are not built in.
#[cfg(not(feature = "tables"))]
const WITHOUT: &str = "this agenteval was built without tables, so it runs no SQL: build it without `--no-default-features`, or write tables with `analyze --output csv`";

/// Reads and judges, makes the tables, and runs the statement.
#[cfg(feature = "tables")]
pub(super) fn run(args: &Query, global: &Global) -> Outcome {
    use super::output::Forms;
    use super::runs::{self, Loaded};
    use crate::exit::Status;
    use crate::render::{grid_csv, grid_doc, grid_json, grid_lines};
    use crate::table;

    output::check(&args.output, output::More::Lines)?;
    table::check(&args.sql).map_err(|why| Failure::usage(why.to_string()))?;
    let loaded = Loaded::config(&args.input.reading, global)?;
    let (set, attempts) = runs::read(
        &args.input.paths,
        &args.input.reading,
        global,
        &loaded,
        &args.output,
        &|judge, state, run| judge.attempts(state, run),
    )?;
    set.warn(global);
    set.require_runs()?;
    let fail = |error: table::TableError| Failure::usage(error.to_string());
    let runs = table::runs(&set.rows).map_err(fail)?;
    let rows = set.rows.iter().zip(attempts.iter().map(Vec::as_slice));
    let steps = table::steps(rows).map_err(fail)?;
    let most = std::time::Duration::from_secs(args.timeout);
    let result = table::query(&args.sql, runs, steps, most);
    let frame = result.map_err(|why| Failure::usage(why.to_string()))?;
    let grid = frame.grid().map_err(fail)?;
    let forms = Forms {
        doc: &|| grid_doc(&grid),
        json: &|| grid_json(&grid),
        ndjson: Some(&|| grid_lines(&grid)),
        csv: Some(&|| grid_csv(&grid)),
        junit: None,
        sarif: None,
        parquet: Some(&|| {
            let masked = frame.clone().masked().map_err(fail)?;
            masked.parquet().map_err(fail)
        }),
    };
    output::emit(&forms, &args.output, global)?;
    Ok(Status::Done)
}

/// Says that there are no tables.
#[cfg(not(feature = "tables"))]
pub(super) fn run(_: &Query, _: &Global) -> Outcome {
    Err(Failure::usage(WITHOUT))
}

/// The table `runs` as a Parquet file, its secrets masked as in every other output.
#[cfg(feature = "tables")]
pub(super) fn runs_parquet(rows: &[RunRow]) -> Result<Vec<u8>, Failure> {
    use crate::table::Frame;

    let frame = crate::table::runs(rows).and_then(Frame::masked);
    frame.and_then(Frame::parquet).map_err(|error| Failure::usage(error.to_string()))
}

/// The table `runs` as a Parquet file.
#[cfg(not(feature = "tables"))]
pub(super) fn runs_parquet(_: &[RunRow]) -> Result<Vec<u8>, Failure> {
    Err(Failure::usage(WITHOUT))
}
