//! Tables of runs: hand-written ones in every spelling and with every fault, and METR's beside the repo.

use crate::support;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use crate::cli::{Folder, figures_are, fixture, json, report, run, run_with_input, warning};
use agenteval::ingest::formats::runs_table::RUNS_TABLE;
use agenteval::ingest::formats::{Probe, Reader, Row};
use agenteval::model::{Final, Place, ScoreValue, Trajectory};
use serde_json::{Value, json as value};

/// Reads one row under a header, both without quotes; with the codes of what was noticed.
fn read<'r>(header: &str, row: &'r str) -> (Trajectory<'r>, Vec<&'static str>) {
    let Reader::Rows(open) = RUNS_TABLE.reader else { panic!("a table has rows") };
    let names: Vec<String> = header.split(',').map(str::to_owned).collect();
    let fields = row.split(',').map(Into::into).collect();
    let parsed =
        open(&names).unwrap().read(Row { fields, place: Place::default(), written: None }).unwrap();
    let codes = parsed.issues.iter().map(|issue| issue.code).collect();
    (parsed.runs.into_iter().next().unwrap(), codes)
}

fn delivered(run: &Trajectory<'_>) -> Value {
    let Final::Json(text) = &run.final_output else { panic!("no final output") };
    serde_json::from_str(text).unwrap()
}

fn claimed(header: &str) -> bool {
    let names = header.split(',').map(str::to_owned).collect();
    (RUNS_TABLE.detect)(&Probe::of_header(Path::new("x"), header.as_bytes(), names))
}

/// The one file of an `inspect` report.
fn file_of(report: &Value) -> &Value {
    &report["inputs"][0]
}

/// Records and what became of them; fails unless the account adds up.
#[track_caller]
fn account(path: &str) -> (u64, u64, u64, u64, u64) {
    let report = json(&["inspect", path, "-q"]);
    let file = file_of(&report);
    let sum = |key: &str| {
        file[key].as_object().map_or(0, |map| map.values().filter_map(Value::as_u64).sum::<u64>())
    };
    let number = |key: &str| file[key].as_u64().unwrap();
    let all =
        (number("records"), number("used"), sum("merged"), sum("ignored"), number("rejected"));
    assert_eq!(all.0, all.1 + all.2 + all.3 + all.4, "{file:#}");
    all
}

fn completed(report: &Value) -> (u64, u64) {
    let count = |key: &str| report["runs"][key].as_u64().unwrap();
    (count("completed"), count("failed"))
}

#[test]
fn a_table_gives_the_run_level_figures_that_can_be_counted_by_hand() {
    let report = report(&[&fixture("runs-table/two_agents.csv"), "--by", "agent"]);
    assert_eq!(completed(&report), (4, 2));
    assert_eq!(
        (&report["runs"]["unfinished"], &report["runs"]["unknown"]),
        (&value!(1), &value!(1))
    );
    figures_are(
        &report,
        &[
            ("final_completion_rate", 0.666667, 4.0, 6.0),
            ("duration_seconds", 96.0625, 768.5, 8.0),
            ("total_tokens", 2633.75, 21_070.0, 8.0),
        ],
    );
    for name in [
        "first_step_accuracy",
        "mid_term_error_rate",
        "step_error_rate",
        "avg_steps",
        "avg_retry_count",
        "intervention_rate",
    ] {
        assert_eq!(report["metrics"][name]["value"], Value::Null, "{name}");
    }
    warning(&report, "runs_without_steps");
    assert_eq!(warning(&report, "outcome_not_recorded")["count"], 2);
    let heron = &report["groups"][0];
    assert_eq!(heron["by"]["agent"], "heron");
    assert_eq!(heron["runs"]["completed"], 2);
}

