//! The file of a baseline: what is written is read back, in one order, and damage is told.
use agenteval::baseline::{
    Baseline, BaselineError, Input, Judging, Origin, ReadBy, Store, masked_row,
};
use agenteval::config::EvalConfig;
use agenteval::evaluate::{ErrorCount, Limit, MidRun, Outcome, RunRow};
use agenteval::model::{Place, RetrySource, Tokens};
use proptest::prelude::*;

/// A run with one attempt that passed.
fn row(task: &str, trial: &str, outcome: Outcome) -> RunRow {
    RunRow {
        place: Place::default(),
        run_id: Some(format!("{task}/{trial}").into()),
        task_id: Some(task.into()),
        trial: Some(trial.into()),
        agent: None,
        model: None,
        tags: Box::default(),
        status: None,
        outcome,
        limit: None,
        infra_excused: false,
        steps: 1,
        attempts: 1,
        judged: 1,
        failed: 0,
        failed_all: 0,
        infra_failed: 0,
        first_step: Some(true),
        mid: Some(MidRun::default()),
        retries: 0,
        retries_present: 0,
        retries_passed: 0,
        retries_identical: 0,
        retries_revised: 0,
        retry_source: RetrySource::Inferred,
        lost: 0,
        implied: 0,
        repeated: 0,
        has_input: false,
        steps_unknown: false,
        intervention: false,
        first_failure: None,
        turned_at: None,
        failed_steps: Box::default(),
        duration_seconds: Some(1.5),
        tokens: None,
        cost_usd: None,
        errors: Box::default(),
        step_types: Box::new([("tool".into(), 1)]),
        never_reached: 0,
    }
}

fn input(digest: &str) -> Input {
    Input {
        save: 1,
        path: "runs.ndjson".to_owned(),
        sha256: Some(digest.to_owned()),
        formats: vec!["native".to_owned()],
        files: 1,
        runs: 2,
        rejected: 0,
    }
}

fn baseline(rows: &[RunRow], digest: &str) -> Baseline {
    let origin = Origin::default();
    Baseline::new("main", None, Judging::default(), rows, vec![input(digest)], &origin)
}

fn text(baseline: &Baseline) -> String {
    String::from_utf8(baseline.to_bytes()).unwrap()
}

fn read(text: &str) -> Result<Baseline, BaselineError> {
    Baseline::from_json(text.as_bytes(), "main", "main.json")
}

fn told(text: &str) -> String {
    read(text).expect_err("a fault").to_string()
}

fn sample() -> String {
    let rows = [
        row("a", "2", Outcome::Completed),
        row("a", "10", Outcome::Failed),
        row("b", "1", Outcome::Unfinished),
    ];
    text(&baseline(&rows, "x"))
}

prop_compose! {
    fn labels()(texts in prop::collection::vec(prop::option::of(any::<String>()), 6)) -> Vec<Option<Box<str>>> {
        texts.into_iter().map(|text| text.map(Into::into)).collect()
    }
}

/// An amount of a run that sums up very many attempts; a baseline holds no more than some times this.
const MOST: f64 = agenteval::model::MOST_AMOUNT * 1e8;

fn amount() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(prop_oneof![
        any::<f64>().prop_filter_map("an amount", |x| (x.abs() <= MOST).then(|| x.abs())),
        0.0..1e6,
        Just(5e-324),
        Just(MOST),
        Just(0.1 + 0.2),
    ])
}

