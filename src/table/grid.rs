//! The result of a query as plain values, for renderers.

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// A text, as recorded: renderers mask and escape it.
    Text(String),
}

/// Named columns and rows of as many values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grid {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Whether each column holds numbers.
    pub numeric: Vec<bool>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}
