//! What the text of a tool's result tells of failure, where no field of the record does.
//!
//! Owns three readings that several formats share: a flag inside a JSON result, an exit code in
//! the words of a shell harness, and the class of an exception in front of its message. Each is
//! marked by its [`ErrorOrigin`], so that recorded and inferred evidence stay apart. Refuses to
//! decide which of them holds for a format: that is each format's own rule.

use std::borrow::Cow;

use super::raw::{raw_fields, read, text};
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin};

raw_fields! {
    /// What a JSON result says of itself.
    Flags { is_error = "isError", is_error_snake = "is_error", status, error, message }
}

/// An error that only a flag in a JSON result tells: `isError`, `is_error`, or a status of
/// `error`, `failure` or `failed`. A result that is JSON inside a JSON string is looked into.
pub(crate) fn flagged_error(result: &str) -> Option<ErrorInfo<'static>> {
    let result = result.trim();
    // Some instrumentations write the result as JSON in JSON.
    let inner: Option<String> =
        result.starts_with('"').then(|| quick::from_str(result).ok()).flatten();
    let result = inner.as_deref().map_or(result, str::trim);
    if !result.starts_with('{') {
        return None;
    }
    let flags: Flags<'_> = quick::from_str(result).ok()?;
    let is_true = |flag: Option<&serde_json::value::RawValue>| super::raw::is_true(flag);
    let status = flags.status.and_then(text).unwrap_or_default().to_ascii_lowercase();
    let failed = is_true(flags.is_error)
        || is_true(flags.is_error_snake)
        || matches!(status.as_str(), "error" | "failure" | "failed");
    let said =
        |raw: Option<&serde_json::value::RawValue>| raw.and_then(read::<String>).map(Cow::Owned);
    failed.then(|| ErrorInfo {
        kind: None,
        message: said(flags.error).or_else(|| said(flags.message)),
        origin: ErrorOrigin::Flag,
    })
}

/// The phrases behind which harnesses of shells write the exit code, in lower case.
const EXIT_PHRASES: [&str; 6] =
    ["exit code: ", "exit code ", "exit status: ", "exit status ", "returncode>", "code "];

/// What may stand in front of the phrase, in this order, beside brackets.
const EXIT_SUBJECTS: [&str; 4] = ["the command ", "the process ", "command ", "process "];
const EXIT_VERBS: [&str; 8] = [
    "exited with ",
    "finished with ",
    "completed with ",
    "failed with ",
    "succeeded with ",
    "ended with ",
    "terminated with ",
    "returned ",
];

/// Bytes of the longest line that is looked at: one that tells of an exit code alone is short.
const LONGEST_EXIT: usize = 120;

/// The exit code that a line names, which says nothing else: what a file or a page says of exit
/// codes stands inside of a sentence. Of several lines, the first counts.
pub(crate) fn exit_code(text: &str) -> Option<i64> {
    let line = text.trim_start().lines().next()?.trim_end();
    let told = |rest: &str| {
        let code = leading_number(rest)?;
        let behind = rest.trim_start_matches('-').trim_start_matches(|c: char| c.is_ascii_digit());
        let behind = behind.strip_prefix("</returncode>").unwrap_or(behind);
        let more = behind.bytes().any(|byte| !(byte.is_ascii_punctuation() || byte == b' '));
        (!more).then_some(code)
    };
    // The command may have several lines, of which this is the last.
    if let Some((_, rest)) = line.rsplit_once("` executed with exit code ") {
        return told(rest);
    }
    let line = line.trim_start_matches(['[', '(', '<', ' ']);
    if line.len() > LONGEST_EXIT {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    let lower = lower.as_str();
    let subject = EXIT_SUBJECTS.iter().find_map(|start| lower.strip_prefix(start));
    let rest = subject.unwrap_or(lower);
    let verb = EXIT_VERBS.iter().find_map(|start| rest.strip_prefix(start));
    let rest = verb.unwrap_or(rest);
    let phrase = EXIT_PHRASES.iter().find(|phrase| rest.starts_with(**phrase))?;
    // A code alone may be of anything; one with which something exited is this.
    if *phrase == "code " && verb.is_none() {
        return None;
    }
    told(rest.get(phrase.len()..)?)
}

fn leading_number(text: &str) -> Option<i64> {
    let digits = text.bytes().skip_while(|byte| *byte == b'-').take_while(u8::is_ascii_digit);
    let length = digits.count();
    let sign = usize::from(text.starts_with('-'));
    (length > 0).then(|| text.get(..sign + length)?.parse().ok()).flatten()
}

/// The error of a command that ended with this code; none for 0.
pub(crate) fn exit_error(code: i64, message: Option<Cow<'_, str>>) -> Option<ErrorInfo<'_>> {
    (code != 0).then_some(ErrorInfo {
        kind: Some("exit_code".into()),
        message,
        origin: ErrorOrigin::ExitCode,
    })
}

/// What the name of an exception ends in.
const ENDINGS: [&str; 6] = ["Error", "Exception", "Timeout", "Fault", "Failure", "Interrupt"];

/// The class of the exception in front of a text: `TimeoutError('...')`, `ValueError: ...`,
/// `json.decoder.JSONDecodeError: ...`, with or without `Error: ` before it. The module in front of the class is left out.
pub(crate) fn exception_class(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let text = text.strip_prefix("Error: ").map_or(text, str::trim_start);
    let end = text
        .bytes()
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')))
        .unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let class = path.rsplit('.').next().unwrap_or(path);
    let called = rest.starts_with('(') || rest.starts_with(':') || rest.is_empty();
    let named = ENDINGS.iter().any(|ending| class.ends_with(ending));
    (called && named && class.as_bytes().first().is_some_and(u8::is_ascii_uppercase))
        .then_some(class)
}

/// Longest last line of a result in which an exit code is looked for; a longer one is prose.
const LAST_LINE: usize = 200;

/// A failure that only the result tells: a flag in its JSON, or an exit code other than 0 in its last line.
pub(crate) fn hidden_error(result: &str) -> Option<ErrorInfo<'static>> {
    flagged_error(result).or_else(|| {
        let last = result.trim_end().rsplit('\n').next().filter(|line| line.len() <= LAST_LINE)?;
        exit_error(exit_code(last)?, Some(Cow::Owned(last.to_owned())))
    })
}

/// The error of a result that is marked as failed: its class and its text, if it has one.
pub(crate) fn told_error<'a>(result: Option<Cow<'a, str>>, origin: ErrorOrigin) -> ErrorInfo<'a> {
    let kind = result.as_deref().and_then(exception_class).map(str::to_owned);
    ErrorInfo {
        kind: kind.map(Cow::Owned),
        message: result.filter(|text| !text.is_empty()),
        origin,
    }
}

