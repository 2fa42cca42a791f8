//! How a command or tool went, as Codex writes it into the output of a call.
//!
//! Owns the five encodings: a JSON text with `metadata.exit_code`, a text under a header with
//! `Exit code:`, a text under `Process exited with code`, plain words of failure, and an object or
//! a list of contents in place of a text. Below the header stands what the command printed, which
//! may talk of exit codes itself and decides nothing.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::agent_log::message;
use super::super::evidence::{exception_class, exit_error, flagged_error};
use super::super::raw::{number, raw_fields, read, text};
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin};

raw_fields! {
    /// An output that is an object, or the JSON text of one.
    Structured { output, content, metadata, exit_code, success }
}

raw_fields! {
    /// What goes with an output.
    Metadata { exit_code }
}

raw_fields! {
    /// One element of a list of contents.
    Content { text }
}

/// How a call went: an error, or a status word that is neither passed nor failed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) error: Option<ErrorInfo<'static>>,
    pub(super) status: Option<&'static str>,
}

/// What an output tells, in whichever encoding.
pub(super) fn told(output: &RawValue) -> Told {
    match output.get().trim().as_bytes().first() {
        Some(b'"') => {
            let text = text(output).unwrap_or_default();
            match text.trim_start().starts_with('{') {
                true => structured(&text).unwrap_or_else(|| by_words(&text)),
                false => by_words(&text),
            }
        }
        Some(b'{') => structured(output.get()).unwrap_or_default(),
        Some(b'[') => by_words(&joined(output)),
        _ => Told::default(),
    }
}

/// What an object tells; `None` where it is none of Codex's.
fn structured(json: &str) -> Option<Told> {
    let found: Structured<'_> = quick::from_str(json).ok()?;
    let said = || {
        let content = found.output.or(found.content)?;
        match content.get().trim().starts_with('[') {
            true => Some(Cow::Owned(joined(content))),
            false => text(content),
        }
    };
    let inner = found.metadata.and_then(read::<Metadata<'_>>).and_then(|inner| inner.exit_code);
    if let Some(code) = inner.or(found.exit_code).and_then(number) {
        let said = said().unwrap_or_default();
        if let Some(status) = not_executed(&said) {
            return Some(Told { error: None, status: Some(status) });
        }
        return Some(Told { error: failed_with(code, &said), status: None });
    }
    if let Some(success) = found.success {
        let said = said().unwrap_or_default();
        if success.get().trim() != "false" {
            return Some(Told::default());
        }
        let told = by_words(&said);
        return Some(match told == Told::default() {
            true => Told { error: Some(flag(&said)), status: None },
            false => told,
        });
    }
    if let Some(error) = flagged_error(json) {
        return Some(Told { error: Some(error), status: None });
    }
    said().map(|said| by_words(&said))
}

/// The texts of a list of contents, one after the other.
fn joined(list: &RawValue) -> String {
    let parts: Vec<&RawValue> = read(list).unwrap_or_default();
    let texts = parts.into_iter().filter_map(|part| {
        let content: Content<'_> = read(part)?;
        content.text.and_then(text).map(Cow::into_owned)
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn flag(said: &str) -> ErrorInfo<'static> {
    ErrorInfo { kind: None, message: message(said), origin: ErrorOrigin::Flag }
}

#[expect(clippy::cast_possible_truncation, reason = "an exit code has at most 32 bits")]
fn failed_with(code: f64, said: &str) -> Option<ErrorInfo<'static>> {
    exit_error(code as i64, message(said))
}

/// Lines that may stand above the output of a command.
const HEADER: usize = 6;

/// The exit code in the header of an output; `None` where there is no such header.
fn header_code(said: &str) -> Option<f64> {
    let header = said.lines().take(HEADER).take_while(|line| !line.trim_end().eq("Output:"));
    header
        .filter_map(|line| {
            line.strip_prefix("Exit code: ")
                .or_else(|| line.strip_prefix("Process exited with code "))
        })
        .find_map(|code| code.trim().parse().ok())
}

/// Openings of texts that stand in place of an output because there was none.
const FAILURES: [&str; 12] = [
    "execution error",
    "failed to parse function arguments",
    "failed to parse exec arguments",
    "unsupported call",
    "unsupported custom tool call",
    "exec_command failed",
    "write_stdin failed",
    "apply_patch verification failed",
    "command timed out",
    "error: ",
    "err: ",
    "tool call error",
];

/// What a plain text tells.
fn by_words(said: &str) -> Told {
    if let Some(code) = header_code(said) {
        return Told { error: failed_with(code, said), status: None };
    }
    if let Some(status) = not_executed(said) {
        return Told { error: None, status: Some(status) };
    }
    let head = head(said).to_ascii_lowercase();
    let error = |kind: Option<Cow<'static, str>>| Told {
        error: Some(ErrorInfo { kind, message: message(said), origin: ErrorOrigin::Text }),
        status: None,
    };
    if head.starts_with("failed in sandbox")
        || head.starts_with("sandbox error")
        || head.contains("sandbox(denied")
        || head.contains("sandbox denied exec error")
    {
        return error(Some("sandbox_denied".into()));
    }
    if FAILURES.iter().any(|opening| head.starts_with(opening)) {
        let kind = match head.starts_with("command timed out") {
            true => Some("timeout".into()),
            false => exception_class(said).map(|class| Cow::Owned(class.to_owned())),
        };
        return error(kind);
    }
    Told::default()
}

/// The status of a call that a person or a rule stopped: no tool failed.
fn not_executed(said: &str) -> Option<&'static str> {
    let head = head(said);
    let opening = head.trim_start();
    let denied = opening.starts_with("exec command rejected by user")
        || opening.starts_with("patch rejected by user")
        || opening.starts_with("rejected by user")
        || opening.starts_with("user rejected")
        || opening.starts_with("user cancelled MCP tool call")
        || opening.starts_with("approval policy is")
        || (is_failure_of_start(opening)
            && ["rejected by user", "rejected: "].iter().any(|word| opening.contains(word)));
    if denied {
        Some("denied")
    } else if opening == "aborted" || opening.starts_with("aborted by user") {
        Some("cancelled")
    } else {
        None
    }
}

