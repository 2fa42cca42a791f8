//! AutoGen: results of tasks, lists of events or messages, saved teams, and recorded requests.
//!
//! Owns which messages are turns and which hold calls or results, in the types of agentchat
//! (`ToolCallRequestEvent`, ...) and of core (`AssistantMessage`, ...). Refuses to read success from
//! `stop_reason`: it says how a run stopped, never whether it did what it should.

mod wire;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::evidence::{hidden_error, told_error};
use super::message_dumps::{
    self, Dialect, Ids, List, Listed, MessageLists, arguments, delivered, id_hash, opens_with,
    tell_repeated, tell_unreadable, words,
};
use super::raw::{is_true, label, read, stamp, text};
use super::transcript::{Answer, Call, Transcript, Turn};
use super::{Format, Probe, Reader};
use crate::config::ReadOptions;
use crate::ingest::assemble::main_model;
use crate::ingest::quick;
use crate::model::{ErrorOrigin, Issue, Stamp, Tokens, Trajectory};
use wire::{Holder, Message, Recorded, Usage};

/// AutoGen messages.
pub const AUTOGEN: Format = Format {
    name: "autogen",
    about: "AutoGen task results, messages, saved teams and recorded sessions",
    detect,
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Parts(|options| Box::new(MessageLists::new(DIALECT, options))),
    archive: None,
    misspelt: None,
};

const DIALECT: Dialect = Dialect { list_in: wire::list_in, is_message, read: read_list };

fn is_message(raw: &RawValue) -> bool {
    wire::message(raw).is_some() || wire::recorded(raw).is_some()
}

fn detect(probe: &Probe<'_>) -> bool {
    const LISTS: [&str; 2] = ["messages", "inner_messages"];
    if probe.any_has(&["type", "agent_states"]) || probe.any_has(&["type", "llm_context"]) {
        return true;
    }
    opens_with(probe, &LISTS, &["type", "mode"], claims)
}

/// Types of core messages that open a list and that no one else writes.
const CORE: [&str; 4] =
    ["UserMessage", "SystemMessage", "AssistantMessage", "FunctionExecutionResultMessage"];

/// Whether these bytes are a message that only AutoGen writes.
fn claims(bytes: &[u8]) -> bool {
    let Ok(raw) = quick::from_slice::<&RawValue>(bytes) else { return false };
    if let Some(recorded) = wire::recorded(raw) {
        let mode = recorded.mode.and_then(text);
        return mode.is_some_and(|mode| mode == "create" || mode == "create_stream");
    }
    let Some(message) = wire::message(raw) else { return false };
    let kind = message.kind.and_then(text).unwrap_or_default();
    let is_core = CORE.contains(&kind.as_ref());
    is_core || (message.source.is_some() && raw.get().contains("\"models_usage\""))
}

/// One list while it is read.
struct Reading<'r> {
    run: Transcript<'r>,
    agents: Vec<Cow<'r, str>>,
    ids: Ids<'r>,
    /// Messages of histories that recorded requests repeat, with how often each came.
    known: HashSet<(u64, u32)>,
    /// Calls that wait, by id.
    waiting: HashMap<Cow<'r, str>, u32>,
    started_at: Option<Stamp<'r>>,
    ended_at: Option<Stamp<'r>>,
    output: Option<Cow<'r, str>>,
    finish_reason: Option<Cow<'r, str>>,
    messages: u64,
    unreadable: u64,
    repeated: u64,
}

