//! The field mapping as written: shapes alone, checked by `check.rs`.
//!
//! Doc comments here become the descriptions of the JSON Schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod source;

pub use source::{Line, Pick, Source, Texts, Values};

/// Where the fields of runs and steps stand in the records of a log or trace that agenteval does not know.
#[derive(Debug, Default, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "agenteval field mapping")]
pub struct Wire {
    /// Where the schema of this file is, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<String>,
    /// `agenteval.map/1`.
    pub schema: String,
    /// Remarks for people; nothing reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Texts>,
    /// How the lines of a log become records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// Path of the list that holds the records, in a document that wraps them, such as `data.events[]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<String>,
    /// What one record is: an event of a run (without this key), or a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordKind>,
    /// Paths of the lists of steps inside of a record that is a whole run, such as `state.history[]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Texts>,
    /// What binds records together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// When the record was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Source>,
    /// How times are written: `iso`, `epoch_s`, `epoch_ms`, `epoch_us`, `epoch_ns`, `auto` (without this key), or a pattern such as `%d/%b/%Y %H:%M:%S`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_format: Option<String>,
    /// The zone of times that name none: `UTC`, or an offset such as `+02:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The unit of durations; `text` reads suffixes, such as `43.8µs` or `1m2s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_unit: Option<DurationUnit>,
    /// What status words and numbers mean: the word in the data, and the status that it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statuses: Option<BTreeMap<String, String>>,
    /// What `step.attempts` counts: all tries (without this key), or the retries after the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<AttemptsAre>,
    /// The number of a step's first attempt in `step.attempt`: 1 (without this key) or 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_attempt: Option<u8>,
    /// Step types that are model turns and no steps, such as `llm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<String>>,
    /// What tells that two records are one: they are merged, the last value that is not null counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<Source>,
    /// What a record is, by the first rule that fits; without rules each is a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Rule>>,
    /// Where the fields of the run stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunFields>,
    /// Where the fields of the step stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepFields>,
}

/// How the lines of a log become records.
#[derive(Debug, Default, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lines {
    /// What stands in front of the JSON: `container` (without this key: `2026-01-01T00:00:00Z stdout F `, also parts of lines, which are joined again), `any` (all before the first `{`), `none`, or a regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Path of the text that holds the record as JSON, such as `log` in the files of Docker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwrap: Option<String>,
    /// What becomes of lines that are no JSON: they are skipped and counted (without this key), or refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherLines>,
}

/// What becomes of lines that are no JSON.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OtherLines {
    /// They are counted and left out.
    #[default]
    Skip,
    /// They are rejected, which `--strict` stops at.
    Refuse,
}

/// What one record is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A part of a run.
    #[default]
    Event,
    /// A whole run.
    Run,
}

/// What binds records together.
#[derive(Debug, Default, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Group {
    /// What the records of one run share; without it `run.run_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Source>,
    /// What the attempts of one step share; without it `step.step_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Source>,
    /// What the records of one attempt share; without it `step.request_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Source>,
}

/// The unit of durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DurationUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// The text names its unit.
    Text,
}

/// What a count of attempts counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptsAre {
    /// Every try.
    #[default]
    Tries,
    /// The tries after the first.
    Retries,
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// An attempt of a step begins.
    StepStart,
    /// An attempt of a step is over.
    StepEnd,
    /// A whole attempt of a step.
    Step,
    /// The attempt that is open failed, and the next one begins.
    Retry,
    /// Something failed: the attempt that is open, else the last one.
    Error,
    /// The run begins.
    RunStart,
    /// The run is over.
    RunEnd,
    /// Figures of the run alone.
    Metric,
    /// Nothing that any figure reads.
    Ignore,
}

/// One rule that says what a record is.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Tests by path, all of which must hold; without any the rule fits every record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, TestShape>")]
    pub when: BTreeMap<String, Value>,
    /// What the record is.
    pub is: Class,
    /// Fields of the run in such records, looked at before those of all records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunFields>,
    /// Fields of the step in such records, looked at before those of all records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepFields>,
}