prop_compose! {
    fn rows()(
        labels in labels(),
        tags in prop::collection::vec((any::<String>(), any::<String>()), 0..4),
        outcome in 0..6_usize,
        limit in prop::option::of(0..7_usize),
        flags in prop::array::uniform4(any::<bool>()),
        counts in prop::array::uniform12(any::<u32>()),
        first_step in any::<Option<bool>>(),
        has_mid in any::<bool>(),
        failed_steps in prop::collection::btree_set(1..50_u32, 0..5),
        amounts in prop::collection::vec(amount(), 7),
        errors in prop::collection::btree_map((any::<String>(), any::<Option<String>>()), any::<u32>(), 0..4),
        step_types in prop::collection::btree_map(any::<String>(), any::<u32>(), 0..4),
    ) -> RunRow {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = counts;
        let attempts = a;
        let failed_all = b % attempts.saturating_add(1).max(1);
        let infra_failed = c % failed_all.saturating_add(1).max(1);
        let failed = failed_all - infra_failed;
        let judged = attempts - infra_failed;
        let steps = 50 + d % 1000;
        let retries_present = e % attempts.saturating_add(1).max(1);
        let mid_steps = f % steps;
        RunRow {
            place: Place::default(),
            run_id: labels[0].clone(),
            task_id: labels[1].as_deref().map(Into::into),
            trial: labels[2].as_deref().map(Into::into),
            agent: labels[3].as_deref().map(Into::into),
            model: labels[4].as_deref().map(Into::into),
            status: labels[5].as_deref().map(Into::into),
            tags: tags.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
            outcome: Outcome::ALL[outcome],
            limit: limit.map(|at| Limit::ALL[at]),
            infra_excused: flags[0],
            steps,
            attempts,
            judged,
            failed,
            failed_all,
            infra_failed,
            first_step,
            mid: has_mid.then_some(MidRun {
                judged,
                failed: failed / 2,
                failed_steps: mid_steps,
                recovered_steps: mid_steps / 2,
            }),
            retries: g,
            retries_present,
            retries_passed: retries_present / 2,
            retries_identical: h,
            retries_revised: i,
            retry_source: if flags[1] { RetrySource::Recorded } else { RetrySource::Inferred },
            lost: j,
            implied: k,
            repeated: attempts / 3,
            has_input: flags[2],
            steps_unknown: flags[1],
            intervention: flags[3],
            first_failure: failed_steps.first().copied(),
            turned_at: failed_steps.last().copied(),
            failed_steps: failed_steps.into_iter().collect(),
            duration_seconds: amounts[0],
            tokens: amounts[1].map(|input| Tokens {
                input,
                cache_read: amounts[2].unwrap_or_default(),
                cache_write: amounts[3].unwrap_or_default(),
                output: -amounts[4].unwrap_or_default(),
                unsplit: amounts[5].unwrap_or_default(),
            }),
            cost_usd: amounts[6],
            errors: errors
                .into_iter()
                .map(|((kind, tool), attempts)| ErrorCount {
                    kind: kind.into(),
                    tool: tool.map(Into::into),
                    attempts,
                })
                .collect(),
            step_types: step_types.into_iter().map(|(kind, n)| (kind.into(), n)).collect(),
            never_reached: l,
        }
    }
}

proptest! {
    #[test]
    fn every_row_is_read_back_as_it_was(rows in prop::collection::vec(rows(), 1..6)) {
        let stored = baseline(&rows, "x");
        let text = text(&stored);
        let back = read(&text).unwrap();
        prop_assert_eq!(&back.rows, &stored.rows);
        // Masked, and in another order; but nothing is lost and nothing invented.
        let mut wanted: Vec<RunRow> = rows.iter().map(masked_row).collect();
        for found in &back.rows {
            let plain = RunRow { place: Place::default(), ..found.clone() };
            let at = wanted.iter().position(|row| *row == plain);
            prop_assert!(at.is_some(), "{:?} is none of {:?}", plain, wanted);
            wanted.remove(at.unwrap());
        }
        prop_assert!(wanted.is_empty());
        prop_assert_eq!(back.to_bytes(), text.as_bytes(), "and written as it was read");
        let runs = text.lines().filter(|line| line.contains("\"outcome\":")).count();
        prop_assert_eq!(runs, rows.len(), "a run a line");
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }

    #[test]
    fn the_order_in_which_runs_are_read_does_not_matter(
        rows in prop::collection::vec(rows(), 1..8),
        turn in 0..8_usize,
    ) {
        let mut turned = rows.clone();
        turned.rotate_left(turn % rows.len());
        prop_assert_eq!(baseline(&rows, "x").to_bytes(), baseline(&turned, "x").to_bytes());
    }

    #[test]
    fn no_file_makes_reading_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Baseline::from_json(&bytes, "main", "main.json").is_err());
    }

    #[test]
    fn a_file_with_one_byte_changed_is_refused_or_read(at in 0..3000_usize, byte in any::<u8>()) {
        let mut bytes = sample().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(read) = Baseline::from_json(&bytes, "main", "main.json") {
            prop_assert_eq!(read.rows.len(), 3);
        }
    }
}

