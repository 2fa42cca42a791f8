//! Events of OpenHands before the SDK: `action` and `observation`, joined by `cause`.
//!
//! Owns which actions are calls of tools and how an observation tells of failure: an exit code in its
//! extras, the kind `error`, or `ERROR:` at the start of what the file editor answers. Messages,
//! recalls and state changes are no steps. Events of the resolver have the same fields, flattened.

use serde_json::value::RawValue;

use super::super::Refusal;
use super::super::coding::message;
use super::super::evidence::{exception_class, exit_error};
use super::super::raw::{Entries, amount, label, number, object, raw_fields, read, text};
use super::run::{Event, What};
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin, Tokens};

raw_fields! {
    /// One event.
    Wire {
        id, timestamp, source, message, action, observation, args, content, extras, cause,
        tool_call_metadata, llm_metrics, exit_code, metadata, command, code, path,
    }
}
raw_fields! {
    /// The call of the model behind an event.
    Tool { function_name, tool_call_id, model_response }
}
raw_fields! {
    /// The answer of the provider.
    Response { id, model, usage, choices }
}
raw_fields! {
    /// One choice.
    Choice { message }
}
raw_fields! {
    /// Its message.
    Message { tool_calls }
}
raw_fields! {
    /// A call in it.
    Asked { id, function }
}
raw_fields! {
    /// What is called.
    Function { arguments }
}
raw_fields! {
    /// Tokens of a request.
    Usage {
        prompt_tokens, completion_tokens, prompt_tokens_details, cache_read_tokens,
        cache_write_tokens,
    }
}
raw_fields! {
    /// Those that a cache served.
    Cached { cached_tokens }
}
raw_fields! {
    /// What an observation says beside its text.
    Extras { exit_code, metadata, agent_state, error_id }
}
raw_fields! {
    /// How a command ended.
    Ended { exit_code }
}
raw_fields! {
    /// What the run cost so far.
    Metrics { accumulated_cost }
}
raw_fields! {
    /// What is finished.
    Finish { final_thought, task_completed, thought }
}

/// Actions that call no tool.
const NO_CALLS: [&str; 12] = [
    "message",
    "system",
    "recall",
    "condensation",
    "condensation_request",
    "change_agent_state",
    "null",
    "loop_recovery",
    "pause",
    "resume",
    "start",
    "stop",
];

/// Reads one event; `None` where it is no part of any figure.
pub(super) fn event(bytes: &[u8]) -> Result<Option<Event>, Refusal> {
    let wire: Wire<'_> = quick::from_slice(bytes)?;
    Ok(of(&wire))
}

/// The same from an event inside a history.
pub(super) fn inside(raw: &RawValue) -> Option<Option<Event>> {
    read::<Wire<'_>>(raw).map(|wire| of(&wire))
}

