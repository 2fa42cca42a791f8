//! What expressions see as `run`.

use std::borrow::Cow;

use super::attempt::{number_field, text_field};
use super::row::RunRow;
use crate::expr::{Field, FieldPath, Fields, RUN_FIELDS, Root, Segment};

/// The fields of `run`, from wherever they are at hand. `T` is the text type of tags.
pub(super) struct RunFields<'f, T> {
    /// Steps, attempts, retries and errors; `None` where the source says nothing of steps.
    pub(super) counts: Option<[u32; 4]>,
    pub(super) duration_seconds: Option<f64>,
    pub(super) tokens: Option<f64>,
    pub(super) cost_usd: Option<f64>,
    pub(super) status: Option<&'f str>,
    pub(super) task_id: Option<&'f str>,
    pub(super) model: Option<&'f str>,
    pub(super) tags: &'f [(T, T)],
}

impl<'f, T: AsRef<str>> RunFields<'f, T> {
    /// The value at a path below `run`.
    pub(super) fn field(&self, segments: &[Segment]) -> Field<'f> {
        let [Segment::Key(key), rest @ ..] = segments else {
            return if segments.is_empty() { Field::Bool(true) } else { Field::Missing };
        };
        match (key.as_str(), rest) {
            ("steps", []) => self.count(0),
            ("attempts", []) => self.count(1),
            ("retries", []) => self.count(2),
            ("errors", []) => self.count(3),
            ("duration_seconds", []) => number_field(self.duration_seconds),
            ("tokens", []) => number_field(self.tokens),
            ("cost_usd", []) => number_field(self.cost_usd),
            ("status", []) => text_field(self.status),
            ("task_id", []) => text_field(self.task_id),
            ("model", []) => text_field(self.model),
            ("tags", []) => Field::Json(Cow::Owned(self.tags_json())),
            // The last of equal tags counts, as with keys of JSON objects.
            ("tags", [Segment::Key(tag)]) => self
                .tags
                .iter()
                .rev()
                .find(|(key, _)| key.as_ref() == tag)
                .map_or(Field::Missing, |(_, value)| text_field(Some(value.as_ref()))),
            _ => Field::Missing,
        }
    }

    fn count(&self, at: usize) -> Field<'f> {
        let count = self.counts.as_ref().and_then(|counts| counts.get(at));
        count.map_or(Field::Null, |count| Field::Int((*count).into()))
    }

    fn tags_json(&self) -> String {
        let tags: serde_json::Map<String, serde_json::Value> = self
            .tags
            .iter()
            .map(|(key, value)| (key.as_ref().to_owned(), value.as_ref().into()))
            .collect();
        serde_json::Value::Object(tags).to_string()
    }
}

/// The keys of `run`, for naming the nearest of a misspelt one.
pub(super) fn run_keys(segments: &[Segment], visit: &mut dyn FnMut(&str)) {
    if segments.is_empty() {
        RUN_FIELDS.iter().for_each(|field| visit(field));
    }
}

/// A judged run as `--where` sees it.
impl Fields for RunRow {
    fn get<'a>(&'a self, path: &FieldPath) -> Field<'a> {
        let fields = RunFields {
            counts: (!self.steps_unknown).then_some([
                self.steps,
                self.attempts,
                self.retries,
                self.failed_all,
            ]),
            duration_seconds: self.duration_seconds,
            tokens: self.tokens.map(|tokens| tokens.total()),
            cost_usd: self.cost_usd,
            status: self.status.as_deref(),
            task_id: self.task_id.as_deref(),
            model: self.model.as_deref(),
            tags: &self.tags,
        };
        fields.field(&path.segments)
    }

    fn root_present(&self, root: Root) -> bool {
        root == Root::Run
    }

    fn keys(&self, _root: Root, segments: &[Segment], visit: &mut dyn FnMut(&str)) {
        run_keys(segments, visit);
    }
}
