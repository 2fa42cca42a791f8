//! Joins runs with what files beside them say of them.
//!
//! Owns the question which run a file means: by the id of the instance, and by folders. Of several
//! files the nearest in the line of folders above a run counts; without one there, the one that no
//! other trajectory is nearer to. Files that contradict each other at one distance are told and not
//! joined; so is one that contradicts the run itself. What was met on neither side is counted.
//! Nothing that a run records itself is overwritten. Refuses to know what such files look like.
//!
//! All files are known before the first run is completed, and what is counted does not depend on
//! the order of runs, so that threads change nothing.

mod second_pass;
mod told;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(super) use second_pass::{Again, Deferred};

use super::formats::sidecars::{Head, Said, Sidecar, Whose, joins};
use crate::model::{EndRule, Final, Place, Trajectory};

/// One thing that a file says of one run.
struct Known {
    head: Head,
    /// The file in `Joins::files`.
    file: usize,
    /// Whether any run was met that it speaks of, and how many it was joined to.
    met: AtomicBool,
    joined: AtomicU64,
}

/// One file beside trajectories.
struct Beside {
    path: PathBuf,
    folder: PathBuf,
    /// Its account in the tally.
    tally: u32,
    about: &'static str,
    alone: &'static str,
    named: bool,
    more: Option<String>,
    statuses: usize,
    outcomes: usize,
    /// A result that is a run by itself where it has no trajectory: its account tells of it.
    is_run: bool,
}

/// What files beside runs say, and what became of it.
#[derive(Default)]
pub(super) struct Joins {
    known: Vec<Known>,
    files: Vec<Beside>,
    by_task: HashMap<String, Vec<usize>>,
    by_folder: HashMap<PathBuf, Vec<usize>>,
    /// Exit statuses by instance: file and status.
    statuses: BTreeMap<String, Vec<(usize, String)>>,
    /// Folders of trajectories that may be joined, and how many lie in each; with all folders above.
    folders: HashMap<PathBuf, usize>,
    above: HashSet<PathBuf>,
    without: Mutex<Noted>,
    contradicted: Mutex<Noted>,
    farther: Mutex<Noted>,
    own: Mutex<Noted>,
}

/// How often something was seen, and where first.
#[derive(Debug, Default, Clone, Copy)]
struct Noted {
    count: u64,
    first: Option<Place>,
}

fn note(noted: &Mutex<Noted>, place: Place) {
    if let Ok(mut noted) = noted.lock() {
        noted.count += 1;
        noted.first = Some(noted.first.map_or(place, |first| first.min(place)));
    }
}

/// The folder of a path, without `.` in it.
fn folder_of(path: &Path) -> PathBuf {
    plain(path.parent().unwrap_or(Path::new("")))
}

fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

fn depth(path: &Path) -> usize {
    path.components().count()
}

impl Joins {
    /// Takes what a file says.
    pub(super) fn add(&mut self, path: &Path, tally: u32, named: bool, kind: &Sidecar, said: Said) {
        let (statuses, outcomes) = (said.statuses.len(), said.heads.len());
        let beside = Beside {
            path: path.to_owned(),
            folder: folder_of(path),
            tally,
            about: kind.about,
            alone: kind.alone,
            named,
            more: said.more,
            statuses,
            outcomes,
            is_run: false,
        };
        let file = self.push(beside, said.heads);
        for (task, status) in said.statuses {
            let known = self.statuses.entry(task).or_default();
            if known.last().is_none_or(|(last, _)| *last != file) {
                known.push((file, status));
            }
        }
    }

    /// Takes a result that is a run by itself unless its trajectory is found; gives its number.
    pub(super) fn add_run(
        &mut self,
        path: &Path,
        tally: u32,
        about: &'static str,
        head: Head,
    ) -> usize {
        let beside = Beside {
            path: path.to_owned(),
            folder: folder_of(path),
            tally,
            about,
            alone: "",
            named: false,
            more: None,
            statuses: 0,
            outcomes: 1,
            is_run: true,
        };
        self.push(beside, vec![head]);
        self.known.len() - 1
    }

    fn push(&mut self, beside: Beside, heads: Vec<Head>) -> usize {
        let file = self.files.len();
        // The same thing said again in one file is nothing new.
        let mut said = HashSet::new();
        for head in heads {
            if head.task.is_some() && !said.insert((head.task.clone(), head.adds.success)) {
                continue;
            }
            let at = self.known.len();
            if let Some(task) = head.task.clone() {
                self.by_task.entry(task).or_default().push(at);
            }
            if head.place != Whose::Anyones {
                self.by_folder.entry(beside.folder.clone()).or_default().push(at);
            }
            let (met, joined) = (AtomicBool::new(false), AtomicU64::new(0));
            self.known.push(Known { head, file, met, joined });
        }
        self.files.push(beside);
        file
    }

