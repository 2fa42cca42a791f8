//! From a record of a tracing format to spans, and the values that such formats share.
//!
//! Owns the assembler of all formats whose records hold spans, what becomes of a record by what
//! was found in it, and three spellings: times of many units, JSON inside of texts, and attributes
//! whose keys are dotted or nested. Refuses the shapes of records, which stay with their format.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::otlp::attributes::is_read;
use super::otlp::wire::Attributes;
use super::raw::{Entries, label, read};
use super::{Assembler, Fate, Parsed, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::spans::{Head, Span, Spans};
use crate::ingest::quick;
use crate::model::{Place, Severity, Stamp};

/// Reads the spans of one record's text. What is found counts only if the whole record is read.
pub(super) type ReadRecord = fn(text: &str, found: &mut Found) -> Result<(), Refusal>;

/// The assembler of a format whose records are read by `read`.
pub(super) fn assembler(options: &ReadOptions, read: ReadRecord) -> Box<dyn Assembler> {
    Box::new(OfSpans { spans: Spans::default(), raw: options.raw_attempts, read })
}

struct OfSpans {
    spans: Spans,
    raw: bool,
    read: ReadRecord,
}

impl Assembler for OfSpans {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        let mut found = Found::new(record.place, self.raw);
        match text(record).and_then(|text| (self.read)(text, &mut found)) {
            Ok(()) => found.hand_over(&mut self.spans),
            Err(refusal) => Fate::Refused(refusal),
        }
    }

    fn finish(self: Box<Self>) -> Parsed<'static> {
        self.spans.finish()
    }
}

/// A record's bytes as text.
pub(super) fn text<'r>(record: &Record<'r>) -> Result<&'r str, Refusal> {
    std::str::from_utf8(record.bytes).map_err(|error| Refusal {
        code: "invalid_utf8",
        message: error.to_string(),
        repairable: true,
    })
}

/// What one record holds, kept apart until the whole record is read.
pub(super) struct Found {
    /// Where the record stands.
    pub(super) place: Place,
    /// Whether the JSON text of spans is to be kept.
    pub(super) raw: bool,
    /// Values of attributes that could not be read.
    pub(super) undecodable: u64,
    seen: u64,
    spans: Vec<(String, Span)>,
    heads: Vec<(String, Head)>,
    refused: Vec<(&'static str, u64)>,
    notes: Vec<(&'static str, &'static str, u64)>,
}

impl Found {
    pub(super) fn new(place: Place, raw: bool) -> Self {
        let (spans, heads, refused, notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { place, raw, undecodable: 0, seen: 0, spans, heads, refused, notes }
    }

    /// Takes one span of a run.
    pub(super) fn span(&mut self, run: String, span: Span) {
        self.seen += 1;
        self.spans.push((run, span));
    }

    /// Takes what is said of a run as a whole.
    pub(super) fn head(&mut self, run: String, head: Head) {
        self.heads.push((run, Head { place: self.place, ..head }));
    }

    /// Counts a span that cannot be read, by rule.
    pub(super) fn refuse(&mut self, rule: &'static str) {
        self.seen += 1;
        match self.refused.iter_mut().find(|(have, _)| *have == rule) {
            Some((_, count)) => *count += 1,
            None => self.refused.push((rule, 1)),
        }
    }

    /// Counts something that is not used, by code and rule.
    pub(super) fn note(&mut self, code: &'static str, rule: &'static str, count: u64) {
        self.notes.push((code, rule, count));
    }

    /// Gives all to the runs, and says what became of the record.
    pub(super) fn hand_over(self, spans: &mut Spans) -> Fate {
        let (mut new_span, mut new_head) = (false, false);
        let (total, told) = (self.spans.len(), !self.heads.is_empty());
        for (run, span) in self.spans {
            new_span |= spans.push(&run, span);
        }
        for (run, head) in self.heads {
            new_head |= spans.describe(&run, head);
        }
        let tally = &mut spans.tally;
        let undecodable = "values of attributes that a figure reads and that are of no known type";
        let code = "undecodable_attributes";
        tally.add(code, Severity::Warning, self.place, undecodable, self.undecodable);
        for (rule, count) in self.refused {
            tally.add("spans_rejected", Severity::Rejected, self.place, rule, count);
        }
        for (code, rule, count) in self.notes {
            tally.add(code, Severity::Note, self.place, rule, count);
        }
        match (self.seen, total) {
            (0, _) if !told => Fate::Ignored("no_spans"),
            (seen, 0) if !told => Fate::Refused(Refusal::of(
                "no_readable_span",
                format!("none of its {seen} spans can be read"),
            )),
            _ if new_span || new_head => Fate::Used,
            (0, _) => Fate::Merged("duplicate_trace"),
            _ => Fate::Merged("duplicate_span"),
        }
    }
}

/// Which zone a time without one is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// Nobody knows; it is kept as a time without zone.
    Unknown,
    /// UTC, by the format's documentation.
    Utc,
}

/// A time as text or number: nanoseconds where it can be read, else as it is written, so that a
/// time which is there is not taken for one that is not.
pub(super) fn instant(raw: Option<&RawValue>, zone: Zone) -> Option<Stamp<'static>> {
    let written = label(raw?)?;
    let written = written.trim();
    if written.is_empty() {
        return None;
    }
    if let Ok(number) = written.parse::<u64>() {
        return of_magnitude(number).map(Stamp::Nanos);
    }
    let stamp = match written.parse::<f64>() {
        Ok(number) => Stamp::Number(number),
        Err(_) => Stamp::Text(Cow::Borrowed(written)),
    };
    let nanos = |micros: i64| u64::try_from(micros).ok()?.checked_mul(1000).filter(|n| *n > 0);
    let time = stamp.time().filter(|time| time.zoned || zone == Zone::Utc);
    let nanos = time.and_then(|time| nanos(time.micros));
    Some(nanos.map_or_else(|| stamp.into_owned(), Stamp::Nanos))
}

