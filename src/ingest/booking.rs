//! What records gave and what was noticed, booked in the order of the input.
//!
//! Owns the counts of files and the list of issues, each kind of them once; and that `--strict` stops
//! at the first thing that is lost. Whatever is booked comes after the small files that wait.

use super::ReadError;
use super::block::Outcome;
use super::read::{Session, Visitor};
use crate::model::{Issue, Severity};

/// Warnings of a loss whose size is not known, which `--strict` must not pass over either.
const LOSSES: [&str; 2] = ["damaged_stream", "truncated_array"];

impl<V: Visitor> Session<'_, V> {
    /// Books what a batch of records gave.
    pub(super) fn take_in(
        &mut self,
        file: u32,
        outcomes: impl IntoIterator<Item = Outcome<V::Out>>,
    ) -> Result<(), ReadError> {
        self.flush()?;
        for (outcome, repaired) in outcomes {
            let tally = &mut self.tally.files[file as usize];
            tally.records += 1;
            tally.repaired += u64::from(repaired);
            match outcome {
                Ok((outs, issues)) => {
                    tally.used += 1;
                    tally.runs += outs.len() as u64;
                    for issue in issues {
                        self.issue(issue)?;
                    }
                    for out in outs {
                        (self.collect)(out);
                    }
                }
                Err(issue) => self.reject(issue)?,
            }
        }
        Ok(())
    }

    /// Books a rejected record; its file counts it as met already.
    pub(super) fn reject(&mut self, issue: Issue) -> Result<(), ReadError> {
        self.stop_if_strict(&issue)?;
        self.tally.files[issue.place.file as usize].reject(issue);
        Ok(())
    }

    /// Books whatever else was noticed, be it in a record, between records or at the end. Parts of
    /// records that were rejected are counted apart, as their record counts as read.
    pub(super) fn issue(&mut self, issue: Issue) -> Result<(), ReadError> {
        self.flush()?;
        self.stop_if_strict(&issue)?;
        match self.tally.files.get_mut(issue.place.file as usize) {
            Some(file) if issue.severity == Severity::Rejected => file.reject_parts(issue),
            _ => {
                // The same thing again is counted, not kept again.
                let key = (issue.place.file, issue.code, issue.message.clone());
                let next = self.tally.issues.len();
                let at = *self.told.entry(key).or_insert(next);
                match self.tally.issues.get_mut(at) {
                    Some(known) => known.count += issue.count,
                    None => self.tally.issues.push(issue),
                }
            }
        }
        Ok(())
    }

    fn stop_if_strict(&self, issue: &Issue) -> Result<(), ReadError> {
        let lost = issue.severity == Severity::Rejected || LOSSES.contains(&issue.code);
        if self.request.strict && lost {
            let (place, reason) = (self.tally.locate(issue.place), issue.to_string());
            return Err(ReadError::Strict { place, reason });
        }
        Ok(())
    }
}
