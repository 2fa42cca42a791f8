//! A set that is counted without keeping all of it.
//!
//! Owns the bound: the members with the smallest hashes are kept, so that the same members give the
//! same state in whatever order, parts and repetitions they come. Up to the bound the count is
//! exact; beyond it is the estimate of Bar-Yossef et al. (2002), "Counting distinct elements in a
//! data stream": (k - 1) / the k-th smallest hash, whose standard error is 1/sqrt(k - 2), here 3.2%.

use std::collections::BTreeMap;

use super::signature::digest;

/// Members that are kept.
pub const MOST_KEPT: usize = 1_000;

/// Members by the first 12 hex digits of their SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample<V> {
    kept: BTreeMap<Box<str>, V>,
    more: bool,
}

impl<V> Default for Sample<V> {
    fn default() -> Self {
        Self { kept: BTreeMap::new(), more: false }
    }
}

/// The key of a member.
pub(super) fn key(identity: &str) -> Box<str> {
    digest(identity.as_bytes()).into()
}

impl<V> Sample<V> {
    /// Adds a member; one that is there already is joined with it by `join`, which must not depend
    /// on which of both was first.
    pub(super) fn add(&mut self, key: Box<str>, value: V, join: impl FnOnce(&mut V, V)) {
        match self.kept.get_mut(&key) {
            Some(known) => join(known, value),
            None => {
                self.kept.insert(key, value);
            }
        }
        while self.kept.len() > MOST_KEPT {
            self.kept.pop_last();
            self.more = true;
        }
    }

    /// Adds what another has.
    pub(super) fn join(&mut self, other: Self, join: impl Fn(&mut V, V)) {
        self.more |= other.more;
        for (key, value) in other.kept {
            self.add(key, value, &join);
        }
    }

    /// Says that there were members beside those that are kept; holds only where the bound is reached.
    pub(super) fn set_more(&mut self, more: bool) {
        self.more |= more && self.kept.len() == MOST_KEPT;
    }

    /// Those that are kept, by key.
    pub fn kept(&self) -> impl Iterator<Item = (&str, &V)> {
        self.kept.iter().map(|(key, value)| (&**key, value))
    }

    /// How many are kept.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.kept.len() as u64
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// How many members there are beyond those that are kept: 0, or about so many.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate of a number of runs")]
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^48 by construction")]
    #[expect(clippy::cast_sign_loss, reason = "above zero by construction")]
    pub fn beyond(&self) -> u64 {
        let last = self.kept.last_key_value().map(|(key, _)| u64::from_str_radix(key, 16));
        let Some(Ok(last)) = last.filter(|_| self.more) else { return 0 };
        let share = (last.max(1)) as f64 / (1_u64 << 48) as f64;
        let all = ((MOST_KEPT - 1) as f64 / share).round() as u64;
        all.saturating_sub(self.len()).max(1)
    }

    /// How many members there are: exact up to [`MOST_KEPT`].
    #[must_use]
    pub fn count(&self) -> u64 {
        self.len() + self.beyond()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_KEPT, Sample, key};

    fn of(members: impl Iterator<Item = u32>) -> Sample<()> {
        let mut sample = Sample::default();
        members.for_each(|member| sample.add(key(&member.to_string()), (), |(), ()| {}));
        sample
    }

    #[test]
    fn the_count_is_exact_to_the_bound_and_near_beyond_it() {
        let most = u32::try_from(MOST_KEPT).expect("small");
        assert_eq!(of((0..most).chain(0..most)).count(), 1_000);
        assert_eq!(of(0..most).beyond(), 0);
        for many in [1_001_u32, 5_000, 40_000] {
            let count = of(0..many).count();
            assert!(count.abs_diff(many.into()) < u64::from(many / 8), "{count} for {many}");
        }
    }

    #[test]
    fn order_parts_and_repetitions_do_not_matter() {
        let whole = of(0..3_000);
        assert_eq!(whole, of((0..3_000).rev()));
        let mut halves = of(0..1_500);
        halves.join(of(1_000..3_000), |(), ()| {});
        halves.join(of(0..3_000), |(), ()| {});
        assert_eq!(whole, halves);
    }
}
