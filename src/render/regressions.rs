//! The tasks of failures as a regression set: NDJSON and JSON by task, CSV by task and failure.

use serde::Serialize;
use serde_json::value::RawValue;

use super::csv::inert;
use super::json::{compact_json, pretty_json};
use super::mask::mask;
use crate::failures::{Regression, RegressionSet, RegressionTask, mask_json};

#[derive(Serialize)]
struct SetWire {
    /// Always `agenteval.regressions/1`.
    schema: &'static str,
    tasks: Vec<TaskWire>,
}

#[derive(Serialize)]
struct TaskWire {
    task_id: String,
    /// The ids of its failures.
    signatures: Vec<String>,
    /// What should have come out in this task, where all of its failures that say so say the same.
    corrected_output: Option<Box<RawValue>>,
    failures: Vec<FailureWire>,
}

#[derive(Serialize)]
struct FailureWire {
    id: String,
    status: &'static str,
    r#type: String,
    tool: Option<String>,
    r#where: String,
    template: String,
    corrected_output: Option<Box<RawValue>>,
    /// A run that has it, to look at: that of its excerpt, which may be one of another task.
    example_run: Option<String>,
}

/// JSON as it is stored, masked: numbers and the order of keys stay.
fn raw(json: Option<&str>) -> Option<Box<RawValue>> {
    RawValue::from_string(mask_json(json?)).ok()
}

fn wire(task: &RegressionTask<'_>) -> TaskWire {
    TaskWire {
        task_id: mask(task.task_id),
        signatures: task.failures.iter().map(|one| one.id.to_owned()).collect(),
        corrected_output: raw(task.corrected_output()),
        failures: task.failures.iter().map(failure).collect(),
    }
}

fn failure(one: &Regression<'_>) -> FailureWire {
    let (failure, signature) = (one.failure, &one.failure.signature);
    FailureWire {
        id: one.id.to_owned(),
        status: failure.status.name(),
        r#type: mask(&signature.kind),
        tool: signature.tool.as_deref().map(mask),
        r#where: mask(&signature.place),
        template: mask(&signature.template),
        corrected_output: raw(one.corrected_output),
        example_run: failure.seen.excerpt.as_ref().map(|excerpt| mask(&excerpt.run)),
    }
}

/// A task a line.
#[must_use]
pub fn regressions_ndjson(set: &RegressionSet<'_>) -> String {
    set.tasks.iter().map(|task| compact_json(&wire(task)) + "\n").collect()
}

/// All tasks in one document.
#[must_use]
pub fn regressions_json(set: &RegressionSet<'_>) -> String {
    let tasks = set.tasks.iter().map(wire).collect();
    pretty_json(&SetWire { schema: "agenteval.regressions/1", tasks })
}

/// A task and failure a line, with a header. A text that a spreadsheet would run as a formula gets
/// a leading `'`.
#[must_use]
pub fn regressions_csv(set: &RegressionSet<'_>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut row = |cells: [&str; 9]| writer.write_record(cells.map(inert)).is_ok();
    row([
        "task_id",
        "signature",
        "status",
        "type",
        "tool",
        "where",
        "template",
        "corrected_output",
        "example_run",
    ]);
    for task in &set.tasks {
        for one in &task.failures {
            let signature = &one.failure.signature;
            row([
                task.task_id,
                one.id,
                one.failure.status.name(),
                &signature.kind,
                signature.tool.as_deref().unwrap_or_default(),
                &signature.place,
                &signature.template,
                &one.corrected_output.map(mask_json).unwrap_or_default(),
                one.failure.seen.excerpt.as_ref().map_or("", |excerpt| &excerpt.run),
            ]);
        }
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
