//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const VERCEL_AI: Format = Format {
    name: "vercel-ai",
    about: "steps and messages of the Vercel AI SDK",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
