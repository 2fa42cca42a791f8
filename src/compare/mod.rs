//! Two sets of runs, and whether one is worse than the other.
//!
//! Owns pairing by task, the choice of test by the kind of figure, the gate with its four verdicts,
//! and planning of sizes. The method is `STATISTICS.md`, sections 2, 3 and 5; the formulas are in
//! `stats/`. Refuses to read or judge runs, and to say "no regression" where the evidence is thin.

mod broken;
mod comparison;
mod errors;
mod evidence;
mod forest;
mod gate;
mod needed;
mod paired;
mod pairing;
mod plan;
mod played;
mod sample;
mod summary;
mod thresholds;
mod unpaired;
mod verdict;

pub use broken::{BrokenTask, FallenTask, GUARD_SHARE, Guard, broken_tasks};
pub use comparison::{ComparedMetric, Comparison};
pub use errors::{ErrorChanges, ErrorSignature, LEAST_SHIFT, MixShift};
pub use evidence::{Evidence, Kind, POWER, Spread, TestOptions};
pub use forest::{Forest, ForestRow, ForestScale};
pub use gate::{Gate, GateOptions, GatedMetric, Notice};
pub use needed::{MoreTrials, Needed, Shows, SizeLevels};
pub use pairing::{Duplicate, Mode, PairedTask, Pairing, PairingOptions, Side};
pub use plan::{Expected, Plan, PlanQuestion, Scale, Size, Sureness};
pub use sample::{Part, Sample, TaskSample, counted};
pub use summary::PairingSummary;
pub use thresholds::{HeldThreshold, thresholds};
pub use verdict::{Harm, Levels, Verdict, decide};
