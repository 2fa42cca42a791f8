//! One trace's spans made into one run.
//!
//! Owns which span becomes a step, a turn or nothing (and says which rule), and where tokens and
//! errors are counted. What the run as a whole is called is told in `head`.

use std::borrow::Cow;

use super::head::{self, Head};
use super::tree::Tree;
use super::{Ids, Span, SpanClass, calls, nanos, outcome};
use crate::ingest::assemble::tally::Tally;
use crate::model::{Attempt, Issue, Place, Severity, Tokens, Trajectory};

/// A run, if the trace holds any agent's business, and what is to be told of it.
#[derive(Default)]
pub(super) struct Built {
    pub(super) run: Option<Trajectory<'static>>,
    pub(super) issues: Vec<Issue>,
}

/// What became of a span.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Step,
    Turn,
    /// A second view of the tool call of this span.
    SameCall(usize),
    Ignored(&'static str),
}

pub(super) fn build(
    id: String,
    mut spans: Vec<Span>,
    ids: &Ids,
    told: Option<Head>,
    tally: &mut Tally,
) -> Built {
    let place =
        spans.iter().map(|span| span.place).chain(told.as_ref().map(|head| head.place)).min();
    let place = place.unwrap_or_default();
    if spans.is_empty() {
        return told.map_or_else(Built::default, |head| without_spans(id, head, place, tally));
    }
    let tree = Tree::of(&spans, ids);
    let mut below = Below::of(&spans, &tree);
    if hand_down_usage(&mut spans, &tree, &below) {
        below = Below::of(&spans, &tree);
    }
    let mut agentic = below.agentic.clone();
    for (at, span) in spans.iter().enumerate() {
        agentic[at] |= !matches!(span.class, SpanClass::Other(_)) || usage(span).is_some();
    }
    if !agentic.contains(&true) && told.is_none() {
        let rule = "no_agent_in_trace: no span of the trace is an agent's, a model's or a tool's";
        tally.add("spans_ignored", Severity::Note, place, rule, spans.len() as u64);
        return Built::default();
    }
    let mut issues = Vec::new();
    let mut tell = |code, message: &str, count| {
        if count > 0 {
            issues.push(Issue::warning(code, place, format!("run {id}: {message}")).times(count));
        }
    };
    tell(
        "orphan_parents",
        "spans whose parent is not in the input; they count as roots",
        tree.orphans,
    );
    tell("parent_loops", "parent ids that form a loop; it is cut at its first span", tree.loops);

    let roles = roles(&spans, &tree, &below);
    let is_turn: Vec<bool> = roles.iter().map(|role| *role == Role::Turn).collect();
    tell(
        "calls_without_span",
        "tool calls in the model's output that have no tool span (a tool that does not exist, or one not traced)",
        calls::without_span(&spans, &is_turn),
    );
    let end = outcome::find(&spans, &tree, &agentic);
    let (mut run, others) = head::of(&spans, &tree, &end, &is_turn, told);
    run.place = place;
    let rule = "scores of a part of a run, such as one call; they are not the run's";
    tally.add("scores_ignored", Severity::Note, place, rule, others);

    pass_up_hidden_errors(&mut spans, &roles);
    count_errors_at_the_leaf(&mut spans, &tree, &roles, tally);
    for (at, role) in roles.iter().enumerate() {
        let (code, rule) = match role {
            Role::Step => ("spans_used", "steps"),
            Role::Turn => ("spans_used", "turns"),
            Role::SameCall(_) => ("spans_merged", "same_call: a second span of one tool call"),
            Role::Ignored(rule) => ("spans_ignored", *rule),
        };
        tally.count(code, Severity::Note, spans[at].place, rule);
        if below.usage[at] && usage(&spans[at]).is_some() {
            let rule = "usage that stands on spans below too; counted once, at the lowest ones";
            tally.count("usage_spans_ignored", Severity::Note, spans[at].place, rule);
        }
    }
    let counts = |at: &usize| matches!(roles[*at], Role::Step | Role::Turn);
    let chosen: Vec<usize> = tree.by_time.iter().copied().filter(counts).collect();
    let untimed =
        chosen.iter().filter(|&&at| nanos(spans[at].started_at.as_ref()).is_none()).count();
    let rule =
        "steps and turns without a start time; they follow their parent, in the order of the file";
    tally.add("spans_without_time", Severity::Warning, place, rule, untimed as u64);
    run.run_id = Some(Cow::Owned(id));
    run.attempts = chosen
        .into_iter()
        .filter_map(|at| attempt(&mut spans[at], below.usage[at], is_turn[at]))
        .collect();
    Built { run: Some(run), issues }
}

