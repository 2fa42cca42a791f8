//! What the outputs of a run tell: usage, model, calls asked for, and an error that only the
//! tool's own message shows.
//!
//! Owns the shapes of outputs: LangChain's generations and messages, and the answers of model
//! providers that the SDKs wrap.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::evidence::{exception_class, flagged_error};
use super::super::otlp::usage::{counts, split};
use super::super::raw::{label, number, raw_fields, read, text};
use crate::ingest::assemble::spans::AskedCall;
use crate::model::{ErrorInfo, ErrorOrigin, Tokens};

raw_fields! {
    /// The outputs of a run.
    Outputs { generations, usage_metadata, usage, llm_output, model, choices, output }
}

raw_fields! {
    /// What a model's integration adds.
    LlmOutput { model_name, token_usage }
}

raw_fields! {
    /// One generation or choice.
    Generation { message }
}

raw_fields! {
    /// A message: plain, or as LangChain serialises its objects (then all is in `kwargs`).
    Message {
        kwargs, content, tool_calls, usage_metadata, response_metadata, status, tool_call_id,
    }
}

raw_fields! {
    /// What a provider adds to its message.
    ResponseMetadata { model_name, model }
}

raw_fields! {
    /// A call asked for, in LangChain's form or OpenAI's.
    Call { id, name, function }
}

raw_fields! {
    /// The called function in OpenAI's form.
    Function { name }
}

raw_fields! {
    /// Usage in OpenAI's words; cached tokens are part of the prompt.
    Usage { prompt_tokens, completion_tokens, prompt_tokens_details }
}

raw_fields! {
    /// Parts of the prompt.
    PromptDetails { cached_tokens }
}

/// What outputs tell.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) tokens: Option<Tokens>,
    pub(super) model: Option<String>,
    pub(super) calls: Vec<AskedCall>,
    pub(super) soft_error: Option<ErrorInfo<'static>>,
    pub(super) call_id: Option<String>,
}

impl Outcome {
    /// Takes over what later outputs tell.
    pub(super) fn update(&mut self, later: Self) {
        self.tokens = later.tokens.or(self.tokens);
        self.model = later.model.or(self.model.take());
        self.soft_error = later.soft_error.or(self.soft_error.take());
        self.call_id = later.call_id.or(self.call_id.take());
        if !later.calls.is_empty() {
            self.calls = later.calls;
        }
    }
}

fn word(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(label).map(Cow::into_owned).filter(|word| !word.is_empty())
}

/// Reads outputs; those of an unknown shape tell nothing.
pub(super) fn read_outputs(raw: &RawValue) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(outputs) = read::<Outputs<'_>>(raw) else { return outcome };
    let extra: LlmOutput<'_> = outputs.llm_output.and_then(read).unwrap_or_default();
    outcome.model = word(outputs.model).or_else(|| word(extra.model_name));
    for generation in generations(outputs.generations).into_iter().chain(list(outputs.choices)) {
        let message = read::<Generation<'_>>(generation).and_then(|found| found.message);
        if let Some(message) = message {
            of_model(&unpacked(message), &mut outcome);
        }
    }
    let whole = outputs.usage_metadata.and_then(|usage| counts(usage.get()));
    outcome.tokens = whole
        .or(outcome.tokens)
        .or_else(|| outputs.usage.and_then(openai))
        .or_else(|| extra.token_usage.and_then(openai));
    if let Some(output) = outputs.output {
        of_tool(output, &mut outcome);
    }
    outcome
}

fn list(raw: Option<&RawValue>) -> Vec<&RawValue> {
    raw.and_then(read).unwrap_or_default()
}

/// The generations of all prompts: a list of lists, or one list.
fn generations(raw: Option<&RawValue>) -> Vec<&RawValue> {
    list(raw)
        .into_iter()
        .flat_map(|inner| match read::<Vec<&RawValue>>(inner) {
            Some(inner) => inner,
            None => vec![inner],
        })
        .collect()
}

/// A message without the wrapping of LangChain's serialiser.
fn unpacked(raw: &RawValue) -> Message<'_> {
    let message: Message<'_> = read(raw).unwrap_or_default();
    message.kwargs.and_then(read).unwrap_or(message)
}

fn of_model(message: &Message<'_>, outcome: &mut Outcome) {
    let metadata: ResponseMetadata<'_> =
        message.response_metadata.and_then(read).unwrap_or_default();
    outcome.model = word(metadata.model_name.or(metadata.model)).or(outcome.model.take());
    if let Some(usage) = message.usage_metadata.and_then(|usage| counts(usage.get())) {
        // Each prompt of a batch has a usage of its own.
        *outcome.tokens.get_or_insert_default() += usage;
    }
    for call in list(message.tool_calls) {
        let Some(call) = read::<Call<'_>>(call) else { continue };
        let function = call.function.and_then(read::<Function<'_>>).and_then(|found| found.name);
        outcome.calls.push(AskedCall { id: word(call.id), name: word(call.name.or(function)) });
    }
}

/// A tool that returns its error ends well as far as LangSmith knows; its message says otherwise.
fn of_tool(output: &RawValue, outcome: &mut Outcome) {
    let message = unpacked(output);
    outcome.call_id = word(message.tool_call_id);
    if word(message.status).is_some_and(|status| status.eq_ignore_ascii_case("error")) {
        let said = message.content.map(|content| match text(content) {
            Some(text) => text.into_owned(),
            None => content.get().to_owned(),
        });
        outcome.soft_error = Some(ErrorInfo {
            kind: said
                .as_deref()
                .and_then(exception_class)
                .map(|class| Cow::Owned(class.to_owned())),
            message: said.map(Cow::Owned),
            origin: ErrorOrigin::Flag,
        });
        return;
    }
    let content = message.content.unwrap_or(output);
    outcome.soft_error = flagged_error(content.get());
}

fn openai(raw: &RawValue) -> Option<Tokens> {
    let usage: Usage<'_> = read(raw)?;
    let amount = |raw: Option<&RawValue>| {
        raw.and_then(number).filter(|number| number.is_finite() && *number >= 0.0)
    };
    let (input, output) = (amount(usage.prompt_tokens), amount(usage.completion_tokens));
    if input.is_none() && output.is_none() {
        return counts(raw.get());
    }
    let details: PromptDetails<'_> = usage.prompt_tokens_details.and_then(read).unwrap_or_default();
    let cache_read = amount(details.cached_tokens).unwrap_or(0.0);
    Some(split(input, cache_read, 0.0, output))
}
