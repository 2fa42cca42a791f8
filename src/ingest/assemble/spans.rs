//! Spans of any tracing format, collected by trace and made into runs.
//!
//! Owns the rules that all span formats share: a span is known by its id and counted once; a
//! span whose parent is not there is a root; loops of parents are cut; order is by start time,
//! then depth, end, id and file; usage counts at spans with no usage-bearing descendant; an error
//! counts at the leaf; the outcome is failed or unknown, never completed from a status.
//! Refuses wire forms: a format maps its record to [`Span`] and hands it over.
//!
//! Nothing here recurses, and all passes over a trace are linear but for one sort, so a chain
//! of a million parents costs no more than a million roots.

mod calls;
mod head;
mod outcome;
mod run;
mod tree;

use std::sync::Arc;

use foldhash::HashMap;

use super::tally::Tally;
use crate::ingest::formats::Parsed;
use crate::model::{Attempt, Place, Score, Severity, Stamp};

pub use head::Head;

/// What a span stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanClass {
    /// One execution of a tool: a step.
    Tool,
    /// One retrieval: a step.
    Retrieval,
    /// One call of a model: a turn, unless it wraps another model span.
    Llm,
    /// An agent at work: neither step nor turn.
    Agent,
    /// A workflow, task, node or loop turn of an agent framework: neither step nor turn.
    Chain,
    /// No business of an agent, by the named rule (`http_span`, `db_span`, ...).
    Other(&'static str),
}

/// What the span itself says of how it ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpanStatus {
    /// Not said; most instrumentations never say more.
    #[default]
    Unset,
    /// Said to be fine, which proves nothing about the task.
    Ok,
    /// Ended in an error.
    Error,
}

impl SpanStatus {
    /// The word for `final.status`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unset => "unset",
            Self::Ok => "ok",
            Self::Error => "error",
        }
    }
}

/// A tool call that a model asked for in its output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedCall {
    /// Id of the call, where one is recorded.
    pub id: Option<String>,
    /// Name of the tool, where one is recorded.
    pub name: Option<String>,
}

/// One span in the form that the shared rules work on.
#[derive(Debug, Clone)]
pub struct Span {
    /// Its id, normalised; empty if it has none (it can then be nobody's parent).
    pub id: String,
    /// Its parent's id, normalised; `None` for a root.
    pub parent: Option<String>,
    /// Where its record stands.
    pub place: Place,
    /// What it stands for.
    pub class: SpanClass,
    /// Its own status.
    pub status: SpanStatus,
    /// Start.
    pub started_at: Option<Stamp<'static>>,
    /// End; `None` where the span was written before it ended.
    pub ended_at: Option<Stamp<'static>>,
    /// What it becomes if it is a step or turn; with its own usage, whatever its class.
    /// The times above are filled in here too. Only spans that can be neither leave it out.
    pub attempt: Option<Box<Attempt<'static>>>,
    /// Model that answered, else the one asked.
    pub model: Option<String>,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Id of the task.
    pub task: Option<String>,
    /// Tool calls asked for in its output messages.
    pub calls: Vec<AskedCall>,
    /// What it delivered, as JSON text; kept for spans that can be the run's end.
    pub output: Option<String>,
    /// Its message where it ended in an error.
    pub error_message: Option<String>,
    /// Scores found on it.
    pub scores: Vec<Score<'static>>,
    /// Labels shared by all spans of its resource.
    pub resource: Option<Arc<[(String, String)]>>,
    /// Labels of its own, such as the session.
    pub labels: Vec<(&'static str, String)>,
}

impl Span {
    /// An empty span of this class.
    #[must_use]
    pub fn new(id: String, place: Place, class: SpanClass) -> Self {
        Self {
            id,
            parent: None,
            place,
            class,
            status: SpanStatus::Unset,
            started_at: None,
            ended_at: None,
            attempt: None,
            model: None,
            agent: None,
            task: None,
            calls: Vec::new(),
            output: None,
            error_message: None,
            scores: Vec::new(),
            resource: None,
            labels: Vec::new(),
        }
    }

