//! Joins, dedupes and orders the parts of runs that are spread over records and files.
//!
//! Owns what several formats share: the span tree, and the count of
//! what became of parts that are smaller than a record. Refuses wire structs and file
//! shapes; those stay with their format.

pub mod spans;
pub mod tally;

use std::cmp::Reverse;
use std::collections::HashMap;

/// The model that is named most often; the one named first of two with as many.
pub(crate) fn main_model<'n>(names: impl Iterator<Item = &'n str>) -> Option<String> {
    let mut counts: HashMap<&str, (u64, Reverse<usize>)> = HashMap::new();
    for (rank, name) in names.enumerate() {
        counts.entry(name).or_insert((0, Reverse(rank))).0 += 1;
    }
    counts.into_iter().max_by_key(|(_, order)| *order).map(|(name, _)| name.to_owned())
}
