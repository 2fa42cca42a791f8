//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const JAEGER: Format = Format {
    name: "jaeger",
    about: "Jaeger query results",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
