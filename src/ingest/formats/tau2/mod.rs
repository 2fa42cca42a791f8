//! tau2-bench: runs of an agent against a simulated user, in one file or in a folder.
//!
//! Owns the two layouts: a file with a head (`info`, `tasks`) and its `simulations`, and a folder
//! whose `results.json` is the head alone while each run stands in `simulations/`. A head tells the
//! agent, model and domain of the runs of its own file, and of those in the folder `simulations`
//! beside it. A run that is stored twice counts once, by its id; of two copies the one with a
//! reward. What one run says is read in `run`. Refuses leaderboard rows, which are no runs.

mod run;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::kept;
use super::raw::{label, offset_in, raw_fields, read};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Issue, Place, Severity, Trajectory};

/// Results of tau2-bench.
pub const TAU2: Format = Format {
    name: "tau2",
    about: "tau2-bench results (a file with `simulations`, or a folder of them)",
    detect,
    wrappers: &["simulations"],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(Tau2::new(options))),
    archive: None,
    misspelt: None,
};

/// Bytes of a head in which its agent must stand: the policy of the domain may follow.
const HEAD_LOOK: usize = 256 << 10;

/// The file, one run of the folder, or the head of the folder.
fn detect(probe: &Probe<'_>) -> bool {
    let one_run = ["messages", "ticks", "reward_info"];
    let head = |record: &&[u8]| {
        let start = record.get(..HEAD_LOOK).unwrap_or(record);
        memchr::memmem::find(start, b"\"agent_info\"").is_some()
    };
    probe.any_has(&["info", "simulations"])
        || one_run.iter().any(|key| probe.any_has(&["task_id", "termination_reason", key]))
        || (probe.any_has(&["info", "tasks", "timestamp"]) && probe.records.iter().any(head))
}

raw_fields! {
    /// A results file, or one run of a folder.
    Root { info, tasks, simulations, task_id, termination_reason, messages, ticks, reward_info }
}
raw_fields! {
    /// What was run.
    Info { agent_info, user_info, environment_info }
}
raw_fields! {
    /// An agent or a user simulator.
    Party { implementation, llm }
}
raw_fields! {
    /// The domain.
    Environment { domain_name }
}

/// What a head tells of its runs.
#[derive(Clone, Default)]
struct Head {
    agent: Option<String>,
    model: Option<String>,
    /// Labels: the domain, and the model behind the simulated user.
    tags: Vec<(&'static str, String)>,
}

impl Head {
    fn of(info: &RawValue) -> Self {
        let text = |raw: Option<&RawValue>| raw.and_then(label).map(Cow::into_owned);
        let info: Info<'_> = read(info).unwrap_or_default();
        let party = |raw: Option<&RawValue>| {
            let party: Party<'_> = raw.and_then(read).unwrap_or_default();
            (text(party.implementation), text(party.llm))
        };
        let (agent, model) = party(info.agent_info);
        let (_, user) = party(info.user_info);
        let environment: Environment<'_> = info.environment_info.and_then(read).unwrap_or_default();
        let tags = [("domain", text(environment.domain_name)), ("user_model", user)];
        let tags = tags.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        Self { agent, model, tags }
    }

    /// Fills what the run itself does not say.
    fn fill(&self, run: &mut Trajectory<'static>) {
        let owned = |text: &Option<String>| text.clone().map(Cow::Owned);
        run.agent = run.agent.take().or_else(|| owned(&self.agent));
        run.model = run.model.take().or_else(|| owned(&self.model));
        for (key, value) in &self.tags {
            run.tags.push((Cow::Borrowed(key), Cow::Owned(value.clone())));
        }
    }
}

/// A run, and the folder whose head may tell its agent.
struct Kept {
    run: Trajectory<'static>,
    folder: Option<PathBuf>,
}

struct Tau2 {
    options: ReadOptions,
    runs: Vec<Kept>,
    by_id: HashMap<String, usize>,
    heads: HashMap<PathBuf, Head>,
    issues: Vec<Issue>,
    tally: Tally,
}

impl Tau2 {
    fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            runs: Vec::new(),
            by_id: HashMap::new(),
            heads: HashMap::new(),
            issues: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Reads one run; `false` where it is a copy of one that is there already.
    fn take(
        &mut self,
        bytes: &[u8],
        place: Place,
        head: Option<&Head>,
        folder: Option<&Path>,
    ) -> Result<bool, Refusal> {
        let mut issues = Vec::new();
        let run = run::read_run(bytes, place, &self.options, &mut issues)?;
        let mut run = kept::run(run);
        if let Some(head) = head {
            head.fill(&mut run);
        }
        let kept = Kept { run, folder: folder.map(Path::to_owned) };
        let known = kept.run.run_id.as_deref().and_then(|id| self.by_id.get(id)).copied();
        if let Some(older) = known.and_then(|at| self.runs.get_mut(at)) {
            if older.run.scores.is_empty() && !kept.run.scores.is_empty() {
                let place = older.run.place;
                *older = kept;
                older.run.place = place;
            }
            return Ok(false);
        }
        self.issues.append(&mut issues);
        if let Some(id) = kept.run.run_id.as_deref() {
            self.by_id.insert(id.to_owned(), self.runs.len());
        }
        self.runs.push(kept);
        Ok(true)
    }

