//! Baselines and runs for tests of `gate` and `compare`.

#![allow(dead_code, reason = "each test crate uses some of it")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agenteval::baseline::{Baseline, Judging, Origin, ReadBy};
use agenteval::config::EvalConfig;
use agenteval::evaluate::Judge;
use agenteval::ingest::{self, MAX_RECORD, Request};

use serde_json::{Value, json};

use crate::cli::{Folder, Ran, agenteval};
use crate::rows::Rows;

/// Saves a path as a baseline of the store in `folder`; gives the folder of the store.
pub(crate) fn save(folder: &Folder, name: &str, path: &str, config: Option<&str>) -> String {
    let config = match config {
        Some(path) => EvalConfig::load(Path::new(path)).expect("a sound config"),
        None => EvalConfig::default(),
    };
    let found = ingest::find(&[PathBuf::from(path)]).expect("files");
    let request = Request {
        options: config.read_options(None),
        format: None,
        strict: true,
        threads: 1,
        progress: None,
        max_record: MAX_RECORD,
    };
    let mut rows = Vec::new();
    ingest::read(&found.sources, &request, &Rows(Judge::new(&config)), &mut |row| rows.push(row))
        .expect("read");
    let by = ReadBy::default();
    let judging = Judging::of(&config, by);
    let origin = Origin::default();
    let baseline = Baseline::new(name, None, judging, &rows, Vec::new(), &origin);
    folder.file(&format!("store/{name}.json"), baseline.to_bytes());
    folder.at("store")
}

/// One run of four steps; without a task's name it has no task id.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) task: String,
    pub(crate) trial: usize,
    pub(crate) passed: bool,
    pub(crate) first: bool,
    /// Error type of a failed attempt in the middle.
    pub(crate) error: Option<String>,
    pub(crate) tool: String,
    /// Message of an error at its last step.
    pub(crate) ends_with: Option<&'static str>,
    pub(crate) unfinished: bool,
    pub(crate) seconds: usize,
}

impl Run {
    pub(crate) fn new(task: impl Into<String>, trial: usize, passed: bool) -> Self {
        Self {
            task: task.into(),
            trial,
            passed,
            first: true,
            error: None,
            tool: "search".to_owned(),
            ends_with: None,
            unfinished: false,
            seconds: 10,
        }
    }

    pub(crate) fn line(&self) -> String {
        let step = |name: &str, error: Option<(&str, &str)>| {
            let error = error.map(|(kind, text)| json!({"type": kind, "message": text}));
            let status = if error.is_some() { "failed" } else { "completed" };
            json!({"type": "tool", "name": name, "status": status, "error": error})
        };
        let middle = self.error.as_deref().map(|kind| (kind, "no answer"));
        let mut text = json!({
            "trial": self.trial,
            "status": match (self.unfinished, self.passed) {
                (true, _) => "running",
                (false, true) => "completed",
                (false, false) => "failed",
            },
            "started_at": "2026-01-01T00:00:00Z",
            "ended_at": format!("2026-01-01T00:00:{:02}Z", self.seconds),
            "steps": [
                step("plan", (!self.first).then_some(("bad_plan", "no plan"))),
                step(&self.tool, middle),
                step("close", None),
                step("end", self.ends_with.map(|text| ("error", text))),
            ],
        });
        if !self.task.is_empty() {
            text["task_id"] = json!(self.task);
        }
        if !self.unfinished {
            text["success"] = json!(self.passed);
        }
        text.to_string()
    }
}

/// Runs as the lines of a file.
pub(crate) fn lines(runs: &[Run]) -> String {
    runs.iter().fold(String::new(), |mut text, run| {
        writeln!(text, "{}", run.line()).expect("memory");
        text
    })
}

/// Runs of `tasks` tasks with `trials` trials; `passed` says which are completed.
pub(crate) fn grid(tasks: usize, trials: usize, passed: impl Fn(usize, usize) -> bool) -> Vec<Run> {
    (0..tasks)
        .flat_map(|task| (0..trials).map(move |trial| (task, trial)))
        .map(|(task, trial)| Run::new(format!("task-{task:03}"), trial, passed(task, trial)))
        .collect()
}

/// A baseline `main` and a candidate in a folder of their own.
pub(crate) struct Sides {
    pub(crate) folder: Folder,
    pub(crate) store: String,
    config: Option<String>,
}

impl Sides {
    pub(crate) fn new(before: &[Run], after: &[Run]) -> Self {
        Self::with(before, after, None)
    }

    /// Both judged by this config.
    pub(crate) fn judged(before: &[Run], after: &[Run], config: &str) -> Self {
        Self::with(before, after, Some(config))
    }

    fn with(before: &[Run], after: &[Run], config: Option<&str>) -> Self {
        let folder = Folder::new();
        let config = config.map(|text| folder.file("config.json", text));
        let path = folder.file("before.ndjson", lines(before));
        let store = save(&folder, "main", &path, config.as_deref());
        folder.file("after.ndjson", lines(after));
        Self { folder, store, config }
    }

    pub(crate) fn after(&self) -> String {
        self.folder.at("after.ndjson")
    }

    /// The command, before it is run.
    pub(crate) fn command(&self, more: &[&str]) -> assert_cmd::Command {
        let mut command = agenteval();
        command.args(["gate", &self.after(), "--baseline", "main", "--store", &self.store]);
        command.args(self.config.iter().flat_map(|config| ["-c", config.as_str()]));
        command.args(more).env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
        command
    }

    pub(crate) fn gate(&self, more: &[&str]) -> Ran {
        Ran::of(&mut self.command(more))
    }

    /// The report and the exit code.
    pub(crate) fn json(&self, more: &[&str]) -> (Value, i32) {
        let ran = self.gate(&[more, &["--output", "json"]].concat());
        (ran.json(), ran.code)
    }

    /// What stands in a file of this name after the gate has written it.
    pub(crate) fn written(&self, name: &str) -> String {
        let path = self.folder.at(name);
        let ran = self.gate(&["-o", &path]);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }
}
