//! Of which API a list of messages is, told by its first message that only one of them writes.
//!
//! Owns: the marks of each API, and of formats whose lists look the same and are others'. Refuses:
//! lists of any roles but those of model APIs. A list that holds plain texts alone is OpenAI's,
//! whose form everyone took over.

use serde_json::value::RawValue;

use super::wrapper::says;
use crate::ingest::formats::Probe;
use crate::ingest::formats::raw::{raw_fields, read, text};
use crate::ingest::quick;
use crate::ingest::scan::{elements, first_array};

/// The API that a list of messages was written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ingest::formats) enum Family {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Vercel's AI SDK.
    Vercel,
}

/// What one message tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Only this API writes such a message.
    Of(Family),
    /// Any of them writes such a message.
    Plain,
    /// It is no message of theirs.
    Foreign,
    /// It is cut off or damaged.
    Unreadable,
}

/// Messages that are looked at in one list.
const LOOKED_AT: usize = 200;

/// Keys under which lists stand.
const LISTS: [&str; 4] = ["messages", "input", "input_items", "items"];

/// Keys of objects that hold messages and are other formats'.
const OTHERS: [&str; 10] = [
    "trajectory_format",
    "projectHash",
    "traj",
    "simulations",
    "conversations",
    "schema_version",
    "eval",
    "resourceSpans",
    "run_type",
    "parentUuid",
];

