//! How many tasks and trials it takes, as a document and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::figures::figure_value;
use super::json::rounded;
use super::number::{count, percent, plain};
use crate::compare::{Plan, PlanQuestion, Scale, Size};

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval plan")]
pub struct PlanWire {
    /// Always `agenteval.plan/1`.
    schema: &'static str,
    /// The figure.
    metric: &'static str,
    /// Its value in the baseline; of amounts the geometric mean.
    value: Option<f64>,
    /// Variance between runs of one task; of amounts, of their logs.
    variance_of_runs: Option<f64>,
    /// Whether that is assumed.
    assumed: bool,
    /// Whether effects are shares of the value.
    relative: bool,
    /// Level of the one-sided test.
    alpha: f64,
    /// How often an effect is to be told.
    power: f64,
    /// Tasks needed by effect and trials.
    sizes: Vec<SizeWire>,
    /// What the given number of tasks detects.
    detectable: Vec<DetectableWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct SizeWire {
    effect: f64,
    baseline_trials: u32,
    candidate_trials: u32,
    /// Tasks; null where no number is enough.
    tasks: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct DetectableWire {
    tasks: u64,
    baseline_trials: u32,
    candidate_trials: u32,
    effect: Option<f64>,
}

/// The answer for JSON.
#[must_use]
pub fn plan_wire(plan: &Plan) -> PlanWire {
    let PlanQuestion { metric, expected, sureness, tasks, .. } = &plan.question;
    let sizes = plan.sizes.iter().map(|size| SizeWire {
        effect: size.effect,
        baseline_trials: size.trials.0,
        candidate_trials: size.trials.1,
        tasks: size.tasks,
    });
    let detectable = plan.detectable.iter().map(|((baseline, candidate), effect)| DetectableWire {
        tasks: tasks.unwrap_or_default(),
        baseline_trials: *baseline,
        candidate_trials: *candidate,
        effect: rounded(*effect, 6),
    });
    PlanWire {
        schema: "agenteval.plan/1",
        metric: metric.name,
        value: rounded(Some(expected.value), 9),
        variance_of_runs: rounded(Some(expected.of_runs), 9),
        assumed: expected.assumed,
        relative: expected.scale == Scale::Relative,
        alpha: sureness.alpha,
        power: sureness.power,
        sizes: sizes.collect(),
        detectable: detectable.collect(),
    }
}

/// The answer for people.
#[must_use]
pub fn plan_doc(plan: &Plan) -> Doc {
    let question = &plan.question;
    let PlanQuestion { metric, expected, sureness, .. } = question;
    let mut doc = Doc::default();
    let from = match expected.seen {
        Some((tasks, trials)) => {
            format!("from {} tasks with {} runs each", count(tasks as u64), plain(trials, 1))
        }
        None => "assumed".to_owned(),
    };
    doc.title(format!("{} {} ({from})", metric.name, figure_value(metric, Some(expected.value))));
    let likeness = match (expected.scale, expected.assumed) {
        (Scale::Share { .. }, _) => {
            let told = if expected.assumed { "assumed" } else { "as seen" };
            format!("; runs of one task are alike by {} (0 to 1, {told})", plain(expected.icc(), 2))
        }
        (_, true) => "; half of the variance is assumed to lie between runs of one task".to_owned(),
        (_, false) => String::new(),
    };
    doc.line(format!(
        "one figure tested at {} (one-sided), told in {} of all cases{likeness}",
        percent(sureness.alpha),
        percent(sureness.power)
    ));
    doc.line("");
    doc.line("tasks needed, by effect and trials of each task:");
    doc.table(sizes(plan));
    if let (Some(tasks), false) = (question.tasks, plan.detectable.is_empty()) {
        doc.line("");
        for (of, effect) in &plan.detectable {
            doc.line(format!(
                "{} tasks with {}: can detect {}",
                count(tasks),
                trials(*of),
                effect.map_or("nothing".to_owned(), |effect| shown(question, effect)),
            ));
        }
    }
    doc
}

fn sizes(plan: &Plan) -> Table {
    let columns = [Column::right("effect"), Column::left("trials"), Column::left("tasks")];
    let row = |size: &Size| {
        let tasks =
            size.tasks.map_or("over 1,000,000".to_owned(), |n| format!("about {}", count(n)));
        vec![shown(&plan.question, size.effect), trials(size.trials), tasks]
    };
    Table { columns: columns.to_vec(), rows: plan.sizes.iter().map(row).collect() }
}

fn trials((baseline, candidate): (u32, u32)) -> String {
    let word = |number: u32| if number == 1 { "trial" } else { "trials" };
    if baseline == candidate {
        format!("{baseline} {} on both sides", word(baseline))
    } else {
        format!("{candidate} {}, the baseline {baseline}", word(candidate))
    }
}

/// An effect as its scale measures it.
fn shown(question: &PlanQuestion, effect: f64) -> String {
    match question.expected.scale {
        Scale::Relative => percent(effect),
        Scale::Share { .. } => format!("{}pp", plain(effect * 100.0, 1)),
        Scale::Unit if question.metric.info().unit == crate::model::Unit::Ratio => {
            format!("{}pp", plain(effect * 100.0, 1))
        }
        Scale::Unit => figure_value(question.metric, Some(effect)),
    }
}
