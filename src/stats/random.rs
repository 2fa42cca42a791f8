//! Random numbers that are the same bytes on every platform and any number of threads.
//!
//! Owns: SplitMix64 and whole numbers below a bound. Refuses: cryptography, and
//! any seed that the caller did not give.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64 (Steele, Lea and Flood 2014): a counter behind a mixing function.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Stream number `stream` of a seed. Streams start far apart at mixed places,
    /// so draws can be split over threads and still come out the same.
    pub fn stream(seed: u64, stream: u64) -> Self {
        Self { state: mix(mix(seed) ^ mix(stream.wrapping_add(GAMMA))) }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// `count` whole numbers below `bound`, uniform to within `bound` in 2^32
    /// (Lemire's multiply and shift, without the rejection). A bound of 0 gives 0s.
    #[inline]
    pub fn indices(&mut self, count: usize, bound: u32) -> impl Iterator<Item = usize> {
        let bound = u64::from(bound);
        let mut kept = None;
        (0..count).map(move |_| {
            let half = match kept.take() {
                Some(half) => half,
                None => {
                    let word = self.next_u64();
                    kept = Some(word & 0xFFFF_FFFF);
                    word >> 32
                }
            };
            ((half * bound) >> 32) as usize
        })
    }
}

#[inline]
fn mix(state: u64) -> u64 {
    let mut z = state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the published generator for seed 1234567.
    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        let got = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(
            got,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn indices_stay_below_their_bound_and_reach_all_of_it() {
        let mut seen = [0_u32; 7];
        for index in SplitMix64::stream(1, 2).indices(7_001, 7) {
            seen[index] += 1;
        }
        // 1,000 expected each, with a standard deviation of 29.
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        assert_eq!(seen.iter().sum::<u32>(), 7_001);
    }
}
