//! Runs without a failed step, by step, and the risk of each step.

use plotters::element::{PathElement, Polygon};

use super::canvas::{Anchor, Canvas, Mark};
use super::measure;
use super::models::Models;
use super::plot::{Drawn, Frame, dot, faint, stroke};
use super::style::{Ink, LEFT, SMALL};
use crate::horizon::{Accumulation, HazardBin, Survival};
use crate::render::figures::plural;
use crate::render::{count, percent};

/// Height of the plot with its axis.
const HEIGHT: u32 = 260;
/// Width of the labels at the left.
const AXIS: u32 = 52;
/// Steps that are drawn: more cannot be told apart.
const MOST_POINTS: usize = 600;

const NONE: &str = "No run tells the order of its steps, so nothing can be said step by step.";

fn runs(number: u64) -> String {
    format!("{} {}", count(number), plural(number, "run"))
}

fn followed(survival: &Survival) -> String {
    let mut text = format!(
        "{}: {} with a failed step, {} without",
        runs(survival.runs),
        count(survival.failed),
        count(survival.runs - survival.failed)
    );
    if survival.cut > 0 {
        text.push_str(&format!(" (of these {} cut short or not ended)", count(survival.cut)));
    }
    if survival.left_out > 0 {
        let left_out = runs(survival.left_out);
        text.push_str(&format!("; left out: {left_out} without steps or without their order"));
    }
    text
}

/// The share of runs without a failed step, beside what models of the risk say.
pub(super) fn survival(width: u32, found: &Accumulation) -> Canvas {
    let survival = &found.survival;
    let title = "Runs without a failed step, by step (Kaplan-Meier, 95% band)";
    let half = survival
        .median
        .map(|step| format!("; at half or below from step {step}"))
        .unwrap_or_default();
    let how = "A run that ends without a failed step is followed up to its end";
    let mut canvas = Canvas::new(width, title, &format!("{}\n{how}{half}", followed(survival)));
    if survival.runs == 0 {
        canvas.sentence(NONE);
        return canvas;
    }
    let models = Models::of(found);
    models.legend(&mut canvas);
    let top = canvas.height;
    let mut ticks = Vec::new();
    let drawn = curve(&mut canvas, survival, &models, &mut ticks);
    finish(&mut canvas, drawn, survival, top, &ticks);
    models.words(&mut canvas);
    let events = survival.table.iter().filter(|step| step.events > 0);
    for step in events.take(60) {
        let ends =
            step.interval.map(|(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
        canvas.word(format!(
            "after step {}: {}{}, {} of {} failed there",
            step.time,
            percent(step.survival),
            ends.unwrap_or_default(),
            count(step.events),
            count(step.at_risk)
        ));
    }
    canvas
}

/// Whole steps to label, from 1.
fn steps(last: u32, most: u32) -> Vec<u32> {
    let width = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000]
        .into_iter()
        .find(|width| last / width <= most)
        .unwrap_or_else(|| (last / most).max(1));
    (0..=last / width)
        .map(|at| (at * width).max(1))
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect()
}

fn frame(from: f64, to: f64) -> Frame<'static> {
    let label = &|share: f64| format!("{:.0}%", share * 100.0);
    Frame { height: HEIGHT, labels: AXIS, across: (from, to), up: (0.0, 1.0), label }
}

fn curve(
    canvas: &mut Canvas,
    survival: &Survival,
    models: &Models,
    ticks: &mut Vec<(u32, String, f64)>,
) -> Drawn {
    let most = if canvas.width < 900.0 { 12 } else { 24 };
    let frame = frame(0.0, f64::from(models.reach.max(1)));
    let top = canvas.height;
    let mut line = vec![(0.0, 1.0)];
    let (mut low, mut high, mut now) = (survival.start.unwrap_or(1.0), 1.0, 1.0);
    let (mut lower, mut upper) = (vec![(0.0, low)], vec![(0.0, high)]);
    let (mut dots, mut marks) = (Vec::new(), Vec::new());
    let last = survival.table.len().saturating_sub(1);
    let stride = survival.table.len().div_ceil(MOST_POINTS).max(1);
    for (place, step) in survival.table.iter().enumerate() {
        if !(place == last || place.is_multiple_of(stride)) {
            continue;
        }
        let x = f64::from(step.time);
        let (to_low, to_high) = step.interval.unwrap_or((step.survival, step.survival));
        line.extend([(x, now), (x, step.survival)]);
        lower.extend([(x, low), (x, to_low)]);
        upper.extend([(x, high), (x, to_high)]);
        (now, low, high) = (step.survival, to_low, to_high);
        if step.events > 0 {
            dots.push((x, step.survival));
            let tip = format!("after step {}: {}", step.time, percent(step.survival));
            marks.push(Mark {
                name: format!("step {}", step.time),
                value: Some(step.survival),
                tip,
            });
        }
    }
    // Many dots would hide the line.
    let radius = if dots.len() > 40 { 2 } else { 3 };
    upper.extend(lower.into_iter().rev());
    frame.draw(
        canvas,
        &|plot| {
            plot.draw_series([Polygon::new(upper.clone(), faint(Ink::Main, 0.18))])?;
            plot.draw_series([PathElement::new(line.clone(), stroke(Ink::Main, 2))])?;
            plot.draw_series(dots.iter().map(|at| dot(*at, radius, Ink::Main)))?;
            Ok(())
        },
        marks,
    )?;
    let across = frame.across(canvas);
    models.curves(canvas, across, frame.up(top));
    let tick = |step: u32| (step, count(u64::from(step)), across.at(f64::from(step)));
    ticks.extend(steps(models.reach, most).into_iter().map(tick));
    Ok(())
}

