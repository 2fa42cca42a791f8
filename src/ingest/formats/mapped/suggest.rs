//! A first mapping for a file that no format claims, from its own names and values.
//!
//! Owns the draft: what is guessed stands in the mapping, what was not or what is doubtful in its
//! notes. It is given the start of a file. Refuses to open files, and to be used without a look: it
//! guesses.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::config::mapping::wire::{
    AttemptsAre, Pick, RecordKind, Rule, RunFields, Source, StepFields, Texts, Wire,
};
use crate::config::mapping::{Class, DurationUnit, MAPPING_SCHEMA};

mod ends;
mod head;
mod known;
mod names;
mod shapes;
mod words;

use head::{inside, records};
use names::{is_one_run, is_run_rows, last_key, list, named, named_of, tokens};
use shapes::{Shape, Shapes};
use words::{bare, class};

/// Records that are looked at.
const RECORDS: usize = 5_000;
/// Values of an event that get a rule each.
const EVENTS: usize = 40;

/// A drafted mapping.
#[derive(Debug)]
pub struct Suggested {
    /// The mapping as JSON.
    pub text: String,
    /// What was guessed or left open, as sentences; they stand in the mapping too.
    pub notes: Vec<String>,
    /// The ready mapping whose records these are.
    pub ready: Option<&'static str>,
}

/// Drafts a mapping for a file by its start, of which `whole` says whether it is all of it; `None`
/// where it holds neither JSON nor a table.
pub(in crate::ingest) fn draft(head: &[u8], whole: bool) -> Option<Suggested> {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let records = records(text, whole);
    (!records.is_empty()).then(|| Draft::of(&records).finish())
}

/// The draft while it is made.
struct Draft {
    wire: Wire,
    notes: Vec<String>,
    ready: Option<&'static str>,
}

impl Draft {
    fn of(records: &[Box<RawValue>]) -> Self {
        let mut shapes = Shapes::default();
        records.iter().for_each(|record| shapes.take(record));
        let mut draft = Self {
            wire: Wire { schema: MAPPING_SCHEMA.to_owned(), ..Wire::default() },
            notes: vec![
                "drafted from the names and values of the file: check every line".to_owned(),
            ],
            ready: known::ready(&shapes),
        };
        if let Some(name) = draft.ready {
            draft.notes.push(format!(
                "a mapping for these records ships with the program: `--map {name}`, printed by `agenteval map show {name}`"
            ));
        }
        // A list of objects in most records: the records of a document, or the steps of a run.
        match list(&shapes) {
            Some(list) if shapes.records == 1 && !is_one_run(&shapes, &list) => {
                let inner = inside(records, &list);
                let runs = inner.all().iter().any(|(_, parts, shape)| {
                    parts.len() == 1
                        && shape.object_lists > 0
                        && shape.object_lists * 2 > inner.records
                });
                if runs {
                    draft.notes.push(format!(
                        "`{list}` holds records with lists of their own: they may be whole runs"
                    ));
                }
                draft.wire.records = Some(format!("{list}[]"));
                draft.events(inner, &[]);
            }
            Some(list) => {
                let inner = inside(records, &list);
                draft.wire.record = Some(RecordKind::Run);
                draft.wire.steps = Some(Texts::One(format!("{list}[]")));
                draft.run(&shapes, Some(&shapes));
                draft.steps(&inner);
                let (rules, _) = draft.rules(&inner);
                draft.wire.events = rules;
                draft.unmapped(&shapes);
                draft.unmapped(&inner);
            }
            None if is_run_rows(&shapes) => {
                draft.wire.record = Some(RecordKind::Run);
                draft
                    .notes
                    .push("each record is taken for a whole run, of which no step is known".into());
                draft.run(&shapes, Some(&shapes));
                draft.unmapped(&shapes);
            }
            None => draft.events(shapes, records),
        }
        draft
    }

