//! One sample in one epoch becomes one run.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::log::{Log, LogStatus};
use super::{events, messages, scores, wire};
use crate::config::ReadOptions;
use crate::ingest::formats::Refusal;
use crate::ingest::formats::calls::forget_repeated_ids;
use crate::ingest::formats::raw::{Entries, any_text, label, number, object, quoted, read, stamp};
use crate::model::{Attempt, EndRule, ErrorInfo, Final, Issue, Place, Score, Tokens, Trajectory};

/// What was noticed over the samples of a log, told once for all of them.
#[derive(Default)]
pub(super) struct Seen {
    /// Samples that the harness ran again after an error.
    pub(super) retried_samples: u64,
    /// Errors that led to such a rerun.
    pub(super) retries: u64,
    /// Tool events that repeat another one.
    pub(super) repeated_events: u64,
    /// Events below the depth that is read.
    pub(super) too_deep: u64,
    /// Tool messages that answer no recorded call.
    pub(super) results_without_call: u64,
}

impl Seen {
    /// Adds what was noticed to the issues.
    pub(super) fn tell(&self, place: Place, issues: &mut Vec<Issue>) {
        if self.retried_samples > 0 {
            let message = format!(
                "samples that the harness ran again after an error ({} errors); each is one run, \
                 as it ended",
                self.retries
            );
            issues
                .push(Issue::warning("sample_retried", place, message).times(self.retried_samples));
        }
        if self.repeated_events > 0 {
            let message = "tool events that repeat another were merged with it";
            issues.push(
                Issue::note("tool_event_repeated", place, message).times(self.repeated_events),
            );
        }
        if self.too_deep > 0 {
            let message = "events nested too deeply were not read";
            issues.push(Issue::warning("events_too_deep", place, message).times(self.too_deep));
        }
        if self.results_without_call > 0 {
            let message = "tool results that answer no recorded call are steps without an input";
            issues.push(
                Issue::note("result_without_call", place, message).times(self.results_without_call),
            );
        }
    }
}

/// Texts that a log keeps apart and names by hash; decoded when the first one is asked for.
pub(super) struct Attachments<'a> {
    raw: Option<&'a RawValue>,
    texts: OnceCell<HashMap<Cow<'a, str>, &'a RawValue>>,
}

impl<'a> Attachments<'a> {
    fn new(raw: Option<&'a RawValue>) -> Self {
        Self { raw, texts: OnceCell::new() }
    }

    /// The value itself, or the attachment that it names.
    pub(super) fn resolve(&self, raw: &'a RawValue) -> &'a RawValue {
        let Some(hash) = raw.get().strip_prefix("\"attachment://") else { return raw };
        let texts = self.texts.get_or_init(|| {
            let entries: Entries<'a> = self.raw.and_then(read).unwrap_or_default();
            entries.0.into_iter().collect()
        });
        texts.get(hash.trim_end_matches('"')).copied().unwrap_or(raw)
    }
}

/// The error of a tool call, model call or sample: an object with type and message, or a text.
pub(super) fn error<'a>(raw: &'a RawValue, attachments: &Attachments<'a>) -> ErrorInfo<'a> {
    let Some(fault) = read::<wire::Fault<'a>>(raw) else {
        let message = any_text(attachments.resolve(raw));
        return ErrorInfo { message: Some(message), ..ErrorInfo::default() };
    };
    ErrorInfo {
        kind: fault.kind.and_then(label),
        message: fault.message.map(|message| any_text(attachments.resolve(message))),
        ..ErrorInfo::default()
    }
}

/// Maps a sample. `chunks` are its lists of events where an archive keeps them apart.
///
/// # Errors
/// Where an event or message that could be a step cannot be read: the run is then refused whole.
pub(super) fn run<'a>(
    log: &Log<'a>,
    sample: &wire::Sample<'a>,
    chunks: Option<&[&'a RawValue]>,
    place: Place,
    options: &ReadOptions,
    seen: &mut Seen,
) -> Result<Trajectory<'a>, Refusal> {
    let Some(id) = sample.id.and_then(label) else {
        return Err(Refusal::of("sample_without_id", "the sample has no id"));
    };
    let attachments = Attachments::new(sample.attachments);
    let attempts = steps(sample, chunks, &attachments, options, seen)?;
    count_retries(sample.error_retries, seen);

    let scores = scores::scores(sample);
    let fault = sample.error.map(|raw| error(raw, &attachments));
    let status = fault.as_ref().map(|_| Cow::Borrowed("error"));
    let end_reason = match fault {
        Some(fault) => Some(fault.message.unwrap_or(Cow::Borrowed("error"))),
        None => sample.limit.and_then(limit),
    };
    let epoch = sample.epoch.and_then(label);
    let completed = sample.completed_at.and_then(stamp);
    let undecided = scores.is_empty() && completed.is_none() && status.is_none();
    let end_rule = match log.status {
        LogStatus::Cancelled if undecided => Some(EndRule::Cancelled),
        LogStatus::Started if undecided => Some(EndRule::Unfinished),
        _ => None,
    };
    let no_usage = attempts.iter().all(|attempt| attempt.tokens.is_none());
    let (tokens, cost_usd) = if no_usage { total_usage(sample.model_usage) } else { (None, None) };
    let final_output =
        deliver(&scores, status.as_deref(), end_reason.as_deref(), sample, &attachments);
    Ok(Trajectory {
        place,
        run_id: Some(sample.uuid.and_then(label).unwrap_or_else(|| {
            Cow::Owned(format!("{}/{id}/{}", log.key, epoch.as_deref().unwrap_or("1")))
        })),
        task_id: Some(match &log.task {
            Some(task) => Cow::Owned(format!("{task}/{id}")),
            None => id,
        }),
        trial: epoch,
        agent: log.agent.clone(),
        model: log.model.clone(),
        tags: log.tags.clone(),
        status,
        end_reason,
        end_rule,
        scores,
        started_at: sample.started_at.and_then(stamp),
        ended_at: completed,
        duration_ms: sample.total_time.and_then(number).map(|seconds| seconds * 1000.0),
        tokens,
        cost_usd,
        final_output,
        attempts,
        ..Trajectory::default()
    })
}

