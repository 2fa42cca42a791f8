//! The arguments of the commands that hold runs against others.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::{Input, Output, PageForm, PageOutput, Reading};
use crate::compare::TestOptions;
use crate::config::EvalConfig;

impl From<&GateOutput> for Output {
    fn from(gate: &GateOutput) -> Self {
        Self { output: gate.output.into(), files: gate.files.clone() }
    }
}

/// How two sets of runs are held against each other.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Against {
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    /// Go on, with a warning, where the sides were judged by different configs
    #[arg(long)]
    pub(crate) allow_different_config: bool,
    /// Use strict p-values, which never err more often than they say, instead of mid-p
    #[arg(long)]
    pub(crate) exact: bool,
}

impl Against {
    /// How figures are tested: at the config's level, strictly where asked.
    pub(crate) fn tests(&self, config: &EvalConfig) -> TestOptions {
        TestOptions { alpha: config.gate.alpha, exact: self.exact, ..TestOptions::default() }
    }
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Compare {
    /// A path, or the name of a baseline
    pub(crate) a: PathBuf,
    /// A path, or the name of a baseline
    pub(crate) b: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) against: Against,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Plan {
    /// Runs to plan from; without them and --baseline, --rate and --icc are assumed
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Baseline to plan from
    #[arg(long, value_name = "NAME", conflicts_with = "paths")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    /// Figure to plan for
    #[arg(long, value_name = "METRIC", default_value = "final_completion_rate")]
    pub(crate) metric: String,
    /// Assumed value of the rate
    #[arg(long, value_name = "RATE", default_value_t = 0.8, conflicts_with_all = ["paths", "baseline"])]
    pub(crate) rate: f64,
    /// Assumed likeness of the runs of one task, from 0 (as unlike as any) to 1 (all alike)
    #[arg(long, value_name = "ICC", default_value_t = 0.5, conflicts_with_all = ["paths", "baseline"])]
    pub(crate) icc: f64,
    /// Effects to be told: 0.1 is 10 points of a rate, 10% of time, tokens and cost, or 0.1 of a count
    #[arg(long, value_name = "EFFECT", value_delimiter = ',')]
    pub(crate) effect: Vec<f64>,
    /// Trials of each task
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 3, 5], value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: Vec<u32>,
    /// Trials of each task in the baseline, where they are not those of the candidate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) baseline_trials: Option<u32>,
    /// Tasks, to tell what they can detect [default: those of the runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) tasks: Option<u64>,
    /// Level of the one-sided test: with n gated figures, that of one divided by n [default: `gate.alpha` of the config, else 0.05]
    #[arg(long, value_name = "ALPHA")]
    pub(crate) alpha: Option<f64>,
    /// How often an effect is to be told
    #[arg(long, value_name = "POWER", default_value_t = 0.8)]
    pub(crate) power: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Demo {
    /// Keep the traces, the config, the baseline, the comment and a page for reviewers in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BaselineMissing {
    /// Fail: there is nothing to compare with
    Fail,
    /// Warn, and hold the thresholds alone: for a first run
    Warn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnInconclusive {
    /// Exit with 0
    Warn,
    /// Exit with 3
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Github {
    /// Under GitHub Actions: a summary of the job, and annotations
    Auto,
    /// Neither
    Off,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Gate {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Baseline to compare with; without one only the thresholds of the config are held
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// What to do where there is no such baseline
    #[arg(long, value_enum, default_value_t = BaselineMissing::Fail)]
    pub(crate) baseline_missing: BaselineMissing,
    /// Leave tasks without a partner, and runs that are there twice, without failing for them
    #[arg(long)]
    pub(crate) allow_unmatched: bool,
    /// What to do where the evidence decides nothing [default: `gate.inconclusive` of the config, else warn]
    #[arg(long, value_enum)]
    pub(crate) inconclusive: Option<OnInconclusive>,
    /// What to write under GitHub Actions
    #[arg(long, value_enum, default_value_t = Github::Auto)]
    pub(crate) github: Github,
    #[command(flatten)]
    pub(crate) against: Against,
    #[command(flatten)]
    pub(crate) output: GateOutput,
}

/// Where the results of the gate go.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct GateOutput {
    /// Form of the output
    #[arg(long, value_enum, default_value_t = PageForm::Table)]
    pub(crate) output: PageForm,
    /// Write a file as well; its ending picks the form (.json .md .txt .html, .xml for JUnit, .sarif)
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Baseline {
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Save runs under a name
    Save(BaselineSave),
    /// Put other runs in the place of a baseline, with a reason
    Bless(BaselineBless),
    /// List the baselines
    List(BaselineList),
    /// Show what a baseline is, how it came to be, and its figures
    Show(BaselineShow),
    /// Remove a baseline
    Rm(BaselineRemove),
}

/// Where baselines are.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct StoreFlag {
    /// Folder of the baselines [default: .agenteval/baselines in this folder or above]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

/// When and at which commit something is stored.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct OriginFlags {
    /// Commit of the runs [default: GITHUB_SHA, else CI_COMMIT_SHA, else that of the git clone]
    #[arg(long, value_name = "SHA")]
    pub(crate) commit: Option<String>,
    /// Time of the runs [default: SOURCE_DATE_EPOCH, else none; never the clock]
    #[arg(long, value_name = "RFC3339")]
    pub(crate) time: Option<String>,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct BaselineSave {
    /// Name of the baseline: letters, digits, `.`, `-` and `_`
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) origin: OriginFlags,
    /// Overwrite a baseline that is there
    #[arg(long, conflicts_with = "pool")]
    pub(crate) force: bool,
    /// Add the runs to a baseline that is there
    #[arg(long)]
    pub(crate) pool: bool,
    /// With --pool: keep the last N saves
    #[arg(long, value_name = "N", requires = "pool", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep: Option<u32>,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct BaselineBless {
    /// Name of the baseline
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) origin: OriginFlags,
    /// Why these runs are accepted; kept in the history
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Who accepts them [default: GITHUB_ACTOR, else GITLAB_USER_LOGIN, else no one]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct BaselineList {
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct BaselineShow {
    /// Name of the baseline
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct BaselineRemove {
    /// Name of the baseline
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
}
