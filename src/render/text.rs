//! A [`Doc`] for a terminal or a pipe: aligned columns, one line a row, at any width.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use unicode_width::UnicodeWidthStr;

use super::doc::{Align, Block, Doc, Fit, Table};
use super::mask::mask;
use super::safe::{one_line, shorten, shorten_start, wrap};

/// How text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether headings and warnings are coloured.
    pub color: bool,
}

/// Columns between two cells.
const GAP: usize = 2;
/// An elastic column is not cut below this.
const NARROWEST: usize = 12;

/// The document as text.
#[must_use]
pub fn text(doc: &Doc, style: Style) -> String {
    let mut out = String::new();
    let paint = |code: &str, text: &str| {
        if style.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    for block in &doc.blocks {
        match block {
            Block::Title(text) => out.push_str(&paint("1", &shown(text))),
            Block::Line(text) => out.push_str(&shown(text)),
            Block::Warning(text) => {
                out.push_str(&paint("33", "warning"));
                out.push_str(": ");
                out.push_str(&shown(text));
            }
            Block::Command(label, command) => {
                out.push_str(&format!("{label:<8}{}", shown(command)));
            }
            Block::Table(table) => out.push_str(&table_text(table, style, &paint)),
        }
        out.push('\n');
    }
    out
}

/// Text of a trace, or around it, as it may be shown.
fn shown(text: &str) -> String {
    one_line(&mask(text))
}

fn table_text(table: &Table, style: Style, paint: &dyn Fn(&str, &str) -> String) -> String {
    let cells: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| shown(cell)).collect()).collect();
    let limits = limits(table, &cells, style.width);
    let mut grid = comfy_table::Table::new();
    grid.load_style(presets::NOTHING);
    grid.set_content_arrangement(ContentArrangement::Disabled);
    let cut = |at: usize, text: &str| match (limits[at], table.columns[at].fit) {
        (None, _) | (_, Fit::Whole) => text.to_owned(),
        (Some(width), Fit::Cut) => shorten(text, width),
        (Some(width), Fit::CutStart) => shorten_start(text, width),
        (Some(width), Fit::Wrap) => wrap(text, width).join("\n"),
    };
    let names = table.columns.iter().map(|column| shown(&column.name)).enumerate();
    grid.set_header(names.map(|(at, name)| cut(at, &name)));
    for row in &cells {
        grid.add_row(row.iter().enumerate().map(|(at, cell)| cut(at, cell)));
    }
    for (column, wanted) in grid.column_iter_mut().zip(&table.columns) {
        column.set_padding((0, u16::try_from(GAP).unwrap_or(2)));
        column.set_cell_alignment(match wanted.align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    let mut lines: Vec<String> = grid.lines().map(|line| line.trim_end().to_owned()).collect();
    if let Some(head) = lines.first_mut() {
        *head = paint("2", head);
    }
    lines.join("\n")
}

/// The width that each elastic column may have, so that rows fit; `None` for no limit.
fn limits(table: &Table, cells: &[Vec<String>], width: usize) -> Vec<Option<usize>> {
    let natural: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let widest = cells.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max();
            widest.unwrap_or(0).max(column.name.width())
        })
        .collect();
    let mut limits = vec![None; natural.len()];
    let mut excess = (natural.iter().sum::<usize>() + GAP * natural.len().saturating_sub(1))
        .saturating_sub(width);
    // The widest elastic column gives way first, down to the next one, and so on.
    while excess > 0 {
        let now = |at: usize| limits[at].unwrap_or(natural[at]);
        let elastic = || (0..natural.len()).filter(|at| table.columns[*at].fit != Fit::Whole);
        let Some(widest) = elastic().max_by_key(|at| now(*at)).filter(|at| now(*at) > NARROWEST)
        else {
            break;
        };
        let next = elastic().map(now).filter(|width| *width < now(widest)).max().unwrap_or(0);
        let target = next.max(now(widest).saturating_sub(excess)).max(NARROWEST);
        excess -= (now(widest) - target).min(excess);
        limits[widest] = Some(target);
    }
    limits
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::super::doc::{Column, Doc, Table};
    use super::{Style, text};

    #[test]
    fn columns_stay_aligned_with_wide_and_long_names() {
        let mut doc = Doc::default();
        let names = ["数据分析任务".repeat(40), "🚧 emoji 任务".to_owned(), "plain".to_owned()];
        doc.table(Table {
            columns: vec![Column::elastic("task"), Column::right("value"), Column::note("note")],
            rows: names
                .iter()
                .map(|name| vec![name.clone(), "91.3%".into(), "word ".repeat(12)])
                .collect(),
        });
        for width in [40, 80, 120] {
            let lines = text(&doc, Style { width, color: false });
            let ends: Vec<_> = lines
                .lines()
                .filter(|line| line.contains("91.3%"))
                .map(|line| line.split("91.3%").next().unwrap_or_default().width())
                .collect();
            assert!(ends.iter().all(|end| *end == ends[0]), "{width}: {lines}");
            assert!(lines.lines().all(|line| line.width() <= width), "{width}: {lines}");
        }
    }
}
