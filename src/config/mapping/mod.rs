//! Field mappings (`--map`): how records of any JSON or CSV become runs and steps.
//!
//! Owns: the form of the file (`wire.rs`), paths (`path.rs`), the checks (`keys.rs`, `check.rs`),
//! the mapping as used ([`Mapping`]), and the mappings that ship with the program (`ready.rs`).
//! Refuses: to read records, which `ingest/formats/mapped/` does, and to guess.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::ConfigError;
use super::parse;

mod check;
mod compiled;
mod keys;
pub mod path;
mod ready;
pub mod wire;

pub use compiled::{
    Fields, Literal, Node, Origin, Pick, Prefix, Rule, RunField, Slot, Source, Spelling, StepField,
    Test, TimeForm, Tree, Use,
};
pub use ready::{READY, Ready, ready};
pub use wire::{Class, DurationUnit, Line};

/// What `schema` of a mapping must say.
pub const MAPPING_SCHEMA: &str = "agenteval.map/1";

/// A mapping whose every path and pattern is sound. [`Default`] reads nothing.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    /// The name of its file, or of the ready mapping.
    pub name: String,
    /// Whether it ships with the program: it then covers more than one file has.
    pub ready: bool,
    /// SHA-256 in hex of what it says, remarks and spelling aside.
    pub sha256: String,
    /// What stands in front of the JSON of a line.
    pub prefix: Prefix,
    /// Whether the file must be read by lines, because a prefix is named.
    pub by_lines: bool,
    /// The text that holds the record as JSON.
    pub unwrap: Option<Tree>,
    /// Whether lines that are no JSON are refused.
    pub refuses_other: bool,
    /// Whether a record is a whole run.
    pub whole_runs: bool,
    /// What is read of the document around the records, of a record, and of a step inside of one.
    pub levels: [Tree; 3],
    /// Slot of the list of records on the level of the document.
    pub records: Option<usize>,
    /// Slots of the lists of steps on the level of the record.
    pub steps: Vec<usize>,
    /// What the records of one run share.
    pub run_key: Source,
    /// What the attempts of one step share.
    pub step_key: Source,
    /// What the records of one attempt share.
    pub attempt_key: Source,
    /// When a record was written.
    pub time: Source,
    /// What tells that two records are one.
    pub same: Source,
    /// Fields of a run that one record is.
    pub run: Fields,
    /// What records are; the last rule fits all where the mapping has none.
    pub rules: Vec<Rule>,
    /// What statuses mean, in lower case.
    pub statuses: BTreeMap<String, String>,
    /// Added to a count of attempts: 1 where it counts retries.
    pub more_attempts: u32,
    /// Added to the number of an attempt: 1 where the first is 0.
    pub attempt_offset: u32,
    /// Step types that are model turns.
    pub turns: Vec<String>,
    /// What each field reads, for telling what never matched.
    pub uses: Vec<Use>,
}

impl Mapping {
    /// Reads, checks and compiles a mapping in JSON; in YAML where `name` ends like it.
    ///
    /// # Errors
    /// Text that is no object, an unknown key, a value of another type, a path, pattern, time or
    /// unit that cannot be read, fields that contradict each other.
    pub fn from_text(bytes: &[u8], name: &str) -> Result<Self, ConfigError> {
        check::read(bytes, name)
    }

    /// Reads a mapping file.
    ///
    /// # Errors
    /// A file that cannot be read, and those of [`from_text`](Self::from_text).
    pub fn load(file: &std::path::Path) -> Result<Self, ConfigError> {
        let name = file.display().to_string();
        let bytes = parse::read_bounded(file).map_err(|error| {
            let names: Vec<&str> = READY.iter().map(|ready| ready.name).collect();
            ConfigError::of_file(
                &name,
                format!("the mapping cannot be read: {}", error.to_string().to_lowercase()),
                &format!(
                    "name a file, or a ready mapping: {}; `agenteval map suggest` drafts one",
                    names.join(", ")
                ),
            )
        })?;
        Self::from_text(&bytes, &name)
    }

    /// The ready mapping of this name, else the file.
    ///
    /// # Errors
    /// Those of [`load`](Self::load).
    pub fn named(name: &std::path::Path) -> Result<Self, ConfigError> {
        match name.to_str().and_then(ready) {
            Some(ready) => {
                let mut mapping = Self::from_text(ready.text.as_bytes(), ready.name)?;
                mapping.ready = true;
                Ok(mapping)
            }
            None => Self::load(name),
        }
    }

    /// The level of the records whose events are classified.
    #[must_use]
    pub fn event_level(&self) -> usize {
        if self.whole_runs { 2 } else { 1 }
    }

    /// Whether some rule tells the end of a run.
    #[must_use]
    pub fn tells_ends(&self) -> bool {
        self.rules.iter().any(|rule| rule.class == Class::RunEnd)
    }
}

/// The schema that `agenteval schema map` prints.
#[must_use]
pub fn mapping_schema() -> Value {
    schemars::schema_for!(wire::Wire).to_value()
}
