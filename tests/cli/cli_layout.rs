//! Tables through the program: columns end where their headings end, whatever the names are, and
//! no name can colour, move or break a line.

use crate::cli;
use crate::cli::{Folder, Ran, agenteval, run};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

/// Names that break tables: wide, joined, combining, very long, all of one kind and mixed.
fn names() -> Vec<String> {
    vec![
        "plain".to_owned(),
        "退货申请处理流程".to_owned(),
        "🚧 部署 🚀 staging".to_owned(),
        "👨‍👩‍👧‍👦 family 👍🏽".to_owned(),
        "cafe\u{301} nai\u{308}ve".to_owned(),
        "x".repeat(200),
        "数据分析任务".repeat(34),
        "ｆｕｌｌｗｉｄｔｈ　カタカナ ﾊﾝｶｸ".to_owned(),
        "العربية עברית".to_owned(),
    ]
}

/// A run for every name: it is the task, the tool, the error's type and message.
fn runs(names: &[String]) -> String {
    let run = |(nth, name): (usize, &String)| {
        let step = |attempt: u64, error: Value| {
            json!({"step_id": "s", "attempt": attempt, "type": "tool", "name": name, "input": name,
                   "error": error, "started_at": "2026-01-01T00:00:00Z", "duration_ms": 1500, "tokens": 10})
        };
        let error = json!({"type": name, "message": name});
        json!({"run_id": format!("{nth} {name}"), "task_id": name, "trial": nth, "model": name,
               "status": if nth % 2 == 0 { "completed" } else { "failed" },
               "steps": [step(1, error), step(2, Value::Null)]})
        .to_string()
            + "\n"
    };
    names.iter().enumerate().map(run).collect()
}

/// Runs a command on a terminal of this width.
#[track_caller]
fn at_width(columns: usize, args: &[&str]) -> String {
    let ran = Ran::of(agenteval().env("COLUMNS", columns.to_string()).args(args));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out
}

/// The tables of an output: a heading that starts with the words of `heading`, and `rows` lines below.
fn tables<'o>(out: &'o str, heading: &[&str], rows: usize) -> Vec<(&'o str, Vec<&'o str>)> {
    let lines: Vec<&str> = out.lines().collect();
    let is_heading =
        |line: &str| line.split_whitespace().take(heading.len()).eq(heading.iter().copied());
    let body = |at: usize| {
        let mut starts = 0;
        let part = |line: &&&str| {
            starts += usize::from(!goes_on(lines[at], line));
            starts <= rows
        };
        lines[at + 1..].iter().take_while(part).copied().collect()
    };
    (0..lines.len()).filter(|at| is_heading(lines[*at])).map(|at| (lines[at], body(at))).collect()
}

/// Whether a line goes on with the row above it: a table whose first column is never empty has
/// nothing there.
fn goes_on(head: &str, line: &str) -> bool {
    head.starts_with("metric") && line.starts_with(' ')
}

/// Whether a cell of the line ends at this display column: a character, and then a gap or the end.
fn ends_at(line: &str, column: usize) -> bool {
    line.char_indices().map(|(at, c)| at + c.len_utf8()).any(|end| {
        line[..end].width() == column
            && !line[..end].ends_with(' ')
            && (line[end..].is_empty() || line[end..].starts_with("  "))
    })
}

/// Whether a cell starts at this display column, or nothing stands from there on to a gap.
fn starts_at(line: &str, column: usize) -> bool {
    if line.width() <= column {
        return true;
    }
    line.char_indices()
        .any(|(at, _)| line[..at].width() == column && (at == 0 || line[..at].ends_with("  ")))
}

