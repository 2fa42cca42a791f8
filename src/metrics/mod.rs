//! The figures over a set of rows.
//!
//! Owns the catalogue (what each figure is), how a figure and its interval are computed from rows,
//! and the analysis of a whole set. Refuses to read or to judge runs.

mod analysis;
mod by_task;
mod catalogue;
mod failures;
mod figure;
mod foremost;
mod retry_counts;
mod spent;
mod step_risk;
mod threshold;
mod trend;

/// Version of what the figures mean: raised whenever the same trace and config would give another
/// row or figure, so that stored rows are not compared with rows that were counted by other rules.
pub const DEFINITIONS: u32 = 1;

pub use analysis::{
    Analysis, Counts, Distributions, Group, Measured, OutcomeCounts, Retries, RiskiestStep, Split,
};
pub use by_task::ByTask;
pub use catalogue::{CATALOGUE, Distribution, Metric, Shape, metric};
pub use failures::{EXAMPLES, FailureGroup, Failures};
pub use figure::{ByK, DRAWS, Figure, LEVEL, SEED, Set};
pub use foremost::{Foremost, Rank};
pub use retry_counts::RetryCounts;
pub use spent::Spent;
pub use step_risk::{StepRisk, step_risks};
pub use threshold::{Bound, Standing, hold};
pub use trend::{Trend, TrendPoint};
