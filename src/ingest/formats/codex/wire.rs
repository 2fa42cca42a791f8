//! A line of a rollout, and what its payload says that any figure reads.
//!
//! Owns the wire structs and the reading of one payload. Every field is read leniently: one of an
//! odd type is as good as absent.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::agent_log::{Call, Outcome, Turn, message, word};
use super::super::raw::{amount, as_json, raw_fields, read, said, text};
use super::output::told;
use crate::model::{ErrorInfo, ErrorOrigin, Tokens, input_hash};

raw_fields! {
    /// One line.
    Line { timestamp, kind = "type", payload }
}

raw_fields! {
    /// The payload of any line.
    Payload {
        kind = "type", role, id, session_id, call_id, name, arguments, input, output, content, action,
        status, timestamp, cwd, originator, cli_version, git, source, forked_from_id, parent_thread_id,
        model, turn_id, info, reason, message, last_agent_message, invocation, result, duration,
        success, stderr, exit_code, aggregated_output, namespace,
    }
}

raw_fields! {
    /// Where a session runs.
    Git { branch }
}

raw_fields! {
    /// What started a session.
    Source { subagent }
}

raw_fields! {
    /// What started a sub-agent.
    Subagent { thread_spawn }
}

raw_fields! {
    /// The thread that started a sub-agent.
    Spawn { parent_thread_id }
}

raw_fields! {
    /// What a count of tokens tells.
    Info { total_token_usage }
}

raw_fields! {
    /// Counts of tokens; the input includes what a cache served, the output includes reasoning.
    Usage { input_tokens, cached_input_tokens, output_tokens, total_tokens }
}

raw_fields! {
    /// A call of an MCP server.
    Invocation { server, tool, arguments }
}

raw_fields! {
    /// How a call of an MCP server ended.
    McpEnd { ok = "Ok", err = "Err" }
}

raw_fields! {
    /// What an MCP server gave.
    Given { is_error = "isError", is_error_snake = "is_error", content }
}

raw_fields! {
    /// A time span.
    Span { secs, nanos }
}

/// Who a rollout is of.
#[derive(Debug, Clone, Default)]
pub(super) struct Meta {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) subagent: bool,
    pub(super) started: Option<String>,
    pub(super) originator: Option<String>,
    /// Version, working directory and branch.
    pub(super) labels: [Option<String>; 3],
}

