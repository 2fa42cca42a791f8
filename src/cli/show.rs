//! `agenteval show`: one run as a timeline.

use std::path::PathBuf;

use super::args::{Global, Output, Reading, Show};
use super::output::{self, Forms};
use super::runs::{self, Loaded, Set};
use super::{Failure, Outcome, complain};
use crate::evaluate::{RunRow, Timeline};
use crate::exit::Status;
use crate::ingest::Tally;
use crate::render::{Doc, pretty_json, timeline_doc, timeline_wire};

/// Finds the run, or the trials of the task, and shows them.
pub(super) fn run(args: &Show, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, output::More::Nothing)?;
    let loaded = Loaded::config(&args.input.reading, global)?;
    let (set, mut chosen) =
        find(&args.run, &args.input.paths, &args.input.reading, global, &loaded, &output)?;
    let more = chosen.len().saturating_sub(args.limit.max(1));
    chosen.truncate(args.limit.max(1));
    let doc = || {
        let mut all = Doc::default();
        for timeline in &chosen {
            if !all.blocks.is_empty() {
                all.line("");
            }
            all.blocks.extend(timeline_doc(timeline, &locate(&set.tally, timeline)).blocks);
        }
        all
    };
    let json = || {
        let wires: Vec<_> = chosen
            .iter()
            .map(|timeline| timeline_wire(timeline, &locate(&set.tally, timeline)))
            .collect();
        pretty_json(&wires)
    };
    output::emit(&Forms::page(&doc, &json), &output, global)?;
    if more > 0 && !global.quiet {
        complain(&format!("{more} more runs of this id are not shown (--limit)"));
    }
    Ok(Status::Done)
}

/// Reads the runs, and gives those that `wanted` names: by run id, task id, task and trial, or place.
pub(super) fn find(
    wanted: &str,
    paths: &[PathBuf],
    reading: &Reading,
    global: &Global,
    loaded: &Loaded,
    output: &Output,
) -> Result<(Set, Vec<Timeline>), Failure> {
    // The page adds the number of the run to its place.
    let at = wanted.rsplit_once('#').map_or(wanted, |(at, _)| at);
    let place = Place::parse(at);
    let trials = trials(wanted);
    let is_trial = |row: &RunRow| {
        let known = row.task_id.as_deref().zip(row.trial.as_deref());
        known.is_some_and(|known| trials.contains(&known))
    };
    // As written in full, or from the name of a folder or file on.
    let is_place = |place: &str| {
        place.strip_suffix(at).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    // Which runs are kept is decided while their texts are in memory, since input such as a pipe
    // cannot be read twice.
    let (set, found) = runs::read(paths, reading, global, loaded, output, &|judge, state, run| {
        let task = run.task_id.as_deref();
        let named = run.run_id.as_deref() == Some(wanted)
            || task == Some(wanted)
            || trials.iter().any(|(wanted, _)| task == Some(*wanted));
        if named || place.as_ref().is_some_and(|place| place.may_be(run.place)) {
            let timeline = judge.timeline(state, run);
            (timeline.row.clone(), Some(timeline))
        } else {
            (judge.row(state, run), None)
        }
    })?;
    set.warn(global);
    set.require_runs()?;
    let mut chosen: Vec<Timeline> = found
        .into_iter()
        .flatten()
        .filter(|timeline| {
            let row = &timeline.row;
            row.run_id.as_deref() == Some(wanted)
                || row.task_id.as_deref() == Some(wanted)
                || is_trial(row)
                || is_place(&set.locate(row))
        })
        .collect();
    // A run id goes before a task id of the same name; of a task, failed trials come first.
    if chosen.iter().any(|timeline| timeline.row.run_id.as_deref() == Some(wanted)) {
        chosen.retain(|timeline| timeline.row.run_id.as_deref() == Some(wanted));
    }
    chosen.sort_by_key(|timeline| timeline.row.completed());
    if chosen.is_empty() {
        let ids = set.rows.iter().flat_map(|row| [row.run_id.as_deref(), row.task_id.as_deref()]);
        let near = crate::model::nearest(wanted, ids.flatten());
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(Failure::usage(format!("no run or task has the id `{wanted}`{hint}")));
    }
    Ok((set, chosen))
}

fn locate(tally: &Tally, timeline: &Timeline) -> String {
    tally.locate(timeline.row.place)
}

/// `TASK trial N` and `TASK/N`, as tables name a run without an id.
fn trials(wanted: &str) -> Vec<(&str, &str)> {
    [" trial ", "/"].iter().filter_map(|between| wanted.rsplit_once(between)).collect()
}

/// `FILE:LINE` or `FILE@BYTE`, as warnings and tables give it.
struct Place {
    line: Option<u64>,
    byte: Option<u64>,
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        let number =
            |mark: char| text.rsplit_once(mark).and_then(|(_, number)| number.parse().ok());
        let (line, byte) = (number(':'), number('@'));
        (line.is_some() || byte.is_some()).then_some(Self { line, byte })
    }

    /// Whether a run at this place could be meant; its file is compared once all files are known.
    fn may_be(&self, place: crate::model::Place) -> bool {
        self.line == Some(place.line) || self.byte == Some(place.byte)
    }
}