#[test]
fn metrs_columns_name_the_agent_and_the_binarized_score_decides() {
    let header = "alias,task_family,task_id,run_id,human_minutes,score,score_binarized,usage_limit_hit,duration_s,invsqrt_task_weight";
    let (run, codes) = read(header, "o1,train,train/main,7,480,0.83,1,1,28800.5,0.7071");
    assert_eq!(codes, [""; 0]);
    assert_eq!((run.agent.as_deref(), run.model.as_deref()), (Some("o1"), None));
    assert_eq!((run.success, run.scores.len()), (Some(true), 0));
    assert_eq!(run.end_reason.as_deref(), Some("usage_limit_hit"));
    assert_eq!(run.duration_ms, Some(28_800_500.0));
    let tags: BTreeMap<_, _> = run.tags.iter().map(|(k, v)| (k.as_ref(), v.as_ref())).collect();
    assert_eq!((tags["task_family"], tags["human_minutes"]), ("train", "480"));
    assert_eq!((tags["usage_limit_hit"], tags["invsqrt_task_weight"]), ("1", "0.7071"));
    let delivered = delivered(&run);
    assert_eq!((&delivered["score"], &delivered["run_id"]), (&value!(0.83), &value!(7)));
    assert_eq!(delivered["end_reason"], "usage_limit_hit");
    let (run, _) = read(header, "o1,train,train/main,8,480,0.83,0,0,1,0.7");
    assert_eq!((run.success, run.end_reason), (Some(false), None));
}

#[test]
fn expressions_read_every_column_of_a_row() {
    let folder = Folder::new();
    let config = folder.file(
        "c.json",
        r#"{"evaluation":{"final_passed":"final.score >= 0.8 && final.human_minutes > 1"}}"#,
    );
    let report = report(&[&fixture("runs-table/metr_columns.csv"), "-c", &config]);
    assert_eq!(completed(&report), (2, 3), "0.83 and 0.9 of the long task");
}

#[test]
fn every_spelling_of_success_is_read_and_what_is_none_is_told() {
    for (cell, success, code) in [
        ("1", Some(true), None),
        ("1.0", Some(true), None),
        ("TRUE", Some(true), None),
        ("Yes", Some(true), None),
        ("pass", Some(true), None),
        ("0", Some(false), None),
        ("0.0", Some(false), None),
        ("False", Some(false), None),
        ("failed", Some(false), None),
        ("", None, Some("outcome_not_recorded")),
        ("NaN", None, Some("outcome_not_recorded")),
        ("None", None, Some("outcome_not_recorded")),
        ("null", None, Some("outcome_not_recorded")),
        ("0.5", None, Some("unreadable_success")),
        ("=1+0", None, Some("unreadable_success")),
    ] {
        let row = format!("t,{cell}");
        let (run, codes) = read("task,resolved", &row);
        assert_eq!((run.success, codes.first().copied()), (success, code), "{cell:?}");
    }
}

#[test]
fn a_score_a_word_or_a_weak_flag_decides_only_where_nothing_better_is_there() {
    let (run, _) = read("task_id,score,completed", "t,0.2,true");
    assert_eq!((run.success, &run.scores[0].value), (None, &ScoreValue::Number(0.2)));
    assert_eq!(run.scores[0].name, "score");
    let (run, _) = read("task_id,completed", "t,true");
    assert_eq!(run.success, Some(true));
    let (run, _) = read("task_id,Reward", "t,C");
    assert_eq!(run.scores[0].value, ScoreValue::Number(1.0));
    let (run, _) = read("task_id,score", "t,great");
    assert_eq!(run.scores[0].value, ScoreValue::Unreadable("great".into()));
    let (run, _) = read("task_id,outcome,status", "t,failure,completed");
    assert_eq!((run.success, run.status.as_deref()), (Some(false), Some("completed")));
    let (run, _) = read("task_id,status", "t,timeout");
    assert_eq!((run.success, run.status.as_deref()), (None, Some("timeout")));
}

#[test]
fn a_run_that_came_to_its_end_without_a_recorded_outcome_is_not_completed() {
    let (run, codes) = read("task_id,success,status", "t,,completed");
    assert_eq!((run.status, run.end_reason.as_deref()), (None, Some("completed")));
    assert_eq!(codes, ["outcome_not_recorded"]);
    let (run, _) = read("task_id,success,status", "t,,running");
    assert_eq!(run.status.as_deref(), Some("running"));
}

