//! What a tool's result tells of failure where no field beside it does.
//!
//! Owns one rule for all lists of messages, in this order: a JSON result that flags itself
//! (`isError`, a status of error, a non-null `error`); an exit code other than 0, in a field or in
//! the first or last line; and the words with which tools and harnesses begin when they failed. All of it is
//! marked by its origin. Refuses: a word in the middle of a text, which is as likely what the tool was asked for.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::conversation::message_of;
use crate::ingest::formats::evidence::{exception_class, exit_code, exit_error, flagged_error};
use crate::ingest::formats::raw::{label, number, raw_fields, read, said, text};
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin};

raw_fields! {
    /// What a JSON result may say of itself beside its flags.
    Signs { error, exit_code, exit_code_camel = "exitCode", returncode, return_code, metadata }
}
raw_fields! {
    /// An error as an object.
    ErrorObject { r#type = "type", code, name, message, reason }
}

/// How texts begin that tell of a failed call; longer words that start with `Error` do not.
const OPENINGS: [&str; 11] = [
    "Error:",
    "ERROR:",
    "Error executing ",
    "Error running ",
    "Error calling ",
    "Error invoking ",
    "Error while ",
    "MCP error ",
    "Traceback (most recent call last)",
    "An error occurred while running the tool",
    "<tool_use_error>",
];

/// Lines longer than this are no line of a harness.
const LONGEST_LINE: usize = 160;

/// The error that a result tells of by itself.
pub(super) fn from_result(content: &RawValue) -> Option<ErrorInfo<'_>> {
    let said = result_text(content);
    if let Some(error) = flagged_error(&said) {
        return Some(error);
    }
    let trimmed = said.trim_start();
    if trimmed.starts_with('{') {
        return from_json(trimmed);
    }
    if let Some(code) = shell_code(trimmed).filter(|code| *code != 0) {
        return exit_error(code, Some(said));
    }
    let fails = OPENINGS.iter().any(|opening| trimmed.starts_with(opening))
        || exception_class(trimmed).is_some();
    fails.then_some(ErrorInfo { kind: None, message: Some(said), origin: ErrorOrigin::Text })
}

/// The error that the fields of a JSON result tell of.
fn from_json(said: &str) -> Option<ErrorInfo<'static>> {
    let signs: Signs<'_> = quick::from_str(said).ok()?;
    let inner = signs.metadata.and_then(read::<Signs<'_>>).unwrap_or_default();
    let codes = [signs.exit_code, signs.exit_code_camel, signs.returncode, signs.return_code];
    let codes = codes.into_iter().chain([inner.exit_code]).flatten();
    #[expect(clippy::cast_possible_truncation, reason = "exit codes are small; others saturate")]
    let code = codes.filter_map(number).find(|code| *code != 0.0).map(|code| code as i64);
    let error =
        signs.error.filter(|error| !matches!(error.get(), "false" | "0" | "\"\"" | "{}" | "[]"));
    if let Some(code) = code {
        let message = error.and_then(message_of).map(|message| Cow::Owned(message.into_owned()));
        return exit_error(code, message);
    }
    let told = error_value(error?);
    Some(ErrorInfo {
        kind: told.kind.map(|kind| Cow::Owned(kind.into_owned())),
        message: told.message.map(|message| Cow::Owned(message.into_owned())),
        origin: ErrorOrigin::Text,
    })
}

/// The exit code in the first or last line of a text.
fn shell_code(text: &str) -> Option<i64> {
    let text = text.trim_end();
    let first = text.lines().next();
    let last = text.rsplit('\n').next();
    [first, last]
        .into_iter()
        .flatten()
        .filter(|line| line.len() <= LONGEST_LINE)
        .find_map(exit_code)
}

/// An error as APIs record it: a text, or an object with a type, code or name and a message. An
/// empty object is an error of which nothing more is known.
pub(in crate::ingest::formats) fn error_value(raw: &RawValue) -> ErrorInfo<'_> {
    if !raw.get().starts_with('{') {
        let message = message_of(raw);
        let kind = text(raw).and_then(|said| exception_class(&said).map(str::to_owned));
        return ErrorInfo { kind: kind.map(Cow::Owned), message, origin: ErrorOrigin::Recorded };
    }
    let object = read::<ErrorObject<'_>>(raw).unwrap_or_default();
    ErrorInfo {
        kind: [object.code, object.name, object.r#type].into_iter().flatten().find_map(label),
        message: object.message.or(object.reason).and_then(message_of),
        origin: ErrorOrigin::Recorded,
    }
}

/// The text of a result: a string's own, that of its text blocks, else its JSON.
pub(super) fn result_text(raw: &RawValue) -> Cow<'_, str> {
    said(raw).unwrap_or(Cow::Borrowed(raw.get()))
}

#[cfg(test)]
mod tests {
    use super::from_result;
    use crate::model::ErrorOrigin;
    use serde_json::value::RawValue;

    fn origin(content: &str) -> Option<ErrorOrigin> {
        let raw: Box<RawValue> = serde_json::from_str(content).expect("JSON");
        from_result(&raw).map(|error| error.origin)
    }

    #[test]
    fn a_result_tells_of_its_failure_by_flag_code_or_opening_words() {
        for (content, expected) in [
            (r#""{\"isError\":true,\"content\":[]}""#, Some(ErrorOrigin::Flag)),
            (r#"{"status":"failure"}"#, Some(ErrorOrigin::Flag)),
            (r#""{\"error\":\"no such city\"}""#, Some(ErrorOrigin::Text)),
            (r#""{\"error\":null,\"temp\":3}""#, None),
            (r#""{\"error\":\"\",\"exit_code\":2}""#, Some(ErrorOrigin::ExitCode)),
            (r#""Exit code: 1\nls: no such file""#, Some(ErrorOrigin::ExitCode)),
            (r#""all good\nProcess exited with code 0""#, None),
            (r#""a page on\nexit code 2\nand more""#, None),
            (r#""Error: no such city""#, Some(ErrorOrigin::Text)),
            (r#""TimeoutError: 5 s""#, Some(ErrorOrigin::Text)),
            (r#""Error rates by region: 3, 4""#, None),
            (r#"[{"type":"text","text":"Error: x"}]"#, Some(ErrorOrigin::Text)),
            (
                r#""An error occurred while running the tool. Please try again.""#,
                Some(ErrorOrigin::Text),
            ),
            (r#""""#, None),
            ("7", None),
        ] {
            assert_eq!(origin(content), expected, "{content}");
        }
    }
}
