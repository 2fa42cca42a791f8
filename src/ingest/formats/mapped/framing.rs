//! How a file is cut into records for a mapping.

use crate::config::mapping::Mapping;
use crate::config::mapping::path::Part;
use crate::ingest::quick;
use crate::ingest::split::Framing;

/// How the file that starts like this is cut.
///
/// Beside what holds for all formats, lines that are lists of their own are lines, and a named
/// prefix says that there are lines.
pub(in crate::ingest) fn framing(mapping: &Mapping, head: &[u8]) -> Framing {
    let mut lines = head.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|l| !l.is_empty());
    let is_list = |line: Option<&[u8]>| {
        line.is_some_and(|line| {
            line.starts_with(b"[") && quick::from_slice::<serde::de::IgnoredAny>(line).is_ok()
        })
    };
    if mapping.by_lines || (is_list(lines.next()) && is_list(lines.next())) {
        return Framing::Lines;
    }
    Framing::of(head)
}

/// Whether the file is a table: a column of its first row is one that the mapping reads, or its
/// first two lines have as many fields as each other and nothing looks like JSON.
pub(in crate::ingest) fn is_table(mapping: &Mapping, head: &[u8]) -> bool {
    let mut lines = head
        .split(|b| *b == b'\n')
        .map(String::from_utf8_lossy)
        .filter(|line| !line.trim().is_empty() && !line.starts_with("sep="))
        .take(50);
    let Some(first) = lines.next() else { return false };
    let named = mapping.by_lines || mapping.unwrap.is_some();
    if named || first.trim_start().starts_with(['{', '[']) {
        return false;
    }
    let names = first.split([',', '\t', ';', '|']).map(|name| name.trim().trim_matches('"').trim());
    let reads = |name: &str| {
        mapping.levels[1].paths.iter().any(|path| {
            path.to_string() == name
                || matches!(path.parts.as_slice(), [Part::Key(key)] if key == name)
        })
    };
    if names.filter(|name| !name.is_empty()).any(reads) {
        return true;
    }
    let fields = |line: &str| line.split([',', '\t', ';', '|']).count();
    let Some(second) = lines.next() else { return false };
    fields(&first) > 1
        && fields(&first) == fields(&second)
        && ![first, second].into_iter().chain(lines).any(|line| line.contains("{\""))
}
