//! What is done with the bytes of each target, and what must hold for whatever they are.
//!
//! The fuzz targets call these functions, and so does the test that replays `fixtures/fuzz/`. A
//! finding is a panic: in the program, or here, where something that must hold does not.

#![allow(dead_code, unreachable_pub, reason = "each program that includes this uses some of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the finding")]

mod files;
mod look;
mod pieces;
mod written;

pub use files::{convert, detect, folder, mapping, readers};
pub use pieces::{splitter, values};
pub use written::{baselines, config, expressions};

/// What is done with the bytes of a target.
pub type Entry = fn(&[u8]);

/// Every target with its entry.
pub const ENTRIES: [(&str, Entry); 10] = [
    ("baselines", baselines),
    ("config", config),
    ("convert", convert),
    ("detect", detect),
    ("expressions", expressions),
    ("folder", folder),
    ("mapping", mapping),
    ("readers", readers),
    ("splitter", splitter),
    ("values", values),
];

/// The line that parts an input into two texts.
const PARTED: &[u8] = b"\n%%\n";

/// What stands before and behind the parting line; all is before it where there is none.
fn parted(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.windows(PARTED.len()).position(|found| found == PARTED);
    at.map_or((data, &[]), |at| (&data[..at], &data[at + PARTED.len()..]))
}
