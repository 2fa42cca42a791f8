//! `agenteval failures`: the library of failed runs.

mod check;
mod export;

use std::io::Read as _;
use std::path::Path;
use std::sync::Mutex;

use super::args::{
    FailuresAnnotate, FailuresCollect, FailuresCommand, FailuresList, FailuresShow, Global, Input,
    LibraryFlag, Output,
};
use super::output::{self, Forms, More};
use super::runs::{self, Loaded, Set};
use super::split::Filter;
use super::{Failure, Outcome, complain};
use crate::exit::Status;
use crate::failures::{Annotation, Gatherer, Library, corrected};
use crate::render::{
    CollectedPage, collected_doc, collected_wire, failure_doc, failure_list_doc, failure_list_wire,
    one_line, pretty_json,
};

/// Bytes that a corrected output may have before it is looked at.
const MAX_OUTPUT: u64 = 1 << 20;

/// Runs one of the six.
pub(super) fn run(command: &FailuresCommand, global: &Global) -> Outcome {
    match command {
        FailuresCommand::Collect(args) => collect(args, global),
        FailuresCommand::List(args) => list(args, global),
        FailuresCommand::Show(args) => show(args, global),
        FailuresCommand::Annotate(args) => annotate(args),
        FailuresCommand::Check(args) => check::run(args, global),
        FailuresCommand::Export(args) => export::run(args, global),
    }
}

/// The library that `--store` names, else that of this folder or the nearest above.
fn library(flag: &LibraryFlag) -> Result<Library, Failure> {
    if let Some(folder) = &flag.store {
        if folder.exists() && !folder.is_dir() {
            return Err(Failure::usage(format!(
                "--store {}: it is no folder; name the folder of the library",
                folder.display()
            )));
        }
        return Ok(Library::load(folder)?);
    }
    let here = std::env::current_dir()
        .map_err(|error| Failure::usage(format!("cannot tell the current folder: {error}")))?;
    let found = Library::find(&here);
    // As people would type it from here.
    let shown = found.strip_prefix(&here).map_or_else(|_| found.clone(), Path::to_owned);
    Ok(Library::load(shown)?)
}

/// Like [`library`], for what reads it alone: a folder that is named must be there.
fn existing(flag: &LibraryFlag) -> Result<Library, Failure> {
    match &flag.store {
        Some(folder) if !folder.exists() => Err(Failure::usage(format!(
            "--store {}: there is no such folder; `agenteval failures collect PATH...` makes it",
            folder.display()
        ))),
        _ => library(flag),
    }
}

/// Keeps other changes of this library waiting until it is dropped. A folder that is not there, or
/// cannot be locked, keeps nobody waiting.
fn lock(flag: &LibraryFlag) -> Option<std::fs::File> {
    let here = std::env::current_dir().ok()?;
    let folder = flag.store.clone().unwrap_or_else(|| Library::find(&here));
    let folder = std::fs::File::open(folder).ok()?;
    folder.lock().is_ok().then_some(folder)
}

/// Refuses to write results into the folder of the library: only failures are there.
fn keep_library(output: &Output, library: &Library) -> Result<(), Failure> {
    let home = library.folder().canonicalize().ok();
    for file in &output.files {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new(".")).canonicalize().ok();
        if folder.is_some() && folder == home {
            return Err(Failure::usage(format!(
                "-o {}: this folder is a library of failures; name a file elsewhere",
                file.display()
            )));
        }
    }
    Ok(())
}

/// Reads runs, and gathers the failures of those that `--where` keeps.
fn gather(
    input: &Input,
    global: &Global,
    output: &Output,
    gatherer: &Gatherer,
    content: bool,
) -> Result<Set, Failure> {
    let loaded = Loaded::config(&input.reading, global)?;
    let filter = input.reading.filter.as_deref().map(Filter::compile).transpose()?.map(Mutex::new);
    let keeps = |row: &_| match &filter {
        Some(filter) => filter.lock().is_ok_and(|mut filter| filter.keeps(row)),
        None => true,
    };
    let (set, _) = runs::read_texts(
        &input.paths,
        &input.reading,
        global,
        &loaded,
        output,
        content,
        &|judge, state, run| {
            let timeline = judge.timeline(state, run);
            if keeps(&timeline.row) {
                gatherer.add(run, &timeline);
            }
            (timeline.row, ())
        },
    )?;
    let empty = set.require_runs();
    set.warn(global);
    empty?;
    Ok(set)
}

