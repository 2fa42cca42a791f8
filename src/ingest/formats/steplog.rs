//! Structured step logs: lines `{"node_id", "event", "extra"}` and `{"metric", "value"}`.
//!
//! Owns: which run a line belongs to. A line names its run by `run_id`, else by `workflow_id`,
//! on itself or in `extra`. A line that names none belongs to the file's run without an id, else
//! to the only open run of its file, else to the file's only run; where that leaves several, an
//! event is refused and a metric ignored, because a guess would put it into the wrong run. A
//! second `run_start` without an id opens another run of the file.
//!
//! A run whose start and end were logged is given out once the runs that ended after it have more than
//! `HELD` attempts, so that memory does not grow with the log; what says more of it later is refused.
//!
//! Refuses: to read application logs that merely have an `event`: the words are a closed list.
//! The fields of a line stand in `steplog/line.rs`, its run in `steplog/run.rs`.

use std::collections::{BTreeSet, VecDeque};

use foldhash::{HashMap, HashMapExt};

use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal, whole};
use crate::config::ReadOptions;
use crate::model::{Issue, Place, Trajectory};

mod attempts;
mod line;
mod run;

use line::{Event, Line, Written};
use run::Run;

/// Structured step logs.
pub const STEPLOG: Format = Format {
    name: "steplog",
    about: "structured step logs, one event a line",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(Steplog::new(options))),
    archive: None,
    misspelt: None,
};

/// An event of the list with a node or a run, or a node with an `extra`.
fn detect(probe: &Probe<'_>) -> bool {
    probe.records.iter().zip(probe.keys()).any(|(record, keys)| {
        // A long record of another form is not parsed for nothing.
        if !keys.iter().any(|key| key == "event" || key == "extra") {
            return false;
        }
        let Ok(Some(line)) = Line::parse(record) else { return false };
        let (has_node, has_run) = (line.fields.has_node(), line.fields.run_key().is_some());
        match line.event() {
            Some(Ok(Event::Step)) => has_node || has_run || line.fields.has_type(),
            Some(Ok(_)) => has_node || has_run,
            Some(Err(_)) => false,
            None => has_node && line.has_extra && !line.fields.has_status(),
        }
    })
}

/// The runs that one file has shown so far.
#[derive(Default)]
struct FileRuns {
    /// The run of the lines that name none.
    nameless: Option<usize>,
    /// The first run, and whether there was another.
    first: Option<usize>,
    several: bool,
    /// Runs whose end was not seen.
    open: BTreeSet<usize>,
}

impl FileRuns {
    fn saw(&mut self, run: usize, ended: bool) {
        match self.first {
            None => self.first = Some(run),
            Some(first) => self.several |= first != run,
        }
        if ended {
            self.open.remove(&run);
        } else {
            self.open.insert(run);
        }
    }

    /// The run of a line that names none, where there is only one that it can be.
    fn only(&self) -> Option<usize> {
        let mut open = self.open.iter();
        let the_open_one = open.next().filter(|_| open.next().is_none()).copied();
        self.nameless.or(the_open_one).or(self.first.filter(|_| !self.several))
    }
}

/// Attempts of ended runs that are held at most, in case that lines come late.
const HELD: usize = 8_192;

struct Steplog {
    options: ReadOptions,
    /// The runs in the order of their first lines; `None` for one that was given out.
    runs: Vec<Option<Box<Run>>>,
    by_id: HashMap<Box<str>, usize>,
    files: HashMap<u32, FileRuns>,
    /// Runs whose start and end were logged, in the order of their ends, with their attempts then.
    ended: VecDeque<(usize, usize)>,
    /// Attempts of these.
    held: usize,
    /// Attempts that were closed by a restart in runs that were given out, and the first such run.
    restarted: (u64, Option<Place>),
}

