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
                "{bar:30} {bytes}/{total_bytes} {msg}"
            } else {
                "{spinner} {bytes} {msg}"
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            state.1 = Some(bar);
        }
        if let Some(bar) = &state.1 {
            bar.set_position(state.0);
            bar.set_message(self.pace(state.0));
        }
    }

    /// The speed since the start, and how long the rest will take at it. The bar's own estimate
    /// would count what was read before it appeared as read in no time.
    #[expect(clippy::cast_precision_loss, reason = "shown in three digits")]
    fn pace(&self, read: u64) -> String {
        let elapsed = self.start.elapsed().as_secs_f64().max(1e-3);
        let speed = read as f64 / elapsed;
        let rest = self.total.map(|total| total.saturating_sub(read) as f64 / speed.max(1.0));
        let rest = rest.map(|rest| format!(", {rest:.0} s left")).unwrap_or_default();
        format!("{:.0} MB/s{rest}", speed / 1e6)
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
