//! Rewrites CEL's tree so that evaluation sees only what the expression reads.
//!
//! Each longest chain such as `final.items[0].x` becomes one variable, and `has(...)` of one becomes
//! another; operators and members become the functions of `functions.rs`. What has no meaning is
//! refused here, with its place. Recursion is bounded: `parse.rs` has measured the tree.

use std::ops::Range;

use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, EntryExpr, Expr, LiteralValue, SelectExpr, SourceInfo, operators,
};

use super::error::ExprError;
use super::field::{FieldPath, RUN_FIELDS, Root, Segment};
use super::functions as f;
use super::places::{Places, listed};
use super::program::{presence_name, value_name};
use crate::model::nearest;

/// How the place around an expression takes its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Compared with null.
    WithNull,
    /// Compared for equality, where null does no harm.
    Equality,
    /// Anything else.
    Strict,
}

/// Names of types, which are values in CEL: `type(final.x) == string`.
const TYPES: [&str; 10] =
    ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"];

struct Rewriter<'s> {
    places: Places<'s>,
    roots: &'s [Root],
    /// Variables of the macros around the place.
    scope: Vec<String>,
    paths: Vec<FieldPath>,
}

/// Rewrites a tree, and tells what it reads.
pub(super) fn rewrite(
    tree: IdedExpr,
    source: &str,
    info: &SourceInfo,
    roots: &[Root],
) -> Result<(IdedExpr, Vec<FieldPath>), ExprError> {
    let mut rewriter =
        Rewriter { places: Places { source, info }, roots, scope: Vec::new(), paths: Vec::new() };
    rewriter.gives_truth(&tree)?;
    let tree = rewriter.expr(tree, Use::Strict)?;
    Ok((tree, rewriter.paths))
}

