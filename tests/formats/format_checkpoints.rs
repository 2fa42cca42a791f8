//! Checkpoint folders, and the plan that orders them.
use crate::support;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenteval::config::{Plan, ReadOptions};
use agenteval::ingest::formats::{
    Fate, Parsed, Probe, Reader, Record, checkpoints::CHECKPOINTS, steplog::STEPLOG,
};
use agenteval::ingest::{FileTally, Request, Visitor};
use agenteval::model::{Attempt, EndRule, Final, Place, Trajectory};

fn read_with(files: &[(&str, &str)], options: &ReadOptions) -> (Parsed<'static>, Vec<Fate>) {
    let Reader::Parts(open) = CHECKPOINTS.reader else { panic!("a file is a part of a run") };
    let mut assembler = open(options);
    let mut fates = Vec::new();
    for (file, (path, text)) in (0_u32..).zip(files) {
        let place = Place { file, line: 0, byte: 0 };
        let record = Record { bytes: text.as_bytes(), place, path: Path::new(path) };
        fates.push(assembler.push(&record));
    }
    (assembler.finish(), fates)
}

fn read(files: &[(&str, &str)]) -> Vec<Trajectory<'static>> {
    read_with(files, &ReadOptions::default()).0.runs
}

fn plan() -> Option<Arc<Plan>> {
    let yaml = include_str!("../../fixtures/plans/report.yaml");
    Some(Arc::new(Plan::from_yaml(yaml, "report.yaml").unwrap()))
}

/// The fixture folders, read in the order of their names.
fn fixtures(options: &ReadOptions) -> Vec<Trajectory<'static>> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/checkpoints"));
    let mut files = Vec::new();
    for run in ["completed", "failed", "unfinished"] {
        let mut names: Vec<_> =
            std::fs::read_dir(root.join(run)).unwrap().map(|e| e.unwrap().path()).collect();
        names.sort();
        for path in names {
            let text = std::fs::read_to_string(&path).unwrap();
            files.push((path.to_str().unwrap().to_owned(), text));
        }
    }
    let borrowed: Vec<_> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let (parsed, fates) = read_with(&borrowed, options);
    assert!(fates.iter().all(|fate| *fate == Fate::Used));
    parsed.runs
}

fn node<'r>(run: &'r Trajectory<'_>, id: &str) -> &'r Attempt<'r> {
    run.attempts.iter().find(|a| a.node_id.as_deref() == Some(id)).unwrap()
}

fn order<'r>(run: &'r Trajectory<'_>) -> Vec<&'r str> {
    run.attempts.iter().filter_map(|a| a.node_id.as_deref()).collect()
}

fn detects(text: &str) -> bool {
    let records = vec![text.as_bytes()];
    (CHECKPOINTS.detect)(&Probe::new(Path::new("x"), records, false))
}

#[test]
fn folders_are_runs_ordered_by_the_plan() {
    let runs = fixtures(&ReadOptions { plan: plan(), ..ReadOptions::default() });
    let ids: Vec<_> = runs.iter().map(|run| run.run_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["completed", "failed", "unfinished"]);
    let [completed, failed, unfinished] = &runs[..] else { panic!() };

    assert_eq!(order(completed), ["fetch", "draft", "check"]);
    assert_eq!(completed.attempts[2].index, Some(3.0));
    assert!(!completed.order_unknown);
    assert_eq!((completed.format_outcome, completed.end_rule), (Some(true), None));
    assert_eq!(completed.task_id.as_deref(), Some("report"));
    let delivered = "{\"check\":{
    \"accuracy\": 0.93
  },\"draft\":\"three pages\",\"fetch\":{\"pages\": 3}}";
    assert_eq!(completed.final_output, Final::Json(delivered.into()));

    assert_eq!((failed.format_outcome, failed.end_rule), (Some(false), None));
    assert_eq!(failed.never_reached, ["check"]);

    assert_eq!((unfinished.format_outcome, unfinished.end_rule), (None, Some(EndRule::Unfinished)));
    assert_eq!(unfinished.never_reached, ["check"]);
}

