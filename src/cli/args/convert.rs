//! The arguments of `convert` and `query`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::{Input, Output};

/// What contents become, and where they go.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Write to this file, whose ending picks the form: .json .ndjson (native), .parquet (runs; the
    /// steps go to NAME.steps.parquet beside it), .atif.json .atif.ndjson; or to this folder with
    /// --to atif, a file a run
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The form, where the ending names none or the same; without -o it goes to standard output
    #[arg(long, value_enum)]
    pub(crate) to: Option<To>,
    /// Mask secrets; without it contents are written as they are, keys and tokens among them
    #[arg(long)]
    pub(crate) mask: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// An array of runs in the native form
    Native,
    /// A run a line, in the native form
    Ndjson,
    /// Agent Trajectory Interchange Format, v1.6
    Atif,
    /// Tables, for -o alone
    Parquet,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Query {
    /// One SELECT over the tables runs and steps
    pub(crate) sql: String,
    /// Give the SQL up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) output: Output,
}
