//! Text of traces made safe for one line of output.
//!
//! Control characters (ANSI escapes among them), line breaks and marks that turn the reading
//! direction are shown as visible escapes, so that a trace can neither colour, clear nor reorder a
//! terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text on one line, with what could disturb a terminal made visible.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_disturbing(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// Controls, marks that turn the direction, and characters that show nothing but change the line.
pub(super) fn is_disturbing(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}' | '\u{2029}'
            | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{061C}' | '\u{FEFF}'
            | '\u{E0000}'..='\u{E007F}')
}

/// Cuts a text to a display width, with `…` for what is cut. Wide characters count as two columns.
#[must_use]
pub fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push(c);
    }
    out.push('…');
    out
}

/// Cuts a text to a display width from its start, with `…` for what is cut.
#[must_use]
pub fn shorten_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let backwards: String = text.chars().rev().collect();
    shorten(&backwards, width).chars().rev().collect()
}

/// Breaks a text into lines of a display width, between words where it can.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let gap = usize::from(used > 0);
        if used > 0 && used + gap + word.width() > width {
            lines.push(String::new());
            used = 0;
        } else if gap > 0 {
            push(&mut lines, ' ');
            used += 1;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > width {
                lines.push(String::new());
                used = 0;
            }
            push(&mut lines, c);
            used += wide;
        }
    }
    lines
}

fn push(lines: &mut [String], c: char) {
    if let Some(line) = lines.last_mut() {
        line.push(c);
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::{one_line, shorten, shorten_start, wrap};

    #[test]
    fn controls_and_direction_marks_are_shown_not_obeyed() {
        assert_eq!(
            one_line("\u{1b}[31mred\u{7}\nnext\u{202e}x"),
            "\\u{1b}[31mred\\u{7}\\nnext\\u{202e}x"
        );
        assert_eq!(one_line("数据分析 🚧 naïve"), "数据分析 🚧 naïve");
    }

    #[test]
    fn wide_characters_are_cut_at_whole_columns() {
        assert_eq!(shorten("数据分析任务", 7), "数据分…");
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten_start("folder/数据.json", 9), "…据.json");
        assert_eq!(
            wrap("two words 数据分析 longerthanthat", 9),
            ["two words", "数据分析", "longertha", "nthat"]
        );
        for width in 1..20 {
            assert!(shorten("数据x分析🚧任务abcdefgh", width).width() <= width);
        }
    }
}
