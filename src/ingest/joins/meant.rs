//! Which one run a file means that names no run but only its task.
//!
//! Owns the count of runs by task, and the decision: the run that alone has the task below the file's
//! folder or, with none there, among all inputs; of several the one in the file's own folder, or the
//! one whose folder the file's path names. Refuses to choose among the rest: an outcome is of one
//! run, so that given to several it would be invented for all but one.
//!
//! A task may have as many runs as there are inputs, each with a file of its own: what is looked up
//! for each file and each run is an index, never a walk over the others.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Joins, folder_of};
use crate::ingest::formats::sidecars::Whose;

/// The run that is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// None of the inputs.
    Nobody,
    /// The only run of the task in this file.
    Run(u32),
    /// One of several, and nothing says which.
    OneOfSeveral,
}

/// Where runs of a task lie.
pub(super) struct Lies {
    file: u32,
    folder: PathBuf,
    runs: usize,
}

/// What is said of one task, by the runs that it means; made once all runs are counted.
#[derive(Default)]
pub(super) struct Spoken {
    /// What means the only run of the task in a file, as places in `Joins::known`.
    pub(super) of_run: HashMap<u32, Vec<usize>>,
    /// Exit statuses that mean it, as places in `Joins::statuses` of the task.
    pub(super) statuses: HashMap<u32, Vec<usize>>,
    /// What means one of several runs, by the folder below which runs are near it.
    near: HashMap<PathBuf, Several>,
    /// The same, where every run is near.
    anywhere: Several,
}

/// What means one of several runs, and nothing says which.
#[derive(Default)]
struct Several {
    known: Vec<usize>,
    says_outcome: bool,
    /// Whether a run was met that it may mean.
    met: AtomicBool,
}

impl Joins {
    /// Whether the runs of each task must be counted before the first is completed.
    pub(super) fn asks_for_tasks(&self) -> bool {
        !self.by_task.is_empty() || !self.statuses.is_empty()
    }

    /// Counts a run; those of one file come one after the other.
    pub(super) fn count_run(&mut self, task: &str, file: u32, path: &Path) {
        if !self.by_task.contains_key(task) && !self.statuses.contains_key(task) {
            return;
        }
        let known = self.runs.entry(task.to_owned()).or_default();
        match known.last_mut().filter(|last| last.file == file) {
            Some(last) => last.runs += 1,
            None => known.push(Lies { file, folder: folder_of(path), runs: 1 }),
        }
    }

    /// Decides which runs are meant, now that all are counted.
    pub(super) fn settle(&mut self) {
        let tasks: BTreeSet<&String> = self.by_task.keys().chain(self.statuses.keys()).collect();
        let spoken = tasks.into_iter().map(|task| (task.clone(), self.spoken_of(task))).collect();
        self.spoken = spoken;
    }

    fn spoken_of(&self, task: &str) -> Spoken {
        let mut spoken = Spoken::default();
        let mut ground = Ground::of(self.runs.get(task).map(Vec::as_slice).unwrap_or_default());
        for at in self.by_task.get(task).into_iter().flatten() {
            let Some(known) = self.known.get(*at) else { continue };
            // What means a run by its place alone has no other claim.
            if known.head.place == Whose::BelowFolder {
                continue;
            }
            match self.meant(known.file, task, &mut ground) {
                Meant::Run(file) => spoken.of_run.entry(file).or_default().push(*at),
                Meant::OneOfSeveral => {
                    let folder = self.files.get(known.file).map(|beside| beside.folder.as_path());
                    let several = match folder.and_then(|folder| self.nearest(folder)) {
                        Some(near) => spoken.near.entry(near.to_owned()).or_default(),
                        None => &mut spoken.anywhere,
                    };
                    several.known.push(*at);
                    several.says_outcome |= known.head.verdict().is_some();
                }
                Meant::Nobody => {}
            }
        }
        for (nth, (file, _)) in self.statuses.get(task).into_iter().flatten().enumerate() {
            if let Meant::Run(run) = self.meant(*file, task, &mut ground) {
                spoken.statuses.entry(run).or_default().push(nth);
            }
        }
        spoken
    }

