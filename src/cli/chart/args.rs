//! The arguments of `chart`, as typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::super::args::{Against, Reading};
use crate::render::Theme;

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Chart {
    /// What to draw
    #[arg(value_enum)]
    pub(crate) kind: Kind,
    /// Files, folders, globs, or - for standard input; for compare two sides (paths or baselines),
    /// for trend names of baselines in their order, for run the run before its paths
    #[arg(required = true, value_name = "PATH")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Write the chart here; its ending picks the form (.svg .png)
    #[arg(short = 'o', value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Width in pixels of CSS; a PNG has twice as many
    #[arg(long, value_name = "PIXELS", default_value_t = 640, value_parser = clap::value_parser!(u32).range(480..=2400))]
    pub(crate) width: u32,
    /// Colours [default: light, and in .svg dark for readers that prefer so]
    #[arg(long, value_enum)]
    pub(crate) theme: Option<ThemeFlag>,
    /// For errors: against parts of the run, or tools
    #[arg(long, value_enum)]
    pub(crate) split: Option<SplitFlag>,
    /// For trend: the figure [default: final_completion_rate]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) against: Against,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Figures with their intervals and thresholds
    Metrics,
    /// Differences of two sides with their intervals and margins
    Compare,
    /// The share of runs without a failed step, by step
    Survival,
    /// The risk of a first failed step, by step
    Hazard,
    /// Completion by number of steps, against what a constant risk leaves
    Lengths,
    /// Success by length of the task in people's minutes, agent by agent
    TimeHorizon,
    /// Failed attempts by error type
    Errors,
    /// Failed attempts by error type and step
    Heatmap,
    /// Runs by their number of retries
    Retries,
    /// Runs by outcome
    Outcomes,
    /// What completed and lost runs cost, or else took in tokens or time
    Cost,
    /// A figure over stored baselines
    Trend,
    /// The timeline of one run
    Run,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeFlag {
    Light,
    Dark,
}

impl From<ThemeFlag> for Theme {
    fn from(flag: ThemeFlag) -> Self {
        match flag {
            ThemeFlag::Light => Self::Light,
            ThemeFlag::Dark => Self::Dark,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SplitFlag {
    /// Tenths of the run
    Step,
    Tool,
}
