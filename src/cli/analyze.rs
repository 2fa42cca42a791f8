//! `agenteval analyze`: the metrics of a set of runs.

use super::args::{Analyze, Global};
use super::output::{self, Forms};
use super::runs::{self, Loaded, Set};
use super::split::By;
use super::{Outcome, runs::Warning};
use crate::config::EvalConfig;
use crate::evaluate::RunRow;
use crate::exit::Status;
use crate::metrics::{Analysis, Bound, Set as FigureSet, Split, hold, metric};
use crate::render::{
    ConfigWire, Doc, FilterWire, InputWire, ReportParts, ThresholdWire, WarningWire, analysis_doc,
    compact_json, count, figure_lines, figures_csv, pretty_json, report_wire, threshold_line,
    threshold_wire,
};

/// Reads, judges, computes and writes.
pub(super) fn run(args: &Analyze, global: &Global) -> Outcome {
    output::check(&args.output, output::More::Lines)?;
    let by = args.by.as_deref().map(By::parse).transpose()?;
    let loaded = Loaded::config(&args.input.reading, global)?;
    let (mut set, _) = runs::read(
        &args.input.paths,
        &args.input.reading,
        global,
        &loaded,
        &args.output,
        &|judge, state, run| (judge.row(state, run), ()),
    )?;
    if let Err(failure) = set.require_runs() {
        // What was noticed may be why there is none.
        set.warn(global);
        return Err(failure);
    }
    let rows: Vec<&RunRow> = set.rows.iter().collect();
    let key = by.as_ref().map(By::key);
    let value = |row: &RunRow| by.as_ref().and_then(|by| by.value(row));
    let split: Option<Split<'_>> = key.as_deref().map(|key| (key, &value as _));
    if let Some(by) = &by
        && rows.iter().all(|row| by.value(row).is_none())
    {
        set.warnings.push(Warning {
            code: "group_absent".to_owned(),
            message: format!("--by {}: no run records it", by.key()),
            count: 1,
            place: String::new(),
            withheld: None,
        });
    }
    let analysis = Analysis::of(&rows, loaded.config.metrics.as_deref(), split);
    set.warn(global);
    let thresholds = thresholds(&loaded.config, &analysis, &rows);
    let kept = args.input.reading.filter.as_ref().map(|expression| FilterWire {
        expression: expression.clone(),
        kept: set.rows.len() as u64,
        of: set.read,
    });
    let title = loaded.config.task_name.as_deref();
    let doc = || {
        let mut doc = analysis_doc(&analysis, title, set.tally.rejected());
        if let Some(kept) = &kept {
            let FilterWire { expression, kept, of } = kept;
            doc.line(format!(
                "kept by --where: {} of {} runs ({expression})",
                count(*kept),
                count(*of)
            ));
        }
        threshold_lines(&thresholds, &analysis, &mut doc);
        doc
    };
    let parts = ReportParts {
        config: loaded.path.as_ref().map(|_| ConfigWire {
            task_name: loaded.config.task_name.clone(),
            sha256: loaded.config.sha256.clone(),
        }),
        inputs: inputs(&set),
        filter: kept.clone(),
        thresholds: thresholds.clone(),
        warnings: set.warnings.iter().map(warning).collect(),
    };
    let report = report_wire(&analysis, parts);
    let forms = Forms {
        doc: &doc,
        json: &|| pretty_json(&report),
        ndjson: Some(&|| {
            figure_lines(&analysis).iter().map(|line| compact_json(line) + "\n").collect()
        }),
        csv: Some(&|| figures_csv(&figure_lines(&analysis))),
        junit: None,
        sarif: None,
        parquet: Some(&|| super::query::runs_parquet(&set.rows)),
    };
    output::emit(&forms, &args.output, global)?;
    Ok(Status::Done)
}

pub(super) fn inputs(set: &Set) -> Vec<InputWire> {
    set.tally
        .files
        .iter()
        .zip(&set.sizes)
        .map(|(file, (steps, attempts))| InputWire {
            path: file.path.display().to_string(),
            format: file.format,
            runs: file.runs,
            steps: *steps,
            attempts: *attempts,
            rejected: file.all_rejected(),
            left_out: file.left_out.clone(),
        })
        .collect()
}

pub(super) fn warning(warning: &Warning) -> WarningWire {
    WarningWire {
        code: warning.code.clone(),
        message: warning.message.clone(),
        count: warning.count,
        place: warning.place.clone(),
        withheld: warning.withheld.clone(),
    }
}

/// Holds every threshold of the config against its figure, shown or not.
pub(super) fn thresholds(
    config: &EvalConfig,
    analysis: &Analysis,
    rows: &[&RunRow],
) -> Vec<ThresholdWire> {
    let mut all = Vec::new();
    for threshold in &config.thresholds {
        let Some(entry) = metric(threshold.metric.name) else { continue };
        let shown = analysis.figures.iter().find(|(metric, _)| metric.name == entry.name);
        let figure = match shown {
            Some((_, figure)) => figure.clone(),
            None => FigureSet::new(rows.to_vec()).figure(entry),
        };
        for (bound, limit) in [(Bound::Min, threshold.min), (Bound::Max, threshold.max)] {
            let Some(limit) = limit else { continue };
            let (standing, certain) = hold(&figure, bound, limit);
            all.push(threshold_wire(entry, bound, limit, &figure, (standing, certain)));
        }
    }
    all
}

fn threshold_lines(thresholds: &[ThresholdWire], analysis: &Analysis, doc: &mut Doc) {
    // Below the last group they would read as its own.
    let whose = if analysis.groups.is_empty() { "" } else { "over all runs: " };
    if !whose.is_empty() && !thresholds.is_empty() {
        doc.line("");
    }
    for threshold in thresholds {
        doc.line(format!("{whose}{}", threshold_line(threshold)));
    }
}
