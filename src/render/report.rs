//! The JSON report, `agenteval.report/1`: its wire form and nothing else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::decimals;
use super::json::rounded;
use super::mask::mask;
use crate::evaluate::{Limit, Outcome};
use crate::metrics::{
    Analysis, Bound, Distributions, Figure, LEVEL, Measured, Metric, OutcomeCounts, Shape, Standing,
};
use crate::model::{Better, Unit};

/// The report of `analyze`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval report")]
pub struct AnalyzeReport {
    /// Always `agenteval.report/1`.
    schema: &'static str,
    /// Version of agenteval.
    agenteval: &'static str,
    /// The eval config; null without one.
    config: Option<ConfigWire>,
    /// Every input file, with what became of it.
    inputs: Vec<InputWire>,
    /// Which runs `--where` kept; absent without it.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    filter: Option<FilterWire>,
    /// Runs by outcome.
    runs: RunsWire,
    /// Tasks: recorded ids, and runs without one.
    tasks: u32,
    /// How retries were told: recorded, inferred or mixed.
    retries: &'static str,
    /// What was counted beside the figures.
    counts: CountsWire,
    /// Figures by name, in the chosen order.
    #[schemars(with = "BTreeMap<String, FigureWire>")]
    metrics: Ordered<FigureWire>,
    /// Counts behind the figures.
    distributions: DistributionsWire,
    /// The parts, with `--by`.
    groups: Vec<GroupWire>,
    /// The config's thresholds, with what was met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    thresholds: Vec<ThresholdWire>,
    /// What a reader should know.
    warnings: Vec<WarningWire>,
}

/// Which config judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigWire {
    /// Name of what is evaluated.
    pub task_name: Option<String>,
    /// SHA-256 of the file's bytes, in hex.
    pub sha256: String,
}

/// What `--where` kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FilterWire {
    /// The expression.
    pub expression: String,
    /// Runs that it kept.
    pub kept: u64,
    /// Runs that were read.
    pub of: u64,
}

/// One input file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputWire {
    /// Its path as given or found.
    pub path: String,
    /// Its format; null where it was left out.
    pub format: Option<&'static str>,
    /// Runs that it gave.
    pub runs: u64,
    /// Their steps.
    pub steps: u64,
    /// Their attempts.
    pub attempts: u64,
    /// Records that could not be read.
    pub rejected: u64,
    /// Why it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