raw_fields! {
    /// A message, an item of a response, or a step.
    Message { role, r#type = "type", content, parts, tool_calls, function_call, tool_call_id, extra, source,
        call_id, name, output, summary, stop_reason, usage, finish_reason = "finishReason",
        camel_calls = "toolCalls", message_type, lc, kind }
}
raw_fields! {
    /// A block of content.
    Block { r#type = "type", source, call = "toolCallId", name = "toolName" }
}
raw_fields! {
    /// A call.
    Call { function, custom }
}
raw_fields! {
    /// A response, or a request with its response.
    Around { choices, object, r#type = "type", request, response }
}
raw_fields! {
    /// One of the answers of a completion.
    Choice { message }
}

/// Whether the records of a file are of this API.
pub(in crate::ingest::formats) fn is_of(probe: &Probe<'_>, family: Family) -> bool {
    if !probe.together {
        let told = || {
            let (record, keys) = probe.records.first().zip(probe.keys().first())?;
            of_record(record, keys, probe.in_array)
        };
        return *probe.family.get_or_init(told) == Some(family);
    }
    // One record by one tells nothing: a list of plain texts, unless a message is another's.
    family == Family::Chat && probe.in_array && {
        let mut marks = probe.records.iter().map(|record| mark(record));
        let first = marks.next() == Some(Mark::Plain);
        first
            && marks.all(|mark| matches!(mark, Mark::Plain | Mark::Unreadable))
            && !probe.records.iter().any(|record| has(record, b"mswea_bash_command"))
    }
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(bytes, word).is_some()
}

/// The API of one record: an element of an array, or an object around a list.
fn of_record(record: &[u8], keys: &[String], in_array: bool) -> Option<Family> {
    let there = |key: &str| keys.iter().any(|found| found == key);
    if OTHERS.iter().any(|key| there(key)) || (there("info") && there("messages")) {
        return None;
    }
    if !there("messages")
        && let Some(family) = of_response(record, &there)
    {
        return Some(family);
    }
    // Steps are the SDK's or another format's, whatever stands beside them.
    if there("steps") && first_array(record, &["steps"]).is_some() {
        return of_list(record, "steps").filter(|family| *family == Family::Vercel);
    }
    if (there("request") || there("response"))
        && !there("role")
        && let Some(family) = of_pair(record)
    {
        return Some(family);
    }
    if let Some(list) = LISTS.iter().find(|key| there(key))
        && let Some(family) = of_list(record, list)
    {
        return match family {
            // What its end is called tells the API where all messages are plain.
            Family::Chat if there("stop_reason") && !there("choices") => Some(Family::Anthropic),
            // Inputs and items of plain texts are anyone's.
            Family::Chat if *list != "messages" => None,
            family => Some(family),
        };
    }
    match mark(record) {
        Mark::Of(family) if in_array => Some(family),
        _ => None,
    }
}

/// The API of a response.
fn of_response(record: &[u8], there: &dyn Fn(&str) -> bool) -> Option<Family> {
    if there("choices") && !there("delta") {
        let around: Around<'_> = quick::from_slice(record).ok()?;
        let choice = around.choices.and_then(read::<Vec<Choice<'_>>>)?;
        return choice.first()?.message.map(|_| Family::Chat);
    }
    if there("output") && !there("steps") && !there("role") && !there("call_id") {
        let around: Around<'_> = quick::from_slice(record).ok()?;
        let listed = || of_list(record, "output") == Some(Family::Responses);
        return (says(around.object, "response") || listed()).then_some(Family::Responses);
    }
    if there("content") && there("role") && there("type") && there("stop_reason") {
        let around: Around<'_> = quick::from_slice(record).ok()?;
        return says(around.r#type, "message").then_some(Family::Anthropic);
    }
    None
}

/// The API of a request with its response.
fn of_pair(record: &[u8]) -> Option<Family> {
    let around: Around<'_> = quick::from_slice(record).ok()?;
    let inner = |raw: Option<&RawValue>| {
        let raw = raw.filter(|raw| raw.get().starts_with('{'))?.get().as_bytes();
        let keys = crate::ingest::scan::top_keys(raw);
        let there = |key: &str| keys.iter().any(|found| found == key);
        of_response(raw, &there)
            .or_else(|| LISTS.iter().find(|key| there(key)).and_then(|list| of_list(raw, list)))
    };
    inner(around.response).or_else(|| inner(around.request))
}

/// The API of the list under a key, by the first of its messages that tells.
fn of_list(record: &[u8], key: &str) -> Option<Family> {
    let mut plain = false;
    for span in elements(record, key)?.take(LOOKED_AT) {
        let bytes = record.get(span.start..span.end)?;
        match mark(bytes) {
            Mark::Of(family) => return Some(family),
            Mark::Plain => plain = true,
            Mark::Foreign => return None,
            Mark::Unreadable => {}
        }
    }
    plain.then_some(Family::Chat)
}

/// What one message tells.
fn mark(message: &[u8]) -> Mark {
    let Ok(message) = quick::from_slice::<Message<'_>>(message) else {
        return Mark::Unreadable;
    };
    let others = [message.extra, message.source, message.message_type, message.lc, message.kind];
    if others.iter().any(Option::is_some) {
        return Mark::Foreign;
    }
    if message.finish_reason.is_some()
        && (message.content.is_some() || message.camel_calls.is_some())
    {
        return Mark::Of(Family::Vercel);
    }
    let Some(role) = message.role.and_then(text) else { return item(&message) };
    match role.as_ref() {
        "tool" => tool_message(&message),
        "function" if message.name.is_some() => Mark::Of(Family::Chat),
        "system" | "developer" | "user" | "assistant" => by_content(&message),
        _ => Mark::Foreign,
    }
}

/// What an item without a role tells: one of a response, if its type and fields are those of one.
fn item(message: &Message<'_>) -> Mark {
    let kind = message.r#type.and_then(text).unwrap_or_default();
    let known = match kind.as_ref() {
        "function_call" | "custom_tool_call" => message.call_id.is_some() || message.name.is_some(),
        "reasoning" => message.summary.is_some() || message.content.is_some(),
        "item_reference" => true,
        kind if kind.ends_with("_call_output") => message.call_id.is_some(),
        "web_search_call"
        | "file_search_call"
        | "code_interpreter_call"
        | "computer_call"
        | "mcp_call"
        | "local_shell_call"
        | "shell_call"
        | "apply_patch_call"
        | "image_generation_call"
        | "mcp_list_tools" => true,
        _ => false,
    };
    if known { Mark::Of(Family::Responses) } else { Mark::Foreign }
}

fn tool_message(message: &Message<'_>) -> Mark {
    match blocks(message.content).first().and_then(|block| block.r#type).and_then(text).as_deref() {
        Some("tool-result" | "tool-approval-response") => Mark::Of(Family::Vercel),
        _ if message.tool_call_id.is_some() || message.name.is_some() => Mark::Of(Family::Chat),
        _ => Mark::Foreign,
    }
}

fn blocks(content: Option<&RawValue>) -> Vec<Block<'_>> {
    content.filter(|raw| raw.get().starts_with('[')).and_then(read).unwrap_or_default()
}

fn by_content(message: &Message<'_>) -> Mark {
    if let Some(parts) = message.parts {
        // Gemini's parts have no type.
        let parts = blocks(Some(parts));
        let typed = !parts.is_empty() && parts.iter().all(|part| part.r#type.is_some());
        return if typed { Mark::Of(Family::Vercel) } else { Mark::Foreign };
    }
    if message.function_call.is_some() {
        return Mark::Of(Family::Chat);
    }
    if let Some(call) = message
        .tool_calls
        .and_then(read::<Vec<Call<'_>>>)
        .and_then(|calls| calls.into_iter().next())
    {
        let known = call.function.is_some() || call.custom.is_some();
        return if known { Mark::Of(Family::Chat) } else { Mark::Foreign };
    }
    for block in blocks(message.content) {
        let kind = block.r#type.and_then(text).unwrap_or_default();
        let family = match kind.as_ref() {
            "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "server_tool_use"
            | "mcp_tool_use" | "mcp_tool_result" | "document" | "search_result" => {
                Family::Anthropic
            }
            "image" if block.source.is_some() => Family::Anthropic,
            kind if kind.ends_with("_tool_result") => Family::Anthropic,
            "tool-call" | "tool-result" | "tool-approval-request" => Family::Vercel,
            "reasoning" if message.r#type.is_none() => Family::Vercel,
            "image_url" | "input_audio" | "refusal" => Family::Chat,
            "input_text" | "output_text" | "input_image" | "input_file" => Family::Responses,
            _ => continue,
        };
        return Mark::Of(family);
    }
    if message.stop_reason.is_some() && message.r#type.is_some() {
        return Mark::Of(Family::Anthropic);
    }
    Mark::Plain
}
