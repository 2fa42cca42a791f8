//! The structure of JSON text, 64 bytes at a time: which of them are brackets outside of strings.
//!
//! Owns the arithmetic on masks, one bit a byte, after Langdale and Lemire, "Parsing gigabytes of JSON
//! per second" (2019), in plain code that compilers turn into vector instructions. Refuses to decide
//! what is odd: a backslash outside of a string is left to whoever goes byte by byte.

/// Bytes that are looked at together.
pub(super) const WIDTH: usize = 64;

/// The bit of a byte in the mask of its group of 8.
const WEIGHTS: [u8; WIDTH] = {
    let mut weights = [0; WIDTH];
    let mut at = 0;
    while at < WIDTH {
        weights[at] = 1 << (at % 8);
        at += 1;
    }
    weights
};

/// Every other bit, from the lowest.
const EVEN: u64 = 0x5555_5555_5555_5555;

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
    #[inline]
    pub(super) fn pass(self, bytes: &[u8; WIDTH]) -> Option<(Self, u64, u64)> {
        let backslashes = mask(bytes, |byte| byte == b'\\');
        let (escapes, escaped) = escaped(backslashes, self.escaped);
        let quotes = mask(bytes, |byte| byte == b'"') & !escapes;
        let inside = up_to(quotes) ^ if self.in_string { u64::MAX } else { 0 };
        let next = Self { escaped, in_string: inside >> 63 == 1 };
        if inside == u64::MAX {
            return Some((next, 0, 0));
        }
        if backslashes & !inside != 0 {
            return None;
        }
        // The two brackets that open differ in one bit, and so do those that close.
        let opens = mask(bytes, |byte| byte & !0x20 == b'[') & !inside;
        let closes = mask(bytes, |byte| byte & !0x20 == b']') & !inside;
        Some((next, opens, closes))
    }
}

/// One bit a byte: whether it is wanted.
#[inline]
fn mask(bytes: &[u8; WIDTH], wanted: impl Fn(u8) -> bool) -> u64 {
    let mut weighed = [0_u8; WIDTH];
    let mut at = 0;
    // A plain loop: iterators would cost unoptimised builds ten times as much.
    while at < WIDTH {
        weighed[at] = if wanted(bytes[at]) { WEIGHTS[at] } else { 0 };
        at += 1;
    }
    // The weights of 8 bytes have no bit in common, so that their sum, the highest byte of the
    // product, is the mask of the 8.
    let (groups, _) = weighed.as_chunks::<8>();
    groups.iter().rev().fold(0, |mask, group| {
        mask << 8 | u64::from_le_bytes(*group).wrapping_mul(0x0101_0101_0101_0101) >> 56
    })
}

/// The bytes that a backslash before them escapes, and whether the byte after them all is.
#[inline]
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
#[inline]
fn up_to(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