fn read_list<'r>(
    list: &List<'r>,
    options: &ReadOptions,
    issues: &mut Vec<Issue>,
) -> Vec<Listed<'r>> {
    let mut reading = Reading {
        run: Transcript::new(list.place, options),
        agents: Vec::new(),
        ids: Ids::default(),
        known: HashSet::new(),
        waiting: HashMap::new(),
        started_at: None,
        ended_at: None,
        output: None,
        finish_reason: None,
        messages: 0,
        unreadable: 0,
        repeated: 0,
    };
    for raw in &list.messages {
        if let Some(recorded) = wire::recorded(raw) {
            reading.recorded(&recorded);
        } else if let Some(message) = wire::message(raw) {
            reading.once(&message);
        } else {
            reading.unreadable += 1;
        }
    }
    if reading.messages == 0 {
        return Vec::new();
    }
    tell_unreadable(reading.unreadable, list.place, issues);
    let rule = "messages that another record of the list holds too count once";
    tell_repeated(reading.repeated, rule, list.place, issues);
    let holder = list.wrapper.and_then(read::<Holder<'r>>).unwrap_or_default();
    vec![reading.finish(list, holder.stop_reason.and_then(text), issues)]
}

impl<'r> Reading<'r> {
    /// A recorded request: what is new in its history, then its answer.
    fn recorded(&mut self, recorded: &Recorded<'r>) {
        self.ids.take(None);
        self.messages += 1;
        let history: Vec<&'r RawValue> = recorded.messages.and_then(read).unwrap_or_default();
        let mut nth: HashMap<u64, u32> = HashMap::new();
        for raw in history {
            let Some(message) = wire::message(raw) else {
                self.unreadable += 1;
                continue;
            };
            let Some(signature) = history_signature(&message) else { continue };
            let count = nth.entry(signature).or_default();
            *count += 1;
            let is_new = self.known.insert((signature, *count));
            // A result is new where its call waits, whatever was answered under that id before.
            if is_new || self.answers_a_waiting_call(&message) {
                self.take(&message);
            } else {
                self.repeated += 1;
            }
        }
        let Some(response) = wire::response(recorded) else { return };
        let answer = Message { content: response.content, ..Message::default() };
        if let Some(signature) = history_signature(&answer) {
            // The next request repeats the answer at the end of its history.
            let count = nth.get(&signature).copied().unwrap_or_default() + 1;
            self.known.insert((signature, count));
        }
        self.finish_reason = response.finish_reason.and_then(label);
        let usage = response.usage;
        self.turn(&answer, usage);
    }

    fn answers_a_waiting_call(&self, message: &Message<'r>) -> bool {
        wire::items(message.content).iter().any(|item| {
            let id = item.call_id.and_then(label);
            id.is_some_and(|id| self.waiting.get(&id).is_some_and(|open| *open > 0))
        })
    }

    /// A message of a plain list; one whose id came before is a copy.
    fn once(&mut self, message: &Message<'r>) {
        let kind = message.kind.and_then(text).unwrap_or_default();
        if kind == "ModelClientStreamingChunkEvent" {
            // Pieces of a message that follows as a whole.
            self.messages += 1;
            return;
        }
        if !self.ids.take(message.id.and_then(text)) {
            self.repeated += 1;
            return;
        }
        self.messages += 1;
        self.take(message);
    }

    fn take(&mut self, message: &Message<'r>) {
        let kind = message.kind.and_then(text).unwrap_or_default();
        let at = message.created_at.and_then(stamp);
        if self.started_at.is_none() {
            self.started_at.clone_from(&at);
        }
        self.ended_at = at.clone().or(self.ended_at.take());
        if wire::is_of_tools(&kind) {
            self.results(message, at.as_ref());
            return;
        }
        let source = message.source.and_then(text);
        let of_user = source.as_deref().is_some_and(|who| who.eq_ignore_ascii_case("user"));
        let is_text = kind.ends_with("Message") || kind.ends_with(']');
        let made_without_model = matches!(
            kind.as_ref(),
            "UserMessage"
                | "SystemMessage"
                | "ToolCallSummaryMessage"
                | "HandoffMessage"
                | "StopMessage"
        );
        let says = is_text && !of_user && !made_without_model;
        if wire::is_of_model(&kind) || message.models_usage.is_some() || says {
            self.turn(message, message.models_usage);
        } else if is_text && !of_user && kind != "UserMessage" && kind != "SystemMessage" {
            self.output = message.content.map(words);
        }
    }

