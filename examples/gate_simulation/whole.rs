//! The gate as a whole over rows of runs: several figures at once, the mix of error types, speed.

use std::time::Instant;

use agenteval::compare::{
    ErrorChanges, Gate, GateOptions, Pairing, PairingOptions, TestOptions, Verdict,
};
use agenteval::config::EvalConfig;
use agenteval::evaluate::{ErrorCount, MidRun, Outcome, RunRow};
use agenteval::model::resolve_metric;

use crate::binary::{ALPHA, options};
use crate::kinds::MOST_FALSE;
use crate::page::{Bar, Row};
use crate::random::Random;
use crate::work::{Effort, Tally, repeat};

/// What a task is like.
struct Task {
    name: String,
    /// How hard it is, on the log odds scale.
    hard: f64,
    /// Shares of the error types.
    mix: Vec<f64>,
}

/// What is worse in the candidate.
#[derive(Debug, Clone, Copy, Default)]
struct Worse {
    /// Log odds by which every step fails more often.
    steps: f64,
    /// Share of the errors that have another type.
    mix: f64,
}

const TYPES: [&str; 5] = ["timeout", "invalid_input", "not_found", "permission", "rate_limit"];

/// A task; `hard` spreads by 1.2, the mix by a Dirichlet law around falling shares.
fn task(number: usize, random: &mut Random) -> Task {
    let weights: Vec<f64> =
        [4.0, 3.0, 2.0, 1.0, 0.5].map(|shape| random.gamma(shape * 0.5)).to_vec();
    let sum: f64 = weights.iter().sum();
    Task {
        name: format!("task-{number:03}"),
        hard: 1.2 * random.normal(),
        mix: weights.iter().map(|weight| weight / sum).collect(),
    }
}

/// A type drawn from the mix of a task. `moved` is the share that goes to the last type instead.
fn error_type(task: &Task, moved: f64, random: &mut Random) -> usize {
    if random.chance(moved) {
        return TYPES.len() - 1;
    }
    let mut left = random.unit();
    task.mix
        .iter()
        .position(|share| {
            left -= share;
            left < 0.0
        })
        .unwrap_or(TYPES.len() - 1)
}

/// Errors of a run: each has the type of the one before with probability .5.
fn errors(task: &Task, number: u32, moved: f64, random: &mut Random) -> Box<[ErrorCount]> {
    let mut counts = [0_u32; TYPES.len()];
    let mut last = error_type(task, moved, random);
    for nth in 0..number {
        if nth > 0 && !random.chance(0.5) {
            last = error_type(task, moved, random);
        }
        counts[last] += 1;
    }
    let count =
        |(kind, attempts): (&&str, u32)| ErrorCount { kind: (*kind).into(), tool: None, attempts };
    TYPES.iter().zip(counts).filter(|(_, attempts)| *attempts > 0).map(count).collect()
}

/// A run of 5 to 20 steps. Each fails with the task's and the run's own odds and is then retried
/// up to three times; a run with a step that failed for good ends there, another one is completed
/// with odds of its own.
fn run(task: &Task, trial: usize, worse: Worse, random: &mut Random) -> RunRow {
    let tired = 0.6 * random.normal();
    let logit = -2.4 + task.hard + tired + worse.steps;
    let p = 1.0 / (1.0 + (-logit).exp());
    let steps = random.between(5, 20) as u32;
    let mut row = RunRow::lost(&task.name);
    row.trial = Some(trial.to_string().into());
    let mut mid = MidRun::default();
    let mut dead = false;
    for step in 0..steps {
        row.steps += 1;
        let middle = step > 0 && step + 1 < steps;
        let mut tries = 0;
        let passed = loop {
            tries += 1;
            let passed = !random.chance(p);
            if passed || tries == 4 {
                break passed;
            }
        };
        let failed = tries - u32::from(passed);
        row.attempts += tries;
        row.judged += tries;
        row.failed += failed;
        row.failed_all += failed;
        row.retries += tries - 1;
        row.retries_present += tries - 1;
        row.retries_passed += u32::from(passed && tries > 1);
        if step == 0 {
            row.first_step = Some(failed == 0);
        }
        if middle {
            mid.judged += tries;
            mid.failed += failed;
            mid.failed_steps += u32::from(failed > 0);
            mid.recovered_steps += u32::from(failed > 0 && passed);
        }
        if !passed {
            dead = true;
            break;
        }
    }
    row.mid = Some(mid);
    let solved = random.chance(1.0 / (1.0 + (-1.5 + 1.2 * task.hard + worse.steps).exp()));
    row.outcome = if solved && !dead { Outcome::Completed } else { Outcome::Failed };
    row.errors = errors(task, row.failed_all, worse.mix, random);
    let pace = (0.4 * random.normal()).exp() * if random.chance(0.03) { 10.0 } else { 1.0 };
    row.duration_seconds = Some(4.0 * f64::from(row.attempts) * pace);
    row
}

/// Both sides of a simulated comparison.
fn sides(
    tasks: usize,
    trials: usize,
    worse: Worse,
    random: &mut Random,
) -> (Vec<RunRow>, Vec<RunRow>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for number in 0..tasks {
        let task = task(number, random);
        for trial in 0..trials {
            before.push(run(&task, trial, Worse::default(), random));
            after.push(run(&task, trial, worse, random));
        }
    }
    (before, after)
}

