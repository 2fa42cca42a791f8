//! From judged runs to what was seen of each signature, while the runs pass by.
//!
//! Owns which failures a run has, and by what a run is known again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use super::LibraryError;
use super::excerpt::{Excerpt, reason};
use super::seen::{Seen, SeenRun};
use super::signature::{Signature, digest, label};
use crate::evaluate::{Contents, Outcome, Timeline, TimelineStep, Verdict};
use crate::model::{Place, RetrySource, Stamp, Time, Trajectory};

/// Signatures that are kept; more are an error, and nothing is written.
pub const MOST_SIGNATURES: usize = 10_000;

/// What was seen of one signature in the runs that were read.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered {
    /// The signature.
    pub signature: Signature,
    /// What was seen of it.
    pub seen: Seen,
    /// Where the first run of the input stands that has it.
    pub place: Place,
    /// That run's id, else its task and trial; masked.
    pub run: String,
    /// The position of the failed step in it; `None` for one of a run as a whole.
    pub step: Option<u32>,
}

/// Gathers from many threads.
#[derive(Debug, Default)]
pub struct Gatherer {
    recovered: bool,
    content: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    found: BTreeMap<String, Gathered>,
    /// Runs that have a failure.
    runs: u64,
    too_many: bool,
}

/// One failure of one run.
struct Found {
    attempts: u64,
    /// Its first step, as a place among the steps.
    at: Option<usize>,
}

impl Gatherer {
    /// Gathers failures of runs that were not completed; with `recovered` also failed attempts that
    /// were made good, and those of completed runs. With `content`, excerpts have inputs and
    /// outputs, for which readers must keep attempts as JSON.
    #[must_use]
    pub fn new(recovered: bool, content: bool) -> Self {
        Self { recovered, content, state: Mutex::default() }
    }

    /// Looks at one run.
    pub fn add(&self, run: &Trajectory<'_>, timeline: &Timeline) {
        let found = self.found(timeline);
        if found.is_empty() {
            return;
        }
        let key = run_key(run);
        let name = name(run);
        let time = time(run);
        let row = &timeline.row;
        let wanted: Vec<(String, Signature, Found, bool)> = {
            let Ok(mut state) = self.state.lock() else { return };
            state.runs += 1;
            let wants = |id: &str| match state.found.get(id).and_then(|g| g.seen.excerpt.as_ref()) {
                // One with contents goes before one without, whatever the keys.
                Some(known) => self.content || key.as_str() <= known.key.as_str(),
                None => true,
            };
            found
                .into_iter()
                .map(|(signature, found)| {
                    let id = signature.id();
                    let excerpt = wants(&id);
                    (id, signature, found, excerpt)
                })
                .collect()
        };
        let wants = self.content && wanted.iter().any(|(.., excerpt)| *excerpt);
        let contents = if wants { Contents::of(run) } else { Contents::default() };
        for (id, signature, found, excerpt) in wanted {
            let mut seen = Seen::default();
            let seen_run = SeenRun { label: name.clone(), attempts: found.attempts };
            seen.run(&key, seen_run, time, row.task_id.as_deref());
            if excerpt {
                seen.excerpt = Some(Excerpt {
                    key: key.clone(),
                    run: name.clone(),
                    task: row.task_id.as_deref().map(label).filter(|task| !task.is_empty()),
                    outcome: row.outcome.name().to_owned(),
                    end_reason: reason(timeline),
                    steps: Excerpt::of(timeline, found.at, &contents),
                });
            }
            let step = found.at.and_then(|at| timeline.steps.get(at)).map(|step| step.position);
            let (place, run) = (row.place, name.clone());
            self.join(id, Gathered { signature, seen, place, run, step });
        }
    }

    fn join(&self, id: String, new: Gathered) {
        let Ok(mut state) = self.state.lock() else { return };
        if let Some(known) = state.found.get_mut(&id) {
            let at = |one: &Gathered| (one.place.file, one.place.line, one.place.byte);
            if at(&new) < at(known) {
                (known.place, known.run, known.step) = (new.place, new.run, new.step);
            }
            known.seen.join(new.seen);
        } else if state.found.len() < MOST_SIGNATURES {
            state.found.insert(id, new);
        } else {
            state.too_many = true;
        }
    }

    /// What was gathered, by id, and the number of runs that have a failure.
    ///
    /// # Errors
    ///
    /// [`LibraryError::TooMany`].
    pub fn finish(self) -> Result<(BTreeMap<String, Gathered>, u64), LibraryError> {
        let state = self.state.into_inner().unwrap_or_default();
        if state.too_many {
            return Err(LibraryError::TooMany { most: MOST_SIGNATURES });
        }
        Ok((state.found, state.runs))
    }

