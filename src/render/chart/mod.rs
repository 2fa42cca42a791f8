//! Charts of results as SVG, and as PNG drawn from that SVG.
//!
//! Owns what each chart looks like: one file a kind, the house style (`style.rs`), the widths of
//! texts (`measure.rs`), the fonts that are built in. Every chart has a title that says what is
//! shown, the numbers of runs, and all of its numbers in words for those who cannot see it. What
//! cannot be drawn is a sentence, never a failure. Refuses to compute what is drawn.

mod bars;
mod canvas;
mod forest;
mod grid;
mod lengths;
mod measure;
mod metrics;
mod models;
mod plot;
mod png;
mod rows;
mod run;
mod style;
mod survival;
mod svg;
mod time_horizon;
mod trend;

pub use png::PngError;
pub use style::Theme;
pub use svg::chart_css;

use crate::compare::{Forest, HeldThreshold};
use crate::evaluate::Timeline;
use crate::horizon::{Accumulation, AgentHorizon, ErrorGrid, Survival};
use crate::metrics::{Analysis, RetryCounts, Spent, Trend};

/// What a chart shows.
#[derive(Debug, Clone, Copy)]
pub enum Chart<'r> {
    /// Figures with their intervals, and the bounds that they are held against.
    Metrics(&'r Analysis, &'r [HeldThreshold]),
    /// Differences of the second named side against the first.
    Compare(&'r Forest, (&'r str, &'r str)),
    /// The share of runs without a failed step, by step, beside what models of the risk say.
    Survival(&'r Accumulation),
    /// Completion by number of steps, against what a constant risk leaves.
    Lengths(&'r Accumulation),
    /// Success by length of the task, agent by agent.
    TimeHorizon(&'r [AgentHorizon]),
    /// The risk of a first failed step, by step.
    Hazard(&'r Survival),
    /// Failed attempts by type.
    Errors(&'r Analysis),
    /// Failed attempts by type against steps or tools.
    ErrorGrid(&'r ErrorGrid),
    /// Runs by outcome.
    Outcomes(&'r Analysis),
    /// Runs by their number of retries.
    Retries(&'r RetryCounts),
    /// What ended runs cost by outcome; `None` where none records it.
    Cost(Option<&'r Spent>),
    /// A figure over baselines.
    Trend(&'r Trend),
    /// The timeline of one run.
    Run(&'r Timeline),
}

/// Narrowest and widest chart, in pixels of CSS.
pub const WIDTHS: std::ops::RangeInclusive<u32> = 480..=2400;

fn draw(chart: &Chart<'_>, width: u32) -> canvas::Canvas {
    let width = width.clamp(*WIDTHS.start(), *WIDTHS.end());
    match chart {
        Chart::Metrics(analysis, held) => metrics::draw(width, analysis, held),
        Chart::Compare(of, names) => forest::draw(width, of, *names),
        Chart::Retries(of) => bars::retries(width, of),
        Chart::Cost(of) => bars::cost(width, *of),
        Chart::Trend(of) => trend::draw(width, of),
        Chart::Run(of) => run::draw(width, of),
        Chart::Survival(of) => survival::survival(width, of),
        Chart::Lengths(of) => lengths::draw(width, of),
        Chart::TimeHorizon(agents) => time_horizon::draw(width, agents),
        Chart::Hazard(of) => survival::hazard(width, of),
        Chart::Errors(analysis) => bars::errors(width, analysis),
        Chart::ErrorGrid(grid) => grid::draw(width, grid),
        Chart::Outcomes(analysis) => bars::outcomes(width, analysis),
    }
}

/// The chart as an SVG element, for a page: its colours are those of `theme`, whatever the reader
/// prefers. `width` in pixels of CSS is held within [`WIDTHS`]; the height follows from what is
/// shown.
#[must_use]
pub fn chart_svg(chart: &Chart<'_>, theme: Theme, width: u32) -> String {
    svg::svg(&draw(chart, width), svg::Colours { theme, switching: false })
}

/// The chart as an SVG file. Without a theme it is light, and dark for readers that prefer so.
#[must_use]
pub fn chart_svg_file(chart: &Chart<'_>, theme: Option<Theme>, width: u32) -> String {
    let colours = svg::Colours { theme: theme.unwrap_or(Theme::Light), switching: theme.is_none() };
    svg::svg(&draw(chart, width), colours)
}

/// The chart as a PNG with two pixels for one of CSS.
///
/// # Errors
///
/// A picture that is too large for memory.
pub fn chart_png(chart: &Chart<'_>, theme: Theme, width: u32) -> Result<Vec<u8>, PngError> {
    let theme = if theme == Theme::Page { Theme::Light } else { theme };
    png::png(&chart_svg(chart, theme, width))
}