#[test]
fn tokens_are_counted_once_and_amounts_that_are_none_are_told() {
    let total = |header: &str, row: &str| {
        let (header, row) = (format!("task,success,{header}"), format!("t,1,{row}"));
        read(&header, &row).0.tokens.map(|t| (t.input, t.cache_read, t.output, t.unsplit))
    };
    assert_eq!(total("total_tokens", "9"), Some((0.0, 0.0, 0.0, 9.0)));
    assert_eq!(
        total("prompt_tokens,completion_tokens,total_tokens", "5,4,9"),
        Some((5.0, 0.0, 4.0, 0.0))
    );
    assert_eq!(
        total("prompt_tokens,completion_tokens,total_tokens", "5,4,12"),
        Some((5.0, 0.0, 4.0, 3.0))
    );
    assert_eq!(total("prompt_tokens,cached_tokens", "5,3"), Some((2.0, 3.0, 0.0, 0.0)));
    assert_eq!(total("input_tokens,cache_read_input_tokens", "5,30"), Some((5.0, 30.0, 0.0, 0.0)));
    assert_eq!(total("total_tokens", ""), None);
    let (run, codes) = read("task,success,cost,duration_ms", "t,1,$0.25,1 000");
    assert_eq!((run.cost_usd, run.duration_ms), (Some(0.25), None));
    assert_eq!(codes, ["unreadable_number"]);
}

#[test]
fn times_give_the_duration_and_zero_is_no_time() {
    let folder = Folder::new();
    let text = "task_id,success,started_at,completed_at\na,1,1700000000000,1700000060000\nb,1,0,1700000060000\nc,0,2026-01-01T00:00:00Z,2026-01-01T00:00:30Z\n";
    let report = report(&[&folder.file("x.csv", text)]);
    figures_are(&report, &[("duration_seconds", 45.0, 90.0, 2.0)]);
}

#[test]
fn only_headers_of_runs_are_claimed() {
    for header in [
        "task_id,success",
        "Task,Status",
        "alias,task_family,task_id,run_id,human_minutes,score,score_binarized",
        "instance_id,model,resolved",
    ] {
        assert!(claimed(header), "{header}");
    }
    for header in [
        "group,metric,value,numerator,denominator,low,high",
        "alias,task_family,task_id,human_minutes,n,s",
        "task_id,step,action,reward",
        "workflow_id,node_id,status,attempts,max_attempts,error",
        "task ids,success rate",
        "name,score",
        "",
    ] {
        assert!(!claimed(header), "{header}");
    }
}

#[test]
fn what_agenteval_writes_itself_is_no_table_of_runs() {
    let folder = Folder::new();
    let out = folder.at("figures.csv");
    let source = fixture("runs-table/two_agents.csv");
    assert_eq!(run(&["analyze", &source, "-o", &out, "--by", "agent", "-q"]).code, 0);
    run(&["analyze", &out]).refused(2, &["no format recognised", "`task_id`"]);
}

#[test]
fn quoted_breaks_byte_order_marks_and_every_delimiter_give_the_same_runs() {
    let folder = Folder::new();
    let rows = [["任务,一", "a \"b\"\nc", "1"], ["t2", "", "0"], ["t3", "=cmd()", "1"]];
    let header = ["task_id", "notes", "success"];
    let mut first = None;
    for (delimiter, crlf, mark, said) in [
        (b',', false, "", ""),
        (b',', true, "\u{FEFF}", ""),
        (b'\t', false, "", ""),
        (b';', true, "\u{FEFF}", ""),
        (b';', true, "", "sep=;\r\n"),
        (b'#', true, "\u{FEFF}", "sep=#\r\n"),
    ] {
        let mut writer = csv::WriterBuilder::new();
        writer.delimiter(delimiter);
        if crlf {
            writer.terminator(csv::Terminator::CRLF);
        }
        let mut writer = writer.from_writer(Vec::new());
        writer.write_record(header).unwrap();
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        let text = [mark.as_bytes(), said.as_bytes(), &writer.into_inner().unwrap()].concat();
        let path = folder.file("x.csv", text);
        assert_eq!(account(&path), (3, 3, 0, 0, 0), "{said:?}");
        let report = report(&[&path, "--by", "task"]);
        let found = (completed(&report), report["groups"].clone());
        let values: Vec<_> =
            report["groups"].as_array().unwrap().iter().map(|g| &g["by"]["task"]).collect();
        assert_eq!(values, ["t2", "t3", "任务,一"]);
        assert_eq!(*first.get_or_insert_with(|| found.clone()), found);
    }
    let report = report(&[&fixture("runs-table/semicolon.csv")]);
    assert_eq!(completed(&report), (1, 2));
    figures_are(&report, &[("duration_seconds", 1.633333, 4.9, 3.0)]);
}

