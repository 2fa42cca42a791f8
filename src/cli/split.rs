//! `--by` and `--where`: which runs, and in which groups.

use std::sync::Arc;

use super::Failure;
use crate::evaluate::{Name, RunRow};
use crate::expr::{Evaluator, Program, Root};
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
    pub(crate) fn value(&self, row: &RunRow) -> Option<Name> {
        match self {
            Self::Task => row.task_id.clone(),
            Self::Model => row.model.clone(),
            Self::Agent => row.agent.clone(),
            Self::Tag(key) => row.tag(key).map(Into::into),
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
        self.evaluator.eval(row)
    }

    /// What people must hear of the expression.
    pub(crate) fn findings(&mut self) -> Vec<crate::expr::Finding> {
        let program = Arc::clone(self.evaluator.program());
        self.evaluator.take_observations().findings(&program)
    }
}
