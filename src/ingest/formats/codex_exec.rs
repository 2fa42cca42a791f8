//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const CODEX_EXEC: Format = Format {
    name: "codex-exec",
    about: "the output of codex exec --json",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
