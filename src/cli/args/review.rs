//! Arguments of `agenteval review`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::{PageOutput, Reading};

#[derive(Debug, ClapArgs)]
pub(crate) struct Review {
    #[command(subcommand)]
    pub(crate) command: ReviewCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// Draw runs or steps and write a sheet for people to rate, without the config's verdicts
    Sample(ReviewSample),
    /// Read filled sheets: agreement, kappa, and the completion rate corrected for the config's errors
    Score(ReviewScore),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReviewSample {
    /// Files, folders, globs, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The sheet to write (.csv or .json); FILE.key.json beside it keeps the verdicts
    #[arg(short = 'o', required = true, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Rate whole runs (this is the default)
    #[arg(long, conflicts_with = "steps")]
    pub(crate) runs: bool,
    /// Rate steps
    #[arg(long)]
    pub(crate) steps: bool,
    /// Rows of the sheet at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) size: u32,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
    /// Put inputs, outputs, errors and results into the sheet, masked and cut
    #[arg(long)]
    pub(crate) include_content: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReviewScore {
    /// Filled sheets, one for each person
    #[arg(required = true, value_name = "SHEET")]
    pub(crate) sheets: Vec<PathBuf>,
    /// The key [default: SHEET.key.json beside one of the sheets]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Correct the completion rate of these runs as well
    #[arg(long = "of", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}
