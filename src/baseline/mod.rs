//! Stored baselines: the rows of an accepted set of runs, kept as a plain file to commit.
//!
//! Owns the form of the file (`agenteval.baseline/1`: a header of a few keys, then a run a line,
//! sorted), what of a config decides how runs are judged ([`Judging`]) and where two differ, the
//! folder of baselines ([`Store`]) with its names, pooled saves and the history of moves.
//! Refuses: contents of traces (labels alone are kept, and masked), a clock, writing files (the
//! command line does, whole or not at all), and to guess at a file that it does not know.

mod error;
mod judging;
mod line;
mod masked;
mod moves;
mod name;
mod order;
mod read;
mod store;
mod wire;
mod write;

use crate::evaluate::RunRow;
use crate::metrics::DEFINITIONS;

pub use error::BaselineError;
pub use judging::{ConfigDifference, Judging, ReadBy};
pub use masked::masked_row;
pub use name::check_name;
pub use store::{FOLDER, MAX_BASELINE, Store};
pub use wire::baseline_schema;

/// The form of the file.
pub const SCHEMA: &str = "agenteval.baseline/1";

/// A stored set of runs, one row each, with what is needed to compare other runs with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Its name: that of its file in the store.
    pub name: String,
    /// SHA-256 in hex of the file that it was read from, its line ends as `\n`; empty where it is
    /// not stored yet.
    pub sha256: String,
    /// Version of agenteval that wrote it.
    pub agenteval: String,
    /// What the figures meant when its rows were counted; see [`DEFINITIONS`].
    pub definitions: u32,
    /// The config file that judged; `None` without one.
    pub config: Option<ConfigFile>,
    /// What decided how its runs were judged.
    pub judging: Judging,
    /// The saves that are pooled in it, oldest first; at least one.
    pub saves: Vec<Save>,
    /// What was read, by save, path and digest.
    pub inputs: Vec<Input>,
    /// How it came to be where it is: each time that it replaced an earlier one, oldest first.
    pub history: Vec<Move>,
    /// The rows, masked, in the order of the file; their places count runs from line 1.
    pub rows: Vec<RunRow>,
    /// The save of each row.
    pub(crate) save_of: Vec<u32>,
}

/// The config file that judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Name of what is evaluated.
    pub task_name: Option<String>,
    /// SHA-256 of the file's bytes, in hex.
    pub sha256: String,
}

/// One set of runs that was added to a baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// Its number, from 1, kept when older ones are dropped.
    pub number: u32,
    /// Its runs.
    pub runs: u64,
    /// The commit that it was made at.
    pub commit: Option<String>,
    /// The time that was given for it, RFC 3339; never the clock's.
    pub time: Option<String>,
}

/// One path that a save was read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input {
    /// The save that read it.
    pub save: u32,
    /// The path as given; of an absolute one the last name.
    pub path: String,
    /// SHA-256 in hex of a file's bytes; of a folder's, of the list of `DIGEST  NAME` lines of the
    /// files that were read, sorted. `None` for standard input.
    pub sha256: Option<String>,
    /// The formats that were read, by name.
    pub formats: Vec<String>,
    /// Files that were read.
    pub files: u64,
    /// Runs that they gave, before `--where`.
    pub runs: u64,
    /// Records that could not be read.
    pub rejected: u64,
}

/// One time that a baseline was replaced: why, and what stood there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Why, in the words of who did it; `None` for `save --force`.
    pub reason: Option<String>,
    /// Who, where that was given.
    pub by: Option<String>,
    /// The commit at which it was moved.
    pub commit: Option<String>,
    /// The time that was given for it.
    pub time: Option<String>,
    /// SHA-256 of the file that was replaced.
    pub previous: String,
    /// Runs in it.
    pub runs: u64,
    /// Of those, the runs in its completion rate.
    pub ended: u64,
    /// Of those, the completed ones.
    pub completed: u64,
}

/// Where and when a baseline is saved, and by whom, as far as that is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The commit.
    pub commit: Option<String>,
    /// The time, RFC 3339.
    pub time: Option<String>,
    /// Who.
    pub by: Option<String>,
}

impl Baseline {
    /// A baseline of one save. Rows are masked and sorted, amounts that are no finite number
    /// dropped; `inputs` are numbered as those of save 1.
    #[must_use]
    pub fn new(
        name: &str,
        config: Option<ConfigFile>,
        judging: Judging,
        rows: &[RunRow],
        mut inputs: Vec<Input>,
        origin: &Origin,
    ) -> Self {
        inputs.iter_mut().for_each(|input| input.save = 1);
        let mut baseline = Self {
            name: name.to_owned(),
            sha256: String::new(),
            agenteval: env!("CARGO_PKG_VERSION").to_owned(),
            definitions: DEFINITIONS,
            config,
            judging,
            saves: vec![Save {
                number: 1,
                runs: rows.len() as u64,
                commit: origin.commit.clone(),
                time: origin.time.clone(),
            }],
            inputs,
            history: Vec::new(),
            rows: rows.iter().map(masked_row).collect(),
            save_of: vec![1; rows.len()],
        };
        baseline.sort();
        baseline
    }

    /// The save that a row is of, by the row's position in [`rows`](Self::rows).
    #[must_use]
    pub fn save_of(&self, position: usize) -> Option<u32> {
        self.save_of.get(position).copied()
    }

    /// What decides how runs are judged and is not the same for other runs: their config, `--where`,
    /// plan, and the definitions of this agenteval. Empty where the two are comparable.
    #[must_use]
    pub fn differences(&self, current: &Judging) -> Vec<ConfigDifference> {
        let mut all = Vec::new();
        if self.definitions != DEFINITIONS {
            all.push(ConfigDifference {
                key: "definitions",
                baseline: self.definitions.to_string(),
                current: DEFINITIONS.to_string(),
            });
        }
        all.extend(self.judging.differences(current));
        all
    }

    /// Runs in the completion rate, and the completed ones among them.
    #[must_use]
    pub fn completion(&self) -> (u64, u64) {
        let ended = self.rows.iter().filter(|row| row.counts_as_ended());
        ended.fold((0, 0), |(all, done), row| (all + 1, done + u64::from(row.completed())))
    }

    /// The agents that its runs record, sorted.
    #[must_use]
    pub fn agents(&self) -> Vec<&str> {
        distinct(self.rows.iter().filter_map(|row| row.agent.as_deref()))
    }

    /// The models that its runs record, sorted.
    #[must_use]
    pub fn models(&self) -> Vec<&str> {
        distinct(self.rows.iter().filter_map(|row| row.model.as_deref()))
    }
}

fn distinct<'r>(names: impl Iterator<Item = &'r str>) -> Vec<&'r str> {
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}
