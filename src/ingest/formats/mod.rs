//! The list of formats, and what a format is.
//!
//! A format is one file: its wire structs, which stay private, and its mapping to
//! [`Trajectory`]. It sees one record at a time and never opens files; `ingest/` finds,
//! decompresses and splits them. A new format is one file, one line in [`FORMATS`], a fixture
//! and a test.
//!
//! Invariant: parsing never fails as a whole. A record becomes runs or parts of runs, or is
//! ignored or merged by a named rule, or is refused with a reason.

mod agent_log;
pub mod agent_task;
pub mod anthropic;
pub mod atif;
pub mod autogen;
mod calls;
pub mod checkpoints;
pub mod claude_code;
pub mod claude_stream;
pub mod codex;
pub mod codex_exec;
mod coding;
mod detect;
mod evidence;
pub mod gemini_cli;
pub mod harbor;
pub mod inspect_ai;
pub mod jaeger;
mod kept;
pub mod langchain;
pub mod langfuse;
pub mod langsmith;
pub mod mapped;
pub mod mcpmark;
mod message_dumps;
mod message_list;
pub mod mini_swe_agent;
pub mod mlflow;
pub mod native;
pub mod openai_agents;
pub mod openai_chat;
pub mod openai_responses;
pub mod openhands;
pub mod openinference;
mod others;
pub mod otlp;
pub mod pydantic_ai;
mod raw;
pub mod runs_table;
pub mod sidecars;
pub mod smolagents;
mod span_record;
pub mod steplog;
pub mod swe_agent;
pub mod tau2;
pub mod tau_bench;
pub mod temporal;
pub mod terminal_bench;
mod transcript;
pub mod vercel_ai;
pub mod who_and_when;

use std::borrow::Cow;
use std::path::Path;

use super::scan::top_keys;
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{Issue, Place, Severity, Tags, Trajectory, marked_float};

pub use detect::{Unclaimed, by_name, detect, detect_knowing};
use message_list::Family;

/// Whether the second of two records in a row repeats the messages of the first.
pub(super) type Repeats = fn(&[u8], &[u8]) -> bool;

/// Whether records of a format are requests to a model, each of which may repeat the one before, and
/// what tells that two in a row do.
pub(super) fn history_of(format: &Format) -> Option<Repeats> {
    let lists = [
        openai_chat::OPENAI_CHAT.name,
        anthropic::ANTHROPIC.name,
        openai_responses::OPENAI_RESPONSES.name,
        vercel_ai::VERCEL_AI.name,
    ];
    lists.contains(&format.name).then_some(message_list::history::repeats)
}

pub(super) use message_list::history::told as history_repeated;

/// Largest member of an archive that is read, in bytes after decompression.
pub const MEMBER_LIMIT: u64 = 1 << 30;

/// Every format, in the order in which detection asks them.
pub static FORMATS: &[Format] = &[
    tau_bench::TAU_BENCH,
    tau2::TAU2,
    swe_agent::SWE_AGENT,
    mini_swe_agent::MINI_SWE_AGENT,
    openhands::OPENHANDS,
    atif::ATIF,
    harbor::HARBOR,
    terminal_bench::TERMINAL_BENCH,
    mcpmark::MCPMARK,
    who_and_when::WHO_AND_WHEN,
    inspect_ai::INSPECT_AI,
    otlp::OTLP,
    claude_code::CLAUDE_CODE,
    openinference::OPENINFERENCE,
    jaeger::JAEGER,
    langfuse::LANGFUSE,
    langsmith::LANGSMITH,
    mlflow::MLFLOW,
    openai_agents::OPENAI_AGENTS,
    claude_stream::CLAUDE_STREAM,
    codex::CODEX,
    codex_exec::CODEX_EXEC,
    gemini_cli::GEMINI_CLI,
    temporal::TEMPORAL,
    agent_task::AGENT_TASK,
    checkpoints::CHECKPOINTS,
    steplog::STEPLOG,
    pydantic_ai::PYDANTIC_AI,
    autogen::AUTOGEN,
    smolagents::SMOLAGENTS,
    langchain::LANGCHAIN,
    vercel_ai::VERCEL_AI,
    anthropic::ANTHROPIC,
    openai_responses::OPENAI_RESPONSES,
    openai_chat::OPENAI_CHAT,
    runs_table::RUNS_TABLE,
    native::NATIVE,
];

/// One record of an input file: a line, a document, an element of an array, or a member of an archive.
#[derive(Debug, Clone, Copy)]
pub struct Record<'r> {
    /// The record's bytes, one JSON value, without separators.
    pub bytes: &'r [u8],
    /// Where it stands.
    pub place: Place,
    /// Path of the file, as given or found; the member's name for archives.
    pub path: &'r Path,
}

