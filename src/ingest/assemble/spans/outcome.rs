//! Which root speaks for a run, and whether the run failed.
//!
//! Owns the rule "Outcome of span formats": failed if the root, or an agent span on the
//! unbranched path below it, has status ERROR, or the run ends in an ERROR; else unknown.

use super::tree::Tree;
use super::{Span, SpanClass, SpanStatus};

/// What the tree says of the run's end.
pub(super) struct End {
    /// The root that speaks for the run, the last one where several do.
    pub(super) root: Option<usize>,
    /// The spans from that root down the unbranched path, the root first.
    pub(super) path: Vec<usize>,
    /// True where several roots stand side by side.
    pub(super) several: bool,
    /// The span whose error the run died of.
    pub(super) failed_at: Option<usize>,
}

/// Finds the end. `agentic` marks spans that are, or have below them, an agent's business.
pub(super) fn find(spans: &[Span], tree: &Tree, agentic: &[bool]) -> End {
    let roots: Vec<usize> = tree
        .order
        .iter()
        .copied()
        .take_while(|&at| tree.parent[at].is_none())
        .filter(|&at| agentic[at])
        .collect();
    // An orphan stands for a parent that was not exported, so a span that says itself that it
    // has no parent goes before it.
    let own: Vec<usize> = roots.iter().copied().filter(|&at| spans[at].parent.is_none()).collect();
    let roots = if own.is_empty() { roots } else { own };
    let root = roots.iter().copied().max_by_key(|&at| (tree.start[at], &spans[at].id));
    let mut end = End { root, path: Vec::new(), several: roots.len() > 1, failed_at: None };
    let Some(root) = root else { return end };
    end.path = unbranched(root, tree, agentic);
    end.failed_at = end
        .path
        .iter()
        .take_while(|&&at| !matches!(spans[at].class, SpanClass::Tool | SpanClass::Llm))
        .find(|&&at| {
            spans[at].status == SpanStatus::Error
                && (at == root || spans[at].class == SpanClass::Agent)
        })
        .copied()
        .or_else(|| (spans[root].status == SpanStatus::Error).then_some(root))
        .or_else(|| ends_in(spans, tree, agentic, root));
    end
}

/// The root and what follows below it, as long as exactly one child is an agent's business.
fn unbranched(root: usize, tree: &Tree, agentic: &[bool]) -> Vec<usize> {
    let mut only: Vec<Option<usize>> = vec![None; agentic.len()];
    let mut branches = vec![false; agentic.len()];
    for &at in &tree.order {
        if let Some(above) = tree.parent[at].filter(|_| agentic[at]) {
            branches[above] = only[above].is_some();
            only[above] = only[above].or(Some(at));
        }
    }
    let mut path = vec![root];
    let mut at = root;
    while let Some(below) = only[at].filter(|_| !branches[at]) {
        path.push(below);
        at = below;
    }
    path
}

/// The call, turn or agent span with an error inside which the root's last leaf lies.
fn ends_in(spans: &[Span], tree: &Tree, agentic: &[bool], root: usize) -> Option<usize> {
    let mut below = vec![false; spans.len()];
    below[root] = true;
    for &at in &tree.order {
        below[at] |= tree.parent[at].is_some_and(|above| below[above]);
    }
    // Only leaves inside an agent's business count: a poll that ends late says nothing.
    let mut inside = vec![false; spans.len()];
    for &at in &tree.order {
        inside[at] = !matches!(spans[at].class, SpanClass::Other(_))
            || tree.parent[at].is_some_and(|above| {
                inside[above] && matches!(spans[above].class, SpanClass::Tool | SpanClass::Llm)
            });
    }
    let mut at = (0..spans.len())
        .filter(|&at| below[at] && (agentic[at] || tree.is_leaf[at]) && inside[at])
        .max_by_key(|&at| tree.rank[at]);
    while let Some(span) = at.filter(|&span| span != root) {
        let counts =
            matches!(spans[span].class, SpanClass::Tool | SpanClass::Llm | SpanClass::Agent);
        if counts && spans[span].status == SpanStatus::Error {
            return Some(span);
        }
        at = tree.parent[span];
    }
    None
}
