//! Failed runs as a library of files to commit: one file a signature, so that the same fault is the
//! same file whoever collects it.
//!
//! Owns what a failure is (a step that failed and stayed failed in a run that was not completed, or
//! a run that no such step explains), its signature and id, the file, the folder of files, what
//! people write about a failure, and whether runs bring back what was fixed. Joining what was seen
//! does not depend on order, parts or repetition. Refuses a clock and judging: runs come judged.
//!
//! Memory: at most [`MOST_SIGNATURES`] signatures of at most [`MOST_KEPT`] runs and tasks and one
//! excerpt each, however many runs are read.

mod check;
mod edit;
mod error;
mod excerpt;
mod export;
mod failure;
mod gather;
mod read;
mod sample;
mod seen;
mod signature;
mod store;
mod template;
mod write;

pub use check::{Check, Checked, Finding, check};
pub use edit::{Annotation, corrected};
pub use error::LibraryError;
pub use excerpt::{Excerpt, ExcerptStep};
pub use export::{Regression, RegressionSet, RegressionTask, regressions};
pub use failure::{Day, KnownFailure, Status, mask_json};
pub use gather::{Gathered, Gatherer, MOST_SIGNATURES};
pub use sample::{MOST_KEPT, Sample};
pub use seen::{Seen, SeenRun};
pub use signature::Signature;
pub use store::{Changes, FOLDER, Library, MAX_FILE};
pub use template::template;

/// The form of the files, and of ids.
pub const SCHEMA: &str = "agenteval.failure/1";
