//! Completion over the same tasks, with the guard for broken tasks: the cells that carry bars.

use std::path::Path;

use agenteval::compare::GUARD_SHARE;
use agenteval::compare::{
    Evidence, Guard, Harm, Kind, Levels, Mode, Sample, TaskSample, TestOptions, Verdict, decide,
};
use agenteval::metrics::SEED;
use agenteval::model::Better;
use agenteval::stats::{Design, Draws, Drop, Stop, squared_drop};

use crate::page::{Bar, Row};
use crate::random::Random;
use crate::work::{Effort, Tally, repeat};

/// The level of the gate.
pub(crate) const ALPHA: f64 = 0.05;

/// The margin of completion.
const MARGIN: f64 = 0.05;

/// Options that stop drawing where the decision at `level` is certain.
pub(crate) fn options(level: f64) -> TestOptions {
    let draws = Draws { stop: Stop::Above(level), ..Draws::seeded(SEED) };
    TestOptions { alpha: ALPHA, exact: false, draws }
}

/// What differs between the sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    Null,
    /// Every other task is better, the rest worse, by .25 at most; the mean is the same.
    Hetero,
    /// Every task loses the same share.
    Prop,
    /// Some tasks fail always.
    Break,
}

/// One cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) tasks: usize,
    pub(crate) trials: usize,
    pub(crate) rate: f64,
    pub(crate) change: Change,
    pub(crate) drop: f64,
    pub(crate) bar: Bar,
    /// What the design page observed.
    pub(crate) seen: Option<f64>,
}

impl Cell {
    pub(crate) fn change_name(&self) -> &'static str {
        match self.change {
            Change::Null => "null",
            Change::Hetero => "hetero",
            Change::Prop => "prop",
            Change::Break => "break",
        }
    }

    pub(crate) fn name(&self) -> String {
        format!(
            "binary {} {} {} {} {}",
            self.tasks,
            self.trials,
            self.rate,
            self.change_name(),
            self.drop
        )
    }

    /// Success rates of the tasks: of the baseline and of the candidate.
    fn rates(&self, random: &mut Random) -> Vec<(f64, f64)> {
        let before: Vec<f64> = (0..self.tasks).map(|_| random.rate(self.rate)).collect();
        let share = self.drop / self.rate;
        let after: Vec<f64> = match self.change {
            Change::Null => before.clone(),
            Change::Prop => before.iter().map(|p| p * (1.0 - share)).collect(),
            Change::Hetero => moved(&before),
            Change::Break => {
                // The number of broken tasks is the share rounded at random, so that its mean is
                // the share; which ones they are is random too.
                let exact = share * self.tasks as f64;
                let broken = exact as usize + usize::from(random.chance(exact.fract()));
                let mut order: Vec<usize> = (0..self.tasks).collect();
                random.shuffle(&mut order);
                let mut after = before.clone();
                for &task in order.iter().take(broken) {
                    after[task] = 0.0;
                }
                after
            }
        };
        before.into_iter().zip(after).collect()
    }

    /// Runs of both sides.
    pub(crate) fn draw(&self, random: &mut Random) -> Sample {
        let rates = self.rates(random);
        let mut runs = |p: f64| {
            let passed = (0..self.trials).filter(|_| random.chance(p)).count();
            let mut parts = vec![(0.0, 1.0); self.trials - passed];
            parts.resize(self.trials, (1.0, 1.0));
            parts
        };
        let task = |(before, after)| TaskSample { baseline: runs(before), candidate: runs(after) };
        Sample { mode: Mode::Paired, tasks: rates.into_iter().map(task).collect() }
    }
}

/// Every other rate up and the rest down by .25, as far as they go, the larger of both movements
/// scaled to the size of the smaller.
fn moved(rates: &[f64]) -> Vec<f64> {
    let step = |(at, p): (usize, &f64)| {
        let target: f64 = if at % 2 == 0 { p + 0.25 } else { p - 0.25 };
        target.clamp(0.0, 1.0) - p
    };
    let steps: Vec<f64> = rates.iter().enumerate().map(step).collect();
    let up: f64 = steps.iter().filter(|step| **step > 0.0).sum();
    let down: f64 = -steps.iter().filter(|step| **step < 0.0).sum::<f64>();
    let least = up.min(down);
    let scaled = |step: f64| match step {
        step if step > 0.0 => step * least / up,
        step if step < 0.0 => step * least / down,
        step => step,
    };
    rates.iter().zip(steps).map(|(p, step)| p + scaled(step)).collect()
}

