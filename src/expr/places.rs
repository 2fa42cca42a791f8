//! Where the nodes of CEL's tree stand in the source, and which functions may be called there.

use std::ops::Range;

use cel::IdedExpr;
use cel::common::ast::{Expr, SourceInfo, operators};

use super::error::ExprError;
use super::functions as f;
use crate::model::nearest;

/// The source and CEL's notes on where each node of the tree began.
#[derive(Clone, Copy)]
pub(super) struct Places<'s> {
    pub(super) source: &'s str,
    pub(super) info: &'s SourceInfo,
}

impl Places<'_> {
    /// The whole source.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.source.len()
    }

    /// The place of the token that a node was made for.
    pub(super) fn token(&self, id: u64) -> Range<usize> {
        let Some((start, stop)) = self.info.offset_for(id) else { return self.all() };
        let start = self.source.floor_char_boundary(start as usize);
        let end = self.source.ceil_char_boundary((stop as usize).saturating_add(1));
        start..end.max(start).min(self.source.len())
    }

    /// The place of a function's name, which stands before the bracket that its node points to.
    pub(super) fn name_before(&self, id: u64, name: &str) -> Range<usize> {
        let bracket = self.token(id);
        let before = self.source.get(..bracket.start).unwrap_or_default().trim_end();
        match before.strip_suffix(name) {
            Some(head) => head.len()..before.len(),
            None => bracket,
        }
    }

    /// From the root to the end of the last name or bracket of a path.
    pub(super) fn path_range(&self, tree: &IdedExpr) -> Range<usize> {
        let mut root = tree;
        loop {
            root = match &root.expr {
                Expr::Select(select) => &select.operand,
                Expr::Call(call) => match call.args.first() {
                    Some(first) => first,
                    None => break,
                },
                _ => break,
            };
        }
        let (start, last) = (self.token(root.id).start, self.token(tree.id));
        let rest = self.source.get(last.end..).unwrap_or_default();
        let end = match &tree.expr {
            Expr::Select(_) => {
                let space = rest.len() - rest.trim_start().len();
                let word = rest.trim_start();
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                space + word.find(|c| !is_part(c)).unwrap_or(word.len())
            }
            Expr::Call(_) => rest.find(']').map_or(0, |at| at + 1),
            _ => 0,
        };
        start..(last.end + end).max(start)
    }

    /// Refuses a call `f(x)` of what is no function.
    pub(super) fn known_global(&self, id: u64, name: &str, given: usize) -> Result<(), ExprError> {
        const OWN: [&str; 10] = [
            operators::CONDITIONAL,
            operators::LOGICAL_AND,
            operators::LOGICAL_OR,
            operators::LOGICAL_NOT,
            operators::NEGATE,
            operators::GREATER,
            operators::GREATER_EQUALS,
            operators::LESS,
            operators::LESS_EQUALS,
            operators::NOT_STRICTLY_FALSE,
        ];
        if OWN.contains(&name) || f::sum_name(name).is_some() {
            return Ok(());
        }
        self.known(id, name, given, &f::GLOBAL, "")
    }

    pub(super) fn known_member(&self, id: u64, name: &str, given: usize) -> Result<(), ExprError> {
        self.known(id, name, given, &f::MEMBERS, "x.")
    }

    fn known(
        &self,
        id: u64,
        name: &str,
        given: usize,
        functions: &[(&str, usize)],
        before: &str,
    ) -> Result<(), ExprError> {
        let range = self.name_before(id, name);
        if let Some((_, takes)) = functions.iter().find(|(known, _)| *known == name) {
            if *takes == given {
                return Ok(());
            }
            let message = format!("{before}{name}() takes {}, not {given}", arguments(*takes));
            return Err(ExprError::new(message, range));
        }
        if let Some((_, usage)) = f::MACROS.iter().find(|(known, _)| *known == name) {
            return Err(ExprError::new(format!("`{name}` is not used like this"), range)
                .help(format!("write {usage}")));
        }
        let other = if before.is_empty() { &f::MEMBERS[..] } else { &f::GLOBAL[..] };
        if other.iter().any(|(known, _)| *known == name) {
            let usage =
                if before.is_empty() { format!("x.{name}(...)") } else { format!("{name}(x)") };
            return Err(ExprError::new(format!("`{name}` is not used like this"), range)
                .help(format!("write {usage}")));
        }
        let names = functions.iter().map(|(known, _)| *known);
        let names = names.chain(f::MACROS.iter().map(|(known, _)| *known)).collect::<Vec<_>>();
        let error = ExprError::new(format!("there is no function `{name}`"), range);
        Err(error.help(match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", listed(&names)),
        }))
    }
}

fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        _ => format!("{count} arguments"),
    }
}

/// Names in a row, for messages.
pub(super) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
