//! Exported rows of the table `agent_task`, in which a runner keeps one row a node of a workflow.
//!
//! Owns: which rows these are, as CSV, NDJSON or a JSON array. A workflow is a run, wherever its
//! rows stand; a row is a checkpoint and is read as one, so that the same workflow gives the same
//! figures from a folder and from a table. Refuses: rows without a `workflow_id`, which belong to
//! no run, and `max_attempts`, which is a limit and nothing that happened.

use super::checkpoints::Checkpoints;
use super::raw::{label, raw_fields};
use super::{Format, Probe, Reader};
use crate::ingest::quick;

/// Rows of the table `agent_task`.
pub const AGENT_TASK: Format = Format {
    name: "agent-task",
    about: "exported rows of the table agent_task (CSV, NDJSON or a JSON array)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::PartsOrRows(|options| Box::new(Checkpoints::of_rows(options))),
    archive: None,
    misspelt: None,
};

/// The columns that only such a table has together.
const COLUMNS: [&str; 5] = ["workflow_id", "node_id", "status", "attempts", "max_attempts"];

raw_fields! {
    /// What tells a row from a checkpoint file.
    Named { node_id }
}

fn detect(probe: &Probe<'_>) -> bool {
    if probe.of_table {
        return probe.keys().iter().any(|names| {
            let has = |column: &&str| names.iter().any(|name| name == *column);
            COLUMNS[..4].iter().all(has)
        });
    }
    // A checkpoint folder has a file a node, named after it: its folder is the run.
    probe.any_has(&COLUMNS) && (probe.in_array || !probe.records.iter().any(|r| names(probe, r)))
}

/// Whether the file is named after the node that the record holds.
fn names(probe: &Probe<'_>, record: &[u8]) -> bool {
    let Ok(row) = quick::from_slice::<Named<'_>>(record) else { return false };
    let stem = probe.path.file_stem().map(|stem| stem.to_string_lossy());
    stem.is_some() && row.node_id.and_then(label) == stem
}
