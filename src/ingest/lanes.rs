//! JSON text 64 bytes at a time: which of them are brackets outside of strings, and where a string ends.
//!
//! Owns the arithmetic on masks, one bit a byte, after Langdale and Lemire, "Parsing gigabytes of JSON
//! per second" (2019). The instructions are those of the processor it runs on, chosen when it starts.
//! Refuses to decide what is odd: a backslash outside of a string is left to whoever goes byte by byte.

use std::sync::LazyLock;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

/// Bytes that are looked at together.
pub(super) const WIDTH: usize = 64;

/// Every other bit, from the lowest.
const EVEN: u64 = 0x5555_5555_5555_5555;

/// What this processor can do.
pub(super) fn level() -> Level {
    static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);
    *LEVEL
}

/// What is known where 64 bytes begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lanes {
    /// Whether the first byte is escaped.
    pub(super) escaped: bool,
    /// Whether the first byte is inside of a string.
    pub(super) in_string: bool,
}

impl Lanes {
    /// What is known after these bytes, with a mask of the brackets that open and one of those that
    /// close; `None` where a backslash outside of a string is among them.
    #[inline(always)]
    pub(super) fn pass<S: Simd>(self, simd: S, bytes: &[u8; WIDTH]) -> Option<(Self, u64, u64)> {
        let lanes = u8x64::from_slice(simd, bytes);
        let backslashes = mask(simd, lanes, b'\\');
        let (escapes, escaped) = escaped(backslashes, self.escaped);
        let quotes = mask(simd, lanes, b'"') & !escapes;
        let inside = up_to(quotes) ^ if self.in_string { u64::MAX } else { 0 };
        let next = Self { escaped, in_string: inside >> 63 == 1 };
        if inside == u64::MAX {
            return Some((next, 0, 0));
        }
        if backslashes & !inside != 0 {
            return None;
        }
        // The two brackets that open differ in one bit, and so do those that close.
        let folded = lanes & u8x64::splat(simd, !0x20);
        let opens = mask(simd, folded, b'[') & !inside;
        let closes = mask(simd, folded, b']') & !inside;
        Some((next, opens, closes))
    }
}

/// One bit a byte: whether it is this one.
#[inline(always)]
fn mask<S: Simd>(simd: S, lanes: u8x64<S>, byte: u8) -> u64 {
    lanes.simd_eq(u8x64::splat(simd, byte)).to_bitmask()
}

/// The bytes that a backslash before them escapes, and whether the byte after them all is.
#[inline(always)]
fn escaped(backslashes: u64, first: bool) -> (u64, bool) {
    let first = u64::from(first);
    if backslashes == 0 {
        return (first, false);
    }
    // A backslash that is escaped escapes nothing.
    let backslashes = backslashes & !first;
    let after = backslashes << 1 | first;
    // A row of backslashes that starts at an odd byte carries over into the byte after it where it
    // is of odd length; the sum tells, and whether the last row goes on.
    let odd_starts = backslashes & !EVEN & !after;
    let (ends, goes_on) = odd_starts.overflowing_add(backslashes);
    ((EVEN ^ ends << 1) & after, goes_on)
}

