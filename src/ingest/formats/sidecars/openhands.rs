//! OpenHands' outputs once they were evaluated (`output.swebench_eval.jsonl`): the instances without
//! their events, and the report of each.
//!
//! Refuses: outputs that keep their events, which are trajectories that say their own outcome.

use std::path::Path;

use super::super::raw::{raw_fields, read};
use super::swe_bench::{id, instance};
use super::{Said, Sidecar};
use crate::ingest::quick;
use crate::ingest::scan::top_keys;

/// Evaluated outputs, one instance a line.
pub(super) const EVALUATED: Sidecar = Sidecar {
    name: "evaluated",
    about: "outcomes of evaluated OpenHands outputs",
    alone: "give the trajectories (`output.jsonl`) too",
    detect: |look| {
        look.has(&["instance_id", "test_result"])
            && !look.any(&["history", "events", "steps"])
            && reports(look.head)
    },
    read: read_lines,
};

/// Whether the test result of the first line has a report.
fn reports(head: &[u8]) -> bool {
    let Some(at) = memchr::memmem::find(head, b"\"test_result\"") else { return false };
    let value = head.get(at + 13..).unwrap_or_default().trim_ascii_start();
    let Some(value) = value.strip_prefix(b":") else { return false };
    top_keys(value).iter().any(|key| key == "report")
}

raw_fields! {
    /// One instance.
    Line { instance_id, test_result }
}
raw_fields! {
    /// How it was tested.
    Tested { report }
}

fn read_lines(bytes: &[u8], _: &Path) -> Said {
    let mut said = Said::default();
    for (nth, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line: Line<'_> = match quick::from_slice(line) {
            Ok(line) => line,
            Err(error) => {
                said.broken.push(format!("line {}: {error}", nth + 1));
                continue;
            }
        };
        let report = line.test_result.and_then(read::<Tested<'_>>).and_then(|tested| tested.report);
        // An instance that was not evaluated says nothing of its outcome.
        let (Some(task), Some(report)) = (line.instance_id.and_then(id), report) else { continue };
        match instance(Some(task), report) {
            Ok(head) => said.heads.push(head),
            Err(reason) => said.broken.push(format!("line {}: {reason}", nth + 1)),
        }
    }
    said
}
