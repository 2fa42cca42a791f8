//! Completion by the number of steps of a run, against what a constant risk of each step leaves.

use plotters::element::PathElement;

use super::canvas::{Anchor, Canvas, Mark};
use super::measure;
use super::plot::{Drawn, Frame, dot, stroke};
use super::style::{Ink, LEFT, SMALL};
use crate::horizon::{Accumulation, Length};
use crate::render::figures::plural;
use crate::render::{count, percent};

/// Height of the plot.
const HEIGHT: u32 = 240;
/// Width of the labels at the left.
const AXIS: u32 = 52;

/// Draws completion by number of steps.
pub(super) fn draw(width: u32, found: &Accumulation) -> Canvas {
    let title = "Completion by number of steps (95% intervals)";
    let runs: u64 = found.lengths.iter().map(|length| length.runs).sum();
    let below = format!("{} ended {}, grouped by length", count(runs), plural(runs, "run"));
    let mut canvas = Canvas::new(width, title, &below);
    if found.lengths.is_empty() {
        canvas
            .sentence("No ended run tells its number of steps, so nothing can be said by length.");
        return canvas;
    }
    let top = canvas.height;
    if groups(&mut canvas, &found.lengths).is_err() {
        canvas.height = top;
        canvas.sentence("These runs cannot be drawn.");
        return canvas;
    }
    if found.lengths.iter().any(|length| length.product.is_some()) {
        canvas.note("bars: the share without a failed step that a constant risk leaves at the median length; above it failed steps were recovered, below it runs were lost without one");
    }
    canvas.height += 8.0;
    for length in &found.lengths {
        canvas.word(told(length));
    }
    canvas
}

fn named(length: &Length) -> String {
    let (from, to) = length.steps;
    if from == to {
        count(u64::from(from))
    } else {
        format!("{}-{}", count(from.into()), count(to.into()))
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs")]
fn share(length: &Length) -> f64 {
    length.completed as f64 / (length.runs as f64).max(1.0)
}

fn told(length: &Length) -> String {
    let ends = length.interval.map(|(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
    let left = length.product.map(|left| format!("; a constant risk leaves {}", percent(left)));
    format!(
        "{} {}: {}{}, {} of {} completed{}",
        named(length),
        if length.steps == (1, 1) { "step" } else { "steps" },
        percent(share(length)),
        ends.unwrap_or_default(),
        count(length.completed),
        count(length.runs),
        left.unwrap_or_default()
    )
}

#[expect(clippy::cast_precision_loss, reason = "a few groups")]
fn groups(canvas: &mut Canvas, lengths: &[Length]) -> Drawn {
    let label = &|share: f64| format!("{:.0}%", share * 100.0);
    let frame = Frame {
        height: HEIGHT,
        labels: AXIS,
        across: (0.0, lengths.len() as f64),
        up: (0.0, 1.0),
        label,
    };
    let x = |at: usize| at as f64 + 0.5;
    let (mut bars, mut lines, mut dots, mut marks) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, length) in lengths.iter().enumerate() {
        if let Some(left) = length.product {
            bars.push(vec![(x(at) - 0.3, left), (x(at) + 0.3, left)]);
        }
        if let Some((low, high)) = length.interval {
            lines.push(vec![(x(at), low), (x(at), high)]);
        }
        dots.push((x(at), share(length)));
        marks.push(Mark {
            name: format!("{} steps", named(length)),
            value: Some(share(length)),
            tip: told(length),
        });
    }
    frame.draw(
        canvas,
        &|plot| {
            let line = |ink: Ink| {
                move |line: &Vec<(f64, f64)>| PathElement::new(line.clone(), stroke(ink, 2))
            };
            plot.draw_series(bars.iter().map(line(Ink::Model)))?;
            plot.draw_series(lines.iter().map(line(Ink::Main)))?;
            plot.draw_series(dots.iter().map(|at| dot(*at, 4, Ink::Main)))?;
            Ok(())
        },
        marks,
    )?;
    let across = frame.across(canvas);
    let room = (across.to - across.from) / lengths.len().max(1) as f64 - 6.0;
    let y = canvas.height + 14.0;
    for (row, head) in ["steps", "runs"].iter().enumerate() {
        canvas.text(LEFT, y + row as f64 * 16.0, SMALL, Anchor::Start, Ink::Muted, head);
    }
    for (at, length) in lengths.iter().enumerate() {
        for (row, text) in [(0.0, named(length)), (16.0, count(length.runs))] {
            let text = measure::fit(&text, SMALL, room);
            canvas.text(across.at(x(at)), y + row, SMALL, Anchor::Middle, Ink::Text, &text);
        }
    }
    canvas.height += 36.0;
    Ok(())
}
