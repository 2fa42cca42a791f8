//! LangChain and LangGraph messages, in the three encodings that its users dump.
//!
//! Owns: `model_dump` (flat), `messages_to_dict` (`{type, data}`) and `dumpd` (`{lc, type, id,
//! kwargs}`), which say the same of a message and give one and the same run; state dumps that
//! hold `messages` are read too. Refuses state histories without messages, and `additional_kwargs`,
//! which repeat the calls in a vendor's form.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::evidence::{hidden_error, told_error};
use super::message_dumps::{
    Dialect, Ids, List, Listed, MessageLists, delivered, first_element, opens_with, tell_repeated,
    tell_unreadable, words,
};
use super::raw::{amount, label, raw_fields, read, text};
use super::transcript::{Answer, Call, Transcript, Turn};
use super::{Format, Probe, Reader};
use crate::config::ReadOptions;
use crate::ingest::assemble::main_model;
use crate::ingest::quick;
use crate::model::{ErrorInfo, ErrorOrigin, Issue, Tokens, Trajectory};

/// LangChain messages.
pub const LANGCHAIN: Format = Format {
    name: "langchain",
    about: "LangChain messages (model_dump, messages_to_dict or dumpd)",
    detect,
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Parts(|options| Box::new(MessageLists::new(DIALECT, options))),
    archive: None,
    misspelt: None,
};

const DIALECT: Dialect = Dialect { list_in, is_message, read: read_list };

raw_fields! {
    /// A message, or one of the two envelopes around one.
    Message {
        kind = "type", data, lc, kwargs, content, name, id, tool_calls, invalid_tool_calls,
        usage_metadata, response_metadata, additional_kwargs, tool_call_id, status, role,
    }
}
raw_fields! {
    /// A state that holds messages.
    State { messages, values, thread_id, run_id, config }
}
raw_fields! { Config { configurable } }
raw_fields! { Configurable { thread_id } }
raw_fields! {
    /// A call, readable or not.
    ToolCall { id, name, args, error }
}
raw_fields! { Usage { input_tokens, output_tokens, total_tokens, input_token_details } }
raw_fields! { InputDetails { cache_read, cache_creation } }
raw_fields! { Response { model_name, model, finish_reason, stop_reason } }

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Ai,
    Tool,
    Other,
}

/// Reads `ai`, `AIMessage`, `AIMessageChunk` and their like.
fn role(word: &str) -> Option<Role> {
    let word = word.trim_end_matches("Chunk").trim_end_matches("Message");
    let is = |known: &str| word.eq_ignore_ascii_case(known);
    if is("ai") {
        Some(Role::Ai)
    } else if is("tool") || is("function") {
        Some(Role::Tool)
    } else {
        ["human", "system", "chat", "developer", "remove"]
            .into_iter()
            .any(is)
            .then_some(Role::Other)
    }
}

/// The message inside its envelope, and its role.
fn message(raw: &RawValue) -> Option<(Role, Message<'_>)> {
    raw.get().starts_with('{').then_some(())?;
    let outer: Message<'_> = read(raw)?;
    if outer.lc.is_some() {
        let class: Vec<&RawValue> = outer.id.and_then(read)?;
        let class = text(class.last()?)?;
        return Some((role(&class)?, outer.kwargs.and_then(read)?));
    }
    let role = role(&outer.kind.and_then(text)?)?;
    if outer.data.is_some_and(|data| data.get().starts_with('{')) && outer.content.is_none() {
        return Some((role, outer.data.and_then(read)?));
    }
    let is_flat = outer.content.is_some() || outer.tool_calls.is_some();
    (is_flat && outer.role.is_none()).then_some((role, outer))
}

fn is_message(raw: &RawValue) -> bool {
    message(raw).is_some()
}

fn list_in(object: &RawValue) -> Option<Vec<&RawValue>> {
    let state: State<'_> = read(object)?;
    let inner = || state.values.filter(|values| values.get().starts_with('{')).and_then(read);
    let messages = match state.messages {
        Some(messages) => messages,
        None => inner().and_then(|values: State<'_>| values.messages)?,
    };
    read(messages)
}

fn detect(probe: &Probe<'_>) -> bool {
    const STATE: [&str; 1] = ["messages"];
    const MARKS: [&str; 6] =
        ["type", "lc", "data", "additional_kwargs", "response_metadata", "tool_call_id"];
    let of_values = |record: &&[u8]| {
        let state = quick::from_slice::<State<'_>>(record).ok();
        let values = state.and_then(|state| state.values);
        values.map(|values| first_element(values.get().as_bytes(), &STATE).is_some_and(claims))
    };
    let values = match probe.any_has(&["values"]) {
        true => probe.records.iter().filter_map(of_values).reduce(|a, b| a || b),
        false => None,
    };
    values.unwrap_or_else(|| opens_with(probe, &STATE, &MARKS, claims))
}

/// Whether these bytes are a message that no other format writes: a lone `{type: system, content}` is
/// anyone's.
fn claims(bytes: &[u8]) -> bool {
    let Ok(raw) = quick::from_slice::<&RawValue>(bytes) else { return false };
    let Some(outer) = raw.get().starts_with('{').then(|| read::<Message<'_>>(raw)).flatten() else {
        return false;
    };
    let own = outer.lc.is_some()
        || outer.data.is_some()
        || outer.additional_kwargs.is_some()
        || outer.response_metadata.is_some()
        || outer.tool_call_id.is_some()
        || outer.kind.and_then(text).is_some_and(|kind| kind == "human" || kind == "ai");
    own && is_message(raw)
}

/// What is gathered of a list beside its attempts.
#[derive(Default)]
struct Gathered<'r> {
    models: Vec<Cow<'r, str>>,
    agents: Vec<Cow<'r, str>>,
    ids: Ids<'r>,
    output: Option<Cow<'r, str>>,
    end_reason: Option<Cow<'r, str>>,
    messages: u64,
    unreadable: u64,
    repeated: u64,
}

