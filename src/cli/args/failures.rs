//! Arguments of `agenteval failures`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::{Input, PageOutput};

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct FailuresArgs {
    #[command(subcommand)]
    pub(crate) command: FailuresCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FailuresCommand {
    /// Take the failures of runs into the library; the same runs again change nothing
    Collect(FailuresCollect),
    /// List the failures of the library
    List(FailuresList),
    /// Show one failure
    Show(FailuresShow),
    /// Write what people know of a failure: status, notes, what should have come out
    Annotate(FailuresAnnotate),
    /// Exit with 1 where runs have a failure that was fixed, or whose quarantine has ended
    Check(FailuresCheck),
    /// Write the tasks of failures as a regression set
    Export(FailuresExport),
}

/// Where the library is.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct LibraryFlag {
    /// Folder of the library [default: .agenteval/failures in this folder or above]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct FailuresCollect {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) store: LibraryFlag,
    /// Also take failed attempts that were made good later, and those of completed runs
    #[arg(long)]
    pub(crate) recovered: bool,
    /// Keep inputs and outputs of the steps in excerpts, masked and cut
    #[arg(long)]
    pub(crate) include_content: bool,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct FailuresList {
    #[command(flatten)]
    pub(crate) store: LibraryFlag,
    /// Only failures with one of these statuses
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STATUS")]
    pub(crate) status: Vec<StatusWord>,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct FailuresShow {
    /// The id, or as much of its start as tells it from others
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) store: LibraryFlag,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct FailuresAnnotate {
    /// The id, or as much of its start as tells it from others
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) store: LibraryFlag,
    /// What was decided
    #[arg(long, value_enum)]
    pub(crate) status: Option<StatusWord>,
    /// Last day of the quarantine, such as 2026-03-31
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<String>,
    /// Add a note
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Keep what should have come out: JSON, or a text
    #[arg(long, value_name = "FILE")]
    pub(crate) corrected_output: Option<PathBuf>,
    /// The task that the corrected output is right for [default: the task of the excerpt]
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct FailuresCheck {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) store: LibraryFlag,
    /// The day that quarantines are held against [default: today in UTC]
    #[arg(long, value_name = "DATE")]
    pub(crate) today: Option<String>,
    /// What to do where there is no library
    #[arg(long, value_enum, default_value_t = LibraryMissing::Fail)]
    pub(crate) missing: LibraryMissing,
    /// What to do about failures that the library does not have
    #[arg(long, value_enum, default_value_t = NewFailures::Warn)]
    pub(crate) new: NewFailures,
    /// Also look at failed attempts that were made good later, and those of completed runs
    #[arg(long)]
    pub(crate) recovered: bool,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct FailuresExport {
    #[command(flatten)]
    pub(crate) store: LibraryFlag,
    /// Only failures with one of these statuses
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "STATUS",
        default_value = "known,fixed"
    )]
    pub(crate) status: Vec<StatusWord>,
    /// Form of the output, where no file is named
    #[arg(long, value_enum, default_value_t = ExportForm::Ndjson)]
    pub(crate) output: ExportForm,
    /// Write a file instead; its ending picks the form (.ndjson .json .csv)
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusWord {
    New,
    Known,
    Fixed,
    Quarantined,
}

impl StatusWord {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Known => "known",
            Self::Fixed => "fixed",
            Self::Quarantined => "quarantined",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewFailures {
    /// Tell them, and pass
    Warn,
    /// Exit with 1
    Fail,
    /// Say nothing
    Ignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LibraryMissing {
    /// Exit with 2: nothing could be back
    Fail,
    /// Warn, and hold against an empty one: for a first run
    Ok,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    Ndjson,
    Json,
    Csv,
}
