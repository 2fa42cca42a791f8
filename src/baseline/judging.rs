//! What of a config and a command decides how runs are judged, in one canonical form.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::line::Decimal;
use super::masked::masked_apart;
use crate::config::{
    AttemptsCount, Blame, EvalConfig, ExitCodes, Infra, Mapping, MidRun, Plan, StepSelection,
    Unfinished,
};

/// How runs were read, beside the config, as far as it changes rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadBy<'r> {
    /// The expression of `--where`.
    pub filter: Option<&'r str>,
    /// The plan of `--plan`.
    pub plan: Option<&'r Plan>,
    /// The field mapping of `--map`.
    pub mapping: Option<&'r Mapping>,
}

/// What decides how runs are judged: expressions, limits, steps, errors, and how they were read.
///
/// Names, shown metrics, thresholds, the gate, `expected_trials`, `side_effects` and
/// `tool_schemas` are not in it: they change no row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judging {
    /// Key and compact JSON of all that is not the default, in a fixed order.
    settings: Vec<(&'static str, String)>,
}

/// A setting that is not the same in a baseline and now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigDifference {
    /// The key in the config, or `where`, `plan`, `map`, `definitions`.
    pub key: &'static str,
    /// Its value in the baseline, as text; the default's word where it is not set.
    pub baseline: String,
    /// Its value now.
    pub current: String,
}

impl fmt::Display for ConfigDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} in the baseline, {} now", self.key, self.baseline, self.current)
    }
}

