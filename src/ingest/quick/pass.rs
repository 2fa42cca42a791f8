//! Where a JSON value ends, by the grammar to the letter, with no word on what it holds.
//!
//! Owns the walk over what nobody reads: its strings 64 bytes at a time (`ingest/lanes.rs`), its brackets
//! without recursion. Refuses whatever is not sound: who asked leaves it to serde_json.

use fearless_simd::Simd;

use super::DEEPEST;
use crate::ingest::lanes::string_end;

#[inline(always)]
pub(super) fn space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Where the JSON value at `at` ends; `None` where it is not sound, or nests deeper than is told apart.
#[inline(always)]
pub(super) fn value_end<S: Simd>(simd: S, text: &[u8], mut at: usize) -> Option<usize> {
    // One bit a level that is open: whether it is an object.
    let (mut objects, mut depth) = (0_u128, 0);
    loop {
        at = space(text, at);
        let byte = *text.get(at)?;
        match byte {
            b'"' => at = string_end(simd, text, at + 1)? + 1,
            b'{' | b'[' => {
                let object = byte == b'{';
                at = space(text, at + 1);
                if *text.get(at)? == byte + 2 {
                    at += 1;
                } else {
                    depth += 1;
                    if depth > DEEPEST {
                        return None;
                    }
                    objects = objects << 1 | u128::from(object);
                    if object {
                        at = key_end(simd, text, at)?;
                    }
                    continue;
                }
            }
            b't' | b'n' => at = word_end(text, at, if byte == b't' { "true" } else { "null" })?,
            b'f' => at = word_end(text, at, "false")?,
            _ => at = number_end(text, at)?,
        }
        loop {
            if depth == 0 {
                return Some(at);
            }
            at = space(text, at);
            let object = objects & 1 == 1;
            match *text.get(at)? {
                b',' => {
                    at += 1;
                    if object {
                        at = key_end(simd, text, at)?;
                    }
                    break;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ => return None,
            }
            at += 1;
            depth -= 1;
            objects >>= 1;
        }
    }
}

/// Where the key at `at` ends, with its colon.
#[inline(always)]
fn key_end<S: Simd>(simd: S, text: &[u8], at: usize) -> Option<usize> {
    let quote = space(text, at);
    if *text.get(quote)? != b'"' {
        return None;
    }
    let colon = space(text, string_end(simd, text, quote + 1)? + 1);
    (*text.get(colon)? == b':').then_some(colon + 1)
}

#[inline(always)]
fn word_end(text: &[u8], at: usize, word: &str) -> Option<usize> {
    let end = at + word.len();
    (text.get(at..end)? == word.as_bytes()).then_some(end)
}

/// Where the number at `at` ends.
pub(super) fn number_end(text: &[u8], at: usize) -> Option<usize> {
    let digits = |from: usize| {
        let count = text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let start = at + usize::from(*text.get(at)? == b'-');
    let mut end = match text.get(start)? {
        b'0' => start + 1,
        _ => digits(start)?,
    };
    if text.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        end = digits((end + 1 + sign).min(text.len()))?;
    }
    Some(end)
}
