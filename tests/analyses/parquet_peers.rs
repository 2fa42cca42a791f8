//! Others read the Parquet files as they are meant: DuckDB gives the figures of `analyze` from them.
//!
//! `AGENTEVAL_PYTHON` names a Python with `duckdb`, else `python3` is tried; without one the test says
//! that it was skipped, and fails under `CI`.
#![cfg(feature = "tables")]

use crate::cli;
use crate::support;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::{Folder, run};
use crate::figures_by_sql::{SETS, agrees, figures};
use serde_json::{Value, json};

/// Reads both files, runs each statement, and prints its rows.
const SCRIPT: &str = r#"
import json, sys, duckdb
ask = json.load(sys.stdin)
answers = []
for one in ask["sets"]:
    db = duckdb.connect()
    for table in ("runs", "steps"):
        db.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{one[table]}')")
    rows = []
    for sql in ask["sql"]:
        result = db.execute(sql)
        names = [column[0] for column in result.description]
        rows.append([dict(zip(names, row)) for row in result.fetchall()])
    answers.append(rows)
json.dump(answers, sys.stdout, default=float)
"#;

/// A Python that has duckdb.
fn python() -> Option<String> {
    let python = std::env::var("AGENTEVAL_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import duckdb"]).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    assert!(std::env::var_os("CI").is_none(), "{python} has no duckdb");
    println!("skipped: {python} has no duckdb");
    None
}

#[test]
fn duckdb_gives_the_figures_of_analyze_from_the_parquet_files() {
    let Some(python) = python() else { return };
    let figures = figures();
    let folder = Folder::new();
    let (mut sets, mut reports) = (Vec::new(), Vec::new());
    for (nth, (path, config)) in SETS.into_iter().enumerate() {
        let Some(path) = (match path.strip_prefix("shared:") {
            Some(shared) => support::shared(shared),
            None => Some(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)),
        }) else {
            continue;
        };
        let config = config.map(|text| folder.file(&format!("{nth}.json"), text));
        let mut args = vec![path.to_str().unwrap(), "-q"];
        args.extend(config.iter().flat_map(|config| ["-c", config.as_str()]));
        reports.push((format!("{} {config:?}", path.display()), cli::report(&args)));
        let (runs, steps) = (format!("{nth}.parquet"), format!("{nth}.steps.parquet"));
        let to = folder.at(&runs);
        let ran = run(&[&["convert"], &args[..], &["-o", &to]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        sets.push(json!({"runs": to, "steps": folder.at(&steps)}));
    }
    let sql: Vec<&str> = figures.iter().map(|figure| figure.sql.as_str()).collect();
    let ask = json!({"sets": sets, "sql": sql}).to_string();
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    child.stdin.take().unwrap().write_all(ask.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    for ((what, report), rows) in reports.iter().zip(answers.as_array().unwrap()) {
        for (figure, rows) in figures.iter().zip(rows.as_array().unwrap()) {
            agrees(figure, rows.as_array().unwrap(), report, &format!("DuckDB: {what}"));
        }
    }
    assert_eq!(answers.as_array().unwrap().len(), reports.len());
}
