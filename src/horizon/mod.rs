//! How runs fare step by step: how many get how far without a failure, how risky each step is, and
//! which errors come where.
//!
//! Owns the choice of runs that are followed, their censoring (`STATISTICS.md`, 4.1 and 4.2), and
//! steps put together so that a table stays readable. The formulas are in `stats/`. Refuses to
//! judge runs; what lies beyond the steps that were seen is labelled, and withheld where the runs
//! reject the model.

mod accumulate;
mod places;
mod survival;
mod time;

pub use accumulate::{
    Accumulation, Censored, Constancy, GeometricRisk, Length, Projection, SLOPE_DRAWS, SLOPE_SEED,
    Verdict,
};
pub use places::{ErrorGrid, ErrorPlace, Places, Split, error_places};
pub use survival::{HazardBin, Survival};
pub use time::{AgentHorizon, FAMILY, LengthBin, MINUTES, time_horizons};

pub use crate::stats::{HorizonAt, TimeHorizon, Weibull, survival_to};
