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
            // Each task by itself, so that their number is not the same every time.
            Change::Break => {
                before.iter().map(|p| if random.chance(share) { 0.0 } else { *p }).collect()
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
    let levels = Levels { harm: ALPHA, gain: ALPHA };
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

/// How many times as many repetitions decide where few do not.
const AGAIN: u64 = 10;

/// Whether a bar is missed, or kept by less than one standard error: chance would decide.
fn close(bar: Bar, tally: &Tally) -> bool {
    let rate = tally.share(tally.regression);
    let error = (rate * (1.0 - rate) / tally.repetitions.max(1) as f64).sqrt();
    match bar {
        Bar::AtMost(most) => rate + error > most,
        Bar::AtLeast(least) => rate - error < least,
        Bar::None => false,
    }
}

/// Runs the cells with bars. Those that chance would decide are drawn anew, ten times as often.
pub(crate) fn run(cells: &[Cell], effort: Effort, mut done: impl FnMut(&Row)) -> Vec<Row> {
    let row = |cell: &Cell| {
        let once = |random: &mut Random| decision(&cell.draw(random));
        let mut tally = repeat(&cell.name(), effort.repetitions, effort.threads, once);
        if close(cell.bar, &tally) {
            let name = format!("{}, again", cell.name());
            tally = repeat(&name, AGAIN * effort.repetitions, effort.threads, once);
        }
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

/// What a task that fell counts in the guard, and what else the guard asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    drop: Drop,
    condition: Condition,
    /// The level of the test of completion.
    pub(crate) test: f64,
    /// The level of the guard.
    pub(crate) guard: f64,
}

/// What else the guard asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// Nothing.
    None,
    /// That harm is not shown to be less than the margin.
    Bound,
    /// That the candidate is worse on the whole.
    Worse,
    /// That, and p of harm at most .2.
    Likely,
}

const fn form(
    name: &'static str,
    drop: Drop,
    condition: Condition,
    (test, guard): (f64, f64),
) -> Form {
    Form { name, drop, condition, test, guard }
}

/// Forms of the guard that were weighed against each other.
pub(crate) const FORMS: [Form; 16] = [
    form("none", Drop::Signed, Condition::None, (0.05, 0.0)),
    form("signed", Drop::Signed, Condition::None, (0.045, 0.005)),
    form("signed, U >= margin", Drop::Signed, Condition::Bound, (0.045, 0.005)),
    form("signed, estimate > 0", Drop::Signed, Condition::Worse, (0.045, 0.005)),
    form("positive", Drop::Positive, Condition::None, (0.045, 0.005)),
    form("positive, U >= margin", Drop::Positive, Condition::Bound, (0.045, 0.005)),
    form("positive, estimate > 0", Drop::Positive, Condition::Worse, (0.045, 0.005)),
    form("signed", Drop::Signed, Condition::None, (0.0475, 0.0025)),
    form("signed, U >= margin", Drop::Signed, Condition::Bound, (0.0475, 0.0025)),
    form("signed", Drop::Signed, Condition::None, (0.04, 0.01)),
    form("signed, p <= .2", Drop::Signed, Condition::Likely, (0.0475, 0.01)),
    form("signed, p <= .2", Drop::Signed, Condition::Likely, (0.0475, 0.005)),
    form("signed", Drop::Signed, Condition::None, (0.0475, 0.005)),
    form("signed: the gate's", Drop::Signed, Condition::None, (0.05, 0.005)),
    form("signed, U >= margin", Drop::Signed, Condition::Bound, (0.05, 0.005)),
    form("signed", Drop::Signed, Condition::None, (0.05, 0.0025)),
];

/// Decides one draw by every form.
pub(crate) fn by_form(sample: &Sample) -> Tally {
    let evidence = Evidence::of(sample, Kind::RunShare, &options(ALPHA));
    let harm = Harm::of(&evidence, Better::Higher).unwrap_or_default();
    let beyond = harm.bound.is_none_or(|bound| bound >= MARGIN);
    let worse = harm.estimate.is_some_and(|estimate| estimate > 0.0);
    let p_harm = harm.p_harm.unwrap_or(1.0);
    let sizes = sample.tasks.iter().map(|t| (t.baseline.len() as u32, t.candidate.len() as u32));
    let successes: Vec<bool> = sample
        .tasks
        .iter()
        .flat_map(|task| task.baseline.iter().chain(&task.candidate))
        .map(|part| part.0 > 0.0)
        .collect();
    let p = |drop: Drop| {
        let design = Design::new(sizes.clone())?;
        Some(squared_drop(&design, &successes, drop, options(0.01).draws)?.p.greater)
    };
    let (signed, positive) = (p(Drop::Signed), p(Drop::Positive));
    let mut tally = Tally::default();
    for (decided, form) in tally.other.iter_mut().zip(FORMS) {
        let guard = match form.drop {
            Drop::Signed => signed,
            Drop::Positive => positive,
        };
        let allowed = match form.condition {
            Condition::None => true,
            Condition::Bound => beyond,
            Condition::Worse => worse,
            Condition::Likely => worse && p_harm <= 0.2,
        };
        let fired = allowed && guard.is_some_and(|p| p <= form.guard);
        *decided = u64::from((beyond && p_harm <= form.test) || fired);
    }
    tally
}
