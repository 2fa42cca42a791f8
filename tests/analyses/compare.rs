//! The gate on sets that can be worked out by hand, and on sets at the edge of what can be compared.
use agenteval::compare::{Gate, GateOptions, GatedMetric, Mode, Verdict};
use agenteval::config::EvalConfig;
use agenteval::evaluate::{ErrorCount, MidRun, Outcome, RunRow};

/// A run of one task; `passed` decides how it ended.
fn run(task: &str, trial: usize, passed: bool) -> RunRow {
    RunRow {
        trial: Some(trial.to_string().into()),
        outcome: if passed { Outcome::Completed } else { Outcome::Failed },
        ..RunRow::lost(task)
    }
}

/// Tasks with this many trials, of which so many pass.
fn tasks(passed: impl IntoIterator<Item = (usize, usize)>) -> Vec<RunRow> {
    let mut rows = Vec::new();
    for (at, (passed, trials)) in passed.into_iter().enumerate() {
        rows.extend((0..trials).map(|trial| run(&format!("task-{at:03}"), trial, trial < passed)));
    }
    rows
}

fn config(text: &str) -> EvalConfig {
    EvalConfig::from_json(text.as_bytes(), "test.json").expect("a config")
}

fn completion_alone() -> EvalConfig {
    config(r#"{"gate": {"metrics": ["final_completion_rate"]}}"#)
}

fn gate(baseline: &[RunRow], candidate: &[RunRow], config: &EvalConfig) -> Gate {
    let gate = Gate::of(Some(baseline), candidate, config, &GateOptions::default());
    for metric in &gate.metrics {
        sound(metric);
    }
    gate
}

/// No figure is NaN, and no interval is without width.
fn sound(metric: &GatedMetric) {
    let evidence = &metric.evidence;
    let numbers = [
        evidence.baseline,
        evidence.candidate,
        evidence.difference,
        evidence.error,
        metric.p_adjusted,
        metric.margin,
        metric.detectable,
        metric.harm.bound,
    ];
    assert!(numbers.iter().flatten().all(|number| number.is_finite()), "{metric:?}");
    for (low, high) in evidence.interval.iter().chain(&evidence.bounds) {
        assert!(low < high, "{metric:?}");
    }
    let tails = evidence.p.iter().flat_map(|p| [p.less, p.greater]);
    assert!(tails.clone().all(|p| (0.0..=1.0).contains(&p)), "{metric:?}");
    assert!(evidence.interval.is_some() || metric.reason.is_some(), "{metric:?}");
}

fn only(gate: &Gate) -> &GatedMetric {
    assert_eq!(gate.metrics.len(), 1);
    &gate.metrics[0]
}

#[track_caller]
fn near(got: Option<f64>, wanted: f64, within: f64) {
    let got = got.expect("a number");
    assert!((got - wanted).abs() <= within, "{got} is not {wanted}");
}

/// `STATISTICS.md`, 5.2: all-pass 20 x 1 gives an upper bound of .113, 50 x 1 .046, 20 x 3 .038.
#[test]
fn all_pass_on_both_sides_passes_only_where_enough_runs_show_it() {
    for (m, k, bound, verdict) in [
        (20, 1, 0.113, Verdict::Inconclusive),
        (50, 1, 0.046, Verdict::Pass),
        (20, 3, 0.038, Verdict::Pass),
    ] {
        let rows = tasks(vec![(k, k); m]);
        let gate = gate(&rows, &rows, &completion_alone());
        let metric = only(&gate);
        near(metric.harm.bound, bound, 0.0005);
        near(metric.evidence.difference, 0.0, 0.0);
        assert_eq!((metric.verdict, gate.verdict), (verdict, verdict), "{m} x {k}");
        assert_eq!(metric.needed.is_some(), verdict == Verdict::Inconclusive);
    }
}

/// Five one-way flips of pairs: mid-p 2^-5 / 2, the exact p 2^-5 (McNemar).
#[test]
fn five_pairs_that_all_flip_are_a_regression_and_four_are_not_if_p_is_strict() {
    let options = |exact| {
        let mut options = GateOptions::default();
        options.tests.exact = exact;
        options
    };
    let of = |m, exact| {
        let (before, after) = (tasks(vec![(1, 1); m]), tasks(vec![(0, 1); m]));
        Gate::of(Some(&before), &after, &completion_alone(), &options(exact))
    };
    let five = of(5, false);
    near(only(&five).harm.p_harm, 1.0 / 64.0, 1e-12);
    assert_eq!(five.verdict, Verdict::Regression);
    near(only(&of(5, true)).harm.p_harm, 1.0 / 32.0, 1e-12);
    let four = of(4, true);
    near(only(&four).harm.p_harm, 1.0 / 16.0, 1e-12);
    assert_eq!(four.verdict, Verdict::Inconclusive);
    let why = only(&four).reason.clone().expect("a reason");
    assert_eq!(why, "cannot detect: the smallest possible p is 0.062, above 0.050");
}

#[test]
fn one_task_broken_among_forty_is_named() {
    let before = tasks(vec![(3, 3); 40]);
    let mut passed = vec![(3, 3); 40];
    passed[17] = (0, 3);
    let gate = gate(&before, &tasks(passed), &completion_alone());
    assert_eq!(gate.broken_tasks.len(), 1);
    assert_eq!(gate.broken_tasks[0].task_id, "task-017");
    assert_eq!((gate.broken_tasks[0].baseline, gate.broken_tasks[0].candidate), (3, 3));
    // One of 20 relabellings of that task is as bad: p = .05, of which mid-p takes half.
    near(only(&gate).harm.p_harm, 0.025, 1e-9);
}

/// Four tasks of 200 break: the mean hardly moves and stays inside the margin, the guard sees them.
#[test]
fn a_few_tasks_that_broke_hard_fail_though_the_mean_stays_inside_the_margin() {
    let before = tasks(vec![(3, 3); 200]);
    let passed = (0..200).map(|at| if at % 50 == 7 { (0, 3) } else { (3, 3) });
    let gate = gate(&before, &tasks(passed), &completion_alone());
    assert!(only(&gate).harm.bound.expect("a bound") < 0.05);
    assert!(only(&gate).within_tolerance);
    let guard = gate.guard.expect("a guard");
    assert!(guard.fired && guard.p <= 0.005, "{guard:?}");
    assert_eq!(gate.verdict, Verdict::Regression);
    assert_eq!(gate.broken_tasks.len(), 4);
}

/// Fallen are the tasks that complete less and still some: not the broken, the lost, the risen.
#[test]
fn fallen_tasks_stand_by_how_far_they_fell_and_then_by_id() {
    let before = tasks([(2, 3), (3, 3), (3, 3), (3, 3), (1, 3), (2, 3), (0, 3)]);
    let after = tasks([(1, 3), (1, 3), (2, 3), (0, 3), (2, 3), (2, 3), (0, 3)]);
    let gate = gate(&before, &after, &completion_alone());
    let fallen: Vec<_> = gate
        .fallen_tasks
        .iter()
        .map(|task| (task.task_id.as_str(), task.baseline, task.candidate))
        .collect();
    assert_eq!(
        fallen,
        [("task-001", (3, 3), (1, 3)), ("task-000", (2, 3), (1, 3)), ("task-002", (3, 3), (2, 3)),]
    );
    assert_eq!(gate.broken_tasks.len(), 1);
}

#[test]
fn a_lost_task_fails_and_counts_as_not_completed_but_fewer_trials_than_the_baseline_do_not() {
    let before = tasks(vec![(5, 5); 30]);
    let fewer = tasks(vec![(1, 1); 30]);
    let fewer = gate(&before, &fewer, &completion_alone());
    assert_ne!(fewer.verdict, Verdict::Regression);
    near(only(&fewer).evidence.difference, 0.0, 0.0);

    let mut lost = tasks(vec![(5, 5); 30]);
    lost.retain(|row| row.task_id.as_deref() != Some("task-004"));
    let gate = gate(&before, &lost, &completion_alone());
    assert_eq!(gate.verdict, Verdict::Regression);
    let pairing = gate.pairing.as_ref().expect("a pairing");
    assert_eq!(pairing.baseline_only, ["task-004"]);
    assert_eq!(pairing.failures, ["tasks of the baseline without a candidate run: 1 (`task-004`)"]);
    near(only(&gate).evidence.candidate, 29.0 / 30.0, 1e-12);
}

#[test]
fn runs_short_of_the_expected_trials_count_as_not_completed() {
    let config =
        config(r#"{"expected_trials": 3, "gate": {"metrics": ["final_completion_rate"]}}"#);
    let before = tasks(vec![(3, 3); 10]);
    let mut after = before.clone();
    after.truncate(28);
    let gate = gate(&before, &after, &config);
    near(only(&gate).evidence.candidate, (9.0 + 1.0 / 3.0) / 10.0, 1e-12);
    assert_eq!(gate.notices[0].code, "lost_runs");
    assert_eq!(gate.notices[0].count, 2);
}

#[test]
fn an_infra_run_is_neither_lost_nor_failed() {
    let config =
        config(r#"{"expected_trials": 3, "gate": {"metrics": ["final_completion_rate"]}}"#);
    let before = tasks(vec![(3, 3); 10]);
    let mut after = before.clone();
    after[4].outcome = Outcome::Failed;
    after[4].infra_excused = true;
    let gate = gate(&before, &after, &config);
    near(only(&gate).evidence.candidate, 1.0, 0.0);
    let codes: Vec<&str> = gate.notices.iter().map(|notice| notice.code).collect();
    assert_eq!(codes, ["infra_runs"]);
}

#[test]
fn unfinished_runs_count_as_not_completed_unless_the_config_excludes_them() {
    let before = tasks(vec![(2, 2); 10]);
    let mut after = before.clone();
    after[0].outcome = Outcome::Unfinished;
    let candidate = |policy: &str| {
        let config = config(&format!(
            r#"{{"unfinished": "{policy}", "gate": {{"metrics": ["final_completion_rate"]}}}}"#
        ));
        only(&gate(&before, &after, &config)).evidence.candidate
    };
    near(candidate("fail"), 0.95, 1e-12);
    near(candidate("exclude"), 1.0, 0.0);
}

#[test]
fn renamed_tasks_fail_the_pairing_and_are_two_samples_where_that_is_allowed() {
    let before = tasks(vec![(2, 3); 20]);
    let mut after = before.clone();
    for row in &mut after {
        row.task_id = row.task_id.as_deref().map(|id| format!("new-{id}").into());
    }
    let failed = gate(&before, &after, &completion_alone());
    assert_eq!(failed.verdict, Verdict::Regression);
    let options = GateOptions { allow_unmatched: true, ..GateOptions::default() };
    let allowed = Gate::of(Some(&before), &after, &completion_alone(), &options);
    assert_eq!(allowed.pairing.as_ref().expect("a pairing").mode, Mode::Unpaired);
    assert_eq!(allowed.verdict, Verdict::Inconclusive);
    sound(only(&allowed));
}

#[test]
fn a_duplicated_trial_fails_the_pairing() {
    let before = tasks(vec![(2, 2); 10]);
    let mut after = before.clone();
    after.push(after[3].clone());
    let gate = gate(&before, &after, &completion_alone());
    assert_eq!(gate.verdict, Verdict::Regression);
    assert_eq!(gate.pairing.expect("a pairing").duplicates.len(), 1);
}

#[test]
fn every_edge_has_a_verdict() {
    let all = config(
        r#"{"gate": {"metrics": ["first_step_accuracy", "mid_term_error_rate", "mid_term_recovery_rate",
        "final_completion_rate", "failure_recovery_rate", "avg_retry_count", "retry_success_rate", "avg_steps",
        "avg_steps_completed", "step_error_rate", "repeated_action_rate", "intervention_rate", "duration_seconds",
        "total_tokens", "cost_usd", "cost_per_completion", "failure_cost_share", "pass_hat_k", "pass_at_k"]}}"#,
    );
    let filled = |rows: Vec<RunRow>, failed: u32| {
        let fill = |(at, row): (usize, RunRow)| {
            let at = u32::try_from(at).expect("few");
            RunRow {
                steps: 4 + at % 3,
                attempts: 5,
                judged: 5,
                failed,
                failed_all: failed,
                retries: failed,
                retries_present: failed,
                first_step: Some(at.is_multiple_of(2)),
                mid: Some(MidRun { judged: 3, failed, failed_steps: failed, recovered_steps: 0 }),
                duration_seconds: Some(f64::from(at % 4)),
                cost_usd: Some(0.25),
                has_input: true,
                errors: (failed > 0)
                    .then(|| ErrorCount { kind: "timeout".into(), tool: None, attempts: failed })
                    .into_iter()
                    .collect(),
                ..row
            }
        };
        rows.into_iter().enumerate().map(fill).collect::<Vec<RunRow>>()
    };
    let loose = |mut rows: Vec<RunRow>| {
        rows.iter_mut().for_each(|row| row.task_id = None);
        rows
    };
    let sets = [
        tasks(vec![(2, 2); 8]),
        tasks(vec![(0, 2); 8]),
        tasks([(1, 2)]),
        tasks([(1, 1)]),
        tasks([(0, 1), (2, 3), (5, 5), (1, 4)]),
        loose(tasks(vec![(1, 2); 6])),
        loose(tasks([(1, 1)])),
        Vec::new(),
    ];
    let mut judged = 0;
    for before in &sets {
        for after in &sets {
            for (failed_before, failed_after) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let before = filled(before.clone(), failed_before);
                let after = filled(after.clone(), failed_after);
                for allow_unmatched in [false, true] {
                    let mut options = GateOptions { allow_unmatched, ..GateOptions::default() };
                    options.tests.draws.count = 199;
                    let gate = Gate::of(Some(&before), &after, &all, &options);
                    gate.metrics.iter().for_each(sound);
                    judged += gate.metrics.len();
                    if before.is_empty() || after.is_empty() {
                        assert!(
                            matches!(gate.verdict, Verdict::Regression | Verdict::Inconclusive),
                            "{gate:?}"
                        );
                    }
                }
            }
        }
    }
    assert_eq!(judged, 8 * 8 * 4 * 2 * 19);
}

