//! Whether the messages of one record go on from those of the record before it, as in a log of
//! growing requests.
//!
//! Owns the comparison, which is one of bytes: one writer writes a message the same way each time.
//! Refuses to merge: records are read in parallel, each as whole runs.

use crate::ingest::scan::end_of_value;
use crate::model::{Issue, Place};

/// Keys whose list holds the messages of a request.
const LISTS: [&[u8]; 2] = [b"\"messages\"", b"\"input\""];

/// Bytes that are compared at once.
const CHUNK: usize = 64;

/// Whether the list of messages in a record begins with the whole list in the record before it.
pub(in crate::ingest) fn repeats(before: &[u8], record: &[u8]) -> bool {
    let (Some(before), Some(record)) = (list(before), list(record)) else { return false };
    let same = shared(before, record);
    let rest =
        |list: &'_ [u8]| -> Option<u8> { list.get(same..)?.trim_ascii_start().first().copied() };
    if (rest(before), rest(record)) != (Some(b']'), Some(b',')) {
        return false;
    }
    // The bracket may be that of a list inside of a message.
    let end = before.get(same..).map(|rest| same + rest.len() - rest.trim_ascii_start().len() + 1);
    let some = before.get(1..).is_some_and(|rest| rest.trim_ascii_start().first() != Some(&b']'));
    some && end_of_value(before) == end
}

/// That `count` records repeat what is in the ones before them, the first of them at `place`.
pub(in crate::ingest) fn told(place: Place, count: u64) -> Issue {
    let message = "the messages begin with all of those of the record before: in a log of growing requests each call counts once for every record that holds it; keep the last record of each conversation";
    Issue::warning("history_repeated", place, message).times(count)
}

/// A record from the list of its messages on.
fn list(record: &[u8]) -> Option<&[u8]> {
    let record = record.trim_ascii_start();
    if record.first() == Some(&b'[') {
        return Some(record);
    }
    LISTS.iter().find_map(|key| {
        memchr::memmem::find_iter(record, key).find_map(|at| {
            let value = record.get(at + key.len()..)?.trim_ascii_start().strip_prefix(b":")?;
            let value = value.trim_ascii_start();
            (value.first() == Some(&b'[')).then_some(value)
        })
    })
}

/// How many bytes two texts have in common at their start.
fn shared(one: &[u8], other: &[u8]) -> usize {
    let chunks = one.chunks_exact(CHUNK).zip(other.chunks_exact(CHUNK));
    let whole = chunks.take_while(|(one, other)| one == other).count() * CHUNK;
    let rest = one.iter().skip(whole).zip(other.iter().skip(whole));
    whole + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::repeats;

    #[test]
    fn a_request_that_grew_repeats_the_one_before_and_others_do_not() {
        let first = br#"{"model":"m","messages":[{"a":[1]},{"b":2}],"n":1}"#;
        let grown = br#"{"model":"other","messages":[{"a":[1]},{"b":2},{"c":3}],"n":1}"#;
        assert!(repeats(first, grown));
        assert!(!repeats(first, first), "a request that is made again is no longer one");
        assert!(!repeats(grown, first));
        assert!(!repeats(br#"[{"a":[1]}]"#, br#"[{"a":[1,2]}]"#), "a list inside of a message");
        assert!(repeats(b"[\n {\"a\":1}\n]", b"[\n {\"a\":1},\n {\"b\":1}\n]"));
        assert!(!repeats(b"[]", b"[1]"));
        assert!(!repeats(b"[", b"{"));
        assert!(repeats(br#"{"input":[1]}"#, br#"{"input":[1,2]}"#));
    }
}