/// Settings that differ from the default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Judging")]
pub(super) struct JudgingWire {
    /// The expression over `subtask`.
    subtask_passed: Option<String>,
    /// The expression over `final` and `run`.
    final_passed: Option<String>,
    /// Most steps.
    max_steps: Option<u64>,
    /// Most retries of one step.
    max_retry_per_step: Option<u64>,
    /// Most retries.
    allowed_total_retries: Option<u64>,
    /// Longest duration, in seconds.
    timeout_seconds: Option<Decimal>,
    /// Most tokens of one attempt.
    max_tokens_per_step: Option<Decimal>,
    /// Most tokens.
    max_total_tokens: Option<Decimal>,
    /// Most cost, in US dollars.
    max_cost_usd: Option<Decimal>,
    /// "interior", "after_first" or a window such as "0.25 to 0.75"; "auto" is left out.
    mid_run: Option<String>,
    /// The score from which a run is completed; 1 is left out.
    pass_score: Option<Decimal>,
    /// "all", or step types, sorted; "tools" is left out.
    steps: Option<StepsWire>,
    /// The one score that decides.
    scorer: Option<String>,
    /// Rules of the error taxonomy, in order.
    error_types: Option<Vec<RuleWire>>,
    /// "exclude"; "count" is left out.
    infra_errors: Option<String>,
    /// "ignore"; "error" is left out.
    exit_codes: Option<String>,
    /// "exclude"; "fail" is left out.
    unfinished: Option<String>,
    /// "tries"; "failures" is left out.
    attempts_count: Option<String>,
    /// The expression of --where.
    r#where: Option<String>,
    /// SHA-256 of the order of the nodes in --plan.
    plan: Option<String>,
    /// SHA-256 of the field mapping in --map, without its notes.
    map: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum StepsWire {
    Word(String),
    Kinds(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleWire {
    r#match: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blame: Option<String>,
}

/// The word that a difference shows for a key that is not set.
fn default_of(key: &str) -> &'static str {
    match key {
        "mid_run" => "auto",
        "pass_score" => "1",
        "steps" => "tools",
        "infra_errors" => "count",
        "exit_codes" => "error",
        "unfinished" => "fail",
        "attempts_count" => "failures",
        _ => "none",
    }
}

impl Judging {
    /// What decides under this config and this way of reading.
    #[must_use]
    pub fn of(config: &EvalConfig, by: ReadBy<'_>) -> Self {
        let limits = &config.limits;
        let word = |is_set: bool, word: &str| is_set.then(|| word.to_owned());
        JudgingWire {
            subtask_passed: config
                .subtask_passed
                .as_ref()
                .map(|program| kept(program.source().trim())),
            final_passed: config.final_passed.as_ref().map(|program| kept(program.source().trim())),
            max_steps: limits.max_steps,
            max_retry_per_step: limits.max_retry_per_step,
            allowed_total_retries: limits.allowed_total_retries,
            timeout_seconds: limits.timeout_seconds.map(Decimal),
            max_tokens_per_step: limits.max_tokens_per_step.map(Decimal),
            max_total_tokens: limits.max_total_tokens.map(Decimal),
            max_cost_usd: limits.max_cost_usd.map(Decimal),
            mid_run: match config.mid_run {
                MidRun::Auto => None,
                MidRun::Interior => Some("interior".to_owned()),
                MidRun::AfterFirst => Some("after_first".to_owned()),
                MidRun::Window { from, to } => Some(format!("{from} to {to}")),
            },
            pass_score: Some(config.pass_score).filter(|score| *score != 1.0).map(Decimal),
            steps: match &config.steps {
                StepSelection::Tools => None,
                StepSelection::All => Some(StepsWire::Word("all".to_owned())),
                StepSelection::Kinds(kinds) => {
                    let mut kinds = kinds.clone();
                    kinds.sort_unstable();
                    kinds.dedup();
                    Some(StepsWire::Kinds(kinds))
                }
            },
            scorer: config.scorer.as_deref().map(kept),
            error_types: rules(config),
            infra_errors: word(config.infra_errors == Infra::Exclude, "exclude"),
            exit_codes: word(config.exit_codes == ExitCodes::Ignore, "ignore"),
            unfinished: word(config.unfinished == Unfinished::Exclude, "exclude"),
            attempts_count: word(config.attempts_count == AttemptsCount::Tries, "tries"),
            r#where: by.filter.map(|filter| kept(filter.trim())),
            plan: by.plan.map(|plan| {
                // The names of its nodes in order are all that readers take from a plan.
                let names = (&plan.workflow, plan.order());
                sha256_hex(json(&names).as_bytes())
            }),
            map: by.mapping.map(|mapping| mapping.sha256.clone()),
        }
        .canonical()
    }

    /// Key and compact JSON of all that is not the default, in a fixed order.
    #[must_use]
    pub fn settings(&self) -> &[(&'static str, String)] {
        &self.settings
    }

    /// SHA-256 in hex of the canonical form: the settings as one line of JSON.
    #[must_use]
    pub fn sha256(&self) -> String {
        let members: Vec<String> =
            self.settings.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        sha256_hex(format!("{{{}}}", members.join(",")).as_bytes())
    }

    /// What is not the same in `self`, the baseline's, and `current`, sorted as in the file.
    #[must_use]
    pub fn differences(&self, current: &Self) -> Vec<ConfigDifference> {
        let pairs = KEYS.iter().map(|key| (*key, self.get(key), current.get(key)));
        pairs
            .filter(|(_, baseline, current)| baseline != current)
            .map(|(key, baseline, current)| ConfigDifference {
                key,
                baseline: shown(key, baseline),
                current: shown(key, current),
            })
            .collect()
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }
}

/// The keys of [`JudgingWire`], in the order in which they are written.
pub(super) const KEYS: [&str; 21] = [
    "subtask_passed",
    "final_passed",
    "max_steps",
    "max_retry_per_step",
    "allowed_total_retries",
    "timeout_seconds",
    "max_tokens_per_step",
    "max_total_tokens",
    "max_cost_usd",
    "mid_run",
    "pass_score",
    "steps",
    "scorer",
    "error_types",
    "infra_errors",
    "exit_codes",
    "unfinished",
    "attempts_count",
    "where",
    "plan",
    "map",
];

impl JudgingWire {
    /// The same settings always give the same text, whoever wrote the file.
    pub(super) fn canonical(self) -> Judging {
        let values = [
            value(&self.subtask_passed),
            value(&self.final_passed),
            value(&self.max_steps),
            value(&self.max_retry_per_step),
            value(&self.allowed_total_retries),
            value(&self.timeout_seconds),
            value(&self.max_tokens_per_step),
            value(&self.max_total_tokens),
            value(&self.max_cost_usd),
            value(&self.mid_run),
            value(&self.pass_score),
            value(&self.steps),
            value(&self.scorer),
            value(&self.error_types),
            value(&self.infra_errors),
            value(&self.exit_codes),
            value(&self.unfinished),
            value(&self.attempts_count),
            value(&self.r#where),
            value(&self.plan),
            value(&self.map),
        ];
        let settings = KEYS.iter().zip(values).filter_map(|(key, value)| Some((*key, value?)));
        Judging { settings: settings.collect() }
    }
}

fn rules(config: &EvalConfig) -> Option<Vec<RuleWire>> {
    let blame = |blame: Blame| match blame {
        Blame::Agent => "agent",
        Blame::Infra => "infra",
        Blame::Task => "task",
    };
    (!config.error_types.is_empty()).then(|| {
        let rule = |(pattern, kind, whose): (&str, Option<&str>, Option<Blame>)| RuleWire {
            r#match: kept(pattern),
            r#type: kind.map(kept),
            blame: whose.map(|whose| blame(whose).to_owned()),
        };
        config.error_types.rules().map(rule).collect()
    })
}

/// A text as it may be stored; texts that differ stay different.
fn kept(text: &str) -> String {
    masked_apart(text).unwrap_or_else(|| text.to_owned())
}

fn value<T: Serialize>(setting: &Option<T>) -> Option<String> {
    setting.as_ref().map(json)
}

/// Compact JSON; what is written here cannot fail to be.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// A value for people: texts without the quotes and escapes of JSON.
fn shown(key: &str, value: Option<&str>) -> String {
    let Some(value) = value else { return default_of(key).to_owned() };
    serde_json::from_str::<String>(value)
        .map_or_else(|_| value.to_owned(), |text| format!("`{text}`"))
}

/// SHA-256 in hex.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