/// Fails unless every row keeps to the columns of the heading, and to the width.
#[track_caller]
fn aligned(out: &str, heading: &[&str], rows: usize, right: &[&str], left: &[&str], width: usize) {
    let tables = tables(out, heading, rows);
    assert!(!tables.is_empty(), "no table {heading:?} in\n{out}");
    for (head, rows) in tables {
        let place = |name: &str| {
            let words = |at: &usize| {
                let end = at + name.len();
                (*at == 0 || head[..*at].ends_with(' '))
                    && (end == head.len() || head[end..].starts_with(' '))
            };
            let mut found = head.match_indices(name).map(|(at, _)| at).filter(words);
            found.next().unwrap_or_else(|| panic!("no {name} in {head}"))
        };
        for row in rows {
            assert!(row.width() <= width, "{} > {width}: {row}\n{out}", row.width());
            if goes_on(head, row) {
                let note = place(left.last().unwrap());
                assert_eq!(row.len() - row.trim_start().len(), note, "{row}\n{out}");
                continue;
            }
            for name in right {
                let end = place(name) + name.len();
                assert!(ends_at(row, end), "{name} does not end at {end}: {row}\n{out}");
            }
            for name in left {
                let start = place(name);
                assert!(starts_at(row, start), "{name} does not start at {start}: {row}\n{out}");
            }
        }
    }
}

#[test]
fn analyze_by_task_stays_aligned_with_any_name() {
    let folder = Folder::new();
    let path = folder.file("runs.ndjson", runs(&names()));
    let report = cli::report(&[&path]);
    // Distributions have lines of their own.
    let metrics = report["metrics"].as_object().unwrap();
    let rows = metrics.keys().filter(|name| !name.ends_with("_distribution")).count();
    for width in [80, 120] {
        let out = at_width(width, &["analyze", &path, "--by", "task"]);
        let heading = ["metric", "value"];
        assert_eq!(tables(&out, &heading, rows).len(), 1 + names().len(), "{out}");
        aligned(&out, &heading, rows, &["value", "counts"], &["metric", "95% CI", "note"], width);
    }
}

#[test]
fn show_stays_aligned_with_any_name() {
    let folder = Folder::new();
    for name in names() {
        let path = folder.file("runs.ndjson", runs(std::slice::from_ref(&name)));
        for width in [80, 120] {
            let out = at_width(width, &["show", &name, &path]);
            aligned(
                &out,
                &["step", "attempt"],
                2,
                &["step", "attempt", "at", "took"],
                &["action", "verdict", "error"],
                width,
            );
        }
    }
    // All names in one table.
    let steps: Vec<Value> = names()
        .iter()
        .map(|name| json!({"type": "tool", "name": name, "error": name, "duration_ms": 20, "started_at": 1}))
        .collect();
    let run = json!({"run_id": "all", "steps": steps}).to_string();
    let path = folder.file("all.ndjson", run);
    for width in [80, 120] {
        let out = at_width(width, &["show", "all", &path]);
        let (right, left) = (["step", "attempt", "at", "took"], ["action", "verdict", "error"]);
        aligned(&out, &["step", "attempt"], names().len(), &right, &left, width);
    }
}

#[test]
fn inspect_stays_aligned_with_any_name() {
    let folder = Folder::new();
    let mut paths = Vec::new();
    for name in names() {
        // A file name holds 255 bytes at most.
        let short: String = name.chars().take(60).collect();
        paths.push(folder.file(&format!("{short}.ndjson"), runs(std::slice::from_ref(&name))));
    }
    let args: Vec<&str> = ["inspect"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    for width in [80, 120] {
        let out = at_width(width, &args);
        let right = ["records", "used", "rejected", "runs", "attempts"];
        aligned(&out, &["file", "format"], paths.len(), &right, &["file", "format"], width);
    }
}

#[test]
fn explain_stays_aligned_with_any_name() {
    let folder = Folder::new();
    let path = folder.file("runs.ndjson", runs(&names()));
    for width in [80, 120] {
        let out = at_width(width, &["explain", "final_completion_rate", &path]);
        let right = ["numerator", "denominator"];
        aligned(&out, &["run", "task"], names().len(), &right, &["run", "task"], width);
    }
}

#[test]
fn a_long_name_is_cut_with_a_mark_and_whole_in_json() {
    let folder = Folder::new();
    let name = "x".repeat(200);
    let path = folder.file("runs.ndjson", runs(std::slice::from_ref(&name)));
    let out = at_width(80, &["explain", "avg_steps", &path]);
    assert!(out.contains("xxx…"), "{out}");
    let answer = cli::json(&["explain", "avg_steps", &path]);
    assert_eq!(answer["runs"][0]["task"], name.as_str());
    let report = cli::report(&[&path, "--by", "task"]);
    assert_eq!(report["groups"][0]["by"]["task"], name.as_str());
    assert_eq!(report["distributions"]["error_type"][&name], 1);
}

/// Whether a text holds anything that a terminal would obey.
fn disturbs(text: &str) -> bool {
    text.chars().any(|c| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200B}' | '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    })
}