/// The meta that a payload is; `None` without an id.
pub(super) fn meta(payload: &Payload<'_>) -> Option<Meta> {
    let source: Option<Source<'_>> = payload.source.and_then(read);
    let subagent = source.and_then(|source| source.subagent);
    let spawn: Option<Spawn<'_>> =
        subagent.and_then(read::<Subagent<'_>>).and_then(|sub| sub.thread_spawn).and_then(read);
    let parent = word(payload.forked_from_id)
        .or_else(|| word(payload.parent_thread_id))
        .or_else(|| word(spawn?.parent_thread_id));
    // A sub-agent's `session_id` is its parent's.
    let id = word(payload.id).or_else(|| word(payload.session_id))?;
    let git: Option<Git<'_>> = payload.git.and_then(read);
    Some(Meta {
        parent: parent.filter(|parent| *parent != id),
        id,
        subagent: subagent.is_some(),
        started: word(payload.timestamp),
        originator: word(payload.originator),
        labels: [
            word(payload.cli_version),
            word(payload.cwd),
            word(git.and_then(|git| git.branch)),
        ],
    })
}

/// Tokens of a running total: input without cache, cache read, output.
pub(super) fn total(payload: &Payload<'_>) -> Option<Tokens> {
    let info: Info<'_> = payload.info.and_then(read)?;
    let usage: Usage<'_> = info.total_token_usage.and_then(read)?;
    tokens(&usage)
}

/// Tokens of a usage; `None` without any count.
pub(in crate::ingest::formats) fn tokens(usage: &Usage<'_>) -> Option<Tokens> {
    let counts = [usage.input_tokens, usage.cached_input_tokens, usage.output_tokens].map(amount);
    if counts.iter().all(Option::is_none) {
        let unsplit = amount(usage.total_tokens)?;
        return Some(Tokens { unsplit, ..Tokens::default() });
    }
    let [input, cached, output] = counts.map(|count| count.unwrap_or(0.0));
    let input = (input - cached).max(0.0);
    Some(Tokens { input, cache_read: cached, output, ..Tokens::default() })
}

/// A message of the model.
pub(super) fn turn(payload: &Payload<'_>, raw: bool) -> Turn {
    Turn { content: kept(raw, payload.content), ..Turn::default() }
}

fn kept(raw: bool, value: Option<&RawValue>) -> Option<String> {
    raw.then(|| value.map(|value| value.get().to_owned())).flatten()
}

/// A call whose result stands in another record.
pub(super) fn call(payload: &Payload<'_>, default: &str, raw: bool) -> Call {
    let arguments = payload.arguments.or(payload.input).or(payload.action);
    let id = word(payload.call_id).or_else(|| word(payload.id));
    let name = word(payload.name).or_else(|| (!default.is_empty()).then(|| default.to_owned()));
    let Some(arguments) = arguments else { return Call { id, name, ..Call::default() } };
    // Arguments are JSON written into a text; a patch is a text that is no JSON.
    let written = text(arguments).unwrap_or(Cow::Borrowed(arguments.get()));
    let text = raw.then(|| as_json(&written).into_owned());
    Call { id, name, input: input_hash(&written), text }
}

/// What came back from a call.
pub(super) fn outcome(payload: &Payload<'_>, raw: bool) -> Outcome {
    let told = payload.output.map(told).unwrap_or_default();
    Outcome {
        id: word(payload.call_id),
        error: told.error,
        status: told.status,
        text: kept(raw, payload.output),
        ..Outcome::default()
    }
}

/// How a search on the web went, of which no result is recorded.
pub(super) fn search_outcome(payload: &Payload<'_>) -> Outcome {
    let failed = ErrorInfo { origin: ErrorOrigin::Recorded, ..ErrorInfo::default() };
    let (error, status) = match word(payload.status).as_deref() {
        Some("failed" | "error") => (Some(failed), None),
        Some("in_progress" | "searching" | "incomplete") => (None, Some("pending")),
        _ => (None, None),
    };
    Outcome { error, status, ..Outcome::default() }
}

/// A call of an MCP server and its end.
pub(super) fn mcp(payload: &Payload<'_>, raw: bool) -> (Call, Outcome) {
    let invocation: Invocation<'_> = payload.invocation.and_then(read).unwrap_or_default();
    let name = match (word(invocation.server), word(invocation.tool)) {
        (Some(server), Some(tool)) => Some(format!("mcp__{server}__{tool}")),
        (server, tool) => tool.or(server),
    };
    let id = word(payload.call_id);
    let call = Call {
        id: id.clone(),
        name,
        input: invocation.arguments.and_then(|arguments| input_hash(arguments.get())),
        text: kept(raw, invocation.arguments),
    };
    let result: McpEnd<'_> = payload.result.and_then(read).unwrap_or_default();
    let given: Given<'_> = result.ok.and_then(read).unwrap_or_default();
    let flagged =
        [given.is_error, given.is_error_snake].into_iter().any(super::super::raw::is_true);
    let error = match result.err {
        Some(err) => Some(ErrorInfo {
            kind: None,
            message: message(&text(err).unwrap_or_default()),
            origin: ErrorOrigin::Recorded,
        }),
        None => flagged.then(|| ErrorInfo {
            kind: None,
            message: given.content.and_then(said).and_then(|said| message(&said)),
            origin: ErrorOrigin::Flag,
        }),
    };
    let denied = error.as_ref().and_then(|error| error.message.as_deref()).is_some_and(|said| {
        said.starts_with("user rejected") || said.starts_with("user cancelled")
    });
    let span: Option<Span<'_>> = payload.duration.and_then(read);
    let duration_ms = span
        .and_then(|span| Some(amount(span.secs)? * 1e3 + amount(span.nanos).unwrap_or(0.0) / 1e6));
    let outcome = Outcome {
        id,
        error: error.filter(|_| !denied),
        status: denied.then_some("denied"),
        text: kept(raw, payload.result),
        duration_ms,
        ..Outcome::default()
    };
    (call, outcome)
}

/// How a patch was applied, or how a command ended where that is recorded.
pub(super) fn end(payload: &Payload<'_>) -> Outcome {
    let failed = payload.success.is_some_and(|success| success.get().trim() == "false");
    let stderr = || payload.stderr.or(payload.aggregated_output).and_then(text);
    let error = match amount(payload.exit_code) {
        Some(code) if code != 0.0 => Some(ErrorInfo {
            kind: Some("exit_code".into()),
            message: stderr().and_then(|said| message(&said)),
            origin: ErrorOrigin::ExitCode,
        }),
        _ => failed.then(|| ErrorInfo {
            kind: None,
            message: stderr().and_then(|said| message(&said)),
            origin: ErrorOrigin::Flag,
        }),
    };
    Outcome { id: word(payload.call_id), error, ..Outcome::default() }
}
