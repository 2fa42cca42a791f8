//! What is told of joins: of each file beside trajectories, and of what met on neither side.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use super::{Beside, Joins, Known, Noted, Whose};
use crate::model::{Issue, Place};

/// Files that a note names.
const NAMED: usize = 3;

/// To how many runs something gave their outcome.
fn joined(known: &Known) -> u64 {
    known.joined.load(Ordering::Relaxed)
}

impl Joins {
    /// The files by themselves, where they are all that was given: the first that was named.
    pub(super) fn named_alone(&self) -> Option<(&Path, String)> {
        let file = self.files.iter().find(|file| file.named && !file.alone.is_empty())?;
        Some((&file.path, format!("{}, and no trajectory: {}", file.about, file.alone)))
    }

    /// For every file beside trajectories, its account and what is to be told of it.
    pub(super) fn left_out(&self) -> Vec<(u32, String)> {
        let (mut joined, mut met) = (vec![0; self.files.len()], vec![0; self.files.len()]);
        for known in &self.known {
            joined[known.file] += known.joined.load(Ordering::Relaxed);
            met[known.file] += u64::from(known.met.load(Ordering::Relaxed));
        }
        let mut again = vec![0_u64; self.files.len()];
        for starts in self.statuses.values() {
            let mut starts: Vec<_> =
                starts.iter().map(|(file, _)| (&self.files[*file].path, *file)).collect();
            starts.sort();
            starts.dedup();
            for (_, file) in starts.into_iter().skip(1) {
                again[file] += 1;
            }
        }
        let tell = |(at, file): (usize, &Beside)| {
            let mut reason = file.about.to_owned();
            if file.statuses > 0 {
                let (all, again) = (file.statuses, again[at]);
                reason.push_str(&format!(": {all} instances, {again} of them run again"));
            } else if file.outcomes > 0 {
                reason.push_str(&format!(
                    ": {} outcome{}, {} of runs among the inputs, {} joined",
                    file.outcomes,
                    if file.outcomes == 1 { "" } else { "s" },
                    met[at],
                    joined[at]
                ));
            }
            if let Some(more) = &file.more {
                reason = format!("{reason}; {more}");
            }
            (file.tally, reason)
        };
        let left_out = |(_, file): &(usize, &Beside)| !file.is_run;
        self.files.iter().enumerate().filter(left_out).map(tell).collect()
    }

    /// The place of a file beside trajectories.
    fn place(&self, file: usize) -> Place {
        let tally = self.files.get(file).map_or(0, |file| file.tally);
        Place { file: tally, ..Place::default() }
    }

    /// From which files outcomes were joined, and how many.
    fn joined_from(&self) -> Option<Issue> {
        let mut files: Vec<usize> =
            self.known.iter().filter(|known| joined(known) > 0).map(|known| known.file).collect();
        files.dedup();
        let first = *files.first()?;
        let named = files.iter().take(NAMED).filter_map(|file| self.files.get(*file));
        let names: Vec<String> = named.map(|file| file.path.display().to_string()).collect();
        let more = files.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!("outcomes joined from {}{more}", names.join(", "));
        let all = self.known.iter().map(joined).sum();
        Some(Issue::note("outcomes_joined", self.place(first), message).times(all))
    }

    /// What is told of the joins as a whole.
    pub(super) fn issues(&self, any_runs: bool) -> Vec<Issue> {
        let place = |file: usize| self.place(file);
        let mut issues: Vec<Issue> = self.joined_from().into_iter().collect();
        let says_outcomes = self.known.iter().any(|known| known.head.verdict().is_some());
        let noted = |noted: &Mutex<Noted>| noted.lock().map_or(Noted::default(), |noted| *noted);
        let Noted { count: without, first } = noted(&self.without);
        let first = first.unwrap_or_default();
        if without > 0 {
            let code = "runs_without_outcome";
            issues.push(if says_outcomes {
                let message = "no file beside these runs says their outcome";
                Issue::warning(code, first, message).times(without)
            } else {
                let message = "these runs do not say their outcome: give the files of the evaluation too (`report.json`, `results.json`, a trial's `result.json`)";
                Issue::note(code, first, message).times(without)
            });
        }
        let Noted { count: ambiguous, first } = noted(&self.ambiguous);
        if let Some(first) = first {
            let message = "an outcome that names only the task may be of any of several runs, so none has it: give each run with its own evaluation, in a folder of their own";
            issues.push(Issue::warning("ambiguous_outcomes", first, message).times(ambiguous));
        }
        let unmet = |known: &&Known| {
            !known.met.load(Ordering::Relaxed)
                && known.head.verdict().is_some()
                && !self.files[known.file].is_run
        };
        let unmet: Vec<usize> = self.known.iter().filter(unmet).map(|known| known.file).collect();
        if any_runs && let Some(first) = unmet.first() {
            let message = "outcomes of runs that are not among the inputs are in no figure";
            let issue = Issue::warning("outcomes_without_run", place(*first), message);
            issues.push(issue.times(unmet.len() as u64));
        }
        let contradictions = [
            (
                &self.contradicted,
                "files equally near to a run differ on its outcome, so none is joined",
            ),
            (
                &self.own,
                "a file differs from the outcome that the run itself records, which counts",
            ),
            (&self.farther, "a farther file differs on the outcome of a run; the nearest counts"),
        ];
        for (counter, message) in contradictions {
            let Noted { count, first } = noted(counter);
            if let Some(first) = first {
                let issue = Issue::warning("conflicting_outcomes", first, message);
                issues.push(issue.times(count));
            }
        }
        let several = |known: &&Known| known.head.place == Whose::BelowFolder && joined(known) > 1;
        if let Some(first) = self.known.iter().find(several) {
            let message = "a trial has several trajectories that do not refer to each other: each is a run with the trial's reward";
            let all = self.known.iter().filter(several).count() as u64;
            issues.push(
                Issue::warning("several_runs_of_trial", place(first.file), message).times(all),
            );
        }
        issues
    }
}
