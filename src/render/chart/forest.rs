//! Differences of two sides with their intervals and margins, below each other: worse is right.

use super::canvas::{Anchor, Canvas};
use super::rows::{Columns, Scale, whisker};
use super::style::{Ink, LEFT, ROW, SMALL};
use crate::compare::{Forest, ForestRow, ForestScale};
use crate::render::change::Change;
use crate::render::count;
use crate::render::figures::plural;

/// Draws the differences of `b` against `a`.
pub(super) fn draw(width: u32, forest: &Forest, (a, b): (&str, &str)) -> Canvas {
    let tasks = forest.paired as u64;
    let how = match tasks {
        0 => "no task on both sides: compared as two samples".to_owned(),
        _ => format!("{} {} on both sides", count(tasks), plural(tasks, "task")),
    };
    let below = format!(
        "A {a}, B {b}; {how}\nDifferences B against A with their 95% intervals, turned so that right is worse"
    );
    let mut canvas = Canvas::new(width, "What is worse and what is better in B than in A", &below);
    if forest.rows.is_empty() {
        canvas.sentence("No figure of these two sides can be compared.");
    }
    let texts: Vec<String> = forest.rows.iter().map(text).collect();
    let columns = Columns::of(
        &canvas,
        forest.rows.iter().map(|row| row.metric.name),
        texts.iter().map(String::as_str),
    );
    let mut margins = false;
    for (scale, head) in [
        (ForestScale::Points, "rates, in percentage points"),
        (ForestScale::Relative, "counts and amounts, in percent of A"),
    ] {
        let rows: Vec<(&ForestRow, &String)> =
            forest.rows.iter().zip(&texts).filter(|(row, _)| row.scale == scale).collect();
        if !rows.is_empty() {
            margins |= rows.iter().any(|(row, _)| row.margin.is_some());
            panel(&mut canvas, columns, head, &rows);
        }
    }
    if margins {
        canvas.note("dashed: the margin, how much worse is accepted");
    }
    if !forest.missing.is_empty() {
        let names: Vec<&str> = forest.missing.iter().map(|(metric, _)| metric.name).collect();
        canvas.note(&format!("not compared: {}", names.join(", ")));
        for (metric, why) in &forest.missing {
            canvas.word(format!("{}: {}", metric.name, super::canvas::safe(why)));
        }
    }
    canvas.height += 8.0;
    canvas
}

fn text(row: &ForestRow) -> String {
    let change = Change::of(row.metric, &row.evidence, row.told).line();
    match (row.told, row.harm > 0.0) {
        (false, _) => change,
        (true, true) => format!("{change} worse"),
        (true, false) => format!("{change} better"),
    }
}

fn panel(canvas: &mut Canvas, columns: Columns, head: &str, rows: &[(&ForestRow, &String)]) {
    canvas.height += 18.0;
    canvas.text(LEFT, canvas.height - 4.0, SMALL, Anchor::Start, Ink::Muted, head);
    let far = rows.iter().flat_map(|(row, _)| {
        let ends = row.interval.map(|(low, high)| [low.abs(), high.abs()]);
        ends.into_iter().flatten().chain([row.harm.abs()]).chain(row.margin)
    });
    // One wild interval must not make all others a point: it ends in an arrow.
    let most = rows.iter().filter_map(|(row, _)| Some(row.harm.abs().max(row.margin?)));
    let most = most.fold(0.05, f64::max);
    let reach = (far.fold(0.05, f64::max) * 1.05).min(most * 8.0);
    let points = rows.iter().any(|(row, _)| row.scale == ForestScale::Points);
    let reach = if points { reach.min(1.0) } else { reach };
    let scale = Scale { low: -reach, high: reach, from: columns.from, to: columns.to };
    let (top, bottom) = (canvas.height, canvas.height + ROW * rows.len() as f64);
    let sign = |value: f64| match value {
        v if v > 0.0 => format!("+{:.0}", v * 100.0),
        v => format!("{:.0}", v * 100.0),
    };
    scale.grid(canvas, (top, bottom), &sign);
    canvas.line((scale.at(0.0), top), (scale.at(0.0), bottom), 1.5, Ink::Axis);
    for (row, text) in rows {
        let y = canvas.height + ROW / 2.0;
        let ink = match (row.told, row.harm > 0.0) {
            (false, _) => Ink::Neutral,
            (true, true) => Ink::Bad,
            (true, false) => Ink::Good,
        };
        columns.name(canvas, y, row.metric.name);
        if let Some(margin) = row.margin.filter(|margin| *margin <= reach) {
            let x = scale.at(margin);
            canvas.dashed((x, y - 10.0), (x, y + 10.0), 1.5, Ink::Text);
        }
        whisker(canvas, scale, y, row.interval, ink);
        let margin = row.margin.map(|margin| format!("; margin {:.1}", margin * 100.0));
        let told = format!("{}: {text}{}", row.metric.name, margin.unwrap_or_default());
        let difference = row.evidence.difference.unwrap_or(row.harm);
        canvas.dot(scale.at(row.harm), y, 4.5, ink).marks(
            row.metric.name,
            difference,
            told.clone(),
        );
        columns.number(canvas, y, text);
        canvas.word(told);
        canvas.height += ROW;
    }
    canvas.height += 30.0;
    let y = canvas.height - 2.0;
    canvas.text(scale.at(0.0) - 8.0, y, SMALL, Anchor::End, Ink::Muted, "← better");
    canvas.text(scale.at(0.0) + 8.0, y, SMALL, Anchor::Start, Ink::Muted, "worse →");
    canvas.height += 8.0;
}