fn read_list<'r>(
    list: &List<'r>,
    options: &ReadOptions,
    issues: &mut Vec<Issue>,
) -> Vec<Listed<'r>> {
    let mut run = Transcript::new(list.place, options);
    let mut gathered = Gathered::default();
    for raw in &list.messages {
        let Some((role, message)) = message(raw) else {
            gathered.unreadable += 1;
            continue;
        };
        gathered.messages += 1;
        if !gathered.ids.take(message.id.and_then(text)) {
            gathered.repeated += 1;
            continue;
        }
        gathered.end_reason = None;
        match role {
            Role::Ai => answer_of_model(&message, &mut run, &mut gathered),
            Role::Tool => run.answer(result(&message)),
            Role::Other => {}
        }
    }
    if gathered.messages == 0 {
        return Vec::new();
    }
    tell_unreadable(gathered.unreadable, list.place, issues);
    let rule = "messages whose id stands in the list before count once";
    tell_repeated(gathered.repeated, rule, list.place, issues);
    let state = list.wrapper.and_then(read::<State<'r>>).unwrap_or_default();
    let configured = state.config.and_then(read::<Config<'r>>).and_then(|c| c.configurable);
    let configured = configured.and_then(read::<Configurable<'r>>).and_then(|c| c.thread_id);
    let thread = state.thread_id.or(configured).and_then(label);
    let trajectory = Trajectory {
        place: list.place,
        run_id: state.run_id.and_then(label),
        agent: main_model(gathered.agents.iter().map(AsRef::as_ref)).map(Cow::Owned),
        model: main_model(gathered.models.iter().map(AsRef::as_ref)).map(Cow::Owned),
        tags: thread.map(|thread| ("thread".into(), thread)).into_iter().collect(),
        final_output: delivered(gathered.end_reason.as_deref(), gathered.output.as_deref()),
        end_reason: gathered.end_reason,
        attempts: run.finish(issues),
        ..Trajectory::default()
    };
    vec![Listed { run: trajectory, ids: gathered.ids.of_list() }]
}

fn calls<'r>(raw: Option<&'r RawValue>) -> Vec<ToolCall<'r>> {
    let calls: Vec<&RawValue> = raw.and_then(read).unwrap_or_default();
    calls.into_iter().filter_map(read).collect()
}

fn answer_of_model<'r>(
    message: &Message<'r>,
    run: &mut Transcript<'r>,
    gathered: &mut Gathered<'r>,
) {
    let response = message.response_metadata.and_then(read::<Response<'r>>).unwrap_or_default();
    gathered.models.extend(response.model_name.or(response.model).and_then(label));
    gathered.agents.extend(message.name.and_then(text));
    gathered.end_reason = response.finish_reason.or(response.stop_reason).and_then(label);
    run.turn(Turn {
        content: message.content.map(|content| Cow::Borrowed(content.get())),
        tokens: message.usage_metadata.and_then(tokens),
        ..Turn::default()
    });
    for call in calls(message.tool_calls) {
        run.call(Call {
            id: call.id.and_then(label),
            name: call.name.and_then(label),
            arguments: call.args.map(|args| Cow::Borrowed(args.get())),
            ..Call::default()
        });
    }
    for call in calls(message.invalid_tool_calls) {
        let why = call.error.map(words).filter(|why| !why.is_empty());
        run.call(Call {
            id: call.id.and_then(label),
            name: call.name.and_then(label),
            arguments: call.args.map(|args| Cow::Borrowed(args.get())),
            error: Some(ErrorInfo {
                kind: Some("invalid_arguments".into()),
                message: why,
                origin: ErrorOrigin::Recorded,
            }),
            ..Call::default()
        });
    }
    gathered.output = message.content.map(words).filter(|said| !said.is_empty() && said != "[]");
}

fn result<'r>(message: &Message<'r>) -> Answer<'r> {
    let said = message.content.map(words);
    let failed = message.status.and_then(text).is_some_and(|status| status == "error");
    let error = match failed {
        true => Some(told_error(said.clone(), ErrorOrigin::Recorded)),
        // The wrapper around a tool writes `success` also where the tool's own result says no.
        false => said.as_deref().and_then(hidden_error),
    };
    Answer {
        id: message.tool_call_id.and_then(label),
        name: message.name.and_then(label),
        content: said,
        error,
        ..Answer::default()
    }
}

/// `input_tokens` holds what a cache served or took, which is told apart in its details.
fn tokens(usage: &RawValue) -> Option<Tokens> {
    let usage: Usage<'_> = read(usage)?;
    let (input, output) = (amount(usage.input_tokens), amount(usage.output_tokens));
    if input.is_none() && output.is_none() {
        let unsplit = amount(usage.total_tokens)?;
        return Some(Tokens { unsplit, ..Tokens::default() });
    }
    let details = usage.input_token_details.and_then(read::<InputDetails<'_>>).unwrap_or_default();
    let cache_read = amount(details.cache_read).unwrap_or_default();
    let cache_write = amount(details.cache_creation).unwrap_or_default();
    Some(Tokens {
        input: (input.unwrap_or_default() - cache_read - cache_write).max(0.0),
        cache_read,
        cache_write,
        output: output.unwrap_or_default(),
        unsplit: 0.0,
    })
}