fn collect(args: &FailuresCollect, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    // What is wrong with the library is told before long work.
    let before = library(&args.store)?;
    keep_library(&output, &before)?;
    let gatherer = Gatherer::new(args.recovered, args.include_content);
    let set = gather(&args.input, global, &output, &gatherer, args.include_content)?;
    let (found, failed_runs) = gatherer.finish()?;
    let ids: Vec<String> = found.keys().cloned().collect();
    // Reading runs may take long; what people wrote in the meantime is read now.
    let (_lock, mut library) = if found.is_empty() {
        (None, before)
    } else {
        std::fs::create_dir_all(before.folder()).map_err(|error| {
            Failure::usage(format!("cannot create {}: {error}", before.folder().display()))
        })?;
        let lock = lock(&args.store);
        (lock, library(&args.store)?)
    };
    library.take(found)?;
    let changes = library.save()?;
    let page = CollectedPage {
        runs: set.rows.len() as u64,
        failed_runs,
        ids: &ids,
        changes: &changes,
        library: &library,
    };
    output::emit(
        &Forms::page(&|| collected_doc(&page), &|| pretty_json(&collected_wire(&page))),
        &output,
        global,
    )?;
    Ok(Status::Done)
}

fn list(args: &FailuresList, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let library = existing(&args.store)?;
    keep_library(&output, &library)?;
    let statuses: Vec<&str> = args.status.iter().map(|status| status.name()).collect();
    let wire = failure_list_wire(&library, &statuses);
    output::emit(
        &Forms::page(&|| failure_list_doc(&wire), &|| pretty_json(&wire)),
        &output,
        global,
    )?;
    Ok(Status::Done)
}

fn show(args: &FailuresShow, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let library = existing(&args.store)?;
    keep_library(&output, &library)?;
    let id = library.resolve(&args.id)?;
    let Some(failure) = library.get(&id) else {
        return Err(Failure::usage(format!("there is no failure `{id}`")));
    };
    let file = library.file(&id).map(|file| file.display().to_string()).unwrap_or_default();
    // The form of the file: programs read one form, not two. Hands may have written secrets into it.
    let json = || String::from_utf8_lossy(&failure.masked().to_bytes()).into_owned();
    output::emit(&Forms::page(&|| failure_doc(failure, &file), &json), &output, global)?;
    Ok(Status::Done)
}

fn annotate(args: &FailuresAnnotate) -> Outcome {
    let _lock = lock(&args.store);
    let mut library = existing(&args.store)?;
    let id = library.resolve(&args.id)?;
    let given = args.corrected_output.as_deref().map(read_output).transpose()?;
    let (corrected_output, masked) = given.unzip();
    if masked == Some(true) {
        complain("warning: secrets in the corrected output were masked");
    }
    let annotation = Annotation {
        status: args.status.map(|status| status.name().to_owned()),
        until: args.until.clone(),
        note: args.note.clone(),
        corrected_output,
        corrected_task: args.task.clone(),
    };
    if annotation == Annotation::default() {
        return Err(Failure::usage(
            "nothing to write; add --status, --until, --note or --corrected-output",
        ));
    }
    let Some(failure) = library.get_mut(&id) else {
        return Err(Failure::usage(format!("there is no failure `{id}`")));
    };
    annotation.apply(failure)?;
    let status = failure.status.clone();
    let changes = library.save()?;
    // Files in an older form are written anew with it, and are not what was asked for.
    let word = if changes.changed.contains(&id) { "annotated" } else { "unchanged" };
    let until = status.until().map(|day| format!(" until {day}")).unwrap_or_default();
    let file = library.file(&id).map(|file| file.display().to_string()).unwrap_or_default();
    output::print(&format!("{word} {id}: {}{until}\n{}\n", status.name(), one_line(&file)))
}

/// A corrected output from a file.
fn read_output(path: &Path) -> Result<(String, bool), Failure> {
    let fail =
        |reason: String| Failure::usage(format!("--corrected-output {}: {reason}", path.display()));
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_OUTPUT).read_to_end(&mut bytes))
        .map_err(|error| fail(error.to_string().to_lowercase()))?;
    let text = String::from_utf8(bytes).map_err(|_| fail("it is no UTF-8 text".to_owned()))?;
    corrected(&text).map_err(|error| fail(error.to_string()))
}
