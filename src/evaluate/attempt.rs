//! Whether an attempt passed, failed, or neither.

use std::borrow::Cow;

use crate::expr::{Field, FieldPath, Fields, Root, Segment, json_field, json_keys};
use crate::model::{Attempt, AttemptWord, ErrorInfo};

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// Running, waiting, skipped, cancelled or refused: in no error rate.
    Neither,
}

/// Judges by status and error alone, without an expression. The flag says that the word is in no list.
pub(super) fn by_record(attempt: &Attempt<'_>, error: Option<&ErrorInfo<'_>>) -> (Verdict, bool) {
    let word = attempt.status.as_deref().map(AttemptWord::read);
    let by_word = match word {
        Some(AttemptWord::Neither) => return (Verdict::Neither, false),
        Some(AttemptWord::Passed) => Some(Verdict::Passed),
        Some(AttemptWord::Failed) => Some(Verdict::Failed),
        Some(AttemptWord::Unknown) | None => None,
    };
    let unknown = word == Some(AttemptWord::Unknown);
    match by_word {
        Some(verdict) if attempt.status_decides => (verdict, false),
        _ if error.is_some() => (Verdict::Failed, false),
        Some(verdict) => (verdict, false),
        None => (Verdict::Passed, unknown),
    }
}

/// What expressions see as `subtask`: the attempt as recorded, with the computed fields over it.
pub(super) struct Subtask<'s, 'a> {
    pub(super) attempt: &'s Attempt<'a>,
    pub(super) error: Option<&'s ErrorInfo<'a>>,
    /// Position of the step in the run, from 1.
    pub(super) position: u32,
    /// Number of the attempt, from 1.
    pub(super) number: u32,
}

impl Subtask<'_, '_> {
    fn raw(&self) -> Option<&str> {
        self.attempt.raw.as_deref()
    }

    fn error_field(&self, rest: &[Segment]) -> Field<'_> {
        let Some(error) = self.error else {
            return if rest.is_empty() { Field::Null } else { Field::Missing };
        };
        // As recorded where the record is at hand.
        if let Some(raw) = self.raw() {
            let mut path = vec![Segment::Key("error".to_owned())];
            path.extend_from_slice(rest);
            match json_field(raw, &path) {
                Field::Missing => {}
                found => return found,
            }
        }
        let text = |text: &Option<Cow<'_, str>>| match text {
            Some(text) => Field::Text(Cow::Owned(text.clone().into_owned())),
            None => Field::Missing,
        };
        match rest {
            [] => Field::Json(Cow::Owned(
                serde_json::json!({ "type": error.kind, "message": error.message }).to_string(),
            )),
            [Segment::Key(key)] if key == "type" => text(&error.kind),
            [Segment::Key(key)] if key == "message" => text(&error.message),
            _ => Field::Missing,
        }
    }
}

/// A text field, or null where it is not recorded.
pub(super) fn text_field<'f>(text: Option<&'f str>) -> Field<'f> {
    text.map_or(Field::Null, |text| Field::Text(Cow::Borrowed(text)))
}

/// A number field; whole numbers as integers, as JSON has them.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
pub(super) fn number_field<'f>(number: Option<f64>) -> Field<'f> {
    match number {
        None => Field::Null,
        Some(n) if n.fract() == 0.0 && n.abs() < 9e15 => Field::Int(n as i64),
        Some(n) => Field::Float(n),
    }
}

impl Fields for Subtask<'_, '_> {
    fn get<'a>(&'a self, path: &FieldPath) -> Field<'a> {
        let attempt = self.attempt;
        match path.segments.as_slice() {
            [] => self.raw().map_or(Field::Bool(true), |raw| json_field(raw, &[])),
            [Segment::Key(key), rest @ ..] => match (key.as_str(), rest) {
                ("index", []) => Field::Int(i64::from(self.position)),
                ("attempt", []) => Field::Int(i64::from(self.number)),
                ("type", []) => Field::Text(Cow::Borrowed(&attempt.kind)),
                ("name", []) => text_field(attempt.name.as_deref()),
                ("status", []) => match attempt.status.as_deref() {
                    Some(status) => Field::Text(Cow::Borrowed(status)),
                    None if self.error.is_some() => Field::Text(Cow::Borrowed("failed")),
                    None => Field::Text(Cow::Borrowed("completed")),
                },
                ("error", rest) => self.error_field(rest),
                ("duration_ms", []) => number_field(attempt.duration_ms),
                ("tokens", []) => number_field(attempt.tokens.map(|tokens| tokens.total())),
                _ => self.raw().map_or(Field::Missing, |raw| json_field(raw, &path.segments)),
            },
            _ => Field::Missing,
        }
    }

    fn root_present(&self, root: Root) -> bool {
        root == Root::Subtask
    }

    fn keys(&self, _root: Root, segments: &[Segment], visit: &mut dyn FnMut(&str)) {
        if segments.is_empty() {
            crate::expr::SUBTASK_FIELDS.iter().for_each(|field| visit(field));
        }
        if let Some(raw) = self.raw() {
            json_keys(raw, segments, visit);
        }
    }
}
