//! From paths to trajectories.

pub mod formats;
pub mod scan;
