//! Any JSON, NDJSON or CSV, read by a field mapping (`--map`).
//!
//! Owns: the walk from a line to its records (`line.rs`, `extract.rs`), what each record is
//! (`event.rs`, `values.rs`), which run it belongs to, and what never matched (`missing.rs`). A
//! record that names no run belongs to the only run of its file; where there are several, to the
//! one inside of whose records it stands; else it is told as lost.
//! Refuses: to detect anything. A mapping is always named by a person.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{Assembler, Fate, Format, Parsed, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::config::mapping::{Class, Mapping, Source};
use crate::ingest::assemble::tally::Tally;
use crate::model::{Issue, Place, Severity};

mod attempts;
mod event;
mod extract;
mod framing;
mod line;
mod missing;
mod run;
pub mod suggest;
mod values;

use event::{Notices, Reading};
use extract::{Found, Slots, Values, elements, extract};
pub(in crate::ingest) use framing::{framing, is_table};
use line::{LineIs, Partial};
use missing::Missing;
pub use missing::{NEVER_MATCHED, NO_FAILURE};
use run::{Run, Said};

/// What `--map` reads.
pub const MAPPED: Format = Format {
    name: "map",
    about: "records read by a field mapping",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::PartsOrRows(|options| Box::new(Mapped::new(options))),
    archive: None,
    misspelt: None,
};

/// What is known of the runs while records come in.
struct Mapped {
    mapping: Arc<Mapping>,
    keeps_raw: bool,
    partial: Partial,
    runs: Vec<Run>,
    by_key: HashMap<Box<str>, usize>,
    /// The run of the records of a file that name none.
    nameless: BTreeMap<u32, usize>,
    /// The runs that records of a file name.
    named: BTreeMap<u32, BTreeSet<usize>>,
    /// Events by run, class and what tells that two are one.
    same: HashMap<(usize, Class, Box<str>), usize>,
    /// Records by what they were found to be.
    told: Tally,
    notices: Notices,
    missing: Missing,
}

/// What became of one classified value.
enum Took {
    Used,
    Merged,
    Ignored(&'static str),
}

impl Mapped {
    fn new(options: &ReadOptions) -> Self {
        // Without a mapping nothing can be read; the command line always gives one.
        let mapping = options.mapping.clone().unwrap_or_default();
        Self {
            missing: Missing::new(&mapping),
            mapping,
            keeps_raw: options.raw_attempts,
            partial: Partial::default(),
            runs: Vec::new(),
            by_key: HashMap::new(),
            nameless: BTreeMap::new(),
            named: BTreeMap::new(),
            same: HashMap::new(),
            told: Tally::default(),
            notices: Notices::default(),
        }
    }

    /// Reads a document: the record itself, or those in its list.
    fn document(&mut self, bytes: &[u8], place: Place) -> Result<Fate, serde_json::Error> {
        let mapping = Arc::clone(&self.mapping);
        if let Some(tree) = &mapping.unwrap {
            let found = extract(tree, bytes)?;
            let Some(inner) = found.first().and_then(Option::as_ref).and_then(Found::words) else {
                return Ok(Fate::Ignored("nothing_to_unwrap"));
            };
            let inner = inner.trim().as_bytes();
            if !matches!(inner.first(), Some(b'{' | b'[')) {
                return Ok(if mapping.refuses_other {
                    Fate::Refused(Refusal::of("no_json_line", "the unwrapped text is no JSON"))
                } else {
                    Fate::Ignored("no_json_line")
                });
            }
            // What is wrong inside is no fault of the record's own form.
            return self.records(inner, place).or_else(|error| {
                let message = format!("the unwrapped text: {error}");
                Ok(Fate::Refused(Refusal::of("invalid_json", message)))
            });
        }
        self.records(bytes, place)
    }

    fn records(&mut self, bytes: &[u8], place: Place) -> Result<Fate, serde_json::Error> {
        let mapping = Arc::clone(&self.mapping);
        self.missing.sample(if mapping.records.is_some() { 0 } else { 1 }, bytes, place);
        let Some(list) = mapping.records else {
            let record = extract(&mapping.levels[1], bytes)?;
            let outer = Slots::default();
            return Ok(self.record(&outer, record, bytes, place).into());
        };
        let document = extract(&mapping.levels[0], bytes)?;
        self.missing.saw(0, &document);
        let Some(list) = document.get(list).and_then(Option::as_ref).and_then(Found::raw) else {
            return Ok(Fate::Ignored("no_list_of_records"));
        };
        let mut outer = Slots::default();
        outer.levels[0].clone_from(&document);
        let mut used = false;
        for (nth, raw) in (0_u64..).zip(elements(list)) {
            let record = extract(&mapping.levels[1], raw.get().as_bytes())?;
            // The order inside of the document is the order of its bytes.
            let place = Place { byte: place.byte + nth, ..place };
            self.missing.sample(1, raw.get().as_bytes(), place);
            match self.record(&outer, record, raw.get().as_bytes(), place) {
                Took::Used | Took::Merged => used = true,
                Took::Ignored(rule) => {
                    self.told.count("parts_ignored", Severity::Note, place, rule);
                }
            }
        }
        Ok(if used { Fate::Used } else { Fate::Ignored("no_event_of_the_mapping") })
    }