impl Record<'_> {
    /// First byte of the record in the file, and the byte after its last one.
    #[must_use]
    pub fn span(&self) -> (u64, u64) {
        (self.place.byte, self.place.byte + self.bytes.len() as u64)
    }

    /// The same of a value that is a slice of the record; `None` where it is none.
    #[must_use]
    pub fn span_of(&self, part: &serde_json::value::RawValue) -> Option<(u64, u64)> {
        let offset = (part.get().as_ptr() as usize).checked_sub(self.bytes.as_ptr() as usize)?;
        let end = offset.checked_add(part.get().len())?;
        let from = self.place.byte;
        (end <= self.bytes.len()).then_some((from + offset as u64, from + end as u64))
    }
}

/// What the start of a file looks like, for detection.
#[derive(Debug)]
pub struct Probe<'p> {
    /// Path of the file; a hint at most, never proof.
    pub path: &'p Path,
    /// The first records of the file; the last may be cut off.
    pub records: Vec<&'p [u8]>,
    /// Whether the file is one top-level array (its elements are then `records`).
    pub in_array: bool,
    /// Whether these are all of the records that detection looks at, and not one of them by itself.
    pub(super) together: bool,
    /// Whether this is the header row of delimited text.
    pub of_table: bool,
    /// The keys at the top level of each record.
    keys: Vec<Vec<String>>,
    /// The API of the first record's messages, once a format has asked.
    family: std::cell::OnceCell<Option<Family>>,
}

impl<'p> Probe<'p> {
    /// A probe of the first records of a file.
    #[must_use]
    pub fn new(path: &'p Path, records: Vec<&'p [u8]>, in_array: bool) -> Self {
        Self::knowing(path, records, in_array, None)
    }

    /// The same where the keys of the first record are known.
    #[must_use]
    pub(super) fn knowing(
        path: &'p Path,
        records: Vec<&'p [u8]>,
        in_array: bool,
        first: Option<Vec<String>>,
    ) -> Self {
        let known = usize::from(first.is_some());
        let others = records.iter().skip(known).map(|record| top_keys(record));
        let keys = first.into_iter().chain(others).collect();
        Self {
            path,
            records,
            in_array,
            together: true,
            of_table: false,
            keys,
            family: Default::default(),
        }
    }

    /// A probe of a table: its one record is the header row, whose keys are the names of the columns.
    #[must_use]
    pub fn of_header(path: &'p Path, header: &'p [u8], names: Vec<String>) -> Self {
        let keys = vec![names];
        Self {
            path,
            records: vec![header],
            in_array: false,
            together: true,
            of_table: true,
            keys,
            family: Default::default(),
        }
    }

    /// The same probe with one record alone.
    pub(super) fn alone(&self, at: usize) -> Option<Self> {
        let (record, keys) = (*self.records.get(at)?, self.keys.get(at)?.clone());
        Some(Self {
            path: self.path,
            records: vec![record],
            in_array: self.in_array,
            together: false,
            of_table: self.of_table,
            keys: vec![keys],
            family: Default::default(),
        })
    }

    /// Whether one of the records is an object that has all of these keys at its top level.
    #[must_use]
    pub fn any_has(&self, keys: &[&str]) -> bool {
        self.keys.iter().any(|found| keys.iter().all(|key| found.iter().any(|have| have == key)))
    }

    /// The keys at the top level of each record.
    #[must_use]
    pub fn keys(&self) -> &[Vec<String>] {
        &self.keys
    }
}

/// Runs that one record gave, and what was noticed on the way.
#[derive(Debug, Default)]
pub struct Parsed<'a> {
    /// The runs.
    pub runs: Vec<Trajectory<'a>>,
    /// What was noticed.
    pub issues: Vec<Issue>,
}

/// Why a record could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Stable code, such as `invalid_json` or `step_without_type`.
    pub code: &'static str,
    /// The reason, as a lowercase fragment.
    pub message: String,
    /// True for a fault of form (a number where a text is due is one, broken JSON is one): the record is
    /// then repaired if it can be (NaN, duplicate keys, bad UTF-8, ...) and tried once more.
    pub repairable: bool,
}

/// The code of a record that ends too early.
pub const TRUNCATED: &str = "truncated_record";

impl Refusal {
    /// A record that is sound JSON but not what the format needs.
    pub fn of(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), repairable: false }
    }
}

/// A whole number as typed, or the refusal of the record whose `field` is there and is none.
fn whole(scalar: &native::fields::Scalar<'_>, field: &str) -> Result<Option<u32>, Refusal> {
    scalar.whole().map_err(|found| {
        Refusal::of("unreadable_number", format!("`{field}` is {found}, not a whole number"))
    })
}

impl From<serde_json::Error> for Refusal {
    fn from(error: serde_json::Error) -> Self {
        let code = match error.classify() {
            serde_json::error::Category::Eof => TRUNCATED,
            serde_json::error::Category::Data => "unexpected_value",
            _ => "invalid_json",
        };
        Self { code, message: error.to_string(), repairable: true }
    }
}

