//! Exported rows of the table agent_task: the same figures as from the folder.

use crate::cli;
use crate::cli::{Folder, fixture, json, report};
use crate::support;
use serde_json::{Value, json as value};

/// What `analyze` says of runs and figures.
fn said(args: &[&str]) -> (Value, Value) {
    let report = report(args);
    (report["runs"].clone(), report["metrics"].clone())
}

fn tallies(inspected: &Value) -> Vec<(Value, Value, Value)> {
    let files = inspected["inputs"].as_array().unwrap().iter();
    files.map(|f| (f["format"].clone(), f["records"].clone(), f["used"].clone())).collect()
}

#[test]
fn rows_give_the_same_runs_and_figures_as_the_checkpoint_folder() {
    let _ = support::shared("data");
    for plan in [&[][..], &["--plan", "fixtures/plans/report.yaml"]] {
        let with = |path: &str| said(&[&[path], plan].concat());
        let folder = with(&fixture("checkpoints"));
        assert_eq!(folder.0["failed"], 1);
        for rows in ["agent-task/rows.csv", "agent-task/rows.ndjson"] {
            assert_eq!(with(&fixture(rows)), folder, "{rows} {plan:?}");
        }
    }
    let (csv, lines) = (fixture("agent-task/rows.csv"), fixture("agent-task/rows.ndjson"));
    for path in [&csv, &lines] {
        let inspected = json(&["inspect", path]);
        assert_eq!(tallies(&inspected), [(value!("agent-task"), value!(7), value!(7))]);
    }
    let show = |path: &str| -> Vec<String> {
        let out = cli::run(&["show", "failed", path]).out;
        // The second line ends in the place, which differs.
        out.lines().map(|line| line.split(", fixtures/").next().unwrap().to_owned()).collect()
    };
    assert_eq!(show(&csv), show(&fixture("checkpoints")), "errors and results too");
    assert_eq!(show(&csv), show(&lines));
}

#[test]
fn an_array_other_delimiters_and_reordered_rows_give_the_same() {
    let folder = Folder::new();
    let expected = said(&[&fixture("agent-task/rows.csv")]);
    let lines = std::fs::read_to_string(fixture("agent-task/rows.ndjson")).unwrap();
    let mut rows: Vec<&str> = lines.lines().collect();
    let array = folder.file("rows.json", format!("[{}]", rows.join(",\n")));
    rows.reverse();
    let reversed = folder.file("reversed.ndjson", rows.join("\n"));
    for path in [array, reversed] {
        assert_eq!(said(&[&path]), expected, "{path}");
    }
    let (first, second) = rows.split_at(3);
    folder.file("halves/b.ndjson", first.join("\n"));
    folder.file("halves/a.ndjson", second.join("\n"));
    assert_eq!(said(&[&folder.at("halves")]), expected);
    // The same export under two names: rows of one node are one node.
    folder.file("twice/a.ndjson", &lines);
    folder.file("twice/b.ndjson", &lines);
    let inspected = json(&["inspect", &folder.at("twice")]);
    assert_eq!(inspected["inputs"][1]["merged"], value!({"latest_checkpoint_of_node": 7}));
    assert_eq!(said(&[&folder.at("twice")]), expected);
}

#[test]
fn tabs_nulls_and_times_of_a_database_are_read() {
    let folder = Folder::new();
    let path = folder.file(
        "rows.tsv",
        "workflow_id\tnode_id\tstatus\tattempts\tmax_attempts\terror\tcheckpoint\tresult\tcreated_at\tupdated_at\n\
         w\tb\tsucceeded\t0\t3\t\\N\t\\N\t\\N\t2026-01-01 10:00:05+00\t2026-01-01 10:00:09+00\n\
         w\ta\tfailed\t2\t3\tTimeoutError: slow\t\\N\t\\N\t2026-01-01 10:00:00+00\t2026-01-01 10:00:04+00\n",
    );
    let report = report(&[&path]);
    // The first node by `created_at` is the failed one.
    assert_eq!(report["metrics"]["first_step_accuracy"]["value"], 0.0);
    assert_eq!(report["metrics"]["duration_seconds"]["value"], 9.0);
}

#[test]
fn rows_that_belong_to_no_workflow_or_are_cut_are_refused_with_their_line() {
    let folder = Folder::new();
    let path = folder.file(
        "rows.csv",
        "workflow_id,node_id,status,attempts,max_attempts\nw,a,succeeded,0,3\n,b,succeeded,0,3\nw,c\nw,d,failed,many,3\n,,,,\nw,e,\"succeeded\"x,0,3\n",
    );
    let inspected = json(&["inspect", &path]);
    let file = &inspected["inputs"][0];
    assert_eq!(
        (&file["records"], &file["used"], &file["rejected"]),
        (&value!(6), &value!(1), &value!(4))
    );
    assert_eq!(file["ignored"], value!({"empty_row": 1}));
    let issues = inspected["issues"].as_array().unwrap().iter();
    let codes: Vec<_> =
        issues.filter(|i| i["severity"] == "rejected").map(|i| i["code"].clone()).collect();
    assert_eq!(
        codes,
        ["row_without_workflow", "short_row", "unreadable_number", "misplaced_quote"]
    );
}

#[test]
fn a_folder_with_a_file_a_node_stays_a_folder_of_checkpoints() {
    let folder = Folder::new();
    for node in ["a", "b"] {
        let row = format!(
            r#"{{"workflow_id": "w", "node_id": "{node}", "status": "succeeded", "attempts": 0, "max_attempts": 3}}"#
        );
        folder.file(&format!("run-1/{node}.json"), row);
    }
    let inspected = json(&["inspect", &folder.at("run-1")]);
    assert_eq!(inspected["inputs"][0]["format"], "checkpoints");
}
