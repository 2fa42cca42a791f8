//! `chart trend NAME...`: a figure over stored baselines.

use std::path::Path;

use super::super::args::{Chart as Args, Global};
use super::super::{Failure, Outcome, baseline, complain, output};
use super::{write, written};
use crate::baseline::Baseline;
use crate::evaluate::RunRow;
use crate::metrics::{Trend, metric};
use crate::model::{METRIC_NAMES, nearest, resolve_metric};
use crate::render::Chart;

/// Reads the baselines and draws one figure of each of their saves.
pub(super) fn draw(args: &Args, global: &Global) -> Outcome {
    let named = args.metric.as_deref().unwrap_or("final_completion_rate");
    let unknown = || {
        let near = nearest(named, METRIC_NAMES.iter().map(|metric| metric.name));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Failure::usage(format!("--metric {named}: there is no such figure{hint}"))
    };
    let info = resolve_metric(named).ok_or_else(unknown)?;
    let mut trend = Trend::new(metric(info.name).ok_or_else(unknown)?);
    let store = baseline::store(&args.against.store)?;
    let mut first: Option<Baseline> = None;
    for name in &args.inputs {
        let name = name.to_str().ok_or_else(|| {
            Failure::usage(format!("{}: no baseline has such a name", name.display()))
        })?;
        output::guard(&written(args), [store.file(name)?].iter().map(Path::new))?;
        let baseline = store.load(name)?;
        if let Some(first) = &first {
            differ(first, &baseline, args, global)?;
        }
        saves(&mut trend, &baseline);
        first.get_or_insert(baseline);
    }
    trend.sort();
    write(&Chart::Trend(&trend), args)
}

/// Adds each save of a baseline.
fn saves(trend: &mut Trend, baseline: &Baseline) {
    for save in &baseline.saves {
        let of_save = |(at, _): &(usize, &RunRow)| baseline.save_of(*at) == Some(save.number);
        let rows: Vec<&RunRow> =
            baseline.rows.iter().enumerate().filter(of_save).map(|(_, row)| row).collect();
        let name = match baseline.saves.len() {
            1 => baseline.name.clone(),
            _ => format!("{} #{}", baseline.name, save.number),
        };
        trend.add(name, save.time.clone(), &rows);
    }
}

/// Figures of baselines that were judged differently are no trend.
fn differ(first: &Baseline, other: &Baseline, args: &Args, global: &Global) -> Result<(), Failure> {
    let differences = first.differences(&other.judging);
    if differences.is_empty() {
        return Ok(());
    }
    let listed: Vec<String> = differences.iter().map(ToString::to_string).collect();
    let what = format!(
        "`{}` and `{}` were judged differently: {}",
        first.name,
        other.name,
        listed.join("; ")
    );
    if !args.against.allow_different_config {
        return Err(Failure::usage(format!(
            "{what}; judge all by one config, or draw them all the same with --allow-different-config"
        )));
    }
    if !global.quiet {
        complain(&format!("warning: different_config: {what}"));
    }
    Ok(())
}
