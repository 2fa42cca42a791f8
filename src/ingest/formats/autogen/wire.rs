//! AutoGen's messages as written, and what each of its wrappings holds.
//!
//! Owns: the names of types and keys, the flattening of a saved team into one list, and the
//! signature by which two records of one message are known to be the same. Refuses to judge.

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use crate::ingest::formats::message_dumps::{id_hash, words};
use crate::ingest::formats::raw::{Entries, label, raw_fields, read, text};

raw_fields! {
    /// A message or event of agentchat, or a message of core.
    Message { kind = "type", source, content, models_usage, created_at, id }
}
raw_fields! {
    /// A request that a recording client wrote down.
    Recorded { mode, messages, response, stream }
}
raw_fields! {
    /// What the model answered to it.
    Response { content, usage, finish_reason }
}
raw_fields! {
    /// What holds messages.
    Holder {
        messages, stop_reason, kind = "type", agent_states, agent_state, llm_context,
        message_thread, inner_team_state, chat_message, inner_messages, mode,
    }
}
raw_fields! {
    /// A call, or the result of one, inside a message's content.
    Item { id, name, arguments, call_id, content, is_error }
}
raw_fields! { Usage { prompt_tokens, completion_tokens } }

/// The message, if it is one of AutoGen's.
pub(super) fn message(raw: &RawValue) -> Option<Message<'_>> {
    raw.get().starts_with('{').then_some(())?;
    let message: Message<'_> = read(raw)?;
    let kind = message.kind.and_then(text)?;
    let named = kind.ends_with("Message") || kind.ends_with("Event") || kind.ends_with(']');
    (named && message.content.is_some()).then_some(message)
}

/// The recorded request, if it is one.
pub(super) fn recorded(raw: &RawValue) -> Option<Recorded<'_>> {
    raw.get().starts_with('{').then_some(())?;
    let recorded: Recorded<'_> = read(raw)?;
    (recorded.mode.is_some() && recorded.messages.is_some()).then_some(recorded)
}

/// What the model answered to a recorded request; a streamed answer ends with it.
pub(super) fn response<'r>(recorded: &Recorded<'r>) -> Option<Response<'r>> {
    let whole = recorded.response.filter(|response| response.get().starts_with('{'));
    let streamed = || {
        let chunks: Vec<&'r RawValue> = recorded.stream.and_then(read)?;
        chunks.into_iter().rev().find(|chunk| chunk.get().starts_with('{'))
    };
    read(whole.or_else(streamed)?)
}

/// The calls or results in a message's content; empty where it is a text.
pub(super) fn items<'r>(content: Option<&'r RawValue>) -> Vec<Item<'r>> {
    let Some(content) = content.filter(|content| content.get().starts_with('[')) else {
        return Vec::new();
    };
    let items: Vec<&'r RawValue> = read(content).unwrap_or_default();
    items.into_iter().filter(|item| item.get().starts_with('{')).filter_map(read).collect()
}

/// Whether a message is what an agent's model said, not what was said to it.
pub(super) fn is_of_model(kind: &str) -> bool {
    matches!(kind, "ToolCallRequestEvent" | "AssistantMessage")
}

/// Whether a message holds results of calls.
pub(super) fn is_of_tools(kind: &str) -> bool {
    matches!(kind, "ToolCallExecutionEvent" | "FunctionExecutionResultMessage")
}

/// By what two records of one message are known: the ids of its calls, or who said what. `None` for
/// what is said to a model, which no figure reads.
pub(super) fn signature(message: &Message<'_>) -> Option<u64> {
    let kind = message.kind.and_then(text)?;
    if matches!(kind.as_ref(), "UserMessage" | "SystemMessage") {
        return None;
    }
    let items = items(message.content);
    let mut key = String::new();
    for item in &items {
        let (side, id) = match item.call_id {
            Some(id) => ('r', Some(id)),
            None => ('c', item.id),
        };
        key.push(side);
        key.push_str(&id.and_then(label).unwrap_or_default());
        key.push('\u{1f}');
    }
    if items.is_empty() {
        key.push('t');
        key.push_str(&message.source.and_then(label).unwrap_or_default());
        key.push('\u{1f}');
        key.push_str(&message.content.map(words).unwrap_or_default());
    }
    Some(id_hash(&key))
}

/// Deepest nesting of teams that is followed.
const DEEPEST: usize = 16;

/// The messages that an object holds.
pub(super) fn list_in(object: &RawValue) -> Option<Vec<&RawValue>> {
    object.get().starts_with('{').then_some(())?;
    let holder: Holder<'_> = read(object)?;
    if holder.mode.is_some() {
        return None; // a recorded request, which may have failed to answer
    }
    if let Some(messages) = holder.messages {
        return read(messages);
    }
    if let Some(last) = holder.chat_message {
        let mut messages: Vec<&RawValue> = holder.inner_messages.and_then(read).unwrap_or_default();
        messages.push(last);
        return Some(messages);
    }
    let is_state = holder.agent_states.is_some()
        || holder.agent_state.is_some()
        || holder.llm_context.is_some()
        || holder.message_thread.is_some();
    is_state.then(|| team(object))
}