/// Nanoseconds of a whole number of seconds, milliseconds, microseconds or nanoseconds, exactly.
/// Zero, which means "unknown", is `None`.
fn of_magnitude(number: u64) -> Option<u64> {
    match number {
        0 => None,
        1..100_000_000_000 => number.checked_mul(1_000_000_000),
        100_000_000_000..100_000_000_000_000 => Some(number * 1_000_000),
        100_000_000_000_000..100_000_000_000_000_000 => Some(number * 1000),
        _ => Some(number),
    }
}

/// JSON text of a value that may be JSON inside of a text, and that inside of another.
pub(super) fn unwrapped(raw: &RawValue) -> Cow<'_, str> {
    let mut json = Cow::Borrowed(raw.get().trim());
    for _ in 0..3 {
        if !may_hold_json(&json) {
            break;
        }
        let Ok(mut inner) = serde_json::from_str::<String>(&json) else { break };
        let trimmed = inner.trim();
        let nested = trimmed.starts_with(['{', '[', '"']);
        if !nested || quick::from_str::<IgnoredAny>(trimmed).is_err() {
            break;
        }
        if trimmed.len() < inner.len() {
            inner = trimmed.to_owned();
        }
        json = Cow::Owned(inner);
    }
    json
}

/// Whether JSON is a text that starts as JSON does, or with space or an escape: no other one is
/// decoded.
fn may_hold_json(json: &str) -> bool {
    let inside = json.strip_prefix('"').and_then(|inside| inside.chars().next());
    inside.is_some_and(|first| matches!(first, '{' | '[' | '\\') || first.is_whitespace())
}

/// First parts of the keys below which attributes that are read can stand in nested form.
const NESTED: [&str; 14] = [
    "openinference",
    "llm",
    "input",
    "output",
    "tool",
    "tool_call",
    "session",
    "agent",
    "gen_ai",
    "ai",
    "traceloop",
    "error",
    "exception",
    "mlflow",
];

/// How deep attributes may be nested.
const DEEPEST: usize = 12;

/// Bytes of the longest path below which nested attributes are looked into: what is read has far
/// shorter ones, and every value below repeats the path.
const LONGEST_PATH: usize = 512;

