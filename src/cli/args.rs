//! The arguments, as typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// Reads the trajectories that agents leave behind and tells where they fail.
#[derive(Debug, Parser)]
#[command(
    name = "agenteval",
    bin_name = "agenteval",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Flags of every command.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Global {
    /// Print no warnings and no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Colour the output
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compute the metrics of a set of runs
    Analyze(Analyze),
    /// Tell what is in the inputs: formats, runs, fields, and what was rejected where
    Inspect(Inspect),
    /// Show one run as a timeline
    Show(Show),
    /// Tell what a metric means, and with traces which runs are in it
    Explain(Explain),
    /// Set two sets of runs side by side
    Compare(Compare),
    /// Judge whether runs are worse than a baseline, with exit codes for CI
    Gate(Gate),
    /// Keep the runs that others are compared with
    Baseline(Baseline),
    /// Tell how many tasks and trials it takes to see an effect
    Plan(Plan),
    /// Show a regression that is caught, on bundled runs
    Demo(Demo),
    /// Print a JSON Schema
    Schema(Schema),
    /// Write an eval config and the folder .agenteval to start from
    Init(Init),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What is read, and how it is judged.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Input {
    /// Files, folders, globs, or - for standard input; .gz, .zst and .zip are read through
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How input is read and judged.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Reading {
    /// Eval config [default: agenteval.json in this folder or above]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Read every input as this format instead of detecting it
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    /// YAML plan that orders the nodes of structured logs and checkpoints
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Stop at the first loss: a record or an input that cannot be read, a stream that is cut off
    #[arg(long)]
    pub(crate) strict: bool,
    /// Threads that read [default: AGENTEVAL_THREADS, else one per core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Keep only runs for which this expression over `run` holds
    #[arg(long = "where", value_name = "EXPR")]
    pub(crate) filter: Option<String>,
}

/// Where results go.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Output {
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Form::Table)]
    pub(crate) output: Form,
    /// Write a file as well; its ending picks the form (.json .ndjson .csv .md .txt; analyze also .parquet, a row a run)
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Table,
    Json,
    Ndjson,
    Csv,
    Markdown,
    /// For `-o FILE.parquet` alone: a table does not go to a terminal
    #[value(skip)]
    Parquet,
    /// For `-o FILE.xml` alone
    #[value(skip)]
    Junit,
    /// For `-o FILE.sarif` alone
    #[value(skip)]
    Sarif,
}

/// Where the results of commands go that have no lines of figures.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct PageOutput {
    /// Form of the output
    #[arg(long, value_enum, default_value_t = PageForm::Table)]
    pub(crate) output: PageForm,
    /// Write a file as well; its ending picks the form (.json .md .txt)
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageForm {
    Table,
    Json,
    Markdown,
}

impl From<PageForm> for Form {
    fn from(form: PageForm) -> Self {
        match form {
            PageForm::Table => Self::Table,
            PageForm::Json => Self::Json,
            PageForm::Markdown => Self::Markdown,
        }
    }
}

impl From<&PageOutput> for Output {
    fn from(page: &PageOutput) -> Self {
        Self { output: page.output.into(), files: page.files.clone() }
    }
}

impl From<&GateOutput> for Output {
    fn from(gate: &GateOutput) -> Self {
        Self { output: gate.output.into(), files: gate.files.clone() }
    }
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Analyze {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Split every table by task, model, agent or tag:KEY
    #[arg(long, value_name = "task|model|agent|tag:KEY")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Show {
    /// A run id, a task id (its trials, failed ones first), or a place as FILE:LINE or FILE@BYTE
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Most runs to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: PageOutput,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Explain {
    /// Name of the metric
    pub(crate) metric: String,
    /// Files, folders, globs, or - for standard input
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) output: PageOutput,
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
    /// Level of the one-sided test [default: that of the gate]
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
    /// Keep the traces, the config, the baseline and the comment in this folder
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
    /// Write a file as well; its ending picks the form (.json .md .txt, .xml for JUnit, .sarif)
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// The eval config
    Config,
    /// The native trace
    Trace,
    /// The JSON report of analyze
    Report,
    /// A stored baseline
    Baseline,
    /// The JSON report of gate
    #[value(hide = true)]
    Gate,
    /// The JSON report of compare
    #[value(hide = true)]
    Compare,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Schema {
    /// Which schema
    #[arg(value_enum)]
    pub(crate) kind: SchemaKind,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Init {
    /// Name of what is evaluated; the config is eval-configs/NAME.json
    #[arg(default_value = "my-agent")]
    pub(crate) name: String,
    /// Also write a CI workflow that gates every change on the stored baseline
    #[arg(long, value_enum, value_name = "SERVICE")]
    pub(crate) ci: Option<Ci>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ci {
    /// .github/workflows/agenteval.yml
    Github,
    /// .gitlab-ci.agenteval.yml, to be included
    Gitlab,
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
