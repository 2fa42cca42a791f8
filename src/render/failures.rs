//! The library of failures: what a collection changed, the list, and one failure, as documents and
//! as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::mask::mask;
use super::number::count;
use super::safe::shorten;
use crate::failures::{Changes, ExcerptStep, KnownFailure, Library, Status};

/// Columns that a corrected output may take in text.
const MOST_OUTPUT: usize = 400;

/// Runs and tasks that text names.
const NAMED: usize = 20;

/// What a collection found and changed.
pub struct CollectedPage<'c> {
    /// Runs that were read.
    pub runs: u64,
    /// Of those, the runs that have a failure.
    pub failed_runs: u64,
    /// The failures that they have, by id.
    pub ids: &'c [String],
    /// What was written.
    pub changes: &'c Changes,
    /// The library afterwards.
    pub library: &'c Library,
}

/// A collection for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CollectedWire {
    /// Always `agenteval.failures-collected/1`.
    schema: &'static str,
    /// The folder of the library.
    store: String,
    /// Runs that were read.
    runs: u64,
    /// Of those, the runs that have a failure.
    failed_runs: u64,
    /// Failures that they have.
    failures: u64,
    /// Ids that the library did not have.
    new: Vec<String>,
    /// Ids of which more is known now.
    changed: Vec<String>,
    /// Failures of the library.
    library: u64,
}

/// The answer for JSON.
#[must_use]
pub fn collected_wire(page: &CollectedPage<'_>) -> CollectedWire {
    CollectedWire {
        schema: "agenteval.failures-collected/1",
        store: mask(&page.library.folder().display().to_string()),
        runs: page.runs,
        failed_runs: page.failed_runs,
        failures: page.ids.len() as u64,
        new: page.changes.new.clone(),
        changed: page.changes.changed.clone(),
        library: page.library.len() as u64,
    }
}

/// The answer for people.
#[must_use]
pub fn collected_doc(page: &CollectedPage<'_>) -> Doc {
    let mut doc = Doc::default();
    let (new, changed) = (&page.changes.new, &page.changes.changed);
    let same = page.ids.iter().filter(|id| !new.contains(id) && !changed.contains(id)).count();
    doc.title(format!(
        "{} of {} runs have a failure: {} new, {} seen again, {} unchanged",
        count(page.failed_runs),
        count(page.runs),
        count(new.len() as u64),
        count(changed.len() as u64),
        count(same as u64),
    ));
    let rows = new.iter().map(|id| ("new", id)).chain(changed.iter().map(|id| ("seen", id)));
    let row = |(word, id): (&str, &String)| {
        let failure = page.library.get(id)?;
        Some(vec![
            word.to_owned(),
            id.clone(),
            failure.signature.kind.clone(),
            tool(failure),
            count(failure.seen.runs.count()),
            failure.signature.template.clone(),
        ])
    };
    doc.table(Table {
        columns: vec![
            Column::left(""),
            Column::left("id"),
            Column::elastic("type"),
            Column::elastic("tool"),
            Column::right("runs"),
            Column::elastic("template"),
        ],
        rows: rows.filter_map(row).collect(),
    });
    let (number, folder) = (count(page.library.len() as u64), page.library.folder().display());
    doc.line(format!("{number} failures in {folder}"));
    doc
}

fn tool(failure: &KnownFailure) -> String {
    failure.signature.tool.clone().unwrap_or_else(|| failure.signature.place.clone())
}

fn status(status: &Status) -> String {
    match status.until() {
        Some(day) => format!("{} until {day}", status.name()),
        None => status.name().to_owned(),
    }
}

/// A library for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FailureListWire {
    /// Always `agenteval.failures/1`.
    schema: &'static str,
    /// The folder of the library.
    store: String,
    /// Its failures: those in most runs first.
    failures: Vec<ListedFailureWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct ListedFailureWire {
    id: String,
    status: &'static str,
    /// The last day of a quarantine.
    until: Option<String>,
    r#type: String,
    tool: Option<String>,
    r#where: String,
    template: String,
    /// Runs that have it: exact up to 1,000, an estimate beyond.
    runs: u64,
    /// Failed attempts in these runs.
    attempts: u64,
    /// Tasks of these runs.
    tasks: u64,
    first_seen: Option<String>,
    last_seen: Option<String>,
    notes: Vec<String>,
    has_corrected_output: bool,
}

/// The list for JSON, of failures with one of these statuses; none stands for all.
#[must_use]
pub fn failure_list_wire(library: &Library, statuses: &[&str]) -> FailureListWire {
    let asked =
        |failure: &KnownFailure| statuses.is_empty() || statuses.contains(&failure.status.name());
    let mut failures: Vec<ListedFailureWire> = library
        .failures()
        .filter(|(_, failure)| asked(failure))
        .map(|(id, failure)| ListedFailureWire {
            id: id.to_owned(),
            status: failure.status.name(),
            until: failure.status.until().map(ToString::to_string),
            r#type: mask(&failure.signature.kind),
            tool: failure.signature.tool.as_deref().map(mask),
            r#where: mask(&failure.signature.place),
            template: mask(&failure.signature.template),
            runs: failure.seen.runs.count(),
            attempts: failure.seen.attempts(),
            tasks: failure.seen.tasks.count(),
            first_seen: failure.seen.first_seen(),
            last_seen: failure.seen.last_seen(),
            notes: failure.notes.iter().map(|note| mask(note)).collect(),
            has_corrected_output: failure.corrected_output.is_some(),
        })
        .collect();
    failures.sort_by(|a, b| b.runs.cmp(&a.runs).then_with(|| a.id.cmp(&b.id)));
    let store = mask(&library.folder().display().to_string());
    FailureListWire { schema: "agenteval.failures/1", store, failures }
}

