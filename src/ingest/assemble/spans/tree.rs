//! Parents and children of the spans of one trace, by index.
//!
//! Owns orphans, loops and the order from parents to children. Knows ids and times only.

use super::{Ids, Span, nanos};

/// The forest of one trace's spans.
pub(super) struct Tree {
    /// Parent of each span; `None` for roots, orphans and where a loop was cut.
    pub(super) parent: Vec<Option<usize>>,
    /// Every span once, parents before their children.
    pub(super) order: Vec<usize>,
    /// Start time for ordering; the parent's where a span has none.
    pub(super) start: Vec<i64>,
    /// Every span once, by start, depth, end and id. Only spans without a time keep the order of
    /// the file, so that a shuffled file gives the same run.
    pub(super) by_time: Vec<usize>,
    /// Place of each span in `by_time`.
    pub(super) rank: Vec<usize>,
    /// Spans that have no child.
    pub(super) is_leaf: Vec<bool>,
    /// Spans that name a parent which is not in the input.
    pub(super) orphans: u64,
    /// Loops of parent ids that were cut.
    pub(super) loops: u64,
}

impl Tree {
    /// Links the spans of one trace; linear in their number.
    pub(super) fn of(spans: &[Span], ids: &Ids) -> Self {
        let mut orphans = 0;
        let mut parent: Vec<Option<usize>> = Vec::with_capacity(spans.len());
        for span in spans {
            let found = span.parent.as_ref().map(|id| ids.get(id, spans));
            orphans += u64::from(found == Some(None));
            parent.push(found.flatten());
        }
        let loops = cut_loops(&mut parent, spans);
        let mut is_leaf = vec![true; spans.len()];
        let (mut first, mut next) = (vec![None; spans.len()], vec![None; spans.len()]);
        for child in (0..spans.len()).rev() {
            if let Some(above) = parent[child] {
                is_leaf[above] = false;
                next[child] = first[above];
                first[above] = Some(child);
            }
        }
        let mut order: Vec<usize> = (0..spans.len()).filter(|&at| parent[at].is_none()).collect();
        let mut depth = vec![0_u32; spans.len()];
        let mut start = vec![0_i64; spans.len()];
        let mut at = 0;
        while let Some(&span) = order.get(at) {
            at += 1;
            let inherited = parent[span].map_or(0, |above| start[above]);
            start[span] = nanos(spans[span].started_at.as_ref()).unwrap_or(inherited);
            let mut child = first[span];
            while let Some(below) = child {
                depth[below] = depth[span].saturating_add(1);
                order.push(below);
                child = next[below];
            }
        }
        let mut by_time: Vec<usize> = (0..spans.len()).collect();
        by_time.sort_by_cached_key(|&at| {
            let span = &spans[at];
            let timed = nanos(span.started_at.as_ref()).is_some();
            let id = if timed { span.id.as_str() } else { "" };
            (start[at], depth[at], nanos(span.ended_at.as_ref()), id, at)
        });
        let mut rank = vec![0; spans.len()];
        for (place, &at) in by_time.iter().enumerate() {
            rank[at] = place;
        }
        Self { parent, order, start, by_time, rank, is_leaf, orphans, loops }
    }
}

/// Cuts every loop of parents above its earliest span (ties: the least id), so that the result
/// does not depend on the order of the input. Returns how many were cut.
fn cut_loops(parent: &mut [Option<usize>], spans: &[Span]) -> u64 {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        OnThisWalk,
        Before,
    }
    let mut seen = vec![Seen::Never; parent.len()];
    let mut loops = 0;
    let mut walk = Vec::new();
    for from in 0..parent.len() {
        walk.clear();
        let mut at = Some(from);
        while let Some(span) = at.filter(|&span| seen[span] == Seen::Never) {
            seen[span] = Seen::OnThisWalk;
            walk.push(span);
            at = parent[span];
        }
        if let Some(entry) = at.filter(|&span| seen[span] == Seen::OnThisWalk) {
            let earliest = walk
                .iter()
                .rev()
                .copied()
                .scan(false, |done, span| {
                    (!std::mem::replace(done, *done || span == entry)).then_some(span)
                })
                .min_by_key(|&span| (nanos(spans[span].started_at.as_ref()), &spans[span].id));
            if let Some(earliest) = earliest {
                parent[earliest] = None;
                loops += 1;
            }
        }
        for &span in &walk {
            seen[span] = Seen::Before;
        }
    }
    loops
}
