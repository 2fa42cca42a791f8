//! The eval config: as written, then checked and compiled.

use std::sync::Arc;

mod plan;

pub use plan::{Plan, PlanTask};

/// What readers must know of the config and the command.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Keep each attempt's JSON text in `Attempt::raw`, because an expression or `show` reads it.
    pub raw_attempts: bool,
    /// The task plan given with `--plan`.
    pub plan: Option<Arc<Plan>>,
    /// `"attempts_count": "tries"`: the `attempts` of a checkpoint counts every try, not only failed ones.
    pub attempts_count_tries: bool,
}
