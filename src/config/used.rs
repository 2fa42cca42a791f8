//! The eval config as used: every value checked, every expression and pattern compiled.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::ConfigError;
use super::taxonomy::Taxonomy;
use super::wire::{AttemptsCount, DiagnoseRule, ExitCodes, Inconclusive, Infra, Unfinished};
use super::{Plan, ReadOptions};
use super::{check, parse};
use crate::expr::Program;
use crate::model::{MetricName, Unit, resolve_metric};

/// The name under which a config is found without `-c`.
pub const CONFIG_FILE: &str = "agenteval.json";

/// The metrics that a gate tests where neither `gate.metrics` nor `metrics` says.
pub const DEFAULT_GATE_METRICS: [&str; 4] =
    ["first_step_accuracy", "mid_term_error_rate", "final_completion_rate", "avg_retry_count"];

/// How runs are judged. [`Default`] is what holds without a config.
#[derive(Debug, Clone)]
pub struct EvalConfig {
    /// Name of what is evaluated.
    pub task_name: Option<String>,
    /// SHA-256 of the file's bytes in hex; empty without a file.
    pub sha256: String,
    /// Whether an attempt passed, over `subtask`.
    pub subtask_passed: Option<Arc<Program>>,
    /// Whether a run is completed, over `final` and `run`.
    pub final_passed: Option<Arc<Program>>,
    /// The seven limits.
    pub limits: Limits,
    /// The metrics to show, in order and each once; `None` for all.
    pub metrics: Option<Vec<&'static MetricName>>,
    /// Which steps are the mid-run.
    pub mid_run: MidRun,
    /// The score from which a run is completed.
    pub pass_score: f64,
    /// Which records are steps.
    pub steps: StepSelection,
    /// The team's own error types.
    pub error_types: Taxonomy,
    /// Whether errors blamed on the infrastructure count.
    pub infra_errors: Infra,
    /// Whether an exit code other than 0 is an error.
    pub exit_codes: ExitCodes,
    /// Trials that every task should have, at least 1.
    pub expected_trials: Option<u64>,
    /// How a gate counts an unfinished run of the candidate.
    pub unfinished: Unfinished,
    /// The one score that decides.
    pub scorer: Option<String>,
    /// What the attempts of a checkpoint count.
    pub attempts_count: AttemptsCount,
    /// Patterns for the names of tools with effects outside the run, sound for `globset`.
    pub side_effects: Vec<String>,
    /// JSON Schema files for the output of tools, by tool name, as written (relative to the config's folder).
    pub tool_schemas: BTreeMap<String, String>,
    /// Bounds for metrics, by metric name.
    pub thresholds: Vec<Threshold>,
    /// The regression gate.
    pub gate: GateConfig,
    /// What holds for the rules of `diagnose`, by code.
    pub diagnose: BTreeMap<String, DiagnoseRule>,
}

/// Limits on a run; `None` where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Most steps.
    pub max_steps: Option<u64>,
    /// Most retries of one step.
    pub max_retry_per_step: Option<u64>,
    /// Most retries.
    pub allowed_total_retries: Option<u64>,
    /// Longest duration, in seconds.
    pub timeout_seconds: Option<f64>,
    /// Most tokens of one attempt.
    pub max_tokens_per_step: Option<f64>,
    /// Most tokens.
    pub max_total_tokens: Option<f64>,
    /// Most cost, in US dollars.
    pub max_cost_usd: Option<f64>,
}

/// Which steps are the mid-run (`METRICS.md`, "First step, mid-run, end").
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum MidRun {
    /// Every step after the first and before the last; the last too where the run was not completed.
    #[default]
    Auto,
    /// Always 2..n-1.
    Interior,
    /// Always 2..n.
    AfterFirst,
    /// Step i of n where from < (i - 0.5)/n <= to; 0 <= from < to <= 1.
    Window {
        /// The lower bound, not included.
        from: f64,
        /// The upper bound, included.
        to: f64,
    },
}

/// Which records are steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StepSelection {
    /// All but model turns, where a format mixes both.
    #[default]
    Tools,
    /// All records.
    All,
    /// Only these types, in every format.
    Kinds(Vec<String>),
}

/// Bounds for one metric; at least one is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// The metric.
    pub metric: &'static MetricName,
    /// The least that is good.
    pub min: Option<f64>,
    /// The most that is good.
    pub max: Option<f64>,
}

