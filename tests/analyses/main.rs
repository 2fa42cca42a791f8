//! The analyses and what they stand on: baselines, comparison, rules, failures, review, expressions, tables.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "../support/cli.rs"]
mod cli;
#[path = "../support/figures_by_sql.rs"]
mod figures_by_sql;
#[path = "../support/rows.rs"]
mod rows;
#[cfg(feature = "tables")]
#[path = "../support/mod.rs"]
mod support;

mod baseline_file;
mod compare;
mod config_errors;
mod diagnose_precision;
mod diagnose_rules;
mod expressions;
mod failures;
mod parquet_peers;
mod query_figures;
mod reading_properties;
mod review;
