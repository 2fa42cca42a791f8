//! One record as the mapping reads it: what it is, and its fields without a borrow.
//!
//! Owns the meaning of the fields of runs and steps. Refuses to join records, which `attempts.rs`
//! and `run.rs` do.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::kept;
use super::super::native::fields::ErrorField;
use super::extract::Slots;
use super::values::{self, duration, find, number, stamp};
use crate::config::mapping::{Class, Fields, Mapping, Origin, RunField, Source, StepField};
use crate::ingest::quick;
use crate::model::{
    Attempt, ErrorInfo, Issue, Place, Score, ScoreValue, Stamp, Tokens, input_hash,
};

/// What binds the records of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pair {
    /// The id of the attempt, request or call.
    Request(Box<str>),
    /// The step; its attempts follow each other.
    Step(Box<str>),
    /// The name alone: what began first ends first.
    Name(Box<str>),
    /// Nothing.
    None,
}

/// A record that is a part of an attempt.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) class: Class,
    pub(super) place: Place,
    /// Microseconds by which events are ordered.
    pub(super) order: Option<i64>,
    /// When it was written.
    pub(super) time: Option<Stamp<'static>>,
    pub(super) pair: Pair,
    pub(super) attempt: Attempt<'static>,
    /// The record, where it is asked for.
    pub(super) raw: Option<Box<str>>,
}

/// What a record says of its run.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) texts: [Option<String>; 7],
    pub(super) tags: Vec<(String, String)>,
    pub(super) score: Option<ScoreValue<'static>>,
    pub(super) success: Option<bool>,
    pub(super) started_at: Option<Stamp<'static>>,
    pub(super) ended_at: Option<Stamp<'static>>,
    pub(super) duration_ms: Option<f64>,
    pub(super) tokens: Option<Tokens>,
    pub(super) cost_usd: Option<f64>,
    pub(super) output: Option<String>,
    pub(super) final_output: Option<String>,
}

impl Head {
    /// Whether the record says nothing of its run.
    pub(super) fn is_empty(&self) -> bool {
        let numbers = [self.duration_ms, self.cost_usd];
        let texts = self.texts.iter().chain([&self.output, &self.final_output]);
        texts.into_iter().all(Option::is_none)
            && self.tags.is_empty()
            && numbers.iter().all(Option::is_none)
            && self.score.is_none()
            && self.success.is_none()
            && self.tokens.is_none()
            && self.started_at.is_none()
            && self.ended_at.is_none()
    }
}

/// The texts of a head, in the order of the fields of the run.
pub(super) const RUN_ID: usize = 0;
pub(super) const TASK_ID: usize = 1;
pub(super) const TRIAL: usize = 2;
pub(super) const AGENT: usize = 3;
pub(super) const MODEL: usize = 4;
pub(super) const STATUS: usize = 5;
pub(super) const END_REASON: usize = 6;

/// What was doubtful in values, by code and message.
#[derive(Debug, Default)]
pub(super) struct Notices {
    issues: BTreeMap<(&'static str, String), Issue>,
}

impl Notices {
    /// Most kinds of notices; more say the same.
    const MOST: usize = 200;

    pub(super) fn add(&mut self, issue: Issue) {
        let key = (issue.code, issue.message.clone());
        if self.issues.len() >= Self::MOST && !self.issues.contains_key(&key) {
            return;
        }
        match self.issues.entry(key) {
            std::collections::btree_map::Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.count += issue.count;
                known.place = known.place.min(issue.place);
            }
            std::collections::btree_map::Entry::Vacant(new) => _ = new.insert(issue),
        }
    }

    pub(super) fn into_issues(self) -> impl Iterator<Item = Issue> {
        self.issues.into_values()
    }
}

/// Reads the fields of one record.
pub(super) struct Reading<'r, 'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) slots: &'r Slots<'a>,
    pub(super) place: Place,
    pub(super) notices: &'r mut Notices,
}

