//! The native form loses nothing that a figure reads: `analyze` of a converted file is `analyze` of
//! its source, for every file that can be read, under every kind of config.

use crate::cli;
use crate::support;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cli::{Folder, run};

/// Configs that read what only some formats record.
const CONFIGS: [&str; 6] = [
    r#"{"task_name":"t"}"#,
    r#"{"task_name":"t","max_steps":4,"evaluation":{"max_retry_per_step":1,"allowed_total_retries":2,"timeout_seconds":5},
        "limits":{"max_tokens_per_step":2000,"max_total_tokens":9000,"max_cost_usd":0.02}}"#,
    r#"{"task_name":"t","infra_errors":"exclude","pass_score":0.5,
        "error_types":[{"match":"(?i)timeout|Error","type":"x","blame":"infra"}]}"#,
    r#"{"task_name":"t","steps":"all","exit_codes":"ignore","mid_run":"after_first"}"#,
    r#"{"task_name":"t","evaluation":{
        "subtask_passed":"subtask.error == null && subtask.attempt < 3 && subtask.duration_ms == null",
        "final_passed":"final.score != null && final.score >= 0.5 && run.errors < 5"}}"#,
    r#"{"task_name":"t","evaluation":{
        "subtask_passed":"subtask.result != null || subtask.output != null || subtask.arguments == null || subtask.attempts == 2",
        "final_passed":"final.output != null || final.status == null || run.tokens > 100"}}"#,
];

/// Every file below a folder, and the folders that are one input.
fn inputs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut inputs = vec![root.join("fixtures/checkpoints")];
    let mut folders = vec![root.join("fixtures")];
    folders.extend(support::shared("data"));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("fixtures/fuzz") {
                // Replayed by `fuzz_corpus`, which holds the same.
            } else if path.is_dir() {
                folders.push(path);
            } else {
                inputs.push(path);
            }
        }
    }
    inputs.sort();
    inputs
}

/// What must be the same.
const PARTS: [&str; 6] = ["runs", "tasks", "retries", "metrics", "distributions", "groups"];

/// Holds one input; false where it cannot be read.
fn holds(at: usize, input: &str, folder: &Folder, configs: &[String]) -> bool {
    let to = [folder.at("out.ndjson"), folder.at("out.json")];
    let ran = run(&["convert", input, "-q", "-o", &to[0]]);
    if ran.code != 0 {
        assert_ne!(ran.code, 70, "{input}: {ran:?}");
        assert!(!Path::new(&to[0]).exists(), "{input}: a file of nothing");
        return false;
    }
    // Every input under the defaults and one other config, and every config over many inputs.
    let other = 1 + at % (configs.len() - 1);
    for (nth, config) in configs.iter().enumerate().filter(|(nth, _)| [0, other].contains(nth)) {
        let args =
            |path| ["analyze", path, "-q", "--output", "json", "--by", "model", "-c", config];
        let (source, converted) = (run(&args(input)), run(&args(&to[0])));
        assert_eq!(source.code, converted.code, "{input} {nth}: {source:?} {converted:?}");
        if source.code != 0 {
            continue;
        }
        let (source, converted) = (source.json(), converted.json());
        assert_eq!(converted["inputs"][0]["format"], "native", "{input}");
        for part in PARTS {
            assert_eq!(source[part], converted[part], "{input}: {part} under {}", CONFIGS[nth]);
        }
    }
    let array = run(&["convert", input, "-q", "-o", &to[1], "--threads", "1"]);
    assert_eq!(array.code, 0, "{input}: {array:?}");
    let (lines, array) = (std::fs::read(&to[0]).unwrap(), std::fs::read(&to[1]).unwrap());
    let (lines, array) = (String::from_utf8(lines).unwrap(), String::from_utf8(array).unwrap());
    let inside = array.trim_start_matches("[\n").trim_end_matches("\n]\n").replace(",\n", "\n");
    assert_eq!(lines.trim_end(), inside, "{input}: the array holds the lines");
    let faults: Vec<String> = lines
        .lines()
        .take(3)
        .flat_map(|line| validate(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(faults, Vec::<String>::new(), "{input}");
    true
}

/// The faults of a run by the schema of the native trace.
fn validate(run: &serde_json::Value) -> Vec<String> {
    static SCHEMA: std::sync::OnceLock<serde_json::Value> = std::sync::OnceLock::new();
    let schema = SCHEMA.get_or_init(|| cli::run(&["schema", "trace"]).json());
    let validator = jsonschema::validator_for(schema).unwrap();
    validator.iter_errors(run).map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
}

#[test]
fn converted_files_have_the_figures_of_their_sources() {
    let inputs = inputs();
    let next = AtomicUsize::new(0);
    let held = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let folder = Folder::new();
                let configs: Vec<String> = CONFIGS
                    .iter()
                    .enumerate()
                    .map(|(nth, text)| folder.file(&format!("{nth}.config"), text))
                    .collect();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(input) = inputs.get(at) else { break };
                    if holds(at, input.to_str().unwrap(), &folder, &configs) {
                        held.lock().unwrap().push(input.clone());
                        std::fs::remove_file(folder.at("out.ndjson")).unwrap();
                    }
                }
            });
        }
    });
    let held = held.into_inner().unwrap().len();
    assert!(held >= 25, "only {held} inputs were converted");
}