    /// What a model said, and the calls in it.
    fn turn(&mut self, message: &Message<'r>, usage: Option<&'r RawValue>) {
        let at = message.created_at.and_then(stamp);
        self.agents.extend(message.source.and_then(text));
        self.run.turn(Turn {
            content: message.content.map(|content| Cow::Borrowed(content.get())),
            tokens: usage.and_then(tokens),
            at: at.clone(),
            ..Turn::default()
        });
        let calls = wire::items(message.content);
        let calls = calls.into_iter().filter(|item| item.call_id.is_none() && item.name.is_some());
        let mut called = false;
        for call in calls {
            called = true;
            let id = call.id.and_then(label);
            if let Some(id) = &id {
                *self.waiting.entry(id.clone()).or_default() += 1;
            }
            self.run.call(Call {
                id,
                name: call.name.and_then(label),
                arguments: arguments(call.arguments),
                at: at.clone(),
                ..Call::default()
            });
        }
        if !called {
            self.output = message.content.map(words).filter(|said| !said.is_empty());
        }
    }

    fn results(&mut self, message: &Message<'r>, at: Option<&Stamp<'r>>) {
        for result in wire::items(message.content) {
            let id = result.call_id.and_then(label);
            if let Some(open) = id.as_ref().and_then(|id| self.waiting.get_mut(id)) {
                *open = open.saturating_sub(1);
            }
            let said = result.content.map(words);
            let error = match is_true(result.is_error) {
                true => Some(told_error(said.clone(), ErrorOrigin::Flag)),
                false => said.as_deref().and_then(hidden_error),
            };
            self.run.answer(Answer {
                id,
                name: result.name.and_then(label),
                content: said,
                error,
                at: at.cloned(),
                ..Answer::default()
            });
        }
    }

    fn finish(
        self,
        list: &List<'r>,
        stop_reason: Option<Cow<'r, str>>,
        issues: &mut Vec<Issue>,
    ) -> Listed<'r> {
        let end_reason = stop_reason.or(self.finish_reason);
        let run = Trajectory {
            place: list.place,
            agent: main_model(self.agents.iter().map(AsRef::as_ref)).map(Cow::Owned),
            final_output: delivered(end_reason.as_deref(), self.output.as_deref()),
            end_reason,
            started_at: self.started_at,
            ended_at: self.ended_at,
            attempts: self.run.finish(issues),
            ..Trajectory::default()
        };
        Listed { run, ids: self.ids.of_list() }
    }
}

/// By what a message of a history is known again; the answer of a model has no source there yet.
fn history_signature(message: &Message<'_>) -> Option<u64> {
    if message.kind.is_none() || message.kind.and_then(text)?.as_ref() == "AssistantMessage" {
        let content = message.content?;
        let items = wire::items(Some(content));
        if items.is_empty() {
            return Some(id_hash(&words(content)));
        }
        let ids = items.iter().filter_map(|item| item.id.and_then(label));
        let ids: Vec<Cow<'_, str>> = ids.collect();
        return Some(id_hash(&format!("calls {}", ids.join("\u{1f}"))));
    }
    wire::signature(message)
}

fn tokens(usage: &RawValue) -> Option<Tokens> {
    let usage: Usage<'_> = read(usage)?;
    message_dumps::tokens(usage.prompt_tokens, usage.completion_tokens)
}

#[cfg(test)]
mod tests {
    use super::history_signature;
    use super::wire::Message;

    #[test]
    fn an_answer_is_known_again_in_the_next_history() {
        let answer = r#"{"content":"yes"}"#;
        let again = r#"{"type":"AssistantMessage","source":"a","content":"yes"}"#;
        let read = |json| serde_json::from_str::<Message<'_>>(json).unwrap();
        assert_eq!(history_signature(&read(answer)), history_signature(&read(again)));
        let asked = r#"{"type":"UserMessage","source":"a","content":"yes"}"#;
        assert_eq!(history_signature(&read(asked)), None);
    }
}
