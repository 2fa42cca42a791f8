//! The page as a whole: its head with the policy, its sections in order, its data and its script.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};

use super::super::chart::chart_css;
use super::super::gate::GateContext;
use super::super::gate_json::gate_wire;
use super::super::report::{AnalyzeReport, ReportParts};
use super::super::safe::one_line;
use super::why::{self, Why};
use super::writer::Html;
use super::{compare, data, failures, made, metrics, runs, verdict};
use crate::compare::Gate;
use crate::evaluate::{Brief, Contents, RunRow};
use crate::metrics::{Analysis, FailureGroup, Rank, StepRisk};

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Everything that a page shows.
#[derive(Debug, Clone, Copy)]
pub struct Page<'p> {
    /// Name of what is evaluated.
    pub title: Option<&'p str>,
    /// The figures, over all runs.
    pub analysis: &'p Analysis,
    /// The same as `analyze` writes them, for whoever reads the page by program.
    pub report: &'p AnalyzeReport,
    /// What the figures were made of.
    pub parts: &'p ReportParts,
    /// The comparison with a baseline, or the thresholds alone.
    pub gate: Option<(&'p Gate, &'p GateContext)>,
    /// Why runs fail.
    pub why: &'p Why<'p>,
    /// Failures by signature, over all runs.
    pub failures: &'p [FailureGroup],
    /// Failures by step, over all runs.
    pub risks: &'p [StepRisk],
    /// The runs that are shown, those that were not completed first.
    pub runs: &'p [PageRun<'p>],
    /// Whether contents were asked for.
    pub contents: bool,
    /// Titles and drawings (inline SVG with the page's variables as colours).
    pub charts: &'p [(String, String)],
    /// When and where it was made, as far as that was given.
    pub stamp: &'p Stamp,
}

/// Time and commit of a page; never the clock's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The time.
    pub time: Option<String>,
    /// The commit.
    pub commit: Option<String>,
}

/// One run that is shown.
#[derive(Debug, Clone, Copy)]
pub struct PageRun<'p> {
    /// Its rank among all runs, by which failures name it.
    pub rank: Rank,
    /// Its row, masked.
    pub row: &'p RunRow,
    /// Its timeline.
    pub brief: &'p Brief,
    /// What was said in it.
    pub contents: Option<&'p Contents>,
    /// Where it stands in the input.
    pub place: &'p str,
}

/// What links call each run: its id, or its place where it has none of its own.
pub(super) struct Keys<'p> {
    keys: Vec<String>,
    by_rank: BTreeMap<Rank, usize>,
    runs: &'p [PageRun<'p>],
}

impl<'p> Keys<'p> {
    fn of(runs: &'p [PageRun<'p>]) -> Self {
        let shown = |run: &PageRun<'p>| {
            let id = run.row.run_id.as_deref().filter(|id| !id.trim().is_empty());
            id.map(one_line)
        };
        let mut times: HashMap<String, u32> = HashMap::new();
        for id in runs.iter().filter_map(shown) {
            *times.entry(id).or_default() += 1;
        }
        let own = |run: &PageRun<'p>| shown(run).filter(|id| times.get(id) == Some(&1));
        let key = |(at, run): (usize, &PageRun<'p>)| match own(run) {
            Some(id) => id,
            // Several runs may stand at one place.
            None => format!("{}#{at}", one_line(run.place)),
        };
        let ranks = runs.iter().enumerate().rev().map(|(at, run)| (run.rank, at));
        Self { keys: runs.iter().enumerate().map(key).collect(), by_rank: ranks.collect(), runs }
    }

    /// The key of a shown run.
    pub(super) fn key(&self, at: usize) -> &str {
        self.keys.get(at).map_or("", String::as_str)
    }

    /// The shown run of a rank.
    pub(super) fn at(&self, rank: Rank) -> Option<(usize, &'p PageRun<'p>)> {
        let at = *self.by_rank.get(&rank)?;
        self.runs.get(at).map(|run| (at, run))
    }
}

