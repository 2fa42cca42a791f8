//! A [`Doc`] as GitHub-flavoured Markdown.

use super::doc::{Align, Block, Doc, Table};
use super::mask::mask;
use super::safe::one_line;

/// The document as Markdown; every text of a trace shows as plain text.
#[must_use]
pub fn markdown(doc: &Doc) -> String {
    let mut out = String::new();
    for block in &doc.blocks {
        match block {
            Block::Title(text) => out.push_str(&format!("### {}\n\n", escape(text))),
            Block::Line(text) => out.push_str(&format!("{}\n\n", escape(text))),
            Block::Warning(text) => out.push_str(&format!("> **warning**: {}\n\n", escape(text))),
            Block::Command(label, command) => {
                out.push_str(&format!("{label}: {}\n\n", code(command)));
            }
            Block::Table(table) => out.push_str(&table_text(table)),
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn table_text(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = row(table.columns.iter().map(|column| escape(&column.name)).collect());
    let marks = table.columns.iter().map(|column| match column.align {
        Align::Left => "---".to_owned(),
        Align::Right => "--:".to_owned(),
    });
    out.push_str(&row(marks.collect()));
    for cells in &table.rows {
        out.push_str(&row(cells.iter().map(|cell| escape(cell)).collect()));
    }
    out.push('\n');
    out
}

/// A span of code; nothing in it is markup.
fn code(text: &str) -> String {
    let text = one_line(&mask(text));
    // The fence is longer than any run of backticks inside.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let edge = if longest > 0 { " " } else { "" };
    format!("{fence}{edge}{text}{edge}{fence}")
}

/// Escapes what Markdown or the HTML inside it would read as markup, and mentions of users.
fn escape(text: &str) -> String {
    let text = one_line(&mask(text));
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            // Inside a word an underscore is no emphasis, and names are full of them.
            '_' if before.is_alphanumeric() => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        before = c;
    }
    // An address would become a link by itself.
    out.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::super::doc::{Column, Doc, Table};
    use super::markdown;

    #[test]
    fn commands_are_code_whatever_is_in_them() {
        let mut doc = Doc::default();
        doc.command("next", "agenteval show 'a`b``c' x");
        assert_eq!(markdown(&doc), "next: ``` agenteval show 'a`b``c' x ```\n");
    }

    #[test]
    fn markup_in_names_is_shown_as_text() {
        let mut doc = Doc::default();
        doc.table(Table {
            columns: vec![Column::elastic("name")],
            rows: vec![
                vec!["a|b\n<script>`x`</script>".into()],
                vec!["![i](http://x) @team *b*".into()],
                vec!["first_step_accuracy".into()],
            ],
        });
        let text = markdown(&doc);
        assert!(text.contains(r"a\|b\\n&lt;script&gt;\`x\`&lt;/script&gt;"), "{text}");
        assert!(text.contains(r"\!\[i\](http:&#47;&#47;x) &#64;team \*b\*"), "{text}");
        assert!(text.contains("| first_step_accuracy |"), "{text}");
    }
}
