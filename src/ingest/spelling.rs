//! Keys of records that are spelt almost like ones that are read.
//!
//! Owns how many records are looked over and that each finding is told once. What is misspelt is the
//! format's own knowledge.

use super::ReadError;
use super::formats::Format;
use super::read::{Session, Visitor};
use super::split::Span;
use crate::model::{Issue, Place};

/// Records of a file that are looked over for misspelt keys.
const SPELLED: usize = 8;

impl<V: Visitor> Session<'_, V> {
    /// Warns of misspelt keys in the first records of a file, each once.
    pub(super) fn spelling(
        &mut self,
        bytes: &[u8],
        spans: &[Span],
        file: u32,
        format: &Format,
    ) -> Result<(), ReadError> {
        let Some(misspelt) = format.misspelt else { return Ok(()) };
        let mut told = std::collections::BTreeSet::new();
        for span in spans.iter().take(SPELLED) {
            let place = Place { file, line: span.line, byte: span.start as u64 };
            for message in misspelt(&bytes[span.start..span.end]) {
                if told.insert(message.clone()) {
                    self.issue(Issue::warning("misspelt_key", place, message))?;
                }
            }
        }
        Ok(())
    }
}