#[test]
fn broken_rows_are_counted_with_their_lines_and_sound_ones_behind_them_are_read() {
    let path = fixture("runs-table/damaged.csv");
    assert_eq!(account(&path), (10, 4, 0, 2, 4));
    let report = json(&["inspect", &path, "-q"]);
    let file = file_of(&report);
    assert_eq!(file["ignored"], value!({"empty_row": 1, "repeated_header": 1}));
    let text = run(&["inspect", &path]).out;
    for place in
        ["damaged.csv:3: short_row", ":4: long_row", ":5: misplaced_quote", ":11: misplaced_quote"]
    {
        assert!(text.contains(place), "{place} in {text}");
    }
    let report = self::report(&[&path]);
    assert_eq!(completed(&report), (1, 2), "a; e and what line 11 swallowed");
    warning(&report, "unreadable_score");
    run(&["analyze", &path, "--strict"]).refused(2, &["damaged.csv:3", "short_row"]);
}

#[test]
fn lines_of_a_text_that_is_cut_off_do_not_come_back_as_runs() {
    let folder = Folder::new();
    let path =
        folder.file("x.csv", "task_id,success,notes\na,1,x\nb,1,\"a text\nof several\nlines");
    assert_eq!(account(&path), (2, 1, 0, 0, 1));
    assert!(run(&["inspect", &path]).out.contains("x.csv:3: misplaced_quote"));
}

#[test]
fn the_faults_of_headers_are_told() {
    let folder = Folder::new();
    let only = folder.file("only.csv", "task_id,success\n");
    run(&["analyze", &only]).refused(4, &["holds no run"]);
    let twice =
        folder.file("twice.csv", "task_id,success,success,duration,,\na,0,1,5\nb,1,0,5,,,,\n");
    let report = report(&[&twice]);
    assert_eq!(completed(&report), (1, 1), "the last of equal columns counts");
    assert!(
        warning(&report, "duplicate_column")["message"].as_str().unwrap().contains("`success`")
    );
    assert!(
        warning(&report, "column_without_unit")["message"].as_str().unwrap().contains("duration_s")
    );
    let rejected = account(&twice);
    assert_eq!((rejected.1, rejected.4), (2, 0));
}

#[test]
fn a_format_that_is_named_needs_one_known_column_at_least() {
    let folder = Folder::new();
    let forced = |text: &str| {
        let path = folder.file("x.csv", text);
        run(&["analyze", &path, "--format", "runs-table", "--output", "json"])
    };
    forced("a,b\n1,2\n").refused(2, &["no column of a run table"]);
    forced("{\"x\":1}\n").refused(2, &["no column of a run table"]);
    assert_eq!(forced("{\"task_id\":1,\"success\":true}\n").json()["runs"]["completed"], 1);
    forced("").refused(4, &[]);
    let without_outcome = forced("task_id,model\na,m\nb,m\n");
    assert_eq!(without_outcome.json()["runs"]["unknown"], 2);
    warning(&without_outcome.json(), "no_outcome_column");
}

#[test]
fn text_that_is_not_utf_8_is_repaired_and_told() {
    let folder = Folder::new();
    let path = folder.file("x.csv", b"task_id,success\nca\xE9,1\nb,0\n");
    let report = report(&[&path]);
    assert_eq!(completed(&report), (1, 1));
    assert_eq!(warning(&report, "repaired_records")["count"], 1);
    let path = folder.file("y.csv", b"\xFF\xFEt\0a\0s\0k\0");
    run(&["analyze", &path]).refused(2, &["UTF-16"]);
}

#[test]
fn a_table_is_read_through_gz_zst_zip_and_standard_input() {
    let folder = Folder::new();
    let text = std::fs::read(fixture("runs-table/metr_columns.csv")).unwrap();
    let expected = report(&[&fixture("runs-table/metr_columns.csv")])["metrics"].clone();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&text).unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("runs.csv", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(&text).unwrap();
    for path in [
        folder.file("x.gz", gz.finish().unwrap()),
        folder.file("x.zst", zstd::encode_all(&text[..], 1).unwrap()),
        folder.file("x.zip", zip.finish().unwrap().into_inner()),
    ] {
        assert_eq!(report(&[&path])["metrics"], expected, "{path}");
    }
    let piped = run_with_input(&["analyze", "-", "--output", "json"], &text);
    assert_eq!(piped.json()["metrics"], expected);
}

