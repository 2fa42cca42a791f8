//! `agenteval chart`: every kind as SVG and PNG, with the numbers of the reports, whatever the
//! traces hold.

use std::collections::BTreeMap;

use crate::cli::{Folder, fixture, json, report, run};
use agenteval::metrics::Analysis;
use agenteval::render::{Chart, Theme, chart_css, chart_svg};
use resvg::usvg::roxmltree::Document;
use resvg::usvg::{Node, Options, Tree};
use serde_json::Value;

const RUNS: &str = "native/support-flow.ndjson";
const CONFIG: [&str; 2] = ["-c", "eval-configs/customer-service.json"];
const KINDS: [&str; 10] = [
    "metrics",
    "survival",
    "hazard",
    "lengths",
    "time-horizon",
    "errors",
    "heatmap",
    "retries",
    "outcomes",
    "cost",
];

/// Draws a chart and gives its SVG, which must be sound.
#[track_caller]
fn svg(args: &[&str]) -> String {
    let folder = Folder::new();
    let file = folder.at("x.svg");
    let ran = run(&[&["chart"], args, &["-o", &file]].concat());
    assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    assert_eq!(ran.out, "", "{args:?}");
    let text = std::fs::read_to_string(&file).expect("UTF-8");
    sound(&text);
    text
}

/// Fails unless the SVG is well formed, has a title and words, no id, and no text of an unreadable size.
#[track_caller]
fn sound(text: &str) {
    let document = Document::parse(text).expect("well-formed XML");
    let root = document.root_element();
    let child = |name: &str| root.children().find(|node| node.has_tag_name(name));
    for name in ["title", "desc"] {
        let node = root.children().find(|node| node.tag_name().name() == name);
        assert!(
            node.and_then(|node| node.text()).is_some_and(|text| !text.trim().is_empty()),
            "{name}"
        );
    }
    assert_eq!(root.attribute("role"), Some("img"));
    assert!(child("script").is_none());
    for node in document.descendants() {
        assert_eq!(node.attribute("id"), None, "ids clash where charts stand in one page");
        for attribute in node.attributes() {
            assert!(
                !attribute.value().contains("NaN") && !attribute.value().contains("inf"),
                "{text}"
            );
        }
        assert!(!node.attributes().any(|a| a.name().starts_with("on") || a.name() == "href"));
        if node.tag_name().name() == "text" {
            let size: f64 = node.attribute("font-size").expect("a size").parse().expect("a number");
            assert!(size >= 11.0, "{size}");
        }
    }
}