/// The page.
#[must_use]
pub fn page(page: &Page<'_>) -> String {
    let keys = Keys::of(page.runs);
    let mut html = Html::default();
    head(page, &mut html);
    html.raw("<body>\n<a class=skip href=\"#verdict\">Skip to the verdict</a>\n");
    bar(page, &mut html);
    html.raw("<main>\n");
    verdict::section(page, &mut html);
    metrics::section(page, &mut html);
    compare::section(page, &mut html);
    charts(page, &mut html);
    why::section(page, &keys, &mut html);
    failures::section(page, &keys, &mut html);
    failures::steps(page, &mut html);
    runs::section(page, &keys, &mut html);
    made::section(page, &mut html);
    html.raw("</main>\n");
    html.raw("<dialog id=run aria-labelledby=run-title></dialog>\n");
    html.data("report", page.report);
    if let Some((gate, context)) = page.gate {
        html.data("gate", &gate_wire(gate, context));
    }
    data::write(page, &keys, &mut html);
    html.raw("<script>").raw(SCRIPT).raw("</script>\n</body>\n</html>\n");
    html.finish()
}

/// The name of the page.
pub(super) fn title(page: &Page<'_>) -> String {
    page.title.filter(|title| !title.trim().is_empty()).unwrap_or("Agent runs").to_owned()
}

fn head(page: &Page<'_>, html: &mut Html) {
    html.raw("<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n");
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(SCRIPT.as_bytes()))
    );
    // The quotes of the policy are written as they are: browsers decode them all the same.
    html.raw("<meta http-equiv=\"Content-Security-Policy\"").attr("content", &policy).raw(">\n");
    html.raw("<meta name=referrer content=no-referrer>\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<meta name=color-scheme content=\"light dark\">\n<meta name=generator");
    html.attr("content", concat!("agenteval ", env!("CARGO_PKG_VERSION"))).raw(">\n<title>");
    html.text(&format!("{}: {}", verdict::word(page).1, title(page)));
    html.raw("</title>\n<style>\n").drawing(&style()).raw("</style>\n</head>\n");
}

fn bar(page: &Page<'_>, html: &mut Html) {
    html.raw("<header class=bar><p class=brand>agenteval report</p><nav aria-label=\"Sections\">");
    html.raw("<a href=\"#metrics\">Metrics</a>");
    if page.gate.is_some_and(|(gate, _)| gate.pairing.is_some()) {
        html.raw("<a href=\"#compare\">Comparison</a>");
    }
    if !page.charts.is_empty() {
        html.raw("<a href=\"#charts\">Charts</a>");
    }
    html.raw("<a href=\"#why\">Why runs fail</a><a href=\"#failures\">Failures</a><a href=\"#runs\">Runs</a><a href=\"#made\">How it was made</a></nav>");
    html.raw("<button type=button id=theme class=js-only hidden>Theme: system</button></header>\n");
}

/// The style of the page with the colours of its charts.
fn style() -> String {
    STYLE
        .replace("/*charts:light*/", &chart_css(false))
        .replace("/*charts:dark*/", &chart_css(true))
}

fn charts(page: &Page<'_>, html: &mut Html) {
    if page.charts.is_empty() {
        return;
    }
    html.raw("<section id=charts aria-labelledby=charts-h><h2 id=charts-h>Charts</h2><div class=charts>\n");
    for (title, svg) in page.charts {
        html.raw("<figure><figcaption>").text(title).raw("</figcaption>").drawing(svg);
        html.raw("</figure>\n");
    }
    html.raw("</div></section>\n");
}

/// Base64 with padding, as policies write hashes.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = (group >> (18 - 6 * at) & 63) as usize;
            out.push(if at <= chunk.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let texts: [&[u8]; 4] = [b"f", b"fo", b"foo", b"foobar"];
        assert_eq!(texts.map(base64), ["Zg==", "Zm8=", "Zm9v", "Zm9vYmFy"]);
    }
}
