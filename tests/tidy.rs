//! The house rules that a machine can hold: who may import whom, and what a file looks like.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// Each module under `src/` and what it may import, in the order in which data walks.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("stats", &[]),
    ("drafts", &[]),
    ("expr", &["model"]),
    ("config", &["model", "expr"]),
    ("ingest", &["model", "config"]),
    ("convert", &["ingest", "model"]),
    ("evaluate", &["model", "config", "expr"]),
    ("metrics", &["evaluate", "stats", "model"]),
    ("baseline", &["metrics", "evaluate", "stats", "config", "model"]),
    ("compare", &["baseline", "metrics", "evaluate", "stats", "config", "model"]),
    ("diagnose", &["metrics", "evaluate", "stats", "config", "model"]),
    ("horizon", &["metrics", "evaluate", "stats", "config", "model"]),
    ("failures", &["metrics", "evaluate", "stats", "config", "model", "drafts"]),
    ("review", &["metrics", "evaluate", "stats", "config", "model"]),
    ("table", &["evaluate", "metrics", "model"]),
    ("render", RESULTS),
    ("exit", &[]),
];

/// What renderers may show: results, never inputs, and nothing that computes.
const RESULTS: &[&str] = &[
    "model", "evaluate", "metrics", "baseline", "compare", "diagnose", "horizon", "failures",
    "review", "table",
];

/// The roots that may use everything.
const ROOTS: [&str; 3] = ["cli", "lib", "main"];

/// Files of more than this many lines need a reason.
const LONGEST: usize = 500;

/// Files that are longer, and why each is still one room.
const LONG_FILES: &[(&str, &str)] = &[];

/// What stands at the top of the repository, and what may.
const LAYOUT: [&str; 15] = [
    ".ci",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "docs",
    "eval-configs",
    "fixtures",
    "reports",
    "src",
    "tests",
];
const MAY_BE: [&str; 9] = [
    ".gitattributes",
    ".github",
    ".gitignore",
    "action.yml",
    "clippy.toml",
    "deny.toml",
    "examples",
    "fuzz",
    "rustfmt.toml",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One source file: its path below `src/` with `/`, its top module, its text, and its code.
struct Source {
    path: String,
    module: String,
    /// How many `super` lead from the file's module to the crate.
    depth: usize,
    text: String,
    /// The text without comments.
    code: String,
}

fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                sources.push(source(&path));
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(sources.len() > 10, "only {} files under src", sources.len());
    sources
}

fn source(path: &Path) -> Source {
    let text = std::fs::read_to_string(path).unwrap();
    let below: PathBuf = path.strip_prefix(root().join("src")).unwrap().into();
    let path = below.to_str().unwrap().replace('\\', "/");
    let module = path.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
    let depth = path.split('/').count() - usize::from(path.ends_with("/mod.rs"));
    let code = without_comments(&text);
    Source { path, module, depth, text, code }
}

/// The lines up to `//`, unless that is the `//` of an address.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        let comment = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
        code += comment.map_or(line, |(at, _)| &line[..at]);
        code.push('\n');
    }
    code
}

/// The modules at the crate's top that the code names.
fn imports(source: &Source) -> BTreeSet<String> {
    let supers = "super::".repeat(source.depth);
    let start = Regex::new(&format!(r"\b(?:crate::|agenteval::|{supers})(?:(\w+)|\{{)")).unwrap();
    let known = |name: &str| ARROWS.iter().any(|(module, _)| *module == name) || name == "cli";
    let mut found = BTreeSet::new();
    for hit in start.captures_iter(&source.code) {
        if let Some(name) = hit.get(1) {
            found.insert(name.as_str().to_owned());
        } else {
            found.extend(group(&source.code[hit.get(0).unwrap().end()..]));
        }
    }
    found.retain(|name| known(name) && *name != source.module);
    found
}

