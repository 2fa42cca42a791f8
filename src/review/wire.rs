//! The sheet and the key, as they are stored.
//!
//! Owns the names of fields and columns, which do not change within a version. Refuses other versions.

use serde::{Deserialize, Serialize};

/// What is rated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitKind {
    /// Whole runs: did the agent do what it should?
    Runs,
    /// Steps: did the step give what it should?
    Steps,
}

impl UnitKind {
    /// The word in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Steps => "steps",
        }
    }
}

/// A verdict of the config or of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It did what it should.
    Pass,
    /// It did not.
    Fail,
}

impl Verdict {
    /// Both, pass first, as in tables.
    pub const BOTH: [Self; 2] = [Self::Pass, Self::Fail];

    /// The word in sheets and keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
        }
    }
}

/// Columns of a sheet, in their order. `content` is there only where it was asked for.
pub const SHEET_COLUMNS: [&str; 9] =
    ["id", "task", "run", "where", "step", "tool", "content", "verdict", "note"];

/// A sheet to be filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sheet {
    /// Always `agenteval.review-sheet/1`.
    pub schema: &'static str,
    /// How to fill it in.
    pub how: &'static str,
    /// The rows, in shuffled order.
    pub rows: Vec<SheetRow>,
}

/// One run or step to rate. Texts are as recorded: whoever writes them masks and escapes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SheetRow {
    /// Its id in the sheet and the key.
    pub id: String,
    /// The task.
    pub task: Option<String>,
    /// The run's id.
    pub run: Option<String>,
    /// `FILE:LINE` or `FILE@BYTE` of the run.
    #[serde(rename = "where")]
    pub place: String,
    /// The step's position, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The step's tool or node, else its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What was said, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// To be filled in: pass, fail or unsure.
    pub verdict: &'static str,
    /// To be filled in, for people.
    pub note: &'static str,
}

/// What is needed to score a sheet; not to be opened before it is filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Always `agenteval.review-key/1`.
    pub schema: String,
    /// What was drawn.
    pub unit: UnitKind,
    /// The seed of the draw.
    pub seed: u64,
    /// SHA-256 of the config that judged; empty without one.
    pub config_sha256: String,
    /// What rows were drawn from, by the config's verdict.
    pub strata: Vec<KeyStratum>,
    /// The drawn rows, by id.
    pub rows: Vec<KeyRow>,
}

/// One stratum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyStratum {
    /// The config's verdict of all in it.
    pub judge: Verdict,
    /// How many there are.
    pub size: u64,
    /// How many of them were drawn.
    pub drawn: u64,
}

/// One drawn run or step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRow {
    /// Its id in the sheet.
    pub id: String,
    /// The config's verdict, which is its stratum.
    pub judge: Verdict,
}