    /// Takes note of where a trajectory lies that may be joined.
    pub(super) fn trajectory(&mut self, path: &Path) {
        let folder = folder_of(path);
        self.above.extend(folder.ancestors().map(Path::to_owned));
        *self.folders.entry(folder).or_default() += 1;
    }

    /// Whether a result that is a run by itself was joined to its trajectory.
    pub(super) fn has_met(&self, at: usize) -> bool {
        self.known.get(at).is_some_and(|known| known.met.load(Ordering::Relaxed))
    }

    /// What file `at` speaks of by folder: the folders of trials whose result is here.
    pub(super) fn trial_of(&self, path: &Path) -> Option<PathBuf> {
        let folder = folder_of(path);
        let above = folder.ancestors().find(|above| {
            let heads = self.by_folder.get(*above).into_iter().flatten();
            heads
                .filter_map(|at| self.known.get(*at))
                .any(|known| known.head.place == Whose::BelowFolder && is_agents(&folder, above))
        });
        above.map(Path::to_owned)
    }

    /// How far a file's folder is from a run's: in the line above it, the number of folders between;
    /// else, if no other trajectory is nearer to the file, how deep the folder lies that both share.
    fn distance(&self, file: &Path, run: &Path) -> Option<(bool, usize)> {
        if run.starts_with(file) {
            return Some((false, depth(run) - depth(file)));
        }
        let shared = file.ancestors().find(|above| run.starts_with(above));
        let nearest = file.ancestors().find(|above| self.above.contains(*above));
        // The deeper the shared folder, the nearer: numbers that grow with the distance.
        let outside = || (true, usize::MAX - shared.map_or(0, depth));
        (nearest.is_none() || nearest == shared).then(outside)
    }

    /// What is said of a run, the nearest first.
    fn candidates(&self, path: &Path, run: &Trajectory<'_>) -> Vec<((bool, usize), usize)> {
        let folder = folder_of(path);
        let mut found = Vec::new();
        let task = run.task_id.as_deref().unwrap_or_default();
        for at in self.by_task.get(task).into_iter().flatten() {
            let Some(known) = self.known.get(*at) else { continue };
            // What means a run by its place alone has no other claim.
            if known.head.place == Whose::BelowFolder {
                continue;
            }
            if let Some(distance) = self.distance(&self.files[known.file].folder, &folder) {
                found.push((distance, *at));
            }
        }
        for above in folder.ancestors() {
            for at in self.by_folder.get(above).into_iter().flatten() {
                let Some(known) = self.known.get(*at) else { continue };
                let meant = match known.head.place {
                    Whose::Anyones => false,
                    Whose::BelowFolder => is_agents(&folder, above),
                    Whose::InFolder => {
                        let alone = self.folders.get(&folder).is_some_and(|files| *files == 1);
                        above == folder && alone && named_by_task(path, run)
                    }
                };
                if meant {
                    found.push(((false, depth(&folder) - depth(above)), *at));
                }
            }
        }
        // In the line above a run only what stands there counts.
        if found.iter().any(|((outside, _), _)| !outside) {
            found.retain(|((outside, _), _)| !outside);
        }
        found.sort_unstable();
        found.dedup_by_key(|(_, at)| *at);
        found
    }

    /// Completes a run of a format that joins with what is said of it.
    pub(super) fn complete(&self, format: &str, path: &Path, run: &mut Trajectory<'_>) {
        if !joins(format) {
            return;
        }
        let had = run.success.is_some() || !run.scores.is_empty();
        let found = self.candidates(path, run);
        for (_, at) in &found {
            self.known[*at].met.store(true, Ordering::Relaxed);
        }
        self.join(run, &found, had);
        self.add_statuses(&folder_of(path), run);
        if run.success.is_none() && run.scores.is_empty() {
            note(&self.without, run.place);
        }
    }

