//! What a stored baseline is, and the list of a store: for people and as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::doc::{Column, Doc, Table};
use super::figures::{analysis_doc, plural};
use super::number::{count, percent};
use super::report::{AnalyzeReport, ConfigWire, ReportParts, report_wire};
use crate::baseline::{Baseline, Input, Move, Save};
use crate::metrics::{Analysis, Set};

/// Digits of a hash that people are shown.
const SHORT: usize = 12;

/// The answer of `baseline list`, in JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselinesWire {
    schema: &'static str,
    /// The store's folder.
    store: String,
    /// What is in it, by name.
    baselines: Vec<ListedWire>,
}

/// One baseline of a list; a file that cannot be read has its name and the error alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ListedWire {
    name: String,
    sha256: Option<String>,
    runs: u64,
    tasks: u64,
    saves: u64,
    /// Completed runs.
    completed: u64,
    /// Runs in the completion rate.
    ended: u64,
    agents: Vec<String>,
    models: Vec<String>,
    commit: Option<String>,
    time: Option<String>,
    error: Option<String>,
}

impl ListedWire {
    /// A baseline as the list tells of it; of several saves the last one's commit and time.
    #[must_use]
    pub fn of(baseline: &Baseline) -> Self {
        let (ended, completed) = baseline.completion();
        let last = baseline.saves.last();
        Self {
            name: baseline.name.clone(),
            sha256: Some(baseline.sha256.clone()),
            runs: baseline.rows.len() as u64,
            tasks: u64::from(Set::new(baseline.rows.iter().collect()).tasks()),
            saves: baseline.saves.len() as u64,
            completed,
            ended,
            agents: baseline.agents().into_iter().map(str::to_owned).collect(),
            models: baseline.models().into_iter().map(str::to_owned).collect(),
            commit: last.and_then(|save| save.commit.clone()),
            time: last.and_then(|save| save.time.clone()),
            error: None,
        }
    }

    /// A file that cannot be read.
    #[must_use]
    pub fn unreadable(name: &str, error: String) -> Self {
        Self { name: name.to_owned(), error: Some(error), ..Self::default() }
    }
}

/// The list for JSON.
#[must_use]
pub fn baselines_wire(store: String, baselines: Vec<ListedWire>) -> BaselinesWire {
    BaselinesWire { schema: "agenteval.baselines/1", store, baselines }
}

/// The list for people.
#[must_use]
pub fn baselines_doc(wire: &BaselinesWire) -> Doc {
    let mut doc = Doc::default();
    let sound: Vec<&ListedWire> =
        wire.baselines.iter().filter(|listed| listed.error.is_none()).collect();
    if wire.baselines.is_empty() {
        doc.line(format!(
            "no baseline in {}; save one with `agenteval baseline save NAME PATH...`",
            wire.store
        ));
    }
    doc.table(Table {
        columns: vec![
            Column::left("name"),
            Column::right("runs"),
            Column::right("tasks"),
            Column::right("completed"),
            Column::elastic("agent"),
            Column::elastic("model"),
            Column::left("commit"),
            Column::left("time"),
            Column::left("sha256"),
        ],
        rows: sound.into_iter().map(cells).collect(),
    });
    for listed in &wire.baselines {
        if let Some(error) = &listed.error {
            doc.warning(error.clone());
        }
    }
    doc
}

fn cells(listed: &ListedWire) -> Vec<String> {
    let labels = |labels: &[String]| match labels {
        [] => "-".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()),
    };
    vec![
        listed.name.clone(),
        count(listed.runs),
        count(listed.tasks),
        rate(listed.completed, listed.ended),
        labels(&listed.agents),
        labels(&listed.models),
        short(listed.commit.as_deref()),
        listed.time.clone().unwrap_or_else(|| "-".to_owned()),
        short(listed.sha256.as_deref()),
    ]
}

fn rate(completed: u64, ended: u64) -> String {
    if ended == 0 {
        return "n/a".to_owned();
    }
    format!("{} ({}/{})", percent(completed as f64 / ended as f64), count(completed), count(ended))
}

fn short(hash: Option<&str>) -> String {
    hash.map_or_else(|| "-".to_owned(), |hash| hash.chars().take(SHORT).collect())
}

/// The answer of `baseline show`, in JSON.
#[derive(Debug, Serialize)]
pub struct BaselineWire {
    schema: &'static str,
    name: String,
    file: String,
    sha256: String,
    agenteval: String,
    definitions: u32,
    config: Option<ConfigWire>,
    judging: BTreeMap<&'static str, Box<RawValue>>,
    judging_sha256: String,
    agents: Vec<String>,
    models: Vec<String>,
    saves: Vec<SaveWire>,
    inputs: Vec<InputWire>,
    history: Vec<MoveWire>,
    /// What `analyze` prints for these runs.
    report: AnalyzeReport,
}

