//! Events of the OpenHands SDK: `kind`, uuids, and results that name their call.
//!
//! Owns the kinds that are calls, results, errors and refusals. Usage is recorded as counts so far,
//! per use of the model: the latest of each are added up. Refuses kinds that say nothing of steps.

use serde_json::value::RawValue;

use super::super::coding::message;
use super::super::evidence::{exception_class, exit_error};
use super::super::raw::{
    Entries, amount, is_true, label, number, object, raw_fields, read, said, text,
};
use super::super::{Probe, Refusal};
use super::run::{Event, What};
use super::v0::usage;
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin, Tokens};

raw_fields! {
    /// One event.
    Wire {
        id, timestamp, source, thought, action, tool_name, tool_call_id, tool_call, llm_response_id,
        observation, action_id, error, classification, key, value, code, detail, llm_message,
        rejection_reason,
    }
}
raw_fields! {
    /// The call as the model wrote it.
    Asked { arguments }
}
raw_fields! {
    /// What a tool gave.
    Given { content, is_error, exit_code, timeout, metadata }
}
raw_fields! {
    /// How a command ended.
    Ended { exit_code }
}
raw_fields! {
    /// A message.
    Message { content }
}
raw_fields! {
    /// What a finished agent says.
    Finish { message }
}
raw_fields! {
    /// Usage of all uses of the model; also inside a full state.
    Stats { usage_to_metrics, execution_status, stats }
}
raw_fields! {
    /// Usage of one.
    Metrics { model_name, accumulated_cost, accumulated_token_usage }
}

/// The kinds of events by which a log is known.
const KINDS: [&str; 14] = [
    "MessageEvent",
    "SystemPromptEvent",
    "ActionEvent",
    "ObservationEvent",
    "AgentErrorEvent",
    "UserRejectObservation",
    "ConversationStateUpdateEvent",
    "ConversationErrorEvent",
    "Condensation",
    "CondensationRequest",
    "CondensationSummaryEvent",
    "PauseEvent",
    "TokenEvent",
    "HookExecutionEvent",
];

/// Whether the first record is an event of the SDK.
pub(super) fn is_event(probe: &Probe<'_>) -> bool {
    if !probe.any_has(&["kind", "timestamp", "source"]) {
        return false;
    }
    let Some(record) = probe.records.first() else { return false };
    let kind = raw_kind(record);
    KINDS.iter().any(|known| kind == known.as_bytes())
}

/// The text behind the last `"kind":`, which is that of the event where it stands last, and else is
/// looked for among all.
fn raw_kind(record: &[u8]) -> &[u8] {
    let values = memchr::memmem::find_iter(record, b"\"kind\"").filter_map(|at| {
        let value = record.get(at + 6..)?.trim_ascii_start().strip_prefix(b":")?;
        let value = value.trim_ascii_start().strip_prefix(b"\"")?;
        value.get(..memchr::memchr(b'"', value)?)
    });
    let mut found: &[u8] = b"";
    for value in values.take(64) {
        if KINDS.iter().any(|known| value == known.as_bytes()) {
            found = value;
        }
    }
    found
}

