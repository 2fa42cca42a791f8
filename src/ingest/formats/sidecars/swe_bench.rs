//! What the SWE-bench harness and those who follow it write of outcomes.
//!
//! Owns the report of one instance (bare, or under the instance's id), the results of a batch (lists
//! of ids), a map or table with a row per instance, and mini-swe-agent's exit statuses. An instance
//! whose patch is empty or whose evaluation broke counts as not resolved, as in the benchmark's own
//! figure; the tag `evaluation` keeps them apart. Refuses: partial credit as a score, because a run
//! that passes all new tests and breaks old ones is not resolved.

use std::borrow::Cow;
use std::path::Path;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::raw::{Entries, amount, label, raw_fields, read, text};
use super::{Head, Look, Said, Sidecar, Whose};
use crate::ingest::delimited::fields;
use crate::ingest::quick;
use crate::ingest::scan::top_keys;
use crate::model::Trajectory;

const TRAJECTORIES: &str = "give the trajectories too";

/// Keys of a run's own records: what has one of them is a trajectory, whatever it says of outcomes.
const OF_TRACES: [&str; 4] = ["messages", "trajectory", "history", "steps"];

/// The report of one instance, without its id.
pub(super) const REPORT: Sidecar = Sidecar {
    name: "report",
    about: "the outcome of one instance (a SWE-bench report)",
    alone: TRAJECTORIES,
    detect: |look| {
        look.has(&["resolved"])
            && look.any(&["patch_exists", "patch_successfully_applied"])
            && !look.any(&OF_TRACES)
    },
    read: read_report,
};

/// The results of a batch: lists of instance ids.
pub(super) const RESULTS: Sidecar = Sidecar {
    name: "results",
    about: "outcomes of a batch (lists of resolved and unresolved instances)",
    alone: TRAJECTORIES,
    detect: |look| {
        const OTHERS: [&str; 8] = [
            "unresolved_ids",
            "error_ids",
            "empty_patch_ids",
            "completed_ids",
            "submitted_instances",
            "total_instances",
            "resolved_instances",
            "unresolved",
        ];
        look.any(&["resolved_ids", "resolved"])
            && look.any(&OTHERS)
            && !look.any(&["results", "accuracy"])
            && !look.any(&OF_TRACES)
    },
    read: read_results,
};

/// An object with one entry per instance.
pub(super) const BY_INSTANCE: Sidecar = Sidecar {
    name: "by-instance",
    about: "outcomes by instance",
    alone: TRAJECTORIES,
    detect: by_instance,
    read: read_by_instance,
};

/// A table with one row per instance and nothing but its outcome.
pub(super) const TABLE: Sidecar = Sidecar {
    name: "table",
    about: "a table of outcomes by instance",
    alone: "give the trajectories too, or read its rows as runs with `--format runs-table`",
    detect: |look| header(look.head).is_some(),
    read: read_table,
};

/// The instances of one start of a batch, by exit status.
pub(super) const EXIT_STATUSES: Sidecar = Sidecar {
    name: "exit-statuses",
    about: "exit statuses of one start of a batch (mini-swe-agent)",
    alone: TRAJECTORIES,
    detect: |look| look.head.starts_with(b"instances_by_exit_status:"),
    read: read_statuses,
};

raw_fields! {
    /// What is said of one instance.
    Report { resolved, cost, patch_is_none = "patch_is_None", tests = "tests_status" }
}
raw_fields! {
    /// Tests by what they should do.
    Tests { new = "FAIL_TO_PASS" }
}
raw_fields! {
    /// Tests by what they did.
    Ended { success, failure }
}

/// The head of an instance that is resolved or not.
pub(super) fn outcome(task: Option<String>, resolved: bool) -> Head {
    let adds = Trajectory { success: Some(resolved), ..Trajectory::default() };
    Head { task, adds, delivers: vec![("resolved", resolved.to_string())], ..Head::default() }
}

