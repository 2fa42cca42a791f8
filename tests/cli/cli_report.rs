//! The page of `report`: one file that loads nothing, with the figures of `analyze`, and contents of
//! traces only where they are asked for. What a browser does with it is tested in `tests/browser/`.

use crate::cli;
use crate::cli::{Folder, Ran, agenteval, fixture, report, run};
use crate::gate::{Sides, grid};
use agenteval::config::EvalConfig;
use agenteval::evaluate::Judge;
use agenteval::metrics::{Failures, Rank};
use agenteval::model::{Attempt, ErrorInfo, Place, Trajectory};
use serde_json::{Value, json};

/// The page that `report` writes with these arguments.
fn page(folder: &Folder, args: &[&str]) -> String {
    let file = folder.at("page.html");
    let ran = run(&[&["report", "-o", &file], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    std::fs::read_to_string(&file).unwrap()
}

/// The JSON in the element of this id.
fn data(page: &str, id: &str) -> Value {
    let open = format!("<script type=\"application/json\" id=\"{id}\">");
    let start = page.find(&open).unwrap_or_else(|| panic!("no {id}")) + open.len();
    let end = start + page[start..].find("</script>").unwrap();
    assert!(!page[start..end].contains(['<', '>', '&', '\u{2028}']), "escaped: {id}");
    serde_json::from_str(&page[start..end]).unwrap()
}

/// The page without its data and its script: what is there without the script.
fn visible(page: &str) -> &str {
    &page[..page.find("<script").unwrap()]
}

fn support_flow() -> [String; 3] {
    [
        fixture("native/support-flow.ndjson"),
        "-c".into(),
        "eval-configs/customer-service.json".into(),
    ]
}

#[test]
fn the_page_has_the_figures_of_analyze_and_opens_with_the_verdict() {
    let folder = Folder::new();
    let args = support_flow();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let page = page(&folder, &args);
    let wanted = report(&args);
    assert_eq!(data(&page, "report"), wanted);
    let seen = visible(&page);
    let verdict = seen.find("THRESHOLD MISSED").expect("the verdict");
    assert!(verdict < seen.find("<h2").unwrap(), "the verdict comes first");
    for part in ["<th scope=row class=metric>", "73.9%", "[49.3, 89.2]", "17/23", "tool_timeout"] {
        assert!(seen.contains(part), "no {part}");
    }
    let runs = data(&page, "runs-data");
    assert_eq!(runs["id"].as_array().unwrap().len(), 24);
    let place = runs["place"][0].as_str().unwrap();
    assert!(place.starts_with("fixtures/native/support-flow.ndjson:"), "{place}");
}

#[test]
fn the_page_loads_nothing_and_allows_nothing_to_be_loaded() {
    let folder = Folder::new();
    let sides = worse();
    let page = page(&folder, &[&sides.after(), "--baseline", "main", "--store", &sides.store]);
    // The namespace of drawings is a name; nothing is loaded from it.
    let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for part in
        ["http://", "https://", "src=", "@import", "url(", "<link", "<img", "<iframe", "fetch("]
    {
        assert!(!page.contains(part), "{part}");
    }
    assert!(page.contains("default-src &#39;none&#39;; style-src"), "the policy");
    assert!(page.contains("script-src &#39;sha256-"), "scripts by their hash alone");
    assert!(!page.contains("innerHTML"));
}

fn worse() -> Sides {
    let before = grid(40, 3, |task, trial| task % 8 != 0 || trial == 0);
    let mut after = grid(40, 3, |task, trial| (task % 8 != 0 || trial == 0) && task % 4 != 1);
    for run in after.iter_mut().filter(|run| !run.passed) {
        run.error = Some("tool_timeout".to_owned());
    }
    Sides::new(&before, &after)
}

#[test]
fn with_a_baseline_the_page_holds_what_the_gate_says_and_the_exit_is_0() {
    let folder = Folder::new();
    let sides = worse();
    let page = page(&folder, &[&sides.after(), "--baseline", "main", "--store", &sides.store]);
    let (mut wanted, code) = sides.json(&[]);
    assert_eq!(code, 1, "the gate fails, the report does not");
    let mut shown = data(&page, "gate");
    for report in [&mut wanted, &mut shown] {
        report.as_object_mut().unwrap().remove("warnings");
    }
    assert_eq!(shown, wanted);
    let seen = visible(&page);
    assert!(seen.contains("<strong>FAIL</strong>") && seen.contains("Broken tasks"));
    assert!(seen.contains("<bdi>tool_timeout@search</bdi>"), "what is new");
    let of_gate = sides.written("gate.html");
    assert_eq!(visible(&of_gate), seen, "the gate writes the same page");
}

#[test]
fn contents_are_in_the_page_only_with_the_flag_and_then_without_secrets() {
    let folder = Folder::new();
    let secret = format!("sk-proj-{}", "Ab1".repeat(14));
    let run = json!({
        "run_id": "r-1", "success": false, "end_reason": "WORD of the end",
        "final": {"report": "WORD of the final"},
        "steps": [
            {"type": "tool", "name": "search", "input": {"q": "WORD of the input"}, "output": "WORD of the output",
             "reasoning": format!("WORD of the reasoning {secret}")},
            {"type": "tool", "name": "send", "error": {"type": "timeout", "message": "WORD of the message"}}
        ]
    });
    let config = json!({"evaluation": {"final_passed": "final.report == 'x'"}}).to_string();
    let traces = folder.file("t.ndjson", format!("{run}\n"));
    let config = folder.file("c.json", config);
    let bare = page(&folder, &[&traces, "-c", &config]);
    assert!(!bare.contains("WORD") && !bare.contains(&secret), "contents without the flag");
    assert!(
        bare.contains("expression_never_true") || data(&bare, "report")["warnings"] != json!([])
    );
    let full = page(&folder, &[&traces, "-c", &config, "--include-content"]);
    for what in ["end", "final", "input", "output", "reasoning", "message"] {
        let text = format!("WORD of the {what}");
        assert!(visible(&full).contains(&text), "{text} in the static part");
        assert!(data(&full, "contents-data").to_string().contains(&text), "{text}");
    }
    assert!(!full.contains(&secret) && !full.contains(&"Ab1".repeat(6)), "the secret is masked");
    let long = format!("{}\n", json!({"steps": [{"type": "tool", "input": "长".repeat(9_000)}]}));
    let full = page(&folder, &[&folder.file("long.ndjson", long), "--include-content"]);
    assert!(full.contains(&"长".repeat(2_000)) && !full.contains(&"长".repeat(2_001)));
}

#[test]
fn the_same_input_gives_the_same_bytes_on_any_number_of_threads_and_at_any_time() {
    let folder = Folder::new();
    let lines: String = (0..600)
        .map(|at| {
            let steps =
                json!([{"type": "tool", "name": "a", "error": (at % 3 == 0).then_some("late")}]);
            format!(
                "{}\n",
                json!({"run_id": format!("r{at}"), "success": at % 3 != 0, "steps": steps})
            )
        })
        .collect();
    let traces = folder.file("t.ndjson", lines);
    let one = page(&folder, &[&traces, "--threads", "1", "--include-content"]);
    for threads in ["2", "7"] {
        assert_eq!(page(&folder, &[&traces, "--threads", threads, "--include-content"]), one);
    }
    let file = folder.at("dated.html");
    let ran = Ran::of(
        agenteval()
            .args(["report", &traces, "-o", &file, "--commit", "3f2c91d"])
            .env("SOURCE_DATE_EPOCH", "0"),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let dated = std::fs::read_to_string(&file).unwrap();
    assert!(dated.contains("1970-01-01T00:00:00Z") && dated.contains("3f2c91d"));
}

#[test]
fn of_very_many_runs_the_failed_ones_are_shown_and_the_figures_are_over_all() {
    let folder = Folder::new();
    let lines: String = (0..12_000)
        .map(|at| {
            format!(
                "{{\"run_id\":\"r{at}\",\"success\":{},\"steps\":[{{\"type\":\"tool\"}}]}}\n",
                at % 100 != 99
            )
        })
        .collect();
    let traces = folder.file("t.ndjson", lines);
    let page = page(&folder, &[&traces]);
    let runs = data(&page, "runs-data");
    let ids = runs["id"].as_array().unwrap();
    assert_eq!((ids.len(), &runs["of"]), (10_000, &json!(12_000)));
    let class = runs["class"].as_array().unwrap();
    assert!(class[..120].iter().all(|class| *class == 0) && class[120] == 2, "failed ones first");
    assert_eq!(ids[0], "r99", "in the order of the input");
    assert_eq!(data(&page, "report")["runs"]["total"], 12_000);
    assert!(visible(&page).contains("10,000 of 12,000 runs are shown here"));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let section = why(&page);
    assert!(section.contains(" of 12,000 runs: whole tasks, chosen by their ids"), "{section}");
    let few = self::page(&folder, &[&traces, "--where", "run.status == 'x' || run.steps > 0"]);
    assert!(visible(&few).contains("12,000 of 12,000 runs"), "what --where keeps");
}

/// The section on why runs fail.
fn why(page: &str) -> &str {
    let start = page.find("<section id=why").unwrap();
    &page[start..start + page[start..].find("</section>").unwrap()]
}

#[test]
fn the_page_says_why_runs_fail_with_the_counts_of_diagnose_horizon_and_budgets() {
    let folder = Folder::new();
    let args = support_flow();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let page = page(&folder, &args);
    let section = why(&page);
    let diagnosis = cli::json(&[&["diagnose"], args.as_slice()].concat());
    let mut fired = 0;
    for (code, rule) in diagnosis["rules"].as_object().unwrap() {
        assert!(section.contains(code), "{code}");
        if rule["findings"] == 0 {
            continue;
        }
        fired += 1;
        let counts = format!("<td class=n>{} of {}<", rule["runs_affected"], rule["runs_examined"]);
        let remedy = rule["remedy"].as_str().unwrap().replace('\'', "&#39;");
        for part in [counts.as_str(), &remedy, rule["title"].as_str().unwrap()] {
            assert!(section.contains(part), "{code}: no {part}");
        }
    }
    assert_eq!(section.matches("<tr class=more>").count(), fired);
    let link = "<a href=\"#run=refund-020-t2&amp;step=4\"><bdi>refund-020-t2</bdi></a> step 4 attempt 2 <bdi>issue_refund</bdi>";
    assert!(
        section.contains(link) && visible(&page).contains("id=\"run=refund-020-t2&amp;step=4\"")
    );
    assert!(section.contains("<b>None is told from chance</b>"), "five actions of few runs");
    let horizon = cli::json(&[&["horizon"], args.as_slice()].concat());
    let percent = |value: &Value| format!("{:.1}%", value.as_f64().unwrap() * 100.0);
    let risk = format!("risk per step<dd>{}", percent(&horizon["hazard"]["value"]));
    let budgets = cli::json(&[&["budgets"], args.as_slice()].concat());
    let limit = format!(
        "<code>max_steps</code> <b>{}</b>",
        budgets["budgets"][0]["limit"].as_f64().unwrap()
    );
    for part in [risk.as_str(), "half-life<dd>", "constant risk?<dd>not rejected", &limit] {
        assert!(section.contains(part), "no {part}");
    }
}

#[test]
fn where_all_pass_the_page_says_that_no_rule_found_anything() {
    let folder = Folder::new();
    let run = json!({"run_id": "r", "task_id": "t", "agent": "a", "model": "m", "success": true, "started_at": "2026-01-01T00:00:00Z", "duration_ms": 10,
        "steps": [{"type": "tool", "name": "search", "status": "completed", "duration_ms": 10, "tokens": 5, "cost_usd": 0.1}]});
    let page = page(&folder, &[&folder.file("t.ndjson", format!("{run}\n"))]);
    let section = why(&page);
    for part in
        ["nothing to compare", "none: fewer than 10 completed runs", "risk per step<dd>0.0%"]
    {
        assert!(section.contains(part), "no {part}: {section}");
    }
    assert!(!section.contains("Where to look first"));
}

#[test]
fn values_that_a_rule_quotes_are_in_the_page_only_with_the_flag() {
    let folder = Folder::new();
    let plan = |price: &str| json!({"type": "plan", "name": "plan", "output": {"constraints": {"max_price": price}}});
    let run = json!({"run_id": "r", "steps": [plan("300FRANCS"), {"type": "tool", "name": "t"}, plan("500FRANCS")]});
    let traces = folder.file("t.ndjson", format!("{run}\n"));
    let bare = page(&folder, &[&traces]);
    assert!(why(&bare).contains("goal_lost") && why(&bare).contains("constraints.max_price"));
    assert!(!bare.contains("FRANCS"), "{}", why(&bare));
    let full = page(&folder, &[&traces, "--include-content"]);
    assert!(why(&full).contains("300FRANCS"), "{}", why(&full));
}

#[test]
fn names_that_a_page_would_obey_are_shown_as_text() {
    let folder = Folder::new();
    let hostile = "</script></style>\"'><img src=x onerror=a()>\u{1b}[31m\u{202e}x\u{2028}";
    let run = json!({
        "run_id": hostile, "task_id": hostile, "trial": hostile, "agent": hostile, "model": hostile,
        "status": hostile, "tags": {hostile: hostile}, "success": false,
        "steps": [{"type": hostile, "name": hostile, "status": hostile, "error": {"type": hostile, "message": hostile}}]
    });
    let traces = folder.file("t.ndjson", format!("{run}\n"));
    for flags in [&[][..], &["--include-content"]] {
        let page = page(&folder, &[&[traces.as_str()], flags].concat());
        assert!(!page.contains("<img") && !page.contains(['\u{1b}', '\u{202e}', '\u{2028}']));
        let scripts = 4 - usize::from(flags.is_empty());
        assert_eq!(
            page.matches("</script").count(),
            scripts,
            "report, runs, contents and the script"
        );
        assert!(visible(&page).contains("&lt;img src=x onerror=a()&gt;\\u{1b}[31m\\u{202e}x"));
    }
}

#[test]
fn nothing_is_written_where_nothing_was_evaluated_or_the_file_is_no_page() {
    let folder = Folder::new();
    let empty = folder.file("empty.json", "[]");
    let file = folder.at("sub/page.html");
    run(&["report", &empty, "-o", &file]).refused(4, &["no run was evaluated"]);
    assert!(!std::path::Path::new(&file).exists());
    let traces = fixture("native/support-flow.ndjson");
    run(&["report", &traces, "-o", &folder.at("page.json")]).refused(2, &["end its name in .html"]);
    run(&["report", &traces]).refused(2, &["-o <FILE>"]);
    let missing =
        ["report", &traces, "-o", &file, "--baseline", "none", "--store", &folder.at("s")];
    run(&missing).refused(2, &["none", "agenteval baseline save"]);
    run(&["analyze", &traces, "-o", &file]).refused(2, &["agenteval report"]);
    assert_eq!(run(&["report", &traces, "-o", &file]).code, 0, "its folder is made");
    assert!(std::path::Path::new(&file).exists());
    let ran = Ran::of(
        agenteval().args(["report", "-", "-o", &file]).write_stdin(r#"{"steps":[{"type":"a"}]}"#),
    );
    assert_eq!(ran.code, 0, "from a pipe: {ran:?}");
}

#[test]
fn runs_attempts_and_steps_of_a_signature_are_counted_over_all_runs() {
    let attempt = |failed: &bool| Attempt {
        kind: "tool".into(),
        name: Some("search".into()),
        error: failed.then(|| ErrorInfo { kind: Some("timeout".into()), ..ErrorInfo::default() }),
        ..Attempt::default()
    };
    let run = |byte: u64, failing: &[bool], success: bool| Trajectory {
        place: Place { byte, ..Place::default() },
        success: Some(success),
        attempts: failing.iter().map(attempt).collect(),
        ..Trajectory::default()
    };
    let config = EvalConfig::default();
    let judge = Judge::new(&config);
    let mut state = judge.state();
    let mut failures = Failures::default();
    let mut ranks = Vec::new();
    for run in [run(0, &[false, true], false), run(1, &[true, false], true), run(2, &[], true)] {
        let timeline = judge.timeline(&mut state, &run);
        ranks.push(Rank::of(&timeline.row));
        failures.add(&timeline, Rank::of(&timeline.row));
    }
    let groups = failures.into_groups();
    assert_eq!(groups.len(), 1);
    let group = &groups[0];
    assert_eq!((&*group.kind, group.tool.as_deref()), ("timeout", Some("search")));
    assert_eq!((group.runs, group.runs_lost, group.attempts), (2, 1, 2));
    let steps: Vec<(u32, u64)> = group.steps.iter().map(|(step, runs)| (*step, *runs)).collect();
    assert_eq!(steps, [(1, 1), (2, 1)]);
    assert_eq!(group.examples[0], (ranks[0], 2), "runs that were not completed first");
}

/// Values that warnings quote are contents, in quotes or not, whatever stands in the expression.
#[test]
fn values_in_warnings_are_not_in_a_page_without_contents() {
    let folder = Folder::new();
    let config = folder.file(
        "c.json",
        br#"{"evaluation": {"final_passed": "final.report.contains('say \"') && final.balance > 1e9"}}"#,
    );
    let traces = folder.file(
        "t.json",
        "[{\"task_id\": \"a\", \"final\": {\"report\": \"SECRETANSWER of patient\", \"balance\": 4711.5}, \"end_reason\": \"客户张三身份证\", \"steps\": [{\"type\": \"tool\", \"status\": \"等待中\"}]}]".as_bytes(),
    );
    let page = page(&folder, &[&traces, "-c", &config]);
    for said in ["SECRETANSWER", "4711.5", "张三", "等待中"] {
        assert!(!page.contains(said), "{said}");
    }
}
