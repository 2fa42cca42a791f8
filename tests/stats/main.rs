//! The statistics against vectors, and their properties.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/vectors.rs"]
mod vectors;

mod stats_properties;
mod stats_properties_compare;
mod stats_vectors;
mod stats_vectors_compare;
mod stats_vectors_hazard;
mod stats_vectors_survival;