/// The list for people.
#[must_use]
pub fn failure_list_doc(wire: &FailureListWire) -> Doc {
    let mut doc = Doc::default();
    doc.title(format!("{} failures in {}", count(wire.failures.len() as u64), wire.store));
    let row = |one: &ListedFailureWire| {
        let day = one.last_seen.as_deref().and_then(|time| time.get(..10)).unwrap_or("n/a");
        let until = one.until.as_deref().map(|day| format!(" until {day}"));
        vec![
            one.id.clone(),
            format!("{}{}", one.status, until.unwrap_or_default()),
            one.r#type.clone(),
            one.tool.clone().unwrap_or_else(|| one.r#where.clone()),
            count(one.runs),
            count(one.tasks),
            day.to_owned(),
            one.template.clone(),
        ]
    };
    doc.table(Table {
        columns: vec![
            Column::left("id"),
            Column::left("status"),
            Column::elastic("type"),
            Column::elastic("tool"),
            Column::right("runs"),
            Column::right("tasks"),
            Column::left("last seen"),
            Column::elastic("template"),
        ],
        rows: wire.failures.iter().map(row).collect(),
    });
    if wire.failures.is_empty() {
        doc.line("collect some with: agenteval failures collect PATH...");
    }
    doc
}

/// One failure for people.
#[must_use]
pub fn failure_doc(failure: &KnownFailure, file: &str) -> Doc {
    let mut doc = Doc::default();
    let (signature, seen) = (&failure.signature, &failure.seen);
    doc.title(format!("{}  {}  {}", signature.id(), signature.kind, tool(failure)));
    let about = if seen.runs.beyond() > 0 { "about " } else { "" };
    let times = match (seen.first_seen(), seen.last_seen()) {
        (Some(first), Some(last)) if first == last => first,
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => "no time is recorded".to_owned(),
    };
    let attempts = match seen.attempts() {
        0 => String::new(),
        attempts => format!(", {about}{}", number(attempts, "failed attempt")),
    };
    let runs = format!(
        "in {about}{} of {}{attempts}",
        number(seen.runs.count(), "run"),
        number(seen.tasks.count(), "task")
    );
    let mut facts = vec![("status", status(&failure.status)), ("where", signature.place.clone())];
    if !signature.template.is_empty() {
        facts.push(("template", signature.template.clone()));
    }
    facts.push(("seen", runs));
    facts.push(("times", times));
    facts.push(("tasks", named(seen.task_names().into_iter(), seen.tasks.count())));
    let mut runs: Vec<&str> = seen.runs.kept().map(|(_, run)| run.label.as_str()).collect();
    runs.sort_unstable();
    facts.push(("runs", named(runs.into_iter(), seen.runs.count())));
    facts.extend(failure.notes.iter().map(|note| ("note", note.clone())));
    if let Some(output) = &failure.corrected_output {
        facts.push(("corrected output", shorten(output, MOST_OUTPUT)));
        facts.extend(failure.corrected_for().map(|task| ("right for", task.to_owned())));
    }
    facts.push(("file", file.to_owned()));
    doc.table(Table {
        columns: vec![Column::left(""), Column::note("")],
        rows: facts.into_iter().map(|(name, text)| vec![name.to_owned(), text]).collect(),
    });
    let Some(excerpt) = &seen.excerpt else { return doc };
    doc.line("");
    let reason = excerpt.end_reason.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    doc.line(format!("run {} ({}{reason})", excerpt.run, excerpt.outcome));
    doc.table(Table {
        columns: vec![
            Column::right("step"),
            Column::right("attempt"),
            Column::elastic("type"),
            Column::elastic("name"),
            Column::left("verdict"),
            Column::elastic("error"),
            Column::note("message"),
        ],
        rows: excerpt.steps.iter().map(step).collect(),
    });
    for one in &excerpt.steps {
        for (what, text) in [("input", &one.input), ("output", &one.output)] {
            if let Some(text) = text {
                doc.line(format!("step {} attempt {} {what}: {text}", one.step, one.attempt));
            }
        }
    }
    doc
}

fn step(step: &ExcerptStep) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    vec![
        step.step.to_string(),
        step.attempt.to_string(),
        step.kind.clone(),
        text(&step.name),
        step.verdict.clone(),
        text(&step.error),
        text(&step.message),
    ]
}

fn number(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

fn named<'n>(names: impl Iterator<Item = &'n str>, all: u64) -> String {
    let first: Vec<&str> = names.filter(|name| !name.is_empty()).take(NAMED).collect();
    let more = all.saturating_sub(first.len() as u64);
    match (first.is_empty(), more) {
        (true, 0) => "none is recorded".to_owned(),
        (true, more) => format!("{} without a name", count(more)),
        (false, 0) => first.join(", "),
        (false, more) => format!("{} and {} more", first.join(", "), count(more)),
    }
}
