//! How a file is cut into records for a mapping.

use crate::config::mapping::path::Part;
use crate::config::mapping::{Mapping, Prefix};
use crate::ingest::split::Framing;

/// How the file that starts like this is cut.
///
/// Beside what holds for all formats, lines that are lists of their own are lines, and a named
/// prefix says that there are lines.
pub(in crate::ingest) fn framing(mapping: &Mapping, head: &[u8]) -> Framing {
    let mut lines = head.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|l| !l.is_empty());
    let is_list = |line: Option<&[u8]>| {
        line.is_some_and(|line| {
            line.starts_with(b"[") && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
        })
    };
    if mapping.by_lines || (is_list(lines.next()) && is_list(lines.next())) {
        return Framing::Lines;
    }
    Framing::of(head)
}

/// Whether the file is a table: a column of its first row is one that the mapping reads.
pub(in crate::ingest) fn is_table(mapping: &Mapping, head: &[u8]) -> bool {
    let first = head.split(|b| *b == b'\n').find(|line| !line.trim_ascii().is_empty());
    let Some(first) = first.map(|line| String::from_utf8_lossy(line)) else { return false };
    if mapping.by_lines
        || !matches!(mapping.prefix, Prefix::Container | Prefix::None)
        || first.trim_start().starts_with(['{', '['])
    {
        return false;
    }
    let after_sep = first.starts_with("sep=");
    let names = first.split([',', '\t', ';', '|']).map(|name| name.trim().trim_matches('"').trim());
    let reads = |name: &str| {
        mapping.levels[1].paths.iter().any(|path| {
            path.to_string() == name
                || matches!(path.parts.as_slice(), [Part::Key(key)] if key == name)
        })
    };
    after_sep || names.filter(|name| !name.is_empty()).any(reads)
}
