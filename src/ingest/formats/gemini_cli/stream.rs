//! The events of `--output-format stream-json`: all have a time, calls and results an id.
//!
//! Owns what an event says. The answer of the model comes in pieces; pieces in a row are one turn.
//! The tokens are the sums of the last `result`, whose input includes what a cache served.

use super::super::Fate;
use super::super::agent_log::{At, Call, Event, Outcome, Turn, What, in_order, message, word};
use super::super::raw::{amount, is_true, raw_fields, read};
use super::Line;
use super::message::words;
use crate::model::{ErrorInfo, ErrorOrigin, Tokens, input_hash};

raw_fields! {
    /// An error.
    Failure { kind = "type", message }
}

raw_fields! {
    /// The sums of a session.
    Stats { input_tokens, output_tokens, cached, total_tokens, duration_ms }
}

/// How a session ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) status: Option<String>,
    pub(super) error: Option<String>,
    pub(super) tokens: Option<Tokens>,
    pub(super) duration_ms: Option<f64>,
}

/// The events of one session so far.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) list: Vec<(Event, Option<String>)>,
    pub(super) model: Option<String>,
    pub(super) ended: Option<(At, Ended)>,
    /// Whether there was any event at all.
    pub(super) any: bool,
}

impl Events {
    /// Takes one event.
    pub(super) fn take(&mut self, line: &Line<'_>, kind: &str, at: At, raw: bool) -> Fate {
        self.any = true;
        let kept = |value: Option<&serde_json::value::RawValue>| {
            value.filter(|_| raw).map(|value| value.get().to_owned())
        };
        let mut said = None;
        let what = match kind {
            "init" => {
                self.model = word(line.model).or(self.model.take());
                return Fate::Used;
            }
            "message" if word(line.role).as_deref() == Some("assistant") => {
                said = line.content.and_then(words);
                // An empty id marks a piece; `grouped` names the turn that it is of.
                let id = is_true(line.delta).then(String::new);
                What::Turn(Turn { id, content: kept(line.content), ..Turn::default() })
            }
            "message" => return Fate::Ignored("user_message"),
            "tool_use" => What::Call(Call {
                id: word(line.tool_id),
                name: word(line.tool_name),
                input: line.parameters.and_then(|parameters| input_hash(parameters.get())),
                text: kept(line.parameters),
            }),
            "tool_result" => What::Outcome(outcome(line, raw)),
            "error" => return Fate::Ignored("error_event"),
            "result" => {
                let later = self.ended.as_ref().is_none_or(|(held, _)| held.micros <= at.micros);
                if later {
                    self.ended = Some((at, ended(line)));
                }
                return Fate::Used;
            }
            _ => return Fate::Ignored("other_line_type"),
        };
        self.list.push((Event { at, what }, said));
        Fate::Used
    }

    /// The events in order, pieces of one answer under one id, and what was said last.
    pub(super) fn grouped(mut self) -> (Vec<Event>, Option<String>) {
        in_order(
            &mut self.list,
            |(event, _)| &event.at,
            |(event, _)| match event.what {
                What::Turn(_) => 0,
                What::Call(_) | What::Done(..) => 1,
                What::Outcome(_) => 2,
            },
        );
        let (mut group, mut in_group) = (0_u64, false);
        let mut last = String::new();
        let mut events = Vec::with_capacity(self.list.len());
        for (mut event, said) in self.list {
            let piece = match &mut event.what {
                What::Turn(turn) => {
                    turn.model.clone_from(&self.model);
                    let piece = turn.id.is_some();
                    if !(piece && in_group) {
                        group += 1;
                        last.clear();
                    }
                    turn.id = Some(format!("turn {group}"));
                    last.push_str(said.as_deref().unwrap_or_default());
                    piece
                }
                _ => false,
            };
            in_group = piece;
            events.push(event);
        }
        (events, (!last.is_empty()).then_some(last))
    }
}

fn outcome(line: &Line<'_>, raw: bool) -> Outcome {
    let failure: Failure<'_> = line.error.and_then(read).unwrap_or_default();
    let status = word(line.status);
    let (error, status) = match status.as_deref() {
        Some("cancelled" | "canceled") => (None, Some("cancelled")),
        Some("error") => (Some(()), None),
        _ => (line.error.filter(|error| error.get().trim() != "null").map(|_| ()), None),
    };
    let said = word(failure.message).or_else(|| word(line.error)).or_else(|| word(line.output));
    Outcome {
        id: word(line.tool_id),
        name: word(line.tool_name),
        error: error.map(|()| ErrorInfo {
            kind: word(failure.kind).map(Into::into),
            message: said.as_deref().and_then(message),
            origin: ErrorOrigin::Recorded,
        }),
        status,
        text: line.output.filter(|_| raw).map(|output| output.get().to_owned()),
        ..Outcome::default()
    }
}

fn ended(line: &Line<'_>) -> Ended {
    let failure: Failure<'_> = line.error.and_then(read).unwrap_or_default();
    let stats: Stats<'_> = line.stats.and_then(read).unwrap_or_default();
    let counts = [stats.input_tokens, stats.output_tokens, stats.total_tokens].map(amount);
    let cached = amount(stats.cached).unwrap_or(0.0);
    let tokens = match counts {
        [None, None, None] => None,
        [input, output, total] => {
            let (input, output) = (input.unwrap_or(0.0), output.unwrap_or(0.0));
            Some(Tokens {
                input: (input - cached).max(0.0),
                cache_read: cached,
                output,
                // Reasoning and the texts of tools are in the total alone.
                unsplit: total.map_or(0.0, |total| (total - input - output).max(0.0)),
                ..Tokens::default()
            })
        }
    };
    Ended {
        status: word(line.status),
        error: word(failure.message).or_else(|| word(failure.kind)),
        tokens,
        duration_ms: amount(stats.duration_ms),
    }
}
