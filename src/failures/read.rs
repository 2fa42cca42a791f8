//! From the bytes of a file to a failure, strictly: what does not belong is told with its line.
//!
//! Counts are those of the lists, so that whoever resolves a merge by keeping the lines of both
//! sides need not add up numbers.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::edit::compact;
use super::excerpt::{Excerpt, ExcerptStep};
use super::failure::{Day, KnownFailure, Status};
use super::seen::{Seen, SeenRun};
use super::signature::Signature;
use super::{LibraryError, SCHEMA};
use crate::model::{Stamp, Time, nearest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWire {
    schema: String,
    id: String,
    r#type: String,
    tool: Option<String>,
    r#where: String,
    template: String,
    status: String,
    until: Option<String>,
    notes: Vec<String>,
    corrected_output: Option<Box<RawValue>>,
    corrected_task: Option<String>,
    first_seen: Option<String>,
    last_seen: Option<String>,
    #[serde(rename = "runs")]
    _runs: u64,
    #[serde(rename = "attempts")]
    _attempts: u64,
    tasks: Vec<String>,
    tasks_beyond: u64,
    runs_seen: Vec<RunWire>,
    runs_beyond: u64,
    excerpt: Option<ExcerptWire>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunWire {
    run: String,
    attempts: u64,
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExcerptWire {
    run: String,
    key: String,
    task: Option<String>,
    outcome: String,
    end_reason: Option<String>,
    steps: Vec<StepWire>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepWire {
    step: u32,
    attempt: u32,
    r#type: String,
    name: Option<String>,
    verdict: String,
    error: Option<String>,
    message: Option<String>,
    input: Option<String>,
    output: Option<String>,
}

/// How to get a sound file back.
const RESTORE: &str = "restore the file from version control, or remove it and collect again";

impl KnownFailure {
    /// Reads a file; `path` is its path for messages.
    ///
    /// # Errors
    ///
    /// [`LibraryError::Form`] with the line: conflict markers, no JSON, another schema, unknown
    /// keys, values that no failure has, and an id that is not that of its parts.
    pub fn from_bytes(bytes: &[u8], path: &str) -> Result<Self, LibraryError> {
        let fail = |line: usize, reason: String| {
            Err(LibraryError::Form { path: path.to_owned(), line: line.max(1), reason })
        };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{FEFF}').unwrap_or(text),
            Err(error) => {
                let sound = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let line = 1 + sound.iter().filter(|byte| **byte == b'\n').count();
                return fail(line, format!("this is not UTF-8; {RESTORE}"));
            }
        };
        if let Some((line, mark)) = conflict(text) {
            return fail(
                line,
                format!(
                    "a merge conflict was left here (`{mark}`); keep the lines of one side, or of both in lists, and remove the marks"
                ),
            );
        }
        let wire: FileWire = match serde_json::from_str(text) {
            Ok(wire) => wire,
            Err(error) => return fail(error.line(), why(&error)),
        };
        let at = |key: &str| {
            let key = format!("\"{key}\":");
            1 + text.lines().position(|line| line.trim_start().starts_with(&key)).unwrap_or(0)
        };
        if wire.schema != SCHEMA {
            let shown: String = wire.schema.chars().take(80).collect();
            let reason = format!("its schema is `{shown}`, and this agenteval reads `{SCHEMA}`");
            return fail(at("schema"), reason);
        }
        let signature = Signature {
            kind: wire.r#type,
            tool: wire.tool,
            place: wire.r#where,
            template: wire.template,
        };
        if signature.id() != wire.id {
            let reason = format!(
                "the id is not that of type, tool, where and template, which must stay as collected; {RESTORE}"
            );
            return fail(at("id"), reason);
        }
        let status = match status(&wire.status, wire.until.as_deref()) {
            Ok(status) => status,
            Err((key, reason)) => return fail(at(key), reason),
        };
        let mut seen = Seen::default();
        for (key, text) in [("first_seen", &wire.first_seen), ("last_seen", &wire.last_seen)] {
            let Some(text) = text else { continue };
            match time(text) {
                Some(time) => seen.time(Some(time)),
                None => return fail(at(key), format!("`{key}` is no time; {RESTORE}")),
            }
        }
        for run in wire.runs_seen {
            if !is_key(&run.key) {
                let shown: String = run.key.chars().take(80).collect();
                let line = 1 + text.lines().position(|line| line.contains(&run.key)).unwrap_or(0);
                return fail(
                    line,
                    format!("the key `{shown}` of a run is no 12 hex digits; {RESTORE}"),
                );
            }
            let one = SeenRun { label: run.run, attempts: run.attempts };
            seen.run(&run.key, one, None, None);
        }
        seen.runs.set_more(wire.runs_beyond > 0);
        wire.tasks.into_iter().for_each(|task| seen.task(task));
        seen.tasks.set_more(wire.tasks_beyond > 0);
        seen.excerpt = wire.excerpt.map(Into::into);
        let corrected_output = wire.corrected_output.map(|raw| compact(raw.get()));
        let corrected_output = corrected_output.filter(|text| text != "null");
        // Without an output there is nothing that is right for it.
        let corrected_task = wire.corrected_task.filter(|_| corrected_output.is_some());
        Ok(Self { signature, status, notes: wire.notes, corrected_output, corrected_task, seen })
    }
}

impl From<ExcerptWire> for Excerpt {
    fn from(wire: ExcerptWire) -> Self {
        Self {
            key: wire.key,
            run: wire.run,
            task: wire.task,
            outcome: wire.outcome,
            end_reason: wire.end_reason,
            steps: wire.steps.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<StepWire> for ExcerptStep {
    fn from(wire: StepWire) -> Self {
        Self {
            step: wire.step,
            attempt: wire.attempt,
            kind: wire.r#type,
            name: wire.name,
            verdict: wire.verdict,
            error: wire.error,
            message: wire.message,
            input: wire.input,
            output: wire.output,
        }
    }
}

/// The status of a file; else the key that is wrong, and why.
fn status(word: &str, until: Option<&str>) -> Result<Status, (&'static str, String)> {
    match (word, until) {
        ("new", None) => Ok(Status::New),
        ("known", None) => Ok(Status::Known),
        ("fixed", None) => Ok(Status::Fixed),
        ("quarantined", Some(day)) => match Day::parse(day) {
            Some(day) => Ok(Status::Quarantined(day)),
            None => Err(("until", "`until` is no day such as 2026-03-31".to_owned())),
        },
        ("quarantined", None) => {
            let reason = "a quarantine has an end: write `until`, a day such as 2026-03-31";
            Err(("until", reason.to_owned()))
        }
        (word, Some(_)) if Status::WORDS.contains(&word) => {
            Err(("until", format!("`until` belongs to a quarantine, and the status is `{word}`")))
        }
        (word, _) => {
            let hint = nearest(word, Status::WORDS).map_or_else(
                || format!("known: {}", Status::WORDS.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            let shown: String = word.chars().take(80).collect();
            Err(("status", format!("unknown status `{shown}`; {hint}")))
        }
    }
}

/// The first mark of a merge conflict: its line and the mark.
fn conflict(text: &str) -> Option<(usize, &'static str)> {
    const MARKS: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
    (1..).zip(text.lines()).find_map(|(number, line)| {
        MARKS.iter().find(|mark| line.starts_with(**mark)).map(|mark| (number, *mark))
    })
}

fn time(text: &str) -> Option<Time> {
    Stamp::Text(text.into()).time()
}

fn is_key(key: &str) -> bool {
    key.len() == 12 && key.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Why a text could not be read, without its place.
fn why(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let bare =
        text.rfind(" at line ").map_or(text.as_str(), |at| text.get(..at).unwrap_or_default());
    if error.is_eof() {
        return format!("the file breaks off; {RESTORE}");
    }
    if error.is_syntax() {
        return format!("this is no JSON ({bare}); {RESTORE}");
    }
    format!("{bare}; {RESTORE}")
}
