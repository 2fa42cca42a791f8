//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const OPENAI_RESPONSES: Format = Format {
    name: "openai-responses",
    about: "OpenAI Responses items",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
