//! One run as one line: its wire form, and the checks that a line read back must stand.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::evaluate::{ErrorCount, Limit, MidRun, Names, Outcome, RunRow};
use crate::model::{MOST_AMOUNT, Place, RetrySource, Tokens, nearest};

/// The most that a run of any length can have taken, in seconds, tokens or dollars: the figures of
/// larger ones would leave the numbers.
const MOST_SUM: f64 = MOST_AMOUNT * 1e9;

/// A number in plain decimals, read back to the very same bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Decimal(pub(super) f64);

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `Display` writes the shortest digits that read back equal, and never an exponent.
        let value = if self.0 == 0.0 { 0.0 } else { self.0 };
        let text = RawValue::from_string(value.to_string());
        text.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text: &RawValue = Deserialize::deserialize(reader)?;
        let is_number = text.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        match text.get().parse::<f64>() {
            Ok(number) if is_number && number.is_finite() => Ok(Self(number)),
            _ => Err(serde::de::Error::custom(format!(
                "expected a number, found {}",
                text.get().chars().take(40).collect::<String>()
            ))),
        }
    }
}

impl JsonSchema for Decimal {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "number".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        f64::json_schema(generator)
    }
}

fn zero(count: &u32) -> bool {
    *count == 0
}

fn first(save: &u32) -> bool {
    *save == 1
}

fn no(flag: &bool) -> bool {
    !flag
}

fn one() -> u32 {
    1
}

fn none<T>(list: &[T]) -> bool {
    list.is_empty()
}

/// One run. What is left out is 0, none or false.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "S: Deserialize<'de>"))]
#[schemars(rename = "Run")]
pub(super) struct RunWire<S> {
    /// The task's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<S>,
    /// Which repetition of the task it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<S>,
    /// The run's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<S>,
    /// The save that it is of; 1 is left out.
    #[serde(default = "one", skip_serializing_if = "first")]
    pub(super) save: u32,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<S>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<S>,
    /// Labels, each as key and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<(S, S)>,
    /// The status word, as recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<S>,
    /// completed, failed, over_limit, cancelled, unfinished or unknown.
    outcome: S,
    /// The limit that was passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<S>,
    /// Whether it leaves completion because its last failed attempt is infra.
    #[serde(default, skip_serializing_if = "no")]
    infra_excused: bool,
    /// Whether nothing is known of steps.
    #[serde(default, skip_serializing_if = "no")]
    steps_unknown: bool,
    /// Steps.
    #[serde(default, skip_serializing_if = "zero")]
    steps: u32,
    /// Attempts, implied ones among them.
    #[serde(default, skip_serializing_if = "zero")]
    attempts: u32,
    /// Attempts that passed or failed and count in error rates.
    #[serde(default, skip_serializing_if = "zero")]
    judged: u32,
    /// Of those, the failed ones.
    #[serde(default, skip_serializing_if = "zero")]
    failed: u32,
    /// Failed attempts, also those that infra exclusion takes out of the rates.
    #[serde(default, skip_serializing_if = "zero")]
    failed_all: u32,
    /// Failed attempts that infra exclusion takes out of the rates.
    #[serde(default, skip_serializing_if = "zero")]
    infra_failed: u32,
    /// Whether the first attempt of the first step passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_step: Option<bool>,
    /// Counts over the mid-run; left out where the order of steps is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mid: Option<MidWire>,
    /// Retries, lost ones among them.
    #[serde(default, skip_serializing_if = "zero")]
    retries: u32,
    /// Retries that are there as attempts.
    #[serde(default, skip_serializing_if = "zero")]
    retries_present: u32,
    /// Of those, the ones that passed.
    #[serde(default, skip_serializing_if = "zero")]
    retries_passed: u32,
    /// Inferred retries with the same input.
    #[serde(default, skip_serializing_if = "zero")]
    retries_identical: u32,
    /// Inferred retries with another or unknown input.
    #[serde(default, skip_serializing_if = "zero")]
    retries_revised: u32,
    /// Whether retries are recorded; else they are inferred.
    #[serde(default, skip_serializing_if = "no")]
    retries_recorded: bool,
    /// Attempts whose records are lost.
    #[serde(default, skip_serializing_if = "zero")]
    lost: u32,
    /// Attempts implied by a recorded count.
    #[serde(default, skip_serializing_if = "zero")]
    implied: u32,
    /// Attempts equal to an earlier, passed attempt.
    #[serde(default, skip_serializing_if = "zero")]
    repeated: u32,
    /// Whether any attempt records its input.
    #[serde(default, skip_serializing_if = "no")]
    has_input: bool,
    /// Whether an approval or a human took part.
    #[serde(default, skip_serializing_if = "no")]
    intervention: bool,
    /// Step of the first failed attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_failure: Option<u32>,
    /// The first step that failed and was not recovered, of a run that was not completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turned_at: Option<u32>,
    /// Steps with a failed attempt, by position, from 1.
    #[serde(default, skip_serializing_if = "none")]
    failed_steps: Box<[u32]>,
    /// Seconds from start to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_seconds: Option<Decimal>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<TokensWire>,
    /// Cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_usd: Option<Decimal>,
    /// Failed attempts by error type and tool, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ErrorWire<S>>,
    /// Attempts by step type, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    step_types: Vec<(S, u32)>,
    /// Planned nodes never reached.
    #[serde(default, skip_serializing_if = "zero")]
    never_reached: u32,
}

