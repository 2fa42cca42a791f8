//! `agenteval explain`: what a metric means, and which runs are in it.

use super::args::{Explain, Global, Output};
use super::output::{self, Forms};
use super::runs::{self, Loaded, Set};
use super::{Failure, Outcome};
use crate::evaluate::RunRow;
use crate::exit::Status;
use crate::metrics::{Figure, Metric, Set as FigureSet, metric};
use crate::model::{METRIC_NAMES, nearest, resolve_metric};
use crate::render::{ExplainWire, PartWire, explanation_doc, figure_wire, mask, pretty_json};

/// Tells the definition, and with paths the runs.
pub(super) fn run(args: &Explain, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, output::More::Nothing)?;
    let metric = find(&args.metric)?;
    let mut wire = ExplainWire::of(metric);
    let mut figure = None;
    if !args.paths.is_empty() {
        let loaded = Loaded::config(&args.reading, global)?;
        let (set, _) = runs::read(
            &args.paths,
            &args.reading,
            global,
            &loaded,
            &output,
            &|judge, state, run| (judge.row(state, run), ()),
        )?;
        set.warn(global);
        set.require_runs()?;
        figure = Some(fill(&mut wire, metric, &set));
    }
    output::emit(
        &Forms::page(&|| explanation_doc(metric, &wire, figure.as_ref()), &|| pretty_json(&wire)),
        &output,
        global,
    )?;
    Ok(Status::Done)
}

pub(super) fn find(name: &str) -> Result<&'static Metric, Failure> {
    let known = METRIC_NAMES.iter().flat_map(|metric| [Some(metric.name), metric.alias]);
    resolve_metric(name).and_then(|info| metric(info.name)).ok_or_else(|| {
        let hint = match nearest(name, known.clone().flatten()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known: {}", known.flatten().collect::<Vec<_>>().join(", ")),
        };
        Failure::usage(format!("no metric is called `{name}`; {hint}"))
    })
}

/// The runs that are in the figure, those with a numerator first.
fn fill(wire: &mut ExplainWire, metric: &'static Metric, set: &Set) -> Figure {
    let rows: Vec<&RunRow> = set.rows.iter().collect();
    let figures = FigureSet::new(rows);
    let figure = figures.figure(metric);
    wire.figure = Some(figure_wire(metric, &figure));
    for row in &set.rows {
        match figures.part(metric, row) {
            Some((numerator, denominator)) if denominator > 0.0 || numerator > 0.0 => {
                wire.runs.push(PartWire {
                    run: row.run_id.as_deref().map_or_else(|| set.locate(row), mask),
                    task: row.task_id.as_deref().map(mask),
                    numerator,
                    denominator,
                });
            }
            _ => wire.left_out += 1,
        }
    }
    wire.runs.sort_by(|a, b| {
        b.numerator.total_cmp(&a.numerator).then_with(|| (&a.task, &a.run).cmp(&(&b.task, &b.run)))
    });
    figure
}