#[derive(Debug, Serialize)]
struct SaveWire {
    save: u32,
    runs: u64,
    commit: Option<String>,
    time: Option<String>,
}

#[derive(Debug, Serialize)]
struct InputWire {
    save: u32,
    path: String,
    sha256: Option<String>,
    formats: Vec<String>,
    files: u64,
    runs: u64,
    rejected: u64,
}

#[derive(Debug, Serialize)]
struct MoveWire {
    reason: Option<String>,
    by: Option<String>,
    commit: Option<String>,
    time: Option<String>,
    previous: String,
    runs: u64,
    ended: u64,
    completed: u64,
}

/// A baseline for JSON; `file` is where it is stored.
#[must_use]
pub fn baseline_wire(baseline: &Baseline, file: String, analysis: &Analysis) -> BaselineWire {
    let settings = baseline.judging.settings().iter();
    let raw = |text: &String| RawValue::from_string(text.clone()).ok();
    let config = baseline.config.as_ref().map(|config| ConfigWire {
        task_name: config.task_name.clone(),
        sha256: config.sha256.clone(),
    });
    BaselineWire {
        schema: "agenteval.baseline_summary/1",
        name: baseline.name.clone(),
        file,
        sha256: baseline.sha256.clone(),
        agenteval: baseline.agenteval.clone(),
        definitions: baseline.definitions,
        judging: settings.filter_map(|(key, value)| Some((*key, raw(value)?))).collect(),
        judging_sha256: baseline.judging.sha256(),
        agents: baseline.agents().into_iter().map(str::to_owned).collect(),
        models: baseline.models().into_iter().map(str::to_owned).collect(),
        saves: baseline.saves.iter().cloned().map(Into::into).collect(),
        inputs: baseline.inputs.iter().cloned().map(Into::into).collect(),
        history: baseline.history.iter().cloned().map(Into::into).collect(),
        report: report_wire(
            analysis,
            ReportParts { config: config.clone(), ..ReportParts::default() },
        ),
        config,
    }
}

impl From<Save> for SaveWire {
    fn from(save: Save) -> Self {
        let Save { number, runs, commit, time } = save;
        Self { save: number, runs, commit, time }
    }
}

impl From<Input> for InputWire {
    fn from(input: Input) -> Self {
        let Input { save, path, sha256, formats, files, runs, rejected } = input;
        Self { save, path, sha256, formats, files, runs, rejected }
    }
}

impl From<Move> for MoveWire {
    fn from(to: Move) -> Self {
        let Move { reason, by, commit, time, previous, runs, ended, completed } = to;
        Self { reason, by, commit, time, previous, runs, ended, completed }
    }
}

/// A baseline for people: what it is, how it came to be, and its figures.
#[must_use]
pub fn baseline_doc(baseline: &Baseline, file: &str, analysis: &Analysis) -> Doc {
    let mut doc = Doc::default();
    doc.title(format!("baseline {}", baseline.name));
    doc.line(format!("file         {file}"));
    doc.line(format!("sha256       {}", baseline.sha256));
    doc.line(format!(
        "saved by     agenteval {}, definitions {}",
        baseline.agenteval, baseline.definitions
    ));
    if let Some(config) = &baseline.config {
        let name = config.task_name.as_deref().unwrap_or("without a name");
        doc.line(format!("config       {name}, sha256 {}", short(Some(&config.sha256))));
    }
    for (key, value) in baseline.judging.settings() {
        doc.line(format!("judged by    {key} {value}"));
    }
    for save in &baseline.saves {
        doc.line(format!(
            "save {:<8}{} {}{}",
            save.number,
            count(save.runs),
            plural(save.runs, "run"),
            origin(save.commit.as_deref(), save.time.as_deref())
        ));
    }
    for input in &baseline.inputs {
        doc.line(format!(
            "read         {}: {} {}{} ({}), sha256 {}",
            input.path,
            count(input.runs),
            plural(input.runs, "run"),
            match input.rejected {
                0 => String::new(),
                rejected => format!(", {} rejected", count(rejected)),
            },
            input.formats.join(", "),
            short(input.sha256.as_deref())
        ));
    }
    for step in &baseline.history {
        doc.line(format!(
            "moved        from {} with {} completed{}{}: {}",
            short(Some(&step.previous)),
            rate(step.completed, step.ended),
            origin(step.commit.as_deref(), step.time.as_deref()),
            step.by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default(),
            step.reason.as_deref().unwrap_or("save --force")
        ));
    }
    doc.line("");
    let title = baseline.config.as_ref().and_then(|config| config.task_name.as_deref());
    doc.blocks.extend(analysis_doc(analysis, title, 0).blocks);
    doc
}

fn origin(commit: Option<&str>, time: Option<&str>) -> String {
    let commit = commit.map(|commit| format!(", commit {}", short(Some(commit))));
    let time = time.map(|time| format!(", {time}"));
    commit.unwrap_or_default() + &time.unwrap_or_default()
}
