//! Results to text: one small renderer a file. Computes no figure.
//!
//! Owns how numbers, names and tables look in each output, and that nothing in a trace can break
//! out of it: terminal controls, Markdown, CSV formulas and JSON are escaped here, secrets masked.
//! Refuses to open files: renderers return text, `cli/` writes it.

mod attribution;
mod baseline;
mod budgets;
mod change;
mod chart;
mod compare;
mod csv;
mod diagnose;
mod doc;
mod explain;
mod failure_check;
mod failures;
mod figures;
mod finding;
mod gate;
mod gate_json;
mod github;
mod horizon;
mod html;
mod inspect;
mod json;
mod junit;
mod markdown;
mod mask;
mod number;
mod plan;
mod query;
mod regressions;
mod report;
mod review;
mod safe;
mod sarif;
mod show;
mod sides_json;
mod text;
mod time_horizon;

pub use baseline::{
    BaselineWire, BaselinesWire, ListedWire, baseline_doc, baseline_wire, baselines_doc,
    baselines_wire,
};
pub use budgets::{
    BudgetsWire, ReadinessWire, budgets_doc, budgets_wire, readiness_doc, readiness_wire,
};
pub use chart::{Chart, PngError, Theme, WIDTHS, chart_css, chart_png, chart_svg, chart_svg_file};
pub use compare::{ComparisonWire, comparison_doc, comparison_wire};
pub use csv::figures_csv;
pub use diagnose::{
    DiagnosedRun, DiagnosisPage, DiagnosisWire, diagnosis_doc, diagnosis_sarif, diagnosis_wire,
};
pub use doc::{Align, Block, Column, Doc, Fit, Table};
pub use explain::{ExplainWire, PartWire, explanation_doc};
pub use failure_check::{
    FailureCheckPage, FailureCheckWire, failure_check_doc, failure_check_wire,
};
pub use failures::{
    CollectedPage, CollectedWire, FailureListWire, collected_doc, collected_wire, failure_doc,
    failure_list_doc, failure_list_wire,
};
pub use figures::{FigureLine, analysis_doc, figure_lines, figure_value, threshold_line};
pub use gate::{GateContext, gate_doc, head as gate_line};
pub use gate_json::{GateReport, gate_wire};
pub use github::gate_annotations;
pub use horizon::{HorizonWire, horizon_doc, horizon_wire};
pub use html::{Page, PageRun, Stamp, Why, page};
pub use inspect::{FileWire, InspectWire, IssueWire, TokensWire, inspect_doc};
pub use json::{compact_json, pretty_json};
pub use junit::gate_junit;
pub use markdown::markdown;
pub use mask::mask;
pub use number::{bytes, count, percent, plain, seconds};
pub use plan::{PlanWire, plan_doc, plan_wire};
pub use query::{grid_csv, grid_doc, grid_json, grid_lines};
pub use regressions::{regressions_csv, regressions_json, regressions_ndjson};
pub use report::{
    AnalyzeReport, ConfigWire, FigureWire, FilterWire, InputWire, ReportParts, ThresholdWire,
    WarningWire, figure_wire, report_wire, threshold_wire,
};
pub use review::{ScorePage, ScoreWire, score_doc, score_wire, sheet_csv, sheet_json};
pub use safe::{one_line, shorten, shorten_start, wrap};
pub use sarif::{SarifLog, gate_sarif};
pub use show::{TimelineWire, timeline_doc, timeline_wire};
pub use text::{Style, text};
pub use time_horizon::{
    PerStepWire, TimeHorizonsWire, per_step_doc, per_step_wire, time_horizons_doc,
    time_horizons_wire,
};