    /// The failures of one run.
    fn found(&self, timeline: &Timeline) -> BTreeMap<Signature, Found> {
        let mut all = BTreeMap::new();
        let row = &timeline.row;
        if row.completed() && !self.recovered {
            return all;
        }
        let passes = last_passes(timeline);
        let mut explained = false;
        for (at, step) in timeline.steps.iter().enumerate() {
            let lost = is_lost(step, row.retry_source, &passes);
            explained |= lost;
            if !lost && !self.recovered {
                continue;
            }
            for attempt in step.attempts.iter().filter(|one| one.verdict == Verdict::Failed) {
                let signature = Signature::of_step(
                    attempt.error_type.as_deref().unwrap_or_default(),
                    attempt.failed_tool.as_deref(),
                    &step.kind,
                    attempt.error_message.as_deref().unwrap_or_default(),
                );
                let found = all.entry(signature).or_insert(Found { attempts: 0, at: Some(at) });
                found.attempts += u64::from(attempt.times);
            }
        }
        let limited = row.outcome == Outcome::OverLimit;
        if limited || (row.outcome == Outcome::Failed && !explained) {
            let limit = row.limit.map(|limit| limit.name());
            let reason = timeline.end_reason.as_deref().unwrap_or_default();
            let signature = Signature::of_run(row.outcome.name(), limit, reason);
            all.insert(signature, Found { attempts: 0, at: None });
        }
        all
    }
}

/// The last passed record of each step type and name.
type Passes<'t> = HashMap<(&'t str, Option<&'t str>), u32>;

fn last_passes(timeline: &Timeline) -> Passes<'_> {
    let mut passes = Passes::new();
    for step in &timeline.steps {
        for attempt in step.attempts.iter().filter(|one| one.verdict == Verdict::Passed) {
            let last = passes.entry((&step.kind, step.name.as_deref())).or_default();
            *last = (*last).max(attempt.record);
        }
    }
    passes
}

/// Whether a step failed and was not recovered (`METRICS.md`): where retries are recorded, no later
/// attempt of it passed; where they are inferred, no later action of its type and name did.
fn is_lost(step: &TimelineStep, source: RetrySource, passes: &Passes<'_>) -> bool {
    let failed = step.attempts.iter().position(|one| one.verdict == Verdict::Failed);
    let Some((at, first)) = failed.and_then(|at| Some((at, step.attempts.get(at)?))) else {
        return false;
    };
    let recovered = match source {
        RetrySource::Recorded => {
            step.attempts.iter().skip(at + 1).any(|one| one.verdict == Verdict::Passed)
        }
        RetrySource::Inferred => {
            passes.get(&(step.kind.as_str(), step.name.as_deref())).is_some_and(|last| {
                if first.implied { *last >= first.record } else { *last > first.record }
            })
        }
    };
    !recovered
}

/// The run's id, else its task and trial, else nothing.
fn name(run: &Trajectory<'_>) -> String {
    if let Some(id) = run.run_id.as_deref().filter(|id| !id.is_empty()) {
        return label(id);
    }
    match (run.task_id.as_deref(), run.trial.as_deref()) {
        (Some(task), Some(trial)) => label(&format!("{task} trial {trial}")),
        (Some(task), None) => label(task),
        _ => String::new(),
    }
}

/// When it was, as recorded: its start, else its first attempt's, else its end.
fn time(run: &Trajectory<'_>) -> Option<Time> {
    let read = |stamp: &Option<Stamp<'_>>| stamp.as_ref().and_then(Stamp::time);
    read(&run.started_at)
        .or_else(|| run.attempts.iter().filter_map(|attempt| read(&attempt.started_at)).min())
        .or_else(|| read(&run.ended_at))
}

/// By what a run is known again: its id with task, trial, agent, model and start; without an id
/// also what it did, so that runs without names are not one.
fn run_key(run: &Trajectory<'_>) -> String {
    let mut text = String::new();
    let mut put = |part: Option<&str>| {
        // The length parts them, whatever they hold.
        let part = part.unwrap_or("\u{0}");
        text += &format!("{}:{part}\n", part.len());
    };
    for part in [&run.run_id, &run.task_id, &run.trial, &run.agent, &run.model] {
        put(part.as_deref());
    }
    let micros = |stamp: &Option<Stamp<'_>>| {
        stamp.as_ref().and_then(Stamp::time).map(|time| time.micros.to_string())
    };
    put(micros(&run.started_at).as_deref());
    if run.run_id.as_deref().is_none_or(str::is_empty) {
        put(run.end_reason.as_deref());
        for attempt in &run.attempts {
            let error = attempt.error.as_ref();
            put(Some(&attempt.kind));
            put(attempt.name.as_deref());
            put(attempt.status.as_deref());
            put(attempt.request_id.as_deref());
            put(attempt.input.map(|input| input.to_string()).as_deref());
            put(error.and_then(|error| error.kind.as_deref()));
            put(error.and_then(|error| error.message.as_deref()));
            put(micros(&attempt.started_at).as_deref());
        }
    }
    digest(text.as_bytes())
}
