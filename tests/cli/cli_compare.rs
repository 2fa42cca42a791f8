//! Two sets of runs side by side, through the program.

use crate::cli::{Folder, fixture, json, run, schema_faults};
use crate::gate::{Run, Sides, grid, lines};
use serde_json::json;

fn compared(before: &[Run], after: &[Run]) -> (Folder, String, String) {
    let folder = Folder::new();
    let a = folder.file("a.ndjson", lines(before));
    let b = folder.file("b.ndjson", lines(after));
    (folder, a, b)
}

#[test]
fn a_difference_is_told_with_its_interval_and_noise_is_a_tilde() {
    let before = grid(40, 3, |_, _| true);
    let mut after = grid(40, 3, |task, _| task % 4 != 1);
    for run in &mut after {
        run.seconds = 20;
    }
    let (_folder, a, b) = compared(&before, &after);
    let ran = run(&["compare", &a, &b]);
    assert_eq!(ran.code, 0, "a comparison judges nothing: {ran:?}");
    let row = |name: &str| {
        let line = ran.out.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in {}", ran.out))
    };
    assert!(row("A ").contains("40 tasks paired"), "{}", ran.out);
    let completion = row("final_completion_rate");
    assert!(completion.contains("-25.0pp [-"), "{completion}");
    assert!(row("first_step_accuracy").contains("~ [-"), "{}", ran.out);
    assert!(row("first_step_accuracy").contains("]pp"), "{}", ran.out);
    let duration = row("duration_seconds");
    assert!(duration.contains("+100.0% ["), "{duration}");
    assert!(duration.contains("geometric means"), "{duration}");
    assert!(ran.out.contains("(Holm), told at 0.05"), "{}", ran.out);
    assert!(row("task-001").ends_with("3/3  0/3"), "{}", ran.out);
    let report = json(&["compare", &a, &b]);
    assert_eq!(schema_faults("compare", &report), Vec::<String>::new());
    assert_eq!(report["schema"], "agenteval.compare/1");
    let completion = &report["metrics"]["final_completion_rate"];
    assert_eq!((&completion["a"], &completion["b"]), (&json!(1), &json!(0.75)));
    assert_eq!(completion["distinguishable"], true);
    assert_eq!(report["metrics"]["duration_seconds"]["ratio"]["value"], 2);
    assert_eq!(report["broken_tasks"].as_array().unwrap().len(), 10);
}

#[test]
fn the_number_of_figures_that_are_corrected_for_is_the_number_that_have_a_p() {
    let (a, b) = (fixture("gate/before.json"), fixture("gate/after.json"));
    let report = json(&["compare", &a, &b]);
    let metrics = report["metrics"].as_object().unwrap();
    let tested = metrics.values().filter(|metric| metric["p"].is_number()).count();
    let text = run(&["compare", &a, &b]).out;
    assert!(text.contains(&format!("adjusted over {tested} figures (Holm)")), "{text}");
    for (name, metric) in metrics {
        let p = |key: &str| metric[key].as_f64();
        if let (Some(p), Some(adjusted)) = (p("p"), p("p_adjusted")) {
            assert!(p <= adjusted && adjusted <= 1.0, "{name}: {metric:#}");
        } else {
            assert!(metric["reason"].is_string(), "{name}: {metric:#}");
        }
    }
    assert!(text.contains("tool_timeout@search_kb is in B alone (3 runs)"), "{text}");
    assert!(text.contains("bad_args@search_kb is in A alone (2 runs)"), "{text}");
}

#[test]
fn a_baseline_is_a_side_and_a_misspelt_one_is_told() {
    let sides = Sides::new(&grid(12, 2, |_, _| true), &grid(12, 2, |task, _| task > 3));
    let store = ["--store", sides.store.as_str()];
    let stored = json(&[&["compare", "main", &sides.after()], store.as_slice()].concat());
    let read = json(&["compare", &sides.folder.at("before.ndjson"), &sides.after()]);
    assert_eq!(stored["metrics"], read["metrics"], "stored or read, the runs are the same");
    assert_eq!(stored["a"], "main");
    run(&[&["compare", "mian", &sides.after()], store.as_slice()].concat())
        .refused(2, &["mian is no file or folder", "did you mean `main`"]);
    let xml = sides.folder.at("x.xml");
    run(&[&["compare", "main", &sides.after(), "-o", &xml], store.as_slice()].concat())
        .refused(2, &["JUnit"]);
}

#[test]
fn tasks_of_one_side_alone_are_left_out_and_counted() {
    let (_folder, a, b) = compared(&grid(12, 2, |_, _| true), &grid(15, 2, |_, _| true)[4..]);
    let text = run(&["compare", &a, &b]).out;
    assert!(text.contains("left out: 2 tasks of A alone (`task-000`, `task-001`)"), "{text}");
    assert!(text.contains("left out: 3 tasks of B alone"), "{text}");
    let (_folder, a, b) = compared(
        &grid(12, 2, |_, _| true),
        &grid(12, 2, |_, _| true)
            .into_iter()
            .map(|run| Run { task: run.task.replace("task", "other"), ..run })
            .collect::<Vec<Run>>(),
    );
    let text = run(&["compare", &a, &b]).out;
    assert!(text.contains("no task in both: compared as two samples"), "{text}");
}

#[test]
fn sides_in_the_other_order_give_the_other_sign() {
    let (a, b) = (fixture("gate/before.json"), fixture("gate/after.json"));
    let (there, back) = (json(&["compare", &a, &b]), json(&["compare", &b, &a]));
    let completion = |report: &serde_json::Value, key: &str| {
        report["metrics"]["final_completion_rate"][key].as_f64().unwrap()
    };
    assert_eq!(completion(&there, "difference"), -completion(&back, "difference"));
    assert_eq!(completion(&there, "p"), completion(&back, "p"));
    assert_eq!(json(&["compare", &a, &b]), there, "the same twice");
}
