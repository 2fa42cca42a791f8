//! `agenteval convert`: runs in another form.
//!
//! Runs are written as they come, one at a time; a table is made of all of them.

use std::path::{Path, PathBuf};

use super::args::{Convert, Form, Global, Output, To};
use super::each::Each;
use super::output::{self, Draft};
use super::runs::{Loaded, Set};
use super::{Failure, Outcome, complain};
use crate::convert::{atif, mask_json, native};
use crate::exit::Status;

mod folder;
mod lines;
mod moving;
mod tables;

use folder::Folder;
use lines::{Framing, Lines};

/// Warnings of judging, which is not what a conversion is asked for.
const OF_JUDGING: [&str; 11] = [
    "unknown_status",
    "unknown_run_status",
    "unreadable_score",
    "several_scores",
    "scorer_missing",
    "limit_not_recorded",
    "mixed_time_zones",
    "unusable_duration",
    "unusable_cost",
    "unusable_tokens",
    "mapping_tells_no_failure",
];

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Native(Framing),
    Atif(Framing),
    /// A file a run.
    AtifFolder,
    Tables,
}

/// Reads, and writes each run as it comes.
pub(super) fn run(args: &Convert, global: &Global) -> Outcome {
    let target = target(args)?;
    let mut loaded = Loaded::config(&args.input.reading, global)?;
    if target == Target::Tables {
        return tables::run(args, global, &loaded);
    }
    if args.input.reading.filter.is_none() {
        // What passes is not asked; a fault of an expression must not stop a conversion.
        loaded.config.subtask_passed = None;
        loaded.config.final_passed = None;
    }
    let files: Vec<PathBuf> =
        args.file.iter().filter(|_| target != Target::AtifFolder).cloned().collect();
    check(&files)?;
    let folder = args.file.as_deref().filter(|_| target == Target::AtifFolder);
    let output = Output { output: Form::Ndjson, files };
    let mut sink = match (&args.file, target) {
        (Some(path), Target::AtifFolder) => Sink::Folder(Folder::at(path)),
        (Some(path), Target::Native(framing) | Target::Atif(framing)) => {
            Sink::File(Lines::to(Draft::begin(path)?, framing))
        }
        (_, Target::Native(framing) | Target::Atif(framing)) => {
            Sink::Printed(Lines::to(std::io::stdout().lock(), framing))
        }
        (_, Target::AtifFolder | Target::Tables) => return Err(nowhere()),
    };
    let each = Each {
        paths: &args.input.paths,
        reading: &args.input.reading,
        global,
        loaded: &loaded,
        output: &output,
        texts: true,
    };
    let mut count: u64 = 0;
    let mut failed = None;
    let mut set = each.read(
        &|judge, state, run| {
            let row = judge.row(state, run);
            let line = match target {
                Target::Native(_) => native(run, Some(row.retry_source)),
                _ => atif(run, Some(row.retry_source)),
            };
            (row, if args.mask { mask_json(&line) } else { line })
        },
        &mut |row, line| {
            count += 1;
            if failed.is_none() {
                failed = sink.put(row.run_id.as_deref(), &line).err();
            }
        },
    )?;
    tell(&mut set, global);
    if let Some(error) = failed {
        return if error.kind() == std::io::ErrorKind::BrokenPipe && args.file.is_none() {
            Ok(Status::Done)
        } else {
            Err(cannot(args, &error))
        };
    }
    require_runs(&set, count)?;
    match sink {
        Sink::File(lines) => lines.end().map_err(|error| cannot(args, &error))?.finish()?,
        Sink::Printed(lines) => match lines.end() {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            end => drop(end.map_err(|error| cannot(args, &error))?),
        },
        Sink::Folder(folder) => folder.finish(&set)?,
    }
    if let (Some(path), false) = (args.file.as_deref().or(folder), global.quiet) {
        written(path, count, "run");
    }
    Ok(Status::Done)
}

/// Where lines go.
enum Sink<'o> {
    File(Lines<Draft>),
    Printed(Lines<std::io::StdoutLock<'o>>),
    Folder(Folder),
}

impl Sink<'_> {
    fn put(&mut self, run_id: Option<&str>, line: &str) -> std::io::Result<()> {
        match self {
            Self::File(lines) => lines.put(line),
            Self::Printed(lines) => lines.put(line),
            Self::Folder(folder) => folder.put(run_id, line),
        }
    }
}

