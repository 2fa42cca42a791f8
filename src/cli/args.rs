//! The arguments, as typed.

mod against;
mod budgets;
mod convert;
mod diagnose;
mod failures;
mod horizon;
mod map;
mod report;
mod review;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use super::chart::args::Chart;
pub(crate) use against::*;
pub(crate) use budgets::{BudgetsArgs, ReadinessArgs};
pub(crate) use convert::{Convert, Query, To};
pub(crate) use diagnose::{DiagnoseArgs, DiagnoseForm};
pub(crate) use failures::*;
pub(crate) use horizon::{HorizonArgs, Preset, Weights};
pub(crate) use map::{Map, MapCommand};
pub(crate) use report::Report;
pub(crate) use review::{Review, ReviewCommand, ReviewSample, ReviewScore};

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
    /// Write one HTML page for reviewers
    Report(Report),
    /// Keep the runs that others are compared with
    Baseline(Baseline),
    /// Draw one chart as SVG or PNG
    Chart(Chart),
    /// Tell what goes wrong in runs, by rule, where and what to do about it
    Diagnose(DiagnoseArgs),
    /// Tell how errors add up step by step, and how far runs get
    Horizon(HorizonArgs),
    /// Tell what failures cost, and suggest limits of steps, retries, tokens, time and cost
    Budgets(BudgetsArgs),
    /// Tell which steps can do without an approval
    Readiness(ReadinessArgs),
    /// Let people rate runs or steps blind, and tell how far the config agrees with them
    Review(Review),
    /// Keep failed runs as a library of files to commit, and tell when one is back
    Failures(FailuresArgs),
    /// Tell how many tasks and trials it takes to see an effect
    Plan(Plan),
    /// Show a regression that is caught, on bundled runs
    Demo(Demo),
    /// Draft and show field mappings, which read unknown JSON and CSV
    Map(Map),
    /// Write runs in another form: native JSON or NDJSON, Parquet, ATIF
    Convert(Convert),
    /// Run SQL over the tables runs and steps
    Query(Query),
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
    /// Field mapping: a file, or a ready one by name (`agenteval map list`); reads every input by it
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    pub(crate) map: Option<PathBuf>,
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

impl Reading {
    /// The options that decide how runs are read and judged, flag and value in turn.
    pub(crate) fn as_typed(&self) -> Vec<String> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let given = [
            ("-c", path(&self.config)),
            ("--format", self.format.clone()),
            ("--map", path(&self.map)),
            ("--plan", path(&self.plan)),
            ("--where", self.filter.clone()),
        ];
        let pairs = given.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        pairs.flatten().collect()
    }
}

/// Where results go.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Output {
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Form::Table)]
    pub(crate) output: Form,
    /// Write a file as well; its ending picks the form (.json .ndjson .csv .md .txt; analyze and query also .parquet)
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
    /// For `-o FILE.html` alone
    #[value(skip)]
    Html,
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
    /// A run id, a task id (its trials, failed ones first), TASK/TRIAL, or a place as FILE:LINE or FILE@BYTE
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
    /// A field mapping
    Map,
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
