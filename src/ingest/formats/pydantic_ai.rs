//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const PYDANTIC_AI: Format = Format {
    name: "pydantic-ai",
    about: "Pydantic-AI messages",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