/// Counts over the mid-run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MidRun")]
struct MidWire {
    /// Attempts that passed or failed.
    #[serde(default, skip_serializing_if = "zero")]
    judged: u32,
    /// Attempts that failed.
    #[serde(default, skip_serializing_if = "zero")]
    failed: u32,
    /// Steps with a failed attempt.
    #[serde(default, skip_serializing_if = "zero")]
    failed_steps: u32,
    /// Of those, the recovered ones.
    #[serde(default, skip_serializing_if = "zero")]
    recovered_steps: u32,
}

/// Tokens, split so that nothing is counted twice.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tokens")]
struct TokensWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Decimal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_read: Option<Decimal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_write: Option<Decimal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Decimal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unsplit: Option<Decimal>,
}

/// Failed attempts of one error type and tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "S: Deserialize<'de>"))]
#[schemars(rename = "Errors")]
struct ErrorWire<S> {
    r#type: S,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<S>,
    attempts: u32,
}

impl<'r> RunWire<&'r str> {
    /// The wire form of a row.
    pub(super) fn of(row: &'r RunRow, save: u32) -> Self {
        let amount = |amount: f64| Some(amount).filter(|amount| *amount != 0.0).map(Decimal);
        Self {
            task_id: row.task_id.as_deref(),
            trial: row.trial.as_deref(),
            run_id: row.run_id.as_deref(),
            save,
            agent: row.agent.as_deref(),
            model: row.model.as_deref(),
            tags: row.tags.iter().map(|(key, value)| (&**key, &**value)).collect(),
            status: row.status.as_deref(),
            outcome: row.outcome.name(),
            limit: row.limit.map(Limit::name),
            infra_excused: row.infra_excused,
            steps_unknown: row.steps_unknown,
            steps: row.steps,
            attempts: row.attempts,
            judged: row.judged,
            failed: row.failed,
            failed_all: row.failed_all,
            infra_failed: row.infra_failed,
            first_step: row.first_step,
            mid: row.mid.map(|mid| MidWire {
                judged: mid.judged,
                failed: mid.failed,
                failed_steps: mid.failed_steps,
                recovered_steps: mid.recovered_steps,
            }),
            retries: row.retries,
            retries_present: row.retries_present,
            retries_passed: row.retries_passed,
            retries_identical: row.retries_identical,
            retries_revised: row.retries_revised,
            retries_recorded: row.retry_source == RetrySource::Recorded,
            lost: row.lost,
            implied: row.implied,
            repeated: row.repeated,
            has_input: row.has_input,
            intervention: row.intervention,
            first_failure: row.first_failure,
            turned_at: row.turned_at,
            failed_steps: row.failed_steps.clone(),
            duration_seconds: row.duration_seconds.map(Decimal),
            tokens: row.tokens.map(|tokens| TokensWire {
                input: amount(tokens.input),
                cache_read: amount(tokens.cache_read),
                cache_write: amount(tokens.cache_write),
                output: amount(tokens.output),
                unsplit: amount(tokens.unsplit),
            }),
            cost_usd: row.cost_usd.map(Decimal),
            errors: row
                .errors
                .iter()
                .map(|error| ErrorWire {
                    r#type: &*error.kind,
                    tool: error.tool.as_deref(),
                    attempts: error.attempts,
                })
                .collect(),
            step_types: row.step_types.iter().map(|(kind, n)| (&**kind, *n)).collect(),
            never_reached: row.never_reached,
        }
    }
}

