//! `agenteval review`: from runs to a blind sheet, and from filled sheets to a score.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::{Folder, Ran, agenteval, run_with_input};
use serde_json::{Value, json};

/// 40 runs of eight tasks; every fourth fails. Two have not ended.
fn runs() -> String {
    let run = |at: usize| {
        let failed = at.is_multiple_of(4);
        let step = |name: &str, passed: bool| {
            let status = if passed { "ok" } else { "error" };
            json!({"type": "tool", "name": name, "status": status, "input": {"n": at}, "output": "done"})
        };
        let status = if at >= 40 {
            "running"
        } else if failed {
            "failed"
        } else {
            "completed"
        };
        json!({
            "run_id": format!("run-{at:02}"), "task_id": format!("task-{}", at % 8), "status": status,
            "steps": [step("search", true), step("answer", !failed)],
            "final": {"score": i32::from(!failed), "answer": at},
        })
    };
    (0..42).map(|at| format!("{}\n", run(at))).collect()
}

fn review(folder: &Folder, args: &[&str]) -> Ran {
    let config = folder.at("config.json");
    let mut all = vec!["review"];
    all.extend(args);
    all.extend(["-c", &config, "-q"]);
    Ran::of(agenteval().args(all))
}

/// A folder with runs and a config.
fn folder() -> (Folder, String) {
    let folder = Folder::new();
    folder.file("config.json", "{}");
    let runs = folder.file("runs.ndjson", runs());
    (folder, runs)
}

fn sample(folder: &Folder, runs: &str, sheet: &str, more: &[&str]) -> Ran {
    let sheet = folder.at(sheet);
    review(folder, &[&["sample", runs, "-o", &sheet], more].concat())
}