    /// Records that are events of runs. What only the records that end a run have is the run's.
    fn events(&mut self, mut shapes: Shapes, records: &[Box<RawValue>]) {
        let (rules, has_end) = self.rules(&shapes);
        if rules.is_none() {
            self.notes
                .push("no field tells events apart: each record is taken for a whole step".into());
        }
        self.wire.events = rules;
        let ends = self.ends(&shapes, records);
        self.run(&shapes, Some(&ends).filter(|ends| ends.records > 0));
        shapes.forget(&ends);
        self.steps(&shapes);
        self.unmapped(&shapes);
        self.unmapped(&ends);
        if !has_end {
            self.notes.push("no event tells the end of a run: its outcome is known from `run.success`, `run.score` or `run.status` alone".into());
        }
    }

    /// The fields of runs; `ends` has those that are the run's wherever they stand.
    fn run(&mut self, shapes: &Shapes, ends: Option<&Shapes>) {
        let whole = self.wire.record == Some(RecordKind::Run);
        let mut run = RunFields::default();
        for (field, names) in words::RUN {
            let Some((path, shape)) = named(shapes, names, |shape| shape.is_scalar()) else {
                continue;
            };
            let of_end = ends.is_some_and(|ends| ends.get(&path).is_some());
            if *field == "success" && !of_end && shape.count * 2 > shapes.records {
                continue; // it is the step's
            }
            let slot = match *field {
                "run_id" => &mut run.run_id,
                "task_id" => &mut run.task_id,
                "trial" => &mut run.trial,
                "agent" => &mut run.agent,
                "model" => &mut run.model,
                "score" => &mut run.score,
                "success" => &mut run.success,
                _ => &mut run.end_reason,
            };
            *slot = Some(Source::Path(path));
        }
        if run.run_id.is_none() && !whole {
            let starts = self.starts(shapes);
            let mut by_starts = shapes.all().into_iter().filter(|(_, _, shape)| {
                shape.is_scalar()
                    && shape.count == shapes.records
                    && !shape.many
                    && starts
                        .is_some_and(|starts| starts > 1 && shape.values.len() as u64 == starts)
            });
            let by_name = shapes.all().into_iter().find(|(_, parts, shape)| {
                let last = last_key(parts).map(bare).unwrap_or_default();
                (last.ends_with("id") || last.ends_with("key"))
                    && shape.is_scalar()
                    && shape.repeats()
                    && shape.count * 2 > shapes.records
                    && !matches!(last.as_str(), "taskid" | "agentid" | "modelid")
            });
            match by_starts.next().or(by_name) {
                Some((path, ..)) => {
                    self.notes.push(format!("`{path}` is taken for the run, because its values come again"));
                    run.run_id = Some(Source::Path(path.to_owned()));
                }
                None => self.notes.push("nothing names the run: all records of a file are one run; map `run.run_id` or `group.run`".into()),
            }
        }
        if run.task_id.is_none() {
            self.notes.push(
                "nothing names the task: map `run.task_id`, so that trials of a task are compared"
                    .into(),
            );
        }
        if let Some(ends) = ends {
            run.tokens = tokens(ends);
            let names = ["status", "state", "outcome", "verdict", "result"];
            if let Some((path, shape)) = named(ends, &names, |shape| shape.is_scalar()) {
                self.statuses(&path, shape);
                run.status = Some(Source::Path(path));
            }
            if let Some((path, shape)) = named_of(ends, words::STEP, "cost")
                && shape.numbers > 0
            {
                run.cost = Some(Source::Path(path));
            }
            run.duration = self.duration(ends);
        }
        self.wire.run = Some(run);
    }