#[test]
fn what_has_no_place_elsewhere_is_marked() {
    let folder = Folder::new();
    let convert = |input: &str| {
        let ran = run(&["convert", input, "--to", "native", "-q"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()
    };
    let checkpoints = convert("fixtures/checkpoints");
    let fetch = &checkpoints[0]["steps"][2];
    assert_eq!((&fetch["attempts"], &fetch["attempts_total"]), (&2.into(), &3.into()));
    assert_eq!(fetch["status_decides"], true);
    assert_eq!(checkpoints[0]["format_outcome"], true);
    assert_eq!(checkpoints[2]["end_rule"], "unfinished");
    assert_eq!(checkpoints[0]["order_unknown"], true);
    let table = convert("fixtures/runs-table/two_agents.csv");
    assert_eq!(
        (&table[0]["steps_unknown"], table[0]["steps"].as_array().unwrap().len()),
        (&true.into(), 0)
    );
    let tau = convert("fixtures/tau_bench/four_runs.json");
    assert_eq!(tau[0]["steps"][0]["model_turn"], true);
    assert_eq!(tau[0]["steps"][1]["error_origin"], "text");
    assert_eq!(tau[0]["steps"][1]["input"], tau[0]["steps"][1]["arguments"]);

    // Nested attempts stay one step, and odd scores, numbers and times read back as they were.
    let odd = folder.file(
        "odd.json",
        r#"{"trial":"01","score":0.1,"scores":{"a":"maybe","b":"0.30000000000000004"},"started_at":"2026-01-01 00:00:00,5","cost_usd":0.1,
            "tags":{"k":"v","list":"x"},"steps":[{"type":"tool","name":"f","input":{"q" : 1},"tokens":{"total":7},"attempts":[
            {"error":"x","tokens":3},{"input":null,"status":"ok","cost_usd":1e-7}]},{"type":"tool","attempts":[],"retries":2,"error":{"code":5}}]}"#,
    );
    let once = convert(&odd);
    let steps = once[0]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3);
    assert_eq!((&steps[0]["nested_in"], &steps[1]["nested_in"]), (&0.into(), &0.into()));
    assert_eq!(steps[0]["input_hash"], steps[1]["input_hash"]);
    assert_eq!(steps[2]["error"]["code"], 5, "what is recorded of an error stays");
    let again = convert(&folder.file("again.json", once.to_string()));
    assert_eq!(once, again, "a second conversion changes nothing");
}
