//! Lists of messages in every wrapping: one array, an object that holds the array, several of
//! either in one array or a line each, or a message a line.
//!
//! Owns which messages make a list, and copies: a list whose messages another list begins with
//! is an earlier dump of it and counts once. Refuses to read messages; each format's own
//! [`Dialect`] does.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::raw::{amount, object, offset_in, quoted, raw_fields, read, text};
use super::{Assembler, Fate, Parsed, Probe, Record, Refusal, kept};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::ingest::scan::{end_of_value, first_array};
use crate::model::{Final, Issue, Place, Tokens, Trajectory, input_hash};

/// How one format's lists are told and read.
#[derive(Clone, Copy)]
pub(crate) struct Dialect {
    /// The messages that an object holds; `None` where it holds no list.
    pub(crate) list_in: for<'r> fn(&'r RawValue) -> Option<Vec<&'r RawValue>>,
    /// Whether an object is a message of this format.
    pub(crate) is_message: fn(&RawValue) -> bool,
    /// Reads the runs of one list; none where it holds no message.
    pub(crate) read: ReadList,
}

/// Reads the runs of one list.
pub(crate) type ReadList = for<'r> fn(&List<'r>, &ReadOptions, &mut Vec<Issue>) -> Vec<Listed<'r>>;

/// One list of messages.
pub(crate) struct List<'r> {
    /// The messages as written.
    pub(crate) messages: Vec<&'r RawValue>,
    /// The object in which they stand, if there is one.
    pub(crate) wrapper: Option<&'r RawValue>,
    /// Where the record stands.
    pub(crate) place: Place,
}

/// One run of a list, and by what its copies are known.
pub(crate) struct Listed<'r> {
    /// The run.
    pub(crate) run: Trajectory<'r>,
    /// Hashes of the ids of its messages in order; empty where one has none.
    pub(crate) ids: Vec<u64>,
}

/// Runs with one first message among which a copy is looked for: a prompt may open every run.
const BRANCHES: usize = 64;

/// Collects lists.
pub(crate) struct MessageLists {
    dialect: Dialect,
    options: ReadOptions,
    runs: Vec<(Trajectory<'static>, Vec<u64>)>,
    /// The last runs that begin with a message, by the message's id.
    by_first: HashMap<u64, VecDeque<usize>>,
    /// Messages that stand alone, by file, and where the first of them stands.
    loose: BTreeMap<u32, (Place, Vec<Box<RawValue>>)>,
    issues: Vec<Issue>,
}

impl MessageLists {
    /// Nothing collected yet.
    pub(crate) fn new(dialect: Dialect, options: &ReadOptions) -> Self {
        Self {
            dialect,
            options: options.clone(),
            runs: Vec::new(),
            by_first: HashMap::new(),
            loose: BTreeMap::new(),
            issues: Vec::new(),
        }
    }

    fn record(&mut self, record: &Record<'_>) -> Result<Fate, Refusal> {
        match record.bytes.trim_ascii_start().first() {
            Some(b'[') => {
                let elements: Vec<&RawValue> = quick::from_slice(record.bytes)?;
                self.array(&elements, record)
            }
            Some(b'{') => {
                let object: &RawValue = quick::from_slice(record.bytes)?;
                if let Some(messages) = (self.dialect.list_in)(object) {
                    let list = List { messages, wrapper: Some(object), place: record.place };
                    return self.list(&list);
                }
                if (self.dialect.is_message)(object) {
                    let (_, messages) = self
                        .loose
                        .entry(record.place.file)
                        .or_insert_with(|| (record.place, Vec::new()));
                    messages.push(object.to_owned());
                    return Ok(Fate::Used);
                }
                Err(no_message())
            }
            _ => {
                quick::from_slice::<IgnoredAny>(record.bytes)?;
                Err(no_message())
            }
        }
    }

    /// An array is a list, or a list of lists if its first element is one.
    fn array(&mut self, elements: &[&RawValue], record: &Record<'_>) -> Result<Fate, Refusal> {
        let inner = |element: &&RawValue| match element.get().as_bytes().first() {
            Some(b'[') => true,
            _ => (self.dialect.list_in)(element).is_some(),
        };
        if !elements.first().is_some_and(inner) {
            let messages = elements.to_vec();
            return self.list(&List { messages, wrapper: None, place: record.place });
        }
        let (mut fates, mut refused) = (Vec::new(), None);
        for element in elements {
            let byte = record.place.byte + offset_in(record.bytes, element);
            let place = Place { byte, ..record.place };
            let fate = match read::<Vec<&RawValue>>(element) {
                Some(messages) => self.list(&List { messages, wrapper: None, place }),
                None => match (self.dialect.list_in)(element) {
                    Some(messages) => self.list(&List { messages, wrapper: Some(element), place }),
                    None => Err(no_message()),
                },
            };
            match fate {
                Ok(fate) => fates.push(fate),
                Err(refusal) => {
                    let issue = Issue::rejected(refusal.code, place, refusal.message.clone());
                    self.issues.push(issue);
                    refused = Some(refusal);
                }
            }
        }
        match (fates.iter().find(|fate| **fate == Fate::Used), refused) {
            (Some(_), _) => Ok(Fate::Used),
            (None, None) => Ok(fates.into_iter().next().unwrap_or(Fate::Ignored("empty_list"))),
            (None, Some(refusal)) if fates.is_empty() => {
                // The record is refused as a whole, so its parts are not counted beside it.
                self.issues.truncate(self.issues.len() - elements.len());
                Err(refusal)
            }
            (None, Some(_)) => Ok(fates.into_iter().next().unwrap_or(Fate::Used)),
        }
    }