#[test]
fn runs_are_sorted_by_task_then_by_the_number_of_the_trial() {
    let back = read(&sample()).unwrap();
    let order: Vec<_> = back.rows.iter().filter_map(|row| row.run_id.as_deref()).collect();
    assert_eq!(order, ["a/2", "a/10", "b/1"]);
    assert_eq!(back.rows[1].place.line, 2);
}

#[test]
fn floats_have_no_exponent_and_read_back_to_the_bit() {
    let mut tiny = row("a", "1", Outcome::Completed);
    tiny.cost_usd = Some(1.234_567_890_123_456_6e-9);
    tiny.duration_seconds = Some(1e21);
    let text = text(&baseline(&[tiny.clone()], "x"));
    assert!(text.contains("\"cost_usd\":0.0000000012345678901234566"), "{text}");
    assert!(text.contains("\"duration_seconds\":1000000000000000000000"), "{text}");
    let back = read(&text).unwrap();
    assert_eq!(back.rows[0].cost_usd.map(f64::to_bits), tiny.cost_usd.map(f64::to_bits));
}

#[test]
fn what_is_zero_none_or_false_takes_no_room() {
    let text = sample();
    let line = text.lines().find(|line| line.contains("a/2")).unwrap();
    assert_eq!(
        line,
        r#"{"task_id":"a","trial":"2","run_id":"a/2","outcome":"completed","steps":1,"attempts":1,"judged":1,"first_step":true,"mid":{},"duration_seconds":1.5,"step_types":[["tool",1]]},"#
    );
}

#[test]
fn line_ends_of_windows_are_the_same_baseline() {
    let unix = read(&sample()).unwrap();
    let windows = read(&sample().replace('\n', "\r\n")).unwrap();
    assert_eq!(unix, windows);
    assert_eq!(unix.sha256.len(), 64);
}

#[test]
fn another_version_names_both() {
    let said = told(&sample().replace("agenteval.baseline/1", "agenteval.baseline/2"));
    assert!(
        said.contains("`agenteval.baseline/2`") && said.contains("`agenteval.baseline/1`"),
        "{said}"
    );
    // Also where the newer form has keys that this one cannot know.
    let newer = sample()
        .replace("agenteval.baseline/1", "agenteval.baseline/2")
        .replace("\"definitions\"", "\"rules\"");
    assert!(told(&newer).contains("`agenteval.baseline/2`"), "{}", told(&newer));
    assert!(told("{\"schema\": \"agenteval.report/1\"}").contains("agenteval.report/1"));
    assert!(told("{\"runs\": []}").contains("no baseline"));
    assert!(told("[]").contains("no baseline"));
}

#[test]
fn a_key_that_does_not_belong_is_told_with_the_nearest() {
    let said = told(&sample().replace("\"history\"", "\"x\"").replace("\"saves\"", "\"savs\""));
    assert!(said.contains("unknown key `savs`, did you mean `saves`?"), "{said}");
    let said = told(&sample().replacen("\"judged\":1", "\"juged\":1", 1));
    assert!(said.contains("unknown key `juged`, did you mean `judged`?"), "{said}");
    let said = told(&sample().replacen("\"judging\": {}", "\"judging\": {\"max_step\": 3}", 1));
    assert!(said.contains("unknown key `max_step`, did you mean `max_steps`?"), "{said}");
    let said = told(&sample().replacen("completed", "complete", 1));
    assert!(said.contains("run 1: `complete` is no outcome, did you mean `completed`?"), "{said}");
}

