//! A bar on a terminal, once work lasts over a second.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how much of the input is read.
pub(crate) struct Progress {
    start: Instant,
    total: Option<u64>,
    shown: bool,
    state: Mutex<(u64, Option<ProgressBar>)>,
}

impl Progress {
    /// A bar for these inputs; silent where standard error is no terminal.
    pub(crate) fn new<'p>(paths: impl Iterator<Item = &'p Path>, quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        // Sizes are known for plain files alone; compressed ones and pipes get a spinner.
        let sizes = shown.then(|| {
            paths
                .map(|path| {
                    let ending = path.extension().and_then(|ending| ending.to_str());
                    let plain = !matches!(ending, Some("gz" | "zst" | "zip" | "eval"));
                    std::fs::metadata(path)
                        .ok()
                        .filter(|data| plain && data.is_file())
                        .map(|d| d.len())
                })
                .sum::<Option<u64>>()
        });
        Self { start: Instant::now(), total: sizes.flatten(), shown, state: Mutex::new((0, None)) }
    }

    /// Tells that more bytes were read.
    pub(crate) fn advance(&self, bytes: u64) {
        if !self.shown {
            return;
        }
        let Ok(mut state) = self.state.lock() else { return };
        state.0 += bytes;
        if state.1.is_none() && self.start.elapsed() > Duration::from_secs(1) {
            let bar = self.total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = if self.total.is_some() {
                "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}"
            } else {
                "{spinner} {bytes} {bytes_per_sec}"
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            state.1 = Some(bar);
        }
        if let Some(bar) = &state.1 {
            bar.set_position(state.0);
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Ok(state) = self.state.lock()
            && let Some(bar) = &state.1
        {
            bar.finish_and_clear();
        }
    }
}