struct RunsWire {
    total: u64,
    completed: u64,
    failed: u64,
    over_limit: u64,
    cancelled: u64,
    unfinished: u64,
    unknown: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
struct CountsWire {
    /// Attempts, implied ones among them.
    attempts: u64,
    /// Attempts that only the numbers of later ones tell of; in no rate.
    lost_attempts: u64,
    /// Failed attempts that only a recorded count tells of.
    implied_attempts: u64,
    /// Inferred retries with the same input.
    identical_retries: u64,
    /// Inferred retries with another or unknown input.
    revised_retries: u64,
    /// Failed attempts left out of error rates as infra.
    infra_attempts: u64,
    /// Runs left out of completion and pass^k as infra.
    infra_runs: u64,
}

/// A map that keeps its order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ordered<T>(pub(super) Vec<(&'static str, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FigureWire {
    /// The value; null where it cannot be computed, with the reason.
    value: Option<f64>,
    /// Numerator; null where the figure has none.
    numerator: Option<f64>,
    /// Denominator, or the number that the figure is taken over.
    denominator: Option<f64>,
    /// ratio, count, steps, seconds, tokens or usd.
    unit: &'static str,
    /// higher, lower, or null where the figure only describes.
    better: Option<&'static str>,
    /// The 95% interval; null where there is none, with the reason.
    ci: Option<IntervalWire>,
    /// Why there is no value, or no interval.
    reason: Option<String>,
    /// Median, for durations, tokens and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<f64>,
    /// 95th percentile, for durations, tokens and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    p95: Option<f64>,
    /// pass^k and pass@k by k.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_k: Option<Numbered<ByKWire>>,
    /// What more a reader should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct IntervalWire {
    /// Its confidence.
    level: f64,
    /// Lower end.
    low: f64,
    /// Upper end.
    high: f64,
    /// How it was computed.
    method: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct ByKWire {
    value: Option<f64>,
    tasks: u64,
    left_out: u64,
}

/// A map with numbers as keys, in their order.
type Numbered<T> = BTreeMap<u64, T>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct DistributionsWire {
    /// Attempts by step type.
    step_type: BTreeMap<Box<str>, u64>,
    /// Failed attempts by error type.
    error_type: BTreeMap<Box<str>, u64>,
    /// Runs by outcome.
    #[schemars(with = "BTreeMap<String, u64>")]
    outcome: OrderedCounts,
    /// Runs by the step of their first failed attempt.
    first_failure_step: Numbered<u64>,
    /// Runs by the limit they passed; each once, under the one named.
    #[schemars(with = "BTreeMap<String, u64>")]
    limit: OrderedCounts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OrderedCounts(Vec<(&'static str, u64)>);

impl Serialize for OrderedCounts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct GroupWire {
    /// The key and its value; null for runs that record none.
    by: BTreeMap<String, Option<Box<str>>>,
    runs: RunsWire,
    #[schemars(with = "BTreeMap<String, FigureWire>")]
    metrics: Ordered<FigureWire>,
}

/// One bound of a threshold.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ThresholdWire {
    /// The figure.
    pub metric: &'static str,
    /// min or max.
    pub bound: &'static str,
    /// The bound.
    pub limit: f64,
    /// The figure's value.
    pub value: Option<f64>,
    /// met, missed, or unknown where the figure has no value.
    pub verdict: &'static str,
    /// Whether the whole interval is on the same side of the bound.
    pub certain: bool,
    /// Whether the figure has an interval.
    #[serde(skip)]
    pub interval: bool,
}

/// How a figure stands to a bound, for JSON.
#[must_use]
pub fn threshold_wire(
    metric: &Metric,
    bound: Bound,
    limit: f64,
    figure: &Figure,
    (standing, certain): (Standing, bool),
) -> ThresholdWire {
    ThresholdWire {
        metric: metric.name,
        bound: bound.name(),
        limit,
        value: rounded(figure.value, decimals(metric)),
        verdict: standing.name(),
        certain,
        interval: figure.interval.is_some(),
    }
}

/// Something that a reader should know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct WarningWire {
    /// A stable code.
    pub code: String,
    /// What it is.
    pub message: String,
    /// How often.
    pub count: u64,
    /// Where first.
    #[serde(rename = "where")]
    pub place: String,
    /// The message without values of traces, for pages without contents.
    #[serde(skip)]
    pub withheld: Option<String>,
}

/// What a report is made of, beside the analysis.
#[derive(Debug, Clone, Default)]
pub struct ReportParts {
    /// The config that judged.
    pub config: Option<ConfigWire>,
    /// The inputs.
    pub inputs: Vec<InputWire>,
    /// What `--where` kept.
    pub filter: Option<FilterWire>,
    /// Thresholds, with what was met.
    pub thresholds: Vec<ThresholdWire>,
    /// Warnings.
    pub warnings: Vec<WarningWire>,
}

/// The report of an analysis.
#[must_use]
pub fn report_wire(analysis: &Analysis, parts: ReportParts) -> AnalyzeReport {
    AnalyzeReport {
        schema: "agenteval.report/1",
        agenteval: env!("CARGO_PKG_VERSION"),
        config: parts.config,
        inputs: parts.inputs,
        filter: parts.filter,
        runs: runs(&analysis.runs),
        tasks: analysis.tasks,
        retries: analysis.retries.name(),
        counts: CountsWire {
            attempts: analysis.attempts,
            lost_attempts: analysis.lost,
            implied_attempts: analysis.implied,
            identical_retries: analysis.inferred_retries.0,
            revised_retries: analysis.inferred_retries.1,
            infra_attempts: analysis.infra.0,
            infra_runs: analysis.infra.1,
        },
        metrics: figures(&analysis.figures),
        distributions: distributions(&analysis.distributions, &analysis.runs),
        groups: analysis
            .groups
            .iter()
            .map(|group| GroupWire {
                by: BTreeMap::from([(
                    group.by.clone(),
                    group.value.as_deref().map(|v| mask(v).into()),
                )]),
                runs: runs(&group.analysis.runs),
                metrics: figures(&group.analysis.figures),
            })
            .collect(),
        thresholds: parts.thresholds,
        warnings: parts.warnings,
    }
}

fn runs(counts: &OutcomeCounts) -> RunsWire {
    RunsWire {
        total: counts.total(),
        completed: counts.get(Outcome::Completed),
        failed: counts.get(Outcome::Failed),
        over_limit: counts.get(Outcome::OverLimit),
        cancelled: counts.get(Outcome::Cancelled),
        unfinished: counts.get(Outcome::Unfinished),
        unknown: counts.get(Outcome::Unknown),
    }
}

fn figures(measured: &[Measured]) -> Ordered<FigureWire> {
    Ordered(
        measured.iter().map(|(metric, value)| (metric.name, figure_wire(metric, value))).collect(),
    )
}

/// One figure for JSON.
#[must_use]
pub fn figure_wire(metric: &Metric, figure: &Figure) -> FigureWire {
    let digits = decimals(metric);
    let info = metric.info();
    let round = |value| rounded(value, digits);
    // Cost is rounded to 9 decimals also where the figure itself is a share of it.
    let counts = if matches!(metric.shape, Shape::FailureCostShare) { 9 } else { digits };
    let interval = figure.interval.as_ref().and_then(|ci| {
        let (low, high) = (round(Some(ci.low))?, round(Some(ci.high))?);
        let method = if figure.runs_as_clusters {
            format!("{}, runs as clusters", ci.method)
        } else {
            ci.method.to_owned()
        };
        Some(IntervalWire { level: LEVEL, low, high, method })
    });
    // Rounding must not leave an interval without width.
    let narrow = interval.as_ref().is_some_and(|ci| ci.low >= ci.high);
    let reason = figure.reason.clone();
    FigureWire {
        value: round(figure.value),
        numerator: rounded(figure.numerator, counts),
        denominator: rounded(figure.denominator, counts),
        unit: unit(info.unit),
        better: better(info.better),
        ci: interval.filter(|_| !narrow),
        reason: if narrow {
            Some(format!("no interval: it is narrower than {digits} decimals show"))
        } else {
            reason
        },
        p50: round(figure.quantiles.map(|(p50, _)| p50)),
        p95: round(figure.quantiles.map(|(_, p95)| p95)),
        by_k: figure.by_k.as_ref().map(|by_k| {
            let wire = |(k, at): (&u64, &crate::metrics::ByK)| {
                (*k, ByKWire { value: round(at.value), tasks: at.tasks, left_out: at.left_out })
            };
            by_k.iter().map(wire).collect()
        }),
        note: figure.note.clone(),
    }
}

/// The direction's name in JSON.
pub(super) fn better(better: Better) -> Option<&'static str> {
    match better {
        Better::Higher => Some("higher"),
        Better::Lower => Some("lower"),
        Better::Neither => None,
    }
}

/// The unit's name in JSON.
pub(super) fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ratio => "ratio",
        Unit::Count => "count",
        Unit::Steps => "steps",
        Unit::Seconds => "seconds",
        Unit::Tokens => "tokens",
        Unit::Usd => "usd",
    }
}

/// Counts under names that hold no secret.
fn masked(counts: &BTreeMap<Box<str>, u64>) -> BTreeMap<Box<str>, u64> {
    let mut out = BTreeMap::new();
    for (name, count) in counts {
        *out.entry(mask(name).into()).or_default() += count;
    }
    out
}

fn distributions(all: &Distributions, runs: &OutcomeCounts) -> DistributionsWire {
    let wide =
        |counts: &BTreeMap<u32, u64>| counts.iter().map(|(k, n)| (u64::from(*k), *n)).collect();
    DistributionsWire {
        step_type: masked(&all.step_type),
        error_type: masked(&all.error_type),
        outcome: OrderedCounts(
            Outcome::ALL.iter().map(|outcome| (outcome.name(), runs.get(*outcome))).collect(),
        ),
        first_failure_step: wide(&all.first_failure_step),
        limit: OrderedCounts(
            Limit::ALL
                .iter()
                .map(|limit| (limit.name(), all.limit.get(limit).copied().unwrap_or(0)))
                .collect(),
        ),
    }
}
