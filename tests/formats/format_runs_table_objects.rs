//! Run tables as JSON objects and as Parquet: the same rows, the same figures.

use crate::support;
use std::path::Path;

use crate::cli::{Folder, figures_are, fixture, json, report, run, warning};
use agenteval::ingest::formats::detect;
use agenteval::ingest::split::Framing;
use serde_json::{Value, json as value};

fn same(one: &Value, other: &Value) {
    assert_eq!(one["runs"], other["runs"]);
    assert_eq!(one["metrics"], other["metrics"]);
    assert_eq!(one["groups"], other["groups"]);
}

fn format_of(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    detect(Path::new("x"), bytes, Framing::of(bytes)).ok().map(|format| format.name)
}

#[test]
fn lines_and_an_array_of_objects_give_the_figures_of_the_csv() {
    let folder = Folder::new();
    for name in ["two_agents", "metr_columns"] {
        let csv = report(&[&fixture(&format!("runs-table/{name}.csv")), "--by", "agent"]);
        let lines = fixture(&format!("runs-table/{name}.jsonl"));
        same(&report(&[&lines, "--by", "agent"]), &csv);
        let text = std::fs::read_to_string(&lines).unwrap();
        let rows: Vec<&str> = text.lines().collect();
        let array = folder.file("rows.json", format!("[\n{}\n]", rows.join(",\n")));
        same(&report(&[&array, "--by", "agent"]), &csv);
        let pretty: Vec<Value> =
            rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
        let pretty = folder.file("pretty.json", serde_json::to_string_pretty(&pretty).unwrap());
        same(&report(&[&pretty, "--format", "runs-table", "--by", "agent"]), &csv);
    }
}

#[test]
fn a_key_that_some_rows_lack_does_not_change_which_column_decides() {
    let folder = Folder::new();
    let path = folder.file(
        "r.jsonl",
        "{\"task_id\": \"a\", \"score\": 0.4}\n{\"task_id\": \"a\", \"score\": 0.9, \"score_binarized\": 1, \"started_at\": 1700000000000}\n",
    );
    let report = report(&[&path]);
    assert_eq!(
        (&report["runs"]["completed"], &report["runs"]["unknown"]),
        (&value!(1), &value!(1))
    );
    assert_eq!(warning(&report, "outcome_not_recorded")["count"], 1);
}

#[test]
fn a_row_is_final_as_it_is_written() {
    let folder = Folder::new();
    let config = folder.file(
        "c.json",
        r#"{"evaluation": {"final_passed": "final.extra.depth > 1 && final['stats.n'] == 3 && final.end_reason == 'usageLimits'"}}"#,
    );
    let path = folder.file(
        "r.jsonl",
        "{\"task_id\": \"a\", \"success\": false, \"fatal_error_from\": \"usageLimits\", \"extra\": {\"depth\": 2}, \"stats.n\": 3}\n",
    );
    assert_eq!(report(&[&path, "-c", &config])["runs"]["completed"], 1);
}

#[test]
fn damaged_rows_are_refused_or_repaired_with_their_place() {
    let folder = Folder::new();
    let path = folder.file(
        "r.jsonl",
        "{\"task_id\": \"a\", \"success\": true}\n{\"task_id\": \"a\", \"success\": tr\n[1]\n{}\n{\"task_id\": \"b\", \"success\": false, \"success\": true}\n{\"task_id\": \"c\", \"success\": NaN}\n{\"task_id\": \"d\", \"success\": 1, \"late\": 1}\n",
    );
    let inspected = json(&["inspect", &path]);
    let file = &inspected["inputs"][0];
    let count = |key: &str| file[key].as_u64().unwrap();
    assert_eq!(
        (count("records"), count("used"), count("rejected"), count("repaired")),
        (7, 4, 3, 2)
    );
    let read = report(&[&path]);
    assert_eq!((&read["runs"]["completed"], &read["runs"]["unknown"]), (&value!(3), &value!(1)));
}

#[test]
fn a_key_that_comes_late_is_told() {
    let folder = Folder::new();
    let row = |n: usize| {
        format!("{{\"task_id\": \"t{n}\", \"success\": true, \"note\": \"{}\"}}\n", "x".repeat(200))
    };
    let mut text: String = (0..6000).map(row).collect();
    text += "{\"task_id\": \"t\", \"success\": true, \"cost_usd\": 3}\n";
    let path = folder.file("r.jsonl", text);
    assert_eq!(warning(&report(&[&path]), "late_column")["count"], 1);
}

