//! What is an amount: of seconds, of tokens, of US dollars.
//!
//! Owns the bounds within which amounts are summed. Refuses to say what stands in the place of one
//! that is beyond them.

use super::Tokens;

/// The largest amount of one attempt or run that is summed. It is far beyond what any can take, and
/// what figures and their intervals make of such amounts (sums, squares, cubes) still is a float.
pub const MOST_AMOUNT: f64 = 1e60;

/// Whether an amount can be summed: writers use negative ones and NaN for what they do not know.
#[must_use]
pub fn usable_amount(amount: f64) -> bool {
    (0.0..=MOST_AMOUNT).contains(&amount)
}

impl Tokens {
    /// Whether all parts can be summed.
    #[must_use]
    pub fn usable(&self) -> bool {
        let parts = [self.input, self.cache_read, self.cache_write, self.output, self.unsplit];
        parts.into_iter().all(usable_amount)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_AMOUNT, usable_amount};

    #[test]
    fn what_is_no_number_below_zero_or_beyond_belief_is_no_amount() {
        assert!([0.0, -0.0, 0.5, MOST_AMOUNT].into_iter().all(usable_amount));
        let none = [-1.0, f64::NAN, f64::INFINITY, 1e308, MOST_AMOUNT * 1.001];
        assert!(!none.into_iter().any(usable_amount));
    }
}