/// Tells a run in a line, so that it can outlive its text.
struct Tell;

impl Visitor for Tell {
    type Out = String;
    type State = ();
    fn state(&self) {}
    fn visit(&self, (): &mut (), run: &Trajectory<'_>) -> String {
        format!("{} {}", run.run_id.as_deref().unwrap_or("?"), run.attempts.len())
    }
    fn retire(&self, (): ()) {}
}

#[test]
fn folders_and_logs_are_found_and_told_apart_by_content() {
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"));
    let paths = [fixtures.join("checkpoints"), fixtures.join("steplog")];
    let sources = agenteval::ingest::find(&paths).unwrap();
    let options = ReadOptions::default();
    let request = Request {
        options,
        format: None,
        strict: false,
        threads: 1,
        progress: None,
        max_record: agenteval::ingest::MAX_RECORD,
    };
    let mut told = Vec::new();
    let tally =
        agenteval::ingest::read(&sources.sources, &request, &Tell, &mut |run| told.push(run))
            .unwrap();
    assert_eq!(told, ["completed 3", "failed 2", "unfinished 2", "r-1 4", "r-2 2"]);
    assert!(tally.files.iter().all(FileTally::adds_up));
    let formats: Vec<_> = tally.files.iter().filter_map(|file| file.format).collect();
    assert_eq!(formats, [&["checkpoints"; 7][..], &["steplog"][..]].concat());
    let ignored = &tally.files[7].ignored;
    assert_eq!(ignored.get("metric_without_run"), Some(&1));
    assert_eq!(ignored.get("unknown_event"), Some(&1));
}

#[test]
fn attempts_count_failed_tries_unless_the_config_says_tries() {
    let runs = fixtures(&ReadOptions::default());
    let total = |run: usize, id: &str| node(&runs[run], id).attempts_total;
    assert_eq!(total(0, "fetch"), Some(3), "two failed tries and the one that passed");
    assert_eq!(total(0, "draft"), Some(1));
    assert_eq!(total(1, "draft"), Some(3), "three failed tries");
    assert_eq!(total(2, "draft"), Some(1), "the running one");
    let kept = node(&runs[0], "fetch");
    assert!(kept.status_decides);
    assert_eq!(kept.error.as_ref().unwrap().kind.as_deref(), Some("timeout"));

    let runs = fixtures(&ReadOptions { attempts_count_tries: true, ..ReadOptions::default() });
    let total = |run: usize, id: &str| node(&runs[run], id).attempts_total;
    assert_eq!(
        (total(0, "fetch"), total(0, "draft"), total(1, "draft")),
        (Some(2), Some(1), Some(3))
    );
}

