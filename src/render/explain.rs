//! What a figure means, and which runs are in it.

use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::figures::{figure_value, plural};
use super::number::{count, plain};
use super::report::{FigureWire, better, unit};
use crate::metrics::{Figure, Metric};

/// One run's part of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartWire {
    /// The run's id, or where it stands.
    pub run: String,
    /// Its task.
    pub task: Option<String>,
    /// What it adds to the numerator.
    pub numerator: f64,
    /// What it adds to the denominator.
    pub denominator: f64,
}

/// A figure's definition, and with traces its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainWire {
    /// Its name.
    pub metric: &'static str,
    /// Another name for it.
    pub alias: Option<&'static str>,
    /// What it is.
    pub definition: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way it is better.
    pub better: Option<&'static str>,
    /// When it has no value.
    pub undefined: &'static str,
    /// The figure over the given runs; null without.
    pub figure: Option<FigureWire>,
    /// Runs that are in it.
    pub runs: Vec<PartWire>,
    /// Number of runs that are in neither numerator nor denominator.
    pub left_out: u64,
}

impl ExplainWire {
    /// The definition alone.
    #[must_use]
    pub fn of(metric: &Metric) -> Self {
        let info = metric.info();
        Self {
            metric: metric.name,
            alias: info.alias,
            definition: metric.definition,
            unit: unit(info.unit),
            better: better(info.better),
            undefined: metric.undefined,
            figure: None,
            runs: Vec::new(),
            left_out: 0,
        }
    }
}

/// Runs shown in text; JSON has all.
const SHOWN: usize = 200;

/// The definition, and the runs in it, for people.
#[must_use]
pub fn explanation_doc(metric: &Metric, wire: &ExplainWire, figure: Option<&Figure>) -> Doc {
    let mut doc = Doc::default();
    doc.title(match wire.alias {
        Some(alias) => format!("{} (also {alias})", wire.metric),
        None => wire.metric.to_owned(),
    });
    doc.line(wire.definition);
    let better = wire.better.map_or("describes only".to_owned(), |way| format!("{way} is better"));
    doc.line(format!("unit: {}; {better}; n/a when {}", wire.unit, wire.undefined));
    let Some(figure) = figure else { return doc };
    let number = |number: Option<f64>| match number {
        Some(n) => plain(n, if n.fract() == 0.0 { 0 } else { 2 }),
        None => "-".to_owned(),
    };
    let shown = figure_value(metric, figure.value);
    let parts = (figure.numerator, figure.denominator);
    doc.line(match parts {
        (None, None) => format!("value: {shown}"),
        (None, over) => format!("value: {shown}, n={}", number(over)),
        (over, under) => format!("value: {shown} = {}/{}", number(over), number(under)),
    });
    if let Some(reason) = &figure.reason {
        doc.line(reason.clone());
    }
    doc.line("");
    doc.table(Table {
        columns: vec![
            Column::elastic("run"),
            Column::elastic("task"),
            Column::right("numerator"),
            Column::right("denominator"),
        ],
        rows: wire
            .runs
            .iter()
            .take(SHOWN)
            .map(|part| {
                vec![
                    part.run.clone(),
                    part.task.clone().unwrap_or_else(|| "-".to_owned()),
                    number(Some(part.numerator)),
                    number(Some(part.denominator)),
                ]
            })
            .collect(),
    });
    if wire.runs.len() > SHOWN {
        let more = wire.runs.len() - SHOWN;
        doc.line(format!("and {} more runs (--output json lists all)", count(more as u64)));
    }
    if wire.left_out > 0 {
        let verb = if wire.left_out == 1 { "is" } else { "are" };
        doc.line(format!(
            "{} {} {verb} in neither",
            count(wire.left_out),
            plural(wire.left_out, "run")
        ));
    }
    doc
}
