//! How often the gate errs, in small: enough to notice a gate that alarms at nothing, or at nothing
//! any more. `docs/gate-calibration.md` has the simulation in full.
use agenteval::compare::{
    Evidence, GUARD_SHARE, Gate, GateOptions, Kind, Mode, Sample, TaskSample, TestOptions, Verdict,
};
use agenteval::config::EvalConfig;
use agenteval::evaluate::{Outcome, RunRow};
use agenteval::model::resolve_metric;
use agenteval::stats::{Draws, SplitMix64, Stop};

const TASKS: usize = 50;
const TRIALS: usize = 3;

/// Above 0 and below 1.
fn unit(random: &mut SplitMix64) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Completion of `TASKS` tasks whose rates have a mean of .8 and lie between .6 and 1, so that
/// tasks differ; those of the candidate are lower by `drop`.
fn sides(drop: f64, random: &mut SplitMix64) -> [Vec<RunRow>; 2] {
    let rates: Vec<f64> = (0..TASKS).map(|_| 0.6 + 0.4 * unit(random)).collect();
    [0.0, drop].map(|drop| {
        let mut rows = Vec::new();
        for (task, rate) in rates.iter().enumerate() {
            for _ in 0..TRIALS {
                let mut row = RunRow::lost(&format!("task-{task}"));
                if unit(random) < rate - drop {
                    row.outcome = Outcome::Completed;
                }
                rows.push(row);
            }
        }
        rows
    })
}

/// Verdicts of `repetitions` comparisons in which completion alone is gated.
fn verdicts(drop: f64, repetitions: u64) -> Vec<Verdict> {
    let mut config = EvalConfig::default();
    config.gate.metrics = Some(vec![resolve_metric("final_completion_rate").unwrap()]);
    // The decision is the one that all draws give; they only end where it is certain. The guard
    // alone draws here, and its level is a tenth of alpha.
    let draws = Draws { stop: Stop::Above(0.05 * GUARD_SHARE), ..Draws::seeded(7) };
    let tests = TestOptions { draws, ..TestOptions::default() };
    let options = GateOptions { tests, ..GateOptions::default() };
    let one = |repetition| {
        let [before, after] = sides(drop, &mut SplitMix64::stream(11, repetition));
        Gate::of(Some(&before), &after, &config, &options).verdict
    };
    (0..repetitions).map(one).collect()
}

fn how_many(verdicts: &[Verdict], wanted: Verdict) -> usize {
    verdicts.iter().filter(|verdict| **verdict == wanted).count()
}

#[test]
fn identical_agents_seldom_fail_the_gate_and_seldom_pass_for_better() {
    let verdicts = verdicts(0.0, 300);
    // At most 5% of 300 is 15, with a standard deviation of 3.8: 27 is three of them above.
    assert!(how_many(&verdicts, Verdict::Regression) <= 26);
    assert!(how_many(&verdicts, Verdict::Improved) <= 26);
    // A gate that finds nothing at all would keep the bar above.
    assert!(how_many(&verdicts, Verdict::Pass) > 60);
}

#[test]
fn a_drop_of_ten_points_in_fifty_tasks_of_three_trials_is_mostly_found() {
    let verdicts = verdicts(0.1, 100);
    // A power of .7 gives 70 of 100, with a standard deviation of 4.6: 56 is three below.
    assert!(how_many(&verdicts, Verdict::Regression) >= 56);
    assert_eq!(how_many(&verdicts, Verdict::Improved), 0);
    // The margin is 5 points: to call this a pass is an error of at most 5%, far less here.
    assert!(how_many(&verdicts, Verdict::Pass) <= 2);
}

#[test]
fn ten_single_failures_against_tasks_of_five_trials_are_no_proof() {
    // A rate of .2 on both sides gives ten failures in a row in one of nine cases.
    let runs = |number: usize, passed: usize| {
        let mut parts = vec![(0.0, 1.0); number - passed];
        parts.resize(number, (1.0, 1.0));
        parts
    };
    let baseline = (0..40).map(|task| TaskSample {
        baseline: runs(5, [0, 0, 1, 3][task % 4]),
        candidate: Vec::new(),
    });
    let candidate = (0..10).map(|_| TaskSample { baseline: Vec::new(), candidate: runs(1, 0) });
    let sample = Sample { mode: Mode::Unpaired, tasks: baseline.chain(candidate).collect() };
    let p = Evidence::of(&sample, Kind::RunShare, &TestOptions::default()).p.unwrap();
    assert!(p.less > 0.05, "{p:?}");
}
