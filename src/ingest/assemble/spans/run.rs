//! One trace's spans made into one run.
//!
//! Owns which span becomes a step, a turn or nothing (and says which rule), where tokens and
//! errors are counted, and what the run as a whole is called.

use std::borrow::Cow;
use std::collections::HashMap;

use super::outcome::{self, End};
use super::tree::Tree;
use super::{Span, SpanClass, calls};
use crate::ingest::assemble::main_model;
use crate::ingest::assemble::tally::Tally;
use crate::model::{Attempt, Final, Issue, Score, Severity, Stamp, Tokens, Trajectory};

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
    by_id: &HashMap<String, usize>,
    tally: &mut Tally,
) -> Built {
    let place = spans.iter().map(|span| span.place).min().unwrap_or_default();
    let tree = Tree::of(&spans, by_id);
    let below = Below::of(&spans, &tree);
    let mut agentic = below.agentic.clone();
    for (at, span) in spans.iter().enumerate() {
        agentic[at] |= !matches!(span.class, SpanClass::Other(_)) || usage(span).is_some();
    }
    if !agentic.contains(&true) {
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
    let mut run = head(&spans, &tree, &end, &is_turn);
    run.place = place;
    run.run_id = Some(Cow::Owned(id));

    pass_up_hidden_errors(&mut spans, &roles);
    count_errors_at_the_leaf(&mut spans, &tree, &roles, tally);
    let mut chosen: Vec<usize> = Vec::new();
    for (at, role) in roles.iter().enumerate() {
        let (code, rule) = match role {
            Role::Step => ("spans_used", "steps"),
            Role::Turn => ("spans_used", "turns"),
            Role::SameCall(_) => ("spans_merged", "same_call: a second span of one tool call"),
            Role::Ignored(rule) => ("spans_ignored", *rule),
        };
        tally.count(code, Severity::Note, spans[at].place, rule);
        if matches!(role, Role::Step | Role::Turn) {
            chosen.push(at);
        }
    }
    chosen.sort_by_key(|&at| (tree.start[at], tree.depth[at], at));
    run.attempts = chosen
        .into_iter()
        .filter_map(|at| attempt(&mut spans[at], below.usage[at], is_turn[at]))
        .collect();
    Built { run: Some(run), issues }
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

/// Everything of the run but its attempts.
fn head(spans: &[Span], tree: &Tree, end: &End, is_turn: &[bool]) -> Trajectory<'static> {
    let mut by_time: Vec<usize> = (0..spans.len()).collect();
    by_time.sort_by_key(|&at| (tree.start[at], tree.depth[at], at));
    let first = |of: fn(&Span) -> Option<&String>| {
        let path = end.path.iter().chain(&by_time);
        path.filter_map(|&at| of(&spans[at])).next().map(|text| Cow::Owned(text.clone()))
    };
    let root = end.root.filter(|_| !end.several).map(|at| &spans[at]);
    let (started_at, ended_at) = match root {
        Some(Span { started_at: Some(start), ended_at: Some(stop), parent: None, .. }) => {
            (Some(start.clone()), Some(stop.clone()))
        }
        _ => bounds(spans),
    };
    let models = |turns: bool| {
        let of_turn = by_time.iter().filter(move |&&at| is_turn[at] == turns);
        of_turn.filter_map(|&at| spans[at].model.as_deref())
    };
    let mut run = Trajectory {
        task_id: first(|span| span.task.as_ref()),
        agent: first(|span| span.agent.as_ref()),
        model: main_model(models(true)).or_else(|| main_model(models(false))).map(Cow::Owned),
        started_at,
        ended_at,
        format_outcome: end.failed_at.map(|_| false),
        ..Trajectory::default()
    };
    let mut add = |key: &str, value: &str| {
        if !run.tags.iter().any(|(have, _)| have == key) {
            run.tags.push((Cow::Owned(key.to_owned()), Cow::Owned(value.to_owned())));
        }
    };
    let mut last_resource = None;
    for &at in end.root.iter().chain(&by_time) {
        let span = &spans[at];
        for (key, value) in &span.labels {
            add(key, value);
        }
        // Spans of one resource share it, so that it is looked at once in a row.
        let resource = span.resource.as_ref().map(|resource| resource.as_ptr());
        if resource != last_resource {
            last_resource = resource;
            for (key, value) in span.resource.iter().flat_map(|resource| resource.iter()) {
                add(key, value);
            }
        }
    }
    run.scores = by_time.iter().flat_map(|&at| spans[at].scores.iter().cloned()).collect();
    run.final_output = final_output(spans, end, &run.scores);
    run
}

fn bounds(spans: &[Span]) -> (Option<Stamp<'static>>, Option<Stamp<'static>>) {
    let timed = |stamp: &Option<Stamp<'static>>| {
        let stamp = stamp.clone()?;
        Some((super::nanos(Some(&stamp))?, stamp))
    };
    let earliest =
        spans.iter().filter_map(|span| timed(&span.started_at)).min_by_key(|(nanos, _)| *nanos);
    let latest =
        spans.iter().filter_map(|span| timed(&span.ended_at)).max_by_key(|(nanos, _)| *nanos);
    (earliest.map(|(_, stamp)| stamp), latest.map(|(_, stamp)| stamp))
}

/// `{"status": ..., "error"?: ..., "output"?: ..., "score"?: ...}` of the root and what stands for it.
fn final_output(spans: &[Span], end: &End, scores: &[Score<'static>]) -> Final<'static> {
    let Some(root) = end.root else { return Final::Missing };
    let deciding = &spans[end.failed_at.unwrap_or(root)];
    let mut json = format!("{{\"status\":\"{}\"", deciding.status.word());
    let text = |text: &str| serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned());
    if let Some(message) = &deciding.error_message {
        json.push_str(",\"error\":");
        json.push_str(&text(message));
    }
    if let Some(output) = end.path.iter().find_map(|&at| spans[at].output.as_ref()) {
        json.push_str(",\"output\":");
        json.push_str(output);
    }
    let mut numbers = scores.iter().filter_map(|score| match score.value {
        crate::model::ScoreValue::Number(number) if number.is_finite() => Some(number),
        _ => None,
    });
    if let (Some(score), None) = (numbers.next(), numbers.next()) {
        json.push_str(&format!(",\"score\":{score}"));
    }
    json.push('}');
    Final::Json(Cow::Owned(json))
}
