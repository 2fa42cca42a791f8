//! Bytes in pieces: records, repair, values, and what is found inside of records.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agenteval::ingest::quick;
use agenteval::ingest::repair::repair;
use agenteval::ingest::scan::{
    elements, end_of_value, find_arrays, first_object, keys_of_elements, top_keys,
};
use agenteval::ingest::split::{Framing, Span, Splitter, restarts, wrapped_elements};

use serde::de::{Deserialize, Deserializer, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

/// Keys that wrap records.
const WRAPPERS: [&str; 4] = ["runs", "traces", "data", "resourceSpans"];

/// A record: its first byte in the stream, its bytes and its line.
type Cut<'d> = (usize, &'d [u8], u64);

/// Splits a stream whose blocks end at `stops`, as reading does: what is not done with stays.
fn cut<'d>(data: &'d [u8], framing: Framing, stops: &[usize]) -> (Vec<Cut<'d>>, bool) {
    let mut splitter = Splitter::new(framing);
    let (mut records, mut done) = (Vec::new(), 0);
    for stop in stops.iter().copied().chain([data.len()]) {
        let mut spans: Vec<Span> = Vec::new();
        let buffer = &data[done..stop.max(done)];
        let end = stop == data.len();
        let more = splitter.split(buffer, end, &mut spans);
        assert!(more <= buffer.len(), "more is done with than there is");
        for span in spans {
            assert!(
                span.start < span.end && span.end <= buffer.len(),
                "a record outside: {span:?}"
            );
            records.push((done + span.start, &buffer[span.start..span.end], span.line));
        }
        done += more;
        if end {
            assert_eq!(done, data.len(), "bytes are left over");
            break;
        }
    }
    (records, splitter.cut_between())
}

/// Records are the same however their bytes come. The first byte chooses the framing, the second how
/// the rest is cut.
pub fn splitter(data: &[u8]) {
    let [framing, step, data @ ..] = data else { return };
    if data.is_empty() {
        return;
    }
    let told = Framing::of(data);
    let framing = match framing % 8 {
        0 => Framing::Lines,
        1 => Framing::Values,
        2 => Framing::Elements,
        3 => Framing::Rows(b','),
        4 => Framing::Rows(b'\t'),
        5 => Framing::Rows(b';'),
        _ => told,
    };
    let (records, open) = cut(data, framing, &[]);
    let (mut stops, mut at, step) = (Vec::new(), 0, usize::from(*step));
    while stops.len() < 4_096 {
        at += 1 + (step * (stops.len() + 1)) % 61;
        if at >= data.len() {
            break;
        }
        stops.push(at);
    }
    assert_eq!((&records, open), (&cut(data, framing, &stops).0, cut(data, framing, &stops).1));
    let middle = data.len() * step / 256;
    assert_eq!(
        (&records, open),
        (&cut(data, framing, &[middle]).0, cut(data, framing, &[middle]).1)
    );
    let mut end = 0;
    for (start, record, _) in &records {
        assert!(*start >= end, "records overlap");
        end = start + record.len();
        inside(record);
    }
}

/// A key that nobody wants.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Passed;

impl<'de> Deserialize<'de> for Passed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// JSON text that is read without serde_json's help is what serde_json reads.
pub fn values(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if quick::alone::<IgnoredAny>(text).is_some() {
        serde_json::from_str::<IgnoredAny>(text).expect("passed over");
    }
    if let Some(value) = quick::alone::<Value>(text) {
        assert_eq!(Some(value), serde_json::from_str(text).ok());
    }
    if quick::alone::<BTreeMap<Passed, IgnoredAny>>(text).is_some() {
        serde_json::from_str::<BTreeMap<Passed, IgnoredAny>>(text).expect("keys passed over");
    }
    if let Some(raw) = quick::alone::<BTreeMap<Cow<'_, str>, &RawValue>>(text) {
        let theirs: BTreeMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(text).expect("read as members");
        assert!(
            raw.iter()
                .map(|(key, raw)| (key, raw.get()))
                .eq(theirs.iter().map(|(key, raw)| (key, raw.get())))
        );
    }
}

/// What is found inside of a record lies inside of it, and what is repaired is JSON.
fn inside(record: &[u8]) {
    assert!(end_of_value(record).is_none_or(|end| end <= record.len()));
    assert!(find_arrays(record, &WRAPPERS).iter().all(|at| record[*at] == b'['));
    let keys = top_keys(record);
    assert_eq!(first_object(record).map(|object| object.keys).unwrap_or_default(), keys);
    for key in keys.iter().take(8) {
        let spans: Vec<Span> = elements(record, key).into_iter().flatten().take(50).collect();
        let inner = keys_of_elements(record, key, 50);
        let alone = spans.iter().map(|span| top_keys(&record[span.start..span.end]));
        assert!(alone.eq(inner), "keys of the elements of {key}");
    }
    for at in restarts(record, 2) {
        assert_eq!(record[at], b'{');
    }
    for span in wrapped_elements(record, &WRAPPERS).unwrap_or_default() {
        assert!(span.start < span.end && span.end <= record.len(), "an element outside: {span:?}");
    }
    match repair(record) {
        Ok(fixed) => {
            let json = serde_json::from_slice::<serde::de::IgnoredAny>(&fixed);
            // What is nested deeper than the parser goes is refused by it.
            let deep =
                json.as_ref().is_err_and(|error| error.to_string().contains("recursion limit"));
            assert!(deep || json.is_ok(), "{json:?}: {}", String::from_utf8_lossy(&fixed));
            if json.is_ok() {
                let value = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
                let again = repair(&fixed).expect("what is sound needs no repair");
                assert_eq!(value(&again), value(&fixed), "repaired twice");
            }
        }
        Err(error) => assert!(error.offset <= record.len()),
    }
}
