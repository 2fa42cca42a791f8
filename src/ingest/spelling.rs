//! Keys of records that are spelt almost like ones that are read.
//!
//! Owns how many records are looked over and that each finding is told once. What is misspelt is the
//! format's own knowledge.

use super::ReadError;
use super::formats::Format;
use super::read::{Session, Visitor};
use super::scan::FirstObject;
use super::split::Span;
use crate::model::{Issue, Place};

/// Records of a file that are looked over for misspelt keys.
const SPELLED: usize = 8;

/// What is misspelt in the first records of a file, each once. `bytes` come with their offset in the
/// file; `first` is the object that they begin with, where that was passed over before.
pub(super) fn misspelt(
    (bytes, base): (&[u8], u64),
    spans: &[Span],
    (file, format): (u32, &Format),
    first: Option<&FirstObject>,
) -> Vec<Issue> {
    let Some(misspelt) = format.misspelt else { return Vec::new() };
    let (mut told, mut issues) = (std::collections::BTreeSet::new(), Vec::new());
    for span in spans.iter().take(SPELLED) {
        let place = Place { file, line: span.line, byte: base + span.start as u64 };
        let known = first.filter(|first| first.start == span.start && first.end == Some(span.end));
        let known = known.map(|first| first.keys.as_slice());
        for message in misspelt(&bytes[span.start..span.end], known) {
            if told.insert(message.clone()) {
                issues.push(Issue::warning("misspelt_key", place, message));
            }
        }
    }
    issues
}

impl<V: Visitor> Session<'_, V> {
    /// Warns of misspelt keys in the first records of a file.
    pub(super) fn spelling(
        &mut self,
        bytes: (&[u8], u64),
        spans: &[Span],
        file: u32,
        format: &Format,
    ) -> Result<(), ReadError> {
        misspelt(bytes, spans, (file, format), None)
            .into_iter()
            .try_for_each(|issue| self.issue(issue))
    }
}
