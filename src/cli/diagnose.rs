//! `agenteval diagnose`: what goes wrong in runs, by rule, with what to do about it.

use std::path::Path;

use super::args::{DiagnoseArgs, Form, Global, Output};
use super::output::{self, Forms, More};
use super::runs::{self, Loaded};
use super::{Failure, Outcome};
use crate::diagnose::{Case, Grade, RULES, Rule, Settings, ToolSchemas, conclude, look, rule};
use crate::exit::Status;
use crate::model::nearest;
use crate::render::{
    DiagnosedRun, DiagnosisPage, diagnosis_doc, diagnosis_sarif, diagnosis_wire, pretty_json,
};

/// Words for `--deny` and `--allow` that name several rules.
const GROUPS: [&str; 4] = ["all", "note", "warning", "error"];

/// Reads, judges, asks the rules and writes.
pub(super) fn run(args: &DiagnoseArgs, global: &Global) -> Outcome {
    let output = Output { output: args.output.into(), files: args.files.clone() };
    output::check(&output, More::Findings)?;
    let loaded = Loaded::config(&args.reading, global)?;
    let shows_content = args.include_content;
    let settings = Settings { shows_content, ..settings(&loaded, &output)? };
    for word in args.deny.iter().chain(&args.allow) {
        known(word)?;
    }
    let (set, found) = runs::read_texts(
        &args.paths,
        &args.reading,
        global,
        &loaded,
        &output,
        true,
        &|judge, state, run| {
            let timeline = judge.timeline(state, run);
            let found = look(&Case::of(run, &timeline), &settings);
            (timeline.row, found)
        },
    )?;
    let empty = set.require_runs();
    set.warn(global);
    empty?;
    let diagnosis = conclude(&set.rows, found, &settings);
    let denied: Vec<&'static str> = RULES
        .iter()
        .filter(|rule| {
            let names = |words: &[String]| words.iter().any(|word| names(word, rule, &settings));
            names(&args.deny) && !names(&args.allow)
        })
        .filter(|rule| diagnosis.examined.get(rule.code).is_some_and(|seen| seen.findings > 0))
        .map(|rule| rule.code)
        .collect();
    let name = |run: u32| {
        let Some(row) = set.rows.get(run as usize) else { return DiagnosedRun::default() };
        let place = set.locate(row);
        let file = set.tally.files.get(row.place.file as usize);
        let task = row.task_id.as_deref();
        let trial = row.trial.as_deref();
        let label = row.run_id.as_deref().map(str::to_owned).or_else(|| {
            Some(task?.to_owned() + &trial.map_or_else(String::new, |t| format!(" trial {t}")))
        });
        DiagnosedRun {
            label: label.unwrap_or_else(|| place.clone()),
            task_id: task.map(str::to_owned),
            place,
            file: file.map(|file| file.path.display().to_string()).unwrap_or_default(),
            line: row.place.line,
        }
    };
    let page = DiagnosisPage {
        diagnosis: &diagnosis,
        runs: set.rows.len() as u64,
        name: &name,
        grade: &|rule| settings.grade(rule),
        denied: &denied,
    };
    let doc = || diagnosis_doc(&page);
    let json = || pretty_json(&diagnosis_wire(&page));
    let sarif = || pretty_json(&diagnosis_sarif(&page));
    let forms = Forms { sarif: Some(&sarif), ..Forms::page(&doc, &json) };
    output::emit(&forms, &output, global)?;
    Ok(if denied.is_empty() { Status::Done } else { Status::Regression })
}

/// How rules are asked, with the schemas that the config names; refuses to write over one of them.
pub(super) fn settings(loaded: &Loaded, output: &Output) -> Result<Settings, Failure> {
    let folder = loaded.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let schemas = ToolSchemas::load(&loaded.config, folder)
        .map_err(|error| Failure::usage(error.to_string()))?;
    output::guard(output, schemas.files().iter().map(|file| file.as_path()))?;
    Ok(Settings::of(&loaded.config).with_schemas(schemas))
}

/// Refuses a word that names no rule.
fn known(word: &str) -> Result<(), Failure> {
    if GROUPS.contains(&word) || rule(word).is_some() {
        return Ok(());
    }
    let codes = RULES.iter().map(|rule| rule.code).chain(GROUPS);
    let hint = match nearest(word, codes.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", codes.collect::<Vec<_>>().join(", ")),
    };
    Err(Failure::usage(format!("unknown rule `{word}`; {hint}")))
}

/// Whether a word names a rule, by its code or by how grave it is or worse.
fn names(word: &str, rule: &Rule, settings: &Settings) -> bool {
    let at_least = |grade| settings.grade(rule) >= grade;
    match word {
        "all" => true,
        "note" => at_least(Grade::Note),
        "warning" => at_least(Grade::Warning),
        "error" => at_least(Grade::Error),
        code => code == rule.code,
    }
}

/// Forms that a diagnosis has.
impl From<super::args::DiagnoseForm> for Form {
    fn from(form: super::args::DiagnoseForm) -> Self {
        use super::args::DiagnoseForm;
        match form {
            DiagnoseForm::Table => Self::Table,
            DiagnoseForm::Json => Self::Json,
            DiagnoseForm::Markdown => Self::Markdown,
            DiagnoseForm::Sarif => Self::Sarif,
        }
    }
}
