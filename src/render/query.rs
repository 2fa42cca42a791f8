//! The result of a query: as a table, as JSON, as lines, as CSV.
//!
//! Texts are masked; floats are rounded to 12 digits, so that the order in which threads sum does not
//! show.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::csv::inert;
use super::doc::{Column, Doc, Table};
use super::json::{compact_json, pretty_json};
use super::mask::mask;
use super::number::count;
use crate::table::{Cell, Grid};

/// Digits of a float that are shown.
const DIGITS: usize = 12;

/// One row as an object.
struct RowWire<'g> {
    names: &'g [String],
    cells: &'g [Cell],
}

impl Serialize for RowWire<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.names.len()))?;
        for (name, cell) in self.names.iter().zip(self.cells) {
            match cell {
                Cell::Null => map.serialize_entry(name, &())?,
                Cell::Flag(flag) => map.serialize_entry(name, flag)?,
                Cell::Whole(number) => map.serialize_entry(name, number)?,
                Cell::Number(number) => map.serialize_entry(name, &rounded(*number))?,
                Cell::Text(text) => map.serialize_entry(name, &mask(text))?,
            }
        }
        map.end()
    }
}

fn rows(grid: &Grid) -> impl Iterator<Item = RowWire<'_>> {
    grid.rows.iter().map(|cells| RowWire { names: &grid.names, cells })
}

/// The rows as a JSON array of objects.
#[must_use]
pub fn grid_json(grid: &Grid) -> String {
    pretty_json(&rows(grid).collect::<Vec<_>>())
}

/// The rows as lines of JSON.
#[must_use]
pub fn grid_lines(grid: &Grid) -> String {
    rows(grid).map(|row| compact_json(&row) + "\n").collect()
}

/// The rows as CSV with a header. A text that a spreadsheet would run as a formula gets a leading `'`.
#[must_use]
pub fn grid_csv(grid: &Grid) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut row = |cells: Vec<String>| writer.write_record(cells).is_ok();
    row(grid.names.iter().map(|name| inert(name)).collect());
    for cells in &grid.rows {
        row(cells
            .iter()
            .map(|cell| match cell {
                Cell::Text(text) => inert(text),
                cell => plain(cell),
            })
            .collect());
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The rows as a table, and how many there are.
#[must_use]
pub fn grid_doc(grid: &Grid) -> Doc {
    let mut doc = Doc::default();
    let columns = grid.names.iter().zip(&grid.numeric);
    doc.table(Table {
        columns: columns.map(|(name, numeric)| Column::named(name.clone(), *numeric)).collect(),
        rows: grid
            .rows
            .iter()
            .map(|row| {
                row.iter()
                    .map(|cell| match cell {
                        Cell::Number(number) => shown(*number),
                        Cell::Null => "-".to_owned(),
                        cell => plain(cell),
                    })
                    .collect()
            })
            .collect(),
    });
    let rows = grid.rows.len();
    doc.line(format!("{} row{}", count(rows as u64), if rows == 1 { "" } else { "s" }));
    doc
}

fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Whole(number) => number.to_string(),
        Cell::Number(number) => rounded(*number).map(|n| n.to_string()).unwrap_or_default(),
        Cell::Text(text) => text.clone(),
    }
}

/// A number for people: to 6 decimals, and smaller ones to 6 digits.
fn shown(number: f64) -> String {
    let text = match number.abs() {
        size if size > 0.0 && size < 1e-3 => format!("{number:.5e}"),
        _ => format!("{number:.6}"),
    };
    text.parse().map_or(text, |number: f64| (number + 0.0).to_string())
}

/// The number to 12 digits; `None` for what is none.
fn rounded(number: f64) -> Option<f64> {
    if !number.is_finite() {
        return None;
    }
    format!("{number:.*e}", DIGITS - 1).parse().ok().map(|number: f64| number + 0.0)
}

#[cfg(test)]
mod tests {
    use super::{grid_csv, grid_lines};
    use crate::table::{Cell, Grid};

    #[test]
    fn values_are_typed_rounded_masked_and_inert() {
        let secret = format!("sk-{}", "Ab1".repeat(14));
        let grid = Grid {
            names: vec!["a".into(), "=b".into()],
            numeric: vec![true, false],
            rows: vec![
                vec![Cell::Number(0.1 + 0.2), Cell::Text(format!("=x {secret}"))],
                vec![Cell::Number(f64::NAN), Cell::Null],
                vec![Cell::Whole(7), Cell::Flag(true)],
            ],
        };
        let lines = grid_lines(&grid);
        assert_eq!(
            lines,
            "{\"a\":0.3,\"=b\":\"=x sk-[masked]\"}\n{\"a\":null,\"=b\":null}\n{\"a\":7,\"=b\":true}\n"
        );
        assert_eq!(grid_csv(&grid), "a,'=b\n0.3,'=x sk-[masked]\n,\n7,true\n");
    }
}
