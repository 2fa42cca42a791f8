//! Arguments of `agenteval budgets` and `agenteval readiness`.

use clap::Args as ClapArgs;

use super::{Input, PageOutput};

#[derive(Debug, ClapArgs)]
pub(crate) struct BudgetsArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Share of completed runs that shall keep a limit
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub(crate) quantile: f64,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReadinessArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Success that a node needs to do without an approval
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub(crate) target: f64,
    /// Count a step by its first attempt instead of by its last
    #[arg(long)]
    pub(crate) first_attempt: bool,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}
