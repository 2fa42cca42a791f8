//! Writing results: to standard output, and to files by their ending.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use super::args::{ColorChoice, Form, Global, Output};
use super::{Failure, Outcome};
use crate::drafts::{self, DraftFile};
use crate::exit::Status;
use crate::render::{Doc, Style, markdown, text};

/// Width of tables that go to no terminal.
const PIPE_WIDTH: usize = 120;

/// A result in all its forms; each is made only if it is asked for.
pub(crate) struct Forms<'f> {
    pub(crate) doc: &'f dyn Fn() -> Doc,
    pub(crate) json: &'f dyn Fn() -> String,
    /// `None` where the command has no lines.
    pub(crate) ndjson: Option<&'f dyn Fn() -> String>,
    pub(crate) csv: Option<&'f dyn Fn() -> String>,
    /// For test reporters of CI; `None` where the command judges nothing.
    pub(crate) junit: Option<&'f dyn Fn() -> String>,
    /// For code scanning; `None` where the command finds nothing.
    pub(crate) sarif: Option<&'f dyn Fn() -> String>,
    /// The bytes of a Parquet file; `None` where the command has no table.
    pub(crate) parquet: Option<&'f dyn Fn() -> Result<Vec<u8>, Failure>>,
}

impl<'f> Forms<'f> {
    /// Of a command that has tables, Markdown and JSON alone.
    pub(crate) fn page(doc: &'f dyn Fn() -> Doc, json: &'f dyn Fn() -> String) -> Self {
        Self { doc, json, ndjson: None, csv: None, junit: None, sarif: None, parquet: None }
    }
}

/// The form that a file's ending asks for.
fn form_of(path: &Path) -> Result<Form, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Ok(Form::Json),
        Some("ndjson" | "jsonl") => Ok(Form::Ndjson),
        Some("csv") => Ok(Form::Csv),
        Some("md") => Ok(Form::Markdown),
        Some("txt") => Ok(Form::Table),
        Some("parquet") => Ok(Form::Parquet),
        Some("xml") => Ok(Form::Junit),
        Some("sarif") => Ok(Form::Sarif),
        Some("html" | "htm") => Ok(Form::Html),
        _ => Err(Failure::usage(format!(
            "-o {}: no output has this ending; known: .json .ndjson .csv .md .txt .parquet .xml .sarif .html",
            path.display()
        ))),
    }
}

/// The kinds of output that a command has beside tables, JSON and Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    /// None.
    Nothing,
    /// Lines of figures or rows: CSV, NDJSON and Parquet.
    Lines,
    /// Reports for CI: JUnit, SARIF and a page.
    Reports,
    /// Findings for code scanning: SARIF.
    Findings,
}

/// Checks that every form that was asked for exists, before any work is done.
pub(crate) fn check(output: &Output, more: More) -> Result<(), Failure> {
    let mut forms = vec![output.output];
    for file in &output.files {
        forms.push(form_of(file)?);
        keep_baselines(file)?;
    }
    let tabular = |form: &Form| matches!(form, Form::Csv | Form::Ndjson | Form::Parquet);
    if more != More::Lines && forms.iter().any(tabular) {
        return Err(Failure::usage("this command has no csv, ndjson or parquet output; use json"));
    }
    let report =
        |form: &Form| *form == Form::Junit || (*form == Form::Sarif && more != More::Findings);
    if more != More::Reports && forms.iter().any(report) {
        return Err(Failure::usage(
            "this command has no JUnit or SARIF output: `agenteval gate` has; use json",
        ));
    }
    if more != More::Reports && forms.contains(&Form::Html) {
        return Err(Failure::usage(
            "this command writes no page: `agenteval report PATH... -o FILE.html` does, and `agenteval gate`",
        ));
    }
    if cfg!(not(feature = "tables")) && forms.contains(&Form::Parquet) {
        return Err(Failure::usage(
            "this agenteval was built without tables, so it writes no Parquet: build it without `--no-default-features`, or use .ndjson or .csv",
        ));
    }
    Ok(())
}

/// Refuses to write over a stored baseline: only `agenteval baseline` moves one.
pub(crate) fn keep_baselines(file: &Path) -> Result<(), Failure> {
    let mut head = Vec::new();
    if file.is_file()
        && let Ok(opened) = std::fs::File::open(file)
    {
        // What cannot be read is told by whoever writes it.
        drop(opened.take(BASELINE_HEAD).read_to_end(&mut head));
    }
    if String::from_utf8_lossy(&head).contains(crate::baseline::SCHEMA) {
        return Err(Failure::usage(format!(
            "-o {}: this is a stored baseline; name another file",
            file.display()
        )));
    }
    Ok(())
}

/// Bytes in which the schema of a baseline stands.
pub(crate) const BASELINE_HEAD: u64 = 200;

/// Refuses to write over what is read: traces, config or plan.
pub(crate) fn guard<'p>(
    output: &Output,
    read: impl Iterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let target = |file: &'_ PathBuf| file.canonicalize().ok().filter(|target| target.is_file());
    let targets: Vec<_> = output.files.iter().filter_map(|f| Some((f, target(f)?))).collect();
    if targets.is_empty() {
        return Ok(());
    }
    let read: HashSet<_> = read.filter_map(|path| path.canonicalize().ok()).collect();
    if let Some((file, _)) = targets.iter().find(|(_, target)| read.contains(target)) {
        return Err(Failure::usage(format!(
            "-o {}: this file is read by the same command; name another",
            file.display()
        )));
    }
    Ok(())
}

