//! The lines of one session, or of one sub-agent in it, made into a run.
//!
//! Owns what a `result` says and what it decides: a `success` is an end and no outcome. Within a
//! file the last result counts, as its sums hold the earlier ones; those of several files are of
//! several processes, and add up. Refuses the
//! usage on messages, which is partial.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::agent_log::{Event, Extent, attempts, delivered, word};
use super::super::claude_code::wire;
use super::super::raw::{Entries, amount, is_true, quoted, raw_fields, read};
use super::Line;
use crate::ingest::assemble::main_model;
use crate::ingest::assemble::tally::Tally;
use crate::model::{EndRule, Place, Tokens, Trajectory};

raw_fields! {
    /// What one model used.
    Used {
        input = "inputTokens", output = "outputTokens", cache_read = "cacheReadInputTokens",
        cache_write = "cacheCreationInputTokens",
    }
}

/// What a `result` says of its session.
#[derive(Debug, Default)]
pub(super) struct Ended {
    subtype: Option<String>,
    is_error: bool,
    aborted: bool,
    tokens: Option<Tokens>,
    cost: Option<f64>,
    duration_ms: Option<f64>,
    turns: Option<f64>,
    output: Option<String>,
    /// Hash of the line.
    pub(super) hash: u64,
}

/// The lines of one session, or of one sub-agent in it.
pub(super) struct Session {
    pub(super) place: Place,
    pub(super) id: String,
    pub(super) call: Option<String>,
    pub(super) events: Vec<Event>,
    pub(super) extent: Extent,
    pub(super) init_model: Option<String>,
    pub(super) models: Vec<String>,
    /// Version and working directory.
    pub(super) labels: [Option<String>; 2],
    pub(super) denials: Vec<(Option<String>, Option<String>)>,
    /// The last result of each file, by the file: each is of a process of its own.
    pub(super) ended: BTreeMap<u32, Ended>,
    pub(super) words: Option<String>,
    pub(super) interrupted: bool,
}

impl Ended {
    pub(super) fn of(line: &Line<'_>, subtype: Option<String>, hash: u64) -> Self {
        let models: Entries<'_> = line.model_usage.and_then(read).unwrap_or_default();
        let mut sum = Tokens::default();
        for used in models.0.iter().filter_map(|(_, used)| read::<Used<'_>>(used)) {
            sum += Tokens {
                input: amount(used.input).unwrap_or(0.0),
                cache_read: amount(used.cache_read).unwrap_or(0.0),
                cache_write: amount(used.cache_write).unwrap_or(0.0),
                output: amount(used.output).unwrap_or(0.0),
                unsplit: 0.0,
            };
        }
        // The sums by model count sub-agents in, as the cost does; `usage` may leave them out.
        let tokens = if sum.total() > 0.0 { Some(sum) } else { wire::tokens(line.usage) };
        let terminal = word(line.terminal_reason).unwrap_or_default();
        Self {
            subtype,
            is_error: is_true(line.is_error),
            aborted: terminal.starts_with("aborted"),
            tokens,
            cost: amount(line.total_cost_usd),
            duration_ms: amount(line.duration_ms),
            turns: amount(line.num_turns),
            output: line.result.map(|result| result.get().to_owned()),
            hash,
        }
    }

    /// Goes on with the result of a later process: what was used adds up, how it ended is the later's.
    fn then(self, later: Self) -> Self {
        let sum = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        let tokens = match (self.tokens, later.tokens) {
            (Some(mut one), Some(other)) => {
                one += other;
                Some(one)
            }
            (one, other) => one.or(other),
        };
        Self {
            tokens,
            cost: sum(self.cost, later.cost),
            duration_ms: sum(self.duration_ms, later.duration_ms),
            turns: sum(self.turns, later.turns),
            output: later.output.or(self.output),
            ..later
        }
    }
}

impl Session {
    /// The run that the lines are.
    pub(super) fn finish(self, raw: bool, tally: &mut Tally) -> Trajectory<'static> {
        let model = main_model(self.models.iter().map(String::as_str)).or(self.init_model);
        let mut run = Trajectory {
            place: self.place,
            agent: Some("claude-code".into()),
            model: model.map(Cow::Owned),
            ..Trajectory::default()
        };
        // Often results of tools alone have a time: that is no start and no end.
        if self.events.iter().all(|event| event.at.micros.is_some()) {
            (run.started_at, run.ended_at) = (self.extent.start(), self.extent.end());
        }
        let mut tag = |key: &'static str, value: Option<String>| {
            run.tags.extend(value.map(|value| (Cow::Borrowed(key), Cow::Owned(value))));
        };
        let is_main = self.call.is_none();
        if let Some(call) = &self.call {
            tag("parent", Some(self.id.clone()));
            tag("parent_call", Some(call.clone()));
        }
        for (key, value) in ["version", "cwd"].into_iter().zip(self.labels) {
            tag(key, value);
        }
        run.run_id = Some(Cow::Owned(match self.call {
            Some(call) => format!("{}/{call}", self.id),
            None => self.id,
        }));
        let none = self.events.is_empty();
        run.attempts = attempts(self.events, self.place, raw, tally);
        let mut output = self.words.as_deref().map(quoted);
        match self.ended.into_values().reduce(Ended::then) {
            Some(ended) => {
                // With `--output-format json` the result is all there is.
                run.steps_unknown = none && ended.turns.is_some_and(|turns| turns > 0.0);
                let failed = ended.is_error || ended.subtype.as_deref() != Some("success");
                if ended.aborted || (failed && self.interrupted) {
                    run.end_rule = Some(EndRule::Cancelled);
                } else if failed {
                    run.format_outcome = Some(false);
                }
                (run.tokens, run.cost_usd) = (ended.tokens, ended.cost);
                run.duration_ms = ended.duration_ms;
                output = ended.output.or(output);
                run.end_reason = ended.subtype.map(Cow::Owned);
            }
            None if self.interrupted => run.end_rule = Some(EndRule::Cancelled),
            None if is_main => run.end_rule = Some(EndRule::Unfinished),
            None => {}
        }
        let reason = run.end_reason.as_deref().map(quoted);
        run.final_output =
            delivered(&[("end_reason", reason.as_deref()), ("output", output.as_deref())]);
        run
    }
}
