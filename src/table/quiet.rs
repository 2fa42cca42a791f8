//! Faults of the library that are told by who called it, in one line.

use std::sync::{Mutex, PoisonError};

/// One at a time: the hook of panics is that of the whole process.
static ONE: Mutex<()> = Mutex::new(());

/// Does something whose panics are caught in it, without what is printed of a panic.
pub(super) fn quietly<T>(what: impl FnOnce() -> T) -> T {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = what();
    std::panic::set_hook(hook);
    result
}