fn row(
    kind: &'static str,
    (tasks, trials): (usize, usize),
    setting: &str,
    effect: String,
    null: bool,
    effort: Effort,
    once: impl Fn(&mut Random) -> Tally + Sync,
) -> Row {
    let name = format!("{kind} {tasks} {trials} {setting} {effect}");
    let repetitions = if null { effort.repetitions } else { effort.repetitions.div_ceil(20) };
    let tally = repeat(&name, repetitions, effort.threads, once);
    Row {
        kind,
        setting: setting.to_owned(),
        tasks: tasks.to_string(),
        trials: trials.to_string(),
        effect,
        judged: tally.regression,
        tally,
        bar: if null { Bar::AtMost(MOST_FALSE) } else { Bar::None },
        most_passes: None,
        seen: None,
    }
}

/// The gate with the four figures that it tests unless told otherwise: the verdict of the whole.
pub(crate) fn whole(effort: Effort, mut done: impl FnMut(&Row)) -> Vec<Row> {
    let config = EvalConfig::default();
    let gate = GateOptions { tests: options(ALPHA), ..GateOptions::default() };
    let mut rows = Vec::new();
    for size in [(10, 1), (10, 3), (10, 5), (20, 1), (20, 3), (50, 1), (50, 3)] {
        for steps in [0.0, 0.5, 1.0] {
            let worse = Worse { steps, mix: 0.0 };
            let effect =
                if steps == 0.0 { "none".to_owned() } else { format!("log odds +{steps}") };
            let setting = "4 figures";
            let row = row("whole", size, setting, effect, steps == 0.0, effort, |random| {
                let (before, after) = sides(size.0, size.1, worse, random);
                let gate = Gate::of(Some(&before), &after, &config, &gate);
                Tally {
                    alone: u64::from(
                        gate.metrics
                            .iter()
                            .any(|m| m.p_adjusted.is_some_and(|p| p <= gate.levels.harm))
                            || gate.guard.is_some_and(|guard| guard.fired),
                    ),
                    regression: u64::from(gate.verdict == Verdict::Regression),
                    improved: u64::from(gate.verdict == Verdict::Improved),
                    pass: u64::from(gate.verdict == Verdict::Pass),
                    ..Tally::default()
                }
            });
            done(&row);
            rows.push(row);
        }
    }
    rows
}

/// The mix of error types: Poisson errors a run, each of the type before it in half of all cases.
pub(crate) fn mix(effort: Effort, mut done: impl FnMut(&Row)) -> Vec<Row> {
    let mut rows = Vec::new();
    for size in [(10, 1), (10, 3), (20, 1), (20, 3), (50, 1), (50, 3)] {
        for errors_a_run in [1.0, 3.0] {
            for shift in [0.0, 0.2] {
                let effect =
                    if shift == 0.0 { "none".to_owned() } else { format!("{shift} moved") };
                let setting = format!("{errors_a_run} errors a run");
                let row = row("mix", size, &setting, effect, shift == 0.0, effort, |random| {
                    shifted(size, errors_a_run, shift, random)
                });
                done(&row);
                rows.push(row);
            }
        }
    }
    rows
}

fn shifted(
    (tasks, trials): (usize, usize),
    errors_a_run: f64,
    shift: f64,
    random: &mut Random,
) -> Tally {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for number in 0..tasks {
        let task = task(number, random);
        for (side, moved) in [(&mut before, 0.0), (&mut after, shift)] {
            for _ in 0..trials {
                let number = random.poisson(errors_a_run);
                let mut row = RunRow::lost(&task.name);
                row.errors = errors(&task, number, moved, random);
                side.push(row);
            }
        }
    }
    let pairing = Pairing::of(&before, &after, PairingOptions::default());
    let found = ErrorChanges::of(&pairing, &options(ALPHA)).mix;
    Tally {
        alone: u64::from(found.is_some_and(|mix| mix.p <= ALPHA)),
        regression: u64::from(found.is_some_and(|mix| mix.shifted)),
        untested: u64::from(found.is_none()),
        ..Tally::default()
    }
}

/// Seconds of a gate over 200 tasks, 5 trials and 6 figures, with all 9,999 draws: the
/// least of ten, since other load of the machine only adds to it.
pub(crate) fn speed() -> f64 {
    let mut random = Random::of(1, 1);
    let (before, after) = sides(200, 5, Worse::default(), &mut random);
    let mut config = EvalConfig::default();
    let names = [
        "final_completion_rate",
        "first_step_accuracy",
        "mid_term_error_rate",
        "avg_retry_count",
        "failure_recovery_rate",
        "duration_seconds",
    ];
    config.gate.metrics = Some(names.iter().filter_map(|name| resolve_metric(name)).collect());
    let gate = GateOptions { tests: TestOptions::default(), ..GateOptions::default() };
    let mut seconds: Vec<f64> = (0..10)
        .map(|_| {
            let start = Instant::now();
            let gate = Gate::of(Some(&before), &after, &config, &gate);
            std::hint::black_box(&gate);
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds.first().copied().unwrap_or_default()
}