/// The cells of the file with the bars.
pub(crate) fn cells(bar: &Path) -> Result<Vec<Cell>, String> {
    let wrong = |what: &str| format!("{}: {what}", bar.display());
    let text = std::fs::read(bar).map_err(|error| wrong(&error.to_string()))?;
    let all: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
    let cells = all["binary"].as_array().ok_or_else(|| wrong("no list `binary`"))?;
    let cell = |cell: &serde_json::Value| {
        let whole = |key: &str| cell[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let change = match cell["mode"].as_str()? {
            "null" => Change::Null,
            "hetero" => Change::Hetero,
            "prop" => Change::Prop,
            "break" => Change::Break,
            _ => return None,
        };
        let bar = match (cell["max_false_alarm"].as_f64(), cell["min_power"].as_f64()) {
            (Some(most), _) => Bar::AtMost(most),
            (None, Some(least)) => Bar::AtLeast(least),
            (None, None) => Bar::None,
        };
        Some(Cell {
            tasks: whole("m")?,
            trials: whole("k")?,
            rate: cell["mu"].as_f64()?,
            change,
            drop: cell["drop"].as_f64()?,
            bar,
            seen: cell["observed_regression"].as_f64(),
        })
    };
    cells.iter().map(|each| cell(each).ok_or_else(|| wrong("a cell lacks a field"))).collect()
}

/// The decision on one draw, as the gate makes it where completion alone is gated.
fn decision(sample: &Sample) -> Tally {
    let tests = options(ALPHA);
    let evidence = Evidence::of(sample, Kind::RunShare, &tests);
    let harm = Harm::of(&evidence, Better::Higher).unwrap_or_default();
    let levels = Levels { harm: ALPHA * (1.0 - GUARD_SHARE), gain: ALPHA };
    let mut verdict = decide(harm.p_harm, harm.p_gain, harm.bound, MARGIN, levels);
    // The guard can only make it a regression.
    if verdict != Verdict::Regression {
        let guard = Guard::of(sample, &options(ALPHA * GUARD_SHARE));
        if guard.is_some_and(|guard| guard.fired) {
            verdict = Verdict::Regression;
        }
    }
    counted(verdict, harm.p_harm)
}

/// One decision as a tally.
pub(crate) fn counted(verdict: Verdict, p_harm: Option<f64>) -> Tally {
    Tally {
        alone: u64::from(p_harm.is_some_and(|p| p <= ALPHA)),
        regression: u64::from(verdict == Verdict::Regression),
        improved: u64::from(verdict == Verdict::Improved),
        pass: u64::from(verdict == Verdict::Pass),
        untested: u64::from(p_harm.is_none()),
        ..Tally::default()
    }
}

/// Runs the cells with bars.
pub(crate) fn run(cells: &[Cell], effort: Effort, mut done: impl FnMut(&Row)) -> Vec<Row> {
    let row = |cell: &Cell| {
        let once = |random: &mut Random| decision(&cell.draw(random));
        let tally = repeat(&cell.name(), effort.repetitions, effort.threads, once);
        let false_pass = cell.change == Change::Prop && (cell.drop - MARGIN).abs() < 1e-9;
        let row = Row {
            kind: "binary",
            setting: format!("rate {}", cell.rate),
            tasks: cell.tasks.to_string(),
            trials: cell.trials.to_string(),
            effect: match cell.change {
                Change::Null | Change::Hetero => cell.change_name().to_owned(),
                Change::Prop | Change::Break => format!("{} -{}", cell.change_name(), cell.drop),
            },
            tally,
            judged: tally.regression,
            bar: cell.bar,
            most_passes: false_pass.then_some(0.08),
            seen: cell.seen,
        };
        done(&row);
        row
    };
    cells.iter().map(row).collect()
}

/// Forms of the guard that were weighed against each other.
pub(crate) const FORMS: [(&str, Option<Drop>, Condition); 7] = [
    ("none", None, Condition::None),
    ("signed", Some(Drop::Signed), Condition::None),
    ("signed, U >= margin", Some(Drop::Signed), Condition::Bound),
    ("signed, estimate > 0", Some(Drop::Signed), Condition::Worse),
    ("positive", Some(Drop::Positive), Condition::None),
    ("positive, U >= margin", Some(Drop::Positive), Condition::Bound),
    ("positive, estimate > 0", Some(Drop::Positive), Condition::Worse),
];

/// Shares of alpha that the guard may have.
pub(crate) const SHARES: [f64; 2] = [0.1, 0.2];

/// What else the guard asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Nothing.
    None,
    /// That harm is not shown to be less than the margin.
    Bound,
    /// That the candidate is worse on the whole.
    Worse,
}

/// Decides one draw by every form and share: `other[form]` at the first share, `other[8 + form]`
/// at the second.
pub(crate) fn by_form(sample: &Sample) -> Tally {
    let tests = options(ALPHA);
    let evidence = Evidence::of(sample, Kind::RunShare, &tests);
    let harm = Harm::of(&evidence, Better::Higher).unwrap_or_default();
    let beyond = harm.bound.is_none_or(|bound| bound >= MARGIN);
    let worse = harm.estimate.is_some_and(|estimate| estimate > 0.0);
    let sizes = sample.tasks.iter().map(|t| (t.baseline.len() as u32, t.candidate.len() as u32));
    let successes: Vec<bool> = sample
        .tasks
        .iter()
        .flat_map(|task| task.baseline.iter().chain(&task.candidate))
        .map(|part| part.0 > 0.0)
        .collect();
    let most = ALPHA * SHARES[1];
    let p = |drop: Drop| {
        let design = Design::new(sizes.clone())?;
        Some(squared_drop(&design, &successes, drop, options(most).draws)?.p.greater)
    };
    let (signed, positive) = (p(Drop::Signed), p(Drop::Positive));
    let mut tally = Tally::default();
    for (nth, share) in SHARES.into_iter().enumerate() {
        for (at, (_, drop, condition)) in FORMS.into_iter().enumerate() {
            let share = if drop.is_some() { share } else { 0.0 };
            let figure = beyond && harm.p_harm.is_some_and(|p| p <= ALPHA * (1.0 - share));
            let guard = match drop {
                None => None,
                Some(Drop::Signed) => signed,
                Some(Drop::Positive) => positive,
            };
            let allowed = match condition {
                Condition::None => true,
                Condition::Bound => beyond,
                Condition::Worse => worse,
            };
            let fired = allowed && guard.is_some_and(|p| p <= ALPHA * share);
            tally.other[nth * 8 + at] = u64::from(figure || fired);
        }
    }
    tally
}
