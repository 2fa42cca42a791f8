//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const OPENAI_CHAT: Format = Format {
    name: "openai-chat",
    about: "OpenAI chat messages",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
