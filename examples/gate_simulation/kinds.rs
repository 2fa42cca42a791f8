//! All other kinds of figures, one at a time: false alarms, and power for a few effects.

use agenteval::compare::{Evidence, GUARD_SHARE, Guard, Harm, Levels, Sample, Verdict, decide};

use crate::binary::{ALPHA, counted, options};
use crate::figures::{Figure, Trials};
use crate::page::{Bar, Row};
use crate::work::{Effort, Tally, repeat};

/// False alarms above this are too many.
pub(crate) const MOST_FALSE: f64 = 0.065;

/// How tasks of both sides stand to each other.
#[derive(Debug, Clone, Copy)]
enum Tasks {
    /// The same, so many.
    Paired(usize),
    /// Others, so many of the baseline and of the candidate.
    Unpaired(usize, usize),
}

/// Settings, trials and effects of a kind.
struct Plan {
    kind: &'static str,
    figures: Vec<Figure>,
    tasks: Vec<Tasks>,
    trials: Vec<Trials>,
    effects: Vec<f64>,
}

/// Names of the kinds here.
pub(crate) const KINDS: [&str; 10] = [
    "steps",
    "counts",
    "amounts",
    "zeros",
    "pass_k",
    "unequal",
    "asymmetric",
    "subset",
    "unpaired",
    "unpaired_rates",
];

fn plans(kind: &str) -> Vec<Plan> {
    use Tasks::{Paired, Unpaired};
    let paired = || [10, 20, 50, 100].map(Paired).to_vec();
    let same = || [1, 3, 5].map(Trials::Same).to_vec();
    let steps = |task, run, serial| Figure::Steps { task, run, serial };
    let counts = |mu, dispersion, task| Figure::Counts { mu, dispersion, task };
    let shares = |of: fn(f64) -> Figure| [0.2, 0.5, 0.8, 0.95].map(of).to_vec();
    let plan = |kind, figures, trials, effects: &[f64]| Plan {
        kind,
        figures,
        tasks: paired(),
        trials,
        effects: effects.to_vec(),
    };
    let unpaired = |kind, figures, effects: &[f64]| Plan {
        kind,
        figures,
        tasks: vec![Unpaired(10, 10), Unpaired(10, 40), Unpaired(40, 10), Unpaired(50, 50)],
        trials: vec![Trials::Same(1), Trials::Same(3), Trials::Sides(5, 1)],
        effects: effects.to_vec(),
    };
    let all_steps = || vec![steps(0.0, 0.0, 0.0), steps(0.8, 0.6, 0.2), steps(1.2, 1.0, 0.4)];
    let all_counts = || vec![counts(0.4, 1.5, 0.8), counts(2.0, 1.0, 0.8), counts(2.0, 3.0, 1.0)];
    let share = |mu| Figure::Share { mu };
    match kind {
        "steps" => vec![plan("steps", all_steps(), same(), &[0.5, 1.0])],
        "counts" => vec![plan("counts", all_counts(), same(), &[1.5, 2.0])],
        "amounts" => vec![plan("amounts", vec![Figure::Logs], same(), &[1.25, 1.5])],
        "zeros" => vec![plan("zeros", vec![Figure::Zeros], same(), &[1.25, 1.5])],
        "pass_k" => [shares(|mu| Figure::PassHat { mu }), shares(|mu| Figure::PassAt { mu })]
            .into_iter()
            .map(|figures| plan("pass_k", figures, same(), &[0.1]))
            .collect(),
        "unequal" => vec![plan("unequal", shares(share), vec![Trials::Unequal], &[0.1])],
        "asymmetric" => vec![plan("asymmetric", shares(share), vec![Trials::Sides(5, 1)], &[0.1])],
        "subset" => vec![plan("subset", shares(|mu| Figure::Subset { mu }), same(), &[0.1])],
        "unpaired" => vec![
            unpaired("unpaired", all_steps(), &[1.0]),
            unpaired("unpaired", all_counts(), &[2.0]),
            unpaired("unpaired", vec![Figure::Logs, Figure::Zeros], &[1.5, 2.0]),
        ],
        "unpaired_rates" => {
            let pass = vec![Figure::PassHat { mu: 0.5 }, Figure::PassHat { mu: 0.8 }];
            vec![
                unpaired("unpaired_rates", shares(share), &[0.2]),
                unpaired("unpaired_rates", pass, &[0.2]),
            ]
        }
        _ => Vec::new(),
    }
}

