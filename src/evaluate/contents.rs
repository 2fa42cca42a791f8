//! What was said in a run: messages of errors, inputs, outputs and reasoning.
//!
//! Owns which fields of a record are contents, and their bounds. They are masked before they are
//! kept. Refuses to be part of anything that is not asked for them: see `--include-content`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::model::{Final, Trajectory, mask};

/// Characters of one text that are kept.
pub const MOST_CHARACTERS: usize = 2_000;

/// Bytes of all texts of one run that are kept.
const MOST_BYTES: usize = 200_000;

/// Characters that are read of a text before it is masked: a secret may begin near the cut.
const READ: usize = MOST_CHARACTERS * 2;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentKind {
    /// The message of an error.
    Error,
    /// What a step was given.
    Input,
    /// What it gave.
    Output,
    /// What the agent thought.
    Reasoning,
    /// What the run delivered, or why it stopped in a text.
    Final,
}

impl ContentKind {
    /// The word in pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Input => "input",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::Final => "final",
        }
    }
}

/// Keys of a record that hold contents, and what they are.
const KEYS: [(&str, ContentKind); 12] = [
    ("input", ContentKind::Input),
    ("args", ContentKind::Input),
    ("arguments", ContentKind::Input),
    ("output", ContentKind::Output),
    ("result", ContentKind::Output),
    ("response", ContentKind::Output),
    ("observation", ContentKind::Output),
    ("content", ContentKind::Output),
    ("reasoning", ContentKind::Reasoning),
    ("thought", ContentKind::Reasoning),
    ("thinking", ContentKind::Reasoning),
    ("text", ContentKind::Output),
];

/// One text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedText {
    /// The record that it is of; `None` for one of the run as a whole.
    pub record: Option<u32>,
    /// What it is.
    pub kind: ContentKind,
    /// The text, masked and cut.
    pub text: Box<str>,
}

/// The texts of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The texts, by record.
    pub texts: Vec<RecordedText>,
    /// Texts beyond the bound of one run.
    pub left_out: u64,
}

impl Contents {
    /// The texts of a run, masked and bounded: messages of errors first, since they are few and
    /// tell most. Inputs, outputs and reasoning are there where the reader keeps records as JSON.
    #[must_use]
    pub fn of(run: &Trajectory<'_>) -> Self {
        let mut all = Self::default();
        let mut room = MOST_BYTES;
        for (record, attempt) in (0..).zip(&run.attempts) {
            let message = attempt.error.as_ref().and_then(|error| error.message.as_deref());
            if let Some(message) = message.filter(|message| !message.is_empty()) {
                all.put(Some(record), ContentKind::Error, message, &mut room);
            }
        }
        if let Some(reason) = run.end_reason.as_deref().filter(|reason| !reason.is_empty()) {
            all.put(None, ContentKind::Final, reason, &mut room);
        }
        if let Final::Json(text) = &run.final_output
            && text.trim() != "null"
        {
            all.put(None, ContentKind::Final, text, &mut room);
        }
        for (record, attempt) in (0..).zip(&run.attempts) {
            let Some(raw) = attempt.raw.as_deref() else { continue };
            let Ok(fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw) else {
                continue;
            };
            for (key, kind) in KEYS {
                let Some(value) = fields.get(key).map(|value| value.get()) else { continue };
                if value != "null" {
                    all.put(Some(record), kind, &decoded(value), &mut room);
                }
            }
        }
        all.texts.sort_by_key(|text| (text.record, text.kind));
        all
    }

    /// Bytes of the texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.texts.iter().map(|text| text.text.len()).sum()
    }

    fn put(&mut self, record: Option<u32>, kind: ContentKind, text: &str, room: &mut usize) {
        if *room == 0 {
            self.left_out += 1;
            return;
        }
        let text = bounded(text);
        *room = room.saturating_sub(text.len());
        self.texts.push(RecordedText { record, kind, text });
    }
}

/// A string as its text, anything else as its JSON.
fn decoded(json: &str) -> Cow<'_, str> {
    match json.starts_with('"') {
        true => serde_json::from_str::<String>(json).map_or(Cow::Borrowed(json), Cow::Owned),
        false => Cow::Borrowed(json),
    }
}

fn bounded(text: &str) -> Box<str> {
    let (head, more) = match text.char_indices().nth(READ) {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), true),
        None => (text, false),
    };
    let masked = mask(head);
    match masked.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", masked.get(..end).unwrap_or_default()).into(),
        None if more => format!("{masked}…").into(),
        None => masked.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ContentKind, Contents, MOST_BYTES, bounded};
    use crate::model::{Attempt, ErrorInfo, Trajectory};

    #[test]
    fn texts_are_bounded_one_by_one_and_in_all_and_messages_come_first() {
        let raw = format!(r#"{{"input":{{"a":1}},"output":"{}"}}"#, "长".repeat(5_000));
        let error = ErrorInfo { message: Some("lost".into()), ..ErrorInfo::default() };
        let attempt = Attempt { raw: Some(raw.into()), error: Some(error), ..Attempt::default() };
        let run = Trajectory { attempts: vec![attempt; 200], ..Trajectory::default() };
        let contents = Contents::of(&run);
        assert!(contents.bytes() < MOST_BYTES + 7_000 && contents.left_out > 0);
        let messages = contents.texts.iter().filter(|text| text.kind == ContentKind::Error);
        assert_eq!(messages.count(), 200);
        let first = &contents.texts[..3];
        assert_eq!(&*first[1].text, r#"{"a":1}"#);
        assert_eq!(first[2].text.chars().count(), 2_001);
    }

    #[test]
    fn a_secret_at_the_cut_is_masked_whole() {
        let text = format!("{} sk-{}", "x".repeat(1_990), "Ab1".repeat(14));
        assert!(!bounded(&text).contains("Ab1Ab1"));
    }
}
