//! Pieces of work on several threads, with their results in order.
//!
//! Owns threads and nothing else; refuses to outlive the call, so that work may borrow.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Does `count` pieces of work on up to `threads` threads, this one among them, and gives the
/// results in order. This one does what is to be done `meanwhile` first. Threads take the next piece as
/// they come free; none of them spins while the next block is read, which a pool's would.
pub(super) fn in_parallel<T: Send>(
    threads: usize,
    count: usize,
    work: &(dyn Fn(usize) -> T + Sync),
    meanwhile: Option<Box<dyn FnOnce() + '_>>,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return done;
            }
            done.push((at, work(at)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        // A thread that cannot be had leaves its share to the others.
        let busy = usize::from(meanwhile.is_some());
        let others: Vec<_> = (1..threads.min(count + busy))
            .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, run).ok())
            .collect();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        let mut done = run();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
