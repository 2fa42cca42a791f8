//! Bars from 0, one a row, with their number beside them.

use super::canvas::Canvas;
use super::rows::{Columns, Scale};
use super::style::{Ink, ROW};
use crate::evaluate::Outcome;
use crate::metrics::{Analysis, Counts, RetryCounts, Spent};
use crate::render::figures::{plural, runs_and_tasks};
use crate::render::{count, percent, plain, seconds};

/// Bars that are drawn; the rest is one.
const MOST: usize = 30;

/// One bar.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    /// What stands beside it.
    pub(super) text: String,
    pub(super) ink: Ink,
}

/// Draws bars on one scale from 0.
pub(super) fn bars(canvas: &mut Canvas, bars: &[Bar]) {
    let columns = Columns::of(
        canvas,
        bars.iter().map(|bar| bar.name.as_str()),
        bars.iter().map(|bar| bar.text.as_str()),
    );
    let high = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let high = if high > 0.0 && high.is_finite() { high } else { 1.0 };
    let scale = Scale { low: 0.0, high, from: columns.from, to: columns.to };
    let (top, bottom) = (canvas.height, canvas.height + ROW * bars.len() as f64);
    for bar in bars {
        let y = canvas.height + ROW / 2.0;
        columns.name(canvas, y, &bar.name);
        let width = scale.at(bar.value) - scale.from;
        let told = format!("{}: {}", super::canvas::safe(&bar.name), bar.text);
        // What is there must show.
        let width = if bar.value > 0.0 { width.max(1.5) } else { 0.0 };
        canvas.rect(scale.from, y - 8.0, width, 16.0, bar.ink).marks(
            &bar.name,
            bar.value,
            told.clone(),
        );
        columns.number(canvas, y, &bar.text);
        canvas.word(told);
        canvas.height += ROW;
    }
    canvas.line((scale.from, top), (scale.from, bottom), 1.0, Ink::Axis);
    canvas.height += 12.0;
}

#[expect(clippy::cast_precision_loss, reason = "drawn, and shown as a percentage")]
fn counted(name: &str, number: u64, total: u64, ink: Ink) -> Bar {
    let share = if total == 0 { 0.0 } else { number as f64 / total as f64 };
    Bar {
        name: name.to_owned(),
        value: number as f64,
        text: format!("{} ({})", count(number), percent(share)),
        ink,
    }
}

/// Names by number, the most frequent first, the rest together.
fn ranked(counts: &Counts, ink: Ink) -> Vec<Bar> {
    let total: u64 = counts.values().sum();
    let mut names: Vec<(&str, u64)> = counts.iter().map(|(name, n)| (&**name, *n)).collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let kept = if names.len() > MOST { MOST - 1 } else { names.len() };
    let rest: u64 = names.iter().skip(kept).map(|(_, number)| number).sum();
    let others = names.len() - kept;
    let mut bars: Vec<Bar> =
        names.iter().take(kept).map(|(name, number)| counted(name, *number, total, ink)).collect();
    if others > 0 {
        let name = format!("other ({} types)", count(others as u64));
        bars.push(counted(&name, rest, total, Ink::Neutral));
    }
    bars
}

/// Failed attempts by error type.
pub(super) fn errors(width: u32, analysis: &Analysis) -> Canvas {
    let counts = &analysis.distributions.error_type;
    let total: u64 = counts.values().sum();
    let below = format!(
        "{} failed {} of {}; {}",
        count(total),
        plural(total, "attempt"),
        count(analysis.attempts),
        runs_and_tasks(analysis)
    );
    let mut canvas = Canvas::new(width, "Failed attempts by error type", &below);
    if total == 0 {
        canvas.sentence("No attempt failed.");
    } else {
        bars(&mut canvas, &ranked(counts, Ink::Bad));
    }
    canvas
}