/// The rows of a sheet by column.
fn rows(folder: &Folder, sheet: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.at(sheet)).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn key(folder: &Folder, sheet: &str) -> Value {
    let text = std::fs::read_to_string(folder.at(&format!("{sheet}.key.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Fills a sheet in: `says` gives the word for the id, and the config's verdict.
fn fill(folder: &Folder, sheet: &str, into: &str, says: impl Fn(usize, &str) -> String) -> String {
    let key = key(folder, sheet);
    let lines: String = key["rows"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let word = says(at, row["judge"].as_str().unwrap());
            format!("{},{word}\n", row["id"].as_str().unwrap())
        })
        .collect();
    folder.file(into, format!("id,verdict\n{lines}"))
}

#[test]
fn the_sheet_is_blind_and_the_key_keeps_what_scoring_needs() {
    let (folder, runs) = folder();
    let ran = sample(&folder, &runs, "sheet.csv", &["--size", "16"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in ["16 runs to rate", "do not open", "sheet.csv.key.json", "2 runs without a verdict"]
    {
        assert!(ran.out.contains(part), "no {part:?} in {}", ran.out);
    }
    let text = std::fs::read_to_string(folder.at("sheet.csv")).unwrap();
    assert_eq!(text.lines().next().unwrap(), "id,task,run,where,verdict,note");
    for word in ["completed", "failed", "pass", "fail", "score", "error"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    let rows = rows(&folder, "sheet.csv");
    assert_eq!(rows.len(), 16);
    assert!(rows.iter().all(|row| row["verdict"].is_empty() && row["note"].is_empty()));
    assert!(rows.iter().all(|row| row["where"].contains("runs.ndjson:")));
    let key = key(&folder, "sheet.csv");
    assert_eq!(key["schema"], "agenteval.review-key/1");
    assert_eq!((&key["unit"], &key["seed"]), (&json!("runs"), &json!(42)));
    assert_eq!(
        key["strata"],
        json!([
            {"judge": "pass", "size": 30, "drawn": 8}, {"judge": "fail", "size": 10, "drawn": 8}
        ])
    );
    // The key says of each run what the config says.
    let judged: BTreeMap<&str, &str> = key["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row["judge"].as_str().unwrap()))
        .collect();
    for row in &rows {
        let number: usize = row["run"].trim_start_matches("run-").parse().unwrap();
        let wanted = if number.is_multiple_of(4) { "fail" } else { "pass" };
        assert_eq!(judged[row["id"].as_str()], wanted, "{row:?}");
    }
    let runs: BTreeSet<&String> = rows.iter().map(|row| &row["run"]).collect();
    assert_eq!(runs.len(), 16, "no run twice");
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let (folder, runs) = folder();
    let read = |name: &str| {
        let key = format!("{name}.key.json");
        [name, &key].map(|name| std::fs::read(folder.at(name)).unwrap())
    };
    for (name, threads, seed) in [("a.csv", "1", "5"), ("b.csv", "8", "5"), ("c.csv", "1", "6")] {
        let more = ["--threads", threads, "--seed", seed, "--size", "10", "--include-content"];
        let ran = sample(&folder, &runs, name, &more);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(read("a.csv"), read("b.csv"));
    assert_ne!(read("a.csv"), read("c.csv"));
}

#[test]
fn steps_are_drawn_by_verdict_and_tool() {
    let (folder, runs) = folder();
    let ran = sample(&folder, &runs, "s.csv", &["--steps", "--size", "20"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let rows = rows(&folder, "s.csv");
    let of = |tool: &str| rows.iter().filter(|row| row["tool"] == tool).count();
    // Failed are the 11 `answer`s of every fourth run, of which 10 are drawn; of the 73 passed steps 42
    // are searches, so 5 or 6 of 10.
    assert!((5..=6).contains(&of("search")), "{rows:#?}");
    assert_eq!(of("search") + of("answer"), 20);
    assert!(rows.iter().all(|row| row["step"] == if row["tool"] == "search" { "1" } else { "2" }));
    assert_eq!(
        key(&folder, "s.csv")["strata"][1],
        json!({"judge": "fail", "size": 11, "drawn": 10})
    );
}

#[test]
fn content_is_masked_bounded_safe_and_without_scores() {
    // Put together here, so that no scanner takes this file for a leak.
    let secret = format!("sk-proj-{}", "Ab1".repeat(14));
    let folder = Folder::new();
    folder.file("config.json", "{}");
    let run = |at: usize| {
        json!({
            "run_id": format!("=cmd()|{at}"), "task_id": format!("t {secret}"),
            "status": if at == 0 { "failed" } else { "completed" },
            "steps": [{
                "type": "tool", "name": "look\u{1b}[2J", "input": {"token": secret},
                "output": format!("@first\nsecond {}", "x".repeat(60_000)), "status": "ok"
            }],
            "final": {"score": 1, "success": true, "answer": "forty-two"}, "end_reason": "won"
        })
    };
    let text: String = (0..4).map(|at| format!("{}\n", run(at))).collect();
    let runs = folder.file("runs.ndjson", text);
    for sheet in ["s.csv", "s.json"] {
        let ran = sample(&folder, &runs, sheet, &["--include-content"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let text = std::fs::read_to_string(folder.at(sheet)).unwrap();
        assert!(text.contains("forty-two") && text.contains("[masked]"), "{text}");
        assert!(!text.contains(&secret[..20]) && !text.contains('\u{1b}'), "{sheet}");
        assert!(!text.contains("score") && !text.contains("won"), "{sheet}");
        assert!(text.len() < 4 * 25_000, "{}", text.len());
    }
    let rows = rows(&folder, "s.csv");
    assert!(rows.iter().all(|row| row["run"].starts_with("'=cmd()")), "no formula");
    assert!(rows[0]["content"].contains("@first"));
    let json: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.at("s.json")).unwrap()).unwrap();
    assert_eq!(json["rows"][0]["verdict"], "");
    let without = sample(&folder, &runs, "w.csv", &[]);
    assert_eq!(without.code, 0);
    let text = std::fs::read_to_string(folder.at("w.csv")).unwrap();
    assert!(!text.contains("forty-two"), "only where it is asked for");
}

#[test]
fn filled_sheets_are_scored_with_blank_and_unsure_rows_told() {
    let (folder, runs) = folder();
    assert_eq!(sample(&folder, &runs, "sheet.csv", &["--size", "20"]).code, 0);
    // The first is left blank, the second unsure, of the rest every fifth is another verdict.
    let says = |at: usize, judge: &str| match at {
        0 => String::new(),
        1 => "unsure".to_owned(),
        at if at % 5 == 2 => if judge == "pass" { "fail" } else { "Pass" }.to_owned(),
        _ => judge.to_owned(),
    };
    let ann = fill(&folder, "sheet.csv", "ann.csv", says);
    let key = folder.at("sheet.csv.key.json");
    let ran = review(&folder, &["score", &ann, "--key", &key, "--output", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let found = ran.json();
    assert_eq!(
        (&found["rows"], &found["scored"], &found["unrated"]),
        (&json!(20), &json!(18), &json!(2))
    );
    assert_eq!(found["raters"][0]["unsure"], 1);
    assert_eq!(found["raters"][0]["blank"], 1);
    let counts = &found["counts"];
    let number = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(number("pass_fail") + number("fail_pass"), 4);
    assert_eq!(number("pass_pass") + number("fail_fail"), 14);
    // What the people of the sheet pass, weighted: it is what the correction comes to.
    let share = |a: &str, b: &str| number(a) as f64 / (number(a) + number(b)) as f64;
    let wanted = 0.75 * share("pass_pass", "pass_fail") + 0.25 * share("fail_pass", "fail_fail");
    let got = found["corrected_rate"]["value"].as_f64().unwrap();
    assert!((got - wanted).abs() < 1e-6, "{got} {wanted}");

    // A second person, of one mind with the first; runs of another day.
    let bob = fill(&folder, "sheet.csv", "bob.csv", says);
    let args = ["score", &ann, &bob, "--key", &key, "--of", &runs];
    let two = review(&folder, &args);
    assert_eq!(two.code, 0, "{two:?}");
    for part in ["kappa 1.000", "others corrected", "30/40", "config says", "left out: 2"] {
        assert!(two.out.contains(part), "no {part:?} in {}", two.out);
    }
}

#[cfg(unix)]
#[test]
fn a_key_was_left_behind_where_the_sheet_could_not_be_written() {
    let (folder, runs) = folder();
    std::os::unix::fs::symlink(folder.at("gone/sheet.csv"), folder.at("sheet.csv")).unwrap();
    let ran = sample(&folder, &runs, "sheet.csv", &[]);
    ran.refused(2, &["cannot write"]);
    assert!(!std::path::Path::new(&folder.at("sheet.csv.key.json")).exists());
}

#[test]
fn a_sheet_with_only_passed_rows_rated_said_that_the_config_passes_all() {
    let (folder, runs) = folder();
    assert_eq!(sample(&folder, &runs, "sheet.csv", &["--size", "20"]).code, 0);
    let says = |_: usize, judge: &str| if judge == "pass" { "pass" } else { "" }.to_owned();
    let ann = fill(&folder, "sheet.csv", "ann.csv", says);
    let key = folder.at("sheet.csv.key.json");
    let ran = review(&folder, &["score", &ann, "--key", &key, "--of", &runs]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in ["completion by the config  75.0%", "n/a: the stratum fail has no rated row"] {
        assert!(ran.out.contains(part), "no {part:?} in {}", ran.out);
    }
    assert!(!ran.out.contains("100.0%"), "{}", ran.out);
}

#[test]
fn what_cannot_be_drawn_or_scored_is_told_with_a_remedy() {
    let (folder, runs) = folder();
    assert_eq!(sample(&folder, &runs, "sheet.csv", &["--size", "10"]).code, 0);
    sample(&folder, &runs, "sheet.csv", &[]).refused(2, &["is there already", "may hold ratings"]);
    sample(&folder, &runs, "sheet.txt", &[]).refused(2, &["a sheet is a .csv or .json file"]);
    let sheet = folder.at("sheet.csv");
    review(&folder, &["score", &sheet]).refused(4, &["fill in the column `verdict`"]);
    let bad = fill(&folder, "sheet.csv", "bad.csv", |_, _| "maybe".to_owned());
    review(&folder, &["score", &bad]).refused(2, &["no key beside the sheet", "--key"]);
    let key = folder.at("sheet.csv.key.json");
    review(&folder, &["score", &bad, "--key", &key])
        .refused(2, &["`maybe`", "pass, fail or unsure"]);
    // The key of another draw.
    assert_eq!(sample(&folder, &runs, "other.csv", &["--size", "10", "--seed", "1"]).code, 0);
    let good = fill(&folder, "sheet.csv", "good.csv", |_, judge| judge.to_owned());
    let other = folder.at("other.csv.key.json");
    review(&folder, &["score", &good, "--key", &other]).refused(2, &["is not in the key"]);
    review(&folder, &["score", &good, "--key", &good]).refused(2, &["no key"]);
    let text = std::fs::read_to_string(&key).unwrap();
    let newer = folder.file("newer.json", text.replace("review-key/1", "review-key/2"));
    review(&folder, &["score", &good, "--key", &newer])
        .refused(2, &["expected `agenteval.review-key/1`"]);
    let steps = sample(&folder, &runs, "steps.csv", &["--steps"]);
    assert_eq!(steps.code, 0);
    let filled = fill(&folder, "steps.csv", "filled.csv", |_, judge| judge.to_owned());
    let key = folder.at("steps.csv.key.json");
    review(&folder, &["score", &filled, "--key", &key, "--of", &runs])
        .refused(2, &["draw one with --runs"]);
    let out = folder.at("in.csv");
    run_with_input(&["review", "sample", "-", "-o", &out, "--include-content"], runs.as_bytes())
        .refused(2, &["save it to a file"]);
}

#[test]
fn one_sheet_given_twice_is_one_rater() {
    let (folder, runs) = folder();
    assert_eq!(sample(&folder, &runs, "sheet.csv", &["--size", "10"]).code, 0);
    let key = folder.at("sheet.csv.key.json");
    let ann = fill(&folder, "sheet.csv", "ann.csv", |_, judge| judge.to_owned());
    let again = format!("{}/./ann.csv", folder.path().display());
    for other in [&ann, &again] {
        review(&folder, &["score", &ann, other, "--key", &key])
            .refused(2, &["ann.csv: this sheet is given twice", "two raters", "name it once"]);
    }
    // Two people may agree to the byte.
    let ben = fill(&folder, "sheet.csv", "ben.csv", |_, judge| judge.to_owned());
    let ran = review(&folder, &["score", &ann, &ben, "--key", &key, "--output", "json"]);
    assert_eq!(ran.json()["raters"].as_array().map(Vec::len), Some(2), "{ran:?}");
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let (folder, runs) = folder();
    assert_eq!(sample(&folder, &runs, "sheet.csv", &["--size", "10"]).code, 0);
    let key = folder.at("sheet.csv.key.json");
    let text = std::fs::read_to_string(folder.at("sheet.csv")).unwrap();
    let mut lines = text.lines();
    let head = format!("{},VERDICT", lines.next().unwrap());
    let rows = lines.map(|line| format!("{line},pass"));
    let two = std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n");
    let two = folder.file("two.csv", two);
    review(&folder, &["score", &two, "--key", &key])
        .refused(2, &["two.csv: the column `verdict` is there twice", "keep one"]);
}