fn flag(raw: &RawValue) -> Option<bool> {
    match label(raw)?.as_ref() {
        "true" | "True" => Some(true),
        "false" | "False" => Some(false),
        _ => None,
    }
}

/// Reads what is said of one instance.
pub(super) fn instance(task: Option<String>, raw: &RawValue) -> Result<Head, String> {
    let name = || task.clone().unwrap_or_else(|| "the report".to_owned());
    let report: Report<'_> =
        read(raw).ok_or_else(|| format!("{}: an object with `resolved` is due", name()))?;
    let resolved = report
        .resolved
        .and_then(flag)
        .ok_or_else(|| format!("{}: `resolved` is neither true nor false", name()))?;
    let mut head = outcome(task, resolved);
    head.adds.cost_usd = amount(report.cost);
    if report.patch_is_none.and_then(flag) == Some(true) {
        head.adds.tags.push(("evaluation".into(), "empty_patch".into()));
    }
    let new = report.tests.and_then(read::<Tests<'_>>).and_then(|tests| tests.new);
    if let Some(ended) = new.and_then(read::<Ended<'_>>) {
        let count = |raw: Option<&RawValue>| {
            raw.and_then(read::<Vec<&RawValue>>).map_or(0, |tests| tests.len())
        };
        let (passed, failed) = (count(ended.success), count(ended.failure));
        let all = passed + failed;
        if all > 0 {
            head.adds.tags.push(("fail_to_pass".into(), Cow::Owned(format!("{passed}/{all}"))));
        }
    }
    Ok(head)
}

fn broken(reason: impl std::fmt::Display) -> Said {
    Said { broken: vec![reason.to_string()], ..Said::default() }
}

fn read_report(bytes: &[u8], path: &Path) -> Said {
    // The harness writes one folder per instance, named by it.
    let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into());
    let read = quick::from_slice(bytes).map_err(|error| error.to_string());
    match read.and_then(|raw| instance(folder, raw)) {
        Ok(head) => {
            Said { heads: vec![Head { place: Whose::InFolder, ..head }], ..Said::default() }
        }
        Err(reason) => broken(reason),
    }
}

fn read_results(bytes: &[u8], _: &Path) -> Said {
    let entries: Entries<'_> = match quick::from_slice(bytes) {
        Ok(entries) => entries,
        Err(error) => return broken(error),
    };
    let mut said = Said::default();
    for (key, raw) in &entries.0 {
        let (resolved, evaluation) = match key.as_ref() {
            "resolved_ids" | "resolved" => (true, None),
            "unresolved_ids" | "unresolved" => (false, None),
            "error_ids" => (false, Some("error")),
            "empty_patch_ids" => (false, Some("empty_patch")),
            _ => continue,
        };
        // `resolved` is a number in some writers.
        let Some(ids) = read::<Vec<&RawValue>>(raw) else { continue };
        for id in ids {
            let Some(id) = label(id) else {
                said.broken.push(format!("`{key}` holds what is no id"));
                continue;
            };
            let mut head = outcome(Some(id.into_owned()), resolved);
            head.adds.tags.extend(evaluation.map(|what| ("evaluation".into(), what.into())));
            said.heads.push(head);
        }
    }
    said
}

fn by_instance(look: &Look<'_>) -> bool {
    let Some(value) = look.first_value() else { return false };
    if value.first() != Some(&b'{') {
        return false;
    }
    let keys = top_keys(value);
    let has = |key: &str| keys.iter().any(|have| have == key);
    let beside = ["cost", "patch_exists", "patch_successfully_applied", "tests_status"];
    let few = keys.len() <= 3 && !has("steps");
    has("resolved")
        && (few || beside.iter().any(|key| has(key)))
        && !look.any(&OF_TRACES)
        && each_is_flagged(look.head)
}

