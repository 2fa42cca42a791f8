//! One trajectory and a config become one [`RunRow`]: what passed, what belongs together, what it counts.
//!
//! Owns the rules of `METRICS.md` up to the counts of a single run. Pure: no input or output, no
//! clock. Refuses to aggregate; that is `metrics/`.

mod attempt;
mod attempts;
mod brief;
mod contents;
mod count;
mod error_type;
mod group;
mod judge;
mod measure;
mod names;
mod outcome;
mod row;
mod run_fields;
mod timeline;
mod word_list;

pub use attempt::Verdict;
pub use attempts::AttemptRow;
pub(crate) use brief::is_word;
pub use brief::{Brief, BriefAttempt, BriefStep, MOST_ATTEMPTS};
pub use contents::{ContentKind, Contents, MOST_CHARACTERS, RecordedText};
pub use judge::{Judge, JudgeState, Notes};
pub use names::Name;
pub(crate) use names::Names;
pub use row::{ErrorCount, Limit, MidRun, Outcome, RunRow};
pub use timeline::{Timeline, TimelineAttempt, TimelineStep};
pub(crate) use word_list::WordList;
