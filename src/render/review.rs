//! Sheets for people, and how far they and the config agree, as a document and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::json::{pretty_json, rounded};
use super::mask::mask;
use super::number::{count, percent};
use super::safe::one_line;
use crate::review::{Figure, Key, Score, Sheet, SheetRow, UnitKind, Verdict};

/// Texts of traces masked, as everything that leaves the program.
fn masked(row: &SheetRow) -> SheetRow {
    let text = |text: &Option<String>| text.as_deref().map(mask);
    SheetRow {
        task: text(&row.task),
        run: text(&row.run),
        place: mask(&row.place),
        tool: text(&row.tool),
        content: text(&row.content),
        ..row.clone()
    }
}

/// A sheet as JSON.
#[must_use]
pub fn sheet_json(sheet: &Sheet) -> String {
    let rows = sheet.rows.iter().map(masked).collect();
    pretty_json(&Sheet { rows, ..sheet.clone() })
}

/// A sheet as CSV. A text that a spreadsheet would run as a formula gets a leading `'`; line breaks of
/// contents stay, other controls are escaped.
#[must_use]
pub fn sheet_csv(sheet: &Sheet, kind: UnitKind) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let content = sheet.rows.iter().any(|row| row.content.is_some());
    let asked = |column: &str| match column {
        "step" | "tool" => kind == UnitKind::Steps,
        "content" => content,
        _ => true,
    };
    let columns = crate::review::SHEET_COLUMNS.into_iter().filter(|column| asked(column));
    let columns: Vec<&str> = columns.collect();
    // Writing to memory cannot fail.
    drop(writer.write_record(&columns));
    for row in &sheet.rows {
        let row = masked(row);
        let cells = columns.iter().map(|column| match *column {
            "id" => row.id.clone(),
            "task" => inert(row.task.as_deref().unwrap_or_default()),
            "run" => inert(row.run.as_deref().unwrap_or_default()),
            "where" => inert(&row.place),
            "step" => row.step.map(|step| step.to_string()).unwrap_or_default(),
            "tool" => inert(row.tool.as_deref().unwrap_or_default()),
            "content" => inert(row.content.as_deref().unwrap_or_default()),
            _ => String::new(),
        });
        drop(writer.write_record(cells));
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

fn inert(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(one_line).collect();
    let text = lines.join("\n");
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// A score with what it refers to.
pub struct ScorePage<'s> {
    /// The score.
    pub score: &'s Score,
    /// The key of the sheets.
    pub key: &'s Key,
    /// Completed and ended runs of other traces, and their corrected rate.
    pub others: Option<(u64, u64, Figure)>,
}

/// A score for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval review score")]
pub struct ScoreWire {
    /// Always `agenteval.review-score/1`.
    schema: &'static str,
    /// runs or steps.
    unit: &'static str,
    /// Rows that were drawn.
    rows: u64,
    /// Rows that are scored.
    scored: u64,
    /// Rows on which as many people pass as fail: left out.
    split: u64,
    /// Rows that nobody passed or failed: left out.
    unrated: u64,
    raters: Vec<RaterWire>,
    strata: Vec<StratumWire>,
    /// Scored rows, the config's verdict first: `pass_fail` are those that the config passes and people fail.
    counts: TableWire<u64>,
    /// The same as shares of all runs or steps.
    shares: Option<TableWire<f64>>,
    agreement: EstimateWire,
    kappa: EstimateWire,
    sensitivity: EstimateWire,
    specificity: EstimateWire,
    /// The share that the config passes.
    rate_by_config: Option<f64>,
    /// The share that people would pass.
    corrected_rate: EstimateWire,
    /// The same of the runs of `--of`.
    others: Option<OthersWire>,
    /// Each pair of people.
    between_raters: Vec<BetweenWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct RaterWire {
    sheet: String,
    rated: u64,
    unsure: u64,
    blank: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct StratumWire {
    /// The config's verdict.
    judge: &'static str,
    size: u64,
    drawn: u64,
    scored: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct TableWire<T> {
    pass_pass: T,
    pass_fail: T,
    fail_pass: T,
    fail_fail: T,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct EstimateWire {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// How the interval was computed, or why value or interval are missing.
    interval: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct OthersWire {
    completed: u64,
    ended: u64,
    corrected_rate: EstimateWire,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct BetweenWire {
    first: String,
    second: String,
    counts: TableWire<u64>,
    agreement: EstimateWire,
    kappa: EstimateWire,
}

fn table<T: Copy>([[a, b], [c, d]]: [[T; 2]; 2]) -> TableWire<T> {
    TableWire { pass_pass: a, pass_fail: b, fail_pass: c, fail_fail: d }
}

fn estimate(figure: &Figure) -> EstimateWire {
    EstimateWire {
        value: rounded(figure.value, 6),
        low: rounded(figure.bounds.map(|bounds| bounds.0), 6),
        high: rounded(figure.bounds.map(|bounds| bounds.1), 6),
        interval: figure.how.clone(),
    }
}

/// The answer for JSON.
#[must_use]
pub fn score_wire(page: &ScorePage<'_>) -> ScoreWire {
    let score = page.score;
    let found = score.agreement.as_ref();
    let figures = score.figures();
    ScoreWire {
        schema: "agenteval.review-score/1",
        unit: page.key.unit.name(),
        rows: score.rows,
        scored: score.scored,
        split: score.split,
        unrated: score.unrated,
        raters: score
            .raters
            .iter()
            .map(|rater| RaterWire {
                sheet: mask(&rater.name),
                rated: rater.rated,
                unsure: rater.unsure,
                blank: rater.blank,
            })
            .collect(),
        strata: score
            .strata
            .iter()
            .map(|(stratum, scored)| StratumWire {
                judge: stratum.judge.name(),
                size: stratum.size,
                drawn: stratum.drawn,
                scored: *scored,
            })
            .collect(),
        counts: table(score.counts),
        shares: found.map(|found| {
            table(found.shares.map(|row| row.map(|share| rounded(Some(share), 6).unwrap_or(share))))
        }),
        agreement: estimate(&figures.agreement),
        kappa: estimate(&figures.kappa),
        sensitivity: estimate(&figures.sensitivity),
        specificity: estimate(&figures.specificity),
        rate_by_config: rounded(score.rate_by_config(), 6),
        corrected_rate: estimate(&figures.corrected),
        others: page.others.as_ref().map(|(completed, ended, rate)| OthersWire {
            completed: *completed,
            ended: *ended,
            corrected_rate: estimate(rate),
        }),
        between_raters: score
            .between
            .iter()
            .map(|pair| BetweenWire {
                first: mask(&pair.raters.0),
                second: mask(&pair.raters.1),
                counts: table(pair.counts),
                agreement: estimate(&pair.agreement()),
                kappa: estimate(&pair.kappa()),
            })
            .collect(),
    }
}

/// A share or kappa with its bounds, for a table.
fn cells(name: &str, figure: &Figure, share: bool) -> Vec<String> {
    let show = |value: f64| shown(value, share);
    vec![
        name.to_owned(),
        figure.value.map_or_else(|| "n/a".to_owned(), show),
        figure.bounds.map_or_else(
            || "n/a".to_owned(),
            |(low, high)| format!("{} to {}", show(low), show(high)),
        ),
        figure.how.clone(),
    ]
}

fn shown(value: f64, share: bool) -> String {
    if share { percent(value) } else { format!("{value:.3}") }
}

/// The answer for people.
#[must_use]
pub fn score_doc(page: &ScorePage<'_>) -> Doc {
    let score = page.score;
    let unit = page.key.unit.name();
    let mut doc = Doc::default();
    doc.title(format!("{} of {} drawn {unit} are scored", count(score.scored), count(score.rows)));
    doc.table(Table {
        columns: vec![
            Column::path("sheet"),
            Column::right("rated"),
            Column::right("unsure"),
            Column::right("blank"),
        ],
        rows: score
            .raters
            .iter()
            .map(|r| vec![r.name.clone(), count(r.rated), count(r.unsure), count(r.blank)])
            .collect(),
    });
    if score.unrated + score.split > 0 {
        doc.line(format!(
            "left out: {} that nobody passed or failed, {} on which people are split",
            count(score.unrated),
            count(score.split)
        ));
    }
    doc.line("");
    doc.table(verdicts(score));
    doc.line("");
    doc.table(figures(page));
    for pair in &score.between {
        let value = |figure: Figure, share| {
            figure.value.map_or_else(|| "n/a".to_owned(), |value| shown(value, share))
        };
        let (agreement, kappa) = (value(pair.agreement(), true), value(pair.kappa(), false));
        let rows: u64 = pair.counts.iter().flatten().sum();
        doc.line(format!(
            "{} and {}: agree on {agreement} of {} rows, kappa {kappa}",
            pair.raters.0,
            pair.raters.1,
            count(rows)
        ));
    }
    for (stratum, scored) in &score.strata {
        if *scored == 0 {
            doc.warning(format!(
                "no row that the config says {} is scored: nothing stands for them, so no figure is told",
                stratum.judge.name()
            ));
        }
    }
    doc
}

/// The verdicts of both.
fn verdicts(score: &Score) -> Table {
    let row = |judge: Verdict, [pass, fail]: [u64; 2]| {
        let stratum = score.strata.iter().find(|(stratum, _)| stratum.judge == judge);
        let size = stratum.map_or(0, |(stratum, _)| stratum.size);
        vec![judge.name().to_owned(), count(pass), count(fail), count(size)]
    };
    Table {
        columns: vec![
            Column::left("config says"),
            Column::right("people pass"),
            Column::right("people fail"),
            Column::right("stand for"),
        ],
        rows: Verdict::BOTH.into_iter().zip(score.counts).map(|(j, c)| row(j, c)).collect(),
    }
}

/// The figures, each with its interval.
fn figures(page: &ScorePage<'_>) -> Table {
    let figures = page.score.figures();
    let rate = if page.key.unit == UnitKind::Runs { "completion" } else { "passed steps" };
    let bare = |name: String, value: String| vec![name, value, String::new(), String::new()];
    let mut rows = vec![
        cells("agreement", &figures.agreement, true),
        cells("kappa", &figures.kappa, false),
        cells("sensitivity", &figures.sensitivity, true),
        cells("specificity", &figures.specificity, true),
    ];
    if let Some(value) = page.score.rate_by_config() {
        rows.push(bare(format!("{rate} by the config"), percent(value)));
    }
    rows.push(cells(&format!("{rate} corrected"), &figures.corrected, true));
    if let Some((completed, ended, corrected)) = &page.others {
        let counts = format!("{}/{}", count(*completed), count(*ended));
        rows.push(bare("others by the config".to_owned(), counts));
        rows.push(cells("others corrected", corrected, true));
    }
    Table {
        columns: vec![
            Column::left("figure"),
            Column::right("value"),
            Column::left("95% interval"),
            Column::note("how"),
        ],
        rows,
    }
}