/// Reads one event.
pub(super) fn event(bytes: &[u8], kind: &str) -> Result<Event, Refusal> {
    let wire: Wire<'_> = quick::from_slice(bytes)?;
    let own = |raw: Option<&RawValue>| raw.and_then(label).map(|text| text.into_owned());
    let mut model = None;
    let what = match kind {
        "ActionEvent" => action(&wire),
        "ObservationEvent" => observation(&wire),
        "AgentErrorEvent" => {
            let said = own(wire.error).unwrap_or_default();
            let kind = own(wire.classification);
            let class = || exception_class(&said).map(str::to_owned);
            let error = ErrorInfo {
                kind: kind.filter(|kind| kind != "unknown").or_else(class).map(Into::into),
                message: Some(message(&said)),
                origin: ErrorOrigin::Recorded,
            };
            result(&wire, wire.error, Some(error), None)
        }
        "UserRejectObservation" => result(&wire, wire.rejection_reason, None, Some("rejected")),
        "MessageEvent" if own(wire.source).as_deref() == Some("agent") => {
            let content = wire.llm_message.and_then(read::<Message<'_>>).and_then(|m| m.content);
            What::Words(content.and_then(said).unwrap_or_default().into_owned())
        }
        "ConversationErrorEvent" => {
            What::Broke { kind: own(wire.code), said: own(wire.detail).unwrap_or_default() }
        }
        "ConversationStateUpdateEvent" => state(&wire, &mut model).unwrap_or(What::Other),
        "PauseEvent" => What::State("paused".to_owned()),
        _ => What::Other,
    };
    Ok(Event {
        id: own(wire.id),
        cause: own(wire.action_id),
        stamp: own(wire.timestamp),
        response: own(wire.llm_response_id),
        model,
        what,
        ..Event::default()
    })
}

fn action(wire: &Wire<'_>) -> What {
    let own = |raw: Option<&RawValue>| raw.and_then(label).map(|text| text.into_owned());
    let name = own(wire.tool_name);
    match name.as_deref() {
        Some("finish") => {
            let said = wire.action.and_then(read::<Finish<'_>>).and_then(|finish| finish.message);
            return What::Finish { words: own(said), completed: None };
        }
        Some("think") => return What::Said,
        _ => {}
    }
    // The action is what was asked without the words around it; it is missing where the call could
    // not be understood.
    let arguments = match wire.action.and_then(read::<Entries<'_>>) {
        Some(entries) => {
            let kept = entries.0.iter().filter(|(key, _)| key != "kind");
            let kept: Vec<_> = kept.map(|(key, raw)| (key.as_ref(), Some(raw.get()))).collect();
            Some(object(&kept))
        }
        None => {
            let asked = wire.tool_call.and_then(read::<Asked<'_>>).and_then(|call| call.arguments);
            asked.map(|raw| text(raw).unwrap_or(raw.get().into()).into_owned())
        }
    };
    What::Call { id: own(wire.tool_call_id), name, arguments }
}

fn observation(wire: &Wire<'_>) -> What {
    let given = wire.observation.and_then(read::<Given<'_>>).unwrap_or_default();
    let said = given.content.and_then(said).unwrap_or_default();
    let inner = given.metadata.and_then(read::<Ended<'_>>).and_then(|ended| ended.exit_code);
    let code = given.exit_code.or(inner).and_then(number);
    #[expect(clippy::cast_possible_truncation, reason = "exit codes are small")]
    let code = code.map(|code| code as i64).filter(|code| *code != -1);
    let timeout = is_true(given.timeout);
    let error = if is_true(given.is_error) || timeout {
        Some(ErrorInfo {
            kind: timeout.then(|| "timeout".into()),
            message: Some(message(&said)),
            origin: if timeout { ErrorOrigin::Recorded } else { ErrorOrigin::Flag },
        })
    } else {
        code.and_then(|code| exit_error(code, Some(message(&said))))
    };
    result(wire, given.content.or(wire.observation), error, None)
}

fn result(
    wire: &Wire<'_>,
    content: Option<&RawValue>,
    error: Option<ErrorInfo<'static>>,
    status: Option<&'static str>,
) -> What {
    let own = |raw: Option<&RawValue>| raw.and_then(label).map(|text| text.into_owned());
    What::Result {
        call: own(wire.tool_call_id),
        name: own(wire.tool_name),
        content: content.map(|raw| raw.get().to_owned()),
        error,
        status,
    }
}

fn state(wire: &Wire<'_>, model: &mut Option<String>) -> Option<What> {
    let key = wire.key.and_then(text)?;
    let value = wire.value?;
    match key.as_ref() {
        "execution_status" | "agent_status" => text(value).map(|s| What::State(s.into_owned())),
        "stats" => used(value, model),
        // A full state holds both; its usage is what cannot be had elsewhere.
        "full_state" => {
            let stats = read::<Stats<'_>>(value)?;
            match stats.stats.and_then(|stats| used(stats, model)) {
                Some(used) => Some(used),
                None => stats.execution_status.and_then(text).map(|s| What::State(s.into_owned())),
            }
        }
        _ => None,
    }
}

fn used(value: &RawValue, model: &mut Option<String>) -> Option<What> {
    let all = read::<Stats<'_>>(value)?.usage_to_metrics.and_then(read::<Entries<'_>>)?;
    let (mut tokens, mut cost): (Option<Tokens>, Option<f64>) = (None, None);
    for (_, raw) in &all.0 {
        let Some(metrics) = read::<Metrics<'_>>(raw) else { continue };
        if model.is_none() {
            *model = metrics.model_name.and_then(label).map(|name| name.into_owned());
        }
        if let Some(more) = metrics.accumulated_token_usage.and_then(usage) {
            *tokens.get_or_insert_with(Tokens::default) += more;
        }
        // A cost of 0 is what is written where the price is not known.
        let more = amount(metrics.accumulated_cost).filter(|cost| *cost > 0.0);
        cost = more.map(|more| more + cost.unwrap_or(0.0)).or(cost);
    }
    Some(What::Used { tokens, cost })
}
