//! Assembles the page of `report` and of `gate -o FILE.html`.

use std::path::Path;

use super::Failure;
use super::analyze;
use super::collect::Collected;
use super::runs::{Loaded, Set};
use crate::compare::{Forest, Gate, thresholds};
use crate::diagnose::budgets;
use crate::evaluate::RunRow;
use crate::horizon::{Accumulation, ErrorGrid, Split};
use crate::metrics::{Analysis, RetryCounts, Spent, step_risks};
use crate::render::{
    Chart, ConfigWire, FilterWire, GateContext, Page, PageRun, ReportParts, Stamp, Theme,
    WarningWire, Why, chart_svg, mask, page, report_wire,
};

/// What a page is made of, beside the runs.
pub(crate) struct Material<'m> {
    pub(crate) loaded: &'m Loaded,
    /// `--where`.
    pub(crate) filter: Option<&'m str>,
    pub(crate) set: &'m Set,
    pub(crate) collected: &'m Collected,
    pub(crate) gate: Option<(&'m Gate, &'m GateContext)>,
    pub(crate) warnings: Vec<WarningWire>,
    /// Whether contents were asked for.
    pub(crate) contents: bool,
    pub(crate) stamp: &'m Stamp,
}

/// The page.
pub(crate) fn html(material: Material<'_>) -> String {
    let Material { loaded, set, collected, gate, contents, .. } = material;
    let kept = &collected.kept;
    let rows: Vec<&RunRow> = set.rows.iter().collect();
    let analysis = Analysis::of(&rows, loaded.config.metrics.as_deref(), None);
    let mut warnings = material.warnings.clone();
    let mut inputs = analyze::inputs(set);
    let mut gate = gate.map(|(gate, context)| (gate, context.clone()));
    // Names of files are names too.
    inputs.iter_mut().for_each(|input| input.path = mask(&input.path));
    if !contents {
        warnings.iter_mut().for_each(withhold);
        for reason in inputs.iter_mut().filter_map(|input| input.left_out.as_mut()) {
            *reason = without_quotes(reason);
        }
        if let Some((_, context)) = &mut gate {
            context.warnings.iter_mut().for_each(withhold);
        }
    }
    let parts = ReportParts {
        config: loaded.path.as_ref().map(|_| ConfigWire {
            task_name: loaded.config.task_name.clone(),
            sha256: loaded.config.sha256.clone(),
        }),
        inputs,
        filter: material.filter.map(|expression| FilterWire {
            expression: expression.to_owned(),
            kept: set.rows.len() as u64,
            of: set.read,
        }),
        thresholds: analyze::thresholds(&loaded.config, &analysis, &rows),
        warnings,
    };
    let places: Vec<String> = kept.iter().map(|kept| mask(&set.locate(&kept.row))).collect();
    let runs: Vec<PageRun<'_>> = kept
        .iter()
        .zip(&places)
        .map(|(kept, place)| PageRun {
            rank: kept.rank,
            row: &kept.row,
            brief: &kept.brief,
            contents: kept.contents.as_ref(),
            place,
        })
        .collect();
    let title = loaded.config.task_name.as_deref();
    let report = report_wire(&analysis, parts.clone());
    let horizon = Accumulation::of(&rows, &STEPS);
    let budgets = budgets(&rows, QUANTILE);
    let charts = charts(&material, &rows, &analysis, &horizon);
    let survival = chart_svg(&Chart::Survival(&horizon), Theme::Page, CHART);
    let why = Why {
        diagnosis: &collected.diagnosis,
        asked: &collected.diagnosed,
        settings: &collected.settings,
        horizon: &horizon,
        survival: &survival,
        budgets: &budgets,
        quantile: QUANTILE,
    };
    page(&Page {
        title,
        analysis: &analysis,
        report: &report,
        parts: &parts,
        gate: gate.as_ref().map(|(gate, context)| (*gate, context)),
        why: &why,
        failures: &collected.failures,
        risks: &step_risks(&rows),
        runs: &runs,
        contents,
        charts: &charts,
        stamp: material.stamp,
    })
}

