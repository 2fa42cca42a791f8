//! From paths to trajectories.

pub mod formats;
pub mod repair;
pub mod scan;
pub mod split;