fn target(args: &Convert) -> Result<Target, Failure> {
    let name = args.file.as_deref().map(|path| path.to_string_lossy().to_lowercase());
    let ends = |ending: &str| name.as_deref().is_some_and(|name| name.ends_with(ending));
    let by_lines = ends(".ndjson") || ends(".jsonl");
    let is_folder = args.file.as_deref().is_some_and(|path| path.is_dir()) || ends("/");
    let wants = |lines: Framing| if by_lines { Framing::Lines } else { lines };
    agree(args, &ends)?;
    let target = match args.to {
        Some(To::Atif) if is_folder => Target::AtifFolder,
        _ if is_folder => {
            return Err(Failure::usage(format!(
                "-o {}: this is a folder, which takes ATIF alone, a file a run (--to atif); name a file",
                name.unwrap_or_default()
            )));
        }
        Some(To::Native) => Target::Native(wants(Framing::Array)),
        Some(To::Ndjson) => Target::Native(Framing::Lines),
        Some(To::Atif) => Target::Atif(wants(Framing::OneOrArray)),
        Some(To::Parquet) => Target::Tables,
        None if ends(".atif.json") => Target::Atif(Framing::OneOrArray),
        None if ends(".atif.ndjson") || ends(".atif.jsonl") => Target::Atif(Framing::Lines),
        None if by_lines => Target::Native(Framing::Lines),
        None if ends(".json") => Target::Native(Framing::Array),
        None if ends(".parquet") => Target::Tables,
        None => return Err(nowhere_for(args.file.as_deref())),
    };
    if args.file.is_none() && target == Target::Tables {
        return Err(Failure::usage("Parquet does not go to standard output; name a file with -o"));
    }
    Ok(target)
}

/// Refuses a file whose name says one form while `--to` says another: whoever finds it later would
/// be misled. Endings that name no form, and lines in a `.json`, are as the flag says.
fn agree(args: &Convert, ends: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
    let (Some(file), Some(to)) = (&args.file, args.to) else { return Ok(()) };
    let is_atif = [".atif.json", ".atif.ndjson", ".atif.jsonl"].iter().any(|ending| ends(ending));
    let is_json = [".json", ".ndjson", ".jsonl"].iter().any(|ending| ends(ending));
    let (name, flag) = match to {
        To::Native | To::Ndjson | To::Parquet if is_atif => ("ATIF", to),
        To::Native | To::Ndjson | To::Atif if ends(".parquet") => ("Parquet", to),
        To::Parquet if is_json => ("JSON", to),
        _ => return Ok(()),
    };
    let (flag, ending) = match flag {
        To::Native => ("native", ".json"),
        To::Ndjson => ("ndjson", ".ndjson"),
        To::Atif => ("atif", ".atif.json"),
        To::Parquet => ("parquet", ".parquet"),
    };
    Err(Failure::usage(format!(
        "-o {}: this name says {name}, and --to {flag} another form; name a file that ends in {ending}, or take --to out",
        file.display()
    )))
}

fn nowhere() -> Failure {
    nowhere_for(None)
}

fn nowhere_for(file: Option<&Path>) -> Failure {
    Failure::usage(match file {
        Some(path) => format!(
            "-o {}: nothing is written with this ending; known: .json .ndjson .parquet .atif.json .atif.ndjson, or say --to native|ndjson|atif|parquet",
            path.display()
        ),
        None => "convert needs -o FILE, or --to native|ndjson|atif to print".to_owned(),
    })
}

/// Refuses to write over a stored baseline.
fn check(files: &[PathBuf]) -> Result<(), Failure> {
    files.iter().try_for_each(|file| output::keep_baselines(file))
}

fn cannot(args: &Convert, error: &std::io::Error) -> Failure {
    let to = args.file.as_ref().map_or("standard output".to_owned(), |p| p.display().to_string());
    Failure::usage(format!("cannot write {to}: {error}"))
}

/// Tells what reading met, and nothing of judging.
fn tell(set: &mut Set, global: &Global) {
    set.warnings.retain(|warning| !OF_JUDGING.contains(&warning.code.as_str()));
    set.warn(global);
}

fn require_runs(set: &Set, count: u64) -> Result<(), Failure> {
    if count > 0 { Ok(()) } else { set.require_runs() }
}

fn written(path: &Path, count: u64, what: &str) {
    let end = if count == 1 { "" } else { "s" };
    let count = crate::render::count(count);
    complain(&format!("{count} {what}{end} written to {}", path.display()));
}
