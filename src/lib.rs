//! agenteval reads the trajectories that agents leave behind and tells where they fail.

pub mod config;
pub mod expr;
pub mod ingest;
pub mod model;
pub mod stats;
