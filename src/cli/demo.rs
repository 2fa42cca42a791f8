//! `agenteval demo`: a regression that is caught, on bundled runs.
//!
//! Everything goes the way of real runs: traces are read from files, the baseline is stored and
//! loaded, the gate judges. The files are kept where `--keep` says, else they are gone afterwards.

mod suite;

use std::path::{Path, PathBuf};

use super::args::{Demo, Global, Output, PageForm, PageOutput, Reading};
use super::runs::Loaded;
use super::{Failure, Outcome, against, output};
use crate::compare::{Gate, GateOptions};
use crate::config::EvalConfig;
use crate::render::{GateContext, gate_doc, markdown, text};
use suite::{Side, traces};

/// The config of the demo.
const CONFIG: &str = r#"{
  "task_name": "support-demo",
  "metrics": [
    "first_step_accuracy",
    "mid_term_error_rate",
    "final_completion_rate",
    "avg_retry_count"
  ]
}
"#;

/// Writes the runs, reads them, gates, and shows what CI would show.
pub(super) fn run(args: &Demo, global: &Global) -> Outcome {
    let temporary;
    let folder: &Path = match &args.keep {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
            folder
        }
        None => {
            temporary = tempfile::tempdir()
                .map_err(|error| Failure::usage(format!("cannot make a folder: {error}")))?;
            temporary.path()
        }
    };
    let file = |name: &str| folder.join(name);
    for (name, content) in [
        ("baseline.ndjson", traces(Side::Baseline)),
        ("candidate.ndjson", traces(Side::Candidate)),
        ("support.json", CONFIG.to_owned()),
    ] {
        output::write_file(&file(name), content.as_bytes())?;
    }
    let quiet = Global { quiet: true, ..global.clone() };
    let loaded = Loaded {
        config: EvalConfig::load(&file("support.json"))?,
        path: Some(file("support.json")),
    };
    let read = |name: &str| {
        let output = Output::from(&PageOutput { output: PageForm::Table, files: Vec::new() });
        let paths: [PathBuf; 1] = [file(name)];
        against::read(&paths, &Reading::default(), &quiet, &loaded, &output)
    };
    let (baseline, _) = read("baseline.ndjson")?;
    let (candidate, _) = read("candidate.ndjson")?;
    let gate =
        Gate::of(Some(&baseline.rows), &candidate.rows, &loaded.config, &GateOptions::default());
    let shown = match &args.keep {
        Some(folder) => folder.join("candidate.ndjson").display().to_string(),
        None => "candidate.ndjson".to_owned(),
    };
    let context = GateContext {
        baseline: Some(("demo".to_owned(), String::new())),
        store: None,
        candidate: vec![shown],
        warnings: Vec::new(),
    };
    let doc = gate_doc(&gate, &context);
    let comment = markdown(&doc);
    let mut page = String::new();
    page.push_str(
        "A support agent before and after a change of its prompt: 36 tasks, 3 trials each.\n\n",
    );
    page.push_str(&text(&doc, output::style(global)));
    page.push_str("\nIn CI this ends with exit code 1. The comment on the pull request:\n\n");
    page.push_str(&comment);
    if let Some(folder) = &args.keep {
        output::write_file(&folder.join("comment.md"), comment.as_bytes())?;
        page.push_str(&format!(
            "\nkept in {}: baseline.ndjson, candidate.ndjson, support.json, comment.md\n",
            folder.display()
        ));
    } else {
        page.push_str(
            "\n`agenteval demo --keep DIR` keeps the traces, the config and the comment.\n",
        );
    }
    output::print(&page)
}

fn unwritten(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot make the folder {}: {error}", folder.display()))
}