/// Runs one kind.
pub(crate) fn run(kind: &str, effort: Effort, mut done: impl FnMut(&Row)) -> Vec<Row> {
    let mut rows = Vec::new();
    for plan in plans(kind) {
        for &figure in &plan.figures {
            for &tasks in &plan.tasks {
                for &trials in &plan.trials {
                    let effects = [figure.none()].into_iter().chain(plan.effects.iter().copied());
                    for effect in effects {
                        let row = cell(plan.kind, figure, tasks, trials, effect, effort);
                        if let Some(row) = row {
                            done(&row);
                            rows.push(row);
                        }
                    }
                }
            }
        }
    }
    rows
}

/// One cell; `None` where an effect is not worth a look.
fn cell(
    kind: &'static str,
    figure: Figure,
    tasks: Tasks,
    trials: Trials,
    effect: f64,
    effort: Effort,
) -> Option<Row> {
    let null = effect == figure.none();
    // More than all of a rate cannot be lost, and sizes in the middle tell enough of power.
    let possible = figure.rate().is_none_or(|rate| effect < rate);
    // Large suites with many trials take long and have nothing new to say.
    let small = !matches!(
        (tasks, trials),
        (Tasks::Paired(100), Trials::Same(3 | 5)) | (Tasks::Paired(50), Trials::Same(5))
    );
    let telling = match tasks {
        Tasks::Paired(tasks) => tasks == 50,
        Tasks::Unpaired(b, c) => b == c && b == 50,
    } && !matches!(trials, Trials::Same(5));
    (small && (null || possible && telling))
        .then(|| simulated(kind, figure, tasks, trials, effect, null, effort))
}

fn simulated(
    kind: &'static str,
    figure: Figure,
    tasks: Tasks,
    trials: Trials,
    effect: f64,
    null: bool,
    effort: Effort,
) -> Row {
    let (paired, number) = match tasks {
        Tasks::Paired(tasks) => (true, tasks.to_string()),
        Tasks::Unpaired(b, c) => (false, format!("{b} / {c}")),
    };
    let name = format!("{kind} {figure:?} {number} {} {effect}", trials.name());
    // Power is told to within a few per cent; false alarms have to be known better.
    let repetitions = if null { effort.repetitions } else { effort.repetitions.div_ceil(20) };
    let tally = repeat(&name, repetitions, effort.threads, |random| {
        let sample = match tasks {
            Tasks::Paired(tasks) => figure.paired(tasks, trials, effect, random),
            Tasks::Unpaired(b, c) => figure.unpaired((b, c), trials, effect, random),
        };
        decision(&sample, figure, paired)
    });
    Row {
        kind,
        setting: figure.setting(),
        tasks: number,
        trials: trials.name(),
        effect: figure.effect(effect),
        // The test alone, since how much the margin holds back depends on the config.
        judged: tally.alone,
        tally,
        bar: if null { Bar::AtMost(MOST_FALSE) } else { Bar::None },
        most_passes: None,
        seen: None,
    }
}

/// The decision where this figure alone is gated. Completion of the same tasks has the guard.
fn decision(sample: &Sample, figure: Figure, paired: bool) -> Tally {
    let tests = options(ALPHA);
    let evidence = Evidence::of(sample, figure.kind(), &tests);
    let harm = Harm::of(&evidence, figure.better()).unwrap_or_default();
    let guarded = paired && matches!(figure, Figure::Share { .. });
    let levels = Levels { harm: ALPHA, gain: ALPHA };
    let margin = figure.margin(evidence.baseline.unwrap_or_default());
    let mut verdict = decide(harm.p_harm, harm.p_gain, harm.bound, margin, levels);
    if guarded && verdict != Verdict::Regression {
        let guard = Guard::of(sample, &options(ALPHA * GUARD_SHARE));
        if guard.is_some_and(|guard| guard.fired) {
            verdict = Verdict::Regression;
        }
    }
    counted(verdict, harm.p_harm)
}
