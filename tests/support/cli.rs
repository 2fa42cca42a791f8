//! Running the program as a person does, and reading what it says.

#![allow(dead_code, reason = "each test crate uses some of it")]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// The program, run from the top of the repository and untouched by the terminal of the tester.
pub(crate) fn agenteval() -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("agenteval");
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    for name in ["COLUMNS", "RAYON_NUM_THREADS", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// What one run of the program gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the program starts");
        Self {
            code: output.status.code().expect("ended by itself, not by a signal"),
            out: String::from_utf8(output.stdout).expect("UTF-8 on standard output"),
            err: String::from_utf8(output.stderr).expect("UTF-8 on standard error"),
        }
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless the exit code is `code`, standard output is empty, and standard error has all of `parts`.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "nothing on standard output: {self:?}");
        let errors = self.err.lines().filter(|line| line.starts_with("error: ")).count();
        assert!(errors == 1 && !self.err.contains("error: error"), "one error: {self:?}");
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in {self:?}");
        }
    }
}

pub(crate) fn run(args: &[&str]) -> Ran {
    Ran::of(agenteval().args(args))
}

pub(crate) fn run_with_input(args: &[&str], input: &[u8]) -> Ran {
    Ran::of(agenteval().args(args).write_stdin(input))
}

/// The JSON of a command that must succeed.
#[track_caller]
pub(crate) fn json(args: &[&str]) -> Value {
    let ran = run(&[args, &["--output", "json"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

/// The report of `analyze` with these arguments.
#[track_caller]
pub(crate) fn report(args: &[&str]) -> Value {
    json(&[&["analyze"], args].concat())
}

/// Value, numerator and denominator of a figure.
#[track_caller]
pub(crate) fn figure(report: &Value, name: &str) -> (Option<f64>, Option<f64>, Option<f64>) {
    let figure = &report["metrics"][name];
    assert!(figure.is_object(), "no {name} in {:#}", report["metrics"]);
    let field = |key: &str| figure[key].as_f64();
    (field("value"), field("numerator"), field("denominator"))
}

/// Fails unless the figures have these values, numerators and denominators, to the digit.
#[track_caller]
pub(crate) fn figures_are(report: &Value, wanted: &[(&str, f64, f64, f64)]) {
    for (name, value, numerator, denominator) in wanted {
        let all = (Some(*value), Some(*numerator), Some(*denominator));
        assert_eq!(figure(report, name), all, "{name}");
    }
}

/// The warning of this code.
#[track_caller]
pub(crate) fn warning<'r>(report: &'r Value, code: &str) -> &'r Value {
    let all = report["warnings"].as_array().expect("warnings");
    let found = all.iter().find(|warning| warning["code"] == code);
    found.unwrap_or_else(|| panic!("no {code} in {all:#?}"))
}

/// The path of a fixture, from the top of the repository.
pub(crate) fn fixture(rel: &str) -> String {
    let path = Path::new("fixtures").join(rel);
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path).exists(), "{}", path.display());
    path.to_str().expect("UTF-8").to_owned()
}

/// A folder that is gone at the end of the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    /// The path of a name in the folder.
    pub(crate) fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Writes a file, with the folders above it, and gives its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, content).expect("a file");
        self.at(name)
    }
}

/// The faults of a document by the schema that `agenteval schema KIND` prints; none if it is valid.
pub(crate) fn schema_faults(kind: &str, document: &Value) -> Vec<String> {
    let schema = run(&["schema", kind]);
    assert_eq!(schema.code, 0, "{schema:?}");
    let validator = jsonschema::validator_for(&schema.json()).expect("a sound schema");
    let faults = validator.iter_errors(document);
    faults.map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
}
