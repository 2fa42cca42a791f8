//! Faults of expressions, told to people: what, where in the source, how to mend.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Why an expression does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprError {
    /// What is wrong, as a lowercase fragment.
    pub message: String,
    /// How to mend it, as a lowercase fragment, where that is known.
    pub help: Option<String>,
    /// The place in the source, in bytes; empty at the end for what is missing there.
    pub range: Range<usize>,
}

impl ExprError {
    pub(crate) fn new(message: impl Into<String>, range: Range<usize>) -> Self {
        Self { message: message.into(), help: None, range }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The error with a caret under its place in `source`; `name` says where the expression
    /// stands, such as `--where`. Plain text, without colour.
    #[must_use]
    pub fn render(&self, source: &str, name: &str) -> String {
        snippet(&self.message, self.help.as_deref(), source, name, self.range.clone(), "")
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for ExprError {}

/// A message with a caret under `range` of `source`, as plain text without colour.
///
/// A range outside the source, or inside a character, is moved to the nearest sound place.
#[must_use]
pub fn snippet(
    message: &str,
    help: Option<&str>,
    source: &str,
    name: &str,
    range: Range<usize>,
    label: &str,
) -> String {
    let start = source.floor_char_boundary(range.start.min(source.len()));
    let end = source.ceil_char_boundary(range.end.clamp(start, source.len()));
    let mut annotation = AnnotationKind::Primary.span(start..end);
    if !label.is_empty() {
        annotation = annotation.label(label);
    }
    let group = Level::ERROR
        .primary_title(message)
        .element(Snippet::source(source).path(name).annotation(annotation));
    let group = match help {
        Some(help) => group.element(Level::HELP.message(help)),
        None => group,
    };
    Renderer::plain().term_width(120).render(&[group])
}