/// Fails where a text, as it is drawn in the built-in fonts, goes beyond the chart.
#[track_caller]
fn within(text: &str) {
    const FONTS: [&[u8]; 2] = [
        include_bytes!("../../src/render/chart/fonts/DejaVuSans.ttf.zst"),
        include_bytes!("../../src/render/chart/fonts/DroidSansFallbackFull.ttf.zst"),
    ];
    let mut options = Options { font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    for font in FONTS {
        options.fontdb_mut().load_font_data(zstd::decode_all(font).expect("a font"));
    }
    let tree = Tree::from_str(text, &options).expect("an SVG");
    let (width, height) = (tree.size().width(), tree.size().height());
    let mut texts = 0;
    for node in tree.root().children() {
        if let Node::Text(label) = node {
            let ends = label.abs_bounding_box();
            texts += 1;
            assert!(ends.left() >= 0.0 && ends.right() <= width, "{ends:?} of {width}: {text}");
            assert!(ends.top() >= 0.0 && ends.bottom() <= height, "{ends:?} of {height}: {text}");
        }
    }
    assert!(texts > 0, "{text}");
}

/// What is drawn: values by name.
fn drawn(svg: &str) -> BTreeMap<String, f64> {
    let document = Document::parse(svg).expect("XML");
    let named = document.descendants().filter_map(|node| {
        let value = node.attribute("data-value")?.parse().expect("a number");
        Some((node.attribute("data-name")?.to_owned(), value))
    });
    named.collect()
}

fn sample() -> Vec<String> {
    let mut args = vec![fixture(RUNS)];
    args.extend(CONFIG.map(str::to_owned));
    args
}

fn with<'a>(kind: &'a str, rest: &'a [String]) -> Vec<&'a str> {
    std::iter::once(kind).chain(rest.iter().map(String::as_str)).collect()
}

#[test]
fn every_kind_is_drawn_as_svg_and_as_png_of_twice_the_width() {
    let folder = Folder::new();
    let args = sample();
    for kind in KINDS {
        within(&svg(&with(kind, &args)));
        let file = folder.at("x.png");
        let ran = run(&[&["chart"], with(kind, &args).as_slice(), &["-o", &file]].concat());
        assert_eq!(ran.code, 0, "{kind}: {ran:?}");
        let png = std::fs::read(&file).expect("a file");
        assert_eq!(png.get(..8), Some(b"\x89PNG\r\n\x1a\n".as_slice()), "{kind}");
        assert_eq!(png.get(16..20), Some(1280_u32.to_be_bytes().as_slice()), "{kind}: width");
    }
}

#[test]
fn the_figures_that_are_drawn_are_those_of_the_report() {
    let args = sample();
    let report = report(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let metrics = drawn(&svg(&with("metrics", &args)));
    for (name, figure) in report["metrics"].as_object().expect("figures") {
        assert_eq!(metrics.get(name).copied(), figure["value"].as_f64(), "{name}");
    }
    assert_eq!(metrics["min final_completion_rate"], 0.9);
    let counts = |key: &str, of: &Value| -> BTreeMap<String, f64> {
        let all = of[key].as_object().expect("counts");
        all.iter().map(|(name, n)| (name.clone(), n.as_f64().expect("a number"))).collect()
    };
    let outcomes = drawn(&svg(&with("outcomes", &args)));
    assert_eq!(outcomes, counts("outcome", &report["distributions"]));
    let errors = drawn(&svg(&with("errors", &args)));
    assert_eq!(errors, counts("error_type", &report["distributions"]));
    // The cells of a type add up to its bar, however they are split.
    for split in [&["heatmap"][..], &["errors", "--split", "step"], &["errors", "--split", "tool"]]
    {
        let (kind, rest) = split.split_first().expect("a kind");
        let args = [rest.iter().map(|s| (*s).to_owned()).collect(), args.clone()].concat();
        let mut sums = BTreeMap::new();
        for (name, value) in drawn(&svg(&with(kind, &args))) {
            let kind = name.split(" / ").next().unwrap_or_default().to_owned();
            *sums.entry(kind).or_insert(0.0) += value;
        }
        assert_eq!(sums, errors, "{split:?}");
    }
    let retries: f64 = drawn(&svg(&with("retries", &args)))
        .iter()
        .map(|(name, runs)| {
            name.split(' ').next().and_then(|n| n.parse::<f64>().ok()).expect("retries") * runs
        })
        .sum();
    assert_eq!(Some(retries), report["metrics"]["avg_retry_count"]["numerator"].as_f64());
}

#[test]
fn survival_falls_by_the_risk_of_each_step() {
    // Of four runs the first fails at step 1, the second ends well after 2, the third fails at 3.
    let folder = Folder::new();
    let run = |steps: &[bool]| {
        let steps: Vec<Value> = steps
            .iter()
            .map(|ok| serde_json::json!({"type": "tool", "name": "t", "status": if *ok { "completed" } else { "failed" }}))
            .collect();
        serde_json::json!({"status": "completed", "steps": steps}).to_string()
    };
    let runs =
        [run(&[false, true]), run(&[true, true]), run(&[true, true, false]), run(&[true; 4])];
    let file = folder.file("runs.ndjson", runs.join("\n"));
    let survival = drawn(&svg(&["survival", &file]));
    assert_eq!(
        survival,
        BTreeMap::from([("step 1".to_owned(), 0.75), ("step 3".to_owned(), 0.375)])
    );
    let hazard = drawn(&svg(&["hazard", &file]));
    let expected = [("step 1", 0.25), ("step 2", 0.0), ("step 3", 0.5), ("step 4", 0.0)];
    assert_eq!(hazard, expected.map(|(name, risk)| (name.to_owned(), risk)).into());
}

/// Runs of a task each that fail a step of their first one or two, or go on for `long` steps.
fn failing_early(folder: &Folder, early: usize, at: usize, long: usize) -> String {
    let step = |ok: bool| serde_json::json!({"type": "tool", "name": "t", "status": if ok { "completed" } else { "failed" }});
    let mut runs = String::new();
    for run in 0..120 {
        let mut steps = vec![step(true); long];
        if run < early {
            steps.truncate(1 + run % at);
            steps[run % at] = step(false);
        }
        let run = serde_json::json!({"task_id": format!("t{run}"), "status": if run < early { "failed" } else { "completed" }, "steps": steps});
        runs.push_str(&format!("{run}\n"));
    }
    folder.file(&format!("early-{early}-{at}.ndjson"), runs)
}

#[test]
fn models_are_dashed_beyond_the_last_step_unless_the_runs_reject_a_constant_risk() {
    let folder = Folder::new();
    let spread = failing_early(&folder, 60, 10, 10);
    let early = failing_early(&folder, 60, 2, 10);
    for (file, constant) in [(spread, true), (early, false)] {
        let horizon = json(&["horizon", &file]);
        assert_eq!(horizon["constant"]["verdict"] == "not_rejected", constant, "{horizon:#}");
        let text = svg(&["survival", &file]);
        within(&text);
        let risk = horizon["hazard"]["value"].as_f64().expect("a risk");
        let told = format!("constant risk, {:.1}% a step", risk * 100.0);
        assert!(text.contains(&told) && text.contains("changing risk"), "{told}: {text}");
        assert_eq!(text.contains("stroke-dasharray"), constant, "{text}");
        assert_eq!(text.contains("the runs reject a constant risk"), !constant);
    }
    let none = folder.file("none.ndjson", r#"{"status": "completed", "steps": [{"type": "t"}]}"#);
    assert!(!svg(&["survival", &none]).contains("constant risk"), "nothing failed");
}

#[test]
fn completion_by_length_is_that_of_horizon() {
    let folder = Folder::new();
    let file = failing_early(&folder, 60, 6, 9);
    let drawn = drawn(&svg(&["lengths", &file]));
    let horizon = json(&["horizon", &file]);
    let lengths = horizon["lengths"].as_array().expect("lengths");
    assert!(lengths.len() > 2 && drawn.len() == lengths.len(), "{drawn:?}");
    for length in lengths {
        let (from, to) = (&length["from"], &length["to"]);
        let name = if from == to { format!("{from} steps") } else { format!("{from}-{to} steps") };
        assert_eq!(drawn.get(&name).copied(), length["completion"]["value"].as_f64(), "{name}");
    }
    let table = fixture("runs-table/two_agents.csv");
    assert!(svg(&["lengths", &table]).contains("No ended run tells its number of steps"));
}

#[test]
fn time_horizons_are_those_of_horizon_agent_by_agent() {
    let table = fixture("runs-table/two_agents.csv");
    let text = svg(&["time-horizon", &table]);
    within(&text);
    let drawn = drawn(&text);
    let horizon = json(&["horizon", "--time", &table]);
    let agents = horizon["agents"].as_array().expect("agents");
    assert_eq!(agents.len(), 2);
    for agent in agents {
        let name = agent["agent"].as_str().expect("a name");
        let minutes = agent["horizons"][0]["minutes"].as_f64();
        let shown = drawn.get(&format!("{name} half")).copied();
        assert_eq!(shown.is_some(), minutes.is_some(), "{name}");
        if let Some((shown, minutes)) = shown.zip(minutes) {
            assert!((shown - minutes).abs() < 1e-4 * minutes, "{name}: {shown} for {minutes}");
        } else {
            assert!(text.contains("success does not fall with length"), "{text}");
        }
    }
    assert!(svg(&["time-horizon", &fixture(RUNS)]).contains("human_minutes"));
}

#[test]
fn both_sides_are_drawn_with_the_differences_of_compare() {
    let (a, b) = (fixture("gate/before.json"), fixture("gate/after.json"));
    let report = json(&["compare", &a, &b]);
    let drawn = drawn(&svg(&["compare", &a, &b]));
    assert!(drawn.len() >= 8, "{drawn:?}");
    for (name, difference) in drawn {
        assert_eq!(report["metrics"][&name]["difference"].as_f64(), Some(difference), "{name}");
    }
}

#[test]
fn a_trend_has_a_point_for_each_save_in_the_order_of_time() {
    let folder = Folder::new();
    let store = folder.at("store");
    for (name, side, day) in [("late", "gate/after.json", 2), ("early", "gate/before.json", 1)] {
        let time = format!("2026-01-0{day}T00:00:00Z");
        let saved =
            run(&["baseline", "save", name, &fixture(side), "--store", &store, "--time", &time]);
        assert_eq!(saved.code, 0, "{saved:?}");
    }
    let text = svg(&["trend", "late", "early", "--store", &store]);
    let values = drawn(&text);
    for (name, side) in [("late", "gate/after.json"), ("early", "gate/before.json")] {
        let figure = &report(&[&fixture(side)])["metrics"]["final_completion_rate"];
        assert_eq!(values.get(name).copied(), figure["value"].as_f64());
    }
    assert!(text.find("early (") < text.find("late ("), "{text}");
    let missing = run(&["chart", "trend", "none", "--store", &store, "-o", &folder.at("x.svg")]);
    missing.refused(2, &["none", "late"]);
    let figure = run(&[
        "chart",
        "trend",
        "late",
        "--store",
        &store,
        "--metric",
        "avg_stps",
        "-o",
        &folder.at("x.svg"),
    ]);
    figure.refused(2, &["did you mean `avg_steps`"]);
}

#[test]
fn a_run_is_drawn_attempt_by_attempt() {
    let runs = fixture(RUNS);
    let text = svg(&["run", "refund-014-t1", &runs]);
    let bars = drawn(&text);
    assert_eq!(bars.len(), 6, "{bars:?}");
    assert!(bars.contains_key("step 3 attempt 2") && text.contains("ToolTimeout"), "{text}");
    let folder = Folder::new();
    let file = folder.at("x.svg");
    run(&["chart", "run", "refund-14-t1", &runs, "-o", &file]).refused(2, &["did you mean"]);
    run(&["chart", "run", &runs, "-o", &file]).refused(2, &["takes a run and its paths"]);
}

#[test]
fn sets_with_nothing_to_draw_give_a_sentence_or_a_plain_chart() {
    let folder = Folder::new();
    let step = r#"{"type": "tool", "name": "t", "status": "completed"}"#;
    for (name, text) in [
        ("no steps", r#"{"steps": []}"#.to_owned()),
        ("one run", format!(r#"{{"status": "completed", "steps": [{step}]}}"#)),
        (
            "all pass",
            [format!(r#"{{"status": "completed", "steps": [{step}, {step}]}}"#).as_str(); 5]
                .join("\n"),
        ),
        (
            "one failure",
            r#"{"status": "failed", "steps": [{"type": "tool", "error": "x"}]}"#.to_owned(),
        ),
    ] {
        let file = folder.file("runs.ndjson", text);
        for kind in KINDS {
            svg(&[kind, &file]);
        }
        svg(&["errors", "--split", "tool", &file]);
        svg(&["errors", "--split", "step", &file]);
        svg(&["compare", &file, &file]);
        let place = format!("{file}:1");
        let run = svg(&["run", &place, &file]);
        assert!(run.contains("Run "), "{name}");
    }
    let order = fixture("checkpoints");
    assert!(svg(&["survival", &order]).contains("order"));
    assert!(
        svg(&[
            "errors",
            &folder.file("pass.ndjson", r#"{"status": "completed", "steps": [{"type": "t"}]}"#)
        ])
        .contains("No attempt failed.")
    );
}

#[test]
fn hostile_names_neither_break_out_nor_show_secrets() {
    let folder = Folder::new();
    let secret = format!("sk-proj-{}", "Ab1".repeat(14));
    let names = [
        "</text><script>alert(1)</script>\"'&".to_owned(),
        "\u{202e}turned\u{0}\u{7}\u{1b}[31m\u{fffe}\u{ffff}\u{2028}".to_owned(),
        secret.clone(),
        "检索知识库并汇总客户历史订单".repeat(4),
        "W".repeat(100_000),
        "]]><!--".to_owned(),
        String::new(),
    ];
    let mut runs = String::new();
    for name in &names {
        let step = serde_json::json!({"type": "tool", "name": name, "status": "failed", "error": {"type": name, "message": name},
            "started_at": "2026-01-01T00:00:00Z", "duration_ms": 1e300, "cost_usd": 1e300});
        let run = serde_json::json!({"run_id": name, "task_id": name, "model": name, "status": "failed", "steps": [step, {"type": name}]});
        runs.push_str(&(run.to_string() + "\n"));
    }
    let file = folder.file("runs.ndjson", runs);
    let mut all: Vec<String> = KINDS.iter().map(|kind| svg(&[kind, &file])).collect();
    all.push(svg(&["errors", "--split", "tool", &file]));
    all.push(svg(&["errors", "--split", "step", &file]));
    for line in 1..=names.len() {
        all.push(svg(&["run", &format!("{file}:{line}"), &file]));
    }
    for text in all {
        within(&text);
        assert!(!text.contains("<script") && !text.contains(&secret) && text.len() < 200_000);
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'));
    }
    let mut table = String::new();
    for (at, name) in names.iter().chain(&names).enumerate() {
        let minutes = [1e-300, 3.0, 1e300, 40.0][at % 4];
        let run = serde_json::json!({"agent": name, "task_id": format!("t{at}"), "human_minutes": minutes, "success": at % 3 == 0});
        table.push_str(&format!("{run}\n"));
    }
    let text = svg(&["time-horizon", &folder.file("table.jsonl", table)]);
    within(&text);
    assert!(!text.contains("<script") && !text.contains(&secret) && text.len() < 200_000);
    let png = folder.at("x.png");
    let ran = run(&["chart", "errors", "--split", "tool", &file, "-o", &png]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn thousands_of_types_steps_and_runs_stay_a_readable_chart() {
    let folder = Folder::new();
    let mut runs = String::new();
    for run in 0..1_500 {
        let failed = serde_json::json!({"type": "tool", "name": format!("tool{run}"), "status": "failed", "error": {"type": format!("E{run}")}});
        let passed = serde_json::json!({"type": "tool", "status": "completed"});
        let mut steps = vec![passed; run % 40];
        steps.extend(std::iter::repeat_n(failed, 1 + run % 3));
        runs.push_str(
            &(serde_json::json!({"status": "failed", "steps": steps}).to_string() + "\n"),
        );
    }
    let file = folder.file("runs.ndjson", runs);
    for args in [
        &["errors"][..],
        &["heatmap"],
        &["errors", "--split", "tool"],
        &["survival"],
        &["hazard"],
        &["retries"],
        &["lengths"],
    ] {
        let text = svg(&[args, &[&file]].concat());
        assert!(text.len() < 100_000, "{args:?}: {} bytes", text.len());
    }
    let total: f64 = drawn(&svg(&["errors", &file])).values().sum();
    assert_eq!(total, (0..1_500).map(|run| f64::from(1 + run % 3)).sum::<f64>());
}

#[test]
fn the_same_input_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    let args = sample();
    for kind in KINDS {
        let one = svg(&[with(kind, &args).as_slice(), &["--threads", "1"]].concat());
        assert_eq!(
            one,
            svg(&[with(kind, &args).as_slice(), &["--threads", "7"]].concat()),
            "{kind}"
        );
    }
    let png = |name: &str| {
        let file = folder.at(name);
        let ran = run(&[&["chart"], with("metrics", &args).as_slice(), &["-o", &file]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        std::fs::read(file).expect("a file")
    };
    assert_eq!(png("a.png"), png("b.png"));
}

#[test]
fn a_file_switches_with_the_reader_unless_a_theme_is_asked_for() {
    let args = sample();
    let text = svg(&with("metrics", &args));
    assert!(
        text.contains("prefers-color-scheme:dark") && text.contains("fill=\"#ffffff\""),
        "{text}"
    );
    let dark = svg(&[with("metrics", &args).as_slice(), &["--theme", "dark"]].concat());
    assert!(!dark.contains("prefers-color-scheme") && dark.contains("fill=\"#0d1117\""), "{dark}");
    let wide = svg(&[with("metrics", &args).as_slice(), &["--width", "1280"]].concat());
    assert!(wide.contains("width=\"1280\""), "{wide}");
}

#[test]
fn wrong_use_is_told_before_anything_is_read_or_written() {
    let folder = Folder::new();
    let runs = folder.file("runs.svg", r#"{"steps": [{"type": "t"}]}"#);
    let there = fixture(RUNS);
    run(&["chart", "metrics", &there, "-o", "x.gif"]).refused(2, &["x.gif", ".svg or .png"]);
    run(&["chart", "metrics", &there, "--split", "tool", "-o", &folder.at("x.svg")])
        .refused(2, &["--split is for `chart errors`"]);
    run(&["chart", "compare", &there, "-o", &folder.at("x.svg")]).refused(2, &["two sides"]);
    run(&["chart", "metrics", &runs, "-o", &runs]).refused(2, &["read by the same command"]);
    let none = run(&["chart", "metrics", &there, "--where", "false", "-o", &folder.at("y.svg")]);
    none.refused(4, &["--where keeps none"]);
    assert!(!std::path::Path::new(&folder.at("x.svg")).exists());
    assert!(!std::path::Path::new(&folder.at("y.svg")).exists());
}

#[test]
fn inside_a_page_every_colour_is_a_variable_that_the_page_can_set() {
    let analysis = Analysis::of(&[], None, None);
    for chart in [Chart::Outcomes(&analysis), Chart::Metrics(&analysis, &[]), Chart::Cost(None)] {
        let text = chart_svg(&chart, Theme::Page, 640);
        sound(&text);
        let document = Document::parse(&text).expect("XML");
        for node in document.descendants() {
            for name in ["fill", "stroke"] {
                let value = node.attribute(name).unwrap_or("none");
                let variable = value.strip_prefix("var(").and_then(|rest| rest.split(',').next());
                let set = |name: &str| chart_css(true).contains(&format!("{name}:#"));
                assert!(value == "none" || variable.is_some_and(set), "{value}");
            }
        }
        assert!(!text.contains("<style"), "{text}");
    }
}
