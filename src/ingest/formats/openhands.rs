//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const OPENHANDS: Format = Format {
    name: "openhands",
    about: "OpenHands outputs and events",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
