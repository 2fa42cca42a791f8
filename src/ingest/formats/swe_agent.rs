//! SWE-agent: one trajectory file per instance.
//!
//! Owns the step list of v0 and v1, files that keep only the history, and the tries of a retry agent
//! (all of them are the one run; the copy of the best try beside them is not counted again). Nothing
//! in such a file says that a tool failed, so errors are read from what SWE-agent itself writes into
//! observations, and are marked as read from text. A file without an exit status is an unfinished
//! run. Refuses: `total_cost`, which v0 adds up over a whole batch.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::coding::{delivers_nothing, ended_by, message, task_of};
use super::evidence::exception_class;
use super::raw::{amount, label, object, quoted, raw_fields, read, text};
use super::transcript::{Answer, Call, Transcript, Turn};
use super::{Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{EndRule, ErrorInfo, ErrorOrigin, Final, Issue, Tokens, Trajectory};

/// Trajectories of SWE-agent.
pub const SWE_AGENT: Format = Format {
    name: "swe-agent",
    about: "a SWE-agent trajectory (.traj)",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(read_run),
    archive: None,
    misspelt: None,
};

/// Bytes of a record in which its marks are sought.
const MARKED: usize = 256 << 10;

fn detect(probe: &Probe<'_>) -> bool {
    const KNOWN: [&str; 6] =
        ["environment", "trajectory", "history", "info", "replay_config", "attempts"];
    let Some(keys) = probe.keys().first() else { return false };
    let has = |key: &str| keys.iter().any(|have| have == key);
    if probe.in_array {
        return false;
    }
    if has("trajectory") && (has("history") || has("info") || has("replay_config")) {
        return !has("schema_version");
    }
    let start = probe.records.first().map_or(&[][..], |r| r.get(..MARKED).unwrap_or(r));
    let marked = |mark: &str| memchr::memmem::find(start, mark.as_bytes()).is_some();
    let alone = keys.iter().all(|key| KNOWN.contains(&key.as_str()));
    if has("trajectory") && alone {
        return marked("\"observation\"") && marked("\"action\"");
    }
    // A file cut in its first long field, or of a history alone.
    (has("history") && alone && (marked("\"message_type\"") || marked("\"agent\"")))
        || (has("attempts") && alone && marked("\"trajectory\""))
}

raw_fields! {
    /// The file, and each try of a retry agent.
    Run { environment, trajectory, history, info, replay_config, attempts }
}
raw_fields! {
    /// How it ended and what it used.
    Info { exit_status, submission, model_stats, swe_agent_version }
}
raw_fields! {
    /// What it used; `total_cost` is left out on purpose.
    Stats { instance_cost, tokens_sent, tokens_received }
}
raw_fields! {
    /// One step.
    Step { action, observation, response, thought, execution_time }
}
raw_fields! {
    /// One message of a history.
    Message { role, content, action, tool_calls, tool_call_ids, is_demo }
}
raw_fields! {
    /// A call in a message.
    ToolCall { id, function }
}
raw_fields! {
    /// What is called.
    Function { name, arguments }
}
raw_fields! {
    /// How it was started.
    Replay { agent }
}
raw_fields! {
    /// The agent of it.
    Agent { model }
}
raw_fields! {
    /// The model.
    Model { name, model_name }
}

fn read_run<'r>(record: &Record<'r>, options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let run: Run<'r> = quick::from_slice(record.bytes)?;
    let tries: Vec<Run<'r>> = run.attempts.and_then(read).unwrap_or_default();
    if run.trajectory.is_none() && run.history.is_none() && tries.is_empty() {
        let why = "the record has no `trajectory`, `history` or `attempts`";
        return Err(Refusal::of("not_a_run", why));
    }
    let mut issues = Vec::new();
    let mut transcript = Transcript::new(record.place, options);
    let mut last = None;
    let mut tags = Vec::new();
    if tries.is_empty() {
        last = one_try(&run, &mut transcript)?;
    } else {
        for one in &tries {
            last = one_try(one, &mut transcript)?.or(last);
        }
        tags.push((Cow::Borrowed("tries"), Cow::Owned(tries.len().to_string())));
        if run.trajectory.is_some() {
            let message = "the copy of the best try beside all tries is not counted again";
            issues.push(Issue::note("copied_try", record.place, message));
        }
    }
    let mut attempts = transcript.finish(&mut issues);
    // The last try's own end is that of the run, where the run itself says none.
    let of_try = tries.last().and_then(|one| one.info).and_then(read::<Info<'r>>);
    let mut info = run.info.and_then(read::<Info<'r>>).unwrap_or_default();
    if let Some(of_try) = of_try {
        info.exit_status = info.exit_status.or(of_try.exit_status);
        if delivers_nothing(info.submission) {
            info.submission = of_try.submission.or(info.submission);
        }
    }
    let exit = info.exit_status.and_then(label).filter(|exit| !exit.trim().is_empty());
    let submitted = exit.as_deref().is_some_and(|exit| exit.starts_with("submitted"));
    // A history alone has no place for the exit status; there the last command tells.
    let only_history = run.trajectory.is_none() && tries.is_empty() && run.info.is_none();
    let exit = exit.or_else(|| {
        let by_command = only_history && last.as_deref() == Some("submit");
        by_command.then_some(Cow::Borrowed("submit"))
    });
    let end_rule = exit.is_none().then(|| {
        let message = "the trajectory has no exit status: the run did not end, or crashed";
        issues.push(Issue::warning("no_exit_status", record.place, message));
        EndRule::Unfinished
    });
    let broke = exit
        .as_deref()
        .is_some_and(|exit| ["exit_api", "exit_environment_error", "exit_error"].contains(&exit));
    if let (true, Some(exit)) = (broke, exit.as_deref()) {
        attempts.push(ended_by(Some(Cow::Owned(exit.to_owned())), exit));
    }
    let status = broke.then_some(Cow::Borrowed("error"));
    let stats = info.model_stats.and_then(read::<Stats<'r>>).unwrap_or_default();
    tags.extend(run.environment.and_then(label).map(|name| (Cow::Borrowed("environment"), name)));
    let version = info.swe_agent_version.and_then(label);
    tags.extend(version.map(|version| (Cow::Borrowed("swe_agent_version"), version)));
    let stopped =
        exit.is_some() && !submitted && !only_history && delivers_nothing(info.submission);
    let trajectory = Trajectory {
        place: record.place,
        task_id: task_of(record.path).map(Cow::Owned),
        agent: Some(Cow::Borrowed("SWE-agent")),
        model: run.replay_config.and_then(model).map(Cow::Owned),
        tags,
        // A run that was stopped and delivers nothing did not succeed.
        format_outcome: stopped.then_some(false),
        final_output: Final::Json(Cow::Owned(object(&[
            ("status", status.as_deref().map(quoted).as_deref()),
            ("end_reason", exit.as_deref().map(quoted).as_deref()),
            ("output", info.submission.map(RawValue::get)),
        ]))),
        status,
        end_reason: exit,
        end_rule,
        tokens: tokens(&stats),
        cost_usd: amount(stats.instance_cost),
        attempts,
        ..Trajectory::default()
    };
    Ok(Parsed { runs: vec![trajectory], issues })
}

fn tokens(stats: &Stats<'_>) -> Option<Tokens> {
    let (input, output) = (amount(stats.tokens_sent), amount(stats.tokens_received));
    // Both are 0 where the model's tokens are not counted.
    (input.unwrap_or(0.0) + output.unwrap_or(0.0) > 0.0).then(|| Tokens {
        input: input.unwrap_or(0.0),
        output: output.unwrap_or(0.0),
        ..Tokens::default()
    })
}

/// The model of a replay config, which is an object or JSON inside a string.
fn model(raw: &RawValue) -> Option<String> {
    let inner = text(raw);
    let replay: Replay<'_> = quick::from_str(inner.as_deref().unwrap_or(raw.get())).ok()?;
    let agent = read::<Agent<'_>>(replay.agent?)?;
    let model = read::<Model<'_>>(agent.model?)?;
    model.name.or(model.model_name).and_then(label).map(Cow::into_owned)
}

/// Adds the steps of one try; gives the tool of the last.
fn one_try<'r>(
    run: &Run<'r>,
    transcript: &mut Transcript<'r>,
) -> Result<Option<Cow<'r, str>>, Refusal> {
    if let Some(raw) = run.trajectory {
        let steps: Vec<Step<'r>> = quick::from_str(raw.get()).map_err(|error| {
            Refusal::of("unreadable_trajectory", format!("trajectory: {error}"))
        })?;
        // An empty list beside a history says that the history is all there is.
        if !steps.is_empty() || run.history.is_none() {
            return Ok(steps.iter().filter_map(|step| add_step(step, transcript)).last());
        }
    }
    let Some(raw) = run.history else { return Ok(None) };
    let messages: Vec<Message<'r>> = quick::from_str(raw.get())
        .map_err(|error| Refusal::of("unreadable_history", format!("history: {error}")))?;
    Ok(history(&messages, transcript))
}

