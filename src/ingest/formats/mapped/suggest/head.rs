//! The records at the start of a file, as JSON.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::super::super::split::Splitter;
use super::RECORDS;
use super::shapes::Shapes;
use crate::config::mapping::Mapping;
use crate::config::mapping::path::Part;
use crate::ingest::quick;

/// The records of the start of a file, as JSON.
pub(super) fn records(text: &[u8], whole: bool) -> Vec<Box<RawValue>> {
    let plain = Mapping::default();
    let json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    let mut splitter = Splitter::new(super::super::framing(&plain, text));
    let mut spans = Vec::new();
    splitter.split(text, whole, &mut spans);
    let read = |span: &crate::ingest::split::Span| {
        let bytes = text.get(span.start..span.end)?;
        // In front of the JSON of a log line may stand what a container runtime writes.
        let start = if json { 0 } else { memchr::memchr(b'{', bytes)? };
        quick::from_slice::<Box<RawValue>>(bytes.get(start..)?).ok()
    };
    let found: Vec<_> = spans.iter().filter_map(read).take(RECORDS).collect();
    if json || !found.is_empty() {
        return found;
    }
    rows(text)
}

/// The rows of a table, as JSON objects of texts.
pub(super) fn rows(text: &[u8]) -> Vec<Box<RawValue>> {
    let first = text.split(|b| *b == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| first.iter().filter(|b| **b == delimiter).count();
    let delimiter =
        [b',', b'\t', b';', b'|'].into_iter().rev().max_by_key(|d| count(*d)).unwrap_or(b',');
    if count(delimiter) == 0 {
        return Vec::new();
    }
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(text);
    let Ok(names) = reader.byte_headers().cloned() else { return Vec::new() };
    let cell = |cell: &[u8]| String::from_utf8_lossy(cell).trim().to_owned();
    reader
        .byte_records()
        .take(RECORDS)
        .filter_map(Result::ok)
        .filter_map(|row| {
            let object: serde_json::Map<String, Value> = names
                .iter()
                .zip(row.iter())
                .map(|(n, c)| (cell(n), Value::from(cell(c))))
                .collect();
            serde_json::value::to_raw_value(&object).ok()
        })
        .collect()
}

/// The shapes of the elements of a list.
pub(super) fn inside(records: &[Box<RawValue>], list: &str) -> Shapes {
    let mut shapes = Shapes::default();
    let Ok(path) = crate::config::mapping::path::Path::read(list) else { return shapes };
    for record in records {
        let mut at: Option<&RawValue> = Some(record);
        for part in &path.parts {
            let Part::Key(key) = part else { continue };
            at = at.and_then(|raw| {
                let members: BTreeMap<String, &RawValue> = quick::from_str(raw.get()).ok()?;
                members.get(key).copied()
            });
        }
        for element in at.map(super::super::extract::elements).unwrap_or_default() {
            if shapes.records < RECORDS as u64 {
                shapes.take(element);
            }
        }
    }
    shapes
}
