//! What the fuzz targets share: the entries, which the tests of the program replay too, and the
//! mutations that keep JSON mostly whole.

pub mod entries;
pub mod mutate;

/// Makes the target of the entry of this name.
#[macro_export]
macro_rules! target {
    ($entry:ident) => {
        libfuzzer_sys::fuzz_target!(init: $crate::init(), |data: &[u8]| $crate::entries::$entry(data));
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::mutate::mutate(data, size, max_size, seed, libfuzzer_sys::fuzzer_mutate)
        });
    };
}

/// Lets the parser of expressions panic, which the program catches on that parser's own thread: only
/// other panics are findings.
pub fn init() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some("expression") {
            abort(info);
        }
    }));
}
