//! Joins runs with what files beside them say of them.
//!
//! Owns the question which run a file means: by the id of the instance, and by folders. Of several
//! files the nearest in the line of folders above a run counts; without one there, the one that no
//! other trajectory is nearer to. What one file says of a task that several runs have is joined only
//! where it can be told which of them it means. Files that contradict each other at one distance are
//! told and not joined; so is one that contradicts the run itself. What was met on neither side is counted.
//! Nothing that a run records itself is overwritten. Refuses to know what such files look like.
//!
//! All files are known before the first run is completed, and what is counted does not depend on
//! the order of runs, so that threads change nothing.

mod fill;
mod meant;
mod second_pass;
mod told;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(super) use second_pass::{Again, Deferred, may_be_of_trial};

use self::meant::{Lies, Spoken};
use super::formats::sidecars::{Head, Said, Sidecar, Whose, joins};
use crate::model::{Place, Trajectory};

/// One thing that a file says of one run.
struct Known {
    head: Head,
    /// The file in `Joins::files`.
    file: usize,
    /// Whether any run was met that it speaks of, whether any was completed from it, and to how many
    /// it gave their outcome.
    met: AtomicBool,
    taken: AtomicBool,
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
    by_task: BTreeMap<String, Vec<usize>>,
    /// What means the trajectory in its own folder, and what means those of agents below it.
    in_folder: HashMap<PathBuf, Vec<usize>>,
    below_folder: HashMap<PathBuf, Vec<usize>>,
    /// Exit statuses by instance: file and status.
    statuses: BTreeMap<String, Vec<(usize, String)>>,
    /// Where the runs of a task lie that is spoken of.
    runs: HashMap<String, Vec<Lies>>,
    /// What is said of each task, by the runs that it means.
    spoken: HashMap<String, Spoken>,
    /// Hashes of whole files that wait, to know copies by.
    contents: HashSet<u64>,
    /// Folders of trajectories that may be joined, and how many lie in each; with all folders above.
    folders: HashMap<PathBuf, usize>,
    above: HashSet<PathBuf>,
    without: Mutex<Noted>,
    ambiguous: Mutex<Noted>,
    contradicted: Mutex<Noted>,
    farther: Mutex<Noted>,
    own: Mutex<Noted>,
}

/// How far a file is from a run: whether it stands outside the line of folders above it, and a
/// number that grows with the distance.
type Distance = (bool, usize);

