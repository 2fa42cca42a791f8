//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const LANGCHAIN: Format = Format {
    name: "langchain",
    about: "LangChain messages",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