impl<'a> Reading<'_, 'a> {
    fn unreadable(&mut self, what: &str, field: &str) {
        let code = if what == "time" { "unreadable_time" } else { "unreadable_value" };
        let message = format!("`{field}` is no {what} in the form that the mapping names");
        self.notices.add(Issue::warning(code, self.place, message));
    }

    fn time(&mut self, source: Option<&'a Source>, field: &str) -> Option<Stamp<'static>> {
        for pick in &source?.picks {
            let Some(found) = values::take(pick, self.slots) else { continue };
            match stamp(&found, &pick.time) {
                Ok(Some(stamp)) => return Some(pack(stamp)),
                Ok(None) => {}
                Err(()) => self.unreadable("time", field),
            }
        }
        None
    }

    fn duration(&mut self, source: Option<&'a Source>, field: &str) -> Option<f64> {
        let (found, pick) = find(source?, self.slots)?;
        let read = duration(&found, pick.unit);
        if read.is_none() {
            self.unreadable("duration", field);
        }
        read
    }

    fn amount(&mut self, source: Option<&'a Source>, field: &str) -> Option<f64> {
        let source = source?;
        let read = number(source, self.slots);
        if read.is_none() && find(source, self.slots).is_some() {
            self.unreadable("number", field);
        }
        read
    }

    fn count(&mut self, source: Option<&'a Source>, field: &str) -> Option<u32> {
        let number = self.amount(source, field)?;
        let sound = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        if !sound {
            self.unreadable("whole number", field);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked first"
        )]
        sound.then_some(number as u32)
    }

    fn text(&self, source: Option<&Source>) -> Option<String> {
        values::text(source?, self.slots)
    }

    fn tokens(&mut self, fields: &'a Fields, place: &str) -> Option<Tokens> {
        const NAMES: [&str; 6] =
            ["input", "total_input", "cache_read", "cache_write", "output", "total"];
        if fields.tokens.is_empty() {
            return None;
        }
        let mut read = |at: usize| {
            let name = NAMES.get(at).copied().unwrap_or_default();
            // `tokens` may name an object where another writer has a number.
            let source = fields.tokens.get(at)?;
            let number = number(source, self.slots);
            if number.is_none() && find(source, self.slots).is_some_and(|(f, _)| f.text().is_some())
            {
                self.unreadable("number", &format!("{place}.tokens.{name}"));
            }
            number.filter(|number| number.is_finite() && *number >= 0.0)
        };
        let (input, total_input) = (read(0), read(1));
        let (cache_read, cache_write, output, total) = (read(2), read(3), read(4), read(5));
        let cached = cache_read.unwrap_or(0.0) + cache_write.unwrap_or(0.0);
        let input = input.or(total_input.map(|total| (total - cached).max(0.0)));
        if input.is_none() && output.is_none() && cache_read.is_none() && cache_write.is_none() {
            return total.map(|unsplit| Tokens { unsplit, ..Tokens::default() });
        }
        Some(Tokens {
            input: input.unwrap_or(0.0),
            cache_read: cache_read.unwrap_or(0.0),
            cache_write: cache_write.unwrap_or(0.0),
            output: output.unwrap_or(0.0),
            unsplit: 0.0,
        })
    }

    /// A status word, as the mapping's table of statuses means it.
    fn status(&self, source: Option<&Source>) -> Option<String> {
        let word = self.text(source)?;
        Some(match self.mapping.statuses.get(&word.trim().to_lowercase()) {
            Some(means) => means.clone(),
            None => word,
        })
    }

    /// What the record says of its run.
    pub(super) fn head(&mut self, fields: &'a Fields, class: Option<Class>) -> Head {
        let of = |field| fields.of_run(field);
        let time = match class {
            Some(Class::RunStart | Class::RunEnd) => self.time(Some(&self.mapping.time), "time"),
            _ => None,
        };
        let mut head = Head {
            texts: [
                self.text(of(RunField::RunId)),
                self.text(of(RunField::TaskId)),
                self.text(of(RunField::Trial)),
                self.text(of(RunField::Agent)),
                self.text(of(RunField::Model)),
                self.status(of(RunField::Status)),
                self.text(of(RunField::EndReason)),
            ],
            started_at: self.time(of(RunField::StartedAt), "run.started_at"),
            ended_at: self.time(of(RunField::EndedAt), "run.ended_at"),
            duration_ms: self.duration(of(RunField::Duration), "run.duration"),
            cost_usd: self.amount(of(RunField::Cost), "run.cost"),
            tokens: self.tokens(fields, "run"),
            ..Head::default()
        };
        match class {
            Some(Class::RunStart) => head.started_at = head.started_at.or(time),
            Some(Class::RunEnd) => head.ended_at = head.ended_at.or(time),
            _ => {}
        }
        if let Some((found, _)) = of(RunField::Score).and_then(|s| find(s, self.slots)) {
            head.score = Some(match found.text() {
                Some(text) => match ScoreValue::from_text(Cow::Owned(text.into_owned())) {
                    ScoreValue::Unreadable(_) if found.number().is_some() => {
                        ScoreValue::Number(found.number().unwrap_or(f64::NAN))
                    }
                    value => value,
                },
                None => ScoreValue::Unreadable("an object or array".into()),
            });
        }
        if let Some((found, _)) = of(RunField::Success).and_then(|s| find(s, self.slots)) {
            head.success = found.flag();
            if head.success.is_none() {
                self.unreadable("flag", "run.success");
            }
        }
        let json = |field| {
            of(field).and_then(|s| find(s, self.slots)).map(|(found, _)| found.json().into_owned())
        };
        head.output = json(RunField::Output);
        head.final_output = json(RunField::Final);
        for (key, source) in &fields.tags {
            head.tags.extend(self.text(Some(source)).map(|value| (key.clone(), value)));
        }
        head
    }

    /// What the record says of an attempt.
    pub(super) fn event(
        &mut self,
        fields: &'a Fields,
        class: Class,
        raw: Option<Box<str>>,
    ) -> Event {
        let of = |field| fields.of_step(field);
        let time = self.time(Some(&self.mapping.time), "time");
        let text = |reading: &Self, field| reading.text(of(field)).map(|t| kept::owned(t.into()));
        let mut attempt = Attempt {
            step_id: self
                .text(Some(&self.mapping.step_key))
                .or_else(|| self.text(of(StepField::StepId)))
                .map(|text| kept::owned(text.into())),
            index: self.amount(of(StepField::Index), "step.index"),
            attempt: self
                .count(of(StepField::Attempt), "step.attempt")
                .map(|number| number.saturating_add(self.mapping.attempt_offset))
                .filter(|number| *number > 0),
            attempts_total: self
                .count(of(StepField::Attempts), "step.attempts")
                .map(|count| count.saturating_add(self.mapping.more_attempts))
                .filter(|count| *count > 0),
            kind: text(self, StepField::Kind).unwrap_or_default(),
            name: text(self, StepField::Name),
            status: self.status(of(StepField::Status)).map(|t| kept::owned(t.into())),
            request_id: text(self, StepField::RequestId),
            started_at: self.time(of(StepField::StartedAt), "step.started_at"),
            ended_at: self.time(of(StepField::EndedAt), "step.ended_at"),
            duration_ms: self.duration(of(StepField::Duration), "step.duration"),
            cost_usd: self.amount(of(StepField::Cost), "step.cost"),
            tokens: self.tokens(fields, "step"),
            ..Attempt::default()
        };
        if let Some((found, _)) = of(StepField::Input).and_then(|s| find(s, self.slots)) {
            attempt.input = input_hash(&found.json());
        }
        if attempt.status.is_none()
            && let Some((found, _)) = of(StepField::Success).and_then(|s| find(s, self.slots))
        {
            attempt.status = match found.flag() {
                Some(true) => Some("completed".into()),
                Some(false) => Some("failed".into()),
                None => {
                    self.unreadable("flag", "step.success");
                    None
                }
            };
        }
        attempt.error = self.error(fields);
        if class == Class::Step && attempt.started_at.is_none() && attempt.ended_at.is_none() {
            // A record of a whole attempt is written once it is over.
            attempt.ended_at.clone_from(&time);
        }
        let micros = |stamp: &Option<Stamp<'_>>| Some(stamp.as_ref()?.time()?.micros);
        let order = match class {
            Class::Step => micros(&attempt.started_at).or_else(|| micros(&time)),
            Class::StepStart => micros(&time).or_else(|| micros(&attempt.started_at)),
            _ => micros(&time).or_else(|| micros(&attempt.ended_at)),
        }
        .or_else(|| micros(&attempt.ended_at));
        let boxed = |text: &str| text.to_owned().into_boxed_str();
        let key = self.text(Some(&self.mapping.attempt_key));
        let pair = match (key, &attempt.request_id, &attempt.step_id, &attempt.name) {
            (Some(key), _, step, _) => Pair::Request(
                format!("{}\u{0}{key}", step.as_deref().unwrap_or_default()).into_boxed_str(),
            ),
            (None, Some(id), ..) => Pair::Request(boxed(id)),
            (None, None, Some(step), _) => Pair::Step(boxed(step)),
            (None, None, None, Some(name)) => Pair::Name(boxed(name)),
            (None, None, None, None) => Pair::None,
        };
        Event { class, place: self.place, order, time, pair, attempt, raw }
    }

    /// The error of a step. A constant type or message that holds for all records says nothing alone.
    fn error(&self, fields: &'a Fields) -> Option<ErrorInfo<'static>> {
        let evidence = |field| {
            let source: &'a Source = fields.of_step(field)?;
            source.picks.iter().find_map(|pick| {
                let text = values::take(pick, self.slots)?.text()?.into_owned();
                let counts = pick.of_rule || !matches!(pick.from, Origin::Constant(_));
                (!text.trim().is_empty()).then_some((text, counts))
            })
        };
        let (kind, message) = (evidence(StepField::ErrorType), evidence(StepField::ErrorMessage));
        let mut error = None;
        if let Some((found, _)) = fields.of_step(StepField::Error).and_then(|s| find(s, self.slots))
        {
            let read: Option<ErrorField<'_>> = match found.raw() {
                Some(raw) => quick::from_str(raw.get()).ok(),
                None => None,
            };
            error = match read {
                Some(field) => field.0.map(kept::error),
                None => found.text().map(|text| ErrorInfo {
                    message: Some(Cow::Owned(text.into_owned())),
                    ..ErrorInfo::default()
                }),
            };
            // In a table a flag is a text.
            if let Some(words) = found.words() {
                if words.trim().eq_ignore_ascii_case("false") || words.trim() == "0" {
                    error = None;
                } else if words.trim().eq_ignore_ascii_case("true") || words.trim() == "1" {
                    error = Some(ErrorInfo::default());
                }
            }
        }
        let told = [&kind, &message].iter().any(|e| e.as_ref().is_some_and(|(_, counts)| *counts));
        if error.is_none() && !told {
            return None;
        }
        let mut error = error.unwrap_or_default();
        if let Some((kind, _)) = kind {
            error.kind = Some(kept::owned(kind.into()));
        }
        if let Some((message, _)) = message {
            error.message = Some(kept::owned(message.into()));
        }
        Some(error)
    }
}

/// A time as small as it can be kept.
fn pack(stamp: Stamp<'static>) -> Stamp<'static> {
    match &stamp {
        Stamp::Number(_) => match stamp.time() {
            Some(time) => u64::try_from(time.micros)
                .ok()
                .and_then(|micros| micros.checked_mul(1000))
                .map_or(stamp, Stamp::Nanos),
            None => stamp,
        },
        _ => stamp,
    }
}

/// Puts one source of a score beside its name.
pub(super) fn unnamed(value: ScoreValue<'static>) -> Score<'static> {
    Score { name: Cow::Borrowed(""), value }
}
