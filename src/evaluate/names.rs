//! Names that many runs share: types of steps and errors, tools, agents, models, tasks, labels.
//!
//! Owns that a name is kept once a thread and not once a run: of many thousand rows they would be most
//! of the memory. Bounded: a name that is long, or new where very many are known, is a copy of its own.

use std::collections::HashSet;

/// A name of a row, which many rows may share: one pointer, to a counted text.
pub type Name = arcstr::ArcStr;

/// Names that are kept to be shared.
const MOST_NAMES: usize = 4_096;

/// Bytes of a name that is shared.
const MOST_BYTES: usize = 200;

/// The names that a thread has met.
#[derive(Default)]
pub(crate) struct Names {
    kinds: Known,
    labels: Known,
}

impl Names {
    /// The name of a type, tool, agent, model or status, shared where it can be.
    pub(crate) fn share(&mut self, text: &str) -> Name {
        self.kinds.share(text)
    }

    /// An id of a task or trial, or a label. There may be as many as runs, so they are shared apart
    /// from the others, which they would push out.
    pub(crate) fn label(&mut self, text: &str) -> Name {
        self.labels.share(text)
    }
}

/// Names that were met, up to a number.
#[derive(Default)]
struct Known(HashSet<Name, foldhash::fast::RandomState>);

impl Known {
    fn share(&mut self, text: &str) -> Name {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let name: Name = text.into();
        if text.len() <= MOST_BYTES && self.0.len() < MOST_NAMES {
            self.0.insert(name.clone());
        }
        name
    }
}

#[cfg(test)]
mod tests {

    use super::{MOST_NAMES, Name, Names};

    #[test]
    fn equal_names_are_one_and_their_number_is_bounded() {
        let mut names = Names::default();
        let first = names.share("search");
        assert!(Name::ptr_eq(&first, &names.share("search")));
        for at in 0..2 * MOST_NAMES {
            assert_eq!(&*names.share(&at.to_string()), at.to_string());
        }
        assert_eq!(names.kinds.0.len(), MOST_NAMES);
        names.share(&"长".repeat(1_000));
        assert_eq!(names.kinds.0.len(), MOST_NAMES);
        let id = names.label("task-1");
        assert!(Name::ptr_eq(&id, &names.label("task-1")), "ids have a room of their own");
    }
}
