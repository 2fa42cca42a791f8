//! `agenteval demo`: a regression that is caught, on bundled runs.
//!
//! Everything goes the way of real runs: traces are read from files, the baseline is stored and
//! loaded, the gate judges. The files are kept where `--keep` says, else they are gone afterwards.

mod suite;

use std::path::{Path, PathBuf};

use super::args::{Demo, Global, Output, PageForm, PageOutput, Reading};
use super::collect::Collector;
use super::pages::{self, Material};
use super::runs::Loaded;
use super::{Failure, Outcome, against, output};
use crate::baseline::{Baseline, ConfigFile, FOLDER, Origin, Store};
use crate::compare::{Gate, GateOptions};
use crate::config::EvalConfig;
use crate::diagnose::Settings;
use crate::drafts;
use crate::render::{GateContext, Stamp, gate_doc, markdown, text};
use suite::{Side, traces};

/// Name of the demo's baseline.
const NAME: &str = "main";

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
            // Nothing of a person's is written over.
            if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(Failure::usage(format!(
                    "--keep {}: the folder is not empty; name a new one",
                    folder.display()
                )));
            }
            std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
            folder
        }
        None => {
            temporary = drafts::folder(&std::env::temp_dir())
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
    let collector = Collector::new(None, false, Settings::of(&loaded.config))?;
    let read = |name: &str, collector: Option<&Collector>| {
        let output = Output::from(&PageOutput { output: PageForm::Table, files: Vec::new() });
        let paths: [PathBuf; 1] = [file(name)];
        let reading = Reading::default();
        against::read_collecting(&paths, &reading, &quiet, &loaded, &output, collector)
    };
    let (before, _) = read("baseline.ndjson", None)?;
    let (candidate, set) = read("candidate.ndjson", Some(&collector))?;
    let store = Store::open(file(FOLDER));
    let origin = Origin::default();
    let config = ConfigFile {
        task_name: loaded.config.task_name.clone(),
        sha256: loaded.config.sha256.clone(),
    };
    let made = Baseline::new(NAME, Some(config), before.judging, &before.rows, Vec::new(), &origin);
    std::fs::create_dir_all(store.folder()).map_err(|error| unwritten(store.folder(), &error))?;
    output::write_file(&store.file(NAME)?, &made.to_bytes())?;
    let baseline = store.load(NAME)?;
    let options = GateOptions::default();
    let gate = Gate::of(Some(&baseline.rows), &candidate.rows, &loaded.config, &options);
    let context = GateContext {
        baseline: Some((baseline.name.clone(), baseline.sha256.clone())),
        store: None,
        reading: vec!["-c".to_owned(), "support.json".to_owned()],
        // Without --keep there is nothing left to show or to accept.
        candidate: vec![if args.keep.is_some() { "candidate.ndjson" } else { "-" }.to_owned()],
        warnings: Vec::new(),
    };
    let doc = gate_doc(&gate, &context);
    let comment = markdown(&doc);
    let mut page =
        "A support agent before and after a change of its prompt: 36 tasks, 3 trials each.\n\n"
            .to_owned();
    page.push_str(&text(&doc, output::style(global)));
    page.push_str("\nIn CI this ends with exit code 1. The comment on the pull request:\n\n");
    page.push_str(&comment);
    page.push_str(&match &args.keep {
        Some(folder) => {
            output::write_file(&folder.join("comment.md"), comment.as_bytes())?;
            let report = pages::html(Material {
                loaded: &loaded,
                filter: None,
                set: &set,
                collected: &collector.finish(),
                gate: Some((&gate, &context)),
                warnings: Vec::new(),
                contents: false,
                stamp: &Stamp::default(),
            });
            output::write_file(&folder.join("report.html"), report.as_bytes())?;
            format!(
                "\nThe traces, the config, the baseline, the comment and a page for reviewers (report.html) are in {}. Try there:\nagenteval gate candidate.ndjson -c support.json --baseline {NAME}\n",
                crate::render::one_line(&folder.display().to_string())
            )
        }
        None => "\n`agenteval demo --keep DIR` keeps the traces, the config, the baseline, the comment and a page for reviewers.\n"
            .to_owned(),
    });
    output::print(&page)
}

fn unwritten(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot make the folder {}: {error}", folder.display()))
}