/// The messages of a saved team or agent, each once: in the order of the team's thread, and what
/// only an agent's own context holds before the message that follows it there.
fn team(state: &RawValue) -> Vec<&RawValue> {
    let (mut threads, mut contexts) = (Vec::new(), Vec::new());
    let mut open = vec![(state, 0_usize)];
    while let Some((state, depth)) = open.pop() {
        let holder = state.get().starts_with('{').then(|| read::<Holder<'_>>(state)).flatten();
        let (Some(holder), true) = (holder, depth <= DEEPEST) else { continue };
        if let Some(thread) = holder.message_thread.and_then(read::<Vec<&RawValue>>) {
            threads.push(thread);
        }
        let context = holder.llm_context.and_then(read::<Holder<'_>>).and_then(|c| c.messages);
        if let Some(context) = context.and_then(read::<Vec<&RawValue>>) {
            contexts.push(context);
        }
        let members = holder.agent_states.and_then(read::<Entries<'_>>).unwrap_or_default();
        // The last that is pushed is looked at first.
        open.extend(members.0.into_iter().rev().map(|(_, member)| (member, depth + 1)));
        let inner = [holder.inner_team_state, holder.agent_state].into_iter().flatten();
        open.extend(inner.map(|inner| (inner, depth + 1)));
    }
    threads.append(&mut contexts);
    merged(&threads)
}

/// A message by its signature and by how often that came before in its list.
type Key = (u64, u32);

/// Signed messages of one list, in order.
fn signed<'r>(list: &[&'r RawValue]) -> Vec<(Key, &'r RawValue)> {
    let mut nth: HashMap<u64, u32> = HashMap::new();
    list.iter()
        .filter_map(|raw| {
            let signature = signature(&message(raw)?)?;
            let count = nth.entry(signature).or_default();
            *count += 1;
            Some(((signature, *count), *raw))
        })
        .collect()
}

/// Lists that partly say the same, as one: the first gives the order, and a message stands behind
/// all that any list has before it, as far as the lists agree.
fn merged<'r>(lists: &[Vec<&'r RawValue>]) -> Vec<&'r RawValue> {
    let lists: Vec<Vec<(Key, &'r RawValue)>> = lists.iter().map(|list| signed(list)).collect();
    let mut anchors: HashMap<Key, Vec<(usize, usize)>> = HashMap::new();
    for (which, list) in lists.iter().enumerate() {
        for (at, (key, _)) in list.iter().enumerate() {
            anchors.entry(*key).or_default().push((which, at));
        }
    }
    let mut done = vec![0_usize; lists.len()];
    let mut walked = vec![false; lists.len()];
    let (mut out, mut seen) = (Vec::new(), HashSet::new());
    for (first, list) in lists.iter().enumerate() {
        let mut open = vec![Walk { list: first, end: list.len(), anchor: 0 }];
        while let Some(walk) = open.last_mut() {
            let which = walk.list;
            let next = done[which];
            let Some((key, raw)) = lists[which].get(next).filter(|_| next < walk.end) else {
                walked[which] = false;
                open.pop();
                continue;
            };
            walked[which] = true;
            let places = anchors.get(key).map(Vec::as_slice).unwrap_or_default();
            if !seen.contains(key)
                && let Some((other, at)) = places.get(walk.anchor).copied()
            {
                // Another list may have something before this message that comes first.
                walk.anchor += 1;
                if !walked[other] && done[other] < at {
                    open.push(Walk { list: other, end: at, anchor: 0 });
                }
                continue;
            }
            if seen.insert(*key) {
                out.push(*raw);
            }
            walk.anchor = 0;
            done[which] = next + 1;
        }
    }
    out
}

/// A list that is walked up to one of its messages, and the next place of its current message in
/// other lists that is looked at.
struct Walk {
    list: usize,
    end: usize,
    anchor: usize,
}

#[cfg(test)]
mod tests {
    use super::{list_in, merged};
    use serde_json::value::RawValue;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn what_two_agents_hold_is_listed_once_and_in_the_order_of_the_thread() {
        let said = |who: &str, what: &str| {
            raw(&format!(r#"{{"type":"TextMessage","source":"{who}","content":"{what}"}}"#))
        };
        let (a, b, c) = (said("x", "a"), said("x", "b"), said("y", "c"));
        let lists = [vec![&*a, &*c], vec![&*b, &*c], vec![&*a, &*b]];
        let texts: Vec<_> = merged(&lists).iter().map(|raw| raw.get().to_owned()).collect();
        assert_eq!(texts, [a.get(), b.get(), c.get()]);
        assert!(merged(&[]).is_empty());
    }

    #[test]
    fn teams_in_teams_are_followed_to_a_bounded_depth() {
        let deep = format!(
            "{}{}{}",
            r#"{"agent_state":"#.repeat(100),
            r#"{"llm_context":{"messages":[]}}"#,
            "}".repeat(100)
        );
        assert_eq!(list_in(&raw(&deep)).map(|list| list.len()), Some(0));
    }
}