    fn join(&self, run: &mut Trajectory<'_>, found: &[((bool, usize), usize)], had: bool) {
        let Some((nearest, _)) = found.first() else { return };
        let verdict = |at: &usize| self.known.get(*at).and_then(|known| known.head.verdict());
        let near = found.iter().filter(|(distance, _)| distance == nearest);
        let mut verdicts = near.filter_map(|(_, at)| verdict(at));
        let first = verdicts.next();
        // Without a line of folders, all that is left is equally near.
        if verdicts.any(|other| Some(other.0) != first.map(|(success, _)| success)) {
            note(&self.contradicted, run.place);
            return;
        }
        let decided = if had { None } else { first.and_then(|(success, _)| success) };
        let decided = decided.or(run.success);
        for (distance, at) in found {
            let known = &self.known[*at];
            let says = known.head.verdict().and_then(|(success, _)| success);
            if let (Some(says), Some(decided)) = (says, decided)
                && says != decided
            {
                let counter = match (had, distance == nearest) {
                    (true, true) => &self.own,
                    _ => &self.farther,
                };
                note(counter, run.place);
                continue;
            }
            let outcome = run.success.is_none() && run.scores.is_empty();
            apply(&known.head, run);
            if outcome && known.head.verdict().is_some() {
                known.joined.fetch_add(1, Ordering::Relaxed);
                let name = self.files[known.file].path.file_name().unwrap_or_default();
                let name = name.to_string_lossy().into_owned();
                run.tags.push(("outcome_from".into(), name.into()));
            }
        }
    }

    /// The exit statuses of earlier starts of the same batch.
    fn add_statuses(&self, folder: &Path, run: &mut Trajectory<'_>) {
        let Some(all) = run.task_id.as_deref().and_then(|task| self.statuses.get(task)) else {
            return;
        };
        let mut here: Vec<_> = all
            .iter()
            .filter(|(file, _)| self.distance(&self.files[*file].folder, folder).is_some())
            .map(|(file, status)| (&self.files[*file].path, status))
            .collect();
        here.sort();
        // The last start is the one that the trajectory tells of.
        here.pop();
        for (_, status) in here {
            run.tags.push(("earlier_exit_status".into(), status.clone().into()));
        }
    }
}

/// Whether a folder is that of the agent in a trial: `agent/` below it, or `steps/NAME/agent/`.
fn is_agents(folder: &Path, trial: &Path) -> bool {
    let Ok(below) = folder.strip_prefix(trial) else { return false };
    let mut parts = below.components().map(Component::as_os_str);
    match parts.next() {
        Some(first) if first == "agent" => true,
        Some(first) if first == "steps" => parts.nth(1).is_some_and(|part| part == "agent"),
        _ => false,
    }
}

/// Whether a run's task is not said by itself but by the name of its file, or not at all.
fn named_by_task(path: &Path, run: &Trajectory<'_>) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    run.task_id.as_deref().is_none_or(|task| name.starts_with(task))
}

/// Fills what the run does not say itself.
fn apply(head: &Head, run: &mut Trajectory<'_>) {
    let adds = &head.adds;
    if run.success.is_none() && run.scores.is_empty() {
        run.success = adds.success;
        run.scores.extend(adds.scores.iter().cloned());
        // What was evaluated and holds did end, whatever the trajectory forgot to say.
        if adds.success == Some(true) && run.end_rule == Some(EndRule::Unfinished) {
            run.end_rule = None;
        }
        deliver(&head.delivers, run);
    }
    macro_rules! fill {
        ($($field:ident),+) => {
            $(if run.$field.is_none() { run.$field.clone_from(&adds.$field); })+
        };
    }
    fill!(task_id, trial, agent, model, status, end_reason, end_rule, started_at, ended_at);
    if run.tokens.is_none() && run.attempts.iter().all(|attempt| attempt.tokens.is_none()) {
        run.tokens = adds.tokens;
    }
    if run.cost_usd.is_none() && run.attempts.iter().all(|attempt| attempt.cost_usd.is_none()) {
        run.cost_usd = adds.cost_usd;
    }
    for (key, value) in &adds.tags {
        if run.tags.iter().all(|(known, _)| known != key) {
            run.tags.push((key.clone(), value.clone()));
        }
    }
}

/// Adds to the run's `final` what it does not have.
fn deliver(members: &[(&'static str, String)], run: &mut Trajectory<'_>) {
    let before = match &run.final_output {
        Final::Missing => "{}",
        Final::Json(text) => text.trim(),
    };
    let Some(inside) = before.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return;
    };
    let has = crate::ingest::scan::top_keys(before.as_bytes());
    let mut json = String::from("{");
    for (key, value) in members.iter().filter(|(key, _)| has.iter().all(|have| have != key)) {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&format!("\"{key}\":{value}"));
    }
    if json.len() > 1 && !inside.trim().is_empty() {
        json.push(',');
    }
    json.push_str(inside);
    json.push('}');
    run.final_output = Final::Json(json.into());
}