/// Runs by outcome.
pub(super) fn outcomes(width: u32, analysis: &Analysis) -> Canvas {
    let mut canvas = Canvas::new(width, "Runs by outcome", &runs_and_tasks(analysis));
    let total = analysis.runs.total();
    if total == 0 {
        canvas.sentence("There is no run.");
        return canvas;
    }
    let all: Vec<Bar> = Outcome::ALL
        .into_iter()
        .map(|outcome| {
            let ink = match outcome {
                Outcome::Completed => Ink::Good,
                Outcome::Failed | Outcome::OverLimit => Ink::Bad,
                _ => Ink::Neutral,
            };
            counted(outcome.name(), analysis.runs.get(outcome), total, ink)
        })
        .collect();
    bars(&mut canvas, &all);
    canvas
}

/// Runs by their number of retries.
pub(super) fn retries(width: u32, of: &RetryCounts) -> Canvas {
    let mut below = format!(
        "{} {} in {} {}",
        count(of.retries),
        plural(of.retries, "retry").replace("retrys", "retries"),
        count(of.runs),
        plural(of.runs, "run")
    );
    if of.left_out > 0 {
        let runs = plural(of.left_out, "run");
        below.push_str(&format!("; left out: {} {runs} that tell of no step", count(of.left_out)));
    }
    let mut canvas = Canvas::new(width, "Runs by their number of retries", &below);
    if of.runs == 0 {
        canvas.sentence("No run tells of its retries.");
        return canvas;
    }
    let all: Vec<Bar> = of
        .bins
        .iter()
        .map(|(from, to, runs)| {
            let name = match (from == to, from) {
                (true, 1) => "1 retry".to_owned(),
                (true, _) => format!("{} retries", count(u64::from(*from))),
                (false, _) => format!("{} to {}", count(u64::from(*from)), count(u64::from(*to))),
            };
            counted(&name, *runs, of.runs, Ink::Main)
        })
        .collect();
    bars(&mut canvas, &all);
    canvas
}

/// What completed and lost runs cost.
pub(super) fn cost(width: u32, spent: Option<&Spent>) -> Canvas {
    let Some(spent) = spent else {
        let mut canvas = Canvas::new(width, "Cost of completed and lost runs", "");
        canvas.sentence("No ended run records its cost, its tokens or its duration.");
        return canvas;
    };
    let (title, show): (_, fn(f64) -> String) = match spent.measure {
        "cost" => ("Cost of completed and lost runs", |sum| {
            format!("${}", plain(sum, if sum < 100.0 { 4 } else { 2 }))
        }),
        "tokens" => ("Tokens of completed and lost runs", |sum| plain(sum, 0)),
        _ => ("Time taken by completed and lost runs", seconds),
    };
    let runs: u64 = spent.by.iter().map(|(_, _, runs)| runs).sum();
    let total = spent.total();
    let mut below = format!("{} in {} ended {}", show(total), count(runs), plural(runs, "run"));
    if let Some(lost) = spent.lost.value {
        below.push_str(&format!("; lost in runs that were not completed: {}", percent(lost)));
        if let Some(ci) = spent.lost.interval {
            below.push_str(&format!(" [{}, {}]", percent(ci.low), percent(ci.high)));
        }
    }
    if spent.unrecorded > 0 {
        let runs = plural(spent.unrecorded, "run");
        below.push_str(&format!("; not recorded in {} {runs}", count(spent.unrecorded)));
    }
    let mut canvas = Canvas::new(width, title, &below);
    let all: Vec<Bar> = spent
        .by
        .iter()
        .map(|(outcome, sum, runs)| {
            let share = if total > 0.0 { sum / total } else { 0.0 };
            let noun = plural(*runs, "run");
            Bar {
                name: outcome.name().to_owned(),
                value: *sum,
                text: format!("{} ({}), {} {noun}", show(*sum), percent(share), count(*runs)),
                ink: if *outcome == Outcome::Completed { Ink::Good } else { Ink::Bad },
            }
        })
        .collect();
    bars(&mut canvas, &all);
    canvas
}