/// What became of a record that is a part of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is part of a run.
    Used,
    /// It says the same as, or completes, another record; the name of the rule.
    Merged(&'static str),
    /// It holds nothing that any figure reads; the name of the rule.
    Ignored(&'static str),
    /// It could not be read.
    Refused(Refusal),
}

/// Collects the records of all files of one format and makes runs of them.
pub trait Assembler: Send {
    /// Takes one record. Must not keep borrowed bytes.
    fn push(&mut self, record: &Record<'_>) -> Fate;
    /// Takes one record that was rewritten before: only its start is where the file has it.
    fn push_repaired(&mut self, record: &Record<'_>) -> Fate {
        self.push(record)
    }
    /// Gives out a run that is over before all records were met, if there is one. It is asked for only
    /// where no other file can hold more of it, again after each record.
    fn give_out(&mut self) -> Option<Trajectory<'static>> {
        None
    }
    /// Joins what was collected and not given out. The order of runs is that of their first record.
    fn finish(self: Box<Self>) -> Parsed<'static>;
}

/// How a format is read.
#[derive(Clone, Copy)]
pub enum Reader {
    /// Each record is whole runs by itself; records are read in parallel.
    Whole(for<'r> fn(&Record<'r>, &ReadOptions) -> Result<Parsed<'r>, Refusal>),
    /// Records are parts of runs, in one file or several.
    Parts(fn(&ReadOptions) -> Box<dyn Assembler>),
    /// Rows of a table, each a run; rows are read in parallel. They are delimited text under a
    /// header row, of which detection sees the header alone ([`Probe::of_header`]), or JSON objects.
    Rows(OpenTable),
    /// Records are parts of runs, as with [`Reader::Parts`], or the same as rows of delimited text
    /// under a header row: each row is then handed over as a JSON object of its cells by column,
    /// all of them texts; a cell that is empty or `\N` is `null`. Detection sees of a table the
    /// header alone ([`Probe::of_header`]).
    PartsOrRows(fn(&ReadOptions) -> Box<dyn Assembler>),
}

/// Makes the reader of the rows under these columns, of which the last is named; or says, as a
/// lowercase fragment, why there is none.
pub type OpenTable = fn(names: &[String]) -> Result<Box<dyn RowReader>, String>;

/// One row of a table.
#[derive(Debug)]
pub struct Row<'r> {
    /// Its fields without quotes, as many as there are columns; empty where the row says nothing.
    pub fields: Vec<Cow<'r, str>>,
    /// Where it starts.
    pub place: Place,
    /// The row as JSON text, where it is an object.
    pub written: Option<&'r str>,
}

/// The members of a record that is an object, each value as the text of a cell: strings without
/// quotes, null as nothing, arrays and objects as JSON text.
pub(super) fn entries(bytes: &[u8]) -> Result<Tags<'_>, Refusal> {
    let members: raw::Entries<'_> = quick::from_slice(bytes)?;
    Ok(members
        .0
        .into_iter()
        .map(|(key, value)| {
            let text = match value.get() {
                "null" => Cow::Borrowed(""),
                written => match raw::text(value) {
                    Some(text) => match marked_float(&text) {
                        // A number that JSON cannot write, as data frames spell it.
                        Some(number) => Cow::Owned(number.to_string()),
                        None => text,
                    },
                    None => Cow::Borrowed(written),
                },
            };
            (key, text)
        })
        .collect())
}

/// Reads the rows of one table; shared between threads.
pub trait RowReader: Send + Sync {
    /// What the header alone tells, with code and message: told once for the file.
    fn notices(&self) -> Vec<(&'static str, Severity, String)>;
    /// Reads one row.
    ///
    /// # Errors
    /// Refuses a row that cannot be a run.
    fn read<'r>(&self, row: Row<'r>) -> Result<Parsed<'r>, Refusal>;
}

/// Whether an archive with these member names is of a format.
pub type IsArchive = fn(&[&str]) -> bool;

/// Tells what is misspelt in a record, each as a sentence; with the keys at its top level, where they
/// are known before.
pub type Misspelt = fn(&[u8], Option<&[String]>) -> Vec<String>;

/// Gets the runs of one archive, one member at a time.
pub type ReadArchive = fn(
    archive: &mut zip::ZipArchive<std::fs::File>,
    file: Place,
    options: &ReadOptions,
    sink: &mut dyn FnMut(Result<Parsed<'_>, (Place, Refusal)>),
);

/// One format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name for `--format` and in reports.
    pub name: &'static str,
    /// What its files are, for messages; a noun phrase.
    pub about: &'static str,
    /// Whether the start of a file looks like it.
    pub detect: fn(&Probe<'_>) -> bool,
    /// Keys of a wrapping object whose array holds the records, such as `traces`.
    pub wrappers: &'static [&'static str],
    /// Whether the elements of a top-level array are records (else the array is one record).
    pub splits_arrays: bool,
    /// How records are read.
    pub reader: Reader,
    /// Whether a zip archive with these member names is of this format, and how it is read.
    pub archive: Option<(IsArchive, ReadArchive)>,
    /// Tells the keys of a record that are spelt almost like ones that are read.
    pub misspelt: Option<Misspelt>,
}
