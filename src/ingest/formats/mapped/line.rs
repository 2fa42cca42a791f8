//! From the lines of a log to records: what stands in front of the JSON, and lines in pieces.
//!
//! Owns the prefixes of container runtimes (`TIME stream F `), the joining of partial lines by
//! file and stream, and lines that are no JSON. Refuses to guess where a line was cut by anything
//! but its flag.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::{Fate, Refusal};
use crate::config::mapping::{Mapping, Prefix};
use crate::model::{Issue, Place};

/// Bytes of a line in pieces; container runtimes cut at 16 KB, and no record is as large as this.
const MOST: usize = 64 << 20;

/// Lines whose last piece has not come yet, by file and stream.
#[derive(Default)]
pub(super) struct Partial {
    open: BTreeMap<(u32, Vec<u8>), (Place, Vec<u8>)>,
}

/// What a line is.
pub(super) enum LineIs<'l> {
    /// A record.
    Record(Cow<'l, [u8]>),
    /// Something else.
    Other(Fate),
}

impl Partial {
    /// Takes one line.
    pub(super) fn take<'l>(
        &mut self,
        line: &'l [u8],
        place: Place,
        mapping: &Mapping,
    ) -> LineIs<'l> {
        let text = match &mapping.prefix {
            Prefix::None => line,
            Prefix::Any => memchr::memchr(b'{', line).and_then(|at| line.get(at..)).unwrap_or(line),
            Prefix::Pattern(pattern) => {
                let found = std::str::from_utf8(line).ok().and_then(|text| pattern.find(text));
                found.and_then(|found| line.get(found.end()..)).unwrap_or(line)
            }
            Prefix::Container => match container(line) {
                Some((stream, true, text)) => return self.piece(stream, text, place),
                Some((stream, false, text)) => {
                    match self.open.remove(&(place.file, stream.to_vec())) {
                        Some((_, mut whole)) => {
                            whole.extend_from_slice(text);
                            return is_record(Cow::Owned(whole), mapping);
                        }
                        None => text,
                    }
                }
                None => line,
            },
        };
        is_record(Cow::Borrowed(text), mapping)
    }

    fn piece(&mut self, stream: &[u8], text: &[u8], place: Place) -> LineIs<'static> {
        let (_, open) =
            self.open.entry((place.file, stream.to_vec())).or_insert_with(|| (place, Vec::new()));
        if open.len() + text.len() > MOST {
            open.clear();
            let message = format!("a line in pieces has more than {MOST} bytes");
            return LineIs::Other(Fate::Refused(Refusal::of("record_too_large", message)));
        }
        open.extend_from_slice(text);
        LineIs::Other(Fate::Merged("piece_of_a_line"))
    }

    /// What is left of lines whose end never came.
    pub(super) fn finish(self) -> Vec<Issue> {
        let cut = |((_, _), (place, _)): ((u32, Vec<u8>), (Place, Vec<u8>))| {
            Issue::rejected(
                "truncated_record",
                place,
                "a line in pieces (flag P) has no last piece (flag F)",
            )
        };
        self.open.into_iter().map(cut).collect()
    }
}

fn is_record<'l>(text: Cow<'l, [u8]>, mapping: &Mapping) -> LineIs<'l> {
    match text.trim_ascii_start().first() {
        Some(b'{' | b'[') => LineIs::Record(text),
        _ if mapping.refuses_other => {
            LineIs::Other(Fate::Refused(Refusal::of("no_json_line", "the line is no JSON")))
        }
        _ => LineIs::Other(Fate::Ignored("no_json_line")),
    }
}

/// The stream, whether more of the line follows, and the text of a line of a container runtime:
/// `2026-01-01T00:00:00.1Z stdout F {...}`.
fn container(line: &[u8]) -> Option<(&[u8], bool, &[u8])> {
    if !line.first()?.is_ascii_digit() {
        return None;
    }
    let (time, rest) = split(line)?;
    let (stream, rest) = split(rest)?;
    let (flags, text) = split(rest).or_else(|| Some((rest, &rest[rest.len()..])))?;
    let sound = time.len() >= 20
        && time.get(10) == Some(&b'T')
        && matches!(stream, b"stdout" | b"stderr")
        && matches!(flags.first(), Some(b'P' | b'F'))
        && flags.get(1).is_none_or(|b| *b == b':');
    sound.then_some((stream, flags.first() == Some(&b'P'), text))
}

fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b' ', text)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}