/// Steps that a page projects to.
const STEPS: [u32; 4] = [5, 10, 20, 50];

/// The share of completed runs that keeps the limits of a page, as in `budgets`.
const QUANTILE: f64 = 0.95;

/// Width of the charts of a page, in pixels of CSS.
const CHART: u32 = 560;

/// The charts of a page, each with what it is called.
fn charts(
    material: &Material<'_>,
    rows: &[&RunRow],
    analysis: &Analysis,
    horizon: &Accumulation,
) -> Vec<(String, String)> {
    let Material { loaded, set, collected, gate, .. } = material;
    let held = thresholds(&set.rows, &[], &loaded.config.thresholds);
    let retries = RetryCounts::of(rows);
    let spent = Spent::of(rows);
    let by_step = collected.places.grid(Split::Step);
    let by_tool = ErrorGrid::by_tool(rows);
    let forest = gate.filter(|(gate, _)| gate.pairing.is_some());
    let forest = forest.map(|(gate, context)| (Forest::of_gate(gate), context));
    let baseline = forest.as_ref().and_then(|(_, context)| context.baseline.as_ref());
    let names = (baseline.map_or("baseline", |(name, _)| name.as_str()), "candidate");
    let mut drawn = Vec::new();
    let mut add = |title: &str, chart: Chart<'_>| {
        drawn.push((title.to_owned(), chart_svg(&chart, Theme::Page, CHART)));
    };
    if let Some((forest, _)) = &forest {
        add("Differences to the baseline", Chart::Compare(forest, names));
    }
    add("Figures with their intervals", Chart::Metrics(analysis, &held));
    add("Risk of a first failed step", Chart::Hazard(&horizon.survival));
    add("Completion by number of steps", Chart::Lengths(horizon));
    add("Errors by type", Chart::Errors(analysis));
    add("Errors by step", Chart::ErrorGrid(&by_step));
    add("Errors by tool", Chart::ErrorGrid(&by_tool));
    add("Outcomes", Chart::Outcomes(analysis));
    add("Retries", Chart::Retries(&retries));
    add("What runs cost", Chart::Cost(spent.as_ref()));
    drawn
}

/// Warnings quote values of traces: in a page without contents they say that there is one.
fn withhold(warning: &mut WarningWire) {
    warning.message = match (warning.withheld.take(), warning.code.as_str()) {
        (Some(message), _) => message,
        (None, "unreadable_score") => "a score is no number, so it decides nothing".to_owned(),
        (None, _) => without_quotes(&warning.message),
    };
}

/// The text with `"…"` for everything that is quoted; an open quote hides the rest.
fn without_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quoted = false;
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '"' if !escaped => {
                out.push_str(if quoted { "…\"" } else { "\"" });
                quoted = !quoted;
            }
            c if !quoted => out.push(c),
            _ => {}
        }
        escaped = quoted && c == '\\' && !escaped;
    }
    if quoted {
        out.push('…');
    }
    out
}

/// Whether a file is to be a page.
pub(crate) fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html") || ending == "htm")
}

/// Makes the folder of a page where it is not there.
pub(crate) fn make_folder(file: &Path) -> Result<(), Failure> {
    match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::create_dir_all(folder).map_err(|error| {
            Failure::usage(format!("cannot make the folder {}: {error}", folder.display()))
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::without_quotes;

    #[test]
    fn quoted_values_are_withheld() {
        assert_eq!(
            without_quotes(r#"`a.b` is "x \" y", `c` is "z""#),
            "`a.b` is \"…\", `c` is \"…\""
        );
        assert_eq!(without_quotes("cut \"off"), "cut \"…");
        assert_eq!(without_quotes("plain"), "plain");
    }
}