    /// Takes one record: an event, or a whole run.
    fn record<'r>(
        &mut self,
        outer: &Slots<'r>,
        record: Values<'r>,
        bytes: &'r [u8],
        place: Place,
    ) -> Took {
        self.missing.saw(1, &record);
        let mapping = Arc::clone(&self.mapping);
        let mut slots = Slots::default();
        slots.levels[0].clone_from(&outer.levels[0]);
        slots.levels[1] = record;
        if !mapping.whole_runs {
            return self.event(&slots, bytes, place, None);
        }
        let lists: Vec<_> = mapping
            .steps
            .iter()
            .filter_map(|slot| slots.levels[1].get(*slot)?.as_ref()?.raw())
            .collect();
        let mut reading =
            Reading { mapping: &mapping, slots: &slots, place, notices: &mut self.notices };
        let head = reading.head(&mapping.run, None);
        let key = values::text(&mapping.run_key, &slots).map(String::into_boxed_str);
        let empty = lists.is_empty() && key.is_none() && head_is_empty(&head);
        if empty {
            return Took::Ignored("nothing_of_the_mapping");
        }
        let at = self.runs.len();
        let mut run = Run::new(place, key);
        run.steps_unknown = mapping.steps.is_empty();
        run.tell((None, place), None, head);
        self.runs.push(run);
        let mut nth = 0;
        for list in lists {
            for raw in elements(list) {
                nth += 1;
                let Ok(step) = extract(&mapping.levels[2], raw.get().as_bytes()) else { continue };
                self.missing.saw(2, &step);
                self.missing.sample(2, raw.get().as_bytes(), place);
                let mut inner = Slots::default();
                inner.levels[1].clone_from(&slots.levels[1]);
                inner.levels[2] = step;
                let place = Place { byte: place.byte + nth, ..place };
                if let Took::Ignored(rule) =
                    self.event(&inner, raw.get().as_bytes(), place, Some(at))
                {
                    self.told.count("parts_ignored", Severity::Note, place, rule);
                }
            }
        }
        Took::Used
    }

    /// Takes one event, of this run or of the one that it names.
    fn event(&mut self, slots: &Slots<'_>, bytes: &[u8], place: Place, of: Option<usize>) -> Took {
        let mapping = Arc::clone(&self.mapping);
        let rules = mapping.rules.iter().enumerate();
        let Some((nth, rule)) =
            rules.into_iter().find(|(_, rule)| values::fits(&rule.tests, slots))
        else {
            return Took::Ignored("no_event_of_the_mapping");
        };
        self.missing.fired(nth);
        if rule.class == Class::Ignore {
            return Took::Ignored("ignored_by_the_mapping");
        }
        let mut reading = Reading { mapping: &mapping, slots, place, notices: &mut self.notices };
        let head = reading.head(&rule.run, Some(rule.class));
        let is_step = is_step(rule.class);
        let raw = (self.keeps_raw && is_step)
            .then(|| String::from_utf8_lossy(bytes).into_owned().into_boxed_str());
        let event = reading.event(&rule.step, rule.class, raw);
        // A rule may name the run where records in general do not.
        let key = head.texts.first().cloned().flatten();
        let key = key_of(&mapping.run_key, slots).or(key.map(String::into_boxed_str));
        let at = of.unwrap_or_else(|| self.run(key, place));
        let told = (event.order, place);
        let Some(run) = self.runs.get_mut(at) else { return Took::Used };
        if run.key.is_some() || of.is_some() {
            run.tell(told, Some(rule.class), head);
        } else if !is_step || !head.is_empty() {
            run.said.push(Said { told, class: rule.class, head });
        }
        if !is_step {
            return Took::Used;
        }
        if let Some(same) = values::text(&mapping.same, slots) {
            let next = run.events.len();
            let known = *self.same.entry((at, rule.class, same.into())).or_insert(next);
            if known < next {
                run.merge(known, event);
                return Took::Merged;
            }
        }
        run.events.push(event);
        Took::Used
    }

    fn run(&mut self, key: Option<Box<str>>, place: Place) -> usize {
        let next = self.runs.len();
        let at = match &key {
            Some(key) => {
                let at = *self.by_key.entry(key.clone()).or_insert(next);
                self.named.entry(place.file).or_default().insert(at);
                at
            }
            None => *self.nameless.entry(place.file).or_insert(next),
        };
        match self.runs.get_mut(at) {
            Some(run) => {
                run.until = run.until.max(place);
                run.place = run.place.min(place);
            }
            None => self.runs.push(Run::new(place, key)),
        }
        at
    }

