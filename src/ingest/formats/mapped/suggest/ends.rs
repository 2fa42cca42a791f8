//! What the records at the start and the end of runs tell of a draft, and what it leaves unread.

use serde_json::value::RawValue;

use super::Draft;
use super::shapes::Shapes;
use crate::config::mapping::Class;
use crate::config::mapping::path::Part;

impl Draft {
    /// What only the records that end a run have.
    pub(super) fn ends(&self, shapes: &Shapes, records: &[Box<RawValue>]) -> Shapes {
        let mut ends = Shapes::default();
        let rules = self.wire.events.iter().flatten();
        let ending: Vec<(&str, &str)> = rules
            .filter(|rule| rule.is == Class::RunEnd)
            .flat_map(|rule| &rule.when)
            .filter_map(|(path, value)| Some((path.as_str(), value.as_str()?)))
            .collect();
        for record in records {
            let mut one = Shapes::default();
            one.take(record);
            let ends_run = |(path, value): &(&str, &str)| {
                one.get(path).is_some_and(|shape| shape.values.contains_key(*value))
            };
            if ending.iter().any(ends_run) {
                ends.take(record);
            }
        }
        ends.keep(|path, shape| shapes.get(path).is_some_and(|all| all.count == shape.count));
        ends
    }

    /// Names the fields that no line of the mapping reads.
    pub(super) fn unmapped(&mut self, shapes: &Shapes) {
        let written = serde_json::to_string(&self.wire).unwrap_or_default();
        let mapped = |path: &str| {
            let quoted = serde_json::to_string(path).unwrap_or_default();
            written.contains(&quoted)
        };
        let all = shapes.all();
        let left = all.iter().filter(|(path, parts, shape)| {
            parts.len() <= 2 && shape.is_scalar() && !parts.contains(&Part::Each) && !mapped(path)
        });
        let mut left: Vec<&str> = left.map(|(path, ..)| *path).collect();
        // What the input or output of a step holds is read with it.
        left.retain(|path| path.split_once('.').is_none_or(|(outer, _)| !mapped(outer)));
        if !left.is_empty() {
            let more = left.len().saturating_sub(12);
            left.truncate(12);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.notes.push(format!("not mapped: {}{more}", left.join(", ")));
        }
    }

    /// How many records start a run, where events tell.
    pub(super) fn starts(&self, shapes: &Shapes) -> Option<u64> {
        let rules = self.wire.events.as_ref()?.iter().filter(|rule| rule.is == Class::RunStart);
        let counts = rules
            .flat_map(|rule| &rule.when)
            .filter_map(|(path, value)| shapes.get(path)?.values.get(value.as_str()?).copied());
        Some(counts.sum())
    }
}
