//! The file as written and read; doc comments here become the descriptions of the JSON Schema.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::judging::JudgingWire;
use super::line::RunWire;
use super::{ConfigFile, Input, Move, SCHEMA, Save};
use crate::evaluate::{Names, RunRow};

/// A stored baseline: the rows of an accepted set of runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "agenteval baseline")]
pub(super) struct FileWire {
    /// Always `agenteval.baseline/1`.
    pub(super) schema: String,
    /// Version of agenteval that wrote it.
    pub(super) agenteval: String,
    /// Version of what the figures mean.
    pub(super) definitions: u32,
    /// The name that it was saved under.
    #[expect(dead_code, reason = "a file goes by the name that it has in the store")]
    pub(super) name: String,
    /// The config file that judged; left out without one.
    #[serde(default)]
    pub(super) config: Option<ConfigWire>,
    /// What decided how runs are judged, as far as it is not the default.
    pub(super) judging: JudgingWire,
    /// SHA-256 of `judging` as one line of JSON.
    pub(super) judging_sha256: String,
    /// The agents that the runs record.
    #[serde(default)]
    #[expect(dead_code, reason = "said for people; the runs have it")]
    pub(super) agents: Vec<String>,
    /// The models that the runs record.
    #[serde(default)]
    #[expect(dead_code, reason = "said for people; the runs have it")]
    pub(super) models: Vec<String>,
    /// The saves that are pooled here, oldest first.
    pub(super) saves: Vec<SaveWire>,
    /// What was read.
    #[serde(default)]
    pub(super) inputs: Vec<InputWire>,
    /// Each time that it replaced an earlier one, oldest first.
    #[serde(default)]
    pub(super) history: Vec<MoveWire>,
    /// The runs, one a line.
    #[schemars(with = "Vec<RunWire<String>>")]
    pub(super) runs: Runs,
}

/// The config file that judged.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Config")]
pub(super) struct ConfigWire {
    /// Name of what is evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_name: Option<String>,
    /// SHA-256 of the file's bytes, in hex.
    sha256: String,
}

/// One set of runs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Save")]
pub(super) struct SaveWire {
    /// Its number.
    save: u32,
    /// Its runs.
    runs: u64,
    /// The commit that it was made at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// The time that was given for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<String>,
}

/// One path that was read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Input")]
pub(super) struct InputWire {
    /// The save that read it; 1 is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    save: Option<u32>,
    /// The path as given; of an absolute one the last name.
    path: String,
    /// SHA-256 of a file's bytes; of a folder's, of the list of its files; left out for standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// The formats that were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    formats: Vec<String>,
    /// Files that were read.
    files: u64,
    /// Runs that they gave.
    runs: u64,
    /// Records that could not be read.
    rejected: u64,
}

/// One time that a baseline was replaced, and what stood there before.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Move")]
pub(super) struct MoveWire {
    /// Why; left out for `save --force`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The commit at which it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// The time that was given for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    /// SHA-256 of the file that was replaced.
    previous: String,
    /// Runs in it.
    runs: u64,
    /// Of those, the runs in its completion rate.
    ended: u64,
    /// Of those, the completed ones.
    completed: u64,
}

/// The runs, each turned into its row as soon as it is read.
#[derive(Debug, Default)]
pub(super) struct Runs(pub(super) Vec<(RunRow, u32)>);

impl<'de> Deserialize<'de> for Runs {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Runs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of runs")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut runs: A) -> Result<Runs, A::Error> {
                let (mut rows, mut names) = (Vec::new(), Names::default());
                while let Some(run) = runs.next_element::<RunWire<Box<str>>>()? {
                    let number = rows.len() as u64 + 1;
                    let save = run.save;
                    let row = run
                        .row(number, &mut names)
                        .map_err(|why| de::Error::custom(format!("run {number}: {why}")))?;
                    rows.push((row, save));
                }
                Ok(Runs(rows))
            }
        }
        reader.deserialize_seq(Read)
    }
}

/// The schema that `agenteval schema baseline` prints.
#[must_use]
pub fn baseline_schema() -> Value {
    let mut schema = schemars::schema_for!(FileWire).to_value();
    if let Some(form) = schema.pointer_mut("/properties/schema") {
        *form = json!({"const": SCHEMA, "description": "The form of the file."});
    }
    schema
}

impl From<&ConfigFile> for ConfigWire {
    fn from(config: &ConfigFile) -> Self {
        Self { task_name: config.task_name.clone(), sha256: config.sha256.clone() }
    }
}

impl From<ConfigWire> for ConfigFile {
    fn from(wire: ConfigWire) -> Self {
        Self { task_name: wire.task_name, sha256: wire.sha256 }
    }
}

impl From<&Save> for SaveWire {
    fn from(save: &Save) -> Self {
        let Save { number, runs, commit, time } = save.clone();
        Self { save: number, runs, commit, time }
    }
}

impl From<SaveWire> for Save {
    fn from(wire: SaveWire) -> Self {
        let SaveWire { save, runs, commit, time } = wire;
        Self { number: save, runs, commit, time }
    }
}

impl From<&Input> for InputWire {
    fn from(input: &Input) -> Self {
        let Input { save, path, sha256, formats, files, runs, rejected } = input.clone();
        let save = Some(save).filter(|save| *save != 1);
        Self { save, path, sha256, formats, files, runs, rejected }
    }
}

impl From<InputWire> for Input {
    fn from(wire: InputWire) -> Self {
        let InputWire { save, path, sha256, formats, files, runs, rejected } = wire;
        Self { save: save.unwrap_or(1), path, sha256, formats, files, runs, rejected }
    }
}

impl From<&Move> for MoveWire {
    fn from(to: &Move) -> Self {
        let Move { reason, by, commit, time, previous, runs, ended, completed } = to.clone();
        Self { reason, by, commit, time, previous, runs, ended, completed }
    }
}

impl From<MoveWire> for Move {
    fn from(wire: MoveWire) -> Self {
        let MoveWire { reason, by, commit, time, previous, runs, ended, completed } = wire;
        Self { reason, by, commit, time, previous, runs, ended, completed }
    }
}
