//! SQL gives the figures that `analyze` gives: every block of `docs/tables.md`, on every set.
#![cfg(feature = "tables")]

use crate::cli;
use crate::support;
use std::path::{Path, PathBuf};

use agenteval::config::EvalConfig;
use agenteval::evaluate::{AttemptRow, Judge, JudgeState, RunRow};
use agenteval::ingest::{self, MAX_RECORD, Request, Visitor};
use agenteval::model::Trajectory;
use agenteval::render::grid_json;
use agenteval::table::{self, Frame};
use serde_json::Value;

use crate::cli::Folder;
use crate::figures_by_sql::{SETS, agrees, figures};

struct Attempts<'c>(Judge<'c>);

impl Visitor for Attempts<'_> {
    type Out = (RunRow, Vec<AttemptRow>);
    type State = JudgeState;
    fn state(&self) -> JudgeState {
        self.0.state()
    }
    fn visit(&self, state: &mut JudgeState, run: &Trajectory<'_>) -> Self::Out {
        self.0.attempts(state, run)
    }
    fn retire(&self, _: JudgeState) {}
}

/// Both tables of a path.
fn tables(path: &Path, config: &EvalConfig) -> (Frame, Frame) {
    let found = ingest::find(&[PathBuf::from(path)]).expect("files");
    let request = Request {
        options: config.read_options(None),
        format: None,
        strict: false,
        threads: 1,
        progress: None,
        max_record: MAX_RECORD,
    };
    let (mut rows, mut attempts) = (Vec::new(), Vec::new());
    ingest::read(&found.sources, &request, &Attempts(Judge::new(config)), &mut |(row, more)| {
        rows.push(row);
        attempts.push(more);
    })
    .expect("read");
    let steps = table::steps(rows.iter().zip(attempts.iter().map(Vec::as_slice))).expect("steps");
    (table::runs(&rows).expect("runs"), steps)
}

#[test]
fn every_figure_by_sql_is_the_figure_of_analyze() {
    let figures = figures();
    let mut held = 0;
    for (path, config) in SETS {
        let Some(path) = (match path.strip_prefix("shared:") {
            Some(shared) => support::shared(shared),
            None => Some(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)),
        }) else {
            continue;
        };
        let folder = Folder::new();
        let config = config.map(|text| folder.file("config.json", text));
        let loaded = config.as_ref().map(|path| EvalConfig::load(Path::new(path)).expect("config"));
        let (runs, steps) = tables(&path, &loaded.unwrap_or_default());
        let mut args = vec![path.to_str().unwrap(), "-q"];
        args.extend(config.iter().flat_map(|config| ["-c", config.as_str()]));
        let report = cli::report(&args);
        for figure in &figures {
            let most = std::time::Duration::from_secs(600);
            let rows = table::query(&figure.sql, runs.clone(), steps.clone(), most)
                .unwrap_or_else(|error| panic!("{}: {error}", figure.head));
            let rows: Value = serde_json::from_str(&grid_json(&rows.grid().unwrap())).unwrap();
            let what = format!("{} {config:?}", path.display());
            agrees(figure, rows.as_array().unwrap(), &report, &what);
            held += 1;
        }
    }
    assert!(held >= 14 * 22, "{held}");
}
