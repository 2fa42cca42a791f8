//! What is in the inputs, file by file.

use std::collections::BTreeMap;

use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::figures::{plural, tasks_phrase};
use super::number::{count, percent, plain};

/// The answer of `inspect`, in JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InspectWire {
    /// The files.
    pub inputs: Vec<FileWire>,
    /// Runs.
    pub runs: u64,
    /// Recorded task ids.
    pub tasks: u64,
    /// Runs without a task id.
    pub runs_without_task: u64,
    /// Smallest and largest number of runs of a task.
    pub trials: Option<[u64; 2]>,
    /// Steps.
    pub steps: u64,
    /// Attempts.
    pub attempts: u64,
    /// Model turns that are no steps unless the config says so.
    pub turns: u64,
    /// Tokens of all runs, by kind; null where none are recorded.
    pub tokens: Option<TokensWire>,
    /// Earliest and latest time, ISO 8601; without `Z` where the source names no zone.
    pub time_span: Option<[String; 2]>,
    /// Number of runs that have each field.
    pub fields: BTreeMap<&'static str, u64>,
    /// What was noticed.
    pub issues: Vec<IssueWire>,
}

/// Tokens by kind, each counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TokensWire {
    /// Input that no cache served.
    pub input: f64,
    /// Input read from a cache.
    pub cache_read: f64,
    /// Input written to a cache.
    pub cache_write: f64,
    /// Output.
    pub output: f64,
    /// Tokens of which only the total is recorded.
    pub unsplit: f64,
}

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FileWire {
    /// Its path.
    pub path: String,
    /// Its format.
    pub format: Option<&'static str>,
    /// Why it was left out.
    pub left_out: Option<String>,
    /// What it is, where it was left out: `sidecar`, `not_a_trace`, `needs_map`, `unreadable` or `repeated`.
    pub left_out_as: Option<&'static str>,
    /// Records met: the sum of used, merged, ignored and rejected.
    pub records: u64,
    /// Records that became runs or parts of runs.
    pub used: u64,
    /// Records that say the same as another, by rule.
    pub merged: BTreeMap<&'static str, u64>,
    /// Records that no figure reads, by rule.
    pub ignored: BTreeMap<&'static str, u64>,
    /// Records that could not be read.
    pub rejected: u64,
    /// Parts of records (samples, spans) that could not be read though their record could, by code.
    pub rejected_parts: BTreeMap<&'static str, u64>,
    /// Records read only after repair.
    pub repaired: u64,
    /// Runs that it gave.
    pub runs: u64,
    /// Their steps.
    pub steps: u64,
    /// Their attempts.
    pub attempts: u64,
}

/// One thing noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IssueWire {
    /// note, warning or rejected.
    pub severity: &'static str,
    /// A stable code.
    pub code: &'static str,
    /// `FILE:LINE` or `FILE@BYTE`.
    #[serde(rename = "where")]
    pub place: String,
    /// What was seen.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// Rejections shown in text; JSON has those that are kept.
const SHOWN: usize = 20;

/// The answer for people.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "shown as a percentage")]
pub fn inspect_doc(wire: &InspectWire) -> Doc {
    let mut doc = Doc::default();
    let number = |n: u64, noun: &str| format!("{} {}", count(n), plural(n, noun));
    let mut head = vec![number(wire.runs, "run")];
    let trials = wire.trials.map(|[least, most]| (least, most));
    head.push(tasks_phrase(wire.tasks, trials).unwrap_or_else(|| "no task ids".to_owned()));
    if wire.tasks > 0 && wire.runs_without_task > 0 {
        head.push(format!("{} without a task id", number(wire.runs_without_task, "run")));
    }
    head.push(number(wire.steps, "step"));
    head.push(number(wire.attempts, "attempt"));
    if wire.turns > 0 {
        head.push(number(wire.turns, "model turn"));
    }
    if let Some([first, last]) = &wire.time_span {
        head.push(format!("{first} to {last}"));
    }
    doc.title(head.join("   "));
    doc.table(Table {
        columns: vec![
            Column::path("file"),
            Column::left("format"),
            Column::right("records"),
            Column::right("used"),
            Column::right("rejected"),
            Column::right("runs"),
            Column::right("attempts"),
        ],
        rows: wire.inputs.iter().filter(|file| file.left_out.is_none()).map(file_row).collect(),
    });
    for file in &wire.inputs {
        let rules = |rules: &BTreeMap<&'static str, u64>| {
            let parts: Vec<String> =
                rules.iter().map(|(rule, n)| format!("{rule} {}", count(*n))).collect();
            parts.join(", ")
        };
        for (what, by_rule) in [
            ("merged", &file.merged),
            ("ignored", &file.ignored),
            ("rejected parts of records", &file.rejected_parts),
        ] {
            if !by_rule.is_empty() {
                doc.line(format!("{}: {what}: {}", file.path, rules(by_rule)));
            }
        }
        if file.repaired > 0 {
            doc.line(format!(
                "{}: {} records read after repair (duplicate keys, NaN, bad UTF-8 and the like)",
                file.path,
                count(file.repaired)
            ));
        }
        if let Some(reason) = &file.left_out {
            doc.line(format!("left out: {}: {reason}", file.path));
        }
    }
    if wire.runs > 0 {
        let fields: Vec<String> = wire
            .fields
            .iter()
            .map(|(field, n)| match *n {
                n if n == wire.runs => (*field).to_owned(),
                n => format!("{field} {}", percent(n as f64 / wire.runs as f64)),
            })
            .collect();
        doc.line(format!("fields: {}", fields.join(", ")));
    }
    if let Some(tokens) = &wire.tokens {
        let parts = [
            ("uncached input", tokens.input),
            ("cache read", tokens.cache_read),
            ("cache write", tokens.cache_write),
            ("output", tokens.output),
            ("unsplit", tokens.unsplit),
        ];
        let shown = parts.iter().filter(|(_, n)| *n > 0.0);
        let shown: Vec<String> =
            shown.map(|(name, n)| format!("{name} {}", plain(*n, 0))).collect();
        doc.line(format!("tokens: {}", shown.join(", ")));
    }
    let told = |issue: &IssueWire| {
        let times = if issue.count > 1 {
            format!(" ({} times)", count(issue.count))
        } else {
            String::new()
        };
        format!("{}: {}: {}{times}", issue.place, issue.code, issue.message)
    };
    for issue in wire.issues.iter().filter(|issue| issue.severity != "rejected") {
        let text = told(issue);
        if issue.severity == "warning" { doc.warning(text) } else { doc.line(text) }
    }
    let rejected = || wire.issues.iter().filter(|issue| issue.severity == "rejected");
    for issue in rejected().take(SHOWN) {
        doc.line(format!("rejected {}", told(issue)));
    }
    let parts = |file: &FileWire| file.rejected_parts.values().sum::<u64>();
    let all: u64 = wire.inputs.iter().map(|file| file.rejected + parts(file)).sum();
    let shown: u64 = rejected().take(SHOWN).map(|issue| issue.count).sum();
    if all > shown {
        doc.line(format!("and {} more rejected", count(all - shown)));
    }
    doc
}

fn file_row(file: &FileWire) -> Vec<String> {
    vec![
        file.path.clone(),
        file.format.unwrap_or("-").to_owned(),
        count(file.records),
        count(file.used),
        count(file.rejected),
        count(file.runs),
        count(file.attempts),
    ]
}