    /// Reads the runs of a results file.
    fn file(&mut self, record: &Record<'_>, head: Option<&Head>, simulations: &RawValue) -> Fate {
        let simulations: Vec<&RawValue> = match quick::from_str(simulations.get()) {
            Ok(simulations) => simulations,
            Err(error) => {
                let message = format!("simulations: {error}");
                return Fate::Refused(Refusal::of("unreadable_simulations", message));
            }
        };
        let (mut new, mut copies) = (0, 0);
        for simulation in &simulations {
            let byte = record.place.byte + offset_in(record.bytes, simulation);
            let place = Place { byte, line: 0, ..record.place };
            match self.take(simulation.get().as_bytes(), place, head, None) {
                Ok(true) => new += 1,
                Ok(false) => copies += 1,
                Err(refusal) => {
                    self.issues.push(Issue::rejected(refusal.code, place, refusal.message));
                }
            }
        }
        if simulations.is_empty() {
            return Fate::Ignored("no_simulations");
        }
        if new == 0 && copies > 0 {
            return Fate::Merged("run_stored_twice");
        }
        let rule = "a run that is stored twice counts once";
        self.tally.add("run_stored_twice", Severity::Note, record.place, rule, copies);
        Fate::Used
    }
}

impl Assembler for Tau2 {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        let root: Root<'_> = match quick::from_slice(record.bytes) {
            Ok(root) => root,
            Err(error) => return Fate::Refused(error.into()),
        };
        if let Some(simulations) = root.simulations {
            let head = root.info.map(Head::of);
            return self.file(record, head.as_ref(), simulations);
        }
        let is_run = [root.termination_reason, root.messages, root.ticks, root.reward_info];
        if root.task_id.is_some() && is_run.iter().any(Option::is_some) {
            let folder = record.path.parent().filter(|f| f.ends_with("simulations"));
            let folder = folder.and_then(Path::parent);
            return match self.take(record.bytes, record.place, None, folder) {
                Ok(true) => Fate::Used,
                Ok(false) => Fate::Merged("run_stored_twice"),
                Err(refusal) => Fate::Refused(refusal),
            };
        }
        match root.info {
            Some(info) if root.tasks.is_some() => {
                let folder = record.path.parent().unwrap_or(Path::new("")).to_owned();
                self.heads.entry(folder).or_insert_with(|| Head::of(info));
                Fate::Merged("folder_head")
            }
            _ => {
                let message = "neither a run (`task_id`, `termination_reason`) nor a head with `info` and `tasks`";
                Fate::Refused(Refusal::of("not_a_tau2_record", message))
            }
        }
    }

    fn finish(self: Box<Self>) -> Parsed<'static> {
        let Self { mut runs, heads, mut issues, mut tally, .. } = *self;
        runs.sort_by_key(|kept| kept.run.place);
        for kept in &mut runs {
            let Some(folder) = &kept.folder else { continue };
            match heads.get(folder) {
                Some(head) => head.fill(&mut kept.run),
                None => {
                    let rule = "the head of the folder was not read, so agent and model are not known: name the folder, or its results.json too";
                    tally.count("folder_head_missing", Severity::Note, kept.run.place, rule);
                }
            }
        }
        issues.extend(tally.into_issues());
        Parsed { runs: runs.into_iter().map(|kept| kept.run).collect(), issues }
    }
}
