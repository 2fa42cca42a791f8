//! Tool calls that a model asked for and that no tool span answers.
//!
//! A call to a tool that does not exist leaves no span at all in several frameworks, so the
//! spans alone would hide it.

use std::collections::{HashMap, HashSet};

use super::{AskedCall, Span, SpanClass};

/// Number of distinct calls asked for that match no tool span: by id, and where the tool spans
/// record no id, by name and number.
pub(super) fn without_span(spans: &[Span], is_turn: &[bool]) -> u64 {
    let mut ids = HashSet::new();
    let mut unnamed_ids: HashMap<&str, u64> = HashMap::new(); // tool spans without id, by name
    for span in spans.iter().filter(|span| span.class == SpanClass::Tool) {
        let Some(attempt) = &span.attempt else { continue };
        match (&attempt.request_id, &attempt.name) {
            (Some(id), _) => {
                ids.insert(id.as_ref());
            }
            (None, name) => {
                *unnamed_ids.entry(name.as_deref().unwrap_or_default()).or_default() += 1;
            }
        }
    }
    let mut asked = HashSet::new();
    let mut missing = 0;
    // The same call stands on the turn that asked and, as a copy, on the agent above it.
    let with_id = spans.iter().flat_map(|span| &span.calls).filter(|call| call.id.is_some());
    let without_id = spans
        .iter()
        .zip(is_turn)
        .filter(|(_, turn)| **turn)
        .flat_map(|(span, _)| &span.calls)
        .filter(|call| call.id.is_none());
    for AskedCall { id, name } in with_id.chain(without_id) {
        if id.as_deref().is_some_and(|id| !asked.insert(id) || ids.contains(id)) {
            continue;
        }
        match unnamed_ids.get_mut(name.as_deref().unwrap_or_default()) {
            Some(left) if *left > 0 => *left -= 1,
            _ => missing += 1,
        }
    }
    missing
}
