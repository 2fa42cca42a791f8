//! Files that lie beside traces and are none, and logs that need a field mapping.
//!
//! Owns their shapes, told by content like formats, and the sentence that says what such a file
//! is. Refuses to read them.

use super::{Probe, Unclaimed};

/// What a known file that is no trace is; `None` where its shape is not known.
pub(super) fn named(_head: &[u8], _probe: &Probe<'_>) -> Option<Unclaimed> {
    None
}
