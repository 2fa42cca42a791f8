//! `agenteval gate`: the regression gate for CI.

use super::against::{self, Sided, same_judging};
use super::args::{BaselineMissing, Gate as Args, Github, Global, OnInconclusive, Output, Reading};
use super::collect::Collector;
use super::output::{self, Forms, More};
use super::pages::{self, Material};
use super::runs::{Loaded, Set, Warning};
use super::{Failure, Outcome, baseline, complain};
use crate::baseline::BaselineError;
use crate::compare::{Gate, GateOptions, Verdict};
use crate::config::Inconclusive;
use crate::exit::Status;
use crate::render::{
    GateContext, Stamp, gate_annotations, gate_doc, gate_junit, gate_sarif, gate_wire, markdown,
    pretty_json,
};

/// Reads, compares, judges and writes.
pub(super) fn run(args: &Args, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Reports)?;
    let loaded = Loaded::config(&args.input.reading, global)?;
    let mut missing = None;
    let baseline = match &args.baseline {
        None => None,
        Some(name) => match baseline::store(&args.against.store)?.load(name) {
            Ok(baseline) => Some(Sided::stored(baseline)),
            Err(error @ BaselineError::Missing { .. })
                if args.baseline_missing == BaselineMissing::Warn =>
            {
                missing = Some(error.to_string());
                None
            }
            Err(BaselineError::Missing { .. }) => {
                let error = baseline::store(&args.against.store)?.missing(name);
                return Err(Failure::usage(format!(
                    "{error}{}; --baseline-missing warn lets a first run pass",
                    saves(&error.to_string(), name)
                )));
            }
            Err(error) => return Err(error.into()),
        },
    };
    if baseline.is_none() && missing.is_none() && loaded.config.thresholds.is_empty() {
        return Err(Failure::usage(
            "there is nothing to hold the runs against: name a baseline with --baseline, or set `thresholds` in the config",
        ));
    }
    let reading = &args.input.reading;
    let collector = match output.files.iter().any(|file| pages::is_page(file)) {
        true => {
            let settings = super::diagnose::settings(&loaded, &output)?;
            Some(Collector::new(reading.filter.as_deref(), false, settings)?)
        }
        false => None,
    };
    let (candidate, set) = against::read_collecting(
        &args.input.paths,
        reading,
        global,
        &loaded,
        &output,
        collector.as_ref(),
    )?;
    let mut warnings = Vec::new();
    let first_run = missing.is_some();
    if let Some(message) = missing {
        warnings.push(told(global, "baseline_missing", message));
    }
    if let Some(baseline) = &baseline {
        warnings.extend(same_judging(baseline, &candidate, &args.against, global)?);
    }
    let options = GateOptions {
        tests: args.against.tests(&loaded.config),
        allow_unmatched: args.allow_unmatched,
        pooled: (baseline.as_ref().is_some_and(Sided::pooled), false),
    };
    let rows = baseline.as_ref().map(|side| side.rows.as_slice());
    let gate = Gate::of(rows, &candidate.rows, &loaded.config, &options);
    for notice in &gate.notices {
        warnings.push(said(global, notice.into()));
    }
    warnings.extend(candidate.warnings.iter().cloned());
    let context = write(args, global, &output, &gate, baseline.as_ref(), &warnings)?;
    if let Some(collector) = collector {
        write_pages(&output, collector, &set, &loaded, reading, (&gate, &context))?;
    }
    let inconclusive_fails = match args.inconclusive {
        Some(given) => given == OnInconclusive::Fail,
        None => loaded.config.gate.inconclusive == Inconclusive::Fail,
    };
    if gate.nothing() && !first_run {
        return Err(Failure::nothing(
            "nothing was judged: no gated figure and no threshold has a value in these runs (the report has the reasons)",
        ));
    }
    Ok(match gate.verdict {
        Verdict::Regression => Status::Regression,
        Verdict::Inconclusive if inconclusive_fails => Status::Inconclusive,
        Verdict::Pass | Verdict::Improved | Verdict::Inconclusive => Status::Done,
    })
}

fn told(global: &Global, code: &str, message: String) -> Warning {
    let (code, place) = (code.to_owned(), String::new());
    said(global, Warning { code, message, count: 1, place, withheld: None })
}

/// Prints a warning that reading did not.
fn said(global: &Global, warning: Warning) -> Warning {
    if !global.quiet {
        complain(&format!("warning: {}", warning.line()));
    }
    warning
}

/// How to make a baseline, unless the message says so already.
fn saves(message: &str, name: &str) -> String {
    if message.contains("baseline save") {
        String::new()
    } else {
        format!("; `agenteval baseline save {name} PATH...` makes one")
    }
}

/// Writes the verdict in all forms that were asked for, and what GitHub Actions takes.
fn write(
    args: &Args,
    global: &Global,
    output: &Output,
    gate: &Gate,
    baseline: Option<&Sided>,
    warnings: &[Warning],
) -> Result<GateContext, Failure> {
    let stored = baseline.and_then(|side| side.stored.as_ref());
    let context = GateContext {
        baseline: stored.map(|stored| (stored.name.clone(), stored.sha256.clone())),
        store: args.against.store.store.as_ref().map(|store| store.display().to_string()),
        reading: args.input.reading.as_typed(),
        candidate: args.input.paths.iter().map(|path| path.display().to_string()).collect(),
        warnings: warnings.iter().map(super::analyze::warning).collect(),
    };
    let doc = || gate_doc(gate, &context);
    let json = || pretty_json(&gate_wire(gate, &context));
    let junit = || gate_junit(gate, &context);
    let sarif = || pretty_json(&gate_sarif(gate, &context));
    let forms = Forms {
        doc: &doc,
        json: &json,
        ndjson: None,
        csv: None,
        junit: Some(&junit),
        sarif: Some(&sarif),
        parquet: None,
    };
    output::emit(&forms, output, global)?;
    let on_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    if on_github && args.github == Github::Auto {
        // Commands of GitHub Actions are read from either stream; results alone go to stdout.
        for line in gate_annotations(gate, &context) {
            complain(&line);
        }
        if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty())
        {
            output::append_file(std::path::Path::new(&path), &markdown(&doc()))?;
        }
    }
    Ok(context)
}

/// Writes the page of `report`, with this verdict and without contents.
fn write_pages(
    output: &Output,
    collector: Collector,
    set: &Set,
    loaded: &Loaded,
    reading: &Reading,
    (gate, context): (&Gate, &GateContext),
) -> Result<(), Failure> {
    let collected = collector.finish();
    let page = pages::html(Material {
        loaded,
        filter: reading.filter.as_deref(),
        set,
        collected: &collected,
        gate: Some((gate, context)),
        warnings: context.warnings.clone(),
        contents: false,
        stamp: &Stamp::default(),
    });
    for file in output.files.iter().filter(|file| pages::is_page(file)) {
        pages::make_folder(file)?;
        output::write_file(file, page.as_bytes())?;
    }
    Ok(())
}