/// The run of a trace whose record is there and whose spans are not.
fn without_spans(id: String, told: Head, place: Place, tally: &mut Tally) -> Built {
    let rule =
        "traces that are recorded without any of their spans; nothing is known of their steps";
    tally.count("trace_without_spans", Severity::Warning, place, rule);
    let mut run = head::alone(told);
    run.place = place;
    run.run_id = Some(Cow::Owned(id));
    run.steps_unknown = true;
    Built { run: Some(run), issues: Vec::new() }
}

/// What lies strictly below each span.
struct Below {
    /// Usage above zero.
    usage: Vec<bool>,
    /// A model span.
    llm: Vec<bool>,
    /// Any agent's business.
    agentic: Vec<bool>,
}

impl Below {
    fn of(spans: &[Span], tree: &Tree) -> Self {
        let none = || vec![false; spans.len()];
        let mut below = Self { usage: none(), llm: none(), agentic: none() };
        for &at in tree.order.iter().rev() {
            let Some(above) = tree.parent[at] else { continue };
            let span = &spans[at];
            let uses = usage(span).is_some();
            below.usage[above] |= below.usage[at] || uses;
            below.llm[above] |= below.llm[at] || span.class == SpanClass::Llm;
            below.agentic[above] |=
                below.agentic[at] || uses || !matches!(span.class, SpanClass::Other(_));
        }
        below
    }
}

/// The span's usage, if it is more than nothing. A zero hides no sum above it.
fn usage(span: &Span) -> Option<()> {
    let attempt = span.attempt.as_ref()?;
    let tokens = attempt.tokens.as_ref().map_or(0.0, Tokens::total);
    (tokens > 0.0 || attempt.cost_usd.is_some_and(|cost| cost > 0.0)).then_some(())
}

/// Usage that stands on the loop turn around a model call and not on the call is the call's. True
/// if there was any.
fn hand_down_usage(spans: &mut [Span], tree: &Tree, below: &Below) -> bool {
    let mut calls: Vec<(u32, usize)> = vec![(0, 0); spans.len()]; // how many lie below, and the last
    for &at in tree.order.iter().rev() {
        let Some(above) = tree.parent[at] else { continue };
        let own = u32::from(spans[at].class == SpanClass::Llm);
        let (count, last) = calls[at];
        if count + own > 0 {
            let last = if own == 1 { at } else { last };
            calls[above] = (calls[above].0.saturating_add(count + own), last);
        }
    }
    let mut moved = false;
    for at in 0..spans.len() {
        let (1, call) = calls[at] else { continue };
        if spans[at].class != SpanClass::Chain || below.usage[at] || usage(&spans[at]).is_none() {
            continue;
        }
        let Some(wrapper) = spans[at].attempt.take() else { continue };
        if let Some(inner) = spans[call].attempt.as_mut() {
            inner.tokens = wrapper.tokens;
            inner.cost_usd = wrapper.cost_usd;
            moved = true;
        } else {
            spans[at].attempt = Some(wrapper);
        }
    }
    moved
}