/// The axis of steps with the runs at risk below it.
fn finish(
    canvas: &mut Canvas,
    drawn: Drawn,
    survival: &Survival,
    top: f64,
    ticks: &[(u32, String, f64)],
) {
    if drawn.is_err() {
        canvas.height = top;
        canvas.sentence("These steps cannot be drawn.");
        return;
    }
    let y = canvas.height + 14.0;
    let heads = ["step", "runs"];
    for (at, head) in heads.iter().enumerate() {
        canvas.text(LEFT, y + at as f64 * 16.0, SMALL, Anchor::Start, Ink::Muted, head);
    }
    let mut free = LEFT + measure::width("step", SMALL) + 6.0;
    for (step, name, x) in ticks {
        let risk = count(survival.at_risk(*step));
        let half = measure::width(name, SMALL).max(measure::width(&risk, SMALL)) / 2.0;
        if x - half < free || x + half > canvas.width - 4.0 {
            continue;
        }
        free = x + half + 6.0;
        canvas.text(*x, y, SMALL, Anchor::Middle, Ink::Muted, name);
        canvas.text(*x, y + 16.0, SMALL, Anchor::Middle, Ink::Text, &risk);
    }
    canvas.height += 34.0;
    canvas.note("runs: those that reach the step without a failure before it");
    canvas.height += 8.0;
}

/// The risk of each step.
pub(super) fn hazard(width: u32, survival: &Survival) -> Canvas {
    let title = "Risk of a first failed step, by step (95% intervals)";
    let wide = survival.hazard.first().is_some_and(|bin| bin.to > bin.from);
    let how = match wide {
        true => {
            "First failures over steps taken by runs without a failure before, steps put together"
        }
        false => "First failures over the runs that reach the step without a failure before",
    };
    let mut canvas = Canvas::new(width, title, &format!("{}\n{how}", followed(survival)));
    if survival.runs == 0 {
        canvas.sentence(NONE);
        return canvas;
    }
    let top = canvas.height;
    let mut ticks = Vec::new();
    let drawn = risks(&mut canvas, survival, &mut ticks);
    finish(&mut canvas, drawn, survival, top, &ticks);
    if survival.hazard.iter().any(|bin| bin.interval.is_none()) {
        canvas.height -= 8.0;
        canvas.note("grey: one run is too few for an interval");
        canvas.height += 8.0;
    }
    for bin in &survival.hazard {
        canvas.word(told(bin));
    }
    canvas
}

fn told(bin: &HazardBin) -> String {
    let steps = match bin.from == bin.to {
        true => format!("step {}", bin.from),
        false => format!("steps {} to {}", bin.from, bin.to),
    };
    let Some(hazard) = bin.hazard else { return format!("{steps}: no run") };
    let ends = bin.interval.map(|(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
    format!(
        "{steps}: {}{}, {} of {}",
        percent(hazard),
        ends.unwrap_or_default(),
        count(bin.events),
        count(bin.exposure)
    )
}

fn risks(canvas: &mut Canvas, survival: &Survival, ticks: &mut Vec<(u32, String, f64)>) -> Drawn {
    let bins = &survival.hazard;
    let frame = frame(0.5, f64::from(bins.last().map_or(1, |bin| bin.to)) + 0.5);
    let middle = |bin: &HazardBin| (f64::from(bin.from) + f64::from(bin.to)) / 2.0;
    let mut lines = Vec::new();
    let (mut dots, mut marks) = (Vec::new(), Vec::new());
    for bin in bins {
        let Some(hazard) = bin.hazard else { continue };
        if let Some((low, high)) = bin.interval {
            lines.push(vec![(middle(bin), low), (middle(bin), high)]);
        }
        if bin.to > bin.from {
            lines
                .push(vec![(f64::from(bin.from) - 0.4, hazard), (f64::from(bin.to) + 0.4, hazard)]);
        }
        let sure = if bin.interval.is_some() { Ink::Main } else { Ink::Neutral };
        dots.push(((middle(bin), hazard), sure));
        marks.push(Mark {
            name: format!("step {}", bin.from),
            value: Some(hazard),
            tip: told(bin),
        });
    }
    frame.draw(
        canvas,
        &|plot| {
            let line =
                |line: &Vec<(f64, f64)>| PathElement::new(line.clone(), stroke(Ink::Main, 2));
            plot.draw_series(lines.iter().map(line))?;
            plot.draw_series(dots.iter().map(|(at, ink)| dot(*at, 4, *ink)))?;
            Ok(())
        },
        marks,
    )?;
    let across = frame.across(canvas);
    ticks.extend(bins.iter().map(|bin| {
        let name = match bin.from == bin.to {
            true => count(u64::from(bin.from)),
            false => format!("{}-{}", bin.from, bin.to),
        };
        (bin.from, name, across.at(middle(bin)))
    }));
    Ok(())
}