#[cfg(test)]
mod tests {
    use super::{exception_class, exit_code, flagged_error, hidden_error};
    use crate::model::ErrorOrigin;

    #[test]
    fn a_flag_in_the_result_is_an_error_and_other_json_is_not() {
        assert!(flagged_error(r#"{"isError": true}"#).is_some());
        assert!(flagged_error(r#""{\"status\": \"Failure\", \"message\": \"x\"}""#).is_some());
        assert!(flagged_error(r#"{"status": "ok", "error": null}"#).is_none());
        assert!(flagged_error("Error: no").is_none());
    }

    #[test]
    fn exit_codes_are_read_in_the_words_of_every_harness() {
        assert_eq!(exit_code("Exit code: 1\nWall time: 2 s"), Some(1));
        assert_eq!(exit_code("Process exited with code 137"), Some(137));
        assert_eq!(exit_code("<returncode>0</returncode>"), Some(0));
        assert_eq!(exit_code("the exit code tells nothing"), None);
        assert_eq!(exit_code("exit code -9"), Some(-9));
        assert_eq!(exit_code("[The command completed with exit code 1.]"), Some(1));
        assert_eq!(exit_code("Command `ls x` executed with exit code 2."), Some(2));
        assert_eq!(exit_code("(Command failed with exit status 2)"), Some(2));
    }

    #[test]
    fn a_sentence_about_an_exit_code_is_none() {
        for line in [
            "# fails with exit code 2",
            "fails with exit code 2",
            "exit code 2 means misuse",
            "Exit code: 3 of 4",
            "code 7",
            "exit code 1-2x",
        ] {
            assert_eq!(exit_code(line), None, "{line}");
        }
    }

    #[test]
    fn the_class_of_an_exception_stands_in_front_or_nowhere() {
        assert_eq!(exception_class("Error: TimeoutError('x')\n Please"), Some("TimeoutError"));
        assert_eq!(exception_class("a.b.ValueError: no"), Some("ValueError"));
        assert_eq!(exception_class("Error: no such tool"), None);
        assert_eq!(exception_class("Errors happen: often"), None);
        assert_eq!(exception_class(""), None);
    }

    #[test]
    fn an_exit_code_is_read_from_the_last_line_alone() {
        let origin = |text: &str| hidden_error(text).map(|error| error.origin);
        assert_eq!(
            origin("no such file\n[Command failed with exit code 2]"),
            Some(ErrorOrigin::ExitCode)
        );
        assert_eq!(origin("exit code 1 means failure\nsee the manual"), None);
        assert_eq!(origin("fine\n[Command succeeded with exit code 0]"), None);
        assert_eq!(origin(r#"{"isError":true}"#), Some(ErrorOrigin::Flag));
    }
}
