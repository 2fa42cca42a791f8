//! Temporal workflow histories: of the command line, the API, the UI, and an event a line.
//!
//! Owns which events are of one run: those of one document, of its further pages, and of copies; a
//! run is known by its run id, and an event by its id in it. Refuses to follow a workflow into the
//! run that continues it.

mod history;
mod payload;
mod wire;

use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::raw::{read, text};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Issue, Place, Severity};
use history::{Event, History, Said, keep};
use wire::Holder;

/// Temporal histories.
pub const TEMPORAL: Format = Format {
    name: "temporal",
    about: "Temporal workflow histories",
    detect,
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Parts(|options| Box::new(Temporal::new(options))),
    archive: None,
    misspelt: None,
};

/// Bytes at the start of a document in which its first event is looked for.
const LOOKED_OVER: usize = 4096;

fn detect(probe: &Probe<'_>) -> bool {
    probe.records.iter().zip(probe.keys()).any(|(record, keys)| {
        let has = |key: &str| keys.iter().any(|have| have == key);
        let head = record.get(..LOOKED_OVER).unwrap_or(record);
        let tells = |needle: &str| memchr::memmem::find(head, needle.as_bytes()).is_some();
        let is_event = has("eventId")
            && (has("eventType") || keys.iter().any(|key| key.ends_with("EventAttributes")));
        let holds = has("events") || has("history");
        let is_list = record.starts_with(b"[");
        is_event || ((holds || is_list) && tells("\"eventId\"") && tells("EventAttributes\""))
    })
}

/// The largest number of histories without a beginning that are looked for among the others.
const PARTS_JOINED: usize = 256;

struct Temporal {
    raw: bool,
    histories: Vec<History>,
    by_run: HashMap<String, usize>,
    last_of_file: HashMap<u32, usize>,
    tally: Tally,
}

impl Temporal {
    fn new(options: &ReadOptions) -> Self {
        Self {
            raw: options.raw_attempts,
            histories: Vec::new(),
            by_run: HashMap::new(),
            last_of_file: HashMap::new(),
            tally: Tally::default(),
        }
    }

    fn record(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        match record.bytes.trim_ascii_start().first() {
            Some(b'[') => {
                let elements: Vec<&RawValue> = quick::from_slice(record.bytes)?;
                if elements.first().is_none_or(|first| holder(first).is_none()) {
                    return self.events(&elements, false, record.place);
                }
                let (mut used, mut merged, mut refused) = (false, false, None);
                for element in elements {
                    match self.document(element, record.place) {
                        Ok(fate) => {
                            used |= fate == Fate::Used;
                            merged |= fate != Fate::Used;
                        }
                        Err(refusal) => refused = Some(refusal),
                    }
                }
                match (used, refused) {
                    (false, Some(refusal)) if !merged => Err(refusal),
                    (used, refused) => {
                        let rule = "documents in a list that are no histories";
                        let lost = u64::from(refused.is_some());
                        let severity = Severity::Rejected;
                        self.tally.add("no_events", severity, record.place, rule, lost);
                        Ok(if used { Fate::Used } else { Fate::Merged(COPY) })
                    }
                }
            }
            Some(b'{') => {
                let object: &RawValue = quick::from_slice(record.bytes)?;
                match holder(object) {
                    Some(_) => self.document(object, record.place),
                    None => self.events(&[object], false, record.place),
                }
            }
            _ => {
                quick::from_slice::<IgnoredAny>(record.bytes)?;
                Err(no_events())
            }
        }
    }

    /// A history, or a page of one.
    fn document(&mut self, raw: &RawValue, place: Place) -> Result<Fate, Refusal> {
        let (events, more) = holder(raw).ok_or_else(no_events)?;
        self.events(&events, more, place)
    }