impl Steplog {
    fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            runs: Vec::new(),
            by_id: HashMap::new(),
            files: HashMap::new(),
            ended: VecDeque::new(),
            held: 0,
            restarted: (0, None),
        }
    }

    /// A run as its lines left it.
    fn finish_run(&mut self, run: Run) -> Trajectory<'static> {
        if run.restarted() > 0 {
            let (count, first) = &mut self.restarted;
            *count += run.restarted();
            *first = Some(first.map_or(run.place(), |first| first.min(run.place())));
        }
        run.finish(self.options.plan.as_deref())
    }

    /// The run that a line belongs to; `None` where that cannot be told.
    fn run_of(&mut self, line: &Line<'_>, event: Option<Event>, place: Place) -> Option<usize> {
        let (runs, file) = (&mut self.runs, self.files.entry(place.file).or_default());
        let at = if let Some(id) = line.fields.run_key() {
            match self.by_id.get(id.as_ref()) {
                Some(&at) => at,
                None => {
                    runs.push(Some(Box::new(Run::new(place, Some(&id)))));
                    self.by_id.insert(id.as_ref().into(), runs.len() - 1);
                    runs.len() - 1
                }
            }
        } else {
            let restarts = event == Some(Event::RunStart)
                && file
                    .nameless
                    .map_or(file.first.is_some(), |at| known(runs, at).is_none_or(Run::has_bounds));
            match file.only() {
                Some(at) if !restarts => at,
                _ if restarts || (event.is_some() && file.first.is_none()) => {
                    runs.push(Some(Box::new(Run::new(place, None))));
                    file.nameless = Some(runs.len() - 1);
                    runs.len() - 1
                }
                _ => return None,
            }
        };
        let ended = event == Some(Event::RunEnd) || known(runs, at).is_none_or(Run::has_ended);
        file.saw(at, ended);
        Some(at)
    }
}

/// A run that was not given out.
fn known(runs: &[Option<Box<Run>>], at: usize) -> Option<&Run> {
    runs.get(at)?.as_deref()
}

impl Steplog {
    /// Takes a line; `exact` says that it is as the file has it.
    fn take(&mut self, record: &Record<'_>, exact: bool) -> Fate {
        let line = match Line::parse(record.bytes) {
            Ok(Some(line)) => line,
            Ok(None) => return Fate::Ignored("not_a_step_event"),
            Err(error) => return Fate::Refused(error.into()),
        };
        let event = match line.event() {
            Some(Ok(event)) => Some(event),
            _ if line.metric().is_some() => None,
            Some(Err(_)) => return Fate::Ignored("unknown_event"),
            None => return Fate::Ignored("not_a_step_event"),
        };
        if event.is_some_and(Event::needs_node) && line.fields.node_key().is_none() {
            let message = "the event names no node, give it a `node_id`";
            return Fate::Refused(Refusal::of("event_without_node", message));
        }
        // The number is read where the event is of an attempt.
        if event.is_some_and(|event| !matches!(event, Event::RunStart | Event::RunEnd))
            && let Err(refusal) = whole(&line.fields.attempt, "attempt")
        {
            return Fate::Refused(refusal);
        }
        let at = self.run_of(&line, event, record.place);
        if let Some(at) = at
            && known(&self.runs, at).is_none()
        {
            let message = "the run ended far above this line, log all of it before its `run_end`";
            return Fate::Refused(Refusal::of("line_after_run_end", message));
        }
        let run = at.and_then(|at| Some((at, self.runs.get_mut(at)?.as_deref_mut()?)));
        match (run, event) {
            (Some((at, run)), Some(event)) => {
                // The place of the run tells of one file; lines in others have none to be found at.
                let bytes = (exact && record.place.file == run.place().file).then(|| record.span());
                let written = Written { text: record.bytes, bytes };
                let had_ended = run.is_over();
                let fate = run.take(line, event, self.options.raw_attempts.then_some(written));
                if run.is_over() && !had_ended {
                    self.ended.push_back((at, run.attempts()));
                    self.held += run.attempts();
                }
                fate
            }
            (Some((_, run)), None) => {
                run.set_metric(&line);
                Fate::Used
            }
            (None, None) => Fate::Ignored("metric_without_run"),
            (None, Some(_)) => {
                let message = "several runs share this file and the line names none, \
                               give it a `run_id`";
                Fate::Refused(Refusal::of("event_without_run", message))
            }
        }
    }
}

impl Assembler for Steplog {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.take(record, true)
    }

    fn push_repaired(&mut self, record: &Record<'_>) -> Fate {
        self.take(record, false)
    }

    fn give_out(&mut self) -> Option<Trajectory<'static>> {
        if self.held <= HELD {
            return None;
        }
        let (at, attempts) = self.ended.pop_front()?;
        self.held -= attempts;
        let run = self.runs.get_mut(at)?.take()?;
        Some(self.finish_run(*run))
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        let mut runs: Vec<Box<Run>> =
            std::mem::take(&mut self.runs).into_iter().flatten().collect();
        runs.sort_by_key(|run| run.place());
        let mut parsed = Parsed::default();
        for run in runs {
            parsed.runs.push(self.finish_run(*run));
        }
        if let (restarted, Some(place)) = self.restarted {
            let message = "an attempt was still open when its node was started again or retried: \
                           it counts as failed";
            parsed
                .issues
                .push(Issue::note("attempt_closed_by_restart", place, message).times(restarted));
        }
        parsed
    }
}
