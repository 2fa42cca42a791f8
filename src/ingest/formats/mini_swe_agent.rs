//! mini-swe-agent: one run as a list of messages, with or without the object around it.
//!
//! Owns both generations: commands in one fenced block of an answer and exit codes in the text of the
//! reply (v1), and commands and results in `extra` (v2). Every command is a step of the tool `bash`;
//! an answer without exactly one command is a failed step, because the agent was told so. The exit
//! status says how the run ended, never that it succeeded: outcomes stand in files beside it.
//! Refuses: costs added up twice (the run's own sum counts, where it is recorded).

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::coding::{ended_by, message, task_of};
use super::evidence::exit_error;
use super::raw::{label, number, object, quoted, raw_fields, read, text};
use super::transcript::{Answer, Call, Transcript, Turn};
use super::{Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::model::{EndRule, ErrorInfo, ErrorOrigin, Final, Issue, Stamp, Tokens, Trajectory};

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
        || (probe.any_has(&["info", "messages"]) && marked(&["\"mini_version\""]))
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
    /// One message.
    Message { role, content, extra, tool_call_id }
}
raw_fields! {
    /// What the program knows beside the text.
    Extra {
        actions, response, cost, timestamp, returncode, exception_info, exit_status, submission,
        interrupt_type,
    }
}
raw_fields! {
    /// One parsed command.
    Action { command, tool_call_id }
}
raw_fields! {
    /// The answer of the provider.
    Response { created, usage }
}
raw_fields! {
    /// Tokens of a request.
    Usage { prompt_tokens, completion_tokens, cost, prompt_tokens_details }
}
raw_fields! {
    /// Those that a cache served.
    Cached { cached_tokens }
}
raw_fields! {
    /// A part of a content.
    Part { text }
}

