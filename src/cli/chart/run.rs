//! `chart run RUN PATH...`: the timeline of one run.

use super::super::args::{Chart as Args, Global};
use super::super::runs::Loaded;
use super::super::{Failure, Outcome, complain, show};
use super::{write, written};
use crate::render::Chart;

/// Finds the run as `show` does, and draws the first that is found.
pub(super) fn draw(args: &Args, global: &Global) -> Outcome {
    let usage = || {
        Failure::usage(
            "chart run takes a run and its paths: `agenteval chart run RUN PATH... -o FILE`",
        )
    };
    let (wanted, paths) = args.inputs.split_first().ok_or_else(usage)?;
    let wanted = wanted.to_str().filter(|_| !paths.is_empty()).ok_or_else(usage)?;
    let loaded = Loaded::config(&args.reading, global)?;
    let (_, found) = show::find(wanted, paths, &args.reading, global, &loaded, &written(args))?;
    if found.len() > 1 && !global.quiet {
        complain(&format!(
            "{} runs have this id: the first is drawn; name one by its run id or place",
            found.len()
        ));
    }
    let first = found.first().ok_or_else(usage)?;
    write(&Chart::Run(first), args)
}