#[test]
fn terminal_escapes_in_names_are_shown_not_obeyed() {
    let evil = "\u{1b}[2J\u{1b}]0;title\u{7}red\u{1b}[31m\r\nnext\u{202e}fdp\u{9b}1m\u{2028}end";
    let shown =
        "\\u{1b}[2J\\u{1b}]0;title\\u{7}red\\u{1b}[31m\\r\\nnext\\u{202e}fdp\\u{9b}1m\\u{2028}end";
    let folder = Folder::new();
    let path = folder.file("runs.ndjson", runs(&[evil.to_owned()]));
    for args in [
        vec!["analyze", &path, "--by", "task"],
        vec!["analyze", &path, "--by", "model"],
        vec!["analyze", &path, "--by", "task", "--output", "csv"],
        vec!["show", evil, &path],
        vec!["explain", "avg_steps", &path],
    ] {
        // Wide enough that nothing is cut.
        let ran = Ran::of(agenteval().env("COLUMNS", "600").args(&args));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!disturbs(&ran.out), "{args:?}: {:?}", ran.out);
        assert!(!disturbs(&ran.err), "{args:?}: {:?}", ran.err);
        assert!(ran.out.contains(shown), "{args:?}: {}", ran.out);
    }
    for args in [
        vec!["analyze", &path, "--by", "task", "--output", "markdown"],
        vec!["show", evil, &path, "--output", "markdown"],
        vec!["explain", "avg_steps", &path, "--output", "markdown"],
    ] {
        let ran = run(&args);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!disturbs(&ran.out), "{args:?}: {:?}", ran.out);
        // Markdown escapes the backslash once more.
        assert!(ran.out.contains("\\\\u{1b}\\[2J"), "{args:?}: {}", ran.out);
        assert!(ran.out.contains("\\\\r\\\\nnext"), "{args:?}: {}", ran.out);
    }
}

#[test]
fn terminal_escapes_in_file_names_statuses_and_errors_are_shown_not_obeyed() {
    let evil = "a\u{1b}[31mb";
    let folder = Folder::new();
    let run_of = json!({"run_id": evil, "status": evil, "score": evil, "end_reason": evil, "tags": {"k": evil},
        "steps": [{"type": evil, "status": evil, "error": {"type": evil, "message": evil}},
                  {"type": "t", "status": evil}]});
    let path = folder.file(&format!("{evil}.ndjson"), format!("{run_of}\n{{\"steps\":[\n"));
    for args in [
        vec!["analyze", &path],
        vec!["analyze", &path, "--by", "tag:k", "--output", "csv"],
        vec!["analyze", &path, "--by", "tag:k", "--output", "markdown"],
        vec!["inspect", &path],
        vec!["inspect", &path, "--output", "markdown"],
        vec!["show", evil, &path],
        vec!["explain", "step_error_rate", &path],
        vec!["analyze", &path, "--strict"],
        vec!["show", "nobody\u{1b}[31m", &path],
        vec!["analyze", &path, "--by", "x\u{1b}[31m"],
        vec!["analyze", "no-such\u{1b}[31m.json"],
        vec!["analyze", &path, "--format", "x\u{1b}[31m"],
    ] {
        let ran = run(&args);
        assert!(!disturbs(&ran.out), "{args:?}: {:?}", ran.out);
        assert!(!disturbs(&ran.err), "{args:?}: {:?}", ran.err);
    }
}