/// Whether every entry that the start of an object holds is an object with the flag `resolved`:
/// package managers write an address there, and traces have it in a head beside their records.
fn each_is_flagged(head: &[u8]) -> bool {
    struct Seen<'s>(&'s mut bool);
    impl<'de> Visitor<'de> for Seen<'_> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
            while map.next_key::<IgnoredAny>()?.is_some() {
                let raw: &RawValue = map.next_value()?;
                let entry = read::<Report<'_>>(raw).and_then(|entry| entry.resolved);
                *self.0 = entry.and_then(flag).is_some();
                if !*self.0 {
                    break;
                }
            }
            Ok(())
        }
    }
    // The first entry may be longer than what is looked at; it was judged by its keys.
    let mut all = true;
    // The end of what is looked at is an error, and no verdict.
    let _ = serde_json::Deserializer::from_slice(head).deserialize_map(Seen(&mut all));
    all
}

fn read_by_instance(bytes: &[u8], _: &Path) -> Said {
    let entries: Entries<'_> = match quick::from_slice(bytes) {
        Ok(entries) => entries,
        Err(error) => return broken(error),
    };
    let mut said = Said::default();
    for (id, raw) in entries.0 {
        match instance(Some(id.into_owned()), raw) {
            Ok(head) => said.heads.push(head),
            Err(reason) => said.broken.push(reason),
        }
    }
    said
}

/// The places of id and outcome in a header that has nothing but what such a table has.
fn header(head: &[u8]) -> Option<(usize, usize)> {
    const MAY_BE: [&str; 6] = [
        "instance_id",
        "resolved",
        "patch_applied",
        "patch_exists",
        "patch_is_None",
        "patch_successfully_applied",
    ];
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len()).min(4096);
    let line = std::str::from_utf8(head.get(..end)?).ok()?.trim_end();
    let names = fields(line, b',').ok()?;
    let at = |sought: &str| names.iter().position(|name| name.trim() == sought);
    names
        .iter()
        .all(|name| MAY_BE.contains(&name.trim()))
        .then(|| at("instance_id").zip(at("resolved")))
        .flatten()
}

fn read_table(bytes: &[u8], _: &Path) -> Said {
    let written = String::from_utf8_lossy(bytes);
    let written = written.trim_start();
    let Some((id, resolved)) = header(written.as_bytes()) else {
        return broken("the header cannot be read");
    };
    let mut said = Said::default();
    for (nth, line) in written.lines().enumerate().skip(1).filter(|(_, l)| !l.trim().is_empty()) {
        let row = fields(line.trim_end(), b',').unwrap_or_default();
        let task = row.get(id).map(|id| id.trim()).filter(|id| !id.is_empty());
        let flag = match row.get(resolved).map_or("", |cell| cell.trim()) {
            "True" | "true" | "TRUE" | "1" => Some(true),
            "False" | "false" | "FALSE" | "0" => Some(false),
            _ => None,
        };
        match task.zip(flag) {
            Some((task, resolved)) => said.heads.push(outcome(Some(task.to_owned()), resolved)),
            None => said.broken.push(format!("row {} has no id or no outcome", nth + 1)),
        }
    }
    said
}

fn read_statuses(bytes: &[u8], _: &Path) -> Said {
    let mut said = Said::default();
    let mut status = None;
    for line in String::from_utf8_lossy(bytes).lines().skip(1) {
        let line = line.trim();
        if let Some(id) = line.strip_prefix("- ") {
            let id = id.trim_matches(['\'', '"', ' ']);
            match &status {
                Some(status) => said.statuses.push((id.to_owned(), String::clone(status))),
                None => said.broken.push("an instance stands under no status".to_owned()),
            }
        } else if let Some(name) = line.strip_suffix(':') {
            status = Some(name.trim_matches(['\'', '"']).to_owned());
        }
    }
    said
}

/// The text of an id, whatever simple value it is.
pub(super) fn id(raw: &RawValue) -> Option<String> {
    text(raw).or_else(|| label(raw)).map(Cow::into_owned)
}
