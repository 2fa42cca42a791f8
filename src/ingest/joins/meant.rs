//! Which one run a file means that names no run but only its task.
//!
//! Owns the count of runs by task, and the decision: the run that alone has the task below the file's
//! folder or, with none there, among all inputs; of several the one in the file's own folder, or the
//! one whose folder the file's path names. Refuses to choose among the rest: an outcome is of one
//! run, so that given to several it would be invented for all but one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Joins, folder_of};

/// The run that is meant.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    /// None of the inputs.
    #[default]
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
        let mut heads = Vec::new();
        for (task, known) in &self.by_task {
            let runs = self.runs.get(task).map(Vec::as_slice).unwrap_or_default();
            for at in known {
                let Some(file) = self.known.get(*at).map(|known| known.file) else { continue };
                heads.push((*at, self.meant(file, task, runs)));
            }
        }
        for (at, meant) in heads {
            if let Some(known) = self.known.get_mut(at) {
                known.meant = meant;
            }
        }
        let mut statuses = std::mem::take(&mut self.statuses);
        for (task, starts) in &mut statuses {
            let runs = self.runs.get(task).map(Vec::as_slice).unwrap_or_default();
            for (file, _, meant) in starts {
                *meant = self.meant(*file, task, runs);
            }
        }
        self.statuses = statuses;
    }

    fn meant(&self, file: usize, task: &str, runs: &[Lies]) -> Meant {
        let Some(beside) = self.files.get(file) else { return Meant::Nobody };
        let folder = beside.folder.as_path();
        let below: Vec<&Lies> = runs.iter().filter(|run| run.folder.starts_with(folder)).collect();
        if below.is_empty() {
            let near = |run: &Lies| self.distance(folder, &run.folder).is_some();
            if !runs.iter().any(near) {
                return Meant::Nobody;
            }
            let all: Vec<&Lies> = runs.iter().collect();
            return match only(&all).or_else(|| named(&all, &beside.path, task)) {
                Some(run) if near(run) => Meant::Run(run.file),
                // It speaks of a run that another file is nearer to.
                Some(_) => Meant::Nobody,
                None => Meant::OneOfSeveral,
            };
        }
        let own: Vec<&Lies> = below.iter().copied().filter(|run| run.folder == folder).collect();
        only(&below)
            .or_else(|| only(&own))
            .or_else(|| named(&below, &beside.path, task))
            .map_or(Meant::OneOfSeveral, |run| Meant::Run(run.file))
    }
}

/// The run where there is but one.
fn only<'l>(runs: &[&'l Lies]) -> Option<&'l Lies> {
    match runs {
        [run] if run.runs == 1 => Some(run),
        _ => None,
    }
}

/// The one run that has a folder which no other has and which the file's path names too.
fn named<'l>(runs: &[&'l Lies], path: &Path, task: &str) -> Option<&'l Lies> {
    let mut having: HashMap<&OsStr, usize> = HashMap::new();
    for run in runs {
        for name in run.folder.iter().collect::<BTreeSet<_>>() {
            *having.entry(name).or_default() += run.runs;
        }
    }
    let folder = folder_of(path);
    let folders: HashSet<&OsStr> = folder.iter().collect();
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    // A folder of the task's own tells runs of it apart by accident alone.
    let names = |name: &OsStr| {
        name != OsStr::new(task)
            && having.get(name) == Some(&1)
            && (folders.contains(name) || is_part(&file, &name.to_string_lossy()))
    };
    let mut named = runs.iter().copied().filter(|run| run.folder.iter().any(names));
    named.next().filter(|_| named.next().is_none())
}

/// Whether a name is a part of a file's name between its ends and dots, as in `MODEL.RUN.json`.
fn is_part(file: &str, name: &str) -> bool {
    file.match_indices(name).any(|(at, _)| {
        let before = file.get(..at).unwrap_or_default();
        let after = file.get(at + name.len()..).unwrap_or_default();
        (before.is_empty() || before.ends_with('.')) && after.starts_with('.')
    })
}