/// The attributes of a map whose keys are dotted, nested, or both, under dotted keys.
pub(super) fn dotted(map: &RawValue) -> Attributes<'_> {
    let mut found = Vec::new();
    let mut open = vec![(Cow::Borrowed(""), map, 0_usize)];
    while let Some((above, value, depth)) = open.pop() {
        let first_open = open.len();
        let members = if value.get().starts_with('[') {
            let items: Vec<&RawValue> = read(value).unwrap_or_default();
            let numbered = items.into_iter().enumerate();
            numbered.map(|(at, item)| (Cow::Owned(at.to_string()), item)).collect()
        } else {
            read::<Entries<'_>>(value).unwrap_or_default().0
        };
        found.reserve(members.len());
        for (key, value) in members {
            let path = if above.is_empty() { key } else { Cow::Owned(format!("{above}.{key}")) };
            if holds_attributes(&path, value) && depth + 1 < DEEPEST {
                open.push((path, value, depth + 1));
            } else {
                found.push((path, value));
            }
        }
        open[first_open..].reverse();
    }
    Attributes(found)
}

/// Whether a value is to be looked into for attributes that are read.
fn holds_attributes(path: &str, value: &RawValue) -> bool {
    let json = value.get();
    let nests =
        json.starts_with('{') || (json.starts_with('[') && path.starts_with("llm.output_messages"));
    let first = || path.split('.').next().unwrap_or_default();
    nests && path.len() <= LONGEST_PATH && NESTED.contains(&first()) && !is_read(path)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{Zone, dotted, instant, unwrapped};
    use crate::model::Stamp;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap_or_default()
    }

    #[test]
    fn times_of_every_unit_are_exact_and_no_zone_stays_no_zone() {
        let of = |json: &str, zone| instant(Some(&raw(json)), zone);
        let nanos = Some(Stamp::Nanos(1_767_225_600_500_000_000));
        assert_eq!(of("1767225600500", Zone::Unknown), nanos);
        assert_eq!(of("\"1767225600500000\"", Zone::Unknown), nanos);
        assert_eq!(
            of("1767225600500000001", Zone::Unknown),
            Some(Stamp::Nanos(1_767_225_600_500_000_001))
        );
        assert_eq!(of("\"2026-01-01T00:00:00.5Z\"", Zone::Unknown), nanos);
        assert_eq!(of("\"2026-01-01 00:00:00.500000\"", Zone::Utc), nanos);
        let kept = of("\"2026-01-01 00:00:00.500000\"", Zone::Unknown);
        assert_eq!(kept.and_then(|stamp| stamp.time()).map(|time| time.zoned), Some(false));
        assert_eq!(of("0", Zone::Utc), None);
        assert_eq!(of("null", Zone::Utc), None);
        assert!(of("\"soon\"", Zone::Utc).is_some(), "a time that is there is not missing");
    }

    #[test]
    fn json_in_texts_is_unwrapped_and_other_texts_are_not() {
        assert_eq!(unwrapped(&raw(r#""{\"a\":1}""#)), r#"{"a":1}"#);
        assert_eq!(unwrapped(&raw(r#""\"{\\\"a\\\":1}\"""#)), r#"{"a":1}"#);
        assert_eq!(unwrapped(&raw(r#""{not json""#)), r#""{not json""#);
        assert_eq!(unwrapped(&raw(r#""5""#)), r#""5""#);
    }

    #[test]
    fn values_below_a_long_key_do_not_repeat_it() {
        let (key, values) = ("k".repeat(10_000), vec![r#""a":1"#; 1_000].join(","));
        let nested = raw(&format!(r#"{{"llm":{{"{key}":{{{values}}},"model_name":"m"}}}}"#));
        let found = dotted(&nested).0;
        let bytes: usize = found.iter().map(|(path, _)| path.len()).sum();
        assert_eq!(found.len(), 2);
        assert!(bytes < 2 * key.len(), "{bytes} bytes of paths");
    }

    #[test]
    fn nested_and_dotted_attributes_are_the_same() {
        let nested = raw(
            r#"{"llm":{"model_name":"m","output_messages":[{"message":{"tool_calls":[{"tool_call":{"id":"c"}}]}}]},"x":{"y":1},"input":{"value":{"a":1}}}"#,
        );
        let keys: Vec<String> =
            dotted(&nested).0.into_iter().map(|(key, _)| key.into_owned()).collect();
        assert_eq!(
            keys,
            [
                "x",
                "llm.model_name",
                "llm.output_messages.0.message.tool_calls.0.tool_call.id",
                "input.value"
            ]
        );
    }
}