    /// Reads one list; a copy of another is merged with it.
    fn list(&mut self, list: &List<'_>) -> Result<Fate, Refusal> {
        let before = self.issues.len();
        let runs = (self.dialect.read)(list, &self.options, &mut self.issues);
        if runs.is_empty() {
            self.issues.truncate(before);
            return Err(no_message());
        }
        let mut new = false;
        for Listed { run, ids } in runs {
            new |= self.add(run, ids);
        }
        if new {
            return Ok(Fate::Used);
        }
        self.issues.truncate(before);
        Ok(Fate::Merged("copy_of_list"))
    }

    /// Keeps a run; false where it is a copy, of which the longer one stays.
    fn add(&mut self, run: Trajectory<'_>, ids: Vec<u64>) -> bool {
        let Some(first) = ids.first().copied() else {
            self.runs.push((kept::run(run), ids));
            return true;
        };
        let branches = self.by_first.entry(first).or_default();
        for at in branches.iter().rev() {
            let Some((known, known_ids)) = self.runs.get_mut(*at) else { continue };
            let shared = ids.len().min(known_ids.len());
            if ids.get(..shared) != known_ids.get(..shared) {
                continue;
            }
            if ids.len() > known_ids.len() {
                let place = known.place;
                *known = Trajectory { place, ..kept::run(run) };
                *known_ids = ids;
            }
            return false;
        }
        if branches.len() == BRANCHES {
            branches.pop_front();
        }
        branches.push_back(self.runs.len());
        self.runs.push((kept::run(run), ids));
        true
    }
}

fn no_message() -> Refusal {
    Refusal::of("no_messages", "neither a message of this format nor a list of them")
}

impl Assembler for MessageLists {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.record(record).unwrap_or_else(Fate::Refused)
    }

    fn finish(mut self: Box<Self>) -> Parsed<'static> {
        for (place, messages) in std::mem::take(&mut self.loose).into_values() {
            let messages = messages.iter().map(AsRef::as_ref).collect();
            let list = List { messages, wrapper: None, place };
            if let Ok(Fate::Merged(_)) = self.list(&list) {
                let message = "messages a line that another list holds too count once";
                self.issues.push(Issue::note("list_repeated", place, message));
            }
        }
        let Self { mut runs, issues, .. } = *self;
        runs.sort_by_key(|(run, _)| run.place);
        Parsed { runs: runs.into_iter().map(|(run, _)| run).collect(), issues }
    }
}

/// The first element of the array that is the record, or that stands under one of `keys` in it; cut
/// off where the record is.
pub(crate) fn first_element<'p>(record: &'p [u8], keys: &[&str]) -> Option<&'p [u8]> {
    let record = record.trim_ascii_start();
    let array = match record.first()? {
        b'[' => record,
        b'{' => record.get(first_array(record, keys)?..)?,
        _ => return None,
    };
    let elements = array.get(1..)?.trim_ascii_start();
    elements.get(..end_of_value(elements).unwrap_or(elements.len()))
}

/// Whether a record is, or a list in it or in its first element opens with, what `claims` says. An
/// object without any of the keys `marks` is not looked at as a whole, nor one without a list inside:
/// records are long, and many formats ask.
pub(crate) fn opens_with(
    probe: &Probe<'_>,
    lists: &[&str],
    marks: &[&str],
    claims: impl Fn(&[u8]) -> bool,
) -> bool {
    let nested = |first: &[u8]| first_element(first, lists).is_some_and(&claims);
    probe.records.iter().zip(probe.keys()).any(|(record, keys)| {
        let may = |wanted: &[&str]| {
            keys.is_empty() || keys.iter().any(|key| wanted.contains(&key.as_str()))
        };
        (may(marks) && claims(record))
            || (may(lists)
                && first_element(record, lists).is_some_and(|first| claims(first) || nested(first)))
    })
}

