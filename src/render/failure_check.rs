//! Failures of runs held against the library, as a document and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::mask::mask;
use super::number::count;
use crate::failures::{Check, Checked, Day, Finding};
use crate::model::Place;

/// A check with what its findings refer to.
pub struct FailureCheckPage<'c> {
    /// What was found.
    pub check: &'c Check<'c>,
    /// Runs that were read.
    pub runs: u64,
    /// Of those, the runs that have a failure.
    pub failed_runs: u64,
    /// The day that quarantines were held against.
    pub today: &'c Day,
    /// What is done about new failures: `warn`, `fail` or `ignore`.
    pub new: &'static str,
    /// Whether the command fails.
    pub fails: bool,
    /// Names the place of a run.
    pub locate: &'c dyn Fn(Place) -> String,
}

/// A check for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FailureCheckWire {
    /// Always `agenteval.failure-check/1`.
    schema: &'static str,
    /// Runs that were read.
    runs: u64,
    /// Of those, the runs that have a failure.
    failed_runs: u64,
    /// The day that quarantines were held against.
    today: String,
    /// `warn`, `fail` or `ignore`.
    new: &'static str,
    /// Whether the command exits with 1.
    fails: bool,
    /// Every failure of the runs, the gravest first.
    failures: Vec<CheckedWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct CheckedWire {
    id: String,
    /// `back`, `quarantine_ended`, `new`, `quarantined` or `known`.
    finding: &'static str,
    /// In the library; null where it does not have it.
    status: Option<&'static str>,
    until: Option<String>,
    r#type: String,
    tool: Option<String>,
    r#where: String,
    template: String,
    /// Runs of those that were read.
    runs: u64,
    /// Failed attempts in them.
    attempts: u64,
    /// A run to look at.
    run: String,
    /// Where it stands: `FILE:LINE` or `FILE@BYTE`.
    place: String,
    /// The failed step in it, from 1; null for a failure of a run as a whole.
    step: Option<u32>,
    /// The last note of the library.
    note: Option<String>,
}

fn wire(page: &FailureCheckPage<'_>, one: &Checked<'_>) -> CheckedWire {
    let (signature, status) = (&one.found.signature, one.known.map(|known| &known.status));
    CheckedWire {
        id: one.id.to_owned(),
        finding: one.finding.name(),
        status: status.map(|status| status.name()),
        until: status.and_then(|status| status.until()).map(ToString::to_string),
        r#type: signature.kind.clone(),
        tool: signature.tool.clone(),
        r#where: signature.place.clone(),
        template: signature.template.clone(),
        runs: one.found.seen.runs.count(),
        attempts: one.found.seen.attempts(),
        run: one.found.run.clone(),
        place: mask(&(page.locate)(one.found.place)),
        step: one.found.step,
        note: one.known.and_then(|known| known.notes.last()).map(|note| mask(note)),
    }
}

/// The answer for JSON.
#[must_use]
pub fn failure_check_wire(page: &FailureCheckPage<'_>) -> FailureCheckWire {
    FailureCheckWire {
        schema: "agenteval.failure-check/1",
        runs: page.runs,
        failed_runs: page.failed_runs,
        today: page.today.to_string(),
        new: page.new,
        fails: page.fails,
        failures: page.check.all.iter().map(|one| wire(page, one)).collect(),
    }
}

/// The answer for people.
#[must_use]
pub fn failure_check_doc(page: &FailureCheckPage<'_>) -> Doc {
    let mut doc = Doc::default();
    let number = |finding| count(page.check.count(finding));
    doc.title(format!(
        "{}: {} of {} runs have a failure; {} back, {} with a quarantine that ended, {} not in the library, {} quarantined, {} in the library",
        if page.fails { "failed" } else { "passed" },
        count(page.failed_runs),
        count(page.runs),
        number(Finding::Back),
        number(Finding::QuarantineEnded),
        number(Finding::New),
        number(Finding::Quarantined),
        number(Finding::Known),
    ));
    let told = |finding: Finding| match finding {
        Finding::Back | Finding::QuarantineEnded => true,
        Finding::New => page.new != "ignore",
        Finding::Quarantined | Finding::Known => false,
    };
    let wires: Vec<CheckedWire> =
        page.check.all.iter().filter(|one| told(one.finding)).map(|one| wire(page, one)).collect();
    doc.table(Table {
        columns: vec![
            Column::left("finding"),
            Column::left("id"),
            Column::elastic("type"),
            Column::elastic("tool"),
            Column::right("runs"),
            Column::elastic("template"),
        ],
        rows: wires.iter().map(row).collect(),
    });
    if !wires.is_empty() {
        doc.line("");
    }
    for one in &wires {
        let step = one.step.map(|step| format!(" step {step}")).unwrap_or_default();
        let name = if one.run.is_empty() { String::new() } else { format!("run {} ", one.run) };
        let line = format!("{} {}: look at {name}at {}{step}", one.finding, one.id, one.place);
        match one.finding {
            "new" if page.new == "warn" => doc.warning(line),
            _ => doc.line(line),
        }
        if let Some(note) = &one.note {
            doc.line(format!("  note: {note}"));
        }
    }
    doc
}

fn row(one: &CheckedWire) -> Vec<String> {
    vec![
        one.finding.replace('_', " "),
        one.id.clone(),
        one.r#type.clone(),
        one.tool.clone().unwrap_or_else(|| one.r#where.clone()),
        count(one.runs),
        one.template.clone(),
    ]
}