/// A test: a value that is equal, a list of such values, or conditions that all hold.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is the shape of a test, for the schema alone")]
enum TestShape {
    Text(String),
    Number(f64),
    Flag(bool),
    AnyOf(Vec<Value>),
    Conditions(Conditions),
}

/// Conditions on one value, which all hold.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// Whether the value is there and not null.
    pub exists: Option<bool>,
    /// A regular expression that the text matches.
    #[serde(rename = "match")]
    pub matches: Option<String>,
    /// A value, or a list of values, none of which it is.
    pub not: Option<Value>,
    /// The least number.
    pub min: Option<f64>,
    /// The largest number.
    pub max: Option<f64>,
}

macro_rules! fields {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident $(= $key:literal)?,)+
        $(; $(#[$also:meta])* $more:ident: $kind:ty)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Default, Clone, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $(
                $(#[$doc])*
                $(#[serde(rename = $key)])?
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<Source>,
            )+
            /// Tokens.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub tokens: Option<TokenFields>,
            $(
                $(#[$also])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $more: Option<$kind>,
            )?
        }

        impl $name {
            /// The name and the source of each simple field, in the order of the schema.
            #[must_use]
            pub fn sources(&self) -> Vec<(&'static str, Option<&Source>)> {
                vec![$((fields!(@key $field $($key)?), self.$field.as_ref()),)+]
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}

fields! {
    /// Where the fields of the run stand.
    RunFields {
        /// The run's own id.
        run_id,
        /// What was to be done; trials of one task share it.
        task_id,
        /// Which repetition of the task this is.
        trial,
        /// The agent's name.
        agent,
        /// The model's name.
        model,
        /// The status word.
        status,
        /// Why the run stopped.
        end_reason,
        /// A score.
        score,
        /// Whether it succeeded.
        success,
        /// Start of the run.
        started_at,
        /// End of the run.
        ended_at,
        /// How long it took.
        duration,
        /// Cost in US dollars.
        cost,
        /// What it delivered.
        output,
        /// The object that `final` is in expressions; without it, it is put together from score, status, end reason and output.
        final_output = "final",
        ;
        /// Labels, by key.
        tags: BTreeMap<String, Source>
    }
}

fields! {
    /// Where the fields of the step stand.
    StepFields {
        /// What the attempts of one step share.
        step_id,
        /// The number of this attempt among those of its step.
        attempt,
        /// The number of attempts, where only that is kept.
        attempts,
        /// The place of the step in the run.
        index,
        /// The type: `tool`, `llm`, ...
        kind = "type",
        /// Name of the tool, node or model.
        name,
        /// The status word.
        status,
        /// Whether it passed: a flag.
        success,
        /// The error: a text, or an object with `type` and `message`.
        error,
        /// The type of the error.
        error_type,
        /// The message of the error.
        error_message,
        /// Id of the request or tool call.
        request_id,
        /// What it was given.
        input,
        /// What it gave.
        output,
        /// Start.
        started_at,
        /// End.
        ended_at,
        /// How long it took.
        duration,
        /// Cost in US dollars.
        cost,
    }
}

/// Where tokens stand. Sums that grow from record to record are left out: each attempt counts once.
#[derive(Debug, Default, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TokenFields {
    /// Input that no cache served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Source>,
    /// Input with what a cache served and kept; that is taken off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_input: Option<Source>,
    /// Input read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Source>,
    /// Input written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Source>,
    /// Output, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Source>,
    /// All tokens, where only their sum is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Source>,
}

impl TokenFields {
    /// The name and the source of each.
    #[must_use]
    pub fn sources(&self) -> [(&'static str, Option<&Source>); 6] {
        [
            ("input", self.input.as_ref()),
            ("total_input", self.total_input.as_ref()),
            ("cache_read", self.cache_read.as_ref()),
            ("cache_write", self.cache_write.as_ref()),
            ("output", self.output.as_ref()),
            ("total", self.total.as_ref()),
        ]
    }
}