/// The first names of the members of `{a::b, c::{d, e}}`, given what follows the first brace.
fn group(rest: &str) -> Vec<String> {
    let (mut depth, mut name, mut names) = (0, String::new(), Vec::new());
    for letter in rest.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && letter == ',' {
            names.push(std::mem::take(&mut name));
        } else if depth == 0 {
            name.push(letter);
        }
    }
    names.push(name);
    names.iter().map(|n| n.trim().split("::").next().unwrap_or_default().to_owned()).collect()
}

/// Files that git tracks; `None` outside of a clone.
fn tracked() -> Option<Vec<String>> {
    let listed =
        Command::new("git").arg("-C").arg(root()).args(["ls-files", "-z"]).output().ok()?;
    if !listed.status.success() {
        assert!(std::env::var_os("CI").is_none(), "git ls-files failed");
        println!("skipped: not a git clone");
        return None;
    }
    let names = String::from_utf8(listed.stdout).unwrap();
    Some(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Fails with all of the faults, not only the first.
#[track_caller]
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn modules_import_only_what_the_map_allows() {
    let mut faults = Vec::new();
    for source in sources() {
        if ROOTS.contains(&source.module.as_str()) {
            continue;
        }
        let Some((_, allowed)) = ARROWS.iter().find(|(module, _)| *module == source.module) else {
            faults
                .push(format!("src/{}: module `{}` is not on the map", source.path, source.module));
            continue;
        };
        for name in imports(&source) {
            if !allowed.contains(&name.as_str()) {
                faults.push(format!("src/{}: {} may not use {name}", source.path, source.module));
            }
        }
    }
    none(&faults);
}

#[test]
fn the_map_has_no_circle() {
    for (at, (module, allowed)) in ARROWS.iter().enumerate() {
        for name in *allowed {
            assert!(ARROWS[..at].iter().any(|(above, _)| above == name), "{module} uses {name}");
        }
    }
}

#[test]
fn imports_are_seen_in_every_spelling() {
    let seen = |path: &str, code: &str| {
        let source = Source {
            path: path.into(),
            module: path.split('/').next().unwrap().into(),
            depth: path.split('/').count() - usize::from(path.ends_with("/mod.rs")),
            text: String::new(),
            code: without_comments(code),
        };
        imports(&source).into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(seen("stats/mod.rs", "use crate::model::Stamp;"), "model");
    assert_eq!(seen("stats/mod.rs", "use crate::{\n config, model::{a, b},\n};"), "config model");
    assert_eq!(seen("stats/mod.rs", "let x = super::model::y();"), "model");
    assert_eq!(seen("stats/rank.rs", "use super::super::expr::Program;"), "expr");
    assert_eq!(seen("stats/rank.rs", "use super::config;"), "", "a module of its own");
    assert_eq!(seen("stats/rank.rs", "// see crate::model\nuse crate::stats::x;"), "");
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    let bare = |source: &Source| !source.text.starts_with("//!");
    let faults: Vec<_> = sources()
        .iter()
        .filter(|source| bare(source))
        .map(|source| format!("src/{}: begin the file with `//!`", source.path))
        .collect();
    none(&faults);
}

#[test]
fn nothing_prints_but_cli_and_render() {
    let prints = Regex::new(r"\b(?:e?print(?:ln)?|dbg)!").unwrap();
    let faults: Vec<_> = sources()
        .iter()
        .filter(|source| !["cli", "render", "main"].contains(&source.module.as_str()))
        .filter_map(|source| {
            let hit = prints.find(&source.code)?;
            Some(format!(
                "src/{}: {} stands outside of cli/ and render/",
                source.path,
                hit.as_str()
            ))
        })
        .collect();
    none(&faults);
}

#[test]
fn cel_and_polars_are_named_in_one_place_each() {
    let mut faults = Vec::new();
    for (library, home) in [("cel", "expr"), ("polars", "table"), ("polars_io", "table")] {
        let named = Regex::new(&format!(r"\b{library}::|\buse {library}\b")).unwrap();
        for source in sources() {
            if source.module != home && named.is_match(&source.code) {
                faults.push(format!("src/{}: only {home}/ may name {library}", source.path));
            }
        }
    }
    none(&faults);
}

#[test]
fn long_files_have_a_reason() {
    let mut faults = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        let reason = LONG_FILES.iter().find(|(path, _)| *path == source.path);
        if lines > LONGEST && reason.is_none() {
            faults.push(format!("src/{}: {lines} lines, is it one room?", source.path));
        } else if lines <= LONGEST && reason.is_some() {
            faults.push(format!("src/{}: {lines} lines need no reason any more", source.path));
        }
    }
    none(&faults);
}

#[test]
fn the_top_of_the_repository_is_as_agreed() {
    let Some(files) = tracked() else { return };
    let top: BTreeSet<&str> = files.iter().filter_map(|file| file.split('/').next()).collect();
    let missing = LAYOUT.iter().filter(|name| !top.contains(*name));
    let extra = top.iter().filter(|name| !LAYOUT.contains(name) && !MAY_BE.contains(name));
    let faults: Vec<_> = missing
        .map(|name| format!("{name} is missing"))
        .chain(extra.map(|name| format!("{name} is not agreed on")))
        .collect();
    none(&faults);
}

#[test]
fn no_tracked_file_names_a_path_of_one_machine() {
    let Some(files) = tracked() else { return };
    let paths = [["/wor", "k/"].concat(), ["/roo", "t/"].concat()];
    let mut faults = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(root().join(&file)) else { continue };
        for (number, line) in (1..).zip(text.lines()) {
            if paths.iter().any(|path| line.contains(path)) {
                faults.push(format!("{file}:{number}: a path of one machine"));
            }
        }
    }
    none(&faults);
}

#[test]
fn ci_runs_the_readmes_test_command() {
    let command = "cargo test --locked";
    for file in ["README.md", ".ci/run"] {
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        assert!(text.contains(command), "{file} does not name `{command}`");
    }
}

#[test]
fn every_direct_dependency_is_explained_and_no_other() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let page = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let mut inside = false;
    let mut declared = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
        } else if let Some((name, _)) = line.split_once(" = ").filter(|_| inside) {
            declared.insert(name.to_owned());
        }
    }
    let table = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let tests = page.lines().filter_map(|line| line.strip_prefix("For tests and benches alone: "));
    let words = |text: &str| -> Vec<String> {
        let bare = |word: &str| word.split(" (").next().unwrap_or_default().trim().to_owned();
        text.split(',').map(bare).collect()
    };
    let explained: BTreeSet<String> = table
        .filter(|cell| !cell.starts_with("crate") && !cell.starts_with("---"))
        .chain(tests)
        .flat_map(|text| words(text.trim_end_matches('.')))
        .collect();
    assert_eq!(declared, explained);
}