#[test]
fn a_file_that_breaks_off_is_never_read() {
    let text = sample();
    for end in 0..text.trim_end().len() {
        let said = told(&text[..end]);
        assert!(said.contains("breaks off"), "{end}: {said}");
    }
}

#[test]
fn a_merge_conflict_is_called_that() {
    let text = sample().replace("  \"runs\": [", "<<<<<<< HEAD\n  \"runs\": [");
    let said = told(&text);
    assert!(said.contains("merge conflict") && said.contains("<<<<<<<"), "{said}");
}

#[test]
fn lines_that_a_merge_lost_or_doubled_are_noticed() {
    let text = sample();
    let line = text.lines().find(|line| line.contains("a/2")).unwrap();
    let lost = told(&text.replace(&format!("{line}\n"), ""));
    assert!(lost.contains("save 1 says 3 runs, but the file holds 2"), "{lost}");
    let doubled = told(&text.replace(line, &format!("{line}\n{line}")));
    assert!(doubled.contains("holds 4"), "{doubled}");
}

#[test]
fn a_baseline_without_runs_is_empty() {
    let text = text(&baseline(&[], "x"));
    assert!(matches!(read(&text), Err(BaselineError::Empty { .. })));
    assert!(told(&text).contains("empty baseline"));
}

#[test]
fn counts_that_no_run_can_have_are_refused() {
    for (from, to, part) in [
        ("\"judged\":1", "\"judged\":2", "judged is 2, but attempts is 1"),
        ("\"mid\":{}", "\"mid\":{\"recovered_steps\":1}", "mid.recovered_steps"),
        ("\"first_step\":true", "\"failed_steps\":[2]", "failed_steps"),
        ("\"first_step\":true", "\"failed_steps\":[1,1]", "failed_steps"),
        ("\"duration_seconds\":1.5", "\"duration_seconds\":-1", "below 0"),
        ("\"duration_seconds\":1.5", "\"duration_seconds\":1e999", "number"),
        ("\"duration_seconds\":1.5", "\"duration_seconds\":\"1\"", "number"),
        ("\"steps\":1", "\"steps\":4294967296", "u32"),
        ("\"steps\":1", "\"save\":0,\"steps\":1", "save is 0"),
        ("\"steps\":1", "\"save\":7,\"steps\":1", "save 1 says 3 runs"),
    ] {
        let said = told(&sample().replacen(from, to, 1));
        assert!(said.contains(part), "{to}: {said}");
    }
    let deep =
        sample().replace("\"judging\": {}", &format!("\"judging\": {}", "[".repeat(100_000)));
    assert!(read(&deep).is_err(), "and nothing recurses without bound");
}