    fn events(&mut self, raws: &[&RawValue], more: bool, place: Place) -> Result<Fate, Refusal> {
        let mut events: Vec<(u64, Event)> = Vec::with_capacity(raws.len());
        for raw in raws {
            if let Some(read) = wire::event(raw) {
                events.push((read.id, keep(&read, self.raw)));
            }
        }
        if events.is_empty() {
            return Err(no_events());
        }
        let lost = (raws.len() - events.len()) as u64;
        let rule = "elements of a history that are no events with an id and a type";
        self.tally.add("unreadable_events", Severity::Warning, place, rule, lost);
        let at = self.target(&events, place);
        let Some(history) = self.histories.get_mut(at) else { return Err(no_events()) };
        history.place = history.place.min(place);
        history.more_pages &= more;
        let (mut new, mut repeated, mut clash) = (0, 0, 0);
        for (id, event) in events {
            match history.events.get(&id) {
                None => {
                    new += 1;
                    history.add(id, event);
                }
                Some(known) if known.is(&event) => repeated += 1,
                Some(_) => clash += 1,
            }
        }
        if let Some(run) = history.start().and_then(|start| start.run.clone()) {
            self.by_run.insert(run, at);
        }
        self.last_of_file.insert(place.file, at);
        let rule = "events whose id another event of the same history has: the first counts";
        self.tally.add("event_id_used_twice", Severity::Warning, place, rule, clash);
        if new == 0 {
            return Ok(Fate::Merged(COPY));
        }
        let rule = "events that another record of the same run holds too count once";
        self.tally.add("event_repeated", Severity::Note, place, rule, repeated);
        Ok(Fate::Used)
    }

    /// The history that these events belong to: of the same run, or the one before in the file,
    /// where no id stands for two events; else a new one.
    fn target(&mut self, events: &[(u64, Event)], place: Place) -> usize {
        let start = events.iter().find_map(|(_, event)| event.start());
        let of_run = start.and_then(|start| self.by_run.get(start.run.as_ref()?));
        let of_file = self.last_of_file.get(&place.file).filter(|at| {
            let begun = self.histories.get(**at).is_some_and(|known| known.start().is_some());
            start.is_none() || !begun
        });
        for at in [of_run, of_file].into_iter().flatten() {
            if self.histories.get(*at).is_some_and(|known| known.agrees(events)) {
                return *at;
            }
        }
        self.histories.push(History::new(place));
        self.histories.len() - 1
    }

    /// Gives events without a beginning to the one history that they make whole.
    fn join_parts(&mut self) {
        let (mut begun, parts): (Vec<History>, Vec<History>) =
            std::mem::take(&mut self.histories).into_iter().partition(|h| h.start().is_some());
        let few = parts.len() <= PARTS_JOINED;
        for part in parts {
            let fits = |(_, whole): &(usize, &History)| few && whole.completes(&part);
            let mut fitting = begun.iter().enumerate().filter(fits).map(|(at, _)| at);
            let (first, second) = (fitting.next(), fitting.next());
            drop(fitting);
            match first.filter(|_| second.is_none()).and_then(|at| begun.get_mut(at)) {
                Some(whole) => {
                    let rule =
                        "parts of a history in several files, joined where they make it whole";
                    self.tally.count("parts_joined", Severity::Note, part.place, rule);
                    whole.place = whole.place.min(part.place);
                    whole.more_pages = false;
                    whole.events.extend(part.events);
                }
                None => self.histories.push(part),
            }
        }
        self.histories.append(&mut begun);
        self.histories.sort_by_key(|history| history.place);
    }
}

const COPY: &str = "copy_of_history";

impl Event {
    fn start(&self) -> Option<&history::Start> {
        match self.said() {
            Said::Start(start) => Some(start),
            _ => None,
        }
    }
}

/// The events of a document, and whether more follow in another.
fn holder(raw: &RawValue) -> Option<(Vec<&RawValue>, bool)> {
    raw.get().starts_with('{').then_some(())?;
    let outer: Holder<'_> = read(raw)?;
    let more = outer.next.and_then(text).is_some_and(|token| !token.is_empty());
    let events = match outer.events {
        Some(events) => events,
        None => read::<Holder<'_>>(outer.history?)?.events?,
    };
    Some((read(events)?, more))
}

fn no_events() -> Refusal {
    Refusal::of("no_events", "neither an event of a Temporal history nor a list of them")
}

impl Assembler for Temporal {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.record(record).unwrap_or_else(Fate::Refused)
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        self.join_parts();
        let mut parsed = Parsed::default();
        for history in std::mem::take(&mut self.histories) {
            if history.start().is_none() {
                let message =
                    "a history without its beginning: run, workflow and input are unknown";
                let warning = Issue::warning("history_without_start", history.place, message);
                parsed.issues.push(warning);
            }
            parsed.runs.push(history.run(self.raw, &mut parsed.issues));
        }
        parsed.issues.extend(self.tally.into_issues());
        parsed
    }
}