#[test]
fn a_table_of_many_blocks_is_the_same_on_any_number_of_threads() {
    let folder = Folder::new();
    let mut text = String::from("task_id,agent,success,notes\n");
    let filling = "\"a, \"\"b\"\"\nc\r\n,1,".repeat(60);
    let filling = filling.replace('"', "\"\"");
    for n in 0..9_000 {
        text += &format!("t{},a{},{},\"{filling}\"\n", n % 50, n % 3, n % 2);
        if n % 1_000 == 0 {
            text += "short,row\n";
        }
    }
    assert!(text.len() > 9 << 20, "{}", text.len());
    let path = folder.file("x.csv", &text);
    let args =
        |threads| ["inspect", &path, "--output", "json", "--threads", threads].map(str::to_owned);
    let ran = |threads| run(&args(threads).each_ref().map(String::as_str));
    let one = ran("1");
    assert_eq!(one.code, 0, "{}", one.err);
    let file = &one.json()["inputs"][0];
    assert_eq!((&file["used"], &file["rejected"]), (&value!(9_000), &value!(9)));
    for threads in ["2", "7"] {
        assert_eq!(ran(threads).out, one.out, "{threads} threads");
    }
}

#[test]
fn a_table_with_very_many_columns_is_read_in_reasonable_time() {
    let folder = Folder::new();
    let header = format!("task_id,success{}", ",x".repeat(100_000));
    let row = format!("t,1{}", ",1".repeat(100_000));
    let report = report(&[&folder.file("x.csv", format!("{header}\n{row}\n"))]);
    assert_eq!(completed(&report), (1, 0));
}

/// Counts by agent: runs and completed ones.
fn by_agent(
    table: &Path,
    agent: &str,
    runs: Option<&str>,
    passed: &str,
) -> BTreeMap<String, (u64, u64)> {
    let mut reader = csv::Reader::from_path(table).unwrap();
    let names = reader.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|have| have == name).unwrap();
    let (agent, runs, passed) = (at(agent), runs.map(at), at(passed));
    let mut counts = BTreeMap::<String, (u64, u64)>::new();
    for row in reader.records() {
        let row = row.unwrap();
        let count = counts.entry(row[agent].to_owned()).or_default();
        count.0 += runs.map_or(1, |at| row[at].parse().unwrap());
        count.1 += row[passed].parse::<u64>().unwrap();
    }
    counts
}

#[test]
fn the_published_metr_table_gives_its_runs_tasks_and_completed_runs_by_agent() {
    let Some(runs) = support::shared("stats/metr/runs_jan2025.csv") else { return };
    let tasks = support::shared("stats/metr/tasks_jan2025.csv").unwrap();
    let path = runs.to_str().unwrap();
    assert_eq!(account(path), (7_063, 7_063, 0, 0, 0));
    let report = report(&[path, "--by", "agent"]);
    assert_eq!(completed(&report), (2_129, 4_934));
    assert_eq!(report["tasks"], 83, "{:#}", report["tasks"]);
    let groups = report["groups"].as_array().unwrap();
    let found: BTreeMap<String, (u64, u64)> = groups
        .iter()
        .map(|group| {
            let (completed, failed) = completed(group);
            (group["by"]["agent"].as_str().unwrap().to_owned(), (completed + failed, completed))
        })
        .collect();
    assert_eq!(found, by_agent(&tasks, "alias", Some("n"), "s"));
    assert_eq!(found, by_agent(&runs, "alias", None, "score_binarized"));
    assert_eq!(found["o1"], (1_014, 363));
    let limited = self::report(&[path, "--by", "tag:usage_limit_hit"]);
    let limited = &limited["groups"][1];
    assert_eq!(
        (&limited["by"]["tag:usage_limit_hit"], completed(limited)),
        (&value!("1"), (51, 1_861))
    );
}
