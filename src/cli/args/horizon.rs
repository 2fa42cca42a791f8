//! Arguments of `agenteval horizon`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::{PageOutput, Reading};

#[derive(Debug, ClapArgs)]
pub(crate) struct HorizonArgs {
    /// Runs to follow
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Steps to project to
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) steps: Vec<u32>,
    /// Project this success of one step instead of reading runs, such as 0.95
    #[arg(long, value_name = "SHARE", conflicts_with = "paths")]
    pub(crate) per_step: Option<f64>,
    /// Time horizons of run tables with task lengths (column or tag `human_minutes`, family `task_family`), with METR's ridge and weights
    #[arg(long, value_enum)]
    pub(crate) preset: Option<Preset>,
    /// Time horizons without a preset: ridge 0 and each task the same, unless said otherwise
    #[arg(long)]
    pub(crate) time: bool,
    /// Shares of success whose task length is told
    #[arg(long, value_name = "SHARE", value_delimiter = ',', default_values_t = [0.5, 0.8])]
    pub(crate) at: Vec<f64>,
    /// Penalty of the slope [default: 0, of the preset metr 0.1]
    #[arg(long, value_name = "LAMBDA")]
    pub(crate) ridge: Option<f64>,
    /// Weights of runs [default: tasks, of the preset metr invsqrt]
    #[arg(long, value_enum)]
    pub(crate) weights: Option<Weights>,
    /// Draws of the bootstrap over families, tasks and runs
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub(crate) draws: u32,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

impl HorizonArgs {
    /// Whether time horizons are asked for.
    pub(crate) fn time(&self) -> bool {
        self.time || self.preset.is_some()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Ridge 0.1, weights invsqrt
    Metr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Weights {
    /// Each run the same
    Runs,
    /// Each task the same
    Tasks,
    /// Each task by one over the root of the number of tasks in its family
    Invsqrt,
}