fn add_step<'r>(step: &Step<'r>, transcript: &mut Transcript<'r>) -> Option<Cow<'r, str>> {
    transcript.turn(Turn {
        content: step.response.or(step.thought).map(|raw| Cow::Borrowed(raw.get())),
        ..Turn::default()
    });
    let action = step.action.and_then(text).filter(|action| !action.trim().is_empty())?;
    let name: Option<Cow<'r, str>> = Some(Cow::Owned(tool(&action).to_owned()));
    transcript.call(Call {
        name: name.clone(),
        arguments: step.action.map(|raw| Cow::Borrowed(raw.get())),
        ..Call::default()
    });
    // A step without an observation is open.
    if let Some(raw) = step.observation {
        let seconds = amount(step.execution_time);
        transcript.answer(Answer {
            error: text(raw).as_deref().and_then(failed),
            content: Some(Cow::Borrowed(raw.get())),
            duration_ms: seconds.map(|seconds| seconds * 1000.0),
            ..Answer::default()
        });
    }
    name
}

/// The first word of a command.
fn tool(action: &str) -> &str {
    action.split_whitespace().next().unwrap_or_default()
}

fn history<'r>(messages: &[Message<'r>], transcript: &mut Transcript<'r>) -> Option<Cow<'r, str>> {
    let mut last = None;
    let mut open = false;
    for message in messages {
        // Demonstrations are part of the prompt.
        if message.is_demo.is_some_and(|demo| demo.get() == "true") {
            continue;
        }
        let role = message.role.and_then(text).unwrap_or_default();
        if role == "assistant" {
            transcript.turn(Turn {
                content: message.content.map(|raw| Cow::Borrowed(raw.get())),
                ..Turn::default()
            });
            let calls = message.tool_calls.and_then(read::<Vec<ToolCall<'r>>>).unwrap_or_default();
            open = false;
            for call in &calls {
                let function = call.function.and_then(read::<Function<'r>>).unwrap_or_default();
                last = function.name.and_then(label);
                transcript.call(Call {
                    id: call.id.and_then(label),
                    name: last.clone(),
                    arguments: function
                        .arguments
                        .map(|raw| text(raw).unwrap_or(Cow::Borrowed(raw.get()))),
                    ..Call::default()
                });
                open = true;
            }
            let action = message.action.and_then(text).filter(|action| !action.trim().is_empty());
            if let (true, Some(action)) = (calls.is_empty(), action) {
                last = Some(Cow::Owned(tool(&action).to_owned()));
                let arguments = message.action.map(|raw| Cow::Borrowed(raw.get()));
                transcript.call(Call { name: last.clone(), arguments, ..Call::default() });
                open = true;
            }
        } else if role == "tool" || (role == "user" && open) {
            let ids = message.tool_call_ids.and_then(read::<Vec<&RawValue>>).unwrap_or_default();
            let error = || message.content.and_then(text).as_deref().and_then(failed);
            let content = message.content.map(|raw| Cow::Borrowed(raw.get()));
            if ids.is_empty() {
                transcript.answer(Answer { content, error: error(), ..Answer::default() });
            } else {
                for id in ids {
                    let (id, content) = (label(id), content.clone());
                    transcript.answer(Answer { id, content, error: error(), ..Answer::default() });
                }
            }
            open = false;
        }
    }
    last
}

/// What SWE-agent and its tools write in place of a result that they could not give: how an
/// observation starts, and the type of the error.
const FAILURES: [(&str, &str); 7] = [
    ("Your proposed edit has introduced new syntax error", "edit_syntax_error"),
    ("Your command ran for too long", "timeout"),
    ("EXECUTION TIMED OUT", "timeout"),
    ("COMMAND FAILED TO EXECUTE", "command_failed"),
    ("EXECUTION FAILED OR COMMAND MALFORMED", "command_failed"),
    ("Operation '", "blocked_action"),
    ("Usage: ", "usage"),
];

/// The error that an observation tells by how it starts; a traceback at its start is one too.
fn failed(observation: &str) -> Option<ErrorInfo<'static>> {
    let said = observation.trim_start();
    let error = |kind: Option<Cow<'static, str>>| ErrorInfo {
        kind,
        message: Some(message(said)),
        origin: ErrorOrigin::Text,
    };
    if let Some((start, kind)) = FAILURES.iter().find(|(start, _)| said.starts_with(start)) {
        let blocked = *start == "Operation '";
        return (!blocked || said.contains("is not supported"))
            .then(|| error(Some(Cow::Borrowed(kind))));
    }
    said.starts_with("Traceback (most recent call last):").then(|| {
        // The exception is the last line of the traceback that names one; the prompt follows it.
        let class = said.lines().rev().find_map(exception_class);
        error(class.map(|class| Cow::Owned(class.to_owned())))
    })
}

#[cfg(test)]
mod tests {
    use super::{failed, tool};

    #[test]
    fn only_what_swe_agent_writes_at_the_start_is_an_error() {
        assert!(failed("the docs say: Your command ran for too long").is_none());
        let timeout =
            failed("\r\nYour command ran for too long, so it was killed").unwrap_or_default();
        assert_eq!(timeout.kind.as_deref(), Some("timeout"));
        let trace = "Traceback (most recent call last):\n  File \"x\"\nValueError: no\n";
        assert_eq!(failed(trace).unwrap_or_default().kind.as_deref(), Some("ValueError"));
        assert!(failed("").is_none());
    }

    #[test]
    fn the_tool_is_the_first_word() {
        assert_eq!(tool("edit 1:1\nimport x"), "edit");
        assert_eq!(tool(""), "");
    }
}
