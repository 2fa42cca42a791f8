//! The two sides of a comparison: runs that are read now, and stored baselines.

use std::path::PathBuf;

use super::args::{Against, Global, Output, Reading};
use super::collect::Collector;
use super::runs::{self, Loaded, Set, Warning};
use super::{Failure, baseline, complain};
use crate::baseline::{Baseline, ConfigDifference, Judging, masked_row};
use crate::compare::Notice;
use crate::evaluate::{Judge, JudgeState, RunRow};
use crate::model::Trajectory;

/// One side: its rows as baselines keep them, so that both sides pair, and how they were judged.
pub(crate) struct Sided {
    /// What reports call it.
    pub(crate) name: String,
    pub(crate) rows: Vec<RunRow>,
    pub(crate) judging: Judging,
    /// The baseline, where it is one.
    pub(crate) stored: Option<Baseline>,
    pub(crate) warnings: Vec<Warning>,
}

/// Reads and judges paths as one side.
pub(crate) fn read(
    paths: &[PathBuf],
    reading: &Reading,
    global: &Global,
    loaded: &Loaded,
    output: &Output,
) -> Result<(Sided, Set), Failure> {
    read_collecting(paths, reading, global, loaded, output, None)
}

/// Like [`read`]; `collector` takes what a page needs.
pub(crate) fn read_collecting(
    paths: &[PathBuf],
    reading: &Reading,
    global: &Global,
    loaded: &Loaded,
    output: &Output,
    collector: Option<&Collector>,
) -> Result<(Sided, Set), Failure> {
    let texts = collector.is_some();
    let look = |judge: &Judge<'_>, state: &mut JudgeState, run: &Trajectory<'_>| {
        let row = match collector {
            Some(collector) => collector.look(judge, state, run),
            None => judge.row(state, run),
        };
        (row, ())
    };
    let (mut set, _) = runs::read_texts(paths, reading, global, loaded, output, texts, &look)?;
    set.warn(global);
    set.require_runs()?;
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let sided = Sided {
        name: shown.join(" "),
        rows: set.rows.iter().map(masked_row).collect(),
        judging: baseline::judging(loaded, reading)?,
        stored: None,
        warnings: std::mem::take(&mut set.warnings),
    };
    Ok((sided, set))
}

impl Sided {
    /// Whether it is a baseline of several saves.
    pub(crate) fn pooled(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.saves.len() > 1)
    }

    /// A stored baseline as one side.
    pub(crate) fn stored(mut baseline: Baseline) -> Self {
        Self {
            name: baseline.name.clone(),
            rows: std::mem::take(&mut baseline.rows),
            judging: baseline.judging.clone(),
            stored: Some(baseline),
            warnings: Vec::new(),
        }
    }
}

/// Which config the baseline was saved with, where that is the likely cause.
fn saved_with(before: &Sided, after: &Sided) -> String {
    let stored = [before, after].into_iter().find_map(|side| side.stored.as_ref());
    let Some(stored) = stored else { return " (-c FILE)".to_owned() };
    let named = |config: &crate::baseline::ConfigFile| match &config.task_name {
        Some(name) => format!("the file of its config, whose task_name is `{name}`,"),
        None => format!("its config of SHA-256 {}", config.sha256.get(..12).unwrap_or_default()),
    };
    match &stored.config {
        Some(config) => {
            format!(" (give {} with -c; or move the baseline with `bless`)", named(config))
        }
        None => " (the baseline was saved without one; or move it with `bless`)".to_owned(),
    }
}

/// Refuses sides that were judged differently, or warns where that is allowed.
pub(crate) fn same_judging(
    before: &Sided,
    after: &Sided,
    against: &Against,
    global: &Global,
) -> Result<Vec<Warning>, Failure> {
    let differences: Vec<ConfigDifference> = match (&before.stored, &after.stored) {
        (Some(before), _) => before.differences(&after.judging),
        (None, Some(after)) => after.differences(&before.judging),
        (None, None) => before.judging.differences(&after.judging),
    };
    if differences.is_empty() {
        return Ok(Vec::new());
    }
    let listed: Vec<String> = differences.iter().map(ToString::to_string).collect();
    let what = format!(
        "`{}` and `{}` were judged differently: {}",
        before.name,
        after.name,
        listed.join("; ")
    );
    if !against.allow_different_config {
        return Err(Failure::usage(format!(
            "{what}; judge both by one config{}, or compare all the same with --allow-different-config",
            saved_with(before, after)
        )));
    }
    if !global.quiet {
        complain(&format!("warning: different_config: {what}"));
    }
    Ok(vec![Warning {
        code: "different_config".to_owned(),
        message: what,
        count: 1,
        place: String::new(),
        withheld: None,
    }])
}

impl From<&Notice> for Warning {
    fn from(notice: &Notice) -> Self {
        Self {
            code: notice.code.to_owned(),
            message: notice.message.clone(),
            count: notice.count,
            place: String::new(),
            withheld: None,
        }
    }
}
