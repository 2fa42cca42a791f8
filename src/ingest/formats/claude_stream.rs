//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const CLAUDE_STREAM: Format = Format {
    name: "claude-stream",
    about: "the stream-json output of Claude Code",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
