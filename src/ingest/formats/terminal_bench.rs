//! Terminal-Bench: `results.json` of a run, with one entry a trial.
//!
//! Owns both generations of the schema, results files of whole runs (also flat ones under another
//! name) and of single trials, and `run_metadata.json`, which names agent and model of the results
//! beside it. A trial counts once however often it is stored: runs lie nested in other runs, and
//! each trial stands in a file of its own too. The outcome is `is_resolved`; where that is null
//! the trial counts as not completed, as in the benchmark's own accuracy, and is told apart.
//!
//! Refuses steps: they stand in recordings of a terminal, not in these files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::kept;
use super::raw::{amount, label, number, object, offset_in, quoted, raw_fields, stamp};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Final, Issue, Place, Severity, Tokens, Trajectory};

/// Results of Terminal-Bench.
pub const TERMINAL_BENCH: Format = Format {
    name: "terminal-bench",
    about: "results of Terminal-Bench (`results.json` with one entry a trial)",
    detect,
    // `results` would claim any document with an empty list of that name.
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|_: &ReadOptions| Box::new(TerminalBench::default())),
    archive: None,
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    probe.any_has(&["results", "n_resolved"])
        || probe.any_has(&["results", "accuracy", "resolved_ids"])
        || probe.any_has(&["trial_name", "task_id", "is_resolved", "failure_mode"])
        || (probe.any_has(&["run_id", "agent_name", "n_concurrent_trials"])
            && !probe.any_has(&["results"]))
        // The list comes first and may be longer than what is looked at.
        || (probe.any_has(&["results"]) && probe.records.iter().any(|record| begins_like(record)))
}

/// Whether what can be seen of a long list is one of trials.
fn begins_like(record: &[u8]) -> bool {
    let start = record.get(..64 << 10).unwrap_or(record);
    let has = |key: &[u8]| memchr::memmem::find(start, key).is_some();
    [&b"\"trial_name\""[..], b"\"is_resolved\"", b"\"failure_mode\""].into_iter().all(has)
}

raw_fields! {
    /// Results of a run, one trial, or the metadata of a run.
    Root {
        id, results, n_resolved, trial_name, task_id, is_resolved, run_id, agent_name, model_name,
    }
}
raw_fields! {
    /// One trial.
    Trial {
        id, uuid, trial_name, task_id, is_resolved, failure_mode, parser_results,
        total_input_tokens, total_output_tokens, trial_started_at, trial_ended_at,
        agent_started_at, agent_ended_at,
    }
}

#[derive(Default)]
struct TerminalBench {
    runs: Vec<(Trajectory<'static>, PathBuf)>,
    /// The places of the trials among `runs`, by id.
    seen: HashMap<String, usize>,
    /// Agent and model, by the folder of the results.
    metadata: HashMap<PathBuf, (Option<String>, Option<String>)>,
    issues: Vec<Issue>,
    tally: Tally,
}

impl TerminalBench {
    /// Takes one trial: whether it is resolved, or `None` for a copy of one that is there already.
    fn take(
        &mut self,
        raw: &[u8],
        place: Place,
        run: Option<&str>,
        path: &Path,
    ) -> Result<Option<bool>, Refusal> {
        let trial: Trial<'_> = quick::from_slice(raw)?;
        if trial.task_id.is_none() && trial.trial_name.is_none() {
            let message = "the entry has neither `task_id` nor `trial_name`";
            return Err(Refusal::of("not_a_trial", message));
        }
        let own = trial.id.or(trial.uuid).and_then(label).filter(|id| !id.is_empty());
        let name = trial.trial_name.and_then(label);
        let key = match (&own, run, &name) {
            (Some(id), _, _) => Some(id.clone().into_owned()),
            (None, Some(run), Some(name)) => Some(format!("{run}/{name}")),
            _ => None,
        };
        if let Some(at) = key.as_ref().and_then(|key| self.seen.get(key)).copied() {
            if let (Some((known, _)), Some(run)) = (self.runs.get_mut(at), run) {
                label_run(known, run);
            }
            return Ok(None);
        }
        let resolved = match trial.is_resolved.map(|raw| raw.get().trim()) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };

        let recorded = if resolved.is_some() { "yes" } else { "no" };
        let mut tags: Vec<(Cow<'_, str>, Cow<'_, str>)> =
            vec![("outcome_recorded".into(), recorded.into())];
        if resolved.is_none() {
            let rule = "`is_resolved` is null: the trial counts as not completed, as in the benchmark's own accuracy; `run.tags.outcome_recorded` is `no`";
            self.tally.count("outcome_not_recorded", Severity::Warning, place, rule);
        }
        let mode = trial.failure_mode.and_then(label).filter(|mode| !mode.is_empty());
        tags.extend(mode.clone().map(|mode| ("failure_mode".into(), mode)));
        let end_reason = mode.filter(|mode| !matches!(mode.as_ref(), "unset" | "none"));
        let final_output = Final::Json(Cow::Owned(object(&[
            ("success", resolved.map(|resolved| if resolved { "true" } else { "false" })),
            ("end_reason", end_reason.as_deref().map(quoted).as_deref()),
            ("parser_results", trial.parser_results.map(RawValue::get)),
        ])));
        // The agent's own time; the trial also builds an image and runs tests.
        let times = [
            (trial.agent_started_at, trial.agent_ended_at),
            (trial.trial_started_at, trial.trial_ended_at),
        ];
        let times = times.into_iter().find_map(|(start, end)| Some((stamp(start?)?, stamp(end?)?)));
        let (started_at, ended_at) = times.unzip();
        let trajectory = Trajectory {
            place,
            trial: name.as_deref().and_then(ordinal).map(Cow::Borrowed),
            run_id: own.or_else(|| name.clone()),
            task_id: trial.task_id.and_then(label),
            tags,
            end_reason,
            success: resolved,
            format_outcome: resolved.is_none().then_some(false),
            started_at,
            ended_at,
            tokens: tokens(&trial),
            final_output,
            steps_unknown: true,
            ..Trajectory::default()
        };
        let mut trajectory = kept::run(trajectory);
        if let Some(run) = run {
            label_run(&mut trajectory, run);
        }
        self.seen.extend(key.map(|key| (key, self.runs.len())));
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        self.runs.push((trajectory, folder));
        Ok(Some(resolved == Some(true)))
    }

