//! What people write about a failure: its status, notes, and what should have come out.
//!
//! Owns which of these go together. Collecting runs never touches them.

use serde::de::IgnoredAny;

use super::LibraryError;
use super::failure::{Day, KnownFailure, Status};
use super::signature::label;
use crate::model::{mask, nearest};

/// Bytes that a note may have: it is a line in a file, not a page.
const MAX_NOTE: usize = 2_000;

/// Bytes that a corrected output may have.
const MAX_OUTPUT: usize = 256 << 10;

/// What is to be written; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotation {
    /// The new status, as a word.
    pub status: Option<String>,
    /// The last day of a quarantine.
    pub until: Option<String>,
    /// A note to add; one that is there already is not added again.
    pub note: Option<String>,
    /// What should have come out, as compact JSON: see [`corrected`].
    pub corrected_output: Option<String>,
    /// The task that it is right for; by default that of the excerpt.
    pub corrected_task: Option<String>,
}

fn refuse<T>(message: impl Into<String>) -> Result<T, LibraryError> {
    Err(LibraryError::Annotation { message: message.into() })
}

impl Annotation {
    /// Writes it into a failure.
    ///
    /// # Errors
    ///
    /// [`LibraryError::Annotation`]: unknown words and days, a quarantine without an end and an end
    /// without a quarantine, empty and huge notes.
    pub fn apply(&self, failure: &mut KnownFailure) -> Result<(), LibraryError> {
        if let Some(status) = self.status(&failure.status)? {
            failure.status = status;
        }
        if let Some(note) = &self.note {
            let words: Vec<&str> = note.split_whitespace().collect();
            let note = mask(&words.join(" "));
            if note.is_empty() {
                return refuse("the note is empty; say what is known, in a line");
            }
            if note.len() > MAX_NOTE {
                return refuse(format!(
                    "the note has more than {MAX_NOTE} bytes; say it in a line"
                ));
            }
            if !failure.notes.contains(&note) {
                failure.notes.push(note);
            }
        }
        if let Some(output) = &self.corrected_output {
            let task = self.task(failure)?;
            failure.corrected_output = Some(output.clone()).filter(|output| output != "null");
            failure.corrected_task = task.filter(|_| failure.corrected_output.is_some());
        } else if self.corrected_task.is_some() {
            return refuse(
                "--task says for which task a corrected output is right; add --corrected-output",
            );
        }
        Ok(())
    }

    /// The task that a corrected output is right for.
    fn task(&self, failure: &KnownFailure) -> Result<Option<String>, LibraryError> {
        let Some(given) = &self.corrected_task else {
            let excerpt = failure.seen.excerpt.as_ref();
            return Ok(excerpt.and_then(|excerpt| excerpt.task.clone()));
        };
        let task = label(given);
        let tasks = failure.seen.task_names();
        if tasks.contains(&task.as_str()) {
            return Ok(Some(task));
        }
        let hint = match nearest(&task, tasks.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`agenteval failures show ID` lists its tasks".to_owned(),
        };
        let shown: String = task.chars().take(80).collect();
        refuse(format!("--task {shown}: the failure was not seen in this task; {hint}"))
    }

    fn status(&self, before: &Status) -> Result<Option<Status>, LibraryError> {
        let until = match self.until.as_deref().map(|text| (text, Day::parse(text))) {
            None => None,
            Some((_, Some(day))) => Some(day),
            Some((text, None)) => {
                let shown: String = text.chars().take(40).collect();
                return refuse(format!("--until {shown}: expected a day such as 2026-03-31"));
            }
        };
        let before_until = before.until().cloned();
        let word = match (self.status.as_deref(), &until) {
            // A quarantine may be made longer.
            (None, Some(_)) if before_until.is_some() => "quarantined",
            (None, Some(_)) => {
                return refuse("--until is the last day of a quarantine; add --status quarantined");
            }
            (None, None) => return Ok(None),
            (Some(word), _) => word,
        };
        let status = match (word, until) {
            ("new", None) => Status::New,
            ("known", None) => Status::Known,
            ("fixed", None) => Status::Fixed,
            ("quarantined", until) => match until.or(before_until) {
                Some(day) => Status::Quarantined(day),
                None => {
                    return refuse(
                        "a quarantine has an end; add its last day as --until 2026-03-31",
                    );
                }
            },
            (word, Some(_)) if Status::WORDS.contains(&word) => {
                return refuse(format!("--until belongs to --status quarantined, not to {word}"));
            }
            (word, _) => {
                let hint = nearest(word, Status::WORDS).map_or_else(
                    || format!("expected one of {}", Status::WORDS.join(", ")),
                    |near| format!("did you mean `{near}`?"),
                );
                return refuse(format!("--status {word}: {hint}"));
            }
        };
        Ok(Some(status))
    }
}

/// A corrected output as it is stored: JSON without space, a text as a JSON string; masked. The flag
/// says that something was masked.
///
/// # Errors
///
/// [`LibraryError::Annotation`] for an empty or huge text, and for JSON with a secret that cannot
/// be masked in its place.
pub fn corrected(text: &str) -> Result<(String, bool), LibraryError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.trim().is_empty() {
        return refuse("the corrected output is empty; write what should have come out");
    }
    if text.len() > MAX_OUTPUT {
        return refuse(format!(
            "the corrected output has more than {MAX_OUTPUT} bytes; a library holds small files, so keep the part that matters"
        ));
    }
    let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    if !is_json(text) {
        let text = text.trim_end();
        let masked = mask(text);
        let changed = masked != text;
        return Ok((serde_json::Value::String(masked).to_string(), changed));
    }
    let plain = compact(text);
    let masked = mask(&plain);
    if !is_json(&masked) {
        return refuse(
            "the corrected output holds a secret that cannot be masked without breaking its JSON; take it out",
        );
    }
    let changed = masked != plain;
    Ok((masked, changed))
}

/// JSON without space between its tokens; numbers, escapes and the order of keys stay as they are.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut inside, mut escaped) = (false, false);
    for c in json.chars() {
        if inside {
            inside = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            inside = c == '"';
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{compact, corrected};

    #[test]
    fn json_loses_its_space_and_nothing_else() {
        let json = "{ \"a b\" : [ 1.0, 123456789012345678901234567890 ],\n\"q\\\" x\": \"\\\\\" }";
        assert_eq!(compact(json), r#"{"a b":[1.0,123456789012345678901234567890],"q\" x":"\\"}"#);
    }

    #[test]
    fn texts_become_json_strings_and_secrets_are_masked() {
        assert_eq!(corrected("two\nlines\n"), Ok(("\"two\\nlines\"".to_owned(), false)));
        let body = "Ab1".repeat(14);
        let (text, masked) = corrected(&format!("{{\"api_key\": \"{body}\"}}")).expect("sound");
        assert!(masked && !text.contains(&body), "{text}");
        assert!(corrected(" \n").is_err());
    }
}
