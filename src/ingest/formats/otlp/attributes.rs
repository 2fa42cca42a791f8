//! The names that the dialects give to one thing.
//!
//! Owns the alias table (GenAI conventions old and new, OpenInference, Traceloop, Vercel's
//! `ai.*`, Google's `gcp.vertex.agent.*`, Logfire, AgentOps) and what a span's kind says of it.
//! Refuses to read values; see `wire`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::wire::{self, Attributes, Value};
use crate::ingest::assemble::spans::{AskedCall, SpanClass};
use crate::ingest::formats::raw::Entries;

/// One thing that a figure reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ingest::formats) enum Slot {
    /// `gen_ai.operation.name`.
    Operation,
    /// `openinference.span.kind`.
    OpenInference,
    /// `traceloop.span.kind`, `agentops.span.kind`.
    Traceloop,
    /// `ai.operationId`.
    AiOperation,
    /// `llm.request.type`.
    RequestType,
    /// `mlflow.spanType`.
    Mlflow,
    /// `mlflow.chat.tokenUsage`: all counts in one object.
    Usage,
    ToolName,
    CallId,
    Arguments,
    Result,
    Model,
    Agent,
    Input,
    Output,
    CacheRead,
    CacheWrite,
    Total,
    Cost,
    ErrorType,
    ErrorMessage,
    Task,
    Session,
    /// Output messages with their tool calls.
    Messages,
    /// The text of an answer.
    Answer,
    ExceptionType,
    ExceptionMessage,
    ScoreName,
    ScoreValue,
    ScoreLabel,
    /// `traceloop.entity.name`, whose meaning depends on the kind.
    Entity,
    /// Signs of a protocol's span.
    Http,
    Rpc,
    Db,
}

const SLOTS: usize = Slot::Db as usize + 1;

