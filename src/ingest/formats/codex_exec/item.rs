//! An item, and the step that it is.
//!
//! Owns what items of every type say: what was done, and how it ended. Refuses their ids, which
//! begin anew with each process.

use serde_json::value::RawValue;

use super::super::agent_log::{Call, Outcome, message, word};
use super::super::raw::{number, object, raw_fields, read, text};
use crate::model::{ErrorInfo, ErrorOrigin, input_hash};

raw_fields! {
    /// Something that the agent did.
    Item {
        id, kind = "type", item_type, status, text, command, aggregated_output, exit_code, changes,
        server, tool, arguments, result, error, query, action, message,
    }
}

raw_fields! {
    /// An error.
    Said { message }
}

/// The call that an item is.
pub(super) fn call(item: &Item<'_>, kind: &str, raw: bool) -> Call {
    let mcp = match (word(item.server), word(item.tool)) {
        (Some(server), Some(tool)) => Some(format!("mcp__{server}__{tool}")),
        (server, tool) => tool.or(server),
    };
    let name = mcp.unwrap_or_else(|| if kind.is_empty() { "item" } else { kind }.to_owned());
    let input = match item.arguments {
        Some(arguments) => Some(arguments.get().to_owned()),
        None => {
            let members = [
                ("command", item.command),
                ("changes", item.changes),
                ("query", item.query),
                ("action", item.action),
            ];
            let there = members.iter().any(|(_, value)| value.is_some());
            there.then(|| object(&members.map(|(key, value)| (key, value.map(RawValue::get)))))
        }
    };
    Call {
        id: word(item.id),
        name: Some(name),
        input: input.as_deref().and_then(input_hash),
        text: input.filter(|_| raw),
    }
}

/// How an item ended.
#[expect(clippy::cast_possible_truncation, reason = "an exit code has at most 32 bits")]
pub(super) fn outcome(item: &Item<'_>, raw: bool) -> Outcome {
    let output = item.aggregated_output.or(item.result);
    let status = match word(item.status).as_deref() {
        Some("declined") => Some("denied"),
        Some("cancelled" | "canceled" | "interrupted") => Some("cancelled"),
        Some("in_progress" | "pending") => Some("pending"),
        _ => None,
    };
    let failed = word(item.status).as_deref() == Some("failed");
    let code = item.exit_code.and_then(number).map(|code| code as i64).filter(|code| *code != 0);
    let error: Option<Said<'_>> = item.error.and_then(read);
    let told = word(error.and_then(|error| error.message)).or_else(|| word(item.error));
    let recorded = item.error.is_some_and(|error| error.get().trim() != "null");
    let said = || output.and_then(text).and_then(|said| message(&said));
    let error = match (recorded, code, failed) {
        (true, ..) => Some(ErrorInfo {
            kind: None,
            message: told.as_deref().and_then(message),
            origin: ErrorOrigin::Recorded,
        }),
        (_, Some(_), _) => Some(ErrorInfo {
            kind: Some("exit_code".into()),
            message: said(),
            origin: ErrorOrigin::ExitCode,
        }),
        (_, None, true) => {
            Some(ErrorInfo { kind: None, message: said(), origin: ErrorOrigin::Flag })
        }
        _ => None,
    };
    let text = raw.then(|| output.map(|output| output.get().to_owned())).flatten();
    Outcome { error, status, text, ..Outcome::default() }
}