/// What is said of a run, with its distance.
type Found = Vec<(Distance, usize)>;

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
            if known.last().is_none_or(|(last, ..)| *last != file) {
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
        let mut said = HashMap::new();
        for head in heads {
            let at = self.known.len();
            if head.task.is_some() {
                let first = *said.entry((head.task.clone(), head.adds.success)).or_insert(at);
                if let Some(known) = self.known.get_mut(first) {
                    merge_tags(&mut known.head, &head);
                    continue;
                }
            }
            if let Some(task) = head.task.clone() {
                self.by_task.entry(task).or_default().push(at);
            }
            let by_place = match head.place {
                Whose::Anyones => None,
                Whose::InFolder => Some(&mut self.in_folder),
                Whose::BelowFolder => Some(&mut self.below_folder),
            };
            if let Some(by_place) = by_place {
                by_place.entry(beside.folder.clone()).or_default().push(at);
            }
            let (met, taken) = (AtomicBool::new(false), AtomicBool::new(false));
            self.known.push(Known { head, file, met, taken, joined: AtomicU64::new(0) });
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

    /// Whether a result that is a run by itself has completed a trajectory. To have met one is not
    /// enough: what contradicts it is joined to none.
    pub(super) fn is_joined(&self, at: usize) -> bool {
        self.known.get(at).is_some_and(|known| known.taken.load(Ordering::Relaxed))
    }

    /// The trial in whose agent's folder a file lies, where the trial's result is among the inputs;
    /// the innermost of several.
    pub(super) fn trial_of(&self, path: &Path) -> Option<PathBuf> {
        let folder = folder_of(path);
        let of_agent =
            |above: &&Path| self.below_folder.contains_key(*above) && is_agents(&folder, above);
        folder.ancestors().find(of_agent).map(Path::to_owned)
    }

    /// How far a file's folder is from a run's: in the line above it, the number of folders between;
    /// else, if no other trajectory is nearer to the file, how deep the folder lies that both share.
    fn distance(&self, file: &Path, run: &Path) -> Option<Distance> {
        if run.starts_with(file) {
            return Some((false, depth(run) - depth(file)));
        }
        let shared = file.ancestors().find(|above| run.starts_with(above));
        let nearest = self.nearest(file);
        // The deeper the shared folder, the nearer: numbers that grow with the distance.
        let outside = || (true, usize::MAX - shared.map_or(0, depth));
        (nearest.is_none() || nearest == shared).then(outside)
    }

    /// The innermost folder above a file, or its own, that has trajectories below it.
    fn nearest<'f>(&self, file: &'f Path) -> Option<&'f Path> {
        file.ancestors().find(|above| self.above.contains(*above))
    }

    /// What is said of a run, the nearest first, and whether more is said that may mean it or another.
    fn candidates(&self, path: &Path, run: &Trajectory<'_>) -> (Found, bool) {
        let folder = folder_of(path);
        let (mut found, mut ambiguous) = (Vec::new(), false);
        let task = run.task_id.as_deref().unwrap_or_default();
        if let Some(spoken) = self.spoken.get(task) {
            for at in spoken.of_run.get(&run.place.file).into_iter().flatten() {
                let beside = self.known.get(*at).and_then(|known| self.files.get(known.file));
                let distance = beside.and_then(|beside| self.distance(&beside.folder, &folder));
                found.extend(distance.map(|distance| (distance, *at)));
            }
            ambiguous = self.meet_several(spoken, &folder);
        }
        self.by_place(path, run, &mut found);
        // In the line above a run only what stands there counts.
        if found.iter().any(|((outside, _), _)| !outside) {
            found.retain(|((outside, _), _)| !outside);
        }
        found.sort_unstable();
        found.dedup_by_key(|(_, at)| *at);
        (found, ambiguous)
    }

    /// What means a run by where it lies.
    fn by_place(&self, path: &Path, run: &Trajectory<'_>, found: &mut Found) {
        let folder = folder_of(path);
        let alone = self.folders.get(&folder).is_some_and(|files| *files == 1);
        if alone && named_by_task(path, run) {
            let heads = self.in_folder.get(&folder).into_iter().flatten();
            found.extend(heads.map(|at| ((false, 0), *at)));
        }
        for above in folder.ancestors().filter(|above| is_agents(&folder, above)) {
            let heads = self.below_folder.get(above).into_iter().flatten();
            let distance = (false, depth(&folder) - depth(above));
            found.extend(heads.map(|at| (distance, *at)));
        }
    }

    /// Completes a run with what is said of it. Of formats that say their outcome themselves only
    /// the agent's own record of a trial is completed, from the trial's result.
    pub(super) fn complete(&self, format: &str, path: &Path, run: &mut Trajectory<'_>) {
        let joining = joins(format);
        if !joining && self.below_folder.is_empty() {
            return;
        }
        let had = run.success.is_some() || !run.scores.is_empty();
        let (found, ambiguous) = if joining {
            self.candidates(path, run)
        } else {
            let mut found = Vec::new();
            self.by_place(path, run, &mut found);
            found.retain(|(_, at)| self.known[*at].head.place == Whose::BelowFolder);
            found.sort_unstable();
            (found, false)
        };
        for (_, at) in &found {
            self.known[*at].met.store(true, Ordering::Relaxed);
        }
        self.join(run, &found, had);
        if !joining {
            return;
        }
        self.add_statuses(run);
        if run.success.is_none() && run.scores.is_empty() {
            note(if ambiguous { &self.ambiguous } else { &self.without }, run.place);
        }
    }

    fn join(&self, run: &mut Trajectory<'_>, found: &[(Distance, usize)], had: bool) {
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
            fill::fill(&known.head, run);
            known.taken.store(true, Ordering::Relaxed);
            if outcome && known.head.verdict().is_some() {
                known.joined.fetch_add(1, Ordering::Relaxed);
                let name = self.files[known.file].path.file_name().unwrap_or_default();
                let name = name.to_string_lossy().into_owned();
                run.tags.push(("outcome_from".into(), name.into()));
            }
        }
    }

    /// The exit statuses of earlier starts of the same batch.
    fn add_statuses(&self, run: &mut Trajectory<'_>) {
        let Some(task) = run.task_id.as_deref() else { return };
        let (Some(all), Some(spoken)) = (self.statuses.get(task), self.spoken.get(task)) else {
            return;
        };
        let mut here: Vec<_> = spoken
            .statuses
            .get(&run.place.file)
            .into_iter()
            .flatten()
            .filter_map(|nth| all.get(*nth))
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

/// Adds the tags of what is said again of the same task; of two values of a tag both are kept.
fn merge_tags(head: &mut Head, again: &Head) {
    for (key, value) in &again.adds.tags {
        match head.adds.tags.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => {
                let mut all: Vec<&str> = known.split(',').chain([value.as_ref()]).collect();
                all.sort_unstable();
                all.dedup();
                *known = all.join(",").into();
            }
            None => head.adds.tags.push((key.clone(), value.clone())),
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
