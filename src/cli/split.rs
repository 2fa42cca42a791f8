//! `--by` and `--where`: which runs, and in which groups.

use std::borrow::Cow;
use std::sync::Arc;

use super::Failure;
use crate::evaluate::RunRow;
use crate::expr::{Evaluator, Field, FieldPath, Fields, Program, Root, Segment};
use crate::model::nearest;

/// What tables are split by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum By {
    Task,
    Model,
    Agent,
    Tag(String),
}

impl By {
    /// Reads the flag.
    pub(crate) fn parse(given: &str) -> Result<Self, Failure> {
        match given {
            "task" => Ok(Self::Task),
            "model" => Ok(Self::Model),
            "agent" => Ok(Self::Agent),
            _ => match given.strip_prefix("tag:") {
                Some(key) if !key.is_empty() => Ok(Self::Tag(key.to_owned())),
                _ => {
                    let near = nearest(given, ["task", "model", "agent", "tag:KEY"]);
                    let hint = near.map(|near| format!("; did you mean `{near}`?"));
                    Err(Failure::usage(format!(
                        "--by {given}: expected task, model, agent or tag:KEY{}",
                        hint.unwrap_or_default()
                    )))
                }
            },
        }
    }

    /// The key in reports.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Task => "task".to_owned(),
            Self::Model => "model".to_owned(),
            Self::Agent => "agent".to_owned(),
            Self::Tag(key) => format!("tag:{key}"),
        }
    }

    /// The group of a run.
    pub(crate) fn value(&self, row: &RunRow) -> Option<Box<str>> {
        match self {
            Self::Task => row.task_id.clone(),
            Self::Model => row.model.clone(),
            Self::Agent => row.agent.clone(),
            Self::Tag(key) => {
                row.tags.iter().rev().find(|(k, _)| **k == **key).map(|(_, v)| v.clone())
            }
        }
    }
}

/// Keeps the runs for which an expression holds.
pub(crate) struct Filter {
    evaluator: Evaluator,
}

impl Filter {
    /// Compiles `--where`.
    pub(crate) fn compile(source: &str) -> Result<Self, Failure> {
        let program = Program::compile(source, &[Root::Run])
            .map_err(|error| Failure::usage(error.render(source, "--where")))?;
        Ok(Self { evaluator: Evaluator::new(Arc::new(program)) })
    }

    /// Whether a run is kept.
    pub(crate) fn keeps(&mut self, row: &RunRow) -> bool {
        self.evaluator.eval(&RowFields(row))
    }

    /// What people must hear of the expression.
    pub(crate) fn findings(&mut self) -> Vec<crate::expr::Finding> {
        let program = Arc::clone(self.evaluator.program());
        self.evaluator.take_observations().findings(&program)
    }
}

/// What `--where` sees of a run.
struct RowFields<'r>(&'r RunRow);

impl Fields for RowFields<'_> {
    fn get<'a>(&'a self, path: &FieldPath) -> Field<'a> {
        let row = self.0;
        let text = |text: &'a Option<Box<str>>| match text.as_deref() {
            Some(text) => Field::Text(Cow::Borrowed(text)),
            None => Field::Null,
        };
        let number = |number: Option<f64>| number.map_or(Field::Null, Field::Float);
        match path.segments.as_slice() {
            [] => Field::Bool(true),
            [Segment::Key(key), rest @ ..] => match (key.as_str(), rest) {
                ("steps", []) => Field::Int(row.steps.into()),
                ("attempts", []) => Field::Int(row.attempts.into()),
                ("retries", []) => Field::Int(row.retries.into()),
                ("errors", []) => Field::Int(row.failed_all.into()),
                ("duration_seconds", []) => number(row.duration_seconds),
                ("tokens", []) => number(row.tokens.map(|tokens| tokens.total())),
                ("cost_usd", []) => number(row.cost_usd),
                ("status", []) => text(&row.status),
                ("task_id", []) => text(&row.task_id),
                ("model", []) => text(&row.model),
                ("tags", []) => {
                    let tags: serde_json::Map<String, serde_json::Value> = row
                        .tags
                        .iter()
                        .map(|(k, v)| (k.to_string(), v.to_string().into()))
                        .collect();
                    Field::Json(Cow::Owned(serde_json::Value::Object(tags).to_string()))
                }
                ("tags", [Segment::Key(tag)]) => row
                    .tags
                    .iter()
                    .rev()
                    .find(|(key, _)| **key == **tag)
                    .map_or(Field::Missing, |(_, value)| Field::Text(Cow::Borrowed(value))),
                _ => Field::Missing,
            },
            _ => Field::Missing,
        }
    }

    fn root_present(&self, root: Root) -> bool {
        root == Root::Run
    }

    fn keys(&self, _root: Root, segments: &[Segment], visit: &mut dyn FnMut(&str)) {
        if segments.is_empty() {
            crate::expr::RUN_FIELDS.iter().for_each(|field| visit(field));
        }
    }
}