#[test]
fn escapes_in_a_config_are_shown_not_obeyed() {
    let folder = Folder::new();
    let traces = folder.file("r.ndjson", r#"{"final":{"a":1},"steps":[{"type":"t"}]}"#);
    for config in [
        json!({"a\u{1b}[31mb": 1}),
        json!({"metrics": ["a\u{1b}[31mb"]}),
        json!({"task_name": "a\u{1b}[31mb"}),
        json!({"evaluation": {"final_passed": "final.a == 'x\u{1b}[31m'"}}),
        json!({"evaluation": {"final_passed": "final.a == 'x\u{1b}[31m"}}),
        json!({"error_types": [{"match": "(\u{1b}[31m", "type": "x"}]}),
    ] {
        // Once as JSON escapes it, once raw.
        let escaped = config.to_string();
        for text in [escaped.replace("\\u001b", "\u{1b}"), escaped] {
            let path = folder.file("config.json", &text);
            let ran = run(&["analyze", &traces, "-c", &path]);
            assert!(!disturbs(&ran.out), "{text:?}: {:?}", ran.out);
            assert!(!disturbs(&ran.err), "{text:?}: {:?}", ran.err);
        }
    }
}

#[test]
fn markup_and_formulas_in_names_stay_text() {
    let folder = Folder::new();
    let names = ["=HYPERLINK(\"http://x\")", "<script>x</script>", "a|b", "@team", "+1", "a,\"b\""];
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let path = folder.file("runs.ndjson", runs(&names));
    let csv = run(&["analyze", &path, "--by", "task", "--output", "csv"]).out;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let groups: std::collections::BTreeSet<String> =
        reader.records().map(|record| record.unwrap()[0].to_owned()).collect();
    for name in &names {
        assert!(groups.contains(&format!("task={name}")), "{name} in {groups:?}");
    }
    let markdown = run(&["analyze", &path, "--by", "task", "--output", "markdown"]).out;
    assert!(!markdown.contains("<script>") && !markdown.contains("@team"), "{markdown}");
    for line in markdown.lines().filter(|line| line.starts_with("| ")) {
        let bars = line.matches('|').count() - line.matches("\\|").count();
        assert_eq!(bars, 6, "five columns: {line}");
    }
}

#[test]
fn colour_is_only_where_it_is_asked_for() {
    let path = cli::fixture("native/worked-example.json");
    assert!(!run(&["analyze", &path]).out.contains('\u{1b}'), "a pipe has no colour");
    let always = run(&["analyze", &path, "--color", "always"]).out;
    assert!(always.contains("\u{1b}["), "{always}");
    assert!(!run(&["analyze", &path, "--color", "never"]).out.contains('\u{1b}'));
    let json = run(&["analyze", &path, "--color", "always", "--output", "json"]).out;
    assert!(!json.contains('\u{1b}'), "data has no colour");
}

#[test]
fn a_run_without_an_id_is_shown_by_every_name_that_tables_give_it() {
    let folder = Folder::new();
    let runs: String = (0..3)
        .map(|trial| {
            format!("{{\"task_id\":\"退款-7\",\"trial\":{trial},\"status\":\"failed\",\"steps\":[{{\"type\":\"tool\",\"name\":\"t{trial}\"}}]}}\n")
        })
        .collect();
    let path = folder.file("runs.ndjson", runs);
    for name in ["退款-7 trial 1", "退款-7/1", "runs.ndjson:2", &format!("{path}:2")] {
        let ran = run(&["show", name, &path]);
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        assert!(ran.out.contains("t1") && !ran.out.contains("t2"), "{name}: {}", ran.out);
    }
    run(&["show", "退款-7/9", &path]).refused(2, &["no run or task"]);
    run(&["show", "uns.ndjson:2", &path]).refused(2, &["no run or task"]);
}