/// Whether a text tells that a command could not be started, with the reason behind.
fn is_failure_of_start(opening: &str) -> bool {
    ["exec_command failed", "execution error", "apply_patch failed", "Rejected("]
        .iter()
        .any(|start| opening.starts_with(start))
}

/// The start of a text, where everything that decides stands.
fn head(said: &str) -> &str {
    let mut end = said.len().min(600);
    while !said.is_char_boundary(end) {
        end -= 1;
    }
    said.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::told;

    fn kind(json: &str) -> String {
        let raw: &RawValue = serde_json::from_str(json).expect("JSON");
        let told = told(raw);
        match (told.status, told.error) {
            (Some(status), None) => status.to_owned(),
            (None, Some(error)) => error.kind.unwrap_or("error".into()).into_owned(),
            (None, None) => "ok".to_owned(),
            both => panic!("{both:?}"),
        }
    }

    #[test]
    fn every_encoding_of_an_output_tells_its_exit_code() {
        for (json, wanted) in [
            (r#""{\"output\":\"no\",\"metadata\":{\"exit_code\":1}}""#, "exit_code"),
            (r#""{\"output\":\"yes\",\"metadata\":{\"exit_code\":0}}""#, "ok"),
            (r#""Exit code: 2\nWall time: 1 seconds\nOutput:\nno""#, "exit_code"),
            (
                r#""Chunk ID: a\nWall time: 1\nProcess exited with code 1\nOutput:\nno""#,
                "exit_code",
            ),
            (r#""Chunk ID: a\nProcess exited with code 0\nOutput:\nExit code: 1""#, "ok"),
            (
                r#""failed in sandbox MacosSeatbelt with execution error: exit code 1""#,
                "sandbox_denied",
            ),
            (r#""exec_command failed for `x`: Rejected(\"rejected by user\")""#, "denied"),
            (r#""exec command rejected by user""#, "denied"),
            (r#""aborted by user after 3.2s""#, "cancelled"),
            (r#"{"content":"no","success":false}"#, "error"),
            (r#"{"content":"a test says: rejected by user","success":true}"#, "ok"),
            (r#"{"output":"no","metadata":{"exit_code":3}}"#, "exit_code"),
            (
                r#"[{"type":"input_text","text":"Process exited with code 9\nOutput:\n"}]"#,
                "exit_code",
            ),
            (r#""{\"rows\": 3}""#, "ok"),
            (r#""the file says: exit code 1""#, "ok"),
            ("null", "ok"),
        ] {
            assert_eq!(kind(json), wanted, "{json}");
        }
    }
}
