//! What was skipped, merged or doubted while reading, and where.

use std::fmt;

/// Where something stands in the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the input file, in reading order.
    pub file: u32,
    /// Line, from 1; 0 where the file is not read by lines.
    pub line: u64,
    /// Byte offset of the start of the record, from 0 (in the decompressed stream).
    pub byte: u64,
}

/// How much an issue weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Told, and nothing is lost by it.
    Note,
    /// Something is doubtful or incomplete.
    Warning,
    /// A record could not be read and is in no figure.
    Rejected,
}

/// One thing that a reader noticed about its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Stable code, such as `truncated_record` or `calls_without_span`.
    pub code: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// Where it was seen.
    pub place: Place,
    /// What was seen, as a lowercase fragment.
    pub message: String,
    /// How often.
    pub count: u64,
}

impl Issue {
    /// A record that could not be read.
    pub fn rejected(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Rejected, place, message: message.into(), count: 1 }
    }

    /// Something doubtful that the user should hear of.
    pub fn warning(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Warning, place, message: message.into(), count: 1 }
    }

    /// Something that `inspect` tells and that loses nothing.
    pub fn note(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Note, place, message: message.into(), count: 1 }
    }

    /// The same issue, seen `count` times.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
