//! The run that a session is, once it is known which lines are its own.
//!
//! Owns how it ended, its tokens, its labels, and what it delivered. Refuses to call a done task a
//! success: the log does not tell.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::agent_log::{Event, What, attempts, delivered};
use super::super::raw::quoted;
use super::Said;
use super::session::Session;
use crate::ingest::assemble::main_model;
use crate::ingest::assemble::tally::Tally;
use crate::model::{EndRule, Tokens, Trajectory};

/// How a session stands after its last line.
#[derive(PartialEq)]
enum End {
    Silent,
    Open,
    Done,
    Aborted(Option<String>),
    Broken,
}

impl Session {
    /// The run; the tokens that were counted before it are taken off.
    pub(super) fn finish(
        mut self,
        inherited: Option<Tokens>,
        raw: bool,
        tally: &mut Tally,
    ) -> Trajectory<'static> {
        let (mut total, mut words, mut end) = (None, None, End::Silent);
        let mut models: Vec<String> = Vec::new();
        let calls: HashSet<String> = self
            .entries
            .iter()
            .filter_map(|entry| match &entry.said {
                Said::Event(What::Call(call)) => call.id.clone(),
                _ => None,
            })
            .collect();
        let mut events = Vec::with_capacity(self.entries.len());
        for entry in std::mem::take(&mut self.entries) {
            self.extent.see(&entry.at);
            match entry.said {
                Said::Tokens(tokens) => total = Some(tokens),
                Said::Context(model, _) => models.extend(model),
                Said::Words(said) => words = Some(said),
                Said::Started(_) => end = End::Open,
                Said::Complete(_, said) => {
                    words = said.or(words);
                    if end != End::Broken {
                        end = End::Done;
                    }
                }
                Said::Aborted(_, reason) => end = End::Aborted(reason),
                Said::Broken => end = End::Broken,
                Said::User => {}
                Said::Mcp(call, outcome) => {
                    let told = call.id.as_ref().is_some_and(|id| calls.contains(id));
                    let what = match told {
                        true => What::Outcome(outcome),
                        false => What::Done(call, outcome, entry.at.clone()),
                    };
                    events.push(Event { at: entry.at, what });
                }
                Said::Event(_) => {
                    let mut event = entry.into_event();
                    if let Some(Event { what: What::Turn(turn), .. }) = &mut event {
                        turn.model = models.last().cloned();
                    }
                    events.extend(event);
                }
            }
        }
        let model = main_model(models.iter().map(String::as_str));
        let mut run = Trajectory {
            place: self.place,
            run_id: Some(Cow::Owned(self.id)),
            agent: Some(self.meta.originator.map_or("codex".into(), Cow::Owned)),
            started_at: self.extent.start(),
            ended_at: self.extent.end(),
            tokens: total.map(|total| without(total, inherited)),
            ..Trajectory::default()
        };
        let mut tag = |key: &'static str, value: Option<String>| {
            run.tags.extend(value.map(|value| (Cow::Borrowed(key), Cow::Owned(value))));
        };
        tag("parent", self.meta.parent);
        tag("source", self.meta.subagent.then(|| "subagent".to_owned()));
        for (key, value) in ["version", "cwd", "git_branch"].into_iter().zip(self.meta.labels) {
            tag(key, value);
        }
        let mut reason = None;
        match end {
            End::Silent | End::Done => {}
            End::Open => run.end_rule = Some(EndRule::Unfinished),
            End::Aborted(why) => {
                run.end_rule = Some(EndRule::Cancelled);
                reason = why;
            }
            End::Broken => run.format_outcome = Some(false),
        }
        run.final_output = delivered(&[
            ("end_reason", reason.as_deref().map(quoted).as_deref()),
            ("output", words.as_deref().map(quoted).as_deref()),
        ]);
        run.end_reason = reason.map(Cow::Owned);
        run.attempts = attempts(events, self.place, raw, tally);
        run.model = model.map(Cow::Owned);
        run
    }
}

/// A running total without what was counted before; a total that began anew stays as it is.
fn without(total: Tokens, inherited: Option<Tokens>) -> Tokens {
    let Some(before) = inherited.filter(|before| before.total() <= total.total()) else {
        return total;
    };
    Tokens {
        input: (total.input - before.input).max(0.0),
        cache_read: (total.cache_read - before.cache_read).max(0.0),
        cache_write: (total.cache_write - before.cache_write).max(0.0),
        output: (total.output - before.output).max(0.0),
        unsplit: (total.unsplit - before.unsplit).max(0.0),
    }
}
