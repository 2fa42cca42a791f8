//! `agenteval report`: one HTML page for reviewers.

use std::path::PathBuf;

use super::against::{Sided, same_judging};
use super::args::{Form, Global, Output, Report};
use super::collect::Collector;
use super::pages::{self, Material};
use super::runs::{self, Loaded, Warning};
use super::{Failure, Outcome, baseline, output};
use crate::baseline::{BaselineError, masked_row};
use crate::compare::{Gate, GateOptions};
use crate::render::{GateContext, Stamp, bytes, count, gate_line, one_line};

/// Reads, compares where a baseline is named, and writes the page.
pub(super) fn run(args: &Report, global: &Global) -> Outcome {
    if !pages::is_page(&args.file) {
        return Err(Failure::usage(format!(
            "-o {}: a report is a page; end its name in .html (analyze writes .json and .md)",
            args.file.display()
        )));
    }
    let stamp = stamp(args)?;
    let loaded = Loaded::config(&args.input.reading, global)?;
    let before = args.baseline.as_deref().map(|name| stored(args, name)).transpose()?;
    let reading = &args.input.reading;
    let output = Output { output: Form::Table, files: vec![args.file.clone()] };
    let settings = crate::diagnose::Settings {
        shows_content: args.include_content,
        ..super::diagnose::settings(&loaded, &output)?
    };
    let collector = Collector::new(reading.filter.as_deref(), args.include_content, settings)?;
    let (set, _) = runs::read_texts(
        &args.input.paths,
        reading,
        global,
        &loaded,
        &output,
        true,
        &|judge, state, run| (collector.look(judge, state, run), ()),
    )?;
    set.warn(global);
    set.require_runs()?;
    let collected = collector.finish();
    let mut warnings: Vec<Warning> = Vec::new();
    let gate = match before {
        None => None,
        Some(before) => {
            let after = Sided {
                name: shown(&args.input.paths).join(" "),
                rows: set.rows.iter().map(masked_row).collect(),
                judging: baseline::judging(&loaded, reading)?,
                stored: None,
                warnings: Vec::new(),
            };
            warnings.extend(same_judging(&before, &after, &args.against, global)?);
            let options = GateOptions {
                tests: args.against.tests(&loaded.config),
                allow_unmatched: args.allow_unmatched,
                pooled: (before.pooled(), false),
            };
            let gate = Gate::of(Some(&before.rows), &after.rows, &loaded.config, &options);
            warnings.extend(gate.notices.iter().map(Warning::from));
            Some((gate, before))
        }
    };
    warnings.extend(set.warnings.iter().cloned());
    let warnings: Vec<_> = warnings.iter().map(super::analyze::warning).collect();
    let context = gate.as_ref().map(|(_, before)| GateContext {
        baseline: before.stored.as_ref().map(|stored| (stored.name.clone(), stored.sha256.clone())),
        store: args.against.store.store.as_ref().map(|store| store.display().to_string()),
        candidate: shown(&args.input.paths),
        reading: reading.as_typed(),
        warnings: warnings.clone(),
    });
    let judged = gate.as_ref().map(|(gate, _)| gate).zip(context.as_ref());
    let page = pages::html(Material {
        loaded: &loaded,
        filter: reading.filter.as_deref(),
        set: &set,
        collected: &collected,
        gate: judged,
        warnings,
        contents: args.include_content,
        stamp: &stamp,
    });
    pages::make_folder(&args.file)?;
    output::write_file(&args.file, page.as_bytes())?;
    let mut line = format!(
        "{}: {} runs, {}",
        args.file.display(),
        count(set.rows.len() as u64),
        bytes(page.len() as u64)
    );
    if let Some((gate, context)) = judged {
        line = format!("{}\n{line}", gate_line(gate, context));
    }
    let safe: Vec<String> = line.lines().map(one_line).collect();
    output::print(&format!("{}\n", safe.join("\n")))
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// Time and commit that were given; unlike a baseline, a page takes no commit from git, so that the
/// same input gives the same bytes wherever it is made.
fn stamp(args: &Report) -> Result<Stamp, Failure> {
    let origin = baseline::origin(&args.origin(), None)?;
    Ok(Stamp { time: origin.time, commit: origin.commit.filter(|_| args.commit.is_some()) })
}

fn stored(args: &Report, name: &str) -> Result<Sided, Failure> {
    let store = baseline::store(&args.against.store)?;
    match store.load(name) {
        Ok(baseline) => Ok(Sided::stored(baseline)),
        Err(BaselineError::Missing { .. }) => {
            let error = store.missing(name);
            Err(Failure::usage(format!(
                "{error}; without --baseline the page has the figures alone"
            )))
        }
        Err(error) => Err(error.into()),
    }
}