fn roles(spans: &[Span], tree: &Tree, below: &Below) -> Vec<Role> {
    let mut roles = vec![Role::Ignored("other_span"); spans.len()];
    // True below a model span that carries the usage of all that is below it.
    let mut covered = vec![false; spans.len()];
    // The tool call inside which a span lies, with no agent or model between.
    let mut call: Vec<Option<usize>> = vec![None; spans.len()];
    for &at in &tree.order {
        let (span, above) = (&spans[at], tree.parent[at]);
        let counts_usage = usage(span).is_some() && !below.usage[at];
        covered[at] = above.is_some_and(|above| covered[above]);
        call[at] = above.and_then(|above| call[above]);
        roles[at] = match span.class {
            SpanClass::Tool => match call[at].filter(|&outer| same_call(&spans[outer], span)) {
                Some(outer) => Role::SameCall(outer),
                None => Role::Step,
            },
            SpanClass::Retrieval => Role::Step,
            SpanClass::Llm if covered[at] || (below.llm[at] && !counts_usage) => {
                Role::Ignored("llm_wrapper: one of several spans of one model call")
            }
            SpanClass::Llm => Role::Turn,
            _ if counts_usage && !covered[at] => Role::Turn,
            SpanClass::Agent => Role::Ignored("agent_span"),
            SpanClass::Chain => Role::Ignored("chain_span"),
            SpanClass::Other(rule) => Role::Ignored(rule),
        };
        match (span.class, roles[at]) {
            (SpanClass::Tool, Role::Step) => call[at] = Some(at),
            (SpanClass::Agent | SpanClass::Llm, _) => call[at] = None,
            _ => {}
        }
        covered[at] |= span.class == SpanClass::Llm && roles[at] == Role::Turn;
    }
    roles
}

/// Whether two tool spans, one inside the other, are views of one call (an agent framework's
/// and an MCP client's, say).
fn same_call(outer: &Span, inner: &Span) -> bool {
    let (Some(outer), Some(inner)) = (&outer.attempt, &inner.attempt) else { return false };
    let agree = |a: Option<&str>, b: Option<&str>| a.is_none() || b.is_none() || a == b;
    outer.name == inner.name
        && agree(outer.request_id.as_deref(), inner.request_id.as_deref())
        && (outer.input.is_none() || inner.input.is_none() || outer.input == inner.input)
}

/// A failure that only the inner view of a call tells is the call's failure.
fn pass_up_hidden_errors(spans: &mut [Span], roles: &[Role]) {
    for (at, role) in roles.iter().enumerate() {
        let Role::SameCall(outer) = *role else { continue };
        let Some(inner) = spans[at].attempt.take() else { continue };
        if let Some(outer) = spans[outer].attempt.as_mut() {
            outer.error = outer.error.take().or(inner.error);
            outer.request_id = outer.request_id.take().or(inner.request_id);
            outer.input = outer.input.or(inner.input);
        }
    }
}

/// A call that failed only because the same error came up from a call below it was aborted:
/// the fault is one, and it counts where it arose.
fn count_errors_at_the_leaf(spans: &mut [Span], tree: &Tree, roles: &[Role], tally: &mut Tally) {
    let mut nearest: Vec<Option<usize>> = vec![None; spans.len()];
    for &at in &tree.order {
        nearest[at] = tree.parent[at].and_then(|above| {
            if roles[above] == Role::Step { Some(above) } else { nearest[above] }
        });
    }
    let mut copied = vec![false; spans.len()];
    let error = |span: &Span| span.attempt.as_ref().and_then(|attempt| attempt.error.clone());
    for &at in &tree.order {
        if roles[at] != Role::Step {
            continue;
        }
        let Some(outer) = nearest[at] else { continue };
        let (Some(inner), Some(above)) = (error(&spans[at]), error(&spans[outer])) else {
            continue;
        };
        copied[outer] |=
            inner.kind == above.kind && inner.message == above.message && inner.message.is_some();
    }
    for at in (0..spans.len()).filter(|&at| copied[at]) {
        let place = spans[at].place;
        if let Some(attempt) = spans[at].attempt.as_mut() {
            attempt.error = None;
            attempt.status = Some("cancelled".into());
            let rule = "the error of a call that stands on the call around it too; counted once, at the inner one";
            tally.count("errors_counted_at_the_leaf", Severity::Note, place, rule);
        }
    }
}

fn attempt(span: &mut Span, usage_below: bool, turn: bool) -> Option<Attempt<'static>> {
    let mut attempt = *span.attempt.take()?;
    if usage_below {
        attempt.tokens = None;
        attempt.cost_usd = None;
    }
    attempt.turn = turn;
    if turn {
        attempt.kind = match span.class {
            SpanClass::Agent => "agent".into(),
            SpanClass::Other("embedding_span") => "embedding".into(),
            _ => "llm".into(),
        };
    }
    attempt.started_at = span.started_at.take();
    attempt.ended_at = span.ended_at.take();
    Some(attempt)
}
