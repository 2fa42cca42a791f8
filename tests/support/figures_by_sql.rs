//! The figures that `docs/tables.md` writes as SQL, and what `analyze` says of them.

#![allow(dead_code, reason = "each test crate uses some of it")]

use serde_json::Value;

/// A block of SQL: the metric it gives, and how the page heads it.
pub(crate) struct Figure {
    pub(crate) metric: String,
    pub(crate) head: String,
    pub(crate) sql: String,
}

/// The blocks of the page.
pub(crate) fn figures() -> Vec<Figure> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tables.md");
    let text = std::fs::read_to_string(path).expect("docs/tables.md");
    let blocks = text.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next());
    let figures: Vec<Figure> = blocks
        .map(|block| {
            let (head, sql) = block.split_once('\n').expect("a head and SQL");
            let head = head.strip_prefix("-- ").expect("a comment with the metric").to_owned();
            let metric = head.split(',').next().expect("a name").to_owned();
            Figure { metric, head, sql: sql.trim().to_owned() }
        })
        .collect();
    for metric in agenteval::metrics::CATALOGUE {
        assert!(figures.iter().any(|figure| figure.metric == metric.name), "{}", metric.name);
    }
    figures
}

/// Half of the last decimal that a report shows.
fn rounding(metric: &str) -> f64 {
    if metric.starts_with("cost") { 5.001e-10 } else { 5.001e-7 }
}

/// Fails unless the rows of a block say what the report says.
pub(crate) fn agrees(figure: &Figure, rows: &[Value], report: &Value, what: &str) {
    let wanted = &report["metrics"][&figure.metric];
    let near = |got: &Value, wanted: &Value, part: &str| {
        let place = format!("{what}: {} {part}: {got} is not {wanted}", figure.head);
        match (got.as_f64(), wanted.as_f64()) {
            (Some(got), Some(wanted)) => {
                let off = (got - wanted).abs();
                assert!(off <= rounding(&figure.metric) + wanted.abs() * 1e-11, "{place}");
            }
            (got, wanted) => assert!(got.is_none() && wanted.is_none(), "{place}"),
        }
    };
    match figure.metric.as_str() {
        "error_type_distribution" | "step_type_distribution" => {
            let key = figure.metric.trim_end_matches("_distribution");
            let listed = report["distributions"][key].as_object().expect("a distribution");
            assert_eq!(rows.len(), listed.len(), "{what}: {}: {rows:?} {listed:?}", figure.head);
            for row in rows {
                let name = row["name"].as_str().expect("a name");
                near(&row["attempts"], &listed[name], name);
            }
        }
        "pass_hat_k" | "pass_at_k" => {
            let by_k = |k: &str| wanted["by_k"][k]["value"].clone();
            near(&rows[0]["k1"], &by_k("1"), "k = 1");
            near(&rows[0]["k2"], &by_k("2"), "k = 2");
        }
        _ => {
            assert_eq!(rows.len(), 1, "{what}: {}", figure.head);
            near(&rows[0]["value"], &wanted["value"], "value");
            for quantile in ["p50", "p95"] {
                if rows[0].get(quantile).is_some() {
                    near(&rows[0][quantile], &wanted[quantile], quantile);
                }
            }
        }
    }
}

/// Sets of runs for which figures are held equal: a path below the repository or the shared folder,
/// and a config.
pub(crate) const SETS: [(&str, Option<&str>); 16] = [
    ("shared:data/tau_bench/gpt-4o-airline.json", None),
    ("shared:data/tau_bench/gpt-4o-airline.json", Some(r#"{"task_name":"t","steps":"all"}"#)),
    ("fixtures/native/support-flow.ndjson", None),
    ("fixtures/native/support-flow.ndjson", Some(LIMITS)),
    ("fixtures/native/support-flow.ndjson", Some(INFRA)),
    ("fixtures/native/support-flow.ndjson", Some(r#"{"task_name":"t","mid_run":"interior"}"#)),
    ("fixtures/native/worked-example.json", None),
    ("fixtures/native/worked-example.json", Some(INFRA)),
    ("fixtures/native/full.json", None),
    ("fixtures/native/customer-support.ndjson", None),
    ("fixtures/checkpoints", None),
    ("fixtures/steplog/interleaved.ndjson", None),
    ("fixtures/otlp", None),
    ("fixtures/inspect_ai/two_by_two.json", None),
    ("fixtures/claude_code", None),
    ("fixtures/runs-table/two_agents.csv", None),
];

const LIMITS: &str = r#"{"task_name":"t","max_steps":4,"evaluation":{"max_retry_per_step":1}}"#;
const INFRA: &str = r#"{"task_name":"t","infra_errors":"exclude",
    "error_types":[{"match":"(?i)timeout|rate|schema","blame":"infra"}]}"#;
