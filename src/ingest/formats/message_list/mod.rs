//! Lists of messages as model APIs take and give them: what `openai-chat`, `openai-responses`,
//! `anthropic` and `vercel-ai` share.
//!
//! Owns: how a record is cut into runs (one list, an object around it, a response of the API, a
//! request with its response, or an array of these), and the walk over each. Refuses: what a
//! message means, which is each [`Api`]'s own, and a message that stands alone in its record: of
//! which run it is, nothing says.

mod conversation;
mod family;
pub(in crate::ingest) mod history;
mod result;
mod usage;
mod wrapper;

use serde_json::value::RawValue;

pub(super) use conversation::{Conversation, Said, Verdict};
pub(super) use family::{Family, is_of};
pub(super) use result::error_value;
pub(super) use usage::tokens;

use self::wrapper::{Source, Wrapper};
use super::raw::{offset_in, raw_fields, read};
use super::{Parsed, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{Issue, Place, Severity, Trajectory};

/// What is particular to one API.
pub(super) struct Api {
    /// Adds one element of a list.
    pub(super) message: for<'a> fn(&mut Conversation<'a>, &'a RawValue),
    /// Adds what a response of the API holds; false where the value is no response. The flag says
    /// that it stands under `response`, where a message alone is one too.
    pub(super) response: for<'a> fn(&mut Conversation<'a>, &'a RawValue, bool) -> bool,
}

raw_fields! {
    /// What tells a message from an object around messages.
    Element { role, r#type = "type", stop_reason, messages, choices, request, response, steps,
        input, items, finish_reason = "finishReason", content, tool_calls = "toolCalls" }
}

impl Element<'_> {
    /// Whether it is one message, item or step of a list, not a run of its own.
    fn is_part(&self) -> bool {
        let around =
            [self.messages, self.choices, self.request, self.response, self.steps, self.items];
        let listed = self.input.is_some_and(|input| input.get().starts_with('['));
        if listed || around.iter().any(Option::is_some) {
            return false;
        }
        self.role.is_some()
            || self.r#type.is_some()
            || (self.finish_reason.is_some()
                && (self.content.is_some() || self.tool_calls.is_some()))
    }

    /// Whether it is a whole response of the Messages API, which may stand in a list too.
    fn is_reply(&self) -> bool {
        self.stop_reason.is_some() && self.r#type.is_some_and(|kind| kind.get() == "\"message\"")
    }
}

/// Reads the runs of one record.
pub(super) fn read_runs<'r>(
    record: &Record<'r>,
    options: &ReadOptions,
    api: &Api,
) -> Result<Parsed<'r>, Refusal> {
    let walk = Walk { record, options, api };
    let mut parsed = Parsed::default();
    if record.bytes.trim_ascii_start().first() != Some(&b'[') {
        let raw: &RawValue = quick::from_slice(record.bytes)?;
        let run = walk.object(raw, &mut parsed.issues)?;
        parsed.runs.push(run);
        return Ok(parsed);
    }
    let elements: Vec<&RawValue> = quick::from_slice(record.bytes)?;
    if walk.is_one_run(&elements) {
        let run = walk.list(record.place, &elements, &mut parsed.issues)?;
        parsed.runs.push(run);
        return Ok(parsed);
    }
    let mut first = None;
    let mut before: Option<&RawValue> = None;
    for raw in elements {
        if before
            .is_some_and(|before| history::repeats(before.get().as_bytes(), raw.get().as_bytes()))
        {
            parsed.issues.push(history::told(walk.place(raw), 1));
        }
        before = Some(raw);
        match walk.element(raw, &mut parsed.issues) {
            Ok(run) => parsed.runs.push(run),
            Err(refusal) => {
                let issue = Issue::rejected(refusal.code, walk.place(raw), refusal.message.clone());
                parsed.issues.push(issue);
                first.get_or_insert(refusal);
            }
        }
    }
    match first {
        Some(refusal) if parsed.runs.is_empty() => Err(refusal),
        _ => Ok(parsed),
    }
}

