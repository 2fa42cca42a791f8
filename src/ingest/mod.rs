//! From paths to trajectories.
//!
//! Owns finding and opening files, detection, cutting streams into records, reading records in
//! parallel while results keep the order of the input, and the tally of what became of each record.
//! Refuses to judge: a run is handed on as it was recorded. Damage is data: it is counted and
//! located; only input that cannot be used at all is an error.

mod archive;
pub mod assemble;
mod begun;
mod block;
mod booking;
pub mod delimited;
mod feed;
pub mod formats;
mod joins;
mod json_rows;
mod lanes;
mod parallel;
mod parts;
pub mod quick;
mod read;
pub mod repair;
mod rows;
pub mod scan;
mod small;
mod source;
mod spelling;
pub mod split;
mod starts;
mod stream;
mod suggest;
mod tally;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use formats::mapped::suggest::Suggested;
pub use read::{MAX_RECORD, Request, Visitor, read};
pub use source::{Source, Sources, find};
pub use stream::read_stream;
pub use suggest::{suggest_mapping, suggest_mapping_of};
pub use tally::{FileTally, KEPT_REJECTIONS, LeftOut, Tally};

/// Input that cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A path that does not exist or cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A named file whose form no reader knows.
    #[error("{}: {reason}", path.display())]
    Unrecognised {
        /// The path.
        path: PathBuf,
        /// What it looks like, and what would be needed.
        reason: String,
    },
    /// The first thing that is lost, under `--strict`: a rejected record or part of one, the rest of a
    /// stream or array that breaks off.
    #[error("{place}: {reason} (--strict stops at the first loss)")]
    Strict {
        /// `FILE:LINE` or `FILE@BYTE`.
        place: String,
        /// Code and reason.
        reason: String,
    },
    /// A name for `--format` that is none.
    #[error("unknown format `{given}`; {hint}")]
    UnknownFormat {
        /// The name given.
        given: String,
        /// The nearest name, or all of them.
        hint: String,
    },
}

impl ReadError {
    /// Something found that cannot be read, under `--strict`.
    fn unreadable_input(path: &Path, reason: &str) -> Self {
        let reason = format!("{reason} (--strict stops at the first loss)");
        Self::Unreadable { path: path.to_owned(), reason }
    }
}
