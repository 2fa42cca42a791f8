//! The eval config as written: shapes alone, checked by `check.rs`.
//!
//! Doc comments here become the descriptions of the JSON Schema.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Visitor};

/// How agenteval judges runs: what passes, which limits hold, what is shown and what fails a build.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "agenteval eval config")]
pub(super) struct Config {
    /// Where the schema of this file is, for editors.
    #[serde(rename = "$schema")]
    pub(super) schema: Option<String>,
    /// A name for what is evaluated, shown in reports.
    pub(super) task_name: Option<String>,
    /// Most steps that a run may have.
    pub(super) max_steps: Option<Whole>,
    /// What passes, and the limits on retries and time.
    pub(super) evaluation: Option<Evaluation>,
    /// The metrics to show, in this order; without it all.
    pub(super) metrics: Option<Vec<String>>,
    /// Limits on tokens and cost.
    pub(super) limits: Option<Limits>,
    /// Which steps are the mid-run.
    pub(super) mid_run: Option<MidRun>,
    /// The score from which a run is completed; 1.0 without it.
    pub(super) pass_score: Option<f64>,
    /// Which records are steps: "tools" (all but model turns), "all", or a list of step types.
    pub(super) steps: Option<Steps>,
    /// Rules that map error types or messages onto a taxonomy of your own; the first that matches holds.
    pub(super) error_types: Option<Vec<ErrorType>>,
    /// Whether errors blamed on the infrastructure count.
    pub(super) infra_errors: Option<Infra>,
    /// Whether an exit code other than 0 is an error.
    pub(super) exit_codes: Option<ExitCodes>,
    /// Trials that every task should have; fewer are told.
    pub(super) expected_trials: Option<Whole>,
    /// How a gate counts an unfinished run of the candidate.
    pub(super) unfinished: Option<Unfinished>,
    /// The one score that decides, where a trace has several.
    pub(super) scorer: Option<String>,
    /// What the attempts of a checkpoint count.
    pub(super) attempts_count: Option<AttemptsCount>,
    /// Names of tools with effects outside the run; `*` stands for any part of a name.
    pub(super) side_effects: Option<Vec<String>>,
    /// JSON Schema files for what tools give (their output), by tool name, relative to the config's folder.
    pub(super) tool_schemas: Option<BTreeMap<String, String>>,
    /// Bounds for metrics, by metric name.
    pub(super) thresholds: Option<BTreeMap<String, Threshold>>,
    /// The regression gate.
    pub(super) gate: Option<Gate>,
    /// How grave findings of `agenteval diagnose` are and the numbers that its rules go by, by rule.
    pub(super) diagnose: Option<BTreeMap<String, DiagnoseRule>>,
}

/// What holds for one rule of `agenteval diagnose`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiagnoseRule {
    /// How grave its findings are; `off` asks it nothing.
    pub level: Option<DiagnoseLevel>,
    /// The number that it goes by, where it has one.
    pub limit: Option<f64>,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagnoseLevel {
    /// The rule is not asked.
    Off,
    /// Worth knowing.
    Note,
    /// Likely a fault.
    Warning,
    /// A fault that harms.
    Error,
}

/// What passes, and the limits on retries and time.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Evaluation {
    /// A CEL expression over `subtask`: whether an attempt passed.
    pub(super) subtask_passed: Option<String>,
    /// A CEL expression over `final` (and `run`): whether a run is completed.
    pub(super) final_passed: Option<String>,
    /// Most retries that one step may have.
    pub(super) max_retry_per_step: Option<Whole>,
    /// Most retries that a run may have.
    pub(super) allowed_total_retries: Option<Whole>,
    /// Longest that a run may take, in seconds.
    pub(super) timeout_seconds: Option<Amount>,
}

/// Limits on tokens and cost.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    /// Most tokens that one attempt may use.
    pub(super) max_tokens_per_step: Option<Amount>,
    /// Most tokens that a run may use.
    pub(super) max_total_tokens: Option<Amount>,
    /// Most that a run may cost, in US dollars.
    pub(super) max_cost_usd: Option<Amount>,
}

/// One rule of the error taxonomy.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorType {
    /// A regular expression over the error's type and over its message; case matters unless it says `(?i)`.
    #[serde(rename = "match")]
    pub(super) pattern: String,
    /// The type that such errors get; without it they keep theirs.
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
    /// Whose fault such errors are.
    #[serde(default)]
    pub(super) blame: Option<Blame>,
}

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The agent's.
    Agent,
    /// That of what it runs on: networks, rate limits, machines.
    Infra,
    /// That of the task itself.
    Task,
}

/// Whether errors blamed on the infrastructure count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Infra {
    /// They count as any other.
    #[default]
    Count,
    /// They are in no error rate, and a run that ended on one is in no completion rate.
    Exclude,
}

/// Whether an exit code other than 0 is an error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitCodes {
    /// It is.
    #[default]
    Error,
    /// It says nothing.
    Ignore,
}

