//! The small document that results build and that text and Markdown renderers take.

use std::borrow::Cow;

/// Lines and tables in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doc {
    /// Its parts, in order.
    pub blocks: Vec<Block>,
}

/// A part of a [`Doc`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A heading.
    Title(String),
    /// A line of text.
    Line(String),
    /// A table.
    Table(Table),
    /// Something to be warned of.
    Warning(String),
    /// A command to type, and what for.
    Command(&'static str, String),
}

/// A table; every row has one cell per column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: Cow<'static, str>,
    /// Where its cells stand.
    pub align: Align,
    /// What happens to cells that do not fit.
    pub fit: Fit,
}

/// What happens to a cell that is wider than its column may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The column is as wide as its cells.
    Whole,
    /// The end is cut: names and messages.
    Cut,
    /// The start is cut, because the end tells more: paths.
    CutStart,
    /// It goes on in the next line: notes.
    Wrap,
}

/// Where cells stand in their column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the left.
    Left,
    /// At the right.
    Right,
}

impl Column {
    /// A column of numbers.
    #[must_use]
    pub const fn right(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), align: Align::Right, fit: Fit::Whole }
    }

    /// A column of short fixed words.
    #[must_use]
    pub const fn left(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), align: Align::Left, fit: Fit::Whole }
    }

    /// A column of texts that may be cut to fit.
    #[must_use]
    pub const fn elastic(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), align: Align::Left, fit: Fit::Cut }
    }

    /// A column of paths, of which the end is kept.
    #[must_use]
    pub const fn path(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), align: Align::Left, fit: Fit::CutStart }
    }

    /// A column whose name is not known before, of numbers or of texts that may be cut to fit.
    #[must_use]
    pub const fn named(name: String, numeric: bool) -> Self {
        let (align, fit) = match numeric {
            true => (Align::Right, Fit::Whole),
            false => (Align::Left, Fit::Cut),
        };
        Self { name: Cow::Owned(name), align, fit }
    }

    /// A column of notes, which wrap.
    #[must_use]
    pub const fn note(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), align: Align::Left, fit: Fit::Wrap }
    }
}

impl Doc {
    /// Adds a heading.
    pub fn title(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Title(text.into()));
    }

    /// Adds a line.
    pub fn line(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Line(text.into()));
    }

    /// Adds a warning.
    pub fn warning(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Warning(text.into()));
    }

    /// Adds a command to type; `label` says what for.
    pub fn command(&mut self, label: &'static str, command: impl Into<String>) {
        self.blocks.push(Block::Command(label, command.into()));
    }

    /// Adds a table, unless it has no rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }
}