    /// What tells the fuller of two records of one span: its end, then how much it says.
    fn completeness(&self) -> (Option<i64>, usize) {
        let attempt = self.attempt.as_deref();
        let said = [
            self.parent.is_some(),
            self.status == SpanStatus::Error,
            self.status == SpanStatus::Ok,
            self.model.is_some(),
            self.agent.is_some(),
            self.task.is_some(),
            self.output.is_some(),
            self.error_message.is_some(),
            attempt.is_some_and(|attempt| attempt.input.is_some()),
            attempt.is_some_and(|attempt| attempt.error.is_some()),
            attempt.is_some_and(|attempt| attempt.tokens.is_some()),
            attempt.is_some_and(|attempt| attempt.cost_usd.is_some()),
            attempt.is_some_and(|attempt| attempt.request_id.is_some()),
        ];
        let said = said.into_iter().filter(|said| *said).count();
        (nanos(self.ended_at.as_ref()), said + self.calls.len() + self.scores.len())
    }
}

/// Nanoseconds since the epoch, for ordering alone.
fn nanos(stamp: Option<&Stamp<'_>>) -> Option<i64> {
    match stamp? {
        Stamp::Nanos(0) => None,
        Stamp::Nanos(nanos) => Some(i64::try_from(*nanos).unwrap_or(i64::MAX)),
        other => Some(other.time()?.micros.saturating_mul(1000)),
    }
}

/// All spans read so far, by run.
#[derive(Debug, Default)]
pub struct Spans {
    runs: Vec<Run>,
    by_id: HashMap<String, usize>,
    /// The run of the span before, which most often is that of the next one.
    last: usize,
    /// What became of the spans; formats add what they notice themselves.
    pub tally: Tally,
}

#[derive(Debug, Default)]
struct Run {
    id: String,
    spans: Vec<Span>,
    ids: Ids,
    head: Option<Head>,
}

/// Spans of one run up to this number are told apart by comparing their ids; a table of ids for
/// each of many small runs would take more than all that it finds.
const FEW: usize = 16;

/// Where the span of an id stands among the spans of its run.
#[derive(Debug, Default)]
struct Ids {
    /// Of runs with more than [`FEW`] spans.
    many: HashMap<Box<str>, usize>,
}

impl Ids {
    fn get(&self, id: &str, spans: &[Span]) -> Option<usize> {
        if id.is_empty() {
            return None;
        }
        if spans.len() <= FEW {
            return spans.iter().position(|span| span.id == id);
        }
        self.many.get(id).copied()
    }

    /// Tells that a span was added at the end.
    fn added(&mut self, spans: &[Span]) {
        let new = match spans.len() {
            0..=FEW => return,
            // The table starts here, so that it lacks all of them.
            length if length == FEW + 1 => 0,
            length => length - 1,
        };
        for (at, span) in spans.iter().enumerate().skip(new).filter(|(_, span)| !span.id.is_empty())
        {
            self.many.insert(span.id.as_str().into(), at);
        }
    }
}

impl Spans {
    /// Takes a span of the run (trace) with this id. False if the span was there already: the
    /// two are one, and the one that ended last is kept, as it is the more complete.
    pub fn push(&mut self, run: &str, span: Span) -> bool {
        let at = self.run(run);
        let run = &mut self.runs[at];
        if let Some(twin) = run.ids.get(&span.id, &run.spans) {
            self.tally.count(
                "spans_merged",
                Severity::Note,
                span.place,
                "duplicate_span: the same span id again in one trace",
            );
            let kept = &mut run.spans[twin];
            if span.completeness() > kept.completeness() {
                *kept = span;
            }
            return false;
        }
        run.spans.push(span);
        run.ids.added(&run.spans);
        true
    }

    /// Takes what a format records of a run as a whole. False if it was told before: the two
    /// records are then joined.
    pub fn describe(&mut self, run: &str, head: Head) -> bool {
        let at = self.run(run);
        match &mut self.runs[at].head {
            Some(have) => {
                have.join(head);
                false
            }
            none => {
                *none = Some(head);
                true
            }
        }
    }

    fn run(&mut self, id: &str) -> usize {
        if self.runs.get(self.last).is_some_and(|run| run.id == id) {
            return self.last;
        }
        self.last = match self.by_id.get(id) {
            Some(&at) => at,
            None => {
                self.by_id.insert(id.to_owned(), self.runs.len());
                self.runs.push(Run { id: id.to_owned(), ..Run::default() });
                self.runs.len() - 1
            }
        };
        self.last
    }

    /// Makes one run of each trace that an agent left behind, in the order of their first spans.
    #[must_use]
    pub fn finish(mut self) -> Parsed<'static> {
        let mut parsed = Parsed::default();
        for run in self.runs {
            let built = run::build(run.id, run.spans, &run.ids, run.head, &mut self.tally);
            parsed.runs.extend(built.run);
            parsed.issues.extend(built.issues);
        }
        parsed.issues.extend(self.tally.into_issues());
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, Ids, Span, SpanClass};
    use crate::model::Place;

    #[test]
    fn a_span_is_found_by_its_id_in_runs_below_and_above_what_is_compared_one_by_one() {
        let (mut ids, mut spans) = (Ids::default(), Vec::new());
        for number in 0..3 * FEW {
            // Spans without an id stand between the others, and are never found.
            let id = if number % 5 == 4 { String::new() } else { format!("s{number}") };
            spans.push(Span::new(id, Place::default(), SpanClass::Tool));
            ids.added(&spans);
            for (at, span) in spans.iter().enumerate() {
                let found = (!span.id.is_empty()).then_some(at);
                assert_eq!(ids.get(&span.id, &spans), found, "{at} of {}", spans.len());
            }
            assert_eq!(ids.get("elsewhere", &spans), None);
        }
    }
}