#[test]
fn without_plan_or_times_the_order_is_unknown() {
    let runs = fixtures(&ReadOptions::default());
    for run in &runs {
        assert!(run.order_unknown);
        assert!(run.attempts.iter().all(|a| a.index.is_none()));
        assert!(run.never_reached.is_empty());
    }
    assert_eq!(runs[0].format_outcome, Some(true), "every present node completed");
    let one = read(&[("r/a.json", r#"{"node_id":"a","status":"succeeded","attempts":0}"#)]);
    assert!(!one[0].order_unknown, "one node is in order");
}

#[test]
fn created_at_orders_unless_all_nodes_were_created_at_once() {
    let file = |id: &str, at: &str| {
        format!(r#"{{"node_id":"{id}","status":"succeeded","attempts":0,"created_at":"{at}"}}"#)
    };
    let (a, b) = (file("a", "2026-01-01T00:00:05Z"), file("b", "2026-01-01T00:00:01Z"));
    let run = read(&[("r/a.json", &a), ("r/b.json", &b)]).remove(0);
    assert_eq!(order(&run), ["b", "a"]);
    assert!(!run.order_unknown);
    let same = file("c", "2026-01-01T00:00:05Z");
    assert!(read(&[("r/a.json", &a), ("r/c.json", &same)])[0].order_unknown);
}

#[test]
fn folders_of_one_name_under_two_parents_are_two_runs() {
    let text = r#"{"node_id":"a","status":"failed","attempts":3,"error":"x"}"#;
    let runs = read(&[("new/r1/a.json", text), ("old/r1/a.json", text), ("old/r2/a.json", text)]);
    let ids: Vec<_> = runs.iter().map(|run| run.run_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["new/r1", "old/r1", "r2"]);
}

#[test]
fn a_flat_store_of_several_workflows_is_told_apart() {
    let file = |workflow: &str| {
        format!(r#"{{"node_id":"a","status":"succeeded","attempts":0,"workflow_id":"{workflow}"}}"#)
    };
    let runs = read(&[("store/w1_a.json", &file("w1")), ("store/w2_a.json", &file("w2"))]);
    let ids: Vec<_> = runs.iter().map(|run| run.run_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["w1", "w2"]);
}

#[test]
fn outcomes_follow_the_nodes() {
    let outcome = |statuses: &[&str]| {
        let texts: Vec<_> = (0..)
            .zip(statuses)
            .map(|(n, s)| format!(r#"{{"node_id":"n{n}","status":"{s}","attempts":1}}"#))
            .collect();
        let files: Vec<_> = texts.iter().map(|text| ("r/n.json", text.as_str())).collect();
        let run = read(&files).remove(0);
        (run.format_outcome, run.end_rule)
    };
    assert_eq!(outcome(&["SUCCEEDED", "skipped"]), (Some(true), None));
    assert_eq!(outcome(&["succeeded", "failed", "running"]), (Some(false), None));
    assert_eq!(outcome(&["succeeded", "pending"]), (None, Some(EndRule::Unfinished)));
    assert_eq!(outcome(&["succeeded", "waiting_approval"]), (None, Some(EndRule::Unfinished)));
    assert_eq!(outcome(&["succeeded", "cancelled"]), (None, Some(EndRule::Cancelled)));
}

#[test]
fn the_later_of_two_files_of_one_node_counts() {
    let file = |status: &str, at: u32| {
        format!(r#"{{"node_id":"a","status":"{status}","attempts":1,"updated_at":{at}}}"#)
    };
    let (new, old) = (file("succeeded", 1_760_000_100), file("running", 1_760_000_000));
    let (parsed, fates) =
        read_with(&[("r/a.json", &new), ("r/a-copy.json", &old)], &ReadOptions::default());
    assert_eq!(fates[1], Fate::Merged("latest_checkpoint_of_node"));
    assert_eq!(parsed.runs[0].attempts.len(), 1);
    assert_eq!(parsed.runs[0].attempts[0].status.as_deref(), Some("succeeded"));
    assert_eq!(parsed.issues[0].code, "node_id_is_not_the_file_name");
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let texts = ["[]", r#"["a","b"]"#, r#"{"node_id":"a"}"#, r#"{"status":"failed"}"#, "{\"node"];
    let files: Vec<_> = texts.iter().map(|text| ("r/a.json", *text)).collect();
    let (parsed, fates) = read_with(&files, &ReadOptions::default());
    assert!(parsed.runs.is_empty());
    assert!(fates.iter().all(|fate| matches!(fate, Fate::Refused(_))), "{fates:?}");
}

#[test]
fn only_checkpoints_are_claimed() {
    assert!(detects("{\n \"node_id\": \"a\",\n \"status\": \"failed\",\n \"error\": null\n}"));
    for foreign in [
        r#"{"node_id":"a","status":"failed"}"#,
        r#"{"node_id":"a","event":"failed","status":"failed","error":"x"}"#,
        r#"{"node_id":"a","status":"failed","error":"x","msg":"node failed","level":50}"#,
        r#"{"run_id":"a","status":"completed","steps":[]}"#,
    ] {
        assert!(!detects(foreign), "{foreign}");
    }
    let checkpoint = r#"{"node_id":"a","status":"failed","attempts":3,"error":"x"}"#;
    let records = vec![checkpoint.as_bytes()];
    let probe = Probe::new(Path::new("a.json"), records, false);
    assert!(!(STEPLOG.detect)(&probe));
}

#[test]
fn no_application_log_is_claimed() {
    for folder in ["structured_logs", "openclaw", "event_log_misc", "temporal", "jaeger"] {
        let Some(folder) = support::shared("data").map(|data| data.join(folder)) else { return };
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.lines().take(50).any(detects), "{}", path.display());
        }
    }
}

#[test]
fn plan_order_puts_dependencies_first() {
    let yaml = "tasks:\n- {node_id: b, depends_on: [a]}\n- {node_id: c}\n- {node_id: a}\n";
    let plan = Plan::from_yaml(yaml, "p.yaml").unwrap();
    assert_eq!(plan.order(), ["c", "a", "b"]);
    assert_eq!(plan.tasks[0].node_id, "b", "the tasks stay as written");
}

#[test]
fn faults_of_a_plan_name_file_line_and_remedy() {
    let fault = |yaml: &str| Plan::from_yaml(yaml, "p.yaml").unwrap_err().to_string();
    assert_eq!(
        fault("tasks:\n- node_id: fetch\n- node_id: draft\n  depends_on:\n  - fetsch\n"),
        "p.yaml:5: `draft` depends on the unknown node `fetsch`: did you mean `fetch`?"
    );
    assert_eq!(
        fault("tasks:\n- node_id: a\n- node_id: a\n"),
        "p.yaml:3: node `a` is already on line 2, give each node its own id"
    );
    assert_eq!(
        fault(
            "tasks:\n- {node_id: x}\n- {node_id: a, depends_on: [c]}\n- {node_id: b, depends_on: [a, x]}\n- {node_id: c, depends_on: [b]}\n"
        ),
        "p.yaml: `depends_on` goes in a circle: a -> c -> b -> a"
    );
    assert_eq!(
        fault("tasks:\n- node_id: a\n  max_attempts: many\n"),
        "p.yaml:3: not a plan: invalid u32"
    );
    assert_eq!(fault("tasks:\n- name: a\n"), "p.yaml:2: not a plan: missing field `node_id`");
    assert_eq!(fault("tasks: [\n"), "p.yaml:1: not a plan: unclosed bracket '['");
    assert_eq!(fault("a: b\na: c\ntasks: []\n"), "p.yaml:2: not a plan: duplicate mapping key: a");
    assert_eq!(
        fault("workflow: w\n"),
        "p.yaml: the plan has no tasks, write `tasks: [{node_id: ...}]`"
    );
}

#[test]
fn a_plan_may_have_keys_of_its_runner_and_numbers_for_ids() {
    let yaml = "workflow: w\nowner: me\ntasks:\n- {node_id: 1, queue: {name: q}}\n- {node_id: 2, depends_on: [1], max_attempts: null}\n";
    let plan = Plan::from_yaml(yaml, "p.yaml").unwrap();
    assert_eq!(plan.order(), ["1", "2"]);
}

#[test]
fn alias_bombs_and_deep_nesting_end_in_an_error() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let refs = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{refs}]\n");
    }
    bomb += "tasks: *a11\n";
    assert!(Plan::from_yaml(&bomb, "bomb.yaml").is_err());
    let deep =
        format!("x: {}{}\ntasks: [{{node_id: a}}]\n", "[".repeat(50_000), "]".repeat(50_000));
    assert!(Plan::from_yaml(&deep, "deep.yaml").is_err());
    assert!(Plan::from_yaml(&"# \n".repeat(2_000_000), "long.yaml").is_err());
}