/// The slot of an attribute and its rank among the names for it: 0 goes before 1.
fn slot(key: &str) -> Option<(Slot, u8)> {
    Some(match key {
        "gen_ai.operation.name" => (Slot::Operation, 0),
        "openinference.span.kind" => (Slot::OpenInference, 0),
        "traceloop.span.kind" => (Slot::Traceloop, 0),
        "agentops.span.kind" => (Slot::Traceloop, 1),
        "ai.operationId" => (Slot::AiOperation, 0),
        "llm.request.type" => (Slot::RequestType, 0),
        "mlflow.spanType" => (Slot::Mlflow, 0),
        "mlflow.chat.tokenUsage" => (Slot::Usage, 0),

        "gen_ai.tool.name" => (Slot::ToolName, 0),
        "tool.name" => (Slot::ToolName, 1),
        "ai.toolCall.name" => (Slot::ToolName, 2),
        "gen_ai.tool.call.id" => (Slot::CallId, 0),
        "ai.toolCall.id" => (Slot::CallId, 1),
        "tool_call.id" | "tool.id" => (Slot::CallId, 2),
        "gen_ai.tool.call.arguments" => (Slot::Arguments, 0),
        "ai.toolCall.args" => (Slot::Arguments, 1),
        "gcp.vertex.agent.tool_call_args" => (Slot::Arguments, 2),
        "tool_arguments" => (Slot::Arguments, 3),
        "traceloop.entity.input" => (Slot::Arguments, 4),
        "input.value" => (Slot::Arguments, 5),
        "mlflow.spanInputs" => (Slot::Arguments, 6),
        // `tool.parameters` is left out: some instrumentations write the tool's schema there.
        "gen_ai.tool.call.result" => (Slot::Result, 0),
        "ai.toolCall.result" => (Slot::Result, 1),
        "gcp.vertex.agent.tool_response" => (Slot::Result, 2),
        "tool_response" | "tool.result" => (Slot::Result, 3),
        "traceloop.entity.output" => (Slot::Result, 4),
        "output.value" => (Slot::Result, 5),
        "mlflow.spanOutputs" => (Slot::Result, 6),

        "gen_ai.response.model" => (Slot::Model, 0),
        "ai.response.model" | "llm.response.model_name" => (Slot::Model, 1),
        "llm.model_name" => (Slot::Model, 2),
        "gen_ai.request.model" => (Slot::Model, 3),
        "ai.model.id" | "llm.request.model" => (Slot::Model, 4),
        "mlflow.llm.model" => (Slot::Model, 5),
        "gen_ai.agent.name" => (Slot::Agent, 0),
        "agent.name" => (Slot::Agent, 1),
        "ai.telemetry.functionId" => (Slot::Agent, 2),
        "traceloop.workflow.name" => (Slot::Agent, 3),
        "gen_ai.agent.id" => (Slot::Agent, 4),
        "traceloop.entity.name" | "agentops.entity.name" => (Slot::Entity, 0),

        "gen_ai.usage.input_tokens" => (Slot::Input, 0),
        "gen_ai.usage.prompt_tokens" => (Slot::Input, 1),
        "llm.token_count.prompt" => (Slot::Input, 2),
        "llm.usage.prompt_tokens" => (Slot::Input, 3),
        "ai.usage.inputTokens" => (Slot::Input, 4),
        "ai.usage.promptTokens" => (Slot::Input, 5),
        "gen_ai.usage.output_tokens" => (Slot::Output, 0),
        "gen_ai.usage.completion_tokens" => (Slot::Output, 1),
        "llm.token_count.completion" => (Slot::Output, 2),
        "llm.usage.completion_tokens" => (Slot::Output, 3),
        "ai.usage.outputTokens" => (Slot::Output, 4),
        "ai.usage.completionTokens" => (Slot::Output, 5),
        "gen_ai.usage.cache_read.input_tokens" => (Slot::CacheRead, 0),
        "gen_ai.usage.cache_read_input_tokens" => (Slot::CacheRead, 1),
        "llm.token_count.prompt_details.cache_read" => (Slot::CacheRead, 2),
        "llm.usage.cache_read_input_tokens" => (Slot::CacheRead, 3),
        "ai.usage.inputTokenDetails.cacheReadTokens" => (Slot::CacheRead, 4),
        "ai.usage.cachedInputTokens" => (Slot::CacheRead, 5),
        "gen_ai.usage.cache_creation.input_tokens" => (Slot::CacheWrite, 0),
        "gen_ai.usage.cache_creation_input_tokens" => (Slot::CacheWrite, 1),
        "llm.token_count.prompt_details.cache_write" => (Slot::CacheWrite, 2),
        "llm.usage.cache_creation_input_tokens" => (Slot::CacheWrite, 3),
        "ai.usage.inputTokenDetails.cacheWriteTokens" => (Slot::CacheWrite, 4),
        "gen_ai.usage.total_tokens" => (Slot::Total, 0),
        "llm.token_count.total" => (Slot::Total, 1),
        "llm.usage.total_tokens" => (Slot::Total, 2),
        "ai.usage.totalTokens" => (Slot::Total, 3),
        "gen_ai.usage.cost" => (Slot::Cost, 0),
        "gen_ai.usage.total_cost" => (Slot::Cost, 1),
        "llm.cost.total" => (Slot::Cost, 2),

        "error.type" => (Slot::ErrorType, 0),
        "error.message" => (Slot::ErrorMessage, 0),
        "exception.type" => (Slot::ExceptionType, 0),
        "error.kind" => (Slot::ExceptionType, 1),
        "exception.message" => (Slot::ExceptionMessage, 0),
        "error.object" => (Slot::ExceptionMessage, 1),

        "gen_ai.task.id" => (Slot::Task, 0),
        "task.id" => (Slot::Task, 1),
        "task_id" => (Slot::Task, 2),
        "traceloop.association.properties.task_id" => (Slot::Task, 3),
        "gen_ai.conversation.id" => (Slot::Session, 0),
        "session.id" => (Slot::Session, 1),
        "langfuse.session.id" => (Slot::Session, 2),
        "traceloop.association.properties.session_id" => (Slot::Session, 3),

        "gen_ai.output.messages" => (Slot::Messages, 0),
        "ai.response.toolCalls" => (Slot::Messages, 1),
        "gcp.vertex.agent.llm_response" => (Slot::Messages, 2),
        "ai.response.text" => (Slot::Answer, 0),

        "gen_ai.evaluation.name" => (Slot::ScoreName, 0),
        "gen_ai.evaluation.score.value" => (Slot::ScoreValue, 0),
        "gen_ai.evaluation.score" => (Slot::ScoreValue, 1),
        "gen_ai.evaluation.score.label" => (Slot::ScoreLabel, 0),

        "http.request.method" | "http.method" | "http.url" | "url.full" => (Slot::Http, 0),
        "rpc.system" | "rpc.method" | "messaging.system" => (Slot::Rpc, 0),
        "db.system" | "db.system.name" | "db.statement" => (Slot::Db, 0),
        _ => return None,
    })
}