/// The attempts: of the events, or of the messages where the events tell of no call at all.
fn steps<'a>(
    sample: &wire::Sample<'a>,
    chunks: Option<&[&'a RawValue]>,
    attachments: &Attachments<'a>,
    options: &ReadOptions,
    seen: &mut Seen,
) -> Result<Vec<Attempt<'a>>, Refusal> {
    let nested = || read::<wire::Transcript<'a>>(sample.transcript?)?.events;
    let whole = sample.events.or_else(nested);
    let lists: Vec<&'a RawValue> = match chunks {
        Some(chunks) => chunks.to_vec(),
        None => whole.into_iter().collect(),
    };
    let mut attempts = events::attempts(&lists, attachments, options, seen)?;
    let no_call = !attempts.iter().any(|attempt| attempt.kind == "tool" || attempt.turn);
    if let (true, Some(list)) = (no_call, sample.messages) {
        attempts.extend(messages::attempts(list, attachments, options, seen)?);
    }
    forget_repeated_ids(&mut attempts);
    Ok(attempts)
}

fn count_retries(error_retries: Option<&RawValue>, seen: &mut Seen) {
    let retries = error_retries.and_then(read::<Vec<serde::de::IgnoredAny>>).unwrap_or_default();
    if !retries.is_empty() {
        seen.retried_samples += 1;
        seen.retries += retries.len() as u64;
    }
}

/// The type of the limit that stopped the sample: an object with a type, or (older) the type.
fn limit(raw: &RawValue) -> Option<Cow<'_, str>> {
    match read::<wire::Fault<'_>>(raw) {
        Some(limit) => limit.kind.and_then(label),
        None => label(raw),
    }
}

/// Tokens and cost of one usage record.
///
/// Providers differ in whether the input holds the cached tokens; the recorded total tells.
pub(super) fn usage(raw: &RawValue) -> Option<(Tokens, Option<f64>)> {
    let usage: wire::Usage<'_> = read(raw)?;
    let of = |raw: Option<&RawValue>| raw.and_then(number);
    let (input, output) = (of(usage.input_tokens), of(usage.output_tokens));
    let cost = of(usage.total_cost);
    let total = of(usage.total_tokens);
    if input.is_none() && output.is_none() {
        let unsplit = total?;
        return Some((Tokens { unsplit, ..Tokens::default() }, cost));
    }
    let (input, output) = (input.unwrap_or(0.0), output.unwrap_or(0.0));
    let cache_read = of(usage.input_tokens_cache_read).unwrap_or(0.0);
    let cache_write = of(usage.input_tokens_cache_write).unwrap_or(0.0);
    let beside = |cached: f64| total.is_some_and(|total| total == input + output + cached);
    let held_in_input = if beside(cache_read + cache_write) {
        0.0
    } else if beside(0.0) {
        cache_read + cache_write
    } else if beside(cache_write) {
        cache_read
    } else if beside(cache_read) {
        cache_write
    } else {
        0.0 // The total says nothing; Inspect means the input without the cache.
    };
    let input = (input - held_in_input).max(0.0);
    Some((Tokens { input, cache_read, cache_write, output, unsplit: 0.0 }, cost))
}

/// The sample's own sums over its models.
fn total_usage(model_usage: Option<&RawValue>) -> (Option<Tokens>, Option<f64>) {
    let models: Entries<'_> = model_usage.and_then(read).unwrap_or_default();
    let mut sums = (None, None);
    for (tokens, cost) in models.0.iter().filter_map(|(_, raw)| usage(raw)) {
        *sums.0.get_or_insert_with(Tokens::default) += tokens;
        if let Some(cost) = cost {
            *sums.1.get_or_insert(0.0) += cost;
        }
    }
    sums
}

/// `{score, scores, status, end_reason, output}`, as far as recorded.
fn deliver<'a>(
    scores: &[Score<'a>],
    status: Option<&str>,
    end_reason: Option<&str>,
    sample: &wire::Sample<'a>,
    attachments: &Attachments<'a>,
) -> Final<'a> {
    let (score, all) = scores::as_json(scores);
    let output = output(sample).map(|raw| attachments.resolve(raw).get());
    Final::Json(Cow::Owned(object(&[
        ("score", score.as_deref()),
        ("scores", all.as_deref()),
        ("status", status.map(quoted).as_deref()),
        ("end_reason", end_reason.map(quoted).as_deref()),
        ("output", output),
    ])))
}

/// The text of the sample's output: its completion, its first choice, or the last words of the agent.
fn output<'a>(sample: &wire::Sample<'a>) -> Option<&'a RawValue> {
    let said = |content: &&'a RawValue| content.get() != "\"\"";
    let output: wire::Output<'a> = sample.output.and_then(read).unwrap_or_default();
    let first_choice = || {
        let choices: Vec<wire::Choice<'a>> = read(output.choices?)?;
        read::<wire::Message<'a>>(choices.first()?.message?)?.content
    };
    let last_words = || {
        let messages: Vec<wire::Message<'a>> = read(sample.messages?)?;
        let of_agent = |m: &&wire::Message<'a>| m.role.is_some_and(|r| r.get() == "\"assistant\"");
        messages.iter().rev().filter(of_agent).filter_map(|m| m.content).find(said)
    };
    output.completion.filter(said).or_else(|| first_choice().filter(said)).or_else(last_words)
}
