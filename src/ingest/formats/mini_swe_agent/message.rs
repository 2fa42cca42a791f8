//! One message of mini-swe-agent: what was said, which commands it holds, and what a reply tells.
//!
//! Owns the wire form of messages of both generations. Refuses to know what came before.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::coding::message;
use super::super::evidence::{exception_class, exit_error};
use super::super::raw::{amount, label, number, object, quoted, raw_fields, read, said, text};
use super::super::transcript::{Answer, Call, Turn};
use crate::model::{ErrorInfo, ErrorOrigin, Stamp, Tokens};

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

pub(super) fn turn<'r>(message: &Message<'r>, extra: &Extra<'r>, costs: bool) -> Turn<'r> {
    let response = extra.response.and_then(read::<Response<'r>>).unwrap_or_default();
    let usage = response.usage.and_then(read::<Usage<'r>>).unwrap_or_default();
    let at = extra.timestamp.or(response.created).and_then(number).filter(|at| *at > 0.0);
    let cost = amount(extra.cost.or(usage.cost)).filter(|_| costs);
    Turn {
        content: message.content.map(json),
        tokens: tokens(&usage),
        cost_usd: cost,
        at: at.map(Stamp::Number),
        error: None,
    }
}

fn tokens(usage: &Usage<'_>) -> Option<Tokens> {
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
pub(super) fn calls<'r>(message: &Message<'r>, extra: &Extra<'r>) -> Vec<Call<'r>> {
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
    let said = message.content.and_then(said).unwrap_or_default();
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
pub(super) fn answer<'r>(reply: &Message<'r>, extra: &Extra<'r>, said: &str) -> Answer<'r> {
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
            let kind = exception_class(&exception).map(str::to_owned);
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

pub(super) fn json(raw: &RawValue) -> Cow<'_, str> {
    Cow::Borrowed(raw.get())
}

#[cfg(test)]
mod tests {
    use super::fenced;

    #[test]
    fn commands_stand_in_marked_blocks_alone() {
        let said = "see:\n```python\nx = 1\n```\nthen\n```bash\nls\n```";
        assert_eq!(fenced(said), ["ls"]);
        assert_eq!(fenced("```mswea_bash_command\na &&\nb\n```").len(), 1);
        assert!(fenced("```bash\nnever closed").is_empty());
        assert!(fenced("no block").is_empty());
        assert_eq!(fenced("```bash\na\n```\n```bash\nb\n```").len(), 2);
    }
}