/// Whether an attribute of this name is read.
pub(in crate::ingest::formats) fn is_read(key: &str) -> bool {
    slot(key).is_some()
}

/// A value that is not read yet.
#[derive(Clone, Copy)]
struct Unread<'a> {
    /// Its rank among the names for one thing.
    rank: u8,
    /// Whether its JSON may stand in a text.
    in_text: bool,
    json: &'a str,
}

impl<'a> Unread<'a> {
    fn value(self) -> Option<Value<'a>> {
        if self.in_text { wire::value_in_text(self.json) } else { wire::value(self.json) }
    }
}

/// What a span's attributes say, values still unread.
pub(in crate::ingest::formats) struct Facts<'a> {
    slots: [Option<Unread<'a>>; SLOTS],
    /// Tool calls asked for under indexed keys, by the part of the key that names the call.
    indexed: BTreeMap<String, AskedCall>,
    /// Values that could not be read.
    pub(in crate::ingest::formats) undecodable: u64,
}

impl<'a> Facts<'a> {
    pub(in crate::ingest::formats) fn new() -> Self {
        Self { slots: [None; SLOTS], indexed: BTreeMap::new(), undecodable: 0 }
    }

    /// Sorts attributes into slots. The first of equal rank stays.
    pub(in crate::ingest::formats) fn take(&mut self, attributes: &Attributes<'a>) {
        for (key, raw) in &attributes.0 {
            self.take_one(key, raw.get(), false);
        }
    }

    /// The same for attributes whose values are JSON in texts. They are unpacked where they are
    /// read, which is never for most of them.
    pub(in crate::ingest::formats) fn take_in_texts(&mut self, attributes: &Entries<'a>) {
        for (key, raw) in &attributes.0 {
            self.take_one(key, raw.get(), true);
        }
    }

    fn take_one(&mut self, key: &str, json: &'a str, in_text: bool) {
        let is_null = || if in_text { wire::is_null_in_text(json) } else { json == "null" };
        if let Some((slot, rank)) = slot(key) {
            let held = &mut self.slots[slot as usize];
            // What is not there is not unreadable.
            if held.is_none_or(|held| rank < held.rank) && !is_null() {
                *held = Some(Unread { rank, in_text, json });
            }
        } else if let Some((call, is_id)) = indexed_call(key) {
            if is_null() {
                return;
            }
            let Some(value) = (Unread { rank: 0, in_text, json }).value() else { return };
            let call = self.indexed.entry(call.to_owned()).or_default();
            let text = Some(value.into_text().into_owned());
            *(if is_id { &mut call.id } else { &mut call.name }) = text;
        }
    }

    /// Puts JSON text of a format's own field in a slot, before any attribute.
    pub(in crate::ingest::formats) fn set(&mut self, slot: Slot, json: &'a str) {
        self.slots[slot as usize] = Some(Unread { rank: 0, in_text: false, json });
    }

    pub(in crate::ingest::formats) fn has(&self, slot: Slot) -> bool {
        self.slots[slot as usize].is_some()
    }

    /// The value in a slot; what cannot be read is counted.
    pub(in crate::ingest::formats) fn value(&mut self, slot: Slot) -> Option<Value<'a>> {
        let value = self.slots[slot as usize]?.value();
        self.undecodable += u64::from(value.is_none());
        value
    }

    /// The value as text, unless it is empty.
    pub(in crate::ingest::formats) fn text(&mut self, slot: Slot) -> Option<Cow<'a, str>> {
        self.value(slot).map(Value::into_text).filter(|text| !text.is_empty())
    }

    /// The value as a number that is finite and not below 0.
    pub(in crate::ingest::formats) fn number(&mut self, slot: Slot) -> Option<f64> {
        let value = self.value(slot)?;
        let number = value.number().filter(|number| number.is_finite() && *number >= 0.0);
        self.undecodable += u64::from(number.is_none());
        number
    }

    /// Tool calls asked for under indexed keys.
    pub(in crate::ingest::formats) fn take_indexed_calls(
        &mut self,
    ) -> impl Iterator<Item = AskedCall> + use<> {
        std::mem::take(&mut self.indexed).into_values()
    }

    /// What the span stands for. The dialects are asked from the most to the least specific.
    pub(in crate::ingest::formats) fn class(&mut self, name: &str) -> SpanClass {
        let by_word = [
            (Slot::Operation, of_operation as fn(&str) -> Option<SpanClass>),
            (Slot::OpenInference, of_openinference),
            (Slot::Traceloop, of_traceloop),
            (Slot::AiOperation, |word| Some(of_ai_operation(word))),
            (Slot::RequestType, of_request_type),
            (Slot::Mlflow, of_mlflow),
        ];
        for (slot, of) in by_word {
            if let Some(class) = self.text(slot).and_then(|word| of(&word)) {
                return class;
            }
        }
        if self.has(Slot::CallId) || self.has(Slot::ToolName) {
            return SpanClass::Tool;
        }
        if name == "call_llm" && self.has(Slot::Messages) {
            return SpanClass::Llm;
        }
        SpanClass::Other(match () {
            () if self.has(Slot::Http) => "http_span",
            () if self.has(Slot::Rpc) => "rpc_span",
            () if self.has(Slot::Db) => "db_span",
            () if self.has(Slot::ScoreName) => "evaluation_span",
            () => "other_span",
        })
    }
}

