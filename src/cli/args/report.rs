//! The arguments of `report`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{Against, Input, OriginFlags};

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The page to write; its name ends in .html
    #[arg(short = 'o', value_name = "FILE", required = true)]
    pub(crate) file: PathBuf,
    /// Baseline to compare with; the page opens with the verdict
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Leave tasks without a partner, and runs that are there twice, without failing for them
    #[arg(long)]
    pub(crate) allow_unmatched: bool,
    /// Put inputs, outputs, reasoning and messages of errors in the page: cut, and secrets masked
    #[arg(long)]
    pub(crate) include_content: bool,
    /// Commit to be named in the page [default: none]
    #[arg(long, value_name = "SHA")]
    pub(crate) commit: Option<String>,
    /// Time to be named in the page [default: SOURCE_DATE_EPOCH, else none; never the clock]
    #[arg(long, value_name = "RFC3339")]
    pub(crate) time: Option<String>,
    #[command(flatten)]
    pub(crate) against: Against,
}

impl Report {
    /// Time and commit as other commands take them.
    pub(crate) fn origin(&self) -> OriginFlags {
        OriginFlags { commit: self.commit.clone(), time: self.time.clone() }
    }
}
