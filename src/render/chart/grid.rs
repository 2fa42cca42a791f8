//! Failed attempts by type against steps, tenths of a run or tools: a number in each cell.

use super::canvas::{Anchor, Canvas, safe};
use super::measure;
use super::style::{Ink, LABEL, LEFT, RIGHT, SMALL};
use crate::horizon::{ErrorGrid, Split};
use crate::render::count;
use crate::render::figures::plural;

/// How much of the colour the largest number has: less than would hide the number.
pub(super) const DARKEST: f64 = 0.5;
/// Height of a row.
const CELL: f64 = 26.0;

/// Draws the grid.
pub(super) fn draw(width: u32, grid: &ErrorGrid) -> Canvas {
    let title = match grid.split {
        Split::Decile => "Failed attempts by error type and part of the run",
        Split::Step => "Failed attempts by error type and step",
        Split::Tool => "Failed attempts by error type and tool",
    };
    let mut below = format!("{} failed {}", count(grid.total), plural(grid.total, "attempt"));
    if grid.left_out > 0 {
        let runs = plural(grid.left_out, "run");
        below.push_str(&format!(
            "; left out: {} {runs} whose order of steps is unknown",
            count(grid.left_out)
        ));
    }
    let mut canvas = Canvas::new(width, title, &below);
    if grid.total == 0 {
        canvas.sentence(match grid.left_out {
            0 => "No attempt failed.",
            _ => "No run with a failed attempt tells the order of its steps.",
        });
        return canvas;
    }
    let names = grid.kinds.iter().map(|(kind, _)| measure::width(&safe(kind), LABEL));
    let names = names.fold(40.0, f64::max).min(canvas.width * 0.32);
    let totals: Vec<String> =
        grid.kinds.iter().map(|(_, cells)| count(cells.iter().sum())).collect();
    let wide = totals.iter().map(|total| measure::width(total, LABEL)).fold(30.0, f64::max);
    let from = LEFT + names + 12.0;
    let to = canvas.width - RIGHT - wide - 12.0;
    let column = (to - from) / grid.columns.len().max(1) as f64;
    heads(&mut canvas, grid, from, column);
    let total_x = canvas.width - RIGHT;
    canvas.text(total_x, canvas.height - 6.0, SMALL, Anchor::End, Ink::Muted, "all");
    // What is put together does not set the shades: single types must differ.
    let single = grid.kinds.len() - usize::from(grid.others > 0 && grid.kinds.len() > 1);
    let cells = grid.kinds.iter().take(single).flat_map(|(_, cells)| cells);
    let most = cells.max().copied().unwrap_or(1).max(1);
    for ((kind, cells), total) in grid.kinds.iter().zip(&totals) {
        let y = canvas.height;
        canvas.name((LEFT, y + CELL / 2.0 + 4.0), LABEL, Anchor::Start, names, kind);
        let mut told = Vec::new();
        for (at, (number, head)) in cells.iter().zip(&grid.columns).enumerate() {
            let x = from + column * at as f64;
            cell(&mut canvas, (x, y, column), *number, most, kind, head);
            if *number > 0 {
                told.push(format!("{} {}", safe(head), count(*number)));
            }
        }
        canvas.text(total_x, y + CELL / 2.0 + 4.0, LABEL, Anchor::End, Ink::Text, total);
        canvas.word(format!("{}: {} ({})", safe(kind), total, told.join(", ")));
        canvas.height += CELL;
    }
    canvas.height += 6.0;
    match grid.split {
        Split::Decile => canvas.note("columns: tenths of a run's steps, named by where they end"),
        Split::Step => canvas.note("columns: steps, from 1"),
        Split::Tool => {}
    }
    canvas.height += 8.0;
    canvas
}

#[expect(clippy::cast_precision_loss, reason = "shades of a colour")]
fn cell(
    canvas: &mut Canvas,
    (x, y, width): (f64, f64, f64),
    number: u64,
    most: u64,
    kind: &str,
    head: &str,
) {
    if number == 0 {
        canvas.rect(x + 1.0, y + 1.0, width - 2.0, CELL - 2.0, Ink::Grid).opacity = 0.5;
        return;
    }
    let share = (number as f64 / most as f64).min(1.0);
    let shape = canvas.rect(x + 1.0, y + 1.0, width - 2.0, CELL - 2.0, Ink::Bad);
    // A light ground, so that 1 of many is still seen.
    shape.opacity = DARKEST * (0.16 + 0.84 * share);
    let name = format!("{kind} / {head}");
    shape.marks(&name, number as f64, format!("{}: {}", safe(&name), count(number)));
    let text = count(number);
    let thousands = number as f64 / 1000.0;
    let short = match number >= 1000 {
        true => [format!("{thousands:.1}k"), format!("{thousands:.0}k")],
        false => [String::new(), String::new()],
    };
    let fits = |text: &String| measure::width(text, SMALL) <= width - 2.0;
    if let Some(text) = std::iter::once(text).chain(short).find(fits) {
        let (x, y) = (x + width / 2.0, y + CELL / 2.0 + 4.0);
        canvas.text(x, y, SMALL, Anchor::Middle, Ink::Text, &text);
    }
}

/// Names of columns: level where they fit, else on steps below each other.
fn heads(canvas: &mut Canvas, grid: &ErrorGrid, from: f64, column: f64) {
    let names: Vec<String> = grid.columns.iter().map(|name| safe(name)).collect();
    let level = names.iter().all(|name| measure::width(name, SMALL) <= column - 2.0);
    let ordered = grid.split != Split::Tool;
    if level || ordered {
        canvas.height += 20.0;
        // As many as have room, evenly.
        let widest = names.iter().map(|name| measure::width(name, SMALL)).fold(0.0, f64::max);
        let every = ((widest + 4.0) / column).ceil().max(1.0) as usize;
        for (at, name) in names.iter().enumerate().step_by(every) {
            let x = from + column * (at as f64 + 0.5);
            canvas.text(x, canvas.height - 6.0, SMALL, Anchor::Middle, Ink::Muted, name);
        }
        return;
    }
    // Each name begins over its own column and has a line down to it.
    let count = names.len();
    let top = canvas.height;
    canvas.height += 16.0 * count as f64 + 8.0;
    for (at, name) in names.iter().enumerate() {
        let x = from + column * (at as f64 + 0.5);
        let y = top + 12.0 + 16.0 * at as f64;
        canvas.line((x, y - 6.0), (x, canvas.height - 2.0), 1.0, Ink::Grid);
        let after = canvas.width - RIGHT - 34.0 - x - 4.0;
        if measure::width(name, SMALL) <= after {
            canvas.name((x + 4.0, y), SMALL, Anchor::Start, after, name);
        } else {
            canvas.name((x - 4.0, y), SMALL, Anchor::End, x - LEFT - 8.0, name);
        }
    }
}
