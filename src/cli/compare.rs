//! `agenteval compare`: two sets of runs side by side.

use std::io::Read;
use std::path::Path;

use super::against::{self, Sided, same_judging};
use super::args::{Compare, Global, Output};
use super::output::{self, Forms, More};
use super::runs::Loaded;
use super::{Failure, Outcome, baseline};
use crate::baseline::{Baseline, MAX_BASELINE, SCHEMA};
use crate::compare::{Comparison, GateOptions};
use crate::exit::Status;
use crate::render::{comparison_doc, comparison_wire, pretty_json};

/// Reads both sides, compares and writes.
pub(super) fn run(args: &Compare, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let loaded = Loaded::config(&args.reading, global)?;
    let before = side(&args.a, args, global, &loaded, &output)?;
    let after = side(&args.b, args, global, &loaded, &output)?;
    let mut warnings = same_judging(&before, &after, &args.against, global)?;
    warnings.extend(before.warnings.iter().chain(&after.warnings).cloned());
    let config = &loaded.config;
    let options = GateOptions {
        tests: args.against.tests(config),
        pooled: (before.pooled(), after.pooled()),
        ..GateOptions::default()
    };
    let comparison = Comparison::of(&before.rows, &after.rows, config, &options);
    let names = (before.name.as_str(), after.name.as_str());
    let doc = || comparison_doc(&comparison, names);
    let wire = || {
        let warnings = warnings.iter().map(super::analyze::warning).collect();
        pretty_json(&comparison_wire(&comparison, names, warnings))
    };
    output::emit(&Forms::page(&doc, &wire), &output, global)?;
    Ok(Status::Done)
}

/// A path that is there, else a baseline of this name.
pub(super) fn side(
    given: &Path,
    args: &Compare,
    global: &Global,
    loaded: &Loaded,
    output: &Output,
) -> Result<Sided, Failure> {
    let glob = given.to_str().is_some_and(|text| text.contains(['*', '?', '[']));
    if let Some(baseline) = stored_file(given)? {
        return Ok(Sided::stored(baseline));
    }
    if given.exists() || given.as_os_str() == "-" || glob {
        let paths = [given.to_owned()];
        return Ok(against::read(&paths, &args.reading, global, loaded, output)?.0);
    }
    let Some(name) = given.to_str() else {
        return Err(Failure::usage(format!("{}: there is no such file", given.display())));
    };
    let store = baseline::store(&args.against.store)?;
    match store.load(name) {
        Ok(baseline) => Ok(Sided::stored(baseline)),
        Err(error) => Err(Failure::usage(format!("{name} is no file or folder, and {error}"))),
    }
}

/// The baseline in this file, where it is one: stores of other clones are compared by path.
fn stored_file(given: &Path) -> Result<Option<Baseline>, Failure> {
    let json = given.extension().is_some_and(|ending| ending == "json");
    if !json || !given.is_file() {
        return Ok(None);
    }
    let unread =
        |error: std::io::Error| Failure::usage(format!("cannot read {}: {error}", given.display()));
    let mut head = Vec::new();
    let file = std::fs::File::open(given).map_err(unread)?;
    file.take(output::BASELINE_HEAD).read_to_end(&mut head).map_err(unread)?;
    if !String::from_utf8_lossy(&head).contains(SCHEMA) {
        return Ok(None);
    }
    if given.metadata().map_err(unread)?.len() > MAX_BASELINE {
        return Err(Failure::usage(format!("{}: too large for a baseline", given.display())));
    }
    let bytes = std::fs::read(given).map_err(unread)?;
    let path = given.display().to_string();
    let name = given.file_stem().and_then(|stem| stem.to_str()).unwrap_or("baseline");
    Ok(Some(Baseline::from_json(&bytes, name, &path)?))
}