/// One record on its way to runs.
struct Walk<'w, 'r> {
    record: &'w Record<'r>,
    options: &'w ReadOptions,
    api: &'w Api,
}

impl<'r> Walk<'_, 'r> {
    /// Where a part of the record stands.
    fn place(&self, raw: &RawValue) -> Place {
        let place = self.record.place;
        Place { byte: place.byte + offset_in(self.record.bytes, raw), ..place }
    }

    /// Whether the elements of an array are the messages of one run.
    fn is_one_run(&self, elements: &[&RawValue]) -> bool {
        let mut replies = 0;
        let mut known = None;
        for element in elements {
            let Some(element) = read::<Element<'_>>(element) else { continue };
            known = known.or(Some(element.is_part()));
            if !element.is_reply() {
                return known == Some(true);
            }
            replies += 1;
        }
        // Responses alone are a run each, as their requests are not recorded.
        replies == 0
    }

    /// A run that is an element of an array.
    fn element(
        &self,
        raw: &'r RawValue,
        issues: &mut Vec<Issue>,
    ) -> Result<Trajectory<'r>, Refusal> {
        match read::<Vec<&'r RawValue>>(raw) {
            Some(list) => self.list(self.place(raw), &list, issues),
            None => self.object(raw, issues),
        }
    }

    /// A run that is a list alone.
    fn list(
        &self,
        place: Place,
        list: &[&'r RawValue],
        issues: &mut Vec<Issue>,
    ) -> Result<Trajectory<'r>, Refusal> {
        let mut talk = Conversation::new(place, self.options);
        self.messages(&mut talk, list)?;
        Ok(talk.finish(&Wrapper::default(), Source::Around, issues))
    }

    fn messages(&self, talk: &mut Conversation<'r>, list: &[&'r RawValue]) -> Result<(), Refusal> {
        if list.is_empty() {
            return Err(Refusal::of("no_messages", "the list of messages is empty"));
        }
        for raw in list {
            if raw.get().starts_with('{') {
                (self.api.message)(talk, raw);
            } else {
                talk.count("unreadable_message", Severity::Rejected, "a message is no object");
            }
        }
        Ok(())
    }

    /// A run that is an object: around a list, a response, or both.
    fn object(
        &self,
        raw: &'r RawValue,
        issues: &mut Vec<Issue>,
    ) -> Result<Trajectory<'r>, Refusal> {
        let wrapper: Wrapper<'r> = quick::from_str(raw.get())?;
        let request = wrapper.request.and_then(read::<Wrapper<'r>>).unwrap_or_default();
        let mut talk = Conversation::new(self.place(raw), self.options);
        talk.take_model(request.model);
        let list = wrapper.list().or_else(|| request.list());
        if let Some(list) = &list {
            self.messages(&mut talk, list)?;
        }
        let outer = wrapper.response.filter(|response| response.get().starts_with('{'));
        // Most objects around a list hold no response, and are not read through again for one.
        let holds = [wrapper.choices, wrapper.content, wrapper.output];
        let may = list.is_none() || outer.is_some() || holds.iter().any(Option::is_some);
        let responded =
            may && (self.api.response)(&mut talk, outer.unwrap_or(raw), outer.is_some());
        if list.is_none() && !responded {
            let alone = read::<Element<'_>>(raw).is_some_and(|element| element.is_part());
            return Err(match alone {
                true => Refusal::of(
                    "message_alone",
                    "the record is one message, and nothing says of which run: put the messages of a run into one array",
                ),
                false => Refusal::of(
                    "no_messages",
                    "the record has no list of messages (`messages`, `input`, `items` or `steps`) and is no response",
                ),
            });
        }
        let source = match responded && outer.is_none() {
            true => Source::Response,
            false => Source::Around,
        };
        Ok(talk.finish(&wrapper, source, issues))
    }
}