#[test]
fn rules_that_were_changed_by_hand_are_noticed() {
    let config = EvalConfig::from_json(br#"{"max_steps": 20}"#, "c.json").unwrap();
    let judging = Judging::of(&config, ReadBy::default());
    let rows = [row("a", "1", Outcome::Completed)];
    let stored = Baseline::new("main", None, judging, &rows, vec![], &Origin::default());
    let text = text(&stored);
    assert_eq!(read(&text).unwrap().judging, stored.judging);
    let said = told(&text.replace("\"max_steps\": 20", "\"max_steps\": 30"));
    assert!(said.contains("judging_sha256"), "{said}");
}

#[test]
fn all_that_decides_is_a_difference_and_all_else_is_none() {
    let of = |text: &str| {
        Judging::of(&EvalConfig::from_json(text.as_bytes(), "c.json").unwrap(), ReadBy::default())
    };
    let plain = of("{}");
    for (text, key, now) in [
        (
            r#"{"evaluation": {"subtask_passed": "subtask.error == null"}}"#,
            "subtask_passed",
            "`subtask.error == null`",
        ),
        (r#"{"evaluation": {"final_passed": "final.x == 1"}}"#, "final_passed", "`final.x == 1`"),
        (r#"{"max_steps": 20}"#, "max_steps", "20"),
        (r#"{"evaluation": {"max_retry_per_step": 3}}"#, "max_retry_per_step", "3"),
        (r#"{"evaluation": {"allowed_total_retries": 3}}"#, "allowed_total_retries", "3"),
        (r#"{"evaluation": {"timeout_seconds": 1.5}}"#, "timeout_seconds", "1.5"),
        (r#"{"limits": {"max_tokens_per_step": 5}}"#, "max_tokens_per_step", "5"),
        (r#"{"limits": {"max_total_tokens": 5}}"#, "max_total_tokens", "5"),
        (r#"{"limits": {"max_cost_usd": 0.1}}"#, "max_cost_usd", "0.1"),
        (r#"{"mid_run": "interior"}"#, "mid_run", "`interior`"),
        (r#"{"mid_run": {"from": 0.25, "to": 0.75}}"#, "mid_run", "`0.25 to 0.75`"),
        (r#"{"pass_score": 0.9}"#, "pass_score", "0.9"),
        (r#"{"steps": "all"}"#, "steps", "`all`"),
        (r#"{"steps": ["tool", "llm"]}"#, "steps", r#"["llm","tool"]"#),
        (r#"{"scorer": "x"}"#, "scorer", "`x`"),
        (
            r#"{"error_types": [{"match": "a|b", "type": "t", "blame": "infra"}]}"#,
            "error_types",
            r#"[{"match":"a|b","type":"t","blame":"infra"}]"#,
        ),
        (r#"{"infra_errors": "exclude"}"#, "infra_errors", "`exclude`"),
        (r#"{"exit_codes": "ignore"}"#, "exit_codes", "`ignore`"),
        (r#"{"unfinished": "exclude"}"#, "unfinished", "`exclude`"),
        (r#"{"attempts_count": "tries"}"#, "attempts_count", "`tries`"),
    ] {
        let other = of(text);
        let found = plain.differences(&other);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert_eq!((found[0].key, found[0].current.as_str()), (key, now));
        assert_ne!(plain.sha256(), other.sha256());
        assert!(other.differences(&other).is_empty());
    }
    assert_eq!(
        plain.differences(&of(r#"{"mid_run": "interior"}"#))[0].to_string(),
        "mid_run: auto in the baseline, `interior` now"
    );
    for text in [
        r#"{"task_name": "x", "metrics": ["avg_steps"], "expected_trials": 3}"#,
        r#"{"thresholds": {"avg_steps": {"max": 2}}, "gate": {"alpha": 0.1}}"#,
        r#"{"side_effects": ["x"], "tool_schemas": {"a": "b.json"}}"#,
        r#"{"pass_score": 1.0, "mid_run": "auto", "steps": "tools", "unfinished": "fail"}"#,
    ] {
        assert_eq!(of(text), plain, "{text}");
    }
    let read_by = |by| Judging::of(&EvalConfig::default(), by);
    let plan = |text: &str| agenteval::config::Plan::from_yaml(text, "p").unwrap();
    let (one, two) =
        (plan("tasks: [{node_id: a}, {node_id: b}]"), plan("tasks: [{node_id: b}, {node_id: a}]"));
    for (by, key) in [
        (ReadBy { filter: Some("run.steps > 1"), ..ReadBy::default() }, "where"),
        (ReadBy { plan: Some(&one), ..ReadBy::default() }, "plan"),
    ] {
        let found = plain.differences(&read_by(by));
        assert_eq!(found.iter().map(|d| d.key).collect::<Vec<_>>(), [key]);
    }
    let by_plan = |plan| read_by(ReadBy { plan: Some(plan), ..ReadBy::default() });
    assert_ne!(by_plan(&one), by_plan(&two), "the order of nodes decides");
}

#[test]
fn figures_that_meant_something_else_are_a_difference() {
    let said = sample().replace("\"definitions\": 1", "\"definitions\": 0");
    let found = read(&said).unwrap().differences(&Judging::default());
    assert_eq!(found[0].to_string(), "definitions: 0 in the baseline, 1 now");
}

fn numbered(trials: std::ops::Range<u32>, seconds: f64) -> Vec<RunRow> {
    let run = |trial: u32| RunRow {
        duration_seconds: Some(seconds),
        ..row("a", &trial.to_string(), Outcome::Completed)
    };
    trials.map(run).collect()
}

#[test]
fn pooled_saves_keep_their_numbers_and_the_last_ones_stay() {
    let mut pooled = baseline(&numbered(0..2, 1.0), "1");
    for save in 2..=4_u32 {
        let more = baseline(&numbered(0..3, f64::from(save)), &save.to_string());
        pooled = pooled.pool(more, Some(2)).unwrap();
        pooled = read(&text(&pooled)).unwrap();
    }
    assert_eq!(
        pooled.saves.iter().map(|s| (s.number, s.runs)).collect::<Vec<_>>(),
        [(3, 3), (4, 3)]
    );
    assert_eq!(pooled.inputs.iter().map(|i| i.save).collect::<Vec<_>>(), [3, 4]);
    let saves: Vec<_> = (0..pooled.rows.len()).filter_map(|at| pooled.save_of(at)).collect();
    assert_eq!(saves, [3, 4, 3, 4, 3, 4], "sorted by task, trial, run id, save");
}

#[test]
fn the_same_runs_are_not_pooled_twice() {
    let first = baseline(&numbered(0..3, 1.0), "1");
    let said = |more| first.pool(more, None).expect_err("twice").to_string();
    assert!(
        said(baseline(&numbered(5..6, 2.0), "1")).contains("same content as an input of save 1")
    );
    assert!(said(baseline(&numbered(2..6, 1.0), "2")).contains("1 of 4 runs are in it already"));
    // Without amounts a run may be alike by chance, all of them not.
    let bare = |trials: std::ops::Range<u32>| -> Vec<RunRow> {
        let plain = |row: RunRow| RunRow { duration_seconds: None, ..row };
        numbered(trials, 1.0).into_iter().map(plain).collect()
    };
    let first = baseline(&bare(0..3), "1");
    assert!(first.pool(baseline(&bare(0..4), "2"), None).is_ok());
    assert!(first.pool(baseline(&bare(0..3), "2"), None).is_err());
}

#[test]
fn runs_judged_by_other_rules_are_not_pooled() {
    let config = EvalConfig { scorer: Some("x".to_owned()), ..EvalConfig::default() };
    let judging = Judging::of(&config, ReadBy::default());
    let rows = numbered(7..9, 2.0);
    let other = Baseline::new("main", None, judging, &rows, vec![], &Origin::default());
    let said =
        baseline(&numbered(0..2, 1.0), "1").pool(other, None).expect_err("rules").to_string();
    assert!(said.contains("scorer: none in the baseline, `x` now"), "{said}");
}

#[test]
fn only_a_second_move_up_in_a_row_is_a_ratchet() {
    let of = |completed: usize| {
        let outcome = |at| if at < completed { Outcome::Completed } else { Outcome::Failed };
        let rows: Vec<_> = (0..10).map(|at| row("a", &at.to_string(), outcome(at))).collect();
        baseline(&rows, "x")
    };
    let moves = |rates: &[usize]| {
        let mut now = of(rates[0]);
        for rate in &rates[1..] {
            now = of(*rate).in_place_of(&now, Some("why"), &Origin::default());
        }
        now.only_moved_up()
    };
    assert!(!moves(&[5]));
    assert!(!moves(&[5, 6]), "one move is none");
    assert!(moves(&[5, 6, 7]));
    assert!(!moves(&[5, 6, 6]), "not higher");
    assert!(!moves(&[5, 4, 6, 7]), "it moved down once");
}

#[test]
fn ids_that_are_masked_stay_apart_and_pair_again() {
    let named = |task: &str| row(task, "1", Outcome::Completed);
    let secrets = ["sk-aaaaaaaaaaaaaaaa", "sk-bbbbbbbbbbbbbbbb"];
    let masked: Vec<_> = secrets.iter().map(|task| masked_row(&named(task))).collect();
    assert_ne!(masked[0].task_id, masked[1].task_id);
    let stored = text(&baseline(&[named(secrets[0])], "x"));
    assert!(!stored.contains("aaaaaaaa"), "{stored}");
    assert_eq!(read(&stored).unwrap().rows[0].task_id, masked[0].task_id);
    assert_eq!(masked_row(&masked[0]), masked[0], "masking again changes nothing");
}

#[test]
fn amounts_that_are_no_number_are_none() {
    let mut strange = row("a", "1", Outcome::Completed);
    strange.cost_usd = Some(f64::INFINITY);
    strange.duration_seconds = Some(f64::NAN);
    strange.tokens = Some(Tokens { input: f64::INFINITY, ..Tokens::default() });
    let back = read(&text(&baseline(&[strange], "x"))).unwrap();
    let row = &back.rows[0];
    assert_eq!((row.cost_usd, row.duration_seconds, row.tokens), (None, None, None));
}

#[test]
fn a_store_finds_lists_and_removes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::find(folder.path());
    assert_eq!(store.list().unwrap(), Vec::<String>::new());
    assert!(matches!(store.load("main"), Err(BaselineError::Missing { .. })));
    std::fs::create_dir_all(store.folder()).unwrap();
    let below = folder.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(Store::find(&below), store, "the nearest folder above");
    let write = |name: &str, time: &str| {
        let origin = Origin { time: Some(time.to_owned()), ..Origin::default() };
        let rows = [row("a", "1", Outcome::Completed)];
        let made = Baseline::new(name, None, Judging::default(), &rows, vec![], &origin);
        std::fs::write(store.file(name).unwrap(), made.to_bytes()).unwrap();
    };
    write("old", "2026-01-01T00:00:00Z");
    assert_eq!(store.latest().unwrap().unwrap().name, "old");
    write("new", "2026-02-01T00:00:00Z");
    assert_eq!(store.latest().unwrap().unwrap().name, "new");
    write("other", "2026-02-01T00:00:00Z");
    assert_eq!(store.latest().unwrap(), None, "times do not decide");
    std::fs::write(store.folder().join("notes.txt"), "").unwrap();
    assert_eq!(store.list().unwrap(), ["new", "old", "other"]);
    store.remove("old").unwrap();
    assert!(store.load("old").expect_err("gone").to_string().contains("there are: new, other"));
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_store_and_what_is_no_file_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"));
    std::fs::create_dir_all(store.folder()).unwrap();
    let outside = folder.path().join("outside.json");
    std::fs::write(&outside, sample()).unwrap();
    std::os::unix::fs::symlink(&outside, store.folder().join("main.json")).unwrap();
    std::os::unix::fs::symlink("nowhere.json", store.folder().join("broken.json")).unwrap();
    std::fs::create_dir(store.folder().join("folder.json")).unwrap();
    for name in ["main", "broken", "folder"] {
        let is_unusable = |error| matches!(error, BaselineError::Unusable { .. });
        assert!(store.load(name).is_err_and(is_unusable), "{name}");
        assert!(store.remove(name).is_err_and(is_unusable), "{name}");
    }
    assert!(outside.exists());
    // A link inside of the store, and a store that is a link, are fine.
    std::fs::write(store.folder().join("real.json"), sample()).unwrap();
    std::os::unix::fs::symlink("real.json", store.folder().join("alias.json")).unwrap();
    assert!(store.load("alias").is_ok());
    let linked = folder.path().join("linked");
    std::os::unix::fs::symlink(store.folder(), &linked).unwrap();
    assert!(Store::open(&linked).load("alias").is_ok());
}