    /// Meets what may mean a run of this folder or another run; whether an outcome is among it.
    pub(super) fn meet_several(&self, spoken: &Spoken, folder: &Path) -> bool {
        let near = folder.ancestors().filter_map(|above| spoken.near.get(above));
        let mut says_outcome = false;
        for several in near.chain([&spoken.anywhere]) {
            says_outcome |= several.says_outcome;
            if !several.met.swap(true, Ordering::Relaxed) {
                for known in several.known.iter().filter_map(|at| self.known.get(*at)) {
                    known.met.store(true, Ordering::Relaxed);
                }
            }
        }
        says_outcome
    }

    fn meant(&self, file: usize, task: &str, ground: &mut Ground<'_>) -> Meant {
        let Some(beside) = self.files.get(file) else { return Meant::Nobody };
        let folder = beside.folder.as_path();
        let run = |at: usize, ground: &Ground<'_>| ground.runs.get(at).map(|run| run.file);
        if ground.below(Some(folder)).is_empty() {
            let nearest = self.nearest(folder);
            if ground.below(nearest).is_empty() {
                return Meant::Nobody;
            }
            let only = ground.only(ground.below(None));
            return match only.or_else(|| ground.named(None, &beside.path, task)) {
                Some(at) if ground.lies_below(at, nearest) => {
                    run(at, ground).map_or(Meant::Nobody, Meant::Run)
                }
                // It speaks of a run that another file is nearer to.
                Some(_) => Meant::Nobody,
                None => Meant::OneOfSeveral,
            };
        }
        let only =
            ground.only(ground.below(Some(folder))).or_else(|| ground.only(ground.own(folder)));
        only.or_else(|| ground.named(Some(folder), &beside.path, task))
            .and_then(|at| run(at, ground))
            .map_or(Meant::OneOfSeveral, Meant::Run)
    }
}

/// Parts between dots of a file's name that are looked at; names have a few.
const MOST_PARTS: usize = 64;

/// The runs of one task, as places among them, by what is asked of them.
struct Ground<'l> {
    runs: &'l [Lies],
    all: Vec<usize>,
    /// By each folder above them, their own too.
    below: HashMap<&'l Path, Vec<usize>>,
    own: HashMap<&'l Path, Vec<usize>>,
    /// For the runs below a folder, how many have each name in their path, and one that has it; as it
    /// is asked for.
    names: HashMap<Option<PathBuf>, HashMap<&'l str, (usize, usize)>>,
}

impl<'l> Ground<'l> {
    fn of(runs: &'l [Lies]) -> Self {
        let mut below: HashMap<&Path, Vec<usize>> = HashMap::new();
        let mut own: HashMap<&Path, Vec<usize>> = HashMap::new();
        for (at, run) in runs.iter().enumerate() {
            own.entry(&run.folder).or_default().push(at);
            for above in run.folder.ancestors() {
                below.entry(above).or_default().push(at);
            }
        }
        Self { runs, all: (0..runs.len()).collect(), below, own, names: HashMap::new() }
    }

    /// The runs below a folder; all where there is none.
    fn below(&self, folder: Option<&Path>) -> &[usize] {
        match folder {
            Some(folder) => self.below.get(folder).map(Vec::as_slice).unwrap_or_default(),
            None => &self.all,
        }
    }

    fn lies_below(&self, at: usize, folder: Option<&Path>) -> bool {
        let run = self.runs.get(at);
        run.is_some_and(|run| folder.is_none_or(|folder| run.folder.starts_with(folder)))
    }

    fn own(&self, folder: &Path) -> &[usize] {
        self.own.get(folder).map(Vec::as_slice).unwrap_or_default()
    }

    /// The run where there is but one.
    fn only(&self, places: &[usize]) -> Option<usize> {
        match places {
            [at] if self.runs.get(*at).is_some_and(|run| run.runs == 1) => Some(*at),
            _ => None,
        }
    }