/// How much worse is still accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Margin {
    /// In the metric's own unit.
    Absolute(f64),
    /// As a share of the baseline's value.
    Relative(f64),
}

/// The regression gate.
#[derive(Debug, Clone, PartialEq)]
pub struct GateConfig {
    /// The level of its tests, between 0 and 1.
    pub alpha: f64,
    /// The margin for rates that `margins` does not name.
    pub margin_default: f64,
    /// Margins by metric name.
    pub margins: BTreeMap<&'static str, Margin>,
    /// The metrics that it tests, as written; see [`EvalConfig::gate_metrics`].
    pub metrics: Option<Vec<&'static MetricName>>,
    /// What it does where the evidence decides nothing.
    pub inconclusive: Inconclusive,
}

impl Default for GateConfig {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            margin_default: 0.05,
            margins: BTreeMap::new(),
            metrics: None,
            inconclusive: Inconclusive::Warn,
        }
    }
}

impl GateConfig {
    /// The margin for a metric: its own, else the default for rates, else 10% of the baseline
    /// (for counts and steps, at least 0.1: the caller sees to that).
    #[must_use]
    pub fn margin(&self, metric: &MetricName) -> Margin {
        match self.margins.get(metric.name) {
            Some(margin) => *margin,
            None if metric.unit == Unit::Ratio => Margin::Absolute(self.margin_default),
            None => Margin::Relative(0.1),
        }
    }
}

impl Default for EvalConfig {
    fn default() -> Self {
        Self {
            task_name: None,
            sha256: String::new(),
            subtask_passed: None,
            final_passed: None,
            limits: Limits::default(),
            metrics: None,
            mid_run: MidRun::default(),
            pass_score: 1.0,
            steps: StepSelection::default(),
            error_types: Taxonomy::default(),
            infra_errors: Infra::default(),
            exit_codes: ExitCodes::default(),
            expected_trials: None,
            unfinished: Unfinished::default(),
            scorer: None,
            attempts_count: AttemptsCount::default(),
            side_effects: Vec::new(),
            tool_schemas: BTreeMap::new(),
            thresholds: Vec::new(),
            gate: GateConfig::default(),
            diagnose: BTreeMap::new(),
        }
    }
}

impl EvalConfig {
    /// Reads, checks and compiles a config; `name` is the file's name for messages.
    ///
    /// # Errors
    ///
    /// Text that is no JSON object, an unknown or repeated key, a value of another type or out of
    /// range, an unknown metric, a pattern or expression that does not compile.
    pub fn from_json(text: &[u8], name: &str) -> Result<Self, ConfigError> {
        check::read(text, name)
    }

    /// Reads a config file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, and those of [`from_json`](Self::from_json).
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = parse::read_file(path, &name)?;
        Self::from_json(&text, &name)
    }

    /// The config that holds for a folder: `agenteval.json` in it or in the nearest folder above.
    #[must_use]
    pub fn find(start: &Path) -> Option<PathBuf> {
        start.ancestors().map(|folder| folder.join(CONFIG_FILE)).find(|file| file.is_file())
    }

    /// The metrics that a gate tests: `gate.metrics`, else those of `metrics` that can regress,
    /// else [`DEFAULT_GATE_METRICS`].
    #[must_use]
    pub fn gate_metrics(&self) -> Vec<&'static MetricName> {
        let shown = self.metrics.as_ref().map(|metrics| {
            let can_regress = |metric: &&&'static MetricName| check::can_regress(metric);
            metrics.iter().filter(can_regress).copied().collect::<Vec<_>>()
        });
        self.gate
            .metrics
            .clone()
            .or_else(|| shown.filter(|metrics| !metrics.is_empty()))
            .unwrap_or_else(|| {
                DEFAULT_GATE_METRICS.iter().filter_map(|name| resolve_metric(name)).collect()
            })
    }

    /// Whether an expression reads more of an attempt than its eight computed fields.
    #[must_use]
    pub fn needs_raw_attempts(&self) -> bool {
        let programs = [&self.subtask_passed, &self.final_passed];
        programs.into_iter().flatten().any(|program| program.reads_raw_attempt())
    }

    /// What readers must know: of this config, and the plan given on the command line.
    #[must_use]
    pub fn read_options(&self, plan: Option<Arc<Plan>>) -> ReadOptions {
        ReadOptions {
            raw_attempts: self.needs_raw_attempts(),
            plan,
            mapping: None,
            attempts_count_tries: self.attempts_count == AttemptsCount::Tries,
            parquet: None,
        }
    }
}
