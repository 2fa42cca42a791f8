//! The tree that parent uuids make of a session's lines, and which calls lie off its last path.
//!
//! Owns the count of calls on branches that the conversation left, when a person went back and
//! asked anew. They ran, so they count like all others; that they did is told. Refuses to choose
//! steps by the tree: parents may be missing, and several blocks of one message, each a line, may
//! fork without anything being abandoned.

use std::collections::{HashMap, HashSet};

use super::session::Part;

/// Parents of all lines that have a uuid, whatever their type.
#[derive(Default)]
pub(super) struct Branches {
    parents: HashMap<String, Option<String>>,
}

impl Branches {
    /// Takes a line in; where a line resets its parent (after a compaction), its logical one.
    pub(super) fn see(&mut self, uuid: String, parent: Option<String>) {
        self.parents.entry(uuid).or_insert(parent);
    }

    /// How many lines name a parent that is nowhere in the input; they are roots.
    pub(super) fn lost_parents(&self, parts: &[Part]) -> u64 {
        let lost = |part: &&Part| {
            let parent = part.uuid.as_ref().and_then(|uuid| self.parents.get(uuid)?.as_ref());
            parent.is_some_and(|parent| !self.parents.contains_key(parent))
        };
        parts.iter().filter(lost).count() as u64
    }

    /// How many calls of these lines, which are in order, lie on branches that leave the path to
    /// the last line. Trees without a line of that path are none: their link is lost.
    pub(super) fn dead_calls(&self, parts: &[Part]) -> u64 {
        let Some(last) = parts.iter().rev().find_map(|part| part.uuid.as_deref()) else { return 0 };
        let mut live: HashSet<&str> = HashSet::new();
        let mut at = Some(last);
        while let Some(uuid) = at.filter(|uuid| live.insert(uuid)) {
            at = self.parents.get(uuid).and_then(Option::as_deref);
        }
        // All blocks of a message on the path are on it.
        let messages: HashSet<&str> = parts
            .iter()
            .filter(|part| part.uuid.as_deref().is_some_and(|uuid| live.contains(uuid)))
            .filter_map(message)
            .collect();
        let mut leaves: HashMap<&str, bool> = HashMap::new();
        let mut dead = 0;
        for part in parts.iter().filter(|part| !part.calls.is_empty()) {
            let Some(uuid) = part.uuid.as_deref() else { continue };
            if live.contains(uuid) || message(part).is_some_and(|id| messages.contains(id)) {
                continue;
            }
            if self.leaves(uuid, &live, &mut leaves) {
                dead += part.calls.len() as u64;
            }
        }
        dead
    }

    /// Whether the path up from a line meets the live one. Each line is asked once; a loop of
    /// parents meets nothing.
    fn leaves<'u>(
        &'u self,
        from: &'u str,
        live: &HashSet<&str>,
        known: &mut HashMap<&'u str, bool>,
    ) -> bool {
        let mut walk = Vec::new();
        let mut at = Some(from);
        let answer = loop {
            let Some(uuid) = at else { break false };
            if live.contains(uuid) {
                break true;
            }
            if let Some(answer) = known.get(uuid) {
                break *answer;
            }
            known.insert(uuid, false);
            walk.push(uuid);
            at = self.parents.get(uuid).and_then(Option::as_deref);
        };
        for uuid in walk {
            known.insert(uuid, answer);
        }
        answer
    }
}

fn message(part: &Part) -> Option<&str> {
    part.turn.as_ref().map(|turn| turn.id.as_str())
}
