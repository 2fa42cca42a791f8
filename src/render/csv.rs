//! Figures as CSV: one a line.

use super::figures::FigureLine;
use super::mask::mask;
use super::safe::one_line;

/// The lines as CSV with a header. A text that a spreadsheet would run as a formula gets a leading `'`.
#[must_use]
pub fn figures_csv(lines: &[FigureLine]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut row = |cells: [String; 7]| writer.write_record(cells).is_ok();
    row(["group", "metric", "value", "numerator", "denominator", "low", "high"].map(str::to_owned));
    for line in lines {
        // `Display` for floats never uses an exponent.
        let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
        row([
            inert(line.group.as_deref().unwrap_or_default()),
            line.metric.to_owned(),
            number(line.value),
            number(line.numerator),
            number(line.denominator),
            number(line.low),
            number(line.high),
        ]);
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// A text that a spreadsheet takes for text, masked and on one line.
pub(super) fn inert(text: &str) -> String {
    let text = one_line(&mask(text));
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::{FigureLine, figures_csv};

    #[test]
    fn formulas_and_separators_in_names_stay_text() {
        let line = |group: &str| FigureLine {
            group: Some(group.to_owned()),
            metric: "avg_steps",
            value: Some(1.5),
            numerator: Some(3.0),
            denominator: Some(2.0),
            low: None,
            high: None,
        };
        let text = figures_csv(&[line("=cmd()"), line("a,\"b\"\n数据")]);
        assert_eq!(
            text,
            "group,metric,value,numerator,denominator,low,high\n\
             '=cmd(),avg_steps,1.5,3,2,,\n\
             \"a,\"\"b\"\"\\n数据\",avg_steps,1.5,3,2,,\n"
        );
    }
}