fn read_run<'r>(record: &Record<'r>, options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let bare = record.bytes.trim_ascii_start().first() == Some(&b'[');
    let (run, messages): (Run<'r>, Vec<Message<'r>>) = if bare {
        (Run::default(), serde_json::from_slice(record.bytes)?)
    } else {
        let run: Run<'r> = serde_json::from_slice(record.bytes)?;
        let raw =
            run.messages.ok_or_else(|| Refusal::of("not_a_run", "the record has no `messages`"))?;
        let messages = serde_json::from_str(raw.get())
            .map_err(|error| Refusal::of("unreadable_messages", format!("messages: {error}")))?;
        (run, messages)
    };
    let info = run.info.and_then(read::<Info<'r>>).unwrap_or_default();
    let stats = info.model_stats.and_then(read::<Stats<'r>>).unwrap_or_default();
    let cost = stats.instance_cost.and_then(number).filter(|cost| *cost >= 0.0);
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
    let empty = told.submission.is_none_or(|patch| patch.get() == "\"\"");
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
                let said = words(message.content);
                let refused = extra.interrupt_type.and_then(text);
                let refused = refused.is_some_and(|kind| kind == "FormatError");
                if open > 0 && !refused {
                    open -= 1;
                    transcript.answer(answer(message, &extra, &said));
                } else if misformed || refused {
                    let error = ErrorInfo {
                        kind: Some(Cow::Borrowed("format_error")),
                        message: Some(self::message(said.lines().next().unwrap_or_default())),
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

fn turn<'r>(message: &Message<'r>, extra: &Extra<'r>, costs: bool) -> Turn<'r> {
    let response = extra.response.and_then(read::<Response<'r>>).unwrap_or_default();
    let usage = response.usage.and_then(read::<Usage<'r>>).unwrap_or_default();
    let at = extra.timestamp.or(response.created).and_then(number).filter(|at| *at > 0.0);
    let cost = extra.cost.or(usage.cost).and_then(number).filter(|cost| costs && *cost >= 0.0);
    Turn {
        content: message.content.map(json),
        tokens: tokens(&usage),
        cost_usd: cost,
        at: at.map(Stamp::Number),
        error: None,
    }
}

fn tokens(usage: &Usage<'_>) -> Option<Tokens> {
    let amount = |raw: Option<&RawValue>| raw.and_then(number).filter(|n| *n >= 0.0);
    let (input, output) = (amount(usage.prompt_tokens), amount(usage.completion_tokens));
    let cached = usage.prompt_tokens_details.and_then(read::<Cached<'_>>);
    let cached = cached.and_then(|cached| amount(cached.cached_tokens)).unwrap_or(0.0);
    let cached = cached.min(input.unwrap_or(0.0));
    (input.is_some() || output.is_some()).then(|| Tokens {
        input: input.unwrap_or(0.0) - cached,
        cache_read: cached,
        output: output.unwrap_or(0.0),
        ..Tokens::default()
    })
}

/// The commands of an answer: those the program parsed, else the one in its fenced block.
fn calls<'r>(message: &Message<'r>, extra: &Extra<'r>) -> Vec<Call<'r>> {
    let name = || Some(Cow::Borrowed("bash"));
    if let Some(actions) = extra.actions.and_then(read::<Vec<Action<'r>>>) {
        return actions
            .iter()
            .map(|action| Call {
                id: action.tool_call_id.and_then(label),
                name: name(),
                arguments: Some(Cow::Owned(object(&[(
                    "command",
                    action.command.map(RawValue::get),
                )]))),
                ..Call::default()
            })
            .collect();
    }
    let said = words(message.content);
    let commands = fenced(&said);
    match commands.as_slice() {
        [command] => vec![Call {
            name: name(),
            arguments: Some(Cow::Owned(object(&[("command", Some(&quoted(command)))]))),
            ..Call::default()
        }],
        _ => Vec::new(),
    }
}

/// The commands in fenced blocks that are marked as commands.
fn fenced(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("```") {
        let Some(behind) = rest.get(at + 3..) else { break };
        let line = behind.find('\n').unwrap_or(behind.len());
        let mark = behind.get(..line).unwrap_or_default().trim();
        let Some(inside) = behind.get(line..) else { break };
        // A block that is no command is closed by the next fence too.
        let Some(end) = inside.find("\n```") else { break };
        if matches!(mark, "bash" | "mswea_bash_command") {
            found.push(inside.get(..end).unwrap_or_default().trim());
        }
        rest = inside.get(end + 4..).unwrap_or_default();
    }
    found
}

/// What the reply to a command says.
fn answer<'r>(reply: &Message<'r>, extra: &Extra<'r>, said: &str) -> Answer<'r> {
    let exception = extra.exception_info.and_then(text).filter(|said| !said.is_empty());
    let code = extra.returncode.and_then(number);
    #[expect(clippy::cast_possible_truncation, reason = "exit codes are small")]
    let code = code.map(|code| code as i64).or_else(|| {
        let behind = said.trim_start().strip_prefix("<returncode>")?;
        behind.split('<').next()?.trim().parse().ok()
    });
    let late = said.starts_with("The last command <command>") && said.contains("timed out");
    let error = match (exception, code) {
        (Some(exception), _) => {
            let kind = super::evidence::exception_class(&exception).map(str::to_owned);
            let kind =
                kind.or_else(|| exception.contains("timed out").then(|| "timeout".to_owned()));
            let message = Some(message(&exception));
            Some(ErrorInfo { kind: kind.map(Cow::Owned), message, ..ErrorInfo::default() })
        }
        (None, Some(code)) => exit_error(code, Some(output(said))),
        (None, None) if late => Some(ErrorInfo {
            kind: Some(Cow::Borrowed("timeout")),
            message: Some(message(said)),
            origin: ErrorOrigin::Text,
        }),
        (None, None) => None,
    };
    Answer {
        id: reply.tool_call_id.and_then(label),
        content: reply.content.map(json),
        error,
        ..Answer::default()
    }
}

/// What a command printed.
fn output(said: &str) -> Cow<'static, str> {
    let inside = said.split_once("<output>").map_or(said, |(_, rest)| rest);
    message(inside.trim_end().strip_suffix("</output>").unwrap_or(inside))
}

/// The text of a content: a string, or the texts of its parts.
fn words(content: Option<&RawValue>) -> Cow<'_, str> {
    let Some(content) = content else { return Cow::Borrowed("") };
    if let Some(text) = text(content) {
        return text;
    }
    let parts = read::<Vec<Part<'_>>>(content).unwrap_or_default();
    let texts: Vec<Cow<'_, str>> =
        parts.iter().filter_map(|part| part.text.and_then(text)).collect();
    Cow::Owned(texts.join("\n"))
}

fn json(raw: &RawValue) -> Cow<'_, str> {
    Cow::Borrowed(raw.get())
}

#[cfg(test)]
mod tests {
    use super::{fenced, is_exception};

    #[test]
    fn commands_stand_in_marked_blocks_alone() {
        let said = "see:\n```python\nx = 1\n```\nthen\n```bash\nls\n```";
        assert_eq!(fenced(said), ["ls"]);
        assert_eq!(fenced("```mswea_bash_command\na &&\nb\n```").len(), 1);
        assert!(fenced("```bash\nnever closed").is_empty());
        assert!(fenced("no block").is_empty());
        assert_eq!(fenced("```bash\na\n```\n```bash\nb\n```").len(), 2);
    }

    #[test]
    fn limits_are_no_exceptions() {
        assert!(is_exception("RetryError"));
        assert!(!is_exception("LimitsExceeded"));
        assert!(!is_exception("RepeatedFormatError"));
    }
}