    fn steps(&mut self, shapes: &Shapes) {
        let mut step = StepFields::default();
        let event =
            self.wire.events.as_ref().and_then(|rules| rules.first()?.when.keys().next().cloned());
        for (field, names) in words::STEP {
            let fits = |shape: &Shape| match *field {
                "error" => shape.count > 0,
                "input" | "output" => shape.count > 0,
                "started_at" | "ended_at" => shape.times * 10 >= shape.count * 9,
                "attempt" | "attempts" | "cost" => shape.numbers == shape.count && shape.count > 0,
                "status" => shape.is_scalar() && (shape.statuses > 0 || shape.repeats()),
                "success" => {
                    shape.flags > 0
                        || shape.values.keys().all(|v| {
                            matches!(v.as_str(), "true" | "false" | "True" | "False" | "0" | "1")
                        })
                }
                "name" | "type" => shape.is_scalar() && shape.longest <= 120,
                _ => shape.is_scalar(),
            };
            let Some((path, shape)) = named(shapes, names, fits) else { continue };
            if event.as_deref() == Some(path.as_str()) {
                continue;
            }
            let retries = path.to_lowercase().contains("retr");
            let source = Some(Source::Path(path.clone()));
            match *field {
                "step_id" => step.step_id = source,
                "attempt" => {
                    if shape.values.contains_key("0") {
                        self.wire.first_attempt = Some(0);
                        self.notes.push(format!("`{path}` has a 0, so attempts count from there"));
                    }
                    step.attempt = source;
                }
                "attempts" if shape.lists == 0 => {
                    if retries {
                        self.wire.attempts = Some(AttemptsAre::Retries);
                    }
                    self.notes.push(format!(
                        "`{path}` is taken for a count of {}",
                        if retries { "retries" } else { "tries" }
                    ));
                    step.attempts = source;
                }
                "type" => step.kind = source,
                "name" => step.name = source,
                "status" => {
                    self.statuses(&path, shape);
                    step.status = source;
                }
                "success" => step.success = source,
                "error" => step.error = source,
                "error_type" => step.error_type = source,
                "error_message" => step.error_message = source,
                "request_id" => step.request_id = source,
                "input" => step.input = source,
                "output" => step.output = source,
                "started_at" => step.started_at = source,
                "ended_at" => step.ended_at = source,
                "cost" => step.cost = source,
                _ => {}
            }
        }
        if step.status.is_none() && step.success.is_none() {
            // By value: a path all of whose words are statuses.
            let by_value = shapes.all().into_iter().find(|(path, _, shape)| {
                shape.texts > 0
                    && shape.statuses == shape.count
                    && shape.count > 0
                    && event.as_deref() != Some(path)
            });
            if let Some((path, ..)) = by_value {
                self.notes.push(format!(
                    "`{path}` is taken for the status, because its values are such words"
                ));
                step.status = Some(Source::Path(path.to_owned()));
            } else {
                self.notes.push("nothing tells whether a step passed, beside errors: map `step.status` or `step.success`".into());
            }
        }
        if step.name.is_none() && step.step_id.is_none() {
            self.notes.push("nothing names the steps: map `step.name`".into());
        }
        step.tokens = tokens(shapes);
        step.duration = self.duration(shapes);
        self.time(shapes, &step);
        if step.name.is_none() {
            step.name.clone_from(&step.step_id);
        }
        if step.step_id.is_none() && step.attempt.is_some() {
            self.notes
                .push("attempts are numbered, so those of one name are taken for one step".into());
            step.step_id.clone_from(&step.name);
        }
        self.wire.step = Some(step);
    }

    fn time(&mut self, shapes: &Shapes, step: &StepFields) {
        let is_time = |shape: &Shape| shape.count > 0 && shape.times * 10 >= shape.count * 9;
        let by_name = named(shapes, words::TIME, is_time);
        let used = |path: &str| {
            [&step.started_at, &step.ended_at]
                .into_iter()
                .flatten()
                .any(|source| matches!(source, Source::Path(p) if p == path))
        };
        let found = by_name.map(|(path, _)| path).or_else(|| {
            let by_value =
                shapes.all().into_iter().find(|(path, _, shape)| is_time(shape) && !used(path))?;
            self.notes.push(format!(
                "`{}` is taken for the time, because its values are times",
                by_value.0
            ));
            Some(by_value.0.to_owned())
        });
        match found {
            Some(path) if !used(&path) => self.wire.time = Some(Source::Path(path)),
            Some(_) => {}
            None if step.started_at.is_none() => self
                .notes
                .push("there is no time: records are taken in the order of the file".into()),
            None => {}
        }
    }