    fn results(&mut self, record: &Record<'_>, root: &Root<'_>, results: &RawValue) -> Fate {
        let trials: Vec<&RawValue> = match quick::from_str(results.get()) {
            Ok(trials) => trials,
            Err(error) => {
                let message = format!("results: {error}");
                return Fate::Refused(Refusal::of("unreadable_results", message));
            }
        };
        let run = root.id.and_then(label).filter(|id| !id.is_empty());
        let (mut new, mut copies, mut resolved) = (0_u64, 0, 0_u64);
        for trial in &trials {
            let byte = record.place.byte + offset_in(record.bytes, trial);
            let place = Place { byte, line: 0, ..record.place };
            match self.take(trial.get().as_bytes(), place, run.as_deref(), record.path) {
                Ok(Some(was_resolved)) => {
                    new += 1;
                    resolved += u64::from(was_resolved);
                }
                Ok(None) => copies += 1,
                Err(refusal) => {
                    self.issues.push(Issue::rejected(refusal.code, place, refusal.message));
                }
            }
        }
        if trials.is_empty() {
            return Fate::Ignored("no_trials");
        }
        if new == 0 && copies > 0 {
            return Fate::Merged("run_stored_twice");
        }
        let rule = "a trial that is stored twice counts once";
        self.tally.add("trial_stored_twice", Severity::Note, record.place, rule, copies);
        let said = root.n_resolved.and_then(number);
        #[expect(clippy::cast_precision_loss, reason = "no file has 2^53 trials")]
        if let Some(said) = said.filter(|said| copies == 0 && *said != resolved as f64) {
            let message = format!(
                "`n_resolved` says {said} where {resolved} of the {new} trials are resolved: the trials count"
            );
            self.issues.push(Issue::warning("totals_differ", record.place, message));
        }
        Fate::Used
    }
}

/// Labels a trial with its run: the trial's own file, which may be read first, does not name it.
fn label_run(trial: &mut Trajectory<'static>, run: &str) {
    if !trial.tags.iter().any(|(key, _)| key == "run") {
        trial.tags.push((Cow::Borrowed("run"), Cow::Owned(run.to_owned())));
    }
}

/// The number of a trial in `TASK.K-of-N` or `TASK.K-of-N.RUN`, where there were several.
fn ordinal(name: &str) -> Option<&str> {
    name.split('.').find_map(|part| {
        let (nth, of) = part.split_once("-of-")?;
        let (_, of): (u32, u32) = (nth.parse().ok()?, of.parse().ok()?);
        (of > 1).then_some(nth)
    })
}

/// Tokens of the trial. Agents that do not measure write 0 for both.
fn tokens(trial: &Trial<'_>) -> Option<Tokens> {
    let (input, output) = (amount(trial.total_input_tokens), amount(trial.total_output_tokens));
    let tokens =
        Tokens { input: input.unwrap_or(0.0), output: output.unwrap_or(0.0), ..Tokens::default() };
    (tokens.total() > 0.0).then_some(tokens)
}

impl Assembler for TerminalBench {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        let root: Root<'_> = match quick::from_slice(record.bytes) {
            Ok(root) => root,
            Err(error) => return Fate::Refused(error.into()),
        };
        if let Some(results) = root.results {
            return self.results(record, &root, results);
        }
        if root.trial_name.is_some() || (root.task_id.is_some() && root.is_resolved.is_some()) {
            return match self.take(record.bytes, record.place, None, record.path) {
                Ok(Some(_)) => Fate::Used,
                Ok(None) => Fate::Merged("trial_stored_twice"),
                Err(refusal) => Fate::Refused(refusal),
            };
        }
        if root.agent_name.is_some() {
            let own = |raw: Option<&RawValue>| raw.and_then(label).map(Cow::into_owned);
            let folder = record.path.parent().unwrap_or(Path::new("")).to_owned();
            let value = (own(root.agent_name), own(root.model_name));
            self.metadata.entry(folder).or_insert(value);
            return Fate::Merged("run_metadata");
        }
        let message = "neither results of a run (`results`) nor a trial (`trial_name`)";
        Fate::Refused(Refusal::of("not_terminal_bench", message))
    }

    fn finish(self: Box<Self>) -> Parsed<'static> {
        let Self { mut runs, metadata, mut issues, tally, .. } = *self;
        runs.sort_by_key(|(run, _)| run.place);
        for (run, folder) in &mut runs {
            // A trial's own file stands two folders below the metadata of its run.
            let above = folder.ancestors().take(3);
            if let Some((agent, model)) = above.filter_map(|at| metadata.get(at)).next() {
                run.agent = agent.clone().map(Cow::Owned);
                run.model = model.clone().map(Cow::Owned);
            }
        }
        if let Some((run, _)) = runs.first() {
            let message = "results say nothing of the steps of trials: no figure of steps, attempts, retries, errors and interventions is known";
            issues.push(Issue::warning("runs_without_steps", run.place, message));
        }
        issues.extend(tally.into_issues());
        Parsed { runs: runs.into_iter().map(|(run, _)| run).collect(), issues }
    }
}
