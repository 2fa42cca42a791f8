//! From source to a sound, bounded tree; syntax faults told in words.
//!
//! CEL's parser recurses deeply (some 130 KB of stack for one bracket in a debug build), so the
//! source is measured before, and parsing runs on a thread with room for the worst that passes.

use std::ops::Range;

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};
use cel::parser::{ParseErrors, Parser};

use super::error::ExprError;
use super::field::{FieldPath, Root};
use super::rewrite;

/// Bytes that an expression may have.
pub const MAX_SOURCE: usize = 10_000;
/// Brackets that may be open at once.
pub const MAX_BRACKETS: usize = 32;
/// Operators, dots and brackets that an expression may have.
const MAX_OPERATORS: usize = 500;
/// Levels that evaluation may descend; chains such as `a + b + c` nest too. A level takes up to
/// 40 KB of stack in a debug build, and threads have 2 MB.
const MAX_LEVELS: usize = 32;
/// Room for the parser; reserved, and used only as far as the expression nests.
const STACK: usize = 64 << 20;

/// Parses, checks and rewrites.
pub(super) fn compile(
    source: &str,
    roots: &[Root],
) -> Result<(IdedExpr, Vec<FieldPath>), ExprError> {
    measure(source)?;
    let too_hard = || {
        ExprError::new("this expression cannot be read", 0..source.len())
            .help("write it in a simpler form")
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("expression".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, || on_large_stack(source, roots))
            .map_err(|_| too_hard())?
            .join()
            .map_err(|_| too_hard())?
    })
}

fn on_large_stack(source: &str, roots: &[Root]) -> Result<(IdedExpr, Vec<FieldPath>), ExprError> {
    let parser = Parser::new().max_recursion_depth(96).error_recovery_limit(4);
    let (tree, info) =
        parser.parse_with_source_info(source).map_err(|errors| in_words(source, &errors))?;
    let (tree, paths) = rewrite::rewrite(tree, source, &info, roots)?;
    if levels(&tree) > MAX_LEVELS {
        return Err(ExprError::new(
            format!("the expression nests more than {MAX_LEVELS} levels"),
            0..source.len(),
        )
        .help("shorten its chains of operators"));
    }
    Ok((tree, paths))
}

/// Refuses what is too long or nests too deeply, without recursion; knows quoted text.
fn measure(source: &str) -> Result<(), ExprError> {
    if source.trim().is_empty() {
        return Err(ExprError::new("the expression is empty", 0..source.len())
            .help("write one such as `subtask.status == 'completed'`"));
    }
    if source.len() > MAX_SOURCE {
        return Err(ExprError::new(
            format!("the expression has {} bytes, at most {MAX_SOURCE} are read", source.len()),
            0..0,
        )
        .help("shorten it"));
    }
    let bytes = source.as_bytes();
    let (mut open, mut operators, mut at) = (Vec::new(), 0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => match end_of_text(source, at) {
                Some(end) => {
                    at = end;
                    continue;
                }
                None => {
                    return Err(ExprError::new("a quoted text is not closed", at..at + 1)
                        .help(format!("close it with `{}`", char::from(byte))));
                }
            },
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
                continue;
            }
            b'(' | b'[' | b'{' => {
                operators += 1;
                open.push(at);
                if open.len() > MAX_BRACKETS {
                    return Err(ExprError::new(
                        format!("more than {MAX_BRACKETS} brackets are open here"),
                        at..at + 1,
                    )
                    .help("nest less deeply"));
                }
            }
            b')' | b']' | b'}' => {
                let opening = match byte {
                    b')' => b'(',
                    b']' => b'[',
                    _ => b'{',
                };
                if open.pop().and_then(|place| bytes.get(place)) != Some(&opening) {
                    return Err(ExprError::new(
                        format!("`{}` closes nothing", char::from(byte)),
                        at..at + 1,
                    )
                    .help("take it out, or open its bracket"));
                }
            }
            // `in` is the one operator that is a word; any letter n counts, which errs to the safe side.
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'?' | b'.' | b'&'
            | b'|' => operators += 1,
            b'n' if is_word(source, at.saturating_sub(1), b"in") => operators += 1,
            _ => {}
        }
        at += 1;
    }
    if let Some(place) = open.pop() {
        return Err(ExprError::new("this bracket is not closed", place..place + 1).help("close it"));
    }
    if operators > MAX_OPERATORS {
        return Err(ExprError::new(
            format!("the expression has more than {MAX_OPERATORS} operators"),
            0..source.len(),
        )
        .help("shorten it"));
    }
    Ok(())
}

/// Whether a word stands alone at `at`.
fn is_word(source: &str, at: usize, word: &[u8]) -> bool {
    let bytes = source.as_bytes();
    let free = |byte: Option<&u8>| !byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    bytes.get(at..).is_some_and(|rest| rest.starts_with(word))
        && free(at.checked_sub(1).and_then(|before| bytes.get(before)))
        && free(bytes.get(at + word.len()))
}

