//! Every real file: its format told by its contents, its records all accounted for, and all of
//! them in one call.

use crate::support;
use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::run;
use serde_json::Value;

/// What a file is: a format by name, or one of the kinds of files that are left out.
fn expected(root: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root.join("expected.json")).expect("expected.json");
    let listed: BTreeMap<String, String> = serde_json::from_str(&text).expect("a list of files");
    let kind = |said: String| match said {
        said if said.starts_with("needs --map") => "needs_map".to_owned(),
        said if said.starts_with("sidecar") => "sidecar".to_owned(),
        said if said.starts_with("not a trace") => "not_a_trace".to_owned(),
        said => said.split(' ').next().unwrap_or_default().to_owned(),
    };
    listed.into_iter().map(|(path, said)| (path, kind(said))).collect()
}

/// What `inspect` says of a file.
fn told(input: &Value) -> String {
    let word = |key: &str| input[key].as_str().map(str::to_owned);
    word("format").or_else(|| word("left_out_as")).unwrap_or_else(|| "nothing".to_owned())
}

/// Fails unless every record of the file is in one place.
fn adds_up(input: &Value) {
    let number = |key: &str| input[key].as_u64().expect("a count");
    let sum = |key: &str| -> u64 {
        input[key].as_object().expect("counts by rule").values().filter_map(Value::as_u64).sum()
    };
    let parts = number("used") + sum("merged") + sum("ignored") + number("rejected");
    assert_eq!(number("records"), parts, "{input}");
}

#[test]
fn every_file_is_what_it_is_in_one_call_over_the_whole_folder() {
    let Some(root) = support::shared("data") else { return };
    let told_of = run(&["inspect", &root.display().to_string(), "--output", "json", "-q"]);
    assert_eq!(told_of.code, 0, "{}", told_of.err);
    let json = told_of.json();
    let inputs = json["inputs"].as_array().expect("inputs");
    let mut found = BTreeMap::new();
    for input in inputs {
        adds_up(input);
        let path = Path::new(input["path"].as_str().expect("a path"));
        let relative = path.strip_prefix(&root).expect("below the folder").display().to_string();
        assert!(
            input["format"].is_string() != input["left_out"].is_string(),
            "one format, or a reason: {input}"
        );
        assert_eq!(found.insert(relative, told(input)), None, "listed once: {input}");
    }
    let mut wrong = Vec::new();
    for (path, kind) in expected(&root) {
        let told = found.get(&path).cloned().unwrap_or_default();
        // It holds nothing but `model_patch`, as predictions do; outcomes are not in it.
        let no_outcomes = path == "mini_swe_agent/v2_testdata_results.json";
        let kind = if no_outcomes { "not_a_trace" } else { &kind };
        if told != kind {
            wrong.push(format!("{path}: {told}, expected {kind}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_file_is_what_it_is_when_it_is_given_alone() {
    let Some(root) = support::shared("data") else { return };
    let mut wrong = Vec::new();
    for (path, kind) in expected(&root) {
        let full = root.join(&path).display().to_string();
        let ran = run(&["inspect", &full, "--output", "json", "-q"]);
        if matches!(kind.as_str(), "needs_map" | "sidecar" | "not_a_trace") {
            // A named file that is no trace is an error with one line that says what it is.
            let lines = ran.err.lines().filter(|line| line.starts_with("error: ")).count();
            let hint = match kind.as_str() {
                "needs_map" => "--map",
                _ => "",
            };
            if ran.code != 2 || lines != 1 || !ran.err.contains(hint) {
                wrong.push(format!("{path}: exit {}, {}", ran.code, ran.err));
            }
            continue;
        }
        let Ok(json) = serde_json::from_str::<Value>(&ran.out) else {
            wrong.push(format!("{path}: exit {}, {}", ran.code, ran.err));
            continue;
        };
        let input = &json["inputs"][0];
        adds_up(input);
        if told(input) != kind {
            wrong.push(format!("{path}: {}, expected {kind}", told(input)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
