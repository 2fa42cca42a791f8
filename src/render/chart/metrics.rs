//! Figures with their 95% intervals: rates on one axis from 0 to 100%, all others on their own.

use super::canvas::{Anchor, Canvas};
use super::measure;
use super::rows::{Columns, Scale, whisker};
use super::style::{Ink, LABEL, LEFT, ROW, SMALL};
use crate::compare::HeldThreshold;
use crate::metrics::{Analysis, Figure, Measured, Metric, Shape, Standing};
use crate::model::Unit;
use crate::render::figure_value;
use crate::render::figures::{counts, interval, runs_and_tasks};

/// Draws the figures of an analysis.
pub(super) fn draw(width: u32, analysis: &Analysis, held: &[HeldThreshold]) -> Canvas {
    let title = "Figures with their 95% intervals";
    let mut canvas = Canvas::new(width, title, &runs_and_tasks(analysis));
    let single = |(metric, _): &&Measured| !matches!(metric.shape, Shape::Distribution(_));
    let (shown, missing): (Vec<&Measured>, Vec<&Measured>) =
        analysis.figures.iter().filter(single).partition(|(_, figure)| figure.value.is_some());
    if shown.is_empty() {
        canvas.sentence("No figure has a value for these runs.");
    }
    let room = Columns::room(&canvas);
    let numbers: Vec<String> =
        shown.iter().map(|(metric, figure)| numbers(metric, figure, room)).collect();
    let columns = Columns::of(
        &canvas,
        shown.iter().map(|(metric, _)| metric.name),
        numbers.iter().map(String::as_str),
    );
    let rate = |metric: &Metric| metric.info().unit == Unit::Ratio;
    let rows: Vec<(&Measured, &String)> = shown.iter().copied().zip(&numbers).collect();
    let (rates, others): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|((metric, _), _)| rate(metric));
    if !rates.is_empty() {
        let scale = Scale { low: 0.0, high: 1.0, from: columns.from, to: columns.to };
        let top = canvas.height;
        let heights: f64 = rates.iter().map(|((metric, _), _)| height(metric, held)).sum();
        scale.grid(&mut canvas, (top, top + heights), &|share| format!("{:.0}%", share * 100.0));
        for ((metric, figure), text) in &rates {
            row(&mut canvas, columns, scale, (metric, figure), text, held);
        }
        canvas.height += 26.0;
    }
    if !others.is_empty() {
        canvas.height += 16.0;
        let y = canvas.height - 4.0;
        let head = "other figures, each on a scale of its own from 0";
        canvas.text(LEFT, y, SMALL, Anchor::Start, Ink::Muted, head);
        for ((metric, figure), text) in &others {
            let limits = of(metric, held).map(|held| held.limit);
            let ends = figure.interval.map(|ci| ci.high).into_iter().chain(figure.value);
            let high = limits.chain(ends).fold(0.0, f64::max);
            let high = if high > 0.0 && high.is_finite() { high * 1.05 } else { 1.0 };
            let scale = Scale { low: 0.0, high, from: columns.from, to: columns.to };
            let (top, bottom) = (canvas.height + 6.0, canvas.height + ROW - 6.0);
            canvas.line((columns.from, top), (columns.from, bottom), 1.0, Ink::Axis);
            let middle = canvas.height + ROW / 2.0;
            canvas.line((columns.from, middle), (columns.to, middle), 1.0, Ink::Grid);
            row(&mut canvas, columns, scale, (metric, figure), text, held);
        }
        canvas.height += 8.0;
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|(metric, _)| metric.name).collect();
        canvas.note(&format!("not measured: {}", names.join(", ")));
    }
    canvas.height += 8.0;
    canvas
}

fn of<'h>(metric: &Metric, held: &'h [HeldThreshold]) -> impl Iterator<Item = &'h HeldThreshold> {
    let name = metric.name;
    held.iter().filter(move |held| held.metric.name == name)
}

fn height(metric: &Metric, held: &[HeldThreshold]) -> f64 {
    ROW + if of(metric, held).next().is_some() { 14.0 } else { 0.0 }
}

/// `91.3% [79.7, 96.6] 42/46`; of that as much as has room, the value first.
fn numbers(metric: &Metric, figure: &Figure, room: f64) -> String {
    let value = figure_value(metric, figure.value);
    let ends = figure.interval.as_ref().map(|_| interval(metric, figure));
    // What pass^k is without its k, nobody can tell.
    let k = figure.note.clone().filter(|_| figure.by_k.is_some()).map(|k| k.replace(' ', ""));
    let parts: Vec<String> =
        std::iter::once(value).chain(ends).chain(k).chain([counts(figure)]).collect();
    let fits = |text: &String| measure::width(text, LABEL) <= room;
    let mut all = (1..=parts.len()).rev().map(|length| parts[..length].join(" "));
    all.clone().find(fits).or_else(|| all.next_back()).unwrap_or_default()
}

fn row(
    canvas: &mut Canvas,
    columns: Columns,
    scale: Scale,
    (metric, figure): (&Metric, &Figure),
    text: &str,
    held: &[HeldThreshold],
) {
    let y = canvas.height + ROW / 2.0;
    columns.name(canvas, y, metric.name);
    columns.number(canvas, y, text);
    let mut says = format!("{}: {}", metric.name, numbers(metric, figure, f64::INFINITY));
    whisker(canvas, scale, y, figure.interval.map(|ci| (ci.low, ci.high)), Ink::Main);
    let mut bounds = Vec::new();
    for held in of(metric, held) {
        let ink = match held.standing {
            Standing::Met => Ink::Good,
            Standing::Missed => Ink::Bad,
            Standing::Unknown => Ink::Neutral,
        };
        let limit = figure_value(metric, Some(held.limit));
        let says = format!("{} {limit}: {}", held.bound.name(), held.standing.name());
        let x = scale.at(held.limit);
        let mark = canvas.rect(x - 1.5, y - 9.0, 3.0, 18.0, ink);
        mark.marks(&format!("{} {}", held.bound.name(), metric.name), held.limit, says.clone());
        bounds.push(says);
    }
    if let Some(value) = figure.value {
        canvas.dot(scale.at(value), y, 4.5, Ink::Main).marks(metric.name, value, says.clone());
    }
    canvas.height += height(metric, held);
    if !bounds.is_empty() {
        let bounds = bounds.join(", ");
        canvas.text(LEFT, y + 18.0, SMALL, Anchor::Start, Ink::Muted, &bounds);
        says.push_str(&format!("; threshold {bounds}"));
    }
    canvas.word(says);
}