impl RunWire<Box<str>> {
    /// The row of a line that was read, at its number from 1; with names that rows share.
    ///
    /// Fails with what no counted run can have: metrics rely on parts not being more than wholes.
    pub(super) fn row(self, number: u64, names: &mut Names) -> Result<RunRow, String> {
        self.check()?;
        let outcome = word(&self.outcome, "outcome", &Outcome::ALL, Outcome::name)?;
        let limit = match &self.limit {
            Some(limit) => Some(word(limit, "limit", &Limit::ALL, Limit::name)?),
            None => None,
        };
        let source =
            if self.retries_recorded { RetrySource::Recorded } else { RetrySource::Inferred };
        let amount = |amount: Option<Decimal>| amount.map_or(0.0, |amount| amount.0);
        Ok(RunRow {
            place: Place { line: number, ..Place::default() },
            run_id: self.run_id,
            task_id: self.task_id.map(|id| names.label(&id)),
            trial: self.trial.map(|trial| names.label(&trial)),
            agent: self.agent.map(|agent| names.share(&agent)),
            model: self.model.map(|model| names.share(&model)),
            tags: self
                .tags
                .into_iter()
                .map(|(key, value)| (names.label(&key), names.label(&value)))
                .collect(),
            status: self.status.map(|status| names.share(&status)),
            outcome,
            limit,
            infra_excused: self.infra_excused,
            steps_unknown: self.steps_unknown,
            steps: self.steps,
            attempts: self.attempts,
            judged: self.judged,
            failed: self.failed,
            failed_all: self.failed_all,
            infra_failed: self.infra_failed,
            first_step: self.first_step,
            mid: self.mid.map(|mid| MidRun {
                judged: mid.judged,
                failed: mid.failed,
                failed_steps: mid.failed_steps,
                recovered_steps: mid.recovered_steps,
            }),
            retries: self.retries,
            retries_present: self.retries_present,
            retries_passed: self.retries_passed,
            retries_identical: self.retries_identical,
            retries_revised: self.retries_revised,
            retry_source: source,
            lost: self.lost,
            implied: self.implied,
            repeated: self.repeated,
            has_input: self.has_input,
            intervention: self.intervention,
            first_failure: self.first_failure,
            turned_at: self.turned_at,
            failed_steps: self.failed_steps,
            duration_seconds: self.duration_seconds.map(|seconds| seconds.0),
            tokens: self.tokens.map(|tokens| Tokens {
                input: amount(tokens.input),
                cache_read: amount(tokens.cache_read),
                cache_write: amount(tokens.cache_write),
                output: amount(tokens.output),
                unsplit: amount(tokens.unsplit),
            }),
            cost_usd: self.cost_usd.map(|cost| cost.0),
            errors: self
                .errors
                .into_iter()
                .map(|error| ErrorCount {
                    kind: names.share(&error.r#type),
                    tool: error.tool.map(|tool| names.share(&tool)),
                    attempts: error.attempts,
                })
                .collect(),
            step_types: self
                .step_types
                .into_iter()
                .map(|(kind, n)| (names.share(&kind), n))
                .collect(),
            never_reached: self.never_reached,
        })
    }

    fn check(&self) -> Result<(), String> {
        let parts = [
            ("judged", self.judged, "attempts", self.attempts),
            ("failed", self.failed, "judged", self.judged),
            ("failed", self.failed, "failed_all", self.failed_all),
            ("infra_failed", self.infra_failed, "failed_all", self.failed_all),
            ("failed_all", self.failed_all, "attempts", self.attempts),
            ("retries_passed", self.retries_passed, "retries_present", self.retries_present),
            ("retries_present", self.retries_present, "attempts", self.attempts),
            ("repeated", self.repeated, "attempts", self.attempts),
            ("first_failure", self.first_failure.unwrap_or(0), "steps", self.steps),
            ("turned_at", self.turned_at.unwrap_or(0), "steps", self.steps),
            (
                "the last of failed_steps",
                self.failed_steps.last().map_or(0, |s| *s),
                "steps",
                self.steps,
            ),
        ];
        let mid = self.mid.as_ref().map(|mid| {
            [
                ("mid.failed", mid.failed, "mid.judged", mid.judged),
                ("mid.judged", mid.judged, "judged", self.judged),
                ("mid.recovered_steps", mid.recovered_steps, "mid.failed_steps", mid.failed_steps),
                ("mid.failed_steps", mid.failed_steps, "steps", self.steps),
            ]
        });
        for (part, count, whole, all) in parts.into_iter().chain(mid.into_iter().flatten()) {
            if count > all {
                return Err(format!("{part} is {count}, but {whole} is {all}"));
            }
        }
        if self.save == 0 {
            return Err("save is 0, but saves are numbered from 1".to_owned());
        }
        if self.failed_steps.first() == Some(&0) || !self.failed_steps.is_sorted_by(|a, b| a < b) {
            return Err("failed_steps are positions from 1, each once and in order".to_owned());
        }
        for (name, amount) in
            [("duration_seconds", self.duration_seconds), ("cost_usd", self.cost_usd)]
        {
            if let Some(Decimal(amount)) = amount.filter(|amount| amount.0 < 0.0) {
                return Err(format!("{name} is {amount}, below 0"));
            }
            if amount.is_some_and(|amount| amount.0 > MOST_SUM) {
                return Err(format!("{name} is more than any run can take"));
            }
        }
        let parts = |t: &TokensWire| [t.input, t.cache_read, t.cache_write, t.output, t.unsplit];
        let mut tokens = self.tokens.iter().flat_map(parts).flatten();
        if tokens.any(|tokens| tokens.0.abs() > MOST_SUM) {
            return Err("tokens are more than any run can take".to_owned());
        }
        Ok(())
    }
}

/// Finds a word among those that exist.
fn word<T: Copy>(
    given: &str,
    key: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    all.iter().copied().find(|known| name(*known) == given).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|known| name(*known)).collect();
        let shown: String = given.chars().take(40).collect();
        match nearest(given, known.iter().copied()) {
            Some(near) => format!("`{shown}` is no {key}, did you mean `{near}`?"),
            None => format!("`{shown}` is no {key}; known: {}", known.join(", ")),
        }
    })
}