/// How a gate counts an unfinished run of the candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    /// As not completed.
    #[default]
    Fail,
    /// Not at all.
    Exclude,
}

/// What the attempts of a checkpoint count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptsCount {
    /// Failed tries.
    #[default]
    Failures,
    /// Every try.
    Tries,
}

/// What an inconclusive gate does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inconclusive {
    /// It warns, and exits with 0.
    #[default]
    Warn,
    /// It exits with 3.
    Fail,
}

/// Bounds for one metric; at least one of the two.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Threshold {
    /// The least that is good.
    pub(super) min: Option<f64>,
    /// The most that is good.
    pub(super) max: Option<f64>,
}

/// The regression gate.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Gate {
    /// The level of its tests, between 0 and 1; 0.05 without it.
    pub(super) alpha: Option<f64>,
    /// How much worse is still accepted: `default` for rates, and by metric name. A number is
    /// absolute, a text such as "10%" is relative to the baseline.
    pub(super) margin: Option<BTreeMap<String, Margin>>,
    /// The metrics that it tests.
    pub(super) metrics: Option<Vec<String>>,
    /// What it does where the evidence decides nothing.
    pub(super) inconclusive: Option<Inconclusive>,
}

/// A whole number of at least 0; `20.0` is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole(pub(super) u64);

/// A number of at least 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Amount(pub(super) f64);

/// The mid-run: a word or a window.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MidRun {
    Auto,
    Interior,
    AfterFirst,
    Window(Window),
}

/// The steps i of n with from < (i - 0.5)/n <= to.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Window {
    /// From this share of the run on, between 0 and 1.
    pub(super) from: f64,
    /// Up to this share of the run, between 0 and 1.
    pub(super) to: f64,
}

/// Which records are steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Steps {
    Tools,
    All,
    Kinds(Vec<String>),
}

/// How much worse is still accepted: a number, or a share of the baseline as text ("10%").
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Margin {
    Absolute(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: de::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of at least 0")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole(number))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Whole, E> {
                // Above 2^53 a float no longer says which whole number was meant.
                if number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number) {
                    Ok(Whole(number as u64))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(number), &self))
                }
            }
        }
        reader.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: de::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Amount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of at least 0")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Amount, E> {
                Ok(Amount(number as f64))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
                if number >= 0.0 && number.is_finite() {
                    Ok(Amount(number))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(number), &self))
                }
            }
        }
        reader.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for MidRun {
    fn deserialize<D: de::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = MidRun;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "`auto`, `interior`, `after_first` or a window such as {\"from\": 0.25, \"to\": 0.75}",
                )
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<MidRun, E> {
                match word {
                    "auto" => Ok(MidRun::Auto),
                    "interior" => Ok(MidRun::Interior),
                    "after_first" => Ok(MidRun::AfterFirst),
                    _ => Err(E::unknown_variant(word, &["auto", "interior", "after_first"])),
                }
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<MidRun, A::Error> {
                let reader = de::value::MapAccessDeserializer::new(map);
                Window::deserialize(reader).map(MidRun::Window)
            }
        }
        reader.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: de::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Steps;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`tools`, `all` or a list of step types")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Steps, E> {
                match word {
                    "tools" => Ok(Steps::Tools),
                    "all" => Ok(Steps::All),
                    _ => Err(E::unknown_variant(word, &["tools", "all"])),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Steps, A::Error> {
                let reader = de::value::SeqAccessDeserializer::new(seq);
                Vec::deserialize(reader).map(Steps::Kinds)
            }
        }
        reader.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for Margin {
    fn deserialize<D: de::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Margin;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a share of the baseline such as \"10%\"")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Margin, E> {
                Ok(Margin::Absolute(number as f64))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Margin, E> {
                Ok(Margin::Absolute(number as f64))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Margin, E> {
                Ok(Margin::Absolute(number))
            }
            fn visit_str<E>(self, text: &str) -> Result<Margin, E> {
                Ok(Margin::Text(text.to_owned()))
            }
        }
        reader.deserialize_any(Read)
    }
}

/// Gives a hand-read type its place in the schema.
macro_rules! schema_of {
    ($type:ident, $name:literal, |$generator:ident| $schema:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

schema_of!(Whole, "Whole", |_generator| json_schema!({"type": "integer", "minimum": 0}));
schema_of!(Amount, "Amount", |_generator| json_schema!({"type": "number", "minimum": 0}));
schema_of!(MidRun, "MidRun", |generator| {
    let window = generator.subschema_for::<Window>();
    json_schema!({"anyOf": [{"enum": ["auto", "interior", "after_first"]}, window]})
});
schema_of!(Steps, "Steps", |_generator| json_schema!({"anyOf": [
    {"enum": ["tools", "all"]},
    {"type": "array", "items": {"type": "string"}, "minItems": 1}
]}));
schema_of!(Margin, "Margin", |_generator| json_schema!({"anyOf": [
    {"type": "number", "minimum": 0},
    {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)? ?%$"}
]}));
