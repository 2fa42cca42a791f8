//! Amounts beyond belief: sums of them leave the numbers, and no output may show that.

use crate::cli::{self, Folder, json, run};
use serde_json::Value;

/// Two runs whose tokens, cost and durations no float can sum, and a sound one.
const RUNS: &str = r#"{"run_id":"a","task_id":"t","status":"completed","steps":[{"type":"tool","name":"x","status":"completed","tokens":{"prompt":1e308,"completion":1e308},"cost_usd":1e308,"duration_ms":1e308},{"type":"tool","name":"y","status":"failed","error":"e","tokens":1e308,"cost_usd":1e308,"duration_ms":1.7e308}]}
{"run_id":"b","task_id":"t","status":"failed","duration_ms":1e308,"steps":[{"type":"llm","name":"x","status":"completed","tokens":{"prompt":1e308,"completion":1e308},"cost_usd":1e308},{"type":"tool","name":"y","status":"failed","error":"e","tokens":1e308,"cost_usd":1e308}]}
{"run_id":"c","task_id":"u","status":"completed","steps":[{"type":"tool","name":"x","status":"completed","tokens":5,"cost_usd":0.25,"duration_ms":100}]}
"#;

/// Whether a word of a text is a number that is none.
fn shows_none(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().any(|word| ["inf", "nan", "infinity"].contains(&word.to_lowercase().as_str()))
}

#[test]
fn amounts_that_no_run_can_have_are_in_no_sum_and_told() {
    let folder = Folder::new();
    let runs = folder.file("runs.ndjson", RUNS);
    let report = json(&["analyze", &runs]);
    cli::figures_are(
        &report,
        &[
            ("total_tokens", 5.0, 5.0, 1.0),
            ("cost_usd", 0.25, 0.25, 1.0),
            ("duration_seconds", 0.1, 0.1, 1.0),
        ],
    );
    for code in ["unusable_tokens", "unusable_cost", "unusable_duration"] {
        let warning = cli::warning(&report, code);
        assert_eq!(warning["count"], 2, "{warning}");
        let message = warning["message"].as_str().unwrap();
        assert!(message.contains("beyond 1e60"), "{message}");
    }
    // Without a sound run there is no figure, and a reason in its place.
    let two: String = RUNS.lines().take(2).map(|line| format!("{line}\n")).collect();
    let none = json(&["analyze", &folder.file("two.ndjson", two)]);
    for name in ["total_tokens", "cost_usd", "duration_seconds", "cost_per_completion"] {
        let figure = &none["metrics"][name];
        assert!(figure["value"].is_null() && figure["reason"].is_string(), "{name}: {figure}");
    }
}

#[test]
fn no_output_shows_a_number_that_is_none() {
    let folder = Folder::new();
    let runs = folder.file("runs.ndjson", RUNS);
    let store = folder.at("store");
    let saved = run(&["baseline", "save", "main", &runs, "--store", &store]);
    assert_eq!(saved.code, 0, "{saved:?}");
    let against = ["gate", &runs, "--baseline", "main", "--store", &store];
    let commands: [&[&str]; 11] = [
        &["analyze", &runs],
        &["inspect", &runs],
        &["budgets", &runs],
        &["readiness", &runs],
        &["diagnose", &runs],
        &["horizon", &runs],
        &["show", "a", &runs],
        &["show", "b", &runs],
        &["compare", &runs, &runs],
        &["baseline", "show", "main", "--store", &store],
        &against,
    ];
    for command in commands {
        for output in ["table", "markdown", "json"] {
            let ran = run(&[command, &["--output", output]].concat());
            assert_eq!(ran.code, 0, "{command:?}: {ran:?}");
            assert!(!shows_none(&ran.out), "{command:?} {output}: {}", ran.out);
        }
    }
    for output in ["csv", "ndjson"] {
        let ran = run(&["analyze", &runs, "--output", output]);
        assert!(ran.code == 0 && !shows_none(&ran.out), "{ran:?}");
    }
    let page = folder.at("page.html");
    assert_eq!(run(&["report", &runs, "-o", &page]).code, 0);
    // The page has a script, which may speak of them; the data are what stands in it as JSON.
    let text = std::fs::read_to_string(page).unwrap();
    assert!(!text.contains("$inf") && !text.contains("inf tokens") && !text.contains(">inf<"));
}

#[test]
fn a_conversion_keeps_what_was_written_and_makes_no_other_number_of_it() {
    let folder = Folder::new();
    let runs = folder.file("runs.ndjson", RUNS);
    let ran = run(&["convert", &runs, "--to", "ndjson"]);
    assert!(ran.code == 0 && !shows_none(&ran.out), "{ran:?}");
    let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    assert_eq!(first["steps"][0]["cost_usd"], 1e308);
    let atif = run(&["convert", &runs, "--to", "atif"]);
    assert!(atif.code == 0 && !shows_none(&atif.out), "{atif:?}");
    let whole = u64::MAX.to_string();
    assert!(!atif.out.contains(&whole), "no number that nobody wrote: {}", atif.out);
    // Both give the same figures again.
    for form in ["ndjson", "atif"] {
        let converted = run(&["convert", &runs, "--to", form]).out;
        let path = folder.file(&format!("{form}.json"), converted);
        let again = json(&["analyze", &path]);
        cli::figures_are(&again, &[("total_tokens", 5.0, 5.0, 1.0), ("cost_usd", 0.25, 0.25, 1.0)]);
    }
}

#[test]
fn a_baseline_that_says_more_than_any_run_can_take_is_refused() {
    let folder = Folder::new();
    let runs = folder.file("runs.ndjson", RUNS);
    let store = folder.at("store");
    assert_eq!(run(&["baseline", "save", "main", &runs, "--store", &store]).code, 0);
    let file = folder.path().join("store/main.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let huge = format!("\"cost_usd\":1{}", "0".repeat(300));
    let broken = text.replace("\"cost_usd\":0.25", &huge).replace("\"cost_usd\": 0.25", &huge);
    assert_ne!(text, broken);
    std::fs::write(&file, broken).unwrap();
    run(&["baseline", "show", "main", "--store", &store])
        .refused(2, &["main.json", "cost_usd is more than any run can take"]);
}
