//! Finding paths by the names that logs have for a field.

use super::shapes::{Shape, Shapes};
use super::words::{self, bare};
use crate::config::mapping::path::Part;
use crate::config::mapping::wire::{Source, TokenFields};

pub(super) fn last_key(parts: &[Part]) -> Option<&str> {
    match parts.last()? {
        Part::Key(key) => Some(key),
        _ => None,
    }
}

/// The path whose name is likeliest to be one of these, among values that fit.
pub(super) fn named<'s>(
    shapes: &'s Shapes,
    names: &[&str],
    fits: impl Fn(&Shape) -> bool,
) -> Option<(String, &'s Shape)> {
    let all = shapes.all();
    names.iter().find_map(|name| {
        let found = all.iter().find(|(_, parts, shape)| {
            let whole: String = parts
                .iter()
                .filter_map(|p| match p {
                    Part::Key(k) => Some(bare(k)),
                    _ => None,
                })
                .collect();
            let last = last_key(parts).map(bare);
            // In lists of lists nothing is of the record itself.
            let inner = parts.iter().filter(|part| **part == Part::Each).count();
            inner == 0
                && (last.as_deref() == Some(*name) || whole == *name)
                && shape.count > 0
                && fits(shape)
        })?;
        Some((found.0.to_owned(), found.2))
    })
}

pub(super) fn named_of<'s>(
    shapes: &'s Shapes,
    table: &[words::Names],
    field: &str,
) -> Option<(String, &'s Shape)> {
    let (_, names) = table.iter().find(|(name, _)| *name == field)?;
    named(shapes, names, Shape::is_scalar)
}

pub(super) fn tokens(shapes: &Shapes) -> Option<TokenFields> {
    let mut tokens = TokenFields::default();
    let mut any = false;
    for (field, names) in words::TOKENS {
        let Some((path, _)) = named(shapes, names, |s| s.numbers == s.count && s.count > 0) else {
            continue;
        };
        let slot = match *field {
            "input" => &mut tokens.input,
            "cache_read" => &mut tokens.cache_read,
            "cache_write" => &mut tokens.cache_write,
            "output" => &mut tokens.output,
            _ => &mut tokens.total,
        };
        *slot = Some(Source::Path(path));
        any = true;
    }
    any.then_some(tokens)
}

/// The list of objects that most records have, the longest of them.
pub(super) fn list(shapes: &Shapes) -> Option<String> {
    let lists = shapes.all().into_iter().filter(|(_, parts, shape)| {
        parts.iter().all(|part| matches!(part, Part::Key(_)))
            && parts.len() <= 3
            && shape.object_lists * 2 > shapes.records
            && shape.elements > shape.lists
    });
    lists
        .max_by_key(|(_, parts, shape)| (shape.elements, std::cmp::Reverse(parts.len())))
        .map(|(path, ..)| path.to_owned())
}

/// Whether a document with this list is one run: the list is called as steps are, or an outcome stands
/// beside it.
pub(super) fn is_one_run(shapes: &Shapes, list: &str) -> bool {
    if list.contains('.') {
        return false;
    }
    let steps = ["steps", "trajectory", "actions", "turns", "history", "transcript"];
    let outcome =
        ["success", "score"].iter().any(|field| named_of(shapes, words::RUN, field).is_some());
    steps.contains(&bare(list).as_str()) || outcome
}

/// Whether each record is a run: it has an outcome and names no step.
pub(super) fn is_run_rows(shapes: &Shapes) -> bool {
    let has = |table: &[words::Names], field: &str| named_of(shapes, table, field).is_some();
    let outcome =
        has(words::RUN, "success") || has(words::RUN, "score") || has(words::STEP, "status");
    let task = named_of(shapes, words::RUN, "task_id")
        .is_some_and(|(_, shape)| !shape.repeats() || has(words::RUN, "trial"));
    let names = ["toolname", "tool", "nodename", "stepname", "stepid", "nodeid", "node", "step"];
    outcome && task && named(shapes, &names, |_| true).is_none()
}