/// The messages of one list by their ids: one whose id came before is a copy.
#[derive(Default)]
pub(crate) struct Ids<'r> {
    hashes: Vec<u64>,
    seen: HashSet<Cow<'r, str>>,
    without: bool,
}

impl<'r> Ids<'r> {
    /// Takes the next message; false where it is a copy.
    pub(crate) fn take(&mut self, id: Option<Cow<'r, str>>) -> bool {
        let Some(id) = id else {
            self.without = true;
            return true;
        };
        self.hashes.push(id_hash(&id));
        self.seen.insert(id)
    }

    /// By what copies of the list are known: nothing where a message has no id.
    pub(crate) fn of_list(self) -> Vec<u64> {
        if self.without { Vec::new() } else { self.hashes }
    }
}

/// What a run delivered: why it ended and its last words, as far as recorded.
pub(crate) fn delivered(end_reason: Option<&str>, output: Option<&str>) -> Final<'static> {
    if end_reason.is_none() && output.is_none() {
        return Final::Missing;
    }
    Final::Json(Cow::Owned(object(&[
        ("end_reason", end_reason.map(quoted).as_deref()),
        ("output", output.map(quoted).as_deref()),
    ])))
}

/// Tokens of a request of which only input and output are recorded.
pub(crate) fn tokens(input: Option<&RawValue>, output: Option<&RawValue>) -> Option<Tokens> {
    let (input, output) = (amount(input), amount(output));
    (input.is_some() || output.is_some()).then(|| Tokens {
        input: input.unwrap_or_default(),
        output: output.unwrap_or_default(),
        ..Tokens::default()
    })
}

raw_fields! {
    /// A block of content.
    Block { text, content }
}

/// The words of a message's content: its text, or the texts of its blocks, else the JSON as it is.
pub(crate) fn words(content: &RawValue) -> Cow<'_, str> {
    if let Some(said) = text(content) {
        return said;
    }
    let Some(blocks) = read::<Vec<&RawValue>>(content) else { return Cow::Borrowed(content.get()) };
    let mut said = String::new();
    for block in &blocks {
        let words = text(block).map(Cow::into_owned).or_else(|| {
            let block = block_of(block)?;
            block.text.or(block.content).and_then(text).map(Cow::into_owned)
        });
        if let Some(words) = words {
            if !said.is_empty() {
                said.push('\n');
            }
            said.push_str(&words);
        }
    }
    if said.is_empty() { Cow::Borrowed(content.get()) } else { Cow::Owned(said) }
}

fn block_of(raw: &RawValue) -> Option<Block<'_>> {
    raw.get().starts_with('{').then(|| read(raw)).flatten()
}

/// The hash of an id.
pub(crate) fn id_hash(id: &str) -> u64 {
    // No id reads as `null`, which alone has no hash.
    input_hash(&quoted(id)).unwrap_or_default()
}

/// The arguments of a call as JSON text: what a string holds if that is JSON, else the value as written.
pub(crate) fn arguments(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = raw?;
    match text(raw) {
        Some(inner) if quick::from_str::<IgnoredAny>(&inner).is_ok() => Some(inner),
        _ => Some(Cow::Borrowed(raw.get())),
    }
}

/// Tells of messages that another one in the list repeats; `rule` says which.
pub(crate) fn tell_repeated(count: u64, rule: &str, place: Place, issues: &mut Vec<Issue>) {
    if count > 0 {
        issues.push(Issue::note("message_repeated", place, rule).times(count));
    }
}

/// Tells how many elements of a list are no messages.
pub(crate) fn tell_unreadable(count: u64, place: Place, issues: &mut Vec<Issue>) {
    if count > 0 {
        let message = "elements of a list that are no messages of its format are left out";
        issues.push(Issue::warning("unreadable_messages", place, message).times(count));
    }
}

#[cfg(test)]
mod tests {
    use super::{first_element, words};

    #[test]
    fn the_first_element_is_found_in_every_wrapping() {
        let found = |record: &str| {
            first_element(record.as_bytes(), &["messages"])
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        assert_eq!(found(r#" [ {"a":1},2]"#).as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(found(r#"{"x":[3],"messages":[{"a":"]"}]}"#).as_deref(), Some(r#"{"a":"]"}"#));
        assert_eq!(found(r#"{"messages":[{"a":"cut"#).as_deref(), Some(r#"{"a":"cut"#));
        assert_eq!(found("7"), None);
    }

    #[test]
    fn words_are_the_texts_of_all_blocks() {
        let raw = |json: &str| serde_json::value::RawValue::from_string(json.to_owned()).unwrap();
        assert_eq!(words(&raw(r#""a\nb""#)), "a\nb");
        assert_eq!(words(&raw(r#"[{"type":"text","text":"a"},"b"]"#)), "a\nb");
        assert_eq!(words(&raw("7")), "7");
    }
}
