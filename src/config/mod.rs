//! The eval config: as written, then checked and compiled.
//!
//! Owns: the form of the file (`wire.rs`), its places (`source.rs`), the checks between the two
//! (`parse.rs`, `keys.rs` with `key_walk.rs`, `check.rs`), the config as used ([`EvalConfig`]), the error taxonomy, the JSON
//! Schema, task plans, and what readers must know ([`ReadOptions`]). Refuses: judging runs, and
//! guessing: what it does not know is an error that names the nearest it knows.

use std::sync::Arc;

mod check;
mod error;
mod key_walk;
mod keys;
pub mod mapping;
mod parse;
mod plan;
mod schema;
mod source;
mod taxonomy;
mod used;
mod wire;

pub use error::ConfigError;
pub use mapping::{MAPPING_SCHEMA, Mapping, mapping_schema};
pub use parse::MAX_CONFIG;
pub use plan::{MAX_PLAN, Plan, PlanError, PlanTask};
pub use schema::config_schema;
pub use taxonomy::{Classified, Taxonomy};
pub use used::{
    CONFIG_FILE, DEFAULT_GATE_METRICS, EvalConfig, GateConfig, Limits, Margin, MidRun,
    StepSelection, Threshold,
};
pub use wire::{
    AttemptsCount, Blame, DiagnoseLevel, DiagnoseRule, ExitCodes, Inconclusive, Infra, Unfinished,
};

/// What readers must know of the config and the command.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Keep each attempt's JSON text in `Attempt::raw`, because an expression or `show` reads it.
    pub raw_attempts: bool,
    /// The task plan given with `--plan`.
    pub plan: Option<Arc<Plan>>,
    /// The field mapping given with `--map`.
    pub mapping: Option<Arc<Mapping>>,
    /// `"attempts_count": "tries"`: the `attempts` of a checkpoint counts every try, not only failed ones.
    pub attempts_count_tries: bool,
    /// Reads Parquet files, where this build can; set by the command.
    pub parquet: Option<ReadParquet>,
}

/// Turns the bytes of a Parquet file into JSON lines, a row a line; or says, as a lowercase
/// fragment, why it cannot.
pub type ReadParquet = fn(Vec<u8>) -> Result<Vec<u8>, String>;