/// The offset after a quoted text that starts at `at`, raw (`r'..'`) and triple ones included.
fn end_of_text(source: &str, at: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    let quote = *bytes.get(at)?;
    let raw = at
        .checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_some_and(|before| matches!(before, b'r' | b'R'))
        && !at.checked_sub(2).and_then(|place| bytes.get(place)).is_some_and(|b| {
            (b.is_ascii_alphanumeric() || *b == b'_') && !matches!(b, b'b' | b'B')
        });
    let triple = bytes.get(at..at + 3) == Some(&[quote; 3]);
    let close: &[u8] = if triple { &[quote; 3] } else { std::slice::from_ref(&quote) };
    let mut at = at + close.len();
    while at < bytes.len() {
        if bytes[at..].starts_with(close) {
            return Some(at + close.len());
        }
        at += if bytes[at] == b'\\' && !raw { 2 } else { 1 };
    }
    None
}

/// The levels of a tree; recursion is safe here, the operators were counted before.
fn levels(tree: &IdedExpr) -> usize {
    let deepest = match &tree.expr {
        Expr::Call(call) => {
            call.target.iter().map(|t| levels(t)).chain(call.args.iter().map(levels)).max()
        }
        Expr::Comprehension(loops) => {
            [&loops.iter_range, &loops.accu_init, &loops.loop_cond, &loops.loop_step, &loops.result]
                .into_iter()
                .map(levels)
                .max()
        }
        Expr::List(list) => list.elements.iter().map(levels).max(),
        Expr::Map(map) => map
            .entries
            .iter()
            .map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => levels(&entry.key).max(levels(&entry.value)),
                EntryExpr::StructField(field) => levels(&field.value),
            })
            .max(),
        Expr::Select(select) => Some(levels(&select.operand)),
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => None,
    };
    deepest.unwrap_or(0) + 1
}

/// Tells the first syntax fault in words.
fn in_words(source: &str, errors: &ParseErrors) -> ExprError {
    let whole = 0..source.len();
    let Some(first) = errors.errors.first() else {
        return ExprError::new("this is no expression", whole);
    };
    if first.msg == "UNKNOWN" {
        return ExprError::new("the expression is nested too deeply", whole).help("nest less");
    }
    let at = offset_of(source, first.pos);
    let range = token_at(source, at);
    let token = source.get(range.clone()).unwrap_or_default();
    if let Some(rest) = first.msg.strip_prefix("reserved identifier: ") {
        return ExprError::new(format!("`{rest}` is a reserved word"), range)
            .help("read a field of that name as final[\"name\"]");
    }
    if first.msg.starts_with("invalid argument to has()") {
        return ExprError::new("has() takes one field", range)
            .help("write it such as has(final.report)");
    }
    if first.msg.starts_with("invalid ") && first.msg.contains("literal") {
        return ExprError::new(format!("`{token}` is no number that can be kept"), range);
    }
    if first.msg.starts_with("unsupported syntax") {
        return ExprError::new(format!("`{token}` is not supported here"), range)
            .help("test with has(x.y), or compare with null");
    }
    if let Some(error) = usual_slip(source, &range) {
        return error;
    }
    if token.is_empty() {
        return ExprError::new("the expression ends too early", range)
            .help("complete it, for example with a value to compare with");
    }
    ExprError::new(format!("`{token}` is not expected here"), range)
}

/// What people write who know other languages.
fn usual_slip(source: &str, range: &Range<usize>) -> Option<ExprError> {
    let bytes = source.as_bytes();
    let token = source.get(range.clone())?;
    let fault = |range: Range<usize>, wrong: &str, right: &str| {
        Some(
            ExprError::new(format!("`{wrong}` is no operator"), range)
                .help(format!("write `{right}`")),
        )
    };
    if token.starts_with('=') {
        return match bytes.get(range.start.wrapping_sub(1)) {
            // `===` and `!==`: the parser stops at the last sign.
            Some(b'=') => {
                let not = range.start >= 2 && bytes.get(range.start - 2) == Some(&b'!');
                let (wrong, right) = if not { ("!==", "!=") } else { ("===", "==") };
                fault(range.start.saturating_sub(2)..range.start + 1, wrong, right)
            }
            _ => fault(range.start..range.start + 1, "=", "=="),
        };
    }
    match token {
        "and" | "AND" => fault(range.clone(), token, "&&"),
        "or" | "OR" => fault(range.clone(), token, "||"),
        "&" => fault(range.clone(), token, "&&"),
        "|" => fault(range.clone(), token, "||"),
        "is" => fault(range.clone(), token, "=="),
        _ => {
            // `not x`: the parser stops at x, the slip is the word before.
            let before = source.get(..range.start)?.trim_end();
            let place = before.len().checked_sub(3)?;
            is_word(source, place, b"not").then(|| fault(place..place + 3, "not", "!")).flatten()
        }
    }
}

/// The byte offset of a line and column, both from 1, columns in characters.
fn offset_of(source: &str, (line, column): (isize, isize)) -> usize {
    let line = usize::try_from(line).unwrap_or(1).max(1);
    let column = usize::try_from(column).unwrap_or(1).max(1);
    let start: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let rest = source.get(start..).unwrap_or_default();
    start + rest.char_indices().nth(column - 1).map_or(rest.len(), |(at, _)| at)
}

/// The token that starts at or after `at`: a word, a number, or one sign.
fn token_at(source: &str, at: usize) -> Range<usize> {
    let rest = source.get(at..).unwrap_or_default();
    let start = at + (rest.len() - rest.trim_start().len());
    let rest = source.get(start..).unwrap_or_default();
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let length = match rest.chars().next() {
        Some(c) if is_part(c) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
        Some(c) => c.len_utf8(),
        None => 0,
    };
    start..start + length
}