    fn statuses(&mut self, path: &str, shape: &Shape) {
        let unknown: Vec<&str> = shape
            .values
            .keys()
            .map(String::as_str)
            .filter(|word| {
                crate::model::AttemptWord::read(word) == crate::model::AttemptWord::Unknown
            })
            .take(12)
            .collect();
        if !unknown.is_empty() {
            self.notes.push(format!(
                "`{path}` has words whose meaning is not known ({}): give them one in `statuses`, such as completed or failed",
                unknown.join(", ")
            ));
        }
    }

    fn duration(&mut self, shapes: &Shapes) -> Option<Source> {
        for (name, unit) in words::DURATION {
            let Some((path, shape)) = named(shapes, &[name], |shape| shape.is_scalar()) else {
                continue;
            };
            let unit = match unit {
                Some("ms") => DurationUnit::Ms,
                Some("s") => DurationUnit::S,
                Some("us") => DurationUnit::Us,
                Some(_) => DurationUnit::Ns,
                None if shape.texts > 0 => DurationUnit::Text,
                None => {
                    #[expect(clippy::cast_precision_loss, reason = "a count of records")]
                    let mean = shape.sum / shape.count.max(1) as f64;
                    let unit = if mean >= 50.0 { DurationUnit::Ms } else { DurationUnit::S };
                    let word = if unit == DurationUnit::Ms { "milliseconds" } else { "seconds" };
                    self.notes.push(format!(
                        "`{path}` is taken for {word}, by its size: {mean:.3} on average"
                    ));
                    unit
                }
            };
            return Some(Source::Pick(Box::new(Pick {
                path: Some(path),
                unit: Some(unit),
                ..Pick::default()
            })));
        }
        None
    }

    /// A rule for each value of the field that says what happened; with whether one ends a run.
    fn rules(&mut self, shapes: &Shapes) -> (Option<Vec<Rule>>, bool) {
        let is_event = |shape: &Shape| {
            shape.texts == shape.count
                && shape.count * 2 >= shapes.records
                && !shape.many
                && shape.values.len() <= EVENTS
                && shape.longest <= 80
                && shape.values.keys().any(|value| class(value).is_some())
        };
        let by_value = || {
            let classes = |shape: &Shape| shape.values.keys().filter_map(|v| class(v)).count();
            let all = shapes.all().into_iter();
            let mut found = all.filter(|(_, parts, shape)| {
                parts.len() <= 2 && is_event(shape) && classes(shape) > 1
            });
            found.next().map(|(path, _, shape)| (path.to_owned(), shape))
        };
        let Some((path, shape)) = named(shapes, words::EVENT, is_event).or_else(by_value) else {
            return (None, false);
        };
        let mut rules = Vec::new();
        let mut unknown = Vec::new();
        for (value, count) in &shape.values {
            let (is, failed) = match class(value) {
                Some(guess) => guess,
                None => {
                    unknown.push(format!("{value} ({count})"));
                    (Class::Ignore, false)
                }
            };
            let constant = |word: &str| {
                Source::Pick(Box::new(Pick {
                    constant: Some(Value::from(word)),
                    ..Pick::default()
                }))
            };
            let step = (failed && is == Class::StepEnd)
                .then(|| StepFields { status: Some(constant("failed")), ..StepFields::default() });
            let run = (failed && is == Class::RunEnd)
                .then(|| RunFields { status: Some(constant("failed")), ..RunFields::default() });
            rules.push(Rule {
                when: BTreeMap::from([(path.clone(), Value::from(value.as_str()))]),
                is,
                run,
                step,
            });
        }
        if !unknown.is_empty() {
            self.notes.push(format!(
                "events whose meaning was not guessed, and how many: {}",
                unknown.join(", ")
            ));
        }
        let has_end = rules.iter().any(|rule| rule.is == Class::RunEnd);
        (Some(rules), has_end)
    }

    fn finish(mut self) -> Suggested {
        self.wire.notes = Some(Texts::Many(self.notes));
        let mut text = serde_json::to_string_pretty(&self.wire).unwrap_or_default();
        text.push('\n');
        let notes = match self.wire.notes {
            Some(Texts::Many(notes)) => notes,
            _ => Vec::new(),
        };
        Suggested { text, notes, ready: self.ready }
    }
}
