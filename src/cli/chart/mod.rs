//! `agenteval chart`: one chart as SVG or PNG.

pub(crate) mod args;
mod run;
mod sides;
mod trend;

use std::path::Path;

use self::args::{Kind, SplitFlag};
use super::args::{Chart as Args, Form, Global, Output};
use super::output;
use super::runs::{self, Loaded, Set};
use super::{Failure, Outcome};
use crate::compare::thresholds;
use crate::evaluate::RunRow;
use crate::exit::Status;
use crate::horizon::{
    Accumulation, ErrorGrid, ErrorPlace, Places, Split, Survival, error_places, time_horizons,
};
use crate::metrics::{Analysis, RetryCounts, Spent};
use crate::render::{Chart, Theme, chart_png, chart_svg_file};
use crate::stats::{HorizonSettings, RunWeights};

/// Reads what the chart is of, draws and writes it.
pub(super) fn run(args: &Args, global: &Global) -> Outcome {
    for file in &args.files {
        form(file)?;
    }
    if args.split.is_some() && args.kind != Kind::Errors {
        return Err(Failure::usage("--split is for `chart errors`; leave it out"));
    }
    // An option that changes nothing would be believed.
    let reading = !args.reading.as_typed().is_empty() || args.reading.strict;
    for (given, kinds, what) in [
        (args.metric.is_some(), &[Kind::Trend][..], "--metric is for `chart trend`"),
        (args.against.exact, &[Kind::Compare][..], "--exact is for `chart compare`"),
    ] {
        if given && !kinds.contains(&args.kind) {
            return Err(Failure::usage(format!("{what}; leave it out")));
        }
    }
    if args.kind == Kind::Trend && reading {
        return Err(Failure::usage(
            "`chart trend` draws stored baselines: -c, --where, --format, --plan and --strict change nothing there; leave them out",
        ));
    }
    for file in &args.files {
        super::pages::make_folder(file)?;
    }
    match args.kind {
        Kind::Errors if args.split == Some(SplitFlag::Step) => by_step(args, global, Split::Decile),
        Kind::Heatmap => by_step(args, global, Split::Step),
        Kind::Compare => sides::draw(args, global),
        Kind::Trend => trend::draw(args, global),
        Kind::Run => run::draw(args, global),
        _ => of_runs(args, global),
    }
}

/// The two forms of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Picture {
    Svg,
    Png,
}

fn form(file: &Path) -> Result<Picture, Failure> {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(Picture::Svg),
        Some("png") => Ok(Picture::Png),
        _ => Err(Failure::usage(format!(
            "-o {}: a chart is .svg or .png; use one of these endings",
            file.display()
        ))),
    }
}

/// The files to write, so that none of them is one that is read.
fn written(args: &Args) -> Output {
    Output { output: Form::Table, files: args.files.clone() }
}

/// Draws and writes.
fn write(chart: &Chart<'_>, args: &Args) -> Outcome {
    let theme = args.theme.map(Theme::from);
    for file in &args.files {
        let bytes = match form(file)? {
            Picture::Svg => chart_svg_file(chart, theme, args.width).into_bytes(),
            Picture::Png => chart_png(chart, theme.unwrap_or(Theme::Light), args.width)
                .map_err(|error| Failure::usage(error.to_string()))?,
        };
        output::write_file(file, &bytes)?;
    }
    Ok(Status::Done)
}

fn read(args: &Args, global: &Global) -> Result<(Loaded, Set), Failure> {
    let loaded = Loaded::config(&args.reading, global)?;
    let (set, _) = runs::read(
        &args.inputs,
        &args.reading,
        global,
        &loaded,
        &written(args),
        &|judge, state, run| (judge.row(state, run), ()),
    )?;
    set.warn(global);
    set.require_runs()?;
    Ok((loaded, set))
}

/// How `horizon --time` computes where nothing else is said.
const TIME_HORIZON: HorizonSettings =
    HorizonSettings { ridge: 0.0, weights: RunWeights::Tasks, draws: 1_000, seed: 42, level: 0.95 };

/// Charts that the rows of runs are enough for.
fn of_runs(args: &Args, global: &Global) -> Outcome {
    let (loaded, set) = read(args, global)?;
    let rows: Vec<&RunRow> = set.rows.iter().collect();
    let analysis = || Analysis::of(&rows, loaded.config.metrics.as_deref(), None);
    match args.kind {
        Kind::Survival => write(&Chart::Survival(&Accumulation::of(&rows, &[])), args),
        Kind::Lengths => write(&Chart::Lengths(&Accumulation::of(&rows, &[])), args),
        Kind::TimeHorizon => {
            let agents = time_horizons(&rows, &[0.5], TIME_HORIZON);
            write(&Chart::TimeHorizon(&agents), args)
        }
        Kind::Hazard => write(&Chart::Hazard(&Survival::of(&rows)), args),
        Kind::Retries => write(&Chart::Retries(&RetryCounts::of(&rows)), args),
        Kind::Cost => write(&Chart::Cost(Spent::of(&rows).as_ref()), args),
        Kind::Outcomes => write(&Chart::Outcomes(&analysis()), args),
        Kind::Errors if args.split == Some(SplitFlag::Tool) => {
            write(&Chart::ErrorGrid(&ErrorGrid::by_tool(&rows)), args)
        }
        Kind::Errors => write(&Chart::Errors(&analysis()), args),
        _ => {
            let held = thresholds(&set.rows, &[], &loaded.config.thresholds);
            write(&Chart::Metrics(&analysis(), &held), args)
        }
    }
}

/// Charts that need to know at which step an attempt failed.
fn by_step(args: &Args, global: &Global, split: Split) -> Outcome {
    let loaded = Loaded::config(&args.reading, global)?;
    let (set, found) =
        runs::read(&args.inputs, &args.reading, global, &loaded, &written(args), &|judge,
                                                                                   state,
                                                                                   run|
         -> (
            RunRow,
            Vec<ErrorPlace>,
        ) {
            let timeline = judge.timeline(state, run);
            let places = error_places(&timeline);
            (timeline.row, places)
        })?;
    set.warn(global);
    set.require_runs()?;
    let mut places = Places::default();
    for (row, found) in set.rows.iter().zip(&found) {
        places.add(row, found);
    }
    write(&Chart::ErrorGrid(&places.grid(split)), args)
}
