//! `agenteval failures export`: the tasks of failures as a set to run again.

use std::path::Path;

use super::super::args::{ExportForm, FailuresExport, Form, Global, Output};
use super::super::output;
use super::super::{Failure, Outcome, complain};
use super::{existing, keep_library};
use crate::failures::{RegressionSet, regressions};
use crate::render::{count, one_line, regressions_csv, regressions_json, regressions_ndjson};

/// Writes the set.
pub(super) fn run(args: &FailuresExport, global: &Global) -> Outcome {
    let forms: Vec<ExportForm> =
        args.files.iter().map(|file| form_of(file)).collect::<Result<_, _>>()?;
    let library = existing(&args.store)?;
    let written = Output { output: Form::Table, files: args.files.clone() };
    keep_library(&written, &library)?;
    // The same guards as everywhere: no stored baseline is written over.
    output::check(&Output { output: Form::Ndjson, ..written }, output::More::Lines)?;
    let statuses: Vec<&str> = args.status.iter().map(|status| status.name()).collect();
    let set = regressions(&library, &statuses);
    if set.tasks.is_empty() {
        return Err(Failure::nothing(format!(
            "no failure with the status {} has a task in {}; `agenteval failures annotate ID --status known` makes one known",
            statuses.join(" or "),
            library.folder().display()
        )));
    }
    if !global.quiet {
        for (number, what) in [
            (set.without_task, "failures without a recorded task are left out"),
            (set.beyond, "tasks or more are left out: the library keeps 1,000 of a failure"),
        ] {
            if number > 0 {
                complain(&format!("warning: {} {what}", count(number)));
            }
        }
    }
    if args.files.is_empty() {
        return output::print(&content(&set, args.output));
    }
    let mut told = String::new();
    for (file, form) in args.files.iter().zip(forms) {
        output::write_file(file, content(&set, form).as_bytes())?;
        let tasks = count(set.tasks.len() as u64);
        told += &format!("wrote {tasks} tasks to {}\n", one_line(&file.display().to_string()));
    }
    output::print(&told)
}

fn form_of(file: &Path) -> Result<ExportForm, Failure> {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("ndjson" | "jsonl") => Ok(ExportForm::Ndjson),
        Some("json") => Ok(ExportForm::Json),
        Some("csv") => Ok(ExportForm::Csv),
        _ => Err(Failure::usage(format!(
            "-o {}: a regression set is written as .ndjson, .json or .csv",
            file.display()
        ))),
    }
}

fn content(set: &RegressionSet<'_>, form: ExportForm) -> String {
    match form {
        ExportForm::Ndjson => regressions_ndjson(set),
        ExportForm::Json => regressions_json(set),
        ExportForm::Csv => regressions_csv(set),
    }
}