#[test]
fn no_placeholder_is_left_in_the_documents() {
    for page in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        for word in ["BUILD_", "SPEED\n", "TODO", "TBD"] {
            assert!(!text.contains(word), "{page}: {word}");
        }
    }
}

#[test]
fn the_bounds_of_the_security_page_are_those_of_the_code() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).unwrap();
    let claim = Regex::new(r"\| `(src/[^`]+)` `([A-Z_]+) = ([^`]+)` \|").unwrap();
    let mut held = 0;
    for found in claim.captures_iter(&page) {
        let code = std::fs::read_to_string(root().join(&found[1])).unwrap();
        let name = format!("const {}: ", &found[2]);
        let value = format!(" = {};", &found[3]);
        let same = |line: &str| line.contains(&name) && line.ends_with(&value);
        assert!(code.lines().any(same), "{} says otherwise", &found[0]);
        held += 1;
    }
    assert!(held >= 20, "{held} bounds");
    let rows = page.lines().filter(|line| line.contains("`src/")).count();
    assert_eq!(rows, held, "a row that is not understood");
}

#[test]
fn nothing_opens_a_socket_or_starts_a_program() {
    let forbidden =
        Regex::new(r"std::net|std::process::Command|process::\{[^}]*Command|Command::new\(")
            .unwrap();
    for source in sources() {
        let found = forbidden.find(&source.code).map(|found| found.as_str().to_owned());
        assert_eq!(found, None, "{} must not: see docs/security.md", source.path);
    }
}
