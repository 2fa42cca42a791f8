//! Faults of the eval config: one message with what, where and how to mend it.

use std::fmt;
use std::ops::Range;

use super::source::line_and_column;
use crate::expr::snippet;

/// Why a config cannot be used.
///
/// [`Display`](fmt::Display) gives one line; [`render`](Self::render) shows the place in the file too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// What is wrong, as a lowercase fragment.
    pub message: String,
    /// How to mend it, as a lowercase fragment.
    pub help: Option<String>,
    /// Name of the file.
    pub file: String,
    /// Line and column, both from 1, where the place is known.
    pub line: Option<(u32, u32)>,
    /// JSON pointer to the value; empty for the config as a whole.
    pub pointer: String,
    /// The text of the file and the bytes to point at.
    shown: Option<Box<(String, Range<usize>)>>,
}

impl ConfigError {
    /// A fault of the file as a whole.
    pub(super) fn of_file(file: &str, message: impl Into<String>, help: &str) -> Self {
        Self {
            message: cut(message.into()),
            help: (!help.is_empty()).then(|| cut(help.to_owned())),
            file: file.to_owned(),
            line: None,
            pointer: String::new(),
            shown: None,
        }
    }

    pub(super) fn at(mut self, text: &str, span: Range<usize>, path: &[String]) -> Self {
        self.line = Some(line_and_column(text, span.start));
        self.shown = Some(Box::new((text.to_owned(), span)));
        self.pointer = cut(pointer(path));
        self
    }

    /// The fault by its pointer alone, where the text that was checked is not the file's own.
    pub(super) fn without_place(mut self) -> Self {
        (self.line, self.shown) = (None, None);
        self
    }

    /// The error with a caret under its place in the file. Plain text, without colour.
    #[must_use]
    pub fn render(&self) -> String {
        let Some((text, span)) = self.shown.as_deref() else { return format!("error: {self}") };
        snippet(&self.message, self.help.as_deref(), text, &self.file, span.clone(), &self.pointer)
    }
}

/// Cuts a message that quotes more than a line can hold.
fn cut(text: String) -> String {
    const MOST: usize = 700;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// A path as a JSON pointer (RFC 6901).
pub(super) fn pointer(path: &[String]) -> String {
    path.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect()
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        write!(f, " ({}", self.file)?;
        if let Some((line, column)) = self.line {
            write!(f, ":{line}:{column}")?;
        }
        if !self.pointer.is_empty() {
            write!(f, ", {}", self.pointer)?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for ConfigError {}
