//! The start of a file, from which a mapping is drafted.
//!
//! Owns opening and decompressing it. Refuses to guess; `formats::mapped::suggest` does.

use std::path::Path;

use super::ReadError;
use super::formats::mapped::suggest::{Suggested, draft};
use super::source::{self, Stream};

/// Bytes of a file that are looked at.
const HEAD: usize = 8 << 20;

/// Drafts a mapping for a file, of which only the start is read.
///
/// # Errors
/// A file that cannot be read, or that holds neither JSON nor a table.
pub fn suggest_mapping(path: &Path) -> Result<Suggested, ReadError> {
    let fail =
        |reason: &str| ReadError::Unreadable { path: path.to_owned(), reason: reason.to_owned() };
    let Stream::Bytes(mut stream) = source::open(path)? else {
        return Err(fail("an archive: unpack it and give one of its files"));
    };
    let mut head = vec![0; HEAD];
    let (length, _) = source::read_up_to(&mut stream, &mut head);
    head.truncate(length);
    let begins = head.trim_ascii_start().first();
    let cut = length == HEAD && matches!(begins, Some(b'{' | b'['));
    suggest_mapping_of(&head, length < HEAD).ok_or_else(|| match cut {
        true => fail(&format!(
            "its first record is longer than the {} MiB that are looked at; give a file of shorter ones",
            HEAD >> 20
        )),
        false => fail("neither JSON nor a table with a header row, so there is nothing to map"),
    })
}

/// Drafts a mapping from the start of a file, of which `whole` says whether it is all of it; `None`
/// where it holds neither JSON nor a table.
#[must_use]
pub fn suggest_mapping_of(head: &[u8], whole: bool) -> Option<Suggested> {
    draft(head, whole)
}