    /// The one run below a folder that has a folder which no other there has and which the path of a
    /// file names too.
    fn named(&mut self, folder: Option<&Path>, path: &Path, task: &str) -> Option<usize> {
        let key = folder.map(Path::to_owned);
        if !self.names.contains_key(&key) {
            let names = self.count_names(folder);
            self.names.insert(key.clone(), names);
        }
        let names = self.names.get(&key)?;
        let mut found = BTreeSet::new();
        let mut look = |name: &str| match names.get(name) {
            // A folder of the task's own tells runs of it apart by accident alone.
            Some((1, at)) if name != task => _ = found.insert(*at),
            _ => {}
        };
        folder_of(path).iter().filter_map(|name| name.to_str()).for_each(&mut look);
        parts(&path.file_name().unwrap_or_default().to_string_lossy(), &mut look);
        found.first().copied().filter(|_| found.len() == 1)
    }

    fn count_names(&self, folder: Option<&Path>) -> HashMap<&'l str, (usize, usize)> {
        let mut names = HashMap::new();
        for at in self.below(folder) {
            let Some(run) = self.runs.get(*at) else { continue };
            for name in run.folder.iter().filter_map(|name| name.to_str()).collect::<BTreeSet<_>>()
            {
                let (number, having) = names.entry(name).or_insert((0, *at));
                (*number, *having) = (*number + run.runs, *at);
            }
        }
        names
    }
}

/// What stands in a file's name between its start or a dot and another dot, as in `MODEL.RUN.json`.
fn parts(file: &str, mut look: impl FnMut(&str)) {
    let dots: Vec<usize> = file.match_indices('.').map(|(at, _)| at).take(MOST_PARTS).collect();
    let starts = std::iter::once(0).chain(dots.iter().map(|dot| dot + 1));
    for start in starts {
        for part in dots.iter().filter_map(|end| file.get(start..*end)) {
            if !part.is_empty() {
                look(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::super::{Joins, Whose};
    use super::parts;
    use crate::ingest::formats::sidecars::{Head, SIDECARS, Said};
    use crate::model::{Place, Trajectory};

    fn says(task: &str, place: Whose) -> Said {
        let adds = Trajectory { success: Some(true), ..Trajectory::default() };
        let head = Head { task: Some(task.to_owned()), place, adds, ..Head::default() };
        Said {
            heads: vec![head],
            statuses: vec![(task.to_owned(), "ok".to_owned())],
            ..Said::default()
        }
    }

    /// Runs of one task, each in a folder `r/NUMBER`; files where `beside` says.
    fn joins(number: u32, beside: impl Fn(u32) -> String) -> Joins {
        let mut joins = Joins::default();
        for at in 0..number {
            joins.trajectory(Path::new(&format!("r/{at}/t.traj")));
            joins.add(
                Path::new(&beside(at)),
                number + at,
                false,
                &SIDECARS[0],
                says("t", Whose::InFolder),
            );
        }
        for at in 0..number {
            joins.count_run("t", at, Path::new(&format!("r/{at}/t.traj")));
        }
        joins.settle();
        joins
    }

    fn successes(joins: &Joins, number: u32) -> u32 {
        let completed = (0..number).map(|at| {
            let place = Place { file: at, ..Place::default() };
            let mut run = Trajectory { task_id: Some("t".into()), place, ..Trajectory::default() };
            joins.complete("mini-swe-agent", Path::new(&format!("r/{at}/t.traj")), &mut run);
            u32::from(run.success == Some(true))
        });
        completed.sum()
    }

    #[test]
    fn many_runs_of_one_task_each_with_its_file_are_joined_without_a_walk_over_all() {
        const MANY: u32 = 20_000;
        let start = Instant::now();
        let own = joins(MANY, |at| format!("r/{at}/report.json"));
        assert_eq!(successes(&own, MANY), MANY);
        // Beside all runs, named by their folders, and by nothing.
        let named = joins(MANY, |at| format!("model.{at}.json"));
        assert_eq!(successes(&named, MANY), MANY);
        let unnamed = joins(MANY, |at| format!("r/x{at}/report.json"));
        assert_eq!(successes(&unnamed, MANY), 0);
        assert!(
            unnamed.known.iter().all(|known| known.met.load(std::sync::atomic::Ordering::Relaxed))
        );
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }

    #[test]
    fn the_parts_of_a_name_lie_between_its_start_and_its_dots() {
        let mut all = Vec::new();
        parts("a.b.json", |part| all.push(part.to_owned()));
        assert_eq!(all, ["a", "a.b", "b"]);
    }
}
