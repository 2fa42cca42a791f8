//! OpenHands: evaluation outputs, exported trajectories, and event logs of the SDK.
//!
//! Owns which records make one run: a line of an evaluation or of the resolver is a whole run; the
//! events of one file are one, and so are the event files of one folder. Copies of events in other
//! files (by uuid), and of whole outputs, count once. What an event says is read in `v0` and `sdk`;
//! how events become attempts, in `run`.

mod output;
mod run;
mod sdk;
mod v0;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use super::raw::{raw_fields, text};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Severity, Trajectory};
use run::{Events, What};

/// Runs of OpenHands.
pub const OPENHANDS: Format = Format {
    name: "openhands",
    about: "OpenHands runs (evaluation outputs, trajectories, or SDK events)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(OpenHands::new(options))),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    const SHAPES: [&[&str]; 9] = [
        &["instance_id", "history", "metadata"],
        &["instance_id", "history", "test_result"],
        &["instance_id", "test_result", "metadata"],
        &["issue", "history", "git_patch"],
        &["id", "timestamp", "source", "action", "args"],
        &["id", "timestamp", "source", "observation", "content"],
        &["id", "timestamp", "source", "kind", "tool_call_id"],
        &["id", "timestamp", "source", "kind", "llm_message"],
        &["id", "timestamp", "source", "kind", "system_prompt"],
    ];
    SHAPES.iter().any(|keys| probe.any_has(keys)) || sdk::is_event(probe)
}

raw_fields! {
    /// What tells the kinds of records apart.
    Shape { instance_id, issue, action, observation, kind, id }
}

struct OpenHands {
    options: ReadOptions,
    /// Runs that one record is, in order; and runs of events by their first record.
    whole: Vec<Trajectory<'static>>,
    logs: Vec<Log>,
    by_file: HashMap<u32, usize>,
    /// Outputs by what their copies share, as places in `whole`; and uuids of events.
    seen: HashMap<u64, usize>,
    uuids: HashSet<String>,
    tally: Tally,
    issues: Vec<crate::model::Issue>,
}

/// Events of one file.
struct Log {
    folder: PathBuf,
    events: Events,
}

impl OpenHands {
    fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            whole: Vec::new(),
            logs: Vec::new(),
            by_file: HashMap::new(),
            seen: HashMap::new(),
            uuids: HashSet::new(),
            tally: Tally::default(),
            issues: Vec::new(),
        }
    }

    /// A line that is a whole run. The same run in another file may be written with other words
    /// around it; of the outcome, one that was evaluated says what the other does not.
    fn output(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        let key = output::identity(record.bytes)?;
        if let Some(first) = key.and_then(|key| self.seen.get(&key)) {
            let Some(first) = self.whole.get_mut(*first) else { return Ok(Fate::Used) };
            if first.success.is_none() {
                // What a copy lacks was told of the first.
                let (mut tally, mut issues) = (Tally::default(), Vec::new());
                let copy = output::read(record, &self.options, &mut tally, &mut issues)?;
                first.success = copy.success;
            }
            return Ok(Fate::Merged("same_output"));
        }
        let run = output::read(record, &self.options, &mut self.tally, &mut self.issues)?;
        if let Some(key) = key {
            self.seen.insert(key, self.whole.len());
        }
        self.whole.push(run);
        Ok(Fate::Used)
    }

    fn record(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        if record.bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Refusal::of("not_an_object", "the record is no JSON object"));
        }
        let shape: Shape<'_> = quick::from_slice(record.bytes)?;
        if shape.instance_id.is_some() || shape.issue.is_some() {
            return self.output(record);
        }
        let v0 = shape.action.is_some_and(|raw| text(raw).is_some())
            || shape.observation.is_some_and(|raw| text(raw).is_some());
        let kind = shape.kind.and_then(text);
        if !v0 && kind.is_none() {
            return Err(Refusal::of(
                "not_an_event",
                "the record is neither an output nor an event",
            ));
        }
        if let (false, Some(id)) = (v0, shape.id.and_then(text))
            && !self.uuids.insert(id.into_owned())
        {
            return Ok(Fate::Merged("duplicate_event"));
        }
        let at = match self.by_file.get(&record.place.file) {
            Some(at) => *at,
            None => {
                let folder = record.path.parent().map(PathBuf::from).unwrap_or_default();
                self.logs.push(Log { folder, events: Events::new(record.place) });
                self.by_file.insert(record.place.file, self.logs.len() - 1);
                self.logs.len() - 1
            }
        };
        let Some(log) = self.logs.get_mut(at) else { return Ok(Fate::Used) };
        let event = match kind {
            Some(kind) if !v0 => Some(sdk::event(record.bytes, &kind)?),
            _ => v0::event(record.bytes)?,
        };
        log.events.bytes(record.bytes);
        Ok(match event {
            Some(event) => {
                let step = !matches!(event.what, What::Other);
                log.events.push(event);
                if step { Fate::Used } else { Fate::Ignored("no_step") }
            }
            None => Fate::Ignored("no_step"),
        })
    }
}

impl Assembler for OpenHands {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.record(record).unwrap_or_else(Fate::Refused)
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        // A folder of files with one event each is one run.
        let mut singles: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut logs: Vec<Option<Events>> = Vec::new();
        let mut copies = HashSet::new();
        for log in self.logs {
            let mut hasher = DefaultHasher::new();
            log.events.digest().hash(&mut hasher);
            if log.events.count() > 1 && !copies.insert(hasher.finish()) {
                let rule =
                    "trajectories that say the same, event by event, as an earlier one count once";
                self.tally.count("copied_trajectory", Severity::Note, log.events.place(), rule);
                continue;
            }
            if log.events.count() > 1 {
                logs.push(Some(log.events));
                continue;
            }
            match singles.get(&log.folder).and_then(|at| logs.get_mut(*at)?.as_mut()) {
                Some(events) => events.join(log.events),
                None => {
                    singles.insert(log.folder, logs.len());
                    logs.push(Some(log.events));
                }
            }
        }
        let mut runs = self.whole;
        for events in logs.into_iter().flatten() {
            // A log of nothing but state is no run.
            if events.is_empty() {
                continue;
            }
            runs.push(events.run(&self.options, &mut self.tally, &mut self.issues));
        }
        runs.sort_by_key(|run| run.place);
        self.issues.extend(self.tally.into_issues());
        Parsed { runs, issues: self.issues }
    }
}
