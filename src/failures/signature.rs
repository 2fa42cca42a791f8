//! What makes two failures the same one.
//!
//! Owns the parts of a signature, its id and the name of its file. The id is the same with every
//! version and on every platform, or libraries would fall apart; a change of it is a change of
//! [`SCHEMA`].

use sha2::{Digest, Sha256};

use super::SCHEMA;
use super::template::template;
use crate::model::mask;

/// Characters of a type, a tool or a label that are kept.
const MOST_LABEL: usize = 120;

/// Characters of a part of a file's name.
const MOST_NAME: usize = 40;

/// Error type, tool, where, and template of the message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// The error's type as mapped by the config; the outcome for a run without a failed step.
    pub kind: String,
    /// The tool or node that failed, where one is recorded.
    pub tool: Option<String>,
    /// `step TYPE`; `run` or `run LIMIT` for a run without a failed step.
    pub place: String,
    /// The message, or the reason of the end, without what changes from run to run.
    pub template: String,
}

impl Signature {
    /// Of a failed step.
    #[must_use]
    pub fn of_step(kind: &str, tool: Option<&str>, step_type: &str, message: &str) -> Self {
        Self {
            kind: label(kind),
            tool: tool.map(label).filter(|tool| !tool.is_empty()),
            place: format!("step {}", label(step_type)),
            template: template(message),
        }
    }

    /// Of a run that no failed step explains.
    #[must_use]
    pub fn of_run(outcome: &str, limit: Option<&str>, end_reason: &str) -> Self {
        Self {
            kind: label(outcome),
            tool: None,
            place: limit.map_or_else(|| "run".to_owned(), |limit| format!("run {}", label(limit))),
            template: template(end_reason),
        }
    }

    /// The first 12 hex digits of SHA-256 over the schema's version and the parts, a line each. No
    /// part has a line break in it.
    #[must_use]
    pub fn id(&self) -> String {
        let tool = self.tool.as_deref().unwrap_or_default();
        let text = [SCHEMA, &self.kind, tool, &self.place, &self.template].join("\n");
        digest(text.as_bytes())
    }

    /// The name of its file: parts in safe characters for people, the id for machines.
    #[must_use]
    pub fn file_name(&self) -> String {
        let tool = self.tool.as_deref().unwrap_or(&self.place);
        format!("{}-{}-{}.json", safe(&self.kind), safe(tool), self.id())
    }
}

/// The first 12 hex digits of SHA-256.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// A name as it is stored: masked, on one line, bounded.
pub(super) fn label(text: &str) -> String {
    bounded(text, MOST_LABEL)
}

/// A text of a trace as it is stored: masked, on one line, without what could disturb a terminal or
/// a diff, and cut to a number of characters.
pub(super) fn bounded(text: &str, most: usize) -> String {
    // Read beyond the cut, so that a secret at it is whole when it is masked.
    let head: String = text.chars().take(most * 8).collect();
    let masked = mask(&head);
    let mut out = String::new();
    let mut length = 0;
    for c in masked.chars() {
        let c = if c.is_control() || disturbs(c) { ' ' } else { c };
        if c == ' ' && (out.is_empty() || out.ends_with(' ')) {
            continue;
        }
        if length == most {
            out.truncate(out.trim_end().len());
            out.push('…');
            return out;
        }
        out.push(c);
        length += 1;
    }
    out.truncate(out.trim_end().len());
    out
}

/// Marks that turn the direction, and characters that show nothing but change the line.
fn disturbs(c: char) -> bool {
    matches!(c,
        '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}'
        | '\u{061C}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}')
}

/// A part of a file's name: letters, digits, `_` and `-` of ASCII in lower case, on every system.
fn safe(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let c = match c {
            c if c.is_ascii_alphanumeric() || c == '_' => c.to_ascii_lowercase(),
            _ if out.is_empty() || out.ends_with('-') => continue,
            _ => '-',
        };
        if out.len() == MOST_NAME {
            break;
        }
        out.push(c);
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "unnamed".to_owned() } else { out.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Signature, bounded, safe};

    #[test]
    fn file_names_are_safe_on_every_system() {
        for (name, expected) in [
            ("TimeoutError", "timeouterror"),
            ("../../etc/passwd", "etc-passwd"),
            ("a\nb\0c", "a-b-c"),
            ("数据", "unnamed"),
            ("..", "unnamed"),
            ("HTTP 429", "http-429"),
        ] {
            assert_eq!(safe(name), expected, "{name:?}");
        }
        assert_eq!(safe(&"x".repeat(1_000)).len(), 40);
        // Device names of Windows are none with an id behind them.
        let name = Signature::of_step("con", Some("nul"), "tool", "").file_name();
        assert!(name.starts_with("con-nul-"), "{name}");
    }

    #[test]
    fn stored_texts_are_one_line_and_bounded() {
        assert_eq!(bounded("a\n\u{202e}b  c", 9), "a b c");
        assert_eq!(bounded(&"长".repeat(50), 3), "长长长…");
    }
}