#[test]
fn the_same_runs_are_never_a_regression_whatever_is_gated_and_their_order_does_not_matter() {
    let rows: Vec<RunRow> = tasks([(3, 5), (5, 5), (0, 5), (2, 5), (4, 5), (1, 5)])
        .into_iter()
        .enumerate()
        .map(|(at, row)| {
            let n = u32::try_from(at).expect("few");
            RunRow {
                steps: 3 + n % 5,
                retries: n % 3,
                duration_seconds: Some(1.0 + f64::from(n % 7)),
                mid: Some(MidRun {
                    judged: 4,
                    failed: n % 2,
                    failed_steps: n % 2,
                    recovered_steps: 0,
                }),
                first_step: Some(!n.is_multiple_of(4)),
                ..row
            }
        })
        .collect();
    let config = config(
        r#"{"gate": {"metrics": ["final_completion_rate", "avg_retry_count", "mid_term_error_rate", "duration_seconds"]}}"#,
    );
    let mut reversed = rows.clone();
    reversed.reverse();
    let (one, other) = (gate(&rows, &rows, &config), gate(&rows, &reversed, &config));
    assert_ne!(one.verdict, Verdict::Regression);
    for (metric, again) in one.metrics.iter().zip(&other.metrics) {
        near(metric.evidence.difference, 0.0, 1e-12);
        assert_eq!(metric.evidence, again.evidence);
    }
}

