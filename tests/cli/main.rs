//! The commands as a person runs them: output, files, exit codes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "../support/cli.rs"]
mod cli;
#[path = "../support/gate.rs"]
mod gate;
#[path = "../support/rows.rs"]
mod rows;
#[path = "../support/mod.rs"]
mod support;

mod cli_amounts;
mod cli_baseline;
mod cli_chart;
mod cli_compare;
mod cli_convert;
mod cli_damage;
mod cli_diagnose;
mod cli_exit;
mod cli_failures;
mod cli_figures;
mod cli_gate;
mod cli_gate_outputs;
mod cli_horizon;
mod cli_interrupt;
mod cli_layout;
mod cli_map;
mod cli_plan;
mod cli_query;
mod cli_report;
mod cli_review;
mod cli_same;
mod gate_errors;
mod hostile_input;
mod hostile_sizes;
