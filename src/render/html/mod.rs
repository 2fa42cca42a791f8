//! One self-contained HTML page for reviewers.
//!
//! Owns the page of `report`: its sections, the data that its script reads, its style and its script.
//! Everything of a trace passes through [`writer::Html`], which escapes and masks; nothing is loaded
//! from elsewhere, and a policy in the page forbids it. It is complete without its script, but for
//! the runs beyond the first. Refuses to compute figures.

mod compare;
mod data;
mod errors_add_up;
mod failures;
mod made;
mod metrics;
mod page;
mod runs;
mod timeline;
mod verdict;
mod why;
mod writer;

pub use page::{Page, PageRun, Stamp, page};
pub use why::Why;
