//! agenteval reads the trajectories that agents leave behind and tells where they fail, how often,
//! and whether a change made them worse.
//!
//! Data walks one way: paths, [`ingest`], [`model::Trajectory`], [`evaluate`], rows, [`metrics`],
//! [`render`]. `docs/architecture.md` has the map.

pub mod baseline;
pub mod cli;
pub mod compare;
pub mod config;
pub mod convert;
pub mod diagnose;
pub mod drafts;
pub mod evaluate;
pub mod exit;
pub mod expr;
pub mod failures;
pub mod horizon;
pub mod ingest;
pub mod metrics;
pub mod model;
pub mod render;
pub mod review;
pub mod stats;
pub mod table;