/// Writes a result to standard output and to the files asked for.
pub(crate) fn emit(forms: &Forms<'_>, output: &Output, global: &Global) -> Result<(), Failure> {
    for file in &output.files {
        let form = form_of(file)?;
        if form == Form::Html {
            // A page needs more than a result: its command writes it.
            continue;
        }
        if form == Form::Parquet {
            let Some(parquet) = forms.parquet else {
                return Err(Failure::usage("this command writes no Parquet"));
            };
            write_file(file, &parquet()?)?;
        } else {
            let content = content(forms, form, Style { width: PIPE_WIDTH, color: false });
            write_file(file, content.as_bytes())?;
        }
    }
    print(&content(forms, output.output, style(global))).map(|_| ())
}

fn content(forms: &Forms<'_>, form: Form, style: Style) -> String {
    match form {
        Form::Table => text(&(forms.doc)(), style),
        Form::Markdown => markdown(&(forms.doc)()),
        Form::Json => (forms.json)(),
        Form::Ndjson => forms.ndjson.map(|lines| lines()).unwrap_or_default(),
        Form::Csv => forms.csv.map(|lines| lines()).unwrap_or_default(),
        Form::Junit => forms.junit.map(|report| report()).unwrap_or_default(),
        Form::Sarif => forms.sarif.map(|report| report()).unwrap_or_default(),
        // Never asked for here: one is no text, and pages are written by their own command.
        Form::Html | Form::Parquet => String::new(),
    }
}

/// Width and colour of standard output.
pub(crate) fn style(global: &Global) -> Style {
    let terminal = std::io::stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    let measured = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = columns.or(measured.filter(|_| terminal)).unwrap_or(PIPE_WIDTH);
    let color = match global.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            terminal
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    };
    Style { width: width.max(40), color }
}

/// Writes to standard output. A reader that has gone away is no error.
pub(crate) fn print(content: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    printed(out.write_all(content.as_bytes()).and_then(|()| out.flush()))
}

/// How a command ends whose result went to standard output.
pub(crate) fn printed(written: std::io::Result<()>) -> Outcome {
    match written {
        Ok(()) => Ok(Status::Done),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Status::Done),
        Err(error) => Err(Failure::usage(format!("cannot write to standard output: {error}"))),
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut draft = Draft::begin(path)?;
    draft.write_all(content).map_err(|error| cannot_write(path, error))?;
    draft.finish()
}

fn cannot_write(path: &Path, error: std::io::Error) -> Failure {
    let folder = path.parent().filter(|_| error.kind() == ErrorKind::NotFound);
    match folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        Some(folder) => Failure::usage(format!(
            "cannot write {}: there is no folder {}; make it first",
            path.display(),
            folder.display()
        )),
        None => Failure::usage(format!("cannot write {}: {error}", path.display())),
    }
}

/// A file that is written whole or not at all: beside its place first, then moved there. Dropped
/// before it is finished, it leaves nothing.
pub(crate) struct Draft {
    path: PathBuf,
    to: Place,
}

enum Place {
    /// A device or pipe is written to as it is.
    Direct(File),
    /// A new file, and what it becomes.
    Beside(BufWriter<DraftFile>, PathBuf),
}

impl Draft {
    pub(crate) fn begin(path: &Path) -> Result<Self, Failure> {
        let fail = |error: std::io::Error| cannot_write(path, error);
        if path.exists() && !path.is_file() {
            let file = std::fs::OpenOptions::new().write(true).open(path).map_err(fail)?;
            return Ok(Self { path: path.to_owned(), to: Place::Direct(file) });
        }
        // A link stays one: what it points to is written.
        let target =
            if path.is_symlink() { path.canonicalize().map_err(fail)? } else { path.to_owned() };
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let file = drafts::file(folder).map_err(fail)?;
        Ok(Self { path: path.to_owned(), to: Place::Beside(BufWriter::new(file), target) })
    }

    /// Puts the file in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let path = self.path;
        let fail = |error: std::io::Error| cannot_write(&path, error);
        match self.to {
            Place::Direct(mut file) => file.flush().map_err(fail),
            Place::Beside(file, target) => {
                let file = file.into_inner().map_err(|error| fail(error.into_error()))?;
                // A file that is there keeps its rights.
                if let Ok(data) = target.metadata() {
                    file.set_permissions(data.permissions()).map_err(fail)?;
                }
                file.put(&target).map_err(fail)
            }
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.to {
            Place::Direct(file) => file.write(bytes),
            Place::Beside(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.to {
            Place::Direct(file) => file.flush(),
            Place::Beside(file, _) => file.flush(),
        }
    }
}

/// Adds to the end of a file that others write too, such as the summary of a CI job.
pub(crate) fn append_file(path: &Path, content: &str) -> Result<(), Failure> {
    let fail =
        |error: std::io::Error| Failure::usage(format!("cannot write {}: {error}", path.display()));
    let mut file =
        std::fs::OpenOptions::new().append(true).create(true).open(path).map_err(fail)?;
    file.write_all(content.as_bytes()).map_err(fail)
}
