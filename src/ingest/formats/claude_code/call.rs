//! One tool call with its result.
//!
//! Owns what a result with `is_error` means: a denial, an interruption, or an error, whose
//! type is read from how the text starts, as Claude Code writes it.

use std::borrow::Cow;

use crate::model::{Attempt, ErrorInfo, ErrorOrigin, Stamp};

/// A call of a tool.
#[derive(Debug)]
pub(in crate::ingest::formats) struct Call {
    pub(in crate::ingest::formats) id: Option<String>,
    pub(in crate::ingest::formats) name: Option<String>,
    pub(in crate::ingest::formats) input: Option<u64>,
    pub(in crate::ingest::formats) raw: Option<String>,
}

/// The result of a call.
#[derive(Debug)]
pub(in crate::ingest::formats) struct ToolResult {
    pub(in crate::ingest::formats) id: Option<String>,
    pub(in crate::ingest::formats) is_error: bool,
    pub(in crate::ingest::formats) text: Option<String>,
    /// The sub-agent that did the work.
    pub(in crate::ingest::formats) agent: Option<String>,
    pub(in crate::ingest::formats) time: Option<String>,
}

impl Call {
    /// The attempt that the call and its result are; pending without a result.
    pub(in crate::ingest::formats) fn attempt(
        self,
        started: Option<String>,
        result: Option<ToolResult>,
    ) -> Attempt<'static> {
        let mut attempt = Attempt {
            kind: "tool".into(),
            name: self.name.map(Cow::Owned),
            request_id: self.id.map(Cow::Owned),
            input: self.input,
            started_at: started.map(stamp),
            ..Attempt::default()
        };
        let Some(result) = result else {
            attempt.status = Some("pending".into());
            attempt.raw = self.raw.map(|input| Cow::Owned(format!("{{\"input\":{input}}}")));
            return attempt;
        };
        attempt.ended_at = result.time.map(stamp);
        attempt.raw = self.raw.map(|input| {
            let output = serde_json::to_string(&result.text).unwrap_or_else(|_| "null".to_owned());
            Cow::Owned(format!("{{\"input\":{input},\"result\":{output}}}"))
        });
        if result.is_error {
            match judged(result.text.unwrap_or_default()) {
                Ok(status) => attempt.status = Some(status.into()),
                Err(error) => attempt.error = Some(error),
            }
        }
        attempt
    }
}

fn stamp(text: String) -> Stamp<'static> {
    Stamp::Text(Cow::Owned(text))
}

/// What a result with `is_error` means by its text: a status of a call that was never executed, or
/// how it failed.
pub(in crate::ingest::formats) fn judged(said: String) -> Result<&'static str, ErrorInfo<'static>> {
    not_executed(&said).ok_or_else(|| error(said))
}

/// The status of a call that a person or a permission stopped: such a call is no tool's failure.
fn not_executed(said: &str) -> Option<&'static str> {
    let denied = said.starts_with("The user doesn't want to proceed")
        || said.starts_with("The user doesn't want to take this action")
        || said.starts_with("Claude requested permissions to ")
        || (said.starts_with("Permission to use ") && said.contains(" has been denied"));
    if denied {
        Some("denied")
    } else if said.starts_with("[Request interrupted by user") {
        Some("cancelled")
    } else {
        None
    }
}

/// What a class of errors ends in.
const ENDINGS: [&str; 5] = ["Error", "Exception", "Timeout", "Fault", "Failure"];

/// The error of a result with `is_error`, by what its text starts with.
fn error(said: String) -> ErrorInfo<'static> {
    if let Some(inner) = said.strip_prefix("<tool_use_error>") {
        let inner = inner.strip_suffix("</tool_use_error>").unwrap_or(inner).trim();
        let head = inner.split(':').next().filter(|head| {
            head.len() < inner.len()
                && head.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && ENDINGS.iter().any(|ending| head.len() > ending.len() && head.ends_with(ending))
        });
        return ErrorInfo {
            kind: Some(Cow::Owned(head.unwrap_or("tool_use_error").to_owned())),
            message: Some(Cow::Owned(inner.to_owned())),
            origin: ErrorOrigin::Recorded,
        };
    }
    let code = said
        .strip_prefix("Exit code ")
        .map(|rest| rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count());
    let by_code = code.is_some_and(|digits| digits > 0);
    ErrorInfo {
        kind: by_code.then_some("exit_code".into()),
        message: (!said.is_empty()).then_some(Cow::Owned(said)),
        origin: if by_code { ErrorOrigin::ExitCode } else { ErrorOrigin::Flag },
    }
}