#[test]
fn a_task_of_which_the_candidate_tells_nothing_is_no_pass() {
    let before = tasks(vec![(3, 3); 60]);
    let mut after = before.clone();
    for row in after.iter_mut().filter(|row| row.task_id.as_deref() == Some("task-007")) {
        row.outcome = Outcome::Unknown;
    }
    let gate = gate(&before, &after, &completion_alone());
    assert_eq!(only(&gate).verdict, Verdict::Inconclusive);
    assert_eq!(
        only(&gate).reason.as_deref(),
        Some(
            "3 runs of the candidate do not tell how they ended, all of those of 1 tasks among them"
        )
    );
    assert_eq!((gate.notices[0].code, gate.notices[0].count), ("unknown_outcome", 3));
}

/// Runs that fail without a word of it must not turn a worse candidate into a better one.
#[test]
fn a_candidate_that_does_not_tell_its_failures_is_not_improved() {
    let before = tasks(vec![(2, 3); 30]);
    let mut after = tasks(vec![(1, 3); 30]);
    for row in after.iter_mut().filter(|row| row.outcome == Outcome::Failed) {
        row.outcome = Outcome::Unknown;
    }
    let gate = gate(&before, &after, &completion_alone());
    near(only(&gate).evidence.candidate, 1.0, 0.0);
    assert_eq!(gate.verdict, Verdict::Inconclusive);
    assert_eq!((gate.notices[0].code, gate.notices[0].count), ("unknown_outcome", 60));
}

/// One task with 100 trials: 85 of 100 against 80 differ by less than one binomial error, .053.
#[test]
fn one_task_with_many_trials_proves_no_pass() {
    let gate = gate(&tasks([(85, 100)]), &tasks([(80, 100)]), &completion_alone());
    assert_eq!(gate.verdict, Verdict::Inconclusive);
    let error = only(&gate).evidence.error.expect("an error");
    assert!(error > 0.053, "{error}");
}

#[test]
fn what_nobody_measures_is_no_pass() {
    let rows = tasks(vec![(2, 2); 10]);
    let config =
        config(r#"{"gate": {"metrics": ["cost_usd"]}, "thresholds": {"cost_usd": {"max": 1}}}"#);
    let gate = gate(&rows, &rows, &config);
    assert_eq!(gate.verdict, Verdict::Inconclusive);
    assert!(gate.nothing());
}
