//! `agenteval baseline`: saving, blessing, listing, showing and removing stored baselines.

mod inputs;
mod origin;
mod save;

pub(crate) use origin::origin;

use super::args::{
    BaselineCommand, BaselineList, BaselineRemove, BaselineShow, Global, Output, Reading, StoreFlag,
};
use super::output::{self, Forms, More};
use super::runs::{self, Loaded};
use super::{Failure, Outcome};
use crate::baseline::{Judging, ReadBy, Store};
use crate::exit::Status;
use crate::metrics::Analysis;
use crate::render::{
    ListedWire, baseline_doc, baseline_wire, baselines_doc, baselines_wire, pretty_json,
};

/// Runs one of the five.
pub(super) fn run(command: &BaselineCommand, global: &Global) -> Outcome {
    match command {
        BaselineCommand::Save(args) => save::save(args, global),
        BaselineCommand::Bless(args) => save::bless(args, global),
        BaselineCommand::List(args) => list(args, global),
        BaselineCommand::Show(args) => show(args, global),
        BaselineCommand::Rm(args) => remove(args),
    }
}

/// The store that `--store` names, else that of this folder or the nearest above.
pub(crate) fn store(flag: &StoreFlag) -> Result<Store, Failure> {
    if let Some(folder) = &flag.store {
        if folder.exists() && !folder.is_dir() {
            return Err(Failure::usage(format!(
                "--store {}: it is no folder; name the folder of the baselines",
                folder.display()
            )));
        }
        return Ok(Store::open(folder));
    }
    let here = std::env::current_dir()
        .map_err(|error| Failure::usage(format!("cannot tell the current folder: {error}")))?;
    let found = Store::find(&here);
    // As people would type it from here.
    Ok(found.folder().strip_prefix(&here).map_or_else(|_| found.clone(), Store::open))
}

/// What decides how runs are judged under this command's config and flags.
pub(crate) fn judging(loaded: &Loaded, reading: &Reading) -> Result<Judging, Failure> {
    let plan = reading.plan.as_deref().map(runs::load_plan).transpose()?;
    let mapping = reading.map.as_deref().map(runs::load_mapping).transpose()?;
    let by = ReadBy {
        filter: reading.filter.as_deref(),
        plan: plan.as_deref(),
        mapping: mapping.as_deref(),
    };
    Ok(Judging::of(&loaded.config, by))
}

fn list(args: &BaselineList, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let store = store(&args.store)?;
    // An empty list would hide a slip of the pen.
    if args.store.store.is_some() && !store.folder().exists() {
        return Err(Failure::usage(format!(
            "--store {}: there is no such folder; `agenteval baseline save NAME PATH...` makes it",
            store.folder().display()
        )));
    }
    let listed = store.list()?.into_iter().map(|name| match store.load(&name) {
        Ok(baseline) => ListedWire::of(&baseline),
        Err(error) => ListedWire::unreadable(&name, error.to_string()),
    });
    let wire = baselines_wire(store.folder().display().to_string(), listed.collect());
    output::emit(&Forms::page(&|| baselines_doc(&wire), &|| pretty_json(&wire)), &output, global)?;
    Ok(Status::Done)
}

fn show(args: &BaselineShow, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let store = store(&args.store)?;
    let file = store.file(&args.name)?;
    output::guard(&output, std::iter::once(file.as_path()))?;
    let baseline = store.load(&args.name)?;
    let analysis = Analysis::of(&baseline.rows.iter().collect::<Vec<_>>(), None, None);
    let file = file.display().to_string();
    output::emit(
        &Forms::page(&|| baseline_doc(&baseline, &file, &analysis), &|| {
            pretty_json(&baseline_wire(&baseline, file.clone(), &analysis))
        }),
        &output,
        global,
    )?;
    Ok(Status::Done)
}

fn remove(args: &BaselineRemove) -> Outcome {
    let file = store(&args.store)?.remove(&args.name)?;
    output::print(&format!("removed {}\n", crate::render::one_line(&file.display().to_string())))
}