fn of(wire: &Wire<'_>) -> Option<Event> {
    let own = |raw: Option<&RawValue>| raw.and_then(label).map(|text| text.into_owned());
    let tool = wire.tool_call_metadata.and_then(read::<Tool<'_>>).unwrap_or_default();
    let response = tool.model_response.and_then(read::<Response<'_>>).unwrap_or_default();
    let metrics = wire.llm_metrics.and_then(read::<Metrics<'_>>).unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, reason = "numbers of events are small")]
    let event = |what| Event {
        id: own(wire.id),
        number: wire.id.and_then(number).map(|id| id as i64),
        cause: own(wire.cause),
        stamp: own(wire.timestamp),
        response: own(response.id),
        usage: response.usage.and_then(read::<Usage<'_>>).and_then(|usage| tokens(&usage)),
        model: own(response.model),
        cost_so_far: amount(metrics.accumulated_cost).filter(|cost| *cost > 0.0),
        what,
    };
    if let Some(kind) = wire.observation.and_then(text) {
        return Some(event(observation(wire, &tool, &kind).unwrap_or(What::Other)));
    }
    let kind = wire.action.and_then(text)?;
    let source = wire.source.and_then(text);
    let agents = source.is_none_or(|source| source == "agent");
    let what = match kind.as_ref() {
        "message" if agents => What::Words(own(wire.message).unwrap_or_default()),
        "finish" | "reject" => {
            let args = wire.args.and_then(read::<Finish<'_>>).unwrap_or_default();
            let completed = own(args.task_completed).and_then(|done| done.parse().ok());
            let words = own(args.final_thought).filter(|words| !words.is_empty());
            let words = words.or_else(|| own(args.thought));
            What::Finish { words, completed }
        }
        "think" if agents => What::Said,
        kind if NO_CALLS.contains(&kind) || !agents => What::Other,
        kind => What::Call {
            id: own(tool.tool_call_id),
            name: own(tool.function_name).or_else(|| Some(kind.to_owned())),
            arguments: arguments(wire, &tool, &response),
        },
    };
    Some(event(what))
}

/// The arguments: as the model wrote them, else those of the action without its thought.
fn arguments(wire: &Wire<'_>, tool: &Tool<'_>, response: &Response<'_>) -> Option<String> {
    let id = tool.tool_call_id.and_then(label);
    let choices = response.choices.and_then(read::<Vec<Choice<'_>>>).unwrap_or_default();
    for choice in choices {
        let asked = choice.message.and_then(read::<Message<'_>>).and_then(|m| m.tool_calls);
        for call in asked.and_then(read::<Vec<Asked<'_>>>).unwrap_or_default() {
            if call.id.and_then(label) == id
                && let Some(arguments) = call.function.and_then(read::<Function<'_>>)?.arguments
            {
                return Some(text(arguments).unwrap_or(arguments.get().into()).into_owned());
            }
        }
    }
    const OF_THE_PROGRAM: [&str; 7] = [
        "thought",
        "confirmation_state",
        "hidden",
        "blocking",
        "is_static",
        "security_risk",
        "keep_prompt",
    ];
    let Some(args) = wire.args.and_then(read::<Entries<'_>>) else {
        let flat = [("command", wire.command), ("code", wire.code), ("path", wire.path)];
        let flat = flat.map(|(key, raw)| (key, raw.map(RawValue::get)));
        return flat.iter().any(|(_, raw)| raw.is_some()).then(|| object(&flat));
    };
    let kept = args.0.iter().filter(|(key, _)| !OF_THE_PROGRAM.contains(&key.as_ref()));
    let kept: Vec<_> = kept.map(|(key, raw)| (key.as_ref(), Some(raw.get()))).collect();
    Some(object(&kept))
}

fn observation(wire: &Wire<'_>, tool: &Tool<'_>, kind: &str) -> Option<What> {
    let own = |raw: Option<&RawValue>| raw.and_then(label).map(|text| text.into_owned());
    let extras = wire.extras.and_then(read::<Extras<'_>>).unwrap_or_default();
    match kind {
        "agent_state_changed" => return own(extras.agent_state).map(What::State),
        // What the agent itself did or the program added answers no call.
        "recall" | "condense" | "null" | "think" | "loop_detection" => return None,
        _ => {}
    }
    let inner = extras.metadata.or(wire.metadata).and_then(read::<Ended<'_>>);
    let code = inner.and_then(|ended| ended.exit_code).or(extras.exit_code).or(wire.exit_code);
    #[expect(clippy::cast_possible_truncation, reason = "exit codes are small")]
    let code = code.and_then(number).map(|code| code as i64);
    let said = wire.content.and_then(text).unwrap_or_default();
    let mut status = None;
    let error = match (kind, code) {
        ("error", _) => Some(ErrorInfo {
            kind: exception_class(&said).map(|class| class.to_owned().into()),
            message: Some(message(&said)),
            origin: ErrorOrigin::Recorded,
        }),
        ("user_rejected", _) => {
            status = Some("rejected");
            None
        }
        // The command is still running.
        (_, Some(-1)) => {
            status = Some("running");
            None
        }
        (_, Some(code)) => exit_error(code, Some(message(&said))),
        ("read" | "edit" | "mcp", None) if said.starts_with("ERROR:") => Some(ErrorInfo {
            kind: None,
            message: Some(message(said.trim_start_matches("ERROR:"))),
            origin: ErrorOrigin::Text,
        }),
        _ => None,
    };
    Some(What::Result {
        call: own(tool.tool_call_id),
        name: own(tool.function_name),
        content: wire.content.map(|raw| raw.get().to_owned()),
        error,
        status,
    })
}

/// Tokens of one request; those that a cache served are part of the prompt.
pub(super) fn usage(raw: &RawValue) -> Option<Tokens> {
    read::<Usage<'_>>(raw).and_then(|usage| tokens(&usage))
}

fn tokens(usage: &Usage<'_>) -> Option<Tokens> {
    let (input, output) = (amount(usage.prompt_tokens), amount(usage.completion_tokens));
    let details = usage.prompt_tokens_details.and_then(read::<Cached<'_>>);
    let read = amount(usage.cache_read_tokens)
        .or_else(|| details.and_then(|details| amount(details.cached_tokens)))
        .unwrap_or(0.0);
    let whole = input.unwrap_or(0.0);
    let read = read.min(whole);
    let write = amount(usage.cache_write_tokens).unwrap_or(0.0).min(whole - read);
    (whole + output.unwrap_or(0.0) > 0.0).then(|| Tokens {
        input: whole - read - write,
        cache_read: read,
        cache_write: write,
        output: output.unwrap_or(0.0),
        unsplit: 0.0,
    })
}
