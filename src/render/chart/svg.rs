//! A drawn chart as SVG.
//!
//! No element has an id, so that many charts can stand in one page. Numbers are written with two
//! decimals at most, so that the same chart has the same bytes everywhere.

use super::canvas::{Anchor, Canvas, Form, Mark, Shape};
use super::style::{FAMILY, Ink, Theme};

/// How colours are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Colours {
    pub(super) theme: Theme,
    /// Whether a reader that prefers dark gets the dark colours; for light ones in a file.
    pub(super) switching: bool,
}

impl Colours {
    /// Writes a colour as the value of an attribute, with what lets it switch.
    fn paint(self, out: &mut String, attribute: &str, ink: Ink) {
        let hex = ink.hex(self.theme == Theme::Dark);
        let name = ink.name();
        let text = match self.theme {
            Theme::Page => format!(" {attribute}=\"var(--chart-{name},{hex})\""),
            _ if self.switching => {
                let kind = if attribute == "stroke" { 's' } else { 'f' };
                format!(" {attribute}=\"{hex}\" class=\"{kind}-{name}\"")
            }
            _ => format!(" {attribute}=\"{hex}\""),
        };
        out.push_str(&text);
    }
}

/// The variables that a page sets for charts of [`Theme::Page`], as CSS: `--chart-text:#1f2328;...`.
#[must_use]
pub fn chart_css(dark: bool) -> String {
    Ink::ALL.iter().map(|ink| format!("--chart-{}:{};", ink.name(), ink.hex(dark))).collect()
}

/// A text inside of XML.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML 1.0 has no place for these, not even as references.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{FFFE}' | '\u{FFFF}' => {
                out.push('\u{FFFD}');
            }
            c => out.push(c),
        }
    }
    out
}

/// A coordinate.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" || text.is_empty() { "0".to_owned() } else { text.to_owned() }
}

/// The whole file, or element of a page.
pub(super) fn svg(canvas: &Canvas, colours: Colours) -> String {
    let (width, height) = (number(canvas.width), number(canvas.height.ceil()));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILY}\">\n<title>{}</title>\n<desc>{}</desc>\n",
        escape(&canvas.title),
        escape(&canvas.words.join("\n")),
    );
    if colours.switching {
        out.push_str("<style>@media (prefers-color-scheme:dark){");
        for ink in Ink::ALL {
            let (name, hex) = (ink.name(), ink.hex(true));
            out.push_str(&format!(".f-{name}{{fill:{hex}}}.s-{name}{{stroke:{hex}}}"));
        }
        out.push_str("}</style>\n");
    }
    out.push_str(&format!("<rect width=\"{width}\" height=\"{height}\""));
    colours.paint(&mut out, "fill", Ink::Ground);
    out.push_str("/>\n");
    for shape in &canvas.shapes {
        put(&mut out, shape, colours);
    }
    out.push_str("</svg>\n");
    out
}

fn points(points: &[(f64, f64)]) -> String {
    let pairs: Vec<String> =
        points.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect();
    pairs.join(" ")
}

fn put(out: &mut String, shape: &Shape, colours: Colours) {
    let (element, attributes, stroked) = match &shape.form {
        Form::Rect { x, y, width, height } => (
            "rect",
            format!(
                "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
                number(*x),
                number(*y),
                number(*width),
                number(*height)
            ),
            false,
        ),
        Form::Line { points: all, width, dashed } => {
            let dash = if *dashed { " stroke-dasharray=\"4 3\"" } else { "" };
            let at = format!(
                "points=\"{}\" fill=\"none\" stroke-width=\"{}\"{dash}",
                points(all),
                number(*width)
            );
            ("polyline", at, true)
        }
        Form::Area { points: all } => ("polygon", format!("points=\"{}\"", points(all)), false),
        Form::Dot { x, y, radius } => (
            "circle",
            format!("cx=\"{}\" cy=\"{}\" r=\"{}\"", number(*x), number(*y), number(*radius)),
            false,
        ),
        Form::Text { x, y, size, anchor, .. } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let at = format!(
                "x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}",
                number(*x),
                number(*y),
                number(*size)
            );
            ("text", at, false)
        }
    };
    out.push_str(&format!("<{element} {attributes}"));
    colours.paint(out, if stroked { "stroke" } else { "fill" }, shape.ink);
    if shape.opacity < 1.0 {
        out.push_str(&format!(" opacity=\"{}\"", number(shape.opacity)));
    }
    let mut inside = String::new();
    if let Some(Mark { name, value, tip }) = &shape.mark {
        if let Some(value) = value {
            out.push_str(&format!(
                " data-name=\"{}\" data-value=\"{}\"",
                escape(name),
                exact(*value)
            ));
        }
        if !tip.is_empty() {
            inside = format!("<title>{}</title>", escape(tip));
        }
    }
    if let Form::Text { text, .. } = &shape.form {
        inside.push_str(&escape(text));
    }
    if inside.is_empty() {
        out.push_str("/>\n");
    } else {
        out.push_str(&format!(">{inside}</{element}>\n"));
    }
}

/// A number that is drawn, rounded as in reports.
fn exact(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
