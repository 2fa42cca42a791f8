//! The tables `runs` and `steps` as Parquet files.

#[cfg(feature = "tables")]
use std::io::Write;
use std::path::{Path, PathBuf};

use super::super::args::{Convert, Form, Global, Output};
use super::super::runs::{self, Loaded};
use super::super::{Failure, Outcome};
use super::{nowhere, written};
#[cfg(feature = "tables")]
use crate::exit::Status;

/// The place of the steps, beside that of the runs.
fn beside(runs: &Path) -> PathBuf {
    runs.with_extension("steps.parquet")
}

pub(super) fn run(args: &Convert, global: &Global, loaded: &Loaded) -> Outcome {
    let Some(file) = &args.file else { return Err(nowhere()) };
    let files = vec![file.clone(), beside(file)];
    super::check(&files)?;
    let output = Output { output: Form::Parquet, files };
    if cfg!(not(feature = "tables")) {
        return Err(Failure::usage(
            "this agenteval was built without tables, so it writes no Parquet: build it without `--no-default-features`, or use .ndjson",
        ));
    }
    let (set, attempts) = runs::read(
        &args.input.paths,
        &args.input.reading,
        global,
        loaded,
        &output,
        &|judge, state, run| judge.attempts(state, run),
    )?;
    set.warn(global);
    set.require_runs()?;
    write(args, &set, &attempts, &output)?;
    if !global.quiet {
        let rows = attempts.iter().map(|attempts| attempts.len() as u64).sum();
        let counts = [(set.rows.len() as u64, "run"), (rows, "attempt")];
        for (path, (count, what)) in output.files.iter().zip(counts) {
            written(path, count, what);
        }
    }
    done()
}

#[cfg(feature = "tables")]
fn done() -> Outcome {
    Ok(Status::Done)
}

#[cfg(not(feature = "tables"))]
fn done() -> Outcome {
    Err(nowhere())
}

/// Both files, or none.
#[cfg(feature = "tables")]
fn write(
    args: &Convert,
    set: &runs::Set,
    attempts: &[Vec<crate::evaluate::AttemptRow>],
    output: &Output,
) -> Result<(), Failure> {
    use super::moving::move_all;

    let fail = |error: crate::table::TableError| Failure::usage(error.to_string());
    let rows = set.rows.iter().zip(attempts.iter().map(Vec::as_slice));
    let frames = [crate::table::runs(&set.rows), crate::table::steps(rows)];
    let parent = args.file.as_deref().and_then(Path::parent);
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = |file: &Path, error: std::io::Error| {
        Failure::usage(format!("cannot write {}: {error}", file.display()))
    };
    let drafts = crate::drafts::folder(parent).map_err(|error| match &args.file {
        Some(file) => cannot(file, error),
        None => nowhere(),
    })?;
    let mut all = Vec::new();
    for ((frame, file), name) in frames.into_iter().zip(&output.files).zip(["runs", "steps"]) {
        let frame = frame.map_err(fail)?;
        let frame = if args.mask { frame.masked().map_err(fail)? } else { frame };
        let draft = drafts.path().join(name);
        let to = std::fs::File::create(&draft).map_err(|error| cannot(file, error))?;
        let mut to = Told { to, error: None };
        let mut buffer = std::io::BufWriter::new(&mut to);
        let written = frame.write_parquet(&mut buffer);
        let flushed = buffer.flush();
        drop(buffer);
        if let Some(error) = to.error {
            return Err(cannot(file, error));
        }
        flushed.map_err(|error| cannot(file, error))?;
        written.map_err(fail)?;
        all.push((draft, file.clone()));
    }
    move_all(&all, drafts.path())
}

/// A file that keeps why it could not be written: the library tells of its own form alone.
#[cfg(feature = "tables")]
struct Told {
    to: std::fs::File,
    error: Option<std::io::Error>,
}

#[cfg(feature = "tables")]
impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.to.write(bytes).map_err(|error| {
            let again = std::io::Error::new(error.kind(), error.to_string());
            if error.kind() != std::io::ErrorKind::Interrupted {
                self.error = Some(error);
            }
            again
        })
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

#[cfg(not(feature = "tables"))]
fn write(
    _: &Convert,
    _: &runs::Set,
    _: &[Vec<crate::evaluate::AttemptRow>],
    _: &Output,
) -> Result<(), Failure> {
    Err(nowhere())
}