impl Rewriter<'_> {
    /// Refuses what can never be true or false.
    fn gives_truth(&self, tree: &IdedExpr) -> Result<(), ExprError> {
        let what = match &tree.expr {
            Expr::Literal(LiteralValue::Boolean(_)) => return Ok(()),
            Expr::Literal(_) => "a value",
            Expr::List(_) => "a list",
            Expr::Map(_) => "a map",
            Expr::Call(call) if f::sum_name(&call.func_name).is_some() => "a value",
            Expr::Call(call) if call.func_name == operators::NEGATE => "a number",
            Expr::Call(call) if call.func_name == "size" => "a number",
            _ => return Ok(()),
        };
        Err(ExprError::new(
            format!("the expression gives {what}, not true or false"),
            self.places.all(),
        )
        .help("compare it, as in `final.score >= 0.9`"))
    }

    fn expr(&mut self, tree: IdedExpr, by: Use) -> Result<IdedExpr, ExprError> {
        if let Some((root, segments)) = self.as_path(&tree) {
            let at = self.path(&tree, root, segments)?;
            if let Some(path) = self.paths.get_mut(at) {
                path.compared_with_null |= by == Use::WithNull;
                path.needs_value |= by != Use::WithNull;
                path.strict |= by == Use::Strict;
            }
            return Ok(IdedExpr { id: tree.id, expr: Expr::Ident(value_name(at)) });
        }
        let id = tree.id;
        let expr = match tree.expr {
            Expr::Ident(name) => Expr::Ident(self.ident(id, name)?),
            Expr::Literal(literal) => Expr::Literal(literal),
            Expr::Select(select) => self.select(id, select)?,
            Expr::Call(call) => self.call(id, call)?,
            Expr::List(mut list) => {
                let elements = std::mem::take(&mut list.elements);
                list.elements = self.all_of(elements)?;
                Expr::List(list)
            }
            Expr::Map(mut map) => {
                for entry in &mut map.entries {
                    let EntryExpr::MapEntry(entry) = &mut entry.expr else {
                        return Err(self.unsupported(id));
                    };
                    let (key, value) =
                        (std::mem::take(&mut entry.key), std::mem::take(&mut entry.value));
                    entry.key = self.expr(key, Use::Strict)?;
                    entry.value = self.expr(value, Use::Equality)?;
                }
                Expr::Map(map)
            }
            Expr::Comprehension(mut loops) => {
                let range = self.expr(std::mem::take(&mut loops.iter_range), Use::Strict)?;
                loops.iter_range = IdedExpr { id: range.id, expr: call(f::RANGE, vec![range]) };
                self.scope.push(loops.iter_var.clone());
                for part in [
                    &mut loops.accu_init,
                    &mut loops.loop_cond,
                    &mut loops.loop_step,
                    &mut loops.result,
                ] {
                    *part = self.expr(std::mem::take(part), Use::Strict)?;
                }
                self.scope.pop();
                Expr::Comprehension(loops)
            }
            Expr::Struct(_) | Expr::Unspecified => return Err(self.unsupported(id)),
        };
        Ok(IdedExpr { id, expr })
    }

    fn all_of(&mut self, exprs: Vec<IdedExpr>) -> Result<Vec<IdedExpr>, ExprError> {
        exprs.into_iter().map(|expr| self.expr(expr, Use::Equality)).collect()
    }

    /// Reads a chain of fixed names and places from a root, if the expression is one.
    fn as_path(&self, tree: &IdedExpr) -> Option<(Root, Vec<Segment>)> {
        let mut segments = Vec::new();
        let mut at = tree;
        loop {
            match &at.expr {
                Expr::Ident(name) => {
                    let root = Root::ALL.into_iter().find(|root| root.name() == name)?;
                    if self.scope.contains(name) || !self.roots.contains(&root) {
                        return None;
                    }
                    segments.reverse();
                    return Some((root, segments));
                }
                Expr::Select(select) if !select.test => {
                    segments.push(Segment::Key(select.field.clone()));
                    at = &select.operand;
                }
                Expr::Call(call) if call.func_name == operators::INDEX => {
                    let [whole, index] = call.args.as_slice() else { return None };
                    segments.push(fixed_index(index)?);
                    at = whole;
                }
                _ => return None,
            }
        }
    }

    /// The number of a path among those read, adding it if it is new.
    fn path(
        &mut self,
        tree: &IdedExpr,
        root: Root,
        segments: Vec<Segment>,
    ) -> Result<usize, ExprError> {
        if let Some(at) =
            self.paths.iter().position(|path| path.root == root && path.segments == segments)
        {
            return Ok(at);
        }
        let range = self.places.path_range(tree);
        if root == Root::Run {
            self.known_run_field(&segments, &range)?;
        }
        self.paths.push(FieldPath {
            root,
            segments,
            compared_with_null: false,
            tested_with_has: false,
            needs_value: false,
            strict: false,
            range,
        });
        Ok(self.paths.len() - 1)
    }

    /// `run` has a fixed set of fields, so that a misspelt one is told at once.
    fn known_run_field(&self, segments: &[Segment], at: &Range<usize>) -> Result<(), ExprError> {
        let Some(Segment::Key(key)) = segments.first() else { return Ok(()) };
        if RUN_FIELDS.contains(&key.as_str()) {
            return Ok(());
        }
        let error = ExprError::new(format!("`run` has no field `{key}`"), at.clone());
        Err(error.help(match nearest(key, RUN_FIELDS) {
            Some(name) => format!("did you mean `run.{name}`?"),
            None => format!("it has {}", listed(&RUN_FIELDS)),
        }))
    }

    fn ident(&self, id: u64, name: String) -> Result<String, ExprError> {
        if name.starts_with('@') || self.scope.contains(&name) || TYPES.contains(&name.as_str()) {
            return Ok(name);
        }
        let range = self.places.token(id);
        if let Some(root) = Root::ALL.into_iter().find(|root| root.name() == name) {
            let allowed: Vec<_> = self.roots.iter().map(|root| root.name()).collect();
            return Err(ExprError::new(
                format!("`{}` cannot be read in this expression", root.name()),
                range,
            )
            .help(format!("it reads {}", listed(&allowed))));
        }
        let known = self.roots.iter().map(|root| root.name());
        let known = known.chain(self.scope.iter().map(String::as_str)).collect::<Vec<_>>();
        let error = ExprError::new(format!("`{name}` is not known"), range);
        Err(error.help(match name.as_str() {
            "True" | "TRUE" => "write `true`".to_owned(),
            "False" | "FALSE" => "write `false`".to_owned(),
            "None" | "NULL" | "Null" | "nil" | "undefined" => "write `null`".to_owned(),
            _ => match nearest(&name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "fields start with {}; a text stands in quotes, such as '{name}'",
                    listed(&known)
                ),
            },
        }))
    }

    fn select(&mut self, id: u64, select: SelectExpr) -> Result<Expr, ExprError> {
        let key =
            IdedExpr { id, expr: Expr::Literal(LiteralValue::String(select.field.clone().into())) };
        if !select.test {
            let object = self.expr(*select.operand, Use::Equality)?;
            return Ok(call(f::FIELD, vec![object, key]));
        }
        if let Some((root, mut segments)) = self.as_path(&select.operand) {
            segments.push(Segment::Key(select.field.clone()));
            let at = self.path(&select.operand, root, segments)?;
            if let Some(path) = self.paths.get_mut(at) {
                path.tested_with_has = true;
            }
            return Ok(Expr::Ident(presence_name(at)));
        }
        let object = self.expr(*select.operand, Use::Equality)?;
        Ok(call(f::HAS, vec![object, key]))
    }

    fn call(&mut self, id: u64, mut written: CallExpr) -> Result<Expr, ExprError> {
        let name = written.func_name.as_str();
        if let Some(target) = written.target.take() {
            self.places.known_member(id, name, written.args.len())?;
            let target = self.expr(*target, Use::Strict)?;
            let args = self.strict(written.args)?;
            if written.func_name == "matches" {
                let args = std::iter::once(target).chain(args).collect();
                return self.matches(id, args);
            }
            let target = Some(Box::new(self.charged(target)));
            return Ok(Expr::Call(CallExpr { target, args, ..written }));
        }
        // The accumulators of macros keep CEL's own operator, which it recognises and speeds up.
        let of_macro = written
            .args
            .first()
            .is_some_and(|arg| matches!(&arg.expr, Expr::Ident(name) if name.starts_with('@')));
        if let Some(sum) = f::sum_name(name).filter(|_| !of_macro) {
            return Ok(call(sum, self.strict(written.args)?));
        }
        match name {
            operators::EQUALS | operators::NOT_EQUALS => {
                let with_null = written
                    .args
                    .iter()
                    .any(|arg| matches!(arg.expr, Expr::Literal(LiteralValue::Null)));
                let by = if with_null { Use::WithNull } else { Use::Equality };
                written.args = written
                    .args
                    .into_iter()
                    .map(|arg| self.expr(arg, by))
                    .collect::<Result<_, _>>()?;
                Ok(self.charge_first(written))
            }
            operators::INDEX => {
                let fixed = written.args.get(1).is_some_and(|index| fixed_index(index).is_some());
                let args = self.strict(written.args)?;
                Ok(call(if fixed { f::FIELD } else { operators::INDEX }, args))
            }
            operators::IN => {
                let args = self.strict(written.args)?;
                Ok(call(f::MEMBER, args))
            }
            "matches" if written.args.len() == 2 => {
                let args = self.strict(written.args)?;
                self.matches(id, args)
            }
            _ => {
                self.places.known_global(id, name, written.args.len())?;
                written.args = self.strict(written.args)?;
                Ok(self.charge_first(written))
            }
        }
    }

    /// Charges what the call walks over, if it stands in a loop: its first argument. A comparison
    /// with a literal is over as soon as that ends, and logic walks over nothing.
    fn charge_first(&self, mut written: CallExpr) -> Expr {
        let name = written.func_name.as_str();
        let with_literal = written.args.iter().any(|arg| matches!(arg.expr, Expr::Literal(_)));
        let walks = f::GLOBAL.iter().any(|(known, _)| *known == name)
            || (is_comparison(name) && !with_literal);
        if walks && let Some(first) = written.args.first_mut() {
            *first = self.charged(std::mem::take(first));
        }
        Expr::Call(written)
    }

    fn charged(&self, arg: IdedExpr) -> IdedExpr {
        if self.scope.is_empty() {
            return arg;
        }
        IdedExpr { id: arg.id, expr: call(f::CHARGE, vec![arg]) }
    }

    fn strict(&mut self, args: Vec<IdedExpr>) -> Result<Vec<IdedExpr>, ExprError> {
        args.into_iter().map(|arg| self.expr(arg, Use::Strict)).collect()
    }

    fn matches(&self, id: u64, args: Vec<IdedExpr>) -> Result<Expr, ExprError> {
        if let Some(Expr::Literal(LiteralValue::String(source))) = args.get(1).map(|arg| &arg.expr)
            && f::pattern(source.inner()).is_err()
        {
            let range =
                args.get(1).map_or_else(|| self.places.token(id), |arg| self.places.token(arg.id));
            return Err(ExprError::new("this is no regular expression", range).help(
                "check its brackets and escapes; a backslash is written `\\\\`, or as r'\\d'",
            ));
        }
        Ok(call(f::MATCHES, args))
    }

    fn unsupported(&self, id: u64) -> ExprError {
        ExprError::new("message literals are not supported", self.places.token(id))
            .help("a map is written {'key': value}")
    }
}

fn is_comparison(operator: &str) -> bool {
    matches!(
        operator,
        operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS
    )
}

fn call(name: &str, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args })
}

/// A key or place that is written out.
fn fixed_index(index: &IdedExpr) -> Option<Segment> {
    match &index.expr {
        Expr::Literal(LiteralValue::String(key)) => Some(Segment::Key(key.inner().to_owned())),
        Expr::Literal(LiteralValue::Int(at)) => {
            usize::try_from(*at.inner()).ok().map(Segment::Index)
        }
        _ => None,
    }
}
