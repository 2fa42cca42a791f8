//! What parts a message: addresses, delimiters, and the chunks between them, of which some are
//! paths or e-mails as a whole.

use std::ops::Range;

use super::words::words;
use super::{EMAIL, PATH, Token, URL};

/// Where addresses such as `https://host/x` are.
pub(super) fn urls(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(colon) = text.get(from..).and_then(|rest| rest.find("://")).map(|at| from + at) {
        let scheme = bytes[from..colon]
            .iter()
            .rev()
            .take(20)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
            .count();
        let inside = |b: &u8| b.is_ascii_graphic() && !b"\"'`<>|)]}\\".contains(b);
        let rest = bytes[colon + 3..].iter().take_while(|b| inside(b)).count();
        let mut end = colon + 3 + rest;
        while end > colon + 3 && b".,;:!?".contains(&bytes[end - 1]) {
            end -= 1;
        }
        if scheme > 0 {
            found.push(colon - scheme..end);
        }
        from = end;
    }
    found
}

/// What parts chunks wherever it stands.
fn parts(c: char) -> bool {
    c.is_ascii_whitespace()
        || c.is_ascii_control()
        || "\"'`<>|;()[]{}=&!?#*$^".contains(c)
        || matches!(c, '\u{80}'..='\u{A0}' | '“' | '”' | '‘' | '’' | '«' | '»' | '…')
        || matches!(c, '\u{2000}'..='\u{200F}' | '\u{2028}'..='\u{202F}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{3000}'..='\u{303F}' | '\u{FF00}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}')
        || c == '\u{FEFF}'
}

/// Text without addresses: chunks and what parts them.
pub(super) fn plain<'m>(text: &'m str, tokens: &mut Vec<Token<'m>>) {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut start = 0; // of the chunk
    let mut escape_until = 0; // the end of an ANSI escape
    for (at, c) in text.char_indices() {
        if at < escape_until {
            start = escape_until;
            continue;
        }
        let between_digits = at > 0 && digit(at - 1) && digit(at + 1);
        let opened = text.get(start..at).unwrap_or_default();
        let drive = opened.len() == 1
            && opened.as_bytes()[0].is_ascii_alphabetic()
            && matches!(bytes.get(at + 1), Some(b'\\' | b'/'));
        let windows = is_windows(opened)
            || (opened.is_empty() && bytes.get(at + 1) == Some(&b'\\'))
            || opened == "\\";
        let parting = match c {
            ',' => !between_digits,
            ':' => !between_digits && !drive,
            '\\' => !windows,
            '\u{1b}' => {
                escape_until = at + escape(bytes.get(at..).unwrap_or_default());
                true
            }
            c => parts(c),
        };
        if parting {
            chunk(opened, tokens);
            let end = at + c.len_utf8();
            if c == '\u{1b}' || parts(c) && (c.is_control() || invisible(c) || c == ' ') {
                tokens.push(Token::Gap(" "));
            } else {
                tokens.push(Token::Gap(text.get(at..end).unwrap_or_default()));
            }
            start = end.max(escape_until);
        }
    }
    chunk(text.get(start..).unwrap_or_default(), tokens);
}

/// Characters that show nothing, or turn the reading direction.
fn invisible(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{A0}' | '\u{2000}'..='\u{200F}' | '\u{2028}'..='\u{202F}'
        | '\u{2060}'..='\u{206F}' | '\u{3000}' | '\u{FEFF}')
}

/// The length of an ANSI escape that starts here.
fn escape(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'[') {
        return 1;
    }
    let body = bytes.iter().skip(2).take(32).take_while(|b| (0x20..0x40).contains(*b)).count();
    match bytes.get(2 + body) {
        Some(0x40..0x7f) => body + 3,
        _ => 1,
    }
}

/// Whether a path of Windows has begun: a drive, or the name of a server.
fn is_windows(chunk: &str) -> bool {
    let bytes = chunk.as_bytes();
    let drive = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.get(1) == Some(&b':')
        && matches!(bytes.get(2), None | Some(b'\\' | b'/'));
    drive || chunk.starts_with("\\\\")
}

/// One run of characters that nothing parts.
fn chunk<'m>(whole: &'m str, tokens: &mut Vec<Token<'m>>) {
    let chunk = whole.trim_end_matches('.');
    let end = whole.get(chunk.len()..).unwrap_or_default();
    if is_email(chunk) {
        tokens.push(Token::Hole(EMAIL));
    } else if chunk.starts_with("www.") && chunk.is_ascii() {
        tokens.push(Token::Hole(URL));
    } else if let Some(length) = path(chunk) {
        tokens.push(Token::Hole(PATH));
        words(chunk.get(length..).unwrap_or_default(), tokens);
    } else {
        words(chunk, tokens);
    }
    if !end.is_empty() {
        tokens.push(Token::Gap(end));
    }
}

fn is_email(chunk: &str) -> bool {
    let Some((local, domain)) = chunk.split_once('@') else { return false };
    let plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._%+-".contains(&b))
    };
    plain(local) && plain(domain) && domain.contains('.')
}

/// The length of the path that a chunk begins with.
fn path(chunk: &str) -> Option<usize> {
    let rooted = (["/", "~/", "./", "../"].iter().any(|head| chunk.starts_with(head)))
        && chunk.bytes().any(|b| b.is_ascii_alphabetic() || b == b'_' || b >= 0x80);
    let windows = is_windows(chunk) && chunk.len() > 3;
    let ending = |name: &str| {
        name.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty()
                && (1..=6).contains(&ending.len())
                && ending.bytes().all(|b| b.is_ascii_alphanumeric())
                && ending.bytes().any(|b| b.is_ascii_alphabetic())
        })
    };
    // Words of languages that put no space between them may follow the ending of a file.
    let plain = chunk.bytes().position(|b| b >= 0x80).filter(|at| {
        let head = chunk.get(..*at).unwrap_or_default();
        ending(head.rsplit(['/', '\\']).next().unwrap_or_default())
    });
    let length = plain.unwrap_or(chunk.len());
    if rooted || windows {
        return Some(length);
    }
    let head = chunk.get(..length).unwrap_or_default();
    let begins = head.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    let letters = head.bytes().any(|b| b.is_ascii_alphabetic());
    let slashes = head.bytes().filter(|b| *b == b'/').count();
    let last = head.rsplit('/').next().unwrap_or_default();
    let relative = begins && head.is_ascii() && letters && slashes > 0;
    (relative && (slashes > 1 || ending(last))).then_some(length)
}