/// The part of an indexed key that names a tool call, and whether the key holds its id (else
/// its name).
fn indexed_call(key: &str) -> Option<(&str, bool)> {
    if !key.starts_with("gen_ai.completion.") && !key.starts_with("llm.output_messages.") {
        return None;
    }
    if !key.contains(".tool_calls.") {
        return None;
    }
    let (call, field) = key.rsplit_once('.')?;
    match field {
        "id" => Some((call, true)),
        "name" => Some((call.strip_suffix(".function").unwrap_or(call), false)),
        _ => None,
    }
}

fn of_operation(word: &str) -> Option<SpanClass> {
    Some(match word {
        "execute_tool" => SpanClass::Tool,
        "chat" | "generate_content" | "text_completion" | "completion" => SpanClass::Llm,
        "invoke_agent" => SpanClass::Agent,
        "invoke_workflow" | "agent_step" | "plan" => SpanClass::Chain,
        "retrieval" => SpanClass::Retrieval,
        "embeddings" => SpanClass::Other("embedding_span"),
        "create_agent" => SpanClass::Other("create_agent_span"),
        memory if memory.ends_with("_memory") => SpanClass::Other("memory_span"),
        _ => return None,
    })
}

/// Of MLflow's span types; each is JSON in a text.
fn of_mlflow(word: &str) -> Option<SpanClass> {
    Some(match word.trim_matches('"').to_ascii_uppercase().as_str() {
        "CHAT_MODEL" => SpanClass::Llm,
        "CHAIN" | "WORKFLOW" | "TASK" | "UNKNOWN" | "PARSER" => SpanClass::Chain,
        "MEMORY" => SpanClass::Other("memory_span"),
        other => return of_openinference(other),
    })
}

pub(in crate::ingest::formats) fn of_openinference(word: &str) -> Option<SpanClass> {
    Some(match word.to_ascii_uppercase().as_str() {
        "TOOL" => SpanClass::Tool,
        "LLM" => SpanClass::Llm,
        "AGENT" => SpanClass::Agent,
        "CHAIN" => SpanClass::Chain,
        "RETRIEVER" => SpanClass::Retrieval,
        "RERANKER" => SpanClass::Other("reranker_span"),
        "EMBEDDING" => SpanClass::Other("embedding_span"),
        "GUARDRAIL" => SpanClass::Other("guardrail_span"),
        "EVALUATOR" => SpanClass::Other("evaluation_span"),
        "PROMPT" => SpanClass::Other("prompt_span"),
        _ => return None,
    })
}

fn of_traceloop(word: &str) -> Option<SpanClass> {
    Some(match word.to_ascii_lowercase().as_str() {
        "tool" => SpanClass::Tool,
        "agent" => SpanClass::Agent,
        "workflow" | "task" | "session" | "operation" => SpanClass::Chain,
        "llm" => SpanClass::Llm,
        _ => return None,
    })
}

fn of_ai_operation(word: &str) -> SpanClass {
    if word == "ai.toolCall" {
        SpanClass::Tool
    } else if word.starts_with("ai.embed") {
        SpanClass::Other("embedding_span")
    } else if word.ends_with(".doGenerate") || word.ends_with(".doStream") {
        SpanClass::Llm
    } else {
        SpanClass::Agent
    }
}

fn of_request_type(word: &str) -> Option<SpanClass> {
    Some(match word {
        "chat" | "completion" => SpanClass::Llm,
        "embedding" => SpanClass::Other("embedding_span"),
        "rerank" => SpanClass::Other("reranker_span"),
        _ => return None,
    })
}
