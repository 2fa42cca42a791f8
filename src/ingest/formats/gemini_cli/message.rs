//! One message of a session, with the calls that it holds.
//!
//! Owns what a message and a `toolCalls` element say. A call and its end are one element there:
//! the message's time is its start, its own time its end. The text of an output is not looked
//! into: a command that failed has the status `success` here, because the tool itself worked.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::agent_log::{At, Call, Outcome, message, word};
use super::super::raw::{amount, raw_fields, read, text};
use super::Line;
use crate::model::{ErrorInfo, ErrorOrigin, Tokens, input_hash};

raw_fields! {
    /// A call with its end.
    ToolCall { id, name, args, result, status, timestamp, display = "resultDisplay" }
}

raw_fields! {
    /// An element of a result.
    Part { response = "functionResponse" }
}

raw_fields! {
    /// A response.
    Function { response }
}

raw_fields! {
    /// What a response holds.
    Answer { error }
}

raw_fields! {
    /// Tokens of one answer; `input` includes what a cache served.
    Counts { input, output, cached, thoughts, tool, total }
}

raw_fields! {
    /// A part of a content.
    Piece { text }
}

/// One message, owned.
pub(super) struct Message {
    pub(super) at: At,
    pub(super) id: Option<String>,
    pub(super) is_model: bool,
    pub(super) is_error: bool,
    pub(super) model: Option<String>,
    pub(super) tokens: Option<Tokens>,
    /// What was said, as text and, where attempts keep it, as JSON.
    pub(super) words: Option<String>,
    pub(super) content: Option<String>,
    pub(super) calls: Vec<(Call, Outcome, At)>,
}

impl Message {
    /// The message that a record of this type is.
    pub(super) fn of(line: &Line<'_>, kind: &str, at: At, raw: bool) -> Self {
        let is_model = kind == "gemini";
        let elements: Vec<&RawValue> = line.calls.and_then(read).unwrap_or_default();
        let calls: Vec<ToolCall<'_>> = elements.into_iter().filter_map(read).collect();
        Self {
            id: word(line.id),
            is_model,
            is_error: kind == "error",
            model: word(line.model),
            tokens: line.tokens.and_then(read::<Counts<'_>>).and_then(|counts| tokens(&counts)),
            words: line.content.filter(|_| is_model).and_then(words),
            content: line
                .content
                .filter(|_| raw && is_model)
                .map(|content| content.get().to_owned()),
            calls: calls.iter().map(|call| called(call, at.seq, raw)).collect(),
            at,
        }
    }
}

/// The text of a content: a text, or the texts of a list of parts.
pub(super) fn words(content: &RawValue) -> Option<String> {
    if let Some(said) = text(content) {
        return (!said.is_empty()).then(|| said.into_owned());
    }
    let parts: Vec<&RawValue> = read(content).unwrap_or_default();
    let texts: Vec<String> = parts
        .into_iter()
        .filter_map(|part| read::<Piece<'_>>(part)?.text.and_then(text).map(Cow::into_owned))
        .collect();
    (!texts.is_empty()).then(|| texts.concat())
}

fn tokens(counts: &Counts<'_>) -> Option<Tokens> {
    let all =
        [counts.input, counts.output, counts.cached, counts.thoughts, counts.tool].map(amount);
    if all.iter().all(Option::is_none) {
        return amount(counts.total).map(|unsplit| Tokens { unsplit, ..Tokens::default() });
    }
    let [input, output, cached, thoughts, tool] = all.map(|count| count.unwrap_or(0.0));
    Some(Tokens {
        input: (input - cached).max(0.0) + tool,
        cache_read: cached,
        output: output + thoughts,
        ..Tokens::default()
    })
}

fn called(call: &ToolCall<'_>, seq: u64, raw: bool) -> (Call, Outcome, At) {
    let failed = || {
        let said = call.result.and_then(error_of).or_else(|| call.display.and_then(words));
        ErrorInfo {
            kind: None,
            message: said.as_deref().and_then(message),
            origin: ErrorOrigin::Recorded,
        }
    };
    let (error, status) = match word(call.status).as_deref() {
        Some("success") => (None, None),
        Some("error") => (Some(failed()), None),
        Some("cancelled" | "canceled") => (None, Some("cancelled")),
        None if call.result.is_some() => (None, None),
        // Scheduled, waiting for an approval, or at work when the session was written.
        _ => (None, Some("pending")),
    };
    let outcome = Outcome {
        error,
        status,
        text: call.result.filter(|_| raw).map(|result| result.get().to_owned()),
        ..Outcome::default()
    };
    let made = Call {
        id: word(call.id),
        name: word(call.name),
        input: call.args.and_then(|args| input_hash(args.get())),
        text: call.args.filter(|_| raw).map(|args| args.get().to_owned()),
    };
    (made, outcome, At::new(seq, call.timestamp))
}

/// The error in a result: `functionResponse.response.error` of one of its parts.
fn error_of(result: &RawValue) -> Option<String> {
    let parts: Vec<&RawValue> = match result.get().trim().starts_with('[') {
        true => read(result)?,
        false => vec![result],
    };
    parts.into_iter().find_map(|part| {
        let part: Part<'_> = read(part)?;
        let function: Function<'_> = read(part.response?)?;
        let answer: Answer<'_> = read(function.response?)?;
        let error = answer.error.filter(|error| error.get().trim() != "null")?;
        Some(text(error).map_or_else(|| error.get().to_owned(), Cow::into_owned))
    })
}