    /// Gives the records that name no run to the runs that they can only be of.
    fn settle(&mut self, parsed: &mut Parsed<'static>) {
        let runs = std::mem::take(&mut self.runs);
        let mut taken: Vec<Option<Run>> = runs.into_iter().map(Some).collect();
        for (file, at) in std::mem::take(&mut self.nameless) {
            let Some(mut run) = taken.get_mut(at).and_then(Option::take) else { continue };
            let named = self.named.get(&file);
            if let Some(several) = named.filter(|named| named.len() > 1) {
                parsed.issues.extend(share_out(run, several, &mut taken));
                continue;
            }
            let only = named.and_then(|named| named.first());
            if let Some(owner) = only.and_then(|only| taken.get_mut(*only)?.as_mut()) {
                owner.adopt(run);
                continue;
            }
            run.own();
            if let Some(slot) = taken.get_mut(at) {
                *slot = Some(run);
            }
        }
        self.runs = taken.into_iter().flatten().collect();
    }
}

/// What a record that names no run holds.
enum Nameless {
    Event(event::Event),
    Said(Said),
}

impl Nameless {
    fn place(&self) -> Place {
        match self {
            Self::Event(event) => event.place,
            Self::Said(said) => said.told.1,
        }
    }
}

/// Gives each event, and what is said of a run, to the one run between whose records it stands;
/// tells of those that stand inside of none, or of several.
fn share_out(nameless: Run, named: &BTreeSet<usize>, runs: &mut [Option<Run>]) -> Option<Issue> {
    let spans = named.iter().filter_map(|at| {
        let run = runs.get(*at)?.as_ref()?;
        Some((run.place, run.until, *at))
    });
    let mut spans: Vec<(Place, Place, usize)> = spans.collect();
    spans.sort_unstable();
    let events = nameless.events.into_iter().map(Nameless::Event);
    let mut parts: Vec<_> = events.chain(nameless.said.into_iter().map(Nameless::Said)).collect();
    parts.sort_by_key(Nameless::place);
    let mut spans = spans.into_iter().peekable();
    let mut around: BTreeSet<(Place, usize)> = BTreeSet::new();
    let mut lost: Option<Issue> = None;
    for part in parts {
        let place = part.place();
        while let Some((_, until, at)) = spans.next_if(|(from, ..)| *from <= place) {
            around.insert((until, at));
        }
        while around.first().is_some_and(|(until, _)| *until < place) {
            around.pop_first();
        }
        let only = around.first().filter(|_| around.len() == 1).map(|(_, at)| *at);
        match (only.and_then(|at| runs.get_mut(at)).and_then(Option::as_mut), part) {
            (Some(owner), Nameless::Event(event)) => owner.events.push(event),
            (Some(owner), Nameless::Said(said)) => {
                owner.tell(said.told, Some(said.class), said.head);
            }
            // The step of the same record tells of it.
            (None, Nameless::Said(said)) if is_step(said.class) => {}
            (None, _) => {
                let message =
                    "several runs share this file and the record names none: map `group.run`";
                let told = lost.get_or_insert_with(|| {
                    Issue::rejected("event_without_run", place, message).times(0)
                });
                told.count += 1;
            }
        }
    }
    lost
}

impl From<Took> for Fate {
    fn from(took: Took) -> Self {
        match took {
            Took::Used => Self::Used,
            Took::Merged => Self::Merged("same_record"),
            Took::Ignored(rule) => Self::Ignored(rule),
        }
    }
}

fn key_of(source: &Source, slots: &Slots<'_>) -> Option<Box<str>> {
    values::text(source, slots).map(String::into_boxed_str)
}

/// Whether records of this class are steps, beside what they say of their run.
fn is_step(class: Class) -> bool {
    !matches!(class, Class::RunStart | Class::RunEnd | Class::Metric)
}

fn head_is_empty(head: &event::Head) -> bool {
    head.texts.iter().all(Option::is_none)
        && head.score.is_none()
        && head.success.is_none()
        && head.tokens.is_none()
        && head.final_output.is_none()
}

impl Assembler for Mapped {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        let mapping = Arc::clone(&self.mapping);
        match self.partial.take(record.bytes, record.place, &mapping) {
            LineIs::Other(fate) => fate,
            LineIs::Record(bytes) => self
                .document(&bytes, record.place)
                .unwrap_or_else(|error| Fate::Refused(error.into())),
        }
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        let mut parsed = Parsed::default();
        self.settle(&mut parsed);
        self.runs.sort_by_key(|run| run.place);
        for run in std::mem::take(&mut self.runs) {
            parsed.runs.push(run.finish(&self.mapping, &mut self.told));
        }
        parsed.issues.extend(self.missing.issues(&self.mapping, !parsed.runs.is_empty()));
        parsed.issues.extend(self.missing.no_failure(&self.mapping));
        parsed.issues.extend(self.partial.finish());
        parsed.issues.extend(self.notices.into_issues());
        parsed.issues.extend(self.told.into_issues());
        parsed
    }
}
