//! The only way into a page: markup is literal, everything else is escaped.
//!
//! Texts are masked, and controls and marks that turn the reading direction are shown as visible
//! escapes, so that no name can run, load, hide or reorder anything.

use serde::Serialize;

use super::super::json::compact_json;
use super::super::mask::mask;
use super::super::number::count;
use super::super::safe::{is_disturbing, one_line};

/// A page that grows.
#[derive(Debug, Default)]
pub(super) struct Html {
    out: String,
}

impl Html {
    /// Literal markup. Only literals are `'static`, so no text of a trace can come this way.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.out.push_str(markup);
        self
    }

    /// A text on one line.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        escape(&one_line(&mask(text)), &mut self.out);
        self
    }

    /// A text that keeps its line breaks.
    pub(super) fn lines(&mut self, text: &str) -> &mut Self {
        escape(&visible_lines(text), &mut self.out);
        self
    }

    /// A name of a trace: isolated, so that its direction changes nothing around it.
    pub(super) fn name(&mut self, name: &str) -> &mut Self {
        self.raw("<bdi>").text(name).raw("</bdi>")
    }

    /// A whole number with separators.
    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.out.push_str(&count(number));
        self
    }

    /// ` name="value"`, inside of a tag.
    pub(super) fn attr(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        escape(&one_line(&mask(value)), &mut self.out);
        self.out.push('"');
        self
    }

    /// A cell with a text.
    pub(super) fn cell(&mut self, text: &str) -> &mut Self {
        self.raw("<td>").text(text)
    }

    /// A cell with a number, or another text that is aligned like one.
    pub(super) fn figure(&mut self, text: &str) -> &mut Self {
        self.raw("<td class=n>").text(text)
    }

    /// A drawing that another renderer of this crate made.
    pub(super) fn drawing(&mut self, svg: &str) -> &mut Self {
        self.out.push_str(svg);
        self
    }

    /// A value as JSON that the script reads; nothing in it can end the element.
    pub(super) fn data(&mut self, id: &'static str, value: &impl Serialize) -> &mut Self {
        self.raw("<script type=\"application/json\"").attr("id", id).raw(">");
        escape_json(&compact_json(value), &mut self.out);
        self.raw("</script>\n")
    }

    /// The page.
    pub(super) fn finish(self) -> String {
        self.out
    }
}

fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['<', '>', '&', '"', '\'']) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let mut chars = tail.chars();
        out.push_str(match chars.next() {
            Some('<') => "&lt;",
            Some('>') => "&gt;",
            Some('&') => "&amp;",
            Some('"') => "&quot;",
            _ => "&#39;",
        });
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// In JSON these characters stand in strings alone, where their escapes mean the same. Marks that
/// turn the direction are escaped too, for whoever reads the page's source.
fn escape_json(json: &str, out: &mut String) {
    let mut rest = json;
    let special = |c: char| matches!(c, '<' | '>' | '&') || (!c.is_ascii() && is_disturbing(c));
    while let Some(at) = rest.find(special) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let mut chars = tail.chars();
        for unit in chars.next().unwrap_or_default().encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// A text with its line breaks, and with what could disturb its reader made visible.
pub(super) fn visible_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if is_disturbing(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// A text as part of an address: what is not a plain letter or digit becomes `%XX`.
pub(super) fn fragment(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Html, fragment};

    #[test]
    fn no_text_ends_an_element_an_attribute_or_the_data() {
        let hostile = "</script><img src=x onerror=\"a()\">'&\u{1b}[31m\u{202e}x\u{2028}";
        let mut html = Html::default();
        html.raw("<p").attr("title", hostile).raw(">").name(hostile).raw("</p>");
        html.data("d", &[hostile]);
        let page = html.finish();
        assert_eq!(page.matches('<').count(), 6, "{page}");
        assert_eq!(page.matches("</script").count(), 1, "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{2028}']), "{page}");
        assert!(page.contains(r"\u{1b}[31m\u{202e}x"), "{page}");
    }

    #[test]
    fn addresses_hold_plain_characters_alone() {
        assert_eq!(fragment("a/b&c=数"), "a%2Fb%26c%3D%E6%95%B0");
    }
}