/// For each bit, whether the number of bits up to it, itself among them, is odd.
#[inline(always)]
fn up_to(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// Where the closing quote stands of a string whose contents start at `at`; `None` where it has none,
/// or holds what JSON forbids in a string: a control character or an unknown escape.
#[inline(always)]
pub(super) fn string_end<S: Simd>(simd: S, text: &[u8], mut at: usize) -> Option<usize> {
    let mut first = false;
    while let Some(bytes) = text.get(at..)?.first_chunk::<WIDTH>() {
        let lanes = u8x64::from_slice(simd, bytes);
        let (escapes, goes_on) = escaped(mask(simd, lanes, b'\\'), first);
        first = goes_on;
        let quotes = mask(simd, lanes, b'"') & !escapes;
        // The lowest bit, and all those below it: all there are where there is none.
        let end = quotes & quotes.wrapping_neg();
        let within = end.wrapping_sub(1);
        let controls = lanes.simd_lt(u8x64::splat(simd, 0x20)).to_bitmask();
        if controls & within != 0 {
            return None;
        }
        let escapes = escapes & within;
        if escapes != 0 {
            let mut others = escapes & !simple_escapes(simd, lanes);
            while others != 0 {
                let other = others.trailing_zeros() as usize;
                if bytes[other] != b'u' || !four_digits(text, at + other + 1) {
                    return None;
                }
                others &= others - 1;
            }
        }
        if end != 0 {
            return Some(at + end.trailing_zeros() as usize);
        }
        at += WIDTH;
    }
    loop {
        let byte = *text.get(at)?;
        match byte {
            _ if std::mem::take(&mut first) => {
                let sound = match byte {
                    b'u' => four_digits(text, at + 1),
                    other => SIMPLE.contains(&other),
                };
                if !sound {
                    return None;
                }
            }
            b'"' => return Some(at),
            b'\\' => first = true,
            ..0x20 => return None,
            _ => {}
        }
        at += 1;
    }
}

/// The bytes that may be escaped by themselves.
const SIMPLE: [u8; 8] = *b"\"\\/bfnrt";

#[inline(always)]
fn simple_escapes<S: Simd>(simd: S, lanes: u8x64<S>) -> u64 {
    let mut simple = 0;
    for byte in SIMPLE {
        simple |= mask(simd, lanes, byte);
    }
    simple
}

#[inline(always)]
fn four_digits(text: &[u8], at: usize) -> bool {
    text.get(at..at + 4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Where the closing quote stands of a string whose contents start here, whatever they are.
pub(super) fn closing_quote(text: &[u8]) -> Option<usize> {
    #[inline(always)]
    fn find<S: Simd>(simd: S, text: &[u8]) -> Option<usize> {
        let (mut at, mut first) = (0, false);
        let (blocks, rest) = text.as_chunks::<WIDTH>();
        for bytes in blocks {
            let lanes = u8x64::from_slice(simd, bytes);
            let (escapes, goes_on) = escaped(mask(simd, lanes, b'\\'), first);
            first = goes_on;
            let quotes = mask(simd, lanes, b'"') & !escapes;
            if quotes != 0 {
                return Some(at + quotes.trailing_zeros() as usize);
            }
            at += WIDTH;
        }
        for byte in rest {
            let escaped = std::mem::take(&mut first);
            if *byte == b'"' && !escaped {
                return Some(at);
            }
            first = *byte == b'\\' && !escaped;
            at += 1;
        }
        None
    }
    dispatch!(level(), simd => find(simd, text))
}

/// Where the first quote, backslash or control character stands, from `at` on.
pub(super) fn plain_end(level: Level, text: &[u8], at: usize) -> Option<usize> {
    #[inline(always)]
    fn find<S: Simd>(simd: S, text: &[u8], mut at: usize) -> Option<usize> {
        while let Some(bytes) = text.get(at..)?.first_chunk::<WIDTH>() {
            let lanes = u8x64::from_slice(simd, bytes);
            let special = lanes.simd_eq(u8x64::splat(simd, b'"'))
                | lanes.simd_eq(u8x64::splat(simd, b'\\'))
                | lanes.simd_lt(u8x64::splat(simd, 0x20));
            let special = special.to_bitmask();
            if special != 0 {
                return Some(at + special.trailing_zeros() as usize);
            }
            at += WIDTH;
        }
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
        text[at..].iter().position(special).map(|found| at + found)
    }
    dispatch!(level, simd => find(simd, text, at))
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};
    use proptest::prelude::*;

    use super::{closing_quote, level, plain_end, string_end};

    /// Where the string ends, byte by byte, and whether it is sound up to there.
    fn slowly(text: &[u8]) -> (Option<usize>, bool) {
        let (mut at, mut sound) = (0, true);
        while at < text.len() {
            match text[at] {
                b'"' => return (Some(at), sound),
                b'\\' => {
                    match text.get(at + 1) {
                        Some(b'u') => {
                            let digits = text.get(at + 2..at + 6).unwrap_or_default();
                            sound &= digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
                        }
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        _ => sound = false,
                    }
                    at += 1;
                }
                ..0x20 => sound = false,
                _ => {}
            }
            at += 1;
        }
        (None, sound)
    }

    proptest! {
        #[test]
        fn a_string_ends_where_it_does_byte_by_byte(
            lead in 0_usize..140,
            signs in prop::collection::vec(prop::sample::select(&b"\\\\\\\"un0aF/\x01\x7f\xc3"[..]), 0..90),
            tail in 0_usize..140,
        ) {
            let mut text = vec![b'-'; lead];
            text.extend(signs);
            text.extend(vec![b'-'; tail]);
            let (end, sound) = slowly(&text);
            prop_assert_eq!(closing_quote(&text), end);
            for level in [level(), Level::baseline()] {
                let found = dispatch!(level, simd => string_end(simd, &text, 0));
                prop_assert_eq!(found, end.filter(|_| sound));
                let special = text.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20));
                prop_assert_eq!(plain_end(level, &text, 0), special);
            }
        }
    }
}
