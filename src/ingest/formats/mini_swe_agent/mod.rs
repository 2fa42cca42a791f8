//! mini-swe-agent: one run as a list of messages, with or without the object around it.
//!
//! Owns both generations: commands in one fenced block of an answer and exit codes in the text of the
//! reply (v1), and commands and results in `extra` (v2). Every command is a step of the tool `bash`;
//! an answer without exactly one command is a failed step, because the agent was told so. The exit
//! status says how the run ended, never that it succeeded: outcomes stand in files beside it.
//! Refuses: costs added up twice (the run's own sum counts, where it is recorded).

mod message;

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::coding::{delivers_nothing, ended_by, message as shortened, task_of};
use super::raw::{amount, label, object, quoted, raw_fields, read, said, text};
use super::transcript::{Answer, Call, Transcript};
use super::{Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{EndRule, ErrorInfo, ErrorOrigin, Final, Issue, Stamp, Trajectory};
use message::{Extra, Message, answer, calls, json, turn};

/// Trajectories of mini-swe-agent.
pub const MINI_SWE_AGENT: Format = Format {
    name: "mini-swe-agent",
    about: "a mini-swe-agent trajectory",
    detect,
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Whole(read_run),
    archive: None,
    misspelt: None,
};

/// Bytes of a record in which its marks are sought.
const MARKED: usize = 64 << 10;

fn detect(probe: &Probe<'_>) -> bool {
    let starts = probe.records.first().map(|record| record.get(..MARKED).unwrap_or(record));
    let marked = |marks: &[&str]| {
        marks.iter().any(|mark| {
            starts.is_some_and(|start| memchr::memmem::find(start, mark.as_bytes()).is_some())
        })
    };
    if probe.in_array {
        const MARKS: [&str; 4] = [
            "ONE bash code block",
            "```mswea_bash_command",
            "\"<returncode>",
            "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
        ];
        return probe.any_has(&["role", "content"]) && marked(&MARKS);
    }
    probe.any_has(&["info", "messages", "trajectory_format"])
        || (probe.any_has(&["info", "messages"])
            // The last key may be cut off with the first block of a file.
            && marked(&["\"mini_version\"", "\"model_stats\""]))
}

raw_fields! {
    /// The object around the messages.
    Run { info, messages, instance_id }
}
raw_fields! {
    /// How it ended and what it used.
    Info { exit_status, submission, model_stats, mini_version, config }
}
raw_fields! {
    /// What it used.
    Stats { instance_cost }
}
raw_fields! {
    /// How it was started.
    Config { model }
}
raw_fields! {
    /// The model.
    Model { model_name }
}

raw_fields! {
    /// The object around the messages, asked for its task alone.
    Task { instance_id }
}

/// The task that a record names.
pub(super) fn task_said(record: &[u8]) -> Option<String> {
    let task: Task<'_> = quick::from_slice(record).ok()?;
    task.instance_id.and_then(label).map(Cow::into_owned)
}

fn read_run<'r>(record: &Record<'r>, options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let bare = record.bytes.trim_ascii_start().first() == Some(&b'[');
    let (run, messages): (Run<'r>, Vec<Message<'r>>) = if bare {
        (Run::default(), quick::from_slice(record.bytes)?)
    } else {
        let run: Run<'r> = quick::from_slice(record.bytes)?;
        let raw =
            run.messages.ok_or_else(|| Refusal::of("not_a_run", "the record has no `messages`"))?;
        let messages = quick::from_str(raw.get())
            .map_err(|error| Refusal::of("unreadable_messages", format!("messages: {error}")))?;
        (run, messages)
    };
    let info = run.info.and_then(read::<Info<'r>>).unwrap_or_default();
    let stats = info.model_stats.and_then(read::<Stats<'r>>).unwrap_or_default();
    let cost = amount(stats.instance_cost);
    let config = info.config.and_then(read::<Config<'r>>).unwrap_or_default();
    let model = config.model.and_then(read::<Model<'r>>).and_then(|model| model.model_name);

    let mut issues = Vec::new();
    let mut told = Told { exit: info.exit_status.and_then(label), ..Told::default() };
    told.submission = info.submission;
    let mut transcript = Transcript::new(record.place, options);
    messages_of(&messages, cost.is_none(), &mut transcript, &mut told);
    let mut attempts = transcript.finish(&mut issues);

    let exit = told.exit.filter(|exit| !exit.trim().is_empty());
    let submitted = exit.as_deref().is_some_and(|exit| exit.eq_ignore_ascii_case("submitted"));
    let mut end_rule = None;
    let mut status = None;
    match exit.as_deref() {
        // A list of messages alone has no place for it.
        None if bare => {}
        None => {
            end_rule = Some(EndRule::Unfinished);
            let message = "the trajectory has no exit status: the run did not end, or crashed";
            issues.push(Issue::warning("no_exit_status", record.place, message));
        }
        Some(exit) if is_exception(exit) => {
            status = Some(Cow::Borrowed("error"));
            let submission = told.submission.and_then(text);
            let said = submission.filter(|text| !text.is_empty());
            let said = said.as_deref().unwrap_or(exit);
            attempts.push(ended_by(Some(Cow::Owned(exit.to_owned())), said));
        }
        Some(_) => {}
    }
    let empty = delivers_nothing(told.submission);
    let trajectory = Trajectory {
        place: record.place,
        task_id: run.instance_id.and_then(label).or_else(|| task_of(record.path).map(Cow::Owned)),
        agent: Some(Cow::Borrowed("mini-swe-agent")),
        model: model.and_then(label),
        tags: info
            .mini_version
            .and_then(label)
            .map(|version| (Cow::Borrowed("mini_version"), version))
            .into_iter()
            .collect(),
        // A run that was stopped and delivers nothing did not succeed.
        format_outcome: (exit.is_some() && !submitted && empty).then_some(false),
        final_output: Final::Json(Cow::Owned(object(&[
            ("status", status.as_deref().map(quoted).as_deref()),
            ("end_reason", exit.as_deref().map(quoted).as_deref()),
            ("output", told.submission.map(RawValue::get)),
        ]))),
        status,
        end_reason: exit,
        end_rule,
        started_at: told.first,
        cost_usd: cost,
        attempts,
        ..Trajectory::default()
    };
    Ok(Parsed { runs: vec![trajectory], issues })
}

/// Whether an exit status is the class of an exception and no limit.
fn is_exception(exit: &str) -> bool {
    const LIMITS: [&str; 4] =
        ["LimitsExceeded", "TimeExceeded", "RepeatedFormatError", "UserInterruption"];
    let named = ["Error", "Exception", "Timeout"].iter().any(|ending| exit.ends_with(ending));
    named && !LIMITS.contains(&exit)
}

/// What messages say of the run.
#[derive(Default)]
struct Told<'r> {
    exit: Option<Cow<'r, str>>,
    submission: Option<&'r RawValue>,
    first: Option<Stamp<'r>>,
}

fn messages_of<'r>(
    messages: &[Message<'r>],
    costs: bool,
    transcript: &mut Transcript<'r>,
    told: &mut Told<'r>,
) {
    // Whether a command waits for its reply, and whether an answer had no single command.
    let (mut open, mut misformed) = (0_usize, false);
    for (nth, message) in messages.iter().enumerate() {
        let role = message.role.and_then(text).unwrap_or_default();
        let extra = message.extra.and_then(read::<Extra<'r>>).unwrap_or_default();
        match role.as_ref() {
            "assistant" => {
                let turn = turn(message, &extra, costs);
                if told.first.is_none() {
                    told.first.clone_from(&turn.at);
                }
                transcript.turn(turn);
                let calls = calls(message, &extra);
                open = calls.len();
                misformed = calls.is_empty();
                for call in calls {
                    transcript.call(call);
                }
            }
            "exit" => {
                told.exit = told.exit.take().or(extra.exit_status.and_then(label));
                told.submission = told.submission.or(extra.submission);
                // What submits is answered by the end of the run.
                for _ in 0..open {
                    transcript
                        .answer(Answer { content: message.content.map(json), ..Answer::default() });
                }
                open = 0;
            }
            "user" | "tool" if nth > 0 => {
                let said = message.content.and_then(said).unwrap_or_default();
                let refused = extra.interrupt_type.and_then(text);
                let refused = refused.is_some_and(|kind| kind == "FormatError");
                if open > 0 && !refused {
                    open -= 1;
                    transcript.answer(answer(message, &extra, &said));
                } else if misformed || refused {
                    let error = ErrorInfo {
                        kind: Some(Cow::Borrowed("format_error")),
                        message: Some(shortened(said.lines().next().unwrap_or_default())),
                        origin: ErrorOrigin::Text,
                    };
                    let name = Some(Cow::Borrowed("bash"));
                    transcript.call(Call { name, error: Some(error), ..Call::default() });
                    misformed = false;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_exception;

    #[test]
    fn limits_are_no_exceptions() {
        assert!(is_exception("RetryError"));
        assert!(!is_exception("LimitsExceeded"));
        assert!(!is_exception("RepeatedFormatError"));
    }
}
