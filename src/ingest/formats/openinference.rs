//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const OPENINFERENCE: Format = Format {
    name: "openinference",
    about: "span lists of Phoenix and of the OpenTelemetry console exporter",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
