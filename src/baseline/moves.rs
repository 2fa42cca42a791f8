//! How a baseline comes to be another: replaced with a reason, or pooled with more runs.

use std::collections::BTreeSet;

use super::judging::json;
use super::line::RunWire;
use super::{Baseline, BaselineError, Move, Origin};
use crate::evaluate::RunRow;

impl Baseline {
    /// This baseline in the place of `previous`, whose history it takes on.
    #[must_use]
    pub fn in_place_of(mut self, previous: &Self, reason: Option<&str>, origin: &Origin) -> Self {
        let (ended, completed) = previous.completion();
        self.history.clone_from(&previous.history);
        self.history.push(Move {
            reason: reason.map(str::to_owned),
            by: origin.by.clone(),
            commit: origin.commit.clone(),
            time: origin.time.clone(),
            previous: previous.sha256.clone(),
            runs: previous.rows.len() as u64,
            ended,
            completed,
        });
        self
    }

    /// Whether the last two moves or more, and all before them, took a lower completion rate away:
    /// a baseline that keeps the best of many tries makes a gate fail without any change
    /// (`STATISTICS.md`, 5.7).
    #[must_use]
    pub fn only_moved_up(&self) -> bool {
        let rates = self.history.iter().map(|step| (step.ended, step.completed));
        let rates: Vec<(u64, u64)> = rates.chain([self.completion()]).collect();
        rates.len() > 2
            && rates.windows(2).all(|pair| match pair {
                [(ended, done), (ended_after, done_after)] => {
                    let before = u128::from(*done) * u128::from(*ended_after);
                    let after = u128::from(*done_after) * u128::from(*ended);
                    after > before
                }
                _ => false,
            })
    }

    /// Adds the one save of `more` as another, and keeps the last `keep` saves.
    ///
    /// # Errors
    ///
    /// [`BaselineError::Pool`] where the two are judged by other rules, where an input or run of
    /// `more` is in the baseline already, or where no number is left.
    pub fn pool(&self, more: Self, keep: Option<u32>) -> Result<Self, BaselineError> {
        let fail = |reason: String| BaselineError::Pool { name: self.name.clone(), reason };
        let differences = self.differences(&more.judging);
        if !differences.is_empty() {
            let all: Vec<String> = differences.iter().map(ToString::to_string).collect();
            return Err(fail(format!(
                "they are judged by other rules ({}); judge them alike, or replace the baseline with `bless`",
                all.join("; ")
            )));
        }
        self.refuse_twice(&more).map_err(fail)?;
        let last = self.saves.last().map_or(0, |save| save.number);
        let number = last.checked_add(1).ok_or_else(|| fail("no number is left".to_owned()))?;
        let mut pooled = Self { history: self.history.clone(), saves: self.saves.clone(), ..more };
        pooled.saves.extend(more.saves.into_iter().map(|save| super::Save { number, ..save }));
        pooled.inputs.iter_mut().for_each(|input| input.save = number);
        pooled.save_of.fill(number);
        let dropped = match keep {
            Some(keep) => pooled.saves.len().saturating_sub(keep as usize),
            None => 0,
        };
        pooled.saves.drain(..dropped);
        let oldest = pooled.saves.first().map_or(number, |save| save.number);
        pooled.inputs.extend(self.inputs.iter().filter(|input| input.save >= oldest).cloned());
        for (row, save) in self.rows.iter().zip(&self.save_of).filter(|(_, save)| **save >= oldest)
        {
            pooled.rows.push(row.clone());
            pooled.save_of.push(*save);
        }
        pooled.sort();
        Ok(pooled)
    }

    /// Runs that are pooled twice look like evidence and are none.
    fn refuse_twice(&self, more: &Self) -> Result<(), String> {
        let known =
            |digest: &str| self.inputs.iter().find(|input| input.sha256.as_deref() == Some(digest));
        let again =
            more.inputs.iter().find_map(|input| Some((input, known(input.sha256.as_deref()?)?)));
        if let Some((input, known)) = again {
            return Err(format!(
                "{} has the same content as an input of save {}, so its runs would count twice; give the runs of another time",
                input.path, known.save
            ));
        }
        // Runs without an id, or without amounts, may be alike by chance; not all of them are.
        let line = |row: &RunRow| json(&RunWire::of(row, 1));
        let with_id = |baseline: &Self| {
            let rows = baseline.rows.iter().filter(|row| row.run_id.is_some());
            rows.map(line).collect::<BTreeSet<String>>()
        };
        let known = with_id(self);
        let alike = |row: &&RunRow| row.run_id.is_some() && known.contains(&line(row));
        let measured = |row: &RunRow| {
            row.duration_seconds.is_some() || row.tokens.is_some() || row.cost_usd.is_some()
        };
        let (mut twice, mut certain) = (0, false);
        for row in more.rows.iter().filter(alike) {
            twice += 1;
            certain |= measured(row);
        }
        if certain || twice == more.rows.len() {
            return Err(format!(
                "{twice} of {} runs are in it already, with the same id and counts; give the runs of another time",
                more.rows.len()
            ));
        }
        Ok(())
    }
}