#[test]
fn records_that_are_more_than_rows_are_not_claimed() {
    for text in [
        r#"{"task_id": "a", "success": true, "steps": [{"type": "x"}]}"#,
        r#"{"task_id": "a", "score": 1, "messages": []}"#,
        r#"{"task_id": "a", "score": 1, "anything": [{"x": 1}]}"#,
        r#"{"task_id": "a", "status": "failed", "level": "info", "msg": "x"}"#,
        r#"{"task_id": "a", "status": "failed"}"#,
        r#"{"instance_id": "a", "model_patch": "x"}"#,
    ] {
        assert_ne!(format_of(text), Some("runs-table"), "{text}");
    }
    assert_eq!(format_of(r#"{"task_id": "a", "is_resolved": null}"#), Some("runs-table"));
}

#[test]
fn the_summary_of_an_agentlab_run_is_a_table_of_one_row() {
    let Some(path) = support::shared("data/agentlab/summary_info.json") else { return };
    let path = path.to_str().unwrap();
    let inspected = json(&["inspect", path]);
    assert_eq!(inspected["inputs"][0]["format"], "runs-table");
    assert_eq!((&inspected["runs"], &inspected["inputs"][0]["used"]), (&value!(1), &value!(1)));
    let read = report(&[path]);
    assert_eq!(read["runs"]["failed"], 1);
    figures_are(&read, &[("total_tokens", 17022.0, 17022.0, 1.0)]);
    let folder = Folder::new();
    let config = folder.file(
        "c.json",
        r#"{"evaluation": {"final_passed": "final['stats.cum_n_retry'] == 0.0 && final.n_steps == 10 && final.end_reason == 'There was a very very bad error'"}}"#,
    );
    assert_eq!(report(&[path, "-c", &config])["runs"]["completed"], 1);
}

#[test]
fn the_published_metr_table_as_json_lines_is_the_csv() {
    let Some(csv) = support::shared("stats/metr/runs_jan2025.csv") else { return };
    let mut reader = csv::Reader::from_path(&csv).unwrap();
    let names = reader.headers().unwrap().clone();
    let mut text = String::new();
    for row in reader.records() {
        let row = row.unwrap();
        let cell = |cell: &str| match cell.parse::<f64>() {
            Ok(_) => serde_json::from_str(cell).unwrap_or_else(|_| value!(cell)),
            Err(_) => value!(cell),
        };
        let object: serde_json::Map<String, Value> =
            names.iter().zip(row.iter()).map(|(k, v)| (k.to_owned(), cell(v))).collect();
        text += &serde_json::to_string(&object).unwrap();
        text += "\n";
    }
    let folder = Folder::new();
    let lines = folder.file("all_runs.jsonl", text);
    let one = report(&[csv.to_str().unwrap(), "--by", "agent"]);
    same(&report(&[&lines, "--by", "agent"]), &one);
    // 885 runs of this agent, mean .2441 (the published reference value).
    let groups = one["groups"].as_array().unwrap();
    let gpt = groups.iter().find(|group| group["by"]["agent"] == "GPT-4o").unwrap();
    let rate = &gpt["metrics"]["final_completion_rate"];
    assert_eq!(rate["denominator"], 885.0);
    assert!((rate["value"].as_f64().unwrap() - 0.2441).abs() < 5e-5, "{rate}");
}

#[cfg(not(feature = "tables"))]
#[test]
fn a_parquet_file_without_the_feature_is_told_what_to_do() {
    let folder = Folder::new();
    let path = folder.file("r.parquet", b"PAR1 and more");
    let ran = run(&["analyze", &path]);
    ran.refused(2, &["Parquet", "`tables`", "CSV or JSON lines"]);
}

#[cfg(feature = "tables")]
#[test]
fn a_parquet_table_gives_the_figures_of_the_rows_it_was_made_of() {
    let folder = Folder::new();
    let parquet = folder.at("r.parquet");
    let lines = fixture("runs-table/two_agents.jsonl");
    assert_eq!(run(&["analyze", &lines, "-o", &parquet]).code, 0);
    let written = json(&["inspect", &parquet]);
    assert_eq!(written["inputs"][0]["format"], "runs-table");
    assert_eq!((&written["runs"], &written["tasks"]), (&value!(8), &value!(2)));
    let (one, other) = (report(&[&parquet]), report(&[&lines]));
    figures_are(&one, &[("final_completion_rate", 0.666667, 4.0, 6.0)]);
    assert_eq!(one["metrics"]["duration_seconds"], other["metrics"]["duration_seconds"]);
    assert_eq!(one["metrics"]["total_tokens"]["value"], other["metrics"]["total_tokens"]["value"]);
}

#[cfg(feature = "tables")]
#[test]
fn a_damaged_parquet_file_is_an_error_and_no_panic() {
    let folder = Folder::new();
    let parquet = folder.at("r.parquet");
    run(&["analyze", &fixture("runs-table/two_agents.jsonl"), "-o", &parquet]);
    let bytes = std::fs::read(&parquet).unwrap();
    for cut in [4, 12, bytes.len() / 2, bytes.len() - 1] {
        let path = folder.file("cut.parquet", &bytes[..cut]);
        run(&["analyze", &path]).refused(2, &["a Parquet file that cannot be read"]);
    }
    for at in (4..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xFF;
        let path = folder.file("damaged.parquet", &damaged);
        let ran = run(&["analyze", &path]);
        assert!([0, 2].contains(&ran.code), "byte {at}: {ran:?}");
    }
}
