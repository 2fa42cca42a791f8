//! The pass over all runs: each is judged and looked at while its texts are in memory, then handed on.

use std::path::PathBuf;
use std::sync::Mutex;

use super::Failure;
use super::args::{Global, Output, Reading};
use super::output;
use super::progress::Progress;
use super::runs::{
    Loaded, Look, Set, Warning, expression_warnings, load_mapping, load_plan, note_warnings,
    tally_warnings,
};
use super::split::Filter;
use crate::evaluate::{Judge, JudgeState, Notes, RunRow};
use crate::expr::Observations;
use crate::ingest::{self, Request, Visitor, formats};
use crate::model::Trajectory;
use crate::render::mask;

/// What is read, and how.
pub(crate) struct Each<'e> {
    pub(crate) paths: &'e [PathBuf],
    pub(crate) reading: &'e Reading,
    pub(crate) global: &'e Global,
    pub(crate) loaded: &'e Loaded,
    pub(crate) output: &'e Output,
    /// Whether readers keep each attempt as JSON until it has been looked at.
    pub(crate) texts: bool,
}

impl Each<'_> {
    /// Reads and judges, and gives each run that `--where` keeps to `take`, in the order that
    /// [`Visitor`] tells: nothing is kept here, so nothing is sorted, and the set has no rows.
    pub(crate) fn read<T: Send>(
        &self,
        look: &Look<'_, T>,
        take: &mut dyn FnMut(RunRow, T),
    ) -> Result<Set, Failure> {
        let Self { paths, reading, global, loaded, output, texts } = *self;
        let mut filter = reading.filter.as_deref().map(Filter::compile).transpose()?;
        let mapping = reading.map.as_deref().map(load_mapping).transpose()?;
        let named = reading.format.as_deref().map(formats::by_name).transpose()?;
        let format = mapping.as_ref().map(|_| &formats::mapped::MAPPED).or(named);
        let plan = reading.plan.as_deref().map(load_plan).transpose()?;
        let threads = threads(reading)?;
        let found = ingest::find(paths)?;
        let config = &loaded.config;
        let inputs = found.sources.iter().map(|source| source.path.as_path());
        let others = [&loaded.path, &reading.plan, &reading.map].into_iter().flatten();
        let others = others.map(PathBuf::as_path);
        output::guard(output, inputs.chain(others))?;
        if reading.strict {
            found.require_readable()?;
        }
        let progress =
            Progress::new(found.sources.iter().map(|source| source.path.as_path()), global.quiet);
        let mut options = config.read_options(plan);
        options.raw_attempts |= texts;
        #[cfg(feature = "tables")]
        {
            options.parquet = Some(crate::table::json_lines);
        }
        options.mapping = mapping;
        let advance = |bytes| progress.advance(bytes);
        let request = Request {
            options,
            format,
            strict: reading.strict,
            threads,
            progress: Some(&advance),
            max_record: ingest::MAX_RECORD,
        };
        let visitor =
            Judging { judge: Judge::new(config), look, seen: Mutex::new(Seen::default()) };
        let (mut read, mut sizes) = (0, Vec::<(u64, u64)>::new());
        let result = ingest::read(&found.sources, &request, &visitor, &mut |(row, more)| {
            read += 1;
            let file = row.place.file as usize;
            if sizes.len() <= file {
                sizes.resize(file + 1, (0, 0));
            }
            if let Some(size) = sizes.get_mut(file) {
                size.0 += u64::from(row.steps);
                size.1 += u64::from(row.attempts);
            }
            if filter.as_mut().is_none_or(|filter| filter.keeps(&row)) {
                take(row, more);
            }
        });
        progress.finish();
        let mut tally = result?;
        tally.files.extend(found.left_out);
        sizes.resize(tally.files.len(), (0, 0));
        let seen = visitor.seen.into_inner().unwrap_or_default();
        let mut warnings = expression_warnings(config, &seen)?;
        warnings.extend(filter.iter_mut().flat_map(|filter| {
            filter.findings().into_iter().map(|finding| Warning {
                code: finding.code().to_owned(),
                message: finding.to_string(),
                count: 1,
                place: "--where".to_owned(),
                withheld: Some(finding.without_values()),
            })
        }));
        warnings.extend(note_warnings(&seen.notes, &tally));
        warnings.extend(tally_warnings(&tally));
        if config.subtask_passed.is_some() {
            // The expression decides what passed, not what the mapping reads.
            warnings.retain(|warning| warning.code != formats::mapped::NO_FAILURE);
        }
        for warning in &mut warnings {
            // Warnings quote values of traces.
            warning.message = mask(&warning.message);
        }
        Ok(Set { rows: Vec::new(), read, tally, warnings, sizes })
    }
}

fn threads(reading: &Reading) -> Result<usize, Failure> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    match reading.threads {
        Some(0) => Err(Failure::usage("--threads 0: expected at least 1")),
        Some(threads) => Ok(threads.min(256)),
        None => Ok(std::env::var("AGENTEVAL_THREADS")
            .ok()
            .and_then(|text| text.parse().ok())
            .filter(|threads| (1..=256).contains(threads))
            .unwrap_or_else(cores)),
    }
}

/// What all threads saw.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) subtask: Option<Observations>,
    pub(super) finals: Option<Observations>,
    pub(super) notes: Notes,
}

struct Judging<'j, T> {
    judge: Judge<'j>,
    look: &'j Look<'j, T>,
    seen: Mutex<Seen>,
}

impl<T: Send> Visitor for Judging<'_, T> {
    type Out = (RunRow, T);
    type State = JudgeState;

    fn state(&self) -> JudgeState {
        self.judge.state()
    }

    fn visit(&self, state: &mut JudgeState, run: &Trajectory<'_>) -> (RunRow, T) {
        (self.look)(&self.judge, state, run)
    }

    fn retire(&self, state: JudgeState) {
        let Ok(mut seen) = self.seen.lock() else { return };
        let (subtask, finals, notes) = state.into_observations();
        let merge = |into: &mut Option<Observations>, from: Option<Observations>| match (into, from)
        {
            (Some(into), Some(from)) => into.merge(from),
            (into @ None, from) => *into = from,
            (Some(_), None) => {}
        };
        merge(&mut seen.subtask, subtask);
        merge(&mut seen.finals, finals);
        seen.notes.merge(&notes);
    }
}
