//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const OPENAI_AGENTS: Format = Format {
    name: "openai-agents",
    about: "traces of the OpenAI Agents SDK",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
