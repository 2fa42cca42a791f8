//! Records that are parts of runs: handed to the assembler of their format, and booked.
//!
//! Owns one assembler a format for all files, and what became of each record: taken, merged or
//! ignored by a rule, repaired, or refused with its reason. Refuses to know what records mean.

use super::ReadError;
use super::block::{Block, Damage, Depth, cut_between, describe, outside};
use super::formats::{Assembler, Fate, Format, Record};
use super::read::{Session, Visitor};
use super::repair;
use super::split::Span;
use crate::config::ReadOptions;
use crate::model::{Issue, Trajectory};

impl<V: Visitor> Session<'_, V> {
    /// Hands one record to the assembler of its format.
    pub(super) fn part(
        &mut self,
        block: &Block<'_>,
        span: Span,
        format: &Format,
        new: fn(&ReadOptions) -> Box<dyn Assembler>,
    ) -> Result<(), ReadError> {
        if let Some(issue) = block.too_large(span) {
            self.tally.files[block.file as usize].records += 1;
            return self.reject(issue);
        }
        let mut queue = Vec::new();
        let mut next = Some((span, Depth::Outer));
        let mut damage = None;
        let (mut rejected, mut last_rejected) = (false, false);
        while let Some((span, depth)) = next.take().or_else(|| queue.pop()) {
            let record = block.record(span);
            let mut fate = self.assembler(format, new).push(&record);
            let mut repaired = false;
            if let Fate::Refused(refusal) = &fate {
                if let Some(inside) = block.within(span, depth, format, refusal) {
                    queue.extend(inside.spans.into_iter().rev().map(|span| (span, inside.depth)));
                    damage = damage.or(inside.damage);
                    continue;
                }
                if refusal.repairable
                    && let Ok(fixed) = repair::repair(record.bytes)
                {
                    fate = self
                        .assembler(format, new)
                        .push_repaired(&Record { bytes: &fixed, ..record });
                    repaired = true;
                }
            }
            last_rejected = matches!(fate, Fate::Refused(_));
            rejected |= last_rejected;
            self.book(&record, fate, repaired)?;
            // In several files a run may go on in another one.
            while !self.many
                && let Some(run) = self.assembler(format, new).give_out()
            {
                self.given_out(format.name, run);
            }
        }
        match damage {
            // A cut-off last record tells of the cut by itself.
            Some(Damage::Cut) if !last_rejected => self.issue(cut_between(block.end_of(span))),
            Some(Damage::At { byte, reason }) if !rejected => {
                self.tally.files[block.file as usize].records += 1;
                self.reject(outside(block.at(byte), reason))
            }
            _ => Ok(()),
        }
    }

    /// Looks at a run that is over before its file is, and keeps what is kept of it.
    fn given_out(&mut self, format: &'static str, mut run: Trajectory<'static>) {
        let mut state = self.take_state();
        let out = self.look(&mut state, format, &mut run);
        self.put_state(state);
        self.early.push((format, run.place, out));
    }

    /// Shows a run that was made of parts to the visitor.
    pub(super) fn look(
        &mut self,
        state: &mut V::State,
        format: &str,
        run: &mut Trajectory<'static>,
    ) -> V::Out {
        if let Some(file) = self.tally.files.get_mut(run.place.file as usize) {
            file.runs += 1;
            self.joins.complete(format, &file.path, run);
        }
        self.visitor.visit(state, run)
    }

    /// The assembler of a format, made for its first record.
    pub(super) fn assembler(
        &mut self,
        format: &Format,
        new: fn(&ReadOptions) -> Box<dyn Assembler>,
    ) -> &mut dyn Assembler {
        let known = self.assemblers.iter().position(|(name, _)| *name == format.name);
        let at = known.unwrap_or_else(|| {
            self.assemblers.push((format.name, new(&self.request.options)));
            self.assemblers.len() - 1
        });
        self.assemblers[at].1.as_mut()
    }

    /// Books what became of one record that is a part of a run.
    pub(super) fn book(
        &mut self,
        record: &Record<'_>,
        fate: Fate,
        repaired: bool,
    ) -> Result<(), ReadError> {
        let tally = &mut self.tally.files[record.place.file as usize];
        tally.records += 1;
        match fate {
            Fate::Used => {
                tally.used += 1;
                tally.repaired += u64::from(repaired);
            }
            Fate::Merged(rule) => *tally.merged.entry(rule).or_default() += 1,
            Fate::Ignored(rule) => *tally.ignored.entry(rule).or_default() += 1,
            Fate::Refused(refusal) => {
                let message = describe(&refusal, record.bytes);
                self.reject(Issue::rejected(refusal.code, record.place, message))?;
            }
        }
        Ok(())
    }
}
